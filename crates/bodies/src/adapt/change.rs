//! Changes of shell meshes, as data.

use std::ops::Range;

use stiction_geometry::{
    CHILDREN, MeshError, TriMesh, WeightRows,
    remesh::{Remeshed, SheetError, TriangleOverlap},
};

use super::anchor::Locator;
use crate::{
    builder::BuildError,
    material::MembraneLaw,
    model::{Body, Model, ShellSource},
    volume::VolumeError,
};

/// The new mesh of a shell and its relation to the old one, in the body's own numbering.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshChange {
    /// The body.
    pub body: usize,
    /// The new triangles.
    pub triangles: Vec<[u32; 3]>,
    /// The new nodes in terms of the old ones: rest positions, positions and velocities.
    pub nodes: WeightRows,
    /// The old nodes as points of the new mesh.
    pub old_nodes: WeightRows,
    /// Pairs of a new and an old triangle that share an area of the rest surface, by new triangle, at
    /// least one for each. A new triangle has the material of the old ones.
    pub overlaps: Vec<TriangleOverlap>,
}

/// Errors of a topology change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AdaptError {
    /// Only shells have meshes that can change.
    #[error("body `{body}` is not a shell; only the mesh of a shell can change")]
    NotAShell {
        /// The body.
        body: String,
    },
    /// The stiffness of springs belongs to the edges of one mesh.
    #[error(
        "body `{body}` is held together by springs along the edges of its mesh, whose stiffness is that of \
         the mesh; choose a material with `young` and `poisson`, or with `stretch`"
    )]
    Springs {
        /// The body.
        body: String,
    },
    /// The rest shape is a pattern, given by the corners of the present triangles.
    #[error(
        "body `{body}` has the rest shape of its texture, which does not change; remove `rest`"
    )]
    Pattern {
        /// The body.
        body: String,
    },
    /// The mesh cannot be refined.
    #[error("body `{body}`: {source}")]
    Mesh {
        /// The body.
        body: String,
        /// The cause.
        source: MeshError,
    },
    /// The mesh cannot be remeshed.
    #[error(
        "body `{body}`: {source}; only a shell whose edges have at most two triangles each can be remeshed"
    )]
    Sheet {
        /// The body.
        body: String,
        /// The cause.
        source: SheetError,
    },
    /// The new shell cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// An enclosed volume cannot be measured on the new mesh.
    #[error("volume `{volume}`: {source}")]
    Volume {
        /// The volume.
        volume: String,
        /// The cause.
        source: VolumeError,
    },
    /// Inconsistent numbers of nodes, triangles, pins or points.
    #[error("body `{body}`: {what}")]
    Inconsistent {
        /// The body.
        body: String,
        /// Description of the inconsistency.
        what: &'static str,
    },
}

impl MeshChange {
    /// Halves all edges of a shell: every triangle becomes four.
    pub fn refine(model: &Model, body: usize) -> Result<Self, AdaptError> {
        let shell = adaptable(model, body)?;
        let n = shell.node_count();
        let fine = TriMesh::refine(n, &shell.surface.triangles);
        let fine = fine.map_err(|source| AdaptError::Mesh {
            body: shell.name.clone(),
            source,
        })?;
        let mut nodes = WeightRows::among(0..n as u32);
        for [a, b] in fine.edges {
            nodes.push([(a, 0.5), (b, 0.5)]);
        }
        let children = |triangle: u32| {
            let child = move |k: usize| TriangleOverlap {
                child: 4 * triangle + k as u32,
                triangle,
                corners: CHILDREN[k],
            };
            (0..4).map(child)
        };
        Ok(Self {
            body,
            triangles: fine.triangles,
            nodes,
            old_nodes: WeightRows::among(0..n as u32),
            overlaps: (0..shell.surface.triangles.len() as u32)
                .flat_map(children)
                .collect(),
        })
    }

    /// Whether a shell can be remeshed: its mesh can change, and no edge has more than two triangles.
    pub fn remeshable(model: &Model, body: usize) -> Result<(), AdaptError> {
        let shell = adaptable(model, body)?;
        let sheet = SheetError::check(shell.node_count(), &shell.surface.triangles);
        sheet.map_err(|source| AdaptError::Sheet {
            body: shell.name.clone(),
            source,
        })
    }

    /// The change of a shell to a new mesh.
    pub fn remeshed(body: usize, mesh: Remeshed) -> Self {
        Self {
            body,
            triangles: mesh.triangles,
            nodes: mesh.nodes,
            old_nodes: mesh.old_nodes,
            overlaps: mesh.overlaps,
        }
    }

