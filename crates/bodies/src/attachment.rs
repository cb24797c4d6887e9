//! Soft attachments: a spring between two points of any bodies or of the world.

use std::sync::Arc;

use stiction_math::{Mat3, Quat, Vec3};

use crate::{motion::Motion, state::State, stencil::Stencil};

/// A spring E = ½ k (‖d‖ − ℓ)² with d = x_a − x_b, and a parallel dashpot.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    /// One end.
    pub a: Stencil,
    /// The other end.
    pub b: Stencil,
    /// k [N/m].
    pub stiffness: f64,
    /// ℓ [m]; zero holds the two points together.
    pub length: f64,
    /// Damping time [s]: the damping coefficient is this time multiplied by the stiffness.
    pub damping: f64,
    /// Motion of the end that is a point of the world; none if it is at rest or there is no such
    /// end.
    pub motion: Option<Arc<Motion>>,
    /// Of a stitch of a seam: how it is drawn in.
    pub closing: Option<Closing>,
}

/// Closing of a seam: a cord whose length falls linearly to zero. It pulls, and never pushes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closing {
    /// When it begins and when the cord has no length left [s].
    pub times: [f64; 2],
    /// Length of the cord at the begin [m].
    pub length: f64,
}

impl Closing {
    /// Length of the cord at time `t` [s]: infinite before it begins [m].
    pub fn length_at(&self, t: f64) -> f64 {
        let [begin, end] = self.times;
        match () {
            () if t >= end => 0.0,
            () if t < begin => f64::INFINITY,
            () => self.length * ((end - t) / (end - begin)),
        }
    }
}

/// Energy and derivatives of a spring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringForce {
    /// E [J].
    pub energy: f64,
    /// ∂E/∂x_a = −∂E/∂x_b [N].
    pub gradient: Vec3,
    /// ∂²E/∂x_a² = ∂²E/∂x_b² = −∂²E/∂x_a∂x_b [N/m], projected to be positive semi-definite.
    pub hessian: Mat3,
}

impl Attachment {
    /// d = x_a − x_b [m] at block positions `x`, orientations `rotations` and time `t` [s].
    pub fn difference(&self, x: &[Vec3], rotations: &[Quat], t: f64) -> Vec3 {
        self.end(&self.a, x, rotations, t) - self.end(&self.b, x, rotations, t)
    }

    /// d = x_a − x_b [m] in `state`.
    pub fn difference_in(&self, state: &State) -> Vec3 {
        self.difference(&state.x, &state.rotations, state.time)
    }

    fn end(&self, end: &Stencil, x: &[Vec3], rotations: &[Quat], t: f64) -> Vec3 {
        match (end, &self.motion) {
            (Stencil::World(p), Some(motion)) => motion.pose(t).apply(p),
            _ => end.position_at(x, rotations),
        }
    }

    /// The mean rate of d that comes from the motion of the world's end between two times [m/s].
    pub fn drive(&self, from: f64, to: f64) -> Vec3 {
        let Some(motion) = &self.motion else {
            return Vec3::zeros();
        };
        let rate = |p: &Vec3| (motion.pose(to).apply(p) - motion.pose(from).apply(p)) / (to - from);
        match (&self.a, &self.b) {
            (Stencil::World(p), _) => rate(p),
            (_, Stencil::World(p)) => -rate(p),
            _ => Vec3::zeros(),
        }
    }

    /// The spring as it is at time `t` [s]: a seam that closes has the length of its cord; none while
    /// the cord is slack at the difference `d` [m].
    fn taut(&self, d: &Vec3, t: f64) -> Option<f64> {
        let Some(closing) = &self.closing else {
            return Some(self.length);
        };
        let length = closing.length_at(t);
        (length == 0.0 || d.norm() > length).then_some(length)
    }

    /// The damping C of the force −C ḋ [N·s/m] at the difference `d` [m] and time `t` [s]. A spring with a
    /// rest length is damped along its direction only, so that rotating a stretched spring takes no
    /// work.
    pub fn dashpot(&self, d: &Vec3, t: f64) -> Mat3 {
        let c = self.damping * self.stiffness;
        let l = d.norm();
        match self.taut(d, t) {
            None => Mat3::zeros(),
            Some(length) if length == 0.0 || l < f64::MIN_POSITIVE => {
                Mat3::from_diagonal_element(c)
            }
            Some(_) => {
                let n = d / l;
                n * n.transpose() * c
            }
        }
    }

    /// Energy, gradient and Hessian at the difference `d` = x_a − x_b [m] and time `t` [s].
    ///
    /// Transverse to its direction a compressed spring (‖d‖ < ℓ) softens; that term is clamped at
    /// zero. At d = 0 with ℓ > 0 the direction is undefined: the force is zero there, the stiffness
    /// k I.
    pub fn pull(&self, d: &Vec3, t: f64) -> SpringForce {
        let k = self.stiffness;
        let Some(length) = self.taut(d, t) else {
            return SpringForce {
                energy: 0.0,
                gradient: Vec3::zeros(),
                hessian: Mat3::zeros(),
            };
        };
        if length == 0.0 {
            return SpringForce {
                energy: 0.5 * k * d.norm_squared(),
                gradient: d * k,
                hessian: Mat3::from_diagonal_element(k),
            };
        }
        let l = d.norm();
        let stretch = l - length;
        let energy = 0.5 * k * stretch * stretch;
        if l < f64::MIN_POSITIVE {
            return SpringForce {
                energy,
                gradient: Vec3::zeros(),
                hessian: Mat3::from_diagonal_element(k),
            };
        }
        let n = d / l;
        let along = n * n.transpose();
        let across = (stretch / l).max(0.0);
        SpringForce {
            energy,
            gradient: n * (k * stretch),
            hessian: (along + (Mat3::identity() - along) * across) * k,
        }
    }

    /// ∂²E/∂x_a² [N/m] at the difference `d` [m] and time `t` [s], exact: indefinite where the spring is
    /// compressed.
    pub fn hessian(&self, d: &Vec3, t: f64) -> Mat3 {
        let Some(length) = self.taut(d, t) else {
            return Mat3::zeros();
        };
        let l = d.norm();
        if length == 0.0 || l < f64::MIN_POSITIVE {
            return Mat3::from_diagonal_element(self.stiffness);
        }
        let n = d / l;
        let along = n * n.transpose();
        let across = 1.0 - length / l;
        (along + (Mat3::identity() - along) * across) * self.stiffness
    }
}
