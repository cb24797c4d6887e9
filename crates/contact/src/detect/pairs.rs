//! Contacts among meshes: pairs that are close at the start, and pairs that would meet during the step.

use stiction_geometry::collide::ccd::{self, CcdConfig, Impact};
use stiction_geometry::collide::{
    Candidate, Candidates, EndBox, EndPosition, ProximityKind, ProximityPair as Near, SweptSurface,
    edge_edge, edge_edge_normal, point_edge, point_edge_normal, point_triangle,
    point_triangle_normal, proximity_as, proximity_within_as,
};
use stiction_math::{Vec3, parallel};

use super::emit::{Found, Kind, Wait};
use super::quota::Quota;
use super::step::Motion;
use super::world::{DetectError, World};
use crate::ContactKey;

/// Contacts are listed from this multiple of the thickness [li2018, Sect. 5.2].
pub(super) const REACH: f64 = 1.5;

/// A listed pair is relisted below this fraction of the thickness.
const DEEP: f64 = 0.5;

/// A pair that starts closer than the thickness is relisted below this fraction of its initial gap;
/// halving it every step would let the gap vanish.
const KEPT: f64 = 0.9;

/// Relisting threshold of a pair with an initial gap and a thickness [m].
pub(super) fn relisting_threshold(thickness: f64, start: f64) -> f64 {
    (DEEP * thickness).min(KEPT * start)
}

/// A listed pair is re-detected when its ends have moved by this fraction of its thickness, or
/// earlier if something else requires it: other features of it may be closest then.
const SETTLED: f64 = 0.05;

/// Least clearance that [`Clearance`] proves, as a fraction of the full thickness of a pair.
const PROVEN: f64 = 1e-3;

/// Pairs that are not the closest of their vertex get a contact of their own at this fraction of the
/// thickness, or of their initial gap.
const LAST: f64 = 0.1;

/// A pair without a contact sinks if its distance shrinks faster than this [m/s]: a tenth of what the solvers
/// leave of a held contact.
const STILL: f64 = 1e-10;

/// Normals with a larger cosine (15°) are those of one contact that turns, as in a revision.
const NOT_TURNED: f64 = 0.966;

/// Weights below this are rounding: the closest point is on the boundary of its feature. Features of
/// meshes that are aligned meet there, and rounding would say of which of them the contact is.
const ON_BOUNDARY: f64 = 1e-9;

impl Found {
    /// A pair to be watched: see [`Watched`].
    fn watched(kind: ProximityKind, vertices: &[u32; 4], from: f64) -> Self {
        Found {
            kind: Kind::Pair(kind),
            vertices: *vertices,
            weights: [0.0; 4],
            normal: Vec3::zeros(),
            distance: from,
            thickness: from,
            touch: None,
            continuous: true,
            deep: false,
            wait: Wait::Watch(from),
            spare: false,
        }
    }

    /// Names a contact on the boundary of its features by the vertices and edges there.
    fn lower(&mut self, kind: ProximityKind) {
        use ProximityKind::{EdgeEdge, VertexEdge, VertexFace, VertexVertex};
        let counts = match kind {
            VertexVertex => return,
            VertexEdge => [1, 2],
            VertexFace => [1, 3],
            EdgeEdge => [2, 2],
        };
        let used = counts[0] + counts[1];
        let inner = |w: &f64| w.abs() > ON_BOUNDARY;
        if self.weights[..used].iter().all(inner) {
            return;
        }
        let side = |range: std::ops::Range<usize>| -> Vec<(u32, f64)> {
            let all = range.map(|i| (self.vertices[i], self.weights[i].abs()));
            all.filter(|(_, w)| inner(w)).collect()
        };
        let (first, second) = (side(0..counts[0]), side(counts[0]..used));
        let kind = match first.len().min(second.len()) * 10 + first.len().max(second.len()) {
            11 => VertexVertex,
            12 => VertexEdge,
            13 => VertexFace,
            22 => EdgeEdge,
            _ => return,
        };
        let (vertices, weights, turned) = arranged(first, second);
        (self.kind, self.vertices, self.weights) = (Kind::Pair(kind), vertices, weights);
        if turned {
            self.normal = -self.normal;
        }
    }
}

