//! Relaxation of an attachment on a triangle mesh [ding, Sect. 2.1.3].
//!
//! The attachment is a block without mass on the surface, pulled by the spring to the particle and held by
//! Coulomb friction. It slides until the friction cone is satisfied, through four states:
//!
//! 1. inside of a triangle,
//! 2. on the edge over which it entered a triangle,
//! 3. on an edge that it cannot leave: it slides along it,
//! 4. at a vertex that it tries to leave.
//!
//! In every state the pull is towards the point W of the plane (or line) that is closest to Z. It stops at the
//! distance μ‖Z − W‖ from W [ding, Eq. 2].
//!
//! # Termination
//! Whenever the attachment moves it comes closer to Z, and within one primitive it stops where it is closest as
//! far as friction lets it, so that no primitive is visited twice but through rounding. An attachment with a weight
//! above 1 − 128 ε is at a vertex, which it leaves only if it comes closer to Z by more than rounding [ding]. A limit on
//! the number of states, proportional to the number of triangles, holds for all input whatsoever.
//!
//! # Derivatives
//! All lengths are of a generic number type. A state that is left at a place that does not depend on Z, a vertex,
//! ends the chain of derivatives, as it should.

use stiction_math::{Real, Vec3, Vector};

use super::mesh::SurfaceTopology;

/// A point of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshPoint {
    /// The triangle.
    pub triangle: u32,
    /// Barycentric weights of its corners: not negative, sum 1.
    pub weights: [f64; 3],
}

/// States of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaxState {
    /// Inside of a triangle, where a relaxation begins.
    Inside,
    /// On the edge over which it entered a triangle.
    Entered,
    /// Sliding along an edge.
    Edge,
    /// At a vertex.
    Vertex,
}

/// The states and the triangles of a relaxation, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelaxTrace {
    /// The states.
    pub states: Vec<RelaxState>,
    /// The triangles on whose corners the result depends.
    pub triangles: Vec<u32>,
}

/// A relaxed attachment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxed<T> {
    /// The triangle.
    pub triangle: u32,
    /// Weights of its corners.
    pub weights: [T; 3],
    /// The point Y [m].
    pub point: Vector<T>,
    /// Unit normal with respect to which Y − Z is in the cone.
    pub normal: Vec3,
    /// Whether Z pulls Y into the surface: otherwise there is no force.
    pub active: bool,
    /// Whether the attachment has moved.
    pub moved: bool,
}

/// A weight above this is a vertex [ding, Sect. 2.1.3].
const AT_VERTEX: f64 = 1.0 - 128.0 * f64::EPSILON;
/// Excess over the cone, and progress away from a vertex, that count as rounding: in units of ε and the size
/// of what is compared.
const ROUNDING: f64 = 128.0 * f64::EPSILON;
/// States allowed per triangle.
const STATES: usize = 8;

/// P(X, Z) on a mesh whose corners are at `x` [m].
pub fn relax_on_mesh<T: Real>(
    mesh: &SurfaceTopology,
    x: &impl Fn(u32) -> Vector<T>,
    from: &MeshPoint,
    z: &Vector<T>,
    mu: f64,
    trace: &mut RelaxTrace,
) -> Relaxed<T> {
    trace.states.clear();
    trace.triangles.clear();
    let mut machine = Machine {
        mesh,
        x,
        origin: z.value(),
        z: *z - Vector::constant(&z.value()),
        mu,
        triangle: from.triangle,
        weights: from.weights.map(T::constant),
        moved: false,
        trace,
    };
    let mut next = Next::Face(None);
    for _ in 0..STATES * (mesh.triangles().len() + 8) {
        next = match next {
            Next::Face(entry) => machine.face(entry),
            Next::Edge(edge) => machine.edge(edge),
            Next::Vertex(corner) => machine.vertex(corner),
            Next::Done { normal, active } => {
                return machine.result(normal, active);
            }
        };
    }
    // Only a mesh that is nothing but rounding ends here.
    machine.result(Vec3::zeros(), false)
}

/// The state that follows.
#[derive(Clone, Copy)]
enum Next {
    /// In the triangle, entered over the edge opposite to a corner.
    Face(Option<usize>),
    /// Along the edge opposite to a corner.
    Edge(usize),
    /// At a corner.
    Vertex(usize),
    Done {
        normal: Vec3,
        active: bool,
    },
}

