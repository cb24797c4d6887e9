//! Surfaces as collision detection sees them: vertices, edges and triangles over one array of
//! positions that all surfaces of a scene may share.

use std::sync::Arc;

use stiction_math::{Vec3, parallel, prefetch};

use super::bvh::{
    Aabb32, BvhError, Groups, Hull, Leaves, MIXED, Padded, Pairs, Row, Tree, WIDTH, Wide,
    WideMoving, along_curve, bound_together, leaf,
};

/// The features of a surface. Indices name entries of the position array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollisionSurface {
    vertices: Vec<u32>,
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
    /// The group of each position; empty if there are none.
    groups: Arc<[u32]>,
}

/// Reason for which a surface cannot be used.
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
    /// A pair names an edge that the surface does not have.
    #[error("there is no edge {edge}: there are {count}")]
    NoEdge {
        /// The number of the edge.
        edge: u32,
        /// The number of edges.
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

impl CollisionSurface {
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
        Ok(CollisionSurface {
            vertices,
            edges,
            triangles: triangles.to_vec(),
            groups: Arc::default(),
        })
    }

    /// This surface with a group for each position, or [`CollisionSurface::NO_GROUP`]. Candidates omit
    /// pairs of features of one group as far as groups are apart in the hierarchies; which of
    /// those around others are met all the same is up to the caller's filter. The vertices of a
    /// feature must be of one group.
    pub fn with_groups(mut self, groups: Arc<[u32]>) -> Self {
        self.groups = groups;
        self
    }

    /// Of features that may be paired with any others.
    pub const NO_GROUP: u32 = MIXED;

    fn group(&self, vertex: u32) -> u32 {
        self.groups.get(vertex as usize).copied().unwrap_or(MIXED)
    }

    /// This surface with vertices that may belong to no edge or triangle (particles): they are
    /// paired with faces.
    pub fn with_points(mut self, points: &[u32]) -> Self {
        self.vertices.extend(points);
        self.vertices.sort_unstable();
        self.vertices.dedup();
        self
    }

    /// All vertices of edges and triangles and all single ones, ascending.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// All edges as [lower vertex, higher vertex], ascending.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// The vertices `[a₀, a₁, b₀, b₁]` of two of its edges, by their numbers.
    #[inline]
    pub fn ends(&self, [i, j]: [u32; 2]) -> [u32; 4] {
        let ([p, q], [r, s]) = (self.edges[i as usize], self.edges[j as usize]);
        [p, q, r, s]
    }

    /// The triangles, as given.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// One more than the largest vertex.
    pub(crate) fn vertex_range(&self) -> usize {
        self.vertices.last().map_or(0, |v| *v as usize + 1)
    }

    /// Checks that there are positions for all vertices.
    pub(crate) fn check(&self, count: usize) -> Result<(), SurfaceError> {
        match self.vertices.last() {
            Some(&vertex) if vertex as usize >= count => {
                Err(SurfaceError::NoPosition { vertex, count })
            }
            _ => Ok(()),
        }
    }
}

/// Distance between features up to which their boxes overlap.
#[derive(Clone, Copy, Debug)]
pub enum Margin<'a> {
    /// One distance for all [m].
    Same(f64),
    /// A distance for each vertex [m]; for two features, the mean of the distances of any vertex
    /// of the one and any of the other.
    Each(&'a [f64]),
}

impl From<f64> for Margin<'_> {
    fn from(distance: f64) -> Self {
        Margin::Same(distance)
    }
}

impl<'a> From<&'a [f64]> for Margin<'a> {
    fn from(distances: &'a [f64]) -> Self {
        Margin::Each(distances)
    }
}

impl Margin<'_> {
    fn check(&self, vertices: &[u32]) -> Result<(), SurfaceError> {
        let sound = |m: f64| m >= 0.0 && m.is_finite();
        let bad = match self {
            Margin::Same(m) => (!sound(*m)).then_some(*m),
            Margin::Each(all) => {
                let count = all.len();
                // Vertices are in the order of a tree: any may be the highest.
                let highest = vertices.iter().copied().max();
                if let Some(vertex) = highest.filter(|v| *v as usize >= count) {
                    return Err(SurfaceError::NoPosition { vertex, count });
                }
                all.iter().copied().find(|m| !sound(*m))
            }
        };
        bad.map_or(Ok(()), |m| Err(SurfaceError::BadDistance(m)))
    }
}

