//! A simulated run, exported and read back by libraries that share nothing with the writers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../examples/changing_meshes.rs"]
mod changing_meshes;
mod common;

use std::{fs, path::Path};

use common::{code, stderr, stiction};
use openusd::sdf::{self, AbstractData, Value};
use stiction_cli::scene::mesh_files::{MeshLimits, vtu};

/// A sheet swings for a few frames; written as vtu and USD at once, then exported.
fn run(folder: &Path) {
    let out = folder.to_string_lossy();
    let made = stiction(&[
        "run",
        "hanging-strip",
        "--out",
        &out,
        "--frames",
        "4",
        "--format",
        "usd",
        "--quiet",
    ]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let made = stiction(&["export", &out, "--format", "gltf,obj,ply"]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
}

/// Times and, to single precision, points of the frames of a body; and its triangles.
fn recorded(folder: &Path, body: &str) -> (Vec<f64>, Vec<Vec<[f32; 3]>>, Vec<u32>) {
    let entries = stiction_cli::record::read_pvd(&folder.join("frames.pvd")).unwrap();
    let (mut times, mut frames, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries.iter().filter(|e| e.name == body) {
        let bytes = fs::read(folder.join(&entry.file)).unwrap();
        let file = vtu::read(&bytes, &MeshLimits::default()).unwrap();
        times.push(entry.time);
        let points = file.points.iter();
        frames.push(
            points
                .map(|p| [p.x as f32, p.y as f32, p.z as f32])
                .collect(),
        );
        triangles = file
            .cells
            .iter()
            .flat_map(|(_, nodes)| nodes.to_vec())
            .collect();
    }
    (times, frames, triangles)
}

#[test]
fn exports_hold_what_was_simulated() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    run(&folder);
    let (times, frames, triangles) = recorded(&folder, "strip");
    assert!(frames.len() >= 4);
    assert_ne!(frames[0], frames[3], "the strip moves");

    let text = fs::read_to_string(folder.join("run.usda")).unwrap();
    let data = openusd::usda::parse(&text).unwrap();
    let field = |path: &str, name: &str| {
        let path = sdf::Path::new(path).unwrap();
        data.get_field(&path, name).unwrap().into_owned()
    };
    let Value::TimeSamples(samples) = field("/run/strip.points", "timeSamples") else {
        panic!("no samples");
    };
    assert_eq!(samples.len(), frames.len());
    for ((code, value), (time, points)) in samples.iter().zip(times.iter().zip(&frames)) {
        assert_eq!(*code, 24.0 * time);
        assert_eq!(&Vec::<[f32; 3]>::try_from(value.clone()).unwrap(), points);
    }
    let Value::IntVec(indices) = field("/run/strip.faceVertexIndices", "default") else {
        panic!("no triangles");
    };
    let indices = indices.iter().map(|i| *i as u32);
    assert!(indices.eq(triangles.iter().copied()));

    let file = gltf::Gltf::from_slice(&fs::read(folder.join("run.glb")).unwrap()).unwrap();
    let blob = file.blob.as_deref().unwrap();
    let floats = |a: &gltf::accessor::Accessor| {
        let start = a.view().unwrap().offset() + a.offset();
        let words = blob[start..start + a.count() * a.size()].as_chunks::<4>().0;
        words
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect::<Vec<_>>()
    };
    let mesh = file.meshes().find(|m| m.name() == Some("strip")).unwrap();
    let primitive = mesh.primitives().next().unwrap();
    let base = floats(&primitive.attributes().next().unwrap().1);
    assert_eq!(base, frames[0].as_flattened());
    assert_eq!(primitive.morph_targets().len(), frames.len() - 1);
    for (target, points) in primitive.morph_targets().zip(&frames[1..]) {
        let moved = floats(&target.positions().unwrap());
        for ((a, b), x) in base.iter().zip(&moved).zip(points.as_flattened()) {
            assert!((a + b - x).abs() <= f32::EPSILON * (a.abs() + x.abs()));
        }
    }
    let channel = file.animations().next().unwrap().channels().next().unwrap();
    let expected: Vec<f32> = times.iter().map(|t| *t as f32).collect();
    assert_eq!(floats(&channel.sampler().input()), expected);
    for ending in ["obj", "ply"] {
        let count = walk(&folder, ending);
        assert_eq!(count, frames.len(), "{ending}");
    }
}

/// Number of files with this ending below a folder.
fn walk(folder: &Path, ending: &str) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let count = |path: std::path::PathBuf| match path.is_dir() {
        true => walk(&path, ending),
        false => usize::from(path.extension().is_some_and(|e| e == ending)),
    };
    entries.map(count).sum()
}

#[test]
fn problems_that_cannot_be_exported_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_string_lossy();
    let refused = stiction(&["export", &out, "--format", "fbx"]);
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("fbx"));
    let refused = stiction(&["export", &out, "--format", "usd"]);
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("frames.pvd"));
}

#[test]
fn a_run_whose_meshes_change_is_exported_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    changing_meshes::write(&folder).unwrap();
    let out = folder.to_string_lossy();
    let made = stiction(&["export", &out, "--format", "usd,gltf,obj,ply"]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let picture = dir.path().join("all.png").to_string_lossy().into_owned();
    let made = stiction(&[
        "render", &out, "--all", "5", "--size", "64,48", "--out", &picture,
    ]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));

    let nodes = |side: &usize| (side + 1) * (side + 1);
    let points: Vec<usize> = changing_meshes::SIDES.iter().map(nodes).collect();
    for (i, count) in points.iter().enumerate() {
        let obj = fs::read_to_string(folder.join(format!("sheet_{i:06}.obj"))).unwrap();
        assert_eq!(obj.lines().filter(|l| l.starts_with("v ")).count(), *count);
        let ply = fs::read(folder.join(format!("sheet_{i:06}.ply"))).unwrap();
        let head = String::from_utf8_lossy(&ply[..ply.len().min(400)]).into_owned();
        assert!(
            head.contains(&format!("element vertex {count}\n")),
            "{head}"
        );
    }
    let text = fs::read_to_string(folder.join("run.usda")).unwrap();
    let data = openusd::usda::parse(&text).unwrap();
    let samples = |path: &str| {
        let path = sdf::Path::new(&format!("/run/{path}")).unwrap();
        match data.get_field(&path, "timeSamples").unwrap().into_owned() {
            Value::TimeSamples(samples) => samples,
            other => panic!("{other:?}"),
        }
    };
    let length = |value: &Value| Vec::<[f32; 3]>::try_from(value.clone()).unwrap().len();
    for attribute in ["sheet.points", "sheet.velocities"] {
        let lengths: Vec<usize> = samples(attribute).iter().map(|s| length(&s.1)).collect();
        assert_eq!(lengths, points, "{attribute}");
    }
    assert_eq!(samples("sheet.faceVertexIndices").len(), 3);
    // Of tetrahedra the surface: velocities are those of its points.
    let velocities = samples("block.velocities");
    let lengths: Vec<usize> = velocities.iter().map(|s| length(&s.1)).collect();
    assert_eq!(lengths, [4, 4, 5, 5, 5]);

    let file = gltf::Gltf::from_slice(&fs::read(folder.join("run.glb")).unwrap()).unwrap();
    let sheet = file.nodes().find(|n| n.name() == Some("sheet")).unwrap();
    assert_eq!(sheet.children().count(), 3);
    let floor = file.nodes().find(|n| n.name() == Some("obstacle.floor"));
    assert!(
        floor.unwrap().mesh().is_some(),
        "what does not change is one node"
    );
}
