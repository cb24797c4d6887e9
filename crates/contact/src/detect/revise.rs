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
//! - A contact changes only where the geometry contradicts it: where its gap at the end of the motion and that of the
//!   geometry differ by more than a tolerance and one of them is about zero ([`RevisionRule`]). What neither
//!   touches nor would touch has no say in the answer.
//! - Further contacts of a pair, listed because it had left the place of its first one, are replaced by
//!   the first one when that changes its place.
//! - A contact is dropped when it has slid off: the closest points at the end lie on the boundary of a
//!   feature, out of the reach of contacts. It may be relisted later.
//!
//! Contacts of edges and faces with solids are left as they are: detection lists them anew where they
//! go deep.

use stiction_geometry::collide::{
    ProximityKind, edge_edge, edge_edge_normal, point_triangle, point_triangle_normal,
};
use stiction_math::elementary::{rotation_about, rotation_angle, rotation_between};
use stiction_math::{Vec3, parallel};

use super::emit::{
    Emission, Found, Kind, Overlaps, SolidPoint, Wait, feature, is_again, lasting_vertices,
    solid_of,
};
use super::held::pair_of;
use super::pairs::REACH;
use super::{ContactSource, Detector};
use crate::{ContactKey, ContactSet};

/// The largest turn of a normal in one revision [rad]: 15° [verschoor2019, Sect. 3.3].
pub const MOST_TURN: f64 = 15.0 * std::f64::consts::PI / 180.0;

/// Rule by which contacts are re-linearised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RevisionRule {
    /// Gaps of a contact and of its features at the end of the motion that differ by no more than this agree [m].
    pub error: f64,
    /// A contact counts where one of the two gaps is below this [m].
    pub within: f64,
}

impl RevisionRule {
    /// Contacts that touch, or would, are right within `tolerance` [m]: 0 < C_k < ε₂ [verschoor2019, Sect. 3.3].
    pub fn within(tolerance: f64) -> Self {
        Self {
            error: tolerance,
            within: tolerance,
        }
    }

    /// Every contact is re-linearised unless it is exact.
    pub const ALL: Self = Self {
        error: 0.0,
        within: f64::INFINITY,
    };

    /// Whether gaps by the linear contact and by the geometry contradict one another.
    fn contradicts(&self, linear: f64, true_gap: f64) -> bool {
        // Also where a number is not finite.
        let agree = (linear - true_gap).abs() <= self.error;
        !agree && linear.min(true_gap) <= self.within
    }
}

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

    /// Whether all contacts stay as they are.
    pub fn is_empty(&self) -> bool {
        self.changed == 0 && self.added == 0 && self.dropped() == 0
    }

    /// A column of the contacts before, moved to their places among `count` contacts; `fresh` where they are new.
    pub fn moved<T: Copy>(&self, old: &[T], fresh: T, count: usize) -> Vec<T> {
        let mut all = vec![fresh; count];
        for (value, place) in old.iter().zip(&self.places) {
            if let Some(own) = place.and_then(|p| all.get_mut(p as usize)) {
                *own = *value;
            }
        }
        all
    }

    /// Number of dropped contacts.
    pub fn dropped(&self) -> usize {
        self.places.iter().filter(|p| p.is_none()).count()
    }
}

/// Change of a contact.
enum Fate {
    Stays,
    /// It is written again, but for the overlap that it leaves to later steps [m].
    Changes(Found, f64),
    Goes,
}

impl Detector {
    pub(super) fn revised(
        &mut self,
        v: &[Vec3],
        contacts: &mut ContactSet,
        rule: &RevisionRule,
    ) -> Revision {
        let before = contacts.len();
        // This also sets the end of the motion.
        let added = self.more_contacts(v, contacts);
        if !self.open || v.len() < self.world.blocks {
            return Revision::added(before, added);
        }
        let mut fates = parallel::map(contacts.len(), 256, |c| match c < before {
            true => self.fate(contacts, c, v, rule),
            false => Fate::Stays,
        });
        // Further contacts of a pair go with the place that they were listed for.
        let moves = |c: &usize| !matches!(fates[*c], Fate::Stays);
        let moved = (0..before).filter(moves).map(|c| contacts.key[c]);
        let mut moved: Vec<ContactKey> = moved.collect();
        moved.sort_unstable();
        for c in 0..before {
            let key = &contacts.key[c];
            if is_again(key) && moved.binary_search(&pair_of(key)).is_ok() {
                fates[c] = Fate::Goes;
            }
        }
        if added == 0 && fates.iter().all(|f| matches!(f, Fate::Stays)) {
            return Revision::added(before, 0);
        }
        self.rewritten(fates, before, added, contacts)
    }

