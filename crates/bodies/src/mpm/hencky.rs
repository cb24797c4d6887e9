//! Elasticity of logarithmic strain ε = ln σ, and the flow rules that return it to a yield surface.
//!
//! ψ = μ ‖ε‖² + λ/2 (tr ε)²,  τ = 2μ ε + λ (tr ε) 1
//!
//! With e the deviator of the trial strain and K = λ + 2μ/3:
//!
//! | rule | flows where | to |
//! | --- | --- | --- |
//! | sand: Drucker and Prager [klar2016] | ‖e‖ + α (3K/2μ) tr ε > 0 | e of the length −α (3K/2μ) tr ε, or ε = 0 where tr ε ≥ 0 |
//! | goo: Bingham, in Perzyna's form [simo1998] | ‖e‖ > y | (‖e‖ + (hμ/η) y)/(1 + hμ/η) |
//!
//! Volume that sand gains where it comes apart is kept and must be lost before it bears pressure again
//! [tampubolon2017]: the trial is ε + g/3, and g⁺ is what of its trace was dropped.

use stiction_math::{Mat3, Vec3};

use crate::elements::{ElementError, require};
use crate::solid::Lame;

/// Elasticity of logarithmic strain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hencky {
    /// Shear modulus μ [Pa].
    pub mu: f64,
    /// First Lamé parameter λ [Pa].
    pub lambda: f64,
}

/// Yield rule of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Yield {
    /// None: elastic.
    Never,
    /// Sand without cohesion.
    Sand {
        /// α of the cone [1], see [`Yield::sand`].
        alpha: f64,
    },
    /// A paste that flows above a yield stress.
    Goo {
        /// Yield stress in tension [Pa].
        stress: f64,
        /// Viscosity η of the flow [Pa·s].
        viscosity: f64,
    },
}

/// Elastic strain after plastic flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The strain [1].
    pub strain: Vec3,
    /// Its derivative by the trial strain [1].
    pub slope: Mat3,
    /// Ratio of differences between its components to those of the trial [1].
    pub shear: f64,
    /// The volume gain after the step.
    pub gain: f64,
}

/// √(2/3).
const ROOT: f64 = 0.816_496_580_927_726;

impl Hencky {
    /// With the parameters `lame`.
    pub fn new(lame: Lame) -> Self {
        Self {
            mu: lame.mu,
            lambda: lame.lambda,
        }
    }

    /// ψ [J/m³].
    pub fn energy(&self, strain: &Vec3) -> f64 {
        let trace = strain.sum();
        self.mu * strain.norm_squared() + 0.5 * self.lambda * trace * trace
    }

    /// τ [Pa].
    pub fn stress(&self, strain: &Vec3) -> Vec3 {
        strain * (2.0 * self.mu) + Vec3::repeat(self.lambda * strain.sum())
    }

    /// The derivative of τ for that of the strain [Pa].
    pub fn slope(&self, strain: &Mat3) -> Mat3 {
        let trace = strain.row_sum();
        strain * (2.0 * self.mu) + Vec3::repeat(self.lambda) * trace
    }

    /// 3K/2μ.
    fn bulk_ratio(&self) -> f64 {
        (3.0 * self.lambda + 2.0 * self.mu) / (2.0 * self.mu)
    }
}

impl Yield {
    /// Sand with the angle of friction φ [rad], whose layers slide over one another with the coefficient tan φ: α = √2/3 tan φ.
    ///
    /// In shear of a plane without a change of volume the stress across it is the mean one, so that the greatest shear stress is
    /// (3/√2) α p = p tan φ [lagree2011]. α = √(2/3) 2 sin φ/(3 − sin φ), the cone that meets Coulomb's law where two principal
    /// stresses are equal in compression [klar2016], would bear 0.69 p in such shear for φ = 30°, as steep as 35°.
    pub fn sand(angle: f64) -> Result<Self, ElementError> {
        let range = 0.0..std::f64::consts::FRAC_PI_2;
        let rule = "between 0° and 90°";
        require(
            range.contains(&angle),
            "friction_angle",
            angle.to_degrees(),
            rule,
        )?;
        let tangent = stiction_math::elementary::sin(angle) / stiction_math::elementary::cos(angle);
        let alpha = std::f64::consts::SQRT_2 / 3.0 * tangent;
        Ok(Self::Sand { alpha })
    }

    /// A paste with a yield stress in tension [Pa] and a viscosity [Pa·s].
    pub fn goo(stress: f64, viscosity: f64) -> Result<Self, ElementError> {
        let rule = "finite and not negative";
        for (name, value) in [("yield_stress", stress), ("viscosity", viscosity)] {
            require(value >= 0.0 && value.is_finite(), name, value, rule)?;
        }
        Ok(Self::Goo { stress, viscosity })
    }

    /// Plastic flow from the trial `strain` [1] in a step of `h` [s].
    pub fn flow(&self, elastic: &Hencky, strain: &Vec3, gain: f64, h: f64) -> Flow {
        let trial = match self {
            Self::Sand { .. } => strain.add_scalar(gain / 3.0),
            _ => *strain,
        };
        let trace = trial.sum();
        let deviator = trial.add_scalar(-trace / 3.0);
        let norm = deviator.norm();
        let stays = Flow {
            strain: trial,
            slope: Mat3::identity(),
            shear: 1.0,
            gain: 0.0,
        };
        match *self {
            Self::Never => stays,
            // Also where nothing is a number.
            Self::Sand { .. } if trace >= 0.0 => Flow {
                strain: Vec3::zeros(),
                slope: Mat3::zeros(),
                shear: 0.0,
                gain: trace,
            },
            Self::Sand { alpha } => {
                let slope = alpha * elastic.bulk_ratio();
                match norm + slope * trace > 0.0 {
                    true => radial(trace, &deviator, norm, -slope * trace, [0.0, -slope]),
                    false => stays,
                }
            }
            Self::Goo { stress, viscosity } => {
                let limit = ROOT * stress / (2.0 * elastic.mu);
                let rate = viscosity / (viscosity + h * elastic.mu);
                match norm > limit {
                    true => {
                        let length = limit + rate * (norm - limit);
                        radial(trace, &deviator, norm, length, [rate, 0.0])
                    }
                    false => stays,
                }
            }
        }
    }
}

/// A deviator of the length `length`, whose derivatives by the length of the trial and by the trace are given.
fn radial(trace: f64, deviator: &Vec3, norm: f64, length: f64, by: [f64; 2]) -> Flow {
    let n = deviator / norm;
    let shear = length / norm;
    let one = Vec3::repeat(1.0);
    let along = n * n.transpose();
    let deviatoric = Mat3::identity() - one * one.transpose() / 3.0;
    Flow {
        strain: n * length + one * (trace / 3.0),
        slope: one * one.transpose() / 3.0
            + (deviatoric - along) * shear
            + along * by[0]
            + n * one.transpose() * by[1],
        shear,
        gain: 0.0,
    }
}
