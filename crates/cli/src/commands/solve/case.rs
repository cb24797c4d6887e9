//! A problem in the form of its file, solved and judged there.

use std::{cell::OnceCell, path::PathBuf};

use miette::miette;
use stiction_contact::{
    Certificate, CertifyConfig, LocalProblem, certify, eliminated_residual,
    exchange::{Exchange, Point, ProblemForm},
    file::{self, StoredProblem},
    solver::{ContactSolver, Solution, SolverReport, Target, TaskStart, solve_balanced},
};
use stiction_math::{Cancel, Vec3};
use stiction_record::problems::{ProblemFile, read_problem_file};
use stiction_solvers::{Auto, SolverEntry, local};

use crate::commands::Failure;

/// Asymmetry of a matrix that is worth a warning, as a fraction of its largest entry: more than the
/// last digits.
const NOTABLE: f64 = 1e-9;

/// A problem that was read.
pub struct SolveCase {
    pub path: PathBuf,
    pub warnings: Vec<String>,
    exchange: Option<Exchange>,
    /// The problem where its file has the local form.
    local: Option<LocalProblem>,
    /// The problem with velocities; of a local form only where a solver needs it.
    stored: OnceCell<StoredProblem>,
}

/// An answer with its certificate.
pub struct CertifiedSolution {
    /// Velocities of the blocks [m/s]; empty where the problem was solved in its local form.
    pub v: Vec<Vec3>,
    /// Impulses [N·s], in the coordinates of the contacts' normals.
    pub r: Vec<Vec3>,
    pub certificate: Certificate,
    /// `residual` with velocities eliminated [m/s].
    pub eliminated: f64,
    pub iterations: usize,
    pub factorisations: usize,
}

impl CertifiedSolution {
    /// The worst of `residual`, `linear` and `eliminated` [m/s].
    pub fn error(&self) -> f64 {
        self.certificate.solution_error().max(self.eliminated)
    }
}

/// Impulses and velocities as a solver left them.
pub struct SolverOutput {
    solution: Solution,
    report: SolverReport,
    /// Whether the impulses are in contact frames and the velocities are none.
    in_frames: bool,
}

impl SolveCase {
    pub fn read(path: PathBuf) -> Result<Self, Failure> {
        let refused =
            |e: &dyn std::error::Error| Failure::Input(miette!("{}: {e}", path.display()));
        let mut case = Self {
            warnings: Vec::new(),
            exchange: None,
            local: None,
            stored: OnceCell::new(),
            path: path.clone(),
        };
        match read_problem_file(&path).map_err(|e| Failure::Input(miette!("{e}")))? {
            ProblemFile::Own(stored) => case.stored = OnceCell::from(*stored),
            ProblemFile::Exchange(exchange) => {
                let (name, asymmetry) = exchange.asymmetry().map_err(|e| refused(&e))?;
                if asymmetry > NOTABLE {
                    case.warnings.push(format!(
                        "matrix `{name}` differs from its transpose by {asymmetry:.1e} of its largest \
                         entry; their mean is used"
                    ));
                }
                match &exchange.form {
                    ProblemForm::Local(local) => {
                        case.local = Some(local.problem().map_err(|e| refused(&e))?.0);
                    }
                    ProblemForm::Global(_) => {
                        let stored = exchange.to_stored().map_err(|e| refused(&e))?;
                        case.stored = OnceCell::from(stored);
                    }
                }
                case.exchange = Some(*exchange);
            }
        }
        Ok(case)
    }

    pub fn origin(&self) -> &str {
        match (&self.exchange, self.stored.get()) {
            (Some(exchange), _) => &exchange.origin,
            (None, Some(stored)) => &stored.origin,
            (None, None) => "",
        }
    }

    /// Blocks of velocities, zero in the local form, and contacts.
    pub fn size(&self) -> (usize, usize) {
        match (&self.local, self.stored.get()) {
            (Some(local), _) => (0, local.len()),
            (None, Some(stored)) => (stored.problem.blocks(), stored.problem.contacts.len()),
            (None, None) => (0, 0),
        }
    }

    /// The problem with velocities.
    pub fn stored(&self) -> Result<&StoredProblem, String> {
        if let Some(stored) = self.stored.get() {
            return Ok(stored);
        }
        let exchange = self.exchange.as_ref().ok_or("no problem")?;
        let stored = exchange.to_stored().map_err(|e| e.to_string())?;
        Ok(self.stored.get_or_init(|| stored))
    }

    /// Solves to `target`, from the guess of the file if `warm`. What was reached at the limit is an
    /// answer, too.
    pub fn solve(
        &self,
        entry: &SolverEntry,
        target: Target,
        warm: bool,
    ) -> Result<SolverOutput, String> {
        let Some(local) = self
            .local
            .as_ref()
            .filter(|_| matches!(entry.name, "auto" | "local"))
        else {
            return self.solve_bodies(&mut *(entry.make)(), target, warm);
        };
        let guess = self.exchange.as_ref().and_then(|e| e.guess.as_ref());
        let mut r: Vec<Vec3> = match guess.filter(|_| warm) {
            Some(guess) => vectors(&guess.r),
            None => Vec::new(),
        };
        let auto = entry.name == "auto";
        let mut config = local::Config {
            tolerance: target.error,
            max_iterations: target.max_iterations,
        };
        if auto {
            config.max_iterations = config.max_iterations.min(Auto::FIRST_LOCAL);
        }
        let solve = |r: &mut Vec<Vec3>, config: &local::Config| {
            local::solve(local, r, config, Cancel::NEVER).map_err(|e| e.to_string())
        };
        let mut report = solve(&mut r, &config)?;
        if auto && !report.converged && report.iterations > 0 {
            // The other solvers need velocities, which cost a factorisation of W.
            let found = self.solve_bodies(&mut Auto::with_velocities(), target, warm)?;
            let impulses = self.to_frames(&found.solution.r);
            if found.report.converged && local.residual(&impulses) <= target.error {
                return Ok(found);
            }
            if local.residual(&impulses) < report.error {
                r = impulses;
            }
            config.max_iterations = target.max_iterations;
            let first = report;
            report = solve(&mut r, &config)?;
            report.iterations += first.iterations + found.report.iterations;
            report.factorisations += first.factorisations + found.report.factorisations;
        }
        Ok(SolverOutput {
            solution: Solution::new(Vec::new(), r),
            report,
            in_frames: true,
        })
    }

