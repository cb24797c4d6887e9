//! The data of a model that a topology change replaces.

use std::{ops::Range, sync::Arc};

use stiction_math::Vec3;

use super::change::{AdaptError, TopologyChange, shell};
use crate::{
    attachment::Attachment,
    builder::{draft::joined, shells::shell_draft},
    model::{Body, BodyKind, Model, Pin, ShellSource},
    stencil::Stencil,
    surface::Skin,
};

/// Meshes of shells and the pins, attachments and points on them, as plain data. Checkpoints store
/// it, because later changes may depend on the motion and cannot be repeated from the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Number of changes so far.
    pub generation: u64,
    /// The mesh of every shell, in the order of bodies.
    pub shells: Vec<ShellMesh>,
    /// The pins of shells, by block.
    pub pins: Vec<Pin>,
    /// Both ends of every attachment.
    pub attachments: Vec<[Stencil; 2]>,
    /// The material points of probes.
    pub points: Vec<Stencil>,
}

/// The rest mesh of a shell.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellMesh {
    /// The body.
    pub body: usize,
    /// Rest positions of its nodes [m].
    pub rest: Vec<Vec3>,
    /// Its triangles, in its own numbering.
    pub triangles: Vec<[u32; 3]>,
    /// The material of each triangle.
    pub patch: Vec<u32>,
}

impl Topology {
    /// The topology of a model.
    pub fn of(model: &Model) -> Self {
        let mesh = |b: usize| {
            let (source, body) = shell(model, b).ok()?;
            Some(ShellMesh {
                body: b,
                rest: body.rest().to_vec(),
                triangles: body.surface.triangles.clone(),
                patch: source.patch.clone(),
            })
        };
        let held = |p: &&Pin| model.body_of(p.block).is_some_and(is_shell);
        Self {
            generation: model.generation,
            shells: (0..model.bodies.len()).filter_map(mesh).collect(),
            pins: model.pins.iter().filter(held).cloned().collect(),
            attachments: model
                .attachments
                .iter()
                .map(|s| [s.a.clone(), s.b.clone()])
                .collect(),
            points: model.points.clone(),
        }
    }

    /// The topology of a model after a change.
    pub fn after(model: &Model, change: &TopologyChange) -> Self {
        let mut topology = Self::of(model);
        topology.generation += 1;
        for mesh in &mut topology.shells {
            let Some(new) = change.of_body(mesh.body) else {
                continue;
            };
            let rest = (0..new.nodes.len()).map(|i| new.nodes.value(i, &mesh.rest));
            mesh.rest = rest.collect();
            mesh.triangles.clone_from(&new.triangles);
            let first = new.overlaps.chunk_by(|a, b| a.child == b.child);
            let of = first.map(|o| mesh.patch[o[0].triangle as usize]);
            mesh.patch = of.collect();
        }
        topology.pins = change.pins(&topology.pins);
        for end in topology.attachments.iter_mut().flatten() {
            *end = change.stencil(end);
        }
        for point in &mut topology.points {
            *point = change.stencil(point);
        }
        topology
    }

    /// Builds the model with this topology: `base` with new meshes of its shells, with the pins,
    /// attachments and points on them, and with all blocks renumbered. Terms, masses and patterns
    /// are built as in the builder.
    pub fn apply(self, base: &Model) -> Result<Model, AdaptError> {
        let mut model = base.clone();
        model.generation = self.generation;
        let mut changed = vec![false; base.bodies.len()];
        for mesh in self.shells {
            let b = mesh.body;
            let (source, body) = shell(base, b)?;
            if mesh.rest == body.rest() && mesh.triangles == body.surface.triangles {
                continue;
            }
            changed[b] = true;
            model.bodies[b].replace(mesh, source)?;
        }
        let mut next = 0;
        for body in &mut model.bodies {
            let first = next;
            next += body.node_blocks();
            body.renumber(first..next);
        }
        let moved = |block: usize| {
            let b = base.bodies.partition_point(|b| b.blocks.end <= block);
            block + model.bodies[b].blocks.start - base.bodies[b].blocks.start
        };
        let other = |p: &&Pin| !base.body_of(p.block).is_some_and(is_shell);
        let mut pins: Vec<Pin> = base.pins.iter().filter(other).cloned().collect();
        for pin in &mut pins {
            pin.block = moved(pin.block);
        }
        pins.extend(self.pins);
        pins.sort_by_key(|p| p.block);
        for (volume, own) in model.volumes.iter_mut().zip(&base.volumes) {
            let owner = own.first_block().map(|b| {
                base.bodies
                    .partition_point(|body| body.blocks.end <= b as usize)
            });
            match owner {
                Some(b) if changed[b] => {
                    let measured = own.on(&model.bodies[b]);
                    *volume = measured.map_err(|source| AdaptError::Volume {
                        volume: own.name.clone(),
                        source,
                    })?;
                }
                _ => volume.renumber(|block| moved(block as usize) as u32),
            }
        }
        if self.attachments.len() != base.attachments.len()
            || self.points.len() != base.points.len()
        {
            return Err(inconsistent("another number of attachments or points"));
        }
        let old = base.attachments.iter().zip(self.attachments);
        model.attachments = old
            .map(|(spring, [a, b])| Attachment {
                a,
                b,
                ..spring.clone()
            })
            .collect();
        model.points = self.points;
        model.pins = pins;
        check_blocks(&model)?;
        for b in (0..changed.len()).filter(|b| changed[*b]) {
            let joined = joined(&model.attachments, &model.bodies[b].blocks);
            model.bodies[b].rebuild(&joined)?;
        }
        Ok(model)
    }
}

