//! The stencil of a contact: both sides at one point of space.
//!
//! The closest points x_A and x_B of two features are up to a thickness apart. If each side moved as
//! its own point does, sticking would tie two points with a lever between them: a box on a table that
//! tilts by θ would walk by the thickness times θ, and a friction impulse J would change the angular
//! momentum of a pair by J times the thickness. So both sides are evaluated at one point c:
//!
//! ```text
//! u = v_A(c) − v_B(c) + (gap/h) n,      v_X(c) = v_X(x_X) + ω_X × (c − x_X)
//! ```
//!
//! Rigid bodies and obstacles turn as a whole, so ω_X is theirs, and c is where the other side is; of
//! two free rigid bodies it is the middle. As every map reproduces rigid motion exactly, its transpose
//! applies the impulse at c: linear and angular momentum of the pair are conserved to rounding.
//!
//! Where both sides move node by node and are surfaces of solids, the lever is that of the triangles at the
//! second feature, see [`Spin`]: the contact thickness turns with them like a layer on the solid. Sheets, rods
//! and particles have no lever: each side moves as its own point does, but for a sheet on the mesh of an obstacle that
//! deforms, whose triangles turn as prescribed. On a sheet the couple would be normal
//! forces at light nodes, which change what friction its neighbours bear: a house of cards took twelve times
//! the iterations with it, and soft pads on a cloth 1.3 times.
//!
//! # Turning
//! A step turns a rigid body by exp(h ω), so a point at the lever ρ moves along an arc: its mean velocity
//! is (exp(h ω) − 1) ρ/h, not ω × ρ. Obstacles move along arcs, too. The difference is put into k with the
//! angular velocity of the last linearisation ([`Arc`]): then a body that turns with an obstacle is at
//! rest relative to it at all of its contacts, and does not drift off.
//!
//! Features that meet late in the step are apart along their plane at its start: a corner that slides 3 cm along a
//! face has its point of impact so far ahead. At the common point a body that turns by 0.1 rad then rises by another
//! 1.5 mm than at its own point, more than the contact is thick, and the contact would hold while the corner
//! passes. The normal component of k therefore has what the body's own point moves beyond the common one, by its
//! offset a across the normal: u_N + k_N is what separates the two points of impact, and the impulse still acts at one
//! point of space:
//!
//! ```text
//! k_N = n·((exp(h ω) − 1)(ρ + a)/h − ω × (ρ + a)) − n·(exp(h ω) − 1) a/h
//! ```

use stiction_geometry::collide::ProximityKind;
use stiction_math::{Mat3, Quat, Vec3, elementary::rotation};

use super::emit::{Found, Kind};
use super::step::{Motion, Turn};
use super::world::{NONE, World};
use crate::{ContactKey, ContactSet, StencilEntry};

/// Point of action of a contact, and the motion of both sides there.
#[derive(Debug, Default)]
pub(super) struct Stencil {
    /// B of the contact.
    pub entries: Vec<StencilEntry>,
    /// x_A − x_B at the start [m].
    pub separation: Vec3,
    /// The relative velocity from prescribed motion, and from the arcs of free bodies [m/s].
    pub drift: Vec3,
    /// The middle of the two points at the start [m].
    pub point: Vec3,
    /// The free rigid bodies: angular block, and the arc of its point.
    arcs: [Option<(u32, Turning)>; 2],
}

/// Motion of a point of a free rigid body beyond ω × ρ. Vectors have the sign of the side.
#[derive(Clone, Copy, Debug)]
struct Turning {
    /// From the centre of mass to the contact [m].
    lever: Vec3,
    /// From the body's own point to the contact, across the normal [m].
    aside: Vec3,
    /// The angular velocity [rad/s].
    omega: Vec3,
}

impl Turning {
    /// Mean velocity of the point in a step, less ω × ρ; along the normal that of the body's own point [m/s].
    fn excess(&self, h: f64, normal: &Vec3) -> Vec3 {
        let turn = rotation(&(self.omega * h));
        let arc = chord(h, &turn, &self.lever) - self.omega.cross(&self.lever);
        match self.aside == Vec3::zeros() {
            true => arc,
            false => arc - normal * normal.dot(&chord(h, &turn, &self.aside)),
        }
    }
}

/// The arc of a point of a free rigid body, in the k of a contact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    contact: u32,
    key: ContactKey,
    /// The angular block.
    block: u32,
    /// With the angular velocity that is in k.
    turning: Turning,
}