/// Vertices and signed weights of a contact in the order of its kind, and whether its sides changed places:
/// the smaller feature comes first, and of two vertices the one with the smaller number.
fn arranged(mut first: Vec<(u32, f64)>, mut second: Vec<(u32, f64)>) -> ([u32; 4], [f64; 4], bool) {
    let lower = first.len() == 1 && second.len() == 1 && second[0].0 < first[0].0;
    let turned = first.len() == 2 && second.len() == 1 || lower;
    if turned {
        std::mem::swap(&mut first, &mut second);
    }
    if second.len() == 2 && second[1].0 < second[0].0 {
        second.swap(0, 1);
    }
    let mut vertices = [second.last().map_or(0, |s| s.0); 4];
    let mut weights = [0.0; 4];
    let total = |side: &[(u32, f64)]| side.iter().map(|s| s.1).sum::<f64>();
    let (a, b) = (total(&first), -total(&second));
    let first = first.iter().map(|&(v, w)| (v, w / a));
    let second = second.iter().map(|&(v, w)| (v, w / b));
    for (i, (v, w)) in first.chain(second).take(4).enumerate() {
        (vertices[i], weights[i]) = (v, w);
    }
    (vertices, weights, turned)
}

/// For each candidate, the displacement of the ends of its two features since the step was set, summed,
/// below which it need not be checked again [m].
#[derive(Debug, Default)]
pub(super) struct Clearance {
    pub vertex_face: Vec<f32>,
    pub edge_edge: Vec<f32>,
}

/// A pair that comes within its thickness, and whose contact may have been left to a nearer pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    /// Vertex and face, or two edges.
    kind: ProximityKind,
    vertices: [u32; 4],
    /// The smaller of its thickness and its distance at the start [m].
    from: f64,
}

impl Watched {
    /// Moves what is to be watched from the end of a list, from place `first` on, to `watched`, which is ascending
    /// and has every pair once.
    fn take(found: &mut Vec<Found>, first: usize, watched: &mut Vec<Self>) {
        let before = watched.len();
        let mut kept = first;
        for i in first..found.len() {
            match (found[i].wait, found[i].kind) {
                (Wait::Watch(from), Kind::Pair(kind)) => watched.push(Self {
                    kind,
                    vertices: found[i].vertices,
                    from,
                }),
                _ => {
                    found.swap(kept, i);
                    kept += 1;
                }
            }
        }
        found.truncate(kept);
        if watched.len() > before {
            watched.sort_by_key(|w| (w.kind, w.vertices));
            watched.dedup_by_key(|w| (w.kind, w.vertices));
        }
    }
}

/// The closest points of a vertex and a face, or of two edges, as an impact at a time.
fn approached(kind: ProximityKind, [a, b, c, d]: &[Vec3; 4], time: f64) -> Impact {
    let (weights, separation) = match kind {
        ProximityKind::EdgeEdge => {
            let near = edge_edge(&[*a, *b], &[*c, *d]);
            let [[p, q], [r, s]] = near.weights;
            ([p, q, r, s], near.separation)
        }
        _ => {
            let near = point_triangle(a, &[*b, *c, *d]);
            let [p, q, r] = near.weights;
            ([1.0, p, q, r], near.separation)
        }
    };
    Impact {
        time,
        weights,
        separation,
    }
}

/// Pairs per batch, after which results are combined, so that memory for both is short.
const SLAB: usize = 1 << 18;

/// Adds the contacts of pairs, each with its clearance, in their order, if they are wanted.
fn each<P: Sync>(
    list: &[P],
    clearance: &mut [f32],
    look: impl Fn(&P, &mut f32, &mut Vec<Found>) + Sync,
    wanted: impl Fn(&Found) -> bool + Sync,
    all: &mut Vec<Found>,
) {
    for (list, clearance) in list.chunks(SLAB).zip(clearance.chunks_mut(SLAB)) {
        let parts = parallel::map_chunks_mut(clearance, 512, |first, clearance| {
            let mut found = Vec::new();
            let pairs = list[first..].iter().zip(clearance);
            pairs.for_each(|(pair, clearance)| look(pair, clearance, &mut found));
            found.retain(&wanted);
            found
        });
        parts.into_iter().for_each(|part| all.extend(part));
    }
}

/// Nothing is known of the side that features at zero distance come from.
fn no_side(_: ProximityKind, _: &[u32; 4]) -> Vec3 {
    Vec3::zeros()
}

