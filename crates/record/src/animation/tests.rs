#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use openusd::sdf::{self, AbstractData, Value};

/// A moving sheet, a moving rod, moving balls and a floor at rest, with numbers that lose digits if
/// they are printed carelessly.
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
    let body = |name: &str, shape: AnimatedShape, frames: Vec<Vec<[f32; 3]>>| {
        let mut body = AnimatedBody::new(name);
        frames.into_iter().for_each(|f| body.push(shape.clone(), f));
        body
    };
    let lines = AnimatedShape::Lines(vec![[0, 1], [1, 2], [3, 0]], 0.01);
    let balls = AnimatedShape::Balls(vec![0.1, 0.2, 0.3]);
    Animation {
        times,
        bodies: vec![
            body(
                "my sheet",
                AnimatedShape::Triangles(triangles.clone()),
                moving(&square),
            ),
            body("my-sheet", lines, moving(&square)),
            body("3 balls \"of\" mine", balls, moving(&square[..3])),
            body(
                "obstacle.floor",
                AnimatedShape::Triangles(triangles),
                vec![square.to_vec(); 3],
            ),
        ],
    }
}

/// A sheet that is refined, refined again without moving and then connected otherwise, rods of which
/// one is lost, and a body that is there for two frames only.
fn changing() -> Animation {
    let corners = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 1.0, 0.0],
    ];
    let raised = |z: f32, points: &[[f32; 3]]| points.iter().map(|p| [p[0], p[1], z]).collect();
    let centre = [&corners[..], &[[0.5, 0.5, 0.0]]].concat();
    let coarse = AnimatedShape::Triangles(vec![[0, 1, 2], [0, 2, 3]]);
    let flipped = AnimatedShape::Triangles(vec![[0, 1, 3], [1, 2, 3]]);
    let fine = AnimatedShape::Triangles(vec![[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]);
    let mut sheet = AnimatedBody::new("sheet");
    sheet.push(coarse.clone(), raised(0.0, &corners));
    sheet.push(coarse.clone(), raised(0.1, &corners));
    sheet.push(fine.clone(), raised(0.2, &centre));
    sheet.push(fine, raised(0.3, &centre));
    sheet.push(coarse, raised(0.4, &corners));
    sheet.push(flipped, raised(0.5, &corners));
    sheet.velocities = sheet
        .frames()
        .map(|(_, f)| vec![[0.0, 0.0, 1.0]; f.len()])
        .collect();
    let mut rods = AnimatedBody::new("rods");
    let two = AnimatedShape::Lines(vec![[0, 1], [2, 3]], 0.01);
    for i in 0..3 {
        rods.push(two.clone(), raised(i as f32, &corners));
    }
    for i in 3..6 {
        let one = AnimatedShape::Lines(vec![[0, 1]], 0.02);
        rods.push(one, raised(i as f32, &corners[..2]));
    }
    let mut brief = AnimatedBody::new("brief");
    for i in 0..6 {
        let there = (2..4).contains(&i);
        let cells = if there { vec![[0, 1, 2]] } else { Vec::new() };
        let points = if there {
            corners[..3].to_vec()
        } else {
            Vec::new()
        };
        brief.push(AnimatedShape::Triangles(cells), points);
    }
    Animation {
        times: (0..6).map(|i| 0.5 * f64::from(i)).collect(),
        bodies: vec![sheet, rods, brief],
    }
}

fn written(run: &Animation, format: Whole) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run").with_extension(format.extension());
    run.write(&path, format).unwrap();
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
    let text = String::from_utf8(written(&run(), Whole::Usd)).unwrap();
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
        for ((_, value), points) in samples.iter().zip(&run.bodies[body].stretches[0].frames) {
            assert_eq!(&triples(value), points);
        }
    }
    let indices = field("/run/my_sheet.faceVertexIndices", "default");
    assert_eq!(integers(&indices), [0, 1, 2, 0, 2, 3]);
    // The two names become one identifier; the second gets a number.
    let counts = field("/run/my_sheet_2.curveVertexCounts", "default");
    assert_eq!(integers(&counts), [3, 2]);
    // Bodies at rest are written once.
    let floor = field("/run/obstacle_floor.points", "default");
    assert_eq!(triples(&floor), run.bodies[3].stretches[0].frames[0]);
}