/// Points that are apart by more than this fraction of their distance across the normal do not touch yet.
const ASIDE: f64 = 1e-3;

/// One side of a contact.
struct Side {
    /// +1 for the first, −1 for the second.
    sign: f64,
    collider: u32,
    /// The point of its feature at the start [m].
    x: Vec3,
    /// From the centre of mass to it, where the side is a rigid body [m].
    lever: Vec3,
}

impl Stencil {
    fn add(&mut self, entry: StencilEntry) {
        match self.entries.iter_mut().find(|e| e.node == entry.node) {
            Some(e) => {
                e.weight += entry.weight;
                e.lever += entry.lever;
                if let Some(block) = entry.block {
                    e.block = Some(e.block.map_or(block, |b| b + block));
                }
            }
            None => self.entries.push(entry),
        }
    }

    /// The arcs of the contact at the place `contact`.
    pub(super) fn arcs(&self, contact: usize, key: ContactKey) -> impl Iterator<Item = Arc> + '_ {
        let arcs = self.arcs.iter().flatten();
        arcs.map(move |&(block, turning)| Arc {
            contact: contact as u32,
            key,
            block,
            turning,
        })
    }
}

impl Arc {
    /// The place of the contact.
    pub(super) fn contact(&self) -> usize {
        self.contact as usize
    }

    /// Displacement of the body's own point along the normal in a step, beyond the common one [m].
    pub(super) fn aside(&self, h: f64, contacts: &ContactSet) -> f64 {
        let Turning { aside, omega, .. } = &self.turning;
        let normal = contacts.normal.get(self.contact as usize);
        let moved = chord(h, &rotation(&(omega * h)), aside) * h;
        normal.map_or(0.0, |n| n.dot(&moved).abs())
    }

    /// The arc of the same contact at another place.
    pub(super) fn moved(self, contact: u32) -> Self {
        Self { contact, ..self }
    }

    /// Brings k up to date with the angular velocities in `v`. Returns its change [m/s].
    pub(super) fn follow(&mut self, h: f64, v: &[Vec3], contacts: &mut ContactSet) -> f64 {
        let c = self.contact as usize;
        let omega = v.get(self.block as usize).copied();
        // A revision may have moved the contact.
        let Some(omega) = omega.filter(|_| contacts.key.get(c) == Some(&self.key)) else {
            return 0.0;
        };
        let turning = Turning {
            omega,
            ..self.turning
        };
        let normal = &contacts.normal[c];
        let change = turning.excess(h, normal) - self.turning.excess(h, normal);
        contacts.k[c] += change;
        self.turning = turning;
        change.norm()
    }
}

/// Mean velocity of the end of a lever that turns in a step [m/s].
fn chord(h: f64, turn: &Quat, lever: &Vec3) -> Vec3 {
    (turn * lever - lever) / h
}

impl World {
    /// The stencil of a contact that was found.
    pub(super) fn stencil(&self, motion: &Motion, found: &Found) -> Stencil {
        let mut stencil = Stencil::default();
        // Differences from the first vertex keep digits that coordinates far from zero would cost.
        let origin = motion.x0[found.vertices[0] as usize];
        let [mut a, mut b] = [1.0, -1.0].map(|sign| Side {
            sign,
            collider: NONE,
            x: Vec3::zeros(),
            lever: Vec3::zeros(),
        });
        for (&vertex, &w) in found.vertices.iter().zip(&found.weights) {
            if w == 0.0 {
                continue;
            }
            let v = vertex as usize;
            let side = if w > 0.0 { &mut a } else { &mut b };
            side.collider = self.owner[v];
            side.x += (motion.x0[v] - origin) * w.abs();
            stencil.drift += motion.drift(v) * w;
            for &(block, weight) in self.entries_of(v) {
                if !motion.fixed[block as usize] {
                    stencil.add(StencilEntry::weight(block, weight * w));
                }
            }
            let spin = self.angular[v];
            if spin != NONE {
                side.lever += motion.lever[v] * w.abs();
                if !motion.fixed[spin as usize] {
                    stencil.add(StencilEntry::lever(spin, motion.lever[v] * w));
                }
            }
        }
        if let Some(touch) = &found.touch {
            b.collider = touch.collider;
            b.x = touch.from - origin;
            stencil.drift -= (touch.to - touch.from) / motion.h;
        }
        stencil.separation = a.x - b.x;
        stencil.point = origin + (a.x + b.x) * 0.5;
        self.join(motion, found, [&a, &b], &mut stencil);
        // Weights that cancel (two points carried by the same nodes) leave only rounding.
        stencil
            .entries
            .retain(|e| e.weight.abs() > 1e-12 || e.lever != Vec3::zeros() || e.block.is_some());
        stencil
    }

