//! `stiction scenes`: list the built-in scenes, or print one.

use std::process::ExitCode;

use clap::Args;
use stiction_scene::{SceneSource, builtin};

use super::Failure;

#[derive(Debug, Args)]
pub struct ScenesArgs {
    /// Print this scene.
    name: Option<String>,
}

pub fn main(args: ScenesArgs) -> Result<ExitCode, Failure> {
    match args.name {
        Some(name) => {
            let source = SceneSource::builtin(&name).map_err(Failure::input)?;
            print!("{}", source.text);
        }
        None => {
            let width = builtin::list().iter().map(|s| s.name.len()).max().unwrap_or(0);
            for scene in builtin::list() {
                println!("{:width$}  {}", scene.name, scene.description());
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
