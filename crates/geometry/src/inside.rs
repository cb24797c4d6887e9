//! Whether a point lies inside a surface, by its winding number.
//!
//! The winding number w(p) = Σ_t Ω_t(p) / 4π sums the signed solid angles of the triangles seen
//! from p [vanoosterom1983]. For a closed surface it is 1 inside and 0 outside; with small
//! holes, overlaps or flipped parts it degrades gently instead of failing, which a count of ray
//! crossings does not [jacobson2013].
//!
//! Far clusters of triangles are replaced by a fan over their boundary edges
//! [jacobson2013, Sect. 4]: if p lies outside the convex bounding box of the cluster, the
//! cluster and the fan have the same solid angle, so this is exact, and a large cluster has few
//! boundary edges.

use std::f64::consts::PI;
use stiction_math::elementary::atan2;

use stiction_math::Vec3;

use crate::bounds::Aabb;
use crate::collide::closest_point_on_triangle;
use crate::mesh::{MeshError, TriMesh};

/// A surface prepared for inside tests. Copies what it needs.
#[derive(Clone, Debug)]
pub struct InsideTest {
    positions: Vec<Vec3>,
    /// Triangles in the order of the tree's leaves.
    triangles: Vec<[u32; 3]>,
    /// Boundary edges of all clusters, one list after the other.
    fans: Vec<[u32; 2]>,
    clusters: Vec<Cluster>,
}

#[derive(Clone, Debug)]
struct Cluster {
    bounds: Aabb,
    /// Range in `triangles`.
    triangles: [u32; 2],
    /// Range in `fans`.
    fan: [u32; 2],
    /// The second child; the first follows its parent. `None` for a leaf.
    second: Option<u32>,
}

const LEAF: usize = 8;

impl InsideTest {
    /// Prepares the test in O(n log² n).
    pub fn new(mesh: &TriMesh) -> Result<Self, MeshError> {
        mesh.check()?;
        let mut test = InsideTest {
            positions: mesh.positions.clone(),
            triangles: mesh.triangles.clone(),
            fans: Vec::new(),
            clusters: Vec::new(),
        };
        if !test.triangles.is_empty() {
            test.split(0, mesh.triangles.len());
        }
        Ok(test)
    }

    /// Whether the point lies inside: w(p) > ½. For points on the surface either answer is
    /// right.
    pub fn contains(&self, point: &Vec3) -> bool {
        self.winding_number(point) > 0.5
    }

    /// The point of the surface that is closest to `point`, if there is one within `within` [m].
    ///
    /// The distance is the least over all triangles as computed, whatever `within` is: equal
    /// questions have equal answers to the last bit.
    pub fn closest_point(&self, point: &Vec3, within: f64) -> Option<Vec3> {
        let (corners, w) = self.closest_triangle(point, within)?;
        let at = |i: usize| self.positions[corners[i] as usize] * w[i];
        Some(at(0) + at(1) + at(2))
    }

    /// The corners of the triangle that is closest to `point` and the weights of its closest
    /// point, if there is one within `within` [m].
    pub fn closest_triangle(&self, point: &Vec3, within: f64) -> Option<([u32; 3], [f64; 3])> {
        // Boxes are left out only where they are farther by more than rounding can hide.
        const SLACK: f64 = 1.0 + 1e-12;
        let mut best = (within * within, None);
        let mut stack = Vec::with_capacity(64);
        if let Some(root) = self.clusters.first() {
            stack.push((root.bounds.squared_distance(point), 0_u32));
        }
        while let Some((least, c)) = stack.pop() {
            if least > best.0 * SLACK {
                continue;
            }
            let cluster = &self.clusters[c as usize];
            if let Some(second) = cluster.second {
                let of = |c: u32| {
                    let bounds = &self.clusters[c as usize].bounds;
                    (bounds.squared_distance(point), c)
                };
                let (a, b) = (of(c + 1), of(second));
                // The nearer one is visited first.
                stack.extend(if a.0 <= b.0 { [b, a] } else { [a, b] });
                continue;
            }
            let [from, to] = cluster.triangles;
            for t in &self.triangles[from as usize..to as usize] {
                let corners = t.map(|v| self.positions[v as usize]);
                let w = closest_point_on_triangle(point, &corners);
                let at = corners[0] * w[0] + corners[1] * w[1] + corners[2] * w[2];
                let squared = (at - point).norm_squared();
                if squared < best.0 || (best.1.is_none() && squared <= best.0 * SLACK) {
                    best = (squared, Some((*t, w)));
                }
            }
        }
        best.1
    }

