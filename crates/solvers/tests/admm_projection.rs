//! The projection against Gauss–Seidel on the assembled matrix, and against itself on other numbers
//! of threads.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::generate::{RandomProblem, random};
use stiction_contact::solver::{Solution, TaskStart, solve_alone};
use stiction_contact::{Contact, ContactSet, StencilEntry};
use stiction_math::nalgebra::{DMatrix, DVector};
use stiction_math::{Mat3, Vec3};
use stiction_solvers::admm::{Admm, Config, Metric, Nap, Projection, Sleep};

/// Numbers in [−1, 1), the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

/// Contacts of all stencil sizes along a band of nodes; every `rigid`-th has a lever.
fn band(contacts: usize, nodes: u32, rigid: usize) -> (ContactSet, Vec<f64>, Vec<Vec3>) {
    let mut numbers = Numbers(7);
    let mut set = ContactSet::default();
    for c in 0..contacts {
        let near = |numbers: &mut Numbers| {
            let at = c as f64 / contacts as f64 * f64::from(nodes) + 12.0 * numbers.next();
            (at.max(0.0) as u32).min(nodes - 1)
        };
        let mut entries = vec![StencilEntry::weight(near(&mut numbers), 1.0)];
        for _ in 0..c % 6 {
            let node = near(&mut numbers);
            if entries.iter().all(|e| e.node != node) {
                entries.push(StencilEntry::weight(node, 0.5 * numbers.next() - 0.6));
            }
        }
        if rigid > 0 && c % rigid == 0 {
            entries[0].lever = numbers.vector() * 0.3;
        }
        let contact = Contact {
            normal: numbers.vector().normalize(),
            k: numbers.vector() * 0.1,
            mu: 0.5 + 0.5 * numbers.next(),
            cohesion: if c % 7 == 0 { 0.1 } else { 0.0 },
            compliance: if c % 5 == 0 { 0.3 } else { 0.0 },
            ..Contact::default()
        };
        set.push_entries(entries, contact);
    }
    let w = (0..nodes).map(|_| 2.0 + numbers.next()).collect();
    let p = (0..nodes).map(|_| numbers.vector()).collect();
    (set, w, p)
}

/// Block Gauss–Seidel on the assembled S = B W⁻¹ Bᵀ + C, each contact by the three cases of
/// Coulomb's law in the form of [daviet2020, Sect. 5.2.2] with a compliant normal.
fn dense(set: &ContactSet, w: &[f64], p: &[Vec3], order: &[u32], sweeps: usize) -> Vec<Vec3> {
    let m = set.len();
    let mut b = DMatrix::zeros(3 * m, 3 * w.len());
    for c in 0..m {
        for e in set.entries(c) {
            b.view_mut((3 * c, 3 * e.node as usize), (3, 3))
                .copy_from(&e.matrix());
        }
    }
    let inverse = DVector::from_fn(3 * w.len(), |i, _| 1.0 / w[i / 3]);
    let s = &b * DMatrix::from_diagonal(&inverse) * b.transpose();
    let start = DVector::from_fn(3 * p.len(), |i, _| p[i / 3][i % 3]);
    let free = &b * start;
    let mut r = DVector::zeros(3 * m);
    for _ in 0..sweeps {
        for &c in order {
            let c = c as usize;
            let rows = 3 * c;
            let (n, mu, give) = (set.normal[c], set.mu[c], set.compliance[c]);
            let own: Mat3 = s.fixed_view::<3, 3>(rows, rows).into_owned();
            let scale = own.symmetric_eigenvalues().max();
            let old: Vec3 = r.fixed_rows::<3>(rows).into_owned();
            let mut u = set.k[c] + free.fixed_rows::<3>(rows);
            u += s.rows(rows, 3) * &r;
            // The laws are those of the impulse with the pull ξ added.
            let shifted = old + n * set.cohesion[c];
            let rest = u - shifted * scale - n * (give * set.cohesion[c]);
            let along = rest.dot(&n);
            let across = rest - n * along;
            let push = -along / (scale + give);
            let new = if along >= 0.0 {
                Vec3::zeros()
            } else if across.norm() / scale <= mu * push {
                n * push - across / scale
            } else {
                n * push - across * (mu * push / across.norm())
            };
            let new = new - n * set.cohesion[c];
            r.fixed_rows_mut::<3>(rows).copy_from(&new);
        }
    }
    (0..m)
        .map(|c| r.fixed_rows::<3>(3 * c).into_owned())
        .collect()
}

#[test]
fn matrix_free_sweeps_are_those_of_the_assembled_matrix() {
    for (contacts, nodes, rigid) in [(60, 25, 0), (60, 25, 4), (700, 400, 0), (620, 350, 9)] {
        let (set, w, start) = band(contacts, nodes, rigid);
        let mut projection = Projection::new(&set, Metric::Scalar(&w)).unwrap();
        let none = vec![Vec3::zeros(); set.len()];
        for sweeps in [1, 4] {
            let mut p = start.clone();
            projection.set_impulses(&set, &none);
            projection.project(&mut p, sweeps, None);
            let mut r = none.clone();
            projection.impulses(&set, &mut r);
            let expected = dense(&set, &w, &start, projection.order(), sweeps);
            for c in 0..set.len() {
                let error = (r[c] - expected[c]).norm();
                assert!(error < 1e-12, "contact {c}: {error:e}");
            }
            // p is what the impulses make of it.
            let mut y = vec![Vec3::zeros(); w.len()];
            set.add_transpose(&r, &mut y);
            for j in 0..w.len() {
                assert!((p[j] - start[j] - y[j] / w[j]).norm() < 1e-12);
            }
        }
    }
}

fn with_threads<T: Send>(threads: usize, f: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().unwrap().install(f)
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (set, w, start) = band(30_000, 15_000, 50);
    let run = || {
        let mut projection = Projection::new(&set, Metric::Scalar(&w)).unwrap();
        let (stages, alone) = projection.stages();
        assert!(
            (3..=9).contains(&stages) && alone < 1500,
            "{stages} {alone}"
        );
        let mut p = start.clone();
        let nap = Nap {
            square: 1e-6,
            sweeps: 3,
        };
        let mut change = projection.project(&mut p, 6, None);
        change += projection.project(&mut p, 6, Some(nap));
        let mut r = vec![Vec3::zeros(); set.len()];
        projection.impulses(&set, &mut r);
        (p, r, change)
    };
    let one = with_threads(1, run);
    for threads in [2, 3] {
        assert!(one == with_threads(threads, run), "{threads} threads");
    }

    let problem = random(RandomProblem::Coupled, 900, 5);
    let config = Config {
        sleep: Some(Sleep {
            threshold: 0.01,
            sweeps: 5,
        }),
        max_iterations: 15,
        ..Config::default()
    };
    let run = || {
        let mut state = Solution::default();
        let mut solver = Admm::new(config.clone());
        let mut problem = problem.clone();
        for _ in 0..2 {
            let start = TaskStart::Configured;
            solve_alone(&mut solver, &mut problem, &mut state, start, None).unwrap();
        }
        state
    };
    let one = with_threads(1, run);
    for threads in [2, 3] {
        assert!(one == with_threads(threads, run), "{threads} threads");
    }
}

#[test]
fn missing_nodes_are_refused() {
    let (set, w, _) = band(20, 10, 0);
    assert!(Projection::new(&set, Metric::Scalar(&w[..9])).is_err());
}
