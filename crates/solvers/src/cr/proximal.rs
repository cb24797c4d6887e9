//! Rounds of a proximal loop whose linear systems are solved by Krylov methods.
//!
//! From impulses r, a round solves for velocities at which the answers r⁺ of all contacts (`cone`) balance
//! the bodies,
//!
//! ```text
//! g(v) = A v − f − Bᵀ r⁺(B v + k) = 0,
//! ```
//!
//! and goes on with r ← r⁺. While the slips s are given, g is the gradient of a convex function of v, whose
//! second derivative H = A + Bᵀ G B is symmetric and positive definite whatever contacts there are: redundant
//! ones only leave components of r as they were. Newton's method with an exact line search therefore
//! converges from any start, on systems that conjugate residuals solve to a hundredth. Contacts open, stick
//! and slide anew with every such step, which is the switching of the paper made monotone: a step that
//! switches contacts reduces the convex function or is shortened.
//!
//! A step first tries to follow the slips s = ‖u_T‖ within the linear system, whose matrix is not symmetric
//! then: generalised minimal residuals solve it [saad1986], with an incomplete LU factor [saad1994]. It is taken if
//! the next one from there would be shorter [deuflhard2004, Sect. 3.3.3]. If it is not, ρ falls to its first value, with
//! which slips are kept for the convex step, and follow between steps: that is the fixed point of [acary2011], which
//! for a contact on its own contracts by μ²/(1 + μ²).

mod steps;

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify, coulomb_residual, project_cone,
    solver::{Iteration, SolverReport},
};
use stiction_math::{Cancel, LinearOperator, Mat3, Vec3, reduce};

use super::{
    CrPreconditioner, Error,
    cone::ProximalCone,
    linear::{KrylovColumns, count},
    pace::{Extrapolation, Growth, Pace},
    tangent::TangentInverse,
};
use crate::{assembled::Assembled, kkt::for_contacts};

/// Aim and limits of a solve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// Bound on the certificate [m/s].
    pub tolerance: f64,
    /// Iterations of conjugate residuals, all together.
    pub max_iterations: usize,
    pub preconditioner: CrPreconditioner,
}

/// The first ρ, in inverses of a contact's local Delassus scale, ...
const MULTIPLE: f64 = 30.0;
/// ... and its range: above it r − ρ u has no digits left of r, below it rounds lead nowhere.
const RANGE: (f64, f64) = (1e-3, 1e8);
/// A round that leaves more than this fraction of the last one's error is slow: ρ may grow (`pace`).
const SLOW: f64 = 0.1;
/// ρ falls by this factor where a round does not balance the bodies. Not the inverse of `GROWTH`, so that two
/// values are not tried in turns.
const FALL: f64 = 0.25;
/// A round is given up after so many times the iterations of the cheapest one, ...
const PATIENCE: usize = 30;
/// ... but not before these.
const LEAST: usize = 300;
/// Newton steps in one round.
const STEPS: usize = 20;
/// A round ends when the momentum residual is below this fraction of its error in the law, ...
const INNER: f64 = 0.1;
/// ... or below this fraction of the tolerance.
const ENOUGH: f64 = 0.1;
/// Bodies of a contact, whose missing velocities add up.
const SIDES: f64 = 2.0;
/// Rounds without an error below half of the best one before a restart, in which slips follow more slowly.
const STALL: usize = 20;
/// Restarts before the solve gives up.
const RESTARTS: usize = 4;
/// Relative rounding of the momentum residual: some hundred roundings of its terms.
const ROUNDING: f64 = 1e-13;

/// State of a solve.
pub(super) struct Rounds<'a> {
    problem: &'a FrictionProblem,
    goal: Goal,
    matrix: Assembled,
    inverse: &'a mut TangentInverse,
    krylov: &'a mut KrylovColumns,
    /// Inverses of the local Delassus scales [kg].
    scale: Vec<f64>,
    /// ρ in multiples of them [1].
    multiple: f64,
    growth: Growth,
    extrapolation: Extrapolation,
    /// Iterations at which the present round is given up, and those of the cheapest one that balanced the bodies.
    end: usize,
    cheapest: usize,
    /// G of the preconditioner, none if that is to be made.
    factored: Option<Vec<Mat3>>,
    /// Whether that follows slips.
    turned: bool,
    /// Fraction of their change by which slips follow.
    pace: f64,
    /// Inverses of the diagonal blocks of A.
    blocks: Vec<Mat3>,
    radii: Vec<f64>,
    /// Rounding of the momentum residual by masses [m/s].
    floor: f64,
    /// f and k without what cohesion adds.
    f: Vec<Vec3>,
    k: Vec<Vec3>,
    v: Vec<Vec3>,
    /// A v.
    product: Vec<Vec3>,
    /// B v + k; it follows v by increments, which have fewer digits to lose than v.
    u: Vec<Vec3>,
    /// Given slips [m/s].
    slip: Vec<f64>,
    /// Impulses at the start of the round, shifted by cohesion, and the answers.
    r: Vec<Vec3>,
    answer: Vec<Vec3>,
    stiffness: Vec<Mat3>,
    /// g [N·s].
    residual: Vec<Vec3>,
    /// Certificate [m/s], velocities and impulses of the best answer.
    best: (f64, Vec<Vec3>, Vec<Vec3>),
    /// Bound on `eliminated` of that answer [m/s].
    bound: f64,
}

