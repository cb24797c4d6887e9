//! The command line: a contract that scripts depend on.
//!
//! Exit codes: 0 done; 1 the run or a check failed; 2 bad usage or bad input; 130 interrupted by a signal.

// The one place that talks. Its macros come first, so that all commands use them.
#[macro_use]
mod output;

mod bench;
mod check;
mod compare;
mod curves;
mod doctor;
mod export;
mod groom;
mod init;
mod job;
mod pages;
mod plot;
mod progress;
mod render;
mod requirement;
mod run;
mod scenes;
mod schema;
mod signals;
mod solve;
mod validate;
mod view;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use miette::{Diagnostic, Report, miette};
use stiction_sim::Registry;

use crate::replay::ReplayError;

/// Friction that holds: a simulator of cloth, hair, elastic solids, rigid bodies and grains.
///
/// Exit codes: 0 done; 1 the run or a check failed; 2 bad usage or bad input; 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "stiction", version, arg_required_else_help = true)]
pub struct Cli {
    /// Colours in messages; NO_COLOR in the environment turns them off.
    #[arg(long, global = true, value_enum, default_value_t = ColourChoice::Auto, value_name = "WHEN")]
    color: ColourChoice,
    #[command(subcommand)]
    command: Command,
}

/// When messages have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a scene: a file, or the name of a built-in scene.
    Run(run::RunArgs),
    /// List the built-in scenes, or print one.
    Scenes(scenes::ScenesArgs),
    /// Write a first scene, with comments.
    Init(init::InitArgs),
    /// Print the scene format as a JSON Schema, for editors.
    Schema(schema::SchemaArgs),
    /// Run scenes and their own checks; exit 1 if one fails.
    Check(check::CheckArgs),
    /// Examine a mesh or a scene before a run.
    Doctor(doctor::DoctorArgs),
    /// Grow hair on a ball or a mesh and write it as a strand file.
    Groom(groom::GroomArgs),
    /// Show a recorded run in the browser.
    View(view::ViewArgs),
    /// Render pictures of a recorded run, without a GPU.
    Render(render::RenderArgs),
    /// Export a recorded run to USD, glTF, OBJ or PLY.
    Export(export::ExportArgs),
    /// Plot probes and certificate of recorded runs as PNG or SVG.
    Plot(plot::PlotArgs),
    /// Run one scene with several methods and settings, and compare them in a table and curves.
    Compare(compare::CompareArgs),
    /// Run the analytic friction suite: every method compared with closed forms.
    Validate(validate::ValidateArgs),
    /// Solve stored friction problems, with any solver or with all.
    Solve(solve::SolveArgs),
    /// Run reproducible benchmarks.
    Bench(bench::BenchArgs),
    /// Print completions for a shell.
    Completions(pages::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands to a folder.
    Man(pages::ManArgs),
}

/// Options of every command that loads a scene.
#[derive(Clone, Debug, Default, Args)]
pub struct SceneArgs {
    /// The method, in place of the scene's.
    #[arg(short, long, help = method_help())]
    pub method: Option<String>,
    /// A variant of the scene, that is a named set of changes, e.g. `quick`.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Override any key of the scene, e.g. `--set time.step=0.005`; applied after the variant. May be
    /// repeated.
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub overrides: Vec<String>,
    /// Threads to use; all cores by default. Results do not depend on it.
    #[arg(short, long)]
    pub threads: Option<usize>,
    /// A folder outside the scene's own from which the scene may read mesh files. May be repeated.
    #[arg(long = "allow-path", value_name = "DIR")]
    pub allowed: Vec<PathBuf>,
}

fn method_help() -> String {
    let names = Registry::default().names().join(", ");
    format!("The method, in place of the scene's: {names}")
}

/// Refuses names that no method has.
fn known_methods<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    let registry = Registry::default();
    match names.into_iter().find(|m| registry.get(m).is_none()) {
        None => Ok(()),
        Some(name) => Err(Failure::Input(miette!(
            help = format!("methods: {}", registry.names().join(", ")),
            "there is no method `{name}`"
        ))),
    }
}