    /// Moves both sides to one point.
    fn join(&self, motion: &Motion, found: &Found, sides: [&Side; 2], stencil: &mut Stencil) {
        let [a, b] = sides;
        if a.collider == NONE || b.collider == NONE {
            return;
        }
        // From the point of each side to the common one. What is prescribed is joined where it will
        // touch: its motion far from its surface means nothing.
        let apart = a.x - b.x;
        let across = apart - found.normal * found.normal.dot(&apart);
        let aside = across.norm() > ASIDE * apart.norm();
        let touching = match aside {
            true => found.normal * found.thickness,
            false => apart,
        };
        let turns = [a, b].map(|s| &motion.turns[s.collider as usize]);
        let offsets = match turns {
            [Turn::Nodes, Turn::Nodes] => {
                let obstacle = |s: &Side| self.is_obstacle(s.collider);
                if obstacle(a) || obstacle(b) {
                    // Only the prescribed side has a lever, and it brings no unknown.
                    self.lean(motion, found, &touching, Some(obstacle(a)), stencil);
                } else if self.is_closed(a.collider) && self.is_closed(b.collider) {
                    self.lean(motion, found, &apart, None, stencil);
                }
                return;
            }
            [Turn::Free { .. }, Turn::Free { .. }] => [apart * -0.5, apart * 0.5],
            [Turn::Nodes, Turn::Free { .. }] => [Vec3::zeros(), apart],
            [Turn::Free { .. }, Turn::Nodes] => [-apart, Vec3::zeros()],
            [_, Turn::Prescribed(_)] => [Vec3::zeros(), touching],
            [Turn::Prescribed(_), _] => [-touching, Vec3::zeros()],
        };
        for ((side, offset), at) in sides.into_iter().zip(offsets).zip(0..) {
            match motion.turns[side.collider as usize] {
                Turn::Nodes => {}
                Turn::Prescribed(turn) => {
                    stencil.drift += chord(motion.h, &turn, &offset) * side.sign;
                }
                Turn::Free { block, start, now } => {
                    // A pair is relisted where its contacts hold but for the turn of its bodies, and no iterate is wild.
                    let omega = if found.deep { now } else { start };
                    if offset != Vec3::zeros() {
                        stencil.add(StencilEntry::lever(block, offset * side.sign));
                    }
                    let beside = offset - found.normal * found.normal.dot(&offset);
                    let turning = Turning {
                        lever: (side.lever + offset) * side.sign,
                        aside: beside * f64::from(aside) * side.sign,
                        omega,
                    };
                    stencil.drift += turning.excess(motion.h, &found.normal);
                    stencil.arcs[at] = Some((block, turning));
                }
            }
        }
    }
}

/// The spin of a triangle as a function of the velocities of its corners.
///
/// A velocity that is linear on the triangle, v = Σ φᵢ vᵢ, turns its normal m by
/// ṁ = −Σ ∇φᵢ (m·vᵢ) and the triangle in its plane by ω_m = ½ Σ (m × ∇φᵢ)·vᵢ. So ω = m × ṁ + ω_m m, which is
/// that of the motion if it is rigid; its transpose distributes a couple over the corners as forces
/// without a resultant.
struct Spin {
    corners: [u32; 3],
    /// ω = Σ Sᵢ vᵢ [1/m].
    s: [Mat3; 3],
    /// The largest ‖∇φᵢ‖: the inverse of the smallest height [1/m].
    steepest: f64,
}

impl Spin {
    /// None for a triangle without area.
    fn new(corners: [u32; 3], x: [Vec3; 3]) -> Option<Self> {
        let twice = (x[1] - x[0]).cross(&(x[2] - x[0]));
        let m = twice.try_normalize(f64::MIN_POSITIVE)?;
        let gradient = |i: usize| m.cross(&(x[(i + 2) % 3] - x[(i + 1) % 3])) / twice.norm();
        let gradients = [0, 1, 2].map(gradient);
        let steepest = gradients.iter().map(Vec3::norm).fold(0.0, f64::max);
        let s = gradients.map(|g| m.cross(&g) * -m.transpose() + m * m.cross(&g).transpose() * 0.5);
        steepest.is_finite().then_some(Self {
            corners,
            s,
            steepest,
        })
    }
}

