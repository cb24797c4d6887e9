//! Split, flip and collapse of one edge, and the conditions under which they are allowed.
//!
//! The rest surface is a polyhedron that no operation changes: flips and collapses stay within its
//! planes, and vertices on its creases, on its boundary and between labels move along these lines
//! only. Area and mass are therefore the same before and after.

use stiction_math::{Mat2, Vec3};

use super::{
    Guard, Hold, RemeshConfig, RemeshCounts, Replacement,
    sheet::{NONE, Sheet, Successor, next},
    sizing::{Sizing, TangentFrame},
    trace::Trace,
};

/// Largest sine of an angle in rest space at which triangles are coplanar and edges collinear. The
/// area that a flip across such an edge changes is smaller by its square, below rounding.
const FLAT: f64 = 1e-6;
/// Margin of the Delaunay criterion, so that rounding and small changes of the metric flip nothing
/// back and forth [1].
const FLIP_MARGIN: f64 = 0.03;
/// Least quality in the metric that an operation may cause where the old triangles were better.
const LEAST_QUALITY: f64 = 0.1;
/// Least ratio of twice the area to the squared longest edge that an operation may cause, in rest and
/// in world space.
const LEAST_SHAPE: f64 = 0.02;
/// Least cosine between the world normals of new triangles and of the old surface.
const LEAST_COSINE: f64 = 0.1;

/// A sheet that is being remeshed.
pub(super) struct Editor<'a> {
    pub sheet: Sheet,
    pub sizing: Vec<Sizing>,
    pub hold: Vec<Hold>,
    pub trace: Trace<'a>,
    pub config: RemeshConfig,
    pub guard: Option<&'a dyn Guard>,
    pub counts: RemeshCounts,
    /// Edges made since this was last emptied.
    pub fresh: Vec<[u32; 2]>,
}