/// Closeness of a pair.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    /// Its thickness.
    Full,
    /// Half of it: its contact may look at a place that it has left.
    Deep,
    /// So near that it needs a contact even if it is not the nearest pair around.
    Last,
}

impl World {
    /// Whether a pair of features is to be searched at all.
    pub(super) fn keep(&self, motion: &Motion, pair: Candidate) -> bool {
        let (a, b, free, spared) = match pair {
            Candidate::VertexFace(p, t) => {
                let face = t.iter().any(|v| motion.free[*v as usize]);
                let spared =
                    self.spares(&[p], t[0]) || self.spares(&t, p) || self.is_sewn(&[p], &t);
                (p, t[0], motion.free[p as usize] || face, spared)
            }
            Candidate::EdgeEdge(e, f) => {
                let ends = [e[0], e[1], f[0], f[1]];
                let spared = self.spares(&e, f[0]) || self.spares(&f, e[0]) || self.is_sewn(&e, &f);
                let free = ends.iter().any(|v| motion.free[*v as usize]);
                (e[0], f[0], free, spared)
            }
        };
        free && !spared && self.may_touch(self.owner[a as usize], self.owner[b as usize])
    }

    /// Whether a pair of features is to be searched and may come within reach, wherever its vertices
    /// end between two corners: boxes of rods and of long displacements meet, but most that is in them
    /// passes one another by.
    pub(super) fn may_meet(
        &self,
        motion: &Motion,
        ends: &[EndBox],
        moving: bool,
        pair: Candidate,
    ) -> bool {
        if !self.keep(motion, pair) {
            return false;
        }
        let thin = |v: u32| self.fans.of(v as usize).is_empty();
        match pair {
            Candidate::EdgeEdge(a, b) if moving || thin(a[0]) && thin(b[0]) => {}
            Candidate::VertexFace(..) if moving => {}
            _ => return true,
        }
        let (v, second) = match pair {
            Candidate::VertexFace(p, [a, b, c]) => ([p, a, b, c], 1),
            Candidate::EdgeEdge([a, b], [c, d]) => ([a, b, c, d], 2),
        };
        let v = v.map(|v| v as usize);
        let start = v.map(|v| motion.x0[v]);
        let ends = v.map(|v| ends[v].corners());
        let reach = 0.5 * (self.margin[v[0]] + self.margin[v[second]]);
        !ccd::stays_apart(&pair, &start, &ends, reach)
    }

    /// The thickness of a pair of features and the places of their colliders. Features of one body
    /// have at most half their rest distance; those of two rods of one body all of it.
    pub(super) fn pair_thickness(&self, kind: ProximityKind, v: &[u32; 4], full: f64) -> f64 {
        let second = if kind == ProximityKind::EdgeEdge {
            v[2]
        } else {
            v[1]
        };
        if self.owner[v[0] as usize] != self.owner[second as usize] {
            return full;
        }
        let [a, b, c, d] = v.map(|v| self.rest[v as usize]);
        let squared = match kind {
            ProximityKind::VertexVertex => (a - b).norm_squared(),
            ProximityKind::VertexEdge => point_edge(&a, &[b, c]).squared,
            ProximityKind::VertexFace => point_triangle(&a, &[b, c, d]).squared,
            ProximityKind::EdgeEdge => edge_edge(&[a, b], &[c, d]).squared,
        };
        // Two rods of a body are no neighbours, however near they start.
        let strand = |v: u32| self.strand.get(v as usize);
        let part = match strand(v[0]) == strand(second) {
            true => 0.5,
            false => 1.0,
        };
        full.min(part * squared.sqrt())
    }

    pub(super) fn full_thickness(&self, kind: ProximityKind, v: &[u32; 4]) -> f64 {
        let second = if kind == ProximityKind::EdgeEdge {
            v[2]
        } else {
            v[1]
        };
        self.thickness(self.owner[v[0] as usize], self.owner[second as usize])
    }

    /// Calls `count` with the colliders of every pair within a surface that is kept.
    pub(super) fn count_within(
        &self,
        swept: &SweptSurface,
        keep: impl Fn(Candidate) -> bool + Sync,
        count: &(dyn Fn(u32, u32) + Sync),
    ) {
        Candidates::within(swept, |pair| {
            if keep(pair) {
                let (a, b) = match pair {
                    Candidate::VertexFace(p, t) => (p, t[0]),
                    Candidate::EdgeEdge(e, f) => (e[0], f[0]),
                };
                count(self.owner[a as usize], self.owner[b as usize]);
            }
            false
        });
    }

