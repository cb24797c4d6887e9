//! The table of attachments of a whole scene: forces and their derivatives.

use stiction_math::{Dual, Mat3, Real, Vec3, Vector, parallel};

use super::{
    detect::{Detection, Entered},
    relax::{MeshPoint, RelaxState, RelaxTrace, relax_on_mesh},
    solid::relax_on_solid,
    world::{Follow, Object, World, pull_frame},
};
use crate::detect::{Collider, Laws};
use crate::kinematics::{Along, Blocks, COLUMNS, ContactKinematics, LANES, Seeded};

/// Settings of contact by attachments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttachConfig {
    /// Stiffness k of the springs [N/m].
    pub stiffness: f64,
}

impl Default for AttachConfig {
    fn default() -> Self {
        Self { stiffness: 1e3 }
    }
}

/// Reason for which attachments cannot be set up or evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AttachError {
    /// A setting is out of its range.
    #[error("`{name}` is {value}: it must be positive and finite")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A collider's numbers are wrong.
    #[error("collider {collider}: {reason}")]
    Collider {
        /// Its place in the list.
        collider: usize,
        /// Its defect.
        reason: String,
    },
    /// A column has the wrong length.
    #[error("`{column}` has {found} entries instead of {expected}")]
    Length {
        /// The column's name.
        column: &'static str,
        /// Expected number of entries.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// A position or a velocity is not finite.
    #[error("a position or velocity is not finite")]
    NotFinite,
    /// The boxes of features cannot be searched.
    #[error("detection: {0}")]
    Boxes(#[from] stiction_geometry::collide::bvh::BvhError),
}

/// Name of a pair: particle, place of the object's collider, and 1 on the other side of a sheet.
pub(super) type Key = [u32; 3];

/// Place of an attachment on its object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    /// On a mesh.
    Mesh(MeshPoint),
    /// On a solid, in its frame [m].
    Solid(Vec3),
}

/// A particle attached to an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub key: Key,
    pub anchor: Anchor,
    /// Whether it was found in this step.
    pub fresh: bool,
    /// Whether the attachment slid in the step before, or the particle over the object when it entered.
    pub slid: bool,
    /// Distance of the object's surface from its geometry [m]: less than the contact thickness for what began within it.
    pub thickness: f64,
    pub mu: f64,
}

/// An attachment as it is kept from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredPair {
    /// Particle, place of the object's collider, and 1 on the other side of a sheet.
    pub key: [u32; 3],
    /// The triangle of a mesh; `u32::MAX` on a solid.
    pub triangle: u32,
    /// Barycentric weights [1], or the position in the solid's frame [m].
    pub place: Vec3,
    /// Whether it slid in its last step.
    pub slid: bool,
    /// Distance of the object's surface from its geometry [m].
    pub thickness: f64,
}

/// Counts of relaxations by the state in which they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttachStatistics {
    /// Relaxations on meshes that ended where they began, inside of a triangle.
    pub first_state: u64,
    /// All relaxations on meshes.
    pub on_meshes: u64,
}

/// Attachments of a scene. Its use in a step:
///
/// 1. [`begin`](Self::begin) at the start with the kept pairs, then [`find`](Self::find), which lists features that
///    may meet; again whenever [`is_stale`](Self::is_stale).
/// 2. The solver calls [`detect`](Self::detect) at every trial and then [`force`](Self::force),
///    [`product`](Self::product) or [`assemble`](Self::assemble).
/// 3. At the end, [`stored`](Self::stored) gives the pairs for the next step.
#[derive(Debug)]
pub struct AttachContacts {
    pub(super) world: World,
    laws: Laws,
    config: AttachConfig,
    /// Sorted by their keys.
    pub(super) pairs: Vec<Pair>,
    pub(super) detection: Detection,
}

/// A pair at some place.
pub(super) struct Spring<T> {
    /// The particle Z [m].
    pub z: Vector<T>,
    /// The relaxed attachment Y [m].
    pub y: Vector<T>,
    /// Triangle and weights of Y.
    pub on: Option<(u32, [T; 3])>,
    /// Unit normal in the world.
    pub normal: Vec3,
    pub active: bool,
    pub moved: bool,
    /// Y in the frame of a solid [m].
    pub local: Vec3,
}

