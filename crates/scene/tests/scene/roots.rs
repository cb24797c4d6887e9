//! Rods that grow out of bodies, padding and bodies that start stretched.

use stiction_bodies::Stencil;
use stiction_math::Vec3;

use crate::{fails, ok};

const FUR: &str = r#"
[time]
step = 0.01
duration = 0.1

[material.hair]
based_on = "human-hair"
friction = 0.3

[[body]]
name = "ball"
kind = "embedded"
material = "rubber"
shape = { type = "sphere", radius = 0.1, frequency = 4 }
cell = 0.05
translate = [0, 0, 1]
velocity = [1, 0, 0]
padding = 0.002

[[body]]
name = "fur"
material = "hair"
shape = { type = "groom", on = "body", count = 20, length = 0.02, segments = 4 }
rooted = { body = "ball", stiffness = 0.5, bare = 3 }

[[attachment]]
name = "string"
a = { world = [0, 0, 2] }
b = { body = "ball", near = [0, 0, 1.1] }
stiffness = 10
length = 0.9

[[probe]]
name = "pull"
type = "tension"
attachment = "string"
"#;

#[test]
fn hair_on_a_body_stands_on_its_surface_and_is_tied_to_it() {
    let scene = ok(FUR);
    let [ball, fur] = &scene.model.bodies[..] else {
        panic!()
    };
    assert_eq!(ball.padding, 0.002);
    let rooted = fur.rooted.unwrap();
    assert_eq!((rooted.body, rooted.bare), (0, 3));
    for s in 0..20 {
        let root = scene.state.x[fur.node_block(5 * s).unwrap()];
        let r = (root - Vec3::z()).norm();
        assert!(r > 0.085 && r < 0.1 + 1e-12, "{r}");
        let v = scene.state.v[fur.node_block(5 * s + 4).unwrap()];
        assert!((v - Vec3::x()).norm() < 1e-12);
    }
    // The scene's own springs come first, so that probes find them.
    assert_eq!(scene.model.attachments.len(), 1 + 2 * 20);
    assert!(matches!(scene.model.attachments[0].a, Stencil::World(_)));
    assert_eq!(scene.model.attachments[0].stiffness, 10.0);
    let segment = 1e8 * std::f64::consts::PI * 37e-6_f64.powi(2) / 0.005;
    let k = scene.model.attachments[1].stiffness;
    assert!((k / segment - 0.5).abs() < 1e-6, "{k}");
}

#[test]
fn a_body_starts_stretched_and_remembers_its_shape() {
    let text = FUR.replace("padding = 0.002", "start_scale = [2, 1, 0.5]");
    let scene = ok(&text);
    let ball = &scene.model.bodies[0];
    let centre = Vec3::z();
    let scale = Vec3::new(2.0, 1.0, 0.5);
    for (x, rest) in scene.state.x.iter().zip(ball.rest()) {
        let expected = centre + scale.component_mul(&(rest - centre));
        assert!((x - expected).norm() < 1e-3, "{x} {expected}");
    }
}

#[test]
fn roots_that_cannot_be_are_refused() {
    let cases = [
        (
            "rooted = { body = \"ball\", stiffness = 0.5, bare = 3 }",
            "",
            "needs the key `rooted`",
        ),
        (
            "body = \"ball\", stiffness",
            "body = \"fur\", stiffness",
            "must come before it",
        ),
        (
            "body = \"ball\", stiffness = 0.5",
            "body = \"bal\", stiffness = 0.5",
            "there is no body `bal`",
        ),
        ("stiffness = 0.5", "stiffness = 0", "positive"),
        (
            "on = \"body\", count",
            "on = \"body\", radius = 0.1, count",
            "takes no `radius`",
        ),
        (
            "bare = 3 }",
            "bare = 3 }\ntranslate = [0, 0, 1]",
            "takes no `translate`",
        ),
        (
            "bare = 3 }",
            "bare = 3 }\nvelocity = [0, 0, 1]",
            "has no meaning: rooted rods start with their body",
        ),
        (
            "bare = 3 }",
            "bare = 3 }\npadding = 0.1",
            "it is for bodies with a surface",
        ),
        ("padding = 0.002", "start_scale = 0", "positive"),
        (
            "padding = 0.002",
            "rooted = { body = \"fur\" }",
            "it is for rods",
        ),
    ];
    for (from, to, message) in cases {
        let text = FUR.replacen(from, to, 1);
        assert_ne!(text, FUR);
        let error = fails(&text, &[]).plain();
        assert!(error.contains(message), "{to}: {error}");
    }
}
