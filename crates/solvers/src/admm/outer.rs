//! The outer loop [daviet2020, Alg. 2 and 4].

use std::time::Instant;

use rayon::prelude::*;
use stiction_contact::{CertifyConfig, FrictionProblem, certify};
use stiction_math::{LinearOperator, Mat3, SystemFactor, SystemMatrix, Vec3, reduce};

use super::{
    Acceleration, Config, ContactSource, Error, Iteration, Local, Metric, Nap, Projection, Report,
    Start, State, Stop, Velocity,
    anderson::Step,
    finish::{Attempts, Finisher},
    past::{Known, Momentum, Past},
    start::better_held,
    weights::{reach, weights},
};

/// How often the answer of a loop that ran out of iterations is asked about, and projected again.
const CLOSING: usize = 2;

/// A solver with its memory: make one per model and use it in every step.
pub struct Admm {
    /// Of A for the velocity without contact, then of A + W.
    factor: SystemFactor,
    pub(super) finisher: Option<Box<dyn Finisher>>,
    /// Whether the factor is already that of A of the next problem.
    fresh: bool,
    /// Blocks of each part that the factor was analysed for.
    shape: Vec<usize>,
    pub(super) projection: Projection,
    pub(super) w: Vec<f64>,
    /// W⁻¹ as matrices, if they are asked for.
    inverse: Vec<Mat3>,
    reach: Vec<f64>,
    pub(super) v: Vec<Vec3>,
    pub(super) p: Vec<Vec3>,
    pub(super) lambda: Vec<Vec3>,
    /// λ as it enters the linear system, with momentum or as combined; empty where it is λ itself.
    pub(super) lambda_hat: Vec<Vec3>,
    step: Vec<Vec3>,
    /// Where the time went since it was last asked for.
    pub clock: Clock,
}

/// Seconds of a solver's work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// Factorising and solving linear systems [s].
    pub linear: f64,
    /// The projection to Coulomb's law [s].
    pub projection: f64,
    /// Looking for more contacts [s].
    pub detection: f64,
}

impl Clock {
    /// Runs `work` and adds its time to `seconds`.
    fn time<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        *seconds += start.elapsed().as_secs_f64();
        result
    }
}

/// A problem whose contacts may grow.
enum Access<'a> {
    Fixed(&'a FrictionProblem),
    Growing(&'a mut FrictionProblem, &'a mut dyn ContactSource),
    Split(
        &'a mut FrictionProblem,
        &'a mut dyn ContactSource,
        &'a mut dyn LocalStep,
    ),
}

/// The other constraints of an alternating integrator [daviet2020, Sect. 6.1].
pub trait LocalStep {
    /// Takes the local steps at the velocities `v` [m/s], zero where prescribed, and changes f
    /// [N·s] to what the next linear system needs. Returns how far the constraints are from being
    /// met [m]; not a number if it failed.
    fn update(&mut self, v: &[Vec3], f: &mut [Vec3]) -> f64;
}

impl Access<'_> {
    fn get(&self) -> &FrictionProblem {
        match self {
            Self::Fixed(problem) => problem,
            Self::Growing(problem, _) | Self::Split(problem, _, _) => problem,
        }
    }

    /// The local steps of other constraints, if there are any; how far they are from being met [m].
    fn local_step(&mut self, v: &[Vec3]) -> f64 {
        match self {
            Self::Split(problem, _, local) => local.update(v, &mut problem.f),
            _ => 0.0,
        }
    }
}

impl Admm {
    /// Analyses the structure of A; problems with the same structure may then be solved. If the
    /// number of bodies or the size of one changes, the analysis is done again; if only the pattern
    /// of A changes, make a new solver.
    pub fn new(problem: &FrictionProblem) -> Result<Self, Error> {
        problem.check()?;
        Ok(Self {
            factor: SystemFactor::new(&problem.a, &problem.part_positions())?,
            finisher: None,
            fresh: false,
            shape: shape(problem),
            projection: Projection::default(),
            w: Vec::new(),
            inverse: Vec::new(),
            reach: Vec::new(),
            v: Vec::new(),
            p: Vec::new(),
            lambda: Vec::new(),
            lambda_hat: Vec::new(),
            step: Vec::new(),
            clock: Clock::default(),
        })
    }

    /// Solves `problem` from `state`, and leaves the solution there. Columns of the state that do
    /// not have the problem's size count as zero. On error the impulses are as they were, but the other
    /// columns may be empty: the solver works in their memory.
    ///
    /// A problem that is not solved to the tolerance is no error: `Report::converged` tells.
    pub fn solve(
        &mut self,
        problem: &FrictionProblem,
        state: &mut State,
        config: &Config,
    ) -> Result<Report, Error> {
        self.run(Access::Fixed(problem), state, config, &mut |_| {})
    }

