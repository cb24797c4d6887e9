//! Fill, memory and time of the sparse factor under each ordering, on a block of tetrahedra and on
//! a sheet with hinges. An argument n makes the block n×n×n cubes and the sheet 5n×5n cells.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;
use stiction_math::{BlockMatrix, BlockPattern, Factor, Mat3, Ordering, Symbolic, Vec3};

fn main() {
    let n = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(20);
    let (x, tets) = tetrahedra(n);
    report("tetrahedra", &x, &tets);
    let (x, hinges) = sheet(5 * n);
    report("sheet with hinges", &x, &hinges);
}

/// A cube of n³ cells, each cut into six tetrahedra around its diagonal (Kuhn).
fn tetrahedra(n: usize) -> (Vec<Vec3>, Vec<Vec<u32>>) {
    let m = n + 1;
    let node = |p: [usize; 3]| ((p[0] * m + p[1]) * m + p[2]) as u32;
    let mut x = Vec::new();
    let mut tets = Vec::new();
    for i in 0..m {
        for j in 0..m {
            for k in 0..m {
                x.push(Vec3::new(i as f64, j as f64, k as f64));
                if i == n || j == n || k == n {
                    continue;
                }
                for axes in [
                    [0, 1, 2],
                    [0, 2, 1],
                    [1, 0, 2],
                    [1, 2, 0],
                    [2, 0, 1],
                    [2, 1, 0],
                ] {
                    let mut corner = [i, j, k];
                    let mut tet = vec![node(corner)];
                    for axis in axes {
                        corner[axis] += 1;
                        tet.push(node(corner));
                    }
                    tets.push(tet);
                }
            }
        }
    }
    (x, tets)
}

/// A square of n×n cells of two triangles; the stencils are the triangle pairs at each edge.
fn sheet(n: usize) -> (Vec<Vec3>, Vec<Vec<u32>>) {
    let m = n + 1;
    let node = |i: usize, j: usize| (i * m + j) as u32;
    let mut x = Vec::new();
    let mut hinges = Vec::new();
    for i in 0..m {
        for j in 0..m {
            x.push(Vec3::new(i as f64, j as f64, 0.0));
            if i < n && j < n {
                hinges.push(vec![
                    node(i, j),
                    node(i + 1, j),
                    node(i, j + 1),
                    node(i + 1, j + 1),
                ]);
            }
            if i > 0 && i < n && j < n {
                hinges.push(vec![
                    node(i, j),
                    node(i, j + 1),
                    node(i - 1, j + 1),
                    node(i + 1, j),
                ]);
            }
            if i < n && j > 0 && j < n {
                hinges.push(vec![
                    node(i, j),
                    node(i + 1, j),
                    node(i + 1, j - 1),
                    node(i, j + 1),
                ]);
            }
        }
    }
    (x, hinges)
}

/// A stiffness-like matrix: each clique pulls its nodes to their mean, stiffer along an axis.
fn stiffness(n: usize, cliques: &[Vec<u32>]) -> BlockMatrix {
    let pattern = BlockPattern::from_cliques(n, cliques.iter().map(Vec::as_slice)).unwrap();
    let mut a = BlockMatrix::zeros(Arc::new(pattern));
    for (e, clique) in cliques.iter().enumerate() {
        let axis = Vec3::new((e as f64).sin(), (e as f64).cos(), 0.5);
        let block = Mat3::identity() + axis * axis.transpose();
        for &i in clique {
            for &j in clique {
                let weight = if i == j {
                    clique.len() as f64 - 1.0 + 1e-3
                } else {
                    -1.0
                };
                a.add(i as usize, j as usize, &(block * weight)).unwrap();
            }
        }
    }
    a
}

fn report(name: &str, x: &[Vec3], cliques: &[Vec<u32>]) {
    let a = stiffness(x.len(), cliques);
    println!("{name}: {} dofs, {} blocks", 3 * x.len(), a.pattern.nnz());
    let mut best = f64::INFINITY;
    let mut y = vec![Vec3::zeros(); x.len()];
    for _ in 0..5 {
        let start = Instant::now();
        a.apply(x, &mut y);
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("  product {:.2} ms", 1e3 * best);
    let orderings = [
        ("minimum degree", Ordering::Amd),
        ("nested dissection", Ordering::NestedDissection(x)),
        ("auto", Ordering::Auto(x)),
    ];
    for (label, ordering) in orderings {
        let start = Instant::now();
        let symbolic = Arc::new(Symbolic::analyse(&a.pattern, ordering).unwrap());
        let analyse = start.elapsed().as_secs_f64();
        let mut factor = Factor::new(symbolic).unwrap();
        let (mut numeric, mut solve) = (f64::INFINITY, f64::INFINITY);
        let mut b = y.clone();
        for _ in 0..3 {
            let start = Instant::now();
            factor.refactor(&a, None).unwrap();
            numeric = numeric.min(start.elapsed().as_secs_f64());
            b.copy_from_slice(&y);
            let start = Instant::now();
            factor.solve_in_place(&mut b);
            solve = solve.min(start.elapsed().as_secs_f64());
        }
        let error = b
            .iter()
            .zip(x)
            .map(|(b, x)| (b - x).amax())
            .fold(0.0, f64::max);
        println!(
            "  {label:18} nnz(L) {:>9}, {:6.2} Gflop, {:4.0} MB, analyse {:4.0} ms, factor {:4.0} ms, solve {:4.1} ms, error {error:.0e}",
            factor.nnz(),
            2e-9 * factor.symbolic().flops(),
            1e-6 * factor.bytes() as f64,
            1e3 * analyse,
            1e3 * numeric,
            1e3 * solve,
        );
    }
}
