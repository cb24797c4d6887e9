//! How fast the contact projection runs, next to a memory triad in the same run.
//!
//! `cargo run --release -p stiction-solvers --example projection_bench [CONTACTS] [ROUNDS]`
//!
//! The contacts are like those of hair: rods of 31 nodes in a square, numbered by space, and
//! contacts between nodes of near rods, two nodes of each; half a million unless told otherwise.
//! Prints millions of contact updates per second for one and two threads, how much memory the
//! updates touch per second, and the same for the triad a = b + s c. The median of all rounds
//! counts.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use stiction_contact::{Contact, ContactSet};
use stiction_math::{Mat3, Vec3};
use stiction_solvers::admm::{Metric, Nap, Projection};

/// Nodes per rod, as in [daviet2020, Sect. 7.2].
const ROD: usize = 31;

/// Bytes that one update of a contact with four nodes moves: four indices, weights and γ, the
/// normal and μ, k, and r̄ twice.
const COLUMNS: f64 = 16.0 + 32.0 + 32.0 + 32.0 + 24.0 + 2.0 * 24.0;
/// Bytes of a node, read and written once per sweep.
const NODE: f64 = 64.0;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let contacts: usize = arguments.next().unwrap_or(500_000);
    let rounds: usize = arguments.next().unwrap_or(5);
    let (set, nodes) = hair(contacts);
    let w = vec![1.0; nodes];
    let inverse = vec![Mat3::identity(); nodes];
    let mut numbers = Numbers(3);
    let start: Vec<Vec3> = (0..nodes)
        .map(|_| numbers.vector() - Vec3::z() * 0.5)
        .collect();

    let touched = COLUMNS + NODE * nodes as f64 / contacts as f64;
    println!("{contacts} contacts over {nodes} nodes; {touched:.0} bytes touched per update");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut projection = Projection::new(&set, Metric::Scalar(&w)).unwrap();
            let clock = Instant::now();
            projection.reset(&set, Metric::Scalar(&w)).unwrap();
            let setup = clock.elapsed().as_secs_f64();
            let sweeps = 20;
            let (mut rates, mut sleepy, mut triads) = (Vec::new(), Vec::new(), Vec::new());
            let mut p = start.clone();
            projection.project(&mut p, 1, None);
            for _ in 0..rounds {
                triads.push(triad(threads));
                rates.push(rate_of(&mut projection, &start, sweeps, None));
                let nap = Nap {
                    square: 1e-6,
                    sweeps: 10,
                };
                sleepy.push(rate_of(&mut projection, &start, sweeps, Some(nap)));
            }
            let bytes = projection.bytes();
            let (stages, alone) = projection.stages();
            projection.reset(&set, Metric::Inverse(&inverse)).unwrap();
            let full = (0..rounds).map(|_| rate_of(&mut projection, &start, 4, None));
            let full = median(full.collect());
            let (rate, triad, sleepy) = (median(rates), median(triads), median(sleepy));
            println!(
                "{threads} thread(s): {rate:.1} M updates/s, {:.1} GB/s touched; triad {triad:.1} \
                 GB/s, ratio {:.2}; {sleepy:.1} M/s with sleep",
                rate * touched * 1e-3,
                rate * touched * 1e-3 / triad,
            );
            println!(
                "             with full 3×3 blocks {full:.1} M/s: closed form is {:.1} times faster",
                rate / full
            );
            println!(
                "             {stages} stages, {alone} contacts alone; setup {:.0} ms = {:.1} \
                 sweeps; {:.0} bytes per contact without nodes",
                setup * 1e3,
                setup * rate * 1e6 / contacts as f64,
                (bytes - 44 * nodes) as f64 / contacts as f64,
            );
        });
    }
}

/// Million contact visits per second of sweeps alone: two runs of different length are compared.
fn rate_of(projection: &mut Projection, start: &[Vec3], sweeps: usize, nap: Option<Nap>) -> f64 {
    let mut time = |sweeps| {
        let mut p = start.to_vec();
        let clock = Instant::now();
        projection.project(&mut p, sweeps, nap);
        clock.elapsed().as_secs_f64()
    };
    let (short, long) = (time(1), time(1 + sweeps));
    (sweeps * projection.len()) as f64 / (long - short) * 1e-6
}

/// GB/s of a = b + s c over 128 MB per array, counted as three transfers.
fn triad(threads: usize) -> f64 {
    let n = 16 << 20;
    let (b, c) = (vec![1.0; n], vec![2.0; n]);
    let mut a = vec![0.0; n];
    let part = n / threads;
    let mut best = f64::MAX;
    for _ in 0..3 {
        let clock = Instant::now();
        rayon::scope(|scope| {
            for ((a, b), c) in a.chunks_mut(part).zip(b.chunks(part)).zip(c.chunks(part)) {
                scope.spawn(move |_| {
                    for i in 0..a.len() {
                        a[i] = b[i] + 0.5 * c[i];
                    }
                });
            }
        });
        best = best.min(clock.elapsed().as_secs_f64());
    }
    std::hint::black_box(&a);
    24e-9 * n as f64 / best
}

/// About as many nodes as contacts: rods on a square grid whose rows are walked to and fro, each
/// touching near rods at near heights.
fn hair(contacts: usize) -> (ContactSet, usize) {
    let side = ((contacts as f64 / ROD as f64).sqrt().ceil() as usize).max(2);
    // Tiles of 8 × 8 rods keep near rods near in memory.
    let number = |x: usize, y: usize| {
        let tiles = side.div_ceil(8);
        ((y / 8 * tiles + x / 8) * 64 + y % 8 * 8 + x % 8) * ROD
    };
    let nodes = side.div_ceil(8).pow(2) * 64 * ROD;
    let mut numbers = Numbers(1);
    let mut set = ContactSet::default();
    for _ in 0..contacts {
        let (x, y) = (numbers.below(side), numbers.below(side));
        let near = |at: usize, numbers: &mut Numbers| (at + numbers.below(3)).clamp(1, side) - 1;
        let (mut other, row) = (near(x, &mut numbers), near(y, &mut numbers));
        if (other, row) == (x, y) {
            other = if x > 0 { x - 1 } else { x + 1 };
        }
        let height = numbers.below(ROD - 1);
        let level = (height + numbers.below(3)).clamp(1, ROD - 1) - 1;
        let (a, b) = (number(x, y) + height, number(other, row) + level);
        let (s, t) = (numbers.uniform(), numbers.uniform());
        let stencil = [
            (a as u32, 1.0 - s),
            (a as u32 + 1, s),
            (b as u32, t - 1.0),
            (b as u32 + 1, -t),
        ];
        let contact = Contact {
            normal: numbers.vector().normalize(),
            mu: 0.2,
            k: numbers.vector() * 0.01,
            ..Contact::default()
        };
        set.push(&stencil, contact);
    }
    (set, nodes)
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn bits(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn uniform(&mut self) -> f64 {
        self.bits() as f64 / (1u64 << 31) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        self.bits() as usize % n
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.uniform(), self.uniform(), self.uniform()) * 2.0 - Vec3::repeat(1.0)
    }
}
