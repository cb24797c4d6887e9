//! Files written by other programs (Gmsh 4.15, VTK 9.7, meshio 5.3) read as the mesh that those
//! programs were given.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod writers;

use std::collections::BTreeSet;
use std::path::Path;

use stiction_math::Vec3;
use stiction_meshio::{MeshFile, MeshLimits, load, vtu};
use writers::tet_box;

fn peer(name: &str) -> MeshFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    load(&folder.join(name), &MeshLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn volume(positions: &[Vec3], tet: [u32; 4]) -> f64 {
    let [a, b, c, d] = tet.map(|v| positions[v as usize]);
    (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
}

fn corner_sets(tets: &[[u32; 4]]) -> BTreeSet<[u32; 4]> {
    let sorted = |tet: &[u32; 4]| {
        let mut tet = *tet;
        tet.sort_unstable();
        tet
    };
    tets.iter().map(sorted).collect()
}

#[test]
fn tetrahedra_written_by_meshio_and_vtk() {
    let expected = tet_box();
    for name in [
        "meshio.node",
        "meshio_2.2_binary.msh",
        "meshio_4.1_binary.msh",
        "meshio_4.2_binary.vtk",
        "meshio_zlib.vtu",
        "vtk_5.1_binary.vtk",
        "vtk_appended_base64.vtu",
        "vtk_appended_raw_zlib.vtu",
    ] {
        let tets = peer(name).tets.expect(name);
        assert_eq!(tets.positions, expected.positions, "{name}");
        assert_eq!(tets.tets.len(), 12, "{name}");
        assert_eq!(
            corner_sets(&tets.tets),
            corner_sets(&expected.tets),
            "{name}"
        );
        assert!(
            tets.tets.iter().all(|&t| volume(&tets.positions, t) > 0.0),
            "{name}"
        );
    }
}

#[test]
fn triangles_written_by_meshio_and_vtk() {
    for name in ["meshio.obj", "meshio_binary.ply"] {
        let surface = peer(name).surface.expect(name);
        assert_eq!(surface.positions, tet_box().positions[..6], "{name}");
        assert_eq!(
            surface.triangles,
            [[0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2]],
            "{name}"
        );
    }
    // STL keeps no vertex numbers, so only the corners can be compared.
    let stl = peer("meshio_binary.stl").surface.unwrap();
    let obj = peer("meshio.obj").surface.unwrap();
    let corners = |mesh: &stiction_geometry::TriMesh| -> Vec<Vec3> {
        mesh.triangles
            .iter()
            .flatten()
            .map(|&v| mesh.positions[v as usize])
            .collect()
    };
    assert_eq!(corners(&stl), corners(&obj));
    assert_eq!(stl.positions.len(), 6);
    // VTK wrote two triangles and a quadrangle, besides a line and a point.
    let grid = peer("vtk_5.1_binary.vtk").surface.unwrap();
    assert_eq!(grid.triangles, [[0, 3, 4], [0, 4, 1], [1, 4, 5], [1, 5, 2]]);
}

#[test]
fn arrays_written_by_vtk() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
    let twice: Vec<f64> = tet_box()
        .positions
        .iter()
        .flat_map(|p| (p * 2.0).data.0[0])
        .collect();
    for name in ["vtk_appended_base64.vtu", "vtk_appended_raw_zlib.vtu"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let file = vtu::read(&bytes, &MeshLimits::default()).unwrap();
        let velocity = file.point_array("velocity").expect(name);
        assert_eq!(velocity.values, vtu::Values::Real(twice.clone()), "{name}");
        let time = file.field_array("TimeValue").expect(name);
        assert_eq!(time.values, vtu::Values::Real(vec![0.25]), "{name}");
        assert_eq!(file.cells.types.len(), 17, "{name}");
    }
}

#[test]
fn strips_written_by_vtk_close_a_sphere() {
    let sphere = peer("vtk_strips_5.1_binary.vtk").surface.unwrap();
    assert_eq!((sphere.positions.len(), sphere.triangles.len()), (34, 64));
    let edges: BTreeSet<(u32, u32)> = sphere
        .triangles
        .iter()
        .flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)])
        .collect();
    assert_eq!(
        edges.len(),
        3 * 64,
        "no edge is walked twice in one direction"
    );
    assert!(edges.iter().all(|&(a, b)| edges.contains(&(b, a))));
}

#[test]
fn physical_groups_written_by_gmsh() {
    for name in [
        "gmsh_2.2_text.msh",
        "gmsh_2.2_binary.msh",
        "gmsh_4.1_text.msh",
    ] {
        let file = peer(name);
        let tets = file.tets.as_ref().expect(name);
        assert_eq!((tets.positions.len(), tets.tets.len()), (14, 24), "{name}");
        let total: f64 = tets.tets.iter().map(|&t| volume(&tets.positions, t)).sum();
        assert!((total - 1.0).abs() < 1e-12, "{name}: volume {total}");
        assert_eq!(
            file.surface.as_ref().expect(name).triangles.len(),
            8,
            "{name}"
        );
        let names: Vec<(&str, usize)> = file
            .groups
            .iter()
            .map(|g| (g.name.as_str(), g.vertices.len()))
            .collect();
        assert_eq!(
            names,
            [("wall", 5), ("physical_2_3", 10), ("all of it", 14)],
            "{name}"
        );
        let wall = &file.group("wall").expect(name).vertices;
        assert!(
            wall.iter().all(|&v| tets.positions[v as usize].x == 0.0),
            "{name}"
        );
        let (surface, groups) = file.compact_surface().expect(name);
        assert_eq!(surface.positions.len(), 10, "{name}");
        let wall = groups.iter().find(|g| g.name == "wall").expect(name);
        assert_eq!(wall.vertices.len(), 5, "{name}");
        assert!(
            wall.vertices
                .iter()
                .all(|&v| surface.positions[v as usize].x == 0.0),
            "{name}"
        );
    }
}
