//! The system with vertices duplicated, one copy for each contact [li2018, Sect. 6].
//!
//! A vertex i with p contacts is p copies, each with 1/p of the rows of A and of f, that pins hold
//! together. With Â ṽ + b̃ = Bᵀ r + Cᵀ λ and λ = −Bᵀ r of the sweep before, copy a of vertex i reads
//!
//! ```text
//! (A_ii v_a + Σ_{j≠i} A_ij v̄_j − f_i)/p = B_aᵀ r + (mean of Bᵀ r over the copies − B_aᵀ r) before,
//! ```
//!
//! where v̄_j is the mean of the copies of j: the copies of A are never formed. Where nothing changes any
//! more, all copies of a vertex have one velocity, and A v = f + Bᵀ r.

use rayon::prelude::*;
use stiction_contact::{FrictionProblem, ProblemError};
use stiction_math::{Mat3, MatrixPart, SystemMatrix, Vec3, parallel};

use super::{Error, NodalSleep, law::PrimalContact};

/// Colours with fewer items are swept by one thread.
const MIN_LEN: usize = 256;

/// The rows of A by vertex, without the diagonal blocks.
struct Rows {
    start: Vec<usize>,
    cols: Vec<u32>,
    values: Vec<Mat3>,
    /// A_ii⁻¹.
    inverse: Vec<Mat3>,
}

/// The duplicated system of one problem, and its iterate.
pub struct Copies {
    rows: Rows,
    /// Number of contacts of each vertex, at least 1: the number p of its copies.
    count: Vec<u32>,
    /// Contacts, then vertices without contact: what one local solve is about, colour by colour.
    items: Vec<u32>,
    colors: Vec<usize>,
    contacts: Vec<Option<PrimalContact>>,
    /// v̄ [m/s], the mean of the copies of each vertex.
    mean: Vec<Vec3>,
    /// Velocities of the copies [m/s], one per entry of B.
    copy: Vec<Vec3>,
    /// Impulses of the pins on the copies [N·s].
    pin: Vec<Vec3>,
    /// Relative velocities [m/s].
    u: Vec<Vec3>,
    /// Impulses [N·s].
    r: Vec<Vec3>,
    /// Sweeps for which a contact is skipped.
    skip: Vec<u32>,
    /// Results of one colour.
    results: Vec<Update>,
}

/// The result of one local solve.
#[derive(Clone, Copy, Default)]
struct Update {
    u: Vec3,
    r: Vec3,
    failed: bool,
}

/// Counts of one sweep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Swept {
    /// The largest change of a velocity [m/s].
    pub change: f64,
    /// Local solves that Newton's method did not finish.
    pub failed: usize,
    /// Local solves.
    pub solved: usize,
}

