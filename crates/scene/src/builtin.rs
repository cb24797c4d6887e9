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

    /// The names of the scene's variants, in the order of its text.
    pub fn variants(&self) -> Vec<String> {
        // Built-in scenes are read in the tests: one that cannot be read does not get here.
        crate::variants(&crate::SceneSource::Builtin(self.name.to_owned())).unwrap_or_default()
    }
}

macro_rules! scenes {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin { name: $name, text: include_str!(concat!("../../../scenes/", $name, ".toml")) }),*]
    };
}

/// In alphabetical order.
const SCENES: &[Builtin] = scenes![
    "ball-in-box",
    "ball-squish",
    "beam",
    "belt",
    "block-slide",
    "bowl-grasp",
    "box-and-cone",
    "bunnies",
    "cantilever-sheet",
    "capstan",
    "cards",
    "drag",
    "free-fall",
    "furry-ball",
    "grains",
    "groom",
    "hair-band",
    "hairy-ball",
    "hanging-strip",
    "heap",
    "jelly",
    "laundry",
    "long-hair-on-cloth",
    "palm",
    "pendulum",
    "pinch",
    "pinched-spheres",
    "refine",
    "self-lock",
    "shirt-stack",
    "slope",
    "sticky-patch",
    "swing",
    "tennis-drop",
    "tennis-wall",
    "tire",
    "tube-bend",
    "tumbling",
    "weight",
];

/// The scenes of `stiction validate`, called `validation/NAME`, in alphabetical order. They are
/// changed key by key there, and run like any other scene; `list` leaves them out.
const VALIDATION: &[Builtin] = scenes![
    "validation/arch",
    "validation/ball",
    "validation/belt-brake",
    "validation/board",
    "validation/board-elastic",
    "validation/capstan",
    "validation/collision",
    "validation/disc",
    "validation/edge",
    "validation/energy",
    "validation/ghosts",
    "validation/groove",
    "validation/layers",
    "validation/lock",
    "validation/oscillator",
    "validation/overhang",
    "validation/painleve",
    "validation/pair",
    "validation/pedestal",
    "validation/pinch",
    "validation/plates",
    "validation/pyramid",
    "validation/ring",
    "validation/rope",
    "validation/shaker",
    "validation/sheets",
    "validation/slope",
    "validation/slope-block",
    "validation/slope-cloth",
    "validation/stack",
    "validation/stack-cloth",
    "validation/symmetry",
    "validation/tablecloth",
    "validation/tilting",
    "validation/turntable",
    "validation/wedge",
];

/// The scenes of `stiction validate`.
pub fn validation() -> &'static [Builtin] {
    VALIDATION
}

/// All built-in scenes, in alphabetical order.
pub fn list() -> &'static [Builtin] {
    SCENES
}

/// The built-in scene called `name`.
pub fn get(name: &str) -> Option<Builtin> {
    let mut all = SCENES.iter().chain(VALIDATION);
    all.find(|s| s.name == name).copied()
}