/// A surface with hierarchies over the boxes that its features sweep during a step.
#[derive(Clone, Debug)]
pub struct SweptSurface {
    pub(crate) surface: Arc<CollisionSurface>,
    /// The features in the order of space: vertices along a curve, edges and triangles in the slots
    /// of their trees. Edges and triangles name their vertices by their places in that order, so
    /// that neighbours in space are neighbours in memory.
    pub(crate) slots: CollisionSurface,
    forest: Kind,
    /// Groups of the features in these slots.
    apart: Apart,
}

/// The groups of features in the order of space.
#[derive(Clone, Debug, Default)]
struct Apart {
    vertices: Groups,
    edges: Groups,
    triangles: Groups,
}

impl Apart {
    fn new(surface: &CollisionSurface, slots: &CollisionSurface) -> Self {
        if surface.groups.iter().all(|g| *g == MIXED) {
            return Apart::default();
        }
        let of = |place: u32| surface.group(slots.vertices[place as usize]);
        Apart {
            vertices: Groups::new(slots.vertices.len(), |i| of(i as u32)),
            edges: Groups::new(slots.edges.len(), |i| of(slots.edges[i][0])),
            triangles: Groups::new(slots.triangles.len(), |i| of(slots.triangles[i][0])),
        }
    }
}

/// Representation of the trajectories of features.
#[derive(Clone, Debug)]
enum Kind {
    /// The box around all of it: best for what moves less than it is long.
    Swept(Forest<Wide>),
    /// Boxes at the start and at the end, compared in the co-moving frame: twice the
    /// memory, and what moves far together meets no more than at rest.
    Moving(Forest<WideMoving>),
}

/// The hierarchies.
#[derive(Clone, Debug)]
struct Forest<R: Row> {
    edges: Tree<R>,
    triangles: Tree<R>,
    /// The trajectory of each vertex in the order of space. It bounds edges and triangles, and vertices ask
    /// the tree of triangles with it: a tree of their own would have no use.
    paths: Vec<R::One>,
}

/// `$with` for the forests of one surface, or of two of one kind.
macro_rules! each_kind {
    ($a:expr, |$f:ident| $with:expr) => {
        match $a {
            Kind::Swept($f) => $with,
            Kind::Moving($f) => $with,
        }
    };
    ($a:expr, $b:expr, |$f:ident, $g:ident| $with:expr) => {
        match (&$a.forest, &$b.forest) {
            (Kind::Moving($f), Kind::Moving($g)) => $with,
            (Kind::Swept($f), Kind::Swept($g)) => $with,
            _ => {
                let ($f, $g) = ($a.around(), $b.around());
                let ($f, $g) = (&$f, &$g);
                $with
            }
        }
    };
}

