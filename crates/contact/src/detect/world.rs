//! All colliders in one numbering: vertices, edges, triangles and their adjacency.

use std::sync::Arc;

use stiction_geometry::analytic::ShapeFault;
use stiction_geometry::collide::{CollisionSurface, SurfaceError};
use stiction_math::Vec3;

use super::collider::{Collider, ColliderForm, Laws, Points};
use super::pairs::REACH;

/// Reason for which colliders or a step cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DetectError {
    /// A column has the wrong length.
    #[error("`{column}` has {found} entries instead of {expected}")]
    Length {
        /// The column's name.
        column: &'static str,
        /// Expected number of entries.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// A collider's numbers are wrong.
    #[error("collider {collider}: {fault}")]
    Collider {
        /// Its place in the list.
        collider: usize,
        /// The defect.
        fault: ColliderFault,
    },
    /// The placement of an obstacle does not fit its kind.
    #[error("obstacle {0} is an analytic shape and has no vertices to place")]
    Placement(usize),
    /// The pose of an obstacle is not finite.
    #[error("the placement of obstacle {0} is not finite")]
    NotFinite(usize),
    /// The time step is not a positive number.
    #[error("the time step is {0} s")]
    TimeStep(f64),
    /// A setting is out of its range.
    #[error("`{name}` is {value}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// Positions or topology are refused by the search.
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    /// More pairs of features are close than could be solved.
    #[error(
        "{pairs} pairs of features are close to one another, most of them of {first} and {second}; \
         at most {limit} are allowed (512 per vertex): move them apart"
    )]
    Crowded {
        /// The collider with most of them.
        first: String,
        /// The other one; the same where it is crowded in itself.
        second: String,
        /// The number of pairs.
        pairs: usize,
        /// The number allowed.
        limit: usize,
    },
    /// There are more vertices or triangles than 32-bit numbers.
    #[error("there are too many vertices or triangles")]
    TooMany,
}

/// A defect of a collider.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ColliderFault {
    /// The thickness is negative or not finite.
    #[error("the thickness is {0} m")]
    Thickness(f64),
    /// The material has no row in the table of laws.
    #[error("material {0} has no row in the table of laws")]
    Material(u32),
    /// A triangle, edge or entry names something that does not exist.
    #[error("it names vertex or entry {0}, which does not exist")]
    Index(u32),
    /// The ranges of the point map are broken.
    #[error("the ranges of its point map are broken")]
    Ranges,
    /// The solid's numbers make no solid.
    #[error(transparent)]
    Shape(ShapeFault),
}

/// Boxes are this fraction of the thickness larger than contacts need, so that velocities can change a
/// little without a new search.
const PAD: f64 = 0.25;

/// No angular block.
pub(super) const NONE: u32 = u32::MAX;

/// Lists of numbers, one per item.
#[derive(Debug, Default)]
pub(super) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new(count: usize, pairs: &mut [[u32; 2]]) -> Self {
        pairs.sort_unstable();
        let mut start = vec![0; count + 1];
        for [i, _] in pairs.iter() {
            start[*i as usize + 1] += 1;
        }
        for i in 0..count {
            start[i + 1] += start[i];
        }
        let items = pairs.iter().map(|p| p[1]).collect();
        Lists { start, items }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    pub(super) fn of(&self, i: usize) -> &[u32] {
        &self.items[self.start[i] as usize..self.start[i + 1] as usize]
    }
}