    /// The same with contacts that are found on the way, and with an observer of iterations.
    pub fn solve_with(
        &mut self,
        problem: &mut FrictionProblem,
        state: &mut State,
        config: &Config,
        source: &mut dyn ContactSource,
        observer: &mut dyn FnMut(&Iteration),
    ) -> Result<Report, Error> {
        self.run(Access::Growing(problem, source), state, config, observer)
    }

    /// The same inside an alternating integrator: `local` is asked after every linear solve to take
    /// its own local steps at the new velocities and to change f accordingly. Momentum,
    /// combinations of iterates and the finish, which know nothing of it, are off.
    pub fn solve_split(
        &mut self,
        problem: &mut FrictionProblem,
        state: &mut State,
        config: &Config,
        source: &mut dyn ContactSource,
        local: &mut dyn LocalStep,
    ) -> Result<Report, Error> {
        let config = Config {
            acceleration: None,
            finish: None,
            ..config.clone()
        };
        self.run(
            Access::Split(problem, source, local),
            state,
            &config,
            &mut |_| {},
        )
    }

    /// The same with an observer of iterations alone.
    pub fn solve_observed(
        &mut self,
        problem: &FrictionProblem,
        state: &mut State,
        config: &Config,
        observer: &mut dyn FnMut(&Iteration),
    ) -> Result<Report, Error> {
        self.run(Access::Fixed(problem), state, config, observer)
    }

