//! Writers of every mesh format and variant that the readers know, for tests only. They are
//! straightforward on purpose: one `push` after the other, no cleverness shared with the readers.

#![allow(dead_code)]

use miniz_oxide::deflate::compress_to_vec_zlib;
use stiction_geometry::{TetMesh, TriMesh};
use stiction_math::Vec3;

/// A file in some variant: what to call it in a failure, its extension, its bytes.
pub type Written = (String, &'static str, Vec<u8>);

/// A unit cube of twelve triangles, vertices numbered in the order in which the triangles use
/// them (STL keeps no other numbering), coordinates exact in 32 bits.
pub fn cube() -> TriMesh {
    let corner = |i: u32| {
        Vec3::new(
            f64::from(i & 1),
            f64::from(i >> 1 & 1),
            f64::from(i >> 2) - 0.5,
        )
    };
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let mut mesh = TriMesh::default();
    let mut number = [u32::MAX; 8];
    for [a, b, c, d] in quads {
        for triangle in [[a, b, c], [a, c, d]] {
            mesh.triangles.push(triangle.map(|old: u32| {
                let new = &mut number[old as usize];
                if *new == u32::MAX {
                    *new = mesh.positions.len() as u32;
                    mesh.positions.push(corner(old));
                }
                *new
            }));
        }
    }
    mesh
}

/// A box of 2×1×1 cubes, six tetrahedra each.
pub fn tet_box() -> TetMesh {
    let mut mesh = TetMesh::default();
    for z in 0..2 {
        for y in 0..2 {
            for x in 0..3 {
                mesh.positions
                    .push(Vec3::new(f64::from(x) * 0.5, f64::from(y), f64::from(z)));
            }
        }
    }
    for x in 0..2u32 {
        let at = |i: u32, j: u32, k: u32| x + i + 3 * j + 6 * k;
        for path in [
            [0, 1, 2],
            [1, 2, 0],
            [2, 0, 1],
            [0, 2, 1],
            [2, 1, 0],
            [1, 0, 2],
        ] {
            let mut step = [0; 3];
            let mut tet = [at(0, 0, 0); 4];
            for (corner, axis) in tet[1..].iter_mut().zip(path) {
                step[axis] = 1;
                *corner = at(step[0], step[1], step[2]);
            }
            let [a, b, c, d] = tet.map(|v| mesh.positions[v as usize]);
            if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
                tet.swap(1, 2);
            }
            mesh.tets.push(tet);
        }
    }
    mesh
}

/// Every surface file.
pub fn surface_files(mesh: &TriMesh) -> Vec<Written> {
    let mut files = vec![
        ("obj".into(), "obj", obj(mesh)),
        ("obj relative".into(), "obj", obj_relative(mesh)),
        ("ply text".into(), "ply", ply(mesh, Order::Text, false)),
        ("ply little".into(), "ply", ply(mesh, Order::Little, false)),
        ("ply big".into(), "ply", ply(mesh, Order::Big, false)),
        (
            "ply text reordered".into(),
            "ply",
            ply(mesh, Order::Text, true),
        ),
        (
            "ply little reordered".into(),
            "ply",
            ply(mesh, Order::Little, true),
        ),
        (
            "ply big reordered".into(),
            "ply",
            ply(mesh, Order::Big, true),
        ),
        ("stl text".into(), "stl", stl_text(mesh)),
        (
            "stl binary".into(),
            "stl",
            stl_binary(mesh, b"made by a test"),
        ),
        (
            "stl binary solid".into(),
            "stl",
            stl_binary(mesh, b"solid facet in disguise"),
        ),
    ];
    let cells: Vec<(u8, Vec<u32>)> = mesh.triangles.iter().map(|t| (5, t.to_vec())).collect();
    files.extend(cell_files(&mesh.positions, &cells));
    for order in [Order::Text, Order::Big] {
        for version in [3, 5] {
            let bytes = vtk(&mesh.positions, &cells, order, version, true);
            files.push((format!("vtk polydata {order:?} {version}"), "vtk", bytes));
        }
    }
    files
}

/// Every tetrahedron file except TetGen's pair.
pub fn tet_files(mesh: &TetMesh) -> Vec<Written> {
    let cells: Vec<(u8, Vec<u32>)> = mesh.tets.iter().map(|t| (10, t.to_vec())).collect();
    cell_files(&mesh.positions, &cells)
}

