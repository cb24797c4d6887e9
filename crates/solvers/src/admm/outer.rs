//! The outer loop [daviet2020, Alg. 2 and 4].

mod rest;

use std::time::Instant;

use stiction_contact::{
    Certificate, CertifyConfig, FrictionProblem, certify,
    solver::{
        ContactSolver, Iteration, KeptFactor, Solution, SolverBytes, SolverReport, Task, TaskStart,
    },
};
use stiction_math::{
    Cancel, LinearOperator, Mat3, MatrixPart, SystemFactor, SystemMatrix, Vec3, parallel, reduce,
};

use super::{
    Acceleration, AdmmStop, Config, Error, Metric, Nap, Projection, ProjectionKernel, Start,
    Tolerance, Velocity,
    anderson::Step,
    past::{Known, Momentum, Past},
    polish::Attempts,
    start::better_held,
    weights::{reach, weights},
};

/// Number of detection passes, each with a projection, after the iteration limit.
const CLOSING: usize = 2;

/// A momentum residual that changes relative velocities by less than this fraction of the bound does not
/// matter.
const UNBALANCED: f64 = 0.05;

/// Largest number of reductions of the bound of iterates because of the momentum residual.
const LOWERED: usize = 3;

/// Iterations before polishing where a solve starts from another one of the same step: what holds and
/// what slides has settled there.
const SETTLED: usize = 5;

/// The solver with its workspace: make one per model and use it in every step.
pub struct Admm {
    pub(super) config: Config,
    /// Of A for the velocity without contact, then of A + W.
    factor: KeptFactor,
    pub(super) polisher: Option<Box<dyn ContactSolver>>,
    /// Whether the factor is already that of A of the next problem.
    fresh: bool,
    pub(super) projection: Projection,
    pub(super) w: Vec<f64>,
    /// W⁻¹ as matrices, where full blocks are configured.
    inverse: Vec<Mat3>,
    /// Angular blocks with their radii of gyration [m]; all other blocks count as they are.
    reach: Vec<(usize, f64)>,
    pub(super) v: Vec<Vec3>,
    pub(super) p: Vec<Vec3>,
    pub(super) lambda: Vec<Vec3>,
    /// λ as it enters the linear system, with momentum or as combined; empty where it is λ itself.
    pub(super) lambda_hat: Vec<Vec3>,
    step: Vec<Vec3>,
    pub(super) linear_seconds: f64,
    pub(super) projection_seconds: f64,
    /// Of the task, for the polishing solver.
    pub(super) cancel: Cancel,
}

/// The loop of one solve.
struct Run {
    config: Config,
    /// A + W where conjugate gradients need it.
    shifted: Option<SystemMatrix>,
    past: Past,
    attempts: Attempts,
    /// Bound on δ∞ and on the changes of the last sweep [m].
    tolerance: f64,
    /// Bound on the certificate of the answer [m].
    asked: f64,
    /// Bound for starts [m]: that of the settings, where the task has a weaker one.
    rest: f64,
    /// Bound of iterates: less where an answer was above `asked` with velocities eliminated.
    bound: f64,
    /// Number of its reductions.
    lowered: usize,
    /// Whether [`Admm::settle`] is due: once in a solve.
    settles: bool,
    /// The error with velocities eliminated of an answer that is above `asked` and cannot be improved [m/s].
    unbalanced: Option<f64>,
    /// Whether an answer that is not converged at the limit gets closing detection passes.
    closes: bool,
    limit: usize,
    number: usize,
    ended: bool,
    report: SolverReport,
    /// The last δ∞ [m].
    delta: f64,
}

/// Runs `work` and adds its time to `seconds`.
fn time<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *seconds += start.elapsed().as_secs_f64();
    result
}

