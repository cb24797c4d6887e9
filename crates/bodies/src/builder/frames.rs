//! Construction of bodies of affine frames with a blended skin from the parts of a plant.

use stiction_geometry::Plant;

use crate::{
    frames::{FrameError, Skeleton},
    material::{MassKind, SolidMaterial},
    surface::{Skin, Surface},
};

use super::{
    BodySpec, BuildError, Builder,
    draft::{Draft, Spread},
};

impl Builder {
    /// Adds a body of affine frames; returns its index. Every frame has four nodes
    /// ([`crate::frames`]), and the mass is always lumped.
    pub fn frames(
        &mut self,
        spec: BodySpec,
        plant: &Plant,
        material: &SolidMaterial,
    ) -> Result<usize, BuildError> {
        material.validate().map_err(|source| BuildError::Material {
            body: spec.name.clone(),
            source,
        })?;
        let frames = |source: FrameError| BuildError::Frames {
            body: spec.name.clone(),
            source,
        };
        let skeleton = Skeleton::new(plant, material.density).map_err(frames)?;
        let recipes = skeleton.terms(material).map_err(frames)?;
        let first = self.model.blocks() as u32;
        let mut start = vec![0];
        let mut entries = Vec::new();
        for point in &skeleton.skin {
            entries.extend(point.iter().map(|&(node, w)| (first + node, w)));
            start.push(entries.len() as u32);
        }
        let surface = Surface {
            segments: Vec::new(),
            triangles: plant.surface().0.triangles,
            skin: Skin::Blended { start, entries },
        };
        let draft = Draft {
            recipes,
            mass: Some(Spread::Points(skeleton.masses)),
            kind: MassKind::Lumped,
            rest: skeleton.nodes,
        };
        self.deformable(spec, draft, surface, Vec::new(), material.damping)
    }
}