/// Pairs per parallel task.
const GRAIN: usize = 16;

/// Inactive pairs are kept while the particle is closer than this fraction of the thickness.
const NEAR: f64 = 0.01;

impl AttachContacts {
    /// Attachments between `colliders` with the coefficients of friction of `laws`.
    pub fn new(
        colliders: &[Collider],
        laws: &Laws,
        config: AttachConfig,
    ) -> Result<Self, AttachError> {
        let mut contacts = Self {
            world: World::new(colliders)?,
            laws: laws.clone(),
            config,
            pairs: Vec::new(),
            detection: Detection::default(),
        };
        contacts.detection.prepare(&contacts.world);
        contacts.set_stiffness(config.stiffness)?;
        Ok(contacts)
    }

    /// Sets k [N/m].
    pub fn set_stiffness(&mut self, stiffness: f64) -> Result<(), AttachError> {
        if !(stiffness > 0.0 && stiffness.is_finite()) {
            let (name, value) = ("stiffness", stiffness);
            return Err(AttachError::Setting { name, value });
        }
        self.config.stiffness = stiffness;
        Ok(())
    }

    /// k [N/m].
    pub fn stiffness(&self) -> f64 {
        self.config.stiffness
    }

    /// Number of particles of a collider, by its place in the list.
    pub fn particles_of(&self, collider: usize) -> usize {
        (self.world.first[collider + 1] - self.world.first[collider]) as usize
    }

    /// Starts a step at `at` with the pairs that the step before ended with.
    pub fn begin(
        &mut self,
        at: &ContactKinematics,
        kept: &[StoredPair],
    ) -> Result<(), AttachError> {
        self.check(at)?;
        self.detection.start(&mut self.world, at);
        self.pairs = kept.iter().filter_map(|p| self.restored(p)).collect();
        self.pairs.sort_unstable_by_key(|p| p.key);
        self.pairs.dedup_by_key(|p| p.key);
        Ok(())
    }

    /// Lists the features that may meet between the start of the step and places around `at`, for
    /// motion over about `h` [s], and attaches what begins slightly inside.
    pub fn find(&mut self, at: &ContactKinematics, h: f64) -> Result<(), AttachError> {
        self.check(at)?;
        self.detection.find(&self.world, at, h)?;
        let known = |key: &Key| self.pairs.binary_search_by_key(key, |p| p.key).is_ok();
        let found = self.detection.begun_inside(&self.world, known);
        self.insert(found, false);
        Ok(())
    }

    /// Whether something moved so far that pairs may be missing.
    pub fn is_stale(&self, at: &ContactKinematics) -> Result<bool, AttachError> {
        self.check(at)?;
        Ok(self.detection.is_stale(&self.world, at))
    }

    /// Attaches what has entered an object between the start of the step and `at`, and forgets what was found
    /// in this step and is not inside.
    pub fn detect(&mut self, at: &ContactKinematics) -> Result<(), AttachError> {
        self.check(at)?;
        let mut trace = RelaxTrace::default();
        let pairs = std::mem::take(&mut self.pairs);
        let inside = |p: &Pair, trace: &mut RelaxTrace| self.spring(p, at, trace).active;
        let kept = pairs
            .into_iter()
            .filter(|p| !p.fresh || inside(p, &mut trace));
        self.pairs = kept.collect();
        self.detection.reach(&self.world, at);
        let known = |key: &Key| self.pairs.binary_search_by_key(key, |p| p.key).is_ok();
        let found = self.detection.entered(&self.world, at, known);
        self.insert(found, true);
        Ok(())
    }

    /// f += forces and torques on blocks [N, N·m].
    pub fn force(&self, at: &ContactKinematics, f: &mut [Vec3]) -> Result<(), AttachError> {
        self.check(at)?;
        self.gather(
            &self.pairs,
            |pair, trace| self.rows(pair, at, trace),
            |rows| {
                for (block, force) in rows {
                    f[block as usize] += force.plain();
                }
            },
        );
        Ok(())
    }

