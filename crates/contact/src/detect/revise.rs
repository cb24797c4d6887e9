//! Contacts brought up to date with an iterate of a solver [verschoor2019, Sect. 3.3].
//!
//! A contact is linear: its stencil and its normal are those of the place where it was found. Where an
//! iterate moves its features far, [`ContactSource::revise`](super::ContactSource::revise) takes both
//! from the end of the motion instead. With x¹ = x⁰ + h v the closest points of the two features at x¹
//! give new weights, their separation a new normal n′, and
//!
//! ```text
//! u′_N = n′·(B′ v + k̇) + (n′·(x_A − x_B)⁰ − t)/h
//! ```
//!
//! is exact at v: h u′_N is the distance of the features at the end, less their thickness. It is Newton's
//! method on the distance, with the normal's own derivative left out.
//!
//! - A normal turns by at most [`MOST_TURN`] in one revision, so that large iterates do not throw
//!   contacts around; further revisions turn it on.
//! - Further contacts of a pair, listed because it had left the place of its first one, are replaced by
//!   the first one at its new place.
//! - A contact is dropped when it has slid off: the closest points at the end lie on the boundary of a
//!   feature, out of the reach of contacts. It may be relisted later.
//!
//! Contacts of edges and faces with solids are left as they are: detection lists them anew where they
//! go deep.

use stiction_geometry::collide::{
    ProximityKind, edge_edge, edge_edge_normal, point_triangle, point_triangle_normal,
};
use stiction_math::Vec3;
use stiction_math::elementary::{rotation_about, rotation_angle, rotation_between};

use super::emit::{
    Emission, Found, Kind, Overlaps, SolidPoint, Wait, feature, is_again, lasting_vertices,
    solid_of,
};
use super::pairs::REACH;
use super::{ContactSource, Detector};
use crate::{ContactKey, ContactSet};

/// The largest turn of a normal in one revision [rad]: 15° [verschoor2019, Sect. 3.3].
pub const MOST_TURN: f64 = 15.0 * std::f64::consts::PI / 180.0;

/// Result of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// For each contact that was listed before, its place now; none if it was dropped or replaced by
    /// another contact of its pair.
    pub places: Vec<Option<u32>>,
    /// Contacts with a new stencil or normal.
    pub changed: usize,
    /// New contacts, at the end of the list.
    pub added: usize,
}

impl Revision {
    /// A revision of `count` contacts that only added some.
    pub fn added(count: usize, added: usize) -> Self {
        Self {
            places: (0..count as u32).map(Some).collect(),
            changed: 0,
            added,
        }
    }

    /// Number of dropped contacts.
    pub fn dropped(&self) -> usize {
        self.places.iter().filter(|p| p.is_none()).count()
    }
}

/// Change of a contact.
enum Fate {
    Stays,
    Changes(Found),
    Goes,
}

