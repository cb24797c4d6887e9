use crate::RecordError;
use std::path::{Path, PathBuf};
use stiction_math::Vec3;

/// One body at one time, as plain data: the input of the VTU, OBJ and PLY writers.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The body's name, for messages and for formats that store it (OBJ, PLY). VTU files leave it
    /// to the collection: some readers do not support string arrays.
    pub name: &'a str,
    /// Time of the frame [s]; written as the field `TimeValue`, which ParaView reads.
    pub time: f64,
    /// Vertex positions [m].
    pub positions: &'a [Vec3],
    /// Connectivity of the vertices.
    pub cells: Cells<'a>,
    /// Named values, one per vertex.
    pub point_data: &'a [(&'a str, Data<'a>)],
    /// Named values, one per cell.
    pub cell_data: &'a [(&'a str, Data<'a>)],
    /// Named values of the frame as a whole, of any length.
    pub field_data: &'a [(&'a str, Data<'a>)],
}

/// The cells of a frame, as vertex indices.
#[derive(Clone, Copy, Debug)]
pub enum Cells<'a> {
    /// A surface.
    Triangles(&'a [[u32; 3]]),
    /// A volume.
    Tets(&'a [[u32; 4]]),
    /// Rods or hair, one segment each.
    Lines(&'a [[u32; 2]]),
    /// Every vertex is a cell.
    Points,
}

/// A column of values.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// One number per entry.
    Scalars(&'a [f64]),
    /// Three numbers per entry.
    Vectors(&'a [Vec3]),
    /// One integer per entry.
    Ints(&'a [i64]),
}

impl Data<'_> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Scalars(values) => values.len(),
            Self::Vectors(values) => values.len(),
            Self::Ints(values) => values.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Cells<'_> {
    /// Number of cells in a frame of `points` vertices.
    pub fn len(&self, points: usize) -> usize {
        match self {
            Self::Triangles(cells) => cells.len(),
            Self::Tets(cells) => cells.len(),
            Self::Lines(cells) => cells.len(),
            Self::Points => points,
        }
    }

    /// All vertex indices, cell after cell; empty for [`Cells::Points`].
    pub(crate) fn indices(&self) -> &[u32] {
        match self {
            Self::Triangles(cells) => cells.as_flattened(),
            Self::Tets(cells) => cells.as_flattened(),
            Self::Lines(cells) => cells.as_flattened(),
            Self::Points => &[],
        }
    }

    /// Vertices per cell.
    pub(crate) fn corners(&self) -> usize {
        match self {
            Self::Triangles(_) => 3,
            Self::Tets(_) => 4,
            Self::Lines(_) => 2,
            Self::Points => 1,
        }
    }
}

impl Frame<'_> {
    /// Refuses invalid frames: indices out of range, columns of the wrong length, duplicate column
    /// names.
    pub(crate) fn check(&self, path: &Path) -> Result<(), RecordError> {
        let refuse = |reason: String| {
            Err(RecordError::invalid(
                path,
                format!("body \"{}\": {reason}", self.name),
            ))
        };
        let points = self.positions.len();
        let corners = self.cells.corners();
        for (at, &index) in self.cells.indices().iter().enumerate() {
            if index as usize >= points {
                let cell = at / corners;
                return refuse(format!(
                    "cell {cell} names vertex {index}, but there are {points} vertices"
                ));
            }
        }
        let groups = [
            ("point", self.point_data, Some(points)),
            ("cell", self.cell_data, Some(self.cells.len(points))),
            ("field", self.field_data, None),
        ];
        for (group, columns, expected) in groups {
            for (at, (name, data)) in columns.iter().enumerate() {
                if let Some(expected) = expected
                    && data.len() != expected
                {
                    let len = data.len();
                    return refuse(format!(
                        "{group} data \"{name}\" has {len} entries, expected {expected}"
                    ));
                }
                if columns[..at].iter().any(|(other, _)| other == name) {
                    return refuse(format!("{group} data \"{name}\" is given twice"));
                }
            }
        }
        Ok(())
    }
}

/// The path of one body's file in a numbered sequence: `DIR/NAME_000012.EXT`.
///
/// Characters of `name` that are not portable in file names become `_`.
pub fn sequence_path(directory: &Path, name: &str, frame: usize, extension: &str) -> PathBuf {
    let safe: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    directory.join(format!("{safe}_{frame:06}.{extension}"))
}

/// The boundary faces, facing outwards, in the order of `tets`.
pub(crate) fn boundary(tets: &[[u32; 4]]) -> Vec<[u32; 3]> {
    // Seen from outside, counter-clockwise, for tets with (b−a)×(c−a)·(d−a) > 0.
    const FACES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
    let mut faces: Vec<([u32; 3], usize, [u32; 3])> = Vec::with_capacity(4 * tets.len());
    for tet in tets {
        for corners in FACES {
            let face = corners.map(|corner| tet[corner]);
            let mut key = face;
            key.sort_unstable();
            faces.push((key, faces.len(), face));
        }
    }
    faces.sort_unstable();
    let mut outer: Vec<(usize, [u32; 3])> = faces
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() == 1)
        .map(|same| (same[0].1, same[0].2))
        .collect();
    outer.sort_unstable();
    outer.into_iter().map(|(_, face)| face).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_boundary_of_two_tets_is_closed_and_faces_outwards() {
        let positions = [
            Vec3::new(0.0, 0.0, 0.0),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(1.0, 1.0, 1.0),
        ];
        let tets = [[0, 1, 2, 3], [1, 2, 3, 4]];
        let faces = boundary(&tets);
        assert_eq!(faces.len(), 6);
        let p = |i: u32| positions[i as usize];
        // The divergence theorem gives the volume of the two tets exactly if all faces point out.
        let surface: f64 = faces
            .iter()
            .map(|f| p(f[0]).dot(&p(f[1]).cross(&p(f[2]))) / 6.0)
            .sum();
        let volume: f64 = tets
            .iter()
            .map(|t| {
                let [a, b, c, d] = t.map(p);
                (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
            })
            .sum();
        assert!((surface - volume).abs() < 1e-15, "{surface} {volume}");
    }

    #[test]
    fn sequence_names_are_safe_and_sort_in_order() {
        let path = sequence_path(Path::new("out"), "a/b c", 12, "obj");
        assert_eq!(path, Path::new("out/a_b_c_000012.obj"));
    }
}
