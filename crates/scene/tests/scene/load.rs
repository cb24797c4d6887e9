//! Defaults, placement, selections, checks, limits and the documentation's examples.

use stiction_bodies::{BodyKind, obstacle::ObstacleShape};
use stiction_math::Vec3;
use stiction_scene::{
    LoadOptions, OutputFrames, ProblemKind, Scene, SceneLimits, SceneSource, builtin, load,
};
use stiction_sim::check::{CheckProgress, Moment, Subject};
use stiction_sim::newton::{self, NewtonStop};

use crate::{STRIP, fails, ok, ok_with, scenes_folder, set, text};

/// Runs a scene to its end and gives the outcome of every check.
pub(crate) fn run(scene: Scene) -> Vec<stiction_sim::check::CheckOutcome> {
    let (mut simulation, plan) = scene.simulation().unwrap();
    let mut progress = vec![CheckProgress::default(); plan.checks.len()];
    let h = plan.time.step;
    let mut values: Vec<Option<f64>> = vec![None; plan.probes.len()];
    for step in 0..=plan.time.steps() {
        let report = if step > 0 {
            Some(simulation.step().unwrap())
        } else {
            None
        };
        let certificate = report.as_ref().map(|r| &r.certificate);
        let contacts = simulation.contacts();
        for (value, probe) in values.iter_mut().zip(&plan.probes) {
            let (model, state) = (simulation.model(), simulation.state());
            let quantity = &probe.quantity;
            *value = Some(quantity.follow(model, state, &contacts, certificate, *value));
        }
        let probes: Vec<f64> = values.iter().flatten().copied().collect();
        let at = Moment {
            time: step as f64 * h,
            probes: &probes,
            certificate,
        };
        for (check, progress) in plan.checks.iter().zip(&mut progress) {
            check.watch(progress, &at, h);
        }
    }
    plan.checks
        .iter()
        .zip(&progress)
        .map(|(c, p)| c.outcome(p))
        .collect()
}

#[test]
fn a_small_scene_has_the_documented_defaults() {
    let scene = ok(STRIP);
    assert_eq!(scene.plan.name, "test.toml");
    assert_eq!(scene.model.gravity, Vec3::new(0.0, 0.0, -9.81));
    assert!(scene.model.air.is_none());
    assert!(!scene.model.contact);
    assert_eq!(scene.plan.time.frames, OutputFrames::PerSecond(25.0));
    assert_eq!(scene.plan.time.steps(), 100);
    let config = scene.plan.method.downcast_ref::<newton::Config>().unwrap();
    assert_eq!(
        config.stop,
        NewtonStop::Tolerance {
            tolerance: 1e-8,
            max: 50
        }
    );
    assert_eq!(scene.plan.friction.between("a", "b").mu, 0.5);
    assert_eq!(scene.plan.output.formats, ["vtu"]);
    let body = &scene.model.bodies[0];
    assert_eq!(
        (body.name.as_str(), body.material.as_str()),
        ("strip", "tablecloth")
    );
    assert_eq!(body.blocks, 0..33);
    // Area times the library's 0.128 kg/m².
    assert!((body.total_mass() - 0.2 * 0.128).abs() < 1e-15);
    assert_eq!(
        scene.model.pins.iter().map(|p| p.block).collect::<Vec<_>>(),
        [30, 31, 32]
    );
}

#[test]
fn built_in_scenes_are_the_files_of_the_folder_and_load() {
    let mut files: Vec<String> = std::fs::read_dir(scenes_folder())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let names: Vec<&str> = builtin::list().iter().map(|s| s.name).collect();
    assert_eq!(names, files, "the embedded list and the folder differ");
    for builtin in builtin::list() {
        let file = std::fs::read_to_string(scenes_folder().join(format!("{}.toml", builtin.name)))
            .unwrap();
        assert_eq!(builtin.text, file);
        let source = SceneSource::Builtin(builtin.name.to_owned());
        let scene =
            load(&source, &LoadOptions::default()).unwrap_or_else(|e| panic!("{}", e.plain()));
        assert_eq!(scene.plan.name, builtin.name);
        assert!(!scene.plan.description.is_empty(), "{}", builtin.name);
    }
}

