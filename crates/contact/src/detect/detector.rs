//! The detector: one search per step, and more contacts during it.

use std::sync::Arc;

use rayon::prelude::*;
use stiction_geometry::collide::ccd::CcdConfig;
use stiction_geometry::collide::{
    Candidate, Candidates, CollisionSurface, EndBox, EndPosition, SurfaceError, SweptSurface,
    earliest_step,
};
use stiction_math::{Vec3, parallel, reduce};

use super::ContactSource;
use super::collider::{Collider, Laws};
use super::emit::{Emission, Found, Overlaps, Shares, Wait};
use super::pairs::{Clearance, Watched};
use super::prune::prune;
use super::quota::Quota;
use super::recovery::Recovery;
use super::revise::{Revision, RevisionRule};
use super::shapes::Pass;
use super::stencil::Arc as TurnArc;
use super::step::{DetectStep, Motion};
use super::supports::Start;
use super::world::{DetectError, World};
use crate::{ContactKey, ContactSet};

/// Relisting limit: number of further contacts of a pair in one step.
const AGAIN: u64 = 7;

/// A contact that loses more than this fraction of its thickness in the step is still violated.
const VIOLATED: f64 = 0.1;

/// A pair without a contact must sink faster than the listed contacts are violated by this factor: below, they may
/// yet keep it apart.
const SINKS: f64 = 2.0;

/// Pairs without a contact are checked where listed contacts lose no more than this fraction of the thickness in the
/// step.
const NEARLY_HELD: f64 = 1e-3;

/// Settings of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectConfig {
    /// Boxes reach along this multiple of the predicted motion, so that velocities can change
    /// during the solve without a new search.
    pub extend: f64,
    /// Margin for displacements that are long compared with edges: vertices may end within this fraction
    /// of their predicted motion around its end. Smaller than above, so that features moving
    /// together are not candidates.
    pub wander: f64,
    /// Trees are built anew when their cost has grown by this factor.
    pub rebuild: f64,
    /// Angle [rad] between normals up to which contacts at the same vertices count as one; none lists all
    /// [li2018, Sect. 5.2].
    pub prune: Option<f64>,
    /// Whether contacts are moved to the nearest vertex of each side that follows nodes [li2018, Sect. 5.2].
    pub relocate: bool,
}

impl DetectConfig {
    /// Boxes extended by 3 h v [verschoor2019, Sect. 5.1].
    pub fn paper() -> Self {
        Self {
            extend: 3.0,
            ..Self::default()
        }
    }
}

impl Default for DetectConfig {
    /// Boxes half as long again as the prediction: features that leave them are searched again, so that a
    /// smaller number costs time at most. In dense hair half of the wander leaves half of the pairs,
    /// and twice as many vertices to be searched again.
    fn default() -> Self {
        Self {
            extend: 1.5,
            wander: 0.06,
            rebuild: 1.6,
            prune: None,
            relocate: false,
        }
    }
}

/// Trajectories longer than this fraction of an edge, both on average, are compared in the co-moving
/// frame. In dense hair at a third of an edge, boxes around whole trajectories have 154 million pairs;
/// at a half, 3 million in the co-moving frame. Cloth is indifferent.
const FAR: f64 = 0.1;

/// Result of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DetectReport {
    /// Contacts listed.
    pub contacts: usize,
    /// Of these, by distance at the start of the step; the others by their motion.
    pub near: usize,
    /// Pairs of features of meshes whose boxes overlap.
    pub candidates: usize,
    /// Nearly redundant contacts that were not listed.
    pub pruned: usize,
    /// Whether the trees were built anew.
    pub rebuilt: bool,
    /// The deepest overlap at the start of the step [m]: −gap, or zero.
    pub penetration: f64,
}

