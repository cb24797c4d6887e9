//! Surfaces as collision detection sees them: vertices, edges and triangles over one array of
//! positions that all surfaces of a scene may share.

use rayon::prelude::*;
use stiction_math::Vec3;

use super::bvh::{Bound, Bvh, BvhError};

/// The features of a surface. Indices name entries of the position array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    vertices: Vec<u32>,
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
}

/// Why a surface cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// A triangle or edge names a vertex twice.
    #[error("element {element} names vertex {vertex} twice")]
    Repeated {
        /// Index of the triangle, or of the edge behind all triangles.
        element: usize,
        /// The vertex.
        vertex: u32,
    },
    /// A feature names a vertex without a position.
    #[error("vertex {vertex} has no position: there are {count}")]
    NoPosition {
        /// The vertex.
        vertex: u32,
        /// The number of positions given.
        count: usize,
    },
    /// A vertex has a coordinate that is not a finite number.
    #[error("vertex {vertex} has a coordinate that is not finite")]
    NotFinite {
        /// The vertex.
        vertex: u32,
    },
    /// The margin or distance is negative or not a number.
    #[error("a distance must be a finite number that is not negative, not {0}")]
    BadDistance(f64),
    /// The hierarchy of boxes refused.
    #[error(transparent)]
    Tree(#[from] BvhError),
}

impl Surface {
    /// The surface of the triangles with all their edges, and further edges that belong to no
    /// triangle (rods).
    pub fn new(triangles: &[[u32; 3]], rods: &[[u32; 2]]) -> Result<Self, SurfaceError> {
        let mut edges = Vec::with_capacity(3 * triangles.len() + rods.len());
        for (element, t) in triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                if a == b {
                    return Err(SurfaceError::Repeated { element, vertex: a });
                }
                edges.push([a.min(b), a.max(b)]);
            }
        }
        for (i, [a, b]) in rods.iter().enumerate() {
            if a == b {
                let element = triangles.len() + i;
                return Err(SurfaceError::Repeated {
                    element,
                    vertex: *a,
                });
            }
            edges.push([*a.min(b), *a.max(b)]);
        }
        edges.sort_unstable();
        edges.dedup();
        let mut vertices: Vec<u32> = edges.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        Ok(Surface {
            vertices,
            edges,
            triangles: triangles.to_vec(),
        })
    }

    /// All vertices of edges and triangles, ascending.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// All edges as [lower vertex, higher vertex], ascending.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// The triangles, as given.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    fn check(&self, positions: &[Vec3]) -> Result<(), SurfaceError> {
        let count = positions.len();
        if let Some(&vertex) = self.vertices.last()
            && vertex as usize >= count
        {
            return Err(SurfaceError::NoPosition { vertex, count });
        }
        // Zero times a number is zero, times anything else it is not a number: one pass without
        // branches tells whether the search is needed.
        let of = |v: &u32| &positions[*v as usize];
        let zero: f64 = self
            .vertices
            .iter()
            .map(|v| 0.0 * (of(v).x + of(v).y + of(v).z))
            .sum();
        if zero == 0.0 {
            return Ok(());
        }
        let finite = |v: &&u32| of(v).iter().all(|x| x.is_finite());
        match self.vertices.iter().find(|v| !finite(v)) {
            Some(&vertex) => Err(SurfaceError::NotFinite { vertex }),
            None => Ok(()),
        }
    }
}

/// A surface with hierarchies over the boxes that its features sweep during a step.
#[derive(Clone, Debug)]
pub struct SweptSurface {
    pub(crate) surface: Surface,
    pub(crate) vertices: Bvh,
    pub(crate) edges: Bvh,
    pub(crate) triangles: Bvh,
    /// The features in the order of their trees.
    slots: Surface,
}

