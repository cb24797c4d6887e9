//! `stiction bench`: reproducible benchmarks. They report ratios taken in one run, because machines
//! differ and are noisy; times are the least of several repetitions.

mod admm;
mod ball_in_box;
mod banded;
mod block_slide;
mod clock;
mod cr;
mod detection;
mod hairy_ball;
mod nodal;
mod projection;
mod recording;
mod smooth;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::{Args, ValueEnum};
use serde::Serialize;
use stiction_bodies::{
    Model, State,
    builder::{BodySpec, BuildError, Builder},
    material::{
        BendingLaw, Damping, MembraneLaw, RestAngles, ShellMaterial, SolidLaw, SolidMaterial,
    },
};
use stiction_geometry::shapes::{BoxSolid, ShapeError, Sheet, SheetPattern, TetPattern};
use stiction_math::{SystemFactor, Vec3};
use stiction_scene::{LoadOptions, SceneSource};
use stiction_sim::{Simulation, dynamics::Dynamics};

use super::{Failure, with_threads};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Which benchmark; `assembly` and `factor` by default.
    name: Option<Name>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    /// Threads for the parallel figures; all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Folder in which `admm`, `ball-in-box`, `block-slide` and `cr` write their figures, and `recording` writes (and
    /// removes) its runs.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Detection: go on to two million triangles (6 GB of memory). `smooth`: also the largest ball.
    #[arg(long)]
    large: bool,
    /// `cr`: bodies and duration of the paper's scenes, which takes hours.
    #[arg(long)]
    full: bool,
    /// `smooth`: only this ball: 1k, 55k or 160k.
    #[arg(long, value_name = "SIZE")]
    ball: Option<String>,
    /// `smooth`: only this compression of the filling: 1 or 0.01 per atmosphere.
    #[arg(long, value_name = "KAPPA")]
    filling: Option<String>,
    /// `hairy-ball`: how many strands, one row each; the paper has 15565 to 127058.
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "2000"
    )]
    strands: Vec<usize>,
    /// `hairy-ball`: frames of 1/24 s that are measured.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    frames: u64,
    /// `hairy-ball`: frames that are run before those that are measured; after 20 the hair lies on the ball.
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// `hairy-ball`: start from the checkpoint of a run of as many strands in this folder, made by
    /// `stiction run hairy-ball --variant paper --set body.hair.shape.count=N --frames F`.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// `nodal`: steps from the start of every scene.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// `nodal`: only scenes whose names contain this.
    #[arg(long, value_name = "NAME")]
    scene: Option<String>,
    /// `nodal`: instead, the pruning thresholds of [li2018, Fig. 11] on box and cone.
    #[arg(long)]
    prune: bool,
    /// Detection: write the scene as text for other programs and measure nothing.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Forces and projected Hessian against the factorisation of the same matrix.
    Assembly,
    /// Numeric factorisation and solve.
    Factor,
    /// The method `admm` compared with nested relaxation on model scenes, and the effect of its parts.
    Admm,
    /// Energy of a ball in a box with two trapezoidal rules.
    BallInBox,
    /// Banded factors of many rods, eight interleaved against one by one.
    Banded,
    /// Stopping point of a sliding block with four friction schemes.
    BlockSlide,
    /// Contact solvers on steps of scenes after [verschoor2019, Table 1]: iterations, time and memory.
    Cr,
    /// Collision detection of two folded sheets, stage by stage, and how it scales.
    Detection,
    /// Hair on a turning ball, compared with the paper's table: time, contacts and memory.
    HairyBall,
    /// Contact solvers on remeshed cloth: vertices, contacts, times, residuals and iterations.
    Nodal,
    /// The contact projection of `admm` compared with a memory triad.
    Projection,
    /// Cost of recording, as a fraction of the run.
    Recording,
    /// The direct and the iterative solver of the method `smooth` at three resolutions.
    Smooth,
}

/// One model's figures. Times in seconds, the least of the repetitions.
#[derive(Debug, Serialize)]
struct Row {
    model: &'static str,
    dofs: usize,
    elements: usize,
    threads: usize,
    assembly: f64,
    factor: f64,
    solve: f64,
    /// assembly / factor.
    ratio: f64,
    /// The ratio that the project asks of itself.
    target: f64,
    /// Memory of matrix and factor per degree of freedom [bytes].
    bytes_per_dof: f64,
}

/// Figures as JSON or as tables of text.
fn show<T: Serialize>(json: bool, figures: &T, print: impl Fn(&T)) -> Result<ExitCode, Failure> {
    match json {
        true => println!(
            "{}",
            serde_json::to_string_pretty(figures).map_err(Failure::run)?
        ),
        false => print(figures),
    }
    Ok(ExitCode::SUCCESS)
}

