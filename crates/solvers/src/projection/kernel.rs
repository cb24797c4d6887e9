//! The inner loops of the projection. The only unsafe code of the solver is here.
//!
//! One contact is a gather of its nodes, a local solve without branches and a scatter. With
//! r̄ = s r and u = Σ b p + k, the part of u that the contact cannot change is u* = u − r̄, and
//!
//! ```text
//! a = g max(0, −u*·n)                     g = s/(s + c), 1 for a hard contact
//! r̄ ← a n − min(1, μ a/‖u*_T‖) u*_T       separate (a = 0), stick (1) or slide
//! p_j ← p_j + γ_j (r̄ − r̄ before)
//! ```
//!
//! which is the same as the three cases of [daviet2020, Alg. 3]. Written with r̄ instead of the new
//! u, an open contact has exactly no force.
//!
//! Sums are plain products and additions in one fixed order (no fused operations), so all machines
//! give the same bits, with wide instructions and without.
#![allow(unsafe_code)]

use stiction_math::{Mat3, Vec3};

#[cfg(target_arch = "x86_64")]
use super::lanes::Wide;
use super::{lanes::Four, local::solve_block, plan::ContactRun};

/// The velocity of a node, padded to the width of a vector register.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Node(pub [f64; 4]);

/// Input of sweeps: columns in the order of the plan.
#[derive(Clone, Debug, Default)]
pub struct SweepColumns {
    /// Nodes of all entries.
    pub index: Vec<u32>,
    /// Weights b of all entries.
    pub weight: Vec<f64>,
    /// γ = b/(s w) of the entries of nodes; 1/(s w) of general ones.
    pub gamma: Vec<f64>,
    /// Normal and coefficient of friction of each contact.
    pub normal: Vec<[f64; 4]>,
    /// The constant part of the relative velocity [m/s].
    pub k: Vec<[f64; 3]>,
    /// g = s/(s + c), or c itself with matrices for weights; empty if all contacts are hard.
    pub give: Vec<f64>,
    /// The first entry of each general contact, and the end of the last one of each run.
    pub general_start: Vec<u32>,
    /// Levers ρ of all entries from general contacts [m], by the same places as `general_start`
    /// counts.
    pub general_lever: Vec<Vec3>,
    /// The rest G of all entries from general contacts, by the same places; empty if none has any.
    pub general_block: Vec<Mat3>,
    /// With matrices for weights: Σ B W⁻¹ Bᵀ of each contact [1/kg]; else empty.
    pub block: Vec<Mat3>,
    /// With matrices for weights: W⁻¹ Bᵀ of each entry [1/kg]; else empty.
    pub gain: Vec<Mat3>,
}

/// When contacts may be left alone for a while [daviet2020, Sect. 6.3.3].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nap {
    /// The square of the change of velocity below which a contact falls asleep [m²/s²].
    pub square: f64,
    /// For how many sweeps.
    pub sweeps: u8,
}

/// Velocities of nodes that groups of one stage change at the same time.
#[derive(Clone, Copy)]
pub struct SharedNodes {
    first: *mut Node,
    len: usize,
}

// SAFETY: a `SharedNodes` is only ever used through the unsafe functions below, whose callers
// promise that no two threads touch the same node at the same time.
unsafe impl Send for SharedNodes {}
// SAFETY: as above.
unsafe impl Sync for SharedNodes {}

impl SharedNodes {
    /// Shares `nodes`, which must not be used otherwise as long as the result is.
    pub fn new(nodes: &mut [Node]) -> Self {
        Self {
            first: nodes.as_mut_ptr(),
            len: nodes.len(),
        }
    }

    /// # Safety
    /// `j` is a node that no other thread uses now, and the reference is gone before the next.
    #[inline(always)]
    unsafe fn node<'a>(self, j: u32) -> &'a mut [f64; 4] {
        debug_assert!((j as usize) < self.len);
        // SAFETY: inside the slice and alone, by the caller's promise.
        unsafe { &mut (*self.first.add(j as usize)).0 }
    }

