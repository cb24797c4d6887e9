//! A granular body as a user runs it: frames, exports, a resume.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path};

use common::{assert_same_run, code, stderr, stiction};

/// A handful of sand falls on a floor.
const SCENE: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = 0.01
duration = 0.1
frame_every = 2
[method]
name = "attachment"
[contact]
thickness = 0.001
[[obstacle]]
name = "floor"
shape = { type = "plane" }
[[body]]
name = "sand"
kind = "granular"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
cell = 0.05
per_cell = 4
material = { density = 1600, young = 1e5, poisson = 0.3, law = "sand", friction_angle = 30 }
translate = [0, 0, 0.06]
[[probe]]
name = "height"
type = "max"
body = "sand"
axis = "z"
[[check]]
of = "height"
from = 0
above = 0.01
[output]
formats = ["vtu"]
checkpoint_every = 1
"#;

fn run(scene: &str, out: &Path, more: &[&str]) {
    let out = out.to_string_lossy().into_owned();
    let mut args = vec!["run", scene, "--out", &out, "--quiet"];
    args.extend(more);
    let output = stiction(&args);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn frames_have_points_with_radii_and_a_resume_has_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scene.toml");
    fs::write(&path, SCENE).unwrap();
    let scene = path.to_string_lossy().into_owned();
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run(&scene, &whole, &[]);
    run(&scene, &parts, &["--frames", "3"]);
    run(&scene, &parts, &["--resume"]);
    assert_same_run(&whole, &parts);

    // 4 · 0.1³/0.05³ = 32 points; the spacing of 3.15 cm is twice their radius.
    let frame = stiction_cli::record::read_pvd(&whole.join("frames.pvd")).unwrap();
    let sand: Vec<_> = frame.iter().filter(|e| e.name == "sand").collect();
    let limits = stiction_cli::scene::mesh_files::MeshLimits::default();
    let points = |i: usize| {
        let bytes = fs::read(whole.join(&sand[i].file)).unwrap();
        assert!(String::from_utf8_lossy(&bytes).contains("radius"));
        let file = stiction_cli::scene::mesh_files::vtu::read(&bytes, &limits);
        file.unwrap().points
    };
    let (first, last) = (points(0), points(sand.len() - 1));
    assert_eq!((first.len(), last.len()), (32, 32));
    assert!(first.iter().all(|x| (0.01..=0.11).contains(&x.z)));
    let mean = |x: &[stiction_math::Vec3]| x.iter().map(|x| x.z).sum::<f64>() / 32.0;
    assert!(mean(&last) < mean(&first));

    let out = whole.to_string_lossy().into_owned();
    let made = stiction(&["export", &out, "--format", "usd"]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let picture = dir.path().join("sand.png").to_string_lossy().into_owned();
    let drawn = stiction(&["render", &out, "--out", &picture]);
    assert_eq!(code(&drawn), 0, "{}", stderr(&drawn));
    assert!(fs::metadata(&picture).unwrap().len() > 1000);
}
