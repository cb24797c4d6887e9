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

    /// The scene's variants, in the order of its text.
    pub fn variants(&self) -> Vec<crate::VariantInfo> {
        // Built-in scenes are read in the tests: one that cannot be read does not get here.
        crate::variants(&crate::SceneSource::Builtin(self.name.to_owned())).unwrap_or_default()
    }

    /// Whether the scene has a variant called `name`.
    pub fn has_variant(&self, name: &str) -> bool {
        self.variants().iter().any(|v| v.name == name)
    }
}

// `SCENES`, `VALIDATION` and `ASSETS`, each in alphabetical order: written by the build script from the files.
include!(concat!(env!("OUT_DIR"), "/scenes.rs"));

/// The scenes of `stiction validate`, called `validation/NAME`, in alphabetical order. They are changed key by key there,
/// and run like any other scene; [`list`] leaves them out.
pub fn validation() -> &'static [Builtin] {
    VALIDATION
}

/// All built-in scenes, in alphabetical order.
pub fn list() -> &'static [Builtin] {
    SCENES
}

/// The bytes of the built-in mesh called `name`, which scenes name `builtin:NAME`.
pub fn asset(name: &str) -> Option<&'static [u8]> {
    let found = ASSETS.iter().find(|(own, _)| *own == name);
    found.map(|(_, bytes)| *bytes)
}

/// Names of the built-in meshes.
pub fn assets() -> impl Iterator<Item = &'static str> {
    ASSETS.iter().map(|(name, _)| *name)
}

/// The built-in scene called `name`.
pub fn get(name: &str) -> Option<Builtin> {
    let mut all = SCENES.iter().chain(VALIDATION);
    all.find(|s| s.name == name).copied()
}
