//! Air drag on surfaces.

use stiction_math::elementary::sin;
use stiction_math::{Mat3, Vec3};

/// The air around the bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// Density [kg/m³]; 1.2 at room temperature.
    pub density: f64,
    /// The mean velocity of the air [m/s].
    pub wind: Vec3,
    /// Periodic variation of the wind; none if it is steady.
    pub gust: Option<Gust>,
}

/// Gusts: waves of air that travel with the wind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gust {
    /// Amplitude of the velocity [m/s].
    pub swing: Vec3,
    /// Period [s].
    pub period: f64,
}

impl Air {
    /// Air of a given density [kg/m³] in a steady wind [m/s].
    pub fn steady(density: f64, wind: Vec3) -> Self {
        Self {
            density,
            wind,
            gust: None,
        }
    }

    /// The velocity of the air at `x` [m] and `time` [s],
    ///
    /// wind + swing · sin(2π (time − x·e/|wind|) / period),   e = wind/|wind|:
    ///
    /// a wave that travels with the wind. Without a mean wind it is uniform.
    pub fn velocity(&self, x: &Vec3, time: f64) -> Vec3 {
        let Some(gust) = &self.gust else {
            return self.wind;
        };
        let square = self.wind.norm_squared();
        let delay = if square > 0.0 {
            x.dot(&self.wind) / square
        } else {
            0.0
        };
        let phase = std::f64::consts::TAU * (time - delay) / gust.period;
        self.wind + gust.swing * sin(phase)
    }
}

/// Drag coefficients of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// Coefficient across the surface [1]; about 1 to 2 for a plate.
    pub normal: f64,
    /// Coefficient along the surface [1]; about 0.01 to 0.1.
    pub tangential: f64,
}

impl Drag {
    /// The matrix C [N·s/m] of the drag force −C u of a surface vertex with the area vector `area`
    /// [m²] and the velocity `u` [m/s] relative to the air:
    ///
    /// C = ½ ρ A (c_n |u_n| n nᵀ + c_t ‖u_t‖ (I − n nᵀ)).
    ///
    /// The step keeps C at its value at the start of the step, which makes the drag the gradient of
    /// the quadratic potential ½ uᵀ C u: it dissipates energy for any time step.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gusts_travel_with_the_wind() {
        let air = Air {
            density: 1.2,
            wind: Vec3::new(3.0, 0.0, 4.0),
            gust: Some(Gust {
                swing: Vec3::new(1.0, 0.5, 0.0),
                period: 2.0,
            }),
        };
        let x = Vec3::new(0.3, -1.0, 0.2);
        // The velocity here equals that one second upstream one second ago, and repeats with the
        // period.
        let now = air.velocity(&x, 0.7);
        assert!((air.velocity(&(x - air.wind), -0.3) - now).norm() < 1e-12);
        assert!((air.velocity(&x, 2.7) - now).norm() < 1e-12);
        assert!((now - air.wind).norm() > 0.1);
        assert_eq!(
            air.velocity(&Vec3::zeros(), 0.5),
            air.wind + Vec3::new(1.0, 0.5, 0.0)
        );
        assert_eq!(Air::steady(1.2, air.wind).velocity(&x, 0.7), air.wind);
    }
}
