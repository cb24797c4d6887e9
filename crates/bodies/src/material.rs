//! Material parameters, validated when a body is built.

use crate::membrane::StretchTable;

/// Rayleigh damping C = α M + β K.
///
/// K is the stiffness at the start of the step, projected to be positive semi-definite, so that
/// damping is the gradient of a quadratic dissipation potential and always dissipates energy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Damping {
    /// α [1/s], proportional to mass.
    pub mass: f64,
    /// β [s], proportional to stiffness.
    pub stiffness: f64,
}

/// In-plane law of a shell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MembraneLaw {
    /// Saint Venant–Kirchhoff from Young's modulus [Pa] and Poisson's ratio, plane stress.
    StVk {
        /// Young's modulus [Pa].
        young: f64,
        /// Poisson's ratio [1].
        poisson: f64,
    },
    /// Saint Venant–Kirchhoff with measured orthotropic stretch moduli [N/m].
    Measured {
        /// Along the warp [N/m].
        c11: f64,
        /// Coupling of warp and weft [N/m].
        c12: f64,
        /// Along the weft [N/m].
        c22: f64,
        /// In-plane shear [N/m].
        c33: f64,
    },
    /// Measured moduli that depend on strain [N/m] [wang2011].
    Tabulated(StretchTable),
    /// Neo-Hookean from Young's modulus [Pa] and Poisson's ratio.
    NeoHookean {
        /// Young's modulus [Pa].
        young: f64,
        /// Poisson's ratio [1].
        poisson: f64,
    },
    /// Springs along edges and across hinges [ding, Sect. 4]; the material's bending is then
    /// the across-hinge springs.
    Springs {
        /// Stiffness of the edges [N].
        edge: f64,
        /// Stiffness of the springs across hinges [N].
        bend: f64,
    },
}

/// Out-of-plane law of a shell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BendingLaw {
    /// No resistance.
    None,
    /// From the in-plane law's Young's modulus and the thickness: D = E t³ / 12 (1 − ν²).
    FromThickness,
    /// A given rigidity D [N·m] in all directions.
    Rigidity(f64),
    /// Measured rigidities D [N·m] along warp, weft and bias.
    Measured {
        /// Bending about the weft, along the warp [N·m].
        warp: f64,
        /// Along the weft [N·m].
        weft: f64,
        /// Along the diagonal [N·m].
        bias: f64,
    },
    /// Measured k_e [N·m] for folds along the warp, the bias and the weft, at the curvatures 0, 5, 10, 15
    /// and 20 m⁻¹, as published [wang2011].
    Tabulated([[f64; 5]; 3]),
}

/// Stress-free angles between neighbouring triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestAngles {
    /// Those of the mesh.
    #[default]
    Mesh,
    /// Zero: a flat rest shape.
    Flat,
}

/// Material of a thin body: cloth, card, skin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShellMaterial {
    /// Thickness [m].
    pub thickness: f64,
    /// Mass per area [kg/m²].
    pub area_density: f64,
    /// In-plane law.
    pub membrane: MembraneLaw,
    /// Out-of-plane law.
    pub bending: BendingLaw,
    /// Stress-free angles.
    pub rest_angles: RestAngles,
    /// Inner damping.
    pub damping: Damping,
}

/// Elastic law of a solid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolidLaw {
    /// Co-rotated linear elasticity.
    Corotated,
    /// Fixed co-rotated elasticity [stomakhin2012].
    #[default]
    FixedCorotated,
    /// Neo-Hookean, extrapolated below 70 % volume [verschoor2019, Sect. 6.2.1].
    NeoHookean,
    /// Stable neo-Hookean [smith2018].
    StableNeoHookean,
    /// Saint Venant–Kirchhoff: for small strains; it softens under strong compression.
    StVk,
}

/// Material of a thick body: rubber, tissue, foam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolidMaterial {
    /// Density [kg/m³].
    pub density: f64,
    /// Young's modulus [Pa].
    pub young: f64,
    /// Poisson's ratio [1].
    pub poisson: f64,
    /// Elastic law.
    pub law: SolidLaw,
    /// Inner damping.
    pub damping: Damping,
}

/// Distribution of mass over nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MassKind {
    /// Each element gives equal fractions to its nodes; the matrix is diagonal.
    #[default]
    Lumped,
    /// Integrated shape functions; the matrix is sparse.
    Consistent,
}

