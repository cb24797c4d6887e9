//! `stiction bench projection`: how fast the contact projection of `admm` runs, next to a memory
//! triad in the same run on the same threads.
//!
//! Two sets are found by collision detection between ten wrinkled sheets that lie on one another,
//! with about 0.2 and 2 million contacts. Two are like those of hair: rods of 31 nodes in a square,
//! numbered by space, and contacts between nodes of near rods, two nodes of each.

use serde::Serialize;
use stiction_contact::{
    Contact, ContactSet,
    detect::{
        Collider, ColliderBody, ColliderForm, DetectConfig, DetectError, DetectStep, Detector,
        Laws, PairLaw, Points,
    },
};
use stiction_geometry::{
    SplitMix,
    shapes::{Sheet, SheetPattern},
};
use stiction_math::{Mat3, Vec3};
use stiction_solvers::admm::{Metric, Nap, Projection};

use super::{Failure, clock::Clock, with_threads};

/// Nodes per rod, as in [daviet2020, Sect. 7.2].
const ROD: usize = 31;
/// Bytes that one update of a contact with four nodes moves: four indices, weights and γ, the
/// normal and μ, k, and r̄ twice.
const COLUMNS: f64 = 16.0 + 32.0 + 32.0 + 32.0 + 24.0 + 2.0 * 24.0;
/// Bytes of a node, read and written once per sweep.
const NODE: f64 = 64.0;
/// Measurements, of which the median counts.
const ROUNDS: usize = 5;
const SWEEPS: usize = 10;

/// One set on some threads.
#[derive(Debug, Serialize)]
pub struct Row {
    set: &'static str,
    contacts: usize,
    nodes: usize,
    threads: usize,
    /// Million contact updates per second, all threads together.
    updates: f64,
    /// With contacts that may sleep, those asleep counted.
    sleepy: f64,
    /// With full 3×3 local blocks.
    blocks: f64,
    /// Memory that the updates touch, and the triad a = b + s c [GB/s].
    touched: f64,
    triad: f64,
    /// Their ratio.
    fraction: f64,
    /// Memory of the solver per contact, without that of nodes [bytes].
    bytes: f64,
}

/// Measures all sets on one thread and on two.
pub fn run() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let sets: [(&'static str, Made); 4] = [
        ("sheets, small", || wrinkled(96)),
        ("sheets, large", || wrinkled(300)),
        ("hair, small", || Ok(hair(500_000))),
        ("hair, large", || Ok(hair(4_000_000))),
    ];
    for (name, make) in sets {
        let (set, nodes) = make().map_err(Failure::run)?;
        for threads in [1, 2] {
            rows.push(with_threads(Some(threads), || {
                measure(name, &set, nodes, threads)
            })?);
        }
    }
    Ok(rows)
}

/// A set of contacts and how many nodes there are.
type Made = fn() -> Result<(ContactSet, usize), DetectError>;

/// As a table of text.
pub fn print(rows: &[Row]) {
    println!(
        "contact projection: million contact updates per second, compared with a memory triad"
    );
    println!(
        "{:<14} {:>9} {:>8} {:>7} {:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>6}",
        "set",
        "contacts",
        "nodes",
        "threads",
        "M/s",
        "sleep",
        "blocks",
        "touched",
        "triad",
        "fraction",
        "bytes"
    );
    for r in rows {
        println!(
            "{:<14} {:>9} {:>8} {:>7} {:>8.1} {:>8.1} {:>8.1} {:>4.1} GB/s {:>4.1} GB/s {:>8.2} {:>6.0}",
            r.set,
            r.contacts,
            r.nodes,
            r.threads,
            r.updates,
            r.sleepy,
            r.blocks,
            r.touched,
            r.triad,
            r.fraction,
            r.bytes
        );
    }
    for pair in rows.chunks_exact(2) {
        println!(
            "{}: two threads are {:.2} times one, closed form is {:.1} times full blocks",
            pair[0].set,
            pair[1].updates / pair[0].updates,
            pair[0].updates / pair[0].blocks
        );
    }
}

fn measure(
    name: &'static str,
    set: &ContactSet,
    nodes: usize,
    threads: usize,
) -> Result<Row, Failure> {
    let w = vec![1.0; nodes];
    let inverse = vec![Mat3::identity(); nodes];
    let mut random = SplitMix::new(3);
    let start: Vec<Vec3> = (0..nodes)
        .map(|_| vector(&mut random) - Vec3::z() * 0.5)
        .collect();
    let mut projection = Projection::new(set, Metric::Scalar(&w)).map_err(Failure::run)?;
    projection.project(&mut start.clone(), 1, None);
    let (mut updates, mut sleepy, mut triads) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        triads.push(triad(threads));
        updates.push(rate_of(&mut projection, &start, SWEEPS, None));
        let nap = Nap {
            square: 1e-6,
            sweeps: 10,
        };
        sleepy.push(rate_of(&mut projection, &start, SWEEPS, Some(nap)));
    }
    // The solver keeps four numbers per node in its own layout, and where they are from.
    let bytes = projection.bytes().saturating_sub(44 * nodes) as f64 / set.len() as f64;
    projection
        .reset(set, Metric::Inverse(&inverse))
        .map_err(Failure::run)?;
    let blocks = (0..3).map(|_| rate_of(&mut projection, &start, 3, None));
    let blocks = median(blocks.collect());
    let (updates, triad) = (median(updates), median(triads));
    let per_update = COLUMNS + NODE * nodes as f64 / set.len() as f64;
    let touched = updates * per_update * 1e-3;
    Ok(Row {
        set: name,
        contacts: set.len(),
        nodes,
        threads,
        updates,
        sleepy: median(sleepy),
        blocks,
        touched,
        triad,
        fraction: touched / triad,
        bytes,
    })
}