    fn solve_bodies(
        &self,
        solver: &mut dyn ContactSolver,
        target: Target,
        warm: bool,
    ) -> Result<SolverOutput, String> {
        let stored = self.stored()?;
        let given = |x: &Option<Vec<Vec3>>| x.clone().filter(|_| warm).unwrap_or_default();
        let mut solution = Solution::new(given(&stored.v), given(&stored.r));
        let start = match solution.v.is_empty() {
            true => TaskStart::Configured,
            false => TaskStart::Given,
        };
        let mut problem = stored.problem.clone();
        let cancel = Cancel::NEVER;
        let report = solve_balanced(solver, &mut problem, &mut solution, start, target, cancel)
            .map_err(|e| e.to_string())?;
        Ok(SolverOutput {
            solution,
            report,
            in_frames: false,
        })
    }

    /// Impulses of contacts in their own frames, as the file has them.
    fn to_frames(&self, r: &[Vec3]) -> Vec<Vec3> {
        let frames = self.exchange.as_ref().map_or(&[][..], |e| &e.frames[..]);
        let turn = |(c, r): (usize, &Vec3)| frames.get(c).map_or(*r, |f| f.tr_mul(r));
        r.iter().enumerate().map(turn).collect()
    }

    /// The certificate of what a solver left.
    pub fn judge(&self, solved: SolverOutput) -> Result<CertifiedSolution, Failure> {
        let SolverOutput {
            solution: Solution { v, r, .. },
            report,
            in_frames,
        } = solved;
        let config = CertifyConfig::default();
        let (v, r, certificate, eliminated) = match &self.local {
            Some(local) => {
                let r = if in_frames { r } else { self.to_frames(&r) };
                let certificate = local.certify(&r, &config).map_err(Failure::run)?;
                (Vec::new(), r, certificate, certificate.residual)
            }
            None => {
                let stored = self
                    .stored()
                    .map_err(|e| Failure::run(std::io::Error::other(e)))?;
                let problem = &stored.problem;
                let certificate = certify(problem, &v, &r, &config).map_err(Failure::run)?;
                let eliminated = eliminated_residual(problem, &r, &config).map_err(Failure::run)?;
                (v, r, certificate, eliminated)
            }
        };
        Ok(CertifiedSolution {
            v,
            r,
            certificate,
            eliminated,
            iterations: report.iterations,
            factorisations: report.factorisations,
        })
    }

    /// v, u and r in the coordinates of the file: contact frames with the normal first in files of
    /// others, the world in our own.
    pub fn point(&self, answer: &CertifiedSolution) -> Result<Point, String> {
        if let Some(local) = &self.local {
            let u = (0..local.len()).map(|c| local.velocity(c, &answer.r));
            return Ok(Point {
                v: Vec::new(),
                u: numbers(&u.collect::<Vec<_>>()),
                r: numbers(&answer.r),
            });
        }
        let stored = self.stored()?;
        let set = &stored.problem.contacts;
        let u: Vec<Vec3> = (0..set.len())
            .map(|c| set.relative_velocity(c, &answer.v, &answer.r))
            .collect();
        let mut v = numbers(&answer.v);
        let (u, r) = match &self.exchange {
            Some(exchange) => {
                if let ProblemForm::Global(global) = &exchange.form {
                    v.truncate(global.m.rows);
                }
                (self.to_frames(&u), self.to_frames(&answer.r))
            }
            None => (u, answer.r.clone()),
        };
        let (u, r) = (numbers(&u), numbers(&r));
        Ok(Point { v, u, r })
    }

    /// The problem with the answer as its solution, for an FCLIB file in the form of the original.
    pub fn exchange(&self, answer: &CertifiedSolution) -> Result<Exchange, String> {
        match &self.exchange {
            Some(exchange) => Ok(Exchange {
                solution: Some(self.point(answer)?),
                ..exchange.clone()
            }),
            None => {
                let solution = Some(file::StoredSolution {
                    v: answer.v.clone(),
                    r: answer.r.clone(),
                });
                let stored = self.stored()?.clone();
                Exchange::global(&StoredProblem { solution, ..stored }).map_err(|e| e.to_string())
            }
        }
    }

    /// The coordinates of [`SolveCase::point`], in a word.
    pub fn coordinates(&self) -> &'static str {
        match self.exchange {
            Some(_) => "contact",
            None => "world",
        }
    }
}

fn vectors(x: &[f64]) -> Vec<Vec3> {
    x.as_chunks::<3>()
        .0
        .iter()
        .map(|x| Vec3::from(*x))
        .collect()
}

fn numbers(x: &[Vec3]) -> Vec<f64> {
    x.iter().flatten().copied().collect()
}