fn inconsistent(what: &'static str) -> AdaptError {
    AdaptError::Inconsistent {
        body: String::new(),
        what,
    }
}

fn is_shell(body: &Body) -> bool {
    matches!(&body.kind, BodyKind::Deformable(d) if d.source.is_some())
}

/// Checks that pins and points refer to existing blocks, with at most one pin per block.
fn check_blocks(model: &Model) -> Result<(), AdaptError> {
    let n = model.blocks();
    let pins = &model.pins;
    let sound = pins.iter().all(|p| p.block < n)
        && pins.windows(2).all(|w| w[0].block < w[1].block)
        && pins
            .iter()
            .all(|p| p.motion.is_none_or(|m| m < model.motions.len()));
    if !sound {
        return Err(inconsistent(
            "a pin names a block or a motion that does not exist",
        ));
    }
    let springs = model.attachments.iter().flat_map(|s| [&s.a, &s.b]);
    let mut points = springs.chain(&model.points);
    let rigids = model.rigids().count();
    let unsound = |s: &Stencil| {
        let rigid = matches!(s, Stencil::Rigid { rigid, .. } if *rigid as usize >= rigids);
        rigid || s.blocks().iter().any(|b| *b as usize >= n)
    };
    if points.any(unsound) {
        return Err(inconsistent("a point names a block that does not exist"));
    }
    Ok(())
}

impl Body {
    /// Required number of blocks.
    fn node_blocks(&self) -> usize {
        let soft = self.kind.as_deformable();
        soft.map_or(self.blocks.len(), |d| d.rest.len())
    }

    /// Replaces the mesh of a shell. Terms and masses are those of the old one until `rebuild`.
    fn replace(&mut self, mesh: ShellMesh, source: &ShellSource) -> Result<(), AdaptError> {
        let count = mesh.rest.len() as u32;
        let named = mesh.triangles.iter().flatten();
        if mesh.patch.len() != mesh.triangles.len() || named.copied().any(|i| i >= count) {
            return Err(AdaptError::Inconsistent {
                body: self.name.clone(),
                what: "its mesh names nodes or materials that do not exist",
            });
        }
        let first = self.blocks.start as u32;
        self.surface.triangles = mesh.triangles;
        self.surface.skin = Skin::Nodes((first..first + count).collect());
        // Both belong to the old triangles.
        self.texture = None;
        if let BodyKind::Deformable(soft) = &mut self.kind {
            soft.rest = mesh.rest;
            soft.source = Some(Arc::new(ShellSource {
                materials: Arc::clone(&source.materials),
                patch: mesh.patch,
                pattern: source.pattern.clone(),
                ..*source
            }));
        }
        Ok(())
    }

    /// Moves the body to the blocks `blocks`.
    fn renumber(&mut self, blocks: Range<usize>) {
        let (old, new) = (self.blocks.start as u32, blocks.start as u32);
        self.blocks = blocks;
        self.surface.skin.renumber(|b| b - old + new);
    }

    /// Rebuilds the terms, the mass and the pattern of a shell from its mesh.
    fn rebuild(&mut self, joined: &[Vec<u32>]) -> Result<(), AdaptError> {
        let BodyKind::Deformable(soft) = &mut self.kind else {
            return Ok(());
        };
        let Some(source) = &soft.source else {
            return Ok(());
        };
        let draft = shell_draft(&self.name, source, &soft.rest, &self.surface.triangles)?;
        if let Some(node) = draft.lumped().iter().position(|m| *m <= 0.0) {
            let body = self.name.clone();
            return Err(crate::builder::BuildError::Massless { body, node }.into());
        }
        let bound = draft.bind(&self.name, joined)?;
        (soft.terms, soft.mass, soft.pattern) = (bound.terms, bound.mass, bound.pattern);
        Ok(())
    }
}