/// Million contact visits per second of sweeps alone: two runs of different length are compared.
fn rate_of(projection: &mut Projection, start: &[Vec3], sweeps: usize, nap: Option<Nap>) -> f64 {
    let mut time = |sweeps| {
        let mut p = start.to_vec();
        let clock = Clock::start();
        projection.project(&mut p, sweeps, nap);
        clock.seconds()
    };
    let (short, long) = (time(1), time(1 + sweeps));
    (sweeps * projection.len()) as f64 / (long - short).max(1e-9) * 1e-6
}

/// GB/s of a = b + s c over 128 MB per array, counted as three transfers.
pub(super) fn triad(threads: usize) -> f64 {
    let n = 16 << 20;
    let (b, c) = (vec![1.0; n], vec![2.0; n]);
    let mut a = vec![0.0; n];
    let part = n / threads;
    let mut best = f64::MAX;
    for _ in 0..3 {
        let clock = Clock::start();
        rayon::scope(|scope| {
            for ((a, b), c) in a.chunks_mut(part).zip(b.chunks(part)).zip(c.chunks(part)) {
                scope.spawn(move |_| {
                    for i in 0..a.len() {
                        a[i] = b[i] + 0.5 * c[i];
                    }
                });
            }
        });
        best = best.min(clock.seconds());
    }
    std::hint::black_box(&a);
    24e-9 * n as f64 / best
}

/// Ten sheets of n × n cells, each with a mesh of its own, on one another in the same wrinkles.
fn wrinkled(n: u32) -> Result<(ContactSet, usize), DetectError> {
    let thickness = 0.25 / f64::from(n);
    let mut x: Vec<Vec3> = Vec::new();
    let mut colliders = Vec::new();
    for layer in 0..10_u32 {
        let sheet = Sheet {
            size: [1.0, 1.0],
            cells: [n, n],
            pattern: SheetPattern::Irregular {
                jitter: 0.4,
                seed: u64::from(layer),
            },
        };
        // A sheet of these sizes is one that can be built.
        let Ok(mesh) = sheet.build() else { continue };
        let first = x.len() as u32;
        let blocks = first..first + mesh.positions.len() as u32;
        x.extend(mesh.positions.iter().map(|p| {
            let height = 0.05 * (9.0 * p.x).sin() * (7.0 * p.y).cos();
            Vec3::new(p.x, p.y, height + 1.15 * thickness * f64::from(layer))
        }));
        colliders.push(Collider {
            id: layer,
            material: 0,
            thickness,
            form: ColliderForm::Body(ColliderBody {
                triangles: mesh.triangles,
                rods: Vec::new(),
                points: Points::nodes(blocks),
                rest: mesh.positions,
                closed: false,
                self_contact: false,
                exempt: None,
            }),
        });
    }
    let law = PairLaw {
        mu: 0.3,
        ..PairLaw::default()
    };
    let mut detector = Detector::new(colliders, Laws::uniform(law), DetectConfig::default())?;
    let (v, fixed) = (vec![Vec3::zeros(); x.len()], vec![false; x.len()]);
    let mut set = ContactSet::default();
    let step = DetectStep {
        h: 0.005,
        x: &x,
        rotations: &[],
        v: &v,
        start: &v,
        fixed: &fixed,
        obstacles: &[],
        previous: &ContactSet::default(),
        held: &[],
    };
    detector.detect(&step, &mut set)?;
    Ok((set, x.len()))
}

/// About as many nodes as contacts: rods on a square grid in tiles of 8 × 8, each touching near
/// rods at near heights.
fn hair(contacts: usize) -> (ContactSet, usize) {
    let side = ((contacts as f64 / ROD as f64).sqrt().ceil() as usize).max(2);
    let tiles = side.div_ceil(8);
    let number = |x: usize, y: usize| ((y / 8 * tiles + x / 8) * 64 + y % 8 * 8 + x % 8) * ROD;
    let nodes = tiles.pow(2) * 64 * ROD;
    let mut random = SplitMix::new(1);
    let mut set = ContactSet::default();
    for _ in 0..contacts {
        let mut below = |n: usize| (random.next_u64() >> 33) as usize % n;
        let (x, y) = (below(side), below(side));
        let mut near = |at: usize| (at + below(3)).clamp(1, side) - 1;
        let (mut other, row) = (near(x), near(y));
        if (other, row) == (x, y) {
            other = if x > 0 { x - 1 } else { x + 1 };
        }
        let height = below(ROD - 1);
        let level = (height + below(3)).clamp(1, ROD - 1) - 1;
        let (a, b) = (number(x, y) + height, number(other, row) + level);
        let (s, t) = (random.uniform(), random.uniform());
        let stencil = [
            (a as u32, 1.0 - s),
            (a as u32 + 1, s),
            (b as u32, t - 1.0),
            (b as u32 + 1, -t),
        ];
        let contact = Contact {
            normal: vector(&mut random).normalize(),
            mu: 0.2,
            k: vector(&mut random) * 0.01,
            ..Contact::default()
        };
        set.push(&stencil, contact);
    }
    (set, nodes)
}

fn vector(random: &mut SplitMix) -> Vec3 {
    let mut next = || 2.0 * random.uniform() - 1.0;
    Vec3::new(next(), next(), next())
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}