    #[inline(always)]
    fn prefetch(self, j: u32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint: it reads nothing and faults on no address.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.first.wrapping_add(j as usize).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = j;
    }
}

/// Number of contacts whose nodes are prefetched: about as many updates as one memory access takes.
const AHEAD: usize = 32;

/// Additional task of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Watch {
    /// Nothing.
    No,
    /// It finds the largest change.
    Change,
    /// It lets contacts sleep.
    Nap(Nap),
}

/// One sweep over a run; returns the square of the largest change of a relative velocity [m²/s²] if
/// watched, else zero. `r` are the scaled impulses and `asleep` the sweeps that each contact may
/// still sleep, both of the run's contacts.
///
/// # Safety
/// All of the run's entries name nodes of `nodes`, and no other thread uses those nodes now.
pub unsafe fn sweep(
    columns: &SweepColumns,
    run: &ContactRun,
    nodes: SharedNodes,
    r: &mut [[f64; 3]],
    asleep: &mut [u8],
    watch: Watch,
) -> f64 {
    let task = Task {
        columns,
        run,
        nodes,
        watch: watch != Watch::No,
        nap: match watch {
            Watch::Nap(nap) => nap,
            _ => Nap {
                square: 0.0,
                sweeps: 0,
            },
        },
    };
    // SAFETY: handed on; the wide version only runs where its instructions exist.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return sweep_wide(task, r, asleep);
        }
        dispatch::<[f64; 4]>(task, r, asleep)
    }
}

#[derive(Clone, Copy)]
struct Task<'a> {
    columns: &'a SweepColumns,
    run: &'a ContactRun,
    nodes: SharedNodes,
    watch: bool,
    nap: Nap,
}

/// # Safety
/// As `sweep`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn sweep_wide(task: Task, r: &mut [[f64; 3]], asleep: &mut [u8]) -> f64 {
    // SAFETY: handed on.
    unsafe { dispatch::<Wide>(task, r, asleep) }
}

/// # Safety
/// As `sweep`.
#[inline(always)]
unsafe fn dispatch<V: Four>(task: Task, r: &mut [[f64; 3]], asleep: &mut [u8]) -> f64 {
    if !task.columns.block.is_empty() {
        // SAFETY: handed on.
        return unsafe { blocks(task, r, asleep) };
    }
    let gives = !task.columns.give.is_empty();
    // SAFETY: handed on.
    unsafe {
        match (task.run.nodes, gives, task.watch) {
            (Some(1), false, false) => nodal::<V, 1, false, false>(task, r, asleep),
            (Some(2), false, false) => nodal::<V, 2, false, false>(task, r, asleep),
            (Some(3), false, false) => nodal::<V, 3, false, false>(task, r, asleep),
            (Some(4), false, false) => nodal::<V, 4, false, false>(task, r, asleep),
            (Some(1), false, true) => nodal::<V, 1, false, true>(task, r, asleep),
            (Some(2), false, true) => nodal::<V, 2, false, true>(task, r, asleep),
            (Some(3), false, true) => nodal::<V, 3, false, true>(task, r, asleep),
            (Some(4), false, true) => nodal::<V, 4, false, true>(task, r, asleep),
            (Some(1), true, _) => nodal::<V, 1, true, true>(task, r, asleep),
            (Some(2), true, _) => nodal::<V, 2, true, true>(task, r, asleep),
            (Some(3), true, _) => nodal::<V, 3, true, true>(task, r, asleep),
            (Some(4), true, _) => nodal::<V, 4, true, true>(task, r, asleep),
            _ => general::<V>(task, r, asleep),
        }
    }
}

