//! Every documented shape builds for every kind of body it is documented for.

use stiction_bodies::obstacle::{ObstacleShape, Solid};

use crate::ok;

fn body(kind: &str, shape: &str) -> String {
    let material = match kind {
        "shell" => "\"denim\"",
        "frames" => "{ kind = 'solid', density = 300, young = 1e6, poisson = 0.3 }",
        _ => "\"rubber\"",
    };
    let cell = if kind == "embedded" {
        "cell = 0.3\n"
    } else {
        ""
    };
    format!(
        "[time]\nstep = 0.01\nduration = 1\n[[body]]\nname = \"b\"\nkind = \"{kind}\"\n{cell}\
         shape = {{ {shape} }}\nmaterial = {material}\n"
    )
}

#[test]
fn every_shape_builds_for_every_kind_it_is_for() {
    let cases = [
        (
            "frames",
            "type = 'plant', parts = [\
             { name = 'stem', points = [[0, 0, 0], [0, 0, 1], [0.2, 0, 2]], radius = [0.1, 0.05], frames = 3 },\
             { on = 'stem', points = [[0.2, 0, 2.1], [1, 0, 2.2]], width = [0.1, 0.3, 0.1], thickness = 0.01, \
               up = [0, 0, 1], frames = [3, 2], cells = [2, 4], stiffness = 0.5 }]",
        ),
        (
            "frames",
            "type = 'palm', height = 2, radius = 0.1, leaves = 6, leaf_length = 1, leaflets = 3, \
             leaflet_length = 0.3, thickness = 0.005, droop = 0.4, leaf_stiffness = 0.5, seed = 2",
        ),
        (
            "shell",
            "type = 'sheet', size = [1, 1], cells = [4, 4], pattern = 'irregular', jitter = 1, seed = 3",
        ),
        ("shell", "type = 'card', size = [1, 1], refinements = 2"),
        ("shell", "type = 'disc', radius = 1, rings = 4"),
        (
            "shell",
            "type = 'tube', radius = 1, length = 2, around = 12, along = 4, ends = 'closed'",
        ),
        (
            "shell",
            "type = 'band', radius = 1, width = 1, straight = 2, around = 24, across = 2",
        ),
        ("shell", "type = 'bowl', radius = 1, depth = 0.5, rings = 4"),
        ("shell", "type = 'box', size = [1, 1, 1], cells = [2, 2, 2]"),
        ("shell", "type = 'sphere', radius = 1, frequency = 3"),
        (
            "shell",
            "type = 'capsule', radius = 1, length = 1, rings = 3, along = 2",
        ),
        (
            "shell",
            "type = 'cylinder', radius = 1, length = 1, around = 12, along = 3",
        ),
        (
            "shell",
            "type = 'cone', radius = 1, height = 1, around = 12, along = 4",
        ),
        (
            "shell",
            "type = 'torus', major = 1, minor = 0.3, around = 16, across = 8",
        ),
        (
            "solid",
            "type = 'box', size = [1, 1, 1], cells = [2, 2, 2], pattern = 'five'",
        ),
        ("solid", "type = 'sphere', radius = 1, layers = 3"),
        (
            "solid",
            "type = 'sphere', radius = 1, thickness = 0.2, frequency = 4, layers = 1",
        ),
        (
            "solid",
            "type = 'capsule', radius = 1, length = 1, rings = 2, along = 2",
        ),
        (
            "solid",
            "type = 'cylinder', radius = 1, length = 1, rings = 3, along = 3",
        ),
        (
            "solid",
            "type = 'torus', major = 1, minor = 0.3, around = 16, rings = 2",
        ),
        (
            "solid",
            "type = 'bowl', radius = 1, depth = 0.5, thickness = 0.1, rings = 4, layers = 1",
        ),
        ("rigid", "type = 'box', size = [1, 1, 1]"),
        ("rigid", "type = 'sphere', radius = 1"),
        ("rigid", "type = 'capsule', radius = 1, length = 1"),
        ("rigid", "type = 'cylinder', radius = 1, length = 1"),
        ("rigid", "type = 'cone', radius = 1, height = 1"),
        ("rigid", "type = 'torus', major = 1, minor = 0.3"),
        (
            "rigid",
            "type = 'bowl', radius = 1, depth = 0.5, thickness = 0.1",
        ),
        ("embedded", "type = 'box', size = [1, 1, 1]"),
        ("embedded", "type = 'sphere', radius = 1"),
        (
            "embedded",
            "type = 'torus', major = 1, minor = 0.3, around = 32, across = 12",
        ),
    ];
    for (kind, shape) in cases {
        let scene = ok(&body(kind, shape));
        assert!(scene.model.bodies[0].total_mass() > 0.0, "{kind}: {shape}");
    }
}

#[test]
fn every_shape_of_an_obstacle_is_read() {
    let cases = [
        ("type = 'plane', normal = [0, 0, 2], offset = 1", "Plane"),
        ("type = 'box', size = [1, 2, 3]", "Box"),
        ("type = 'sphere', radius = 1", "Sphere"),
        ("type = 'capsule', radius = 1, length = 2", "Capsule"),
        ("type = 'cylinder', radius = 1, length = 2", "Cylinder"),
        ("type = 'cone', radius = 1, height = 2", "Cone"),
        ("type = 'torus', major = 1, minor = 0.2", "Torus"),
        (
            "type = 'bowl', radius = 1, depth = 0.5, thickness = 0.1",
            "Mesh",
        ),
        ("type = 'cone', radius = 1, height = 2, around = 5", "Mesh"),
    ];
    for (shape, want) in cases {
        let scene = format!(
            "{}[contact]\nenabled = false\n[[obstacle]]\nname = \"o\"\nshape = {{ {shape} }}\n",
            body("rigid", "type = 'sphere', radius = 1")
        );
        let scene = ok(&scene);
        let found = &scene.model.obstacles[0].shape;
        let shown = format!("{found:?}");
        let shown = shown.strip_prefix("Solid(").unwrap_or(&shown);
        assert!(shown.starts_with(want), "{shape}: {found:?}");
        if let ObstacleShape::Solid(Solid::Plane { normal, offset }) = found {
            assert_eq!((normal.z, *offset), (1.0, 1.0));
        }
    }
}
