//! From and to friction problems.

use std::{collections::BTreeMap, sync::Arc};

use stiction_math::{BlockPattern, Mat3, PartShape, SystemMatrix, Vec3, frame};

use super::{
    Exchange, ExchangeError, GlobalProblem, Point, ProblemForm, TripletMatrix, local, size,
};
use crate::{
    Contact, ContactKey, FrictionProblem, StencilEntry,
    file::{StoredProblem, StoredSolution},
};

impl Exchange {
    /// A stored problem in the global form.
    pub fn global(stored: &StoredProblem) -> Result<Self, ExchangeError> {
        let problem = &stored.problem;
        problem.check()?;
        let frames: Vec<Mat3> = problem.contacts.normal.iter().map(frame).collect();
        let form = ProblemForm::Global(GlobalProblem::new(problem, &frames));
        Ok(Self::with(stored, form, frames, true))
    }

    /// A stored problem in the local form: W is computed, dense, from A.
    pub fn local(stored: &StoredProblem) -> Result<Self, ExchangeError> {
        let problem = &stored.problem;
        problem.check()?;
        let frames: Vec<Mat3> = problem.contacts.normal.iter().map(frame).collect();
        let form = ProblemForm::Local(local::reduce(problem, &frames)?);
        Ok(Self::with(stored, form, frames, false))
    }

    fn with(
        stored: &StoredProblem,
        form: ProblemForm,
        frames: Vec<Mat3>,
        velocities: bool,
    ) -> Self {
        let point = |v: &[Vec3], r: &[Vec3]| to_point(stored, &frames, v, r, velocities);
        let guess = match (&stored.v, &stored.r) {
            (Some(v), Some(r)) => Some(point(v, r)),
            _ => None,
        };
        let solution = stored.solution.as_ref().map(|s| point(&s.v, &s.r));
        Self {
            form,
            h: stored.problem.h,
            origin: stored.origin.clone(),
            guess,
            solution,
            frames,
        }
    }

    /// The asymmetry of M or W, as a fraction of its largest entry.
    pub fn asymmetry(&self) -> Result<(&'static str, f64), ExchangeError> {
        let (name, matrix) = match &self.form {
            ProblemForm::Global(global) => ("M", &global.m),
            ProblemForm::Local(local) => ("W", &local.w),
        };
        matrix.check(name)?;
        Ok((name, matrix.symmetrised(name)?.1))
    }

    /// The problem as one that solvers take. Without known frames, coordinates of contacts are
    /// those of the frames, with normals along x.
    pub fn to_stored(&self) -> Result<StoredProblem, ExchangeError> {
        let factored;
        let global = match &self.form {
            ProblemForm::Global(global) => global,
            ProblemForm::Local(local) => {
                factored = local::factor(local)?;
                &factored
            }
        };
        let contacts = global.mu.len();
        if !self.frames.is_empty() {
            size("frames", contacts, self.frames.len())?;
        }
        let problem = global.problem(&self.frames, self.h)?;
        let from = |point: &Point| self.world_point(&problem, point);
        let guess = self.guess.as_ref().map(from).transpose()?;
        let solution = self.solution.as_ref().map(from).transpose()?;
        let (v, r) = match guess {
            // A local problem's guess has no velocities, and those of its factors are others.
            Some(guess) => ((!guess.v.is_empty()).then_some(guess.v), Some(guess.r)),
            None => (None, None),
        };
        Ok(StoredProblem {
            v,
            r,
            solution: solution.filter(|s| !s.v.is_empty()),
            origin: self.origin.clone(),
            problem,
        })
    }

    fn world_point(
        &self,
        problem: &FrictionProblem,
        p: &Point,
    ) -> Result<StoredSolution, ExchangeError> {
        size("r", 3 * problem.contacts.len(), p.r.len())?;
        let vectors = p.r.as_chunks::<3>().0.iter().enumerate();
        let r = vectors
            .map(|(c, r)| {
                self.frames
                    .get(c)
                    .map_or(Vec3::from(*r), |f| f * Vec3::from(*r))
            })
            .collect();
        let mut v = Vec::new();
        if let ProblemForm::Global(global) = &self.form
            && !p.v.is_empty()
        {
            size("v", global.m.rows, p.v.len())?;
            v = vec![Vec3::zeros(); problem.blocks()];
            for (i, x) in p.v.iter().enumerate() {
                v[i / 3][i % 3] = *x;
            }
        }
        Ok(StoredSolution { v, r })
    }
}

fn to_point(
    stored: &StoredProblem,
    frames: &[Mat3],
    v: &[Vec3],
    r: &[Vec3],
    velocities: bool,
) -> Point {
    let problem = &stored.problem;
    let set = &problem.contacts;
    let mut point = Point::default();
    for (c, frame) in frames.iter().enumerate() {
        let u = problem.contacts.relative_velocity(c, v, r);
        point.u.extend(&frame.tr_mul(&u));
        let shifted = r[c] + set.normal[c] * set.cohesion[c];
        point.r.extend(&frame.tr_mul(&shifted));
    }
    if velocities {
        point.v.extend(v.iter().flatten());
        // The velocities that stand for compliance.
        for c in (0..set.len()).filter(|&c| set.compliance[c] > 0.0) {
            let push = set.normal[c].dot(&r[c]) + set.cohesion[c];
            point.v.push(set.compliance[c] * push);
        }
    }
    point
}

