//! Lists the built-in scenes: every file of `scenes` and of `scenes/validation`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    // A published package has its own copy of the folder; in the repository they lie at its root.
    let own = root.join("scenes");
    let scenes = match own.join("validation").is_dir() {
        true => own,
        false => root.join("../../scenes"),
    };
    println!("cargo::rerun-if-changed=build.rs");
    let text = list(&scenes, "", "SCENES")?
        + &list(&scenes, "validation/", "VALIDATION")?
        + &assets(&scenes)?;
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    fs::write(out.join("scenes.rs"), text)
}

/// The constant `ASSETS` with the meshes of built-in scenes: every `.glb` file of `scenes`.
fn assets(scenes: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(scenes.canonicalize()?)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "glb") {
            files.push(path);
        }
    }
    files.sort();
    let mut text = "const ASSETS: &[(&str, &[u8])] = &[\n".to_owned();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = file.to_string_lossy().into_owned();
        text += &format!("    ({name:?}, include_bytes!({path:?})),\n");
    }
    Ok(text + "];\n")
}

/// The constant `name` with the scenes of one folder, in alphabetical order.
fn list(scenes: &Path, folder: &str, name: &str) -> io::Result<String> {
    let path = scenes.join(folder).canonicalize()?;
    println!("cargo::rerun-if-changed={}", path.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&path)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort_by_key(|f| f.file_stem().map(ToOwned::to_owned));
    let mut text = format!("const {name}: &[Builtin] = &[\n");
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let scene = format!("{folder}{stem}");
        let path = file.to_string_lossy().into_owned();
        text += &format!("    Builtin {{ name: {scene:?}, text: include_str!({path:?}) }},\n");
    }
    Ok(text + "];\n")
}
