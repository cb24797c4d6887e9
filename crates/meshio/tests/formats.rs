//! Small hand-written files, format by format.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_meshio::{
    FileLocation, MeshFile, MeshFileError, MeshLimits, gmsh, obj, ply, stl, tetgen, vtk, vtu,
};

type Read = fn(&[u8], &MeshLimits) -> Result<MeshFile, MeshFileError>;

fn triangles(read: Read, text: &str) -> Vec<[u32; 3]> {
    let file =
        read(text.as_bytes(), &MeshLimits::default()).unwrap_or_else(|error| panic!("{error}"));
    file.surface.unwrap().triangles
}

#[track_caller]
fn refused(read: Read, text: &str, message: &str) {
    let error = read(text.as_bytes(), &MeshLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn obj_polygons_become_fans_or_ears() {
    let square = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\n";
    assert_eq!(
        triangles(obj::read, &format!("{square}f 1 2 3 4")),
        [[0, 1, 2], [0, 2, 3]]
    );
    // An arrowhead: the only diagonal inside runs from the tip to the notch.
    let arrow = "v 0 0 0\nv 2 0 0\nv 0.5 0.5 0\nv 0 2 0\nf 2 3 4 1\n";
    let mut cut = triangles(obj::read, arrow);
    for triangle in &mut cut {
        triangle.sort_unstable();
    }
    cut.sort_unstable();
    assert_eq!(cut, [[0, 1, 2], [0, 2, 3]]);
}

#[test]
fn obj_groups_and_objects_collect_vertices() {
    let text = "o part one\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\ng a b\nf 1 2 3\ng b\nf 1 3 4\n\
                o\ng\nf 2 3 4\ng line # a comment\nl 2 4\n";
    let file = obj::read(text.as_bytes(), &MeshLimits::default()).unwrap();
    let groups: Vec<(&str, &[u32])> = file
        .groups
        .iter()
        .map(|g| (g.name.as_str(), &g.vertices[..]))
        .collect();
    assert_eq!(
        groups,
        [
            ("part one", &[0, 1, 2, 3][..]),
            ("a", &[0, 1, 2]),
            ("b", &[0, 1, 2, 3]),
            ("line", &[1, 3]),
        ]
    );
}

#[test]
fn obj_faces_may_come_before_their_vertices() {
    assert_eq!(
        triangles(obj::read, "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0"),
        [[0, 1, 2]]
    );
}

#[test]
fn obj_that_is_not_utf8_is_read() {
    let bytes = b"# Oberfl\xe4che\ng \xe4\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let file = obj::read(bytes, &MeshLimits::default()).unwrap();
    assert_eq!(file.groups[0].name, "\u{fffd}");
}

#[test]
fn obj_errors() {
    let three = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
    refused(
        obj::read,
        &format!("{three}f 0 1 2"),
        "mesh:4: face 1: vertex index 0 is out of range: the file has 3 vertices, numbered 1 to 3",
    );
    refused(
        obj::read,
        &format!("{three}f 1 2"),
        "mesh:4: face 1: the polygon with 2 corners has fewer than three corners",
    );
    refused(
        obj::read,
        &format!("{three}f 1 2 /3"),
        "mesh:4: face 1: expected a vertex index, found `/3`",
    );
    refused(
        obj::read,
        "v 0 0\nf 1 1 1",
        "mesh:1: vertex 1: one of its three coordinates is missing",
    );
    refused(obj::read, " \n\t\n", "mesh: the file is empty");
}

#[test]
fn ply_quads_and_lists() {
    let text = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
                element face 1\nproperty list uchar uint vertex_index\nend_header\n\
                0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n";
    assert_eq!(triangles(ply::read, text), [[0, 1, 2], [0, 2, 3]]);
    let wrong = text.replace("4 0 1 2 3", "4 0 1 2 -3");
    refused(
        ply::read,
        &wrong,
        "mesh:14: face 0: vertex index -3 is out of range: the file has 4 vertices, numbered 0 to 3",
    );
    let wrong = text.replace("0 1 0\n4", "0 inf 0\n4");
    refused(ply::read, &wrong, "mesh:13: vertex 3: coordinate y is inf");
    let wrong = text.replace("vertex 4", "vertex 400");
    refused(
        ply::read,
        &wrong,
        "mesh:3: 400 vertices are declared, which need at least 2400 bytes, but only 34 follow",
    );
    let wrong = text.replace("property float z\n", "property float z\nproperty float z\n");
    refused(ply::read, &wrong, "mesh:3: `property z` is declared twice");
    let wrong = text.replace("ascii", "binary_middle_endian");
    refused(
        ply::read,
        &wrong,
        "mesh:2: expected `ascii`, `binary_little_endian` or `binary_big_endian`, found `binary_middle_endian`",
    );
}

#[test]
fn stl_solids_are_groups_and_share_vertices() {
    let facet = |z: &str| {
        format!(
            "facet normal 0 0 1 outer loop vertex 0 0 {z} vertex 1 0 0 vertex 0 1 0 endloop endfacet\n"
        )
    };
    let text = format!(
        "SOLID left one\n{}endsolid\nsolid\n{}endsolid",
        facet("-0.0"),
        facet("1")
    );
    let file = stl::read(text.as_bytes(), &MeshLimits::default()).unwrap();
    let surface = file.surface.unwrap();
    assert_eq!(surface.triangles, [[0, 1, 2], [3, 1, 2]]);
    assert!(surface.positions[0].z.is_sign_positive());
    assert_eq!(file.groups.len(), 1);
    assert_eq!(
        (file.groups[0].name.as_str(), &file.groups[0].vertices[..]),
        ("left one", &[0, 1, 2][..])
    );
    let wrong = text.replace("vertex 0 0 1", "vertex 0 0 NaN");
    refused(stl::read, &wrong, "mesh:5: vertex 3: coordinate z is NaN");
    let wrong = text.replace("endloop", "endlop");
    refused(
        stl::read,
        &wrong,
        "mesh:2: triangle 0: expected endloop, found `endlop`",
    );
    refused(
        stl::read,
        "hello",
        "mesh, byte 5: the file ends where the 84-byte header of a binary STL file should be",
    );
}

const GMSH: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n10 0 0 0\n7 1 0 0\n3 0 1 0\n4 0 0 1\n1 1 1 1\n$EndNodes\n\
                    $Elements\n3\n1 15 2 0 1 10\n2 4 2 0 1 10 7 3 4\n3 3 0 10 7 1 3\n$EndElements\n";

#[test]
fn gmsh_tags_with_gaps() {
    let file = gmsh::read(GMSH.as_bytes(), &MeshLimits::default()).unwrap();
    assert_eq!(file.tets.unwrap().tets, [[0, 1, 2, 3]]);
    let surface = file.surface.unwrap();
    assert_eq!(surface.triangles, [[0, 1, 4], [0, 4, 2]]);
    assert_eq!(surface.positions.len(), 5);
    assert!(file.groups.is_empty());
}

#[test]
fn gmsh_errors() {
    refused(
        gmsh::read,
        &GMSH.replace("7 1 0 0", "10 1 0 0"),
        "mesh: node 10 is defined twice",
    );
    refused(
        gmsh::read,
        &GMSH.replace("2 4 2 0", "2 29 2 0"),
        "mesh:15: element 2: a higher-order element (Gmsh element type 29) cannot be read",
    );
    refused(
        gmsh::read,
        &GMSH.replace("10 7 3 4\n", "10 7 3 5\n"),
        "mesh:15: tetrahedron 2: node 5 is not defined in the file",
    );
    refused(
        gmsh::read,
        &GMSH.replace("$Nodes\n5", "$Nodes\n6"),
        "mesh:11: expected a node tag, found `$EndNodes`",
    );
    refused(
        gmsh::read,
        &GMSH.replace("$Nodes\n5", "$Nodes\n4"),
        "mesh:10: expected the end of the section, found `1`",
    );
    refused(
        gmsh::read,
        &GMSH.replace("2.2 0", "1 0"),
        "mesh:2: MSH version 1 cannot be read",
    );
    refused(
        gmsh::read,
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Periodic\n0\n",
        "mesh:4: `$EndPeriodic` is missing",
    );
    refused(
        gmsh::read,
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n",
        "mesh: the section `$Nodes` is missing",
    );
}

#[test]
fn a_mesh_numbered_the_other_way_round_is_turned_and_says_so() {
    let node = b"4 3\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n";
    let file = tetgen::read(node, b"1 4\n0 0 2 1 3\n", &MeshLimits::default()).unwrap();
    assert_eq!(file.tets.unwrap().tets, [[0, 2, 3, 1]]);
    assert_eq!(file.notes.len(), 1);
    assert!(file.notes[0].starts_with("all 1 tetrahedra were turned"));
}

#[test]
fn tetgen_errors() {
    let node = b"4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n";
    let read = |node: &[u8], ele: &[u8]| {
        tetgen::read(node, ele, &MeshLimits::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        read(node, b"1 10 0\n1 1 2 3 4 5 6 7 8 9 10\n"),
        "mesh:1: a mesh of second-order tetrahedra (10 nodes each) cannot be read"
    );
    assert_eq!(
        read(node, b"1 4 0\n1 0 1 2 3\n"),
        "mesh:2: tetrahedron 1: vertex index 0 is out of range: the file has 4 vertices, numbered 1 to 4"
    );
    assert_eq!(
        read(b"2 2 0 0\n1 0 0\n2 1 0\n", b"0 4 0"),
        "mesh:1: expected dimension 3, found `2`"
    );
    assert_eq!(
        read(b"2 3 0 0\n1 0 0 0 9\n2 1 0 0\n", b"0 4 0"),
        "mesh:2: node number 9 stands where 2 is due"
    );
}

#[test]
fn vtk_cells_of_every_readable_kind() {
    let text = "# vtk DataFile Version 2.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 float\n\
                0 0 0 1 0 0 0 1 0 1 1 0 0 0 1\nCELLS 6 27\n3 0 1 3\n4 0 1 3 2\n4 0 1 2 3\n4 0 1 2 3\n2 0 1\n4 0 1 2 4\n\
                CELL_TYPES 6\n5 9 8 6 3 10\n";
    let file = vtk::read(text.as_bytes(), &MeshLimits::default()).unwrap();
    let quad = [[0, 1, 3], [0, 3, 2]];
    let strip = [[0, 1, 2], [2, 1, 3]];
    let expected = [&[[0, 1, 3]][..], &quad, &quad, &strip].concat();
    assert_eq!(file.surface.unwrap().triangles, expected);
    assert_eq!(file.tets.unwrap().tets, [[0, 1, 2, 4]]);
    refused(
        vtk::read,
        &text.replace("3 10\n", "3 12\n"),
        "mesh:7: cell 5: a hexahedron (VTK cell type 12) cannot be read",
    );
    refused(
        vtk::read,
        &text.replace("3 10\n", "3 24\n"),
        "mesh:7: cell 5: a higher-order cell (VTK cell type 24) cannot be read",
    );
    refused(
        vtk::read,
        &text.replace("3 0 1 3\n", "3 0 1 5\n"),
        "mesh:7: cell 0: vertex index 5 is out of range: the file has 5 vertices, numbered 0 to 4",
    );
    refused(
        vtk::read,
        &text.replace("6 27", "6 26"),
        "mesh:13: cell 5: a list of 4 corners overruns the declared size 26",
    );
    refused(
        vtk::read,
        &text.replace("CELL_TYPES 6\n5 ", "CELL_TYPES 5\n"),
        "mesh:7: 6 cells but 5 cell types",
    );
}

const VTU: &str = "<VTKFile type=\"UnstructuredGrid\">\n<Piece NumberOfPoints=\"3\" NumberOfCells=\"1\">\n<Points>\n\
    <DataArray type=\"Float32\" NumberOfComponents=\"3\">0 0 0 1 0 0 0 1 0</DataArray>\n</Points><Cells>\n\
    <DataArray type=\"Int32\" Name=\"connectivity\">0 1 2</DataArray>\n\
    <DataArray type=\"Int32\" Name=\"offsets\">3</DataArray>\n\
    <DataArray type=\"UInt8\" Name=\"types\">5</DataArray>\n</Cells>\n<PointData>\n\
    <DataArray type=\"Float64\" Name=\"heat\">nan 1 inf</DataArray>\n</PointData></Piece></VTKFile>";

#[test]
fn vtu_errors() {
    assert_eq!(triangles(vtu::read_mesh, VTU), [[0, 1, 2]]);
    let read: Read = vtu::read_mesh;
    refused(
        read,
        &VTU.replace("nan 1 inf", "nan 1"),
        "mesh:11: array `heat` holds 2 tuples for 3 points",
    );
    refused(
        read,
        &VTU.replace("0 1 0<", "0 nan 0<"),
        "mesh:4: vertex 2: coordinate y is NaN",
    );
    refused(
        read,
        &VTU.replace(">3<", ">4<"),
        "mesh:7: cell 0: offset 4 is not between 0 and the length of `connectivity`, 3",
    );
    refused(
        read,
        &VTU.replace(">3<", ">2<"),
        "mesh:7: the last offset is 2, but `connectivity` holds 3 numbers",
    );
    refused(
        read,
        &VTU.replace(">0 1 2<", ">0 1 x<"),
        "mesh:6: expected an integer, found `x`",
    );
    refused(
        read,
        &VTU.replace("UnstructuredGrid", "PolyData"),
        "mesh:1: a VTK file of type PolyData cannot be read",
    );
    refused(
        read,
        &VTU.replace(
            "Name=\"types\"",
            "format=\"appended\" offset=\"0\" Name=\"types\"",
        ),
        "mesh:8: the appended data of array `types` is missing",
    );
    refused(
        read,
        &VTU.replace("NumberOfCells=\"1\"", ""),
        "mesh:2: the attribute `NumberOfCells` of `Piece` is missing",
    );
    refused(
        read,
        &VTU.replace("UInt8", "Float32"),
        "mesh:8: array `types` is of a real type instead of an integer type",
    );
}

#[test]
fn vtu_arrays_that_overlap_are_refused() {
    // One block of 80 bytes, claimed by forty arrays: the file cannot hold them all.
    let mut text = String::from(
        "<VTKFile type=\"UnstructuredGrid\"><Piece NumberOfPoints=\"0\" NumberOfCells=\"0\"><FieldData>",
    );
    for _ in 0..40 {
        text += "<DataArray type=\"Int8\" format=\"appended\" offset=\"0\"/>";
    }
    text += "</FieldData><AppendedData encoding=\"raw\">_";
    let mut bytes = text.into_bytes();
    bytes.extend(80u32.to_le_bytes());
    bytes.extend([0; 80]);
    let error = vtu::read(&bytes, &MeshLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), "mesh:1: array `` overlaps another array");
}

#[test]
fn the_place_of_a_binary_error_is_a_byte() {
    let mut bytes = vec![0; 84];
    bytes[80] = 1;
    bytes.extend([0; 50]);
    bytes[84 + 12..84 + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    let error = stl::read(&bytes, &MeshLimits::default()).unwrap_err();
    assert_eq!(error.place(), FileLocation::Byte { offset: 96 });
    assert_eq!(
        error.to_string(),
        "mesh, byte 96: vertex 0: coordinate x is NaN"
    );
}
