//! Contacts of the inside of triangles with solids.
//!
//! The features of a solid that can penetrate a triangle are points: corners, apices, points of rims,
//! centres. Each of them is a feature of its own, so that a face that is wider than the solid is
//! held at all of them. Of a sampled mesh no such list is known. Triangles are searched at points
//! no farther apart than half a cell instead ([`lattice`]), below which the field has no detail of its
//! own: the deepest one is listed, and of a flat piece around it the farthest points to eight sides.

use stiction_geometry::analytic::Nearest;
use stiction_geometry::collide::ccd::{self, CcdConfig};
use stiction_geometry::collide::{TriangleFeature, point_triangle};
use stiction_math::Vec3;
use stiction_math::elementary::{cos, sin};

use super::emit::{Found, Kind};
use super::pairs::{REACH, relisting_threshold};
use super::shape_edges::FLAT;
use super::shapes::{DEEPER, Pass, SHARP, Search};

/// A rim's farthest point counts where it is this fraction of the thickness beyond the fixed ones.
const RIM: f64 = 0.01;

/// A point of a solid and the radius of the largest ball around it inside the surface.
type Part = (Vec3, f64);

impl Search<'_> {
    pub(super) fn face(
        &self,
        (number, t): (usize, &[u32; 3]),
        points: &[Part],
        pass: Pass,
        found: &mut Vec<Found>,
    ) {
        if !t.iter().any(|v| self.motion.free[*v as usize]) {
            return;
        }
        let (leaves, moved) = (&self.supports.start.faces, self.moved(t));
        if pass == Pass::Again && leaves.spare(number, moved) {
            return;
        }
        let reach = REACH * self.thickness;
        if let Some(margin) = self.stays_out(t) {
            leaves.set(number, moved, margin);
            return;
        }
        let paths = t.map(|v| self.path(v));
        let x0 = paths.map(|p| p[0]);
        let corners = t.map(|v| self.supports.near(v).distance);
        let least = corners[0].min(corners[1]).min(corners[2]);
        // No point of a triangle is farther than longest/√3 from all corners.
        let travel = self.moving.travel(&paths);
        if least - 0.578 * longest_edge(&x0) - travel > reach {
            return;
        }
        let start = self.moving.pose(0.0);
        let across = start.rotation.inverse() * (x0[1] - x0[0]).cross(&(x0[2] - x0[0]));
        let Some(across) = across.try_normalize(0.0) else {
            return;
        };
        let shape = &self.moving.shape;
        let rims = [across, -across].map(|d| shape.rims(&d));
        let tilted = shape.rim_excess(&across) > RIM * self.thickness;
        let rims = rims.iter().flatten().filter(|_| tilted);
        let parts = points.iter().map(|p| Some(*p));
        let parts = parts.chain(rims.map(|p| p.map(|p| (p, 0.0))));
        let parts: Vec<(u32, Part, f64)> = (1..)
            .zip(parts)
            .filter_map(|(number, part)| {
                let part = part?;
                let on = point_triangle(&start.apply(&part.0), &x0);
                let gap = on.squared.sqrt() - part.1;
                (gap <= reach + travel).then_some((number, part, gap))
            })
            .collect();
        if pass == Pass::Again {
            let nearest = parts.iter().map(|p| p.2).filter(|gap| *gap > 0.0);
            let margin = self.margin(nearest.fold(f64::INFINITY, f64::min));
            let slack = margin * shape.slope();
            // Parts that are not in the list stay beyond the thickness: the margin is less than the reach.
            let stays = |part: &Part, d: f64| self.part_impact(&paths, part, d + slack).is_none();
            let quiet = parts.iter().all(|(_, part, gap)| match *gap > reach {
                true => stays(part, self.thickness),
                false => *gap <= 0.0 || stays(part, relisting_threshold(self.thickness, *gap)),
            });
            if quiet {
                leaves.set(number, moved, margin);
                return;
            }
        }
        if pass == Pass::First {
            let close = parts.iter().filter(|p| p.2 <= reach);
            found.extend(close.filter_map(|(n, part, _)| self.face_at(t, (*n, part), 0.0)));
        }
        let far = parts.iter().filter(|p| p.2 > reach).filter_map(|p| {
            let time = self.part_impact(&paths, &p.1, self.thickness)?;
            (time > 0.0).then_some((time, p))
        });
        let far: Vec<(f64, &(u32, Part, f64))> = far.collect();
        let first = far.iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|f| f.1);
        for (time, (number, part, _)) in &far {
            // The far side of a solid, or what lies behind its tip, is reached only through it.
            let hidden = first.is_some_and(|f| self.passed(t, &f.1, *time) > self.thickness);
            if !hidden {
                found.extend(self.face_at(t, (*number, part), *time));
            }
        }
        if pass == Pass::First {
            return;
        }
        let listed = parts.iter().filter(|p| p.2 <= reach);
        for (number, part, gap) in listed.chain(far.iter().map(|f| f.1)) {
            if let Some(time) = self.deep(*gap, |d| self.part_impact(&paths, part, d))
                && let Some(one) = self.face_at(t, (*number, part), time)
            {
                found.push(Found { deep: true, ..one });
            }
        }
    }

    /// Distance by which a part has passed through a triangle since the start of the step [m]; negative
    /// if it has not.
    fn passed(&self, t: &[u32; 3], (centre, radius): &Part, time: f64) -> f64 {
        let separation = |time: f64| {
            let pose = self.moving.pose(time);
            let x = t.map(|v| self.motion.at(v, time));
            point_triangle(&pose.apply(centre), &x).separation
        };
        let before = separation(0.0);
        radius - separation(time).dot(&before) / before.norm().max(f64::MIN_POSITIVE)
    }

    /// Whether the surface at a part faces `separation`, from a triangle to the part.
    fn faces(&self, (centre, radius): &Part, separation: &Vec3) -> bool {
        let Some(away) = separation.try_normalize(0.0) else {
            return true;
        };
        let step = radius + 1e-3 * self.thickness;
        let outside = centre - away * step;
        self.moving.shape.nearest(&outside).distance > 0.0
    }

    /// The contact of a triangle with one of the solid's parts at a time.
    fn face_at(&self, t: &[u32; 3], (part, ball): (u32, &Part), time: f64) -> Option<Found> {
        let (centre, radius) = ball;
        let reach = REACH * self.thickness;
        let pose = self.moving.pose(time);
        let x = t.map(|v| pose.invert(&self.motion.at(v, time)));
        let on = point_triangle(centre, &x);
        if on.feature != TriangleFeature::Face {
            return None;
        }
        let near = self.moving.shape.nearest(&(centre - on.separation));
        let close = on.squared.sqrt() - radius <= reach && near.distance <= reach;
        let looks = near.distance < 0.0 || close && self.faces(ball, &on.separation);
        let corners = x.map(|x| self.moving.shape.nearest(&x).distance);
        let [a, b, c] = on.weights;
        let level = a * corners[0] + b * corners[1] + c * corners[2];
        let deeper = if *radius > 0.0 { DEEPER } else { SHARP };
        if !looks || near.distance >= level - deeper * self.thickness {
            return None;
        }
        Some(self.in_face(t, [a, b, c], part, &near, time))
    }

    fn in_face(
        &self,
        t: &[u32; 3],
        [a, b, c]: [f64; 3],
        part: u32,
        near: &Nearest,
        time: f64,
    ) -> Found {
        let vertices = [t[0], t[1], t[2], t[2]];
        self.found(Kind::FaceShape, vertices, [a, b, c, 0.0], part, near, time)
    }

    /// When one of the solid's parts comes closer than `d` to a triangle.
    pub(super) fn part_impact(
        &self,
        paths: &[[Vec3; 2]; 3],
        (centre, radius): &Part,
        d: f64,
    ) -> Option<f64> {
        let (start, end) = (self.moving.pose(0.0), self.moving.pose(1.0));
        let [a, b, c] = paths;
        // The part turns, but is taken along its chord.
        let bulge = 0.125 * self.moving.angle().powi(2) * centre.norm();
        let config = CcdConfig::new(radius + d + bulge);
        let x0 = [start.apply(centre), a[0], b[0], c[0]];
        let x1 = [end.apply(centre), a[1], b[1], c[1]];
        ccd::vertex_face(&x0, &x1, &config).impact.map(|i| i.time)
    }

    /// Contacts of the inside of a triangle with a sampled mesh.
    pub(super) fn sampled_face(&self, t: &[u32; 3], cell: f64, pass: Pass, found: &mut Vec<Found>) {
        if !t.iter().any(|v| self.motion.free[*v as usize]) {
            return;
        }
        let paths = t.map(|v| self.path(v));
        let corners = t.map(|v| self.supports.near(v).distance);
        let least = corners[0].min(corners[1]).min(corners[2]);
        let reach = REACH * self.thickness;
        let travel = 0.578 * longest_edge(&paths.map(|p| p[0])) + self.moving.travel(&paths);
        if least - self.moving.shape.slope() * travel > reach {
            return;
        }
        let start = self.moving.pose(0.0);
        let x = paths.map(|p| start.invert(&p[0]));
        let samples: Vec<(f64, [f64; 3])> = lattice(&x, cell)
            .map(|w| {
                let at = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
                (self.moving.shape.nearest(&at).distance, w)
            })
            .collect();
        let Some(deepest) = samples
            .iter()
            .copied()
            .reduce(|a, b| if b.0 < a.0 { b } else { a })
        else {
            return;
        };
        let place = |time: f64, weights: [f64; 3]| self.sampled_at(t, time, weights, cell);
        if deepest.0 <= reach {
            if pass == Pass::First {
                found.extend(place(0.0, deepest.1));
                self.flat_piece(t, &samples, deepest, found);
            }
        } else if let Some((time, w)) = self.lattice_impact(&paths, cell, self.thickness) {
            found.extend(place(time, w));
        } else {
            return;
        }
        let again = relisting_threshold(self.thickness, deepest.0);
        if pass == Pass::Again
            && again > 0.0
            && let Some((time, w)) = self.lattice_impact(&paths, cell, again)
            && time > 0.0
        {
            found.extend(place(time, w).map(|f| Found { deep: true, ..f }));
        }
    }

    /// The deepest place around a point of a triangle at a time, if it counts.
    fn sampled_at(&self, t: &[u32; 3], time: f64, from: [f64; 3], cell: f64) -> Option<Found> {
        let pose = self.moving.pose(time);
        let x = t.map(|v| pose.invert(&self.motion.at(v, time)));
        let (weights, near) = self.deepest_near(&x, from, cell);
        self.counted(t, &x, (weights, near), 1, time)
    }

    /// A place inside a triangle, whose corners are at `x` in the frame of the solid, if it is
    /// deeper than the interpolation of these.
    fn counted(
        &self,
        t: &[u32; 3],
        x: &[Vec3; 3],
        (w, mut near): ([f64; 3], Nearest),
        part: u32,
        time: f64,
    ) -> Option<Found> {
        let corners = x.map(|x| self.moving.shape.nearest(&x).distance);
        let level = w[0] * corners[0] + w[1] * corners[1] + w[2] * corners[2];
        if near.distance >= level - DEEPER * self.thickness {
            return None;
        }
        // What is deepest inside a triangle is separated along its normal.
        let across = (x[1] - x[0]).cross(&(x[2] - x[0]));
        if let Some(normal) = across.try_normalize(0.0) {
            let point = near.point + near.normal * near.distance;
            near.normal = normal * near.normal.dot(&normal).signum();
            near.point = point - near.normal * near.distance;
        }
        Some(self.in_face(t, w, part, &near, time))
    }

    /// The points of the lattice that are nearly as deep as the deepest one and farthest from it to
    /// eight sides.
    fn flat_piece(
        &self,
        t: &[u32; 3],
        samples: &[(f64, [f64; 3])],
        deepest: (f64, [f64; 3]),
        found: &mut Vec<Found>,
    ) {
        let pose = self.moving.pose(0.0);
        let x = t.map(|v| pose.invert(&self.motion.x0[v as usize]));
        let at = |w: &[f64; 3]| x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
        let across = (x[1] - x[0]).cross(&(x[2] - x[0]));
        let (Some(u), Some(n)) = ((x[1] - x[0]).try_normalize(0.0), across.try_normalize(0.0))
        else {
            return;
        };
        let v = n.cross(&u);
        let limit = deepest.0 + FLAT * self.thickness;
        let flat: Vec<&[f64; 3]> = samples
            .iter()
            .filter(|s| s.0 <= limit)
            .map(|s| &s.1)
            .collect();
        let mut taken = vec![deepest.1];
        for side in 0..8 {
            let angle = f64::from(side) * std::f64::consts::FRAC_PI_4;
            let direction = u * cos(angle) + v * sin(angle);
            let along = |w: &[f64; 3]| at(w).dot(&direction);
            let farthest = flat.iter().max_by(|a, b| along(a).total_cmp(&along(b)));
            let Some(w) = farthest.filter(|w| !taken.contains(w)) else {
                continue;
            };
            taken.push(**w);
            let near = self.moving.shape.nearest(&at(w));
            found.extend(self.counted(t, &x, (**w, near), 2 + side, 0.0));
        }
    }

    /// From a point of a triangle, in the frame of the solid, down to the deepest one around it.
    fn deepest_near(&self, x: &[Vec3; 3], from: [f64; 3], cell: f64) -> ([f64; 3], Nearest) {
        let nearest = |w: &[f64; 3]| {
            let at = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
            self.moving.shape.nearest(&at)
        };
        let (mut best, mut near) = (from, nearest(&from));
        let mut step = cell / longest_edge(x);
        for _ in 0..24 {
            let mut moved = false;
            for (a, b) in [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)] {
                let mut w = best;
                let part = step.min(w[b]);
                w[a] += part;
                w[b] -= part;
                let there = nearest(&w);
                if there.distance < near.distance {
                    (best, near, moved) = (w, there, true);
                }
            }
            if !moved {
                step *= 0.5;
            }
        }
        (best, near)
    }

    /// When and where the first point of a triangle's lattice comes closer than `d`.
    pub(super) fn lattice_impact(
        &self,
        paths: &[[Vec3; 2]; 3],
        cell: f64,
        d: f64,
    ) -> Option<(f64, [f64; 3])> {
        let mut first: Option<(f64, [f64; 3])> = None;
        for w in lattice(&paths.map(|p| p[0]), cell) {
            let at = |i: usize| paths[0][i] * w[0] + paths[1][i] * w[1] + paths[2][i] * w[2];
            if let Some(time) = self.moving.point_impact(&[at(0), at(1)], d)
                && first.is_none_or(|f| time < f.0)
            {
                first = Some((time, w));
            }
        }
        first
    }
}

/// A triangle has no more points than this along each side.
const MOST_POINTS: f64 = 64.0;

/// Weights of points inside a triangle, no farther apart than half a cell or 1/64 of its longest
/// edge; none on the edges, which are searched by themselves, and none in a triangle smaller than
/// a cell, where the field bends too little.
pub(super) fn lattice(x: &[Vec3; 3], cell: f64) -> impl Iterator<Item = [f64; 3]> + use<> {
    let n = (2.0 * longest_edge(x) / cell).ceil();
    let n = if n > 2.0 {
        n.min(MOST_POINTS) as u32
    } else {
        0
    };
    let part = move |i: u32| f64::from(i) / f64::from(n);
    let row = move |i: u32| (1..n - i).map(move |j| [part(i), part(j), part(n - i - j)]);
    (1..n.max(1)).flat_map(row)
}

fn longest_edge(x: &[Vec3; 3]) -> f64 {
    let squared = |i: usize| (x[i] - x[(i + 1) % 3]).norm_squared();
    squared(0).max(squared(1)).max(squared(2)).sqrt()
}