fn cell_files(positions: &[Vec3], cells: &[(u8, Vec<u32>)]) -> Vec<Written> {
    let mut files = Vec::new();
    for order in [Order::Text, Order::Little, Order::Big] {
        files.push((
            format!("msh 2.2 {order:?}"),
            "msh",
            msh2(positions, cells, order),
        ));
        files.push((
            format!("msh 4.1 {order:?}"),
            "msh",
            msh4(positions, cells, order),
        ));
    }
    for order in [Order::Text, Order::Big] {
        for version in [3, 5] {
            let bytes = vtk(positions, cells, order, version, false);
            files.push((format!("vtk {order:?} {version}"), "vtk", bytes));
        }
    }
    for place in [Data::Text, Data::Inline, Data::Raw, Data::Base64] {
        for compressed in [false, true] {
            for wide in [false, true] {
                for order in [Order::Little, Order::Big] {
                    let style = VtuStyle {
                        place,
                        compressed,
                        wide,
                        order,
                    };
                    files.push((
                        format!("vtu {style:?}"),
                        "vtu",
                        vtu(positions, cells, style),
                    ));
                }
            }
        }
    }
    files
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Text,
    Little,
    Big,
}

/// Bytes under construction, in text or binary.
struct Out {
    bytes: Vec<u8>,
    order: Order,
}

impl Out {
    fn new(order: Order) -> Self {
        Out {
            bytes: Vec::new(),
            order,
        }
    }
    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }
    fn put(&mut self, text: String, little: &[u8]) {
        match self.order {
            Order::Text => {
                self.text(&text);
                self.text(" ");
            }
            Order::Little => self.bytes.extend_from_slice(little),
            Order::Big => self.bytes.extend(little.iter().rev()),
        }
    }
    fn u8(&mut self, v: u8) {
        self.put(v.to_string(), &[v]);
    }
    fn i32(&mut self, v: i32) {
        self.put(v.to_string(), &v.to_le_bytes());
    }
    fn u64(&mut self, v: u64) {
        self.put(v.to_string(), &v.to_le_bytes());
    }
    fn f32(&mut self, v: f32) {
        self.put(v.to_string(), &v.to_le_bytes());
    }
    fn f64(&mut self, v: f64) {
        self.put(v.to_string(), &v.to_le_bytes());
    }
    fn point(&mut self, p: &Vec3) {
        for v in p.iter() {
            self.f64(*v);
        }
    }
    /// A line break in text; binary data runs on.
    fn line(&mut self) {
        if self.order == Order::Text {
            self.text("\n");
        }
    }
}

pub fn obj(mesh: &TriMesh) -> Vec<u8> {
    let mut text = String::from("# a comment\no the cube\n");
    for p in &mesh.positions {
        text += &format!("v {} {} {}\n", p.x, p.y, p.z);
    }
    for t in &mesh.triangles {
        text += &format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
    }
    text.into_bytes()
}

/// Negative indices, texture and normal indices, continuation lines, Windows line ends.
fn obj_relative(mesh: &TriMesh) -> Vec<u8> {
    let n = mesh.positions.len() as i64;
    let mut text = String::from("vt 0 0\r\nvn 0 0 1\r\n");
    for p in &mesh.positions {
        text += &format!("v {} \\\r\n {} {} # trailing\r\n", p.x, p.y, p.z);
    }
    for t in &mesh.triangles {
        let [a, b, c] = t.map(|v| i64::from(v) - n);
        text += &format!("f {a}/1 {b}//1\\\r\n {c}/1/1\r\n");
    }
    text.into_bytes()
}

