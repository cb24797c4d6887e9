//! Mesh files: where they may lie and what is made of them.

use stiction_scene::{LoadOptions, ProblemKind, SceneSource, load};

use crate::{STRIP, fails, set, text};

#[test]
fn mesh_files_are_found_next_to_the_scene_and_nowhere_else() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("scene");
    std::fs::create_dir_all(inner.join("meshes")).unwrap();
    let quad = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\ng left\nf 1 3 4\ng right\nf 1 2 3\n";
    std::fs::write(inner.join("meshes/quad.obj"), quad).unwrap();
    std::fs::write(root.path().join("outside.obj"), quad).unwrap();
    let source = |mesh: &str| {
        let scene = STRIP
            .replace(
                "shape = { type = \"sheet\", size = [0.2, 1.0], cells = [2, 10] }",
                &format!("mesh = \"{mesh}\""),
            )
            .replace(
                "{ half_space = { normal = [0, 1, 0], point = [0, 0.5, 0] } }",
                "{ group = \"right\" }",
            );
        let file = inner.join("scene.toml");
        std::fs::write(&file, scene).unwrap();
        SceneSource::File(file)
    };
    let good = load(&source("meshes/quad.obj"), &LoadOptions::default()).unwrap();
    assert_eq!(good.plan.name, "scene");
    assert_eq!(
        good.model.pins.iter().map(|p| p.block).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(
        load(
            &source("meshes/../meshes/quad.obj"),
            &LoadOptions::default()
        )
        .is_ok()
    );

    let absolute = root.path().join("outside.obj").display().to_string();
    for bad in [
        "../outside.obj",
        "meshes/../../outside.obj",
        "../scene/meshes/quad.obj",
        &absolute,
    ] {
        let error = load(&source(bad), &LoadOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ProblemKind::Path, "{bad}: {}", error.plain());
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(root.path().join("outside.obj"), inner.join("link.obj"))
            .unwrap();
        std::os::unix::fs::symlink(root.path(), inner.join("up")).unwrap();
        std::os::unix::fs::symlink(inner.join("meshes/quad.obj"), inner.join("fine.obj")).unwrap();
        for bad in ["link.obj", "up/outside.obj"] {
            let error = load(&source(bad), &LoadOptions::default()).unwrap_err();
            assert_eq!(error.kind(), ProblemKind::Path, "{bad}: {}", error.plain());
        }
        assert!(load(&source("fine.obj"), &LoadOptions::default()).is_ok());
    }
    let typo = load(&source("meshes/qaud.obj"), &LoadOptions::default()).unwrap_err();
    assert!(
        typo.plain().contains("did you mean `quad.obj`"),
        "{}",
        typo.plain()
    );
    assert!(load(&source("meshes"), &LoadOptions::default()).is_err());

    // What the user types is the user's own business.
    let mut options = set(&["body.strip.mesh=outside.obj"]);
    options.cwd = Some(root.path().to_path_buf());
    assert!(load(&source("meshes/quad.obj"), &options).is_ok());

    // The mesh is part of the fingerprint.
    std::fs::write(
        inner.join("meshes/quad.obj"),
        quad.replace("1 1 0", "1 1.5 0"),
    )
    .unwrap();
    let moved = load(&source("meshes/quad.obj"), &LoadOptions::default()).unwrap();
    assert_ne!(moved.plan.hash, good.plan.hash);
}

#[test]
fn a_scene_without_a_folder_names_no_files() {
    let scene = STRIP.replace(
        "shape = { type = \"sheet\", size = [0.2, 1.0], cells = [2, 10] }",
        "mesh = \"a.obj\"",
    );
    assert_eq!(fails(&scene, &[]).kind(), ProblemKind::Path);
}

#[test]
fn tetrahedra_come_from_files_without_vertices_that_none_uses() {
    let folder = tempfile::tempdir().unwrap();
    let vtk = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 5 double\n\
               9 9 9\n0 0 0\n1 0 0\n0 1 0\n0 0 1\nCELLS 1 5\n4 1 2 3 4\nCELL_TYPES 1\n10\n";
    std::fs::write(folder.path().join("tet.vtk"), vtk).unwrap();
    let scene = "[time]\nstep = 0.01\nduration = 1\n[[body]]\nname = \"t\"\nkind = \"solid\"\nmesh = \"tet.vtk\"\nmaterial = \"rubber\"\n";
    let options = LoadOptions {
        base_dir: Some(folder.path().to_path_buf()),
        ..LoadOptions::default()
    };
    let solid = load(&text(scene), &options).unwrap();
    assert_eq!(solid.state.x.len(), 4);
    assert!((solid.model.bodies[0].total_mass() - 925.0 / 6.0).abs() < 1e-9);
    let rigid = load(&text(&scene.replace("solid", "rigid")), &options).unwrap();
    assert!((rigid.model.bodies[0].total_mass() - 925.0 / 6.0).abs() < 1e-9);
}
