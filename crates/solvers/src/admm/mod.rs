//! Frictional contact by splitting: elasticity by a factor that is kept, contact by a projection
//! with a diagonal matrix, and a dual variable that makes the two agree [daviet2020].
//!
//! ```text
//! (A + W) v = f + W (p + λ)                         velocities of the bodies   [Alg. 2]
//! W p = W (v − λ) + Bᵀ r,  (B p + k, r) ∈ C_μ        feasible velocities        [Alg. 3]
//! λ ← λ + p − v
//! ```
//!
//! until δ∞ = h (‖v − v before‖∞ + ‖v − p‖∞) is below the tolerance.
//!
//! # Choice of the answer
//! The second line says Bᵀ r = W (p − v + λ): after the third, λ = W⁻¹ Bᵀ r. So the impulses of the
//! last projection are the impulses of the step, and with them
//!
//! ```text
//! A v − f − Bᵀ r = W (p before − p)                  B v + k is off by B (v − p)
//! A p − f − Bᵀ r = W (p before − p) + A (p − v)      B p + k keeps the law as far as it was swept
//! ```
//!
//! Both pairs (v, r) and (p, r) tend to the solution together. [`Velocity`] chooses.
//!
//! # Rest
//! With `Start::Held` a solve starts from A v = f + (A p − f of the last solve): the velocity under new
//! loads with the contact forces of the last solve. In free flight that is the unconstrained velocity. Under
//! constant load it is the last p, so that a body at rest stays, and one that was only held to the
//! tolerance comes closer to exact rest in every step. (With Bᵀ r in place of A p − f, each solve
//! would begin with an undamped step on λ, and a tolerance that is soon met would let the error
//! circle at its size for ever.) A body whose contacts would be closer to the law without those
//! forces starts without them: it lifts off, or hits for the first time.
//!
//! # Stopping criterion
//! δ∞ and h times the largest change of a relative velocity in the last sweep are both below the
//! tolerance. Without the second, constraints that contradict one another would pass as solved: p
//! is then the same after every sweep, with the last contact satisfied and the others not. Small
//! changes can also mean that the iteration is slow. So the answer counts as converged only if its
//! certificate is below the tolerance, too, and with `AdmmStop::Certificate` the loop goes on until it
//! is.
//!
//! # Slow convergence and its remedies
//! Sweeps over contacts pass on a fraction m/M of a load between masses m and M, whatever W is: weights
//! that help the sweeps make the outer loop as much slower. Contacts with almost parallel normals
//! pass loads on by their angle. And wedges with high friction send plain iterations round in
//! circles. All are few modes of an almost linear map, which `Acceleration::Anderson` removes. The rest,
//! above all loads that redundant contacts share, `Polish` leaves to a second-order solver.
//!
//! **Deviations from the paper**
//! - `Acceleration::Anderson`, `AdmmStop::Certificate` and `Polish` are not in the paper; its settings,
//!   `Config::paper()`, use none of them.
//! - `Start::Held` is not in the paper, which starts from A v = f in every step and then has to
//!   find rest again each time. `Start::Unconstrained` is the paper's.
//! - The changes of the last sweep are part of the stopping criterion, see above.
//! - Contacts are re-detected once more before the end: the answer must not run into any. One that ran out
//!   of iterations is projected again with them.
//! - λ is updated before the loop ends, such that it fits the impulses returned.
//! - The linear systems are solved for the change of v, with A v computed afresh: their error then
//!   shrinks with the change, down to rounding.
//! - Conjugate gradients across couplings stop at a fraction of that change, which is itself part of δ∞.
//! - Contacts of rigid bodies, which the paper excludes, are projected with the least multiple of
//!   the identity that bounds their local matrix.
//! - Compliance acts along the normal alone (see `FrictionProblem`).
//! - Restarts of the accelerated variant are decided by the weighted residual of [goldstein2014].
//! - The projection computes the impulse instead of the relative velocity from each case, so that
//!   open contacts have exactly none, and a contact's impulse is exactly in its cone.