pub fn ply(mesh: &TriMesh, order: Order, reordered: bool) -> Vec<u8> {
    let mut out = Out::new(order);
    let format = match order {
        Order::Text => "ascii",
        Order::Little => "binary_little_endian",
        Order::Big => "binary_big_endian",
    };
    let (vertices, faces) = (mesh.positions.len(), mesh.triangles.len());
    out.text(&format!(
        "ply\nformat {format} 1.0\ncomment element vertex 9\n"
    ));
    if !reordered {
        out.text(&format!(
            "element vertex {vertices}\nproperty double x\nproperty double y\nproperty double z\n\
             element face {faces}\nproperty list uchar int vertex_indices\nend_header\n"
        ));
        for p in &mesh.positions {
            out.point(p);
            out.line();
        }
        for t in &mesh.triangles {
            out.u8(3);
            for v in t {
                out.i32(*v as i32);
            }
            out.line();
        }
        return out.bytes;
    }
    out.text(&format!(
        "element odd 2\nproperty list int float bits\nproperty uchar c\n\
         element face {faces}\nproperty float quality\nproperty list int uint64 vertex_index\n\
         element empty 1000000000000\n\
         element vertex {vertices}\nproperty uchar red\nproperty float64 z\n\
         property list uint8 int32 rings\nproperty float32 x\nproperty float64 y\n\
         element last 5\nproperty double missing\nend_header\n"
    ));
    for bits in [3, 0] {
        out.i32(bits);
        for bit in 0..bits {
            out.f32(bit as f32 + 0.5);
        }
        out.u8(7);
        out.line();
    }
    for t in &mesh.triangles {
        out.f32(0.25);
        out.i32(3);
        for v in t {
            out.u64(u64::from(*v));
        }
        out.line();
    }
    for p in &mesh.positions {
        out.u8(200);
        out.f64(p.z);
        out.u8(2);
        out.i32(-1);
        out.i32(5);
        out.f32(p.x as f32);
        out.f64(p.y);
        out.line();
    }
    out.bytes
}

pub fn stl_text(mesh: &TriMesh) -> Vec<u8> {
    let mut text = String::from("solid the cube\n");
    for t in &mesh.triangles {
        text += " facet normal nan 0 0\n  outer loop\n";
        for p in t.map(|v| mesh.positions[v as usize]) {
            text += &format!("   vertex {:e} {} {}\n", p.x, p.y, p.z);
        }
        text += "  endloop\n endfacet\n";
    }
    text += "endsolid the cube\n";
    text.into_bytes()
}

pub fn stl_binary(mesh: &TriMesh, comment: &[u8]) -> Vec<u8> {
    let mut out = Out::new(Order::Little);
    out.bytes.extend_from_slice(comment);
    out.bytes.resize(80, b' ');
    out.i32(mesh.triangles.len() as i32);
    for t in &mesh.triangles {
        for _ in 0..3 {
            out.f32(f32::NAN);
        }
        for p in t.map(|v| mesh.positions[v as usize]) {
            for x in p.iter() {
                // Minus zero is the same place as zero.
                out.f32(if *x == 0.0 { -0.0 } else { *x as f32 });
            }
        }
        out.bytes.extend([0, 0]);
    }
    out.bytes
}

fn gmsh_type(vtk_type: u8) -> (i32, i32) {
    if vtk_type == 5 { (2, 2) } else { (4, 3) }
}

/// Tags with gaps and falling order; a physical group `left` on the first cell, no name for the
/// group of the others, and the first cell repeated for a second group, as Gmsh does.
pub fn msh2(positions: &[Vec3], cells: &[(u8, Vec<u32>)], order: Order) -> Vec<u8> {
    let mut out = Out::new(order);
    let tag = |v: u32| 1000 - 3 * v as i32;
    out.text(&format!(
        "$MeshFormat\n2.2 {} 8\n",
        i32::from(order != Order::Text)
    ));
    if order != Order::Text {
        out.i32(1);
        out.text("\n");
    }
    let (kind, dimension) = gmsh_type(cells[0].0);
    out.text(&format!(
        "$EndMeshFormat\n$PhysicalNames\n1\n{dimension} 7 \"left side\"\n$EndPhysicalNames\n\
         $Comments\n$ $Nodes not these\n$EndComments\n$Nodes\n{}\n",
        positions.len()
    ));
    for (v, p) in positions.iter().enumerate() {
        out.i32(tag(v as u32));
        out.point(p);
        out.line();
    }
    out.text(&format!("\n$EndNodes\n$Elements\n{}\n", cells.len() + 1));
    let mut put = |number: usize, physical: i32, cell: &[u32]| {
        if order == Order::Text {
            out.i32(number as i32);
        }
        out.i32(kind);
        if order != Order::Text {
            out.i32(1);
        }
        out.i32(2);
        if order != Order::Text {
            out.i32(number as i32);
        }
        out.i32(physical);
        out.i32(99);
        for v in cell {
            out.i32(tag(*v));
        }
        out.line();
    };
    put(1, 7, &cells[0].1);
    put(2, 8, &cells[0].1);
    for (i, (_, cell)) in cells.iter().enumerate().skip(1) {
        put(i + 2, 8, cell);
    }
    out.text("\n$EndElements\n");
    out.bytes
}

