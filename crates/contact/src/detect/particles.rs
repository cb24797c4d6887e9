//! Contacts of particles with one another and with rods.
//!
//! Particles are vertices without a mesh: with faces they are paired like all vertices (`pairs`),
//! with solids too (`shapes`). The remaining pairs are those in which neither side has a face.
//! They are found anew in every search, around the paths as they are then, so that nothing has to
//! be kept when velocities change during a solve.
//!
//! Within a body of particles there is no rest shape to respect, so that the thickness is never
//! cut to half the distance at rest.

use stiction_geometry::Aabb;
use stiction_geometry::collide::bvh::{Aabb32, Bvh};
use stiction_geometry::collide::ccd::{self, CcdConfig, Impact};
use stiction_geometry::collide::{
    EdgeFeature, ProximityKind, SurfaceError, point_edge, point_edge_normal,
};
use stiction_math::{Vec3, parallel};

use super::emit::{Found, Kind, Wait};
use super::pairs::relisting_threshold;
use super::quota::Quota;
use super::shapes::gather;
use super::step::Motion;
use super::world::{DetectError, World};

/// Pairs are listed by distance from this multiple of the thickness. Particles are as thick as they
/// are large: from farther away, as among thin sheets, the neighbours' neighbours of a packing
/// would be listed, which motion finds when they matter.
const NEAR: f64 = 1.1;

/// A particle and another one, or a particle and a rod: `[p, q, q]` or `[p, a, b]`.
type Pair = [u32; 3];

impl World {
    /// Contacts within reach at the start, and those that would come closer than the thickness
    /// during the step; if `deep`, also those of relisted pairs, as among meshes.
    pub(super) fn on_particles(
        &self,
        motion: &Motion,
        deep: bool,
    ) -> Result<Vec<Found>, DetectError> {
        let pairs = self.particle_pairs(motion)?;
        Ok(gather(&pairs, |_, pair, out| {
            self.particle(motion, pair, deep, out);
        }))
    }

    /// The largest fraction of the step for which all these pairs stay `d` [m] apart.
    pub(super) fn safe_from_particles(&self, motion: &Motion, d: f64) -> Result<f64, DetectError> {
        let pairs = self.particle_pairs(motion)?;
        let time = |pair: &Pair| impact(motion, pair, d).map(|i| i.time);
        let times = parallel::map_ranges(pairs.len(), 512, |range| {
            pairs[range].iter().filter_map(time).fold(1.0, f64::min)
        });
        Ok(times.into_iter().fold(1.0, f64::min))
    }

    /// The fraction of [`World::safe_from_particles`], with the colliders of the pair that limits it.
    pub(super) fn first_of_particles(
        &self,
        motion: &Motion,
        d: f64,
    ) -> Result<Option<(f64, [u32; 2])>, DetectError> {
        let mut first: Option<(f64, [u32; 2])> = None;
        for pair in self.particle_pairs(motion)? {
            if let Some(impact) = impact(motion, &pair, d)
                && first.is_none_or(|f| impact.time < f.0)
            {
                let owners = [pair[0], pair[1]].map(|v| self.owner[v as usize]);
                first = Some((impact.time, owners));
            }
        }
        Ok(first)
    }

    /// All pairs whose boxes overlap, in ascending order.
    fn particle_pairs(&self, motion: &Motion) -> Result<Vec<Pair>, DetectError> {
        if self.particles.is_empty() {
            return Ok(Vec::new());
        }
        let bound = |vertices: &[u32]| {
            let far = Vec3::repeat(f64::INFINITY);
            let (mut min, mut max) = (far, -far);
            for &v in vertices {
                let (a, b) = (motion.x0[v as usize], motion.x1[v as usize]);
                // Covers the rounding of the sums below and of the distances.
                let slack = 1e-12 * a.amax().max(b.amax());
                let reach = Vec3::repeat(0.5 * NEAR * self.owner(v).thickness + slack);
                min = min.inf(&(a.inf(&b) - reach));
                max = max.sup(&(a.sup(&b) + reach));
            }
            Aabb32::from(&Aabb { min, max })
        };
        let free = |vertices: &[u32]| vertices.iter().any(|v| motion.free[*v as usize]);
        let owner = |v: u32| self.owner[v as usize];
        let points: Vec<Aabb32> = self.particles.iter().map(|p| bound(&[*p])).collect();
        let points = Bvh::build(&points).map_err(SurfaceError::from)?;
        let touch = |i: u32, j: u32| {
            let (p, q) = (self.particles[i as usize], self.particles[j as usize]);
            free(&[p, q]) && self.may_touch(owner(p), owner(q))
        };
        let quota = Quota::new(self.particles.len());
        let two = points.self_pairs(|i, j| touch(i, j) && quota.admits());
        quota.check(self, |count| {
            points.self_pairs(|i, j| {
                if touch(i, j) {
                    let [p, q] = [i, j].map(|k| self.particles[k as usize]);
                    count(owner(p), owner(q));
                }
                false
            });
        })?;
        let particle = |i: u32| self.particles[i as usize];
        let two = two.iter().map(|[i, j]| (particle(*i), particle(*j)));
        let mut pairs: Vec<Pair> = two.map(|(p, q)| [p.min(q), p.max(q), p.max(q)]).collect();
        if !self.rods.is_empty() {
            let rods: Vec<Aabb32> = self.rods.iter().map(|r| bound(r)).collect();
            let rods = Bvh::build(&rods).map_err(SurfaceError::from)?;
            let touch = |i: u32, j: u32| {
                let (p, [a, b]) = (particle(i), self.rods[j as usize]);
                free(&[p, a, b]) && self.may_touch(owner(p), owner(a))
            };
            let quota = Quota::new(self.particles.len() + self.rods.len());
            let with_rods = points.pairs(&rods, |i, j| touch(i, j) && quota.admits());
            quota.check(self, |count| {
                points.pairs(&rods, |i, j| {
                    if touch(i, j) {
                        count(owner(particle(i)), owner(self.rods[j as usize][0]));
                    }
                    false
                });
            })?;
            pairs.extend(with_rods.iter().map(|[i, j]| {
                let [a, b] = self.rods[*j as usize];
                [particle(*i), a, b]
            }));
        }
        Ok(pairs)
    }

