//! Rounds of a proximal loop whose linear systems are solved by conjugate residuals.
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
//! then: directions of conjugate residuals are made conjugate to a few others [eisenstat1983]. It is taken if
//! it shortens g. If it does not, slips are kept for the convex step, and follow between steps: that
//! is the fixed point of [acary2011], which for a contact on its own contracts by μ²/(1 + μ²).

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify, coulomb_residual, project_cone,
    solver::{Iteration, SolverReport},
};
use stiction_math::{
    Cancel, CgConfig, LinearOperator, Mat3, Preconditioner, Vec3, conjugate_residuals,
    elementary::ln, reduce, truncated_conjugate_residuals,
};

use super::{
    CrPreconditioner, Error,
    cone::ProximalCone,
    linear::{Following, KrylovColumns, count},
    pace::{Extrapolation, Growth},
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
/// Iterations of a linear solve per unknown before it is cut short: conjugate directions end after one, but for rounding.
const UNKNOWNS: usize = 2;
/// Relative change of a contact's G from which the preconditioner is made anew.
const RENEW: f64 = 0.2;
/// A round is given up after so many times the iterations of the cheapest one, ...
const PATIENCE: usize = 30;
/// ... but not before these.
const LEAST: usize = 300;
/// Newton steps in one round.
const STEPS: usize = 20;
/// Fraction to which a linear system is solved.
const FORCING: f64 = 1e-2;
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
/// A step is long enough where the slope of the convex function has fallen to this fraction.
const SLOPE: f64 = 0.1;
/// Trials of the line search.
const TRIALS: usize = 20;
/// Fractions of a step that follows slips, longest first, ...
const FRACTIONS: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
/// ... of which a fraction α must shorten g by the fraction α times this.
const DECREASE: f64 = 0.25;
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
                    match self.growth.undo(self.multiple) {
                        Some(multiple) => self.multiple = multiple,
                        None => {
                            self.multiple *= FALL;
                            before = f64::INFINITY;
                        }
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
        let rate = ln(before / error) / iterations.max(1) as f64;
        self.multiple = self.growth.next(multiple, rate, slow, RANGE.1);
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
            self.renew()?;
            follows = follows && self.step_with_slips(report)?;
            if !follows {
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

    /// H and, where contacts have changed, its preconditioner.
    fn renew(&mut self) -> Result<(), Error> {
        let grown = self.matrix.update(self.problem, &self.stiffness)?;
        let same = |(now, then): (&Mat3, &Mat3)| (now - then).norm() <= RENEW * then.norm();
        let known = |factored: &Vec<Mat3>| {
            factored.len() == self.stiffness.len() && self.stiffness.iter().zip(factored).all(same)
        };
        if grown || !self.factored.as_ref().is_some_and(known) {
            let (sum, form) = (self.matrix.matrix(), self.goal.preconditioner);
            self.inverse
                .update(self.problem, sum, &self.stiffness, form);
            self.factored = Some(self.stiffness.clone());
        }
        Ok(())
    }

    fn krylov_config(&self, report: &SolverReport) -> CgConfig {
        CgConfig {
            relative: FORCING,
            absolute: 0.0,
            max_iterations: self
                .goal
                .max_iterations
                .min(self.end)
                .saturating_sub(report.iterations)
                .min(UNKNOWNS * 3 * self.v.len()),
        }
    }

    /// A Newton step that follows the slips. Returns whether a fraction of it was taken.
    fn step_with_slips(&mut self, report: &mut SolverReport) -> Result<bool, Error> {
        let set = &self.problem.contacts;
        let slips = (0..set.len()).filter_map(|c| {
            let n = set.normal[c];
            let slide = (self.u[c] - n * self.u[c].dot(&n)).try_normalize(0.0)?;
            let force = self.stiffness[c] * n * set.mu[c];
            (force != Vec3::zeros()).then_some((c, force, slide))
        });
        let operator = Following {
            sum: self.matrix.matrix(),
            set,
            slips: slips.collect(),
        };
        let config = self.krylov_config(report);
        let mut p = vec![Vec3::zeros(); self.v.len()];
        let mut z = p.clone();
        self.inverse.apply(&self.residual, &mut z);
        let size = reduce::dot(&self.residual, &z).abs().sqrt();
        let KrylovColumns {
            symmetric,
            truncated,
        } = &mut *self.krylov;
        let (g, inverse) = (&self.residual, &mut *self.inverse);
        let solved = match operator.slips.is_empty() {
            true => conjugate_residuals(operator.sum, inverse, g, &mut p, &config, symmetric),
            false => {
                truncated_conjugate_residuals(&operator, inverse, g, &mut p, &config, truncated)
            }
        };
        if !count(&solved, &p, report) {
            return Ok(false);
        }
        let (v, product) = (self.v.clone(), self.product.clone());
        let (u, slip) = (self.u.clone(), self.slip.clone());
        let (mut ap, mut du) = (z.clone(), u.clone());
        self.problem.a.apply(&p, &mut ap);
        for_contacts(&mut du, |c, du| *du = set.velocity(c, &p));
        for fraction in FRACTIONS {
            for (own, start, step) in [
                (&mut self.v, &v, &p),
                (&mut self.product, &product, &ap),
                (&mut self.u, &u, &du),
            ] {
                reduce::copy(start, own);
                reduce::axpy(-fraction, step, own);
            }
            self.follow_slips(1.0);
            self.answer();
            self.inverse.apply(&self.residual, &mut z);
            let next = reduce::dot(&self.residual, &z).abs().sqrt();
            if next <= (1.0 - DECREASE * fraction) * size {
                report.change = fraction * reduce::norm_inf(&p);
                return Ok(true);
            }
        }
        (self.v, self.product, self.u, self.slip) = (v, product, u, slip);
        self.answer();
        Ok(false)
    }

    /// One Newton step with the given slips.
    fn step(&mut self, report: &mut SolverReport) -> Result<(), Error> {
        let sum = self.matrix.matrix();
        let config = self.krylov_config(report);
        let mut p = vec![Vec3::zeros(); self.v.len()];
        let (g, inverse) = (&self.residual, &mut *self.inverse);
        let work = &mut self.krylov.symmetric;
        let solved = conjugate_residuals(sum, inverse, g, &mut p, &config, work);
        let descends = count(&solved, &p, report) && reduce::dot(&p, &self.residual) > 0.0;
        if !descends {
            self.inverse.update(
                self.problem,
                sum,
                &self.stiffness,
                CrPreconditioner::Diagonal,
            );
            self.factored = None;
            self.inverse.apply(&self.residual, &mut p);
        }
        for p in &mut p {
            *p = -*p;
        }
        let set = &self.problem.contacts;
        let mut ap = vec![Vec3::zeros(); p.len()];
        self.problem.a.apply(&p, &mut ap);
        let mut du = vec![Vec3::zeros(); set.len()];
        for_contacts(&mut du, |c, du| *du = set.velocity(c, &p));
        let length = self.line_search(&p, &ap, &du);
        reduce::axpy(length, &p, &mut self.v);
        reduce::axpy(length, &ap, &mut self.product);
        reduce::axpy(length, &du, &mut self.u);
        report.change = length * reduce::norm_inf(&p);
        Ok(())
    }

    /// The length at which the convex function is close to its least value along `p`, at most 1.
    fn line_search(&self, p: &[Vec3], ap: &[Vec3], du: &[Vec3]) -> f64 {
        let bodies = reduce::dot(p, &self.product) - reduce::dot(p, &self.f);
        let curvature = reduce::dot(p, ap);
        let slope = |length: f64| {
            let contacts = reduce::sum_ordered(du.len(), |c| {
                let u = self.u[c] + du[c] * length;
                self.cone(c).answer(&self.r[c], &u).0.dot(&du[c])
            });
            bodies + length * curvature - contacts
        };
        let start = slope(0.0);
        let (mut low, mut high) = ((0.0, start), (1.0, slope(1.0)));
        // A longer step is never needed, and rounding hides the slope of the last ones.
        if start.is_nan() || start >= 0.0 || high.1 <= -SLOPE * start {
            return 1.0;
        }
        let mut length = 1.0;
        for _ in 0..TRIALS {
            // The secant, kept off the ends.
            let secant = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            let width = high.0 - low.0;
            length = secant.clamp(low.0 + 0.1 * width, high.0 - 0.1 * width);
            let now = slope(length);
            if now.abs() <= -SLOPE * start {
                break;
            }
            match now < 0.0 {
                true => low = (length, now),
                false => high = (length, now),
            }
        }
        length
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
