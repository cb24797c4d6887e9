//! VTK legacy and VTU.

use miniz_oxide::deflate::compress_to_vec_zlib;
use stiction_math::Vec3;

use super::{Order, Out};

pub fn vtk(
    positions: &[Vec3],
    cells: &[(u8, Vec<u32>)],
    order: Order,
    version: u32,
    poly: bool,
) -> Vec<u8> {
    let mut out = Out::new(order);
    out.text(&format!("# vtk DataFile Version {version}.1\na test\n"));
    out.text(if order == Order::Text {
        "ASCII\n"
    } else {
        "BINARY\n"
    });
    out.text(if poly {
        "DATASET POLYDATA\n"
    } else {
        "DATASET UNSTRUCTURED_GRID\n"
    });
    out.text("FIELD FieldData 1\nTimeValue 1 1 double\n");
    out.f64(0.25);
    out.text(&format!("\nPOINTS {} double\n", positions.len()));
    for p in positions {
        out.point(p);
        out.line();
    }
    let corners: usize = cells.iter().map(|(_, cell)| cell.len()).sum();
    out.text("\nMETADATA\nINFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 1\n\n");
    let section = if poly { "POLYGONS" } else { "CELLS" };
    if version >= 5 {
        out.text(&format!(
            "{section} {} {corners}\nOFFSETS vtktypeint64\n",
            cells.len() + 1
        ));
        let mut end = 0;
        out.u64(0);
        for (_, cell) in cells {
            end += cell.len() as u64;
            out.u64(end);
        }
        out.text("\nCONNECTIVITY vtktypeint64\n");
        for v in cells.iter().flat_map(|(_, cell)| cell) {
            out.u64(u64::from(*v));
        }
    } else {
        out.text(&format!(
            "{section} {} {}\n",
            cells.len(),
            corners + cells.len()
        ));
        for (_, cell) in cells {
            out.i32(cell.len() as i32);
            for v in cell {
                out.i32(*v as i32);
            }
            out.line();
        }
    }
    if !poly {
        out.text(&format!("\nCELL_TYPES {}\n", cells.len()));
        for (kind, _) in cells {
            out.i32(i32::from(*kind));
        }
    }
    out.text(&format!(
        "\nPOINT_DATA {}\nSCALARS s float 1\nLOOKUP_TABLE default\n",
        positions.len()
    ));
    out.bytes
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data {
    Text,
    Inline,
    Raw,
    Base64,
}

#[derive(Clone, Copy, Debug)]
pub struct VtuStyle {
    pub place: Data,
    pub compressed: bool,
    pub wide: bool,
    pub order: Order,
}

/// With a point array `velocity`, a cell array `area & more` and a field array `time`.
pub fn vtu(positions: &[Vec3], cells: &[(u8, Vec<u32>)], style: VtuStyle) -> Vec<u8> {
    let order = if style.place == Data::Text {
        Order::Text
    } else {
        style.order
    };
    let fill = |put: &dyn Fn(&mut Out)| {
        let mut out = Out::new(order);
        put(&mut out);
        out.bytes
    };
    let mut end = 0;
    let ends: Vec<u64> = cells
        .iter()
        .map(|(_, cell)| {
            end += cell.len() as u64;
            end
        })
        .collect();
    let points = fill(&|o| positions.iter().for_each(|p| o.point(p)));
    let velocity = fill(&|o| positions.iter().for_each(|p| o.point(&(p * 2.0))));
    let connectivity = fill(&|o| {
        for v in cells.iter().flat_map(|(_, cell)| cell) {
            o.i32(*v as i32);
        }
    });
    let offsets = fill(&|o| ends.iter().for_each(|v| o.u64(*v)));
    let types = fill(&|o| cells.iter().for_each(|(kind, _)| o.u8(*kind)));
    let area = fill(&|o| (0..cells.len()).for_each(|i| o.f32(i as f32 + 0.5)));
    let time = fill(&|o| o.f64(1.25));
    let mut appended = Vec::new();
    let mut array = |name: &str, kind: &str, components: usize, data: Vec<u8>| {
        let head =
            format!("<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents='{components}'");
        let packed = pack(&data, style);
        match style.place {
            Data::Text => {
                let text = String::from_utf8(data).unwrap();
                format!("{head} format=\"ascii\">\n{text}\n</DataArray>\n")
            }
            Data::Inline => {
                let text = packed.iter().map(|part| base64(part)).collect::<String>();
                format!("{head} format=\"binary\">\n {text}\n</DataArray>\n")
            }
            Data::Raw | Data::Base64 => {
                let offset = appended.len();
                for part in &packed {
                    if style.place == Data::Raw {
                        appended.extend_from_slice(part);
                    } else {
                        appended.extend_from_slice(base64(part).as_bytes());
                    }
                }
                format!("{head} format=\"appended\" offset=\"{offset}\"/>\n")
            }
        }
    };
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<!-- <Piece> -->\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" \
         byte_order=\"{}\" header_type=\"{}\"{}>\n<UnstructuredGrid>\n<FieldData>\n{}</FieldData>\n\
         <Piece NumberOfPoints=\"{}\" NumberOfCells=\"{}\">\n",
        if style.order == Order::Big {
            "BigEndian"
        } else {
            "LittleEndian"
        },
        if style.wide { "UInt64" } else { "UInt32" },
        if style.compressed {
            " compressor=\"vtkZLibDataCompressor\""
        } else {
            ""
        },
        array("time", "Float64", 1, time),
        positions.len(),
        cells.len(),
    );
    text += &format!(
        "<PointData>\n{}</PointData>\n",
        array("velocity", "Float64", 3, velocity)
    );
    text += &format!(
        "<CellData>\n{}</CellData>\n",
        array("area &amp; more", "Float32", 1, area)
    );
    text += &format!(
        "<Points>\n{}</Points>\n<Cells>\n",
        array("Points", "Float64", 3, points)
    );
    text += &array("connectivity", "Int32", 1, connectivity);
    text += &array("offsets", "UInt64", 1, offsets);
    text += &array("types", "UInt8", 1, types);
    text += "</Cells>\n</Piece>\n</UnstructuredGrid>\n";
    let mut bytes = text.into_bytes();
    if matches!(style.place, Data::Raw | Data::Base64) {
        let encoding = if style.place == Data::Raw {
            "raw"
        } else {
            "base64"
        };
        bytes.extend(format!("<AppendedData encoding=\"{encoding}\">\n_").into_bytes());
        bytes.extend(appended);
        bytes.extend(b"\n</AppendedData>\n");
    }
    bytes.extend(b"</VTKFile>\n");
    bytes
}

/// The parts that VTK encodes separately: length and data together, or for compressed data the
/// header and the blocks. Blocks are short, so that several are needed.
fn pack(data: &[u8], style: VtuStyle) -> Vec<Vec<u8>> {
    let mut out = Out::new(style.order);
    let word = |out: &mut Out, v: usize| {
        if style.wide {
            out.u64(v as u64);
        } else {
            out.i32(v as i32);
        }
    };
    if !style.compressed {
        word(&mut out, data.len());
        out.bytes.extend_from_slice(data);
        return vec![out.bytes];
    }
    const BLOCK: usize = 64;
    let blocks: Vec<Vec<u8>> = data
        .chunks(BLOCK)
        .map(|b| compress_to_vec_zlib(b, 6))
        .collect();
    word(&mut out, blocks.len());
    word(&mut out, BLOCK);
    word(&mut out, data.len() % BLOCK);
    for block in &blocks {
        word(&mut out, block.len());
    }
    vec![out.bytes, blocks.concat()]
}

pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(word);
        for i in 0..4 {
            if i <= group.len() {
                text.push(char::from(DIGITS[(word >> (18 - 6 * i)) as usize & 63]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