impl Detector {
    pub(super) fn revised(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> Revision {
        let before = contacts.len();
        // This also sets the end of the motion.
        let added = self.more_contacts(v, contacts);
        if !self.open || v.len() < self.world.blocks {
            return Revision::added(before, added);
        }
        let mut revision = Revision {
            places: Vec::with_capacity(before),
            added,
            ..Revision::default()
        };
        let old = std::mem::take(contacts);
        let mut gone: Vec<ContactKey> = Vec::new();
        for c in 0..old.len() {
            let keep = |out: &mut ContactSet| out.push_entries(old.entries(c), old.contact(c));
            let fate = match c < before {
                true => self.fate(&old, c),
                false => Fate::Stays,
            };
            let place = contacts.len() as u32;
            match fate {
                Fate::Stays => keep(contacts),
                Fate::Changes(found) => {
                    let key = old.key[c];
                    let mut emission = Emission {
                        motion: &self.motion,
                        shares: &self.shares,
                        overlaps: Overlaps::AllBut(old.correction[c] - old.gap[c]),
                        arcs: &mut self.arcs,
                    };
                    match self.world.emit(&mut emission, &found, key, contacts) {
                        true => {
                            revision.changed += 1;
                            self.move_point(key, &found);
                        }
                        // Weights that cancel at the new place: nothing could move it there.
                        false => keep(contacts),
                    }
                }
                Fate::Goes => gone.push(old.key[c]),
            }
            if c < before {
                let here = contacts.len() as u32 > place;
                revision.places.push(here.then_some(place));
            }
        }
        gone.sort_unstable();
        self.seen.retain(|key| gone.binary_search(key).is_err());
        revision
    }

    fn fate(&self, contacts: &ContactSet, c: usize) -> Fate {
        let (world, motion) = (&self.world, &self.motion);
        let (key, normal) = (&contacts.key[c], &contacts.normal[c]);
        if let Some((kind, vertices)) = lasting_vertices(world, key) {
            if is_again(key) {
                return Fate::Goes;
            }
            let full = world.full_thickness(kind, &vertices);
            let thickness = world.pair_thickness(kind, &vertices, full);
            let x = vertices.map(|v| motion.x1[v as usize]);
            let near = closest(kind, &x, normal);
            if near.on_boundary && near.distance > REACH * thickness {
                return Fate::Goes;
            }
            return Fate::Changes(Found {
                kind: Kind::Pair(kind),
                vertices,
                weights: near.weights,
                normal: turned(normal, &near.normal),
                distance: near.distance,
                thickness,
                touch: None,
                continuous: false,
                deep: false,
                wait: Wait::Never,
                spare: false,
            });
        }
        let Some((vertex, collider)) = feature(key).zip(solid_of(key)) else {
            return Fate::Stays;
        };
        let found = motion.shapes.iter().find(|s| s.0 == collider);
        let Some((_, moving)) = found.filter(|_| (vertex as usize) < motion.x1.len()) else {
            return Fate::Stays;
        };
        if is_again(key) {
            return Fate::Goes;
        }
        let end = moving.pose(1.0);
        let near = moving
            .shape
            .nearest(&end.invert(&motion.x1[vertex as usize]));
        let owner = world.owner[vertex as usize];
        let n = (end.rotation * near.normal).normalize();
        Fate::Changes(Found {
            kind: Kind::VertexShape,
            vertices: [vertex; 4],
            weights: [1.0, 0.0, 0.0, 0.0],
            normal: turned(normal, &n),
            distance: near.distance,
            thickness: world.thickness(owner, collider),
            touch: Some(Box::new(SolidPoint {
                collider,
                part: 0,
                from: moving.pose(0.0).apply(&near.point),
                to: end.apply(&near.point),
            })),
            continuous: false,
            deep: false,
            wait: Wait::Never,
            spare: false,
        })
    }
}

/// The closest points of two features.
struct Closest {
    /// As in `collide::Contact`.
    weights: [f64; 4],
    /// On the side of the hint.
    normal: Vec3,
    distance: f64,
    /// Whether one of them is on the boundary of its feature.
    on_boundary: bool,
}

fn closest(kind: ProximityKind, x: &[Vec3; 4], hint: &Vec3) -> Closest {
    let (weights, separation, normal, inner) = match kind {
        ProximityKind::EdgeEdge => {
            let (a, b) = ([x[0], x[1]], [x[2], x[3]]);
            let near = edge_edge(&a, &b);
            let [[p, q], [r, s]] = near.weights;
            let normal = edge_edge_normal(&near.separation, &a, &b, hint);
            let inner = p.min(q).min(r).min(s);
            ([p, q, -r, -s], near.separation, normal, inner)
        }
        _ => {
            let corners = [x[1], x[2], x[3]];
            let near = point_triangle(&x[0], &corners);
            let [p, q, r] = near.weights;
            let normal = point_triangle_normal(&near.separation, &corners, hint);
            let inner = p.min(q).min(r);
            ([1.0, -p, -q, -r], near.separation, normal, inner)
        }
    };
    // Features that passed through one another are on the wrong side.
    let side = if normal.dot(hint) < 0.0 { -1.0 } else { 1.0 };
    Closest {
        weights,
        normal: normal * side,
        distance: separation.dot(&normal) * side,
        on_boundary: inner <= 0.0,
    }
}

/// `from`, turned towards `to` by [`MOST_TURN`] at most.
fn turned(from: &Vec3, to: &Vec3) -> Vec3 {
    match rotation_between(from, to) {
        Some(turn) if rotation_angle(&turn) > MOST_TURN => match turn.axis() {
            Some(axis) => rotation_about(&axis, MOST_TURN) * from,
            None => *from,
        },
        Some(_) => *to,
        // Opposite directions: no axis is better than another.
        None => *from,
    }
}