impl<'a> Rounds<'a> {
    /// A solve from `v` and `r`.
    pub fn new(
        problem: &'a FrictionProblem,
        v: &[Vec3],
        r: &[Vec3],
        goal: Goal,
        inverse: &'a mut TangentInverse,
        krylov: &'a mut KrylovColumns,
    ) -> Result<Self, Error> {
        let set = &problem.contacts;
        let inverted = |j: usize| problem.a.diagonal(j).try_inverse().unwrap_or_default();
        let blocks: Vec<Mat3> = (0..problem.blocks()).map(inverted).collect();
        let local = |c: usize| set.local_delassus(c, |j| blocks[j]).trace() + set.compliance[c];
        let (mut f, mut k, mut own) = (problem.f.clone(), set.k.clone(), r.to_vec());
        for c in 0..set.len() {
            let n = set.normal[c];
            let pull = n * set.cohesion[c];
            own[c] = project_cone(&(own[c] + pull), &n, set.mu[c]);
            k[c] -= pull * set.compliance[c];
            set.add_transpose_of(c, &-pull, &mut f);
        }
        let free = v.iter().zip(&problem.fixed);
        let free: Vec<Vec3> = free
            .map(|(v, &fixed)| if fixed { Vec3::zeros() } else { *v })
            .collect();
        let radii = problem.radii();
        let closed = own.iter().map(|r| *r != Vec3::zeros()).collect();
        let mut rounds = Self {
            matrix: Assembled::new(problem, closed)?,
            scale: (0..set.len()).map(|c| 3.0 / local(c)).collect(),
            multiple: MULTIPLE,
            growth: Growth::default(),
            extrapolation: Extrapolation::default(),
            end: usize::MAX,
            cheapest: usize::MAX,
            factored: None,
            turned: false,
            pace: 1.0,
            floor: ROUNDING * by_mass(&problem.f, &problem.mass, &radii),
            product: vec![Vec3::zeros(); problem.blocks()],
            u: vec![Vec3::zeros(); set.len()],
            slip: vec![0.0; set.len()],
            answer: vec![Vec3::zeros(); set.len()],
            stiffness: vec![Mat3::zeros(); set.len()],
            residual: vec![Vec3::zeros(); problem.blocks()],
            best: (f64::INFINITY, v.to_vec(), r.to_vec()),
            bound: f64::INFINITY,
            v: free,
            r: own,
            problem,
            goal,
            inverse,
            krylov,
            blocks,
            radii,
            f,
            k,
        };
        (rounds.best.0, rounds.bound) = rounds.certified(&rounds.best.1, &rounds.best.2)?;
        rounds.evaluate();
        rounds.follow_slips(1.0);
        Ok(rounds)
    }

    /// The best answer: its certificate [m/s], velocities and impulses.
    pub fn into_best(self) -> (f64, Vec<Vec3>, Vec<Vec3>) {
        self.best
    }

