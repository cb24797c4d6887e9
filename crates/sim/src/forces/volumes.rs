//! Enclosed volumes that resist being changed.

use stiction_bodies::Model;
use stiction_math::{Mat3, Vec3, reduce};

use super::{Change, ForceState, ForceTerm, Rates, TorqueForm};
use crate::implicit::Jacobian;

/// The pressures of all enclosed volumes of a model.
pub struct Volumes;

impl Volumes {
    /// Adds the dense part c W″ (∂V/∂q)(∂V/∂q)ᵀ of every volume to a Jacobian as a rank-one part.
    pub(super) fn add_ranks(model: &Model, at: ForceState<'_>, c: f64, jacobian: &mut Jacobian) {
        for (k, volume) in model.volumes.iter().enumerate() {
            let second = volume.energy(volume.measure(at.x))[2];
            let gradient = jacobian.rank_one(k, c * second);
            volume.add_gradient(at.x, 1.0, gradient);
        }
    }
}

impl ForceTerm for Volumes {
    fn add_energy(&self, model: &Model, at: ForceState<'_>, s: f64, sum: &mut f64) {
        for volume in &model.volumes {
            *sum += s * volume.energy(volume.measure(at.x))[0];
        }
    }

    fn add_force(
        &self,
        model: &Model,
        at: ForceState<'_>,
        _: TorqueForm<'_>,
        s: f64,
        f: &mut [Vec3],
    ) {
        for volume in &model.volumes {
            let slope = volume.energy(volume.measure(at.x))[1];
            volume.add_gradient(at.x, -s * slope, f);
        }
    }

    /// The sparse part W′ ∂²V/∂q² alone; the dense one is of rank one.
    fn for_each_block(
        &self,
        model: &Model,
        at: ForceState<'_>,
        rates: &Rates<'_>,
        sink: &mut dyn FnMut(u32, u32, &Mat3),
    ) {
        for volume in &model.volumes {
            let first = volume.energy(volume.measure(at.x))[1];
            let weight = rates.position * first;
            volume.for_each_block(at.x, |i, j, m| sink(i, j, &(m * weight)));
        }
    }

    fn add_product(
        &self,
        model: &Model,
        at: ForceState<'_>,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) {
        for volume in &model.volumes {
            let [_, first, second] = volume.energy(volume.measure(at.x));
            volume.add_product(at.x, change.dq, -s * first, y);
            let mut gradient = vec![Vec3::zeros(); y.len()];
            volume.add_gradient(at.x, 1.0, &mut gradient);
            let rate = reduce::dot(&gradient, change.dq);
            reduce::axpy(-s * second * rate, &gradient, y);
        }
    }
}
