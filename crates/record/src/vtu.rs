//! VTK unstructured grids (`.vtu`), the format that ParaView reads.
//!
//! The file is a short XML head and one block of raw little-endian bytes: positions and values as
//! `Float64`, connectivity and offsets as `Int64` (what VTK keeps in memory, so nothing is
//! converted), every array preceded by its length in bytes as `UInt64`.

use crate::frame::{Cells, Data, Frame};
use crate::xml::escape;
use crate::{RecordError, atomic};
use std::io::{self, Write};
use std::path::Path;

/// Encoding of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Raw bytes after the XML; small, fast and exact.
    #[default]
    Raw,
    /// Decimal text in shortest round-trip form; for reading by eye. VTK's own reader does not
    /// accept infinities there.
    Ascii,
}

/// Writes one frame of one body to `path`, atomically.
pub fn write_vtu(path: &Path, frame: &Frame, encoding: Encoding) -> Result<(), RecordError> {
    frame.check(path)?;
    atomic::replace_with(path, |out| encode(out, frame, encoding))
}

fn encode(out: &mut dyn Write, frame: &Frame, encoding: Encoding) -> io::Result<()> {
    let points = frame.positions.len();
    let cells = frame.cells.len(points);
    let mut writer = Writer {
        out,
        encoding,
        appended: Vec::new(),
        offset: 0,
    };
    writeln!(
        writer.out,
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" \
         byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n<FieldData>"
    )?;
    writer.array(
        "TimeValue",
        Column::F64(std::slice::from_ref(&frame.time)),
        true,
    )?;
    for (name, data) in frame.field_data {
        writer.array(name, (*data).into(), true)?;
    }
    writeln!(
        writer.out,
        "</FieldData>\n<Piece NumberOfPoints=\"{points}\" NumberOfCells=\"{cells}\">\n<PointData>"
    )?;
    for (name, data) in frame.point_data {
        writer.array(name, (*data).into(), false)?;
    }
    writeln!(writer.out, "</PointData>\n<CellData>")?;
    for (name, data) in frame.cell_data {
        writer.array(name, (*data).into(), false)?;
    }
    writeln!(writer.out, "</CellData>\n<Points>")?;
    writer.array("Points", Column::Vec3(frame.positions), false)?;
    writeln!(writer.out, "</Points>\n<Cells>")?;
    match frame.cells {
        Cells::Points => writer.array("connectivity", Column::Range(0, 1, points), false)?,
        _ => writer.array("connectivity", Column::U32(frame.cells.indices()), false)?,
    }
    let corners = frame.cells.corners() as i64;
    writer.array("offsets", Column::Range(corners, corners, cells), false)?;
    writer.array("types", Column::U8(vtk_type(frame.cells), cells), false)?;
    writeln!(writer.out, "</Cells>\n</Piece>\n</UnstructuredGrid>")?;
    writer.finish()
}

/// VTK's cell type.
fn vtk_type(cells: Cells) -> u8 {
    match cells {
        Cells::Points => 1,
        Cells::Lines(_) => 3,
        Cells::Triangles(_) => 5,
        Cells::Tets(_) => 10,
    }
}

