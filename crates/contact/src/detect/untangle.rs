//! Defects of an initial state, and contacts that correct them.
//!
//! At the start the side of a pair is unknown. For solids (analytic, sampled, or closed meshes) it is
//! the outside: points inside are moved to the closest point of the surface, however deep. Open sheets
//! have no outside. If the contour of a crossing cuts a sheet into parts, the largest part is taken to
//! be in its place, and the others are moved back through the other sheet. If it cuts nothing off, the
//! side with more of the one sheet over the other decides. [`Sides`] stores this for crossings of later
//! rounds. The rest (a sheet that crosses itself, a solid without a vertex inside another) has its
//! contour made
//! shorter in the manner of [volino2006]: if an edge with unit direction e pierces a triangle with
//! unit normal n, and R is the direction in which the contour goes on from there in
//! a face at the edge, then moving the edge by δ moves the end of the contour by
//! δ − (δ·n)/(e·n) e, so that the contour shrinks fastest for δ along
//!
//! ```text
//! g = Σ (R − (R·e)/(e·n) n)      over the faces at the edge.
//! ```

use std::collections::BTreeMap;

use stiction_geometry::collide::{ProximityKind, segment_meets_triangle};
use stiction_geometry::{InsideTest, TriMesh};
use stiction_math::Vec3;

use super::collider::ColliderForm;
use super::detector::Detector;
use super::emit::{Emission, Found, Kind, Overlaps, Shares, Wait};
use super::overlap::Crossing;
use super::step::{DetectStep, Motion};
use super::world::{DetectError, World};
use crate::ContactSet;

/// Two places that overlap or are closer than their thickness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offence {
    /// The place of a collider in the list, and its element.
    pub first: (u32, SurfaceElement),
    /// The other one.
    pub second: (u32, SurfaceElement),
    /// Penetration below the contact thickness [m]; none where surfaces cross, whose depth is
    /// unknown.
    pub depth: Option<f64>,
    /// Whether they overlap, and are not merely closer than their thickness: crossing surfaces, points
    /// inside a solid, round bodies (particles, and rods of two bodies) of which one is deep in the other.
    pub overlaps: bool,
}

/// A part of a collider, by its own numbers of vertices and triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceElement {
    /// A vertex.
    Vertex(u32),
    /// An edge.
    Edge([u32; 2]),
    /// A triangle.
    Triangle(u32),
    /// All of a solid without a mesh.
    Whole,
}

/// Overlaps that [`Detector::untangle`] removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TangleScope {
    /// Everything that crosses or is closer than the contact thickness: a start.
    #[default]
    All,
    /// Surfaces that cross, and what is close around them; all else stays: the end of a step.
    Crossings,
}

/// Amount of overlap of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tangle {
    /// Pairs of triangles that cross, and triangles that reach into a solid.
    pub crossings: usize,
    /// The deepest overlap as a fraction of the contact thickness [1], of pairs that do not cross.
    pub depth: f64,
}

/// On which side of one another pairs of sheets belong, as far as rounds before have told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sides(BTreeMap<[u32; 2], Side>);

/// One collider lies along `sign` times the normals of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Side {
    sign: f64,
    /// Whether the normals are those of the second collider of the pair.
    of_second: bool,
}

impl Detector {
    /// All crossings and all else that overlaps, then all pairs that are closer than their thickness by more than the part
    /// `tolerance` of it, deepest first.
    pub fn offences(&self, step: &DetectStep, tolerance: f64) -> Result<Vec<Offence>, DetectError> {
        let motion = self.at_rest(step)?;
        let world = &self.world;
        let crossing = |c: Crossing| Offence {
            first: (c.first.0, SurfaceElement::Triangle(c.first.1)),
            second: (
                c.second.0,
                c.second
                    .1
                    .map_or(SurfaceElement::Whole, SurfaceElement::Triangle),
            ),
            depth: None,
            overlaps: true,
        };
        let mut all: Vec<Offence> = world
            .intersections(&motion)?
            .into_iter()
            .map(crossing)
            .collect();
        let trees = world.trees_at_rest(&motion, None)?;
        let mut near = world.all_at_rest(&motion, step, &trees)?;
        near.extend(world.inside(&motion)?);
        near.retain(|f| f.thickness - f.distance > tolerance * f.thickness);
        near.sort_by(|a, b| {
            let depth = |f: &Found| f.thickness - f.distance;
            depth(b)
                .total_cmp(&depth(a))
                .then(a.order().cmp(&b.order()))
        });
        near.dedup_by_key(|f| f.key(world));
        all.extend(near.iter().map(|f| world.offence(f, tolerance)));
        // What overlaps goes first.
        all.sort_by_key(|o| !o.overlaps);
        Ok(all)
    }

