//! Any bytes, any mutation and any value are refused or loaded: no panic, no wild allocation.

use proptest::prelude::*;
use stiction_scene::{LoadOptions, SceneLimits, load};

use crate::{STRIP, text};

/// Words that mutations put into scenes: keys, extremes, wrong types.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-308",
    "nan",
    "inf",
    "4294967295",
    "9223372036854775807",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "true",
    "[1, 2, 3]",
    "[1e300, 1e300, 1e300]",
    "\"strip\"",
    "\"denim\"",
    "\"..\"",
    "1979-05-27",
    "{ type = \"sphere\", radius = 1, frequency = 2 }",
    "\"rigid\"",
    "\"embedded\"",
    "\"solid\"",
    "\"\u{1F600}\"",
];

fn sample() -> String {
    format!(
        "{STRIP}motion = {{ translate = {{ times = [0, 1], values = [[0, 0, 0], [1, 0, 0]] }}, rotate = {{ axis = [0, 0, 1], times = [0, 1], angles = [0, 90] }} }}
[[body]]
name = \"ball\"
kind = \"rigid\"
shape = {{ type = \"sphere\", radius = 0.1, frequency = 2 }}
material = {{ density = 1000 }}
[[attachment]]
name = \"rope\"
a = {{ body = \"ball\", near = [0, 0, 0] }}
b = {{ body = \"strip\", node = 3 }}
stiffness = 10
[[probe]]
name = \"pull\"
type = \"tension\"
attachment = \"rope\"
[[check]]
of = \"pull\"
equals = 1
within = 2
[[obstacle]]
name = \"floor\"
shape = {{ type = \"plane\", normal = [0, 0, 1] }}
[contact]
enabled = false
"
    )
}

/// Loads with a small limit on nodes, so that what is accepted is also quickly built.
fn survives(scene: &str, overrides: Vec<String>) {
    let options = LoadOptions {
        limits: SceneLimits {
            max_nodes: 5_000,
            max_mesh_bytes: 1 << 20,
        },
        overrides,
        ..LoadOptions::default()
    };
    if let Err(error) = load(&text(scene), &options) {
        assert!(!error.problems().is_empty());
        let _ = format!("{:?} {}", miette::Report::new(error), "");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_refused_or_loaded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&String::from_utf8_lossy(&bytes), Vec::new());
    }

    #[test]
    fn a_mutated_scene_is_refused_or_loaded_without_panic(
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12usize), 1..5)
    ) {
        let mut scene: Vec<char> = sample().chars().collect();
        for (at, word, removed) in cuts {
            let at = at.index(scene.len());
            let end = (at + removed).min(scene.len());
            scene.splice(at..end, WORDS[word.index(WORDS.len())].chars());
        }
        survives(&scene.into_iter().collect::<String>(), Vec::new());
    }

    #[test]
    fn a_scene_with_any_value_anywhere_is_refused_or_loaded_without_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)
    ) {
        let paths = [
            "time.step", "time.duration", "time.frame_every", "gravity", "body.strip.kind", "body.strip.shape.size",
            "body.strip.shape.cells", "body.strip.shape.pattern", "body.strip.shape", "body.strip.material",
            "body.strip.scale", "body.strip.translate", "body.strip.rotate", "body.strip.velocity", "body.strip.repeat",
            "body.strip.warp", "body.strip.drag", "body.ball.shape.radius", "body.ball.shape.frequency",
            "body.ball.material.density", "body.ball.kind", "body.ball.cell", "body.ball.scale", "pin.0.select",
            "pin.0.select.half_space.point", "pin.0.motion.release", "pin.0.motion.translate.times",
            "attachment.rope.stiffness", "attachment.rope.b.node", "attachment.rope.a.near", "attachment.rope.length",
            "probe.pull.type", "check.0.at", "check.0.equals", "obstacle.floor.shape", "method", "friction", "contact",
            "air", "output", "material", "name", "body.strip.mesh",
        ];
        let overrides = changes
            .iter()
            .map(|(p, w)| format!("{}={}", paths[p.index(paths.len())], WORDS[w.index(WORDS.len())]))
            .collect();
        survives(&sample(), overrides);
    }
}