mod anderson;
mod outer;
mod past;
mod polish;
mod start;
mod weights;

pub use crate::projection::{Metric, Nap, Projection};
pub use outer::Admm;
pub use polish::Polish;
pub use stiction_contact::solver::{SolverError as Error, Tolerance};

/// The column of the dual variable λ = W⁻¹ Bᵀ r of each block [m/s]: the effect of contact on it. It
/// lives on blocks, so that it stays useful when contacts come and go [daviet2020, Sect. 6.2.2].
pub const LAMBDA: &str = "lambda";

/// The column of A p − f [N·s] of the last feasible velocity p: the impulse that would have balanced
/// it. It tends to Bᵀ r, and before that makes a new solve of the same problem go on where the last
/// one stopped.
pub const BALANCE: &str = "balance";

/// Settings of the solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Done when δ∞ and the changes of the last sweep are below this.
    pub tolerance: Tolerance,
    /// Stopping criterion.
    pub stop: AdmmStop,
    /// Iterations before giving up.
    pub max_iterations: usize,
    /// Gauss–Seidel sweeps per projection.
    pub sweeps: usize,
    /// Choice of W.
    pub weights: AdmmWeights,
    /// Tolerance of conjugate gradients across couplings, as a fraction of the change of v.
    pub linear_tolerance: f64,
    /// Contacts are re-detected every so many iterations and when the loop ends; 0 for only where it
    /// ends because it is done.
    pub contacts_every: usize,
    /// Starting point.
    pub start: Start,
    /// Which velocity to return.
    pub velocity: Velocity,
    /// Solver of each contact.
    pub local: ProjectionKernel,
    /// Contacts that hardly change are left alone for a while.
    pub sleep: Option<Sleep>,
    /// Whether iterations learn from those before.
    pub acceleration: Option<Acceleration>,
    /// Whether another solver polishes the answer, see [`Admm::with_polisher`]. If so, the
    /// certificate alone ends the loop, whatever `stop` says.
    pub polish: Option<Polish>,
}

/// When the loop ends. Whatever it says, `converged` is only true of an answer whose certificate is
/// below the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmmStop {
    /// When δ∞ and the changes of the last sweep are small [daviet2020, Sect. 6.2.5].
    Change,
    /// When the certificate of the answer, `residual` and `linear` times h, is small, too.
    Certificate,
}

/// Choice of the diagonal W from A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AdmmWeights {
    /// w_j = max(σ η_j, min(β m_j, η_j)), with η_j the least eigenvalue of A_jj and m_j the mass
    /// [daviet2020, Sect. 6.2.6].
    Mass {
        /// The least fraction σ of the eigenvalue.
        sigma: f64,
        /// Upper bound β in masses.
        beta: f64,
    },
    /// w_j = part · η_j [daviet2020, Sect. 7.1].
    Diagonal {
        /// The part of the eigenvalue, above zero.
        part: f64,
    },
}

/// Starting point of a solve; λ is that of the solution in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A v = f [daviet2020, Sect. 6.2.1].
    Unconstrained,
    /// Body by body either A v = f + (A p − f of the last solve), with what contact gave then, or
    /// A v = f and λ = 0, whichever leaves contacts nearer to the law. Uses the impulses of the
    /// solution: see `Solution::carry`.
    Held,
    /// The velocity of the solution: for later Newton iterations of one step.
    Given,
}

/// Which of the two velocities is the result [daviet2020, Sect. 6.2.7].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Velocity {
    /// p, which keeps the constraints.
    Feasible,
    /// v, which balances the forces.
    Balanced,
}

/// Solver of one contact in a projection. The results agree; the costs do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionKernel {
    /// In closed form: local matrices are multiples of the identity [daviet2020, Sect. 5.2].
    Isotropic,
    /// With full 3×3 blocks and an iteration for sliding: for the comparison of [daviet2020,
    /// Table 3].
    Blocks,
}

