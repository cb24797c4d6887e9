//! Guarantees of every reader of mesh files, whatever the bytes.

use stiction_meshio::{MeshFileError, MeshFile};

/// Panics when an accepted mesh breaks a promise or an error does not say what is wrong.
pub fn check_mesh(result: Result<MeshFile, MeshFileError>) {
    let file = match result {
        Ok(file) => file,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.remedy().is_empty());
            return;
        }
    };
    assert!(file.surface.is_some() || file.tets.is_some());
    let mut vertices = usize::MAX;
    if let Some(surface) = &file.surface {
        vertices = surface.positions.len();
        assert!(
            surface
                .positions
                .iter()
                .all(|p| p.iter().all(|x| x.is_finite()))
        );
        assert!(
            surface
                .triangles
                .iter()
                .flatten()
                .all(|&v| (v as usize) < vertices)
        );
    }
    if let Some(tets) = &file.tets {
        vertices = tets.positions.len();
        assert!(
            tets.positions
                .iter()
                .all(|p| p.iter().all(|x| x.is_finite()))
        );
        assert!(tets.tets.iter().flatten().all(|&v| (v as usize) < vertices));
    }
    for group in &file.groups {
        assert!(group.vertices.windows(2).all(|w| w[0] < w[1]));
        assert!(group.vertices.iter().all(|&v| (v as usize) < vertices));
    }
    if let Some((surface, groups)) = file.compact_surface() {
        let vertices = surface.positions.len();
        assert!(
            surface
                .triangles
                .iter()
                .flatten()
                .all(|&v| (v as usize) < vertices)
        );
        assert!(
            groups
                .iter()
                .flat_map(|g| &g.vertices)
                .all(|&v| (v as usize) < vertices)
        );
    }
}