impl Admm {
    /// A solver with the given settings. Problems of any structure may be solved; the analysis of A
    /// is kept as long as the number of bodies and their sizes stay the same.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            factor: KeptFactor::default(),
            polisher: None,
            fresh: false,
            projection: Projection::default(),
            w: Vec::new(),
            inverse: Vec::new(),
            reach: Vec::new(),
            v: Vec::new(),
            p: Vec::new(),
            lambda: Vec::new(),
            lambda_hat: Vec::new(),
            step: Vec::new(),
            linear_seconds: 0.0,
            projection_seconds: 0.0,
            cancel: Cancel::default(),
        }
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The settings of one task.
    fn config_of(&self, task: &Task<'_>) -> Config {
        let mut config = self.config.clone();
        if task.start == TaskStart::Given {
            config.start = Start::Given;
        }
        if let Some(target) = task.target {
            config.tolerance = Tolerance::Velocity(target.error);
            config.max_iterations = target.iterations(config.max_iterations);
            if let Some(polish) = &mut config.polish {
                polish.residual = Some(target.error);
            }
        }
        if !task.polish
            && let Some(polish) = config.polish.take()
        {
            // Another linearisation follows, which starts from what has settled by then.
            config.stop = AdmmStop::Change;
            config.max_iterations = config.max_iterations.min(polish.after);
        }
        if let (Some(polish), TaskStart::Given) = (&mut config.polish, task.start) {
            polish.after = polish.after.min(SETTLED);
        }
        if is_small(&task.problem.a)
            && let Some(polish) = &mut config.polish
        {
            polish.after = 0;
        }
        if task.local.is_some() {
            // Neither supports a right-hand side that changes.
            (config.acceleration, config.polish) = (None, None);
        }
        config
    }
}

impl ContactSolver for Admm {
    fn name(&self) -> &'static str {
        "admm"
    }

    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, Error> {
        let config = self.config_of(task);
        config.check()?;
        task.problem.check()?;
        (self.linear_seconds, self.projection_seconds) = (0.0, 0.0);
        self.cancel = task.cancel.clone();
        self.prepare(task.problem, solution, &config)?;
        let mut run = Run::new(config, task.problem.h);
        run.ended = self.starts_solved(task, &mut run)?;
        if is_small(&task.problem.a) {
            // What was solved a moment ago is closer to an answer than an iteration would leave it.
            while !run.ended && self.try_polish(task, &mut run)? {}
        }
        if !run.ended {
            run.shifted = self.shift(task.problem)?;
        }
        while !run.ended && run.number < run.limit {
            Error::unless(task.cancel)?;
            self.iterate(task, &mut run)?;
        }
        self.conclude(task, solution, &mut run)?;
        Ok(SolverReport {
            asked: run.asked / task.problem.h,
            // Below the bound in both norms, or not converged.
            converged: run.report.converged && run.unbalanced.is_none(),
            error: run.unbalanced.unwrap_or(run.report.error),
            linear_seconds: self.linear_seconds,
            projection_seconds: self.projection_seconds,
            ..run.report
        })
    }

    fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        self.factor.unconstrained(problem, x, tolerance)?;
        self.fresh = true;
        Ok(())
    }

    fn factor_at_hand(&mut self, problem: &FrictionProblem) -> Option<&mut SystemFactor> {
        let (factor, new) = self.factor.of(problem).ok()?;
        (!new).then_some(factor)
    }

    fn columns(&self) -> &'static [&'static str] {
        &[super::LAMBDA, super::BALANCE]
    }

    fn is_extensive(&self, column: &str) -> bool {
        column == super::BALANCE
    }

    fn release(&mut self) {
        self.projection = Projection::default();
        for column in [&mut self.v, &mut self.p, &mut self.lambda, &mut self.step] {
            *column = Vec::new();
        }
        (self.w, self.reach, self.inverse) = Default::default();
    }

    fn bytes(&self) -> SolverBytes {
        let columns = [&self.v, &self.p, &self.lambda, &self.lambda_hat, &self.step];
        let numbers = size_of_val(&self.w[..]) + size_of_val(&self.reach[..]);
        let columns = columns.map(|c| size_of_val(&c[..])).iter().sum::<usize>();
        SolverBytes {
            system: self.factor.bytes() + columns + numbers + size_of_val(&self.inverse[..]),
            contacts: self.projection.bytes(),
        }
    }
}

