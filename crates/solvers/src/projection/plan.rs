//! In which order, and which at the same time, contacts are visited.
//!
//! Contacts are sorted by their first node and cut into groups. In a stage every node belongs to
//! the first group that needs it; contacts that touch nodes of two groups wait for the next
//! stage, where the cuts fall elsewhere. Groups of one stage share no node, so they may run at the
//! same time, and the result does not depend on how many do. What is left after
//! [`STAGES`] stages runs in sequence [daviet2020, Sect. 6.2.8].
//!
//! Inside a group, contacts are ordered by the size of their stencil (one kernel each) and then by
//! colour: neighbours in the list then share no node, so that the processor need not wait for one
//! update before it begins the next. A group fits into a cache, hence locality is kept.

use std::ops::Range;

use stiction_contact::ContactSet;

/// Parallel stages before the sequential remainder [daviet2020, Sect. 6.2.8].
pub const STAGES: usize = 8;
/// Contacts per group: the columns and nodes of a group should stay in a second-level cache.
const GROUP: usize = 4096;
/// Groups below this size cost more to hand out than to do.
const SMALL_GROUP: usize = 256;
/// Groups per stage that keep many threads busy, where there are enough contacts.
const GROUPS: usize = 64;

/// Contacts with stencils of one kind that lie next to one another in the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactRun {
    /// Number of nodes of each contact; none for those with levers or more than four nodes.
    pub nodes: Option<u8>,
    /// Their place in the columns.
    pub contacts: Range<usize>,
    /// The first of their entries in the columns of entries.
    pub entries: usize,
    /// The first of their places in the columns of general stencils.
    pub general: usize,
}

/// Runs that one thread does in sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepGroup {
    /// The runs, as a range of `SweepPlan::runs`.
    pub runs: Range<usize>,
    /// Their contacts, as a range of the columns.
    pub contacts: Range<usize>,
}

impl SweepGroup {
    /// The place of a run's contacts among the group's.
    pub fn part(&self, run: &ContactRun) -> Range<usize> {
        run.contacts.start - self.contacts.start..run.contacts.end - self.contacts.start
    }
}

/// Groups between two synchronisations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepStage {
    /// The groups, as a range of `SweepPlan::groups`.
    pub groups: Range<usize>,
    /// Whether no two groups share a node.
    pub parallel: bool,
}

/// The order of all contacts.
#[derive(Clone, Debug, Default)]
pub struct SweepPlan {
    /// The contact of the set at each place of the columns.
    pub order: Vec<u32>,
    /// All runs.
    pub runs: Vec<ContactRun>,
    /// All groups.
    pub groups: Vec<SweepGroup>,
    /// All stages.
    pub stages: Vec<SweepStage>,
    entries: usize,
    general: usize,
    /// The group, counted from one, that last claimed each node.
    owner: Vec<u32>,
    /// The colours that each node has in the group at hand.
    marks: Vec<u64>,
}

/// The number of nodes if there is a kernel for it.
pub fn kernel_size(set: &ContactSet, c: usize) -> Option<u8> {
    let range = set.start[c] as usize..set.start[c + 1] as usize;
    let size = range.len();
    let plain = set
        .levers
        .get(range.clone())
        .is_none_or(|levers| levers.iter().all(|l| *l == stiction_math::Vec3::zeros()))
        && set
            .blocks
            .get(range)
            .is_none_or(|blocks| blocks.iter().all(|b| *b == stiction_math::Mat3::zeros()));
    ((1..=4).contains(&size) && plain).then_some(size as u8)
}

impl SweepPlan {
    /// Forgets all contacts and keeps the memory.
    pub fn clear(&mut self) {
        self.order.clear();
        self.runs.clear();
        self.groups.clear();
        self.stages.clear();
        self.owner.clear();
        self.marks.clear();
        self.entries = 0;
        self.general = 0;
    }

    /// Adds the contacts from `first` on, after those that are there. All nodes are below
    /// `n_nodes`. `size` is the number of nodes of a contact if there is a kernel for it.
    pub fn append(
        &mut self,
        set: &ContactSet,
        first: usize,
        n_nodes: usize,
        size: impl Fn(&ContactSet, usize) -> Option<u8>,
    ) {
        self.owner.resize(n_nodes, 0);
        self.marks.resize(n_nodes, 0);
        let mut sorted: Vec<u64> = (first..set.len())
            .map(|c| {
                let nodes = &set.nodes[set.start[c] as usize..set.start[c + 1] as usize];
                u64::from(nodes.iter().copied().min().unwrap_or(0)) << 32 | c as u64
            })
            .collect();
        sorted.sort_unstable();
        let mut waiting: Vec<u32> = sorted.iter().map(|&key| key as u32).collect();
        drop(sorted);

        let mut group: Vec<u32> = Vec::new();
        let mut next: Vec<u32> = Vec::new();
        for _ in 0..STAGES {
            if waiting.len() <= 2 * SMALL_GROUP {
                break;
            }
            let cut = (waiting.len() / GROUPS).clamp(SMALL_GROUP, GROUP);
            let begin = self.groups.len();
            for chunk in waiting.chunks(cut) {
                let id = self.groups.len() as u32 + 1;
                group.clear();
                for &c in chunk {
                    let range = set.start[c as usize] as usize..set.start[c as usize + 1] as usize;
                    let nodes = &set.nodes[range];
                    // Claims from earlier stages have run out.
                    let free = |&j: &u32| {
                        let owner = self.owner[j as usize];
                        owner as usize <= begin || owner == id
                    };
                    if nodes.iter().all(free) {
                        nodes.iter().for_each(|&j| self.owner[j as usize] = id);
                        group.push(c);
                    } else {
                        next.push(c);
                    }
                }
                self.push_group(set, &group, &size);
            }
            self.push_stage(begin, true);
            std::mem::swap(&mut waiting, &mut next);
            next.clear();
        }
        let begin = self.groups.len();
        for chunk in waiting.chunks(GROUP) {
            self.push_group(set, chunk, &size);
        }
        self.push_stage(begin, false);
    }