/// Collision detection with its scratch memory.
#[derive(Debug)]
pub struct Detector {
    pub(super) world: World,
    pub(super) config: DetectConfig,
    pub(super) motion: Motion,
    pub(super) swept: Option<SweptSurface>,
    /// Pairs to check during the step.
    candidates: Candidates,
    /// When each of them is worth another look.
    clearance: Clearance,
    /// Pairs that may sink without a contact.
    watched: Vec<Watched>,
    /// Region in which each vertex may end without a missed pair.
    ends: Vec<EndBox>,
    /// Arcs of free rigid bodies in the contacts of the step.
    pub(super) arcs: Vec<TurnArc>,
    pub(super) recovery: Recovery,
    /// Keys of all contacts of the step, sorted.
    pub(super) seen: Vec<ContactKey>,
    /// Points of action of contacts between meshes on their features, in ascending order of keys.
    pub(super) points: Vec<(ContactKey, [f64; 2])>,
    pub(super) shares: Shares,
    /// The start of the step as seen from solids.
    pub(super) starts: Vec<Start>,
    /// Whether all this is of a step that goes on.
    pub(super) open: bool,
}

impl Detector {
    /// A detector for colliders whose materials have laws.
    pub fn new(
        colliders: Vec<Collider>,
        laws: Laws,
        config: DetectConfig,
    ) -> Result<Self, DetectError> {
        for (name, value) in [
            ("extend", config.extend),
            ("rebuild", config.rebuild),
            ("wander", 1.0 + config.wander),
        ] {
            if !(value >= 1.0 && value.is_finite()) {
                return Err(DetectError::Setting { name, value });
            }
        }
        Ok(Self {
            world: World::new(colliders, laws)?,
            config,
            motion: Motion::default(),
            swept: None,
            candidates: Candidates::default(),
            clearance: Clearance::default(),
            watched: Vec::new(),
            ends: Vec::new(),
            arcs: Vec::new(),
            recovery: Recovery::default(),
            seen: Vec::new(),
            points: Vec::new(),
            shares: Shares::default(),
            starts: Vec::new(),
            open: false,
        })
    }

    /// Sets the names of the colliders, in their order, for messages.
    pub fn named(mut self, names: Vec<String>) -> Self {
        self.world.names = names;
        self
    }

    /// Sets which vertices are sewn together, as pairs of collider and vertex: features that they join
    /// are no pairs, so that contact does not hold the two sides of a seam apart.
    pub fn sewn(mut self, pairs: &[[(u32, u32); 2]]) -> Self {
        self.world.sew(pairs);
        self
    }

    /// Ends the step: its candidates are dropped, and its trees and positions may serve others.
    pub(super) fn close(&mut self) {
        self.candidates = Candidates::default();
        self.clearance = Clearance::default();
        self.watched = Vec::new();
        self.starts = Vec::new();
        self.open = false;
    }

    /// The colliders.
    pub fn colliders(&self) -> &[Collider] {
        &self.world.colliders
    }

    /// Fills `out` with the contacts of a step, in a fixed order.
    ///
    /// Listed are pairs within 1.5 thicknesses at the start and pairs that would come closer than
    /// one during the step at the predicted velocities.
    pub fn detect(
        &mut self,
        step: &DetectStep,
        out: &mut ContactSet,
    ) -> Result<DetectReport, DetectError> {
        out.clear();
        self.seen.clear();
        self.points.clear();
        self.arcs.clear();
        self.recovery.set(&self.world, step.previous);
        self.close();
        self.motion.set(&self.world, step)?;
        let rebuilt = self.search()?;
        self.open = true;
        let mut found = self.world.near(&self.motion, &self.candidates)?;
        self.world
            .settle_sides(&self.motion, step.previous, &mut found);
        let held = self.world.held(&self.motion, step, &mut found);
        self.seen.extend(held.iter().map(|h| h.0));
        let pairs = (&self.candidates, &mut self.clearance, &mut self.watched);
        self.world
            .meeting(&self.motion, pairs, &self.seen, false, &mut found);
        let starts = &mut self.starts;
        found.extend(self.world.on_shapes(&self.motion, starts, Pass::First));
        found.extend(self.world.on_particles(&self.motion, false)?);
        self.shares.clear(self.world.owner.len());
        let all = held.iter().map(|h| &h.1).chain(&found);
        let depth = all.filter(|f| !f.continuous);
        let depth = depth.map(|f| f.thickness - f.distance);
        let penetration = depth.fold(0.0, f64::max);
        let angle = self.config.prune;
        let pruned = angle.map_or(0, |angle| prune(&mut found, &self.motion, angle));
        let near = self.write(held, found, step.v, out);
        Ok(DetectReport {
            contacts: out.len(),
            near,
            candidates: self.candidates.len(),
            pruned,
            rebuilt,
            penetration,
        })
    }