impl Editor<'_> {
    /// The squared size of an edge.
    pub fn squared_size(&self, a: u32, b: u32) -> f64 {
        let d = self.sheet.rest[b as usize] - self.sheet.rest[a as usize];
        0.5 * (self.sizing[a as usize].squared(&d) + self.sizing[b as usize].squared(&d))
    }

    fn rest(&self, corners: &[u32; 3]) -> [Vec3; 3] {
        corners.map(|v| self.sheet.rest[v as usize])
    }

    fn world(&self, corners: &[u32; 3]) -> [Vec3; 3] {
        corners.map(|v| self.sheet.world[v as usize])
    }

    fn same_pin(&self, a: u32, b: u32) -> bool {
        let pin = self.hold[a as usize].pin;
        pin.is_some() && pin == self.hold[b as usize].pin
    }

    /// Whether an edge must stay: a boundary, a crease of the rest surface, a line between labels or
    /// within a pin.
    pub fn is_feature(&self, h: u32) -> bool {
        let twin = self.sheet.twin(h);
        if twin == NONE {
            return true;
        }
        let (s, t) = (h as usize / 3, twin as usize / 3);
        if self.sheet.label[s] != self.sheet.label[t]
            || self.same_pin(self.sheet.from(h), self.sheet.to(h))
        {
            return true;
        }
        let [m, n] = [s, t].map(|t| area_vector(&self.rest(&self.sheet.corners[t])));
        m.dot(&n) <= 0.0 || m.cross(&n).norm() > FLAT * m.norm() * n.norm()
    }

    /// Splits an edge at its midpoint; returns the new vertex.
    pub fn split(&mut self, h: u32) -> u32 {
        let (a, b) = (self.sheet.from(h), self.sheet.to(h));
        let middle = |x: &[Vec3]| (x[a as usize] + x[b as usize]) * 0.5;
        let (rest, world) = (middle(&self.sheet.rest), middle(&self.sheet.world));
        let sizing = self.sizing[a as usize].mean(&self.sizing[b as usize]);
        let pin = match self.same_pin(a, b) {
            true => self.hold[a as usize].pin,
            false => None,
        };
        let m = self.sheet.add(rest, world);
        self.sizing.push(sizing);
        self.hold.push(Hold { pin, fixed: false });
        self.trace.halved(a, b);
        let mut old = vec![h / 3];
        let mut new = Vec::with_capacity(4);
        let c = self.sheet.opposite(h);
        let twin = self.sheet.twin(h);
        let mut halves = |t: u32, a: u32, b: u32, c: u32| {
            for corners in [[a, m, c], [m, b, c]] {
                new.push(Successor { corners, of: t });
            }
        };
        halves(h / 3, a, b, c);
        if twin != NONE {
            old.push(twin / 3);
            halves(twin / 3, b, a, self.sheet.opposite(twin));
        }
        self.replace(&old, &new);
        self.counts.splits += 1;
        m
    }

    fn replace(&mut self, old: &[u32], new: &[Successor]) {
        self.trace.replace(&mut self.sheet, old, new);
        for n in new {
            for k in 0..3 {
                let (a, b) = (n.corners[k], n.corners[(k + 1) % 3]);
                self.fresh.push([a.min(b), a.max(b)]);
            }
        }
    }

    /// The mean tensor of some vertices in a plane.
    fn mean<const N: usize>(&self, vertices: [u32; N], frame: &TangentFrame) -> Mat2 {
        let of = |v: u32| self.sizing[v as usize].within(frame);
        vertices.into_iter().map(of).sum::<Mat2>() / N as f64
    }

    /// Shape of a triangle in the metric: 1 if it is equilateral, 0 without area.
    pub fn quality(&self, corners: &[u32; 3]) -> f64 {
        let x = self.rest(corners);
        let Some(frame) = TangentFrame::of(&x) else {
            return 0.0;
        };
        let m = self.mean(*corners, &frame);
        let edges = [x[1] - x[0], x[2] - x[1], x[0] - x[2]].map(|e| frame.flat(&e));
        let sum: f64 = edges.iter().map(|e| e.dot(&(m * e))).sum();
        let area = 0.5 * edges[0].perp(&edges[1]) * m.determinant().max(0.0).sqrt();
        4.0 * 3.0_f64.sqrt() * area / sum
    }

    /// Flips an edge if the other diagonal is better: the anisotropic Delaunay criterion with the mean
    /// tensor of the four vertices [bossen1996].
    pub fn flip_if_better(&mut self, h: u32) -> bool {
        if self.sheet.twin(h) == NONE || self.is_feature(h) {
            return false;
        }
        let (a, b) = (self.sheet.from(h), self.sheet.to(h));
        let (c, d) = (
            self.sheet.opposite(h),
            self.sheet.opposite(self.sheet.twin(h)),
        );
        let Some(frame) = TangentFrame::of(&self.rest(&[a, b, c])) else {
            return false;
        };
        let m = self.mean([a, b, c, d], &frame);
        let x = |v: u32| frame.flat(&(self.sheet.rest[v as usize] - self.sheet.rest[a as usize]));
        let root = m.determinant().max(0.0).sqrt();
        // Sine and cosine of the angle in the metric under which the edge is seen.
        let seen = |from: u32, p: u32, q: u32| {
            let (p, q) = (x(p) - x(from), x(q) - x(from));
            let scale = (p.dot(&(m * p)) * q.dot(&(m * q))).sqrt();
            (root * p.perp(&q) / scale, p.dot(&(m * q)) / scale)
        };
        let ((sc, cc), (sd, cd)) = (seen(c, a, b), seen(d, b, a));
        // Not-a-number must not flip.
        let worse = sc * cd + cc * sd < -FLIP_MARGIN;
        worse && self.flip(h)
    }

    /// Flips an edge if that is allowed.
    pub fn flip(&mut self, h: u32) -> bool {
        let twin = self.sheet.twin(h);
        if twin == NONE || self.is_feature(h) {
            return false;
        }
        let (a, b) = (self.sheet.from(h), self.sheet.to(h));
        let (c, d) = (self.sheet.opposite(h), self.sheet.opposite(twin));
        if self.sheet.edge(c, d).is_some() || self.same_pin(c, d) {
            return false;
        }
        let was = self.squared_size(a, b);
        if self.squared_size(c, d) > was.max(1.0) {
            return false;
        }
        let old = [h / 3, twin / 3];
        let new = [
            Successor {
                corners: [a, d, c],
                of: old[0],
            },
            Successor {
                corners: [d, b, c],
                of: old[0],
            },
        ];
        if !self.allowed(&old, &new) {
            return false;
        }
        self.replace(&old, &new);
        self.counts.flips += 1;
        true
    }

    /// Removes vertex `v` by moving its triangles to the neighbour `j`, if that is allowed.
    pub fn collapse(&mut self, v: u32, j: u32) -> bool {
        if !self.removable(v, j) {
            return false;
        }
        let Some(h) = self.sheet.edge(v, j) else {
            return false;
        };
        let twin = self.sheet.twin(h);
        let c = self.sheet.opposite(h);
        let d = match twin {
            NONE => NONE,
            twin => self.sheet.opposite(twin),
        };
        let limit = 1.0 - self.config.hysteresis;
        for x in self.sheet.neighbours(v) {
            if x == j || x == c || x == d {
                continue;
            }
            let known = self.sheet.edge(j, x).is_some();
            let pins = self.same_pin(j, x) && !self.same_pin(v, j);
            if known || pins || self.squared_size(j, x) > limit * limit {
                return false;
            }
        }
        let old: Vec<u32> = self.sheet.fan(v).map(|h| h / 3).collect();
        let mut new = Vec::with_capacity(old.len());
        for &t in &old {
            let corners = self.sheet.corners[t as usize];
            if !corners.contains(&j) {
                let corners = corners.map(|i| if i == v { j } else { i });
                new.push(Successor { corners, of: t });
            }
        }
        let quality = |list: &mut dyn Iterator<Item = [u32; 3]>| {
            list.map(|c| self.quality(&c)).fold(f64::INFINITY, f64::min)
        };
        let was = quality(&mut old.iter().map(|t| self.sheet.corners[*t as usize]));
        let is = quality(&mut new.iter().map(|n| n.corners));
        // Not-a-number is refused.
        let good = is >= was.min(LEAST_QUALITY);
        if new.is_empty() || !good || !self.allowed(&old, &new) {
            return false;
        }
        self.replace(&old, &new);
        self.counts.collapses += 1;
        true
    }

    /// Whether the rest surface, its labels and its pins stay as they are when `v` moves to `j`.
    fn removable(&self, v: u32, j: u32) -> bool {
        let own = self.hold[v as usize];
        if own.fixed || !self.sheet.has(v) {
            return false;
        }
        let mut ends = [NONE; 2];
        let mut count = 0;
        let mut mark = |h: u32, end: u32| {
            if self.is_feature(h) {
                if count < 2 {
                    ends[count] = end;
                }
                count += 1;
            }
        };
        for h in self.sheet.fan(v) {
            mark(h, self.sheet.to(h));
            let last = next(next(h));
            if self.sheet.twin(last) == NONE {
                mark(last, self.sheet.from(last));
            }
        }
        match count {
            0 => own.pin.is_none(),
            2 => {
                let [p, q] = ends;
                let x = |v: u32| self.sheet.rest[v as usize];
                let (from, to) = (x(v) - x(p), x(q) - x(v));
                let straight =
                    from.dot(&to) > 0.0 && from.cross(&to).norm() <= FLAT * from.norm() * to.norm();
                // A rail may be bent in the world.
                let on_line = || {
                    let x = |v: u32| self.sheet.world[v as usize];
                    let t = from.norm() / (from.norm() + to.norm());
                    let off = x(v) - x(p) - (x(q) - x(p)) * t;
                    off.norm() <= FLAT * (x(q) - x(p)).norm()
                };
                let rail = self.same_pin(v, p) && self.same_pin(v, q);
                let held = own.pin.is_none() || (rail && on_line());
                (j == p || j == q) && straight && held
            }
            _ => false,
        }
    }

    /// Whether new triangles cover the same part of the rest surface, are well shaped in rest and world
    /// space, face as the old ones do and pass the guard.
    fn allowed(&self, old: &[u32], new: &[Successor]) -> bool {
        let corners = |t: &u32| self.sheet.corners[*t as usize];
        let rest_before: Vec<[Vec3; 3]> = old.iter().map(|t| self.rest(&corners(t))).collect();
        let world_before: Vec<[Vec3; 3]> = old.iter().map(|t| self.world(&corners(t))).collect();
        let rest_after: Vec<[Vec3; 3]> = new.iter().map(|n| self.rest(&n.corners)).collect();
        let world_after: Vec<[Vec3; 3]> = new.iter().map(|n| self.world(&n.corners)).collect();
        let area = |list: &[[Vec3; 3]]| list.iter().map(|x| area_vector(x).norm()).sum::<f64>();
        let (was, is) = (area(&rest_before), area(&rest_after));
        // All comparisons are such that not-a-number is refused.
        let covers = (was - is).abs() <= 1e-9 * was;
        let upright = rest_after.iter().zip(new).all(|(x, n)| {
            let plane = area_vector(&self.rest(&self.sheet.corners[n.of as usize]));
            area_vector(x).dot(&plane) > 0.0
        });
        let worst = |list: &[[Vec3; 3]]| list.iter().map(shape).fold(f64::INFINITY, f64::min);
        let pairs = [(&rest_before, &rest_after), (&world_before, &world_after)];
        let shaped = pairs
            .iter()
            .all(|(before, after)| worst(after) >= LEAST_SHAPE.min(worst(before)));
        let facing: Vec3 = world_before.iter().map(area_vector).sum();
        let faces = world_after.iter().map(area_vector).all(|n| {
            let cosine = n.dot(&facing) / (n.norm() * facing.norm());
            cosine > LEAST_COSINE
        });
        if !(covers && upright && shaped && faces) {
            return false;
        }
        let Some(guard) = self.guard else {
            return true;
        };
        let label = |t: u32| self.sheet.label[t as usize];
        let was: Vec<u32> = old.iter().map(|t| label(*t)).collect();
        let is: Vec<u32> = new.iter().map(|n| label(n.of)).collect();
        guard.allows(&Replacement {
            rest: [&rest_before, &rest_after],
            world: [&world_before, &world_after],
            labels: [&was, &is],
        })
    }
}

/// ½ (b − a) × (c − a) [m²].
pub(super) fn area_vector([a, b, c]: &[Vec3; 3]) -> Vec3 {
    0.5 * (b - a).cross(&(c - a))
}

/// Twice the area over the squared longest edge: 0.87 for an equilateral triangle.
fn shape(x: &[Vec3; 3]) -> f64 {
    let [a, b, c] = x;
    let longest = (b - a)
        .norm_squared()
        .max((c - b).norm_squared())
        .max((a - c).norm_squared());
    2.0 * area_vector(x).norm() / longest
}
