//! From Gmsh's node tags, which may have gaps and any order, to vertex indices.

use super::super::error::{FileLocation, MeshFileError, MeshFileProblem};

#[derive(Default)]
pub(super) struct Nodes {
    /// (tag, vertex), ascending.
    sorted: Vec<(i64, u32)>,
    /// Vertex by tag minus the smallest tag, when there are no gaps.
    table: Vec<u32>,
}

impl Nodes {
    /// `tags[i]` is the tag of vertex `i`.
    pub fn new(tags: &[i64]) -> Result<Self, MeshFileError> {
        let mut sorted: Vec<(i64, u32)> = tags.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|w| w[0].0 == w[1].0) {
            let what = format!("node {} is defined twice", twice[0].0);
            let remedy = "give every node its own tag";
            return Err(MeshFileError::new(
                FileLocation::File,
                MeshFileProblem::Inconsistent { what, remedy },
            ));
        }
        let mut table = Vec::new();
        if let (Some(&(least, _)), Some(&(most, _))) = (sorted.first(), sorted.last())
            && most.checked_sub(least) == Some(sorted.len() as i64 - 1)
        {
            table.extend(sorted.iter().map(|&(_, vertex)| vertex));
        }
        Ok(Nodes { sorted, table })
    }

    pub fn find(&self, tag: i64) -> Option<u32> {
        if let (false, Some(&(least, _))) = (self.table.is_empty(), self.sorted.first()) {
            let place = usize::try_from(tag.checked_sub(least)?).ok()?;
            return self.table.get(place).copied();
        }
        let place = self
            .sorted
            .binary_search_by_key(&tag, |&(tag, _)| tag)
            .ok()?;
        Some(self.sorted[place].1)
    }
}