impl SweptSurface {
    /// Hierarchies for vertices that move linearly from `start` to `end` [m]. Two features whose
    /// paths come within `margin` [m] of each other (with the same margin on both surfaces) have
    /// overlapping boxes. Pass the same positions twice for a surface at rest.
    pub fn build<'a>(
        surface: impl Into<Arc<CollisionSurface>>,
        start: &[Vec3],
        end: &[impl EndPosition],
        margin: impl Into<Margin<'a>>,
    ) -> Result<Self, SurfaceError> {
        Self::of_kind(surface.into(), start, end, margin.into(), Kind::Swept)
    }

    /// Candidates for features that move farther than their size: two features have overlapping boxes
    /// whose paths come within `margin` at one time, and few that move together otherwise. Which others
    /// do depends on the hierarchies.
    pub fn build_moving<'a>(
        surface: impl Into<Arc<CollisionSurface>>,
        start: &[Vec3],
        end: &[impl EndPosition],
        margin: impl Into<Margin<'a>>,
    ) -> Result<Self, SurfaceError> {
        Self::of_kind(surface.into(), start, end, margin.into(), Kind::Moving)
    }

    fn of_kind<R: Row>(
        surface: Arc<CollisionSurface>,
        start: &[Vec3],
        end: &[impl EndPosition],
        margin: Margin,
        kind: impl Fn(Forest<R>) -> Kind,
    ) -> Result<Self, SurfaceError> {
        let (slots, forest) = Forest::build(&surface, start, end, margin)?;
        Ok(SweptSurface {
            apart: Apart::new(&surface, &slots),
            surface,
            slots,
            forest: kind(forest),
        })
    }

    /// Sets new positions, keeping the trees. On an error nothing changes.
    pub fn refit<'a>(
        &mut self,
        start: &[Vec3],
        end: &[impl EndPosition],
        margin: impl Into<Margin<'a>>,
    ) -> Result<(), SurfaceError> {
        self.surface.check(start.len().min(end.len()))?;
        let slots = &self.slots;
        let margin = margin.into();
        each_kind!(&mut self.forest, |f| f.refit(slots, start, end, margin))
    }

    /// Whether it was built for what moves farther than it is long.
    pub fn is_moving(&self) -> bool {
        matches!(self.forest, Kind::Moving(_))
    }

    /// Pairs of slots of overlapping edges, see [`Pairs::tasks`].
    pub(crate) fn edge_tasks<P: Send, A: Send>(
        &self,
        keep: impl Fn(u32, u32) -> (P, bool) + Sync,
        finish: impl Fn(&mut Vec<P>) -> A + Sync,
    ) -> Vec<A> {
        let edges = &self.slots.edges;
        each_kind!(&self.forest, |f| {
            Pairs::within(&f.edges, f.boxes(edges))
                .apart(&self.apart.edges, &self.apart.edges)
                .tasks(keep, finish)
        })
    }

    /// Pairs of a slot of an edge here and one of an edge there that overlap.
    pub(crate) fn edge_tasks_with<P: Send, A: Send>(
        &self,
        other: &Self,
        keep: impl Fn(u32, u32) -> (P, bool) + Sync,
        finish: impl Fn(&mut Vec<P>) -> A + Sync,
    ) -> Vec<A> {
        let (edges, others) = (&self.slots.edges, &other.slots.edges);
        each_kind!(self, other, |f, g| {
            Pairs::between(f.boxes(edges), &g.edges, g.boxes(others))
                .apart(&self.apart.edges, &other.apart.edges)
                .tasks(keep, finish)
        })
    }

    /// Pairs of a place of a vertex here and a slot of a triangle there that overlap.
    pub(crate) fn face_tasks_with<P: Send, A: Send>(
        &self,
        other: &Self,
        keep: impl Fn(u32, u32) -> (P, bool) + Sync,
        finish: impl Fn(&mut Vec<P>) -> A + Sync,
    ) -> Vec<A> {
        let triangles = &other.slots.triangles;
        each_kind!(self, other, |f, g| {
            Pairs::between(Paths(&f.paths), &g.triangles, g.boxes(triangles))
                .apart(&self.apart.vertices, &other.apart.triangles)
                .tasks(keep, finish)
        })
    }

    /// The index of the edge in each slot.
    pub(crate) fn edge_items(&self) -> &[u32] {
        each_kind!(&self.forest, |f| f.edges.items())
    }

    /// The index of the triangle in each slot.
    pub(crate) fn triangle_items(&self) -> &[u32] {
        each_kind!(&self.forest, |f| f.triangles.items())
    }

    /// Hierarchies of boxes around whole trajectories.
    fn around(&self) -> Forest<Wide> {
        let paths: Vec<Padded> = match &self.forest {
            Kind::Swept(f) => f.paths.clone(),
            Kind::Moving(f) => f.paths.iter().map(|p| p.start.union(&p.end)).collect(),
        };
        let CollisionSurface {
            edges, triangles, ..
        } = &self.slots;
        Forest {
            edges: Tree::over(self.edge_items().to_vec(), &Boxes::new(edges, &paths)),
            triangles: Tree::over(
                self.triangle_items().to_vec(),
                &Boxes::new(triangles, &paths),
            ),
            paths,
        }
    }

    /// The features.
    pub fn surface(&self) -> &CollisionSurface {
        &self.surface
    }

    /// Degradation of the trees since they were built, see [`Bvh::degradation`]; the worse of the two.
    pub fn degradation(&self) -> f64 {
        each_kind!(&self.forest, |f| {
            f.edges.degradation().max(f.triangles.degradation())
        })
    }

    /// Memory of the trees [bytes].
    pub fn bytes(&self) -> usize {
        let CollisionSurface {
            vertices,
            edges,
            triangles,
            ..
        } = &self.slots;
        let slots =
            size_of_val(&vertices[..]) + size_of_val(&edges[..]) + size_of_val(&triangles[..]);
        let trees = each_kind!(&self.forest, |f| {
            f.edges.bytes() + f.triangles.bytes() + size_of_val(&f.paths[..])
        });
        let apart = &self.apart;
        let groups = apart.vertices.bytes() + apart.edges.bytes() + apart.triangles.bytes();
        trees + slots + groups
    }
}

