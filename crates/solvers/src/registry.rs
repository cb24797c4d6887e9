//! The list of solvers, and solvers put together.

use stiction_contact::solver::{
    ContactSolver, Solution, SolverError, SolverReport, Target, Task, TaskStart, solve_balanced,
};

use crate::{admm, cr, ica, local, newton, nodal, reference, sp};

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
        about: "local, newton and admm in turns, until one has solved it",
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
        name: "ica-facets",
        about: "nested relaxation with a friction pyramid in place of the exact law",
        make: || Box::new(ica::Ica::faceted(ica::Config::paper(), ica::PYRAMID)),
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
    SolverEntry {
        name: "sp",
        about: "staggered projections: normal forces and friction in turns; factorises nothing",
        make: || Box::new(sp::StaggeredProjections::new(sp::Config::accurate())),
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

/// Several solvers in turns until one has solved the problem: it solves every problem that any of them solves. Each
/// starts from the best answer so far, except for the first turn of Newton's method: its interior points approach a
/// pile's answer in half the factorisations when they start far from the cones' boundaries. First turns are short, since a solver that suits a problem takes few iterations and
/// one that does not may take thousands: contacts of a pile of rocks, which Newton's method solves in tens of
/// factorisations, take sweeps a hundred times as long.
pub struct Auto {
    local: local::LocalSolver,
    admm: admm::Admm,
    newton: newton::NewtonSolver,
    turns: &'static [Turn],
}

/// A solver, where it starts and the most iterations of its turn.
type Turn = (Part, Start, usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// The start of the task.
    Task,
    /// The best answer so far.
    Best,
}

#[derive(Clone, Copy, Debug)]
enum Part {
    Local,
    Admm,
    Newton,
}

const TURNS: &[Turn] = &[
    (Part::Local, Start::Task, Auto::FIRST_LOCAL),
    (Part::Newton, Start::Task, 500),
    (Part::Admm, Start::Best, 2000),
    (Part::Newton, Start::Best, usize::MAX),
    (Part::Local, Start::Best, usize::MAX),
];

impl Default for Auto {
    fn default() -> Self {
        Self {
            local: local::LocalSolver::default(),
            admm: admm::Admm::new(admm::Config::accurate()),
            newton: newton::NewtonSolver::default(),
            turns: TURNS,
        }
    }
}

impl Auto {
    /// Iterations of the first turn of `local`.
    pub const FIRST_LOCAL: usize = 300;

    /// Without the local form: for problems that were solved in it already.
    pub fn with_velocities() -> Self {
        Self {
            turns: &TURNS[1..TURNS.len() - 1],
            ..Self::default()
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
        let mut best: Option<(SolverReport, Solution)> = None;
        let mut failed = None;
        let mut spent = (0, 0);
        for &(part, start, iterations) in self.turns {
            let (mut answer, start) = match &best {
                Some((_, best)) if start == Start::Best => (best.clone(), TaskStart::Given),
                _ => (solution.clone(), task.start),
            };
            let mut target = target;
            target.max_iterations = target.max_iterations.min(iterations);
            let (problem, cancel) = (&mut *task.problem, task.cancel);
            let solver: &mut dyn ContactSolver = match part {
                Part::Local => &mut self.local,
                Part::Admm => &mut self.admm,
                Part::Newton => &mut self.newton,
            };
            match solve_balanced(solver, problem, &mut answer, start, target, cancel) {
                Ok(mut report) => {
                    spent.0 += report.iterations;
                    spent.1 += report.factorisations;
                    (report.iterations, report.factorisations) = spent;
                    let better = |b: &(SolverReport, Solution)| report.error < b.0.error;
                    if report.converged || best.as_ref().is_none_or(better) {
                        best = Some((report, answer));
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