    /// x ← A⁻¹ f, the velocity without contact [m/s], to a part `tolerance` of f where bodies are
    /// coupled. The next solve, if it is of the same A, uses the factor that was made for it.
    pub fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        self.analyse(problem)?;
        let Self { factor, clock, .. } = self;
        Clock::time(&mut clock.linear, || {
            factor.refactor(&problem.a, None)?;
            x.copy_from_slice(&problem.f);
            factor.solve(&problem.a, x, tolerance)
        })?;
        self.fresh = true;
        Ok(())
    }

    /// Prepares the factors for another model.
    fn analyse(&mut self, problem: &FrictionProblem) -> Result<(), Error> {
        if self.shape != shape(problem) {
            self.factor = SystemFactor::new(&problem.a, &problem.part_positions())?;
            self.fresh = false;
            self.shape = shape(problem);
        }
        Ok(())
    }

    /// Gives back all memory but that of the factor until the next solve: who looks for contacts
    /// between two steps needs it more.
    pub fn rest(&mut self) {
        self.projection = Projection::default();
        for column in [&mut self.v, &mut self.p, &mut self.lambda, &mut self.step] {
            *column = Vec::new();
        }
        (self.w, self.reach, self.inverse) = Default::default();
    }

    /// Memory of all but the projection [bytes].
    pub fn bytes(&self) -> usize {
        let columns = [&self.v, &self.p, &self.lambda, &self.lambda_hat, &self.step];
        let numbers = size_of_val(&self.w[..]) + size_of_val(&self.reach[..]);
        let columns = columns.map(|c| size_of_val(&c[..])).iter().sum::<usize>();
        self.factor.bytes() + columns + numbers + size_of_val(&self.inverse[..])
    }

    /// Memory of the projection [bytes].
    pub fn projection_bytes(&self) -> usize {
        self.projection.bytes()
    }

    fn run(
        &mut self,
        mut access: Access,
        state: &mut State,
        config: &Config,
        observer: &mut dyn FnMut(&Iteration),
    ) -> Result<Report, Error> {
        config.check()?;
        let problem = access.get();
        problem.check()?;
        let h = problem.h;
        self.analyse(problem)?;
        let shifted = self.prepare(problem, state, config)?;

        let mut report = Report {
            delta: f64::INFINITY,
            certificate: f64::INFINITY,
            ..Report::default()
        };
        let mut past = Past::default();
        let mut attempts = Attempts::new(config.finish);
        // What is asked of the certificate [m].
        let asked = match config.finish.and_then(|f| f.residual) {
            Some(residual) => h * residual,
            None => config.tolerance,
        };
        // Where an answer that is not finished in time is asked about all the same, the last iteration
        // need not be.
        let closes = config.contacts_every > 0 && config.velocity == Velocity::Feasible;
        let mut limit = config.max_iterations;
        let mut number = 0;
        let mut ended = false;
        while !ended && number < limit {
            number += 1;
            let problem = access.get();
            let matrix = shifted.as_ref().unwrap_or(&problem.a);
            report.linear_iterations +=
                self.solve_linear(problem, matrix, &past.momentum, config.linear_tolerance)?;
            let change = self.largest(|s, j| s.step[j]);
            let unmet = access.local_step(&self.v);

            let due = config.contacts_every > 0 && number % config.contacts_every == 0;
            if due && !(closes && number == limit) {
                report.new_contacts += self.ask(&mut access, Velocity::Balanced)?;
            }

            let mut restarted = false;
            let mut jump = 0.0;
            if let Some(Acceleration::Anderson { memory, after }) = config.acceleration
                && number > past.resume.max(after)
            {
                let known = past.known.get_or_insert_with(|| Known::new(memory));
                let step = self.combine(known, &access.get().contacts);
                restarted = step != Step::Combined;
                if restarted {
                    past.resume = number + after * (1 + past.turns / 4).min(10);
                }
                if step == Step::Back {
                    past.turns += 1;
                    if past.turns % 4 == 3 {
                        // Impulses that jam must be forgotten.
                        let set = &access.get().contacts;
                        self.projection
                            .set_impulses(set, &vec![Vec3::zeros(); set.len()]);
                        self.lambda_hat.fill(Vec3::zeros());
                    }
                }
                if !self.lambda_hat.is_empty() {
                    jump = self.largest(|s, j| s.lambda_hat[j] - s.lambda[j]);
                }
            }

            if let Some(Acceleration::Momentum { .. }) = config.acceleration {
                past.momentum.keep(&self.p, &self.lambda);
                if self.lambda_hat.is_empty() {
                    self.lambda_hat.extend_from_slice(&self.lambda);
                }
            }
            let hat = hat(&self.lambda_hat, &self.lambda);
            blocks((&mut self.p, &self.v, hat)).for_each(|(p, v, hat)| *p = v - hat);
            let nap = nap(config, report.delta / h);
            let sweeps = past.sweeps(config.sweeps);
            let before = self.clock.projection;
            let settling = Clock::time(&mut self.clock.projection, || {
                self.projection.project(&mut self.p, sweeps, nap)
            });
            let projection = self.clock.projection - before;
            if !self.lambda_hat.is_empty() {
                reduce::copy(&self.lambda_hat, &mut self.lambda);
            }
            blocks((&mut self.lambda, &self.p, &self.v))
                .for_each(|(lambda, p, v)| *lambda += p - v);

            let gap = self.largest(|s, j| s.v[j] - s.p[j]);
            let delta = h * (change + gap + jump) + unmet;
            if !delta.is_finite() {
                return Err(Error::Overflow {
                    iterations: number,
                    delta: report.delta,
                });
            }
            report.iterations = number;
            report.delta = delta;
            report.settling = h * settling;
            if delta.max(report.settling) <= config.tolerance {
                report.certificate = self.certificate(access.get(), config.velocity)?;
                let certified = report.certificate <= asked;
                if certified || config.stop == Stop::Change && config.finish.is_none() {
                    let more = self.ask(&mut access, config.velocity)?;
                    report.new_contacts += more;
                    ended = more == 0;
                    report.converged = ended && certified;
                }
            }
            if let Some(finish) = &config.finish
                && !ended
                && attempts.due(number, limit)
                && self.attempt(access.get(), finish, asked / h, &mut attempts, &mut report)?
            {
                let more = self.ask(&mut access, config.velocity)?;
                report.new_contacts += more;
                ended = more == 0;
                report.converged = ended;
                past = Past::default();
                // An answer to a problem that has grown is a start, however late it comes.
                if more > 0 && attempts.extend() {
                    limit = limit.max(number.saturating_add(finish.after));
                }
            }
            restarted |= self.extrapolate(&mut past.momentum, config.acceleration);
            observer(&Iteration {
                number,
                delta,
                change,
                gap,
                restarted,
                projection,
            });
        }

        if !report.converged {
            self.fall_back(access.get(), attempts, config, &mut report)?;
        }
        if !ended && closes {
            self.close(&mut access, config, &mut report)?;
        }
        let problem = access.get();
        let contacts = &problem.contacts;
        problem.a.apply(&self.p, &mut self.step);
        reduce::axpy(-1.0, &problem.f, &mut self.step);
        if config.velocity == Velocity::Feasible {
            std::mem::swap(&mut self.v, &mut self.p);
        }
        state.balance = std::mem::take(&mut self.step);
        state.v = std::mem::take(&mut self.v);
        state.lambda = std::mem::take(&mut self.lambda);
        state.r.resize(contacts.len(), Vec3::zeros());
        self.projection.impulses(contacts, &mut state.r);
        Ok(report)
    }

    fn velocity(&self, which: Velocity) -> &Vec<Vec3> {
        match which {
            Velocity::Feasible => &self.p,
            Velocity::Balanced => &self.v,
        }
    }

    /// What the certificate would say of the answer as it is now, as a length [m].
    pub(super) fn certificate(
        &mut self,
        problem: &FrictionProblem,
        which: Velocity,
    ) -> Result<f64, Error> {
        let mut r = vec![Vec3::zeros(); problem.contacts.len()];
        self.projection.impulses(&problem.contacts, &mut r);
        let judged = certify(problem, self.velocity(which), &r, &CertifyConfig::default())?;
        Ok(problem.h * judged.residual.max(judged.dynamics))
    }

    /// Asks the source, if there is one, for contacts that a velocity runs into.
    fn ask(&mut self, access: &mut Access, which: Velocity) -> Result<usize, Error> {
        let (problem, source) = match access {
            Access::Fixed(_) => return Ok(0),
            Access::Growing(problem, source) | Access::Split(problem, source, _) => {
                (problem, source)
            }
        };
        let mut seconds = 0.0;
        Clock::time(&mut seconds, || {
            source.more_contacts(self.velocity(which), &mut problem.contacts)
        });
        self.clock.detection += seconds;
        let more = problem.contacts.len().saturating_sub(self.projection.len());
        if more > 0 {
            problem.check_contacts(self.projection.len())?;
            let metric = metric(&self.w, &self.inverse);
            self.projection.append(&problem.contacts, metric)?;
        }
        Ok(more)
    }

    /// Asks about the answer p of a loop that ran out of iterations, and repeats its last projection with
    /// what is new. Only p is returned, and only v was asked about until then: contacts that v violates
    /// and p keeps hide where p goes.
    fn close(
        &mut self,
        access: &mut Access,
        config: &Config,
        report: &mut Report,
    ) -> Result<(), Error> {
        for _ in 0..CLOSING {
            let more = self.ask(access, Velocity::Feasible)?;
            if more == 0 {
                break;
            }
            report.new_contacts += more;
            report.certificate = f64::INFINITY;
            // λ = λ before + p − v, so that p − λ is what was projected.
            blocks((&mut self.lambda, &mut self.p)).for_each(|(lambda, p)| {
                *p -= *lambda;
                *lambda = -*p;
            });
            let nap = nap(config, report.delta / access.get().h);
            Clock::time(&mut self.clock.projection, || {
                self.projection.project(&mut self.p, config.sweeps, nap)
            });
            blocks((&mut self.lambda, &self.p)).for_each(|(lambda, p)| *lambda += p);
        }
        Ok(())
    }

    /// Weights, factors, contacts and the first velocity. Returns A + W where conjugate gradients
    /// need it.
    fn prepare(
        &mut self,
        problem: &FrictionProblem,
        state: &mut State,
        config: &Config,
    ) -> Result<Option<SystemMatrix>, Error> {
        let n = problem.blocks();
        // Whatever happens, a factor serves one solve.
        let fresh = std::mem::take(&mut self.fresh);
        weights(problem, &config.weights, &mut self.w);
        reach(problem, &mut self.reach);
        for (name, column) in [
            ("v", &state.v),
            ("lambda", &state.lambda),
            ("balance", &state.balance),
            ("r", &state.r),
        ] {
            if !column.iter().all(|x| x.iter().all(|x| x.is_finite())) {
                return Err(Error::Start(name));
            }
        }
        let held = config.start == Start::Held && state.balance.len() == n;
        for (own, theirs) in [
            (&mut self.v, &mut state.v),
            (&mut self.lambda, &mut state.lambda),
            (&mut self.step, &mut state.balance),
        ] {
            *own = std::mem::take(theirs);
            if own.len() != n {
                own.clear();
                own.resize(n, Vec3::zeros());
            }
            for j in (0..n).filter(|&j| problem.fixed[j]) {
                own[j] = Vec3::zeros();
            }
        }
        self.inverse.clear();
        if config.local == Local::Blocks {
            let blocks = self.w.iter().map(|w| Mat3::from_diagonal_element(1.0 / w));
            self.inverse.extend(blocks);
        }
        let metric = metric(&self.w, &self.inverse);
        self.projection.reset(&problem.contacts, metric)?;
        if state.r.len() == problem.contacts.len() {
            self.projection.set_impulses(&problem.contacts, &state.r);
        }

        match config.start {
            Start::Given => {}
            Start::Unconstrained | Start::Held => {
                let tolerance = config.linear_tolerance.min(1e-10);
                if !fresh {
                    self.factor.refactor(&problem.a, None)?;
                }
                self.v.copy_from_slice(&problem.f);
                self.factor.solve(&problem.a, &mut self.v, tolerance)?;
                if held {
                    self.hold(problem, &state.r, tolerance)?;
                }
            }
        }
        self.p.clone_from(&self.v);
        self.lambda_hat.clear();

        if !problem.a.is_coupled() {
            let Self { factor, w, .. } = self;
            Clock::time(&mut self.clock.linear, || {
                factor.refactor(&problem.a, Some(w))
            })?;
            return Ok(None);
        }
        let mut shifted = problem.a.clone();
        for (j, w) in self.w.iter().enumerate() {
            shifted.add(j, j, &Mat3::from_diagonal_element(*w));
        }
        self.factor.refactor(&shifted, None)?;
        Ok(Some(shifted))
    }

    /// Lets bodies start with the contact forces of the last solve, which `step` comes with, where that
    /// is better than without, which is what `v` comes with; λ goes where the forces go.
    fn hold(&mut self, problem: &FrictionProblem, r: &[Vec3], tolerance: f64) -> Result<(), Error> {
        let held = &mut self.step;
        for (held, f) in held.iter_mut().zip(&problem.f) {
            *held += f;
        }
        self.factor.solve(&problem.a, held, tolerance)?;
        let known = r.len() == problem.contacts.len();
        let r = if known { r } else { &[] };
        let better = better_held(problem, &self.w, &self.v, held, r);
        for (j, better) in better.into_iter().enumerate() {
            if better {
                self.v[j] = self.step[j];
            } else {
                self.lambda[j] = Vec3::zeros();
            }
        }
        Ok(())
    }

    /// v ← v + (A + W)⁻¹ (f + W (p + λ − v) − A v); the change is left in `step`.
    fn solve_linear(
        &mut self,
        problem: &FrictionProblem,
        matrix: &SystemMatrix,
        momentum: &Momentum,
        tolerance: f64,
    ) -> Result<usize, Error> {
        let start = Instant::now();
        problem.a.apply(&self.v, &mut self.step);
        let known = (&problem.f, &self.w);
        let p = momentum.p_hat.as_ref().unwrap_or(&self.p);
        let pulled = (p, hat(&self.lambda_hat, &self.lambda), &self.v);
        blocks((&mut self.step, known, pulled))
            .for_each(|(step, (f, w), (p, lambda, v))| *step = f - *step + (p - v + lambda) * *w);
        let iterations = self.factor.solve(matrix, &mut self.step, tolerance)?;
        reduce::axpy(1.0, &self.step, &mut self.v);
        self.clock.linear += start.elapsed().as_secs_f64();
        Ok(iterations)
    }

    /// The largest component over all blocks [m/s], angular ones at their radius of gyration.
    fn largest(&self, x: impl Fn(&Self, usize) -> Vec3 + Sync) -> f64 {
        let largest = |j: usize| {
            let x = x(self, j);
            // `amax` would lose a NaN.
            let size = if x.iter().all(|x| x.is_finite()) {
                x.amax()
            } else {
                f64::INFINITY
            };
            size * self.reach[j]
        };
        reduce::max_ordered(self.reach.len(), largest).max(0.0)
    }
}

