//! Scenes from text to model: defaults, overrides, files, materials, hostile input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod kept;
mod load;
mod materials;
mod overrides;
mod robust;
mod roots;
mod say;
mod shapes;
mod variants;

use std::path::{Path, PathBuf};

use stiction_scene::{LoadOptions, Scene, SceneError, SceneSource, load};

const STRIP: &str = r#"# A comment.
[time]
step = 0.01   # trailing
duration = 1.0

[[body]]
name = "strip"
kind = "shell"
shape = { type = "sheet", size = [0.2, 1.0], cells = [2, 10] }
material = "tablecloth"

[[pin]]
name = "top"
body = "strip"
select = { half_space = { normal = [0, 1, 0], point = [0, 0.5, 0] } }
"#;

fn text(text: &str) -> SceneSource {
    SceneSource::Text {
        name: "test.toml".to_owned(),
        text: text.to_owned(),
    }
}

fn set(overrides: &[&str]) -> LoadOptions {
    LoadOptions {
        overrides: overrides.iter().map(|s| s.to_string()).collect(),
        ..LoadOptions::default()
    }
}

fn ok(source: &str) -> Scene {
    load(&text(source), &LoadOptions::default()).unwrap_or_else(|e| panic!("{}", e.plain()))
}

fn ok_with(source: &str, overrides: &[&str]) -> Scene {
    load(&text(source), &set(overrides)).unwrap_or_else(|e| panic!("{}", e.plain()))
}

fn fails(source: &str, overrides: &[&str]) -> SceneError {
    match load(&text(source), &set(overrides)) {
        Ok(_) => panic!("loads"),
        Err(error) => error,
    }
}

fn scenes_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes")
}
