//! Scenes that are part of the program; the same files lie under `scenes/`.

/// A built-in scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name: the file's without the extension.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Builtin {
    /// The scene's own sentence about itself: the value of its `description`.
    pub fn description(&self) -> &'static str {
        let line = self
            .text
            .lines()
            .find_map(|l| l.strip_prefix("description"));
        line.and_then(|l| l.split('"').nth(1)).unwrap_or("")
    }
}

macro_rules! scenes {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../../scenes/", $name, ".toml")) }),*]
    };
}

/// In alphabetical order.
const SCENES: &[Builtin] = scenes![
    "ball-squish",
    "beam",
    "belt",
    "block-slide",
    "box-and-cone",
    "bunnies",
    "cantilever-sheet",
    "cards",
    "drag",
    "free-fall",
    "grains",
    "hanging-strip",
    "jelly",
    "laundry",
    "pendulum",
    "pinch",
    "pinched-spheres",
    "shirt-stack",
    "slope",
    "swing",
    "tennis-drop",
    "tumbling",
    "weight",
];

/// All built-in scenes, in alphabetical order.
pub fn list() -> &'static [Builtin] {
    SCENES
}

/// The built-in scene called `name`.
pub fn get(name: &str) -> Option<Builtin> {
    SCENES.iter().find(|s| s.name == name).copied()
}