/// Data that do not change from step to step.
#[derive(Debug)]
pub(super) struct World {
    pub colliders: Vec<Collider>,
    /// Names of the colliders, for messages; may be fewer.
    pub names: Vec<String>,
    pub laws: Laws,
    pub surface: Arc<CollisionSurface>,
    /// The first vertex and triangle of each collider, and the number of all at the end.
    pub first_vertex: Vec<u32>,
    pub first_triangle: Vec<u32>,
    /// The collider of each vertex.
    pub owner: Vec<u32>,
    /// Blocks and weights of each vertex.
    pub entry_start: Vec<u32>,
    pub entries: Vec<(u32, f64)>,
    /// The angular block of each vertex of a rigid body.
    pub angular: Vec<u32>,
    pub rest: Vec<Vec3>,
    /// A third of the triangles around each vertex at rest, or the cross-section of a particle [m²].
    pub area: Vec<f64>,
    /// Opposite corners of the triangles at each edge, the other ends of the edges at each vertex,
    /// the triangles at each vertex.
    pub wings: Lists,
    pub neighbours: Lists,
    pub fans: Lists,
    /// The first vertex of the polyline that each vertex of rods is on; empty without rods.
    pub strand: Vec<u32>,
    /// The collider that each vertex never touches; empty if there is no such vertex.
    pub exempt: Vec<u32>,
    /// The vertices that each vertex is sewn to: features that they join are not paired. Empty without
    /// seams.
    pub sewn: Lists,
    /// The group of each vertex: features of a collider that cannot touch itself, or of any
    /// obstacles, are not paired.
    pub groups: Arc<[u32]>,
    /// Vertices of bodies that have neither triangles nor rods, ascending, and, if there are any,
    /// the edges without triangles that they can meet.
    pub particles: Vec<u32>,
    pub rods: Vec<[u32; 2]>,
    /// The largest contact thickness of any pair [m].
    pub thickest: f64,
    /// Margin of the box of each vertex, twice [m]: its own thickness decides, so
    /// that one thick collider does not make all boxes large.
    pub margin: Vec<f64>,
    /// One more than the largest block named.
    pub blocks: usize,
    /// Number of rotations.
    pub rotations: usize,
    triangle_order: Vec<u32>,
}

impl World {
    pub(super) fn new(colliders: Vec<Collider>, laws: Laws) -> Result<Self, DetectError> {
        let mut w = World {
            laws,
            surface: Arc::default(),
            first_vertex: vec![0],
            first_triangle: vec![0],
            owner: Vec::new(),
            entry_start: vec![0],
            entries: Vec::new(),
            angular: Vec::new(),
            rest: Vec::new(),
            area: Vec::new(),
            wings: Lists::default(),
            neighbours: Lists::default(),
            fans: Lists::default(),
            particles: Vec::new(),
            rods: Vec::new(),
            strand: Vec::new(),
            exempt: Vec::new(),
            sewn: Lists::default(),
            groups: Arc::default(),
            thickest: 0.0,
            margin: Vec::new(),
            blocks: 0,
            rotations: 0,
            triangle_order: Vec::new(),
            colliders: Vec::new(),
            names: Vec::new(),
        };
        let (mut triangles, mut rods) = (Vec::new(), Vec::new());
        for (i, c) in colliders.iter().enumerate() {
            w.add(i as u32, c, &mut triangles, &mut rods)
                .map_err(|fault| DetectError::Collider { collider: i, fault })?;
            if w.owner.len() >= NONE as usize || triangles.len() >= NONE as usize {
                return Err(DetectError::TooMany);
            }
            w.first_vertex.push(w.owner.len() as u32);
            w.first_triangle.push(triangles.len() as u32);
        }
        w.exempt(&colliders)
            .map_err(|(collider, fault)| DetectError::Collider { collider, fault })?;
        w.colliders = colliders;
        w.groups = w.solitary();
        let surface = CollisionSurface::new(&triangles, &rods)?.with_points(&w.particles);
        w.surface = Arc::new(surface.with_groups(w.groups.clone()));
        w.connect();
        let mut two: Vec<f64> = w.colliders.iter().map(|c| c.thickness).collect();
        two.sort_unstable_by(|a, b| b.total_cmp(a));
        w.thickest = two.first().copied().unwrap_or(0.0);
        let margin = |c: &u32| (REACH + PAD) * w.colliders[*c as usize].thickness;
        w.margin = w.owner.iter().map(margin).collect();
        w.blocks = w
            .entries
            .iter()
            .map(|e| e.0 as usize + 1)
            .max()
            .unwrap_or(0);
        let angular = w.angular.iter().filter(|b| **b != NONE);
        w.blocks = w.blocks.max(angular.max().map_or(0, |b| *b as usize + 1));
        w.colliders.iter_mut().for_each(lighten);
        Ok(w)
    }

