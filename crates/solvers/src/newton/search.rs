//! Rounds of Newton's method.

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify, coulomb_residual, project_cone,
    solver::{Solution, SolverReport},
};
use stiction_math::{Cancel, LinearOperator, Mat3, Vec3, reduce};

use super::{
    Config, Error,
    law::{AugmentedLaw, Mode},
    matrix::NewtonMatrix,
};

/// A round that leaves more than this fraction of the last one's error is slow: ρ grows.
const SLOW: f64 = 0.1;
/// Growth factor of ρ.
const GROWTH: f64 = 6.0;
/// ρ falls by this factor where a round fails. Not the inverse of `GROWTH`, so that two values are not
/// tried in turns.
const FALL: f64 = 0.25;
/// The range of ρ, in inverses of the local Delassus scale: above it r − ρ u has no digits left of
/// r, below it rounds lead nowhere.
const RANGE: (f64, f64) = (1e-3, 1e8);
/// Newton steps in one round.
const STEPS: usize = 20;
/// A round is done when the momentum residual is below this fraction of its error in the law, ...
const INNER: f64 = 0.1;
/// ... or below this fraction of the tolerance.
const ENOUGH: f64 = 0.1;
/// The shortest fraction of a step.
const SHORTEST: f64 = 1.0 / 64.0;
/// A fraction α of a step must shorten the next one by the fraction α times this.
const DECREASE: f64 = 0.25;

/// See the module. The state and the settings have been checked.
pub fn search(
    problem: &FrictionProblem,
    state: &mut Solution,
    config: &Config,
    cancel: &Cancel,
) -> Result<SolverReport, Error> {
    let mut search = Search::new(problem, state, config)?;
    let mut report = SolverReport::default();
    // The start as it was given is an answer, too.
    search.best.0 = search.certified(&search.best.1, &search.best.2)?;
    let mut before = f64::INFINITY;
    // What the contacts did at the end of the last round.
    let mut modes: Option<Vec<Mode>> = None;
    while search.best.0 > config.tolerance
        && report.iterations < config.max_iterations
        && search.multiple >= RANGE.0
    {
        let start = search.v.clone();
        if search.round(modes.as_deref(), &mut report.iterations, cancel)? {
            let (residual, dynamics) = search.judge()?;
            let error = residual.max(dynamics);
            if error > SLOW * before {
                search.multiple = (search.multiple * GROWTH).min(RANGE.1);
            }
            before = error;
            search.r.copy_from_slice(&search.now.impulse);
            modes = Some(search.now.mode.clone());
        } else {
            search.v = start;
            search.multiple *= FALL;
            before = f64::INFINITY;
        }
    }
    let certificate = search.certified(&search.best.1, &search.best.2)?;
    (_, state.v, state.r) = search.best;
    report.error = certificate;
    report.asked = config.tolerance;
    report.converged = certificate <= config.tolerance;
    Ok(report)
}

struct Search<'a> {
    problem: &'a FrictionProblem,
    tolerance: f64,
    limit: usize,
    matrix: NewtonMatrix,
    /// Inverses of the local Delassus scales [kg].
    scale: Vec<f64>,
    /// ρ in multiples of them [1].
    multiple: f64,
    /// Inverses of the diagonal blocks of A [1/kg].
    inverse: Vec<Mat3>,
    /// The radius of gyration [m] where a block is a spin, else 1: makes all velocities m/s.
    reach: Vec<f64>,
    /// f without the pull of cohesion [N·s].
    f: Vec<Vec3>,
    /// k without what compliance makes of cohesion [m/s].
    k: Vec<Vec3>,
    v: Vec<Vec3>,
    /// Impulses at the start of the round, shifted by cohesion [N·s].
    r: Vec<Vec3>,
    /// The answers to `v`.
    now: Answers,
    /// Error [m/s], velocities and impulses of the best answer; an error below the tolerance is that of
    /// the certificate.
    best: (f64, Vec<Vec3>, Vec<Vec3>),
}

