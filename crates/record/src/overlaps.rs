//! Overlaps of the initial state as a VTU file.

use std::path::Path;

use stiction_math::Vec3;
use stiction_sim::overlap::{BodyPart, Overlap, SurfaceElement};

use crate::{Cells, Data, Encoding, Frame, RecordError, write_vtu};

/// The file name.
pub const OVERLAPS: &str = "overlaps.vtu";

/// Writes both sides of every overlap as cells with the columns `body` (index of the body, or of
/// the obstacle, counted after all bodies), `element` (its triangle, or the first vertex of an edge
/// or the vertex itself), `corners` (3, 2 or 1), `partner` (index of the other body or obstacle),
/// `pair` (index of the overlap) and `depth` [m], −1 where surfaces cross. All cells are triangles;
/// the last corner of an edge or vertex is repeated.
pub fn write_overlaps(path: &Path, overlaps: &[Overlap]) -> Result<(), RecordError> {
    let mut positions: Vec<Vec3> = Vec::new();
    let mut cells: Vec<[u32; 3]> = Vec::new();
    let mut ints: [Vec<i64>; 5] = Default::default();
    let mut depth = Vec::new();
    for (pair, overlap) in overlaps.iter().enumerate() {
        let sides = [
            (&overlap.first, &overlap.second),
            (&overlap.second, &overlap.first),
        ];
        for (own, other) in sides {
            let count = own.corners.len();
            if count == 0 {
                continue;
            }
            let first = positions.len() as u32;
            let last = first + count as u32 - 1;
            positions.extend(&own.corners);
            cells.push([0, 1, 2].map(|k| (first + k).min(last)));
            let row = [
                own.number,
                element(own),
                count as u32,
                other.number,
                pair as u32,
            ];
            for (column, value) in ints.iter_mut().zip(row) {
                column.push(i64::from(value));
            }
            depth.push(overlap.depth.unwrap_or(-1.0));
        }
    }
    let [body, element, corners, partner, pair] = &ints;
    let frame = Frame {
        name: "overlaps",
        time: 0.0,
        positions: &positions,
        cells: Cells::Triangles(&cells),
        point_data: &[],
        cell_data: &[
            ("body", Data::Ints(body)),
            ("element", Data::Ints(element)),
            ("corners", Data::Ints(corners)),
            ("partner", Data::Ints(partner)),
            ("pair", Data::Ints(pair)),
            ("depth", Data::Scalars(&depth)),
        ],
        field_data: &[],
    };
    write_vtu(path, &frame, Encoding::Raw)
}

fn element(place: &BodyPart) -> u32 {
    match place.element {
        SurfaceElement::Vertex(v) => v,
        SurfaceElement::Edge([a, _]) => a,
        SurfaceElement::Triangle(t) => t,
        SurfaceElement::Whole => 0,
    }
}