    /// Contacts within reach at the start, each feature pair once.
    pub(super) fn near(
        &self,
        motion: &Motion,
        candidates: &Candidates,
    ) -> Result<Vec<Found>, DetectError> {
        let (reach, x) = (REACH * self.thickest, &motion.x0);
        let keep = |n| self.nearest(motion, n);
        Ok(proximity_as(
            candidates,
            &self.surface,
            x,
            reach,
            no_side,
            keep,
        )?)
    }

    /// Close pairs at rest, without a list of candidates.
    pub(super) fn near_at_rest(
        &self,
        motion: &Motion,
        swept: &SweptSurface,
    ) -> Result<Vec<Found>, DetectError> {
        let (reach, x) = (REACH * self.thickest, &motion.x0);
        let keep = |pair| self.keep(motion, pair);
        let near = |n| self.nearest(motion, n);
        let quota = Quota::new(self.owner.len());
        let admitted = |pair| keep(pair) && quota.admits();
        let found = proximity_within_as(swept, x, reach, admitted, no_side, near)?;
        quota.check(self, |count| self.count_within(swept, keep, count))?;
        Ok(found)
    }

    /// A pair that is near, if it counts.
    fn nearest(&self, motion: &Motion, n: Near) -> Option<Found> {
        let full = self.full_thickness(n.kind, &n.vertices);
        if n.gap > REACH * full {
            return None;
        }
        let thickness = self.pair_thickness(n.kind, &n.vertices, full);
        let at = |v: u32| motion.x0[v as usize];
        let wanted =
            n.gap <= REACH * thickness && self.is_nearest(n.kind, &n.vertices, &n.normal, at);
        wanted.then(|| {
            let mut found = Found {
                kind: Kind::Pair(n.kind),
                vertices: n.vertices,
                weights: n.weights,
                normal: n.normal,
                distance: n.gap,
                thickness,
                touch: None,
                continuous: false,
                deep: false,
                wait: Wait::Never,
                spare: false,
            };
            found.lower(n.kind);
            found
        })
    }

    /// Adds the contacts of pairs that would come closer than their thickness during the step. If `deep`,
    /// also the contacts, at the position and time of the approach, of pairs that would come closer than
    /// half of it, or than they start: the listed contact of such a pair is at a position that it has left.
    ///
    /// `clearance` has the clearance of each pair: the displacement of its ends below which it is not checked
    /// again. Contacts whose key was `seen`, which is ascending, and that are not deep are left out. Pairs that may sink
    /// without a contact of their own are added to `watched`.
    pub(super) fn meeting(
        &self,
        motion: &Motion,
        (candidates, clearance, watched): (&Candidates, &mut Clearance, &mut Vec<Watched>),
        seen: &[ContactKey],
        deep: bool,
        found: &mut Vec<Found>,
    ) {
        let listed = |f: &Found| seen.binary_search(&f.key(self)).is_ok();
        let wanted = |f: &Found| f.deep || matches!(f.wait, Wait::Watch(_)) || !listed(f);
        let (faces, edges) = (&candidates.vertex_face, &candidates.edge_edge);
        let face = |v: &[u32; 4], clearance: &mut f32, found: &mut Vec<Found>| {
            self.look(
                motion,
                ProximityKind::VertexFace,
                v,
                (seen, deep),
                clearance,
                found,
            );
        };
        let edge = |e: &[u32; 2], clearance: &mut f32, found: &mut Vec<Found>| {
            let v = self.surface.ends(*e);
            self.look(
                motion,
                ProximityKind::EdgeEdge,
                &v,
                (seen, deep),
                clearance,
                found,
            );
        };
        let before = found.len();
        each(faces, &mut clearance.vertex_face, face, wanted, found);
        each(edges, &mut clearance.edge_edge, edge, wanted, found);
        Watched::take(found, before, watched);
    }

