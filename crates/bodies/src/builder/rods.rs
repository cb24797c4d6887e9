//! Construction of rods from polylines, and pins of their nodes.

use std::collections::BTreeSet;

use stiction_geometry::Strands;
use stiction_math::Vec3;

use crate::{
    model::{BodyKind, Clamp, HeldFrame, Pin},
    rod::{RodMaterial, Rods, Twist},
    surface::{Skin, Surface},
};

use super::{BodySpec, BuildError, Builder, draft::Draft};

impl Builder {
    /// Adds rods through `strands`; returns the body's index. The material director m₁ of every
    /// first edge is as close to `director` as possible; the others follow without twist.
    pub fn rods(
        &mut self,
        spec: BodySpec,
        strands: Strands,
        material: &RodMaterial,
        director: &Vec3,
    ) -> Result<usize, BuildError> {
        material.validate().map_err(|source| BuildError::Material {
            body: spec.name.clone(),
            source,
        })?;
        if strands.is_empty() {
            return Err(BuildError::Empty { body: spec.name });
        }
        let first = self.model.blocks();
        let segments = strands.segments();
        let first_edge = self.state.frames.director.len();
        let (rods, frames) =
            Rods::new(strands, material, director, first_edge).map_err(|source| {
                BuildError::Element {
                    body: spec.name.clone(),
                    source,
                }
            })?;
        let surface = Surface {
            triangles: Vec::new(),
            segments,
            skin: Skin::Nodes(rods.node_blocks().map(|b| first as u32 + b).collect()),
        };
        let x = rods.rest_blocks();
        let weight = |b: u32| rods.mass()[b as usize].x;
        let centre = rods
            .node_blocks()
            .map(|b| x[b as usize] * weight(b))
            .sum::<Vec3>()
            / rods.total_mass();
        let mut v = vec![Vec3::zeros(); x.len()];
        for b in rods.node_blocks() {
            let b = b as usize;
            v[b] = spec.velocity + spec.angular_velocity.cross(&(x[b] - centre));
        }
        for edge in 0..rods.edges().len() {
            if let (Some((block, c)), Some([i, j])) = (rods.twist_of(edge), rods.edge_blocks(edge))
            {
                let along = (x[j] - x[i]).normalize().dot(&spec.angular_velocity);
                v[block][c] = along * rods.section().radius;
            }
        }
        let blocks = first..first + x.len();
        self.state.x.extend(x);
        self.state.v.extend(v);
        if rods.twist() == Twist::QuasiStatic {
            self.state.frames.angle.resize(first_edge, 0.0);
            self.state.frames.angle.extend(frames.angle);
            self.state.frames.held.resize(first_edge, false);
            self.state.frames.held.extend(frames.held);
        }
        self.state.frames.director.extend(frames.director);
        self.state.frames.twist.extend(frames.twist);
        let kind = BodyKind::Rods(Box::new(rods));
        let draft = Draft::default();
        let body = self.push(
            spec,
            blocks,
            kind,
            surface,
            Vec::new(),
            material.damping,
            draft,
        )?;
        self.model.bodies[body].radius = material.radii[0].max(material.radii[1]);
        Ok(body)
    }

    /// Pins nodes of rods. If both nodes of the first or last edge of a rod are pinned, so is its
    /// frame.
    pub(super) fn pin_rods(
        &mut self,
        body: usize,
        nodes: &[u32],
        motion: Option<usize>,
    ) -> Result<(), BuildError> {
        let target = &self.model.bodies[body];
        let Some(rods) = target.kind.as_rods() else {
            return Ok(());
        };
        let first = target.blocks.start;
        let held: BTreeSet<usize> = nodes.iter().map(|&n| n as usize).collect();
        let x = &self.state.x[target.blocks.clone()];
        let start = rods.start(x, &self.state.frames);
        let mut pins = Vec::with_capacity(held.len());
        let mut frames = Vec::new();
        for &node in &held {
            let Some(block) = target.node_block(node) else {
                return Err(BuildError::Node {
                    body: target.name.clone(),
                    node,
                    count: target.node_count(),
                });
            };
            pins.push(Pin {
                block,
                motion,
                start: self.state.x[block],
                spin: None,
                clamp: None,
            });
            let edge = rods.edge_after(node).filter(|_| held.contains(&(node + 1)));
            let Some(edge) = edge.filter(|&e| rods.is_end(e)) else {
                continue;
            };
            let Some(frame) = rods.edge_at(edge, x, &start) else {
                continue;
            };
            let clamp = Clamp {
                body,
                edge,
                director: frame.material_director(),
            };
            match rods.own_twist_block(edge) {
                Some(block) => pins.push(Pin {
                    block: first + block,
                    motion,
                    start: Vec3::zeros(),
                    spin: None,
                    clamp: Some(clamp),
                }),
                None => frames.push(HeldFrame { motion, clamp }),
            }
        }
        for frame in &frames {
            self.state.frames.held[rods.edges().start + frame.clamp.edge] = true;
        }
        self.model.held_frames.extend(frames);
        self.model.pins.extend(pins);
        Ok(())
    }
}
