//! Features of colliders by their names in contact keys.
//!
//! Names number vertices, edges and triangles of all colliders through, so that a mesh that changes
//! renames those behind it. Here a name is taken apart and put together again.

use super::detector::Detector;
use super::emit::{AGAIN, EDGE, FACE, KIND, SOLID, VERTEX};

/// A feature of a collider, in the collider's own numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A vertex.
    Vertex {
        /// The collider, by its place in the list.
        collider: u32,
        /// The vertex.
        vertex: u32,
    },
    /// An edge.
    Edge {
        /// The collider.
        collider: u32,
        /// Its ends, ascending.
        ends: [u32; 2],
    },
    /// A triangle.
    Triangle {
        /// The collider.
        collider: u32,
        /// The triangle.
        triangle: u32,
    },
    /// A point of an analytic shape or of a level set; its name has no number of a mesh in it.
    Solid(u64),
}

impl Detector {
    /// The feature called `name`, and how often its pair had been listed before.
    pub fn feature(&self, name: u64) -> Option<(Feature, u64)> {
        let again = (name >> AGAIN) & ((1 << (KIND - AGAIN)) - 1);
        let number = name & ((1 << AGAIN) - 1);
        let (world, index) = (&self.world, usize::try_from(number).ok()?);
        let feature = match name >> KIND {
            VERTEX => {
                let collider = *world.owner.get(index)?;
                let first = world.first_vertex[collider as usize];
                let vertex = index as u32 - first;
                Feature::Vertex { collider, vertex }
            }
            EDGE => {
                let ends = world.surface.edges().get(index)?;
                let collider = world.owner[ends[0] as usize];
                let first = world.first_vertex[collider as usize];
                let ends = ends.map(|v| v - first);
                Feature::Edge { collider, ends }
            }
            FACE => {
                let corner = world.surface.triangles().get(index)?[0];
                let collider = world.owner[corner as usize];
                let triangle = index as u32 - world.first_triangle[collider as usize];
                Feature::Triangle { collider, triangle }
            }
            SOLID => Feature::Solid(name & !(((1 << (KIND - AGAIN)) - 1) << AGAIN)),
            _ => return None,
        };
        Some((feature, again))
    }

    /// The name of a feature whose pair was listed `again` times before; none if there is no such
    /// feature.
    pub fn name(&self, feature: &Feature, again: u64) -> Option<u64> {
        let world = &self.world;
        let base = |collider: u32, vertex: u32| {
            let range = world.first_vertex.get(collider as usize..)?;
            let v = range.first()?.checked_add(vertex)?;
            (v < *range.get(1)?).then_some(v)
        };
        let (kind, index) = match *feature {
            Feature::Solid(name) => return Some(name | again << AGAIN),
            Feature::Vertex { collider, vertex } => (VERTEX, base(collider, vertex)? as usize),
            Feature::Edge { collider, ends } => {
                let [a, b] = [base(collider, ends[0])?, base(collider, ends[1])?];
                let key = [a.min(b), a.max(b)];
                (EDGE, world.surface.edges().binary_search(&key).ok()?)
            }
            Feature::Triangle { collider, triangle } => {
                let first = *world.first_triangle.get(collider as usize)?;
                let at = (first + triangle) as usize;
                // Of triangles with the same corners, the one that keys name.
                (FACE, world.triangle(*world.surface.triangles().get(at)?))
            }
        };
        Some(kind << KIND | index as u64 | again << AGAIN)
    }
}
