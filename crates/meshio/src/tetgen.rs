//! TetGen: vertices in a `.node` file, tetrahedra in an `.ele` file next to it.
//!
//! Boundary markers other than 0 make groups `marker_<m>`, region attributes other than 0 make
//! groups `region_<a>`; other attributes are skipped.

use super::bytes::{Cursor, Encoding, Scalar, Token};
use super::error::{MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};

/// Vertices of a `.node` file, to be completed by [`read_elements`].
pub struct Nodes {
    soup: Soup,
    first: i64,
}

/// Reads the contents of a `.node` and of an `.ele` file.
pub fn read(node: &[u8], ele: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    read_elements(read_nodes(node, limits)?, ele, limits)
}

/// Reads the contents of a `.node` file. The first vertex may be number 0 or 1.
pub fn read_nodes(node: &[u8], limits: &MeshLimits) -> Result<Nodes, MeshFileError> {
    let mut cursor = Cursor::new(node)?.with_hash_comments();
    let mut soup = Soup::new(limits, node.len());
    let declared = cursor.token("the number of nodes")?;
    let count = declared.count("the number of nodes")?;
    let dimension = cursor.token("the dimension")?;
    if dimension.text != b"3" {
        return Err(dimension.unexpected("dimension 3"));
    }
    let attributes = read_attributes(&mut cursor)?;
    let has_marker = match cursor.next_on_line() {
        None => false,
        Some(marker) if marker.text == b"0" => false,
        Some(marker) if marker.text == b"1" => true,
        Some(marker) => return Err(marker.unexpected("0 or 1 boundary markers")),
    };
    let words = attributes.saturating_add(4 + u64::from(has_marker));
    let least_bytes = words.saturating_mul(2);
    cursor.check_count(
        "nodes",
        count,
        least_bytes,
        limits.max_nodes,
        declared.place,
    )?;
    let mut first = 0;
    for i in 0..count {
        let index = cursor.token("a node number")?;
        let number = index.integer("a node number")?;
        if i == 0 {
            first = number;
            if first != 0 && first != 1 {
                return Err(index.unexpected("node number 0 or 1"));
            }
        } else if number != first.saturating_add_unsigned(i) {
            return Err(out_of_sequence(
                "node",
                number,
                first.saturating_add_unsigned(i),
                &index,
            ));
        }
        let number = first.unsigned_abs() + i;
        let position = cursor.position3(Scalar::F64, Encoding::Text, number)?;
        soup.push_position(position, index.place)?;
        for _ in 0..attributes {
            cursor
                .token("an attribute")
                .map_err(|e| e.at("vertex", number))?;
        }
        if has_marker {
            let token = cursor
                .token("a boundary marker")
                .map_err(|e| e.at("vertex", number))?;
            let marker = token
                .integer("a boundary marker")
                .map_err(|e| e.at("vertex", number))?;
            if marker != 0 {
                let group = soup.groups.named(format!("marker_{marker}").as_bytes());
                soup.groups.add(group, &[i as u32], token.place)?;
            }
        }
    }
    Ok(Nodes { soup, first })
}

/// Reads the contents of an `.ele` file and joins it with the vertices.
pub fn read_elements(
    nodes: Nodes,
    ele: &[u8],
    limits: &MeshLimits,
) -> Result<MeshFile, MeshFileError> {
    let Nodes { mut soup, first } = nodes;
    soup.groups.allow_for(ele.len());
    let mut cursor = Cursor::new(ele)?.with_hash_comments();
    let declared = cursor.token("the number of tetrahedra")?;
    let count = declared.count("the number of tetrahedra")?;
    let corners = cursor.token("4 nodes per tetrahedron")?;
    if corners.text == b"10" {
        return Err(MeshFileError::new(
            corners.place,
            MeshFileProblem::Unsupported {
                what: "a mesh of second-order tetrahedra (10 nodes each)".to_string(),
                remedy: "run TetGen without -o2",
            },
        ));
    } else if corners.text != b"4" {
        return Err(corners.unexpected("4 nodes per tetrahedron"));
    }
    let attributes = read_attributes(&mut cursor)?;
    let least_bytes = attributes.saturating_add(5).saturating_mul(2);
    cursor.check_count(
        "tetrahedra",
        count,
        least_bytes,
        limits.max_elements,
        declared.place,
    )?;
    let vertices = soup.positions.len() as u64;
    let mut first_element = 0;
    for i in 0..count {
        let index = cursor.token("an element number")?;
        let number = index.integer("an element number")?;
        if i == 0 {
            first_element = number;
        } else if number != first_element.saturating_add_unsigned(i) {
            let due = first_element.saturating_add_unsigned(i);
            return Err(out_of_sequence("element", number, due, &index));
        }
        let at_tet = |error: MeshFileError| error.at("tetrahedron", number.unsigned_abs());
        let mut tet = [0; 4];
        for corner in &mut tet {
            let token = cursor.token("a node number").map_err(at_tet)?;
            let index = token.integer("a node number").map_err(at_tet)?;
            *corner = match u64::try_from(index.saturating_sub(first)) {
                Ok(vertex) if vertex < vertices => vertex as u32,
                _ => {
                    let count = vertices;
                    let problem = MeshFileProblem::IndexOutOfRange {
                        index,
                        first,
                        count,
                    };
                    return Err(at_tet(MeshFileError::new(token.place, problem)));
                }
            };
        }
        soup.push_tet(tet, index.place)?;
        for attribute in 0..attributes {
            let token = cursor.token("an attribute").map_err(at_tet)?;
            // The last attribute is the region, TetGen's -A.
            if attribute + 1 == attributes && token.text != b"0" {
                let name = [b"region_", token.text].concat();
                let group = soup.groups.named(&name);
                soup.groups.add(group, &tet, token.place)?;
            }
        }
    }
    soup.finish()
}

/// The number of attributes, which the first line may leave out.
fn read_attributes(cursor: &mut Cursor) -> Result<u64, MeshFileError> {
    cursor
        .next_on_line()
        .map_or(Ok(0), |token| token.count("the number of attributes"))
}

fn out_of_sequence(what: &str, found: i64, due: i64, token: &Token) -> MeshFileError {
    MeshFileError::new(
        token.place,
        MeshFileProblem::Inconsistent {
            what: format!("{what} number {found} stands where {due} is due"),
            remedy: "number them in sequence, and check the attribute counts in the first line",
        },
    )
}