impl Run {
    fn new(config: Config, h: f64) -> Self {
        let tolerance = config.tolerance.displacement(h);
        let asked = match config.polish.and_then(|p| p.residual) {
            Some(residual) => h * residual,
            None => tolerance,
        };
        Self {
            tolerance,
            shifted: None,
            past: Past::default(),
            attempts: Attempts::new(config.polish),
            asked,
            rest: asked,
            bound: asked,
            lowered: 0,
            settles: config.polish.is_some() && config.velocity == Velocity::Feasible,
            unbalanced: None,
            closes: config.contacts_every > 0 && config.velocity == Velocity::Feasible,
            limit: config.max_iterations,
            number: 0,
            ended: false,
            report: SolverReport {
                change: f64::INFINITY,
                settling: f64::INFINITY,
                error: f64::INFINITY,
                ..SolverReport::default()
            },
            delta: f64::INFINITY,
            config,
        }
    }
}

impl Admm {
    /// One iteration: linear system, acceleration, projection, λ, stopping criterion, polish.
    fn iterate(&mut self, task: &mut Task<'_>, run: &mut Run) -> Result<(), Error> {
        let h = task.problem.h;
        run.number += 1;
        run.report.iterations = run.number;
        let matrix = run.shifted.as_ref().unwrap_or(&task.problem.a);
        let tolerance = run.config.linear_tolerance;
        run.report.linear_iterations +=
            self.solve_linear(task.problem, matrix, &run.past.momentum, tolerance)?;
        let change = self.largest(|s, j| s.step[j]);
        let unmet = match &mut task.local {
            Some(local) => local.update(&self.v, &mut task.problem.f),
            None => 0.0,
        };
        // A loop that closes asks about its answer after the last iteration.
        let every = run.config.contacts_every;
        let due = every > 0 && run.number.is_multiple_of(every);
        if due && !(run.closes && run.number == run.limit) {
            run.report.new_contacts += self.detect_more(task, Velocity::Balanced)?;
        }
        let (jump, mut restarted) = self.accelerate(task.problem, run);
        let spent = self.projection_seconds;
        let settling = self.project(run, h);
        let projection = self.projection_seconds - spent;

        let gap = self.largest(|s, j| s.v[j] - s.p[j]);
        let delta = h * (change + gap + jump) + unmet;
        if !delta.is_finite() {
            return Err(Error::Overflow {
                iterations: run.number,
                change: run.delta / h,
            });
        }
        run.delta = delta;
        (run.report.change, run.report.settling) = (delta / h, settling);
        if delta.max(h * settling) <= run.tolerance {
            self.test(task, run)?;
        }
        self.try_polish(task, run)?;
        restarted |= self.extrapolate(&mut run.past.momentum, run.config.acceleration);
        (task.observer)(&Iteration {
            number: run.number,
            change: run.report.change,
            restarted,
            projection,
        });
        Ok(())
    }

    /// Combines earlier iterations or prepares momentum, as configured. Returns the jump that this
    /// makes in λ [m/s], and whether an acceleration was restarted.
    fn accelerate(&mut self, problem: &FrictionProblem, run: &mut Run) -> (f64, bool) {
        let Run { past, number, .. } = run;
        let (mut jump, mut restarted) = (0.0, false);
        if let Some(Acceleration::Anderson { memory, after }) = run.config.acceleration
            && *number > past.resume.max(after)
        {
            let known = past.known.get_or_insert_with(|| Known::new(memory));
            let step = self.combine(known, &problem.contacts);
            restarted = step != Step::Combined;
            if restarted {
                past.resume = *number + after * (1 + past.turns / 4).min(10);
            }
            if step == Step::Back {
                past.turns += 1;
                if past.turns % 4 == 3 {
                    // Impulses that jam must be forgotten.
                    let set = &problem.contacts;
                    self.projection
                        .set_impulses(set, &vec![Vec3::zeros(); set.len()]);
                    self.lambda_hat.fill(Vec3::zeros());
                }
            }
            if !self.lambda_hat.is_empty() {
                jump = self.largest(|s, j| s.lambda_hat[j] - s.lambda[j]);
            }
        }
        if let Some(Acceleration::Momentum { .. }) = run.config.acceleration {
            past.momentum.keep(&self.p, &self.lambda);
            if self.lambda_hat.is_empty() {
                self.lambda_hat.extend_from_slice(&self.lambda);
            }
        }
        (jump, restarted)
    }