/// An array of a file; regular sequences are generated.
#[derive(Clone, Copy)]
enum Column<'a> {
    F64(&'a [f64]),
    Vec3(&'a [stiction_math::Vec3]),
    I64(&'a [i64]),
    /// Written as `Int64`.
    U32(&'a [u32]),
    /// First value, increment, count; written as `Int64`.
    Range(i64, i64, usize),
    /// A constant value and its count.
    U8(u8, usize),
}

impl<'a> From<Data<'a>> for Column<'a> {
    fn from(data: Data<'a>) -> Self {
        match data {
            Data::Scalars(values) => Self::F64(values),
            Data::Vectors(values) => Self::Vec3(values),
            Data::Ints(values) => Self::I64(values),
        }
    }
}

impl Column<'_> {
    fn vtk_name(&self) -> &'static str {
        match self {
            Self::F64(_) | Self::Vec3(_) => "Float64",
            Self::I64(_) | Self::U32(_) | Self::Range(..) => "Int64",
            Self::U8(..) => "UInt8",
        }
    }

    fn tuples(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::Vec3(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::Range(_, _, count) | Self::U8(_, count) => *count,
        }
    }

    fn bytes(&self) -> u64 {
        let width = match self {
            Self::Vec3(_) => 24,
            Self::U8(..) => 1,
            _ => 8,
        };
        width * self.tuples() as u64
    }

    fn write_raw(&self, out: &mut dyn Write) -> io::Result<()> {
        match *self {
            Self::F64(values) => each(out, values.iter().map(|x| x.to_le_bytes())),
            Self::Vec3(values) => each(
                out,
                values
                    .iter()
                    .flat_map(|v| v.iter().map(|x| x.to_le_bytes())),
            ),
            Self::I64(values) => each(out, values.iter().map(|i| i.to_le_bytes())),
            Self::U32(values) => each(out, values.iter().map(|&i| i64::from(i).to_le_bytes())),
            Self::Range(first, by, count) => each(
                out,
                (0..count as i64).map(|i| (first + by * i).to_le_bytes()),
            ),
            Self::U8(value, count) => each(out, (0..count).map(|_| [value])),
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match *self {
            Self::F64(values) => values.iter().try_for_each(|x| writeln!(out, "{x:?}")),
            Self::Vec3(values) => values
                .iter()
                .try_for_each(|v| writeln!(out, "{:?} {:?} {:?}", v.x, v.y, v.z)),
            Self::I64(values) => values.iter().try_for_each(|i| writeln!(out, "{i}")),
            Self::U32(values) => values.iter().try_for_each(|i| writeln!(out, "{i}")),
            Self::Range(first, by, count) => {
                (0..count as i64).try_for_each(|i| writeln!(out, "{}", first + by * i))
            }
            Self::U8(value, count) => (0..count).try_for_each(|_| writeln!(out, "{value}")),
        }
    }
}

fn each<const N: usize>(
    out: &mut dyn Write,
    mut values: impl Iterator<Item = [u8; N]>,
) -> io::Result<()> {
    // Buffered in blocks, because a `dyn Write` call per number would dominate.
    let mut block = [0u8; 4096];
    loop {
        let mut filled = 0;
        while filled + N <= block.len() {
            let Some(value) = values.next() else {
                return out.write_all(&block[..filled]);
            };
            block[filled..filled + N].copy_from_slice(&value);
            filled += N;
        }
        out.write_all(&block[..filled])?;
    }
}

struct Writer<'a, 'b> {
    out: &'a mut dyn Write,
    encoding: Encoding,
    appended: Vec<Column<'b>>,
    offset: u64,
}

impl<'b> Writer<'_, 'b> {
    fn array(&mut self, name: &str, column: Column<'b>, field: bool) -> io::Result<()> {
        let components = match column {
            Column::Vec3(_) => " NumberOfComponents=\"3\"",
            _ => "",
        };
        // Points and cells imply the length of their arrays; the array of a field has to state it.
        let tuples = if field {
            format!(" NumberOfTuples=\"{}\"", column.tuples())
        } else {
            String::new()
        };
        write!(
            self.out,
            "<DataArray type=\"{}\" Name=\"{}\"{components}{tuples}",
            column.vtk_name(),
            escape(name)
        )?;
        match self.encoding {
            Encoding::Raw => {
                writeln!(
                    self.out,
                    " format=\"appended\" offset=\"{}\"/>",
                    self.offset
                )?;
                self.offset += 8 + column.bytes();
                self.appended.push(column);
            }
            Encoding::Ascii => {
                writeln!(self.out, " format=\"ascii\">")?;
                column.write_text(self.out)?;
                writeln!(self.out, "</DataArray>")?;
            }
        }
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        if self.encoding == Encoding::Raw {
            write!(self.out, "<AppendedData encoding=\"raw\">\n_")?;
            for column in self.appended {
                self.out.write_all(&column.bytes().to_le_bytes())?;
                column.write_raw(self.out)?;
            }
            writeln!(self.out, "\n</AppendedData>")?;
        }
        writeln!(self.out, "</VTKFile>")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::vtu_read::{StoredCells, StoredData, read_vtu};
    use stiction_math::Vec3;

    fn awkward(n: usize) -> Vec<Vec3> {
        let specials = [-0.0, 5e-324, 1.0 / 3.0, -1.7976931348623157e308, 6.02e23];
        (0..n)
            .map(|i| Vec3::from_fn(|k, _| specials[(i + 2 * k) % 5] + i as f64 * 1e-7))
            .collect()
    }

    fn same(a: &[Vec3], b: &[Vec3]) -> bool {
        let bits = |v: &[Vec3]| -> Vec<u64> {
            v.iter()
                .flat_map(|v| v.iter().map(|x| x.to_bits()))
                .collect()
        };
        bits(a) == bits(b)
    }

    #[test]
    fn written_values_are_read_back_bit_for_bit() {
        let dir = tempfile::tempdir().unwrap();
        let positions = awkward(700);
        let triangles: Vec<[u32; 3]> = (0..698).map(|i| [i, i + 1, i + 2]).collect();
        let tets: Vec<[u32; 4]> = (0..697).map(|i| [i, i + 1, i + 2, i + 3]).collect();
        let lines: Vec<[u32; 2]> = (0..699).map(|i| [i, i + 1]).collect();
        let all = [
            Cells::Triangles(&triangles),
            Cells::Tets(&tets),
            Cells::Lines(&lines),
            Cells::Points,
        ];
        let scalars: Vec<f64> = positions.iter().map(|p| p.x * 0.1).collect();
        for cells in all {
            let ints: Vec<i64> = (0..cells.len(700) as i64)
                .map(|i| i - (i64::MAX / 3))
                .collect();
            let point_data = [
                ("pressure <Pa>", Data::Scalars(&scalars)),
                ("velocity", Data::Vectors(&positions)),
            ];
            let cell_data = [("id", Data::Ints(&ints))];
            let frame = Frame {
                name: "sheet \"é\" & co",
                time: 0.1 + 0.2,
                positions: &positions,
                cells,
                point_data: &point_data,
                cell_data: &cell_data,
                field_data: &[("step", Data::Ints(&[42]))],
            };
            for encoding in [Encoding::Raw, Encoding::Ascii] {
                let path = dir.path().join("a.vtu");
                write_vtu(&path, &frame, encoding).unwrap();
                let back = read_vtu(&path).unwrap();
                assert_eq!(back.time, Some(frame.time));
                assert!(same(&back.positions, &positions));
                match (cells, &back.cells) {
                    (Cells::Triangles(a), StoredCells::Triangles(b)) => assert_eq!(a, b),
                    (Cells::Tets(a), StoredCells::Tets(b)) => assert_eq!(a, b),
                    (Cells::Lines(a), StoredCells::Lines(b)) => assert_eq!(a, b),
                    (Cells::Points, StoredCells::Points) => {}
                    (a, b) => panic!("wrote {a:?}, read {b:?}"),
                }
                assert_eq!(back.point_data[0].0, "pressure <Pa>");
                let StoredData::Scalars(values) = &back.point_data[0].1 else {
                    panic!("not scalars")
                };
                assert!(
                    values
                        .iter()
                        .zip(&scalars)
                        .all(|(a, b)| a.to_bits() == b.to_bits())
                );
                let StoredData::Vectors(values) = &back.point_data[1].1 else {
                    panic!("not vectors")
                };
                assert!(same(values, &positions));
                assert_eq!(
                    back.cell_data[0],
                    ("id".into(), StoredData::Ints(ints.clone()))
                );
                assert_eq!(
                    back.field_data[0],
                    ("step".into(), StoredData::Ints(vec![42]))
                );
            }
        }
    }

    #[test]
    fn contradictions_are_refused_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.vtu");
        let good = Frame {
            name: "sheet",
            time: 0.0,
            positions: &awkward(3),
            cells: Cells::Triangles(&[[0, 1, 2]]),
            point_data: &[],
            cell_data: &[],
            field_data: &[],
        };
        let check = |frame: &Frame, expected: &str| {
            let message = write_vtu(&path, frame, Encoding::Raw)
                .unwrap_err()
                .to_string();
            assert!(
                message.contains(expected) && message.contains("sheet"),
                "{message}"
            );
            assert!(!path.exists());
        };
        let cells = Cells::Triangles(&[[0, 1, 2], [0, 1, 3]]);
        check(&Frame { cells, ..good }, "cell 1 names vertex 3");
        let short = [("v", Data::Scalars(&[1.0, 2.0]))];
        check(
            &Frame {
                point_data: &short,
                ..good
            },
            "2 entries, expected 3",
        );
        check(
            &Frame {
                cell_data: &short,
                ..good
            },
            "2 entries, expected 1",
        );
        let twice = [("v", Data::Ints(&[1])), ("v", Data::Ints(&[1]))];
        check(
            &Frame {
                cell_data: &twice,
                ..good
            },
            "twice",
        );
        write_vtu(&path, &good, Encoding::Raw).unwrap();
    }
}