    fn push_stage(&mut self, begin: usize, parallel: bool) {
        let groups = begin..self.groups.len();
        if !groups.is_empty() {
            self.stages.push(SweepStage { groups, parallel });
        }
    }

    fn push_group(
        &mut self,
        set: &ContactSet,
        contacts: &[u32],
        size: &impl Fn(&ContactSet, usize) -> Option<u8>,
    ) {
        let nodes = |c: u32| {
            let c = c as usize;
            &set.nodes[set.start[c] as usize..set.start[c + 1] as usize]
        };
        let mut keys: Vec<(u8, u8, u32)> = contacts
            .iter()
            .map(|&c| {
                let taken = nodes(c)
                    .iter()
                    .fold(0, |taken, &j| taken | self.marks[j as usize]);
                // Past the last colour neighbours may share nodes, which is only slower.
                let color = taken.trailing_ones().min(63);
                for &j in nodes(c) {
                    self.marks[j as usize] |= 1 << color;
                }
                (size(set, c as usize).unwrap_or(5), color as u8, c)
            })
            .collect();
        for &c in contacts {
            nodes(c).iter().for_each(|&j| self.marks[j as usize] = 0);
        }
        // By stencil and colour; the order of space stays inside a colour.
        keys.sort_by_key(|key| (key.0, key.1));

        let first_contact = self.order.len();
        let first_run = self.runs.len();
        for same in keys.chunk_by(|a, b| a.0 == b.0) {
            let nodes = (same[0].0 <= 4).then_some(same[0].0);
            let begin = self.order.len();
            let entries = self.entries;
            self.order.extend(same.iter().map(|key| key.2));
            self.entries += same
                .iter()
                .map(|key| (set.start[key.2 as usize + 1] - set.start[key.2 as usize]) as usize)
                .sum::<usize>();
            self.runs.push(ContactRun {
                nodes,
                contacts: begin..self.order.len(),
                entries,
                general: self.general,
            });
            if nodes.is_none() {
                // One more than contacts: where the last one ends.
                self.general += same.len() + 1;
            }
        }
        self.groups.push(SweepGroup {
            runs: first_run..self.runs.len(),
            contacts: first_contact..self.order.len(),
        });
    }

    /// Heap memory in use [bytes].
    pub fn bytes(&self) -> usize {
        self.order.len() * size_of::<u32>()
            + self.runs.len() * size_of::<ContactRun>()
            + self.groups.len() * size_of::<SweepGroup>()
            + self.owner.len() * (size_of::<u32>() + size_of::<u64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_contact::Contact;

    /// A band of contacts between near nodes, of all stencil sizes.
    fn band(n: usize) -> ContactSet {
        let mut set = ContactSet::default();
        for c in 0..n {
            let size = 1 + c % 5;
            let nodes: Vec<(u32, f64)> = (0..size)
                .map(|i| (((c * 7919 + i * 31) % n) as u32 / 2 + 3 * i as u32, 1.0))
                .collect();
            set.push(&nodes, Contact::default());
        }
        set
    }

    #[test]
    fn every_contact_comes_once_and_groups_of_a_stage_share_no_node() {
        for n in [0, 1, 300, 5000, 40_000] {
            let set = band(n);
            let n_nodes = n + 20;
            let mut plan = SweepPlan::default();
            plan.append(&set, 0, n_nodes, kernel_size);
            let mut seen = plan.order.clone();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..n as u32));
            assert!(plan.stages.len() <= STAGES + 1);
            let mut covered = 0;
            for stage in &plan.stages {
                let mut owner = vec![usize::MAX; n_nodes];
                for g in stage.groups.clone() {
                    let group = &plan.groups[g];
                    assert_eq!(group.contacts.start, covered);
                    covered = group.contacts.end;
                    for &c in &plan.order[group.contacts.clone()] {
                        for e in set.entries(c as usize) {
                            let owner = &mut owner[e.node as usize];
                            assert!(!stage.parallel || *owner == usize::MAX || *owner == g);
                            *owner = g;
                        }
                    }
                }
            }
            assert_eq!(covered, n);
            let mut entries = 0;
            for run in &plan.runs {
                assert_eq!(run.entries, entries);
                for &c in &plan.order[run.contacts.clone()] {
                    assert_eq!(run.nodes, kernel_size(&set, c as usize));
                    entries += set.entries(c as usize).len();
                }
            }
        }
    }
}