    /// The largest fraction of the step at velocities `v` [m/s] for which all features of meshes
    /// stay at least `d_min` [m] apart, and vertices, edges and the solids' corners and centres as
    /// far; zero if some are closer from the start. For the step of the last
    /// [`Detector::detect`]; zero if that is over. `d_min` must not exceed the thickness.
    pub fn safe_fraction(&mut self, v: &[Vec3], d_min: f64) -> Result<f64, DetectError> {
        if !self.open {
            return Ok(0.0);
        }
        self.repredict(v)?;
        let config = CcdConfig::new(d_min);
        let (x0, x1) = (&self.motion.x0, &self.motion.x1);
        let surface = &self.world.surface;
        let pairs = (&self.candidates, &self.clearance);
        let open = self.world.unproven(&self.motion, pairs, d_min);
        let meshes = earliest_step(&open, surface, x0, x1, &config)?.fraction;
        let particles = self.world.safe_from_particles(&self.motion, d_min)?;
        let starts = &mut self.starts;
        let shapes = self.world.safe_from_shapes(&self.motion, starts, d_min);
        Ok(meshes.min(shapes).min(particles))
    }

    /// The names of the two colliders that limit [`Detector::safe_fraction`], for messages; `None` if the whole
    /// step is safe. It repeats the search of that function.
    pub fn limiting_pair(
        &mut self,
        v: &[Vec3],
        d_min: f64,
    ) -> Result<Option<[String; 2]>, DetectError> {
        if !self.open {
            return Ok(None);
        }
        self.repredict(v)?;
        let (world, motion) = (&self.world, &self.motion);
        let open = world.unproven(motion, (&self.candidates, &self.clearance), d_min);
        let config = CcdConfig::new(d_min);
        let meshes = earliest_step(&open, &world.surface, &motion.x0, &motion.x1, &config)?;
        let owners = |a: u32, b: u32| [a, b].map(|v| world.owner[v as usize]);
        let meshes = meshes.limited_by.map(|pair| {
            let pair = match pair {
                Candidate::VertexFace(p, [a, ..]) => owners(p, a),
                Candidate::EdgeEdge([a, _], [b, _]) => owners(a, b),
            };
            (meshes.fraction, pair)
        });
        let particles = world.first_of_particles(motion, d_min)?;
        let shapes = world.first_of_shapes(motion, &mut self.starts, d_min);
        let all = [meshes, particles, shapes].into_iter().flatten();
        let first = all.min_by(|a, b| a.0.total_cmp(&b.0));
        Ok(first.map(|(_, pair)| pair.map(|c| world.name(c))))
    }