/// Contacts of N nodes each.
///
/// # Safety
/// As `sweep`.
#[inline(always)]
unsafe fn nodal<V: Four, const N: usize, const GIVES: bool, const WATCH: bool>(
    task: Task,
    r: &mut [[f64; 3]],
    asleep: &mut [u8],
) -> f64 {
    let Task {
        columns,
        run,
        nodes,
        nap,
        ..
    } = task;
    let mut largest = 0.0;
    let count = run.contacts.len();
    let entries = run.entries..run.entries + N * count;
    let index = &columns.index[entries.clone()].as_chunks::<N>().0[..count];
    let weight = &columns.weight[entries.clone()].as_chunks::<N>().0[..count];
    let gamma = &columns.gamma[entries].as_chunks::<N>().0[..count];
    let normal = &columns.normal[run.contacts.clone()][..count];
    let k = &columns.k[run.contacts.clone()][..count];
    let give = if GIVES {
        &columns.give[run.contacts.clone()]
    } else {
        &[]
    };
    let r = &mut r[..count];
    let asleep = if WATCH { &mut asleep[..count] } else { asleep };
    for c in 0..count {
        if let Some(ahead) = index.get(c + AHEAD)
            && (!WATCH || asleep[c + AHEAD] == 0)
        {
            ahead.iter().for_each(|&j| nodes.prefetch(j));
        }
        if WATCH && asleep[c] > 0 {
            asleep[c] -= 1;
            continue;
        }
        // SAFETY: the instructions exist and the nodes are those of this run. No contact names a
        // node twice, so what was gathered is still there when it is scattered.
        unsafe {
            let mut u = V::load3(&k[c]);
            for i in 0..N {
                let p = V::load(nodes.node(index[c][i]));
                u = u.add_scaled(p, weight[c][i]);
            }
            let old = V::load3(&r[c]);
            let new = local(u, old, &normal[c], if GIVES { give[c] } else { 1.0 });
            let change = new.sub(old);
            new.store3(&mut r[c]);
            for i in 0..N {
                let p = nodes.node(index[c][i]);
                V::load(p).add_scaled(change, gamma[c][i]).store(p);
            }
            if WATCH {
                let square = change.dot3(change);
                largest = larger(largest, square);
                if square < nap.square {
                    asleep[c] = nap.sweeps;
                }
            }
        }
    }
    largest
}

/// Contacts of rigid bodies or of more than four nodes: entries b I − [ρ]×, or any matrices.
///
/// Their local matrix is not a multiple of the identity. It is bounded by one, s I with
/// s = Σ (b² + ‖ρ‖²)/w or Σ ‖B‖²/w, and the update with that bound has the same fixed points: where r̄ no longer
/// changes, u and r keep the law.
///
/// # Safety
/// As `sweep`.
#[inline(always)]
unsafe fn general<V: Four>(task: Task, r: &mut [[f64; 3]], asleep: &mut [u8]) -> f64 {
    let Task {
        columns,
        run,
        nodes,
        nap,
        ..
    } = task;
    let mut largest = 0.0;
    for c in 0..run.contacts.len() {
        if asleep[c] > 0 {
            asleep[c] -= 1;
            continue;
        }
        let at = run.contacts.start + c;
        let (entries, levers, rest) = general_entries(columns, run, c);
        // SAFETY: nodes of this run.
        let u = unsafe { general_velocity(columns, at, entries.clone(), levers, rest, nodes) };
        let give = columns.give.get(at).copied().unwrap_or(1.0);
        // SAFETY: the instructions exist, and the nodes are those of this run.
        let square = unsafe {
            let old = V::load3(&r[c]);
            let new = local(V::load3(&u.into()), old, &columns.normal[at], give);
            let mut change = [0.0; 3];
            new.sub(old).store3(&mut change);
            new.store3(&mut r[c]);
            let change = Vec3::from(change);
            add_general(columns, entries, levers, rest, nodes, change);
            change.norm_squared()
        };
        largest = larger(largest, square);
        if square < nap.square {
            asleep[c] = nap.sweeps;
        }
    }
    largest
}

