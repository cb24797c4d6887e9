//! Material points of shells whose meshes change.

use stiction_math::{Mat3, Vec3};

use stiction_geometry::WeightRows;

use super::change::{BlockPosition, MeshChange, TopologyChange};
use crate::{
    model::{Body, Pin},
    stencil::Stencil,
};

/// Finds material points of an old mesh in the new one.
#[derive(Clone, Debug)]
pub(super) struct Locator {
    /// The old triangles.
    triangles: Vec<[u32; 3]>,
    /// The old triangles at each old node.
    around: WeightRows,
    /// The overlaps of each old triangle with new ones.
    overlaps: WeightRows,
    /// The new triangle of each overlap.
    child: Vec<u32>,
}

impl Locator {
    pub fn new(change: &MeshChange, body: &Body) -> Self {
        let triangles = body.surface.triangles.clone();
        let mut corners = WeightRows::default();
        for t in &triangles {
            corners.push(t.map(|i| (i, 1.0)));
        }
        let parents = WeightRows::among(change.overlaps.iter().map(|o| o.triangle));
        Self {
            around: corners.transposed(body.node_count()),
            overlaps: parents.transposed(triangles.len()),
            child: change.overlaps.iter().map(|o| o.child).collect(),
            triangles,
        }
    }

    /// The new triangles that share an area with old triangle `t`.
    pub fn children(&self, t: usize) -> impl Iterator<Item = u32> + '_ {
        self.overlaps
            .row(t)
            .iter()
            .map(|o| self.child[o.0 as usize])
    }

    /// The weighted new nodes of the material point Σ w x over old nodes. A point of a triangle
    /// goes to the child that contains it, or whose barycentric coordinates are the least negative.
    /// A point in no triangle follows its old nodes.
    fn point(&self, change: &MeshChange, point: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let point: Vec<(u32, f64)> = point.iter().copied().filter(|e| e.1 != 0.0).collect();
        let nodes = |p: &[(u32, f64)]| {
            let of = |&(i, w): &(u32, f64)| {
                let row = change.old_nodes.row(i as usize).iter();
                row.map(move |&(j, own)| (j, w * own))
            };
            p.iter().flat_map(of).collect()
        };
        let [(first, _), rest @ ..] = &point[..] else {
            return point;
        };
        if rest.is_empty() {
            return nodes(&point);
        }
        let holds = |t: &[u32; 3]| point.iter().all(|(i, _)| t.contains(i));
        let mut around = self.around.row(*first as usize).iter().map(|t| t.0);
        let Some(t) = around.find(|t| holds(&self.triangles[*t as usize])) else {
            return nodes(&point);
        };
        let mut w = Vec3::zeros();
        for (c, corner) in self.triangles[t as usize].iter().enumerate() {
            w[c] = point.iter().filter(|e| e.0 == *corner).map(|e| e.1).sum();
        }
        let mut best: Option<(f64, u32, Vec3)> = None;
        for &(at, _) in self.overlaps.row(t as usize) {
            let overlap = &change.overlaps[at as usize];
            let (child, columns) = (overlap.child, overlap.corners.map(Vec3::from));
            let Some(inverse) = Mat3::from_columns(&columns).try_inverse() else {
                continue;
            };
            let own = inverse * w;
            // The first of equals, because neighbours share points.
            if best.is_none_or(|(least, ..)| own.min() > least) {
                best = Some((own.min(), child, own));
            }
        }
        let Some((_, child, own)) = best else {
            return nodes(&point);
        };
        let corners = change.triangles[child as usize].iter().zip(own.iter());
        let corners = corners.filter(|c| *c.1 != 0.0);
        corners.map(|(i, w)| (*i, *w)).collect()
    }
}

impl TopologyChange {
    /// The new triangles that share an area with triangle `t` of a body that changes; none for other bodies.
    pub fn children(&self, body: usize, t: usize) -> impl Iterator<Item = u32> + '_ {
        let at = self.changes().iter().position(|c| c.body == body);
        at.into_iter()
            .flat_map(move |i| self.locators[i].children(t))
    }

    /// The stencil of the same material point after the change.
    pub fn stencil(&self, stencil: &Stencil) -> Stencil {
        match stencil {
            Stencil::World(p) => Stencil::World(*p),
            Stencil::Rigid {
                block,
                rigid,
                local,
            } => Stencil::Rigid {
                block: match self.place(*block as usize) {
                    BlockPosition::Same(block) => block as u32,
                    BlockPosition::Changed(..) => *block,
                },
                rigid: *rigid,
                local: *local,
            },
            Stencil::Nodes(entries) => Stencil::Nodes(self.entries(entries)),
        }
    }

    /// The entries of the same material points: those of each changing body form one point of its
    /// mesh.
    fn entries(&self, entries: &[(u32, f64)]) -> Vec<(u32, f64)> {
        let mut out = Vec::with_capacity(entries.len());
        let mut own: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.changes().len()];
        let mut first = vec![0; self.changes().len()];
        for &(block, w) in entries {
            match self.place(block as usize) {
                BlockPosition::Same(block) => out.push((block as u32, w)),
                BlockPosition::Changed(change, node, after) => {
                    own[change].push((node, w));
                    first[change] = after;
                }
            }
        }
        for (i, point) in own.iter().enumerate().filter(|p| !p.1.is_empty()) {
            let moved = self.locators[i].point(&self.changes()[i], point);
            out.extend(moved.into_iter().map(|(node, w)| (first[i] + node, w)));
        }
        out
    }

    /// The pins after the change. A new node is pinned if all its source nodes are, by the same
    /// motion: as a point of the old mesh it was then prescribed already.
    pub(super) fn pins(&self, pins: &[Pin]) -> Vec<Pin> {
        let mut out = Vec::with_capacity(pins.len());
        let mut of_node: Vec<Vec<Option<usize>>> = self
            .changes()
            .iter()
            .map(|c| vec![None; c.old_nodes.len()])
            .collect();
        for (i, pin) in pins.iter().enumerate() {
            match self.place(pin.block) {
                BlockPosition::Same(block) => out.push(Pin {
                    block,
                    ..pin.clone()
                }),
                BlockPosition::Changed(change, node, _) => of_node[change][node as usize] = Some(i),
            }
        }
        for (change, of_node) in self.changes().iter().zip(&of_node) {
            let first = self.blocks(change.body)[1].start;
            for node in 0..change.nodes.len() {
                let row = change.nodes.row(node).iter().filter(|e| e.1 != 0.0);
                let held: Option<Vec<(&Pin, f64)>> = row
                    .map(|&(i, w)| of_node[i as usize].map(|p| (&pins[p], w)))
                    .collect();
                let Some([(one, weight), more @ ..]) = held.as_deref() else {
                    continue;
                };
                if more.iter().any(|(pin, _)| pin.motion != one.motion) {
                    continue;
                }
                let terms = more.iter().map(|(pin, w)| pin.start * *w);
                out.push(Pin {
                    block: first + node,
                    start: terms.fold(one.start * *weight, |a, b| a + b),
                    ..(*one).clone()
                });
            }
        }
        out.sort_by_key(|p| p.block);
        out
    }
}
