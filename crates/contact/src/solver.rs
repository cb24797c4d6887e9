//! The trait of contact solvers.
//!
//! A [`ContactSolver`] takes a [`Task`] (the problem, where contacts that appear during the solve
//! come from, where to start, how far to go) and improves a [`Solution`]. Solvers keep workspaces
//! and factors between solves and nothing that changes a result: what is carried from step to step
//! is in the [`Solution`], which checkpoints store.

use std::sync::Arc;

use stiction_math::{
    BlockError, BlockPattern, Cancel, FactorError, MatrixPart, SystemError, SystemFactor, Vec3,
};

use crate::{
    CertifyConfig, ContactKey, ContactSet, FrictionProblem, ProblemError, balanced_velocities,
    certify, detect::ContactSource,
};

/// A solver of friction problems.
pub trait ContactSolver: Send + Sync {
    /// The name used on the command line and in scenes.
    fn name(&self) -> &'static str;

    /// Solves the task from `solution`, and leaves the best answer there. Columns of the solution
    /// that do not have the problem's size count as zero. On error the solution is not usable.
    ///
    /// A problem that is not solved to the tolerance is no error: [`SolverReport::converged`] tells.
    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, SolverError>;

    /// x ← A⁻¹ f, the velocity without contact [m/s], to a fraction `tolerance` of f where bodies are
    /// coupled. A solve of the same A that follows may use the factor.
    fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), SolverError> {
        Ok(KeptFactor::default().unconstrained(problem, x, tolerance)?)
    }

    /// A factor that the last solve of `problem` left behind, if any: of A, or of A plus a positive
    /// diagonal. It serves the certificate (see
    /// [`eliminated_residual_near`](crate::eliminated_residual_near)) until the next solve.
    fn factor_at_hand(&mut self, _problem: &FrictionProblem) -> Option<&mut SystemFactor> {
        None
    }

    /// Whether the solver factorises matrices. The certificate of an answer of one that does not takes no factor
    /// either (see [`eliminated_residual_iterated`](crate::eliminated_residual_iterated)).
    fn factorises(&self) -> bool {
        true
    }

    /// The names of the further columns of a [`Solution`] that the solver carries from step to step.
    fn columns(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a column holds sums over the mesh around a block, such as impulses, and not values at
    /// it, such as velocities: on another mesh the former are distributed, the latter interpolated.
    fn is_extensive(&self, _column: &str) -> bool {
        false
    }

    /// Releases workspaces until the next solve, so that detection can use their memory.
    fn release(&mut self) {}

    /// Memory held [bytes].
    fn bytes(&self) -> SolverBytes {
        SolverBytes::default()
    }
}

/// Starting point of a solve, and its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Velocities of the blocks [m/s], zero where prescribed.
    pub v: Vec<Vec3>,
    /// Impulses at the contacts [N·s], world frame.
    pub r: Vec<Vec3>,
    /// Further columns of a solver with one vector per block, by name, such as dual variables.
    pub columns: Vec<(&'static str, Vec<Vec3>)>,
}

/// One solve.
pub struct Task<'a> {
    /// The problem. Its contacts change where the source says so.
    pub problem: &'a mut FrictionProblem,
    /// Contacts that appear while velocities change.
    pub source: &'a mut dyn ContactSource,
    /// Starting point.
    pub start: TaskStart,
    /// Whether the answer is that of the step. Only the last linearisation is polished to the configured
    /// bound; earlier ones are the point of the next.
    pub polish: bool,
    /// Target of the solve, where that differs from the solver's configuration.
    pub target: Option<Target>,
    /// Other constraints of an alternating loop. A solver without such a loop refuses them.
    pub local: Option<&'a mut dyn LocalStep>,
    /// Ends the solve with [`SolverError::Cancelled`] when it is requested.
    pub cancel: &'a Cancel,
    /// Called after every iteration.
    pub observer: &'a mut dyn FnMut(&Iteration),
}

/// Starting point of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskStart {
    /// As the solver's configuration says: the first solve of a step.
    #[default]
    Configured,
    /// From the velocities of the solution: later linearisations of the same step.
    Given,
}

/// Target of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Done when `residual` and `linear` of the certificate are below this [m/s].
    pub error: f64,
    /// Iterations before giving up; `usize::MAX` for as many as are configured.
    pub max_iterations: usize,
}

impl Target {
    /// Done below `error` [m/s], with as many iterations as are configured.
    pub fn to(error: f64) -> Self {
        Self {
            error,
            max_iterations: usize::MAX,
        }
    }

    /// Iterations before giving up, where `configured` is the solver's own limit.
    pub fn iterations(&self, configured: usize) -> usize {
        match self.max_iterations {
            usize::MAX => configured,
            given => given,
        }
    }
}

