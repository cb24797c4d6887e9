//! Writers of every mesh format and variant that the readers support, for tests only. They are
//! straightforward on purpose: one `push` after the other, no cleverness shared with the readers.

#![allow(dead_code, unused_imports)] // each test file uses some of it

mod gmsh;
mod vtk;

use stiction_geometry::{TetMesh, TriMesh};
use stiction_math::Vec3;

pub use gmsh::{msh2, msh4};
pub use vtk::{Data, VtuStyle, base64, vtk, vtu};

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
        ("obj bare".into(), "obj", obj_bare(mesh)),
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

/// Nothing before the first vertex, no line break after the last face.
fn obj_bare(mesh: &TriMesh) -> Vec<u8> {
    let text = String::from_utf8(obj(mesh)).unwrap();
    let start = text.find("v ").unwrap();
    text[start..].trim_end().as_bytes().to_vec()
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