    /// p ← the projection of v − λ, λ ← λ + p − v. Returns the largest change of a relative velocity
    /// in the last sweep [m/s].
    fn project(&mut self, run: &Run, h: f64) -> f64 {
        let hat = hat(&self.lambda_hat, &self.lambda);
        let v = &self.v;
        parallel::each_mut(&mut self.p, GRAIN, |j, p| *p = v[j] - hat[j]);
        let nap = nap(&run.config, run.delta / h);
        let sweeps = run.past.sweeps(run.config.sweeps);
        let settling = time(&mut self.projection_seconds, || {
            self.projection.project(&mut self.p, sweeps, nap)
        });
        if !self.lambda_hat.is_empty() {
            reduce::copy(&self.lambda_hat, &mut self.lambda);
        }
        let (p, v) = (&self.p, &self.v);
        parallel::each_mut(&mut self.lambda, GRAIN, |j, lambda| *lambda += p[j] - v[j]);
        settling
    }

    /// The test for the end where changes are small.
    fn test(&mut self, task: &mut Task<'_>, run: &mut Run) -> Result<(), Error> {
        let config = &run.config;
        run.report.error = self.error(task.problem, config.velocity)?;
        let certified = task.problem.h * run.report.error <= run.bound;
        if certified || config.stop == AdmmStop::Change && config.polish.is_none() {
            if certified {
                self.settle(task.problem, run)?;
            }
            let config = &run.config;
            let more = self.detect_more(task, config.velocity)?;
            run.report.new_contacts += more;
            run.ended = more == 0 && (!certified || self.balance(task.problem, run)?);
            run.report.converged = run.ended && certified;
        }
        Ok(())
    }

    /// Hands over to the polishing solver where that is configured and due. Returns whether its answer has found contacts, and
    /// the next attempt is due before another iteration.
    fn try_polish(&mut self, task: &mut Task<'_>, run: &mut Run) -> Result<bool, Error> {
        let Some(polish) = run.config.polish.filter(|_| !run.ended) else {
            return Ok(false);
        };
        if !run.attempts.due(run.number, run.limit) {
            return Ok(false);
        }
        let mut again = false;
        let bound = run.bound / task.problem.h;
        let (attempts, report) = (&mut run.attempts, &mut run.report);
        if self.attempt(task.problem, &polish, bound, attempts, report)? {
            self.settle(task.problem, run)?;
            let more = self.detect_more(task, run.config.velocity)?;
            run.report.new_contacts += more;
            run.ended = more == 0 && self.balance(task.problem, run)?;
            run.report.converged = run.ended;
            if more == 0 && !run.ended {
                run.attempts.again(run.number);
            }
            run.past = Past::default();
            // An answer to a problem that has grown is a start, however late it comes.
            if more > 0 && run.attempts.extend() {
                run.limit = run.limit.max(run.number.saturating_add(polish.after));
                again = is_small(&task.problem.a);
                if again {
                    run.attempts.at_once(run.number);
                }
            }
        }
        Ok(again)
    }

