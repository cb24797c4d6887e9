//! The projection of velocities to the feasible set under Coulomb's law [daviet2020, Alg. 3].
//!
//! ```text
//! W p = W p⁰ + Bᵀ r,     u = B p + k + C r,     (u, r + ξ n) ∈ C_μ
//! ```
//!
//! for a diagonal W, by matrix-free Gauss–Seidel: contacts one after another, each solved exactly
//! while the others hold, and p updated at once.
//!
//! Compliance and cohesion cost nothing in the sweeps. A compliance c along the normal scales the
//! normal impulse by g = s/(s + c). With cohesion the columns hold the shifted impulse
//! s (r + ξ n); its constant part −Bᵀ ξ n is added to p⁰, and −c ξ n to k.
//!
//! W may also be block-diagonal, with a matrix per block. Local problems then have full matrices,
//! which costs several times more: this is the variant that [daviet2020, Table 3] compares with.

mod gather;
mod kernel;
mod lanes;
mod local;
mod plan;

use stiction_contact::{ContactFault, ContactSet, ProblemError};
use stiction_math::{Mat3, Vec3, parallel};

pub use kernel::Nap;
use kernel::{Node, SharedNodes, SweepColumns, Watch};
pub(crate) use local::solve_block;
use plan::{SweepGroup, SweepPlan};

/// Blocks that one thread takes at least where blocks are independent.
const MIN_LEN: usize = 4096;

/// The weights W of a projection, one per block.
#[derive(Clone, Copy, Debug)]
pub enum Metric<'a> {
    /// Multiples w of the identity [kg].
    Scalar(&'a [f64]),
    /// Matrices, given by their inverses [1/kg].
    Inverse(&'a [Mat3]),
}

impl Metric<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Scalar(w) => w.len(),
            Self::Inverse(w) => w.len(),
        }
    }

    /// W⁻¹ x at block j.
    fn solve(&self, j: usize, x: &Vec3) -> Vec3 {
        match self {
            Self::Scalar(w) => x / w[j],
            Self::Inverse(w) => w[j] * x,
        }
    }
}

/// Contacts in the solver's own order, and the velocities that they act on.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    plan: SweepPlan,
    columns: SweepColumns,
    /// s of each contact [1/kg], in the order of the plan.
    scale: Vec<f64>,
    /// Scaled impulses r̄ = s (r + ξ n) [m/s], in the order of the plan.
    r: Vec<[f64; 3]>,
    asleep: Vec<u8>,
    nodes: Vec<Node>,
    /// Velocity of each node due to cohesion, −W⁻¹ Bᵀ ξ n [m/s]; empty without cohesion.
    pull: Vec<Vec3>,
    contacts: usize,
}

impl Projection {
    /// A projection with the weights `w`, one per block, onto the contacts of `set`, all of whose
    /// nodes must be blocks.
    pub fn new(set: &ContactSet, w: Metric) -> Result<Self, ProblemError> {
        let mut projection = Self::default();
        projection.reset(set, w)?;
        Ok(projection)
    }

    /// Takes other contacts and weights and keeps the memory. Impulses are zero after it.
    pub fn reset(&mut self, set: &ContactSet, w: Metric) -> Result<(), ProblemError> {
        self.plan.clear();
        self.columns.clear();
        self.scale.clear();
        self.r.clear();
        self.asleep.clear();
        self.nodes.clear();
        self.nodes.resize(w.len(), Node::default());
        self.pull.clear();
        self.contacts = 0;
        self.append(set, w)
    }