    /// Displacement of the ends of a pair since the step was set, together [m].
    #[inline]
    fn moved(motion: &Motion, kind: ProximityKind, v: &[u32; 4]) -> f32 {
        let split = if kind == ProximityKind::EdgeEdge {
            2
        } else {
            1
        };
        let (first, second) = v.split_at(split);
        let most = |v: &[u32]| {
            let moved = v.iter().map(|v| motion.moved[*v as usize]);
            moved.fold(0.0, f32::max)
        };
        most(first) + most(second)
    }

    /// Candidates that may come closer than `d_min` [m]: those without a proof that they do not.
    pub(super) fn unproven(
        &self,
        motion: &Motion,
        (candidates, clearance): (&Candidates, &Clearance),
        d_min: f64,
    ) -> Candidates {
        let open = |kind: ProximityKind, v: &[u32; 4], clearance: f32| {
            let proven = d_min <= PROVEN * self.full_thickness(kind, v) * (1.0 + 1e-9);
            !proven || Self::moved(motion, kind, v) >= clearance
        };
        let faces = candidates.vertex_face.iter().zip(&clearance.vertex_face);
        let faces = faces.filter(|(v, clearance)| open(ProximityKind::VertexFace, v, **clearance));
        let edges = candidates.edge_edge.iter().zip(&clearance.edge_edge);
        let edges = edges.filter(|(e, clearance)| {
            let v = self.surface.ends(**e);
            open(ProximityKind::EdgeEdge, &v, **clearance)
        });
        Candidates {
            vertex_face: faces.map(|f| *f.0).collect(),
            edge_edge: edges.map(|e| *e.0).collect(),
        }
    }

    /// Checks one pair if its ends have moved far enough.
    #[inline]
    fn look(
        &self,
        motion: &Motion,
        kind: ProximityKind,
        v: &[u32; 4],
        pass: (&[ContactKey], bool),
        clearance: &mut f32,
        found: &mut Vec<Found>,
    ) {
        let moved = Self::moved(motion, kind, v);
        if moved >= *clearance {
            let proven = self.meet(motion, kind, v, pass, found);
            // Less by the rounding error.
            *clearance = moved + (proven * (1.0 - 1e-6)) as f32;
        }
    }

    /// Checks one pair. Returns the approach [m] below which it need not be checked again: without
    /// meeting, or, if its contact is listed, without being relisted.
    fn meet(
        &self,
        motion: &Motion,
        kind: ProximityKind,
        v: &[u32; 4],
        (seen, deep): (&[ContactKey], bool),
        found: &mut Vec<Found>,
    ) -> f64 {
        let x0 = v.map(|v| motion.x0[v as usize]);
        let x1 = v.map(|v| motion.x1[v as usize]);
        let query = |d_min: f64| {
            let config = CcdConfig::new(d_min);
            match kind {
                ProximityKind::EdgeEdge => ccd::edge_edge(&x0, &x1, &config),
                _ => ccd::vertex_face(&x0, &x1, &config),
            }
        };
        let full = self.full_thickness(kind, v);
        let answer = query(full);
        let Some(mut impact) = answer.impact else {
            return answer.clearance;
        };
        let thickness = self.pair_thickness(kind, v, full);
        if thickness < full {
            let answer = query(thickness);
            match answer.impact {
                Some(next) => impact = next,
                None if thickness < PROVEN * full => return 0.0,
                None => return answer.clearance,
            }
        }
        // Too close from the start is what proximity has listed, unless others were nearer. What still
        // meets from there, such as a vertex that slides from one face to the next, is a new contact.
        let close = impact.time == 0.0;
        let start = close.then_some(impact);
        let mut from = thickness;
        let mut settled = f64::INFINITY;
        if close {
            from = from.min(impact.separation.norm());
            if !self.are_rods(kind, v) {
                found.push(Found::watched(kind, v, from));
            }
        } else {
            settled = SETTLED * thickness;
            match self.reduce(motion, kind, v, &impact, full, Level::Full) {
                Some(one) if seen.binary_search(&one.key(self)).is_err() => {
                    settled = 0.0;
                    found.push(one);
                }
                Some(_) => {}
                None => found.push(Found::watched(kind, v, from)),
            }
        }
        if !close && !deep {
            return 0.0;
        }
        let again = relisting_threshold(thickness, from);
        let answer = query(again);
        let Some(impact) = answer.impact.filter(|i| i.time > 0.0) else {
            let proven = again >= PROVEN * full;
            return if proven {
                answer.clearance.min(settled)
            } else {
                0.0
            };
        };
        let level = if deep { Level::Deep } else { Level::Full };
        let listed = self.reduce(motion, kind, v, &impact, full, level);
        let listed = match (listed, start) {
            (Some(one), Some(start)) => Some(self.begun(motion, kind, v, &start, one, seen)),
            (listed, _) => listed,
        };
        // What was left to a nearer pair must not pass all the same.
        if listed.is_none()
            && deep
            && let Some(impact) = query(LAST * from).impact.filter(|i| i.time > 0.0)
        {
            found.extend(self.reduce(motion, kind, v, &impact, full, Level::Last));
        }
        found.extend(listed);
        0.0
    }