    /// The winding number of the surface around the point.
    pub fn winding_number(&self, point: &Vec3) -> f64 {
        if self.clusters.is_empty() {
            return 0.0;
        }
        let mut sum = 0.0;
        let mut stack = vec![0_u32];
        while let Some(c) = stack.pop() {
            let cluster = &self.clusters[c as usize];
            let [from, to] = cluster.triangles;
            let [fan_from, fan_to] = cluster.fan;
            if !cluster.bounds.contains(point) && fan_to - fan_from < to - from {
                sum += self.fan_angle(point, &self.fans[fan_from as usize..fan_to as usize]);
            } else if let Some(second) = cluster.second {
                stack.extend([second, c + 1]);
            } else {
                for t in &self.triangles[from as usize..to as usize] {
                    sum += solid_angle(&t.map(|v| self.positions[v as usize] - point));
                }
            }
        }
        sum / (4.0 * PI)
    }

    /// The solid angle of triangles from one boundary vertex to all boundary edges.
    fn fan_angle(&self, point: &Vec3, edges: &[[u32; 2]]) -> f64 {
        let Some(&[apex, _]) = edges.first() else {
            return 0.0;
        };
        let at = |v: u32| self.positions[v as usize] - point;
        let apex_at = at(apex);
        edges
            .iter()
            .filter(|e| !e.contains(&apex))
            .map(|&[a, b]| solid_angle(&[apex_at, at(a), at(b)]))
            .sum()
    }

    /// Makes a cluster of a range of triangles, then its children. Returns its boundary.
    fn split(&mut self, from: usize, to: usize) -> Vec<[u32; 2]> {
        let corners = self.triangles[from..to].iter().flatten();
        let points: Vec<Vec3> = corners.map(|&v| self.positions[v as usize]).collect();
        let Some(bounds) = Aabb::of(&points) else {
            return Vec::new();
        };
        let me = self.clusters.len();
        self.clusters.push(Cluster {
            bounds,
            triangles: [from as u32, to as u32],
            fan: [0, 0],
            second: None,
        });
        let mut edges = Vec::new();
        if to - from > LEAF {
            let axis = bounds.extent().imax();
            let positions = &self.positions;
            let key = |t: &[u32; 3]| -> f64 {
                let sum: f64 = t.iter().map(|&v| positions[v as usize][axis]).sum();
                sum
            };
            let middle = from + (to - from) / 2;
            self.triangles[from..to].sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
            edges = self.split(from, middle);
            self.clusters[me].second = Some(self.clusters.len() as u32);
            edges.extend(self.split(middle, to));
        } else {
            for &[a, b, c] in &self.triangles[from..to] {
                edges.extend([[a, b], [b, c], [c, a]]);
            }
        }
        let boundary = cancel(edges);
        let start = self.fans.len() as u32;
        self.fans.extend_from_slice(&boundary);
        self.clusters[me].fan = [start, self.fans.len() as u32];
        boundary
    }
}

/// Removes pairs of opposite edges. What remains are whole edges with their multiplicity, so
/// repeated and flipped triangles keep their weight.
fn cancel(mut edges: Vec<[u32; 2]>) -> Vec<[u32; 2]> {
    let ends = |e: &[u32; 2]| (e[0].min(e[1]), e[0].max(e[1]));
    edges.sort_unstable_by_key(|e| (ends(e), e[0]));
    let mut rest = Vec::new();
    for group in edges.chunk_by(|a, b| ends(a) == ends(b)) {
        let (low, high) = ends(&group[0]);
        let forward = group.iter().filter(|e| e[0] == low).count();
        let backward = group.len() - forward;
        if low == high {
            continue;
        }
        for _ in backward..forward {
            rest.push([low, high]);
        }
        for _ in forward..backward {
            rest.push([high, low]);
        }
    }
    rest
}