/// A bound on the change of an iterate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Displacement over the step [m], as in [daviet2020, Sect. 6.2.5]: as a velocity it grows
    /// without limit as the time step shrinks.
    Displacement(f64),
    /// Velocity [m/s], whatever the time step is.
    Velocity(f64),
}

impl Tolerance {
    /// The bound as a displacement in a step of `h` [s] [m].
    pub fn displacement(self, h: f64) -> f64 {
        match self {
            Self::Displacement(bound) => bound,
            Self::Velocity(bound) => bound * h,
        }
    }

    /// An error if the bound is negative or not finite.
    pub fn check(self) -> Result<(), SolverError> {
        let (Self::Displacement(value) | Self::Velocity(value)) = self;
        let name = "tolerance";
        match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(SolverError::Setting { name, value }),
        }
    }
}

/// The other constraints of an alternating loop, such as elastic elements [daviet2020, Sect. 6.1].
pub trait LocalStep {
    /// Takes the local steps at the velocities `v` [m/s], zero where prescribed, and changes f
    /// [N·s] to what the next linear system needs. Returns how far the constraints are from being
    /// met [m]; not a number if it failed.
    fn update(&mut self, v: &[Vec3], f: &mut [Vec3]) -> f64;
}

/// One iteration, for an observer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Its number, from 1.
    pub number: usize,
    /// The change of the iterate [m/s].
    pub change: f64,
    /// Whether an acceleration was restarted.
    pub restarted: bool,
    /// The time spent on projections to Coulomb's law [s].
    pub projection: f64,
}

/// Report of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolverReport {
    /// Iterations taken.
    pub iterations: usize,
    /// Factorisations of a polishing solver.
    pub factorisations: usize,
    /// Iterations of inner linear solvers, all together.
    pub linear_iterations: usize,
    /// The last change of the iterate [m/s].
    pub change: f64,
    /// The largest change of a relative velocity in the last sweep over contacts [m/s]; zero for a
    /// solver without sweeps.
    pub settling: f64,
    /// The worse of `residual` and `linear` of the answer's certificate [m/s]; infinite if the solver
    /// did not evaluate it.
    pub error: f64,
    /// The bound on `error` that the solver aimed at [m/s].
    pub asked: f64,
    /// Whether the solver met its stopping criterion, and `error` is at most `asked`.
    pub converged: bool,
    /// Contacts that the source added during the solve.
    pub new_contacts: usize,
    /// Time spent on factorising and solving linear systems [s].
    pub linear_seconds: f64,
    /// Time spent on projections to Coulomb's law [s].
    pub projection_seconds: f64,
}

/// Memory of a solver [bytes].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SolverBytes {
    /// Factors and columns of the linear systems.
    pub system: usize,
    /// Columns of contacts.
    pub contacts: usize,
}

/// Reason for which there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolverError {
    /// The problem is not sound, or became so by contacts that were added during the solve.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A linear system could not be solved.
    #[error("a linear system of the contact solver: {0}")]
    System(#[from] SystemError),
    /// The matrix of the solver could not be laid out.
    #[error("the matrix of the contact solver: {0}")]
    Matrix(#[from] BlockError),
    /// The matrix could not be analysed or factorised.
    #[error("the factor of the contact solver: {0}")]
    Factor(#[from] FactorError),
    /// A has no Cholesky factor.
    #[error("the system matrix is not positive definite")]
    NotPositiveDefinite,
    /// The dense matrices would be too large.
    #[error("{rows} rows are too many for the dense solver, whose limit is {limit}")]
    TooLarge {
        /// Rows of the larger of A and the Delassus operator.
        rows: usize,
        /// The limit.
        limit: usize,
    },
    /// A column to start from has a number that is not finite.
    #[error("the `{0}` to start from is not finite")]
    Start(&'static str),
    /// The polishing solver failed.
    #[error("the polishing solver: {0}")]
    Polish(Box<SolverError>),
    /// Polishing is configured, and there is no solver for it.
    #[error("polishing is configured, but the solver was made without a polishing solver")]
    NoPolisher,
    /// The task has constraints that the solver does not support.
    #[error("contact solver `{0}` does not support the constraints of an alternating integrator")]
    LocalStep(&'static str),
    /// A setting is out of its range.
    #[error("the setting `{name}` is {value}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The solve was cancelled.
    #[error("the contact solver was cancelled")]
    Cancelled,
    /// The iteration left the finite numbers.
    #[error(
        "the iteration overflowed after {iterations} iterations, at a change of {change:e} m/s"
    )]
    Overflow {
        /// Iterations taken.
        iterations: usize,
        /// The last finite change of the iterate [m/s].
        change: f64,
    },
}

impl SolverError {
    /// Refuses to go on once `cancel` is requested.
    pub fn unless(cancel: &Cancel) -> Result<(), Self> {
        match cancel.is_requested() {
            true => Err(Self::Cancelled),
            false => Ok(()),
        }
    }

    /// Whether the solve was cancelled.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Polish(inner) => inner.is_cancelled(),
            other => *other == Self::Cancelled,
        }
    }
}