    fn particle(&self, motion: &Motion, pair: &Pair, deep: bool, found: &mut Vec<Found>) {
        let thickness = self.thickness(self.owner[pair[0] as usize], self.owner[pair[1] as usize]);
        let [p, a, b] = pair.map(|v| motion.x0[v as usize]);
        let distance = point_edge(&p, &[a, b]).squared.sqrt();
        let mut add = |time: f64, deep: bool| {
            let one = touching(motion, pair, thickness, time);
            // The end of a rod leaves contacts to the next rod where that is closer.
            let Kind::Pair(kind) = one.kind else { return };
            if self.is_nearest(kind, &one.vertices, &one.normal, |v| motion.at(v, time)) {
                found.push(Found { deep, ..one });
            }
        };
        if distance <= NEAR * thickness {
            add(0.0, false);
        } else if let Some(impact) = impact(motion, pair, thickness) {
            add(impact.time, false);
        } else {
            return;
        }
        let again = relisting_threshold(thickness, distance);
        if deep && let Some(impact) = impact(motion, pair, again).filter(|i| i.time > 0.0) {
            add(impact.time, true);
        }
    }
}

/// Tolerance of the time of impact, as a fraction of the contact distance: what passes a ball
/// farther off is no contact, and the normal of one that is hit is that of the place where it is.
const EARLY: f64 = 0.01;

/// When a pair comes closer than `d` [m].
fn impact(motion: &Motion, [p, a, b]: &Pair, d: f64) -> Option<Impact> {
    let mut config = CcdConfig::new(d);
    let at = |x: &[Vec3]| [p, a, b].map(|v| x[*v as usize]);
    let (x0, x1) = (at(&motion.x0), at(&motion.x1));
    let gap = point_edge(&x0[0], &[x0[1], x0[2]]).squared.sqrt() - d;
    if gap > d {
        config.remaining = EARLY * d / gap;
    }
    let answer = if a == b {
        ccd::vertex_vertex(&[x0[0], x0[1]], &[x1[0], x1[1]], &config)
    } else {
        ccd::vertex_edge(&x0, &x1, &config)
    };
    answer.impact
}

/// The contact of a pair at a time, between the features that are closest then.
fn touching(motion: &Motion, pair: &Pair, thickness: f64, time: f64) -> Found {
    let [p, a, b] = *pair;
    let on = point_edge(&motion.at(p, time), &[a, b].map(|v| motion.at(v, time)));
    let end = match on.feature {
        _ if a == b => Some(b),
        EdgeFeature::End(0) => Some(a),
        EdgeFeature::End(_) => Some(b),
        EdgeFeature::Interior => None,
    };
    // Where two particles are in one place, the side is that of the start.
    let [w, s] = on.weights;
    let x = |v: u32| motion.x0[v as usize];
    let before = x(p) - x(a) * w - x(b) * s;
    let (kind, vertices, weights, separation) = match end {
        // The lower vertex comes first, as everywhere.
        Some(q) if q < p => (
            ProximityKind::VertexVertex,
            [q, p, p, p],
            [1.0, -1.0, 0.0, 0.0],
            -on.separation,
        ),
        Some(q) => (
            ProximityKind::VertexVertex,
            [p, q, q, q],
            [1.0, -1.0, 0.0, 0.0],
            on.separation,
        ),
        None => (
            ProximityKind::VertexEdge,
            [p, a, b, b],
            [1.0, -w, -s, 0.0],
            on.separation,
        ),
    };
    let hint = if vertices[0] == p { before } else { -before };
    let edge = match end {
        Some(_) => [motion.at(vertices[1], time); 2],
        None => [motion.at(a, time), motion.at(b, time)],
    };
    Found {
        kind: Kind::Pair(kind),
        vertices,
        weights,
        normal: point_edge_normal(&separation, &edge, &hint),
        distance: on.squared.sqrt(),
        thickness,
        touch: None,
        continuous: time > 0.0,
        deep: false,
        wait: Wait::Never,
        spare: false,
    }
}
