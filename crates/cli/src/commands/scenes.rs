//! `stiction scenes`: list the built-in scenes with their variants, or print one.

use std::process::ExitCode;

use clap::Args;
use stiction_scene::{LoadOptions, SceneSource, builtin, load};

use super::Failure;

#[derive(Debug, Args)]
pub struct ScenesArgs {
    /// Print this scene, and its variants as comments at the end.
    name: Option<String>,
}

pub fn main(args: ScenesArgs) -> Result<ExitCode, Failure> {
    match args.name {
        Some(name) => match builtin::get(&name) {
            Some(scene) => print!("{}{}", scene.text, listed(&scene)),
            None => {
                // Loading explains which scenes there are and which one may be meant.
                load(&SceneSource::Builtin(name), &LoadOptions::default())
                    .map_err(Failure::input)?;
            }
        },
        None => {
            let width = builtin::list()
                .iter()
                .map(|s| s.name.len())
                .max()
                .unwrap_or(0);
            for scene in builtin::list() {
                let variants = match scene.variants() {
                    none if none.is_empty() => String::new(),
                    some => {
                        let names: Vec<String> = some.into_iter().map(|v| v.name).collect();
                        format!(" [{}]", names.join(", "))
                    }
                };
                println!("{:width$}  {}{variants}", scene.name, scene.description());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The variants of a scene as comments, so that what is printed stays a scene.
fn listed(scene: &builtin::Builtin) -> String {
    let variants = scene.variants();
    let width = variants.iter().map(|v| v.name.len()).max();
    let Some(width) = width else {
        return String::new();
    };
    let mut text = format!(
        "\n# Variants, to be run with `stiction run {} --variant NAME`:\n",
        scene.name
    );
    for variant in variants {
        let line = format!("#   {:width$}  {}", variant.name, variant.description);
        text += line.trim_end();
        text += "\n";
    }
    text
}
