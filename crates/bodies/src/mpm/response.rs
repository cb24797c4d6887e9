//! Stress of a point as a function of its trial deformation, in principal axes.

use stiction_math::{Mat3, Svd3, Vec3, elementary};

use crate::{
    elements::Hessian,
    solid::{FixedCorotated, IsotropicLaw, Modes},
};

use super::hencky::{Hencky, Yield};

/// Material of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointLaw {
    /// Fixed co-rotated elasticity [stomakhin2012].
    Elastic(FixedCorotated),
    /// Quadratic energy of logarithmic strain, with a yield rule.
    Plastic(Hencky, Yield),
}

/// Answer of a material to a trial deformation F = U diag(σ) Vᵀ.
///
/// Stress is an isotropic function of F. It need not derive from an energy, because plastic flow follows the trial
/// within a step, so that its derivative may be unsymmetric.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// Elastic energy density after plastic flow [J/m³].
    pub energy: f64,
    /// Principal stresses P̂ of P = U diag(P̂) Vᵀ [Pa]: Kirchhoff stress over stretch.
    pub stress: Vec3,
    /// Elastic stretches after plastic flow [1].
    pub sigma: Vec3,
    /// Logarithm of the volume that separated points have gained, and must lose before they bear pressure.
    pub gain: f64,
}

impl PointLaw {
    /// The answer to stretches `sigma`, with the volume `gain` of the start of a step of `h` [s].
    ///
    /// Stretches that are not positive have no logarithm: plastic points answer with NaN, and a solver shortens its step.
    pub fn response(&self, sigma: &Vec3, gain: f64, h: f64) -> Response {
        match self {
            Self::Elastic(law) => Response {
                energy: law.energy(sigma),
                stress: law.gradient(sigma),
                sigma: *sigma,
                gain,
            },
            Self::Plastic(elastic, rule) => {
                let strain = sigma.map(elementary::ln);
                let flow = rule.flow(elastic, &strain, gain, h);
                Response {
                    energy: elastic.energy(&flow.strain),
                    stress: elastic.stress(&flow.strain).component_div(sigma),
                    sigma: flow.strain.map(elementary::exp),
                    gain: flow.gain,
                }
            }
        }
    }

    /// The derivative of P by F in the frames of F. The projected one is that of elasticity alone.
    pub(super) fn modes(&self, sigma: &Vec3, gain: f64, h: f64, kind: Hessian) -> Modes {
        let (elastic, rule) = match self {
            Self::Elastic(law) => return Modes::new(law, sigma, kind),
            Self::Plastic(elastic, rule) => (elastic, rule),
        };
        let strain = sigma.map(elementary::ln);
        let flow = match kind {
            Hessian::Full => rule.flow(elastic, &strain, gain, h),
            Hessian::Projected => Yield::Never.flow(elastic, &strain, gain, h),
        };
        // ∂P̂ᵢ/∂σⱼ = (∂τᵢ/∂εⱼ)/(σᵢσⱼ) − δᵢⱼ τᵢ/σᵢ², with Kirchhoff stress τ = P̂σ.
        let tau = elastic.stress(&flow.strain);
        let slope = elastic.slope(&flow.slope);
        let stretch = Mat3::from_fn(|i, j| {
            let own = if i == j { tau[i] } else { 0.0 };
            (slope[(i, j)] - own) / (sigma[i] * sigma[j])
        });
        let stress = tau.component_div(sigma);
        let pairs = [(1, 2), (0, 2), (0, 1)];
        let twist = pairs.map(|(i, j)| (stress[i] + stress[j]) / (sigma[i] + sigma[j]));
        // (P̂ᵢ − P̂ⱼ)/(σᵢ − σⱼ): differences of τ are those of ln σ times a common factor, so that the division is exact.
        let shear = 2.0 * elastic.mu * flow.shear;
        let flip = pairs.map(|(i, j)| {
            let (a, b) = (sigma[i], sigma[j]);
            (shear * log_slope(a, b) - tau[j] / b) / a
        });
        Modes::from_parts(stretch, twist, flip, kind)
    }
}

/// (ln a − ln b)/(a − b).
fn log_slope(a: f64, b: f64) -> f64 {
    let t = (a - b) / b;
    match t.abs() < 1e-9 {
        true => (1.0 - 0.5 * t) / b,
        false => elementary::ln_1p(t) / (t * b),
    }
}

/// The stress P = U diag(P̂) Vᵀ [Pa].
pub(super) fn stress(svd: &Svd3, principal: &Vec3) -> Mat3 {
    svd.u * Mat3::from_diagonal(principal) * svd.v.transpose()
}