#[test]
fn the_pendulum_and_the_tumbling_box_keep_their_laws() {
    for name in ["pendulum", "tumbling"] {
        let scene = load(&SceneSource::Builtin(name.into()), &LoadOptions::default()).unwrap();
        let outcomes = run(scene);
        assert!(!outcomes.is_empty());
        assert!(outcomes.iter().all(|o| o.passed), "{name}: {outcomes:#?}");
    }
}

#[test]
fn the_hanging_strip_and_the_jelly_pass_their_checks() {
    for name in ["hanging-strip", "jelly"] {
        let scene = load(&SceneSource::Builtin(name.into()), &LoadOptions::default()).unwrap();
        let outcomes = run(scene);
        assert!(!outcomes.is_empty());
        assert!(outcomes.iter().all(|o| o.passed), "{name}: {outcomes:#?}");
    }
}

#[test]
fn a_wrong_name_of_a_built_in_scene_suggests_the_right_one() {
    let error = load(
        &SceneSource::from_argument("pendlum"),
        &LoadOptions::default(),
    )
    .unwrap_err();
    assert_eq!(error.kind(), ProblemKind::UnknownName);
    assert!(
        error.plain().contains("did you mean `pendulum`"),
        "{}",
        error.plain()
    );
    let missing = load(
        &SceneSource::from_argument("no/such.toml"),
        &LoadOptions::default(),
    )
    .unwrap_err();
    assert_eq!(missing.kind(), ProblemKind::Read);
    assert!(missing.plain().contains("no/such.toml"));
    let folder = load(&SceneSource::File(scenes_folder()), &LoadOptions::default()).unwrap_err();
    assert!(
        folder.plain().contains("is not a file") || folder.plain().contains("directory"),
        "{}",
        folder.plain()
    );
}

#[test]
fn several_problems_are_reported_at_once_in_the_order_of_the_text() {
    let broken = STRIP
        .replace("step = 0.01", "step = -1")
        .replace("\"tablecloth\"", "\"tablcloth\"")
        .replace("body = \"strip\"", "body = \"strp\"");
    let error = fails(&broken, &[]);
    let lines: Vec<usize> = error
        .problems()
        .iter()
        .map(|p| p.location().unwrap().1)
        .collect();
    assert_eq!(lines, [3, 10, 14], "{}", error.plain());
    let offending: Vec<&str> = error
        .problems()
        .iter()
        .map(|p| p.offending_text().unwrap())
        .collect();
    assert_eq!(offending, ["-1", "\"tablcloth\"", "\"strp\""]);
    let report = format!("{:?}", miette::Report::new(error));
    for part in [
        "test.toml:3",
        "test.toml:10",
        "test.toml:14",
        "did you mean `tablecloth`",
    ] {
        assert!(report.contains(part), "{part} not in\n{report}");
    }
}

#[test]
fn bodies_are_scaled_then_turned_then_moved() {
    let placed = STRIP.replace(
        "kind = \"shell\"",
        "kind = \"shell\"\nscale = [2, 1, 1]\nrotate = [{ axis = [0, 0, 9], angle = 90 }, { axis = [1, 0, 0], angle = 90, about = [0, 0, 1] }]\ntranslate = [10, 0, 0]",
    );
    let scene = ok(&placed.replace("point = [0, 0.5, 0]", "point = [0, -5, 0]"));
    // Corner (−0.1, −0.5, 0): scaled (−0.2, −0.5, 0), turned about z (0.5, −0.2, 0), turned about
    // the x axis through z = 1 (0.5, 1, 0.8), moved.
    assert!(
        (scene.state.x[0] - Vec3::new(10.5, 1.0, 0.8)).norm() < 1e-12,
        "{}",
        scene.state.x[0]
    );
}

#[test]
fn copies_are_named_and_placed_in_a_row() {
    let scene = STRIP
        .replace(
            "kind = \"shell\"",
            "kind = \"shell\"\nrepeat = { count = 3, step = [0, 0, 0.1] }",
        )
        .replace("body = \"strip\"", "body = \"strip-2\"");
    let scene = ok(&scene);
    let names: Vec<&str> = scene.model.bodies.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["strip-1", "strip-2", "strip-3"]);
    assert!((scene.state.x[66].z - 0.2).abs() < 1e-15);
    assert_eq!(scene.model.pins[0].block, 33 + 30);
}

