//! Newton's method on the impulses inside a proximal loop.

use std::sync::Arc;

use stiction_contact::{LocalProblem, project_cone};
use stiction_math::{
    BlockError, BlockMatrix, BlockPattern, Cancel, Lu, LuSymbolic, Mat3, Vec3, elementary,
};

use super::Error;

/// The first ρ, in inverses of a contact's local Delassus scale.
const STIFFNESS: f64 = 100.0;
/// A round that leaves more than this fraction of the last one's error is slow: ρ grows by `GROWTH`.
const SLOW: f64 = 0.1;
const GROWTH: f64 = 6.0;
/// ρ falls by this factor where a round fails. Not the inverse of `GROWTH`, so that two values are not
/// tried in turns.
const FALL: f64 = 0.25;
/// Range of ρ in inverses of the local Delassus scale: above it r − ρ u keeps no digits of r, below it
/// rounds lead nowhere.
const RANGE: (f64, f64) = (1e-3, 1e8);
/// Newton steps in one round.
const STEPS: usize = 20;
/// A round is done when the momentum residual is below this fraction of its error in the law, or of the
/// tolerance.
const INNER: f64 = 0.1;
/// The shortest fraction of a step.
const SHORTEST: f64 = 1.0 / 64.0;
/// A fraction α of a step must shorten the next one by the fraction α times this.
const DECREASE: f64 = 0.25;

/// State of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Open,
    Held,
    Slides,
}

/// Responses of all contacts to impulses y.
#[derive(Clone, Default)]
struct Answers {
    mode: Vec<Mode>,
    /// r⁺(r, W y + q).
    impulse: Vec<Vec3>,
    /// G = −∂r⁺/∂u [kg].
    stiffness: Vec<Mat3>,
}

pub struct Search<'a> {
    problem: &'a LocalProblem,
    matrix: Option<Matrix>,
    /// ρ in multiples of the inverse local Delassus scale [1].
    multiple: f64,
}

impl<'a> Search<'a> {
    pub fn new(problem: &'a LocalProblem) -> Self {
        Self {
            problem,
            matrix: None,
            multiple: STIFFNESS,
        }
    }

