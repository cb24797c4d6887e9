#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use openusd::sdf::{self, AbstractData, Value};

/// A sheet that moves, a rod that moves, balls that move and a floor that rests; numbers that a
/// careless printer would cut short.
fn run() -> Animation {
    let times = vec![0.0, 1.0 / 24.0, 0.1];
    let shifted = |p: [f32; 3], i: usize| [p[0] + 0.1 * i as f32, p[1] / 3.0, p[2] - 1e-7];
    let moving = |points: &[[f32; 3]]| {
        let frame = |i: usize| points.iter().map(|p| shifted(*p, i)).collect();
        (0..3).map(frame).collect::<Vec<_>>()
    };
    let square = [
        [0.1, 0.2, 0.3],
        [1.7, 0.0, 0.0],
        [1.0, 1.0, 1e-3],
        [0.0, 1.0, -2.5],
    ];
    let triangles = vec![[0, 1, 2], [0, 2, 3]];
    Animation {
        times,
        bodies: vec![
            Moving {
                name: "my sheet".into(),
                shape: Shape::Triangles(triangles.clone()),
                frames: moving(&square),
            },
            Moving {
                name: "my-sheet".into(),
                shape: Shape::Lines(vec![[0, 1], [1, 2], [3, 0]], 0.01),
                frames: moving(&square),
            },
            Moving {
                name: "3 balls \"of\" mine".into(),
                shape: Shape::Balls(vec![0.1, 0.2, 0.3]),
                frames: moving(&square[..3]),
            },
            Moving {
                name: "obstacle.floor".into(),
                shape: Shape::Triangles(triangles),
                frames: vec![square.to_vec(); 3],
            },
        ],
    }
}

fn written(format: Whole) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run").with_extension(format.extension());
    run().write(&path, format).unwrap();
    std::fs::read(&path).unwrap()
}

fn triples(value: &Value) -> Vec<[f32; 3]> {
    Vec::<[f32; 3]>::try_from(value.clone()).unwrap()
}

fn integers(value: &Value) -> Vec<i32> {
    match value {
        Value::IntVec(list) => list.clone(),
        other => panic!("{other:?} is no list of integers"),
    }
}

#[test]
fn an_independent_reader_of_usd_finds_frames_points_topology_and_times() {
    let text = String::from_utf8(written(Whole::Usd)).unwrap();
    let data = openusd::usda::parse(&text).unwrap();
    let field = |path: &str, name: &str| {
        let path = sdf::Path::new(path).unwrap();
        data.get_field(&path, name).unwrap().into_owned()
    };
    let run = run();
    let root = |name: &str| f64::try_from(field("/", name)).unwrap();
    assert_eq!(root("timeCodesPerSecond"), 24.0);
    assert_eq!(root("endTimeCode"), 24.0 * 0.1);
    for (path, body) in [("my_sheet", 0), ("_3_balls__of__mine", 2)] {
        let value = field(&format!("/run/{path}.points"), "timeSamples");
        let Value::TimeSamples(samples) = value else {
            panic!("no samples of {path}");
        };
        let codes: Vec<f64> = samples.iter().map(|(code, _)| *code).collect();
        let expected: Vec<f64> = run.times.iter().map(|t| 24.0 * t).collect();
        assert_eq!(codes, expected);
        for ((_, value), points) in samples.iter().zip(&run.bodies[body].frames) {
            assert_eq!(&triples(value), points);
        }
    }
    let indices = field("/run/my_sheet.faceVertexIndices", "default");
    assert_eq!(integers(&indices), [0, 1, 2, 0, 2, 3]);
    // The two names become one identifier; the second gets a number.
    let counts = field("/run/my_sheet_2.curveVertexCounts", "default");
    assert_eq!(integers(&counts), [3, 2]);
    // What rests is written once.
    let floor = field("/run/obstacle_floor.points", "default");
    assert_eq!(triples(&floor), run.bodies[3].frames[0]);
}

#[test]
fn an_independent_reader_of_gltf_finds_frames_points_topology_and_times() {
    // The reader validates while it reads.
    let file = ::gltf::Gltf::from_slice(&written(Whole::Gltf)).unwrap();
    let blob = file.blob.as_deref().unwrap();
    let run = run();
    let bytes = |a: &::gltf::accessor::Accessor| {
        let view = a.view().unwrap();
        let start = view.offset() + a.offset();
        blob[start..start + a.count() * a.size()].to_vec()
    };
    let floats = |a: &::gltf::accessor::Accessor| {
        let bytes = bytes(a);
        let words = bytes.as_chunks::<4>().0.iter();
        words.map(|b| f32::from_le_bytes(*b)).collect::<Vec<_>>()
    };
    let nodes: Vec<_> = file.nodes().filter(|n| n.mesh().is_some()).collect();
    assert_eq!(nodes.len(), 4);
    for (node, body) in nodes.iter().zip(&run.bodies) {
        assert_eq!(node.name(), Some(body.name.as_str()));
        let primitive = node.mesh().unwrap().primitives().next().unwrap();
        let (_, base) = primitive.attributes().next().unwrap();
        let base = floats(&base);
        assert_eq!(base, body.frames[0].as_flattened());
        let targets = primitive.morph_targets();
        let expected = if body.rests() { 0 } else { 2 };
        assert_eq!(targets.len(), expected);
        for (target, frame) in primitive.morph_targets().zip(&body.frames[1..]) {
            let moved = floats(&target.positions().unwrap());
            for ((a, b), x) in base.iter().zip(&moved).zip(frame.as_flattened()) {
                // A sum of two numbers is rounded once.
                assert!((a + b - x).abs() <= f32::EPSILON * (a.abs() + x.abs()));
            }
        }
        if let Shape::Triangles(triangles) = &body.shape {
            let indices = bytes(&primitive.indices().unwrap());
            let words = indices.as_chunks::<4>().0.iter();
            let indices: Vec<u32> = words.map(|b| u32::from_le_bytes(*b)).collect();
            assert_eq!(indices, triangles.as_flattened());
        }
    }
    let animation = file.animations().next().unwrap();
    assert_eq!(animation.channels().count(), 3);
    for channel in animation.channels() {
        let times = floats(&channel.sampler().input());
        let expected: Vec<f32> = run.times.iter().map(|t| *t as f32).collect();
        assert_eq!(times, expected);
        let weights = floats(&channel.sampler().output());
        assert_eq!(weights, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    }
}

#[test]
fn what_does_not_fit_together_is_refused_by_name() {
    let refuse = |change: fn(&mut Animation), word: &str| {
        let mut run = run();
        change(&mut run);
        let dir = tempfile::tempdir().unwrap();
        for (_, format) in Whole::ALL {
            let path = dir.path().join("run");
            let error = run.write(&path, format).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
            assert!(!path.exists());
        }
    };
    refuse(|r| r.times.clear(), "no frame");
    refuse(|r| r.times[1] = 0.0, "ascend");
    refuse(
        |r| drop(r.bodies[0].frames.pop()),
        "my sheet has 2 frames of 3",
    );
    refuse(|r| r.bodies[0].frames[1].truncate(3), "number of points");
    refuse(|r| r.bodies[3].frames[0][0][1] = f32::NAN, "not finite");
    refuse(
        |r| r.bodies[1].shape = Shape::Lines(vec![[0, 9]], 0.01),
        "no point 9",
    );
    refuse(|r| r.bodies[2].shape = Shape::Balls(vec![0.1]), "radii");
}
