//! One mesh, written in every format and variant, reads back as one mesh.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod writers;

use stiction_meshio::{MeshFile, MeshFileError, MeshLimits, VertexGroup, load};
use stiction_meshio::{gmsh, obj, ply, stl, tetgen as tetgen_reader, vtk, vtu as vtu_reader};
use writers::{Data, Order, VtuStyle, cube, surface_files, tet_box, tet_files, tetgen, vtu};

fn read(extension: &str, bytes: &[u8]) -> Result<MeshFile, MeshFileError> {
    let limits = MeshLimits::default();
    match extension {
        "obj" => obj::read(bytes, &limits),
        "ply" => ply::read(bytes, &limits),
        "stl" => stl::read(bytes, &limits),
        "msh" => gmsh::read(bytes, &limits),
        "vtk" => vtk::read(bytes, &limits),
        "vtu" => vtu_reader::read_mesh(bytes, &limits),
        other => panic!("no reader for {other}"),
    }
}

fn group(name: &str, mut vertices: Vec<u32>) -> VertexGroup {
    vertices.sort_unstable();
    vertices.dedup();
    VertexGroup {
        name: name.into(),
        vertices,
    }
}

#[test]
fn surfaces_are_the_same_in_every_format() {
    let cube = cube();
    let files = surface_files(&cube);
    assert!(files.len() > 50);
    for (label, extension, bytes) in files {
        let file = read(extension, &bytes).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(file.surface.as_ref(), Some(&cube), "{label}");
        assert_eq!(file.tets, None, "{label}");
        assert!(file.notes.is_empty(), "{label}");
        let all: Vec<u32> = (0..8).collect();
        let first = cube.triangles[0].to_vec();
        let expected = match label.as_str() {
            "obj" | "stl text" => vec![group("the cube", all)],
            _ if extension == "msh" => {
                vec![group("left side", first), group("physical_2_8", all)]
            }
            _ => vec![],
        };
        assert_eq!(file.groups, expected, "{label}");
    }
}

#[test]
fn tetrahedra_are_the_same_in_every_format() {
    let mesh = tet_box();
    for (label, extension, bytes) in tet_files(&mesh) {
        let file = read(extension, &bytes).unwrap_or_else(|error| panic!("{label}: {error}"));
        assert_eq!(file.tets.as_ref(), Some(&mesh), "{label}");
        assert_eq!(file.surface, None, "{label}");
        if extension == "msh" {
            assert_eq!(
                file.groups[0],
                group("left side", mesh.tets[0].to_vec()),
                "{label}"
            );
            assert_eq!(
                file.groups[1],
                group("physical_3_8", (0..12).collect()),
                "{label}"
            );
        }
    }
    for first in [0, 1] {
        let (node, ele) = tetgen(&mesh, first);
        let file = tetgen_reader::read(&node, &ele, &MeshLimits::default()).unwrap();
        assert_eq!(file.tets.as_ref(), Some(&mesh), "TetGen from {first}");
        let markers = vec![
            group("marker_5", vec![0, 3, 6, 9]),
            group("region_3", mesh.tets[0].to_vec()),
        ];
        assert_eq!(file.groups, markers, "TetGen from {first}");
    }
}

#[test]
fn files_are_loaded_by_their_extension() {
    let folder = tempfile::tempdir().unwrap();
    let cube = cube();
    for (label, extension, bytes) in surface_files(&cube) {
        for extension in [extension.to_string(), extension.to_uppercase()] {
            let path = folder.path().join(format!("cube.{extension}"));
            std::fs::write(&path, &bytes).unwrap();
            let file = load(&path, &MeshLimits::default()).unwrap();
            assert_eq!(file.surface.as_ref(), Some(&cube), "{label}");
        }
    }
    let (node, ele) = tetgen(&tet_box(), 1);
    std::fs::write(folder.path().join("box.1.node"), node).unwrap();
    std::fs::write(folder.path().join("box.1.ele"), ele).unwrap();
    for name in ["box.1.node", "box.1.ele"] {
        let file = load(&folder.path().join(name), &MeshLimits::default()).unwrap();
        assert_eq!(file.tets, Some(tet_box()));
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_an_error_or_the_same_mesh() {
    let cube = cube();
    for (label, extension, bytes) in surface_files(&cube) {
        for end in 0..bytes.len() {
            // A cut in trailing matter does no harm, one within the mesh must not go unnoticed.
            // OBJ alone has neither counts nor an end mark: a shorter file is a smaller mesh.
            if let Ok(file) = read(extension, &bytes[..end])
                && extension != "obj"
            {
                let same = file.surface.as_ref() == Some(&cube);
                assert!(same, "{label} cut at {end} of {}", bytes.len());
            }
        }
    }
}

#[test]
fn vtu_arrays_come_back_bit_for_bit() {
    let mesh = tet_box();
    let cells: Vec<(u8, Vec<u32>)> = vec![
        (10, mesh.tets[0].to_vec()),
        (5, vec![0, 1, 2]),
        (3, vec![4, 5]),
        (1, vec![6]),
    ];
    for place in [Data::Text, Data::Inline, Data::Raw, Data::Base64] {
        for compressed in [false, true] {
            let style = VtuStyle {
                place,
                compressed,
                wide: true,
                order: Order::Little,
            };
            let bytes = vtu(&mesh.positions, &cells, style);
            let file = vtu_reader::read(&bytes, &MeshLimits::default()).unwrap();
            assert_eq!(file.points, mesh.positions);
            let read: Vec<(u8, Vec<u32>)> = file
                .cells
                .iter()
                .map(|(kind, cell)| (kind, cell.to_vec()))
                .collect();
            assert_eq!(read, cells);
            let velocity: Vec<f64> = mesh
                .positions
                .iter()
                .flat_map(|p| (p * 2.0).data.0[0])
                .collect();
            let array = file.point_array("velocity").unwrap();
            assert_eq!(array.components, 3);
            assert_eq!(array.values, vtu_reader::Values::Real(velocity));
            let area = file.cell_array("area & more").unwrap();
            assert_eq!(
                area.values,
                vtu_reader::Values::Real(vec![0.5, 1.5, 2.5, 3.5])
            );
            let time = file.field_array("time").unwrap();
            assert_eq!(time.values, vtu_reader::Values::Real(vec![1.25]));
            // Lines and points are no part of the mesh, the other two cells are.
            let mesh_file = vtu_reader::read_mesh(&bytes, &MeshLimits::default()).unwrap();
            assert_eq!(mesh_file.surface.unwrap().triangles, [[0, 1, 2]]);
            assert_eq!(mesh_file.tets.unwrap().tets, [mesh.tets[0]]);
        }
    }
}