    /// Fills `out` with contacts that separate overlapping bodies at the start of `step`, and tells
    /// how bad it is. Velocities are not used; the contacts are those of a step of `step.h`.
    pub fn untangle(
        &self,
        step: &DetectStep,
        scope: TangleScope,
        sides: &mut Sides,
        out: &mut ContactSet,
    ) -> Result<Tangle, DetectError> {
        out.clear();
        let motion = self.at_rest(step)?;
        let world = &self.world;
        let crossings = world.intersections(&motion)?;
        if crossings.is_empty() && scope == TangleScope::Crossings {
            return Ok(Tangle::default());
        }
        let trees = world.trees_at_rest(&motion, None)?;
        let mut near = world.all_at_rest(&motion, step, &trees)?;
        let mut inside = world.inside(&motion)?;
        inside.extend(world.through(&motion, &meshes(world, &crossings), sides));
        // Of what crosses, distances have no side.
        let mut tangled = vec![false; world.owner.len()];
        for (first, second) in meshes(world, &crossings) {
            for v in world
                .corners(first)
                .into_iter()
                .chain(world.corners(second))
            {
                tangled[v as usize] = true;
            }
        }
        for f in &inside {
            tangled[f.vertices[0] as usize] = true;
        }
        let involves = |f: &Found, which: &[bool]| {
            let mut all = f.vertices.iter().zip(&f.weights);
            all.any(|(v, w)| *w != 0.0 && which[*v as usize])
        };
        near.retain(|f| f.touch.is_some() || !involves(f, &tangled));
        if scope == TangleScope::Crossings {
            let around = world.around(&crossings);
            near.retain(|f| involves(f, &around));
        }
        let depth = |f: &Found| (f.thickness - f.distance) / f.thickness.max(f64::MIN_POSITIVE);
        let deepest = near.iter().chain(&inside).map(depth).fold(0.0, f64::max);
        let mut found = near;
        for (first, second) in meshes(world, &crossings) {
            let owner = |t: u32| world.owner[world.corners(t)[0] as usize];
            match sides.0.get(&[owner(first), owner(second)]) {
                Some(side) => world.part(&motion, first, second, *side, &mut found),
                None => world.shorten(&motion, &inside, first, second, &mut found),
            }
        }
        found.extend(inside);
        found.sort_by_key(Found::order);
        let mut shares = Shares::default();
        shares.clear(world.owner.len());
        found.iter().for_each(|f| shares.add(f));
        let mut keys: Vec<_> = found.iter().map(|f| f.key(world)).zip(0..).collect();
        keys.sort_unstable();
        keys.dedup_by_key(|k| k.0);
        keys.sort_unstable_by_key(|k| k.1);
        let mut emission = Emission {
            motion: &motion,
            shares: &shares,
            overlaps: Overlaps::AtOnce,
            relocate: false,
            arcs: &mut Vec::new(),
        };
        for (key, i) in keys {
            world.emit(&mut emission, &found[i], key, out);
        }
        Ok(Tangle {
            crossings: crossings.len(),
            depth: deepest,
        })
    }
}

/// The crossings between meshes, by the numbers of triangles among all.
fn meshes(world: &World, crossings: &[Crossing]) -> Vec<(u32, u32)> {
    let number = |c: u32, t: u32| world.first_triangle[c as usize] + t;
    let pair = |c: &Crossing| {
        let second = number(c.second.0, c.second.1?);
        Some((number(c.first.0, c.first.1), second))
    };
    crossings.iter().filter_map(pair).collect()
}

impl World {
    fn corners(&self, triangle: u32) -> [u32; 3] {
        self.surface.triangles()[triangle as usize]
    }

    /// The vertices of triangles that cross something, and their neighbours.
    fn around(&self, crossings: &[Crossing]) -> Vec<bool> {
        let mut around = vec![false; self.owner.len()];
        let number = |(c, t): (u32, u32)| self.first_triangle[c as usize] + t;
        for c in crossings {
            let second = c.second.1.map(|t| number((c.second.0, t)));
            for t in std::iter::once(number(c.first)).chain(second) {
                for v in self.corners(t) {
                    around[v as usize] = true;
                    for w in self.neighbours.of(v as usize) {
                        around[*w as usize] = true;
                    }
                }
            }
        }
        around
    }