/// Contacts under weights that are matrices: r̄ is the impulse itself, and the local problem has a
/// full matrix.
///
/// # Safety
/// As `sweep`.
unsafe fn blocks(task: Task, r: &mut [[f64; 3]], asleep: &mut [u8]) -> f64 {
    let Task {
        columns,
        run,
        nodes,
        nap,
        ..
    } = task;
    let mut largest = 0.0;
    for c in 0..run.contacts.len() {
        if asleep[c] > 0 {
            asleep[c] -= 1;
            continue;
        }
        let at = run.contacts.start + c;
        let (entries, levers, rest) = general_entries(columns, run, c);
        // SAFETY: nodes of this run.
        let u = unsafe { general_velocity(columns, at, entries.clone(), levers, rest, nodes) };
        let [x, y, z, mu] = columns.normal[at];
        let n = Vec3::new(x, y, z);
        let old = Vec3::from(r[c]);
        let own = columns.block[at];
        let free = u - own * old;
        let give = columns.give.get(at).copied().unwrap_or(0.0);
        let new = solve_block(&(own + n * n.transpose() * give), &free, &n, mu);
        r[c] = new.into();
        let change = new - old;
        // SAFETY: nodes of this run.
        unsafe { add_blocks(columns, entries, nodes, &change) };
        let square = (own * change).norm_squared();
        largest = larger(largest, square);
        if square < nap.square {
            asleep[c] = nap.sweeps;
        }
    }
    largest
}

/// # Safety
/// The entries' nodes are those of a run, as in `sweep`.
unsafe fn add_blocks(
    columns: &SweepColumns,
    entries: std::ops::Range<usize>,
    nodes: SharedNodes,
    change: &Vec3,
) {
    for e in entries {
        let d = columns.gain[e] * change;
        // SAFETY: by the caller's promise.
        let p = unsafe { nodes.node(columns.index[e]) };
        (0..3).for_each(|i| p[i] += d[i]);
    }
}

fn general_entries<'a>(
    columns: &'a SweepColumns,
    run: &ContactRun,
    c: usize,
) -> (std::ops::Range<usize>, &'a [Vec3], &'a [Mat3]) {
    let start = &columns.general_start[run.general + c..];
    let (begin, end) = (start[0] as usize, start[1] as usize);
    let entries = run.entries + begin - columns.general_start[run.general] as usize;
    (
        entries..entries + end - begin,
        &columns.general_lever[begin..end],
        columns.general_block.get(begin..end).unwrap_or_default(),
    )
}

/// u = k + Σ (b I − [ρ]× + G) p of contact `at`, over the nodes p of its entries.
///
/// # Safety
/// The entries' nodes are those of a run, as in `sweep`.
#[inline(always)]
unsafe fn general_velocity(
    columns: &SweepColumns,
    at: usize,
    entries: std::ops::Range<usize>,
    levers: &[Vec3],
    rest: &[Mat3],
    nodes: SharedNodes,
) -> Vec3 {
    let mut u = Vec3::from(columns.k[at]);
    for (i, (e, lever)) in entries.zip(levers).enumerate() {
        // SAFETY: by the caller's promise.
        let p = unsafe { *nodes.node(columns.index[e]) };
        let p = Vec3::new(p[0], p[1], p[2]);
        u += p * columns.weight[e] + p.cross(lever);
        if let Some(g) = rest.get(i) {
            u += g * p;
        }
    }
    u
}

/// # Safety
/// The entries' nodes are those of a run, as in `sweep`.
#[inline(always)]
unsafe fn add_general(
    columns: &SweepColumns,
    entries: std::ops::Range<usize>,
    levers: &[Vec3],
    rest: &[Mat3],
    nodes: SharedNodes,
    change: Vec3,
) {
    for (i, (e, lever)) in entries.zip(levers).enumerate() {
        let mut d = change * columns.weight[e] + lever.cross(&change);
        if let Some(g) = rest.get(i) {
            d += g.tr_mul(&change);
        }
        // SAFETY: by the caller's promise.
        let p = unsafe { nodes.node(columns.index[e]) };
        (0..3).for_each(|i| p[i] += d[i] * columns.gamma[e]);
    }
}

