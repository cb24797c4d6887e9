//! Gmsh MSH 2.2 and 4.1.

use stiction_math::Vec3;

use super::{Order, Out};

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

/// Groups as of [`msh2`]; nodes in two blocks, one of them parametric.
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