    fn offence(&self, f: &Found, tolerance: f64) -> Offence {
        let own = |v: u32| v - self.first_vertex[self.owner[v as usize] as usize];
        let triangle = |v: [u32; 3]| {
            let first = self.first_triangle[self.owner[v[0] as usize] as usize];
            SurfaceElement::Triangle(self.triangle(v) as u32 - first)
        };
        let owner = |v: u32| self.owner[v as usize];
        let [a, b, c, d] = f.vertices;
        let vertex = |v: u32| (owner(v), SurfaceElement::Vertex(own(v)));
        let edge = |a: u32, b: u32| (owner(a), SurfaceElement::Edge([own(a), own(b)]));
        let solid = (
            f.touch.as_ref().map_or(0, |t| t.collider),
            SurfaceElement::Whole,
        );
        let (first, second) = match f.kind {
            Kind::Pair(ProximityKind::VertexVertex) => (vertex(a), vertex(b)),
            Kind::Pair(ProximityKind::VertexEdge) => (vertex(a), edge(b, c)),
            Kind::Pair(ProximityKind::VertexFace) => (vertex(a), (owner(b), triangle([b, c, d]))),
            Kind::Pair(ProximityKind::EdgeEdge) => (edge(a, b), edge(c, d)),
            Kind::VertexShape => (vertex(a), solid),
            Kind::EdgeShape => (edge(a, b), solid),
            Kind::FaceShape => ((owner(a), triangle([a, b, c])), solid),
        };
        Offence {
            first,
            second,
            depth: Some(f.thickness - f.distance),
            overlaps: self.are_inside(f, tolerance),
        }
    }