    /// Takes the contacts that were added to `set` since the last call; the others stay as they
    /// are, with their impulses. `w` must not have changed.
    pub fn append(&mut self, set: &ContactSet, w: Metric) -> Result<(), ProblemError> {
        // The kernels read and write nodes without a check, on the strength of this one.
        let blocks = w.len().min(self.nodes.len());
        for contact in self.contacts..set.len() {
            if let Some(e) = set.entries(contact).find(|e| e.node as usize >= blocks) {
                let fault = ContactFault::NoBlock(e.node);
                return Err(ProblemError::Contact { contact, fault });
            }
        }
        let first = self.plan.order.len();
        let first_group = self.plan.groups.len();
        let size = |set: &ContactSet, c| match w {
            Metric::Scalar(_) => plan::kernel_size(set, c),
            Metric::Inverse(_) => None,
        };
        self.plan.append(set, self.contacts, w.len(), size);
        self.contacts = set.len();
        let new = &self.plan.order[first..];
        let gives =
            !self.columns.give.is_empty() || new.iter().any(|&c| set.compliance[c as usize] > 0.0);
        if gives {
            self.columns.give.resize(first, 1.0);
        }
        self.columns
            .gather(set, w, &self.plan, first_group, gives, &mut self.scale);
        for &c in new.iter().filter(|&&c| set.cohesion[c as usize] > 0.0) {
            self.pull.resize(w.len(), Vec3::zeros());
            let c = c as usize;
            for e in set.entries(c) {
                let j = e.node as usize;
                self.pull[j] -= w.solve(j, &e.tr_mul(&(set.normal[c] * set.cohesion[c])));
            }
        }
        self.r.resize(self.plan.order.len(), [0.0; 3]);
        self.asleep.resize(self.plan.order.len(), 0);
        Ok(())
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.contacts
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.contacts == 0
    }

    /// The contacts in the order of visits. Those that are visited at the same time have no block in
    /// common, so that this order is as good as the true one.
    pub fn order(&self) -> &[u32] {
        &self.plan.order
    }

    /// Number of synchronisations of all threads in a sweep, and number of contacts left for one
    /// thread alone.
    pub fn stages(&self) -> (usize, usize) {
        let alone = self.plan.stages.iter().filter(|s| !s.parallel);
        let groups = alone.flat_map(|s| &self.plan.groups[s.groups.clone()]);
        let contacts = groups.map(|g| g.contacts.len()).sum();
        (self.plan.stages.len(), contacts)
    }

    /// Sets the impulses to start from, `r` [N·s], one per contact of the set.
    pub fn set_impulses(&mut self, set: &ContactSet, r: &[Vec3]) {
        for (at, &c) in self.plan.order.iter().enumerate() {
            let c = c as usize;
            let shifted = r[c] + set.normal[c] * set.cohesion[c];
            self.r[at] = (shifted * self.scale[at]).into();
        }
    }

    /// The impulses r [N·s], one per contact of the set.
    pub fn impulses(&self, set: &ContactSet, r: &mut [Vec3]) {
        for (at, &c) in self.plan.order.iter().enumerate() {
            let c = c as usize;
            r[c] = Vec3::from(self.r[at]) / self.scale[at] - set.normal[c] * set.cohesion[c];
        }
    }

    /// Projects `p` [m/s], one vector per block, by a number of sweeps that start from the
    /// impulses of the last call. All contacts wake up first.
    ///
    /// Returns the largest change of a relative velocity in the last sweep [m/s]. Constraints that
    /// contradict one another move p to and fro inside every sweep: p looks settled after each, but
    /// this number does not fall.
    pub fn project(&mut self, p: &mut [Vec3], sweeps: usize, nap: Option<Nap>) -> f64 {
        let pull = &self.pull;
        let from = &*p;
        parallel::chunks_mut(&mut self.nodes, MIN_LEN, |first, nodes| {
            for (node, j) in nodes.iter_mut().zip(first..) {
                let p = from[j] + pull.get(j).copied().unwrap_or_default();
                *node = Node([p.x, p.y, p.z, 0.0]);
            }
        });
        self.scatter();
        self.asleep.fill(0);
        let mut change = 0.0;
        for sweep in 1..=sweeps {
            change = self.sweep(match nap {
                Some(nap) => Watch::Nap(nap),
                None if sweep == sweeps => Watch::Change,
                None => Watch::No,
            });
        }
        let nodes = &self.nodes;
        parallel::chunks_mut(p, MIN_LEN, |first, p| {
            for (p, node) in p.iter_mut().zip(&nodes[first..]) {
                *p = Vec3::new(node.0[0], node.0[1], node.0[2]);
            }
        });
        change
    }

