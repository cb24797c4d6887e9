//! Frictional contact at vertices, in velocities: primal Gauss–Seidel [li2018].
//!
//! Where every contact has vertices of its own, contact frames make B an orthogonal matrix G, so that
//! velocities are unknowns and no inverse of A is needed,
//!
//! ```text
//! Ŵ u + d̂ = r,     Ŵ = G A Gᵀ,     (u, r) ∈ C_μ           [li2018, Eq. 8]
//! ```
//!
//! and Gauss–Seidel over the vertices solves one 3×3 problem at a time [li2018, Alg. 1], each by Newton's
//! method on a Fischer–Burmeister function of the twice changed variables [li2018, Eq. 10–12]. Vertices
//! with several contacts are duplicated, with pins between the copies [li2018, Sect. 6].
//!
//! **Deviations from the paper**
//! - Contacts may have any stencil, such as points of triangles or of rigid bodies. The vertices of one contact are
//!   solved together, in its relative velocity: the rest of the rotation G, which no law holds (the sum of
//!   two velocities [li2018, Eq. 9]), is eliminated instead of relaxed. For a contact with one vertex it is the
//!   paper's local problem.
//! - Separation and sticking are tried first, in closed form. Where Newton's method fails on a sliding
//!   contact, the exact cases of the law take its place instead of half a step.
//! - Impulses count with the velocity that they cause, so that tolerances are velocities.
//! - Vertices are visited by colours, so that threads change no bit.
//! - `NodalStart::Held` is not in the paper: the impulses of the last step balance the start.
//! - An answer counts as converged only if its certificate is below the tolerance. At the end of the loop
//!   contacts are detected again, and a polishing solver may take over.

mod copies;
mod law;

use std::time::Instant;

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify,
    solver::{
        ContactSolver, Iteration, KeptFactor, Solution, SolverReport, Target, Task, TaskStart,
        solve_balanced,
    },
};
use stiction_math::{SystemFactor, Vec3};

use copies::Copies;

pub use stiction_contact::solver::SolverError as Error;

/// Settings of the solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when the largest Fischer–Burmeister function of a contact, and `residual` and `linear` of
    /// the certificate, are below this [m/s].
    pub tolerance: f64,
    /// The tolerance of a solve that another linearisation follows [m/s], if it is larger.
    pub coarse: f64,
    /// Sweeps before giving up.
    pub max_iterations: usize,
    /// Sweeps between evaluations of the residual.
    pub evaluate_every: usize,
    /// Contacts whose force is small or steady are skipped for a while.
    pub sleep: Option<NodalSleep>,
    /// Starting point.
    pub start: NodalStart,
    /// Factorisations of the polishing solver, see [`Nodal::with_polisher`]; 0 for none.
    pub polish: usize,
}

/// When contacts sleep [li2018, Alg. 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodalSleep {
    /// Forces below this sleep: the velocity that they cause [m/s].
    pub small: f64,
    /// Forces that change by less than this sleep [m/s].
    pub settled: f64,
    /// For how many sweeps.
    pub sweeps: u32,
}

/// Starting point of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodalStart {
    /// A v = f [li2018, Alg. 1].
    Unconstrained,
    /// A v = f + Bᵀ r with the impulses of the solution: a body at rest under constant load stays.
    Held,
    /// The velocities and impulses of the solution: for later linearisations of one step.
    Given,
}

impl Config {
    /// The paper's settings, where it tells them.
    pub fn paper() -> Self {
        Self {
            tolerance: 1e-6, // ‖f‖² < 1e-12 (m/s)², the parameter files of the paper's scenes
            coarse: 0.0,
            max_iterations: 2000, // the paper reports up to 1,651 [li2018, Table 2]
            evaluate_every: 10,   // the paper does not tell
            sleep: Some(NodalSleep {
                small: 1e-9,   // the paper does not tell
                settled: 1e-9, // the paper does not tell
                sweeps: 10,    // the paper does not tell
            }),
            start: NodalStart::Unconstrained, // [li2018, Alg. 1]
            polish: 0,
        }
    }

    /// Settings for stored problems: accurate, from any start.
    pub fn accurate() -> Self {
        Self {
            tolerance: 1e-9,
            max_iterations: 50_000,
            sleep: None,
            ..Self::paper()
        }
    }