struct Machine<'a, T, X> {
    mesh: &'a SurfaceTopology,
    x: &'a X,
    /// Lengths are relative to the particle, so that rounding is that of the mesh alone.
    origin: Vec3,
    z: Vector<T>,
    mu: f64,
    triangle: u32,
    weights: [T; 3],
    moved: bool,
    trace: &'a mut RelaxTrace,
}

/// The pull in a plane.
struct Pull<T> {
    /// Unit normal of the triangle.
    normal: Vector<T>,
    /// Height of Z above the plane.
    height: T,
    /// From Y to where the attachment comes to rest in the plane; none where it rests at Y.
    slide: Option<Vector<T>>,
    /// Its length.
    length: f64,
}

/// The fraction of a pull d that is beyond the cone of radius r; none within rounding.
fn beyond<T: Real>(d: T, r: T, size: f64) -> Option<T> {
    let excess = d.value() - r.value();
    (excess > ROUNDING * size && d.value() > 0.0).then(|| -(r / d) + 1.0)
}

impl<T: Real, X: Fn(u32) -> Vector<T>> Machine<'_, T, X> {
    fn corners(&self, triangle: u32) -> [Vector<T>; 3] {
        let origin = Vector::constant(&self.origin);
        self.mesh.triangles()[triangle as usize].map(|v| (self.x)(v) - origin)
    }

    /// The pull at `y` in the plane of a triangle; none if it has no area.
    fn pull(&self, c: &[Vector<T>; 3], y: &Vector<T>) -> Option<Pull<T>> {
        let area = (c[1] - c[0]).cross(&(c[2] - c[0]));
        let twice = area.norm();
        if !twice.value().is_normal() {
            return None;
        }
        let normal = area.scale(T::constant(1.0) / twice);
        let to = self.z - *y;
        let height = to.dot(&normal);
        let across = to - normal.scale(height);
        let d = across.norm();
        let r = absolute(height) * self.mu;
        let size = to.value().norm() + y.value().norm();
        let share = beyond(d, r, size);
        Some(Pull {
            normal,
            height,
            length: share.map_or(0.0, |q| q.value() * d.value()),
            slide: share.map(|q| across.scale(q)),
        })
    }

    fn here(&self, c: &[Vector<T>; 3]) -> Vector<T> {
        let [u, v, w] = self.weights;
        c[0].scale(u) + c[1].scale(v) + c[2].scale(w)
    }

    /// States 1 and 2.
    fn face(&mut self, entry: Option<usize>) -> Next {
        self.visit(match entry {
            None if self.trace.states.is_empty() => RelaxState::Inside,
            _ => RelaxState::Entered,
        });
        let c = self.corners(self.triangle);
        let Some(pull) = self.pull(&c, &self.here(&c)) else {
            // Without area there is only an edge to slide along.
            return Next::Edge(entry.unwrap_or_else(|| self.onto_longest_edge(&c)));
        };
        let normal = pull.normal.value();
        let Some(slide) = pull.slide else {
            return self.end_inside(normal, &pull.height);
        };
        let change = barycentric(&c, &pull.normal, &slide);
        let target: [T; 3] = std::array::from_fn(|i| self.weights[i] + change[i]);
        // The edge that is met first.
        let mut exit: Option<(f64, usize)> = None;
        for i in 0..3 {
            let (from, to) = (self.weights[i].value(), target[i].value());
            if to < 0.0 {
                let at = from / (from - to);
                if exit.is_none_or(|(first, _)| at < first) {
                    exit = Some((at, i));
                }
            }
        }
        let Some((at, i)) = exit else {
            self.moved = true;
            self.weights = target;
            return self.end_inside(normal, &pull.height);
        };
        self.moved |= at > 0.0;
        let share = self.weights[i] / (self.weights[i] - target[i]);
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let on_edge = self.weights[j] + (target[j] - self.weights[j]) * share;
        let on_edge = match on_edge.value() {
            w if w < 0.0 => T::constant(0.0),
            w if w > 1.0 => T::constant(1.0),
            _ => on_edge,
        };
        self.weights[i] = T::constant(0.0);
        self.weights[j] = on_edge;
        self.weights[k] = -on_edge + 1.0;
        if let Some(corner) = self.at_vertex() {
            return Next::Vertex(corner);
        }
        if entry == Some(i) && at == 0.0 {
            return Next::Edge(i);
        }
        match self.cross(i) {
            Some(entry) => Next::Face(Some(entry)),
            None => Next::Edge(i),
        }
    }

    /// State 3.
    fn edge(&mut self, edge: usize) -> Next {
        self.visit(RelaxState::Edge);
        let c = self.corners(self.triangle);
        let (a, b) = ((edge + 1) % 3, (edge + 2) % 3);
        let along = c[b] - c[a];
        let square = along.norm_squared();
        if !square.value().is_normal() {
            return Next::Vertex(if self.weights[a].value() > self.weights[b].value() {
                a
            } else {
                b
            });
        }
        let foot = (self.z - c[a]).dot(&along) / square;
        let normal = self.z - (c[a] + along.scale(foot));
        let radius = normal.norm() * self.mu;
        let from = self.weights[b];
        let length = square.sqrt();
        let away = (from + -foot) * length;
        let size = absolute(away).value() + length.value();
        if let Some(share) = beyond(absolute(away), radius, size) {
            self.moved = true;
            let to = from + (foot - from) * share;
            if to.value() <= 0.0 {
                return Next::Vertex(a);
            }
            if to.value() >= 1.0 {
                return Next::Vertex(b);
            }
            self.set_edge(edge, to);
            if let Some(corner) = self.at_vertex() {
                return Next::Vertex(corner);
            }
        }
        let outward = self.edge_normal(edge);
        let below = (self.z - self.here(&c)).value().dot(&outward);
        let inner = self.mesh.across(self.triangle, edge).is_some();
        Next::Done {
            normal: unit(&-normal.value(), &outward),
            active: inner && below < 0.0,
        }
    }

    /// State 4.
    fn vertex(&mut self, corner: usize) -> Next {
        self.visit(RelaxState::Vertex);
        for (i, w) in self.weights.iter_mut().enumerate() {
            let unit = f64::from(u8::from(i == corner));
            self.moved |= w.value() != unit;
            *w = T::constant(unit);
        }
        let vertex = self.mesh.triangles()[self.triangle as usize][corner];
        let mut best: Option<(f64, u32, usize, Option<usize>)> = None;
        let (mut normal, mut held) = (Vec3::zeros(), false);
        for &t in self.mesh.around(vertex) {
            let Some(own) = self.mesh.corner(t, vertex) else {
                continue;
            };
            let c = self.corners(t);
            let y = c[own];
            let Some(pull) = self.pull(&c, &y) else {
                continue;
            };
            let [p, q] = [c[(own + 1) % 3] - y, c[(own + 2) % 3] - y].map(|e| e.value());
            let angle = stiction_math::elementary::atan2(p.cross(&q).norm(), p.dot(&q));
            normal += pull.normal.value() * angle;
            let Some(slide) = pull.slide else {
                held |= pull.height.value() < 0.0;
                continue;
            };
            let change = barycentric(&c, &pull.normal, &slide);
            let inward =
                change[(own + 1) % 3].value() >= 0.0 && change[(own + 2) % 3].value() >= 0.0;
            if inward && best.is_none_or(|b| pull.length > b.0) {
                best = Some((pull.length, t, own, None));
            }
        }
        if best.is_none() {
            for &t in self.mesh.around(vertex) {
                let Some(own) = self.mesh.corner(t, vertex) else {
                    continue;
                };
                let c = self.corners(t).map(|c| c.value());
                for (other, edge) in [
                    ((own + 1) % 3, (own + 2) % 3),
                    ((own + 2) % 3, (own + 1) % 3),
                ] {
                    let along = c[other] - c[own];
                    let to = self.z.value() - c[own];
                    let Some(along) = along.try_normalize(f64::MIN_POSITIVE) else {
                        continue;
                    };
                    let d = to.dot(&along);
                    let r = self.mu * (to - along * d).norm();
                    let size = to.norm() + c[own].norm() + (c[other] - c[own]).norm();
                    let progress = d - r;
                    if progress > ROUNDING * size && best.is_none_or(|b| progress > b.0) {
                        best = Some((progress, t, own, Some(edge)));
                    }
                }
            }
        }
        if let Some((_, triangle, own, edge)) = best {
            self.triangle = triangle;
            for (i, w) in self.weights.iter_mut().enumerate() {
                *w = T::constant(f64::from(u8::from(i == own)));
            }
            return match edge {
                Some(edge) => Next::Edge(edge),
                None => Next::Face(None),
            };
        }
        let c = self.corners(self.triangle);
        let to = (self.z - c[corner]).value();
        let inner = !self.mesh.is_border(vertex) || held;
        Next::Done {
            normal: unit(&-to, &normal),
            active: inner && to.dot(&normal) < 0.0,
        }
    }

    fn visit(&mut self, state: RelaxState) {
        self.trace.states.push(state);
        if self.trace.triangles.last() != Some(&self.triangle) {
            self.trace.triangles.push(self.triangle);
        }
    }

    fn end_inside(&self, normal: Vec3, height: &T) -> Next {
        Next::Done {
            normal,
            active: height.value() < 0.0,
        }
    }

    /// Expresses a point of a triangle without area by its longest edge, which covers the triangle: the point stays
    /// where it is. Returns the edge.
    fn onto_longest_edge(&mut self, c: &[Vector<T>; 3]) -> usize {
        let along = |edge: usize| c[(edge + 2) % 3] - c[(edge + 1) % 3];
        let square = |edge: usize| along(edge).value().norm_squared();
        let edge = (1..3).fold(0, |longest, i| match square(i) > square(longest) {
            true => i,
            false => longest,
        });
        if square(edge).is_normal() {
            let from_start = self.here(c) - c[(edge + 1) % 3];
            let to = from_start.dot(&along(edge)) / along(edge).norm_squared();
            self.set_edge(
                edge,
                match to.value() {
                    t if t < 0.0 => T::constant(0.0),
                    t if t > 1.0 => T::constant(1.0),
                    _ => to,
                },
            );
        }
        edge
    }

    fn at_vertex(&self) -> Option<usize> {
        self.weights.iter().position(|w| w.value() > AT_VERTEX)
    }

    /// Sets the weights on an edge to those of the fraction `to` of it.
    fn set_edge(&mut self, edge: usize, to: T) {
        self.weights[edge] = T::constant(0.0);
        self.weights[(edge + 1) % 3] = -to + 1.0;
        self.weights[(edge + 2) % 3] = to;
    }

    /// Goes to the triangle across an edge; returns the edge there.
    fn cross(&mut self, edge: usize) -> Option<usize> {
        let other = self.mesh.across(self.triangle, edge)?;
        let corners = self.mesh.triangles()[self.triangle as usize];
        let mut weights = [T::constant(0.0); 3];
        let mut entry = 3;
        for i in [(edge + 1) % 3, (edge + 2) % 3] {
            let there = self.mesh.corner(other, corners[i])?;
            weights[there] = self.weights[i];
            entry -= there;
        }
        (self.triangle, self.weights) = (other, weights);
        Some(entry)
    }

    /// Sum of the unit normals at an edge.
    fn edge_normal(&self, edge: usize) -> Vec3 {
        let of = |t: u32| {
            let c = self.corners(t).map(|c| c.value());
            let area = (c[1] - c[0]).cross(&(c[2] - c[0]));
            area.try_normalize(f64::MIN_POSITIVE).unwrap_or_default()
        };
        let other = self.mesh.across(self.triangle, edge);
        of(self.triangle) + other.map_or(Vec3::zeros(), of)
    }

    fn result(&self, normal: Vec3, active: bool) -> Relaxed<T> {
        let c = self.corners(self.triangle);
        Relaxed {
            triangle: self.triangle,
            weights: self.weights,
            point: self.here(&c) + Vector::constant(&self.origin),
            normal,
            active,
            moved: self.moved,
        }
    }
}

fn absolute<T: Real>(x: T) -> T {
    if x.value() < 0.0 { -x } else { x }
}

/// The direction of `a`, turned to the side of `outward`, or that of `outward` where `a` vanishes.
fn unit(a: &Vec3, outward: &Vec3) -> Vec3 {
    let direction = a.try_normalize(f64::MIN_POSITIVE);
    let direction = direction.or(outward.try_normalize(f64::MIN_POSITIVE));
    let direction = direction.unwrap_or(Vec3::z());
    match direction.dot(outward) < 0.0 {
        true => -direction,
        false => direction,
    }
}

/// Changes of the weights of a triangle with the unit normal `n` for a displacement in its plane.
fn barycentric<T: Real>(c: &[Vector<T>; 3], n: &Vector<T>, p: &Vector<T>) -> [T; 3] {
    let (e, f) = (c[1] - c[0], c[2] - c[0]);
    let inverse = T::constant(1.0) / e.cross(&f).dot(n);
    let second = p.cross(&f).dot(n) * inverse;
    let third = e.cross(p).dot(n) * inverse;
    [-(second + third), second, third]
}