    fn check(&self, body: &Body) -> Result<(), AdaptError> {
        let (old, new) = (body.node_count() as u32, self.nodes.len() as u32);
        let triangles = body.surface.triangles.len() as u32;
        let named = self.triangles.iter().flatten().copied().max();
        let of = self.overlaps.iter().map(|o| o.triangle).max();
        let mut children = self.overlaps.iter().map(|o| o.child).collect::<Vec<u32>>();
        let ordered = children.is_sorted();
        children.dedup();
        let what = match () {
            () if !ordered || !children.into_iter().eq(0..self.triangles.len() as u32) => {
                "a new triangle has no origin, or an origin no triangle"
            }
            () if self.old_nodes.len() != old as usize => {
                "an old node has no place in the new mesh"
            }
            () if named.is_none_or(|i| i >= new) => {
                "a new triangle names a node that does not exist"
            }
            () if of.is_none_or(|t| t >= triangles) => {
                "a new triangle comes from one that does not exist"
            }
            () if self.nodes.largest().is_none_or(|i| i >= old) => {
                "a new node is made from one that does not exist"
            }
            () if self.old_nodes.largest().is_none_or(|i| i >= new) => {
                "an old node is put on one that does not exist"
            }
            () => return Ok(()),
        };
        Err(AdaptError::Inconsistent {
            body: body.name.clone(),
            what,
        })
    }
}

/// The shell, if its mesh can change.
pub(super) fn adaptable(model: &Model, body: usize) -> Result<&Body, AdaptError> {
    let (source, shell) = shell(model, body)?;
    let springs = |law: MembraneLaw| matches!(law, MembraneLaw::Springs { .. });
    if source.materials.iter().any(|m| springs(m.membrane)) {
        return Err(AdaptError::Springs {
            body: shell.name.clone(),
        });
    }
    if source.pattern.is_some() {
        return Err(AdaptError::Pattern {
            body: shell.name.clone(),
        });
    }
    Ok(shell)
}

/// A shell and its source data.
pub(super) fn shell(model: &Model, body: usize) -> Result<(&ShellSource, &Body), AdaptError> {
    let named = model.bodies.get(body);
    let found = named.and_then(|b| {
        let source = b.kind.as_deformable()?.source.as_deref()?;
        Some((source, b))
    });
    found.ok_or_else(|| AdaptError::NotAShell {
        body: named.map(|b| b.name.clone()).unwrap_or_default(),
    })
}

/// The shells of a model that change together, and the new numbers of all blocks.
#[derive(Clone, Debug)]
pub struct TopologyChange {
    changes: Vec<MeshChange>,
    pub(super) locators: Vec<Locator>,
    /// The change of each body, as an index into `changes`.
    of_body: Vec<Option<u32>>,
    /// Blocks of each body before and after.
    blocks: Vec<[Range<usize>; 2]>,
}

impl TopologyChange {
    /// Combines changes of bodies of `model`, at most one of each.
    pub fn new(model: &Model, changes: Vec<MeshChange>) -> Result<Self, AdaptError> {
        let mut of_body = vec![None; model.bodies.len()];
        let mut locators = Vec::with_capacity(changes.len());
        for (i, change) in changes.iter().enumerate() {
            let (_, body) = shell(model, change.body)?;
            change.check(body)?;
            if of_body[change.body].replace(i as u32).is_some() {
                return Err(AdaptError::Inconsistent {
                    body: body.name.clone(),
                    what: "its mesh is to change twice at once",
                });
            }
            locators.push(Locator::new(change, body));
        }
        let mut next = 0;
        let blocks = model.bodies.iter().zip(&of_body).map(|(body, change)| {
            let own = change.map(|i| changes[i as usize].nodes.len());
            let first = next;
            next += own.unwrap_or(body.blocks.len());
            [body.blocks.clone(), first..next]
        });
        Ok(Self {
            blocks: blocks.collect(),
            locators,
            changes,
            of_body,
        })
    }

    /// The bodies that change.
    pub fn changes(&self) -> &[MeshChange] {
        &self.changes
    }

    /// The change of a body, if it changes.
    pub fn of_body(&self, body: usize) -> Option<&MeshChange> {
        let at = self.of_body.get(body).copied().flatten()?;
        self.changes.get(at as usize)
    }

    /// Blocks of a body before and after.
    pub fn blocks(&self, body: usize) -> &[Range<usize>; 2] {
        &self.blocks[body]
    }

    /// The change of the body that owns an old block, as an index into `changes`, and the block's
    /// number in the body; for a body that does not change, its number after the change.
    pub(super) fn place(&self, block: usize) -> BlockPosition {
        let b = self.blocks.partition_point(|r| r[0].end <= block);
        let Some([before, after]) = self.blocks.get(b) else {
            return BlockPosition::Same(block);
        };
        let own = block - before.start;
        match self.of_body[b] {
            Some(change) => BlockPosition::Changed(change as usize, own as u32, after.start as u32),
            None => BlockPosition::Same(after.start + own),
        }
    }
}

/// Position of an old block after a change.
pub(super) enum BlockPosition {
    /// In a body that changes: its change, the node, and the first block after the change.
    Changed(usize, u32, u32),
    /// In another body: its number after the change.
    Same(usize),
}
