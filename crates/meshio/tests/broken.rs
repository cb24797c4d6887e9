//! Every broken mesh in `scenes/broken/meshes` is refused with an error that names the culprit,
//! or, where the file is sound and only the mesh is bad, read for the examination to judge.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use stiction_meshio::{MeshLimits, load};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/broken/meshes")
}

/// File, what the error says after the folder, and a word of its remedy.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "claims_a_billion_nodes.msh",
        ":4: 1000000000 nodes exceed the limit of 10000000",
        "coarser",
    ),
    (
        "claims_a_billion_vertices.ply",
        ":3: 1000000000 vertices exceed the limit of 10000000",
        "coarser",
    ),
    (
        "cut_off_text.stl",
        ":5: triangle 0: the file ends where vertex should be",
        "truncated",
    ),
    ("empty.obj", ": the file is empty", "export"),
    (
        "hexahedra.msh",
        ":17: element 1: a hexahedron (Gmsh element type 5) cannot be read",
        "tetrahedra",
    ),
    (
        "index_out_of_range.obj",
        ":11: face 3: vertex index 9 is out of range: the file has 8 vertices, numbered 1 to 8",
        "index",
    ),
    (
        "index_out_of_range.vtu",
        ":7: cell 0: vertex index 3 is out of range: the file has 3 vertices, numbered 0 to 2",
        "index",
    ),
    (
        "infinite_point.vtk",
        ":8: vertex 2: coordinate y is inf",
        "repair",
    ),
    (
        "lying_array_length.vtu",
        ":7: 1000000000 bytes of array data are declared, which need at least 1000000004 bytes, \
         but only 9 follow",
        "truncated",
    ),
    (
        "lying_triangle_count.stl",
        ", byte 80: 1000 triangles are declared, which need at least 50000 bytes, but only 100 \
         follow",
        "header lies",
    ),
    (
        "missing_array.vtu",
        ": the array `offsets` is missing",
        "write",
    ),
    (
        "missing_coordinate.ply",
        ":3: `property z` is missing",
        "export",
    ),
    (
        "missing_node.ele",
        ":3: tetrahedron 2: vertex index 5 is out of range: the file has 4 vertices, numbered 1 \
         to 4",
        "index",
    ),
    (
        "nan_vertex.obj",
        ":3: vertex 3: coordinate y is NaN",
        "repair",
    ),
    (
        "negative_index_out_of_range.obj",
        ":3: face 1: vertex index -3 counts back past the 2 vertices above it",
        "before",
    ),
    (
        "no_faces.obj",
        ": the file holds 8 vertices but neither triangles nor tetrahedra",
        "faces",
    ),
    (
        "second_order_tets.msh",
        ":13: element 1: a second-order tetrahedron (Gmsh element type 11) cannot be read",
        "-order 1",
    ),
    (
        "self_crossing_polygon.obj",
        ":5: face 1: the polygon with 4 corners crosses itself or has no area",
        "triangulate",
    ),
    (
        "structured_points.vtk",
        ":4: a dataset of type STRUCTURED_POINTS cannot be read",
        "unstructured",
    ),
    (
        "too_small_triangle_count.stl",
        ", byte 80: the header declares 1 triangles, but 3 follow",
        "header lies",
    ),
    (
        "truncated.ply",
        ", byte 285: face 1: the file ends where a vertex index should be",
        "truncated",
    ),
    (
        "unknown_compressor.vtu",
        ":2: data compressed with vtkLZ4DataCompressor cannot be read",
        "zlib",
    ),
    (
        "unknown_extension.fbx",
        ": the extension `fbx` is not a mesh format",
        "obj, ply, stl, msh, node, ele, vtk, vtu",
    ),
    (
        "unknown_node.msh",
        ":13: tetrahedron 1: node 40 is not defined in the file",
        "index",
    ),
    (
        "unknown_version.msh",
        ":2: MSH version 3.7 cannot be read",
        "msh41",
    ),
    (
        "word_instead_of_number.obj",
        ":2: vertex 2: expected a coordinate, found `zero`",
        "correct",
    ),
];

/// Sound files of bad meshes.
const FOR_THE_EXAMINATION: &[&str] = &[
    "degenerate_triangle.obj",
    "inconsistent_orientation.obj",
    "inverted_tet.msh",
    "isolated_vertex.obj",
    "non_manifold_edge.obj",
];

#[test]
fn errors_name_the_file_the_line_the_element_and_the_remedy() {
    for &(name, message, remedy) in REFUSED {
        let path = folder().join(name);
        let error = load(&path, &MeshLimits::default()).expect_err(name);
        assert_eq!(error.to_string(), format!("{}{message}", path.display()));
        assert!(
            error.remedy().contains(remedy),
            "{name}: {}",
            error.remedy()
        );
    }
}

#[test]
fn a_missing_file_is_named_even_when_the_other_one_was_given() {
    let error = load(
        &folder().join("no_nodes_beside.ele"),
        &MeshLimits::default(),
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("no_nodes_beside.node: cannot be read"),
        "{text}"
    );
}

#[test]
fn sound_files_of_bad_meshes_are_read_unchanged() {
    for name in FOR_THE_EXAMINATION {
        let file = load(&folder().join(name), &MeshLimits::default()).expect(name);
        assert!(file.notes.is_empty(), "{name}");
    }
    let inverted = load(&folder().join("inverted_tet.msh"), &MeshLimits::default()).unwrap();
    assert_eq!(inverted.tets.unwrap().tets, [[0, 1, 2, 3], [1, 3, 2, 4]]);
}

#[test]
fn every_file_in_the_folder_is_read_or_refused_by_name() {
    let mut refused = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if let Err(error) = load(&path, &MeshLimits::default()) {
            // Of a TetGen pair, the other file may be the culprit.
            let stem = path.with_extension("");
            assert!(
                error.to_string().starts_with(&*stem.to_string_lossy()),
                "{error}"
            );
            assert!(!error.remedy().is_empty(), "{error}");
            refused += 1;
        }
    }
    assert!(refused >= REFUSED.len());
}

#[test]
fn the_span_of_an_error_covers_the_culprit() {
    let path = folder().join("index_out_of_range.obj");
    let bytes = std::fs::read(&path).unwrap();
    let (offset, length) = load(&path, &MeshLimits::default())
        .unwrap_err()
        .span()
        .unwrap();
    assert_eq!(&bytes[offset..offset + length], b"9");
}

#[test]
fn limits_are_enforced() {
    let path = folder().join("isolated_vertex.obj");
    let tight = |max_nodes, max_elements, max_bytes| {
        let limits = MeshLimits {
            max_nodes,
            max_elements,
            max_bytes,
        };
        load(&path, &limits).map_err(|error| error.problem().to_string())
    };
    assert!(tight(4, 1, 500).is_ok());
    assert_eq!(
        tight(3, 1, 500),
        Err("4 vertices exceed the limit of 3".into())
    );
    assert_eq!(
        tight(4, 0, 500),
        Err("1 elements exceed the limit of 0".into())
    );
    let size = std::fs::metadata(&path).unwrap().len();
    assert_eq!(
        tight(4, 1, size - 1),
        Err(format!("{size} bytes exceed the limit of {}", size - 1))
    );
}
