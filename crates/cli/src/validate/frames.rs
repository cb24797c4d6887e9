//! Invariances of the laws: frame of reference, handedness, direction, size, no action at a distance.

use stiction_math::{Mat3, Vec3, nalgebra};

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, LabRun, Row, Trouble, ValidationCase, lab::GRAVITY,
};

pub fn cases() -> [ValidationCase; 3] {
    [
        ValidationCase {
            name: "ghosts",
            title: "Nothing acts at a distance: bodies farther apart than the contact thickness fall as if alone.",
            closed_form: "z = z₀ − g h² k (k + 1)/2 and x = x₀ + v h k after k steps of backward Euler, for every body.",
            run: ghosts,
        },
        ValidationCase {
            name: "symmetry",
            title: "Things that slide on a floor do the same in a moving, mirrored, turned or smaller world.",
            closed_form: "x'(t) = Q x(t) + V t for a mirror or turn Q and a velocity V; x'(√λ t) = λ x(t) for lengths, moduli and \
                          thicknesses times λ and times √λ.",
            run: |lab| symmetry(lab, false),
        },
        ValidationCase {
            name: "symmetry-bodies",
            title: "The same with bodies on one another.",
            closed_form: "As symmetry; a soft block slides on a cloth on the floor.",
            run: |lab| symmetry(lab, true),
        },
    ]
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// Without contact there is only gravity, and backward Euler sums it up as above.
fn ghosts(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::by_default("validation/ghosts"))?;
    let (h, steps) = (run.step, (run.end() / run.step).round());
    let fall = -GRAVITY * h * h * 0.5 * steps * (steps + 1.0);
    let mut found = Findings::default();
    for body in ["box", "neighbour", "cloth", "block", "passing"] {
        let speed = if body == "passing" { 2.0 } else { 0.0 };
        let expected = [speed * run.end(), 0.0, fall];
        let off = AXES.iter().zip(expected).map(|(axis, e)| {
            let name = format!("{body}-{axis}");
            (run.last(&name) - run.first(&name) - e).abs()
        });
        found.rows.push(Row::at_most(
            format!("{body}: distance from free fall after {steps} steps"),
            "m",
            off.fold(0.0, |most: f64, d| if d.is_nan() { d } else { most.max(d) }),
            (
                1e-12,
                "rounding of sums of 100 terms below 1 m, and of elastic forces of bodies at rest in themselves",
            ),
            &run.command,
        ));
    }
    Ok(found)
}

/// A body of the scene: its name, place, velocity, angular velocity [°/s] about z, and whether it has nodes.
struct Thing {
    name: &'static str,
    place: [f64; 3],
    velocity: [f64; 3],
    turn: f64,
    nodes: bool,
}

/// Bodies of the scene; with the block on the mat or next to it.
fn things(on_mat: bool) -> [Thing; 4] {
    let (y, z) = if on_mat { (0.7, 0.022) } else { (0.4, 0.021) };
    let thing = |name, place, velocity, turn, nodes| Thing {
        name,
        place,
        velocity,
        turn,
        nodes,
    };
    [
        thing("box", [0.0, 0.0, 0.026], [0.6, 0.3, 0.0], 200.0, false),
        thing("sheet", [0.0, -0.3, 0.001], [0.6, 0.3, 0.0], 200.0, true),
        thing("mat", [0.0, 0.7, 0.001], [0.0; 3], 0.0, true),
        thing("block", [0.01, y, z], [0.4, 0.2, 0.0], 100.0, true),
    ]
}

/// The change of the scene: x' = λ Q x(t) + V t'.
struct Change {
    name: &'static str,
    /// A turn (axis, angle [°]).
    turn: Option<([f64; 3], f64)>,
    /// Mirrored along y.
    mirror: bool,
    /// V [m/s].
    velocity: [f64; 3],
    /// λ.
    scale: f64,
}

const SAME: Change = Change {
    name: "as it is",
    turn: None,
    mirror: false,
    velocity: [0.0; 3],
    scale: 1.0,
};

impl Change {
    /// Q.
    fn matrix(&self) -> Mat3 {
        let turn = self.turn.map_or_else(Mat3::identity, |(axis, angle)| {
            let axis = nalgebra::Unit::new_normalize(Vec3::from(axis));
            *nalgebra::Rotation3::from_axis_angle(&axis, angle.to_radians()).matrix()
        });
        match self.mirror {
            true => turn * Mat3::from_diagonal(&Vec3::new(1.0, -1.0, 1.0)),
            false => turn,
        }
    }

