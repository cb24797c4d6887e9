//! The fraction of a tetrahedron that lies inside the surface, by sampling.
//!
//! The winding number is computed once per tetrahedron, at a reference point. On the segment from
//! there to a sample it changes by one at every crossing of the surface, and since the segment stays
//! in the tetrahedron, only the few triangles that meet it are tested.

use stiction_math::Vec3;

use super::Contact;
use crate::inside::InsideTest;
use crate::mesh::TriMesh;
use crate::random::SplitMix;

/// Draws samples in one tetrahedron.
pub(super) struct Sampler<'a> {
    surface: &'a TriMesh,
    contacts: &'a [Contact],
    corners: &'a [Vec3; 4],
    random: SplitMix,
    reference: Vec3,
    winding: f64,
}

impl<'a> Sampler<'a> {
    /// `contacts` are all triangles that meet the tetrahedron. The seed makes the samples of
    /// each tetrahedron its own: a common pattern would see or miss walls that are parallel to
    /// the lattice all at once. The reference point is random too, since special points such as
    /// the centre lie exactly on a surface more often than chance would have it.
    pub fn new(
        surface: &'a TriMesh,
        contacts: &'a [Contact],
        inside: &InsideTest,
        corners: &'a [Vec3; 4],
        seed: u64,
    ) -> Self {
        let mut random = SplitMix::new(seed);
        let first = [0; 3].map(|_: u32| random.uniform());
        let reference = at(corners, fold(first));
        Sampler {
            surface,
            contacts,
            corners,
            random,
            reference,
            winding: inside.winding_number(&reference).round(),
        }
    }

    /// The share of points inside, one point drawn in each of n³ equal parts; half a point if
    /// there is none.
    pub fn fraction(mut self, n: u32) -> f64 {
        let mut count = 0;
        for i in 0..n {
            for j in 0..n {
                for k in 0..n {
                    let s =
                        [i, j, k].map(|c| (f64::from(c) + self.random.uniform()) / f64::from(n));
                    let p = at(self.corners, fold(s));
                    count += u32::from(self.winding + self.change(&p) > 0.5);
                }
            }
        }
        f64::from(count).max(0.5) / f64::from(n).powi(3)
    }

    /// Change of the winding number on the segment from the reference point to p.
    fn change(&self, p: &Vec3) -> f64 {
        let crossings = self.contacts.iter().map(|c| {
            let nodes = self.surface.triangles[c.triangle as usize];
            crossing(self.surface, nodes, &self.reference, p)
        });
        crossings.sum()
    }
}

/// −1 if the segment from p to q leaves through the front of a triangle, +1 if it enters, 0 if it
/// passes by. Each edge is judged in the order of its vertex numbers, so the two triangles
/// next to it always agree on which side the segment passes, and exactly one of them is crossed. (Segments
/// through a vertex may be miscounted; random samples do not meet one.)
fn crossing(surface: &TriMesh, nodes: [u32; 3], p: &Vec3, q: &Vec3) -> f64 {
    let x = nodes.map(|v| surface.positions[v as usize]);
    let normal = (x[1] - x[0]).cross(&(x[2] - x[0]));
    let in_front = |r: &Vec3| (r - x[0]).dot(&normal) >= 0.0;
    let (from, to) = (in_front(p), in_front(q));
    if from == to {
        return 0.0;
    }
    let segment = q - p;
    let left = |i: usize, j: usize| {
        if nodes[i] < nodes[j] {
            segment.cross(&(x[i] - p)).dot(&(x[j] - p)) >= 0.0
        } else {
            segment.cross(&(x[j] - p)).dot(&(x[i] - p)) < 0.0
        }
    };
    let first = left(0, 1);
    if left(1, 2) != first || left(2, 0) != first {
        return 0.0;
    }
    if to { -1.0 } else { 1.0 }
}

fn at([o, x, y, z]: &[Vec3; 4], [b, c, d]: [f64; 3]) -> Vec3 {
    o + b * (x - o) + c * (y - o) + d * (z - o)
}

/// Folds the unit cube onto the unit tetrahedron, keeping proportions of volume
/// [rocchini2000].
fn fold([mut s, mut t, mut u]: [f64; 3]) -> [f64; 3] {
    if s + t > 1.0 {
        (s, t) = (1.0 - s, 1.0 - t);
    }
    if t + u > 1.0 {
        (t, u) = (1.0 - u, 1.0 - s - t);
    } else if s + t + u > 1.0 {
        (s, u) = (1.0 - t - u, s + t + u - 1.0);
    }
    [s, t, u]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shapes::BallSurface;

    #[test]
    fn crossings_agree_with_winding_numbers() {
        let ball = BallSurface {
            radius: 1.0,
            frequency: 3,
        };
        let m = ball.build().unwrap();
        let inside = InsideTest::new(&m).unwrap();
        let mut random = SplitMix::new(4);
        let mut through = 0;
        for _ in 0..500 {
            let mut point = || Vec3::from_fn(|_, _| 2.4 * random.uniform() - 1.2);
            let (p, q) = (point(), point());
            let crossings = m.triangles.iter().map(|t| crossing(&m, *t, &p, &q));
            let change: f64 = crossings.sum();
            let exact = inside.winding_number(&q) - inside.winding_number(&p);
            assert!((change - exact).abs() < 1e-9);
            through += usize::from(change != 0.0);
        }
        assert!(through > 100);
    }

    #[test]
    fn segments_through_edges_are_counted_once() {
        let ball = BallSurface {
            radius: 1.0,
            frequency: 2,
        };
        let m = ball.build().unwrap();
        let edges = m.edges();
        let middle = |e: &[u32; 2]| m.positions[e[0] as usize] + m.positions[e[1] as usize];
        for d in edges.iter().map(middle) {
            let (p, q) = (Vec3::zeros(), 3.0 * d);
            let crossings = m.triangles.iter().map(|t| crossing(&m, *t, &p, &q));
            assert_eq!(crossings.sum::<f64>(), -1.0, "{d}");
        }
    }

    #[test]
    fn folding_keeps_proportions_of_volume() {
        let mut random = SplitMix::new(6);
        let (n, mut sum) = (40, Vec3::zeros());
        for i in 0..n {
            for j in 0..n {
                for k in 0..n {
                    let s = [i, j, k].map(|c| (f64::from(c) + random.uniform()) / f64::from(n));
                    let p = Vec3::from(fold(s));
                    assert!(p.min() >= -1e-12 && p.sum() <= 1.0 + 1e-12);
                    sum += p.component_mul(&p);
                }
            }
        }
        // ∫ x² over the unit tetrahedron, divided by its volume, is 1/10.
        let mean = sum / f64::from(n * n * n);
        assert!((mean - Vec3::new(0.1, 0.1, 0.1)).norm() < 1e-3, "{mean}");
    }
}
