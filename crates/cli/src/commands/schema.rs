//! `stiction schema`: the scene format as a JSON Schema.

use std::process::ExitCode;

use clap::Args;
use stiction_scene::schema;
use stiction_sim::Registry;

use super::Failure;

/// Editors that use Taplo read it if a scene begins with `#:schema ./scene.schema.json`.
#[derive(Debug, Args)]
pub struct SchemaArgs {}

pub fn main(_args: SchemaArgs) -> Result<ExitCode, Failure> {
    println!("{:#}", schema(&Registry::default()));
    Ok(ExitCode::SUCCESS)
}
