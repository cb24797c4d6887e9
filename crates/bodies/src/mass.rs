//! Mass matrices of deformable bodies.

use std::sync::Arc;

use stiction_math::{BlockMatrix, BlockPattern, Vec3};

use crate::material::MassKind;

/// The mass matrix of a deformable body. Every 3×3 block is a multiple of the identity, so that
/// only the multiple is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Mass {
    /// One mass per node [kg].
    Lumped(Vec<f64>),
    /// One number per entry of the body's block pattern [kg].
    Consistent {
        /// In the order of the pattern's entries.
        entries: Vec<f64>,
        /// Row sums: the lumped masses, for weights and totals.
        lumped: Vec<f64>,
    },
}

impl Mass {
    /// Distributes the mass of simplices (triangles for N = 3, tetrahedra for N = 4) over
    /// `pattern`.
    ///
    /// Consistent masses are the exact integrals of linear shape functions: an element of mass m
    /// adds 2m/(N(N+1)) to each of its nodes and m/(N(N+1)) to each pair.
    pub fn of_simplices<const N: usize>(
        kind: MassKind,
        pattern: &BlockPattern,
        simplices: &[[u32; N]],
        masses: &[f64],
    ) -> Self {
        let lumped = lump(pattern.n(), simplices, masses);
        match kind {
            MassKind::Lumped => Self::Lumped(lumped),
            MassKind::Consistent => {
                let mut entries = vec![0.0; pattern.nnz()];
                for (simplex, m) in simplices.iter().zip(masses) {
                    let pair = m / (N * (N + 1)) as f64;
                    for &i in simplex {
                        for &j in simplex {
                            if let Some(at) = pattern.find(i as usize, j as usize) {
                                entries[at] += if i == j { 2.0 * pair } else { pair };
                            }
                        }
                    }
                }
                Self::Consistent { entries, lumped }
            }
        }
    }

    /// The lumped mass of every node [kg].
    pub fn lumped(&self) -> &[f64] {
        match self {
            Self::Lumped(m) | Self::Consistent { lumped: m, .. } => m,
        }
    }

    /// The total mass [kg].
    pub fn total(&self) -> f64 {
        self.lumped().iter().sum()
    }

    /// Row `i` of M x.
    pub fn row(&self, pattern: &BlockPattern, x: &[Vec3], i: usize) -> Vec3 {
        match self {
            Self::Lumped(m) => x[i] * m[i],
            Self::Consistent { entries, .. } => {
                let start = pattern.row_start()[i];
                pattern
                    .row(i)
                    .iter()
                    .enumerate()
                    .map(|(k, &j)| x[j as usize] * entries[start + k])
                    .sum()
            }
        }
    }

    /// A ← A + s M.
    pub fn add_to(&self, s: f64, a: &mut BlockMatrix) {
        let pattern = Arc::clone(&a.pattern);
        let mut add = |at: usize, m: f64| {
            for c in 0..3 {
                a.values[at][(c, c)] += s * m;
            }
        };
        match self {
            Self::Lumped(m) => {
                for (i, m) in m.iter().enumerate() {
                    if let Some(at) = pattern.find(i, i) {
                        add(at, *m);
                    }
                }
            }
            Self::Consistent { entries, .. } => {
                entries.iter().enumerate().for_each(|(at, m)| add(at, *m));
            }
        }
    }
}

/// The mass of each of `n` nodes [kg], with equal fractions of every simplex for its corners.
pub fn lump<const N: usize>(n: usize, simplices: &[[u32; N]], masses: &[f64]) -> Vec<f64> {
    let mut lumped = vec![0.0; n];
    for (simplex, m) in simplices.iter().zip(masses) {
        for &i in simplex {
            lumped[i as usize] += m / N as f64;
        }
    }
    lumped
}