    fn add(
        &mut self,
        index: u32,
        c: &Collider,
        triangles: &mut Vec<[u32; 3]>,
        rods: &mut Vec<[u32; 2]>,
    ) -> Result<(), ColliderFault> {
        if !(c.thickness >= 0.0 && c.thickness.is_finite()) {
            return Err(ColliderFault::Thickness(c.thickness));
        }
        if c.material >= self.laws.count() {
            return Err(ColliderFault::Material(c.material));
        }
        let base = self.owner.len() as u32;
        let (own, bars, count): (&[[u32; 3]], &[[u32; 2]], usize) = match &c.form {
            ColliderForm::Shape(s) => {
                s.check().map_err(ColliderFault::Shape)?;
                (&[], &[], 0)
            }
            ColliderForm::LevelSet(_) => (&[], &[], 0),
            ColliderForm::Mesh(m) => (&m.triangles, &[], m.vertices.len()),
            ColliderForm::Body(b) => (&b.triangles, &b.rods, b.points.len()),
        };
        if matches!(c.form, ColliderForm::Body(_)) && own.is_empty() && bars.is_empty() {
            self.particles.extend(base..base + count as u32);
        }
        let named = own.iter().flatten().chain(bars.iter().flatten());
        if let Some(v) = named.copied().find(|v| *v as usize >= count) {
            return Err(ColliderFault::Index(v));
        }
        triangles.extend(own.iter().map(|t| t.map(|v| v + base)));
        rods.extend(bars.iter().map(|e| e.map(|v| v + base)));
        self.owner.resize(self.owner.len() + count, index);
        let mut angular = NONE;
        match &c.form {
            ColliderForm::Shape(_) | ColliderForm::LevelSet(_) => {}
            ColliderForm::Mesh(m) => {
                self.rest.extend(&m.vertices);
                let end = self.entries.len() as u32;
                self.entry_start.resize(self.owner.len() + 1, end);
            }
            ColliderForm::Body(b) => {
                if b.rest.len() != count {
                    return Err(ColliderFault::Index(count as u32));
                }
                self.rest.extend(&b.rest);
                match &b.points {
                    Points::Rigid { block, rigid, .. } => {
                        angular = block + 1;
                        self.rotations = self.rotations.max(*rigid as usize + 1);
                        for _ in 0..count {
                            self.entries.push((*block, 1.0));
                            self.entry_start.push(self.entries.len() as u32);
                        }
                    }
                    Points::Weighted { start, entries } => {
                        let sound = start.first() == Some(&0)
                            && start.windows(2).all(|w| w[0] <= w[1])
                            && start.last().is_some_and(|e| *e as usize == entries.len());
                        if !sound {
                            return Err(ColliderFault::Ranges);
                        }
                        let base = self.entries.len() as u32;
                        self.entries.extend(entries);
                        self.entry_start
                            .extend(start.iter().skip(1).map(|e| e + base));
                    }
                }
            }
        }
        self.angular.resize(self.owner.len(), angular);
        Ok(())
    }

    fn exempt(&mut self, colliders: &[Collider]) -> Result<(), (usize, ColliderFault)> {
        for (i, c) in colliders.iter().enumerate() {
            let ColliderForm::Body(body) = &c.form else {
                continue;
            };
            let Some(exempt) = &body.exempt else { continue };
            if exempt.collider as usize >= colliders.len() {
                return Err((i, ColliderFault::Index(exempt.collider)));
            }
            self.exempt.resize(self.owner.len(), NONE);
            let range = self.first_vertex[i]..self.first_vertex[i + 1];
            for v in &exempt.vertices {
                match v.checked_add(range.start).filter(|v| range.contains(v)) {
                    Some(v) => self.exempt[v as usize] = exempt.collider,
                    None => return Err((i, ColliderFault::Index(*v))),
                }
            }
        }
        Ok(())
    }