    /// Brings the contacts of the step up to date with the angular velocities of rigid bodies in `v`
    /// [rad/s]: the points of a body that turns move along arcs. For another linearisation of the same
    /// step. Returns the largest change of a relative velocity [m/s].
    pub fn follow_turns(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> f64 {
        let h = self.motion.h;
        let arcs = self.arcs.iter_mut();
        let changes = arcs.map(|arc| arc.follow(h, v, contacts));
        changes.fold(0.0, f64::max)
    }

    /// Largest fraction of the thickness by which the two points of a contact move apart or closer in the step because
    /// they are apart along its plane and their bodies turn. The impulse acts halfway between them, so that a solution
    /// does not follow this term of the constraint by itself.
    pub fn turned_aside(&self, contacts: &ContactSet) -> f64 {
        let arcs = self.arcs.iter();
        let aside = arcs.map(|arc| arc.aside(self.motion.h, contacts));
        aside.fold(0.0, f64::max) / self.world.thickest
    }

    /// Memory of all that is kept between steps [bytes]: topology, positions, trees, candidates and
    /// keys; the caller's colliders are not counted.
    pub fn bytes(&self) -> usize {
        let trees = self.swept.as_ref().map_or(0, SweptSurface::bytes);
        let candidates = size_of_val(&self.candidates.vertex_face[..])
            + size_of_val(&self.candidates.edge_edge[..])
            + self.candidates.len() * size_of::<f32>()
            + size_of_val(&self.watched[..]);
        let keys = size_of_val(&self.seen[..]) + size_of_val(&self.points[..]);
        let keys = keys + size_of_val(&self.ends[..]);
        let keys = keys + size_of_val(&self.arcs[..]) + self.recovery.bytes();
        self.world.bytes() + self.motion.bytes() + trees + candidates + keys
    }

    /// Finds the candidates of the step; whether trees were built for it.
    fn search(&mut self) -> Result<bool, DetectError> {
        let Motion { x0, x1, .. } = &self.motion;
        let moving = self.moves_far();
        let end = |i: usize| {
            let displacement = x1[i] - x0[i];
            if moving {
                let around = Vec3::repeat(self.config.wander * displacement.amax());
                EndBox::around(&(x1[i] - around), &(x1[i] + around))
            } else {
                let far = x0[i] + displacement * self.config.extend;
                EndBox::around(&x0[i].inf(&far), &x0[i].sup(&far))
            }
        };
        let nowhere = EndBox::around(&Vec3::zeros(), &Vec3::zeros());
        self.ends.resize(x0.len(), nowhere);
        parallel::each_mut(&mut self.ends, 4096, |i, e| *e = end(i));
        let (ends, margin) = (self.ends.as_slice(), self.world.margin.as_slice());
        let kept = match self.swept.take() {
            Some(mut swept) if swept.is_moving() == moving => {
                swept.refit(x0, ends, margin)?;
                (swept.degradation() < self.config.rebuild).then_some(swept)
            }
            _ => None,
        };
        let rebuilt = kept.is_none();
        let swept = match kept {
            Some(swept) => swept,
            None => trees(moving, self.world.surface.clone(), x0, ends, margin)?,
        };
        let world = &self.world;
        let keep = |pair| world.may_meet(&self.motion, &self.ends, moving, pair);
        let quota = Quota::new(world.owner.len());
        self.candidates = Candidates::within(&swept, |pair| keep(pair) && quota.admits());
        quota.check(world, |count| world.count_within(&swept, keep, count))?;
        // In the order in which more of them are merged.
        self.candidates.vertex_face.sort_unstable();
        let Candidates {
            vertex_face,
            edge_edge,
        } = &self.candidates;
        for (clearance, count) in [
            (&mut self.clearance.vertex_face, vertex_face.len()),
            (&mut self.clearance.edge_edge, edge_edge.len()),
        ] {
            clearance.clear();
            clearance.resize(count, 0.0);
        }
        self.swept = Some(swept);
        Ok(rebuilt)
    }

    /// Whether displacements are long compared with edges.
    fn moves_far(&self) -> bool {
        let Motion { x0, x1, .. } = &self.motion;
        let edges = self.world.surface.edges();
        let displacement = reduce::sum_ordered(x0.len(), |i| (x1[i] - x0[i]).norm());
        let long = reduce::sum_ordered(edges.len(), |e| {
            let [a, b] = edges[e].map(|v| x0[v as usize]);
            (b - a).norm()
        });
        displacement * edges.len() as f64 > FAR * long * x0.len() as f64
    }

    /// Writes the `held` contacts under their keys and those `found` that are not listed yet, in the order of
    /// [`Found::order`]. Returns the number within reach.
    /// A listed pair that penetrates deeply in spite of its contact is relisted, unless the
    /// velocities `v` still violate listed contacts.
    fn write(
        &mut self,
        held: Vec<(ContactKey, Found)>,
        mut found: Vec<Found>,
        v: &[Vec3],
        out: &mut ContactSet,
    ) -> usize {
        let keys: Vec<ContactKey> = found.iter().map(|f| f.key(&self.world)).collect();
        // Numbers are sorted, not what they stand for, which is large.
        let mut order: Vec<u32> = (0..found.len() as u32).collect();
        order.sort_by_key(|&i| found[i as usize].order());
        let mut by_key = order.clone();
        by_key.sort_by_key(|&i| keys[i as usize]);
        // Of equal keys the first stays: nearness goes before motion, and that before depth.
        let mut first = vec![false; found.len()];
        let mut again = vec![false; found.len()];
        for equal in by_key.chunk_by(|&i, &j| keys[i as usize] == keys[j as usize]) {
            // Spare ones come last: one that is alone has nothing to be the spare of.
            first[equal[0] as usize] = !found[equal[0] as usize].spare;
            let deep = |i: &&u32| found[**i as usize].deep && !found[**i as usize].spare;
            if let Some(&i) = equal.iter().find(deep) {
                again[i as usize] = true;
            }
        }
        drop(by_key);
        let listed = Listed::new(out, found.iter().any(|f| f.deep));
        let mut fresh: Vec<(ContactKey, u32)> = Vec::new();
        let mut used_up = None;
        for &number in &order {
            let i = number as usize;
            let f = &found[i];
            let is_new = |key: &ContactKey| self.seen.binary_search(key).is_err();
            let mut key = first[i].then_some(keys[i]).filter(is_new);
            let limit = -VIOLATED * f.thickness / self.motion.h;
            if again[i] && !is_new(&keys[i]) && listed.approach(out, keys[i], v) >= limit {
                let mut names = (1..=AGAIN).map(|n| Found::again(keys[i], n));
                key = names.find(is_new);
                if key.is_none() {
                    used_up = Some(keys[i]);
                }
            } else if f.spare && used_up == Some(keys[i]) {
                // It comes right after what it is the spare of.
                key = Some(Found::again(keys[i], AGAIN + 1)).filter(is_new);
            }
            if let Some(key) = key {
                self.shares.add(f);
                fresh.push((key, number));
            }
        }
        drop((keys, order, first, again, listed));
        self.seen.extend(fresh.iter().map(|f| f.0));
        if !held.is_empty() {
            for (key, f) in held {
                self.shares.add(&f);
                fresh.push((key, found.len() as u32));
                found.push(f);
            }
            fresh.sort_by_key(|(_, i)| found[*i as usize].order());
        }
        let mut near = 0;
        let mut emission = Emission {
            motion: &self.motion,
            shares: &self.shares,
            overlaps: Overlaps::By(&self.recovery),
            relocate: self.config.relocate,
            arcs: &mut self.arcs,
        };
        for (key, i) in &fresh {
            let f = &found[*i as usize];
            if self.world.emit(&mut emission, f, *key, out) {
                near += usize::from(!f.continuous);
                let at = self.world.coordinates(key, f);
                self.points.extend(at.map(|at| (*key, at)));
            }
        }
        self.seen.sort_unstable();
        self.points.sort_by_key(|p| p.0);
        near
    }

    /// Writes contacts of pairs that others were nearer than, as far as violations of what is listed leave
    /// no doubt that they are needed: those that sink, and the `last` ones.
    fn write_late(&mut self, last: Vec<Found>, v: &[Vec3], out: &mut ContactSet) {
        let approach = |c: usize| {
            let u = out.velocity(c, v) + out.k[c];
            -u.dot(&out.normal[c])
        };
        let violation = (0..out.len()).map(approach).fold(0.0, f64::max);
        let thinnest = last.iter().map(|f| f.thickness);
        let thinnest = thinnest.fold(f64::INFINITY, f64::min);
        let mut late = last;
        late.retain(|_| violation <= VIOLATED * thinnest / self.motion.h);
        // An iterate that is far from holding its contacts says nothing of what they leave to sink.
        if violation * self.motion.h <= NEARLY_HELD * self.world.thickest {
            let sinking = self
                .world
                .sinking(&self.motion, &self.watched, &self.seen)
                .into_iter();
            let faster =
                |f: &Found| matches!(f.wait, Wait::Sinks(speed) if speed > SINKS * violation);
            late.extend(sinking.filter(faster));
        }
        if !late.is_empty() {
            self.write(Vec::new(), late, v, out);
        }
    }

    /// New velocities: end positions, and a search around vertices that leave their box.
    fn repredict(&mut self, v: &[Vec3]) -> Result<(), DetectError> {
        if v.len() < self.world.blocks {
            return Err(DetectError::Length {
                column: "v",
                expected: self.world.blocks,
                found: v.len(),
            });
        }
        self.motion.predict(&self.world, v);
        self.motion.turn_by(v);
        let x1 = &self.motion.x1;
        let outside = |i: usize| {
            let [low, high] = self.ends[i].corners();
            let pad = self.world.pad(i);
            // Also true for what is not a number, which the search then refuses.
            !(0..3).all(|k| x1[i][k] >= low[k] - pad && x1[i][k] <= high[k] + pad)
        };
        let escaped = parallel::map(self.ends.len(), 4096, outside);
        if !escaped.contains(&true) {
            return Ok(());
        }
        self.search_around(&escaped)
    }

    /// Adds the candidates of all features with an escaped vertex [verschoor2019, Sect. 5.2].
    fn search_around(&mut self, escaped: &[bool]) -> Result<(), DetectError> {
        let Motion { x0, x1, .. } = &self.motion;
        let whole = &self.world.surface;
        let out = |v: &u32| escaped[*v as usize];
        let triangles = whole.triangles().iter().filter(|t| t.iter().any(out));
        let edges = whole.edges().iter().filter(|e| e.iter().any(out));
        let triangles: Vec<[u32; 3]> = triangles.copied().collect();
        let edges: Vec<[u32; 2]> = edges.copied().collect();
        let particles = self.world.particles.iter().copied().filter(out);
        let particles: Vec<u32> = particles.collect();
        let part = CollisionSurface::new(&triangles, &edges)?.with_points(&particles);
        let part = part.with_groups(self.world.groups.clone());
        let of_part = part
            .edges()
            .iter()
            .map(|e| self.world.edge(e[0], e[1]) as u32);
        let of_part: Vec<u32> = of_part.collect();
        let moving = self.swept.as_ref().is_some_and(SweptSurface::is_moving);
        for (i, end) in self.ends.iter_mut().enumerate() {
            if !escaped[i] {
                continue;
            }
            let [low, high] = end.corners();
            *end = if moving {
                // Around where it is now, by how far it went beyond, and by no less than before.
                let half = 0.5 * (high - low).amax();
                let beyond = (x1[i] - 0.5 * (low + high)).amax() - half;
                let around = Vec3::repeat(half.max(beyond));
                EndBox::around(&(x1[i] - around), &(x1[i] + around))
            } else {
                EndBox::around(&low.inf(&x1[i]), &high.sup(&x1[i]))
            };
        }
        let (ends, margin) = (self.ends.as_slice(), self.world.margin.as_slice());
        let Some(mut all) = self.swept.take() else {
            return Ok(());
        };
        let part = trees(moving, part.into(), x0, ends, margin);
        let part = match all.refit(x0, ends, margin).and(part) {
            Ok(part) => part,
            Err(error) => {
                self.swept = Some(all);
                return Err(error.into());
            }
        };
        let keep = |pair| self.world.may_meet(&self.motion, &self.ends, moving, pair);
        let mut more = Candidates::between(&part, &all, keep);
        self.swept = Some(all);
        for pair in &mut more.edge_edge {
            let (i, j) = (of_part[pair[0] as usize], pair[1]);
            *pair = [i.min(j), i.max(j)];
        }
        let (candidates, clearance) = (&mut self.candidates, &mut self.clearance);
        // All pairs of what escaped are found anew, and those that are not have come apart.
        if moving {
            let faces = (&mut candidates.vertex_face, &mut clearance.vertex_face);
            drop_pairs(faces, |v| v.iter().any(out));
            let edges = (&mut candidates.edge_edge, &mut clearance.edge_edge);
            drop_pairs(edges, |e| self.world.surface.ends(*e).iter().any(out));
        }
        let faces = (&mut candidates.vertex_face, &mut clearance.vertex_face);
        merge(faces, more.vertex_face);
        let edges = (&mut candidates.edge_edge, &mut clearance.edge_edge);
        merge(edges, more.edge_edge);
        Ok(())
    }
}

/// Hierarchies of the kind that suits the motion.
fn trees(
    moving: bool,
    surface: Arc<CollisionSurface>,
    start: &[Vec3],
    ends: &[EndBox],
    margin: &[f64],
) -> Result<SweptSurface, SurfaceError> {
    match moving {
        true => SweptSurface::build_moving(surface, start, ends, margin),
        false => SweptSurface::build(surface, start, ends, margin),
    }
}

/// Takes some pairs out of a list.
fn drop_pairs<P: Copy>(
    (list, clearance): (&mut Vec<P>, &mut Vec<f32>),
    which: impl Fn(&P) -> bool,
) {
    let mut kept = 0;
    for i in 0..list.len() {
        if !which(&list[i]) {
            (list[kept], clearance[kept]) = (list[i], clearance[i]);
            kept += 1;
        }
    }
    list.truncate(kept);
    clearance.truncate(kept);
}

/// Inserts the missing entries of `new` into the ascending list `old`, to be checked.
fn merge<P: Copy + Default + Ord + Send>(
    (old, clearance): (&mut Vec<P>, &mut Vec<f32>),
    mut new: Vec<P>,
) {
    new.par_sort_unstable();
    new.dedup();
    let mut at = 0;
    new.retain(|pair| {
        while at < old.len() && old[at] < *pair {
            at += 1;
        }
        old.get(at) != Some(pair)
    });
    let (mut i, mut j) = (old.len(), new.len());
    let mut to = i + j;
    // Exactly: these lists are the largest of a search.
    old.reserve_exact(j);
    clearance.reserve_exact(j);
    old.resize(to, P::default());
    clearance.resize(to, 0.0);
    // From behind, so that nothing is written over that is still to be read.
    while j > 0 {
        to -= 1;
        if i > 0 && old[i - 1] > new[j - 1] {
            i -= 1;
            (old[to], clearance[to]) = (old[i], clearance[i]);
        } else {
            j -= 1;
            (old[to], clearance[to]) = (new[j], 0.0);
        }
    }
}

/// Contacts in the order of their keys. The solver may have sorted them otherwise.
struct Listed(Vec<u32>);

impl Listed {
    fn new(contacts: &ContactSet, needed: bool) -> Self {
        let mut places: Vec<u32> = Vec::new();
        if needed {
            places.extend(0..contacts.len() as u32);
            places.sort_by_key(|&i| contacts.key[i as usize]);
        }
        Listed(places)
    }

