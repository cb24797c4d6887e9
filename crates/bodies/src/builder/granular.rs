//! Bodies of material points.

use stiction_geometry::{MassProperties, TriMesh, fill};
use stiction_math::Vec3;

use super::{BodySpec, BuildError, Builder};
use crate::{
    builder::draft::Draft,
    kind::OpenKind,
    material::{Damping, MaterialError},
    model::BodyKind,
    mpm::{MaterialPoints, PointLaw},
    surface::{Skin, Surface},
};

/// Points and grid of a granular body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GranularSpec {
    /// The material.
    pub law: PointLaw,
    /// Density at rest [kg/m³].
    pub density: f64,
    /// Size of a cell of the grid [m].
    pub cell: f64,
    /// Points per cell.
    pub per_cell: u32,
    /// Damping; that of stiffness is not supported.
    pub damping: Damping,
}

impl Builder {
    /// Adds material points that fill the closed surface `mesh`; returns the body's index. It comes after all bodies of
    /// other kinds.
    pub fn granular(
        &mut self,
        spec: BodySpec,
        mesh: &TriMesh,
        granular: &GranularSpec,
    ) -> Result<usize, BuildError> {
        let material = |source| BuildError::Material {
            body: spec.name.clone(),
            source,
        };
        granular.damping.validate().map_err(material)?;
        let positive = [("density", granular.density), ("cell", granular.cell)];
        let wrong = positive
            .into_iter()
            .find(|(_, v)| !(v.is_finite() && *v > 0.0));
        let bad = match wrong {
            Some((parameter, value)) => Some((parameter, value, "it must be positive")),
            None if granular.per_cell == 0 => Some(("per_cell", 0.0, "it must be positive")),
            None if granular.damping.stiffness != 0.0 => Some((
                "damping.stiffness",
                granular.damping.stiffness,
                "material points support damping of mass only",
            )),
            None => None,
        };
        if let Some((parameter, value, rule)) = bad {
            return Err(material(MaterialError {
                parameter,
                value,
                rule,
            }));
        }
        let whole = MassProperties::of_closed_surface(mesh, 1.0);
        let whole = whole.map_err(|source| BuildError::Mass {
            body: spec.name.clone(),
            source,
        })?;
        let density = f64::from(granular.per_cell) / granular.cell.powi(3);
        let positions = fill(mesh, density).unwrap_or_default();
        if positions.is_empty() {
            return Err(BuildError::Unfilled {
                body: spec.name,
                cell: granular.cell,
            });
        }
        let volume = whole.mass / positions.len() as f64;
        let spin = spec.angular_velocity;
        let motion = |x: &Vec3| {
            let around = spin.cross(&(x - whole.centre));
            (spec.velocity + around, spin.cross_matrix())
        };
        let (points, columns) = MaterialPoints::new(
            granular.law,
            granular.cell,
            [volume * granular.density, volume],
            &positions,
            motion,
            self.state.columns.len(),
        );
        let first = self.model.blocks();
        let surface = Surface {
            triangles: Vec::new(),
            segments: Vec::new(),
            skin: Skin::Blended {
                start: vec![0; positions.len() + 1],
                entries: Vec::new(),
            },
        };
        let kind = BodyKind::Open(points.boxed());
        let damping = granular.damping;
        let body = self.push(
            spec,
            first..first,
            kind,
            surface,
            Vec::new(),
            damping,
            Draft::default(),
        )?;
        self.state.columns.push(columns);
        // A ball of the point's volume would overlap its neighbours: half of the spacing.
        self.model.bodies[body].radius = 0.5 * stiction_math::elementary::cbrt(volume);
        Ok(body)
    }
}