    /// Rounds until the answer is found, the limit is reached or nothing improves.
    pub fn run(
        &mut self,
        report: &mut SolverReport,
        cancel: &Cancel,
        observer: &mut dyn FnMut(&Iteration),
    ) -> Result<(), Error> {
        let (mut before, mut mark) = (f64::INFINITY, f64::INFINITY);
        let (mut stalled, mut restarts) = (0, 0);
        loop {
            let (start, spent) = (self.v.clone(), report.iterations);
            let budget = self.growth.budget();
            let patience = self.cheapest.saturating_mul(PATIENCE).max(LEAST);
            self.end = spent.saturating_add(budget.map_or(patience, |b| b.min(patience)));
            let (error, balanced) = self.round(report, cancel, observer)?;
            if self.bound <= self.goal.tolerance || report.iterations >= self.goal.max_iterations {
                break;
            }
            match balanced {
                true => {
                    let spent = report.iterations - spent;
                    self.cheapest = self.cheapest.min(spent.max(1));
                    before = self.conclude(before, error, spent);
                }
                false => {
                    self.v = start;
                    // A jump of the impulses may have made the round hard.
                    if let Some((error, r)) = self.extrapolation.undo(f64::INFINITY) {
                        (self.r, before) = (r, error);
                    } else if let Some(multiple) = self.growth.undo(self.multiple) {
                        self.multiple = multiple;
                    } else {
                        self.multiple *= FALL;
                        before = f64::INFINITY;
                    }
                }
            }
            (mark, stalled) = match error < 0.5 * mark {
                true => (error, 0),
                false => (mark, stalled + 1),
            };
            if stalled == STALL || self.multiple < RANGE.0 {
                restarts += 1;
                if restarts > RESTARTS {
                    break;
                }
                (stalled, before, mark) = (0, f64::INFINITY, f64::INFINITY);
                self.restart(restarts % 2 == 0);
            }
            self.evaluate();
        }
        report.error = self.certified(&self.best.1, &self.best.2)?.0;
        Ok(())
    }

    /// Impulses and ρ of the next round after one that balanced the bodies in so many iterations. Returns the error to
    /// compare it with.
    fn conclude(&mut self, before: f64, error: f64, iterations: usize) -> f64 {
        if let Some((before, r)) = self.extrapolation.undo(error) {
            self.r = r;
            return before;
        }
        let (multiple, slow) = (self.multiple, error > SLOW * before);
        let iterations = iterations.max(1);
        let pace = Pace {
            multiple,
            left: error / before,
            iterations,
        };
        self.multiple = self.growth.next(pace, slow, RANGE.1);
        if slow && self.multiple == multiple {
            let set = &self.problem.contacts;
            self.extrapolation
                .jump(set, &self.scale, multiple, error, &self.r, &mut self.answer);
        }
        std::mem::swap(&mut self.r, &mut self.answer);
        error
    }

    /// Goes back to the best answer, without its impulses if they are to be forgotten.
    fn restart(&mut self, forget: bool) {
        let set = &self.problem.contacts;
        let (_, v, r) = &self.best;
        for (j, own) in self.v.iter_mut().enumerate() {
            if !self.problem.fixed[j] {
                *own = v[j];
            }
        }
        for (c, own) in self.r.iter_mut().enumerate() {
            let n = set.normal[c];
            *own = match forget {
                true => Vec3::zeros(),
                false => project_cone(&(r[c] + n * set.cohesion[c]), &n, set.mu[c]),
            };
        }
        self.pace *= 0.5;
        (self.multiple, self.growth) = (MULTIPLE, Growth::default());
        self.extrapolation = Extrapolation::default();
    }

    /// Newton's method from the present velocities; returns the error of the answer [m/s], and whether
    /// it balances the bodies.
    fn round(
        &mut self,
        report: &mut SolverReport,
        cancel: &Cancel,
        observer: &mut dyn FnMut(&Iteration),
    ) -> Result<(f64, bool), Error> {
        self.follow_slips(1.0);
        self.answer();
        let (mut law, mut missing) = self.judge()?;
        // Until a step does not shorten g.
        let mut follows = true;
        for step in 0.. {
            let balanced = missing <= (ENOUGH * self.goal.tolerance).max(INNER * law);
            let done = self.bound <= self.goal.tolerance;
            let limit = self.goal.max_iterations.min(self.end);
            if balanced || done || step == STEPS || report.iterations >= limit {
                return Ok((law.max(missing), balanced));
            }
            Error::unless(cancel)?;
            if follows && !self.step_with_slips(report)? {
                // Newton's method fails far from an answer, and all the sooner with a larger ρ.
                if self.multiple > MULTIPLE {
                    return Ok((law.max(missing), false));
                }
                follows = false;
            }
            if !follows {
                self.renew()?;
                self.step(report)?;
                self.follow_slips(self.pace);
                self.answer();
            }
            observer(&Iteration {
                number: report.iterations,
                change: report.change,
                restarted: true,
                projection: 0.0,
            });
            if !report.change.is_finite() {
                return Err(Error::Overflow {
                    iterations: report.iterations,
                    change: report.change,
                });
            }
            (law, missing) = self.judge()?;
        }
        Ok((law.max(missing), false))
    }

