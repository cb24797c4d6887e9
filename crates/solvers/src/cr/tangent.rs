//! Approximate inverses of H = A + Bᵀ G B [verschoor2019, Sect. 3.4], positive definite.

use stiction_contact::{ContactSet, FrictionProblem};
use stiction_math::{
    BlockCholesky, BlockMatrix, IncompleteLu, Mat3, Mat6, MatrixPart, Preconditioner, Vec3, reduce,
};

use super::CrPreconditioner;
use crate::kkt::for_contacts;

/// The approximate inverse of the present H.
#[derive(Default)]
pub(super) struct TangentInverse {
    form: CrPreconditioner,
    diagonal: Diagonal,
    factor: BlockCholesky,
    lu: IncompleteLu,
    /// Whether `lu` is the approximation.
    follows: bool,
    correction: Correction,
}

/// Inverses of the diagonal blocks, 6×6 for rigid bodies.
#[derive(Default)]
struct Diagonal {
    blocks: Vec<Mat3>,
    /// First block and inverse of every rigid body.
    rigid: Vec<(usize, Mat6)>,
}

/// Correction by contacts of D⁻¹, the inverse of the diagonal blocks of A: by the formula of Woodbury
///
/// ```text
/// H⁻¹ ≈ D⁻¹ − D⁻¹ Bᵀ K B D⁻¹,   K_c = (1 + G_c S_c)⁻¹ G_c,   S_c = Σ_j z_j B_cj D_j⁻¹ B_cjᵀ
/// ```
///
/// where z_j is the number of contacts on the body of the block: (Σ_c x_c)² ≤ z Σ_c x_c² makes S larger than
/// the Delassus operator, so that the difference is positive definite however many contacts are alike.
#[derive(Default)]
struct Correction {
    set: ContactSet,
    matrices: Vec<Mat3>,
    work: Vec<Vec3>,
}

impl TangentInverse {
    /// Approximates the inverse of `sum` = A + Bᵀ G B.
    pub fn update(
        &mut self,
        problem: &FrictionProblem,
        sum: &BlockMatrix,
        g: &[Mat3],
        form: CrPreconditioner,
    ) {
        self.form = form;
        self.follows = false;
        match form {
            CrPreconditioner::Diagonal => self.diagonal.update(problem, sum),
            CrPreconditioner::Cholesky => {
                // A pattern that is too large to index goes without fill.
                if self.factor.prepare_filled(sum).is_err() {
                    self.factor.prepare(sum);
                }
                self.factor.update(sum);
            }
            CrPreconditioner::Full => {
                self.diagonal.update_plain(problem);
                self.correction.update(problem, &self.diagonal.blocks, g);
            }
        }
    }

    /// Approximates the inverse of a matrix that need not be symmetric, if that can be factorised.
    pub fn follow(&mut self, sum: &BlockMatrix) -> bool {
        self.follows = self.lu.update(sum);
        self.follows
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.diagonal.blocks[..])
            + size_of_val(&self.correction.matrices[..])
            + self.factor.bytes()
            + self.lu.bytes()
    }
}

impl Preconditioner for TangentInverse {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        if self.follows {
            return self.lu.apply(r, z);
        }
        match self.form {
            CrPreconditioner::Diagonal => self.diagonal.apply(r, z),
            CrPreconditioner::Cholesky => self.factor.apply(r, z),
            CrPreconditioner::Full => {
                self.diagonal.apply(r, z);
                let Correction {
                    set,
                    matrices,
                    work,
                } = &mut self.correction;
                work.clear();
                work.resize(r.len(), Vec3::zeros());
                for (c, k) in matrices.iter().enumerate() {
                    if *k != Mat3::zeros() {
                        set.add_transpose_of(c, &(k * set.velocity(c, z)), work);
                    }
                }
                let mut change = work.clone();
                self.diagonal.apply(work, &mut change);
                reduce::axpy(-1.0, &change, z);
            }
        }
    }
}

impl Diagonal {
    fn update(&mut self, problem: &FrictionProblem, sum: &BlockMatrix) {
        self.blocks.resize(sum.n(), Mat3::zeros());
        for_contacts(&mut self.blocks, |i, block| {
            *block = sum.diagonal(i).try_inverse().unwrap_or_default();
        });
        self.invert_rigid(problem, |i, j| {
            let place = sum.pattern.find(i, j);
            place.map_or(Mat3::zeros(), |place| sum.values[place])
        });
    }

    fn update_plain(&mut self, problem: &FrictionProblem) {
        self.blocks.resize(problem.blocks(), Mat3::zeros());
        for_contacts(&mut self.blocks, |i, block| {
            *block = problem.a.diagonal(i).try_inverse().unwrap_or_default();
        });
        // Mass and inertia of a rigid body are not coupled.
        self.rigid.clear();
    }

    fn invert_rigid(&mut self, problem: &FrictionProblem, block: impl Fn(usize, usize) -> Mat3) {
        self.rigid.clear();
        for (range, part) in problem.a.ranges() {
            let MatrixPart::Dense(_) = part else { continue };
            let first = range.start;
            let mut all = Mat6::zeros();
            for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let own = block(first + i, first + j);
                all.fixed_view_mut::<3, 3>(3 * i, 3 * j).copy_from(&own);
            }
            if let Some(inverse) = all.cholesky().map(|c| c.inverse()) {
                self.rigid.push((first, inverse));
            }
        }
    }

    fn apply(&self, r: &[Vec3], z: &mut [Vec3]) {
        for_contacts(z, |i, z| *z = self.blocks[i] * r[i]);
        for (first, inverse) in &self.rigid {
            let part = |i: usize, j: usize| inverse.fixed_view::<3, 3>(3 * i, 3 * j) * r[first + j];
            for i in 0..2 {
                z[first + i] = part(i, 0) + part(i, 1);
            }
        }
    }
}

impl Correction {
    fn update(&mut self, problem: &FrictionProblem, inverse: &[Mat3], g: &[Mat3]) {
        let set = &problem.contacts;
        self.set.clone_from(set);
        // Blocks of a rigid body count together.
        let mut body: Vec<usize> = (0..problem.blocks()).collect();
        for (range, part) in problem.a.ranges() {
            if let MatrixPart::Dense(_) = part {
                body[range.start + 1] = range.start;
            }
        }
        let mut count = vec![0.0f64; problem.blocks()];
        for c in (0..set.len()).filter(|&c| g[c] != Mat3::zeros()) {
            let bodies = set.entries(c).map(|e| body[e.node as usize]);
            let mut bodies: Vec<usize> = bodies.collect();
            bodies.sort_unstable();
            bodies.dedup();
            for j in bodies {
                count[j] += 1.0;
            }
        }
        self.matrices.resize(set.len(), Mat3::zeros());
        for_contacts(&mut self.matrices, |c, k| {
            let local = set.local_delassus(c, |j| inverse[j] * count[body[j]]);
            let sum = Mat3::identity() + g[c] * local;
            *k = sum.try_inverse().unwrap_or_default() * g[c];
        });
    }
}