/// Reason for which a command ended without doing its work.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input: exit code 2.
    Input(Report),
    /// The run or a check failed: exit code 1.
    Run(Report),
}

impl Failure {
    /// Bad input, from any diagnostic.
    pub fn input(error: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self::Input(Report::new(error))
    }

    /// The message without remedies.
    pub fn message(&self) -> String {
        match self {
            Self::Input(report) | Self::Run(report) => report.to_string(),
        }
    }

    /// A failed run, from any error.
    pub fn run(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Run(Report::from_err(error))
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        Self::Input(Report::from_err(error))
    }
}

/// A complaint about what was given.
fn bad(message: &str) -> Failure {
    Failure::Input(miette!("{message}"))
}

/// Runs a command and turns its end into an exit code.
pub fn main(cli: Cli) -> ExitCode {
    signals::catch();
    output::colour(cli.color);
    let result = match cli.command {
        Command::Run(args) => run::main(args),
        Command::Scenes(args) => scenes::main(args),
        Command::Init(args) => init::main(args),
        Command::Schema(args) => schema::main(args),
        Command::Check(args) => check::main(args),
        Command::Doctor(args) => doctor::main(args),
        Command::Groom(args) => groom::main(args),
        Command::View(args) => view::main(args),
        Command::Render(args) => render::main(args),
        Command::Export(args) => export::main(args),
        Command::Plot(args) => plot::main(args),
        Command::Compare(args) => compare::main(args),
        Command::Validate(args) => validate::main(args),
        Command::Solve(args) => solve::main(args),
        Command::Bench(args) => bench::main(args),
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
    };
    if let (Ok(_), Err(error)) = (&result, output::finish()) {
        eprintln!("stiction: cannot write to standard output: {error}");
        return ExitCode::from(1);
    }
    match result {
        Ok(code) => code,
        Err(Failure::Input(report)) => {
            eprintln!("{}", output::told(&report));
            ExitCode::from(2)
        }
        Err(Failure::Run(report)) => {
            eprintln!("{}", output::told(&report));
            ExitCode::from(1)
        }
    }
}

/// Prints what clap has to say: help and version are not errors.
pub fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let text = error.render();
        // Arguments are quoted as they are, however long.
        match output::cut(&text.to_string()) {
            Some(cut) => eprintln!("{cut}"),
            None => drop(error.print()),
        }
        return ExitCode::from(2);
    }
    match error.print() {
        // A reader that closed the pipe has seen enough.
        Err(lost) if lost.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}

/// Runs `work` on a pool of the asked number of threads.
fn with_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let mut builder = rayon::ThreadPoolBuilder::new();
    if let Some(n) = threads {
        if n == 0 || n > 1024 {
            let message =
                format!("--threads {n}: the number of threads must be between 1 and 1024");
            return Err(Failure::Input(miette::miette!(
                help = "leave it out to use all cores",
                "{message}"
            )));
        }
        builder = builder.num_threads(n);
    }
    let pool = builder.build().map_err(Failure::run)?;
    pool.install(work)
}

/// Folders for a run that was not given one, in their order: `out/NAME`, then `out/NAME-2` and so on,
/// so that nothing already written is lost.
fn fresh_folders(name: &str) -> impl Iterator<Item = PathBuf> + '_ {
    let first = PathBuf::from("out").join(name);
    let more = (2u32..).map(move |k| PathBuf::from("out").join(format!("{name}-{k}")));
    [first].into_iter().chain(more)
}

/// The folder that was given, or else the first of them that does not exist, which is made: two processes
/// never take the same one.
fn own_folder(given: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    if let Some(dir) = given {
        stiction_record::make_folder(dir).map_err(Failure::run)?;
        return Ok(dir.to_owned());
    }
    stiction_record::make_folder(Path::new("out")).map_err(Failure::run)?;
    for dir in fresh_folders(name) {
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let shown = dir.display();
                return Err(Failure::Run(miette!(
                    "cannot create folder {shown}: {error}"
                )));
            }
        }
    }
    Err(bad("every folder in out is taken; choose another --out"))
}
