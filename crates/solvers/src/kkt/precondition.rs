//! Approximate inverses of the system [verschoor2019, Sect. 3.4].

use stiction_contact::{ContactSet, FrictionProblem};
use stiction_math::{
    BlockError, IncompleteFactors, Mat3, Mat6, MatrixPart, Preconditioner as _, Vec3,
};

use super::{ActiveRows, Column, Kkt, Transpose, for_contacts};

/// The approximate inverse of the equations [verschoor2019, Sect. 3.4].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrPreconditioner {
    /// Blocks on the diagonal: D⁻¹ and S⁻¹, positive definite.
    Diagonal,
    /// All four blocks, with the diagonal blocks D of A in place of A.
    #[default]
    Full,
    /// All four blocks, with an incomplete Cholesky factor in place of A.
    Cholesky,
}

/// C⁻¹ for the rows that are active.
#[derive(Default)]
pub(crate) struct Approximation {
    form: CrPreconditioner,
    /// Inverses of the 3×3 diagonal blocks of A.
    blocks: Vec<Mat3>,
    /// First block and inverse of the matrix of every rigid body.
    rigid: Vec<(u32, Mat6)>,
    /// Incomplete factors of all parts, with [`CrPreconditioner::Cholesky`].
    factors: IncompleteFactors,
    /// Scaled local Delassus operators Z_c B_c D⁻¹ B_cᵀ [1/kg].
    local: Vec<Mat3>,
    /// (P (Z W + G) P)⁻¹ on the active rows [kg].
    inverse: Vec<Mat3>,
    /// Blocks of rigid bodies.
    is_rigid: Vec<bool>,
    /// A column of velocities to work in.
    work: Vec<Vec3>,
}

impl Approximation {
    /// The approximation of A⁻¹ of a problem.
    pub fn update_system(
        &mut self,
        problem: &FrictionProblem,
        form: CrPreconditioner,
    ) -> Result<(), BlockError> {
        self.form = form;
        let n = problem.blocks();
        self.blocks.resize(n, Mat3::zeros());
        for_contacts(&mut self.blocks, |i, block| {
            *block = problem.a.diagonal(i).try_inverse().unwrap_or_default();
        });
        self.work.resize(n, Vec3::zeros());
        self.rigid.clear();
        self.is_rigid.clear();
        self.is_rigid.resize(n, false);
        for (range, part) in problem.a.ranges() {
            if let MatrixPart::Dense(m) = part {
                let first = range.start as u32;
                self.is_rigid[range].fill(true);
                if let Some(inverse) = m.try_inverse() {
                    self.rigid.push((first, inverse));
                }
            }
        }
        match form {
            CrPreconditioner::Cholesky => self.factors.update(&problem.a),
            CrPreconditioner::Diagonal | CrPreconditioner::Full => Ok(()),
        }
    }

    /// The local operators of contacts, with the scaling Z for rows that are alike.
    pub fn update_contacts(&mut self, problem: &FrictionProblem, transpose: &Transpose) {
        let set = &problem.contacts;
        self.local.resize(set.len(), Mat3::zeros());
        let (blocks, is_rigid) = (&self.blocks, &self.is_rigid);
        let pairs = PairCounts::new(set);
        for_contacts(&mut self.local, |c, local| {
            let range = set.start[c] as usize..set.start[c + 1] as usize;
            let z = match set.nodes[range].iter().all(|&j| is_rigid[j as usize]) {
                true => pairs.of(set, c),
                false => similar(set, transpose, is_rigid, c),
            };
            *local = set.local_delassus(c, |j| blocks[j]) * z;
        });
        self.inverse.resize(set.len(), Mat3::zeros());
    }

    /// The rows that are active now.
    pub fn update_rows(&mut self, rows: &[ActiveRows]) {
        let local = &self.local;
        for_contacts(&mut self.inverse, |c, inverse| {
            let ActiveRows { active, compliance } = &rows[c];
            *inverse = match rows[c].is_active() {
                true => {
                    let rest = (Mat3::identity() - active) * local[c].trace();
                    let matrix = active * local[c] * active + compliance + rest;
                    active * matrix.try_inverse().unwrap_or_default() * active
                }
                false => Mat3::zeros(),
            };
        });
    }

    /// z ← C⁻¹ r.
    pub fn apply(&mut self, kkt: &Kkt<'_>, r: &Column, z: &mut Column) {
        self.solve(&r.v, &mut z.v);
        let set = &kkt.problem.contacts;
        let inverse = &self.inverse;
        if self.form == CrPreconditioner::Diagonal {
            for_contacts(&mut z.c, |c, z| *z = inverse[c] * r.c[c]);
            return;
        }
        // r_c = −S⁻¹ (b + L Ã⁻¹ a),  v = Ã⁻¹ (a + Lᵀ r_c) [verschoor2019, Eq. 22].
        let Column { v, c } = z;
        for_contacts(c, |c, z| {
            *z = match kkt.rows[c].is_active() {
                true => -(inverse[c] * (r.c[c] + set.velocity(c, v))),
                false => Vec3::zeros(),
            };
        });
        if c.is_empty() {
            return;
        }
        let mut more = std::mem::take(&mut self.work);
        match self.form != CrPreconditioner::Cholesky {
            // Contacts act on few blocks: the others have their answer.
            true => {
                more.fill(Vec3::zeros());
                kkt.transpose.add(set, 1.0, c, &mut more);
                let mut change = std::mem::take(&mut more);
                self.solve_in_place(&mut change);
                stiction_math::reduce::axpy(1.0, &change, v);
                more = change;
            }
            false => {
                stiction_math::reduce::copy(&r.v, &mut more);
                kkt.transpose.add(set, 1.0, c, &mut more);
                self.solve(&more, v);
            }
        }
        self.work = more;
    }

