//! A solid by its signed distance: a formula or a sampled mesh.

use std::sync::Arc;

use stiction_math::Vec3;

use super::{EdgeMinimum, FieldExpansion, Nearest, Shape, SharpPlace};
use crate::level_set::LevelSet;

/// A solid without surface mesh for contact: an analytic [`Shape`] or a [`LevelSet`].
#[derive(Clone, Debug, PartialEq)]
pub enum Solid {
    /// An analytic shape.
    Shape(Shape),
    /// A mesh, sampled.
    LevelSet(Arc<LevelSet>),
}

impl From<Shape> for Solid {
    fn from(shape: Shape) -> Self {
        Solid::Shape(shape)
    }
}

impl From<Arc<LevelSet>> for Solid {
    fn from(set: Arc<LevelSet>) -> Self {
        Solid::LevelSet(set)
    }
}

impl Solid {
    /// The field at `x` [m], in the frame of the solid.
    pub fn nearest(&self, x: &Vec3) -> Nearest {
        match self {
            Solid::Shape(shape) => shape.nearest(x),
            Solid::LevelSet(set) => set.nearest(x),
        }
    }

    /// The field around `x` [m], in the frame of the solid, to second order.
    pub fn expand(&self, x: &Vec3) -> FieldExpansion {
        match self {
            Solid::Shape(shape) => shape.expand(x),
            Solid::LevelSet(set) => set.expand(x),
        }
    }

    /// The point of a segment with the least value.
    pub fn edge_minimum(&self, ends: &[Vec3; 2]) -> EdgeMinimum {
        match self {
            Solid::Shape(shape) => shape.edge_minimum(ends),
            Solid::LevelSet(set) => set.edge_minimum(ends),
        }
    }

    /// The radius of a ball about the origin that contains the solid [m]; infinite for a plane.
    pub fn radius(&self) -> f64 {
        match self {
            Solid::Shape(shape) => shape.radius(),
            Solid::LevelSet(set) => {
                let b = set.bounds();
                b.min.abs().sup(&b.max.abs()).norm()
            }
        }
    }

    /// A bound on the rate of change of the value along a path [1].
    pub fn slope(&self) -> f64 {
        match self {
            Solid::Shape(_) => 1.0,
            Solid::LevelSet(set) => set.slope(),
        }
    }

    /// Whether the field is a convex function: that of a convex shape.
    pub fn is_convex(&self) -> bool {
        matches!(self, Solid::Shape(shape) if shape.is_convex())
    }

    /// A half-space: nothing between vertices is deeper than they are.
    pub fn is_plane(&self) -> bool {
        matches!(self, Solid::Shape(Shape::Plane { .. }))
    }

    /// See [`Shape::points`]; none for a sampled mesh.
    pub fn points(&self) -> Vec<(Vec3, f64)> {
        match self {
            Solid::Shape(shape) => shape.points(),
            Solid::LevelSet(_) => Vec::new(),
        }
    }

    /// See [`Shape::rims`]; none for a sampled mesh.
    pub fn rims(&self, direction: &Vec3) -> [Option<Vec3>; 2] {
        match self {
            Solid::Shape(shape) => shape.rims(direction),
            Solid::LevelSet(_) => [None; 2],
        }
    }

    /// See [`Shape::rim_excess`]; zero for a sampled mesh.
    pub fn rim_excess(&self, direction: &Vec3) -> f64 {
        match self {
            Solid::Shape(shape) => shape.rim_excess(direction),
            Solid::LevelSet(_) => 0.0,
        }
    }

    /// See [`Shape::sharp_places`]. Of a sampled mesh, the ends of the piece around the deepest
    /// place on which the field is at most `flat` [m] larger, seen every half cell.
    pub fn sharp_places(&self, ends: &[Vec3; 2], flat: f64, out: &mut Vec<SharpPlace>) {
        match self {
            Solid::Shape(shape) => shape.sharp_places(ends, out),
            Solid::LevelSet(set) => set.flat_ends(ends, flat, out),
        }
    }

    /// The finest detail of a sampled mesh: the side of a cell [m].
    pub fn cell(&self) -> Option<f64> {
        match self {
            Solid::Shape(_) => None,
            Solid::LevelSet(set) => Some(set.cell()),
        }
    }

    /// A lower bound of the value less `slope` times the path length [m].
    pub fn clearance(&self, x: &Vec3) -> f64 {
        match self {
            Solid::Shape(shape) => shape.nearest(x).distance,
            Solid::LevelSet(set) => set.clearance(x),
        }
    }

    /// Least clearance of all points of a segment [m].
    pub(super) fn edge_clearance(&self, ends: &[Vec3; 2]) -> f64 {
        match self {
            Solid::Shape(shape) => {
                let length = (ends[1] - ends[0]).norm();
                shape.edge_minimum(ends).nearest.distance - shape.edge_error(length)
            }
            Solid::LevelSet(set) => set.edge_clearance(ends),
        }
    }

    /// The largest coordinate that enters its arithmetic [m].
    pub(super) fn size(&self) -> f64 {
        match self {
            Solid::Shape(Shape::Plane { offset, .. }) => offset.abs(),
            other => other.radius(),
        }
    }
}
