//! The sections of MSH 2.2.

use super::super::bytes::{Cursor, Encoding, Scalar};
use super::super::error::{FileLocation, MeshFileError};
use super::{Nodes, Reader, Shape};

impl Reader<'_> {
    pub(super) fn read_nodes_v2(&mut self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        let encoding = self.format.encoding;
        let (count, place) = read_count(cursor, "the number of nodes", encoding)?;
        let least_bytes = match encoding {
            Encoding::Text => 8,
            Encoding::Little | Encoding::Big => 28,
        };
        let count =
            cursor.check_count("nodes", count, least_bytes, self.limits.max_nodes, place)?;
        let mut tags = Vec::with_capacity(count);
        for _ in 0..count {
            let (tag, place) = cursor.integer(Scalar::I32, encoding, "a node tag")?;
            let position = cursor.position3(Scalar::F64, encoding, tag.unsigned_abs())?;
            self.soup.push_position(position, place)?;
            tags.push(tag);
        }
        self.nodes = Nodes::new(&tags)?;
        Ok(())
    }

    pub(super) fn read_elements_v2(&mut self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        let encoding = self.format.encoding;
        let (count, place) = read_count(cursor, "the number of elements", encoding)?;
        // Number, type, tag count and one node in text; number and one node in binary.
        let limit = self.limits.max_elements;
        let count = cursor.check_count("elements", count, 8, limit, place)?;
        let mut elements = Vec::with_capacity(count);
        match encoding {
            Encoding::Text => {
                for _ in 0..count {
                    let (number, _) = cursor.count(Scalar::I32, encoding, "an element number")?;
                    let (shape, tags) = read_kind(cursor, number)?;
                    elements.push(self.read_element_v2(cursor, shape, tags, number)?);
                }
            }
            Encoding::Little | Encoding::Big => {
                while elements.len() < count {
                    // In binary, elements of one type come in runs that share a header.
                    let (kind, place) = cursor.integer(Scalar::I32, encoding, "an element type")?;
                    let shape = Shape::of(kind, place)?;
                    let (run, place) = cursor.count(Scalar::I32, encoding, "a run length")?;
                    let (tags, _) = cursor.count(Scalar::I32, encoding, "the number of tags")?;
                    let least_bytes = tags.saturating_add(1 + shape.corners() as u64) * 4;
                    let left = (count - elements.len()) as u64;
                    cursor.check_count("elements", run, least_bytes, left, place)?;
                    for _ in 0..run {
                        let (number, _) =
                            cursor.count(Scalar::I32, encoding, "an element number")?;
                        elements.push(self.read_element_v2(cursor, shape, tags, number)?);
                    }
                }
            }
        }
        self.push_elements_v2(elements)
    }

    fn read_element_v2(
        &mut self,
        cursor: &mut Cursor,
        shape: Shape,
        tags: u64,
        number: u64,
    ) -> Result<ElementV2, MeshFileError> {
        let encoding = self.format.encoding;
        let place = cursor.place(encoding);
        let mut physical = 0;
        for i in 0..tags {
            let (tag, _) = cursor
                .integer(Scalar::I32, encoding, "a tag")
                .map_err(|error| error.at(shape.name(), number))?;
            if i == 0 {
                physical = tag;
            }
        }
        Ok(ElementV2 {
            corners: self.read_corners(cursor, Scalar::I32, shape, number)?,
            shape,
            physical,
            number,
            place,
        })
    }

    /// An element that belongs to several physical groups stands in the file once per group; the
    /// mesh takes it once, every group takes its nodes.
    fn push_elements_v2(&mut self, elements: Vec<ElementV2>) -> Result<(), MeshFileError> {
        let mut order: Vec<usize> = (0..elements.len()).collect();
        let key = |&i: &usize| (elements[i].shape.dimension(), elements[i].corners, i);
        order.sort_unstable_by_key(key);
        let mut repeated = vec![false; elements.len()];
        for pair in order.windows(2) {
            let [a, b] = [&elements[pair[0]], &elements[pair[1]]];
            repeated[pair[1]] =
                a.shape == b.shape && a.corners == b.corners && a.physical != b.physical;
        }
        for (element, repeated) in elements.iter().zip(repeated) {
            let &ElementV2 {
                shape,
                ref corners,
                physical,
                number,
                place,
            } = element;
            if !repeated {
                self.push_element(shape, corners, number, place)?;
            }
            if physical != 0 {
                let group = self.group(shape.dimension(), physical);
                self.soup
                    .groups
                    .add(group, &corners[..shape.corners()], place)?;
            }
        }
        Ok(())
    }
}

struct ElementV2 {
    shape: Shape,
    corners: [u32; 4],
    physical: i64,
    number: u64,
    place: FileLocation,
}

/// Counts are text even in binary files, on a line of their own.
fn read_count(
    cursor: &mut Cursor,
    what: &'static str,
    encoding: Encoding,
) -> Result<(u64, FileLocation), MeshFileError> {
    let token = cursor.token(what)?;
    if encoding != Encoding::Text {
        cursor.rest_of_line();
    }
    Ok((token.count(what)?, token.place))
}

/// Element type and number of tags of a text file.
fn read_kind(cursor: &mut Cursor, number: u64) -> Result<(Shape, u64), MeshFileError> {
    let at_element = |error: MeshFileError| error.at("element", number);
    let kind = cursor.token("an element type").map_err(at_element)?;
    let shape = kind
        .integer("an element type")
        .and_then(|number| Shape::of(number, kind.place))
        .map_err(at_element)?;
    let tags = cursor.token("the number of tags").map_err(at_element)?;
    let tags = tags.count("the number of tags").map_err(at_element)?;
    Ok((shape, tags))
}
