//! The checks of the built-in scenes, in their variant `quick` where they have one.
//!
//! `stiction check` runs the full form of all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{
    collections::BTreeSet,
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use common::{code, stderr, stdout, stiction};
use serde_json::Value;
use stiction_cli::scene::builtin;

/// One run of `stiction check --variant quick`: its exit code, what it printed, what it complained about.
struct Outcome {
    code: i32,
    summary: Value,
    complaint: String,
}

/// Checks each scene with its overrides; as many at a time as there are cores, each on one thread.
fn check_all(runs: &[(&str, &[&str])]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((i, (scene, overrides))) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    runs.get(i).map(|run| (i, run))
                } {
                    let outcome = check(scene, overrides);
                    done.lock().unwrap().push((i, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

fn check(scene: &str, overrides: &[&str]) -> Outcome {
    let mut args = vec!["check", "--variant", "quick", scene, "--json"];
    args.extend(["--threads", "1"]);
    overrides.iter().for_each(|o| args.extend(["--set", o]));
    let output = stiction(&args);
    let all: Value = serde_json::from_str(&stdout(&output))
        .unwrap_or_else(|e| panic!("{scene}: {e}: {}", stderr(&output)));
    Outcome {
        code: code(&output),
        summary: all[0].clone(),
        complaint: stderr(&output),
    }
}

/// The names of the checks that failed.
fn failed(summary: &Value) -> Vec<&str> {
    let checks = summary["checks"].as_array().unwrap().iter();
    checks
        .filter(|c| c["passed"] != Value::Bool(true))
        .map(|c| c["name"].as_str().unwrap())
        .collect()
}

/// Scenes without checks would test nothing.
#[test]
fn every_built_in_scene_passes_its_quick_checks() {
    let runs: Vec<(&str, &[&str])> = builtin::list().iter().map(|s| (s.name, &[][..])).collect();
    for (outcome, scene) in check_all(&runs).iter().zip(builtin::list()) {
        let Outcome {
            code,
            summary,
            complaint,
        } = outcome;
        let name = scene.name;
        assert_eq!(summary["scene"], name);
        let quick = scene.has_variant("quick");
        assert_eq!(summary["variant"].as_str(), quick.then_some("quick"));
        assert_eq!(summary["status"], "done", "{name}: {complaint}");
        // A scene whose steps miss their own tolerance as a rule has the wrong tolerance.
        let [missed, steps] = ["unconverged_steps", "steps"].map(|k| summary[k].as_u64().unwrap());
        assert!(3 * missed < steps, "{name}: {missed} of {steps}");
        assert!(!summary["checks"].as_array().unwrap().is_empty(), "{name}");
        assert!(failed(summary).is_empty(), "{name}: {}", summary["checks"]);
        assert_eq!(*code, 0, "{name}: {complaint}");
    }
}

/// Settings that switch off the main effect of each scene, and the check that must fail.
const OFF: &[(&str, &[&str], &str)] = &[
    (
        "ball-squish",
        &["volume.filling.compression_per_atm=1e9"],
        "its water keeps its volume",
    ),
    ("beam", &["material.beam.young=5e5"], "tip"),
    ("bearing", &["friction.default=0"], "they roll along"),
    (
        "block-slide",
        &["friction.default=0.17"],
        "and rests after 15.53 s",
    ),
    (
        "cantilever-sheet",
        &["material.sheet.bending=0.00625"],
        "edge",
    ),
    ("capstan", &["friction.default=0.2"], "the rope holds"),
    (
        "card-pyramid",
        &["friction.default=0.1"],
        "the house stands",
    ),
    (
        "cubes-2000",
        &["contact.enabled=false"],
        "the lowest lies on the floor",
    ),
    ("dome", &["method.contacts=\"keep\""], "it follows the dome"),
    ("drag", &["friction.default=0"], "it follows a circle"),
    ("free-fall", &["gravity=[0, 0, -5]"], "sheet"),
    ("grains", &["friction.default=0"], "a heap stands"),
    ("hanging-strip", &["gravity=[0, 0, 0]"], "lowest"),
    (
        "inclined-plane",
        &["friction.default=0"],
        "it slides as a block does",
    ),
    ("jelly", &["gravity=[0, 0, 0]"], "tip"),
    (
        "palm",
        &["air.wind=[0, 0, 0]", "air.gust=[0, 0, 0]"],
        "the trunk leans with the wind",
    ),
    (
        "pendulum",
        &["gravity=[0, 0, -5]"],
        "through the middle after a quarter",
    ),
    (
        "pyramid",
        &["friction.default=0"],
        "the plate turns the top",
    ),
    (
        "proximity-metric",
        &["adapt.0.remesh.proximity=false"],
        "fine along the edge when it touches",
    ),
    (
        "refine",
        &["adapt.0.refine_at=[5]"],
        "every node of the fine cloth is held",
    ),
    (
        "rigid-stack",
        &["friction.default=0.03"],
        "the bottom stays",
    ),
    (
        "rings",
        &["contact.enabled=false"],
        "the lowest lies on the floor",
    ),
    ("slope", &["friction.default=0.3"], "the cloth stays"),
    (
        "strings",
        &["contact.enabled=false"],
        "they pull on each other",
    ),
    ("swing", &["gravity=[0, 0, 0]"], "it swings through"),
    (
        "tumbling",
        &["body.box.angular_velocity=[0, 290, 0]"],
        "it flips",
    ),
    (
        "wedge-pile",
        &["contact.enabled=false"],
        "the wedge lifts the pile",
    ),
    ("weight", &["material.strip.young=2e6"], "stretch"),
    (
        "ball-in-box",
        &["friction.default=0"],
        "friction turns it aside",
    ),
    ("belt", &["friction.default=0"], "the poles drive it"),
    (
        "bowl-grasp",
        &["friction.default=0.4"],
        "the bowl rises with the pads",
    ),
    ("box-and-cone", &["contact.enabled=false"], "it is held up"),
    (
        "bunnies",
        &["contact.enabled=false"],
        "the lowest lies on the floor",
    ),
    ("cards", &["friction.default=0.2"], "it stands"),
    (
        "dress",
        &["seam.left-side.close=[50, 51]"],
        "the seams are closed",
    ),
    (
        "dress",
        &["contact.enabled=false"],
        "it hangs on the shoulders",
    ),
    (
        "furry-ball",
        &["contact.enabled=false"],
        "the ball goes on beyond the cloth",
    ),
    (
        "groom",
        &["gravity=[0, 0, -9.81]"],
        "the hair is drawn backwards",
    ),
    (
        "groom",
        &["contact.enabled=false"],
        "strands lie on strands",
    ),
    (
        "hair-band",
        &[
            "material.hair.friction=0",
            "material.band.friction=0",
            "material.skin.friction=0",
        ],
        "the band stays",
    ),
    (
        "hairy-ball",
        &["contact.enabled=false"],
        "strands press on strands",
    ),
    (
        "hairy-ball",
        &["pin.0.motion.rotate.1.angles=[0, 0]"],
        "it turns with the ball",
    ),
    ("heap", &["friction.default=0"], "the boxes come to rest"),
    ("incline", &["friction.default=0.1"], "rigid stops for good"),
    (
        "incline-points",
        &["friction.default=0.1"],
        "points brake as they should",
    ),
    (
        "laundry",
        &["air.wind=[0, 0, 0]"],
        "the wind leans the sheet",
    ),
    (
        "laundry",
        &["pin.loose-peg.motion.release=10"],
        "then it lets go",
    ),
    (
        "long-hair-on-cloth",
        &["material.cloth.friction=0"],
        "the cloth stays on the shoulders",
    ),
    (
        "long-hair-on-cloth",
        &["contact.enabled=false"],
        "hair lies on the cloth",
    ),
    ("pinch", &["friction.default=0.02"], "it is lifted"),
    (
        "pinched-spheres",
        &["friction.default.compliance=0"],
        "the cloth is calm",
    ),
    (
        "sand-on-sphere",
        &["contact.enabled=false"],
        "a heap stays on the ball",
    ),
    (
        "sandbox",
        &["contact.enabled=false"],
        "the cube does not reach the floor",
    ),
    (
        "self-lock",
        &["friction.default=0.2"],
        "the ball does not creep",
    ),
    (
        "sewing",
        &["seam.left.close=[50, 51]"],
        "the seams are closed",
    ),
    ("sewing", &["friction.default=0"], "the tube stays up"),
    (
        "shawl",
        &["friction.default=0.3"],
        "it stays on the shoulder",
    ),
    (
        "shirt-stack",
        &["contact.enabled=false"],
        "the stack rests on the ball",
    ),
    (
        "sticky-patch",
        &["friction.default.cohesion=0"],
        "strands clump",
    ),
    (
        "tennis-drop",
        &["method.integrator=backward-euler"],
        "it bounces well",
    ),
    (
        "tennis-drop",
        &["volume.gas.inflation_atm=0"],
        "it is pressurised",
    ),
    (
        "tennis-wall",
        &["contact.enabled=false"],
        "and bounces back",
    ),
    (
        "tire",
        &["friction.default=0"],
        "the ground pushes it forwards",
    ),
    (
        "tube-bend",
        &["volume.flesh.compression_per_atm=1e9"],
        "the limb keeps its volume",
    ),
    (
        "tube-bend",
        &["contact.enabled=false"],
        "the sleeve bends with the limb",
    ),
    ("trousers", &["contact.enabled=false"], "the knee is lifted"),
];

#[test]
fn a_check_of_every_scene_fails_without_its_main_effect() {
    let shown: BTreeSet<&str> = OFF.iter().map(|o| o.0).collect();
    for scene in builtin::list() {
        assert!(shown.contains(scene.name), "{}", scene.name);
    }
    let runs: Vec<(&str, &[&str])> = OFF.iter().map(|o| (o.0, o.1)).collect();
    for (outcome, (name, overrides, check)) in check_all(&runs).iter().zip(OFF) {
        let failed = failed(&outcome.summary);
        assert!(failed.contains(check), "{name} {overrides:?}: {failed:?}");
        assert_eq!(outcome.code, 1, "{name} {overrides:?}");
    }
}

/// Friction that is lagged by a step stops a block where implicit friction does if the normal force is there from the first
/// step on. An elastic block, which has to press its contacts first, runs through that step without friction.
#[test]
fn lagged_friction_stops_a_block_that_begins_with_its_weight() {
    let overrides = |friction: &str| {
        [
            "time.step=0.1".to_owned(),
            format!("method.friction={friction}"),
        ]
    };
    for friction in ["implicit", "lagged"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let mut args = vec!["run", "block-slide", "--variant", "pressed", "--json"];
        args.extend(["--threads", "1", "--format", "none"]);
        args.extend(["--out", out.to_str().unwrap()]);
        let overrides = overrides(friction);
        overrides.iter().for_each(|o| args.extend(["--set", o]));
        let output = stiction(&args);
        let summary: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert!(failed(&summary).is_empty(), "{friction}: {summary}");
    }
}
