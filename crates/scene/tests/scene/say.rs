//! Formulas, motions, loads and probes, as a scene gives them.

use stiction_math::Vec3;

use crate::{fails, load::run, ok, ok_with};

/// A rigid brick in free flight that spins.
const BRICK: &str = r#"
gravity = [0, 0, 0]
[time]
step = 0.01
duration = 1.0
[[body]]
name = "brick"
kind = "rigid"
shape = { type = "box", size = [0.2, 0.1, 0.05] }
material = "wood"
velocity = [0.5, 0, 0]
angular_velocity = [0, 0, 720]
"#;

fn check(scene: &str) {
    for outcome in run(ok(scene)) {
        assert!(outcome.passed, "{outcome:?}");
    }
}

#[test]
fn a_spinning_brick_has_its_probes() {
    // It turns twice; the fastest corner is at half the diagonal of its largest face.
    check(&format!(
        "{BRICK}{}",
        r#"
[[probe]]
name = "rate"
type = "angular-velocity"
body = "brick"
axis = "z"
[[probe]]
name = "turned"
type = "angle"
body = "brick"
axis = [0, 0, 1]
[[probe]]
name = "fastest"
type = "speed"
body = "brick"
[[probe]]
name = "spin"
type = "spin"
body = "brick"
axis = "z"
[[probe]]
name = "about origin"
type = "angular-momentum"
body = "brick"
axis = "z"
[[probe]]
name = "ahead"
type = "relative-position"
a = { body = "brick" }
b = { world = [0, 0, 0] }
axis = "x"
[[probe]]
name = "corner: speed, of centre"
type = "relative-velocity"
a = { body = "brick", near = [0.1, 0.05, 0] }
b = { body = "brick" }
[[check]]
of = "rate"
from = 0
equals = 720
within = 1e-9
[[check]]
of = "turned - 720 * t"
name = "no jump after a turn"
from = 0
above = -1e-6
below = 1e-6
[[check]]
of = "fastest"
from = 0
above = "4*pi*sqrt(0.1^2 + 0.05^2)"
below = 1.95
[[check]]
of = "(spin - 'about origin')"
from = 0
equals = 0
within = 1e-12
[[check]]
of = "ahead"
from = 0
equals = "0.5 * t"
within = "1e-12 + 0*spin"
[[check]]
of = "'corner: speed, of centre' / (4*pi)"
from = 0
reduce = "mean"
equals = "sqrt(0.1^2 + 0.05^2)"
relative = 1e-9
[[check]]
of = "ahead / t"
name = "over a window"
from = 0.5
to = 1.0
reduce = "drift"
below = 1e-12
[[check]]
of = "certificate.kinetic - certificate.potential"
above = "0.5 * 0.5^2 * 0.5"
"#
    ));
}

#[test]
fn a_pushed_brick_gains_what_its_loads_give() {
    check(&format!(
        "{BRICK}{}",
        r#"
force = { formula = ["0", "2 * t", 0] }
torque = [0, 0, 1e-3]
acceleration = { times = [0, 1], values = [[0, 0, 0], [0, 0, 4]] }
[[probe]]
name = "py"
type = "momentum"
body = "brick"
axis = "y"
[[probe]]
name = "vz"
type = "centroid-velocity"
body = "brick"
axis = "z"
[[probe]]
name = "spin"
type = "spin"
body = "brick"
axis = "z"
[[check]]
of = "py"
from = 0
equals = "t^2"
within = 1e-9
[[check]]
of = "vz"
from = 0
equals = "2 * t^2"
within = 1e-9
[[check]]
of = "spin"
reduce = "slope"
equals = 1e-3
relative = 1e-6
"#
    ));
}

