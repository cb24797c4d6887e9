//! Texture coordinates of corners.

#![allow(clippy::unwrap_used)]

use stiction_math::Vec2;
use stiction_meshio::{MeshFile, MeshFileError, MeshLimits, obj, ply};

fn read(text: &str) -> Result<MeshFile, MeshFileError> {
    obj::read(text.as_bytes(), &MeshLimits::default())
}

const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

fn points(list: [[f64; 2]; 3]) -> [Vec2; 3] {
    list.map(Vec2::from)
}

#[test]
fn a_seam_of_a_texture_gives_a_vertex_several_coordinates() {
    let text = format!(
        "{SQUARE}vt 0 0\nvt 1 0\nvt 1 1 0.5\nvt 0.25\nf 1/1 2/2 3/3\nvt 7 8\nf 1/5 3/-1 4/4\n"
    );
    let file = read(&text).unwrap();
    let uv = file.uv.unwrap();
    assert_eq!(uv[0], points([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]));
    assert_eq!(uv[1], points([[7.0, 8.0], [7.0, 8.0], [0.25, 0.0]]));
    assert_eq!(file.surface.unwrap().triangles, [[0, 1, 2], [0, 2, 3]]);
}

/// A polygon is cut so that its corners keep their coordinates, also one that is not convex.
#[test]
fn corners_of_polygons_keep_their_coordinates() {
    let text = "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1 0.5 0\nv 0 2 0\n\
                vt 0 0\nvt 2 0\nvt 2 2\nvt 1 0.5\nvt 0 2\nf 1/1 2/2 3/3 4/4 5/5\n";
    let file = read(text).unwrap();
    let (mesh, uv) = (file.surface.unwrap(), file.uv.unwrap());
    assert_eq!(mesh.triangles.len(), 3);
    for (t, uv) in mesh.triangles.iter().zip(&uv) {
        for k in 0..3 {
            let p = mesh.positions[t[k] as usize];
            assert_eq!(uv[k], Vec2::new(p.x, p.y));
        }
    }
}

#[test]
fn coordinates_of_some_faces_only_are_left_out_with_a_note() {
    let file = read(&format!("{SQUARE}vt 0 0\nf 1/1 2/1 3/1\nf 1 3 4\n")).unwrap();
    assert_eq!(file.uv, None);
    assert!(
        file.notes[0].contains("texture coordinates"),
        "{:?}",
        file.notes
    );
    assert_eq!(
        read(&format!("{SQUARE}f 1//1 2//1 3//1\n")).unwrap().uv,
        None
    );
}

#[test]
fn damaged_coordinates_are_refused_where_they_stand() {
    for (line, problem) in [
        ("vt 0 nan\nf 1/1 2/1 3/1", "NaN"),
        ("vt\nf 1 2 3", "missing"),
        ("vt 0 0\nf 1/2 2/1 3/1", "texture index 2"),
        ("f 1/-1 2/-1 3/-1\nvt 0 0", "counts back past"),
        ("vt 0 0\nf 1/x 2/1 3/1", "a texture index"),
    ] {
        let error = read(&format!("{SQUARE}{line}\n")).unwrap_err();
        assert!(error.to_string().contains(problem), "{line}: {error}");
        assert!(error.line().is_some_and(|l| l > 4), "{error}");
    }
}

#[test]
fn vertices_of_ply_files_have_coordinates() {
    let text = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float s\n\
                property float y\nproperty float z\nproperty float t\nelement face 1\n\
                property list uchar int vertex_indices\nend_header\n\
                0 0.5 0 0 1\n1 0.25 0 0 2\n0 3 1 0 4\n3 2 0 1\n";
    let file = ply::read(text.as_bytes(), &MeshLimits::default()).unwrap();
    assert_eq!(
        file.uv.unwrap(),
        [points([[3.0, 4.0], [0.5, 1.0], [0.25, 2.0]])]
    );
}
