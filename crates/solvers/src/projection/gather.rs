//! The columns of contacts, gathered from a contact set in the order of the plan.

use stiction_contact::{ContactSet, StencilEntry};
use stiction_math::{Mat3, Vec3, parallel};

use super::{
    Metric,
    kernel::SweepColumns,
    plan::{SweepGroup, SweepPlan},
};

/// Groups that are gathered before they are put together: enough for many threads, few enough to
/// stay in a cache.
const BATCH: usize = 64;

impl SweepColumns {
    /// Appends the contacts of the plan's groups from `first` on, and their scales s to `scale`.
    /// Compliance is kept if `gives`.
    pub fn gather(
        &mut self,
        set: &ContactSet,
        w: Metric,
        plan: &SweepPlan,
        first: usize,
        gives: bool,
        scale: &mut Vec<f64>,
    ) {
        if !set.blocks.is_empty() {
            // Contacts before the first that has more than a lever.
            let levers = self.general_lever.len();
            self.general_block.resize(levers, Mat3::zeros());
        }
        for batch in plan.groups[first..].chunks(BATCH) {
            let parts = parallel::map(batch.len(), 1, |group| {
                let (mut columns, mut scale) = (Self::default(), Vec::new());
                columns.push_group(set, w, plan, &batch[group], gives, &mut scale);
                (columns, scale)
            });
            for (part, s) in parts {
                self.extend(part);
                scale.extend(s);
            }
        }
    }

    /// Removes all contacts and keeps the memory.
    pub fn clear(&mut self) {
        self.index.clear();
        self.weight.clear();
        self.gamma.clear();
        self.normal.clear();
        self.k.clear();
        self.give.clear();
        self.general_start.clear();
        self.general_lever.clear();
        self.general_block.clear();
        self.block.clear();
        self.gain.clear();
    }

    /// Heap memory in use [bytes].
    pub fn bytes(&self) -> usize {
        (self.index.len() + self.general_start.len()) * size_of::<u32>()
            + (self.weight.len() + self.gamma.len() + self.give.len()) * size_of::<f64>()
            + self.normal.len() * size_of::<[f64; 4]>()
            + self.k.len() * size_of::<[f64; 3]>()
            + self.general_lever.len() * size_of::<Vec3>()
            + (self.block.len() + self.gain.len() + self.general_block.len()) * size_of::<Mat3>()
    }

    fn extend(&mut self, part: Self) {
        let levers = self.general_lever.len() as u32;
        self.index.extend(part.index);
        self.weight.extend(part.weight);
        self.gamma.extend(part.gamma);
        self.normal.extend(part.normal);
        self.k.extend(part.k);
        self.give.extend(part.give);
        self.general_start
            .extend(part.general_start.iter().map(|at| at + levers));
        self.general_lever.extend(part.general_lever);
        self.general_block.extend(part.general_block);
        self.block.extend(part.block);
        self.gain.extend(part.gain);
    }

    fn push_group(
        &mut self,
        set: &ContactSet,
        w: Metric,
        plan: &SweepPlan,
        group: &SweepGroup,
        gives: bool,
        scale: &mut Vec<f64>,
    ) {
        let count = group.contacts.len();
        self.index.reserve(4 * count);
        self.weight.reserve(4 * count);
        self.normal.reserve(count);
        self.k.reserve(count);
        scale.reserve(count);
        for run in &plan.runs[group.runs.clone()] {
            let general = run.nodes.is_none();
            for &c in &plan.order[run.contacts.clone()] {
                let c = c as usize;
                if general {
                    self.general_start.push(self.general_lever.len() as u32);
                }
                let (s, give) = match w {
                    Metric::Scalar(w) => {
                        let s = self.push_scaled(set, w, c, general);
                        (s, s / (s + set.compliance[c]))
                    }
                    Metric::Inverse(w) => {
                        self.push_block(set, w, c);
                        (1.0, set.compliance[c])
                    }
                };
                scale.push(s);
                if gives {
                    self.give.push(give);
                }
                let n = set.normal[c];
                self.normal.push([n.x, n.y, n.z, set.mu[c]]);
                let k = set.k[c] - n * (set.compliance[c] * set.cohesion[c]);
                self.k.push(k.into());
            }
            if general {
                self.general_start.push(self.general_lever.len() as u32);
            }
        }
    }

    /// The stencil of a contact; returns its scale s, a bound on its local matrix.
    fn push_scaled(&mut self, set: &ContactSet, w: &[f64], c: usize, general: bool) -> f64 {
        let s: f64 = set
            .entries(c)
            .map(|e| square(&e) / w[e.node as usize])
            .sum();
        for e in set.entries(c) {
            let inverse = 1.0 / (s * w[e.node as usize]);
            self.index.push(e.node);
            self.weight.push(e.weight);
            if general {
                self.gamma.push(inverse);
                self.general_lever.push(e.lever);
                self.push_rest(set, e.block);
            } else {
                self.gamma.push(e.weight * inverse);
            }
        }
        s
    }

    /// In addition to a lever, if any contact of the set has more.
    fn push_rest(&mut self, set: &ContactSet, block: Option<Mat3>) {
        if !set.blocks.is_empty() {
            self.general_block.push(block.unwrap_or_default());
        }
    }

    /// The stencil of a contact with its matrices.
    fn push_block(&mut self, set: &ContactSet, inverse: &[Mat3], c: usize) {
        for e in set.entries(c) {
            self.index.push(e.node);
            self.weight.push(e.weight);
            self.general_lever.push(e.lever);
            self.push_rest(set, e.block);
            let gain = inverse[e.node as usize] * e.matrix().transpose();
            self.gain.push(gain);
        }
        self.block.push(set.local_delassus(c, |j| inverse[j]));
    }
}

/// A bound on the largest eigenvalue of B_ce B_ceᵀ.
fn square(e: &StencilEntry) -> f64 {
    match e.block {
        None => e.weight * e.weight + e.lever.norm_squared(),
        // Close to the weight where the rest is the lever of a thin sheet.
        Some(rest) => {
            let sum = e.weight.abs() + e.lever.norm() + rest.norm();
            (sum * sum).min(e.norm_squared())
        }
    }
}
