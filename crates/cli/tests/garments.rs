//! Garments: rest shapes from textures, animated obstacles, pins that they carry, seams.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::{code, stderr, stdout, stiction};
use serde_json::Value;

/// The summary of a run of `scene` in `dir`, with frames as OBJ.
fn run(dir: &Path, scene: &str) -> Value {
    run_to(dir, scene, "run")
}

fn run_to(dir: &Path, scene: &str, folder: &str) -> Value {
    let path = dir.join("scene.toml");
    fs::write(&path, scene).unwrap();
    let out = dir.join(folder);
    let args = [
        "run",
        path.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--format",
        "vtu,obj",
        "--json",
        "--threads",
        "1",
    ];
    let ran = stiction(&args);
    assert_eq!(code(&ran), 0, "{}", stderr(&ran));
    serde_json::from_str(&stdout(&ran)).unwrap()
}

fn last(summary: &Value, probe: &str) -> f64 {
    summary["probes"][probe]["last"].as_f64().unwrap()
}

/// A square of two triangles with half the size in its texture contracts to a quarter of the area, and its
/// texture is in the frames and in both kinds of exports.
#[test]
fn a_shell_takes_the_shape_of_its_texture() {
    let dir = tempfile::tempdir().unwrap();
    let mut obj = String::new();
    for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let (x, y) = (0.1 * f64::from(i), 0.1 * f64::from(j));
        writeln!(obj, "v {x} {y} 0\nvt {} {}", 5.0 * x, 5.0 * y).unwrap();
    }
    for (i, j) in (0..2).flat_map(|i| (0..2).map(move |j| (i, j))) {
        let [a, b, c, d] = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[k, l]| 3 * (i + k) + j + l + 1);
        writeln!(obj, "f {a}/{a} {b}/{b} {c}/{c} {d}/{d}").unwrap();
    }
    fs::write(dir.path().join("sheet.obj"), obj).unwrap();
    let scene = r#"
gravity = [0, 0, 0]
[time]
step = 0.01
duration = 1
frames_per_second = 10
[[body]]
name = "sheet"
mesh = "sheet.obj"
rest = "uv"
uv_scale = 0.1
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, damping = { mass = 5 } }
[[probe]]
name = "area"
type = "area"
body = "sheet"
[[probe]]
name = "energy"
type = "elastic-energy"
"#;
    let summary = run(dir.path(), scene);
    let first = summary["probes"]["area"]["first"].as_f64().unwrap();
    assert!((first - 0.04).abs() < 1e-12);
    // 5 units of 0.1 m to a metre: half the size.
    assert!((last(&summary, "area") - 0.01).abs() < 1e-4, "{summary}");
    assert!(last(&summary, "energy") < 1e-4);
    let frame = fs::read_to_string(dir.path().join("run/frames/sheet_000000.obj")).unwrap();
    let mut texture = frame.lines().filter_map(|l| l.strip_prefix("vt "));
    assert_eq!(texture.clone().count(), 9);
    assert!(texture.any(|l| l == "1.0 0.5"), "{frame}");
    let out = dir.path().join("run").to_string_lossy().into_owned();
    let made = stiction(&["export", &out, "--format", "usd,gltf,obj"]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let usd = fs::read_to_string(dir.path().join("run/run.usda")).unwrap();
    for attribute in ["texCoord2f[] primvars:st", "normal3f[] normals"] {
        assert!(usd.contains(attribute), "{attribute}");
    }
    let file = gltf::Gltf::from_slice(&fs::read(dir.path().join("run/run.glb")).unwrap()).unwrap();
    let primitive = file.meshes().next().unwrap().primitives().next().unwrap();
    for semantic in [gltf::Semantic::TexCoords(0), gltf::Semantic::Normals] {
        assert_eq!(primitive.get(&semantic).unwrap().count(), 9, "{semantic:?}");
    }
    let written = fs::read_to_string(dir.path().join("run/sheet_000000.obj")).unwrap();
    assert_eq!(written.lines().filter(|l| l.starts_with("vt ")).count(), 9);
}

/// The corners of a slab at time `t` [s]: it slides along x and turns about the vertical.
fn slab(t: f64) -> String {
    let s = (t / 0.6).min(1.0);
    let s = s * s * (3.0 - 2.0 * s);
    let (sin, cos) = (20f64.to_radians() * s).sin_cos();
    let mut text = String::new();
    for k in 0..8u32 {
        let [x, y, z] = [0, 1, 2].map(|a| f64::from(k >> a & 1) - 0.5);
        let (x, y) = (0.4 * x, 0.4 * y);
        let (x, y) = (cos * x - sin * y + 0.1 * s, sin * x + cos * y);
        writeln!(text, "v {x:?} {y:?} {:?}", 0.1 * z - 0.05).unwrap();
    }
    for f in [
        "1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6",
    ] {
        writeln!(text, "f {f}").unwrap();
    }
    text
}

