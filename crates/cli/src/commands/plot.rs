//! `stiction plot`: probes and certificate of recorded runs as curves.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use miette::miette;

use super::{
    Failure,
    curves::{Recorded, figure},
};

#[derive(Debug, Args)]
pub struct PlotArgs {
    /// Folders of runs; curves of several runs are laid over one another.
    #[arg(required = true, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// Probes by name, fields of the certificate as `certificate.residual`; all probes and the usual
    /// part of the certificate by default.
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// The picture, .png or .svg; may be repeated. `DIR/plot.png` of the first run by default.
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
}

pub fn main(args: PlotArgs) -> Result<ExitCode, Failure> {
    let mut runs = Vec::new();
    for dir in &args.runs {
        let run = Recorded::read(dir, &label(dir)).map_err(|e| {
            Failure::Input(miette!(
                help = "name the folder that `stiction run --out` wrote",
                "{} holds no run: {e}",
                dir.display()
            ))
        })?;
        runs.push(run);
    }
    let figure = figure(&runs, &args.columns).map_err(|e| Failure::Input(miette!("{e}")))?;
    let files = match args.out.is_empty() {
        true => vec![args.runs[0].join("plot.png")],
        false => args.out,
    };
    for file in &files {
        if !matches!(
            file.extension().and_then(|e| e.to_str()),
            Some("png" | "svg")
        ) {
            return Err(Failure::Input(miette!(
                "--out {}: pictures end in .png or .svg",
                file.display()
            )));
        }
    }
    for file in &files {
        figure.write(file).map_err(Failure::run)?;
        println!("{}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn label(dir: &Path) -> String {
    let name = dir.file_name().map(|n| n.to_string_lossy().into_owned());
    name.unwrap_or_else(|| dir.display().to_string())
}