    /// The first contact of a pair that is close from the start, where `one` was found later in the motion: the closest
    /// points and the normal of the start. A normal from elsewhere, turned by θ, would require a distance that is larger
    /// by θ²/2 of the thickness; what rests would be pushed off by that much, and fall back in the step after. Not where
    /// other features are closest or the normal turns far: a vertex that slides onto an edge must not be stopped by it.
    fn begun(
        &self,
        motion: &Motion,
        kind: ProximityKind,
        v: &[u32; 4],
        start: &Impact,
        one: Found,
        seen: &[ContactKey],
    ) -> Found {
        let key = one.key(self);
        if seen.binary_search(&key).is_ok() {
            return one;
        }
        let first = self.reduce(motion, kind, v, start, one.thickness, Level::Last);
        let stays = |f: &Found| f.key(self) == key && f.normal.dot(&one.normal) > NOT_TURNED;
        match first.filter(stays) {
            Some(first) => Found {
                normal: first.normal,
                weights: first.weights,
                distance: first.distance,
                ..one
            },
            None => one,
        }
    }

    /// Whether two edges are rods: no face next to them takes a contact from them, so they are listed and need no watch.
    fn are_rods(&self, kind: ProximityKind, v: &[u32; 4]) -> bool {
        let is_thin = |v: u32| self.fans.of(v as usize).is_empty();
        kind == ProximityKind::EdgeEdge && is_thin(v[0]) && is_thin(v[2])
    }

    /// Contacts of pairs that have none, end the step closer than they may, and are then the nearest around.
    /// Such a pair was left to a nearer one that no longer is: features that lie flat on one another change
    /// places with the smallest slope.
    pub(super) fn sinking(
        &self,
        motion: &Motion,
        watched: &[Watched],
        seen: &[ContactKey],
    ) -> Vec<Found> {
        parallel::gather(watched.len(), 512, |range, out| {
            let pairs = watched[range].iter();
            let found = pairs.filter_map(|pair| self.sinks(motion, pair, seen));
            out.extend(found.filter(|f| seen.binary_search(&f.key(self)).is_err()));
        })
    }

    fn sinks(&self, motion: &Motion, pair: &Watched, seen: &[ContactKey]) -> Option<Found> {
        let (kind, v) = (pair.kind, &pair.vertices);
        let end = v.map(|v| motion.x1[v as usize]);
        let now = approached(kind, &end, 1.0);
        let largest = end.iter().fold(0.0, |m: f64, x| m.max(x.amax()));
        let rounding = ccd::ROUNDING * 0.5 * f64::EPSILON * largest;
        let sunk = pair.from - now.separation.norm();
        if sunk <= STILL * motion.h + rounding {
            return None;
        }
        let full = self.full_thickness(kind, v);
        let found = self.reduce(motion, kind, v, &now, full, Level::Full)?;
        let start = approached(kind, &v.map(|v| motion.x0[v as usize]), 0.0);
        // An iterate that lets a body fall tilts and shifts it by far more than the answer will.
        let found = match start.separation.norm() <= (1.0 + SETTLED) * found.thickness {
            true => self.begun(motion, kind, v, &start, found, seen),
            false => found,
        };
        let wait = Wait::Sinks(sunk / motion.h);
        Some(Found { wait, ..found })
    }