    /// y += (∂f/∂x) dx, with infinitesimal rotations at angular blocks.
    pub fn product(
        &self,
        at: &ContactKinematics,
        dx: &[Vec3],
        y: &mut [Vec3],
    ) -> Result<(), AttachError> {
        self.check(at)?;
        let along = Along { at, dx, dv: dx };
        self.gather(
            &self.pairs,
            |pair, trace| self.rows(pair, &along, trace),
            |rows| {
                for (block, force) in rows {
                    y[block as usize] += Vec3::from(force.0.map(|c: Dual<1>| c.d[0]));
                }
            },
        );
        Ok(())
    }

    /// Calls `sink` with the blocks (i, j) of c ∂f/∂x; a place may come several times.
    pub fn assemble(
        &self,
        at: &ContactKinematics,
        c: f64,
        mut sink: impl FnMut(u32, u32, Mat3),
    ) -> Result<(), AttachError> {
        self.check(at)?;
        self.gather(
            &self.pairs,
            |pair, trace| self.slopes(pair, at, c, trace),
            |blocks| {
                for (i, j, m) in blocks {
                    sink(i, j, m);
                }
            },
        );
        Ok(())
    }

    /// Sets of blocks that the forces at `at` couple.
    pub fn cliques(&self, at: &ContactKinematics) -> Result<Vec<Vec<u32>>, AttachError> {
        self.check(at)?;
        let mut list = Vec::new();
        self.gather(
            &self.pairs,
            |pair, trace| {
                let active = self.spring(pair, at, trace).active;
                active.then(|| self.blocks_of(pair, trace))
            },
            |blocks| list.extend(blocks.filter(|b| !b.is_empty())),
        );
        Ok(list)
    }

    /// The pairs as they are kept, with their attachments relaxed at `at`, without those that are inactive and
    /// not close any more [ding, Sect. 2.2].
    pub fn stored(&self, at: &ContactKinematics) -> Result<Vec<StoredPair>, AttachError> {
        self.check(at)?;
        let mut list = Vec::new();
        self.gather(
            &self.pairs,
            |pair, trace| {
                let spring = self.spring(pair, at, trace);
                let distance = (spring.z.plain() - spring.y.plain()).norm();
                let [particle, object, _] = pair.key;
                let owner = self.world.owner[particle as usize] as usize;
                let near = NEAR * self.world.thickness(owner, object as usize);
                if !spring.active && distance > near {
                    return None;
                }
                let (triangle, place) = match spring.on {
                    Some((triangle, weights)) => (triangle, Vec3::from(weights)),
                    None => (u32::MAX, spring.local),
                };
                let slid = spring.active && spring.moved;
                let key = pair.key;
                Some(StoredPair {
                    key,
                    triangle,
                    place,
                    slid,
                    thickness: pair.thickness,
                })
            },
            |pair| list.extend(pair),
        );
        Ok(list)
    }

    /// Number of pairs with a force at `at`.
    pub fn in_contact(&self, at: &ContactKinematics) -> Result<usize, AttachError> {
        self.check(at)?;
        let mut count = 0;
        self.gather(
            &self.pairs,
            |pair, trace| self.spring(pair, at, trace).active,
            |active| count += usize::from(active),
        );
        Ok(count)
    }

    /// The states in which relaxations end at `at`.
    pub fn statistics(&self, at: &ContactKinematics) -> Result<AttachStatistics, AttachError> {
        self.check(at)?;
        let mut sum = AttachStatistics::default();
        self.gather(
            &self.pairs,
            |pair, trace| {
                let on_mesh = self.spring(pair, at, trace).on.is_some();
                (on_mesh, trace.states == [RelaxState::Inside])
            },
            |(on_mesh, first)| {
                sum.on_meshes += u64::from(on_mesh);
                sum.first_state += u64::from(on_mesh && first);
            },
        );
        Ok(sum)
    }

