//! Springs between points of bodies and of the world.

use stiction_bodies::{Arm, Attachment, Model};
use stiction_math::{Mat3, Vec3};

use super::{Change, ForceState, ForceTerm, Rates, TorqueForm, turn_of, turned};

/// The springs of all attachments of a model.
pub struct Attachments;

/// From the second end of a spring to the first [m].
fn difference(spring: &Attachment, at: ForceState<'_>) -> Vec3 {
    spring.difference(at.x, at.rotations, at.time)
}

impl ForceTerm for Attachments {
    fn add_energy(&self, model: &Model, at: ForceState<'_>, s: f64, sum: &mut f64) {
        for spring in &model.attachments {
            *sum += s * spring.pull(&difference(spring, at), at.time).energy;
        }
    }

    fn add_force(
        &self,
        model: &Model,
        at: ForceState<'_>,
        form: TorqueForm<'_>,
        s: f64,
        f: &mut [Vec3],
    ) {
        for spring in &model.attachments {
            let pull = spring.pull(&difference(spring, at), at.time).gradient;
            let pull = match form {
                TorqueForm::Balance => pull,
                TorqueForm::Potential(_) => pull * -s,
            };
            for (end, sign) in [(&spring.a, 1.0), (&spring.b, -1.0)] {
                end.for_each_arm(at.rotations, |i, arm| {
                    f[i as usize] += match (form, &arm) {
                        (TorqueForm::Balance, _) => arm.transpose_mul(&pull) * (-s * sign),
                        (TorqueForm::Potential(_), Arm::Weight(_)) => {
                            arm.transpose_mul(&pull) * sign
                        }
                        (TorqueForm::Potential(turns), Arm::Lever(_)) => {
                            turned(model, turns, i, &arm).transpose() * sign * pull
                        }
                    };
                });
            }
        }
    }

    fn for_each_block(
        &self,
        model: &Model,
        at: ForceState<'_>,
        rates: &Rates<'_>,
        sink: &mut dyn FnMut(u32, u32, &Mat3),
    ) {
        let (turns, c) = (rates.turns, rates.position);
        for spring in &model.attachments {
            let d = difference(spring, at);
            let pull = spring.pull(&d, at.time);
            let h = match rates.form {
                TorqueForm::Balance => spring.hessian(&d, at.time) * c,
                TorqueForm::Potential(_) => pull.hessian * c,
            };
            let ends = [(&spring.a, 1.0), (&spring.b, -1.0)];
            for (end, sign) in ends {
                end.for_each_arm(at.rotations, |i, arm| {
                    let left = match rates.form {
                        TorqueForm::Balance => arm.matrix(),
                        TorqueForm::Potential(turns) => turned(model, turns, i, &arm),
                    };
                    let left = left.transpose() * h * sign;
                    for (other, sign) in ends {
                        other.for_each_arm(at.rotations, |j, arm| {
                            let right = turned(model, turns, j, &arm);
                            sink(i, j, &(left * right * sign));
                        });
                    }
                    // The torque ρ × g turns with the lever.
                    if let (TorqueForm::Balance, Arm::Lever(rho)) = (rates.form, arm) {
                        let by_angle = pull.gradient.cross_matrix() * rho.cross_matrix();
                        let turn = turn_of(model, turns, i, &arm);
                        let turn = turn.copied().unwrap_or_else(Mat3::identity);
                        sink(i, i, &(by_angle * turn * (c * sign)));
                    }
                });
            }
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
        for spring in &model.attachments {
            let d = difference(spring, at);
            let pull = spring.pull(&d, at.time).gradient;
            let ends = [(&spring.a, 1.0), (&spring.b, -1.0)];
            let mut by = Vec3::zeros();
            for (end, sign) in ends {
                end.for_each_arm(at.rotations, |j, arm| {
                    by += arm.matrix() * change.dq[j as usize] * sign;
                });
            }
            let pulled = spring.hessian(&d, at.time) * by;
            for (end, sign) in ends {
                end.for_each_arm(at.rotations, |i, arm| {
                    let mut force = arm.transpose_mul(&pulled);
                    if let Arm::Lever(rho) = arm {
                        force += change.dq[i as usize].cross(&rho).cross(&pull);
                    }
                    y[i as usize] -= force * (s * sign);
                });
            }
        }
    }
}