    /// Rounds from `r` until its residual `best` is below `tolerance` or `limit` factorisations are
    /// done. Leaves the best impulses in `r` and returns the number of factorisations.
    pub fn run(
        &mut self,
        r: &mut Vec<Vec3>,
        best: &mut f64,
        tolerance: f64,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<usize, Error> {
        self.multiple = STIFFNESS;
        let inside = |(c, r): (usize, &Vec3)| project_cone(r, &Vec3::x(), self.problem.mu[c]);
        let mut center: Vec<Vec3> = r.iter().enumerate().map(inside).collect();
        let mut y = center.clone();
        let mut before = f64::INFINITY;
        // What the contacts did at the end of the last round.
        let mut modes: Option<Vec<Mode>> = None;
        let mut done = 0;
        while *best > tolerance && done < limit && self.multiple >= RANGE.0 {
            let start = y.clone();
            let mut now = self.answers(&y, &center, modes.as_deref());
            let mut ended = false;
            for step in 0..STEPS {
                if done == limit {
                    break;
                }
                Error::unless(cancel)?;
                done += 1;
                let free = step == 0 && modes.is_some();
                if !self.step(&mut y, &center, &mut now, free, tolerance)? {
                    break;
                }
                let error = self.problem.residual(&now.impulse);
                if error < *best {
                    *best = error;
                    r.clone_from(&now.impulse);
                }
                let momentum_residual = self.length(&difference(&y, &now.impulse));
                let left = (0..y.len()).map(|c| {
                    let rho = self.multiple * self.problem.rho(c);
                    (now.impulse[c] - center[c]).norm() / rho
                });
                let left = left.fold(0.0, f64::max);
                if momentum_residual <= INNER * left.max(tolerance) || *best <= tolerance {
                    ended = true;
                    break;
                }
            }
            if ended {
                let error = self.problem.residual(&now.impulse);
                if error > SLOW * before {
                    self.multiple = (self.multiple * GROWTH).min(RANGE.1);
                }
                before = error;
                center.clone_from(&now.impulse);
                y.clone_from(&now.impulse);
                modes = Some(now.mode);
            } else {
                y = start;
                self.multiple *= FALL;
                before = f64::INFINITY;
            }
        }
        Ok(done)
    }

    /// A step of Newton's method, shortened until the next one with the same factor would be shorter
    /// [deuflhard2004, Sect. 3.3.3]; a free one is taken as it is. Says whether there was one.
    fn step(
        &mut self,
        y: &mut Vec<Vec3>,
        center: &[Vec3],
        now: &mut Answers,
        free: bool,
        tolerance: f64,
    ) -> Result<bool, Error> {
        if !self.factor(&now.stiffness)? {
            return Ok(false);
        }
        let direction = self.solve(&now.stiffness, &difference(y, &now.impulse));
        let length = self.length(&direction);
        if !length.is_finite() {
            return Ok(false);
        }
        let mut part = 1.0;
        while part >= SHORTEST {
            let next: Vec<Vec3> = y
                .iter()
                .zip(&direction)
                .map(|(y, w)| y - w * part)
                .collect();
            let answers = self.answers(&next, center, None);
            let rest = self.solve(&now.stiffness, &difference(&next, &answers.impulse));
            let rest = self.length(&rest);
            let nearer = rest <= (1.0 - DECREASE * part) * length || rest <= 1e-3 * tolerance;
            if nearer || (free && rest.is_finite()) {
                (*y, *now) = (next, answers);
                return Ok(true);
            }
            part *= 0.5;
        }
        Ok(false)
    }

    /// Responses of contacts to the impulses `y` after `center`; with `modes`, those of the given
    /// modes.
    fn answers(&self, y: &[Vec3], center: &[Vec3], modes: Option<&[Mode]>) -> Answers {
        let mut all = Answers::default();
        for (c, r) in center.iter().enumerate() {
            let rho = self.multiple * self.problem.rho(c);
            let trial = r - self.problem.velocity(c, y) * rho;
            let (mode, impulse, stiffness) =
                answer(&trial, self.problem.mu[c], rho, modes.map(|m| m[c]));
            all.mode.push(mode);
            all.impulse.push(impulse);
            all.stiffness.push(stiffness);
        }
        all
    }

    fn factor(&mut self, g: &[Mat3]) -> Result<bool, Error> {
        let fits = |m: &Matrix| {
            let both = g.iter().zip(&m.place);
            both.into_iter()
                .all(|(g, place)| *g == Mat3::zeros() || *place != NOWHERE)
        };
        let matrix = match self.matrix.take().filter(fits) {
            Some(matrix) => matrix,
            None => Matrix::new(self.problem, g)?,
        };
        Ok(self.matrix.insert(matrix).factor(self.problem, g))
    }

    /// (I + G W)⁻¹ `f`.
    fn solve(&mut self, g: &[Mat3], f: &[Vec3]) -> Vec<Vec3> {
        match &mut self.matrix {
            Some(matrix) => matrix.solve(self.problem, g, f),
            None => f.to_vec(),
        }
    }

    /// ‖W y‖ [m/s]: what of impulses moves nothing does not count.
    fn length(&self, y: &[Vec3]) -> f64 {
        let rows = 0..self.problem.len();
        let squares = rows.map(|c| self.problem.w.row_product(c, y).norm_squared());
        squares.sum::<f64>().sqrt()
    }
}

/// The impulse of a contact from r − ρ u, as [alart1991] has it, and G.
fn answer(trial: &Vec3, mu: f64, rho: f64, mode: Option<Mode>) -> (Mode, Vec3, Mat3) {
    let (push, x, y) = (trial.x, trial.y, trial.z);
    let size = elementary::hypot(x, y);
    let mode = mode.unwrap_or(match push > 0.0 {
        true if mu > 0.0 && size <= mu * push => Mode::Held,
        true => Mode::Slides,
        // Not a number is open, too: it must not spread.
        false => Mode::Open,
    });
    match mode {
        Mode::Open => (mode, Vec3::zeros(), Mat3::zeros()),
        Mode::Held => (mode, *trial, Mat3::from_diagonal_element(rho)),
        Mode::Slides => {
            let limit = mu * push;
            let (dx, dy, across) = match size > 0.0 {
                true => (x / size, y / size, rho * limit / size),
                false => (0.0, 0.0, 0.0),
            };
            let g = Mat3::new(
                rho,
                0.0,
                0.0,
                mu * dx * rho,
                across * (1.0 - dx * dx),
                -across * dx * dy,
                mu * dy * rho,
                -across * dx * dy,
                across * (1.0 - dy * dy),
            );
            (mode, Vec3::new(push, limit * dx, limit * dy), g)
        }
    }
}

const NOWHERE: u32 = u32::MAX;

/// I + G W over the contacts that were closed when it was laid out; the others have G = 0, so that
/// their equations are solved by themselves.
struct Matrix {
    closed: Vec<u32>,
    /// Row of each contact, or `NOWHERE`.
    place: Vec<u32>,
    sum: BlockMatrix,
    /// Blocks of W, in the order of `sum`.
    source: Vec<usize>,
    lu: Lu,
}

impl Matrix {
    fn new(problem: &LocalProblem, g: &[Mat3]) -> Result<Self, Error> {
        let acts = |c: &u32| g[*c as usize] != Mat3::zeros();
        let closed: Vec<u32> = (0..g.len() as u32).filter(acts).collect();
        let mut place = vec![NOWHERE; g.len()];
        for (k, &c) in closed.iter().enumerate() {
            place[c as usize] = k as u32;
        }
        let w = &problem.w.pattern;
        let mut pairs = Vec::new();
        for &c in &closed {
            let row = w.row(c as usize).iter().map(|&d| place[d as usize]);
            let there = row.filter(|&d| d != NOWHERE);
            pairs.extend(there.map(|d| [place[c as usize], d]));
        }
        let cliques = pairs.iter().map(|p| &p[..]);
        let pattern = Arc::new(BlockPattern::from_cliques(closed.len(), cliques)?);
        let mut source = Vec::with_capacity(pattern.nnz());
        for (k, &c) in closed.iter().enumerate() {
            for &d in pattern.row(k) {
                let (row, col) = (c as usize, closed[d as usize] as usize);
                source.push(w.find(row, col).ok_or(BlockError::Missing { row, col })?);
            }
        }
        Ok(Self {
            lu: Lu::new(Arc::new(LuSymbolic::analyse(&pattern)?))?,
            sum: BlockMatrix::zeros(pattern),
            closed,
            place,
            source,
        })
    }

