//! Scenes that the cases begin with.

use crate::mutate::Table;

/// Cloth, a rigid box, hair and a floor.
pub const SCENE: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = 0.01
duration = 0.05
frame_every = 1
[method]
name = "admm"
max_iterations = 200
[contact]
enabled = true
thickness = 1e-3
[[body]]
name = "cloth"
kind = "shell"
shape = { type = "sheet", size = [0.4, 0.4], cells = [4, 4], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5, damping = { stiffness = 0.001 } }
translate = [0, 0, 0.01]
velocity = [0.5, 0, -0.2]
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [0.05, 0.05, 0.05] }
material = { kind = "rigid", density = 500 }
translate = [0.5, 0.03, 0.04]
[[body]]
name = "hair"
kind = "rods"
shape = { type = "groom", radius = 0.1, count = 5, length = 0.2, segments = 6, frizz = 0.3, seed = 2 }
material = { kind = "rod", density = 1300, radius = 1e-3, young_bending = 1e8, young_stretch = 1e7, poisson = 0.4 }
translate = [0, 0, 1.5]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[[pin]]
body = "hair"
select = { roots = true }
[[probe]]
name = "height"
type = "centroid"
body = "cloth"
axis = "z"
[[check]]
of = "height"
at = 0.05
below = 1.0
[output]
formats = ["vtu", "obj"]
checkpoint_every = 1
"#;

/// A rigid box above a handful of sand, which begins above a floor.
pub const SAND: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = 0.01
duration = 0.05
frame_every = 1
[method]
name = "attachment"
[contact]
thickness = 1e-3
[friction]
default = 0.5
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = { kind = "rigid", density = 500 }
translate = [0, 0, 0.2]
[[body]]
name = "sand"
kind = "granular"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
cell = 0.05
per_cell = 4
material = { density = 1600, young = 1e5, poisson = 0.3, law = "sand", friction_angle = 30 }
translate = [0, 0, 0.06]
[[obstacle]]
name = "floor"
shape = { type = "plane" }
[[probe]]
name = "height"
type = "max"
body = "sand"
axis = "z"
[[check]]
of = "height"
from = 0
above = 0.0
[output]
formats = ["vtu"]
checkpoint_every = 1
"#;

/// Two panels that are sewn around a walking figure, and a curtain that is remeshed and held by it.
pub const GARMENT: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = 0.01
duration = 0.05
frame_every = 1
[method]
name = "admm"
[contact]
thickness = 0.004
[[body]]
name = "dress"
material = "interlock-knit"
[[body.panel]]
name = "front"
shape = { type = "sheet", size = [0.62, 0.9], cells = [3, 4], pattern = "alternating" }
rotate = [{ axis = [1, 0, 0], angle = 90 }, { axis = [0, 0, 1], angle = 90 }]
translate = [0.4, 0, 1.03]
[[body.panel]]
name = "back"
shape = { type = "sheet", size = [0.62, 0.9], cells = [3, 4], pattern = "alternating" }
rotate = [{ axis = [1, 0, 0], angle = 90 }, { axis = [0, 0, 1], angle = 90 }]
translate = [-0.4, 0, 1.03]
[[body]]
name = "curtain"
shape = { type = "sheet", size = [0.4, 0.4], cells = [3, 3], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5 }
translate = [2, 0, 1]
[[seam]]
name = "side"
body = "dress"
a = { select = { group = "front", half_space = { normal = [0, 1, 0], offset = 0.3 } } }
b = { select = { group = "back", half_space = { normal = [0, 1, 0], offset = 0.3 } } }
close = [0, 0.6]
[[adapt]]
body = "curtain"
remesh = { edges = [0.05, 0.4], every = 2 }
[[pin]]
name = "carried"
body = "curtain"
select = { nearest = [2, 0, 1] }
to = "figure"
[[attachment]]
name = "string"
a = { body = "curtain", near = [2.2, 0.2, 1] }
b = { world = [2.2, 0.2, 1.2] }
stiffness = 10
[[obstacle]]
name = "figure"
mesh = "builtin:figure.glb"
animation = { clip = "walk", rate = 50, start = 0, interpolation = "spline" }
[[probe]]
name = "height"
type = "centroid"
body = "dress"
axis = "z"
[output]
formats = ["vtu", "obj"]
checkpoint_every = 1
"#;

/// Scenes whose settings are changed, with their tables.
pub const SETTINGS: [(&str, &[Table]); 3] = [
    (
        SCENE,
        &[
            ("", "variant"),
            ("time.", "time.part"),
            ("contact.", "contact.part"),
            ("method.", "method.part"),
            ("method.", "method.part"),
            ("method.", "method.part"),
            ("output.", "output.part"),
            ("friction.", "friction.part"),
            ("air.", "air.part"),
            ("body.cloth.", "body.part"),
            ("body.box.", "body.part"),
            ("body.hair.", "body.part"),
            ("body.0.", "body.part"),
            ("body.99.", "body.part"),
            ("body.cloth.shape.", "shape.part"),
            ("body.box.shape.", "shape.part"),
            ("body.hair.shape.", "shape.part"),
            ("body.cloth.material.", "material.part"),
            ("body.cloth.material.damping.", "material.damping.part"),
            ("body.cloth.material.stretch.", "material.stretch.part"),
            ("body.box.material.", "material.part"),
            ("body.hair.material.", "material.part"),
            ("obstacle.floor.", "obstacle.part"),
            ("obstacle.floor.shape.", "obstacle.shape.part"),
            ("obstacle.floor.motion.translate.", "motion.translate.part"),
            ("pin.0.", "pin.part"),
            ("pin.0.select.", "select.part"),
            ("probe.height.", "probe.part"),
            ("check.0.", "check.part"),
            ("adapt.0.", "adapt.part"),
            ("attachment.0.", "attachment.part"),
            ("volume.0.", "volume.part"),
        ],
    ),
    (
        SAND,
        &[
            ("time.", "time.part"),
            ("contact.", "contact.part"),
            ("method.", "method.part"),
            ("friction.", "friction.part"),
            ("body.sand.", "body.part"),
            ("body.sand.", "body.part"),
            ("body.sand.shape.", "shape.part"),
            ("body.sand.material.", "material.part"),
            ("body.sand.material.damping.", "material.damping.part"),
            ("body.box.", "body.part"),
            ("obstacle.floor.shape.", "obstacle.shape.part"),
            ("probe.height.", "probe.part"),
        ],
    ),
    (
        GARMENT,
        &[
            ("contact.", "contact.part"),
            ("body.dress.", "body.part"),
            ("body.dress.panel.front.", "body.panel.part"),
            ("body.dress.panel.front.shape.", "shape.part"),
            ("seam.side.", "seam.part"),
            ("seam.side.a.", "seam.edge.part"),
            ("seam.side.a.select.", "select.part"),
            ("adapt.0.", "adapt.part"),
            ("adapt.0.remesh.", "adapt.remesh.part"),
            ("adapt.0.remesh.", "adapt.remesh.part"),
            ("pin.carried.", "pin.part"),
            ("attachment.string.", "attachment.part"),
            ("attachment.string.a.", "point.part"),
            ("obstacle.figure.", "obstacle.part"),
            ("obstacle.figure.animation.", "animation.part"),
        ],
    ),
];
