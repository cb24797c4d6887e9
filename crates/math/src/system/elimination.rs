//! Block elimination of rods from the bodies that they are tied to.
//!
//! With rods R, bodies H and the couplings C between them,
//!
//! [ H  Cᵀ ] = [ I  CᵀR⁻¹ ] [ S    ] [ I        ]
//! [ C  R  ]   [     I     ] [    R ] [ R⁻¹C   I ],   S = H − Cᵀ R⁻¹ C.
//!
//! A rod that is tied to one element of one body changes only entries of S that are in the pattern
//! of H. Where all rods are of this kind, as hair that grows on a solid, the factors of R and S are
//! a direct solver. Other rods and couplings are left to conjugate gradients, with the inverse of
//! the matrix without them as preconditioner, which is still positive definite. The factors of H
//! and R alone would be a poor preconditioner for light hair on stiff springs.

use super::{MatrixPart, PartFactors, SystemMatrix, Which};
use crate::{Mat3, Vec3, krylov::Preconditioner};

/// Maximum number of tied blocks of an eliminated rod; others are left to conjugate gradients.
const MOST: usize = 4;

/// Couplings that are eliminated, and the reduced matrices of the bodies.
#[derive(Default)]
pub(super) struct Elimination {
    rods: Vec<Rod>,
    ties: Vec<Tie>,
    /// Number of couplings of the analysed matrix.
    couplings: usize,
    /// S of every body that rods are tied to.
    pub reduced: Vec<Option<MatrixPart>>,
    scratch: Vec<Vec3>,
}

/// A rod and its ties.
struct Rod {
    /// Blocks of the rod that are tied.
    blocks: Vec<u32>,
    /// A range of ties.
    ties: std::ops::Range<usize>,
    /// The part to which it is tied.
    body: usize,
}

/// A coupling between a rod and a body.
struct Tie {
    /// Index among the couplings.
    at: usize,
    /// Blocks of the rod and of the body.
    ends: [u32; 2],
    /// Index among the rod's tied blocks.
    slot: usize,
    /// Whether the coupling is stored as the body's row.
    turned: bool,
}

impl Tie {
    /// The block of C.
    fn value(&self, matrix: &SystemMatrix) -> Mat3 {
        let value = matrix.couplings[self.at];
        if self.turned {
            value.transpose()
        } else {
            value
        }
    }
}

impl Elimination {
    /// Finds the rods that can be eliminated.
    pub fn new(matrix: &SystemMatrix) -> Self {
        let banded = |part: usize| match &matrix.parts[part] {
            MatrixPart::Banded(m) => Some(m.layout()),
            _ => None,
        };
        // Part and number of the rod, blocks of the rod and the body, number of the coupling.
        let mut list: Vec<((usize, u32), [u32; 2], usize, bool)> = Vec::new();
        for (at, &(i, j)) in matrix.pairs.iter().enumerate() {
            let of = |block: u32| matrix.part_of(block as usize);
            let (ends, turned) = match (banded(of(i)), banded(of(j))) {
                (Some(_), None) => ([i, j], false),
                (None, Some(_)) => ([j, i], true),
                _ => continue,
            };
            let part = of(ends[0]);
            let local = ends[0] as usize - matrix.starts[part];
            if let Some(rod) = banded(part).and_then(|layout| layout.matrix_of(local)) {
                list.push(((part, rod), ends, at, turned));
            }
        }
        list.sort_unstable();
        let mut this = Self {
            couplings: matrix.pairs.len(),
            reduced: matrix.parts.iter().map(|_| None).collect(),
            ..Self::default()
        };
        for group in list.chunk_by(|a, b| a.0 == b.0) {
            let mut blocks: Vec<u32> = group.iter().map(|t| t.1[0]).collect();
            blocks.dedup();
            let ends: Vec<usize> = group.iter().map(|t| t.1[1] as usize).collect();
            let body = matrix.part_of(ends[0]);
            let first = matrix.starts[body];
            let present = |&a: &usize, &b: &usize| match &matrix.parts[body] {
                _ if matrix.part_of(a) != body || matrix.part_of(b) != body => false,
                MatrixPart::Sparse(m) => m.pattern.find(a - first, b - first).is_some(),
                MatrixPart::Dense(_) => true,
                MatrixPart::Banded(_) | MatrixPart::Scalar(_) => false,
            };
            let fits = ends.iter().all(|a| ends.iter().all(|b| present(a, b)));
            if blocks.len() > MOST || !fits {
                continue;
            }
            let from = this.ties.len();
            for &(_, ends, at, turned) in group {
                this.ties.push(Tie {
                    at,
                    ends,
                    slot: blocks.binary_search(&ends[0]).unwrap_or(0),
                    turned,
                });
            }
            this.rods.push(Rod {
                blocks,
                ties: from..this.ties.len(),
                body,
            });
        }
        this
    }