#[test]
fn an_independent_reader_of_gltf_finds_frames_points_topology_and_times() {
    // The reader validates while it reads.
    let file = ::gltf::Gltf::from_slice(&written(&run(), Whole::Gltf)).unwrap();
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
        assert_eq!(base, body.stretches[0].frames[0].as_flattened());
        let targets = primitive.morph_targets();
        let expected = if body.rests() { 0 } else { 2 };
        assert_eq!(targets.len(), expected);
        for (target, frame) in primitive
            .morph_targets()
            .zip(&body.stretches[0].frames[1..])
        {
            let moved = floats(&target.positions().unwrap());
            for ((a, b), x) in base.iter().zip(&moved).zip(frame.as_flattened()) {
                // A sum of two numbers is rounded once.
                assert!((a + b - x).abs() <= f32::EPSILON * (a.abs() + x.abs()));
            }
        }
        if let AnimatedShape::Triangles(triangles) = &body.stretches[0].shape {
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
fn inconsistent_data_are_refused_by_name() {
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
        |r| drop(r.bodies[0].stretches[0].frames.pop()),
        "my sheet has 2 frames of 3",
    );
    refuse(
        |r| r.bodies[0].stretches[0].frames[1].truncate(3),
        "number of points",
    );
    refuse(
        |r| r.bodies[3].stretches[0].frames[0][0][1] = f32::NAN,
        "not finite",
    );
    refuse(
        |r| r.bodies[1].stretches[0].shape = AnimatedShape::Lines(vec![[0, 9]], 0.01),
        "no point 9",
    );
    refuse(
        |r| r.bodies[2].stretches[0].shape = AnimatedShape::Balls(vec![0.1]),
        "radii",
    );
    let kinds = |r: &mut Animation| {
        let balls = AnimatedShape::Balls(vec![0.1; 4]);
        let last = r.bodies[0].stretches[0].frames.pop().unwrap();
        r.bodies[0].push(balls, last);
    };
    refuse(kinds, "from a surface to balls");
    refuse(
        |r| r.bodies[0].velocities = vec![vec![[0.0; 3]; 2]; 3],
        "velocities",
    );
}

#[test]
fn usd_has_samples_of_every_mesh_of_a_body() {
    let run = changing();
    let text = String::from_utf8(written(&run, Whole::Usd)).unwrap();
    let data = openusd::usda::parse(&text).unwrap();
    let samples = |path: &str| {
        let path = sdf::Path::new(&format!("/run/{path}")).unwrap();
        let value = data.get_field(&path, "timeSamples").unwrap().into_owned();
        match value {
            Value::TimeSamples(samples) => samples,
            other => panic!("{other:?} are no samples"),
        }
    };
    let codes = |path: &str| samples(path).iter().map(|s| s.0).collect::<Vec<_>>();
    // Topology is written where it changes and holds until the next sample.
    assert_eq!(codes("sheet.faceVertexCounts"), [0.0, 24.0, 48.0, 60.0]);
    let indices = samples("sheet.faceVertexIndices");
    let expected = [
        vec![0, 1, 2, 0, 2, 3],
        vec![0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4],
        vec![0, 1, 2, 0, 2, 3],
        vec![0, 1, 3, 1, 2, 3],
    ];
    for (sample, expected) in indices.iter().zip(&expected) {
        assert_eq!(&integers(&sample.1), expected);
    }
    // Every frame has its points and velocities; the flip leaves their number and holds the old ones.
    let before = 60.0 - 12.0 / 1024.0;
    let expected = [0.0, 12.0, 24.0, 36.0, 48.0, before, 60.0];
    for path in ["sheet.points", "sheet.velocities", "sheet.extent"] {
        assert_eq!(codes(path), expected, "{path}");
    }
    let points = samples("sheet.points");
    let mut frames: Vec<Vec<[f32; 3]>> = run.bodies[0].frames().map(|(_, f)| f.to_vec()).collect();
    frames.insert(5, frames[4].clone());
    for (sample, frame) in points.iter().zip(&frames) {
        assert_eq!(&triples(&sample.1), frame);
    }
    for (sample, frame) in samples("sheet.velocities").iter().zip(&frames) {
        assert_eq!(triples(&sample.1), vec![[0.0, 0.0, 1.0]; frame.len()]);
    }
    let counts = samples("rods.curveVertexCounts");
    assert_eq!(integers(&counts[0].1), [2, 2]);
    assert_eq!(integers(&counts[1].1), [2]);
    assert_eq!(codes("rods.widths"), [0.0, 36.0]);
    assert_eq!(codes("rods.points").len(), 6);
    let brief = samples("brief.points");
    let lengths: Vec<usize> = brief.iter().map(|s| triples(&s.1).len()).collect();
    assert_eq!(lengths, [0, 0, 3, 3, 0, 0]);
}

#[test]
fn gltf_shows_one_mesh_of_a_body_at_a_time() {
    let run = changing();
    let file = ::gltf::Gltf::from_slice(&written(&run, Whole::Gltf)).unwrap();
    let blob = file.blob.as_deref().unwrap();
    let floats = |a: &::gltf::accessor::Accessor| {
        let start = a.view().unwrap().offset() + a.offset();
        let words = blob[start..start + a.count() * a.size()].as_chunks::<4>().0;
        words
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect::<Vec<_>>()
    };
    let node = |name: &str| file.nodes().find(|n| n.name() == Some(name)).unwrap();
    let root = file.scenes().next().unwrap().nodes().next().unwrap();
    let children: Vec<_> = root
        .children()
        .filter_map(|n| n.name().map(str::to_owned))
        .collect();
    assert_eq!(children, ["sheet", "rods", "brief"]);
    let animation = file.animations().next().unwrap();
    let animation = &animation;
    let channel = |node: usize, path: ::gltf::animation::Property| {
        let mut channels = animation.channels();
        channels.find(|c| c.target().node().index() == node && c.target().property() == path)
    };
    for body in &run.bodies {
        let nodes: Vec<_> = node(&body.name).children().collect();
        assert_eq!(nodes.len(), body.stretches.len());
        let mut first = 0;
        for (node, stretch) in nodes.iter().zip(&body.stretches) {
            // Shown in its own frames and in no other.
            let shown = channel(node.index(), ::gltf::animation::Property::Scale).unwrap();
            assert_eq!(
                shown.sampler().interpolation(),
                ::gltf::animation::Interpolation::Step
            );
            let (times, scales) = (
                floats(&shown.sampler().input()),
                floats(&shown.sampler().output()),
            );
            for (i, time) in run.times.iter().enumerate() {
                let key = times.iter().rposition(|t| f64::from(*t) <= *time).unwrap();
                let expected = (first..first + stretch.frames.len()).contains(&i);
                let scale = if expected { 1.0 } else { 0.0 };
                assert_eq!(
                    scales[3 * key..3 * key + 3],
                    [scale; 3],
                    "{:?} {i}",
                    node.name()
                );
            }
            let still = node.transform().decomposed().2;
            assert_eq!(still, if first == 0 { [1.0; 3] } else { [0.0; 3] });
            let points = &stretch.frames[0];
            match node.mesh() {
                None => assert!(points.is_empty()),
                Some(mesh) => {
                    let primitive = mesh.primitives().next().unwrap();
                    let base = floats(&primitive.attributes().next().unwrap().1);
                    assert_eq!(base, points.as_flattened());
                    let targets = if stretch.rests() {
                        0
                    } else {
                        stretch.frames.len() - 1
                    };
                    assert_eq!(primitive.morph_targets().len(), targets);
                }
            }
            let weights = channel(
                node.index(),
                ::gltf::animation::Property::MorphTargetWeights,
            );
            assert_eq!(weights.is_some(), !stretch.rests());
            if let Some(weights) = weights {
                let times = floats(&weights.sampler().input());
                assert_eq!(f64::from(times[0]), run.times[first]);
                assert_eq!(times.len(), stretch.frames.len());
            }
            first += stretch.frames.len();
        }
    }
}

#[test]
fn frames_without_points_are_of_the_kind_of_the_others() {
    let rod = AnimatedShape::Lines(vec![[0, 1]], 0.01);
    let ends = vec![[0.0; 3], [1.0; 3]];
    let mut body = AnimatedBody::new("rods");
    body.push(AnimatedShape::Balls(Vec::new()), Vec::new());
    body.push(rod.clone(), ends.clone());
    body.push(AnimatedShape::Triangles(Vec::new()), Vec::new());
    body.push(AnimatedShape::Balls(Vec::new()), Vec::new());
    body.push(rod, ends);
    let run = Animation {
        times: (0..5).map(f64::from).collect(),
        bodies: vec![body],
    };
    assert_eq!(run.bodies[0].stretches.len(), 4);
    let text = String::from_utf8(written(&run, Whole::Usd)).unwrap();
    assert!(
        text.contains("def BasisCurves") && text.contains("widths"),
        "{text}"
    );
    written(&run, Whole::Gltf);
}
