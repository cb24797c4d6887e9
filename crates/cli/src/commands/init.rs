//! `stiction init`: a commented first scene.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use miette::miette;

use super::Failure;

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Kind of the scene.
    #[arg(value_enum, default_value = "cloth")]
    kind: SceneKind,
    /// The file to write; KIND.toml by default. An existing file is not overwritten.
    #[arg(short, long)]
    out: Option<PathBuf>,
}

/// Kind of a first scene.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SceneKind {
    /// A tablecloth falls on a ball and stays.
    Cloth,
    /// A soft block rests on a slope.
    Solid,
    /// A rope hangs over a bar, held by friction.
    Rods,
    /// A stack of boxes on a tilted floor.
    Rigid,
    /// A skirt on a body.
    Garment,
}

impl SceneKind {
    fn text(self) -> &'static str {
        match self {
            Self::Cloth => include_str!("init/cloth.toml"),
            Self::Solid => include_str!("init/solid.toml"),
            Self::Rods => include_str!("init/rods.toml"),
            Self::Rigid => include_str!("init/rigid.toml"),
            Self::Garment => include_str!("init/garment.toml"),
        }
    }

    fn name(self) -> String {
        self.to_possible_value()
            .map(|v| v.get_name().to_owned())
            .unwrap_or_default()
    }
}

pub fn main(args: InitArgs) -> Result<ExitCode, Failure> {
    let path = args
        .out
        .unwrap_or_else(|| PathBuf::from(format!("{}.toml", args.kind.name())));
    let shown = path.display();
    match write_new(&path, args.kind.text()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let help = "name another file with --out, or remove it first";
            return Err(Failure::Input(miette!(
                help = help,
                "`{shown}` exists and is not overwritten"
            )));
        }
        Err(error) => {
            return Err(Failure::Input(miette!(
                "`{shown}` cannot be written: {error}"
            )));
        }
    }
    println!("wrote {shown}; run it with: stiction run {shown}");
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that does not exist yet; none is left where it cannot be written whole.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        drop(file);
        // The first error is the one worth reporting.
        let _ = fs::remove_file(path);
    }
    written
}