impl<R: Row> Forest<R> {
    /// The features in the order of space, and their hierarchies.
    fn build(
        surface: &CollisionSurface,
        start: &[Vec3],
        end: &[impl EndPosition],
        margin: Margin,
    ) -> Result<(CollisionSurface, Self), SurfaceError> {
        surface.check(start.len().min(end.len()))?;
        let mut paths: Vec<R::One> = Vec::new();
        set_paths(&surface.vertices, start, end, margin, &mut paths)?;
        let range = paths.iter().fold(R::One::EMPTY, |all, b| all.union(b));
        let range = range.covers();
        let order = along_curve(paths.len(), &range, |i| paths[i].covers())?;
        let paths = in_order(&paths, &order);
        let vertices = in_order(&surface.vertices, &order);
        let mut place = vec![0; surface.vertex_range()];
        for (slot, v) in vertices.iter().enumerate() {
            place[*v as usize] = slot as u32;
        }
        let (edges, edge_slots) = tree::<R, 2>(&surface.edges, &place, &paths, &range)?;
        let (triangles, triangle_slots) = tree::<R, 3>(&surface.triangles, &place, &paths, &range)?;
        let slots = CollisionSurface {
            vertices,
            edges: edge_slots,
            triangles: triangle_slots,
            groups: Arc::default(),
        };
        let forest = Forest {
            edges,
            triangles,
            paths,
        };
        Ok((slots, forest))
    }

    fn refit(
        &mut self,
        slots: &CollisionSurface,
        start: &[Vec3],
        end: &[impl EndPosition],
        margin: Margin,
    ) -> Result<(), SurfaceError> {
        set_paths(&slots.vertices, start, end, margin, &mut self.paths)?;
        let edges: Boxes<R, 2> = Boxes::new(&slots.edges, &self.paths);
        let triangles: Boxes<R, 3> = Boxes::new(&slots.triangles, &self.paths);
        bound_together((&mut self.edges, &edges), (&mut self.triangles, &triangles));
        Ok(())
    }

    /// The boxes of features in slots, the leaves of a tree.
    fn boxes<'a, const N: usize>(&'a self, slots: &'a [[u32; N]]) -> Boxes<'a, R, N> {
        Boxes::new(slots, &self.paths)
    }
}

/// The tree of features, and the features in its order with their vertices by place.
fn tree<R: Row, const N: usize>(
    features: &[[u32; N]],
    place: &[u32],
    paths: &[R::One],
    range: &Aabb32,
) -> Result<(Tree<R>, Vec<[u32; N]>), SurfaceError> {
    let placed = |f: &[u32; N]| f.map(|v| place[v as usize]);
    let items = along_curve(features.len(), range, |i| {
        around(paths, &placed(&features[i])).covers()
    })?;
    let slots = parallel::map(items.len(), 4096, |i| placed(&features[items[i] as usize]));
    Ok((Tree::over(items, &Boxes::<R, N>::new(&slots, paths)), slots))
}

/// The boxes of features, from the paths of their vertices.
struct Boxes<'a, R: Row, const N: usize> {
    slots: &'a [[u32; N]],
    paths: &'a [R::One],
}

impl<R: Row, const N: usize> Clone for Boxes<'_, R, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Row, const N: usize> Copy for Boxes<'_, R, N> {}

impl<'a, R: Row, const N: usize> Boxes<'a, R, N> {
    fn new(slots: &'a [[u32; N]], paths: &'a [R::One]) -> Self {
        Boxes { slots, paths }
    }
}