    fn check(&self) -> Result<(), Error> {
        let sleep = self.sleep.map_or([0.0; 2], |s| [s.small, s.settled]);
        for (name, value) in [
            ("tolerance", self.tolerance),
            ("sleep.small", sleep[0]),
            ("sleep.settled", sleep[1]),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Setting { name, value });
            }
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::paper()
    }
}

/// The solver.
#[derive(Default)]
pub struct Nodal {
    config: Config,
    /// For velocities that balance impulses; the loop needs no factor.
    factor: KeptFactor,
    /// Whether its numbers are those of the present problem.
    factorised: bool,
    polisher: Option<Box<dyn ContactSolver>>,
}

/// Relative accuracy of balanced velocities across couplings of bodies.
const BALANCED: f64 = 1e-12;

/// Detection passes, each with a loop of its own, in one solve.
const DETECTIONS: usize = 8;

impl Nodal {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Sets the solver that polishes, which [`Config::polish`] needs.
    pub fn with_polisher(mut self, polisher: Box<dyn ContactSolver>) -> Self {
        self.polisher = Some(polisher);
        self
    }

    fn config_of(&self, task: &Task<'_>) -> Config {
        let mut config = self.config;
        if let Some(target) = task.target {
            config.tolerance = target.error;
            config.max_iterations = target.iterations(config.max_iterations);
        }
        if task.start == TaskStart::Given {
            config.start = NodalStart::Given;
        }
        if !task.polish {
            // Relaxation alone leaves stiff bodies anywhere, and the next linearisation would be about that.
            config.tolerance = config.tolerance.max(config.coarse);
        }
        config
    }

    fn begin(
        &mut self,
        task: &Task<'_>,
        solution: &mut Solution,
        config: &Config,
    ) -> Result<(), Error> {
        let problem = &*task.problem;
        let n = problem.blocks();
        solution.r.resize(problem.contacts.len(), Vec3::zeros());
        if config.start == NodalStart::Given && solution.v.len() == n {
            for i in (0..n).filter(|&i| problem.fixed[i]) {
                solution.v[i] = Vec3::zeros();
            }
            return Ok(());
        }
        if config.start == NodalStart::Unconstrained {
            solution.r.fill(Vec3::zeros());
        }
        solution.v = self.balanced(problem, &solution.r)?;
        Ok(())
    }

    /// v = A⁻¹ (f + Bᵀ r) [m/s].
    fn balanced(&mut self, problem: &FrictionProblem, r: &[Vec3]) -> Result<Vec<Vec3>, Error> {
        let (factor, _) = self.factor.of(problem)?;
        if !self.factorised {
            factor.refactor(&problem.a, None)?;
            self.factorised = true;
        }
        let mut v = problem.f.clone();
        problem.contacts.add_transpose(r, &mut v);
        factor.solve(&problem.a, &mut v, BALANCED)?;
        Ok(v)
    }

    /// Takes the velocities that balance the impulses of a converged answer exactly, if they keep the law
    /// to the tolerance, too. A momentum residual that is small block by block may move many blocks together.
    fn balance(
        &mut self,
        task: &Task<'_>,
        solution: &mut Solution,
        config: &Config,
        report: &mut SolverReport,
    ) -> Result<(), Error> {
        let v = self.balanced(task.problem, &solution.r)?;
        let judged = certify(task.problem, &v, &solution.r, &CertifyConfig::default())?;
        report.error = judged.solution_error();
        report.converged = report.error <= config.tolerance;
        if report.converged {
            solution.v = v;
        }
        Ok(())
    }