    fn cone(&self, c: usize) -> ProximalCone {
        let set = &self.problem.contacts;
        ProximalCone {
            n: set.normal[c],
            mu: set.mu[c],
            compliance: set.compliance[c],
            rho: self.multiple * self.scale[c],
            slip: self.slip[c],
        }
    }

    /// A v and B v + k from their definitions.
    fn evaluate(&mut self) {
        self.problem.a.apply(&self.v, &mut self.product);
        let (set, k, v) = (&self.problem.contacts, &self.k, &self.v);
        for_contacts(&mut self.u, |c, u| *u = set.velocity(c, v) + k[c]);
    }

    /// ‖u_T‖ [m/s].
    fn speed(&self, c: usize) -> f64 {
        let n = &self.problem.contacts.normal[c];
        (self.u[c] - n * self.u[c].dot(n)).norm()
    }

    /// Moves the slips by a fraction of their change.
    fn follow_slips(&mut self, pace: f64) {
        for c in 0..self.slip.len() {
            self.slip[c] += pace * (self.speed(c) - self.slip[c]);
        }
    }

    /// r⁺, G and g at the present velocities.
    fn answer(&mut self) {
        let mut both = vec![(Vec3::zeros(), Mat3::zeros()); self.r.len()];
        for_contacts(&mut both, |c, both| {
            *both = self.cone(c).answer(&self.r[c], &self.u[c]);
        });
        for (c, both) in both.into_iter().enumerate() {
            (self.answer[c], self.stiffness[c]) = both;
        }
        reduce::copy(&self.product, &mut self.residual);
        reduce::axpy(-1.0, &self.f, &mut self.residual);
        for (c, r) in self.answer.iter().enumerate() {
            let set = &self.problem.contacts;
            set.add_transpose_of(c, &-r, &mut self.residual);
        }
    }

    /// The error of the law, and the momentum residual by blocks and by masses [m/s], of the present answer,
    /// which is kept if it is the best so far.
    fn judge(&mut self) -> Result<(f64, f64), Error> {
        let set = &self.problem.contacts;
        let law = worst(set.len(), |c| {
            let (n, r) = (&set.normal[c], &self.answer[c]);
            let u = self.u[c] + n * (set.compliance[c] * n.dot(r));
            coulomb_residual(&u, r, n, set.mu[c], self.scale[c])
        });
        let linear = worst(self.v.len(), |j| {
            (self.blocks[j] * self.residual[j]).norm() * self.radii[j]
        });
        let missing = linear.max(self.heavy(&self.residual));
        let (mut error, mut bound) = (law.max(missing), law + SIDES * missing);
        if error < self.best.0 || bound <= self.goal.tolerance {
            let answers = self.answer.iter().enumerate();
            let r: Vec<Vec3> = answers
                .map(|(c, r)| r - set.normal[c] * set.cohesion[c])
                .collect();
            if bound <= self.goal.tolerance {
                (error, bound) = self.certified(&self.v, &r)?;
            }
            (self.best, self.bound) = ((error, self.v.clone(), r), bound);
        }
        Ok((law, missing))
    }

    /// A velocity of whole bodies that is missing [m/s], which the blocks of a stiff matrix make look small;
    /// zero where it is rounding.
    fn heavy(&self, residual: &[Vec3]) -> f64 {
        let heavy = by_mass(residual, &self.problem.mass, &self.radii);
        if heavy <= self.floor { 0.0 } else { heavy }
    }

    /// The worse of `residual` and `linear` of the certificate [m/s], and the sum of `residual` and of what is
    /// missing in the velocities of both sides of a contact: it bounds `eliminated`, in which the momentum
    /// residual counts with A⁻¹.
    fn certified(&self, v: &[Vec3], r: &[Vec3]) -> Result<(f64, f64), Error> {
        let judged = certify(self.problem, v, r, &CertifyConfig::default())?;
        let mut missing = vec![Vec3::zeros(); v.len()];
        self.problem.momentum_residual(v, r, &mut missing);
        let missing = judged.linear.max(self.heavy(&missing));
        Ok((judged.solution_error(), judged.residual + SIDES * missing))
    }
}

fn worst(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let max = reduce::max_ordered(n, f);
    if max.is_nan() {
        f64::INFINITY
    } else {
        max.max(0.0)
    }
}

/// max ‖g_j‖/m_j [m/s] over the blocks, with lengths `radii` for angular ones.
fn by_mass(g: &[Vec3], mass: &[f64], radii: &[f64]) -> f64 {
    worst(g.len(), |j| g[j].norm() * radii[j] / mass[j])
}
