//! Contacts that are pressed when a step begins.
//!
//! A penalty has an energy of its own wherever a gap is less than δ. A contact that is first found
//! there, at the start of a run or after a change of topology, would release energy that nobody put
//! in, and so would every resting contact when κ is raised for another one. Both are avoided by an
//! offset o of the distance at which the forces of a contact begin, δ − o instead of δ:
//!
//! - A contact of a rigid body with an obstacle that is new with a gap d < δ is pressed by no more than what lies on it:
//!   the weight of its body along the normal, shared by the new contacts of the two. What begins at the depth at which
//!   it rests keeps its force; what begins deeper gets o = δ − d − c with the depth c at which it rests, and
//!   without gravity o = δ − d, no force until it is pressed farther. So have contacts of bodies that deform, and those between two bodies.
//! - When κ is raised by a factor k, a contact that was pressed by c = δ − o − d when the step began
//!   is pressed by c/√k from then on, which is the same force, and less energy.
//! - When the two move apart, o follows the gap, and the contact has its full distance again as soon as it
//!   has opened.
//!
//! None of these adds energy. An offset does not shrink while the contact is closed: that would lift what
//! lies on it, and a slow lift is still faster than the creep ε that is to be seen.

use std::collections::BTreeMap;

use super::config::SmoothError;
use super::contacts::{Pair, SmoothContacts};
use super::law::Penalty;
use super::world::{Follow, FrameOf};
use crate::kinematics::ContactKinematics;
use stiction_math::{Real, Vec3};

/// A contact at the start of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// The query point and the surface.
    pub key: [u32; 2],
    /// The offset o [m].
    pub offset: f64,
    /// Compression of the contact, c = δ − o − gap or zero [m].
    pub pressed: f64,
}

/// Largest load of contacts where a run begins.
#[derive(Clone, Copy, Debug)]
pub struct ContactLoad<'a> {
    /// Masses of the colliders [kg]; zero beyond the list.
    pub masses: &'a [f64],
    /// Gravity [m/s²].
    pub gravity: Vec3,
}

impl ContactLoad<'_> {
    fn mass(&self, collider: u32) -> f64 {
        self.masses.get(collider as usize).copied().unwrap_or(0.0)
    }
}

/// A contact that begins at a gap of nothing can be pressed by this fraction of δ.
const LEAST: f64 = 0.1;

impl Pair {
    /// The distance at which forces begin [m].
    pub fn reach(&self) -> f64 {
        self.delta - self.rest
    }

    /// The arguments of the penalty: a gap and its tolerance. A cubic is moved, a barrier is narrowed, so
    /// that it still ends at zero.
    pub fn at_rest<T: Real>(&self, penalty: Penalty, gap: T) -> (T, f64) {
        match penalty {
            Penalty::Cubic => (gap + self.rest, self.delta),
            Penalty::Barrier => (gap, self.reach()),
        }
    }

    /// Largest possible compression of the contact [m].
    pub fn range(&self) -> f64 {
        self.reach().max(LEAST * self.delta)
    }

    /// Remaining compression beyond that at `gap` [m]: the gap, unless it began closer.
    pub fn clearance(&self, penalty: Penalty, gap: f64) -> f64 {
        match penalty {
            Penalty::Cubic => self.range() - (self.reach() - gap),
            Penalty::Barrier => gap,
        }
    }
}

impl SmoothContacts {
    /// Takes the contacts with which the last step ended, as [`rests`](Self::rests) gave them.
    pub fn set_rests(&mut self, mut rests: Vec<Rest>) {
        rests.sort_unstable_by_key(|r| r.key);
        self.rests = rests;
    }

    /// The offset of a pair [m].
    pub(super) fn rest_of(&self, key: [u32; 2]) -> f64 {
        match self.rests.binary_search_by_key(&key, |r| r.key) {
            Ok(i) => self.rests[i].offset,
            Err(_) => 0.0,
        }
    }

