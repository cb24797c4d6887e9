//! Air drag on surfaces.

use stiction_math::{Mat3, Vec3};

/// The air around the bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// Density [kg/m³]; 1.2 at room temperature.
    pub density: f64,
    /// The velocity of the air [m/s].
    pub wind: Vec3,
}

/// How the air holds a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// Coefficient across the surface [1]; about 1 to 2 for a plate.
    pub normal: f64,
    /// Coefficient along the surface [1]; about 0.01 to 0.1.
    pub tangential: f64,
}

impl Drag {
    /// The matrix C [N·s/m] of the drag force −C u of a surface vertex that stands for the area
    /// vector `area` [m²] and moves at `u` [m/s] relative to the air:
    ///
    /// C = ½ ρ A (c_n |u_n| n nᵀ + c_t ‖u_t‖ (I − n nᵀ)).
    ///
    /// The step keeps C at its value at the start of the step, which makes the drag the gradient
    /// of the quadratic potential ½ uᵀ C u: it can only take energy, for any time step.
    pub fn matrix(&self, air: &Air, area: &Vec3, u: &Vec3) -> Mat3 {
        let size = area.norm();
        if size == 0.0 {
            return Mat3::zeros();
        }
        let n = area / size;
        let un = u.dot(&n);
        let ut = (u - n * un).norm();
        let across = n * n.transpose();
        let half = 0.5 * air.density * size;
        across * (half * self.normal * un.abs())
            + (Mat3::identity() - across) * (half * self.tangential * ut)
    }

    /// ∂(C(u) u)/∂u [N·s/m] for the matrix C above, where the step keeps the area but not C:
    ///
    /// ½ ρ A (2 c_n |u_n| n nᵀ + c_t (‖u_t‖ (I − n nᵀ) + u_t u_tᵀ/‖u_t‖)).
    pub fn derivative(&self, air: &Air, area: &Vec3, u: &Vec3) -> Mat3 {
        let size = area.norm();
        if size == 0.0 {
            return Mat3::zeros();
        }
        let n = area / size;
        let un = u.dot(&n);
        let slide = u - n * un;
        let ut = slide.norm();
        let mut turn = Mat3::zeros();
        if ut > 0.0 {
            turn = slide * slide.transpose() / ut;
        }
        let across = n * n.transpose();
        let half = 0.5 * air.density * size;
        across * (2.0 * half * self.normal * un.abs())
            + ((Mat3::identity() - across) * ut + turn) * (half * self.tangential)
    }
}