impl<R: Row, const N: usize> Leaves for Boxes<'_, R, N> {
    type Row = R;

    fn groups(&self) -> usize {
        self.slots.len().div_ceil(WIDTH)
    }

    #[inline]
    fn group(&self, i: usize) -> R {
        leaf(&self.slots[i * WIDTH..], |slots| around(self.paths, slots))
    }

    #[inline]
    fn around(&self, i: usize) -> R::One {
        let slots = self.slots[i * WIDTH..].iter().take(WIDTH);
        let boxes = slots.map(|slots| around(self.paths, slots));
        boxes.fold(R::One::EMPTY, |all, b| all.union(&b))
    }
}

/// The boxes of the vertices themselves.
struct Paths<'a, H>(&'a [H]);

impl<H: Hull> Leaves for Paths<'_, H> {
    type Row = H::Eight;

    fn groups(&self) -> usize {
        self.0.len().div_ceil(WIDTH)
    }

    #[inline]
    fn group(&self, i: usize) -> H::Eight {
        leaf(&self.0[i * WIDTH..], |b| *b)
    }
}

fn in_order<T: Copy>(list: &[T], order: &[u32]) -> Vec<T> {
    order.iter().map(|i| list[*i as usize]).collect()
}

/// The box around the boxes of some vertices.
#[inline]
fn around<H: Hull, const N: usize>(paths: &[H], slots: &[u32; N]) -> H {
    let mut all = paths[slots[0] as usize];
    for slot in &slots[1..] {
        all = all.union(&paths[*slot as usize]);
    }
    all
}

/// Number of entries that are prefetched.
const AHEAD: usize = 24;

/// End position of a vertex: a point, or any point of a box.
pub trait EndPosition: Sync {
    /// The lowest and the highest corner of the possible end positions [m].
    fn corners(&self) -> [Vec3; 2];
}

impl EndPosition for Vec3 {
    #[inline]
    fn corners(&self) -> [Vec3; 2] {
        [*self; 2]
    }
}

impl EndPosition for [Vec3; 2] {
    #[inline]
    fn corners(&self) -> [Vec3; 2] {
        *self
    }
}

/// A box in single precision, which is half as large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndBox([[f32; 3]; 2]);

impl EndBox {
    /// The least one that contains two corners [m] and is a little larger.
    #[inline]
    pub fn around(low: &Vec3, high: &Vec3) -> Self {
        Self([
            std::array::from_fn(|k| (low[k] as f32).next_down()),
            std::array::from_fn(|k| (high[k] as f32).next_up()),
        ])
    }
}

impl EndPosition for EndBox {
    #[inline]
    fn corners(&self) -> [Vec3; 2] {
        self.0.map(|corner| Vec3::from(corner.map(f64::from)))
    }
}

/// Sets the trajectory of each vertex. On an error `paths` is not to be used.
fn set_paths<H: Hull>(
    vertices: &[u32],
    start: &[Vec3],
    end: &[impl EndPosition],
    margin: Margin,
    paths: &mut Vec<H>,
) -> Result<(), SurfaceError> {
    margin.check(vertices)?;
    paths.resize(vertices.len(), H::EMPTY);
    let set = |first: usize, paths: &mut [H]| {
        let vertices = &vertices[first..];
        // Zero times a number is zero, times anything else it is not a number: sums without
        // branches tell whether the search below is needed.
        let mut zero = 0.0;
        for (i, (path, v)) in paths.iter_mut().zip(vertices).enumerate() {
            let next = vertices.get(i + AHEAD).map_or(0, |v| *v as usize);
            prefetch(start, next);
            prefetch(end, next);
            let (a, [b, c]) = (&start[*v as usize], end[*v as usize].corners());
            zero += 0.0 * ((a.x + b.x + c.x) + (a.y + b.y + c.y) + (a.z + b.z + c.z));
            let margin = match margin {
                Margin::Same(m) => m,
                Margin::Each(all) => all[*v as usize],
            };
            *path = H::path(a, [&b, &c], 0.5 * margin);
        }
        zero == 0.0
    };
    let finite = parallel::map_chunks_mut(paths, 4096, set);
    if !finite.contains(&false) {
        return Ok(());
    }
    let finite = |v: u32| {
        let [b, c] = end[v as usize].corners();
        let all = start[v as usize].iter().chain(&b).chain(&c);
        all.into_iter().all(|x| x.is_finite())
    };
    match vertices.iter().copied().filter(|v| !finite(*v)).min() {
        Some(vertex) => Err(SurfaceError::NotFinite { vertex }),
        None => Ok(()),
    }
}