    fn of(&self, things: &[Thing; 4]) -> Experiment {
        let (q, l) = (self.matrix(), self.scale);
        let time = l.sqrt();
        let turned = |v: [f64; 3]| -> [f64; 3] { (q * Vec3::from(v)).into() };
        let mut made = Experiment::by_default("validation/symmetry")
            .with_vector("gravity", turned([0.0, 0.0, -GRAVITY]))
            .with_vector("obstacle.floor.shape.normal", turned([0.0, 0.0, 1.0]));
        if self.velocity != [0.0; 3] {
            let [x, y, z] = self.velocity;
            made = made.with(
                "obstacle.floor.motion.translate",
                format!("{{times=[0, 1], values=[[0, 0, 0], [{x:?}, {y:?}, {z:?}]]}}"),
            );
        }
        for thing in things {
            let key = |what: &str| format!("body.{}.{what}", thing.name);
            let place = turned(thing.place.map(|c| c * l));
            let moving = turned(thing.velocity.map(|c| c * time));
            let velocity = std::array::from_fn(|c| moving[c] + self.velocity[c]);
            // An angular velocity is turned, and its sign changes in a mirror.
            let spin = turned([0.0, 0.0, q.determinant() * thing.turn / time]);
            made = made
                .with_vector(&key("translate"), place)
                .with_vector(&key("velocity"), velocity)
                .with_vector(&key("angular_velocity"), spin);
            if self.mirror || l != 1.0 {
                let side = if self.mirror { -l } else { l };
                made = made.with_vector(&key("scale"), [l, side, l]);
            }
            if let Some(([x, y, z], angle)) = self.turn {
                made = made.with(
                    &key("rotate"),
                    format!("{{axis=[{x:?}, {y:?}, {z:?}], angle={angle:?}}}"),
                );
            }
        }
        if l != 1.0 {
            // Stresses of weight are ρ g L: moduli go with λ, the bending rigidity E t³ with λ⁴.
            made = made
                .with("time.step", 0.002 * time)
                .with("time.duration", 0.1 * time)
                .with("contact.thickness", 0.001 * l)
                .with("material.cloth.area_density", 0.2 * l)
                .with("material.cloth.thickness", 1e-3 * l)
                .with("material.cloth.young", 1e5 * l)
                .with("material.cloth.bending", 1e-5 * l.powi(4))
                .with("material.soft.young", 1e5 * l)
                .with("material.soft.damping.stiffness", 0.005 * time);
        }
        made
    }

    /// The greatest distance at any time of a body from where the unchanged scene has it, in its measure [m].
    fn off(&self, thing: &Thing, same: &LabRun, changed: &LabRun) -> f64 {
        let q = self.matrix();
        let points: &[&str] = if thing.nodes { &["", "-node"] } else { &[""] };
        let mut most: f64 = 0.0;
        for point in points {
            let columns =
                |run: &LabRun| AXES.map(|a| run.points(&format!("{}{point}-{a}", thing.name)));
            let (a, b) = (columns(same), columns(changed));
            if a[0].len() != b[0].len() || a[0].is_empty() {
                return f64::NAN;
            }
            for i in 0..a[0].len() {
                let at = |c: &[Vec<(f64, f64)>; 3]| Vec3::new(c[0][i].1, c[1][i].1, c[2][i].1);
                let moved = Vec3::from(self.velocity) * b[0][i].0;
                let back = q.transpose() * (at(&b) - moved) / self.scale;
                let off = (back - at(&a)).norm();
                if off.is_nan() {
                    return off;
                }
                most = most.max(off);
            }
        }
        most
    }
}

/// Nothing in the laws of motion, contact and friction names a place, a velocity, a direction, a hand or a length: the
/// contact thickness and the moduli, which do, change with the scene. What is left is the accuracy of the solver, and
/// for smoothed friction and penalties ε and κ, which do not change with the size.
fn symmetry(lab: &Lab<'_>, on_mat: bool) -> Result<Findings, Trouble> {
    let things = things(on_mat);
    let changes = [
        Change {
            name: "moving with 10 m/s",
            velocity: [8.0, 6.0, 0.0],
            ..SAME
        },
        Change {
            name: "mirrored",
            mirror: true,
            ..SAME
        },
        Change {
            name: "turned about z",
            turn: Some(([0.0, 0.0, 1.0], 37.0)),
            ..SAME
        },
        Change {
            name: "turned in space",
            turn: Some(([1.0, 2.0, 3.0], 50.0)),
            ..SAME
        },
        Change {
            name: "at a tenth of its size",
            scale: 0.1,
            ..SAME
        },
    ];
    let mut experiments = vec![SAME.of(&things)];
    experiments.extend(changes.iter().map(|c| c.of(&things)));
    let runs = lab.run_all(&experiments)?;
    let steps = (runs[0].end() / runs[0].step).round();
    let mut found = Findings::default();
    for (change, run) in changes.iter().zip(&runs[1..]) {
        let (allowed, why) = match lab.friction {
            FrictionAccuracy::Exact => (
                1e-7 * steps / change.scale,
                "1e-7 m in every step, above what a residual of 1e-9 m/s leaves",
            ),
            FrictionAccuracy::Smoothed { .. } if change.scale == 1.0 => (
                1e-8 * steps * runs[0].end(),
                "the default tolerance of 1e-8 m/s in every step",
            ),
            FrictionAccuracy::Smoothed { epsilon } => (
                0.001 + 10.0 * epsilon / change.scale.sqrt() * runs[0].end(),
                "a penalty that sinks differently, by less than the contact thickness, and creep of ε, which is larger relative to the smaller speeds",
            ),
        };
        for thing in &things {
            found.rows.push(Row::at_most(
                format!("{}: {}, off by", change.name, thing.name),
                "m",
                change.off(thing, &runs[0], run),
                (allowed, why),
                &run.command,
            ));
        }
    }
    Ok(found)
}
