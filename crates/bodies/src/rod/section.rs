//! Material of a rod, and the stiffnesses of its cross-section.

use std::f64::consts::PI;

use crate::material::{Damping, MaterialError};

/// The material and cross-section of rods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RodMaterial {
    /// Mass per volume [kg/m³].
    pub density: f64,
    /// Young's modulus that resists bending [Pa].
    pub young: f64,
    /// The stretching modulus [Pa]; usually Young's. Coarse models of hair use less [daviet2020,
    /// Table 4].
    pub stretch: f64,
    /// The shear modulus that resists twist [Pa].
    pub shear: f64,
    /// The half axes of the elliptic cross-section along the material directors m₁ and m₂ [m]; equal
    /// for a round rod.
    pub radii: [f64; 2],
    /// The stress-free shape.
    pub natural: Natural,
    /// Whether twist is a degree of freedom.
    pub twist: Twist,
    /// Inner damping.
    pub damping: Damping,
}

/// Whether the twists of a rod are degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Twist {
    /// They are, with the inertia of the cross-section.
    #[default]
    Dynamic,
    /// Without inertia: they minimise the energy for any centreline.
    QuasiStatic,
}

/// The stress-free shape of a rod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Natural {
    /// The given shape: curls stay curls.
    #[default]
    Given,
    /// A straight line of the same length.
    Straight,
}

/// The shear modulus of an isotropic material [Pa].
pub fn shear_modulus(young: f64, poisson: f64) -> f64 {
    young / (2.0 * (1.0 + poisson))
}

impl RodMaterial {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), MaterialError> {
        for (parameter, value) in [
            ("density", self.density),
            ("young", self.young),
            ("stretch", self.stretch),
            ("shear", self.shear),
            ("radius", self.radii[0]),
            ("radius", self.radii[1]),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(MaterialError {
                    parameter,
                    value,
                    rule: "it must be positive",
                });
            }
        }
        self.damping.validate()
    }
}

/// The stiffnesses and masses of a cross-section.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RodSection {
    /// Against stretching: E A [N].
    pub stretch: f64,
    /// Against bending towards m₁ and towards m₂: E I [N·m²].
    pub bend: [f64; 2],
    /// Against twist: G J [N·m²].
    pub twist: f64,
    /// Mass per length [kg/m].
    pub mass: f64,
    /// Factor from a twist [rad] to a degree of freedom in metres: the radius of a round rod, √((a²
    /// + b²)/2) of an elliptic one [m]. A twist then has half the mass of its edge.
    pub radius: f64,
}

impl From<&RodMaterial> for RodSection {
    fn from(m: &RodMaterial) -> Self {
        let [a, b] = m.radii;
        let area = PI * a * b;
        Self {
            stretch: m.stretch * area,
            bend: [m.young * area * a * a / 4.0, m.young * area * b * b / 4.0],
            // The torsion constant of an ellipse; π r⁴ / 2 of a circle.
            twist: m.shear * area * (a * a) * (b * b) / (a * a + b * b),
            mass: m.density * area,
            radius: (0.5 * (a * a + b * b)).sqrt(),
        }
    }
}