    /// Sweeps until the tolerance is met or the iterations are used up.
    fn relax(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        config: &Config,
        report: &mut SolverReport,
    ) -> Result<(), Error> {
        let problem = &*task.problem;
        let mut copies = Copies::new(problem, &solution.v, &solution.r)?;
        (report.error, report.converged) = (f64::INFINITY, false);
        let begin = Instant::now();
        for number in 1..=config.max_iterations {
            Error::unless(task.cancel)?;
            let swept = copies.sweep(problem, config.sleep.as_ref());
            if !swept.change.is_finite() {
                return Err(Error::Overflow {
                    iterations: number,
                    change: report.change,
                });
            }
            report.iterations += 1;
            (report.change, report.settling) = (swept.change, swept.change);
            (task.observer)(&Iteration {
                number: report.iterations,
                change: swept.change,
                restarted: false,
                projection: 0.0,
            });
            let last = number == config.max_iterations;
            if !last && number % config.evaluate_every.max(1) != 0 {
                continue;
            }
            let (v, r) = (copies.velocities(), copies.impulses());
            if last || law_residual(problem, v, r) <= config.tolerance {
                let judged = certify(problem, v, r, &CertifyConfig::default())?;
                report.error = judged.solution_error();
                report.converged = report.error <= config.tolerance;
                if report.converged {
                    break;
                }
            }
        }
        report.projection_seconds += begin.elapsed().as_secs_f64();
        solution.v.copy_from_slice(copies.velocities());
        solution.r.copy_from_slice(copies.impulses());
        Ok(())
    }

    /// Hands an answer that is not converged to the polishing solver, and keeps the better one.
    fn polish(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        config: &Config,
        report: &mut SolverReport,
    ) -> Result<(), Error> {
        let polisher = self.polisher.as_mut().ok_or(Error::NoPolisher)?;
        let mut answer = Solution::new(solution.v.clone(), solution.r.clone());
        let target = Target {
            error: config.tolerance.max(f64::MIN_POSITIVE),
            max_iterations: config.polish,
        };
        let problem = &mut *task.problem;
        let (start, cancel) = (TaskStart::Given, task.cancel);
        let solved = solve_balanced(&mut **polisher, problem, &mut answer, start, target, cancel)
            .map_err(|error| Error::Polish(Box::new(error)))?;
        report.factorisations += solved.iterations;
        if solved.error < report.error {
            (solution.v, solution.r) = (answer.v, answer.r);
            report.error = solved.error;
            report.converged = solved.converged;
        }
        Ok(())
    }
}

/// The largest Fischer–Burmeister function of a contact [m/s].
fn law_residual(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) -> f64 {
    let set = &problem.contacts;
    stiction_math::reduce::max_ordered(set.len(), |c| {
        let n = &set.normal[c];
        let inverse = |i: usize| problem.a.diagonal(i).try_inverse().unwrap_or_default();
        let scale = (set.local_delassus(c, inverse).trace() + set.compliance[c]) / 3.0;
        let force = r[c] + n * set.cohesion[c];
        law::residual(&set.relative_velocity(c, v, r), &force, n, set.mu[c], scale)
    })
}

impl ContactSolver for Nodal {
    fn name(&self) -> &'static str {
        "nodal"
    }

    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, Error> {
        if task.local.is_some() {
            return Err(Error::LocalStep(self.name()));
        }
        let config = self.config_of(task);
        config.check()?;
        task.problem.check()?;
        solution.check()?;
        self.factorised = false;
        self.begin(task, solution, &config)?;
        let mut report = SolverReport {
            asked: config.tolerance,
            ..SolverReport::default()
        };
        for _ in 0..DETECTIONS {
            self.relax(task, solution, &config, &mut report)?;
            // The paper's rule ends the solve where nothing polishes.
            if report.converged && config.polish > 0 {
                self.balance(task, solution, &config, &mut report)?;
            }
            if !report.converged && config.polish > 0 {
                self.polish(task, solution, &config, &mut report)?;
            }
            let before = task.problem.contacts.len();
            task.source
                .more_contacts(&solution.v, &mut task.problem.contacts);
            let more = task.problem.contacts.len().saturating_sub(before);
            if more == 0 {
                break;
            }
            task.problem.check_contacts(before)?;
            report.new_contacts += more;
            (report.error, report.converged) = (f64::INFINITY, false);
            solution.r.resize(before + more, Vec3::zeros());
        }
        Ok(report)
    }

    fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        Ok(self.factor.unconstrained(problem, x, tolerance)?)
    }

    fn factor_at_hand(&mut self, problem: &FrictionProblem) -> Option<&mut SystemFactor> {
        let (factor, new) = self.factor.of(problem).ok()?;
        (!new).then_some(factor)
    }
}
