//! Writes a synthetic run whose bodies change their meshes between frames, for readers of runs:
//!
//! ```sh
//! cargo run --release -p stiction-cli --example changing_meshes -- out/changing
//! ```
#![allow(dead_code)] // tests use the run without `main`

use std::path::Path;

use stiction_cli::{
    math::Vec3,
    record::{
        Cells, Data, Encoding, Frame, Pvd, RecordError, make_folder, sequence_path, write_vtu,
    },
};

/// Cells along a side of the sheet in each frame.
pub const SIDES: [usize; 5] = [2, 2, 4, 4, 1];

/// Tetrahedra of the block in each frame.
pub const TETS: [usize; 5] = [1, 1, 2, 2, 2];

/// Grains and segments of rods in each frame.
pub const GRAINS: [usize; 5] = [3, 4, 4, 0, 5];

fn main() -> Result<(), RecordError> {
    let dir = std::env::args().nth(1);
    write(Path::new(dir.as_deref().unwrap_or("out/changing")))
}

/// Writes the run: a sheet, a block of tetrahedra, grains, rods and an obstacle that stays.
pub fn write(dir: &Path) -> Result<(), RecordError> {
    let frames = dir.join("frames");
    make_folder(&frames)?;
    let mut pvd = Pvd::create(&dir.join("frames.pvd"))?;
    for i in 0..SIDES.len() {
        let time = 0.04 * i as f64;
        let mut files = Vec::new();
        let mut body = |name: &'static str, points: &[Vec3], cells: Cells, radius: f64| {
            let velocity = vec![Vec3::new(0.0, 0.0, 1.0); points.len()];
            let radii = vec![radius; points.len()];
            let columns = [
                ("velocity", Data::Vectors(&velocity)),
                ("radius", Data::Scalars(&radii)),
            ];
            let path = sequence_path(&frames, name, i, "vtu");
            let frame = Frame {
                name,
                time,
                positions: points,
                cells,
                point_data: &columns[..if radius > 0.0 { 2 } else { 1 }],
                cell_data: &[],
                field_data: &[],
            };
            let file = path.file_name().map(|f| f.to_string_lossy().into_owned());
            files.push((name, format!("frames/{}", file.unwrap_or_default())));
            write_vtu(&path, &frame, Encoding::Raw)
        };
        let (points, triangles) = sheet(SIDES[i], time);
        body("sheet", &points, Cells::Triangles(&triangles), 0.0)?;
        let (points, tets) = block(TETS[i], time);
        body("block", &points, Cells::Tets(&tets), 0.0)?;
        let row = |n: usize, z: f64| -> Vec<Vec3> {
            (0..n)
                .map(|k| Vec3::new(0.1 * k as f64, 2.0, z + time))
                .collect()
        };
        body("grains", &row(GRAINS[i], 0.0), Cells::Points, 0.02)?;
        let segments: Vec<[u32; 2]> = (0..GRAINS[i] as u32).map(|k| [k, k + 1]).collect();
        let nodes = if segments.is_empty() {
            0
        } else {
            segments.len() + 1
        };
        body("rods", &row(nodes, 1.0), Cells::Lines(&segments), 0.01)?;
        let (floor, triangles) = sheet(1, -0.5);
        body("obstacle.floor", &floor, Cells::Triangles(&triangles), 0.0)?;
        let files: Vec<(&str, &str)> = files.iter().map(|(n, f)| (*n, f.as_str())).collect();
        pvd.add_frame(time, &files)?;
    }
    Ok(())
}

/// A square of `side` × `side` cells at height `z` [m].
fn sheet(side: usize, z: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let at = |i: usize, j: usize| (i + j * (side + 1)) as u32;
    let scale = 1.0 / side as f64;
    let mut points = Vec::new();
    let mut triangles = Vec::new();
    for j in 0..=side {
        for i in 0..=side {
            points.push(Vec3::new(scale * i as f64, scale * j as f64, z));
            if i < side && j < side {
                triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
                triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
            }
        }
    }
    (points, triangles)
}

/// One tetrahedron, or two that share a face.
fn block(tets: usize, z: f64) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let mut points = vec![
        Vec3::new(3.0, 0.0, z),
        Vec3::new(4.0, 0.0, z),
        Vec3::new(3.0, 1.0, z),
        Vec3::new(3.0, 0.0, 1.0 + z),
    ];
    let mut cells = vec![[0, 1, 2, 3]];
    if tets > 1 {
        points.push(Vec3::new(4.0, 1.0, 1.0 + z));
        cells.push([1, 2, 3, 4]);
    }
    (points, cells)
}