    /// Whether the elimination applies to `matrix`.
    pub fn applies(&self, matrix: &SystemMatrix) -> bool {
        !self.rods.is_empty() && self.couplings == matrix.pairs.len()
    }

    /// S of all bodies; `factors` are those of the rods of `matrix`.
    pub fn reduce(&mut self, matrix: &SystemMatrix, factors: &mut PartFactors) {
        for rod in &self.rods {
            self.reduced[rod.body] = None;
        }
        for rod in &self.rods {
            let part = &matrix.parts[rod.body];
            self.reduced[rod.body].get_or_insert_with(|| part.clone());
        }
        // Rods are independent: one solve gives a column of the inverse of every rod.
        let slots = self.rods.iter().map(|r| r.blocks.len()).max().unwrap_or(0);
        let mut inverses = vec![[[Mat3::zeros(); MOST]; MOST]; self.rods.len()];
        self.scratch.resize(matrix.len(), Vec3::zeros());
        for (slot, c) in (0..slots).flat_map(|s| (0..3).map(move |c| (s, c))) {
            self.scratch.fill(Vec3::zeros());
            for rod in self.rods.iter().filter(|r| slot < r.blocks.len()) {
                self.scratch[rod.blocks[slot] as usize][c] = 1.0;
            }
            factors.solve(&mut self.scratch, Which::Rods);
            for (rod, inverse) in self.rods.iter().zip(&mut inverses) {
                for (row, block) in rod.blocks.iter().enumerate() {
                    inverse[row][slot].set_column(c, &self.scratch[*block as usize]);
                }
            }
        }
        for (rod, inverse) in self.rods.iter().zip(&inverses) {
            let first = matrix.starts[rod.body];
            let Some(part) = &mut self.reduced[rod.body] else {
                continue;
            };
            let ties = &self.ties[rod.ties.clone()];
            for a in ties {
                let left = a.value(matrix).transpose();
                for b in ties {
                    // Symmetric to the last bit, as the factorisation reads one triangle.
                    let both = inverse[a.slot][b.slot] + inverse[b.slot][a.slot].transpose();
                    let value = left * (both * -0.5) * b.value(matrix);
                    let [i, j] = [a.ends[1], b.ends[1]].map(|e| e as usize - first);
                    part.add(i, j, &value);
                }
            }
        }
    }

    /// C z or its transpose for the eliminated couplings.
    fn couple(&self, matrix: &SystemMatrix, mut add: impl FnMut(&Tie, Mat3)) {
        for tie in &self.ties {
            add(tie, tie.value(matrix));
        }
    }
}

/// The factors of S and R, as a preconditioner for the whole.
pub(super) struct Eliminated<'a> {
    pub factors: &'a mut PartFactors,
    pub elimination: &'a mut Elimination,
    pub matrix: &'a SystemMatrix,
}

