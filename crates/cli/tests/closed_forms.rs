//! Scenes against closed forms, and measured orders of convergence.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_cli::{
    scene::{LoadOptions, SceneSource, load},
    sim::Simulation,
};

/// Runs a built-in scene with overrides to its end; returns the simulation and its probes.
fn run(name: &str, overrides: &[String]) -> (Simulation, Vec<f64>) {
    let options = LoadOptions {
        overrides: overrides.to_vec(),
        ..LoadOptions::default()
    };
    let scene = load(&SceneSource::Builtin(name.to_owned()), &options).unwrap();
    let (mut sim, plan) = scene.simulation().unwrap();
    for _ in 0..plan.time.steps() {
        sim.step().unwrap();
    }
    let values = plan
        .probes
        .iter()
        .map(|p| {
            p.quantity
                .measure(sim.model(), sim.state(), &sim.contacts())
        })
        .collect();
    (sim, values)
}

/// log₂ of the ratio of successive differences: the order, from three levels of refinement by two.
fn order(coarse: f64, middle: f64, fine: f64) -> f64 {
    ((coarse - middle) / (middle - fine)).log2()
}

#[test]
fn the_time_step_converges_at_first_order() {
    // A soft block in its first fall (damped, so that no jarring waves are left unresolved), a stiff strip in its swing, a ball on a spring.
    let cases = [
        (
            "jelly",
            0,
            "0.08",
            vec!["body.block.material.damping={stiffness=0.02}"],
        ),
        ("swing", 1, "0.4", vec![]),
        ("pendulum", 1, "0.8", vec![]),
    ];
    for (scene, probe, duration, more) in cases {
        let value = |h: f64| {
            let mut overrides = vec![
                format!("time.step={h}"),
                format!("time.duration={duration}"),
                "method={name=\"newton\", tolerance=1e-11}".to_owned(),
            ];
            overrides.extend(more.iter().map(|s| (*s).to_owned()));
            run(scene, &overrides).1[probe]
        };
        let u: Vec<f64> = [0.002, 0.001, 0.0005, 0.00025]
            .into_iter()
            .map(value)
            .collect();
        let orders = [order(u[0], u[1], u[2]), order(u[1], u[2], u[3])];
        assert!(
            (orders[1] - 1.0).abs() < 0.1,
            "{scene}: values {u:?}, orders {orders:?}"
        );
    }
}

/// A sheet held at its whole rim is pulled in its plane, and a cube held at its whole surface sags:
/// smooth enough for the full order of linear elements.
const HELD: &str = r#"
gravity = [0, 0, -10]
[time]
step = 1000.0
duration = 2000.0
[method]
name = "newton"
tolerance = 1e-13
[[body]]
name = "held"
BODY
[[pin]]
body = "held"
select = { boundary = true }
"#;

const SHEET: &str = r#"
shape = { type = "sheet", size = [1, 1], cells = [N, N] }
material = { kind = "shell", density = 10, thickness = 0.01, young = 1e5, poisson = 0.3, bending = 100 }
rotate = { axis = [1, 0, 0], angle = 90 }
"#;

const CUBE: &str = r#"
kind = "solid"
shape = { type = "box", size = [1, 1, 1], cells = [N, N, N] }
material = { kind = "solid", density = 10, young = 1e5, poisson = 0.3 }
"#;