    fn factor(&mut self, problem: &LocalProblem, g: &[Mat3]) -> bool {
        let pattern = Arc::clone(&self.sum.pattern);
        let starts = pattern.row_start();
        for (k, &c) in self.closed.iter().enumerate() {
            for at in starts[k]..starts[k + 1] {
                let mut block = g[c as usize] * problem.w.values[self.source[at]];
                if pattern.cols()[at] as usize == k {
                    block += Mat3::identity();
                }
                self.sum.values[at] = block;
            }
        }
        self.lu.refactor(&self.sum).is_ok()
    }

    fn solve(&mut self, problem: &LocalProblem, g: &[Mat3], f: &[Vec3]) -> Vec<Vec3> {
        let mut x = f.to_vec();
        for &c in &self.closed {
            x[c as usize] = Vec3::zeros();
        }
        // Contacts without an equation of their own move the others.
        let known =
            |&c: &u32| f[c as usize] - g[c as usize] * problem.w.row_product(c as usize, &x);
        let mut b: Vec<Vec3> = self.closed.iter().map(known).collect();
        self.lu.solve_in_place(&mut b);
        for (&c, b) in self.closed.iter().zip(b) {
            x[c as usize] = b;
        }
        x
    }
}

fn difference(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::local::reduce::Reduced;
    use stiction_contact::generate::{RandomProblem, random};

    /// Without a sweep before it.
    #[test]
    fn newton_alone_solves_the_problems_of_sweeps() {
        for seed in 0..6 {
            let problem = random(RandomProblem::Rigid, 12, seed);
            let local = Reduced::new(&problem).unwrap().local;
            let mut r = vec![Vec3::zeros(); local.len()];
            let mut best = local.residual(&r);
            let mut search = Search::new(&local);
            let done = search.run(&mut r, &mut best, 1e-8, 400, Cancel::NEVER);
            assert!(best <= 1e-8, "{seed}: {best:e} after {done:?}");
            assert!(local.residual(&r) <= 1e-8);
        }
    }
}
