//! Stanford PLY, binary: positions and values per vertex for point-cloud and modelling tools.

use crate::frame::{Cells, Data, Frame, boundary};
use crate::{RecordError, atomic};
use std::io::{self, Write};
use std::path::Path;

/// Writes one frame of one body as binary little-endian PLY, atomically.
///
/// Positions [m] and point data become `double` properties of the vertices (vectors as `NAME_x`,
/// `NAME_y`, `NAME_z`; PLY has no 64-bit integers, so integers beyond 2⁵³ are rounded). Solids are
/// written as their boundary, lines as edges. Cell and field data are not supported.
pub fn write_ply(path: &Path, frame: &Frame) -> Result<(), RecordError> {
    frame.check(path)?;
    atomic::replace_with(path, |out| encode(out, frame))
}

fn encode(out: &mut dyn Write, frame: &Frame) -> io::Result<()> {
    let name = frame.name.replace(char::is_control, " ");
    let solid;
    let (triangles, lines): (&[[u32; 3]], &[[u32; 2]]) = match frame.cells {
        Cells::Triangles(triangles) => (triangles, &[]),
        Cells::Tets(tets) => {
            solid = boundary(tets);
            (&solid, &[])
        }
        Cells::Lines(lines) => (&[], lines),
        Cells::Points => (&[], &[]),
    };
    writeln!(
        out,
        "ply\nformat binary_little_endian 1.0\ncomment {name}\ncomment t = {:?} s\n\
         element vertex {}\nproperty double x\nproperty double y\nproperty double z",
        frame.time,
        frame.positions.len()
    )?;
    for (name, data) in frame.point_data {
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_graphic() { c } else { '_' })
            .collect();
        match data {
            Data::Vectors(_) => {
                for axis in ["x", "y", "z"] {
                    writeln!(out, "property double {name}_{axis}")?;
                }
            }
            Data::Scalars(_) | Data::Ints(_) => writeln!(out, "property double {name}")?,
        }
    }
    if !triangles.is_empty() {
        let count = triangles.len();
        writeln!(
            out,
            "element face {count}\nproperty list uchar int vertex_indices"
        )?;
    }
    if !lines.is_empty() {
        let count = lines.len();
        writeln!(
            out,
            "element edge {count}\nproperty int vertex1\nproperty int vertex2"
        )?;
    }
    writeln!(out, "end_header")?;
    let mut row = Vec::new();
    for (at, position) in frame.positions.iter().enumerate() {
        row.clear();
        let mut push = |x: f64| row.extend_from_slice(&x.to_le_bytes());
        position.iter().for_each(|&x| push(x));
        for (_, data) in frame.point_data {
            match data {
                Data::Vectors(values) => values[at].iter().for_each(|&x| push(x)),
                Data::Scalars(values) => push(values[at]),
                Data::Ints(values) => push(values[at] as f64),
            }
        }
        out.write_all(&row)?;
    }
    for triangle in triangles {
        out.write_all(&[3])?;
        for index in triangle {
            out.write_all(&index.to_le_bytes())?;
        }
    }
    lines
        .as_flattened()
        .iter()
        .try_for_each(|index| out.write_all(&index.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use stiction_math::Vec3;

    #[test]
    fn the_bytes_are_the_header_the_vertices_and_the_faces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ply");
        let positions = [Vec3::new(0.1, -0.0, 3.0), Vec3::x(), Vec3::y()];
        let speeds = [Vec3::new(7.0, 8.0, 9.0), Vec3::zeros(), Vec3::z()];
        let frame = Frame {
            name: "sheet",
            time: 0.0,
            positions: &positions,
            cells: Cells::Triangles(&[[0, 1, 2]]),
            point_data: &[
                ("v m", Data::Vectors(&speeds)),
                ("id", Data::Ints(&[4, 5, 6])),
            ],
            cell_data: &[],
            field_data: &[],
        };
        write_ply(&path, &frame).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mark = b"end_header\n";
        let at = bytes.windows(mark.len()).position(|w| w == mark).unwrap() + mark.len();
        let head = std::str::from_utf8(&bytes[..at]).unwrap();
        assert!(head.contains("property double v_m_z\nproperty double id\nelement face 1"));
        let body = &bytes[at..];
        assert_eq!(body.len(), 3 * 7 * 8 + 13);
        let number = |i: usize| f64::from_le_bytes(body[8 * i..8 * i + 8].try_into().unwrap());
        assert_eq!([number(0), number(3), number(6)], [0.1, 7.0, 4.0]);
        assert!(number(1).is_sign_negative());
        assert_eq!(number(20), 6.0);
        assert_eq!(&body[168..], [3, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);

        let cells = Cells::Lines(&[[2, 1]]);
        write_ply(&path, &Frame { cells, ..frame }).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.ends_with(&[2, 0, 0, 0, 1, 0, 0, 0]));
    }
}
