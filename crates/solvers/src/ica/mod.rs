//! Nested relaxation with Coulomb's law (NL-ICA), for comparison.
//!
//! The method of [otaduy2009] with the exact friction law in place of a faceted cone, as
//! [daviet2020, Sect. 7.1 and 7.2] compares with. It needs no factor of A: an outer iteration relaxes
//! the bodies and then lets contacts act through the 3×3 diagonal blocks D of A alone,
//!
//! ```text
//! v ← v + (D + L)⁻¹ (f + Bᵀ r − A v)                 a Gauss–Seidel sweep, body by body
//! D v⁺ = D v + Bᵀ (r⁺ − r),  (B v⁺ + k, r⁺) ∈ C_μ     contacts, by sweeps of their own
//! ```
//!
//! Where nothing changes any more, A v = f + Bᵀ r and the law hold. Stiff bodies take many
//! iterations, and convergence is not guaranteed; the report tells.
//!
//! [`Ica::faceted`] has the friction of [otaduy2009] instead, a polygon per contact and interleaved rows (`facets`).
//! Its answers deviate from Coulomb's law by the shape of the polygon, so that the certificate does not decide when
//! it is done: changes and `linear` do.
//!
//! **Deviations from the paper**: bodies that are coupled are relaxed by themselves, with the
//! coupling from the iteration before. Local problems are solved by the cases of the law inside a
//! bracket instead of the hybrid Newton solver of [daviet2011].

mod facets;

use std::time::Instant;

use stiction_contact::{
    CertifyConfig, ContactSet, FrictionProblem, ProblemError, certify,
    solver::{ContactSolver, Iteration, KeptFactor, Solution, SolverReport, Task, Tolerance},
};
use stiction_math::{Cancel, Mat3, MatrixPart, SystemFactor, SystemMatrix, Vec3, reduce};

use crate::projection::{Metric, Projection};
use facets::FacetedSweeps;

/// Stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when ‖v − v before‖∞, the changes of the last sweep, and `residual` and `linear` of the
    /// answer's certificate are below this.
    pub tolerance: Tolerance,
    /// Outer iterations before giving up.
    pub max_iterations: usize,
    /// Relaxations of the bodies per iteration.
    pub relaxations: usize,
    /// Sweeps over the contacts per iteration.
    pub sweeps: usize,
}

pub use stiction_contact::solver::SolverError as Error;

/// Sides of a friction pyramid.
pub const PYRAMID: usize = 4;

/// The solver.
#[derive(Default)]
pub struct Ica {
    config: Config,
    /// Sides of the friction polygon; none for the exact law.
    sides: Option<usize>,
    /// For velocities without contact; relaxation needs no factor.
    factor: KeptFactor,
}

impl Ica {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// With friction in a polygon with the given number of sides, at least three, in place of Coulomb's disc [otaduy2009].
    pub fn faceted(config: Config, sides: usize) -> Self {
        Self {
            sides: Some(sides),
            ..Self::new(config)
        }
    }
}

impl Config {
    /// The settings of the comparison in the paper.
    pub fn paper() -> Self {
        Self {
            tolerance: Tolerance::Displacement(1e-5), // [daviet2020, Sect. 7.2]: 0.01 mm
            max_iterations: 25,                       // [daviet2020, Table 3]
            relaxations: 1,                           // [otaduy2009]: one per contact solve
            sweeps: 10,                               // [daviet2020, Table 5]
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::paper()
    }
}

impl ContactSolver for Ica {
    fn name(&self) -> &'static str {
        match self.sides {
            None => "ica",
            Some(_) => "ica-facets",
        }
    }