/// A factor whose analysis is kept as long as problems have the same number of bodies of the same
/// sizes and patterns.
#[derive(Default)]
pub struct KeptFactor {
    factor: Option<SystemFactor>,
    /// Blocks and pattern of each part that the factor was analysed for.
    shape: Vec<(usize, Option<Arc<BlockPattern>>)>,
}

impl KeptFactor {
    /// The factor for the structure of `problem`, and whether it was analysed anew. Its numbers are
    /// those of the last factorisation.
    pub fn of(
        &mut self,
        problem: &FrictionProblem,
    ) -> Result<(&mut SystemFactor, bool), SystemError> {
        let pattern = |part: &MatrixPart| match part {
            MatrixPart::Sparse(m) => Some(m.pattern.clone()),
            _ => None,
        };
        let same = |(part, (len, known)): (&MatrixPart, &(usize, Option<Arc<BlockPattern>>))| {
            let known = match (part, known) {
                (MatrixPart::Sparse(m), Some(known)) => Arc::ptr_eq(&m.pattern, known),
                (MatrixPart::Sparse(_), None) | (_, Some(_)) => false,
                (_, None) => true,
            };
            known && part.len() == *len
        };
        let parts = problem.a.parts();
        if parts.len() != self.shape.len() || !parts.iter().zip(&self.shape).all(same) {
            self.factor = None;
            self.shape = parts.iter().map(|p| (p.len(), pattern(p))).collect();
        }
        let fresh = self.factor.is_none();
        let factor = match self.factor.take() {
            Some(factor) => factor,
            None => SystemFactor::new(&problem.a, &problem.part_positions())?,
        };
        Ok((self.factor.insert(factor), fresh))
    }

    /// x ← A⁻¹ f, to a fraction `tolerance` of f where bodies are coupled.
    pub fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), SystemError> {
        let (factor, _) = self.of(problem)?;
        factor.refactor(&problem.a, None)?;
        x.copy_from_slice(&problem.f);
        factor.solve(&problem.a, x, tolerance)?;
        Ok(())
    }

    /// Memory of the factor [bytes].
    pub fn bytes(&self) -> usize {
        self.factor.as_ref().map_or(0, SystemFactor::bytes)
    }
}

/// A source without contacts: the problem stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoNewContacts;

impl ContactSource for NoNewContacts {
    fn more_contacts(&mut self, _v: &[Vec3], _contacts: &mut ContactSet) -> usize {
        0
    }
}

impl Solution {
    /// Velocities and impulses without further columns.
    pub fn new(v: Vec<Vec3>, r: Vec<Vec3>) -> Self {
        Self {
            v,
            r,
            columns: Vec::new(),
        }
    }

    /// The column of a name; empty if there is none.
    pub fn column(&self, name: &str) -> &[Vec3] {
        let found = self.columns.iter().find(|c| c.0 == name);
        found.map_or(&[], |c| &c.1[..])
    }

    /// Takes the column of a name out; empty if there is none.
    pub fn take(&mut self, name: &str) -> Vec<Vec3> {
        let found = self.columns.iter_mut().find(|c| c.0 == name);
        found.map(|c| std::mem::take(&mut c.1)).unwrap_or_default()
    }

    /// Puts a column in.
    pub fn put(&mut self, name: &'static str, column: Vec<Vec3>) {
        match self.columns.iter_mut().find(|c| c.0 == name) {
            Some(place) => place.1 = column,
            None => self.columns.push((name, column)),
        }
    }

    /// Memory of all columns with one vector per block [bytes].
    pub fn bytes(&self) -> usize {
        let more = self.columns.iter().map(|c| size_of_val(&c.1[..]));
        size_of_val(&self.v[..]) + more.sum::<usize>()
    }

    /// Rearranges `r` from contacts with the keys `old` to contacts with the keys `new`; contacts that
    /// were not there start from zero. Equal keys are paired in their order.
    pub fn carry(&mut self, old: &[ContactKey], new: &[ContactKey]) {
        self.r = carried(&self.r, old, new);
    }

    /// The first column with a number that is not finite.
    pub fn check(&self) -> Result<(), SolverError> {
        let finite = |column: &[Vec3]| column.iter().all(|x| x.iter().all(|x| x.is_finite()));
        let columns = self.columns.iter().map(|(name, c)| (*name, &c[..]));
        let all = [("v", &self.v[..]), ("r", &self.r[..])];
        match all.into_iter().chain(columns).find(|c| !finite(c.1)) {
            Some((name, _)) => Err(SolverError::Start(name)),
            None => Ok(()),
        }
    }
}