    /// An impact as a contact of the features that are active in it.
    fn reduce(
        &self,
        motion: &Motion,
        kind: ProximityKind,
        v: &[u32; 4],
        impact: &Impact,
        full: f64,
        level: Level,
    ) -> Option<Found> {
        use ProximityKind::{EdgeEdge, VertexEdge, VertexFace, VertexVertex};
        let at = |v: u32| motion.at(v, impact.time);
        let split = if kind == EdgeEdge { 2 } else { 1 };
        let active = |range: std::ops::Range<usize>| -> Vec<(u32, f64)> {
            let w = &impact.weights;
            range
                .filter(|&i| w[i] > ON_BOUNDARY)
                .map(|i| (v[i], w[i]))
                .collect()
        };
        let (vertices, weights, turned) = arranged(active(0..split), active(split..4));
        let separation = impact.separation * if turned { -1.0 } else { 1.0 };
        let hint = self.side_before(motion, &vertices, &weights);
        let [a, b, c, d] = vertices.map(at);
        let count = |positive: bool| {
            weights
                .iter()
                .filter(|w| (**w > 0.0) == positive && **w != 0.0)
                .count()
        };
        let (kind, normal) = match (count(true), count(false)) {
            (1, 1) => (VertexVertex, point_edge_normal(&separation, &[b, b], &hint)),
            (1, 2) => (VertexEdge, point_edge_normal(&separation, &[b, c], &hint)),
            (1, 3) => {
                let normal = point_triangle_normal(&separation, &[b, c, d], &hint);
                (VertexFace, normal)
            }
            _ => {
                let normal = edge_edge_normal(&separation, &[a, b], &[c, d], &hint);
                (EdgeEdge, normal)
            }
        };
        if level != Level::Last && !self.is_nearest(kind, &vertices, &normal, at) {
            return None;
        }
        Some(Found {
            kind: Kind::Pair(kind),
            vertices,
            weights,
            normal,
            distance: separation.norm(),
            thickness: self.pair_thickness(kind, &vertices, full),
            touch: None,
            continuous: true,
            deep: level != Level::Full,
            wait: match level {
                Level::Last => Wait::Holds,
                Level::Full | Level::Deep => Wait::Never,
            },
            spare: false,
        })
    }

    /// From the second to the first feature at the start of the step: the side that an impact at
    /// zero distance comes from.
    fn side_before(&self, motion: &Motion, v: &[u32; 4], w: &[f64; 4]) -> Vec3 {
        let part = |i: usize| motion.x0[v[i] as usize] * w[i];
        part(0) + part(1) + part(2) + part(3)
    }

    /// Whether a vertex or edge is the closest feature of its own surface. If an adjacent face is
    /// closer, then a pair with that face is listed as well, and a contact here, whose normal leans
    /// to the side, would obstruct sliding. Pairs of vertex and face always stay (and of vertex and edge
    /// on rods), so that no close pair is left without a contact: from any other pair, the sequence of
    /// closer ones ends at such a pair or at one that is closest on both sides. Faces with a vertex of the
    /// other feature do not count: neighbours have no pair of their own.
    pub(super) fn is_nearest(
        &self,
        kind: ProximityKind,
        v: &[u32; 4],
        normal: &Vec3,
        at: impl Fn(u32) -> Vec3,
    ) -> bool {
        // Rounding of features that lie in one plane.
        const LEVEL: f64 = 1e-6;
        let beyond = |from: u32, to: &[u32], n: &Vec3| {
            let x = at(from);
            to.iter().filter(|r| !v.contains(r)).any(|r| {
                let apart = at(*r) - x;
                apart.dot(n) > LEVEL * apart.norm()
            })
        };
        match kind {
            ProximityKind::VertexVertex => {
                let (p, q) = (v[0], v[1]);
                !beyond(q, self.neighbours.of(q as usize), normal)
                    && !beyond(p, self.neighbours.of(p as usize), &-normal)
            }
            ProximityKind::VertexEdge => {
                let (p, edge) = (v[0] as usize, self.edge(v[1], v[2]));
                // Along a rod there is no pair of vertex and face to fall back on.
                let rod = self.fans.of(p).is_empty();
                !beyond(v[1], self.wings.of(edge), normal)
                    && (rod || !beyond(v[0], self.neighbours.of(p), &-normal))
            }
            ProximityKind::EdgeEdge => {
                let (a, b) = (self.edge(v[0], v[1]), self.edge(v[2], v[3]));
                !beyond(v[0], self.wings.of(a), &-normal) && !beyond(v[2], self.wings.of(b), normal)
            }
            ProximityKind::VertexFace => true,
        }
    }
}