/// The signed solid angle of a triangle seen from the origin [sr], positive if it turns its back
/// to the origin [vanoosterom1983].
fn solid_angle(x: &[Vec3; 3]) -> f64 {
    let [a, b, c] = x;
    let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
    let numerator = a.dot(&b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    // On the triangle's plane the angle is zero, also at its corners where both terms vanish.
    if numerator == 0.0 {
        return 0.0;
    }
    2.0 * atan2(numerator, denominator)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;
    use crate::shapes::*;

    fn brute_force(m: &TriMesh, p: &Vec3) -> f64 {
        let angle = |t| solid_angle(&m.corners(t).map(|x| x - p));
        (0..m.triangles.len()).map(angle).sum::<f64>() / (4.0 * PI)
    }

    fn random_points(m: &TriMesh, count: usize) -> Vec<Vec3> {
        let b = m.bounds().unwrap();
        let mut random = SplitMix::new(5);
        let mut point = || {
            let u = Vec3::from_fn(|_, _| 1.4 * random.uniform() - 0.2);
            b.min + u.component_mul(&b.extent())
        };
        (0..count).map(|_| point()).collect()
    }

    #[test]
    fn clusters_agree_with_brute_force_on_closed_and_open_surfaces() {
        let ball = BallSurface {
            radius: 1.0,
            frequency: 10,
        };
        let bowl = Bowl {
            radius: 1.0,
            depth: 0.7,
            rings: 12,
        };
        let mut holes = ball.build().unwrap();
        holes.triangles.retain(|t| t[0] % 7 != 0);
        let mut flipped = ball.build().unwrap();
        for t in flipped.triangles.iter_mut().step_by(5) {
            t.swap(0, 1);
        }
        for m in [ball.build().unwrap(), bowl.build().unwrap(), holes, flipped] {
            let test = InsideTest::new(&m).unwrap();
            for p in random_points(&m, 300) {
                let gap = (test.winding_number(&p) - brute_force(&m, &p)).abs();
                assert!(gap < 1e-10, "{p}: {gap}");
            }
        }
    }

    #[test]
    fn round_and_hollow_bodies_match_their_formulas() {
        let torus = TorusSurface {
            major: 1.0,
            minor: 0.4,
            around: 60,
            across: 30,
        };
        let m = torus.build().unwrap();
        let test = InsideTest::new(&m).unwrap();
        let mut inside = 0;
        for p in random_points(&m, 2000) {
            let distance = (p.xy().norm() - 1.0).hypot(p.z);
            if (distance - 0.4).abs() > 0.01 {
                assert_eq!(test.contains(&p), distance < 0.4);
                inside += usize::from(distance < 0.4);
            }
        }
        assert!(inside > 300);
        // The cavity of a hollow ball is outside.
        let shell = BallShell {
            radius: 1.0,
            thickness: 0.3,
            frequency: 4,
            layers: 1,
        };
        let (skin, _) = shell.build().unwrap().surface();
        let test = InsideTest::new(&skin).unwrap();
        assert!(!test.contains(&Vec3::zeros()));
        assert!(test.contains(&Vec3::new(0.8, 0.0, 0.0)));
        assert!(!test.contains(&Vec3::new(1.1, 0.0, 0.0)));
    }

    #[test]
    fn the_closest_point_is_that_of_all_triangles() {
        let torus = TorusSurface {
            major: 1.0,
            minor: 0.4,
            around: 24,
            across: 12,
        };
        let m = torus.build().unwrap();
        let test = InsideTest::new(&m).unwrap();
        for p in random_points(&m, 300) {
            let squared = |t| {
                let x = m.corners(t);
                let w = closest_point_on_triangle(&p, &x);
                (x[0] * w[0] + x[1] * w[1] + x[2] * w[2] - p).norm_squared()
            };
            let all = (0..m.triangles.len()).map(squared);
            let least = all.fold(f64::INFINITY, f64::min);
            for within in [f64::INFINITY, least.sqrt() * (1.0 + 1e-9)] {
                let found = test.closest_point(&p, within).unwrap();
                assert_eq!((found - p).norm_squared(), least);
            }
            assert_eq!(test.closest_point(&p, 0.9 * least.sqrt()), None);
        }
    }

    #[test]
    fn rays_along_edges_and_vertices_are_no_trouble() {
        // The centre of a box looks along every symmetry plane of its mesh; a ray test would
        // have to break ties.
        let m = BoxSurface {
            size: [2.0; 3],
            cells: [2; 3],
        }
        .build()
        .unwrap();
        let test = InsideTest::new(&m).unwrap();
        assert!((test.winding_number(&Vec3::zeros()) - 1.0).abs() < 1e-12);
        for p in [Vec3::new(3.0, 0.0, 0.0), Vec3::new(3.0, 1.0, 1.0)] {
            assert!(test.winding_number(&p).abs() < 1e-12);
        }
        for p in &m.positions {
            assert!(test.winding_number(p).is_finite());
        }
    }

    #[test]
    fn a_small_hole_does_not_spoil_the_answer() {
        let ball = BallSurface {
            radius: 1.0,
            frequency: 8,
        };
        let mut m = ball.build().unwrap();
        m.triangles.truncate(m.triangles.len() - 3);
        let test = InsideTest::new(&m).unwrap();
        assert!(test.contains(&Vec3::new(0.5, 0.5, 0.5)));
        assert!(!test.contains(&Vec3::new(0.9, 0.9, 0.0)));
        assert!(
            !InsideTest::new(&TriMesh::default())
                .unwrap()
                .contains(&Vec3::zeros())
        );
    }
}