/// When contacts sleep inside one projection [daviet2020, Sect. 6.3.3].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sleep {
    /// Contacts whose velocity changes by less than this fraction of δ∞/h fall asleep.
    pub threshold: f64,
    /// For how many sweeps.
    pub sweeps: u8,
}

/// Acceleration by earlier iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Acceleration {
    /// Momentum with restart [daviet2020, Alg. 4].
    Momentum {
        /// Momentum is dropped when the residual is not below this fraction of the one before.
        restart: f64,
    },
    /// The best combination of the last iterations, from some iteration on: easy problems are
    /// solved by then, and on hard ones it is settled by then which contacts hold.
    Anderson {
        /// Iterations that are combined.
        memory: usize,
        /// Iterations before the first combination.
        after: usize,
    },
}

impl Acceleration {
    /// As many iterations as a hard problem has slow modes, after those that easy problems need.
    pub const ANDERSON: Self = Self::Anderson {
        memory: 8,
        after: 20,
    };
}

impl Config {
    /// The paper's settings for its large scenes.
    pub fn paper() -> Self {
        Self {
            tolerance: Tolerance::Displacement(1e-5), // [daviet2020, Table 5]: 0.01 mm
            stop: AdmmStop::Change,                   // [daviet2020, Sect. 6.2.5]
            max_iterations: 25,                       // [daviet2020, Table 5]; 250 for solids
            sweeps: 10,                               // [daviet2020, Table 5]: 5 to 25
            weights: AdmmWeights::Mass {
                sigma: 0.001, // [daviet2020, Sect. 6.2.6]
                beta: 25.0,   // [daviet2020, Sect. 6.2.6]
            },
            linear_tolerance: 1e-4,             // [daviet2020, Table 5]
            contacts_every: 5,                  // [daviet2020, Sect. 6.2.3]
            start: Start::Unconstrained,        // [daviet2020, Sect. 6.2.1]
            velocity: Velocity::Feasible,       // [daviet2020, Sect. 6.2.7]
            local: ProjectionKernel::Isotropic, // [daviet2020, Sect. 5.2]
            sleep: Some(Sleep {
                threshold: 0.01, // [daviet2020, Sect. 6.3.3]
                sweeps: 10,      // "a fixed number" that the paper does not tell
            }),
            acceleration: None, // [daviet2020, Sect. 6.3.4]: "remains limited"
            polish: None,
        }
    }

    /// Settings that run into rounding: for comparisons and certificates.
    pub fn accurate() -> Self {
        Self {
            tolerance: Tolerance::Displacement(1e-14),
            stop: AdmmStop::Certificate,
            max_iterations: 20_000,
            linear_tolerance: 1e-6,
            start: Start::Held,
            sleep: None,
            acceleration: Some(Acceleration::ANDERSON),
            ..Self::paper()
        }
    }

    fn check(&self) -> Result<(), Error> {
        let above_zero = |name, value: f64| {
            let sound = value.is_finite() && value > 0.0;
            sound.then_some(()).ok_or(Error::Setting { name, value })
        };
        self.tolerance.check()?;
        above_zero("linear_tolerance", self.linear_tolerance)?;
        match self.weights {
            AdmmWeights::Mass { sigma, beta } => {
                above_zero("sigma", sigma)?;
                above_zero("beta", beta)?;
            }
            AdmmWeights::Diagonal { part } => above_zero("part", part)?,
        }
        if let Some(sleep) = self.sleep {
            above_zero("sleep.threshold", sleep.threshold)?;
        }
        match self.acceleration {
            Some(Acceleration::Momentum { restart }) => {
                above_zero("acceleration.restart", restart)?;
            }
            Some(Acceleration::Anderson { memory, .. }) => {
                above_zero("acceleration.memory", memory as f64)?;
            }
            None => {}
        }
        if let Some(residual) = self.polish.and_then(|p| p.residual) {
            above_zero("polish.residual", residual)?;
        }
        Ok(())
    }
}

impl Default for Config {
    /// The paper's settings, but starting such that rest stays rest.
    fn default() -> Self {
        Self {
            start: Start::Held,
            ..Self::paper()
        }
    }
}