/// Impulses `r` of contacts with the keys `old`, for contacts with the keys `new`.
pub fn carried(r: &[Vec3], old: &[ContactKey], new: &[ContactKey]) -> Vec<Vec3> {
    let sorted = |keys: &[ContactKey]| {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by_key(|&c| keys[c as usize]);
        order
    };
    let mut carried = vec![Vec3::zeros(); new.len()];
    let before = sorted(old);
    let mut at = before.iter().copied().peekable();
    for c in sorted(new) {
        let key = new[c as usize];
        while at.next_if(|&o| old[o as usize] < key).is_some() {}
        if let Some(o) = at.next_if(|&o| old[o as usize] == key) {
            carried[c as usize] = r.get(o as usize).copied().unwrap_or_default();
        }
    }
    carried
}

/// Solves a problem as it stands, without new contacts, to a target.
pub fn solve_alone(
    solver: &mut dyn ContactSolver,
    problem: &mut FrictionProblem,
    solution: &mut Solution,
    start: TaskStart,
    target: Option<Target>,
) -> Result<SolverReport, SolverError> {
    solve_until(solver, problem, solution, start, target, Cancel::NEVER)
}

/// As [`solve_alone`], unless it is cancelled.
pub fn solve_until(
    solver: &mut dyn ContactSolver,
    problem: &mut FrictionProblem,
    solution: &mut Solution,
    start: TaskStart,
    target: Option<Target>,
    cancel: &Cancel,
) -> Result<SolverReport, SolverError> {
    let mut task = Task {
        problem,
        source: &mut NoNewContacts,
        start,
        polish: true,
        target,
        local: None,
        cancel,
        observer: &mut |_| {},
    };
    solver.solve(&mut task, solution)
}

/// As [`solve_until`], until the answer is below the target in both norms: with the velocities that the
/// solver returns, and with velocities eliminated, v* = A⁻¹ (f + Bᵀ r) (see
/// [`eliminated_residual`](crate::eliminated_residual)). The answer has v* then, so that the two are
/// one number and `linear` is rounding. It factorises A once per attempt.
pub fn solve_balanced(
    solver: &mut dyn ContactSolver,
    problem: &mut FrictionProblem,
    solution: &mut Solution,
    mut start: TaskStart,
    target: Target,
    cancel: &Cancel,
) -> Result<SolverReport, SolverError> {
    let mut all = SolverReport::default();
    let mut now = target;
    for _ in 0..BALANCE_ATTEMPTS {
        let report = solve_until(solver, problem, solution, start, Some(now), cancel)?;
        all = SolverReport {
            iterations: all.iterations + report.iterations,
            factorisations: all.factorisations + report.factorisations,
            linear_iterations: all.linear_iterations + report.linear_iterations,
            asked: target.error,
            converged: false,
            ..report
        };
        if !report.converged {
            break;
        }
        let judge = |v: &[Vec3]| certify(problem, v, &solution.r, &CertifyConfig::default());
        let judged = judge(&solution.v)?;
        if judged.linear <= ROUNDING * target.error && judged.residual <= target.error {
            (all.error, all.converged) = (judged.solution_error(), true);
            break;
        }
        let v = balanced_velocities(problem, &solution.r)?;
        let error = judge(&v)?.solution_error();
        if error <= target.error {
            (solution.v, all.error, all.converged) = (v, error, true);
            break;
        }
        // The momentum residual counts more than its size says: it has to be so much smaller.
        all.error = error;
        now.error *= (0.5 * target.error / error).max(1e-3);
        now.max_iterations = now.max_iterations.saturating_sub(report.iterations).max(1);
        start = TaskStart::Given;
    }
    Ok(all)
}

/// Fraction of the bound below which `linear` is rounding: A⁻¹ makes it larger by the ratio of stiffness
/// to mass, which is less than the inverse of this.
const ROUNDING: f64 = 1e-7;

/// Attempts of [`solve_balanced`], each with a smaller bound.
const BALANCE_ATTEMPTS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impulses_follow_their_features() {
        let keys = |keys: &[u64]| -> Vec<ContactKey> {
            let key = |&first: &u64| ContactKey { first, second: 7 };
            keys.iter().map(key).collect()
        };
        let mut state = Solution::new(
            Vec::new(),
            [1.0, 2.0, 3.0, 4.0].map(|x| Vec3::z() * x).to_vec(),
        );
        state.carry(&keys(&[5, 2, 9, 5]), &keys(&[9, 5, 1, 5, 5, 2]));
        let z: Vec<f64> = state.r.iter().map(|r| r.z).collect();
        assert_eq!(z, [3.0, 1.0, 0.0, 4.0, 0.0, 2.0]);
    }
}