    /// Writes the contacts anew by their fates, the first `before` of which were listed before.
    fn rewritten(
        &mut self,
        fates: Vec<Fate>,
        before: usize,
        added: usize,
        contacts: &mut ContactSet,
    ) -> Revision {
        let mut revision = Revision {
            places: Vec::with_capacity(before),
            added,
            ..Revision::default()
        };
        let old = std::mem::take(contacts);
        // The place of each contact that keeps its stencil.
        let mut kept: Vec<Option<u32>> = Vec::with_capacity(old.len());
        let mut arcs = Vec::new();
        let mut gone: Vec<ContactKey> = Vec::new();
        for (c, fate) in fates.into_iter().enumerate() {
            let keep = |out: &mut ContactSet| out.push_entries(old.entries(c), old.contact(c));
            let place = contacts.len() as u32;
            let mut stays = true;
            match fate {
                Fate::Stays => keep(contacts),
                Fate::Changes(found, left) => {
                    let key = old.key[c];
                    let mut emission = Emission {
                        motion: &self.motion,
                        shares: &self.shares,
                        overlaps: Overlaps::AllBut(left),
                        relocate: self.config.relocate,
                        arcs: &mut arcs,
                    };
                    match self.world.emit(&mut emission, &found, key, contacts) {
                        true => {
                            stays = false;
                            revision.changed += 1;
                            self.move_point(key, &found);
                        }
                        // Weights that cancel at the new place: nothing could move it there.
                        false => keep(contacts),
                    }
                }
                Fate::Goes => {
                    stays = false;
                    gone.push(old.key[c]);
                }
            }
            kept.push(stays.then_some(place));
            if c < before {
                let here = contacts.len() as u32 > place;
                revision.places.push(here.then_some(place));
            }
        }
        for arc in std::mem::take(&mut self.arcs) {
            if let Some(Some(place)) = kept.get(arc.contact()) {
                arcs.push(arc.moved(*place));
            }
        }
        self.arcs = arcs;
        gone.sort_unstable();
        self.seen.retain(|key| gone.binary_search(key).is_err());
        revision
    }

    fn fate(&self, contacts: &ContactSet, c: usize, v: &[Vec3], rule: &RevisionRule) -> Fate {
        let (world, motion) = (&self.world, &self.motion);
        let (key, normal) = (&contacts.key[c], &contacts.normal[c]);
        if is_again(key) {
            return Fate::Stays;
        }
        // The gap at the end by the linear contact, without the overlap that it leaves to later steps.
        let u = contacts.velocity(c, v) + contacts.k[c];
        let left = contacts.correction[c] - contacts.gap[c];
        let linear = motion.h * u.dot(normal) - left;
        if let Some((kind, vertices)) = lasting_vertices(world, key) {
            let full = world.full_thickness(kind, &vertices);
            let thickness = world.pair_thickness(kind, &vertices, full);
            let near = closest(kind, &vertices.map(|v| motion.x1[v as usize]), normal);
            if !rule.contradicts(linear, near.distance - thickness) {
                return Fate::Stays;
            }
            if near.on_boundary && near.distance > REACH * thickness {
                return Fate::Goes;
            }
            let found = Found {
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
            };
            return Fate::Changes(found, left);
        }
        let Some((vertex, collider)) = feature(key).zip(solid_of(key)) else {
            return Fate::Stays;
        };
        let found = motion.shapes.iter().find(|s| s.0 == collider);
        let Some((_, moving)) = found.filter(|_| (vertex as usize) < motion.x1.len()) else {
            return Fate::Stays;
        };
        let [start, end] = [0.0, 1.0].map(|time| moving.pose(time));
        let near = moving
            .shape
            .nearest(&end.invert(&motion.x1[vertex as usize]));
        let owner = world.owner[vertex as usize];
        let thickness = world.thickness(owner, collider);
        if !rule.contradicts(linear, near.distance - thickness) {
            return Fate::Stays;
        }
        let n = (end.rotation * near.normal).normalize();
        let found = Found {
            kind: Kind::VertexShape,
            vertices: [vertex; 4],
            weights: [1.0, 0.0, 0.0, 0.0],
            normal: turned(normal, &n),
            distance: near.distance,
            thickness,
            touch: Some(Box::new(SolidPoint {
                collider,
                part: 0,
                from: start.apply(&near.point),
                to: end.apply(&near.point),
            })),
            continuous: false,
            deep: false,
            wait: Wait::Never,
            spare: false,
        };
        Fate::Changes(found, left)
    }
}

/// The closest points of two features.
pub(super) struct Closest {
    /// As in `collide::Contact`.
    weights: [f64; 4],
    /// On the side of the hint.
    normal: Vec3,
    pub(super) distance: f64,
    /// Whether one of them is on the boundary of its feature.
    on_boundary: bool,
}

pub(super) fn closest(kind: ProximityKind, x: &[Vec3; 4], hint: &Vec3) -> Closest {
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