impl World {
    /// Moves the two points of surfaces that move node by node together: by the spin of the triangles at
    /// the second feature, or at the first if that has none. `side` says whether it is the first where
    /// only one side has a lever.
    fn lean(
        &self,
        motion: &Motion,
        found: &Found,
        apart: &Vec3,
        side: Option<bool>,
        stencil: &mut Stencil,
    ) {
        let reach = found.thickness;
        let offset = found.normal * found.normal.dot(apart).clamp(-reach, reach);
        let v = found.vertices;
        let (first, second) = match found.kind {
            Kind::Pair(ProximityKind::VertexVertex) => (&v[..1], &v[1..2]),
            Kind::Pair(ProximityKind::VertexEdge) => (&v[..1], &v[1..3]),
            Kind::Pair(ProximityKind::VertexFace) => (&v[..1], &v[1..]),
            Kind::Pair(ProximityKind::EdgeEdge) => (&v[..2], &v[2..]),
            Kind::VertexShape | Kind::EdgeShape | Kind::FaceShape => return,
        };
        let mut around = match side {
            Some(true) => self.triangles_at(first),
            _ => self.triangles_at(second),
        };
        if around.is_empty() && side.is_none() {
            around = self.triangles_at(first);
        }
        let share = 1.0 / around.len().max(1) as f64;
        for corners in around {
            let x = corners.map(|v| motion.x0[v as usize]);
            let Some(spin) = Spin::new(corners, x) else {
                continue;
            };
            // A layer that is thicker than the triangle is high would turn faster than it can follow.
            let fits = (offset.norm() * spin.steepest).max(1.0);
            let arm = offset.cross_matrix() * (share / fits);
            for (&vertex, s) in spin.corners.iter().zip(&spin.s) {
                let g = arm * s;
                stencil.drift += g * motion.drift(vertex as usize);
                for &(block, weight) in self.entries_of(vertex as usize) {
                    if !motion.fixed[block as usize] {
                        let mut entry = StencilEntry::weight(block, 0.0);
                        entry.block = Some(g * weight);
                        stencil.add(entry);
                    }
                }
            }
        }
    }

    /// Whether a collider is an obstacle with a mesh.
    fn is_obstacle(&self, collider: u32) -> bool {
        matches!(
            self.colliders[collider as usize].form,
            super::ColliderForm::Mesh(_)
        )
    }

    /// The triangles that have all vertices of a feature.
    fn triangles_at(&self, feature: &[u32]) -> Vec<[u32; 3]> {
        let Some(&first) = feature.first() else {
            return Vec::new();
        };
        let fan = self.fans.of(first as usize).iter();
        fan.map(|&t| self.surface.triangles()[t as usize])
            .filter(|t| feature.iter().all(|v| t.contains(v)))
            .collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_spin_of_a_triangle_is_that_of_a_rigid_motion() {
        let x = [
            Vec3::new(0.1, 0.2, 0.3),
            Vec3::new(1.1, 0.1, 0.5),
            Vec3::new(0.4, 0.9, -0.2),
        ];
        let omega = Vec3::new(0.7, -1.3, 0.4);
        let spin = Spin::new([0, 1, 2], x).unwrap();
        let v = x.map(|x| omega.cross(&x) + Vec3::new(3.0, 1.0, -2.0));
        let found: Vec3 = spin.s.iter().zip(v).map(|(s, v)| s * v).sum();
        assert!((found - omega).norm() < 1e-14);
        assert!(Spin::new([0, 1, 2], [x[0], x[0], x[1]]).is_none());
    }

    #[test]
    fn an_arc_is_what_the_step_turns_beyond_the_linear_velocity() {
        let (h, omega, lever) = (0.1, Vec3::new(0.0, 0.0, 2.0), Vec3::new(0.5, 0.0, 0.0));
        let end = Vec3::new(0.2f64.cos() * 0.5, 0.2f64.sin() * 0.5, 0.0);
        let mean = (end - lever) / h;
        let turning = |aside: Vec3| Turning {
            lever,
            aside,
            omega,
        };
        let normal = Vec3::y();
        let excess = turning(Vec3::zeros()).excess(h, &normal);
        assert!((excess + omega.cross(&lever) - mean).norm() < 1e-15);
        // The body's own point is 0.1 m nearer to the centre: along the normal it moves four fifths as far.
        let own = turning(lever * 0.2).excess(h, &normal) + omega.cross(&lever);
        assert!((own - Vec3::new(mean.x, 0.8 * mean.y, 0.0)).norm() < 1e-15);
    }
}
