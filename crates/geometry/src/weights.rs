//! Sparse rows of weights.

use stiction_math::Vec3;

/// Points as weighted sums of numbered source points, one row each, stored one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightRows {
    start: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Default for WeightRows {
    fn default() -> Self {
        Self {
            start: vec![0],
            entries: Vec::new(),
        }
    }
}

impl WeightRows {
    /// Points that coincide with sources: point i is source `numbers[i]`.
    pub fn among(numbers: impl IntoIterator<Item = u32>) -> Self {
        let mut weights = Self::default();
        for number in numbers {
            weights.push([(number, 1.0)]);
        }
        weights
    }

    /// Appends a row.
    pub fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        self.entries.extend(row);
        self.start.push(self.entries.len() as u32);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers and weights of row `i`.
    pub fn row(&self, i: usize) -> &[(u32, f64)] {
        &self.entries[self.start[i] as usize..self.start[i + 1] as usize]
    }

    /// The source that row `i` coincides with, if any.
    pub fn same(&self, i: usize) -> Option<u32> {
        match self.row(i) {
            [(number, weight)] if *weight == 1.0 => Some(*number),
            _ => None,
        }
    }

    /// The largest number in any row.
    pub fn largest(&self) -> Option<u32> {
        self.entries.iter().map(|e| e.0).max()
    }

    /// Row `i` applied to a column of the sources. A row that coincides with a source keeps its
    /// bits.
    pub fn value(&self, i: usize, of: &[Vec3]) -> Vec3 {
        let terms = self.row(i).iter().map(|&(j, w)| of[j as usize] * w);
        terms.reduce(|a, b| a + b).unwrap_or_default()
    }

    /// The transpose: for each of the `count` sources its rows and weights.
    pub fn transposed(&self, count: usize) -> Self {
        let mut start = vec![0_u32; count + 1];
        for (j, _) in &self.entries {
            start[*j as usize + 1] += 1;
        }
        for j in 0..count {
            start[j + 1] += start[j];
        }
        let mut next = start.clone();
        let mut entries = vec![(0, 0.0); self.entries.len()];
        for i in 0..self.len() {
            for &(j, w) in self.row(i) {
                let at = &mut next[j as usize];
                entries[*at as usize] = (i as u32, w);
                *at += 1;
            }
        }
        Self { start, entries }
    }
}