impl SweptSurface {
    /// Hierarchies for vertices that move linearly from `start` to `end` [m]. Two features whose
    /// paths come within `margin` [m] of each other (with the same margin on both surfaces) have
    /// overlapping boxes. Pass the same positions twice for a surface at rest.
    pub fn build(
        surface: Surface,
        start: &[Vec3],
        end: &[Vec3],
        margin: f64,
    ) -> Result<Self, SurfaceError> {
        let paths = paths(&surface, start, end, margin)?;
        let of = |v: u32| &paths[v as usize];
        let vertices: Vec<Bound> = surface.vertices.iter().map(|v| *of(*v)).collect();
        let edges = surface.edges.par_iter().with_min_len(4096);
        let edges: Vec<Bound> = edges.map(|[a, b]| of(*a).union(of(*b))).collect();
        let triangles = surface.triangles.par_iter().with_min_len(4096);
        let triangles: Vec<Bound> = triangles
            .map(|[a, b, c]| of(*a).union(of(*b)).union(of(*c)))
            .collect();
        let vertices = Bvh::build(&vertices)?;
        let edges = Bvh::build(&edges)?;
        let triangles = Bvh::build(&triangles)?;
        let slots = Surface {
            vertices: in_order(&surface.vertices, &vertices),
            edges: in_order(&surface.edges, &edges),
            triangles: in_order(&surface.triangles, &triangles),
        };
        Ok(SweptSurface {
            surface,
            vertices,
            edges,
            triangles,
            slots,
        })
    }

    /// The same for new positions, keeping the trees. On an error nothing changes.
    pub fn refit(&mut self, start: &[Vec3], end: &[Vec3], margin: f64) -> Result<(), SurfaceError> {
        let paths = paths(&self.surface, start, end, margin)?;
        let of = |v: u32| &paths[v as usize];
        let slots = &self.slots;
        self.vertices.bound(&slots.vertices, |v| *of(*v));
        self.edges
            .bound(&slots.edges, |[a, b]| of(*a).union(of(*b)));
        self.triangles.bound(&slots.triangles, |[a, b, c]| {
            of(*a).union(of(*b)).union(of(*c))
        });
        Ok(())
    }

    /// The features.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// How much the trees have lost since they were built, see [`Bvh::degradation`]; the worst
    /// of the three.
    pub fn degradation(&self) -> f64 {
        let trees = [&self.vertices, &self.edges, &self.triangles];
        trees.iter().fold(1.0, |d: f64, t| d.max(t.degradation()))
    }

    /// Memory of the trees [bytes].
    pub fn bytes(&self) -> usize {
        let Surface {
            vertices,
            edges,
            triangles,
        } = &self.slots;
        let slots =
            size_of_val(&vertices[..]) + size_of_val(&edges[..]) + size_of_val(&triangles[..]);
        self.vertices.bytes() + self.edges.bytes() + self.triangles.bytes() + slots
    }
}

fn in_order<T: Copy>(features: &[T], tree: &Bvh) -> Vec<T> {
    let items = tree.items().iter();
    items.map(|i| features[*i as usize]).collect()
}

/// The box around the path of each vertex that the surface uses, indexed by vertex; edges and
/// triangles are bounded by those of their vertices.
fn paths(
    surface: &Surface,
    start: &[Vec3],
    end: &[Vec3],
    margin: f64,
) -> Result<Vec<Bound>, SurfaceError> {
    if !(margin >= 0.0 && margin.is_finite()) {
        return Err(SurfaceError::BadDistance(margin));
    }
    surface.check(start)?;
    surface.check(end)?;
    let reach = 0.5 * margin;
    let count = surface.vertices.last().map_or(0, |v| v + 1);
    Ok((0..count)
        .into_par_iter()
        .with_min_len(4096)
        .map(|v| swept(&start[v as usize], &end[v as usize], reach))
        .collect())
}

/// The box around a straight path, `reach` larger on all sides.
#[inline]
fn swept(a: &Vec3, b: &Vec3, reach: f64) -> Bound {
    // Covers the rounding of the sums below. The final rounding to single precision keeps the
    // order of numbers, so that boxes which overlap before it do so after it.
    const ROUNDING: f64 = 4.0 * f64::EPSILON;
    let low = |k: usize| if a[k] < b[k] { a[k] } else { b[k] };
    let high = |k: usize| if a[k] > b[k] { a[k] } else { b[k] };
    Bound {
        min: std::array::from_fn(|k| (low(k) - reach - ROUNDING * (low(k).abs() + reach)) as f32),
        max: std::array::from_fn(|k| (high(k) + reach + ROUNDING * (high(k).abs() + reach)) as f32),
    }
}