    /// Contacts are those of the task's problem at its start: the source is not used.
    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, Error> {
        if task.local.is_some() {
            return Err(Error::LocalStep(self.name()));
        }
        let mut config = self.config;
        if let Some(target) = task.target {
            config.tolerance = Tolerance::Velocity(target.error);
            config.max_iterations = target.iterations(config.max_iterations);
        }
        task.problem.check()?;
        solution.check()?;
        if let Some(sides) = self.sides.filter(|&sides| sides < 3) {
            let (name, value) = ("sides", sides as f64);
            return Err(Error::Setting { name, value });
        }
        let (cancel, observer) = (task.cancel, &mut *task.observer);
        relax_all(
            task.problem,
            solution,
            &config,
            self.sides,
            cancel,
            observer,
        )
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

/// Sweeps over the contacts with either law.
enum Sweeps<'a> {
    Exact(Box<Projection>),
    Faceted(FacetedSweeps<'a>),
}

impl Sweeps<'_> {
    fn set_impulses(&mut self, set: &ContactSet, r: &[Vec3]) {
        match self {
            Self::Exact(projection) => projection.set_impulses(set, r),
            Self::Faceted(sweeps) => sweeps.set_impulses(r),
        }
    }

    fn impulses(&self, set: &ContactSet, r: &mut [Vec3]) {
        match self {
            Self::Exact(projection) => projection.impulses(set, r),
            Self::Faceted(sweeps) => sweeps.impulses(r),
        }
    }

    /// Adds the velocities from the impulses to `v` and sweeps. Returns the largest change of a relative velocity [m/s].
    fn project(&mut self, v: &mut [Vec3], sweeps: usize) -> f64 {
        match self {
            Self::Exact(projection) => projection.project(v, sweeps, None),
            Self::Faceted(faceted) => faceted.project(v, sweeps),
        }
    }
}

fn relax_all(
    problem: &FrictionProblem,
    state: &mut Solution,
    config: &Config,
    sides: Option<usize>,
    cancel: &Cancel,
    observer: &mut dyn FnMut(&Iteration),
) -> Result<SolverReport, Error> {
    let bandless = match problem.a.has_bands() {
        true => Some(problem.a.without_bands().map_err(ProblemError::Matrix)?),
        false => None,
    };
    let matrix = bandless.as_ref().unwrap_or(&problem.a);
    let n = problem.blocks();
    let set = &problem.contacts;
    let inverse: Vec<Mat3> = (0..n)
        .map(|j| problem.a.diagonal(j).try_inverse().unwrap_or_default())
        .collect();
    let mut sweeps = match sides {
        None => Sweeps::Exact(Box::new(Projection::new(set, Metric::Inverse(&inverse))?)),
        Some(sides) => Sweeps::Faceted(FacetedSweeps::new(set, &inverse, sides)),
    };
    let mut r = vec![Vec3::zeros(); set.len()];
    if state.r.len() == set.len() {
        r.copy_from_slice(&state.r);
        sweeps.set_impulses(set, &r);
    }
    let mut v = vec![Vec3::zeros(); n];
    if state.v.len() == n {
        for j in (0..n).filter(|&j| !problem.fixed[j]) {
            v[j] = state.v[j];
        }
    }

    let h = problem.h;
    let tolerance = config.tolerance.displacement(h);
    let mut report = SolverReport {
        change: f64::INFINITY,
        error: f64::INFINITY,
        asked: match sides {
            None => tolerance / h,
            Some(_) => f64::INFINITY,
        },
        ..SolverReport::default()
    };
    let mut residual = vec![Vec3::zeros(); n];
    let mut push = vec![Vec3::zeros(); n];
    let mut before = v.clone();
    for number in 1..=config.max_iterations {
        Error::unless(cancel)?;
        before.copy_from_slice(&v);
        for _ in 0..config.relaxations {
            problem.momentum_residual(&v, &r, &mut residual);
            relax(matrix, &inverse, &mut residual);
            reduce::axpy(-1.0, &residual, &mut v);
        }
        // The projection adds what the impulses do, so that has to be taken out first.
        push.fill(Vec3::zeros());
        set.add_transpose(&r, &mut push);
        for j in 0..n {
            v[j] -= inverse[j] * push[j];
        }
        let begin = Instant::now();
        let settling = sweeps.project(&mut v, config.sweeps);
        let projection_seconds = begin.elapsed().as_secs_f64();
        sweeps.impulses(set, &mut r);

        let change = reduce::max_ordered(n, |j| {
            let change = v[j] - before[j];
            if change.iter().all(|x| x.is_finite()) {
                change.amax()
            } else {
                f64::INFINITY
            }
        });
        let delta = h * (change.max(0.0) + settling);
        if !delta.is_finite() {
            return Err(Error::Overflow {
                iterations: number,
                change: report.change,
            });
        }
        report.iterations = number;
        (report.change, report.settling) = (delta / h, settling);
        report.projection_seconds += projection_seconds;
        observer(&Iteration {
            number,
            change: report.change,
            restarted: false,
            projection: projection_seconds,
        });
        if delta <= tolerance {
            // Small changes alone can also mean that relaxation is slow.
            let judged = certify(problem, &v, &r, &CertifyConfig::default())?;
            report.error = judged.solution_error();
            let error = match sides {
                None => report.error,
                Some(_) => judged.linear,
            };
            report.converged = h * error <= tolerance;
            if report.converged {
                break;
            }
        }
    }
    state.v = v;
    state.r = r;
    Ok(report)
}

/// x ← (D + L)⁻¹ x, part by part.
fn relax(matrix: &SystemMatrix, inverse: &[Mat3], x: &mut [Vec3]) {
    for (range, part) in matrix.ranges() {
        let first = range.start;
        for i in 0..part.len() {
            let mut sum = x[first + i];
            match part {
                MatrixPart::Sparse(m) => {
                    let rows = m.pattern.row_start();
                    for at in rows[i]..rows[i + 1] {
                        let j = m.pattern.cols()[at] as usize;
                        if j < i {
                            sum -= m.values[at] * x[first + j];
                        }
                    }
                }
                MatrixPart::Dense(m) if i == 1 => {
                    sum -= m.fixed_view::<3, 3>(3, 0) * x[first];
                }
                // There is none in a matrix without bands.
                MatrixPart::Dense(_) | MatrixPart::Banded(_) | MatrixPart::Scalar(_) => {}
            }
            x[first + i] = inverse[first + i] * sum;
        }
    }
}