/// The first iteration has no δ∞ to measure by, so nothing sleeps in it.
fn nap(config: &Config, speed: f64) -> Option<Nap> {
    let sleep = config.sleep.filter(|s| s.sweeps > 0 && speed.is_finite())?;
    let threshold = sleep.threshold * speed;
    Some(Nap {
        square: threshold * threshold,
        sweeps: sleep.sweeps,
    })
}

fn shape(problem: &FrictionProblem) -> Vec<usize> {
    problem.a.parts().iter().map(|part| part.len()).collect()
}

/// Columns side by side, in parallel.
pub(super) fn blocks<T: IntoParallelIterator>(
    columns: T,
) -> impl IndexedParallelIterator<Item = T::Item>
where
    T::Iter: IndexedParallelIterator,
{
    columns.into_par_iter().with_min_len(4096)
}

/// λ as it enters the linear system.
pub(super) fn hat<'a>(hat: &'a [Vec3], lambda: &'a [Vec3]) -> &'a [Vec3] {
    if hat.is_empty() { lambda } else { hat }
}

fn metric<'a>(w: &'a [f64], inverse: &'a [Mat3]) -> Metric<'a> {
    if inverse.is_empty() {
        Metric::Scalar(w)
    } else {
        Metric::Inverse(inverse)
    }
}
