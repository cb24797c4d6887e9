//! Collision detection of two accordion-folded sheets, one pushed through the other.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use stiction_contact::ContactSet;
use stiction_contact::detect::{
    Collider, ColliderBody, ColliderForm, DetectConfig, DetectError, DetectStep, Detector, Laws,
    PairLaw, Points,
};
use stiction_geometry::collide::ccd::CcdConfig;
use stiction_geometry::collide::{
    Candidate, Candidates, CollisionSurface, ProximityKind, SurfaceError, SweptSurface,
    earliest_step, proximity_within,
};
use stiction_geometry::shapes::{Accordion, ShapeError};
use stiction_math::{Quat, Vec3};

use super::{BenchArgs, Failure, clock::Clock, show, thread_counts, with_threads};

/// Height of the second sheet above the first [m].
const GAP: f64 = 2e-3;
/// Downward displacement of the second sheet [m].
const PUSH: f64 = 6e-3;
/// Distance of contacts [m].
const REACH: f64 = 5e-3;
/// Cells along the sides of the sheets, and repetitions: 20 k, 200 k and 2 M triangles. The folds
/// are the same, there are only more and longer ones, so that candidates and contacts per triangle
/// do not change.
const SIZES: [(u32, usize); 3] = [(71, 40), (224, 10), (709, 4)];
/// Time per triangle may grow by this factor when there are ten times as many.
const GROWTH: f64 = 1.5;

/// The figures of all sizes, and how they grow.
#[derive(Debug, Serialize)]
struct Detection {
    rows: Vec<Row>,
    /// The time per triangle over that of the size before, per factor of ten in size.
    growth: Vec<Growth>,
    detector: Whole,
}

/// One size. Times in seconds, the least of the repetitions, see [`Clock`].
#[derive(Debug, Serialize)]
struct Row {
    threads: usize,
    vertices: usize,
    triangles: usize,
    stages: Stages,
    vertex_face: usize,
    edge_edge: usize,
    /// The safe fraction of the displacement.
    fraction: f64,
    contacts: usize,
    /// Memory of the hierarchies [bytes].
    bytes_per_triangle: f64,
}

/// A figure per stage.
#[derive(Clone, Copy, Debug, Serialize)]
struct Stages {
    /// Hierarchies over the boxes that features sweep.
    build: f64,
    /// Time of a refit to new positions.
    refit: f64,
    /// Pairs of features whose boxes overlap.
    candidates: f64,
    /// The earliest impact among them.
    safe_step: f64,
    /// Contacts within reach, from hierarchies of sheets at rest.
    proximity: f64,
}

#[derive(Debug, Serialize)]
struct Growth {
    triangles: [usize; 2],
    stages: Stages,
}

/// A search by the detector, with hierarchies that are kept.
#[derive(Debug, Serialize)]
struct Whole {
    detect: f64,
    contacts: usize,
    bytes_per_triangle: f64,
}

/// Reason for which the scene could not be searched.
#[derive(Debug, thiserror::Error)]
enum SceneError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    #[error(transparent)]
    Detect(#[from] DetectError),
}

impl Stages {
    fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("build", self.build),
            ("refit", self.refit),
            ("candidates", self.candidates),
            ("safe step", self.safe_step),
            ("proximity", self.proximity),
        ]
    }

    fn zip(&self, other: &Stages, f: impl Fn(f64, f64) -> f64) -> Stages {
        Stages {
            build: f(self.build, other.build),
            refit: f(self.refit, other.refit),
            candidates: f(self.candidates, other.candidates),
            safe_step: f(self.safe_step, other.safe_step),
            proximity: f(self.proximity, other.proximity),
        }
    }
}

pub fn main(args: &BenchArgs) -> Result<ExitCode, Failure> {
    if let Some(path) = &args.write {
        write(path)?;
        return Ok(ExitCode::SUCCESS);
    }
    let all = measure(args)?;
    show(args.json, &all, print)
}

/// All figures.
fn measure(args: &BenchArgs) -> Result<Detection, Failure> {
    let sizes = if args.large { 3 } else { 2 };
    let mut rows = Vec::new();
    for (cells, runs) in SIZES.into_iter().take(sizes) {
        rows.push(with_threads(Some(1), || {
            row(cells, runs, 1).map_err(Failure::run)
        })?);
    }
    let growth = rows.windows(2).map(grown).collect();
    for threads in thread_counts(args.threads).into_iter().filter(|t| *t > 1) {
        rows.push(with_threads(Some(threads), || {
            row(SIZES[0].0, SIZES[0].1, threads).map_err(Failure::run)
        })?);
    }
    let detector = with_threads(Some(1), || whole(SIZES[0].0).map_err(Failure::run))?;
    Ok(Detection {
        rows,
        growth,
        detector,
    })
}

