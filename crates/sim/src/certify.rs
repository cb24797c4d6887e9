//! Stage certify: how well a substep kept the laws.
//!
//! Every field has one definition for all methods (see [`Certificate`]). Contacts are judged by
//! `stiction_contact`, which shares no code with solvers; overlaps come from the geometry at the end
//! of the substep, the momentum residual from the force models there.

use stiction_bodies::{Body, Model, State, energy};
use stiction_contact::{
    Certificate,
    detect::{DetectStep, OverlapDepth, Placement},
};
use stiction_math::Vec3;

use crate::{
    colliders::place,
    error::SolveError,
    method::{Method, StepContext},
};

/// Everything but the energies, for a solved substep that ends with the velocities `v` [m/s]. It
/// leaves the positions at the end of the substep in `step.dynamics`.
pub(crate) fn certify(
    step: &mut StepContext<'_>,
    method: &mut dyn Method,
    v: &[Vec3],
    placements: &mut Vec<Placement<'static>>,
) -> Result<Certificate, SolveError> {
    let residual = method.momentum_residual(step, v)?;
    let dynamics = largest_speed(step.model, step.state, &residual);
    drop(residual);
    let mean = method.mean_velocity().unwrap_or(v);
    step.dynamics.finish(step.model, step.state, mean);
    let overlap = overlap(step, method, v, placements)?;
    let judged = match method.contacts() {
        Some(contacts) => contacts.judge()?,
        None => Certificate::default(),
    };
    Ok(Certificate {
        dynamics,
        penetration: overlap.depth,
        overlap: overlap.share,
        ..judged
    })
}

/// The certificate with the energies of the state that the substep led to.
pub(crate) fn with_energies(certificate: Certificate, model: &Model, state: &State) -> Certificate {
    let sum = |f: &dyn Fn(&Body) -> f64| model.bodies.iter().map(f).sum::<f64>();
    Certificate {
        kinetic: sum(&|b| energy::kinetic_energy(b, state)),
        elastic: sum(&|b| energy::elastic_energy(b, state))
            + energy::attachment_energy(model, state)
            + energy::volume_energy(model, state),
        potential: sum(&|b| energy::potential_energy(model, b, state)),
        ..certificate
    }
}

/// The largest speed that impulses [N·s], one per block, would give to single blocks [m/s]; infinite
/// if one is not a number.
pub(crate) fn largest_speed(model: &Model, state: &State, impulses: &[Vec3]) -> f64 {
    let mut largest: f64 = 0.0;
    for body in &model.bodies {
        let own = &impulses[body.blocks.clone()];
        let worst = body.largest_speed(own, &state.rotations);
        largest = largest.max(if worst.is_nan() { f64::INFINITY } else { worst });
    }
    largest
}

/// The deepest overlap at the end of the substep, by the geometry of the colliders.
fn overlap(
    step: &mut StepContext<'_>,
    method: &mut dyn Method,
    v: &[Vec3],
    placements: &mut Vec<Placement<'static>>,
) -> Result<OverlapDepth, SolveError> {
    let Some((detector, previous)) = method.detector() else {
        return Ok(OverlapDepth::default());
    };
    place(step.model, step.end, step.end, placements);
    let (x, rotations) = step.dynamics.end();
    let now = DetectStep {
        h: step.h,
        x,
        rotations,
        v,
        start: v,
        fixed: step.dynamics.fixed(),
        obstacles: placements,
        previous,
        held: &[],
    };
    Ok(detector.overlap(&now)?)
}
