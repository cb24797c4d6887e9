//! The sections of MSH 4.1.

use super::super::bytes::{Cursor, Encoding, Scalar};
use super::super::error::{MeshFileError, MeshFileProblem};
use super::{Nodes, Reader, Shape};

impl Reader<'_> {
    /// Learns which physical groups each entity of the model belongs to.
    pub(super) fn read_entities(&mut self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        self.start(cursor);
        let mut counts = [0; 4];
        for count in &mut counts {
            *count = self.size(cursor, "a number of entities")?;
        }
        for (dimension, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                let tag = self.int(cursor, "an entity tag")?;
                let reals = if dimension == 0 { 3 } else { 6 };
                for _ in 0..reals {
                    cursor.real(Scalar::F64, self.format.encoding, "a bound")?;
                }
                let mut physical = Vec::new();
                for _ in 0..self.size(cursor, "a number of physical tags")? {
                    // The sign tells the orientation of the entity within the group.
                    physical.push(self.int(cursor, "a physical tag")?.saturating_abs());
                }
                physical.sort_unstable();
                physical.dedup();
                if dimension > 0 {
                    for _ in 0..self.size(cursor, "a number of bounding entities")? {
                        self.int(cursor, "a bounding entity")?;
                    }
                }
                if !physical.is_empty() {
                    self.entities.insert((dimension as i64, tag), physical);
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_nodes_v4(&mut self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        let encoding = self.format.encoding;
        let size = self.format.size;
        self.start(cursor);
        let place = cursor.place(encoding);
        let blocks = self.size(cursor, "a number of node blocks")?;
        let total = self.size(cursor, "the number of nodes")?;
        let least_bytes = encoding.least_bytes(size) + 3 * encoding.least_bytes(Scalar::F64);
        let limit = self.limits.max_nodes;
        let total = cursor.check_count("nodes", total, least_bytes, limit, place)?;
        self.size(cursor, "the smallest node tag")?;
        self.size(cursor, "the largest node tag")?;
        let mut tags = Vec::with_capacity(total);
        for _ in 0..blocks {
            let dimension = self.int(cursor, "a dimension")?;
            self.int(cursor, "an entity tag")?;
            let parametric = self.int(cursor, "0 or 1 for parametric nodes")?;
            let (count, place) = cursor.count(size, encoding, "a number of nodes")?;
            let left = (total - tags.len()) as u64;
            let count = cursor.check_count("nodes", count, least_bytes, left, place)?;
            let first = tags.len();
            for _ in 0..count {
                tags.push(cursor.integer(size, encoding, "a node tag")?.0);
            }
            let parameters = if parametric == 0 {
                0
            } else {
                dimension.clamp(0, 3)
            };
            for i in first..first + count {
                let place = cursor.place(encoding);
                let position = cursor.position3(Scalar::F64, encoding, tags[i].unsigned_abs())?;
                self.soup.push_position(position, place)?;
                for _ in 0..parameters {
                    cursor.real(Scalar::F64, encoding, "a parametric coordinate")?;
                }
            }
        }
        self.check_total("nodes", total, tags.len(), cursor)?;
        self.nodes = Nodes::new(&tags)?;
        Ok(())
    }

    pub(super) fn read_elements_v4(&mut self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        let encoding = self.format.encoding;
        let size = self.format.size;
        self.start(cursor);
        let place = cursor.place(encoding);
        let blocks = self.size(cursor, "a number of element blocks")?;
        let total = self.size(cursor, "the number of elements")?;
        let least_bytes = 2 * encoding.least_bytes(size);
        let limit = self.limits.max_elements;
        let total = cursor.check_count("elements", total, least_bytes, limit, place)?;
        self.size(cursor, "the smallest element tag")?;
        self.size(cursor, "the largest element tag")?;
        let mut done = 0;
        let mut groups = Vec::new();
        for _ in 0..blocks {
            let dimension = self.int(cursor, "a dimension")?;
            let entity = self.int(cursor, "an entity tag")?;
            let (kind, place) = cursor.integer(Scalar::I32, encoding, "an element type")?;
            let (count, count_place) = cursor.count(size, encoding, "a number of elements")?;
            let shape = Shape::of(kind, place)?;
            let least_bytes = (1 + shape.corners() as u64) * encoding.least_bytes(size);
            let left = (total - done) as u64;
            let count = cursor.check_count("elements", count, least_bytes, left, count_place)?;
            done += count;
            groups.clear();
            if count > 0
                && let Some(physical) = self.entities.remove(&(dimension, entity))
            {
                for &tag in &physical {
                    groups.push(self.group(dimension, tag));
                }
                self.entities.insert((dimension, entity), physical);
            }
            for _ in 0..count {
                let (number, place) = cursor.count(size, encoding, "an element tag")?;
                let corners = self.read_corners(cursor, size, shape, number)?;
                self.push_element(shape, &corners, number, place)?;
                for &group in &groups {
                    self.soup
                        .groups
                        .add(group, &corners[..shape.corners()], place)?;
                }
            }
        }
        self.check_total("elements", total, done, cursor)
    }

    /// Binary data starts on the line after the section's name.
    fn start(&self, cursor: &mut Cursor) {
        if self.format.encoding != Encoding::Text {
            cursor.rest_of_line();
        }
    }

    fn int(&self, cursor: &mut Cursor, what: &'static str) -> Result<i64, MeshFileError> {
        Ok(cursor.integer(Scalar::I32, self.format.encoding, what)?.0)
    }

    fn size(&self, cursor: &mut Cursor, what: &'static str) -> Result<u64, MeshFileError> {
        Ok(cursor
            .count(self.format.size, self.format.encoding, what)?
            .0)
    }

    fn check_total(
        &self,
        what: &str,
        declared: usize,
        found: usize,
        cursor: &Cursor,
    ) -> Result<(), MeshFileError> {
        if declared == found {
            return Ok(());
        }
        let what = format!("{declared} {what} are declared, but the blocks hold {found}");
        let remedy = "the file is damaged: save it again";
        Err(MeshFileError::new(
            cursor.place(self.format.encoding),
            MeshFileProblem::Inconsistent { what, remedy },
        ))
    }
}
