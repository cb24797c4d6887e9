//! Hair on a surface: strands that stand on it, waved, curled and clumped.

use std::f64::consts::{PI, TAU};
use stiction_math::elementary::{cos, sin, sin_cos};

use stiction_math::Vec3;

use super::{ShapeError, at_least_one, limited, positive, require, segment_grid::SegmentGrid};
use crate::{mesh::TriMesh, place::by_place, random::SplitMix, strands::Strands};

/// The surface on which hair grows.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalp {
    /// A sphere round the origin.
    Sphere {
        /// Radius [m].
        radius: f64,
    },
    /// The upper half of a sphere round the origin, z > 0.
    HalfSphere {
        /// Radius [m].
        radius: f64,
    },
    /// The outer side of a surface. Normals are interpolated between vertices.
    Mesh(TriMesh),
}

/// Strands of equal length with equally long segments. The first segment of each is normal to the
/// scalp; strands are numbered by the places of their roots along a Morton curve, so that
/// neighbours in space are neighbours in memory.
///
/// Before clumping, a strand follows, with s the arc length of its centreline, n its root's normal and
/// t₁, t₂ two tangents,
///
/// root + s n + Σₖ frizz L/(2πk) aₖ sin(2πk s/L + φₖ) t + curl (cos θ t₁ + sin θ t₂),  θ = 2πs/pitch + φ
///
/// where |aₖ| sum to at most one and the curl grows from nothing over the first half turn. It rises
/// everywhere, so that it never enters a convex scalp.
#[derive(Clone, Debug, PartialEq)]
pub struct Groom {
    /// The surface on which the strands stand.
    pub scalp: Scalp,
    /// Number of strands.
    pub count: u32,
    /// Length of each, along the strand [m].
    pub length: f64,
    /// Segments of each.
    pub segments: u32,
    /// Random waves: the steepest slope against the normal, 0 for straight hair, at most 1.
    pub frizz: f64,
    /// Radius of curls [m]; 0 for none.
    pub curl_radius: f64,
    /// Rise of one turn of a curl [m].
    pub curl_pitch: f64,
    /// Into how many clumps strands are gathered; 0 for none.
    pub clumps: u32,
    /// Fraction of the distance to the tip of its clump by which the tip of a strand is moved; less
    /// towards the root.
    pub clumping: f64,
    /// Least distance between the centrelines of strands [m]; 0 for no limit. A strand that comes
    /// closer to earlier ones gets other waves and another rotation.
    pub apart: f64,
    /// Chooses waves, turns and places.
    pub seed: u64,
}

/// The start of a strand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// The point on the scalp [m].
    pub position: Vec3,
    /// Outward unit normal.
    pub normal: Vec3,
}

const SHAPE: &str = "groom";
/// Waves of frizz per strand.
const WAVES: usize = 3;
/// Number of shapes that a strand may try to keep its distance.
const TRIES: u64 = 1000;
/// Sine of the flattest angle between a strand and the tangent plane of its root.
const LEAST_RISE: f64 = 0.2;

impl Groom {
    /// Straight hair.
    pub fn straight(scalp: Scalp, count: u32, length: f64, segments: u32) -> Self {
        Self {
            scalp,
            count,
            length,
            segments,
            frizz: 0.0,
            curl_radius: 0.0,
            curl_pitch: length,
            clumps: 0,
            clumping: 0.0,
            apart: 0.0,
            seed: 0,
        }
    }

