//! `stiction scenes`: list the built-in scenes with their variants, or print one.

use std::process::ExitCode;

use clap::Args;
use stiction_scene::{LoadOptions, SceneSource, builtin, load};

use super::Failure;

#[derive(Debug, Args)]
pub struct ScenesArgs {
    /// Print this scene.
    name: Option<String>,
}

pub fn main(args: ScenesArgs) -> Result<ExitCode, Failure> {
    match args.name {
        Some(name) => match builtin::get(&name) {
            Some(scene) => print!("{}", scene.text),
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
                    some => format!(" [{}]", some.join(", ")),
                };
                println!("{:width$}  {}{variants}", scene.name, scene.description());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