    /// Evaluates pairs in parallel and takes the results in their order.
    pub(super) fn gather<R: Send>(
        &self,
        pairs: &[Pair],
        of: impl Fn(&Pair, &mut RelaxTrace) -> R + Sync,
        mut take: impl FnMut(R),
    ) {
        let lists = parallel::map_ranges(pairs.len(), GRAIN, |range| {
            let mut trace = RelaxTrace::default();
            let each = pairs[range].iter().map(|pair| of(pair, &mut trace));
            each.collect::<Vec<R>>()
        });
        lists.into_iter().flatten().for_each(&mut take);
    }

    /// A pair over any numbers.
    pub(super) fn spring<T: Real>(
        &self,
        pair: &Pair,
        at: &impl Blocks<T>,
        trace: &mut RelaxTrace,
    ) -> Spring<T> {
        let [particle, object, side] = pair.key;
        let part = &self.world.parts[object as usize];
        let z = self.world.position(particle, at);
        match (&pair.anchor, &part.object, &part.follow) {
            (Anchor::Mesh(from), Object::Mesh(mesh), _) => {
                let base = self.world.first[object as usize];
                let sign = if side == 0 { 1.0 } else { -1.0 };
                let corner = |v: u32| self.world.shifted(base + v, sign * pair.thickness, at);
                let relaxed = match side {
                    0 => relax_on_mesh(mesh, &corner, from, &z, pair.mu, trace),
                    // The other side is a mesh of its own, with the triangles turned over. Reflected at the particle
                    // it is that of the first side.
                    _ => {
                        let twice = z.times(2.0);
                        let reflected = |v: u32| twice - corner(v);
                        let mut relaxed = relax_on_mesh(mesh, &reflected, from, &z, pair.mu, trace);
                        relaxed.point = twice - relaxed.point;
                        relaxed.normal = -relaxed.normal;
                        relaxed
                    }
                };
                Spring {
                    z,
                    y: relaxed.point,
                    on: Some((relaxed.triangle, relaxed.weights)),
                    normal: relaxed.normal,
                    active: relaxed.active,
                    moved: relaxed.moved,
                    local: Vec3::zeros(),
                }
            }
            (Anchor::Solid(x), Object::Solid(solid), Follow::Framed(of)) => {
                let frame = of.frame(at);
                let local = frame.inward(&(z - frame.origin));
                let relaxed = relax_on_solid(solid, pair.thickness, x, &local, pair.mu);
                Spring {
                    z,
                    y: frame.origin + frame.outward(&relaxed.point),
                    on: None,
                    normal: frame.rotation * relaxed.normal,
                    active: relaxed.active,
                    moved: relaxed.moved,
                    local: relaxed.point.value(),
                }
            }
            // Kept pairs name what there is: see `restored`.
            _ => {
                trace.triangles.clear();
                Spring {
                    z,
                    y: z,
                    on: None,
                    normal: Vec3::z(),
                    active: false,
                    moved: false,
                    local: Vec3::zeros(),
                }
            }
        }
    }

    /// Forces of a pair on blocks; none if it is inactive.
    fn rows<T: Real>(
        &self,
        pair: &Pair,
        at: &impl Blocks<T>,
        trace: &mut RelaxTrace,
    ) -> Vec<(u32, Vector<T>)> {
        let spring = self.spring(pair, at, trace);
        let mut rows = Vec::new();
        if !spring.active {
            return rows;
        }
        let f = (spring.y - spring.z).times(self.config.stiffness);
        let mut add = |block: u32, f: Vector<T>| rows.push((block, f));
        let [particle, object, _] = pair.key;
        self.world.pull(particle, &spring.z, &f, at, &mut add);
        let part = &self.world.parts[object as usize];
        match (&part.follow, &part.object, spring.on) {
            (Follow::Framed(of), _, _) => pull_frame(*of, &spring.y, &-f, at, &mut add),
            (Follow::Weighted { .. }, Object::Mesh(mesh), Some((triangle, weights))) => {
                let base = self.world.first[object as usize];
                let corners = mesh.triangles()[triangle as usize];
                for (v, w) in corners.iter().zip(weights) {
                    let share = f.scale(-w);
                    self.world.pull(base + v, &spring.y, &share, at, &mut add);
                }
            }
            _ => {}
        }
        rows
    }