fn print(all: &Detection) {
    println!(
        "detection: two folded sheets, one pushed 6 mm through the other; contacts within 5 mm"
    );
    println!(
        "{:>9} {:>8} {:>10} {:>10} {:>12} {:>11} {:>12} {:>12} {:>10} {:>10}",
        "triangles",
        "threads",
        "build",
        "refit",
        "candidates",
        "safe step",
        "proximity",
        "pairs",
        "contacts",
        "bytes/tri"
    );
    for r in &all.rows {
        let [build, refit, find, step, near] = r.stages.named().map(|s| s.1 * 1e3);
        println!(
            "{:>9} {:>8} {build:>7.2} ms {refit:>7.2} ms {find:>9.2} ms {step:>8.1} ms {near:>9.1} ms {:>12} {:>10} {:>10.0}",
            r.triangles,
            r.threads,
            r.vertex_face + r.edge_edge,
            r.contacts,
            r.bytes_per_triangle
        );
    }
    if let Some(r) = all.rows.first() {
        println!(
            "refit is {:.1} times cheaper than build; {} vertex-face and {} edge-edge pairs, safe fraction {:.4}",
            r.stages.build / r.stages.refit,
            r.vertex_face,
            r.edge_edge,
            r.fraction
        );
    }
    for g in &all.growth {
        let stages = g.stages.named().map(|(name, x)| format!("{name} {x:.2}"));
        let [from, to] = g.triangles;
        println!(
            "time per triangle from {from} to {to}: {} (target below {GROWTH})",
            stages.join(", ")
        );
    }
    let d = &all.detector;
    println!(
        "the whole detector, one thread: {:.1} ms, {} contacts, {:.0} bytes per triangle",
        d.detect * 1e3,
        d.contacts,
        d.bytes_per_triangle
    );
}

/// Two sheets over one array of positions.
struct Scene {
    triangles: Vec<[u32; 3]>,
    start: Vec<Vec3>,
    end: Vec<Vec3>,
}

/// Sheets of `cells` × `cells` cells in steep folds, turned away from the axes.
fn scene(cells: u32) -> Result<Scene, ShapeError> {
    let sheet = Accordion {
        cells: [cells; 2],
        side: 8e-3,
        pitch: 3.2e-3,
        panel: 6,
        shear: 0.01,
    };
    let sheet = sheet.build()?;
    // Far enough along x and y for the lattices not to be aligned.
    let shift = Vec3::new(0.37e-3, 1.3e-3, GAP);
    let turn = Quat::from_euler_angles(0.3, 0.21, 0.12);
    let count = sheet.positions.len() as u32;
    let upper = sheet.positions.iter().map(|p| p + shift);
    let start: Vec<Vec3> = sheet.positions.iter().copied().chain(upper).collect();
    let push = |(i, p): (usize, &Vec3)| {
        let push = if i < count as usize { 0.0 } else { PUSH };
        turn * (p - Vec3::new(0.0, 0.0, push))
    };
    let end = start.iter().enumerate().map(push).collect();
    let upper = sheet.triangles.iter().map(|t| t.map(|v| v + count));
    Ok(Scene {
        triangles: sheet.triangles.iter().copied().chain(upper).collect(),
        start: start.iter().map(|p| turn * p).collect(),
        end,
    })
}

/// The scene as text: counts, positions at the start and at the end, triangles.
fn write(path: &Path) -> Result<(), Failure> {
    let s = scene(SIZES[0].0).map_err(Failure::run)?;
    let text = || -> std::io::Result<()> {
        let mut f = std::io::BufWriter::new(std::fs::File::create(path)?);
        writeln!(f, "{} {}", s.start.len(), s.triangles.len())?;
        for (a, b) in s.start.iter().zip(&s.end) {
            writeln!(f, "{} {} {} {} {} {}", a.x, a.y, a.z, b.x, b.y, b.z)?;
        }
        for [a, b, c] in &s.triangles {
            writeln!(f, "{a} {b} {c}")?;
        }
        f.flush()
    };
    text().map_err(Failure::run)
}