#[test]
fn selections_combine_and_include_their_boundaries_after_rounding() {
    let pins = |select: &str| {
        let scene = STRIP
            .replace(
                "{ half_space = { normal = [0, 1, 0], point = [0, 0.5, 0] } }",
                select,
            )
            .replace(
                "kind = \"shell\"",
                "kind = \"shell\"\nrotate = { axis = [0, 0, 1], angle = 90 }",
            );
        ok(&scene)
            .model
            .pins
            .iter()
            .map(|p| p.block)
            .collect::<Vec<_>>()
    };
    // The edge y = 0.5 is now at x = −0.5, up to rounding.
    assert_eq!(
        pins("{ box = { min = [-0.5, -1, 0], max = [-0.5, 1, 0] } }"),
        [30, 31, 32]
    );
    assert_eq!(
        pins("{ boundary = true, half_space = { normal = [-1, 0, 0], point = [-0.35, 0, 0] } }"),
        [27, 29, 30, 31, 32]
    );
    assert_eq!(pins("{ boundary = true, nearest = [0, 0, 0] }").len(), 1);
    assert_eq!(
        pins("{ sphere = { center = [0, 0, 0], radius = 0.1 } }").len(),
        5
    );
    assert_eq!(pins("{ nodes = [5, 3, 5] }"), [3, 5]);
}

#[test]
fn embedded_bodies_obstacles_springs_and_friction_are_built() {
    let scene = r#"
        [time]
        step = 0.01
        duration = 1
        [contact]
        enabled = false
        [[body]]
        name = "ball"
        kind = "embedded"
        shape = { type = "sphere", radius = 0.1, frequency = 6 }
        cell = 0.04
        material = { based_on = "rubber", friction = { static = 0.8, kinetic = 0.6 } }
        drag = {}
        [[attachment]]
        a = { world = [0, 0, 1] }
        b = { body = "ball", near = [0, 0, 0.2] }
        stiffness = 10
        length = 0.5
        [[obstacle]]
        name = "cone"
        shape = { type = "cone", radius = 0.3, height = 0.6, around = 5 }
        translate = [0, 0, -1]
        material = "ice"
        [[obstacle]]
        name = "floor"
        shape = { type = "plane", offset = -1 }
        motion = { rotate = { axis = [0, 0, 1], times = [0, 1], angles = [0, 90] } }
        [[obstacle]]
        name = "bowl"
        shape = { type = "bowl", radius = 0.4, depth = 0.2, thickness = 0.05, rings = 8 }
        translate = [0, 0, -2]
        collide = "level-set"
        cell = 0.02
        [friction]
        default = 0.2
        [[friction.pair]]
        materials = ["ice", "ball"]
        static = 0.1
    "#;
    let scene = ok(scene);
    let ball = &scene.model.bodies[0];
    assert!(matches!(ball.kind, BodyKind::Deformable(_)));
    let exact = 925.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-3;
    assert!(
        (ball.total_mass() / exact - 1.0).abs() < 0.08,
        "{} {exact}",
        ball.total_mass()
    );
    assert!(scene.model.air.is_some());
    let pole = scene.model.attachments[0].b.position(&scene.state);
    assert!((pole - Vec3::new(0.0, 0.0, 0.1)).norm() < 5e-3, "{pole}");
    assert!(
        matches!(&scene.model.obstacles[0].shape, ObstacleShape::Mesh(m) if m.positions.len() == 7)
    );
    assert!(matches!(&scene.model.obstacles[2].shape,
        ObstacleShape::LevelSet(m, set) if m.positions.len() > 50 && set.cell() == 0.02));
    let friction = &scene.plan.friction;
    assert_eq!(friction.between("ball", "ice").mu, 0.1);
    assert!((friction.between("ball", "floor").mu - 0.4).abs() < 1e-12);
    assert!((friction.between("ball", "floor").kinetic.unwrap() - 0.12_f64.sqrt()).abs() < 1e-12);
    let x = scene.model.obstacles[1].pose(1.0).apply(&Vec3::x());
    assert!((x - Vec3::y()).norm() < 1e-12);
}