    /// The best answer there is, written to `solution`.
    fn conclude(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        run: &mut Run,
    ) -> Result<(), Error> {
        if !run.report.converged {
            self.fall_back(
                task.problem,
                run.config.velocity,
                &mut run.attempts,
                &mut run.report,
            )?;
        }
        if !run.ended && run.closes {
            self.close(task, run)?;
        }
        let problem = &*task.problem;
        let contacts = &problem.contacts;
        problem.a.apply(&self.p, &mut self.step);
        reduce::axpy(-1.0, &problem.f, &mut self.step);
        if run.config.velocity == Velocity::Feasible {
            std::mem::swap(&mut self.v, &mut self.p);
        }
        solution.put(super::BALANCE, std::mem::take(&mut self.step));
        solution.v = std::mem::take(&mut self.v);
        solution.put(super::LAMBDA, std::mem::take(&mut self.lambda));
        solution.r.resize(contacts.len(), Vec3::zeros());
        self.projection.impulses(contacts, &mut solution.r);
        Ok(())
    }

    /// Whether A⁻¹ (f + Bᵀ r) is below the bound as well: the residual of the impulses alone, with velocities
    /// eliminated. Else lowers the bound of iterates, and says that the loop has to go on, unless it was
    /// lowered often enough: the answer is then not converged. Rigid bodies
    /// take these velocities, so that their momentum is conserved to rounding. An answer of elastic bodies
    /// whose momentum residual is too small to matter is not asked.
    fn balance(&mut self, problem: &FrictionProblem, run: &mut Run) -> Result<bool, Error> {
        // Without a bound on the certificate, the feasible velocity comes closer to rest in every step.
        if run.config.polish.is_none() || run.config.velocity != Velocity::Feasible {
            return Ok(true);
        }
        let r = self.impulses(problem);
        let small = is_small(&problem.a);
        let tolerance = run.config.linear_tolerance;
        if !small {
            // A⁻¹ ≤ (1 + max w/m) (A + W)⁻¹, whose factor is there.
            let change = self.unbalanced(problem, &r, run.shifted.as_ref())?;
            let ratio = |j: usize| self.w[j] / problem.mass[j];
            let ratio = 1.0 + reduce::max_ordered(self.w.len(), ratio);
            if problem.h * ratio * change <= UNBALANCED * run.asked {
                return Ok(true);
            }
        }
        let mut v = problem.f.clone();
        problem.contacts.add_transpose(&r, &mut v);
        let (factor, _) = self.factor.of(problem)?;
        factor.refactor(&problem.a, None)?;
        factor.solve(&problem.a, &mut v, tolerance)?;
        let judged = certify(problem, &v, &r, &CertifyConfig::default())?;
        let error = judged.solution_error();
        if problem.h * error <= run.asked {
            // Velocities of elastic bodies stay the feasible ones: what sticks is at rest in them, not
            // only to within the bound.
            if small {
                (self.p, run.report.error) = (v, error);
            }
            return Ok(true);
        }
        if run.lowered == LOWERED || run.number >= run.limit {
            run.unbalanced = Some(error);
            return Ok(true);
        }
        match &run.shifted {
            Some(shifted) => factor.refactor(shifted, None)?,
            None => factor.refactor(&problem.a, Some(&self.w))?,
        }
        run.lowered += 1;
        run.bound *= (0.5 * run.asked / (problem.h * error)).clamp(1e-3, 0.5);
        Ok(false)
    }

    /// The largest relative velocity [m/s] that the momentum residual of p and `r` makes at a contact,
    /// by the factor that is there: that of A, or of A + W, which is `shifted` where bodies are coupled.
    fn unbalanced(
        &mut self,
        problem: &FrictionProblem,
        r: &[Vec3],
        shifted: Option<&SystemMatrix>,
    ) -> Result<f64, Error> {
        let mut correction = vec![Vec3::zeros(); problem.blocks()];
        problem.momentum_residual(&self.p, r, &mut correction);
        let tolerance = self.config.linear_tolerance;
        let (factor, _) = self.factor.of(problem)?;
        factor.solve(shifted.unwrap_or(&problem.a), &mut correction, tolerance)?;
        let set = &problem.contacts;
        Ok(reduce::max_ordered(set.len(), |c| {
            set.velocity(c, &correction).norm()
        }))
    }

