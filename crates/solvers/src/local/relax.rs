//! Sweeps over contacts, combined.

use stiction_contact::{LocalProblem, project_cone};
use stiction_math::{Cancel, Vec3};

use super::{Error, anderson::Anderson, one::One};

/// Sweeps that are combined (measured on Siconos' problems: more take as many sweeps).
const MEMORY: usize = 5;
/// Sweeps before the first combination: which contacts are open settles first.
const SETTLING: usize = 10;
/// A combination is dropped, with its past, where the residual of the sweep is so many times the least.
const GROWTH: f64 = 2.0;
/// Sweeps between two evaluations of the residual.
const EVERY: usize = 5;
/// Sweeps in which the best residual must fall by a half: else they lead nowhere.
const PATIENCE: usize = 60;

/// The contacts of one problem, laid out for sweeps.
pub struct Relaxation<'a> {
    problem: &'a LocalProblem,
    one: Vec<One>,
    /// Off-diagonal blocks of W, by columns of four numbers, so that a product is three
    /// multiplications of lanes.
    blocks: Vec<[[f64; 4]; 3]>,
    columns: Vec<u32>,
    start: Vec<u32>,
    /// Inverse ρ of each number of r: changes of impulses as changes of velocity times impulse.
    weights: Vec<f64>,
}

impl<'a> Relaxation<'a> {
    pub fn new(problem: &'a LocalProblem) -> Self {
        let pattern = &problem.w.pattern;
        let n = problem.len();
        let (mut blocks, mut columns, mut start) = (Vec::new(), Vec::new(), vec![0]);
        for c in 0..n {
            let first = pattern.row_start()[c];
            for (k, &d) in pattern.row(c).iter().enumerate() {
                if d as usize != c {
                    let w = &problem.w.values[first + k];
                    blocks.push([0, 1, 2].map(|j| [w[(0, j)], w[(1, j)], w[(2, j)], 0.0]));
                    columns.push(d);
                }
            }
            start.push(blocks.len() as u32);
        }
        let one = |c: usize| One::new(&problem.w.diagonal(c), problem.mu[c]);
        Self {
            one: (0..n).map(one).collect(),
            weights: (0..3 * n).map(|i| 1.0 / problem.rho(i / 3)).collect(),
            problem,
            blocks,
            columns,
            start,
        }
    }

    /// Sweeps from `r` until its residual `best` is below `tolerance`, no longer falls or `limit` is
    /// reached. Leaves the best impulses in `r` and returns the number of sweeps.
    pub fn run(
        &mut self,
        r: &mut Vec<Vec3>,
        best: &mut f64,
        tolerance: f64,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<usize, Error> {
        let mut x: Vec<f64> = r.iter().flatten().copied().collect();
        let mut g = x.clone();
        let mut anderson = Anderson::new(MEMORY);
        let mut least = f64::INFINITY;
        let (mut marked, mut since) = (*best, 0);
        for sweep in 1..=limit {
            Error::unless(cancel)?;
            g.copy_from_slice(&x);
            self.sweep(&mut g);
            if sweep % EVERY == 0 || sweep == limit {
                let now: Vec<Vec3> = g
                    .as_chunks::<3>()
                    .0
                    .iter()
                    .map(|r| Vec3::from(*r))
                    .collect();
                let error = self.problem.residual(&now);
                if error < *best {
                    (*best, *r) = (error, now);
                }
                since += EVERY;
                if *best < 0.5 * marked {
                    (marked, since) = (*best, 0);
                }
                if *best <= tolerance || since >= PATIENCE {
                    return Ok(sweep);
                }
            }
            let lengths = g.iter().zip(&x).zip(&self.weights);
            let size: f64 = lengths.map(|((g, x), w)| (g - x) * (g - x) * w).sum();
            if !size.is_finite() {
                return Ok(sweep);
            }
            if sweep <= SETTLING || size.sqrt() > GROWTH * least {
                anderson.clear();
                least = f64::INFINITY;
                x.copy_from_slice(&g);
                continue;
            }
            least = least.min(size.sqrt());
            anderson.combine(&mut x, &g, &self.weights);
            for (c, x) in x.as_chunks_mut::<3>().0.iter_mut().enumerate() {
                *x = project_cone(&Vec3::from(*x), &Vec3::x(), self.problem.mu[c]).into();
            }
        }
        Ok(limit)
    }

    /// One sweep of Gauss–Seidel.
    fn sweep(&mut self, r: &mut [f64]) {
        let r = r.as_chunks_mut::<3>().0;
        for c in 0..self.one.len() {
            let q = &self.problem.q[c];
            let mut b = [q.x, q.y, q.z, 0.0];
            let range = self.start[c] as usize..self.start[c + 1] as usize;
            let row = self.columns[range.clone()].iter().zip(&self.blocks[range]);
            for (&d, block) in row {
                let r = &r[d as usize];
                for i in 0..4 {
                    b[i] += block[0][i] * r[0] + block[1][i] * r[1] + block[2][i] * r[2];
                }
            }
            r[c] = self.one[c].solve(&Vec3::new(b[0], b[1], b[2])).into();
        }
    }
}