    /// Vertices inside closed meshes of other colliders, each with the closest face.
    fn inside(&self, motion: &Motion) -> Result<Vec<Found>, DetectError> {
        let mut found = Vec::new();
        let range = |c: usize| self.first_vertex[c] as usize..self.first_vertex[c + 1] as usize;
        for closed in 0..self.colliders.len() {
            let solid = matches!(
                self.colliders[closed].form,
                ColliderForm::Shape(_) | ColliderForm::LevelSet(_)
            );
            if solid || !self.is_closed(closed as u32) || range(closed).is_empty() {
                continue;
            }
            let base = self.first_vertex[closed];
            let [from, to] = [closed, closed + 1].map(|c| self.first_triangle[c] as usize);
            let own = self.surface.triangles()[from..to].iter();
            let mesh = TriMesh {
                positions: motion.x0[range(closed)].to_vec(),
                triangles: own.map(|t| t.map(|v| v - base)).collect(),
            };
            let Some(bounds) = mesh.bounds() else {
                continue;
            };
            let mut test = None;
            for other in 0..self.colliders.len() {
                if other == closed || !self.may_touch(other as u32, closed as u32) {
                    continue;
                }
                let thickness = self.thickness(other as u32, closed as u32);
                for v in range(other) {
                    let x = motion.x0[v];
                    if !bounds.contains(&x) || self.spares(&[v as u32], base) {
                        continue;
                    }
                    // Made only where something comes near.
                    let test = match &mut test {
                        Some(test) => test,
                        None => match InsideTest::new(&mesh) {
                            Ok(made) => test.insert(made),
                            Err(_) => break,
                        },
                    };
                    if !test.contains(&x) {
                        continue;
                    }
                    let Some((t, w)) = test.closest_triangle(&x, f64::INFINITY) else {
                        continue;
                    };
                    let at = |i: usize| mesh.positions[t[i] as usize] * w[i];
                    let out = at(0) + at(1) + at(2) - x;
                    let depth = out.norm();
                    let across = {
                        let c = t.map(|v| mesh.positions[v as usize]);
                        (c[1] - c[0]).cross(&(c[2] - c[0]))
                    };
                    let normal = out.try_normalize(1e-9 * thickness);
                    let Some(normal) = normal.or_else(|| across.try_normalize(0.0)) else {
                        continue;
                    };
                    found.push(Found {
                        kind: Kind::Pair(ProximityKind::VertexFace),
                        vertices: [v as u32, t[0] + base, t[1] + base, t[2] + base],
                        weights: [1.0, -w[0], -w[1], -w[2]],
                        normal,
                        distance: -depth,
                        thickness,
                        touch: None,
                        continuous: false,
                        deep: false,
                        wait: Wait::Never,
                        spare: false,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Parts of sheets that are cut off by another collider, vertex by vertex.
    fn through(&self, motion: &Motion, crossings: &[(u32, u32)], sides: &mut Sides) -> Vec<Found> {
        let owner = |t: u32| self.owner[self.corners(t)[0] as usize];
        let mut pairs: Vec<[u32; 2]> = crossings.iter().map(|c| [owner(c.0), owner(c.1)]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs.retain(|pair| {
            let open = pair.iter().all(|c| !self.is_closed(*c));
            open && pair[0] != pair[1] && !sides.0.contains_key(pair)
        });
        let mut found = Vec::new();
        for [a, b] in pairs {
            let both = crossings
                .iter()
                .filter(|c| [owner(c.0), owner(c.1)] == [a, b]);
            let both: Vec<(u32, u32)> = both.copied().collect();
            let back: Vec<(u32, u32)> = both.iter().map(|c| (c.1, c.0)).collect();
            let cuts = [self.cut(motion, a, &both), self.cut(motion, b, &back)];
            // Of two sheets that cut one another, the smaller part goes back.
            let cuts = cuts
                .into_iter()
                .zip([b, a])
                .filter(|(c, _)| !c.0.is_empty());
            let cut = cuts.min_by_key(|(c, _)| c.0.len());
            let ((cut, side), other) = match cut {
                Some(cut) => cut,
                None => (self.lies(motion, a, b, &both), b),
            };
            if side != 0.0 {
                found.extend(self.push_back(motion, &cut, side, other));
                let (sign, of_second) = (-side.signum(), other == b);
                sides.0.insert([a, b], Side { sign, of_second });
            }
        }
        found
    }

    /// The vertices of `own` that are, around its crossings with `other`, on the side of the other
    /// where less of it lies, and that side. Its size is that of the sum of heights.
    fn lies(
        &self,
        motion: &Motion,
        own: u32,
        other: u32,
        crossings: &[(u32, u32)],
    ) -> (Vec<u32>, f64) {
        let none = (Vec::new(), 0.0);
        let Some((mesh, surface)) = self.snapshot(motion, other) else {
            return none;
        };
        let [from, to] = [own, own + 1].map(|c| self.first_vertex[c as usize]);
        // Heights over the other's surface, where they project onto it.
        let height = |v: u32| {
            let x = motion.x0[v as usize];
            let (t, w) = surface.closest_triangle(&x, f64::INFINITY)?;
            let c = t.map(|v| mesh.positions[v as usize]);
            let apart = x - c[0] * w[0] - c[1] * w[1] - c[2] * w[2];
            let across = (c[1] - c[0]).cross(&(c[2] - c[0])).try_normalize(0.0)?;
            let height = across.dot(&apart);
            (height.abs() >= 0.9 * apart.norm()).then_some(height)
        };
        let heights: Vec<Option<f64>> = (from..to).map(height).collect();
        let home: f64 = heights.iter().flatten().sum();
        let of = |v: u32| heights[(v - from) as usize];
        let wrong = |v: u32| of(v).is_some_and(|h| h * home < 0.0);
        let seeds = crossings.iter().flat_map(|c| self.corners(c.0));
        let mut stack: Vec<u32> = seeds.filter(|v| wrong(*v)).collect();
        let mut seen = vec![false; heights.len()];
        while let Some(v) = stack.pop() {
            if !std::mem::replace(&mut seen[(v - from) as usize], true) {
                let around = self.neighbours.of(v as usize).iter().copied();
                stack.extend(around.filter(|w| wrong(*w)));
            }
        }
        let gone = (from..to).filter(|v| seen[(*v - from) as usize]);
        (gone.collect(), -home)
    }

    /// The surface of a collider where it is.
    fn snapshot(&self, motion: &Motion, collider: u32) -> Option<(TriMesh, InsideTest)> {
        let range = |first: &[u32]| {
            let c = collider as usize;
            first[c] as usize..first[c + 1] as usize
        };
        let base = self.first_vertex[collider as usize];
        let own = self.surface.triangles()[range(&self.first_triangle)].iter();
        let mesh = TriMesh {
            positions: motion.x0[range(&self.first_vertex)].to_vec(),
            triangles: own.map(|t| t.map(|v| v - base)).collect(),
        };
        let surface = InsideTest::new(&mesh).ok()?;
        Some((mesh, surface))
    }

    /// Contacts that bring two crossing triangles to the sides where they belong: every corner of
    /// each to its side of the other's plane.
    fn part(&self, motion: &Motion, first: u32, second: u32, side: Side, found: &mut Vec<Found>) {
        let at = |v: u32| motion.x0[v as usize];
        let (a, b) = (self.corners(first), self.corners(second));
        let across = |t: [u32; 3]| {
            let x = t.map(at);
            (x[1] - x[0]).cross(&(x[2] - x[0])).try_normalize(0.0)
        };
        let (Some(n_a), Some(n_b)) = (across(a), across(b)) else {
            return;
        };
        // From the second triangle to the first, along the normal of either.
        let apart = if side.of_second {
            n_b * side.sign
        } else {
            -n_a * side.sign
        };
        let up = |n: Vec3| n * n.dot(&apart).signum();
        let thickness = self.thickness(self.owner[a[0] as usize], self.owner[b[0] as usize]);
        for (own, other, normal) in [(a, b, up(n_b)), (b, a, -up(n_a))] {
            let x = other.map(at);
            for v in own {
                let w = stiction_geometry::closest_point_on_triangle(&at(v), &x);
                let on = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
                let distance = normal.dot(&(at(v) - on));
                if distance < thickness {
                    found.push(Found {
                        kind: Kind::Pair(ProximityKind::VertexFace),
                        vertices: [v, other[0], other[1], other[2]],
                        weights: [1.0, -w[0], -w[1], -w[2]],
                        normal,
                        distance,
                        thickness,
                        touch: None,
                        continuous: false,
                        deep: false,
                        wait: Wait::Never,
                        spare: false,
                    });
                }
            }
        }
    }

    /// The vertices of a collider that its crossings cut off from its largest part, and on which
    /// side of the other collider's triangles they are.
    fn cut(&self, motion: &Motion, collider: u32, crossings: &[(u32, u32)]) -> (Vec<u32>, f64) {
        let at = |v: u32| motion.x0[v as usize];
        let mut pierced: Vec<([u32; 2], Vec3)> = Vec::new();
        for (own, other) in crossings {
            let (own, x) = (self.corners(*own), self.corners(*other).map(at));
            let normal = (x[1] - x[0]).cross(&(x[2] - x[0]));
            for k in 0..3 {
                let (i, j) = (own[k].min(own[(k + 1) % 3]), own[k].max(own[(k + 1) % 3]));
                if segment_meets_triangle(&[at(i), at(j)], &x) {
                    pierced.push(([i, j], normal));
                }
            }
        }
        pierced.sort_by_key(|p| p.0);
        let from = self.first_vertex[collider as usize];
        let count = (self.first_vertex[collider as usize + 1] - from) as usize;
        // Parts of the surface: the vertices that paths without a pierced edge connect.
        let mut part = vec![u32::MAX; count];
        let mut sizes: Vec<usize> = Vec::new();
        for start in 0..count {
            if part[start] != u32::MAX {
                continue;
            }
            let number = sizes.len() as u32;
            part[start] = number;
            let (mut stack, mut size) = (vec![start as u32 + from], 0);
            while let Some(v) = stack.pop() {
                size += 1;
                for w in self.neighbours.of(v as usize) {
                    let edge = [v.min(*w), v.max(*w)];
                    let open = pierced.binary_search_by_key(&edge, |p| p.0).is_err();
                    if open && part[(w - from) as usize] == u32::MAX {
                        part[(w - from) as usize] = number;
                        stack.push(*w);
                    }
                }
            }
            sizes.push(size);
        }
        let largest = (0..sizes.len()).max_by_key(|i| (sizes[*i], usize::MAX - i));
        let Some(largest) = largest.map(|l| l as u32) else {
            return (Vec::new(), 0.0);
        };
        let home = |v: u32| part[(v - from) as usize] == largest;
        let mut cut: Vec<u32> = Vec::new();
        let mut side = 0.0;
        for ([i, j], normal) in &pierced {
            if home(*i) != home(*j) {
                let (stays, gone) = if home(*i) { (*i, *j) } else { (*j, *i) };
                side += normal.dot(&(at(gone) - at(stays)));
                cut.push(part[(gone - from) as usize]);
            }
        }
        cut.sort_unstable();
        cut.dedup();
        // Only parts that a crossing cuts off, not parts that never were connected.
        let gone = |v: &u32| cut.binary_search(&part[(*v - from) as usize]).is_ok();
        let vertices = from..from + count as u32;
        (vertices.filter(gone).collect(), side)
    }

    /// Contacts that bring vertices back to the other side of a collider.
    fn push_back(&self, motion: &Motion, cut: &[u32], side: f64, other: u32) -> Vec<Found> {
        let base = self.first_vertex[other as usize];
        let Some((mesh, surface)) = self.snapshot(motion, other) else {
            return Vec::new();
        };
        let one = |v: &u32| {
            let x = motion.x0[*v as usize];
            let (t, w) = surface.closest_triangle(&x, f64::INFINITY)?;
            let c = t.map(|v| mesh.positions[v as usize]);
            let across = (c[1] - c[0]).cross(&(c[2] - c[0])).try_normalize(0.0)?;
            let normal = -across * side.signum();
            let distance = normal.dot(&(x - c[0] * w[0] - c[1] * w[1] - c[2] * w[2]));
            Some(Found {
                kind: Kind::Pair(ProximityKind::VertexFace),
                vertices: [*v, t[0] + base, t[1] + base, t[2] + base],
                weights: [1.0, -w[0], -w[1], -w[2]],
                normal,
                distance,
                thickness: self.thickness(self.owner[*v as usize], other),
                touch: None,
                continuous: false,
                deep: false,
                wait: Wait::Never,
                spare: false,
            })
        };
        cut.iter().filter_map(one).collect()
    }

    /// Contacts that make the contour of two crossing triangles shorter, unless one of them is
    /// being moved out of a solid already.
    fn shorten(
        &self,
        motion: &Motion,
        inside: &[Found],
        first: u32,
        second: u32,
        found: &mut Vec<Found>,
    ) {
        let (a, b) = (self.corners(first), self.corners(second));
        let pushed = |v: &u32| inside.iter().any(|f| f.vertices[0] == *v);
        if a.iter().chain(&b).any(pushed) {
            return;
        }
        self.pierce(motion, a, b, found);
        self.pierce(motion, b, a, found);
    }

    /// The edges of `own` that pierce `other`.
    fn pierce(&self, motion: &Motion, own: [u32; 3], other: [u32; 3], found: &mut Vec<Found>) {
        let at = |v: u32| motion.x0[v as usize];
        let x = other.map(at);
        let Some(n) = (x[1] - x[0]).cross(&(x[2] - x[0])).try_normalize(0.0) else {
            return;
        };
        for k in 0..3 {
            let (i, j) = (own[k].min(own[(k + 1) % 3]), own[k].max(own[(k + 1) % 3]));
            let ends = [at(i), at(j)];
            if !segment_meets_triangle(&ends, &x) {
                continue;
            }
            let heights = ends.map(|p| n.dot(&(p - x[0])));
            let rise = heights[1] - heights[0];
            let Some(e) = (ends[1] - ends[0]).try_normalize(0.0) else {
                continue;
            };
            if rise == 0.0 {
                continue;
            }
            let s = (-heights[0] / rise).clamp(0.0, 1.0);
            let p = ends[0] + (ends[1] - ends[0]) * s;
            let mut g = Vec3::zeros();
            for wing in self.wings.of(self.edge(i, j)) {
                let into = at(*wing) - p;
                let face = (ends[1] - ends[0]).cross(&into);
                let Some(r) = face.cross(&n).try_normalize(0.0) else {
                    continue;
                };
                // Away from the edge, into the face.
                let side = into - e * into.dot(&e);
                let r = r * r.dot(&side).signum();
                g += r - n * (r.dot(&e) / e.dot(&n));
            }
            let Some(normal) = g.try_normalize(1e-12) else {
                continue;
            };
            let w = stiction_geometry::closest_point_on_triangle(&p, &x);
            let on = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
            let thickness = self.thickness(self.owner[i as usize], self.owner[other[0] as usize]);
            // The stencil of a contact has four vertices: the nearer end of the edge stands for it.
            let (v, end) = if s < 0.5 { (i, ends[0]) } else { (j, ends[1]) };
            // From where it is, this point is to go on by the thickness along g.
            let distance = normal.dot(&(end - on));
            found.push(Found {
                kind: Kind::Pair(ProximityKind::VertexFace),
                vertices: [v, other[0], other[1], other[2]],
                weights: [1.0, -w[0], -w[1], -w[2]],
                normal,
                distance,
                thickness: distance + thickness,
                touch: None,
                continuous: false,
                deep: false,
                wait: Wait::Never,
                spare: false,
            });
        }
    }
}