/// A material parameter out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{parameter} is {value}, but {rule}")]
pub struct MaterialError {
    /// The parameter's name in scenes.
    pub parameter: &'static str,
    /// The given value.
    pub value: f64,
    /// The allowed range.
    pub rule: &'static str,
}

fn require(
    ok: bool,
    parameter: &'static str,
    value: f64,
    rule: &'static str,
) -> Result<(), MaterialError> {
    if ok && value.is_finite() {
        Ok(())
    } else {
        Err(MaterialError {
            parameter,
            value,
            rule,
        })
    }
}

fn positive(parameter: &'static str, value: f64) -> Result<(), MaterialError> {
    require(value > 0.0, parameter, value, "it must be positive")
}

fn not_negative(parameter: &'static str, value: f64) -> Result<(), MaterialError> {
    require(value >= 0.0, parameter, value, "it must not be negative")
}

impl Damping {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), MaterialError> {
        not_negative("damping.mass", self.mass)?;
        not_negative("damping.stiffness", self.stiffness)
    }
}

impl ShellMaterial {
    /// Stiffness in the plane, the mean of warp and weft [N/m]; of springs, their stiffness [N].
    pub fn stretch_stiffness(&self) -> f64 {
        match self.membrane {
            MembraneLaw::StVk { young, .. } | MembraneLaw::NeoHookean { young, .. } => {
                young * self.thickness
            }
            MembraneLaw::Measured { c11, c22, .. } => 0.5 * (c11 + c22),
            // Published rows are half the moduli.
            MembraneLaw::Tabulated(rows) => rows[0][0] + rows[0][2],
            MembraneLaw::Springs { edge, .. } => edge,
        }
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), MaterialError> {
        positive("thickness", self.thickness)?;
        positive("area_density", self.area_density)?;
        match self.membrane {
            MembraneLaw::StVk { young, poisson } => {
                positive("young", young)?;
                let rule = "a shell in plane stress needs −1 < poisson < 1";
                require(poisson > -1.0 && poisson < 1.0, "poisson", poisson, rule)?;
            }
            MembraneLaw::NeoHookean { young, poisson } => {
                positive("young", young)?;
                let rule = "a neo-Hookean shell needs 0 ≤ poisson ≤ 0.5";
                require((0.0..=0.5).contains(&poisson), "poisson", poisson, rule)?;
            }
            MembraneLaw::Measured { c11, c12, c22, c33 } => {
                positive("stretch.c11", c11)?;
                positive("stretch.c22", c22)?;
                positive("stretch.c33", c33)?;
                require(
                    c12 * c12 < c11 * c22,
                    "stretch.c12",
                    c12,
                    "the energy is positive only for c12² < c11·c22",
                )?;
            }
            MembraneLaw::Tabulated(table) => {
                let rule = "the moduli of the samples must be finite";
                for c in table.iter().flatten() {
                    require(true, "stretch.samples", *c, rule)?;
                }
                let [c11, c12, c22, c33] = table[0].map(|c| c.max(0.0));
                let rule =
                    "the moduli at rest, the first row, must be positive, with c12² < c11·c22";
                let stable = c11 > 0.0 && c22 > 0.0 && c33 > 0.0 && c12 * c12 < c11 * c22;
                require(stable, "stretch.samples", table[0][0], rule)?;
            }
            MembraneLaw::Springs { edge, bend } => {
                positive("springs.edge", edge)?;
                not_negative("springs.bend", bend)?;
            }
        }
        match self.bending {
            BendingLaw::None | BendingLaw::FromThickness => {}
            BendingLaw::Rigidity(d) => not_negative("bending", d)?,
            BendingLaw::Measured { warp, weft, bias } => {
                not_negative("bending.warp", warp)?;
                not_negative("bending.weft", weft)?;
                not_negative("bending.bias", bias)?;
            }
            BendingLaw::Tabulated(table) => {
                for k in table.iter().flatten() {
                    require(true, "bending.samples", *k, "it must be finite")?;
                }
            }
        }
        self.damping.validate()
    }
}

impl SolidMaterial {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<(), MaterialError> {
        positive("density", self.density)?;
        positive("young", self.young)?;
        let rule = "a solid needs 0 ≤ poisson < 0.5; 0.49 is nearly incompressible";
        require(
            (0.0..0.5).contains(&self.poisson),
            "poisson",
            self.poisson,
            rule,
        )?;
        self.damping.validate()
    }
}