/// A node that is led is at its prescribed position at the end of every step, in any form of the motion.
#[test]
fn motions_are_exact_at_the_ends_of_steps() {
    let motions = [
        (
            "translate = { velocity = [0.3, 0, 0], acceleration = [0, 0, 2] }",
            "0.3*t",
            "t^2",
        ),
        (
            "translate = { amplitude = [0.1, 0, 0.2], frequency = 2, phase = 90 }",
            "0.1*cos(4*pi*t)",
            "0.2*cos(4*pi*t)",
        ),
        (
            "translate = { formula = [\"0.1*sin(t)\", 0, \"max(0, t - 0.1)\"] }",
            "0.1*sin(t)",
            "max(0, t - 0.1)",
        ),
        (
            "rotate = { axis = [0, 1, 0], pivot = [0, 0.5, -1], angular_velocity = 90 }",
            "sin(pi/2*t)",
            "cos(pi/2*t) - 1",
        ),
        (
            "rotate = { axis = [0, 1, 0], pivot = [0, 0.5, -1], formula = \"30 * t^2\" }",
            "sin(pi/6*t^2)",
            "cos(pi/6*t^2) - 1",
        ),
        (
            "rotate = { axis = [0, 1, 0], pivot = [0, 0.5, -1], amplitude = 30, frequency = 1 }",
            "sin(pi/6*sin(2*pi*t))",
            "cos(pi/6*sin(2*pi*t)) - 1",
        ),
    ];
    for (motion, x, z) in motions {
        let scene = format!(
            r#"
gravity = [0, 0, 0]
[time]
step = 0.01
duration = 0.3
[[body]]
name = "strip"
kind = "shell"
shape = {{ type = "sheet", size = [0.2, 1.0], cells = [2, 4] }}
material = "tablecloth"
[[pin]]
body = "strip"
select = {{ nearest = [0, 0.5, 0] }}
[pin.motion]
{motion}
[[probe]]
name = "x"
type = "displacement"
body = "strip"
near = [0, 0.5, 0]
axis = "x"
[[probe]]
name = "z"
type = "displacement"
body = "strip"
near = [0, 0.5, 0]
axis = "z"
[[probe]]
name = "vx"
type = "velocity"
body = "strip"
near = [0, 0.5, 0]
axis = "x"
[[check]]
of = "x"
from = 0.01
equals = "{x}"
within = 1e-13
[[check]]
of = "z"
from = 0.01
equals = "{z}"
within = 1e-13
"#
        );
        let scene = ok(&scene);
        for outcome in run(scene) {
            assert!(outcome.passed, "{motion}: {outcome:?}");
        }
    }
}

#[test]
fn the_point_of_an_attachment_moves() {
    let scene = BRICK.replace(
        "velocity = [0.5, 0, 0]\nangular_velocity = [0, 0, 720]\n",
        "",
    );
    check(&format!(
        "{scene}{}",
        r#"
[[attachment]]
name = "tow"
a = { body = "brick", near = [0, 0, 0] }
b = { world = [0, 0, 0], motion = { translate = { velocity = [1, 0, 0] } } }
stiffness = 400
damping = 0.1
[[probe]]
name = "v"
type = "centroid-velocity"
body = "brick"
axis = "x"
[[probe]]
name = "pull"
type = "tension"
attachment = "tow"
[[check]]
of = "v"
equals = 1
within = 1e-3
[[check]]
of = "pull"
below = 0.1
"#
    ));
}

#[test]
fn gravity_may_be_a_formula() {
    let scene = ok_with(
        BRICK,
        &["gravity={ formula = [0, 0, \"-9.81 * min(1, 2*t)\"] }"],
    );
    assert_eq!(scene.model.gravity_at(0.25), Vec3::new(0.0, 0.0, -4.905));
}

#[test]
fn errors_in_formulas_point_into_the_formula() {
    let probe =
        "[[probe]]\nname = \"tip-height\"\ntype = \"max\"\nbody = \"brick\"\naxis = \"z\"\n";
    for (of, offending, message, help) in [
        (
            "2 * tip-height",
            "tip",
            "there is no probe `tip`",
            "'tip-height' in single quotes",
        ),
        (
            "tip-heigth",
            "tip",
            "there is no probe `tip-heigth`",
            "did you mean `tip-height`?",
        ),
        (
            "'tip-height' * * 2",
            "*",
            "expected a number, a name or `(`, found `*`",
            "",
        ),
        (
            "certificate.residuum / 2",
            "certificate.residuum",
            "has no field `residuum`",
            "residual",
        ),
        (
            "sqr('tip-height')",
            "sqr",
            "there is no function `sqr`",
            "did you mean `sqrt`?",
        ),
        ("('tip-height' + 1", "1", "expected `)` or an operator", ""),
    ] {
        let error = fails(
            &format!("{BRICK}{probe}[[check]]\nof = \"{of}\"\nbelow = 1\n"),
            &[],
        );
        let problem = &error.problems()[0];
        assert_eq!(
            problem.offending_text(),
            Some(offending),
            "{of}: {}",
            error.plain()
        );
        assert!(
            problem.message().contains(message),
            "{of}: {}",
            error.plain()
        );
        assert!(
            problem.help_text().unwrap_or("").contains(help),
            "{of}: {}",
            error.plain()
        );
    }
}

#[test]
fn names_may_hold_colons_and_commas() {
    let scene = BRICK.replace("\"brick\"", "\"left: brick, small\"");
    let probe = "[[probe]]\nname = \"a:b, c\"\ntype = \"max\"\nbody = \"left: brick, small\"\naxis = \"z\"\n";
    let check = "[[check]]\nof = \"a:b, c\"\nequals = 0.025\nwithin = 0.1\n[[check]]\nname = \"twice: it\"\nof = \"2 * 'a:b, c'\"\nequals = \"'a:b, c' * 2\"\nwithin = 1e-12\n";
    let scene = format!("{scene}{probe}{check}");
    let scene = ok_with(&scene, &["body.\"left: brick, small\".velocity=[0, 0, 1]"]);
    assert_eq!(scene.model.bodies[0].name, "left: brick, small");
    for outcome in run(scene) {
        assert!(outcome.passed || outcome.name == "a:b, c", "{outcome:?}");
    }
}