    /// The impulses of the last projection [N·s].
    fn impulses(&self, problem: &FrictionProblem) -> Vec<Vec3> {
        let mut r = vec![Vec3::zeros(); problem.contacts.len()];
        self.projection.impulses(&problem.contacts, &mut r);
        r
    }

    fn velocity(&self, which: Velocity) -> &Vec<Vec3> {
        match which {
            Velocity::Feasible => &self.p,
            Velocity::Balanced => &self.v,
        }
    }

    /// The worse of `residual` and `linear` of the certificate of the answer as it is now [m/s].
    pub(super) fn error(
        &mut self,
        problem: &FrictionProblem,
        which: Velocity,
    ) -> Result<f64, Error> {
        Ok(self.certificate(problem, which)?.solution_error())
    }

    /// The certificate of the answer as it is now.
    fn certificate(
        &self,
        problem: &FrictionProblem,
        which: Velocity,
    ) -> Result<Certificate, Error> {
        let r = self.impulses(problem);
        Ok(certify(
            problem,
            self.velocity(which),
            &r,
            &CertifyConfig::default(),
        )?)
    }

    /// Gets contacts that a velocity violates from the source.
    fn detect_more(&mut self, task: &mut Task<'_>, which: Velocity) -> Result<usize, Error> {
        let contacts = &mut task.problem.contacts;
        task.source.more_contacts(self.velocity(which), contacts);
        let more = contacts.len().saturating_sub(self.projection.len());
        if more > 0 {
            task.problem.check_contacts(self.projection.len())?;
            let metric = metric(&self.w, &self.inverse);
            self.projection.append(&task.problem.contacts, metric)?;
        }
        Ok(more)
    }

    /// Detects contacts that the answer p of a loop at its iteration limit violates, and repeats its
    /// last projection with them. Only p is returned, and only v was checked until then: contacts
    /// that v violates and p keeps hide where p goes.
    fn close(&mut self, task: &mut Task<'_>, run: &mut Run) -> Result<(), Error> {
        for _ in 0..CLOSING {
            let more = self.detect_more(task, Velocity::Feasible)?;
            if more == 0 {
                break;
            }
            run.report.new_contacts += more;
            run.report.error = f64::INFINITY;
            // λ = λ before + p − v, so that p − λ is what was projected.
            reduce::axpy(-1.0, &self.lambda, &mut self.p);
            let p = &self.p;
            parallel::each_mut(&mut self.lambda, GRAIN, |j, lambda| *lambda = -p[j]);
            let nap = nap(&run.config, run.delta / task.problem.h);
            time(&mut self.projection_seconds, || {
                self.projection.project(&mut self.p, run.config.sweeps, nap)
            });
            reduce::axpy(1.0, &self.p, &mut self.lambda);
        }
        Ok(())
    }

    /// Weights, contacts and the first velocity.
    fn prepare(
        &mut self,
        problem: &FrictionProblem,
        solution: &mut Solution,
        config: &Config,
    ) -> Result<(), Error> {
        let n = problem.blocks();
        // Whatever happens, a factor serves one solve.
        let fresh = std::mem::take(&mut self.fresh);
        weights(problem, &config.weights, &mut self.w);
        reach(problem, &mut self.reach);
        solution.check()?;
        let held = config.start == Start::Held && solution.column(super::BALANCE).len() == n;
        for (own, theirs) in [
            (&mut self.v, std::mem::take(&mut solution.v)),
            (&mut self.lambda, solution.take(super::LAMBDA)),
            (&mut self.step, solution.take(super::BALANCE)),
        ] {
            *own = theirs;
            if own.len() != n {
                own.clear();
                own.resize(n, Vec3::zeros());
            }
            for j in (0..n).filter(|&j| problem.fixed[j]) {
                own[j] = Vec3::zeros();
            }
        }
        self.inverse.clear();
        if config.local == ProjectionKernel::Blocks {
            let blocks = self.w.iter().map(|w| Mat3::from_diagonal_element(1.0 / w));
            self.inverse.extend(blocks);
        }
        let metric = metric(&self.w, &self.inverse);
        self.projection.reset(&problem.contacts, metric)?;
        if solution.r.len() == problem.contacts.len() {
            self.projection.set_impulses(&problem.contacts, &solution.r);
        }

        match config.start {
            Start::Given => {}
            Start::Unconstrained | Start::Held => {
                let tolerance = config.linear_tolerance.min(1e-10);
                let (factor, new) = self.factor.of(problem)?;
                if new || !fresh {
                    factor.refactor(&problem.a, None)?;
                }
                self.v.copy_from_slice(&problem.f);
                factor.solve(&problem.a, &mut self.v, tolerance)?;
                if held {
                    self.hold(problem, &solution.r, tolerance)?;
                }
            }
        }
        self.p.clone_from(&self.v);
        self.lambda_hat.clear();
        Ok(())
    }