/// The shortest of several runs [s], and the last result. What a run made is dropped between runs.
fn best<T, E>(runs: usize, mut f: impl FnMut() -> Result<T, E>) -> Result<(f64, T), E> {
    let mut time = f64::INFINITY;
    let mut run = 0;
    loop {
        let clock = Clock::start();
        let result = f()?;
        time = time.min(clock.seconds());
        run += 1;
        if run >= runs {
            return Ok((time, result));
        }
    }
}

fn row(cells: u32, runs: usize, threads: usize) -> Result<Row, SceneError> {
    let s = scene(cells)?;
    let any = |_: Candidate| true;
    let surface = CollisionSurface::new(&s.triangles, &[])?;
    let mut copies = vec![surface.clone(); runs];
    let fresh = || {
        let surface = copies.pop().unwrap_or_default();
        SweptSurface::build(surface, &s.start, &s.end, 0.0)
    };
    let (build, mut swept) = best(runs, fresh)?;
    let (refit, ()) = best(2 * runs, || swept.refit(&s.start, &s.end, 0.0))?;
    let (find, candidates) = best(runs, || {
        Ok::<_, SurfaceError>(Candidates::within(&swept, any))
    })?;
    let config = CcdConfig::new(0.0);
    let (step, safe) = best(runs, || {
        earliest_step(&candidates, &surface, &s.start, &s.end, &config)
    })?;
    let (vertex_face, edge_edge) = (candidates.vertex_face.len(), candidates.edge_edge.len());
    drop(candidates);
    swept.refit(&s.start, &s.start, REACH)?;
    let none = |_: ProximityKind, _: &[u32; 4]| Vec3::zeros();
    let (near, contacts) = best(runs, || {
        proximity_within(&swept, &s.start, REACH, any, none)
    })?;
    let triangles = s.triangles.len();
    Ok(Row {
        threads,
        vertices: s.start.len(),
        triangles,
        stages: Stages {
            build,
            refit,
            candidates: find,
            safe_step: step,
            proximity: near,
        },
        vertex_face,
        edge_edge,
        fraction: safe.fraction,
        contacts: contacts.len(),
        bytes_per_triangle: swept.bytes() as f64 / triangles as f64,
    })
}

fn grown(pair: &[Row]) -> Growth {
    let (a, b) = (&pair[0], &pair[1]);
    let [m, n] = [a.triangles, b.triangles].map(|n| n as f64);
    let decades = (n / m).log10();
    let per_decade = |s: f64, t: f64| ((t / n) / (s / m)).powf(1.0 / decades);
    Growth {
        triangles: [a.triangles, b.triangles],
        stages: a.stages.zip(&b.stages, per_decade),
    }
}

/// The detector on the same scene: two bodies of one thickness, contacts within [`REACH`].
fn whole(cells: u32) -> Result<Whole, SceneError> {
    let s = scene(cells)?;
    let half = s.start.len() / 2;
    let sheet = |first: usize| Collider {
        id: u32::from(first > 0),
        material: 0,
        thickness: REACH / 1.5,
        form: ColliderForm::Body(ColliderBody {
            triangles: s.triangles[..s.triangles.len() / 2].to_vec(),
            rods: Vec::new(),
            points: Points::nodes(first as u32..(first + half) as u32),
            rest: s.start[first..first + half].to_vec(),
            closed: false,
            self_contact: true,
            exempt: None,
        }),
    };
    let colliders = vec![sheet(0), sheet(half)];
    let laws = Laws::uniform(PairLaw::default());
    let mut detector = Detector::new(colliders, laws, DetectConfig::default())?;
    let h = 0.01;
    let motion = s.start.iter().zip(&s.end);
    let v: Vec<Vec3> = motion.map(|(a, b)| (b - a) / h).collect();
    let fixed = vec![false; s.start.len()];
    let step = DetectStep {
        h,
        x: &s.start,
        rotations: &[],
        v: &v,
        fixed: &fixed,
        obstacles: &[],
        previous: &ContactSet::default(),
        held: &[],
        start: &v,
    };
    let mut contacts = ContactSet::default();
    let (detect, _) = best(5, || detector.detect(&step, &mut contacts))?;
    Ok(Whole {
        detect,
        contacts: contacts.len(),
        bytes_per_triangle: detector.bytes() as f64 / s.triangles.len() as f64,
    })
}