    /// The number of points of all strands.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        at_least_one(SHAPE, "count", self.count)?;
        at_least_one(SHAPE, "segments", self.segments)?;
        positive(SHAPE, "length", self.length)?;
        positive(SHAPE, "curl_pitch", self.curl_pitch)?;
        let share = |name, value: f64| {
            let good = (0.0..=1.0).contains(&value);
            require(good, SHAPE, name, "from 0 to 1", value)
        };
        share("frizz", self.frizz)?;
        share("clumping", self.clumping)?;
        for (name, value) in [("curl_radius", self.curl_radius), ("apart", self.apart)] {
            let good = value >= 0.0 && value.is_finite();
            require(good, SHAPE, name, "zero or positive", value)?;
        }
        if let Scalp::Sphere { radius } | Scalp::HalfSphere { radius } = self.scalp {
            positive(SHAPE, "radius", radius)?;
        }
        limited(
            SHAPE,
            u128::from(self.count) * (u128::from(self.segments) + 1),
        )
    }

    /// Grows the strands.
    pub fn build(&self) -> Result<Strands, ShapeError> {
        let nodes = self.node_count()? as usize;
        let roots = self.roots()?;
        let mut styles: Vec<Style> = (0..roots.len())
            .map(|s| Style::new(&roots[s], self.seed, s, 0))
            .collect();
        let n = self.segments as usize;
        let mut strands = Strands {
            points: vec![Vec3::zeros(); nodes],
            starts: (0..=roots.len()).map(|s| (s * (n + 1)) as u32).collect(),
        };
        let mut grid = (self.apart > 0.0)
            .then(|| SegmentGrid::new(self.apart, nodes - roots.len(), self.length / n as f64));
        // Strands that lead a clump come first: the others follow them.
        let leads = |s: &usize| self.leader(*s, roots.len()) == *s;
        let all = 0..roots.len();
        let others = all.clone().filter(|s| !leads(s));
        for s in all.clone().filter(leads).chain(others) {
            let leader = self.leader(s, roots.len());
            let points = &mut strands.points[s * (n + 1)..(s + 1) * (n + 1)];
            let mut tries = 1..TRIES;
            loop {
                let (own, other) = ((&roots[s], &styles[s]), (&roots[leader], &styles[leader]));
                self.grow(own, other, points);
                if grid.as_ref().is_none_or(|r| r.has(points)) {
                    break;
                }
                let Some(again) = tries.next() else {
                    return Err(ShapeError::NoRoom {
                        strand: s,
                        tries: TRIES,
                        apart: self.apart,
                    });
                };
                styles[s] = Style::new(&roots[s], self.seed, s, again);
            }
            if let Some(grid) = &mut grid {
                grid.take(points);
            }
        }
        Ok(strands)
    }

    /// The strand that leads the clump of another. Runs of roots along the curve are compact; the
    /// one in the middle leads.
    fn leader(&self, s: usize, count: usize) -> usize {
        let per_clump = match self.clumps {
            0 => 1,
            clumps => count.div_ceil(clumps as usize).max(1),
        };
        let first = s - s % per_clump;
        first + per_clump.min(count - first) / 2
    }

    /// The points of a strand in the clump of another.
    fn grow(&self, own: (&Root, &Style), leader: (&Root, &Style), points: &mut [Vec3]) {
        let (root, n) = (own.0, self.segments as usize);
        let step = self.length / n as f64;
        // A curl is longer than its centreline.
        let slope = TAU * self.curl_radius / self.curl_pitch;
        let rise = step / (1.0 + slope * slope).sqrt();
        let gathered = if self.clumps > 0 { self.clumping } else { 0.0 };
        let place = |i: usize| {
            let arc = rise * i as f64;
            let own = self.place(own.0, own.1, arc);
            let other = self.place(leader.0, leader.1, arc);
            own + (other - own) * (gathered * i as f64 / n as f64)
        };
        let (mut at, mut last) = (root.position, root.position);
        points[0] = at;
        for (i, point) in points.iter_mut().enumerate().skip(1) {
            let next = place(i);
            // The directions of the curve, with steps of one length; the first one is normal.
            let direction = if i == 1 {
                root.normal
            } else {
                rising(next - last, root.normal)
            };
            at += direction * step;
            last = next;
            *point = at;
        }
    }

    /// The starts of the strands, in their order.
    pub fn roots(&self) -> Result<Vec<Root>, ShapeError> {
        self.node_count()?;
        let count = self.count as usize;
        let turn = SplitMix::new(self.seed).uniform();
        let mut roots = match &self.scalp {
            Scalp::Sphere { radius } => spiral(*radius, 1.0, -1.0, count, turn),
            Scalp::HalfSphere { radius } => spiral(*radius, 1.0, 0.0, count, turn),
            Scalp::Mesh(mesh) => on_mesh(mesh, count, turn)?,
        };
        let points: Vec<Vec3> = roots.iter().map(|r| r.position).collect();
        let order = by_place(&points);
        let sorted = order.iter().map(|&i| roots[i as usize]);
        roots = sorted.collect();
        Ok(roots)
    }

    /// The curve of a strand before clumping.
    fn place(&self, root: &Root, style: &Style, arc: f64) -> Vec3 {
        let mut x = root.position + root.normal * arc;
        if self.frizz > 0.0 {
            for (k, wave) in style.waves.iter().enumerate() {
                let number = TAU * (k + 1) as f64 / self.length;
                let swing = sin(number * arc + wave.phase) - sin(wave.phase);
                x += wave.direction * (self.frizz / number * swing);
            }
        }
        if self.curl_radius > 0.0 {
            let angle = TAU * arc / self.curl_pitch + style.phase;
            let grown = (2.0 * arc / self.curl_pitch).min(1.0);
            let [a, b] = style.tangents;
            x += (a * cos(angle) + b * sin(angle)) * (self.curl_radius * grown);
        }
        x
    }
}