/// Responses of all contacts to velocities.
#[derive(Clone, Default)]
struct Answers {
    mode: Vec<Mode>,
    /// B v + k [m/s].
    u: Vec<Vec3>,
    impulse: Vec<Vec3>,
    stiffness: Vec<Mat3>,
    /// A v − f − Bᵀ r⁺ [N·s].
    momentum_residual: Vec<Vec3>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a FrictionProblem, state: &Solution, config: &Config) -> Result<Self, Error> {
        let set = &problem.contacts;
        let blocks = problem.blocks();
        let inverse: Vec<Mat3> = (0..blocks)
            // `check` has seen that the diagonal is positive definite.
            .map(|j| problem.a.diagonal(j).try_inverse().unwrap_or_default())
            .collect();
        let scale = (0..set.len())
            .map(|c| 3.0 / (set.local_delassus(c, |j| inverse[j]).trace() + set.compliance[c]))
            .collect();
        let sized = |x: &[Vec3], n: usize| match x.len() == n {
            true => x.to_vec(),
            false => vec![Vec3::zeros(); n],
        };
        let mut r = sized(&state.r, set.len());
        let (mut f, mut k) = (problem.f.clone(), set.k.clone());
        for (c, r) in r.iter_mut().enumerate() {
            let n = set.normal[c];
            let pull = n * set.cohesion[c];
            *r = project_cone(&(*r + pull), &n, set.mu[c]);
            k[c] -= pull * set.compliance[c];
            for e in set.entries(c) {
                f[e.node as usize] -= e.tr_mul(&pull);
            }
        }
        let mut v = sized(&state.v, blocks);
        let best = (f64::INFINITY, v.clone(), sized(&state.r, set.len()));
        for (v, fixed) in v.iter_mut().zip(&problem.fixed) {
            if *fixed {
                *v = Vec3::zeros();
            }
        }
        let closed = r.iter().map(|r| *r != Vec3::zeros()).collect();
        Ok(Self {
            matrix: NewtonMatrix::new(problem, closed)?,
            scale,
            multiple: config.stiffness,
            inverse,
            reach: problem.radii(),
            tolerance: config.tolerance,
            limit: config.max_iterations,
            best,
            now: Answers::default(),
            problem,
            f,
            k,
            v,
            r,
        })
    }

    /// Newton's method from the velocities of the last round. Says whether it came to an end.
    fn round(
        &mut self,
        modes: Option<&[Mode]>,
        iterations: &mut usize,
        cancel: &Cancel,
    ) -> Result<bool, Error> {
        self.now = self.answers(&self.v, modes);
        for step in 0..STEPS {
            if *iterations == self.limit {
                return Ok(false);
            }
            *iterations += 1;
            Error::unless(cancel)?;
            if !self.matrix.factor(self.problem, &self.now.stiffness)? {
                return Ok(false);
            }
            let mut direction = self.now.momentum_residual.clone();
            self.matrix.solve(&mut direction);
            let length = self.length(&direction);
            // The first step of a round is taken as it is: where it leads, contacts decide anew.
            let free = step == 0 && modes.is_some();
            if !(length.is_finite() && self.shorten(&direction, length, free)) {
                return Ok(false);
            }
            let (residual, dynamics) = self.judge()?;
            let balanced = dynamics <= (ENOUGH * self.tolerance).max(INNER * residual);
            if balanced || self.best.0 <= self.tolerance {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes as much of the step −`direction` as reduces the error.
    fn shorten(&mut self, direction: &[Vec3], length: f64, free: bool) -> bool {
        let mut part = 1.0;
        while part >= SHORTEST {
            let mut v = self.v.clone();
            reduce::axpy(-part, direction, &mut v);
            let answers = self.answers(&v, None);
            let mut next = answers.momentum_residual.clone();
            self.matrix.solve(&mut next);
            let next = self.length(&next);
            let nearer = next <= (1.0 - DECREASE * part) * length;
            // Nothing can be told apart below that.
            let there = next <= 1e-3 * self.tolerance;
            if nearer || there || (free && next.is_finite()) {
                (self.v, self.now) = (v, answers);
                return true;
            }
            part *= 0.5;
        }
        false
    }

    /// Responses of contacts to `v`; with `modes`, those of the given modes.
    fn answers(&self, v: &[Vec3], modes: Option<&[Mode]>) -> Answers {
        let set = &self.problem.contacts;
        let count = set.len();
        let mut all = Answers {
            mode: Vec::with_capacity(count),
            u: Vec::with_capacity(count),
            impulse: Vec::with_capacity(count),
            stiffness: Vec::with_capacity(count),
            momentum_residual: vec![Vec3::zeros(); v.len()],
        };
        self.problem.a.apply(v, &mut all.momentum_residual);
        reduce::axpy(-1.0, &self.f, &mut all.momentum_residual);
        for c in 0..set.len() {
            let law = AugmentedLaw {
                n: set.normal[c],
                mu: set.mu[c],
                compliance: set.compliance[c],
                rho: self.multiple * self.scale[c],
            };
            let u = set.velocity(c, v) + self.k[c];
            let answer = match modes {
                Some(modes) => law.answer_as(modes[c], &self.r[c], &u),
                None => law.answer(&self.r[c], &u),
            };
            all.mode.push(answer.mode);
            all.u.push(u);
            all.impulse.push(answer.impulse);
            all.stiffness.push(answer.stiffness);
            set.add_transpose_of(c, &-answer.impulse, &mut all.momentum_residual);
        }
        all
    }

    /// `residual` and `linear` [m/s] as in the certificate, for what there is now, which is kept if it
    /// is the best so far. What has been computed for the step serves again; the certificate itself is
    /// evaluated for answers that seem to be below the tolerance.
    fn judge(&mut self) -> Result<(f64, f64), Error> {
        let set = &self.problem.contacts;
        let now = &self.now;
        let broken = |c: usize| {
            let (n, r) = (&set.normal[c], &now.impulse[c]);
            let u = now.u[c] + n * (set.compliance[c] * n.dot(r));
            coulomb_residual(&u, r, n, set.mu[c], self.scale[c])
        };
        let missing =
            |j: usize| (self.inverse[j] * now.momentum_residual[j]).norm() * self.reach[j];
        let worst = |n: usize, f: &(dyn Fn(usize) -> f64 + Sync)| {
            let max = reduce::max_ordered(n, f);
            if max.is_nan() {
                f64::INFINITY
            } else {
                max.max(0.0)
            }
        };
        let residual = worst(set.len(), &broken);
        let linear = worst(self.v.len(), &missing);
        let mut error = residual.max(linear);
        if error < self.best.0 {
            let pull = |c: usize| set.normal[c] * set.cohesion[c];
            let impulses = now.impulse.iter().enumerate();
            let r: Vec<Vec3> = impulses.map(|(c, r)| r - pull(c)).collect();
            if error <= self.tolerance {
                error = self.certified(&self.v, &r)?;
            }
            self.best = (error, self.v.clone(), r);
        }
        Ok((residual, linear))
    }

    /// The worse of `residual` and `linear` of the certificate [m/s].
    fn certified(&self, v: &[Vec3], r: &[Vec3]) -> Result<f64, Error> {
        let judged = certify(self.problem, v, r, &CertifyConfig::default())?;
        Ok(judged.solution_error())
    }

    /// The size of velocities, spins at the radius of gyration [m/s].
    fn length(&self, v: &[Vec3]) -> f64 {
        let square = |j: usize| (v[j] * self.reach[j]).norm_squared();
        reduce::sum_ordered(v.len(), square).sqrt()
    }
}