impl Rows {
    fn new(a: &SystemMatrix) -> Result<Self, Error> {
        let n = a.len();
        let mut blocks: Vec<(u32, u32, Mat3)> = Vec::new();
        for (range, part) in a.ranges() {
            let first = range.start;
            match part {
                MatrixPart::Sparse(m) => {
                    let rows = m.pattern.row_start();
                    for i in 0..part.len() {
                        for at in rows[i]..rows[i + 1] {
                            let j = m.pattern.cols()[at] as usize;
                            if j != i {
                                let block = ((first + i) as u32, (first + j) as u32, m.values[at]);
                                blocks.push(block);
                            }
                        }
                    }
                }
                MatrixPart::Dense(m) => {
                    let [i, j] = [first as u32, first as u32 + 1];
                    let cross = m.fixed_view::<3, 3>(0, 3).into_owned();
                    if cross != Mat3::zeros() {
                        blocks.push((i, j, cross));
                        blocks.push((j, i, cross.transpose()));
                    }
                }
                // There is none in a matrix without bands.
                MatrixPart::Banded(_) | MatrixPart::Scalar(_) => {}
            }
        }
        for (i, j, value) in a.couplings() {
            blocks.push((i, j, *value));
            blocks.push((j, i, value.transpose()));
        }
        blocks.sort_by_key(|b| (b.0, b.1));
        let mut start = vec![0; n + 1];
        for (i, _, _) in &blocks {
            start[*i as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let inverse: Option<Vec<Mat3>> = (0..n).map(|i| a.diagonal(i).try_inverse()).collect();
        Ok(Self {
            start,
            cols: blocks.iter().map(|b| b.1).collect(),
            values: blocks.iter().map(|b| b.2).collect(),
            inverse: inverse.ok_or(Error::NotPositiveDefinite)?,
        })
    }

    fn neighbours(&self, i: usize) -> &[u32] {
        &self.cols[self.start[i]..self.start[i + 1]]
    }

    /// A_ii⁻¹ (f_i − Σ_{j≠i} A_ij v_j) [m/s].
    fn relaxed(&self, i: usize, f: &Vec3, v: &[Vec3]) -> Vec3 {
        let range = self.start[i]..self.start[i + 1];
        let blocks = self.cols[range.clone()].iter().zip(&self.values[range]);
        let rest = blocks.fold(*f, |rest, (j, a)| rest - a * v[*j as usize]);
        self.inverse[i] * rest
    }
}

impl Copies {
    /// The duplicated system of `problem`, at the velocities `v` and impulses `r`.
    pub fn new(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) -> Result<Self, Error> {
        let rows = match problem.a.has_bands() {
            true => Rows::new(&problem.a.without_bands().map_err(ProblemError::Matrix)?)?,
            false => Rows::new(&problem.a)?,
        };
        let set = &problem.contacts;
        let mut count = vec![0u32; problem.blocks()];
        for &node in &set.nodes {
            count[node as usize] += 1;
        }
        let free: Vec<bool> = count.iter().map(|&p| p == 0).collect();
        count.iter_mut().for_each(|p| *p = (*p).max(1));
        let contact = |c: usize| {
            let w = set.entries(c).fold(Mat3::zeros(), |w, e| {
                let (i, b) = (e.node as usize, e.matrix());
                w + b * rows.inverse[i] * b.transpose() * f64::from(count[i])
            });
            let n = &set.normal[c];
            PrimalContact::new(&(w + n * n.transpose() * set.compliance[c]), n, set.mu[c])
        };
        let contacts = parallel::map(set.len(), 64, contact);
        let (items, colors) = colored(problem, &rows, &free);
        let copy: Vec<Vec3> = set.nodes.iter().map(|&i| v[i as usize]).collect();
        let mut copies = Self {
            rows,
            count,
            items,
            colors,
            contacts,
            mean: v.to_vec(),
            pin: vec![Vec3::zeros(); copy.len()],
            copy,
            u: (0..set.len())
                .map(|c| set.relative_velocity(c, v, r))
                .collect(),
            r: r.to_vec(),
            skip: vec![0; set.len()],
            results: Vec::new(),
        };
        copies.pin_copies(problem);
        Ok(copies)
    }

    /// v̄ [m/s].
    pub fn velocities(&self) -> &[Vec3] {
        &self.mean
    }

    /// r [N·s].
    pub fn impulses(&self) -> &[Vec3] {
        &self.r
    }

    /// One iteration of Gauss–Seidel over all vertices [li2018, Alg. 1], then c ← d̂ + G C Gᵀ r.
    pub fn sweep(&mut self, problem: &FrictionProblem, sleep: Option<&NodalSleep>) -> Swept {
        let mut swept = Swept::default();
        for color in 0..self.colors.len() - 1 {
            let range = self.colors[color]..self.colors[color + 1];
            let mut results = std::mem::take(&mut self.results);
            {
                let items = self.items[range.clone()].par_iter().with_min_len(MIN_LEN);
                let solve = |item: &u32| self.solve(problem, *item as usize);
                items.map(solve).collect_into_vec(&mut results);
            }
            for (at, update) in range.zip(&results) {
                self.apply(problem, self.items[at] as usize, update, sleep, &mut swept);
            }
            self.results = results;
        }
        self.pin_copies(problem);
        swept
    }

    /// The local solve of one item, from the means around it; nothing is changed.
    fn solve(&self, problem: &FrictionProblem, item: usize) -> Update {
        let set = &problem.contacts;
        let Some(node) = item.checked_sub(set.len()) else {
            return match (self.skip[item], &self.contacts[item]) {
                (0, Some(contact)) => self.solve_contact(problem, item, contact),
                _ => Update {
                    u: self.u[item],
                    r: self.r[item],
                    failed: false,
                },
            };
        };
        Update {
            u: self.rows.relaxed(node, &problem.f[node], &self.mean),
            ..Update::default()
        }
    }

    fn solve_contact(
        &self,
        problem: &FrictionProblem,
        c: usize,
        contact: &PrimalContact,
    ) -> Update {
        let set = &problem.contacts;
        let pull = set.normal[c] * set.cohesion[c];
        let first = set.start[c] as usize;
        let mut q = set.k[c] - set.normal[c] * (set.compliance[c] * set.cohesion[c]);
        for (k, e) in set.entries(c).enumerate() {
            let i = e.node as usize;
            let push = self.pin[first + k] - e.tr_mul(&pull);
            q += e.mul(&self.without_contact(problem, i, &push));
        }
        let solved = contact.solve(&q, &self.u[c]);
        Update {
            u: solved.u,
            r: solved.p - pull,
            failed: !solved.converged,
        }
    }

    /// The velocity of a copy of vertex `i` with the impulse `push` on it [m/s].
    fn without_contact(&self, problem: &FrictionProblem, i: usize, push: &Vec3) -> Vec3 {
        let p = f64::from(self.count[i]);
        self.rows.relaxed(i, &problem.f[i], &self.mean) + self.rows.inverse[i] * push * p
    }

    fn apply(
        &mut self,
        problem: &FrictionProblem,
        item: usize,
        update: &Update,
        sleep: Option<&NodalSleep>,
        swept: &mut Swept,
    ) {
        let set = &problem.contacts;
        if let Some(node) = item.checked_sub(set.len()) {
            swept.change = swept.change.max((update.u - self.mean[node]).amax());
            self.mean[node] = update.u;
            return;
        }
        if self.skip[item] > 0 {
            self.skip[item] -= 1;
            return;
        }
        let first = set.start[item] as usize;
        // All from the means before, also where two vertices of a contact are neighbours.
        let velocities: Vec<(usize, Vec3)> = set
            .entries(item)
            .enumerate()
            .map(|(k, e)| {
                let i = e.node as usize;
                let push = self.pin[first + k] + e.tr_mul(&update.r);
                (i, self.without_contact(problem, i, &push))
            })
            .collect();
        for (k, (i, v)) in velocities.into_iter().enumerate() {
            let change = v - self.copy[first + k];
            swept.change = swept.change.max(change.amax());
            self.copy[first + k] = v;
            self.mean[i] += change / f64::from(self.count[i]);
        }
        if let (Some(sleep), Some(contact)) = (sleep, &self.contacts[item]) {
            let [size, change] = [update.r, update.r - self.r[item]].map(|r| contact.speed(&r));
            if size < sleep.small || change < sleep.settled {
                self.skip[item] = sleep.sweeps;
            }
        }
        (self.u[item], self.r[item]) = (update.u, update.r);
        swept.failed += usize::from(update.failed);
        swept.solved += 1;
    }

    /// Updates the impulses of the pins on the copies, and the means from the copies, free of the rounding of their updates.
    fn pin_copies(&mut self, problem: &FrictionProblem) {
        let set = &problem.contacts;
        let mut force = vec![Vec3::zeros(); self.mean.len()];
        let mut velocity = vec![Vec3::zeros(); self.mean.len()];
        let mut held = vec![false; self.mean.len()];
        for c in 0..set.len() {
            for (k, e) in set.entries(c).enumerate() {
                let (at, i) = (set.start[c] as usize + k, e.node as usize);
                self.pin[at] = -e.tr_mul(&self.r[c]);
                force[i] -= self.pin[at] / f64::from(self.count[i]);
                velocity[i] += self.copy[at] / f64::from(self.count[i]);
                held[i] = true;
            }
        }
        for (at, &i) in set.nodes.iter().enumerate() {
            self.pin[at] += force[i as usize];
        }
        for i in (0..held.len()).filter(|&i| held[i]) {
            self.mean[i] = velocity[i];
        }
    }
}

/// The items by colour: those of one colour share no vertex, and none reads a vertex that another writes.
fn colored(problem: &FrictionProblem, rows: &Rows, free: &[bool]) -> (Vec<u32>, Vec<usize>) {
    let set = &problem.contacts;
    let nodes = |item: usize| -> Vec<usize> {
        match item.checked_sub(set.len()) {
            Some(node) => vec![node],
            None => set.entries(item).map(|e| e.node as usize).collect(),
        }
    };
    let alone = (0..free.len()).filter(|&i| free[i] && !problem.fixed[i]);
    let all: Vec<u32> = (0..set.len() as u32)
        .chain(alone.map(|i| (set.len() + i) as u32))
        .collect();
    // Along the vertices, so that what is near is coloured together.
    let mut waiting = all;
    waiting.sort_by_key(|&item| nodes(item as usize).into_iter().min());
    let mut marks = vec![0u64; free.len()];
    let mut by_color: Vec<(u32, u32)> = Vec::with_capacity(waiting.len());
    let mut first = 0;
    while !waiting.is_empty() {
        marks.fill(0);
        waiting.retain(|&item| {
            let nodes = nodes(item as usize);
            let around = nodes.iter().flat_map(|&i| {
                let near = rows.neighbours(i).iter().map(|&j| j as usize);
                std::iter::once(i).chain(near)
            });
            let color = around.fold(0, |taken, i| taken | marks[i]).trailing_ones();
            if color == u64::BITS {
                return true;
            }
            for i in nodes {
                marks[i] |= 1 << color;
            }
            by_color.push((first + color, item));
            false
        });
        first += u64::BITS;
    }
    by_color.sort_by_key(|x| x.0);
    let mut starts = vec![0];
    for k in 1..by_color.len() {
        if by_color[k].0 != by_color[k - 1].0 {
            starts.push(k);
        }
    }
    if !by_color.is_empty() {
        starts.push(by_color.len());
    }
    (by_color.into_iter().map(|x| x.1).collect(), starts)
}
