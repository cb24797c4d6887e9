//! Times of collision detection: two accordion-folded sheets, one pushed through the other.
//!
//! ```text
//! cargo run --release -p stiction-geometry --example collide_bench            # the scene above
//! cargo run --release -p stiction-geometry --example collide_bench -- scale   # to 2 M triangles
//! cargo run --release -p stiction-geometry --example collide_bench -- write F # scene as text
//! ```
//! One thread unless `RAYON_NUM_THREADS` says otherwise; the best of several runs.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::Write;
use std::time::Instant;

use stiction_geometry::collide::ccd::CcdConfig;
use stiction_geometry::collide::{
    Candidates, ContactKind, Surface, SweptSurface, earliest_step, proximity,
};
use stiction_math::{Quat, Vec3};

/// Two sheets of n × n vertices, folded to accordions, turned away from the axes.
struct Scene {
    triangles: Vec<[u32; 3]>,
    start: Vec<Vec3>,
    end: Vec<Vec3>,
}

/// Side of a cell [m].
const CELL: f64 = 8e-3;
/// Height of the second sheet above the first [m].
const GAP: f64 = 2e-3;
/// How far the second sheet is pushed down [m].
const PUSH: f64 = 6e-3;
/// Distance of contacts [m].
const REACH: f64 = 5e-3;
/// Cells between two folds, and the advance along x per cell: steep walls.
const PANEL: usize = 6;
const PITCH: f64 = 3.2e-3;

fn scene(n: usize) -> Scene {
    let mut s = Scene {
        triangles: Vec::new(),
        start: Vec::new(),
        end: Vec::new(),
    };
    let rise = (CELL * CELL - PITCH * PITCH).sqrt();
    for sheet in 0..2 {
        let base = s.start.len() as u32;
        for i in 0..n {
            for j in 0..n {
                let phase = i % (2 * PANEL);
                let height = phase.min(2 * PANEL - phase) as f64 * rise;
                // A slight shear keeps the sheets from being lattice-aligned.
                let x = i as f64 * PITCH + sheet as f64 * 0.37e-3;
                let y = j as f64 * CELL + sheet as f64 * 1.3e-3 + 0.01 * x;
                let p = Vec3::new(x, y, height + sheet as f64 * GAP);
                s.start.push(p);
                s.end.push(p - Vec3::new(0.0, 0.0, sheet as f64 * PUSH));
                if i + 1 < n && j + 1 < n {
                    let a = base + (i * n + j) as u32;
                    let (b, c, d) = (a + 1, a + n as u32, a + n as u32 + 1);
                    s.triangles.extend([[a, c, d], [a, d, b]]);
                }
            }
        }
    }
    let turn = Quat::from_euler_angles(0.3, 0.21, 0.12);
    for p in s.start.iter_mut().chain(&mut s.end) {
        *p = turn * *p;
    }
    s
}

/// The shortest of several runs [ms], and the result.
fn best<T>(runs: usize, mut f: impl FnMut() -> T) -> (f64, T) {
    let mut time = f64::INFINITY;
    let mut result = None;
    for _ in 0..runs {
        let start = Instant::now();
        result = Some(f());
        time = time.min(start.elapsed().as_secs_f64());
    }
    (1e3 * time, result.unwrap())
}

fn measure(n: usize, runs: usize) {
    let s = scene(n);
    let surface = Surface::new(&s.triangles, &[]).unwrap();
    let count = s.triangles.len();
    println!("{} vertices, {count} triangles", s.start.len());
    let fresh = || SweptSurface::build(surface.clone(), &s.start, &s.end, 0.0).unwrap();
    let (build, mut swept) = best(runs, fresh);
    let (refit, _) = best(runs, || swept.refit(&s.start, &s.end, 0.0).unwrap());
    let (find, candidates) = best(runs, || Candidates::within(&swept, |_| true));
    println!(
        "  build        {build:9.2} ms  {} bytes per triangle",
        swept.bytes() / count
    );
    println!(
        "  refit        {refit:9.2} ms  {:.1} times cheaper",
        build / refit
    );
    println!(
        "  candidates   {find:9.2} ms  {} vertex-face, {} edge-edge",
        candidates.vertex_face.len(),
        candidates.edge_edge.len()
    );
    let config = CcdConfig::new(0.0);
    let (step, safe) = best(runs, || {
        earliest_step(&candidates, &s.start, &s.end, &config).unwrap()
    });
    println!(
        "  safe step    {step:9.2} ms  fraction {:.4}",
        safe.fraction
    );

    let still = SweptSurface::build(surface.clone(), &s.start, &s.start, REACH).unwrap();
    let (find, near) = best(runs, || Candidates::within(&still, |_| true));
    let zero = |_: ContactKind, _: &[u32; 4]| Vec3::zeros();
    let (contact, contacts) = best(runs, || proximity(&near, &s.start, REACH, zero).unwrap());
    let of = |kind| contacts.iter().filter(|c| c.kind == kind).count();
    println!(
        "  proximity    {:9.2} ms  candidates {find:.2} ms ({}), contacts {contact:.2} ms",
        find + contact,
        near.len()
    );
    println!(
        "               {} contacts: {} vertex-vertex, {} vertex-edge, {} vertex-face, {} edge-edge",
        contacts.len(),
        of(ContactKind::VertexVertex),
        of(ContactKind::VertexEdge),
        of(ContactKind::VertexFace),
        of(ContactKind::EdgeEdge)
    );
}

fn write(path: &str) {
    let s = scene(72);
    let mut f = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    writeln!(f, "{} {}", s.start.len(), s.triangles.len()).unwrap();
    for (a, b) in s.start.iter().zip(&s.end) {
        writeln!(f, "{} {} {} {} {} {}", a.x, a.y, a.z, b.x, b.y, b.z).unwrap();
    }
    for [a, b, c] in &s.triangles {
        writeln!(f, "{a} {b} {c}").unwrap();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let threads = std::env::var("RAYON_NUM_THREADS").ok();
    let threads = threads.and_then(|t| t.parse().ok()).unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let run = || match arguments.first().map(String::as_str) {
        Some("scale") => [(72, 20), (225, 5), (710, 2)]
            .into_iter()
            .for_each(|(n, runs)| measure(n, runs)),
        Some("write") => write(arguments.get(1).map_or("accordion.txt", String::as_str)),
        _ => measure(72, 60),
    };
    pool.build().unwrap().install(run);
}
