//! The list of solvers, and solvers put together.

use stiction_contact::solver::{
    ContactSolver, Solution, SolverError, SolverReport, Target, Task, TaskStart, solve_balanced,
};

use crate::{admm, cr, ica, local, newton, nodal, reference};

/// A solver by name.
#[derive(Clone, Copy, Debug)]
pub struct SolverEntry {
    /// The name used on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Makes it, with settings for stored problems: accurate, from any start.
    pub make: fn() -> Box<dyn ContactSolver>,
}

/// All solvers. Adding one is a folder and a line here.
pub const SOLVERS: &[SolverEntry] = &[
    SolverEntry {
        name: "auto",
        about: "local, then admm, then newton, until one has solved it",
        make: || Box::new(Auto::default()),
    },
    SolverEntry {
        name: "admm",
        about: "splitting with a factorised matrix and a projection to Coulomb's law",
        make: || Box::new(admm::Admm::new(admm::Config::accurate())),
    },
    SolverEntry {
        name: "cr",
        about: "Conjugate Residual iterations with rows that switch state; factorises nothing",
        make: || Box::new(cr::Cr::new(cr::Config::accurate())),
    },
    SolverEntry {
        name: "ica",
        about: "nested relaxation with the exact law",
        make: || Box::new(ica::Ica::new(ica::Config::paper())),
    },
    SolverEntry {
        name: "local",
        about: "relaxation contact by contact and Newton's method, in the form u = W r + q",
        make: || Box::new(local::LocalSolver::default()),
    },
    SolverEntry {
        name: "newton",
        about: "Newton's method inside a loop on the impulses; iterations are factorisations",
        make: || Box::new(newton::NewtonSolver::default()),
    },
    SolverEntry {
        name: "nodal",
        about: "Gauss-Seidel over vertices, in velocities",
        make: || Box::new(nodal::Nodal::new(nodal::Config::accurate())),
    },
    SolverEntry {
        name: "reference",
        about: "slow and trusted, dense",
        make: || Box::new(reference::Reference::default()),
    },
];

/// The solver of a name.
pub fn solver(name: &str) -> Option<Box<dyn ContactSolver>> {
    SOLVERS.iter().find(|s| s.name == name).map(|s| (s.make)())
}

/// The splitting with Newton's method as its polishing solver, which is used where
/// [`admm::Config::polish`] requires it.
pub fn polished_admm(config: admm::Config) -> admm::Admm {
    admm::Admm::new(config).with_polisher(Box::new(newton::NewtonSolver::default()))
}

/// One solver after another until one has solved the problem: it solves every problem that any of them solves. Each
/// starts from the answer of the one before.
pub struct Auto {
    solvers: Vec<Box<dyn ContactSolver>>,
}

/// Iterations of the splitting before Newton's method has its turn.
const SPLITTING: usize = 2000;

impl Default for Auto {
    fn default() -> Self {
        let mut auto = Self::with_velocities();
        auto.solvers
            .insert(0, Box::new(local::LocalSolver::default()));
        auto
    }
}

impl Auto {
    /// Without the local form: for problems that were solved in it already.
    pub fn with_velocities() -> Self {
        Self {
            solvers: vec![
                Box::new(admm::Admm::new(admm::Config::accurate())),
                Box::new(newton::NewtonSolver::default()),
            ],
        }
    }
}

impl ContactSolver for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    /// Contacts are those of the task's problem at its start: the source is not used.
    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, SolverError> {
        if task.local.is_some() {
            return Err(SolverError::LocalStep(self.name()));
        }
        task.problem.check()?;
        solution.check()?;
        let target = task.target.unwrap_or(Target {
            error: 1e-8,
            max_iterations: 5000,
        });
        let mut start = task.start;
        let mut best: Option<(SolverReport, Solution)> = None;
        let mut failed = None;
        let mut spent = (0, 0);
        for solver in &mut self.solvers {
            let mut answer = match &best {
                Some((_, best)) => best.clone(),
                None => solution.clone(),
            };
            let mut target = target;
            if solver.name() == "admm" {
                target.max_iterations = target.max_iterations.min(SPLITTING);
            }
            let (problem, cancel) = (&mut *task.problem, task.cancel);
            match solve_balanced(&mut **solver, problem, &mut answer, start, target, cancel) {
                Ok(mut report) => {
                    spent.0 += report.iterations;
                    spent.1 += report.factorisations;
                    (report.iterations, report.factorisations) = spent;
                    let better = |b: &(SolverReport, Solution)| report.error < b.0.error;
                    if report.converged || best.as_ref().is_none_or(better) {
                        best = Some((report, answer));
                        start = TaskStart::Given;
                    }
                    if report.converged {
                        break;
                    }
                }
                Err(error) if error.is_cancelled() => return Err(error),
                // A problem that is too large for one is none of the others' concern.
                Err(error) => failed = Some(error),
            }
        }
        match (best, failed) {
            (Some((mut report, answer)), _) => {
                (report.iterations, report.factorisations) = spent;
                *solution = answer;
                Ok(report)
            }
            (None, Some(error)) => Err(error),
            (None, None) => Ok(SolverReport::default()),
        }
    }
}