const ON_SLAB: &str = r#"
[time]
step = 0.01
duration = 0.8
frames_per_second = 10
[method]
name = "admm"
[contact]
thickness = 0.002
[friction]
default = 0.8
[[body]]
name = "cloth"
shape = { type = "sheet", size = [0.2, 0.2], cells = [5, 5] }
material = "denim"
translate = [0.05, 0, 0.0021]
[[probe]]
name = "x"
type = "position"
body = "cloth"
near = [0.15, 0.1, 0]
axis = "x"
[[probe]]
name = "y"
type = "position"
body = "cloth"
near = [0.15, 0.1, 0]
axis = "y"
"#;

/// A slab whose vertices follow a sequence of files carries a cloth as the same slab does that moves as a
/// whole: friction has the velocities of its surface.
#[test]
fn a_sequence_of_meshes_carries_cloth_as_a_rigid_motion_does() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..=60 {
        let path = dir.path().join(format!("slab.{i:03}.obj"));
        fs::write(path, slab(f64::from(i) * 0.01)).unwrap();
    }
    let obstacle = r#"
[[obstacle]]
name = "slab"
mesh = "slab.###.obj"
animation = { first = 0, last = 60, rate = 100 }
"#;
    let moved = run(dir.path(), &format!("{ON_SLAB}{obstacle}"));
    // The point turns by 20° about the axis that slides by 0.1 m.
    let (sin, cos) = 20f64.to_radians().sin_cos();
    let x = cos * 0.15 - sin * 0.1 + 0.1;
    let y = sin * 0.15 + cos * 0.1;
    let (dx, dy) = (last(&moved, "x") - x, last(&moved, "y") - y);
    // Cloth of 5 × 5 cells gives by the inertia of its corner, some micrometres.
    assert!(dx.hypot(dy) < 1e-4, "{dx:e} {dy:e}");
    assert!(
        moved["certificate"]["penetration"]["max"].as_f64().unwrap() < 1e-5,
        "{moved}"
    );
    // The run keeps every file of the sequence, and begins again from them.
    assert!(dir.path().join("run/slab.060.obj").is_file());
    let still = obstacle.replace("last = 60", "last = 0");
    let still = run_to(dir.path(), &format!("{ON_SLAB}{still}"), "still");
    assert!((last(&still, "x") - 0.15).abs() < 1e-3);
}

/// Pins of a cloth to the slab go along with it, also the cloth that hangs from them.
#[test]
fn pins_are_carried_by_a_deforming_obstacle() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..=60 {
        let path = dir.path().join(format!("slab.{i:03}.obj"));
        fs::write(path, slab(f64::from(i) * 0.01)).unwrap();
    }
    let obstacle = r#"
[[obstacle]]
name = "slab"
mesh = "slab.###.obj"
animation = { first = 0, last = 60, rate = 100 }
[[pin]]
body = "cloth"
select = { nearest = [0.15, 0.1, 0] }
to = "slab"
"#;
    let slippery = ON_SLAB.replace("default = 0.8", "default = 0");
    let moved = run(dir.path(), &format!("{slippery}{obstacle}"));
    let (sin, cos) = 20f64.to_radians().sin_cos();
    let x = cos * 0.15 - sin * 0.1 + 0.1;
    let y = sin * 0.15 + cos * 0.1;
    // The triangle keeps its shape, so that the pin moves as a point of the slab does.
    assert!((last(&moved, "x") - x).abs() < 1e-9, "{moved}");
    assert!((last(&moved, "y") - y).abs() < 1e-9);
}

/// Two panels far apart are drawn together at their edges, and stay apart without their seam.
#[test]
fn a_seam_closes_over_its_time_and_contact_does_not_hold_it_open() {
    let scene = r#"
gravity = [0, 0, 0]
[time]
step = 0.01
duration = 1
frames_per_second = 10
[method]
name = "admm"
[contact]
thickness = 0.01
[[body]]
name = "bag"
material = "denim"
[[body.panel]]
name = "front"
shape = { type = "sheet", size = [0.2, 0.2], cells = [4, 4] }
[[body.panel]]
name = "back"
shape = { type = "sheet", size = [0.2, 0.2], cells = [4, 6] }
translate = [0, 0, 0.1]
[[seam]]
body = "bag"
a = { corners = [[0.1, -0.1, 0], [0.1, 0.1, 0]] }
b = { corners = [[0.1, -0.1, 0.1], [0.1, 0.1, 0.1]] }
close = [0, 0.5]
[[probe]]
name = "gap"
type = "distance"
a = { body = "bag", near = [0.1, 0.1, 0] }
b = { body = "bag", near = [0.1, 0.1, 0.1] }
[[probe]]
name = "middle"
type = "distance"
a = { body = "bag", near = [0.1, 0, 0] }
b = { body = "bag", near = [0.1, 0, 0.1] }
"#;
    let dir = tempfile::tempdir().unwrap();
    let closed = run(dir.path(), scene);
    // Far below the contact thickness: nothing pulls the sides apart.
    for gap in ["gap", "middle"] {
        assert!(last(&closed, gap) < 1e-4, "{closed}");
    }
    let penetration = closed["certificate"]["penetration"]["max"].as_f64();
    assert!(penetration.unwrap() < 1e-3, "{closed}");
    let dir = tempfile::tempdir().unwrap();
    let open = run(dir.path(), &scene.replace("[0, 0.5]", "[5, 6]"));
    assert!((last(&open, "gap") - 0.1).abs() < 1e-9);
}