pub fn main(args: BenchArgs) -> Result<ExitCode, Failure> {
    if args.write.is_some() || args.name == Some(Name::Detection) {
        return detection::main(&args);
    }
    match args.name {
        Some(Name::Projection) => {
            return show(args.json, &projection::run()?, |r| projection::print(r));
        }
        Some(Name::Banded) => {
            let mut rows = Vec::new();
            for (rods, threads) in thread_counts(args.threads)
                .into_iter()
                .flat_map(|t| [(64, t), (16_000, t)])
            {
                rows.extend(with_threads(Some(threads), || banded::run(rods, threads))?);
            }
            return show(args.json, &rows, |r| banded::print(r));
        }
        Some(Name::HairyBall) => {
            let plan = hairy_ball::HairyBallPlan {
                after: args.after,
                frames: args.frames,
            };
            let rows = with_threads(args.threads, || {
                hairy_ball::run(&args.strands, plan, args.from.as_deref())
            })?;
            return show(args.json, &rows, |r| hairy_ball::print(r));
        }
        Some(Name::Recording) => {
            let folder = args.out.clone().unwrap_or_else(std::env::temp_dir);
            let rows = with_threads(args.threads, || recording::run(&folder))?;
            return show(args.json, &rows, |r| recording::print(r));
        }
        Some(Name::BallInBox) => {
            let rows = with_threads(args.threads, || ball_in_box::run(args.out.as_deref()))?;
            return show(args.json, &rows, |r| ball_in_box::print(r));
        }
        Some(Name::BlockSlide) => {
            let rows = with_threads(args.threads, || block_slide::run(args.out.as_deref()))?;
            return show(args.json, &rows, |r| block_slide::print(r));
        }
        Some(Name::Nodal) => {
            let steps = args.steps as usize;
            let scene = args.scene.as_deref();
            let rows = with_threads(args.threads, || nodal::run(steps, scene, args.prune))?;
            return show(args.json, &rows, |r| nodal::print(r));
        }
        Some(Name::Smooth) => {
            let which = smooth::Which::new(args.large, args.ball, args.filling)?;
            let tables = with_threads(args.threads, || smooth::run(&which))?;
            return show(args.json, &tables, |t| t.print());
        }
        Some(Name::Cr) => {
            let out = args.out.as_deref();
            let tables = with_threads(args.threads, || cr::run(args.full, out))?;
            return show(args.json, &tables, |t| t.print());
        }
        Some(Name::Admm) => {
            let tables = with_threads(args.threads, || admm::run(args.out.as_deref()))?;
            return show(args.json, &tables, |t| t.print());
        }
        _ => {}
    }
    let mut rows = Vec::new();
    for threads in thread_counts(args.threads) {
        rows.extend(with_threads(Some(threads), || {
            let sheet = sheet(100).map_err(Failure::run)?;
            let block = block(20).map_err(Failure::run)?;
            Ok([
                measure("sheet 100×100", &sheet, threads, 1.0)?,
                measure("block 20×20×20", &block, threads, 1.0 / 3.0)?,
            ])
        })?);
    }
    if args.json {
        let text = serde_json::to_string_pretty(&rows).map_err(Failure::run)?;
        println!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let both = args.name.is_none();
    if both || args.name == Some(Name::Assembly) {
        println!("assembly: forces plus projected Hessian");
        println!(
            "{:<16} {:>7} {:>9} {:>8} {:>10} {:>10} {:>7} {:>7}",
            "model", "dofs", "elements", "threads", "assembly", "factor", "ratio", "target"
        );
        for r in &rows {
            println!(
                "{:<16} {:>7} {:>9} {:>8} {:>7.1} ms {:>7.1} ms {:>7.3} {:>7.3}",
                r.model,
                r.dofs,
                r.elements,
                r.threads,
                r.assembly * 1e3,
                r.factor * 1e3,
                r.ratio,
                r.target
            );
        }
    }
    if both || args.name == Some(Name::Factor) {
        println!("factor: numeric Cholesky and one solve");
        println!(
            "{:<16} {:>7} {:>8} {:>10} {:>10} {:>10}",
            "model", "dofs", "threads", "factor", "solve", "bytes/dof"
        );
        for r in &rows {
            println!(
                "{:<16} {:>7} {:>8} {:>7.1} ms {:>7.2} ms {:>10.0}",
                r.model,
                r.dofs,
                r.threads,
                r.factor * 1e3,
                r.solve * 1e3,
                r.bytes_per_dof
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A number of a table with so many digits behind the point, or a dash.
fn or_dash(number: Option<f64>, digits: usize) -> String {
    number.map_or("-".to_owned(), |x| format!("{x:.digits$}"))
}

/// A simulation of a built-in scene with other values of some keys.
fn simulation(scene: &str, overrides: &[String]) -> Result<Simulation, Failure> {
    Ok(plan(scene, None, overrides)?
        .simulation()
        .map_err(Failure::input)?
        .0)
}

fn plan(
    scene: &str,
    variant: Option<&str>,
    overrides: &[String],
) -> Result<stiction_scene::Scene, Failure> {
    let options = LoadOptions {
        variant: variant.map(str::to_owned),
        overrides: overrides.to_vec(),
        ..LoadOptions::default()
    };
    let source = SceneSource::from_argument(scene);
    stiction_scene::load(&source, &options).map_err(Failure::input)
}

/// One thread, and the requested number.
fn thread_counts(asked: Option<usize>) -> Vec<usize> {
    let all = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    if all > 1 { vec![1, all] } else { vec![1] }
}

/// Reason for which a benchmark's model could not be made.
#[derive(Debug, thiserror::Error)]
enum ModelError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// A cotton-like sheet of n×n cells, bent into a wave so that every term works.
fn sheet(n: u32) -> Result<(Model, State), ModelError> {
    let mesh = Sheet {
        size: [1.0, 1.0],
        cells: [n, n],
        pattern: SheetPattern::Regular,
    }
    .build()?;
    let material = ShellMaterial {
        thickness: 5e-4,
        area_density: 0.2,
        membrane: MembraneLaw::StVk {
            young: 1e6,
            poisson: 0.3,
        },
        bending: BendingLaw::FromThickness,
        rest_angles: RestAngles::Mesh,
        damping: Damping::default(),
    };
    let mut builder = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    builder.shell(BodySpec::new("sheet"), mesh, &material)?;
    let (model, mut state) = builder.finish()?;
    for x in &mut state.x {
        x.z += 0.02 * (9.0 * x.x).sin() * (7.0 * x.y).cos();
    }
    Ok((model, state))
}

/// A rubber-like block of n³ cubes of six tetrahedra each, twisted.
fn block(n: u32) -> Result<(Model, State), ModelError> {
    let mesh = BoxSolid {
        size: [1.0; 3],
        cells: [n; 3],
        pattern: TetPattern::Kuhn,
    }
    .build()?;
    let material = SolidMaterial {
        density: 1000.0,
        young: 1e6,
        poisson: 0.4,
        law: SolidLaw::FixedCorotated,
        damping: Damping::default(),
    };
    let mut builder = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    builder.solid(BodySpec::new("block"), mesh, &material)?;
    let (model, mut state) = builder.finish()?;
    for x in &mut state.x {
        let (s, c) = (0.5 * x.z).sin_cos();
        *x = Vec3::new(c * x.x - s * x.y, s * x.x + c * x.y, 1.02 * x.z);
    }
    Ok((model, state))
}

fn measure(
    name: &'static str,
    (model, state): &(Model, State),
    threads: usize,
    target: f64,
) -> Result<Row, Failure> {
    let n = model.blocks();
    let mut dynamics = Dynamics::new(model);
    let mut matrix = Dynamics::matrix(model);
    let rest: Vec<&[Vec3]> = model.bodies.iter().map(|b| b.rest()).collect();
    let mut factor = SystemFactor::new(&matrix, &rest).map_err(Failure::run)?;
    let (mut v, mut g) = (vec![Vec3::zeros(); n], vec![Vec3::zeros(); n]);
    dynamics
        .begin(model, state, 0.01, &mut v)
        .map_err(Failure::run)?;
    dynamics.lag(model, state).map_err(Failure::run)?;
    let mut times = [f64::INFINITY; 3];
    for _ in 0..9 {
        let mut clock = Instant::now();
        let mut lap = |k: usize| {
            times[k] = times[k].min(clock.elapsed().as_secs_f64());
            clock = Instant::now();
        };
        dynamics
            .linearise(model, state, &v, &mut g, &mut matrix)
            .map_err(Failure::run)?;
        lap(0);
        factor.refactor(&matrix, None).map_err(Failure::run)?;
        lap(1);
        factor.solve(&matrix, &mut g, 1e-12).map_err(Failure::run)?;
        lap(2);
    }
    let elements = model
        .bodies
        .iter()
        .map(|b| b.kind.mechanics().element_count())
        .sum();
    let [assembly, numeric, solve] = times;
    Ok(Row {
        model: name,
        dofs: model.dofs(),
        elements,
        threads,
        assembly,
        factor: numeric,
        solve,
        ratio: assembly / numeric,
        target,
        bytes_per_dof: (matrix.bytes() + factor.bytes()) as f64 / model.dofs() as f64,
    })
}