    /// x ← Ã⁻¹ x where Ã is block-diagonal.
    fn solve_in_place(&self, x: &mut [Vec3]) {
        let blocks = &self.blocks;
        let before: Vec<[Vec3; 2]> = self
            .rigid
            .iter()
            .map(|(first, _)| [x[*first as usize], x[*first as usize + 1]])
            .collect();
        for_contacts(x, |i, x| *x = blocks[i] * *x);
        for ((first, inverse), r) in self.rigid.iter().zip(before) {
            let first = *first as usize;
            [x[first], x[first + 1]] = product(inverse, &r);
        }
    }

    /// z ← Ã⁻¹ r.
    pub fn solve(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        if self.form == CrPreconditioner::Cholesky {
            return self.factors.apply(r, z);
        }
        let blocks = &self.blocks;
        for_contacts(z, |i, z| *z = blocks[i] * r[i]);
        for (first, inverse) in &self.rigid {
            let first = *first as usize;
            [z[first], z[first + 1]] = product(inverse, &[r[first], r[first + 1]]);
        }
    }

    /// D_j⁻¹ r of a block.
    pub fn block(&self, j: usize, r: &Vec3) -> Vec3 {
        self.blocks[j] * r
    }

    /// ‖r‖ in the norm of the diagonal blocks [√J]: √(Σ r_jᵀ D_j⁻¹ r_j + Σ u_cᵀ S_c⁻¹ u_c).
    pub fn norm(&self, r: &Column) -> f64 {
        use stiction_math::reduce::sum_ordered;
        let blocks = sum_ordered(r.v.len(), |i| r.v[i].dot(&(self.blocks[i] * r.v[i])));
        let rows = sum_ordered(r.c.len(), |c| r.c[c].dot(&(self.inverse[c] * r.c[c])));
        // Rounding may make a small sum negative.
        (blocks + rows).max(0.0).sqrt()
    }

    /// ‖f‖ of impulses on blocks in the same norm [√J].
    pub fn size(&self, f: &[Vec3]) -> f64 {
        let one = |i: usize| f[i].dot(&(self.blocks[i] * f[i]));
        stiction_math::reduce::sum_ordered(f.len(), one).sqrt()
    }

    pub fn bytes(&self) -> [usize; 2] {
        [
            size_of_val(&self.blocks[..])
                + size_of_val(&self.rigid[..])
                + size_of_val(&self.work[..])
                + self.factors.bytes(),
            size_of_val(&self.local[..]) + size_of_val(&self.inverse[..]),
        ]
    }
}

fn product(m: &Mat6, x: &[Vec3; 2]) -> [Vec3; 2] {
    [0, 3].map(|row| {
        let [a, b] = [0, 3].map(|col| m.fixed_view::<3, 3>(row, col).into_owned());
        a * x[0] + b * x[1]
    })
}

/// The number of contacts of every pair of bodies.
struct PairCounts {
    sorted: Vec<[u32; 2]>,
}

impl PairCounts {
    fn new(set: &ContactSet) -> Self {
        let mut sorted = set.pair.clone();
        sorted.sort_unstable();
        Self { sorted }
    }

    fn of(&self, set: &ContactSet, c: usize) -> f64 {
        let pair = set.pair[c];
        let count = self.sorted.partition_point(|p| *p <= pair)
            - self.sorted.partition_point(|p| *p < pair);
        count.max(1) as f64
    }
}

/// The number of contacts that are like `c`, itself included: the sum over contacts of the product of
/// 1 − |b_a − b_b| over the nodes that both act on [verschoor2019, Sect. 3.4.1]. Blocks of rigid bodies,
/// on which all contacts of a body act, do not count.
fn similar(set: &ContactSet, transpose: &Transpose, is_rigid: &[bool], c: usize) -> f64 {
    let entries = |c: usize| set.start[c] as usize..set.start[c + 1] as usize;
    let own = || entries(c).filter(|&e| !is_rigid[set.nodes[e] as usize]);
    let mut others: Vec<u32> = Vec::new();
    for e in own() {
        let here = transpose.of(set.nodes[e] as usize).iter().map(|s| s.0);
        others.extend(here.filter(|&o| o as usize != c));
    }
    others.sort_unstable();
    others.dedup();
    others.iter().fold(1.0, |sum, &o| {
        let factor = |a: usize| {
            let same = entries(o as usize).find(|&b| set.nodes[b] == set.nodes[a]);
            let difference = |b: usize| (set.weights[a] - set.weights[b]).abs().min(1.0);
            same.map_or(1.0, |b| 1.0 - difference(b))
        };
        sum + own().map(factor).product::<f64>()
    })
}