/// The direction `along`, raised where it would go down or too flat: a strand that always rises
/// from its root's tangent plane never enters a convex scalp, however far away its clump is.
fn rising(along: Vec3, normal: Vec3) -> Vec3 {
    let direction = along.try_normalize(0.0).unwrap_or(normal);
    let rise = direction.dot(&normal);
    if rise >= LEAST_RISE {
        return direction;
    }
    match (direction - normal * rise).try_normalize(0.0) {
        Some(flat) => flat * (1.0 - LEAST_RISE * LEAST_RISE).sqrt() + normal * LEAST_RISE,
        None => normal,
    }
}

/// Random properties of a strand.
struct Style {
    tangents: [Vec3; 2],
    phase: f64,
    waves: [Wave; WAVES],
}

/// A wave of frizz, with its amplitude in the length of its direction.
struct Wave {
    direction: Vec3,
    phase: f64,
}

impl Style {
    fn new(root: &Root, seed: u64, strand: usize, again: u64) -> Self {
        // Strands draw from sequences of their own: more strands do not change those before.
        let own = (strand as u64).wrapping_mul(0xd134_2543_de82_ef95);
        let mut random = SplitMix::new(seed ^ own ^ again.wrapping_mul(0xaf25_1af3_b0f0_25b5));
        let n = root.normal;
        let axis = if n.x.abs() < 0.6 {
            Vec3::x()
        } else {
            Vec3::y()
        };
        let a = n.cross(&axis).normalize();
        let b = n.cross(&a);
        let phase = TAU * random.uniform();
        let waves = std::array::from_fn(|_| {
            let [x, y] = random.in_disc();
            Wave {
                direction: (a * x + b * y) / WAVES as f64,
                phase: TAU * random.uniform(),
            }
        });
        Self {
            tangents: [a, b],
            phase,
            waves,
        }
    }
}

/// Points of a sphere between two heights, as parts of its radius: a spiral whose turns and steps
/// are equally far apart. Every point stands for the same area.
fn spiral(radius: f64, top: f64, bottom: f64, count: usize, turn: f64) -> Vec<Root> {
    // The golden angle.
    let angle = PI * (3.0 - 5.0_f64.sqrt());
    let point = |i: usize| {
        let z = top - (top - bottom) * (i as f64 + 0.5) / count as f64;
        let (s, c) = sin_cos(angle * i as f64 + TAU * turn);
        let r = (1.0 - z * z).max(0.0).sqrt();
        let normal = Vec3::new(r * c, r * s, z).normalize();
        Root {
            position: normal * radius,
            normal,
        }
    };
    (0..count).map(point).collect()
}

