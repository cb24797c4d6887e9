//! Wavefront OBJ, one file per body and frame: positions, faces and lines.

use crate::frame::{Cells, Frame, boundary};
use crate::{RecordError, atomic, texture};
use std::io::{self, Write};
use std::path::Path;

/// Writes one frame of one body as OBJ, atomically. Solids are written as their boundary; OBJ does
/// not support values other than texture coordinates ([`crate::TextureColumns`]). Positions [m] are in shortest round-trip form, z up.
pub fn write_obj(path: &Path, frame: &Frame) -> Result<(), RecordError> {
    frame.check(path)?;
    atomic::replace_with(path, |out| encode(out, frame))
}

fn encode(out: &mut dyn Write, frame: &Frame) -> io::Result<()> {
    // A line break in a name would start a new statement.
    let name = frame.name.replace(char::is_control, " ");
    writeln!(out, "# t = {:?} s\no {name}", frame.time)?;
    for p in frame.positions {
        writeln!(out, "v {:?} {:?} {:?}", p.x, p.y, p.z)?;
    }
    if let (Cells::Triangles(triangles), Some(uv)) = (frame.cells, texture::of_frame(frame)) {
        let (list, corners) = texture::distinct(&uv);
        for uv in list {
            writeln!(out, "vt {:?} {:?}", uv.x, uv.y)?;
        }
        return triangles.iter().zip(corners).try_for_each(|(t, uv)| {
            let [a, b, c] = t.map(|index| u64::from(index) + 1);
            let [i, j, k] = uv.map(|index| index + 1);
            writeln!(out, "f {a}/{i} {b}/{j} {c}/{k}")
        });
    }
    let faces = |out: &mut dyn Write, triangles: &[[u32; 3]]| {
        triangles.iter().try_for_each(|t| {
            let [a, b, c] = t.map(|index| u64::from(index) + 1);
            writeln!(out, "f {a} {b} {c}")
        })
    };
    match frame.cells {
        Cells::Triangles(triangles) => faces(out, triangles),
        Cells::Tets(tets) => faces(out, &boundary(tets)),
        Cells::Lines(lines) => lines.iter().try_for_each(|l| {
            let [a, b] = l.map(|index| u64::from(index) + 1);
            writeln!(out, "l {a} {b}")
        }),
        Cells::Points => (1..=frame.positions.len()).try_for_each(|i| writeln!(out, "p {i}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::sequence_path;
    use stiction_math::Vec3;

    #[test]
    fn the_text_holds_exact_positions_and_one_based_indices() {
        let dir = tempfile::tempdir().unwrap();
        let positions = [
            Vec3::new(0.1, -0.0, 1e-9),
            Vec3::new(1.0 / 3.0, 2.0, 3.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.0, 0.0, 1.0),
        ];
        let mut frame = Frame {
            name: "a\nb",
            time: 0.25,
            positions: &positions,
            cells: Cells::Triangles(&[[0, 1, 2]]),
            point_data: &[],
            cell_data: &[],
            field_data: &[],
        };
        let path = sequence_path(dir.path(), "sheet", 3, "obj");
        let mut lines_with = |cells: Cells<'static>, key: &str| -> Vec<String> {
            frame.cells = cells;
            write_obj(&path, &frame).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let wanted = text.lines().filter(|line| line.starts_with(key));
            wanted.map(str::to_owned).collect()
        };
        let vertices = lines_with(Cells::Triangles(&[[0, 1, 2]]), "v ");
        for (line, p) in vertices.iter().zip(&positions) {
            let back: Vec<f64> = line[2..].split(' ').map(|x| x.parse().unwrap()).collect();
            assert!(
                back.iter()
                    .zip(p.iter())
                    .all(|(a, b)| a.to_bits() == b.to_bits()),
                "{line}"
            );
        }
        assert_eq!(lines_with(Cells::Triangles(&[[0, 1, 2]]), "f"), ["f 1 2 3"]);
        assert_eq!(lines_with(Cells::Tets(&[[0, 1, 2, 3]]), "f").len(), 4);
        assert_eq!(lines_with(Cells::Lines(&[[3, 0]]), "l"), ["l 4 1"]);
        assert_eq!(lines_with(Cells::Points, "p").len(), 4);
        assert_eq!(lines_with(Cells::Points, "o"), ["o a b"]);
    }
}