    #[allow(unsafe_code)]
    fn sweep(&mut self, watch: Watch) -> f64 {
        let (plan, columns) = (&self.plan, &self.columns);
        let nodes = SharedNodes::new(&mut self.nodes);
        let square = for_each_group(plan, &mut self.r, &mut self.asleep, &|group, r, asleep| {
            let mut largest: f64 = 0.0;
            for run in &plan.runs[group.runs.clone()] {
                let part = group.part(run);
                let (r, asleep) = (&mut r[part.clone()], &mut asleep[part]);
                // SAFETY: `append` took only entries whose nodes exist; groups that run at the
                // same time share no node (see `plan`), and runs of a group follow one another.
                let change = unsafe { kernel::sweep(columns, run, nodes, r, asleep, watch) };
                largest = largest.max(change);
            }
            largest
        });
        square.sqrt()
    }

    /// p ← p + Σ γ r̄.
    #[allow(unsafe_code)]
    fn scatter(&mut self) {
        let (plan, columns) = (&self.plan, &self.columns);
        let nodes = SharedNodes::new(&mut self.nodes);
        for_each_group(plan, &mut self.r, &mut self.asleep, &|group, r, _| {
            for run in &plan.runs[group.runs.clone()] {
                // SAFETY: as in `sweep`.
                unsafe { kernel::scatter(columns, run, nodes, &r[group.part(run)]) };
            }
            0.0
        });
    }

    /// Heap memory in use [bytes].
    pub fn bytes(&self) -> usize {
        self.columns.bytes()
            + self.scale.len() * size_of::<f64>()
            + self.r.len() * size_of::<[f64; 3]>()
            + self.pull.len() * size_of::<Vec3>()
            + self.asleep.len()
            + self.nodes.len() * size_of::<Node>()
            + self.plan.bytes()
    }
}

/// Calls `work` with every group and its parts of `r` and `asleep`: stages in sequence, groups of a
/// parallel stage on as many threads as there are. Returns the largest result, at least zero.
fn for_each_group(
    plan: &SweepPlan,
    mut r: &mut [[f64; 3]],
    mut asleep: &mut [u8],
    work: &(impl Fn(&SweepGroup, &mut [[f64; 3]], &mut [u8]) -> f64 + Sync),
) -> f64 {
    let mut largest: f64 = 0.0;
    for stage in &plan.stages {
        let groups = &plan.groups[stage.groups.clone()];
        let count = groups.iter().map(|g| g.contacts.len()).sum();
        let (r_now, r_rest) = r.split_at_mut(count);
        let (asleep_now, asleep_rest) = asleep.split_at_mut(count);
        (r, asleep) = (r_rest, asleep_rest);
        largest = largest.max(halve(groups, stage.parallel, r_now, asleep_now, work));
    }
    largest
}

/// Halves the groups until one is left: no list of slices is allocated.
fn halve(
    groups: &[SweepGroup],
    parallel: bool,
    r: &mut [[f64; 3]],
    asleep: &mut [u8],
    work: &(impl Fn(&SweepGroup, &mut [[f64; 3]], &mut [u8]) -> f64 + Sync),
) -> f64 {
    let (left, right) = match groups {
        [] => return 0.0,
        [group] => return work(group, r, asleep),
        _ => groups.split_at(groups.len() / 2),
    };
    let at = right[0].contacts.start - left[0].contacts.start;
    let (r_left, r_right) = r.split_at_mut(at);
    let (asleep_left, asleep_right) = asleep.split_at_mut(at);
    let mut first = || halve(left, parallel, r_left, asleep_left, work);
    let mut second = || halve(right, parallel, r_right, asleep_right, work);
    let (left, right) = if parallel {
        rayon::join(first, second)
    } else {
        (first(), second())
    };
    left.max(right)
}
