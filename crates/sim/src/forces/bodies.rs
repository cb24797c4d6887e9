//! Forces within bodies: elasticity, weight and inner damping, evaluated by the bodies' kinds.

use stiction_bodies::{
    Body, Hessian, Model,
    kind::{StepDamping, TermWeights},
};
use stiction_math::{BlockMatrix, Mat3, ScatterError, Vec3, parallel};

use super::{Change, ForceState, for_bodies, split};
use crate::implicit::Jacobian;

/// Forces within bodies, with the lagged matrices of stiffness-proportional damping.
pub struct BodyForces {
    /// D of each body that stores it.
    lagged: Vec<Option<BlockMatrix>>,
    scratch: Vec<Vec3>,
}

impl BodyForces {
    /// Workspace for `model`.
    pub fn new(model: &Model) -> Self {
        let lagged = model
            .bodies
            .iter()
            .map(|b| match b.damping.stiffness > 0.0 {
                true => b.kind.mechanics().damping_matrix(),
                false => None,
            });
        Self {
            lagged: lagged.collect(),
            scratch: Vec::new(),
        }
    }

    /// Takes the damping matrices from positions `x` [m].
    pub fn lag(&mut self, model: &Model, x: &[Vec3]) -> Result<(), ScatterError> {
        if !self.lags() {
            return Ok(());
        }
        self.scratch.resize(x.len(), Vec3::zeros());
        let slices = split(&mut self.scratch, &model.bodies);
        let mut bodies: Vec<_> = self.lagged.iter_mut().zip(slices).collect();
        let done = parallel::map_chunks_mut(&mut bodies, 1, |b, lagged| match &mut lagged[0] {
            (Some(d), g) => {
                let body = &model.bodies[b];
                let mechanics = body.kind.mechanics();
                // Blocks that exist for one step have a pattern of their own.
                if body.kind.per_step().is_some()
                    && let Some(new) = mechanics.damping_matrix()
                {
                    *d = new;
                }
                let x = &x[body.blocks.clone()];
                mechanics.lag_damping(x, body.damping.stiffness, g, d)
            }
            (None, _) => Ok(()),
        });
        done.into_iter().collect()
    }

    /// Whether a body stores a damping matrix.
    pub fn lags(&self) -> bool {
        self.lagged.iter().any(Option::is_some)
    }

    /// The damping of body number `b`.
    pub fn damping<'a>(&'a self, b: usize, body: &'a Body) -> StepDamping<'a> {
        StepDamping {
            material: &body.damping,
            lagged: self.lagged[b].as_ref(),
        }
    }

    /// f += s (M g − α M v − D v − ∂E/∂q).
    pub fn add(
        &self,
        model: &Model,
        at: ForceState<'_>,
        s: f64,
        f: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let done = for_bodies(model, f, |b, body, f| {
            let (at, mechanics) = (at.body(body), body.kind.mechanics());
            let a = model.gravity + body.acceleration;
            mechanics.add_weight(&at, &a, body.damping.mass, s, f);
            mechanics.add_damping(&at, &self.damping(b, body), at.v, -s, f);
            mechanics.add_elastic_gradient(&at, -s, f)
        });
        done.into_iter().collect()
    }

    /// y += s times the change of the same for changes of positions and velocities.
    pub fn add_product(
        &self,
        model: &Model,
        at: ForceState<'_>,
        hessian: Hessian,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let done = for_bodies(model, y, |b, body, y| {
            let (at, mechanics) = (at.body(body), body.kind.mechanics());
            let blocks = body.blocks.clone();
            let (dq, dv) = (&change.dq[blocks.clone()], &change.dv[blocks]);
            mechanics.add_momentum_product(&at, dq, dv, -s * body.damping.mass, y);
            mechanics.add_damping(&at, &self.damping(b, body), dv, -s, y);
            mechanics.add_elastic_product(&at, hessian, dq, -s, y)
        });
        done.into_iter().collect()
    }

    /// J += (1 + a α) ∂p/∂v + a D + a² ∂²E/∂q².
    pub(super) fn linearise(
        &mut self,
        model: &Model,
        at: ForceState<'_>,
        turns: &[Mat3],
        a: f64,
        hessian: Hessian,
        jacobian: &mut Jacobian,
    ) -> Result<(), ScatterError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(at.x.len(), Vec3::zeros());
        let done = jacobian.add_bodies(model, &mut scratch, |b, body, g, part| {
            let weights = TermWeights {
                gradient: 0.0,
                mass: 1.0 + a * body.damping.mass,
                damping: a,
                stiffness: a * a,
                hessian,
                turns: Some((turns, a)),
            };
            let mechanics = body.kind.mechanics();
            mechanics.add_system(&at.body(body), &self.damping(b, body), &weights, g, part)
        });
        self.scratch = scratch;
        done
    }
}