    /// Sets the offsets of all contacts where the step begins, after [`find`](Self::find) there:
    /// those of the contacts that the last step left, and of new ones so that they bear no more than
    /// `load`: masses of the colliders [kg], zero for obstacles, and gravity [m/s²].
    pub fn settle(
        &mut self,
        at: &ContactKinematics,
        load: &ContactLoad<'_>,
    ) -> Result<(), SmoothError> {
        let gaps = self.gaps(at)?;
        let known = |key: [u32; 2]| self.rests.binary_search_by_key(&key, |r| r.key).is_ok();
        let bodies = |pair: &Pair| {
            let surface = self.world.colliders[pair.surface as usize].parent;
            [self.world.owner[pair.query as usize], surface]
        };
        let mut shares: BTreeMap<[u32; 2], f64> = BTreeMap::new();
        for &(i, _, _) in &gaps {
            let pair = &self.pairs[i];
            let [a, b] = bodies(pair);
            if !known([pair.query, pair.surface]) {
                *shares.entry([a.min(b), a.max(b)]).or_default() += 1.0;
            }
        }
        let mut settled = Vec::new();
        for (i, gap, normal) in gaps {
            let pair = &self.pairs[i];
            let key = [pair.query, pair.surface];
            let offset = if known(key) {
                pair.rest
            } else {
                let [a, b] = bodies(pair);
                let down = -load.gravity.dot(&normal);
                let (above, below) = if down > 0.0 { (a, b) } else { (b, a) };
                // A body below would yield, and so would single nodes above: the contact would move
                // them.
                let follow = &self.world.colliders[above as usize].follow;
                let rigid = matches!(follow, Follow::Framed(FrameOf::Rigid { .. }));
                let mass = match rigid && load.mass(below) == 0.0 {
                    true => load.mass(above),
                    false => 0.0,
                };
                let share = shares.get(&[a.min(b), a.max(b)]).copied().unwrap_or(1.0);
                let depth = self.depth(pair, mass * down.abs() / share);
                (self.fresh(pair, gap) - depth).max(0.0)
            };
            settled.push(Rest {
                key,
                offset,
                pressed: (pair.delta - offset - gap).max(0.0),
            });
        }
        settled.sort_unstable_by_key(|r| r.key);
        self.rests = settled;
        self.take_rests();
        Ok(())
    }

    /// Compression of a contact under a force [N] [m]; nothing for a barrier.
    fn depth(&self, pair: &Pair, force: f64) -> f64 {
        match self.config.penalty {
            Penalty::Cubic => (force * pair.delta / (3.0 * self.stiffness)).sqrt(),
            Penalty::Barrier => 0.0,
        }
    }

    /// The contacts with which a step ends at `at`, for the next one.
    pub fn rests(&self, at: &ContactKinematics) -> Result<Vec<Rest>, SmoothError> {
        let gaps = self.gaps(at)?;
        let mut rests = Vec::with_capacity(gaps.len());
        for (i, gap, _) in gaps {
            let pair = &self.pairs[i];
            let pressed = pair.reach() - gap;
            let offset = match pressed > 0.0 {
                true => pair.rest,
                false => self.fresh(pair, gap),
            };
            rests.push(Rest {
                key: [pair.query, pair.surface],
                offset,
                pressed: pressed.max(0.0),
            });
        }
        rests.sort_unstable_by_key(|r| r.key);
        Ok(rests)
    }

    /// The offset with which a contact at `gap` has no force. A barrier keeps its force inside.
    fn fresh(&self, pair: &Pair, gap: f64) -> f64 {
        match self.config.penalty {
            Penalty::Barrier if gap <= 0.0 => 0.0,
            _ => pair.delta - gap,
        }
    }

    /// Keeps the forces of contacts at the start of the step while κ rises by `factor`.
    pub(super) fn rebase(&mut self, factor: f64) {
        if self.config.penalty != Penalty::Cubic {
            return;
        }
        for rest in &mut self.rests {
            let pressed = rest.pressed / factor.sqrt();
            rest.offset += rest.pressed - pressed;
            rest.pressed = pressed;
        }
        self.take_rests();
    }

    fn take_rests(&mut self) {
        let mut pairs = std::mem::take(&mut self.pairs);
        for pair in &mut pairs {
            pair.rest = self.rest_of([pair.query, pair.surface]);
        }
        self.pairs = pairs;
    }

    /// Pairs whose gap is less than δ, the gap [m] and the normal from the surface to the query point.
    fn gaps(&self, at: &ContactKinematics) -> Result<Vec<(usize, f64, Vec3)>, SmoothError> {
        self.check(at)?;
        let mut gaps = Vec::new();
        let mut place = 0;
        self.gather(
            |pair, list| {
                let touch = self.touch(pair, at).filter(|t| t.gap < pair.delta);
                list.push(touch.map(|t| {
                    let normal = t.normal().map_or(Vec3::zeros(), |n| n.0.plain());
                    (t.gap, normal)
                }));
            },
            |found: Option<(f64, Vec3)>| {
                gaps.extend(found.map(|(gap, normal)| (place, gap, normal)));
                place += 1;
            },
        );
        Ok(gaps)
    }
}
