//! Sparse matrices as triplets.

use super::ExchangeError;

/// A sparse matrix: rows, columns and values of its entries. Entries at the same place add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TripletMatrix {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// Row, column and value of each entry.
    pub entries: Vec<(u32, u32, f64)>,
}

impl TripletMatrix {
    /// Whether entries are inside and finite.
    pub fn check(&self, name: &'static str) -> Result<(), ExchangeError> {
        let bad = self.entries.iter().position(|&(i, j, x)| {
            i as usize >= self.rows || j as usize >= self.columns || !x.is_finite()
        });
        match bad {
            Some(at) => Err(ExchangeError::Entry { matrix: name, at }),
            None => Ok(()),
        }
    }

    /// Entries sorted by column, then row, with those at the same place added.
    pub fn merged(&self) -> Vec<(u32, u32, f64)> {
        let mut entries = self.entries.clone();
        entries.sort_by_key(|e| (e.1, e.0));
        entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        entries
    }

    /// Half the sum with its transpose, and the largest difference of the two as a fraction of the
    /// largest entry. Computed matrices in files differ by up to some thousandths: both triangles were
    /// computed apart, or were written with few digits. More than [`ASYMMETRY`] is refused.
    pub fn symmetrised(&self, name: &'static str) -> Result<(Self, f64), ExchangeError> {
        if self.rows != self.columns {
            return Err(ExchangeError::NotSquare(name));
        }
        let mut entries: Vec<(u32, u32, f64)> = Vec::with_capacity(2 * self.entries.len());
        for &(i, j, x) in &self.merged() {
            entries.push((i, j, 0.5 * x));
            entries.push((j, i, 0.5 * x));
        }
        entries.sort_by_key(|e| (e.1, e.0));
        let largest = entries.iter().fold(0.0f64, |m, e| m.max(2.0 * e.2.abs()));
        let mut difference = 0.0f64;
        for pair in entries.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let other = pair.get(1).map_or(0.0, |e| e.2);
            difference = difference.max(2.0 * (pair[0].2 - other).abs());
        }
        let fraction = if largest > 0.0 {
            difference / largest
        } else {
            0.0
        };
        if fraction > ASYMMETRY {
            return Err(ExchangeError::NotSymmetric {
                matrix: name,
                fraction,
            });
        }
        let halves = Self {
            entries,
            ..self.clone()
        };
        let entries = halves.merged();
        Ok((Self { entries, ..halves }, fraction))
    }
}

/// Asymmetry beyond which a matrix is refused, as a fraction of its largest entry: what Siconos' own
/// problems have is at most a thirtieth of it.
const ASYMMETRY: f64 = 0.1;