#[test]
fn the_mesh_converges_at_second_order() {
    for (name, body, cells) in [
        ("sheet", SHEET, [8, 16, 32, 64]),
        ("cube", CUBE, [3, 6, 12, 24]),
    ] {
        // The work of the load at rest, 2 × elastic energy: its error is the square of the energy
        // norm's.
        let energy = |n: u32| {
            let text = HELD.replace("BODY", &body.replace('N', &n.to_string()));
            let source = SceneSource::Text {
                name: "held".to_owned(),
                text,
            };
            let (mut sim, plan) = load(&source, &LoadOptions::default())
                .unwrap()
                .simulation()
                .unwrap();
            for _ in 0..plan.time.steps() {
                sim.step().unwrap();
            }
            stiction_cli::bodies::energy::elastic_energy(&sim.model().bodies[0], sim.state())
        };
        let u: Vec<f64> = cells.into_iter().map(energy).collect();
        let p = [order(u[0], u[1], u[2]), order(u[1], u[2], u[3])];
        // A cube of 24 cells is not yet in the asymptotic range.
        let tolerance = if name == "sheet" { 0.1 } else { 0.3 };
        assert!(
            (p[1] - 2.0).abs() < tolerance,
            "{name}: energies {u:?}, orders {p:?}"
        );
        assert!(
            (p[1] - 2.0).abs() < (p[0] - 2.0).abs(),
            "{name}: not approaching two: {p:?}"
        );
    }
}

/// Linear tetrahedra approach Euler–Bernoulli from the stiff side, within 2 % on the finest mesh.
#[test]
fn the_beam_approaches_euler_bernoulli_under_refinement() {
    let ratio = |n: u32| {
        let cells = format!("body.beam.shape.cells=[{}, {}, {n}]", 10 * n, n.div_ceil(4));
        run("beam", &[cells]).1[0] / -0.01
    };
    let r: Vec<f64> = [4, 8, 12].into_iter().map(ratio).collect();
    assert!(r[0] < r[1] && r[1] < r[2], "{r:?}");
    assert!((r[2] - 1.0).abs() < 0.02, "{r:?}");
}

/// Backward Euler loses ½ ‖v⁺−v‖²_M + E(x) − E(x⁺) − ∇E(x⁺)·(x−x⁺) per step: no more, no less.
#[test]
fn a_swinging_strip_loses_exactly_what_backward_euler_damps() {
    use stiction_cli::bodies::{BodyKind, State, energy};
    let options = LoadOptions {
        overrides: vec![
            "method.tolerance=1e-12".to_owned(),
            "time.step=0.005".to_owned(),
        ],
        ..LoadOptions::default()
    };
    let (mut sim, _) = load(&SceneSource::Builtin("swing".to_owned()), &options)
        .unwrap()
        .simulation()
        .unwrap();
    let total = |sim: &Simulation, s: &State| {
        let b = &sim.model().bodies[0];
        energy::kinetic_energy(b, s)
            + energy::elastic_energy(b, s)
            + energy::potential_energy(sim.model(), b, s)
    };
    let (mut lost, mut predicted) = (0.0, 0.0);
    for _ in 0..200 {
        let before = sim.state().clone();
        sim.step().unwrap();
        let after = sim.state();
        let body = &sim.model().bodies[0];
        let BodyKind::Deformable(soft) = &body.kind else {
            panic!("the strip is a shell")
        };
        let dv: Vec<_> = after.v.iter().zip(&before.v).map(|(a, b)| a - b).collect();
        let kinetic: f64 = (0..dv.len())
            .map(|i| 0.5 * dv[i].dot(&soft.mass.row(&soft.pattern, &dv, i)))
            .sum();
        let mut gradient = vec![stiction_cli::math::Vec3::zeros(); dv.len()];
        soft.terms
            .iter()
            .for_each(|t| t.add_gradient(&after.x, 1.0, &mut gradient).unwrap());
        let work: f64 = (0..dv.len())
            .map(|i| gradient[i].dot(&(before.x[i] - after.x[i])))
            .sum();
        let elastic =
            energy::elastic_energy(body, &before) - energy::elastic_energy(body, after) - work;
        lost += total(&sim, &before) - total(&sim, after);
        predicted += kinetic + elastic;
    }
    assert!(lost > 0.01, "the strip should swing: {lost}");
    assert!(
        (lost - predicted).abs() < 1e-6 * lost,
        "lost {lost}, predicted {predicted}"
    );
}
