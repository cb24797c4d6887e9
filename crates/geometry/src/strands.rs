//! Many polylines in flat columns: hair, ropes, wires.

use stiction_math::{Quat, Vec3};

use crate::mesh::transform;

/// Polylines: strand s runs through the points `starts[s]..starts[s + 1]`, in order.
///
/// A hundred thousand strands are three allocations.
#[derive(Clone, Debug, PartialEq)]
pub struct Strands {
    /// The points of all strands, one strand after another [m].
    pub points: Vec<Vec3>,
    /// The first point of every strand, and the number of points at the end.
    pub starts: Vec<u32>,
}

impl Default for Strands {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            starts: vec![0],
        }
    }
}

impl Strands {
    /// One strand.
    pub fn single(points: Vec<Vec3>) -> Self {
        let mut strands = Self::default();
        strands.push(&points);
        strands
    }

    /// Appends a strand.
    pub fn push(&mut self, points: &[Vec3]) {
        self.points.extend_from_slice(points);
        self.starts.push(self.points.len() as u32);
    }

    /// Moves every point: x ← R (s ∘ x) + t, with one scale factor per axis.
    pub fn transform(&mut self, rotation: &Quat, scale: &Vec3, translation: &Vec3) {
        transform(&mut self.points, rotation, scale, translation);
    }

    /// Number of strands.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The points of strand `s` [m].
    pub fn strand(&self, s: usize) -> &[Vec3] {
        &self.points[self.starts[s] as usize..self.starts[s + 1] as usize]
    }

    /// Two neighbouring points per segment, strand after strand.
    pub fn segments(&self) -> Vec<[u32; 2]> {
        let ranges = self.starts.windows(2);
        ranges
            .flat_map(|w| (w[0] + 1..w[1].max(w[0] + 1)).map(|i| [i - 1, i]))
            .collect()
    }

    /// The length of strand `s` [m].
    pub fn length(&self, s: usize) -> f64 {
        let edges = self.strand(s).windows(2);
        edges.map(|w| (w[1] - w[0]).norm()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_join_neighbours_and_never_two_strands() {
        let mut strands = Strands::single(vec![Vec3::zeros(), Vec3::x(), Vec3::x() * 3.0]);
        strands.push(&[Vec3::y()]);
        strands.push(&[Vec3::y(), Vec3::z()]);
        assert_eq!(strands.len(), 3);
        assert_eq!(strands.segments(), vec![[0, 1], [1, 2], [4, 5]]);
        assert_eq!(strands.length(0), 3.0);
        assert_eq!(strands.strand(1), &[Vec3::y()]);
    }
}