/// The same groups as [`msh2`]; nodes in two blocks, one of them parametric.
pub fn msh4(positions: &[Vec3], cells: &[(u8, Vec<u32>)], order: Order) -> Vec<u8> {
    let mut out = Out::new(order);
    let tag = |v: usize| 5 + v as u64;
    out.text(&format!(
        "$MeshFormat\n4.1 {} 8\n",
        i32::from(order != Order::Text)
    ));
    if order != Order::Text {
        out.i32(1);
        out.text("\n");
    }
    let (kind, dimension) = gmsh_type(cells[0].0);
    out.text(&format!(
        "$EndMeshFormat\n$PhysicalNames\n1\n{dimension} 7 \"left side\"\n$EndPhysicalNames\n$Entities\n"
    ));
    for d in 0..4 {
        out.u64(if d == dimension || d == 0 {
            if d == 0 { 1 } else { 2 }
        } else {
            0
        });
    }
    out.line();
    out.i32(1);
    out.point(&positions[0]);
    out.u64(0);
    out.line();
    for (entity, physical) in [(1, &[7, 8][..]), (2, &[-8])] {
        out.i32(entity);
        out.point(&positions[0]);
        out.point(&positions[0]);
        out.u64(physical.len() as u64);
        for p in physical {
            out.i32(*p);
        }
        out.u64(1);
        out.i32(-1);
        out.line();
    }
    out.text("\n$EndEntities\n$Nodes\n");
    let n = positions.len();
    for v in [2, n as u64, tag(0), tag(n - 1)] {
        out.u64(v);
    }
    out.line();
    for (range, parametric) in [(0..3, 1), (3..n, 0)] {
        out.i32(2);
        out.i32(1);
        out.i32(parametric);
        out.u64(range.len() as u64);
        out.line();
        for v in range.clone() {
            out.u64(tag(v));
            out.line();
        }
        for v in range {
            out.point(&positions[v]);
            if parametric == 1 {
                out.f64(0.1);
                out.f64(0.2);
            }
            out.line();
        }
    }
    out.text("\n$EndNodes\n$Elements\n");
    for v in [3, cells.len() as u64 + 1, 1, cells.len() as u64 + 1] {
        out.u64(v);
    }
    out.line();
    // A point element, which is no part of the mesh.
    out.i32(0);
    out.i32(1);
    out.i32(15);
    out.u64(1);
    out.line();
    out.u64(1);
    out.u64(tag(0));
    out.line();
    let mut number = 2;
    for (entity, part) in [(1, &cells[..1]), (2, &cells[1..])] {
        out.i32(dimension);
        out.i32(entity);
        out.i32(kind);
        out.u64(part.len() as u64);
        out.line();
        for (_, cell) in part {
            out.u64(number);
            number += 1;
            for v in cell {
                out.u64(tag(*v as usize));
            }
            out.line();
        }
    }
    out.text("\n$EndElements\n");
    out.bytes
}

/// A TetGen pair, numbered from `first`.
pub fn tetgen(mesh: &TetMesh, first: u32) -> (Vec<u8>, Vec<u8>) {
    let mut node = format!("# nodes\n{} 3 1 1\n\n", mesh.positions.len());
    for (v, p) in mesh.positions.iter().enumerate() {
        let marker = if p.x == 0.0 { 5 } else { 0 };
        node += &format!(
            "{} {} {} {}  0.5 {marker} # {v}\n",
            v as u32 + first,
            p.x,
            p.y,
            p.z
        );
    }
    let mut ele = format!("{} 4 1\n", mesh.tets.len());
    for (i, t) in mesh.tets.iter().enumerate() {
        let [a, b, c, d] = t.map(|v| v + first);
        ele += &format!(
            "{} {a} {b} {c} {d} {}\n",
            i as u32 + first,
            if i == 0 { 3 } else { 0 }
        );
    }
    ele += "# Generated by hand\n";
    (node.into_bytes(), ele.into_bytes())
}

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