    /// Factorises A + W. Returns it where conjugate gradients need it.
    fn shift(&mut self, problem: &FrictionProblem) -> Result<Option<SystemMatrix>, Error> {
        let (factor, _) = self.factor.of(problem)?;
        let w = &self.w;
        if !problem.a.is_coupled() {
            let seconds = &mut self.linear_seconds;
            time(seconds, || factor.refactor(&problem.a, Some(w)))?;
            return Ok(None);
        }
        let mut shifted = problem.a.clone();
        for (j, w) in w.iter().enumerate() {
            shifted.add(j, j, &Mat3::from_diagonal_element(*w));
        }
        factor.refactor(&shifted, None)?;
        Ok(Some(shifted))
    }

    /// Lets bodies start with the contact forces of the last solve, which `step` comes with, where that
    /// is better than without, which is what `v` comes with; λ goes where the forces go.
    fn hold(&mut self, problem: &FrictionProblem, r: &[Vec3], tolerance: f64) -> Result<(), Error> {
        let held = &mut self.step;
        for (held, f) in held.iter_mut().zip(&problem.f) {
            *held += f;
        }
        let (factor, _) = self.factor.of(problem)?;
        factor.solve(&problem.a, held, tolerance)?;
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
        let (f, w, v) = (&problem.f, &self.w, &self.v);
        let p = momentum.p_hat.as_ref().unwrap_or(&self.p);
        let lambda = hat(&self.lambda_hat, &self.lambda);
        parallel::each_mut(&mut self.step, GRAIN, |j, step| {
            *step = f[j] - *step + (p[j] - v[j] + lambda[j]) * w[j];
        });
        let (factor, _) = self.factor.of(problem)?;
        let iterations = factor.solve(matrix, &mut self.step, tolerance)?;
        reduce::axpy(1.0, &self.step, &mut self.v);
        self.linear_seconds += start.elapsed().as_secs_f64();
        Ok(iterations)
    }

    /// The largest component over all blocks [m/s], angular ones at their radius of gyration.
    fn largest(&self, x: impl Fn(&Self, usize) -> Vec3 + Sync) -> f64 {
        // `amax` would lose a NaN.
        let size = |j: usize| {
            let x = x(self, j);
            if x.iter().all(|x| x.is_finite()) {
                x.amax()
            } else {
                f64::INFINITY
            }
        };
        let largest = |j: usize| {
            let angular = self.reach.binary_search_by_key(&j, |r| r.0);
            angular.map_or(1.0, |at| self.reach[at].1) * size(j)
        };
        if self.reach.is_empty() {
            return reduce::max_ordered(self.w.len(), size).max(0.0);
        }
        reduce::max_ordered(self.w.len(), largest).max(0.0)
    }
}

/// Whether A is that of rigid bodies alone. A factor of A + Bᵀ G B then costs less than a projection, so
/// that the polishing solver takes over at once.
fn is_small(a: &SystemMatrix) -> bool {
    let small = |part: &MatrixPart| matches!(part, MatrixPart::Dense(_));
    !a.is_coupled() && a.parts().iter().all(small)
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

/// Blocks per parallel task of a vector operation.
pub(super) const GRAIN: usize = 4096;

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