impl GlobalProblem {
    fn new(problem: &FrictionProblem, frames: &[Mat3]) -> Self {
        let set = &problem.contacts;
        let n = 3 * problem.blocks();
        let mut m = Vec::new();
        let mut put = |i: usize, j: usize, block: &Mat3| {
            for (b, a) in (0..3).flat_map(|b| (0..3).map(move |a| (b, a))) {
                // The pattern of zeros is no part of the problem.
                if block[(a, b)] != 0.0 {
                    m.push(((3 * i + a) as u32, (3 * j + b) as u32, block[(a, b)]));
                }
            }
        };
        problem.a.for_each_block(&mut put);

        let mut f: Vec<f64> = problem.f.iter().flatten().copied().collect();
        let mut h = Vec::new();
        let mut w = Vec::new();
        let mut more = n;
        for (c, frame) in frames.iter().enumerate() {
            for e in set.entries(c) {
                let block = e.matrix().transpose() * frame;
                for (b, a) in (0..3).flat_map(|b| (0..3).map(move |a| (b, a))) {
                    if block[(a, b)] != 0.0 {
                        let row = 3 * e.node as usize + a;
                        h.push((row as u32, (3 * c + b) as u32, block[(a, b)]));
                        if b == 0 {
                            f[row] -= block[(a, b)] * set.cohesion[c];
                        }
                    }
                }
            }
            let mut k = frame.tr_mul(&set.k[c]);
            if set.compliance[c] > 0.0 {
                m.push((more as u32, more as u32, 1.0 / set.compliance[c]));
                h.push((more as u32, 3 * c as u32, 1.0));
                f.push(0.0);
                more += 1;
                // The impulse r, not r + ξ n, compresses it.
                k.x -= set.compliance[c] * set.cohesion[c];
            }
            w.extend(&k);
        }
        let matrix = |rows, columns, entries| TripletMatrix {
            rows,
            columns,
            entries,
        };
        Self {
            m: matrix(more, more, m),
            h: matrix(more, 3 * set.len(), h),
            f,
            w,
            mu: set.mu.clone(),
        }
    }

    /// The problem over 3-blocks of the velocities in their order; the last block is filled up with
    /// velocities that nothing moves.
    fn problem(&self, frames: &[Mat3], step: f64) -> Result<FrictionProblem, ExchangeError> {
        let (n, contacts) = (self.m.rows, self.mu.len());
        self.m.check("M")?;
        self.h.check("H")?;
        let (m, _) = self.m.symmetrised("M")?;
        size("rows of H", n, self.h.rows)?;
        size("columns of H", 3 * contacts, self.h.columns)?;
        size("f", n, self.f.len())?;
        size("w", 3 * contacts, self.w.len())?;
        let blocks = n.div_ceil(3);
        let mut values: BTreeMap<(u32, u32), Mat3> = BTreeMap::new();
        for &(i, j, x) in &m.entries {
            let block = values.entry((i / 3, j / 3)).or_default();
            block[(i as usize % 3, j as usize % 3)] += x;
        }
        for i in n..3 * blocks {
            let block = values.entry((i as u32 / 3, i as u32 / 3)).or_default();
            block[(i % 3, i % 3)] = 1.0;
        }
        let edges: Vec<[u32; 2]> = values
            .keys()
            .filter(|k| k.0 != k.1)
            .map(|k| [k.0, k.1])
            .collect();
        let pattern = BlockPattern::from_cliques(blocks, edges.iter().map(|e| &e[..]))
            .map_err(|_| ExchangeError::Layout("M"))?;
        let mut a = SystemMatrix::new(vec![PartShape::Sparse(Arc::new(pattern))], &[]);
        for (&(i, j), block) in &values {
            a.add(i as usize, j as usize, block);
        }
        let mut f = vec![Vec3::zeros(); blocks];
        for (i, x) in self.f.iter().enumerate() {
            f[i / 3][i % 3] = *x;
        }
        let mut problem = FrictionProblem::new(a, f, step);

        let mut stencils: Vec<BTreeMap<u32, Mat3>> = vec![BTreeMap::new(); contacts];
        for &(i, j, x) in &self.h.entries {
            let block = stencils[j as usize / 3].entry(i / 3).or_default();
            // u = Hᵀ v.
            block[(j as usize % 3, i as usize % 3)] += x;
        }
        for (c, stencil) in stencils.iter().enumerate() {
            let turn = frames.get(c).copied().unwrap_or_else(Mat3::identity);
            let entries = stencil
                .iter()
                .map(|(&node, block)| StencilEntry::matrix_at(node, turn * block));
            let w = Vec3::from_column_slice(&self.w[3 * c..3 * c + 3]);
            let contact = Contact {
                normal: turn.column(0).into_owned(),
                k: turn * w,
                mu: self.mu[c],
                key: ContactKey {
                    first: c as u64,
                    second: 0,
                },
                ..Contact::default()
            };
            problem.contacts.push_entries(entries, contact);
        }
        problem.check()?;
        Ok(problem)
    }
}
