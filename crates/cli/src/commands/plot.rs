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
    /// part of the certificate by default. Separated by commas; a name with a comma stands in single
    /// quotes.
    #[arg(long)]
    columns: Vec<String>,
    /// The picture, .png or .svg; may be repeated. `DIR/plot.png` of the first run by default.
    #[arg(short, long, value_name = "FILE")]
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
    let columns: Vec<String> = args.columns.iter().flat_map(|c| names(c)).collect();
    let figure = figure(&runs, &columns).map_err(|e| Failure::Input(miette!("{e}")))?;
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

/// The names in a list with commas between them. In single quotes a comma belongs to the name, and two
/// quotes are one.
fn names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut quoted = false;
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, names.last_mut()) {
            ('\'', Some(name)) if quoted && chars.peek() == Some(&'\'') => {
                chars.next();
                name.push('\'');
            }
            ('\'', _) => quoted = !quoted,
            (',', _) if !quoted => names.push(String::new()),
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_quoted_name_keeps_its_commas() {
        assert_eq!(names("a,b"), ["a", "b"]);
        assert_eq!(names("'a:b, c',d"), ["a:b, c", "d"]);
        assert_eq!(names("'it''s'"), ["it's"]);
    }
}