impl Preconditioner for Eliminated<'_> {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let mut back = std::mem::take(&mut self.elimination.scratch);
        back.resize(r.len(), Vec3::zeros());
        back.fill(Vec3::zeros());
        z.copy_from_slice(r);
        self.factors.solve(z, Which::Rods);
        let Self {
            factors,
            elimination,
            matrix,
        } = self;
        elimination.couple(matrix, |tie, c| {
            let [rod, body] = tie.ends.map(|e| e as usize);
            let pull = c.tr_mul(&z[rod]);
            z[body] -= pull;
        });
        factors.solve(z, Which::Bodies);
        elimination.couple(matrix, |tie, c| {
            let [rod, body] = tie.ends.map(|e| e as usize);
            back[rod] += c * z[body];
        });
        factors.solve(&mut back, Which::Rods);
        for (p, part) in matrix.parts.iter().enumerate() {
            if matches!(part, MatrixPart::Banded(_)) {
                for i in matrix.starts[p]..matrix.starts[p + 1] {
                    z[i] -= back[i];
                }
            }
        }
        elimination.scratch = back;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::super::{PartShape, SystemFactor};
    use super::*;
    use crate::{
        BandSize, BandedLayout, BlockPattern,
        krylov::LinearOperator,
        testing::{random_numbers, random_vectors},
    };
    use nalgebra::DMatrix;

    const RODS: usize = 11;
    const NODES: usize = 9;

    /// A body of nine nodes in tetrahedra, a rigid one, and rods of four blocks, stiffly tied: most of
    /// them to one element, one to two, one to both bodies.
    fn system(stiffness: f64) -> SystemMatrix {
        let tets: [&[u32]; 3] = [&[0, 1, 2, 3], &[2, 3, 4, 5], &[5, 6, 7, 8]];
        let pattern = BlockPattern::from_cliques(NODES, tets).unwrap();
        let size = BandSize {
            n: 12,
            bandwidth: 5,
        };
        let layout = BandedLayout::new(&[size; RODS], 4 * RODS, |m, i| 12 * m + i).unwrap();
        let first = (NODES + 2) as u32;
        let rod = |r: usize, i: u32| first + 4 * r as u32 + i;
        let mut ties: Vec<(u32, Vec<u32>)> = Vec::new();
        for r in 0..RODS {
            let rigid = vec![NODES as u32, NODES as u32 + 1];
            let (root, second) = match r {
                3 | 4 => (rigid.clone(), rigid),
                9 => (tets[0].to_vec(), tets[2].to_vec()),
                10 => (tets[1].to_vec(), rigid),
                _ => (tets[r % 3].to_vec(), tets[r % 3].to_vec()),
            };
            ties.push((rod(r, 0), root));
            ties.push((rod(r, 1), second));
        }
        let pairs: Vec<(u32, u32)> = ties
            .iter()
            .flat_map(|(i, nodes)| nodes.iter().map(|j| (*i, *j)))
            .collect();
        let shapes = vec![
            PartShape::Sparse(Arc::new(pattern)),
            PartShape::Dense,
            PartShape::Banded(Arc::new(layout)),
        ];
        let mut a = SystemMatrix::new(shapes, &pairs);
        let mut random = random_numbers(5);
        let mut spring = |a: &mut SystemMatrix, ends: &[u32], k: f64| {
            let weights: Vec<f64> = ends.iter().map(|_| random() + 0.6).collect();
            let sum: f64 = weights[1..].iter().sum();
            let weight = |n: usize| if n == 0 { 1.0 } else { -weights[n] / sum };
            for (m, i) in ends.iter().enumerate() {
                for (n, j) in ends.iter().enumerate() {
                    let value = Mat3::from_diagonal_element(k * weight(m) * weight(n));
                    a.add(*i as usize, *j as usize, &value);
                }
            }
        };
        for tet in tets {
            spring(&mut a, tet, 1.0);
        }
        for r in 0..RODS {
            for i in 0..3 {
                spring(&mut a, &[rod(r, i), rod(r, i + 1)], 1.0);
            }
        }
        for (node, nodes) in &ties {
            spring(&mut a, &[&[*node], &nodes[..]].concat(), stiffness);
        }
        for i in 0..a.len() {
            // Rods weigh little.
            let mass = if i < NODES + 2 { 1.0 } else { 1e-5 };
            a.add(i, i, &Mat3::from_diagonal_element(mass));
        }
        a
    }

    fn dense(a: &SystemMatrix) -> DMatrix<f64> {
        let n = 3 * a.len();
        let mut all = DMatrix::zeros(n, n);
        let (mut x, mut y) = (vec![Vec3::zeros(); a.len()], vec![Vec3::zeros(); a.len()]);
        for c in 0..n {
            x[c / 3][c % 3] = 1.0;
            a.apply(&x, &mut y);
            x[c / 3][c % 3] = 0.0;
            for r in 0..n {
                all[(r, c)] = y[r / 3][r % 3];
            }
        }
        all
    }

    /// Equals a dense solve for any tie stiffness; rods that are not eliminated only cost
    /// iterations.
    #[test]
    fn tied_rods_are_solved_directly() {
        for stiffness in [1e-2, 1.0, 1e3] {
            let a = system(stiffness);
            let positions = [
                random_vectors(NODES, 1),
                random_vectors(2, 2),
                random_vectors(4 * RODS, 3),
            ];
            let positions: Vec<&[Vec3]> = positions.iter().map(Vec::as_slice).collect();
            let mut factor = SystemFactor::new(&a, &positions).unwrap();
            assert_eq!(factor.elimination.rods.len(), RODS - 2);
            factor.refactor(&a, None).unwrap();
            let b = random_vectors(a.len(), 7);
            let mut x = b.clone();
            let iterations = factor.solve(&a, &mut x, 1e-10).unwrap();
            // Two rods of three blocks each stand against the rest.
            assert!(iterations <= 20, "{iterations}");
            let rhs: Vec<f64> = b.iter().flat_map(|v| v.iter().copied()).collect();
            let lu = dense(&a).lu();
            let exact = lu.solve(&nalgebra::DVector::from_vec(rhs)).unwrap();
            let scale = exact.amax();
            for (i, x) in x.iter().enumerate() {
                for c in 0..3 {
                    let error = (x[c] - exact[3 * i + c]).abs();
                    assert!(
                        error < 1e-6 * scale,
                        "{stiffness} {i}: {error:e} of {scale:e}"
                    );
                }
            }
        }
    }
}