/// p ← p + Σ γ r̄ over a run: the impulses known from before.
///
/// # Safety
/// As `sweep`.
pub unsafe fn scatter(
    columns: &SweepColumns,
    run: &ContactRun,
    nodes: SharedNodes,
    r: &[[f64; 3]],
) {
    for (c, r) in r.iter().enumerate() {
        match run.nodes {
            Some(n) => {
                let begin = run.entries + c * n as usize;
                for e in begin..begin + n as usize {
                    // SAFETY: a node of this run.
                    let p = unsafe { nodes.node(columns.index[e]) };
                    (0..3).for_each(|i| p[i] += r[i] * columns.gamma[e]);
                }
            }
            None => {
                let (entries, levers, rest) = general_entries(columns, run, c);
                let r = Vec3::from(*r);
                // SAFETY: nodes of this run.
                unsafe {
                    if columns.block.is_empty() {
                        add_general(columns, entries, levers, rest, nodes, r);
                    } else {
                        add_blocks(columns, entries, nodes, &r);
                    }
                }
            }
        }
    }
}

/// The new r̄ from the relative velocity u and the old r̄.
///
/// # Safety
/// The instructions of V exist.
#[inline(always)]
unsafe fn local<V: Four>(u: V, r: V, normal: &[f64; 4], give: f64) -> V {
    // SAFETY: handed on.
    unsafe {
        let n = V::load3of4(normal);
        let free = u.sub(r);
        let along = free.dot3(n);
        let push = larger(0.0, -along) * give;
        let tangent = free.sub_scaled(n, along);
        let slip = tangent.dot3(tangent).sqrt();
        // Where there is no slip any factor will do, but 0/0. Dividing always is faster than a
        // branch that is hard to foresee.
        let factor = smaller(1.0, normal[3] * push / larger(f64::MIN_POSITIVE, slip));
        n.scale(push).sub_scaled(tangent, factor)
    }
}

/// The larger of two numbers, `a` if `b` is not a number.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The smaller of two numbers, `a` if `b` is not a number.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::projection::{Metric, plan::SweepPlan};
    use stiction_contact::generate::{RandomProblem, random};

    /// Machines without wide instructions must get the same bits.
    #[test]
    fn wide_and_narrow_kernels_agree_to_the_last_bit() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        for kind in [
            RandomProblem::Dense,
            RandomProblem::Rigid,
            RandomProblem::Compliant,
        ] {
            let problem = random(kind, 40, 3);
            let (set, w) = (&problem.contacts, &problem.mass);
            let mut plan = SweepPlan::default();
            plan.append(set, 0, w.len(), super::super::plan::kernel_size);
            let (mut columns, mut scale) = (SweepColumns::default(), Vec::new());
            let gives = kind == RandomProblem::Compliant;
            columns.gather(set, Metric::Scalar(w), &plan, 0, gives, &mut scale);
            for watch in [false, true] {
                let run = |wide: bool| {
                    let start = (0..w.len()).map(|j| (j as f64).sin());
                    let mut nodes: Vec<Node> =
                        start.map(|x| Node([x, 0.3 - x, -x * x, 0.0])).collect();
                    let shared = SharedNodes::new(&mut nodes);
                    let mut r = vec![[0.0; 3]; set.len()];
                    let mut asleep = vec![0; set.len()];
                    let mut largest = Vec::new();
                    for _ in 0..5 {
                        for run in &plan.runs {
                            let task = Task {
                                columns: &columns,
                                run,
                                nodes: shared,
                                watch,
                                nap: Nap {
                                    square: 1e-6,
                                    sweeps: u8::from(watch),
                                },
                            };
                            let part = run.contacts.clone();
                            let (r, asleep) = (&mut r[part.clone()], &mut asleep[part]);
                            // SAFETY: one thread, and the set is a sound problem's.
                            largest.push(unsafe {
                                if wide {
                                    sweep_wide(task, r, asleep)
                                } else {
                                    dispatch::<[f64; 4]>(task, r, asleep)
                                }
                            });
                        }
                    }
                    (nodes, r, largest)
                };
                assert_eq!(run(true), run(false), "{kind:?}");
            }
        }
    }
}