    /// The least normal velocity of all contacts of a pair [m/s].
    fn approach(&self, contacts: &ContactSet, key: ContactKey, v: &[Vec3]) -> f64 {
        let names = (0..=AGAIN + 1).map(|n| Found::again(key, n));
        let place = |key: ContactKey| {
            let at = self
                .0
                .binary_search_by_key(&key, |&i| contacts.key[i as usize]);
            let i = self.0[at.ok()?] as usize;
            let u = contacts.velocity(i, v) + contacts.k[i];
            Some(u.dot(&contacts.normal[i]))
        };
        names.filter_map(place).fold(f64::INFINITY, f64::min)
    }
}

impl ContactSource for Detector {
    /// Continuous detection on the candidates of the step.
    ///
    /// A listed pair whose contacts hold and that still comes closer than half its thickness, or closer
    /// than a fraction of its initial gap, because it turned or slid too far for one plane to separate it,
    /// is relisted at that position, up to seven times and with keys of their own; a pair with a solid
    /// after that once more, at its end position. A pair that is not the closest of its vertex is listed
    /// when all listed contacts hold and it would still come within a tenth of its thickness. Velocities
    /// that are too few or not finite give no contacts.
    fn more_contacts(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> usize {
        if !self.open || self.repredict(v).is_err() {
            return 0;
        }
        let before = contacts.len();
        let pairs = (&self.candidates, &mut self.clearance, &mut self.watched);
        let mut found = Vec::new();
        self.world
            .meeting(&self.motion, pairs, &self.seen, true, &mut found);
        let starts = &mut self.starts;
        found.extend(self.world.on_shapes(&self.motion, starts, Pass::Again));
        // Positions that cannot be searched were refused above.
        found.extend(
            self.world
                .on_particles(&self.motion, true)
                .unwrap_or_default(),
        );
        let (last, found): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|f| f.wait != Wait::Never);
        self.write(Vec::new(), found, v, contacts);
        if contacts.len() == before {
            self.write_late(last, v, contacts);
        }
        contacts.len() - before
    }

    fn revise(&mut self, v: &[Vec3], contacts: &mut ContactSet, rule: &RevisionRule) -> Revision {
        self.revised(v, contacts, rule)
    }
}