#[test]
fn checks_read_their_bounds_and_times() {
    let scene = format!(
        "{STRIP}
[[probe]]
name = \"low\"
type = \"min\"
body = \"strip\"
axis = [0, 0, 2]
[[check]]
of = \"low\"
equals = -2
relative = 0.1
[[check]]
of = \"low\"
reduce = \"slope\"
from = 0.5
below = 3
[[check]]
of = \"certificate.residual\"
at = 0.5
below = 1e-6
"
    );
    let checks = ok(&scene).plan.checks;
    assert_eq!((checks[0].min, checks[0].max), (-2.2, -1.8));
    assert_eq!(checks[0].when, stiction_sim::check::When::End);
    assert_eq!(checks[1].name, "low (2)");
    assert_eq!(
        checks[1].when,
        stiction_sim::check::When::Between(0.5, f64::INFINITY)
    );
    assert_eq!(checks[1].min, f64::NEG_INFINITY);
    assert_eq!(checks[2].of, Subject::Certificate("residual".into()));
    // A run that the command line cuts short keeps its checks.
    assert!(load(&text(&scene), &set(&["time.duration=0.1"])).is_ok());
    assert!(
        fails(&scene.replace("duration = 1.0", "duration = 0.1"), &[])
            .plain()
            .contains("the run ends at 0.1 s")
    );
}

#[test]
fn the_limit_on_nodes_counts_all_bodies_and_copies() {
    let options = |max_nodes| LoadOptions {
        limits: SceneLimits {
            max_nodes,
            ..SceneLimits::default()
        },
        ..LoadOptions::default()
    };
    let scene = STRIP
        .replace(
            "kind = \"shell\"",
            "kind = \"shell\"\nrepeat = { count = 3, step = [0, 0, 0.1] }",
        )
        .replace("body = \"strip\"", "body = \"strip-2\"");
    assert!(load(&text(&scene), &options(99)).is_ok());
    let error = load(&text(&scene), &options(98)).unwrap_err();
    assert_eq!(error.kind(), ProblemKind::TooLarge);
    assert!(error.plain().contains("99 nodes"), "{}", error.plain());
}

#[test]
fn the_examples_in_the_documentation_are_valid() {
    let docs = std::fs::read_to_string(scenes_folder().join("../docs/scenes.md")).unwrap();
    let blocks: Vec<&str> = docs
        .split("```toml\n")
        .skip(1)
        .map(|b| b.split("```").next().unwrap())
        .collect();
    assert!(blocks.len() >= 7);
    ok(blocks[0]);
    for block in &blocks[1..] {
        // Each completes the first one, with the names it uses.
        let fresh = if block.contains("[time]") {
            blocks[0].replace("[time]\nstep = 0.01\nduration = 2.0\n", "")
        } else {
            blocks[0].to_owned()
        };
        let fresh = if block.contains("[[pin]]") {
            fresh.split("[[pin]]").next().unwrap().to_owned()
        } else {
            fresh
        };
        let ball = "[[body]]\nname = \"ball\"\nkind = \"rigid\"\nshape = { type = \"sphere\", radius = 0.1 }\nmaterial = \"steel\"\n";
        let contact = if block.contains("[contact]") {
            ""
        } else {
            "[contact]\nenabled = false\n"
        };
        ok(&format!("{fresh}\n{ball}\n{contact}\n{block}"));
    }
}

/// Method `admm` used to detect contacts in a scene that disables them.
#[test]
fn without_contact_a_block_falls_through_the_floor_with_every_method() {
    let scene = r#"
gravity = [0, 0, -10]
[time]
step = 0.01
duration = 0.5
[contact]
enabled = false
[[body]]
name = "block"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = "wood"
translate = [0, 0, 0.1]
[[obstacle]]
name = "floor"
shape = { type = "plane" }
"#;
    for method in ["newton", "admm", "smooth"] {
        let scene = ok_with(scene, &[&format!("method.name={method}")]);
        let (mut sim, plan) = scene.simulation().unwrap();
        for _ in 0..plan.time.steps() {
            sim.step().unwrap();
        }
        // Backward Euler after n steps: g h² n (n + 1) / 2.
        let fall = 10.0 * 1e-4 * 50.0 * 51.0 / 2.0;
        let z = sim.state().x[0].z;
        assert!((z - (0.1 - fall)).abs() < 1e-9, "{method}: {z}");
    }
}
