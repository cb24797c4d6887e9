//! Sparse matrices as triplets.

use super::ExchangeError;

/// A sparse matrix: rows, columns and values of its entries. Entries at the same place add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// Row, column and value of each entry.
    pub entries: Vec<(u32, u32, f64)>,
}

impl Matrix {
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

    /// Whether it is square and symmetric to a part 1e-9 of its largest entry: files may hold
    /// numbers that were computed twice.
    pub fn check_symmetric(&self, name: &'static str) -> Result<(), ExchangeError> {
        let merged = self.merged();
        let largest = merged.iter().fold(0.0f64, |m, e| m.max(e.2.abs()));
        let mut other: Vec<(u32, u32, f64)> = merged.iter().map(|e| (e.1, e.0, e.2)).collect();
        other.sort_by_key(|e| (e.1, e.0));
        let value = |list: &[(u32, u32, f64)], place: (u32, u32)| {
            let found = list.binary_search_by_key(&(place.1, place.0), |e| (e.1, e.0));
            found.map_or(0.0, |at| list[at].2)
        };
        let symmetric = merged
            .iter()
            .all(|e| (e.2 - value(&other, (e.0, e.1))).abs() <= 1e-9 * largest);
        if self.rows != self.columns || !symmetric {
            return Err(ExchangeError::NotSymmetric(name));
        }
        Ok(())
    }
}