/// Points of a mesh: equal steps of area along a curve through the triangles, so that no part of
/// the surface has a point too many or too few, and inside a triangle the multiples of the
/// powers of the plastic number, which fill the square evenly, folded onto the triangle.
fn on_mesh(mesh: &TriMesh, count: usize, turn: f64) -> Result<Vec<Root>, ShapeError> {
    let corners = |t: usize| mesh.triangles[t].map(|v| mesh.positions[v as usize]);
    let cross = |t: usize| {
        let [a, b, c] = corners(t);
        (b - a).cross(&(c - a))
    };
    let centres: Vec<Vec3> = (0..mesh.triangles.len())
        .map(|t| corners(t).iter().sum::<Vec3>() / 3.0)
        .collect();
    let order = by_place(&centres);
    let total: f64 = order.iter().map(|&t| cross(t as usize).norm()).sum();
    require(
        total > 0.0 && total.is_finite(),
        SHAPE,
        "mesh",
        "a surface with a positive, finite area",
        0.5 * total,
    )?;
    // Weighted by area: the cross products as they are.
    let mut normals = vec![Vec3::zeros(); mesh.positions.len()];
    for (t, triangle) in mesh.triangles.iter().enumerate() {
        for &v in triangle {
            normals[v as usize] += cross(t);
        }
    }
    let plastic = 1.324_717_957_244_746;
    let mut roots = Vec::with_capacity(count);
    let mut covered = 0.0;
    for &t in &order {
        let t = t as usize;
        covered += cross(t).norm();
        while roots.len() < count && (roots.len() as f64 + 0.5) * total < covered * count as f64 {
            let i = roots.len() as f64 + turn;
            let (mut u, mut v) = ((i / plastic).fract(), (i / (plastic * plastic)).fract());
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            let [a, b, c] = corners(t);
            let [na, nb, nc] = mesh.triangles[t].map(|v| {
                let n = normals[v as usize];
                n.try_normalize(0.0).unwrap_or_default()
            });
            let flat = cross(t).try_normalize(0.0).unwrap_or_else(Vec3::z);
            let normal = na * (1.0 - u - v) + nb * u + nc * v;
            roots.push(Root {
                position: a + (b - a) * u + (c - a) * v,
                normal: normal.try_normalize(1e-6).unwrap_or(flat),
            });
        }
    }
    // The last one falls to rounding at most.
    if let Some(&last) = roots.last() {
        roots.resize(count, last);
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shapes::{BallSurface, TorusSurface};
    use proptest::prelude::*;

    fn styled(scalp: Scalp, seed: u64) -> Groom {
        Groom {
            frizz: 0.4,
            curl_radius: 0.002,
            curl_pitch: 0.012,
            clumps: 12,
            clumping: 0.7,
            seed,
            ..Groom::straight(scalp, 300, 0.06, 24)
        }
    }

    fn ball() -> TriMesh {
        let radius = 0.1;
        BallSurface {
            radius,
            frequency: 12,
        }
        .build()
        .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn strands_stand_on_the_scalp_and_have_their_length(seed in any::<u64>(), kind in 0..3) {
            let radius = 0.1;
            let scalp = match kind {
                0 => Scalp::Sphere { radius },
                1 => Scalp::HalfSphere { radius },
                _ => Scalp::Mesh(ball()),
            };
            let groom = styled(scalp, seed);
            let strands = groom.build().unwrap();
            prop_assert_eq!(strands.len(), 300);
            prop_assert_eq!(strands.points.len() as u64, groom.node_count().unwrap());
            let step = groom.length / 24.0;
            for (s, root) in groom.roots().unwrap().iter().enumerate() {
                let points = strands.strand(s);
                prop_assert_eq!(points[0], root.position);
                prop_assert!((points[1] - points[0] - root.normal * step).norm() < 1e-15);
                for w in points.windows(2) {
                    prop_assert!(((w[1] - w[0]).norm() - step).abs() < 1e-12);
                }
                // A sphere is convex: hair that never turns back never enters it.
                let tolerance = if kind == 2 { 2e-3 } else { 1e-12 };
                prop_assert!((points[0].norm() - radius).abs() < tolerance);
                prop_assert!(root.normal.dot(&points[0]) > (1.0 - 1e-3) * points[0].norm());
                for p in points {
                    prop_assert!(p.norm() > points[0].norm() - 1e-9);
                }
                if kind == 1 {
                    prop_assert!(points[0].z > 0.0);
                }
            }
        }
    }

    /// Independent points would stray from n p by √(n p (1 − p)); these must stray far less.
    #[test]
    fn roots_cover_equal_areas_evenly_and_keep_apart() {
        let count = 4000;
        for scalp in [Scalp::Sphere { radius: 0.1 }, Scalp::Mesh(ball())] {
            let groom = Groom::straight(scalp, count, 0.01, 1);
            let roots = groom.roots().unwrap();
            let mut random = SplitMix::new(9);
            let mut squares = 0.0;
            for _ in 0..200 {
                let mut next = || 2.0 * random.uniform() - 1.0;
                let axis = Vec3::new(next(), next(), next()).normalize();
                let cosine = next();
                let inside = |r: &&Root| r.position.dot(&axis) > cosine * r.position.norm();
                let part = 0.5 * (1.0 - cosine);
                let expected = f64::from(count) * part;
                let found = roots.iter().filter(inside).count() as f64;
                squares += (found - expected).powi(2) / (expected * (1.0 - part)).max(1.0);
            }
            assert!(squares / 200.0 < 0.3, "{}", squares / 200.0);
        }
        let groom = Groom::straight(Scalp::Sphere { radius: 1.0 }, 500, 0.01, 1);
        let roots = groom.roots().unwrap();
        let mut nearest = f64::INFINITY;
        for (i, a) in roots.iter().enumerate() {
            for b in &roots[..i] {
                nearest = nearest.min((a.position - b.position).norm());
            }
        }
        // Points of a hexagonal net of the same density are 0.17 apart.
        assert!(nearest > 0.1, "{nearest}");
    }

    #[test]
    fn neighbours_in_number_are_neighbours_in_space() {
        let groom = Groom::straight(Scalp::Sphere { radius: 1.0 }, 2000, 0.01, 1);
        let roots = groom.roots().unwrap();
        let steps = roots
            .windows(2)
            .map(|w| (w[1].position - w[0].position).norm());
        let mean = steps.sum::<f64>() / 1999.0;
        // Two points at random are 1.33 apart, neighbours 0.08.
        assert!(mean < 0.2, "{mean}");
    }

    #[test]
    fn frizz_curl_and_clumps_do_what_they_say() {
        let scalp = Scalp::HalfSphere { radius: 0.1 };
        let straight = Groom::straight(scalp, 200, 0.06, 30);
        let spread = |groom: &Groom| {
            let strands = groom.build().unwrap();
            let tips: Vec<Vec3> = (0..200).map(|s| strands.strand(s)[30]).collect();
            // Five by five, as the clumps below.
            let near = tips
                .chunks(5)
                .flat_map(|c| c.windows(2).map(|w| (w[0] - w[1]).norm()));
            near.sum::<f64>() / 160.0
        };
        let reach = |groom: &Groom| {
            let strands = groom.build().unwrap();
            let ends = (0..200).map(|s| (strands.strand(s)[30] - strands.strand(s)[0]).norm());
            ends.sum::<f64>() / 200.0
        };
        assert!((reach(&straight) - 0.06).abs() < 1e-12);
        let clumped = Groom {
            clumps: 40,
            clumping: 0.9,
            ..straight.clone()
        };
        assert!(spread(&clumped) < 0.5 * spread(&straight));
        let frizzy = Groom {
            frizz: 0.8,
            ..straight.clone()
        };
        assert!(reach(&frizzy) < 0.99 * 0.06);
        let curly = Groom {
            curl_radius: 0.002,
            curl_pitch: TAU * 0.002,
            segments: 200,
            ..straight.clone()
        };
        // A helix at 45° climbs length / √2.
        let strands = curly.build().unwrap();
        let rise: Vec<f64> = (0..200)
            .map(|s| {
                let p = strands.strand(s);
                (p[200] - p[0]).dot(&p[0].normalize())
            })
            .collect();
        for r in rise {
            assert!((r / 0.06 - 0.5_f64.sqrt()).abs() < 0.03, "{r}");
        }
        let other = Groom {
            seed: 1,
            ..frizzy.clone()
        };
        assert_ne!(other.build().unwrap(), frizzy.build().unwrap());
        assert_eq!(frizzy.build().unwrap(), frizzy.build().unwrap());
    }

    /// Against all pairs, one by one.
    #[test]
    fn strands_keep_their_distance() {
        let apart = 2e-3;
        let scalp = Scalp::HalfSphere { radius: 0.02 };
        let near = |groom: &Groom| {
            let strands = groom.build().unwrap();
            let segments = |s: usize| strands.strand(s).windows(2).map(|w| [w[0], w[1]]);
            let mut near = f64::INFINITY;
            for s in 0..strands.len() {
                for (a, t) in segments(s).flat_map(|a| (0..s).map(move |t| (a, t))) {
                    let distances = segments(t).map(|b| crate::collide::edge_edge(&a, &b).squared);
                    near = near.min(distances.fold(f64::INFINITY, f64::min).sqrt());
                }
            }
            near
        };
        for (frizz, curl_radius, clumps) in [(0.6, 0.0, 0), (0.6, 0.004, 0), (0.6, 0.0, 50)] {
            let free = Groom {
                frizz,
                curl_radius,
                curl_pitch: 0.05,
                clumps,
                clumping: 0.3,
                ..Groom::straight(scalp.clone(), 300, 0.1, 12)
            };
            let kept = Groom {
                apart,
                ..free.clone()
            };
            assert!(near(&free) < apart, "{}", near(&free));
            assert!(near(&kept) >= apart, "{}", near(&kept));
        }
    }

    #[test]
    fn roots_on_a_torus_are_normal_to_it() {
        let torus = TorusSurface {
            major: 0.1,
            minor: 0.03,
            around: 60,
            across: 24,
        };
        let groom = Groom::straight(Scalp::Mesh(torus.build().unwrap()), 1000, 0.01, 2);
        let roots = groom.roots().unwrap();
        assert_eq!(roots.len(), 1000);
        for r in roots {
            let ring = Vec3::new(r.position.x, r.position.y, 0.0).normalize() * 0.1;
            let exact = (r.position - ring).normalize();
            assert!(r.normal.dot(&exact) > 0.995, "{r:?}");
        }
    }

    #[test]
    fn refuses_impossible_parameters() {
        let good = Groom::straight(Scalp::Sphere { radius: 1.0 }, 2, 1.0, 2);
        let flat = TriMesh {
            positions: vec![Vec3::zeros(); 3],
            triangles: vec![[0, 1, 2]],
        };
        let bad = [
            Groom {
                count: 0,
                ..good.clone()
            },
            Groom {
                segments: 0,
                ..good.clone()
            },
            Groom {
                length: -1.0,
                ..good.clone()
            },
            Groom {
                frizz: 1.5,
                ..good.clone()
            },
            Groom {
                clumping: f64::NAN,
                ..good.clone()
            },
            Groom {
                curl_radius: -1.0,
                ..good.clone()
            },
            Groom {
                curl_pitch: 0.0,
                ..good.clone()
            },
            Groom {
                apart: -1.0,
                ..good.clone()
            },
            // More than the ball is wide.
            Groom {
                apart: 3.0,
                ..good.clone()
            },
            Groom {
                scalp: Scalp::Sphere { radius: 0.0 },
                ..good.clone()
            },
            Groom {
                scalp: Scalp::Mesh(flat),
                ..good.clone()
            },
            Groom {
                count: u32::MAX,
                segments: u32::MAX,
                ..good
            },
        ];
        for groom in bad {
            assert!(groom.build().is_err(), "{groom:?}");
        }
    }
}