    /// The blocks that the last relaxation of a pair depended on.
    fn blocks_of(&self, pair: &Pair, trace: &RelaxTrace) -> Vec<u32> {
        let [particle, object, _] = pair.key;
        let mut blocks = Vec::new();
        self.world.blocks_of(particle, &mut blocks);
        if let (Object::Mesh(mesh), Anchor::Mesh(_)) =
            (&self.world.parts[object as usize].object, &pair.anchor)
        {
            let base = self.world.first[object as usize];
            for &t in &trace.triangles {
                for v in mesh.triangles()[t as usize] {
                    self.world.blocks_of(base + v, &mut blocks);
                }
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// Blocks of c ∂f/∂x of a pair.
    fn slopes(
        &self,
        pair: &Pair,
        at: &ContactKinematics,
        c: f64,
        trace: &mut RelaxTrace,
    ) -> Vec<(u32, u32, Mat3)> {
        let mut list = Vec::new();
        if !self.spring(pair, at, trace).active {
            return list;
        }
        let blocks = self.blocks_of(pair, trace);
        for columns in blocks.chunks(COLUMNS) {
            let seeded = Seeded {
                at,
                cx: c,
                cv: 0.0,
                columns,
            };
            let rows: Vec<(u32, Vector<Dual<LANES>>)> = self.rows(pair, &seeded, trace);
            for (i, f) in rows {
                for (k, &j) in columns.iter().enumerate() {
                    let m = Mat3::from_fn(|row, column| f.0[row].d[3 * k + column]);
                    list.push((i, j, m));
                }
            }
        }
        list
    }

    /// Adds new pairs.
    fn insert(&mut self, found: Vec<Entered>, fresh: bool) {
        if found.is_empty() {
            return;
        }
        let new = found
            .into_iter()
            .map(|e| self.pair(e.key, e.anchor, e.slides, fresh, e.thickness));
        let new: Vec<Pair> = new.collect();
        self.pairs.extend(new);
        self.pairs.sort_unstable_by_key(|p| p.key);
    }

    fn pair(&self, key: Key, anchor: Anchor, slid: bool, fresh: bool, thickness: f64) -> Pair {
        let [particle, object, _] = key;
        let a = self.world.owner[particle as usize] as usize;
        let b = object as usize;
        let law = self
            .laws
            .between(self.world.parts[a].material, self.world.parts[b].material);
        Pair {
            key,
            anchor,
            fresh,
            slid,
            thickness,
            mu: if slid {
                law.kinetic.unwrap_or(law.mu)
            } else {
                law.mu
            },
        }
    }

    /// A kept pair, if it names what there is.
    fn restored(&self, stored: &StoredPair) -> Option<Pair> {
        let [particle, object, _] = stored.key;
        if particle as usize >= self.world.owner.len() || !stored.thickness.is_finite() {
            return None;
        }
        let anchor = match &self.world.parts.get(object as usize)?.object {
            Object::Mesh(mesh) if (stored.triangle as usize) < mesh.triangles().len() => {
                Anchor::Mesh(MeshPoint {
                    triangle: stored.triangle,
                    weights: stored.place.into(),
                })
            }
            Object::Solid(_) => Anchor::Solid(stored.place),
            _ => return None,
        };
        Some(self.pair(stored.key, anchor, stored.slid, false, stored.thickness))
    }

    pub(super) fn check(&self, at: &ContactKinematics) -> Result<(), AttachError> {
        let World {
            blocks,
            rigids,
            obstacles,
            ..
        } = self.world;
        let columns = [
            ("x", blocks, at.x.len()),
            ("v", blocks, at.v.len()),
            ("rotations", rigids, at.rotations.len()),
            ("obstacles", obstacles, at.obstacles.len()),
        ];
        for (column, expected, found) in columns {
            if found < expected {
                return Err(AttachError::Length {
                    column,
                    expected,
                    found,
                });
            }
        }
        match at.x.iter().all(|x| x.iter().all(|c| c.is_finite())) {
            true => Ok(()),
            false => Err(AttachError::NotFinite),
        }
    }
}