    fn connect(&mut self) {
        let count = self.owner.len();
        let (edges, triangles) = (self.surface.edges(), self.surface.triangles());
        self.area = vec![0.0; count];
        // A particle stands for its cross-section.
        for &p in &self.particles {
            let thickness = self.colliders[self.owner[p as usize] as usize].thickness;
            self.area[p as usize] = std::f64::consts::PI * (0.5 * thickness).powi(2);
        }
        let mut wings = Vec::with_capacity(3 * triangles.len());
        let mut fans = Vec::with_capacity(3 * triangles.len());
        for (i, t) in triangles.iter().enumerate() {
            let [a, b, c] = t.map(|v| self.rest[v as usize]);
            let third = (b - a).cross(&(c - a)).norm() / 6.0;
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                if let Ok(e) = edges.binary_search(&[a.min(b), a.max(b)]) {
                    wings.push([e as u32, t[(k + 2) % 3]]);
                }
                fans.push([a, i as u32]);
                self.area[a as usize] += third;
            }
        }
        let mut ends: Vec<[u32; 2]> = edges.iter().flat_map(|e| [*e, [e[1], e[0]]]).collect();
        self.wings = Lists::new(edges.len(), &mut wings);
        // A rod stands for its width, half of every edge at each of its ends.
        let bare = |e: &usize| self.wings.of(*e).is_empty();
        if (0..edges.len()).any(|e| bare(&e)) {
            self.strand = (0..count as u32).collect();
        }
        for (e, &[a, b]) in edges.iter().enumerate() {
            if bare(&e) {
                // Edges are sorted, so that the label of the first end is known.
                self.strand[b as usize] = self.strand[a as usize];
                let width = self.colliders[self.owner[a as usize] as usize].thickness;
                let length = (self.rest[b as usize] - self.rest[a as usize]).norm();
                self.area[a as usize] += 0.5 * width * length;
                self.area[b as usize] += 0.5 * width * length;
            }
        }
        self.fans = Lists::new(count, &mut fans);
        self.neighbours = Lists::new(count, &mut ends);
        let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
        order.sort_unstable_by_key(|&i| (triangles[i as usize], i));
        self.triangle_order = order;
        if !self.particles.is_empty() {
            let rods = edges.iter().enumerate();
            let rods = rods.filter(|(e, _)| self.wings.of(*e).is_empty());
            self.rods = rods.map(|(_, e)| *e).collect();
        }
    }

    /// A collider, for messages.
    pub(super) fn name(&self, collider: u32) -> String {
        match self.names.get(collider as usize) {
            Some(name) => format!("`{name}`"),
            None => format!("collider {collider}"),
        }
    }

    fn solitary(&self) -> Arc<[u32]> {
        let is_body = |c: u32| matches!(self.colliders[c as usize].form, ColliderForm::Body(_));
        let count = self.colliders.len() as u32;
        let obstacle = (0..count).find(|c| !is_body(*c)).unwrap_or(NONE);
        let group = |c: u32| match (is_body(c), self.may_touch(c, c)) {
            (false, _) => obstacle,
            (true, false) => c,
            (true, true) => CollisionSurface::NO_GROUP,
        };
        let groups: Vec<u32> = (0..count).map(group).collect();
        self.owner.iter().map(|c| groups[*c as usize]).collect()
    }

    pub(super) fn owner(&self, vertex: u32) -> &Collider {
        &self.colliders[self.owner[vertex as usize] as usize]
    }

    /// The number of an edge, ends in ascending order.
    pub(super) fn edge(&self, a: u32, b: u32) -> usize {
        let edges = self.surface.edges();
        edges.binary_search(&[a, b]).unwrap_or(edges.len())
    }

    /// The number of a triangle, corners in its order.
    pub(super) fn triangle(&self, corners: [u32; 3]) -> usize {
        let triangles = self.surface.triangles();
        let of = |i: &u32| triangles[*i as usize];
        let at = self.triangle_order.partition_point(|i| of(i) < corners);
        self.triangle_order
            .get(at)
            .map_or(triangles.len(), |i| *i as usize)
    }

    /// Distance by which a vertex may be outside the box of its path before its surroundings are
    /// searched again [m].
    pub(super) fn pad(&self, vertex: usize) -> f64 {
        let owner = self.owner[vertex] as usize;
        0.5 * PAD * self.colliders[owner].thickness
    }

    pub(super) fn bytes(&self) -> usize {
        let s = &self.surface;
        let surface =
            size_of_val(s.vertices()) + size_of_val(s.edges()) + size_of_val(s.triangles());
        let lists = [&self.wings, &self.neighbours, &self.fans];
        let lists = lists.map(|l| size_of_val(&l.start[..]) + size_of_val(&l.items[..]));
        let numbers = [
            &self.owner,
            &self.entry_start,
            &self.angular,
            &self.triangle_order,
            &self.particles,
            &self.exempt,
        ];
        let numbers = numbers.map(|n| size_of_val(&n[..]));
        let points = size_of_val(&self.entries[..]) + size_of_val(&self.rest[..]);
        let surface = surface + size_of_val(&self.rods[..]);
        let per_vertex = size_of_val(&self.area[..]) + size_of_val(&self.margin[..]);
        let sum: usize = lists.iter().chain(&numbers).sum();
        surface + points + per_vertex + sum
    }

    /// Whether two colliders, by their places, can touch at all.
    pub(super) fn may_touch(&self, a: u32, b: u32) -> bool {
        let body = |i: u32| match &self.colliders[i as usize].form {
            ColliderForm::Body(b) => Some(b),
            _ => None,
        };
        if a != b {
            return body(a).is_some() || body(b).is_some();
        }
        let own =
            |b: &super::ColliderBody| b.self_contact && !matches!(b.points, Points::Rigid { .. });
        body(a).is_some_and(own)
    }

    /// Whether a feature has a vertex that never touches the collider of another feature.
    pub(super) fn spares(&self, feature: &[u32], other: u32) -> bool {
        let owner = self.owner[other as usize];
        !self.exempt.is_empty() && feature.iter().any(|v| self.exempt[*v as usize] == owner)
    }

    /// Lists the vertices that are sewn together, as pairs of collider and vertex; pairs without such
    /// a vertex are ignored.
    pub(super) fn sew(&mut self, pairs: &[[(u32, u32); 2]]) {
        let vertex = |(collider, vertex): (u32, u32)| {
            let range = self
                .first_vertex
                .get(collider as usize..collider as usize + 2)?;
            let v = range[0].checked_add(vertex)?;
            (v < range[1]).then_some(v)
        };
        let both = |&[a, b]: &[(u32, u32); 2]| Some([vertex(a)?, vertex(b)?]);
        let known = pairs.iter().filter_map(both).filter(|[a, b]| a != b);
        let mut all: Vec<[u32; 2]> = known.flat_map(|[a, b]| [[a, b], [b, a]]).collect();
        all.sort_unstable();
        all.dedup();
        if !all.is_empty() {
            self.sewn = Lists::new(self.owner.len(), &mut all);
        }
    }

    /// Whether a vertex of one feature is sewn to one of another.
    pub(super) fn is_sewn(&self, a: &[u32], b: &[u32]) -> bool {
        let to = |v: &u32| self.sewn.of(*v as usize).iter().any(|w| b.contains(w));
        !self.sewn.is_empty() && a.iter().any(to)
    }

    /// The contact thickness of two colliders [m].
    pub(super) fn thickness(&self, a: u32, b: u32) -> f64 {
        let of = |i: u32| self.colliders[i as usize].thickness;
        0.5 * (of(a) + of(b))
    }

    pub(super) fn is_closed(&self, collider: u32) -> bool {
        match &self.colliders[collider as usize].form {
            ColliderForm::Body(b) => b.closed,
            ColliderForm::Mesh(m) => m.closed,
            ColliderForm::Shape(_) | ColliderForm::LevelSet(_) => true,
        }
    }
}

/// Drops what is now in lists for all vertices together.
fn lighten(collider: &mut Collider) {
    if let ColliderForm::Body(body) = &mut collider.form {
        body.rest = Vec::new();
        if let Points::Weighted { start, entries } = &mut body.points {
            (*start, *entries) = (Vec::new(), Vec::new());
        }
    }
}
