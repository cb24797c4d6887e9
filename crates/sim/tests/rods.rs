//! Rods against closed forms.
#![allow(clippy::unwrap_used)]

use stiction_bodies::{
    BodyKind, Model, State,
    builder::{BodySpec, Builder},
    energy::{angular_momentum, kinetic_energy, momentum},
    material::Damping,
    motion::{Interpolation, Motion, Track, Turn},
    rod::{Natural, RodMaterial, RodSection, Twist, shear_modulus},
};
use stiction_geometry::Strands;
use stiction_math::{Vec3, nalgebra::Unit};
use stiction_sim::{Newton, Simulation, newton::Config};

fn material() -> RodMaterial {
    RodMaterial {
        density: 1200.0,
        young: 2e7,
        stretch: 2e7,
        shear: shear_modulus(2e7, 0.4),
        radii: [5e-3; 2],
        natural: Natural::Given,
        twist: Twist::Dynamic,
        damping: Damping::default(),
    }
}

const TWISTS: [Twist; 2] = [Twist::Dynamic, Twist::QuasiStatic];

fn simulate(built: (Model, State), h: f64, steps: usize) -> Simulation {
    let method = Box::new(Newton::new(Config::default()));
    let mut sim = Simulation::new(built.0, built.1, method, h).unwrap();
    for _ in 0..steps {
        sim.step().unwrap();
    }
    sim
}

/// Tip of a heavy elastica: B φ″ = w (L − s) cos φ, φ(0) = 0, φ′(L) = 0, by shooting.
fn elastica(bend: f64, weight: f64, length: f64) -> [f64; 2] {
    let steps = 4000;
    let ds = length / f64::from(steps);
    let shoot = |slope: f64| {
        // φ, φ′, x, z.
        let rate = |s: f64, y: [f64; 4]| {
            let bend = weight * (length - s) * y[0].cos() / bend;
            [y[1], bend, y[0].cos(), y[0].sin()]
        };
        let mut y = [0.0, slope, 0.0, 0.0];
        for i in 0..steps {
            let s = f64::from(i) * ds;
            let add = |y: [f64; 4], k: [f64; 4], c: f64| std::array::from_fn(|i| y[i] + c * k[i]);
            let k1 = rate(s, y);
            let k2 = rate(s + 0.5 * ds, add(y, k1, 0.5 * ds));
            let k3 = rate(s + 0.5 * ds, add(y, k2, 0.5 * ds));
            let k4 = rate(s + ds, add(y, k3, ds));
            y = std::array::from_fn(|i| {
                y[i] + ds / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
            });
        }
        y
    };
    let (mut low, mut high) = (-200.0 / length, 0.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if shoot(middle)[1] > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    let y = shoot(0.5 * (low + high));
    [y[2], y[3]]
}

/// The tip of a cantilever with `n` edges beyond the middle of the clamped one.
fn cantilever(n: usize, length: f64, material: &RodMaterial) -> [f64; 2] {
    // The frame of an edge belongs to its middle: that is where the rod is clamped.
    let edge = length / (n as f64 + 0.5);
    let points = (0..n + 2).map(|i| Vec3::new((i as f64 - 0.5) * edge, 0.0, 0.0));
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    let strands = Strands::single(points.collect());
    let body = b
        .rods(BodySpec::new("rod"), strands, material, &Vec3::y())
        .unwrap();
    b.pin(body, &[0, 1], None).unwrap();
    // Long steps of backward Euler go to where nothing moves.
    let sim = simulate(b.finish().unwrap(), 0.5, 60);
    assert!(kinetic_energy(&sim.model().bodies[0], sim.state()) < 1e-12);
    let tip = sim.state().x[n + 1];
    [tip.x, tip.z]
}

#[test]
fn a_cantilever_is_the_heavy_elastica() {
    let material = material();
    let section = RodSection::from(&material);
    let length = 0.6;
    let exact = elastica(section.bend[0], section.mass * 9.81, length);
    // Bent far beyond the linear theory.
    assert!(exact[1] < -0.5 * length, "{exact:?}");
    for twist in TWISTS {
        let material = RodMaterial { twist, ..material };
        let errors = [8, 16, 32].map(|n| {
            let tip = cantilever(n, length, &material);
            (tip[0] - exact[0]).hypot(tip[1] - exact[1]) / length
        });
        assert!(errors[2] < 0.01, "{errors:?}");
        assert!(
            errors[1] < 0.5 * errors[0] && errors[2] < 0.5 * errors[1],
            "{errors:?}"
        );
    }
}

#[test]
fn an_elliptic_rod_bends_by_the_stiffness_across() {
    let round = material();
    for twist in TWISTS {
        for radii in [[3e-3, 8e-3], [8e-3, 3e-3]] {
            let flat = RodMaterial {
                radii,
                twist,
                ..round
            };
            // The director m₁ is along y, so that gravity bends the rod towards m₂.
            let section = RodSection::from(&flat);
            let exact = elastica(section.bend[1], section.mass * 9.81, 0.5);
            let tip = cantilever(24, 0.5, &flat);
            let error = (tip[0] - exact[0]).hypot(tip[1] - exact[1]) / 0.5;
            assert!(error < 0.01, "{radii:?}: {tip:?} {exact:?}");
        }
    }
}

/// One end is turned slowly by a right angle and more: twist spreads evenly, whatever the mesh.
#[test]
fn twist_spreads_evenly() {
    for twist in TWISTS {
        turned_at_one_end(twist);
    }
}

fn turned_at_one_end(twist: Twist) {
    let mut b = Builder::new(Vec3::zeros(), None);
    let mut x = 0.0;
    let points: Vec<Vec3> = (0..14)
        .map(|i| {
            x += 0.02 * (1.0 + 0.5 * f64::from(i % 3));
            Vec3::new(x, 0.0, 0.0)
        })
        .collect();
    let strands = Strands::single(points.clone());
    let body = b
        .rods(
            BodySpec::new("rod"),
            strands,
            &RodMaterial {
                twist,
                ..material()
            },
            &Vec3::y(),
        )
        .unwrap();
    let angle = 5.0;
    let turn = Turn {
        axis: Unit::new_normalize(Vec3::x()),
        pivot: Vec3::zeros(),
        angle: Track::new(vec![0.0, 1.0], vec![0.0, angle], Interpolation::Smooth)
            .unwrap()
            .into(),
    };
    let motion = Motion {
        turns: vec![turn],
        ..Motion::default()
    };
    b.pin(body, &[0, 1], None).unwrap();
    b.pin(body, &[12, 13], Some(motion)).unwrap();
    let sim = simulate(b.finish().unwrap(), 0.05, 60);
    let BodyKind::Rods(rods) = &sim.model().bodies[0].kind else {
        unreachable!()
    };
    let twist = |edge: usize| match rods.twist_of(edge) {
        Some((b, c)) => sim.state().x[b][c] / rods.section().radius,
        None => sim.state().frames.angle[edge],
    };
    let middle = |edge: usize| 0.5 * (points[edge].x + points[edge + 1].x);
    let whole = middle(12) - middle(0);
    for edge in 0..13 {
        let expected = angle * (middle(edge) - middle(0)) / whole;
        assert!(
            (twist(edge) - expected).abs() < 1e-6,
            "edge {edge}: {} {expected}",
            twist(edge)
        );
    }
}

#[test]
fn a_helix_at_rest_stays_at_rest() {
    for twist in TWISTS {
        helix_at_rest(twist);
    }
}

fn helix_at_rest(twist: Twist) {
    let mut b = Builder::new(Vec3::zeros(), None);
    let points = (0..60).map(|i| {
        let a = 0.35 * f64::from(i);
        Vec3::new(0.02 * a.cos(), 0.02 * a.sin(), 0.004 * a)
    });
    let strands = Strands::single(points.collect());
    let material = RodMaterial {
        twist,
        ..material()
    };
    b.rods(BodySpec::new("rod"), strands, &material, &Vec3::y())
        .unwrap();
    let (model, state) = b.finish().unwrap();
    let start = state.x.clone();
    let sim = simulate((model, state), 0.01, 200);
    for (i, x) in start.iter().enumerate() {
        let moved = (sim.state().x[i] - x).norm();
        assert!(moved < 1e-10, "block {i}: {moved:e}");
    }
}

/// Equilibrium positions of the nodes of a curled strand, clamped at its upper end.
fn hanging_curl(twist: Twist) -> Vec<Vec3> {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    let points = (0..40).map(|i| {
        let a = 0.4 * f64::from(i);
        Vec3::new(0.02 * a.cos(), 0.02 * a.sin(), -0.003 * a)
    });
    let strands = Strands::single(points.collect());
    // Soft, so that it is drawn out to more than twice its height.
    let material = RodMaterial {
        young: 2e6,
        shear: shear_modulus(2e6, 0.4),
        radii: [1e-3, 1.5e-3],
        twist,
        damping: Damping {
            mass: 10.0,
            ..Damping::default()
        },
        ..material()
    };
    let body = b
        .rods(BodySpec::new("rod"), strands, &material, &Vec3::x())
        .unwrap();
    b.pin(body, &[0, 1], None).unwrap();
    let sim = simulate(b.finish().unwrap(), 0.02, 400);
    assert!(kinetic_energy(&sim.model().bodies[0], sim.state()) < 1e-14);
    sim.state().x[..40].to_vec()
}

#[test]
fn a_hanging_curl_does_not_depend_on_the_history_of_its_twist() {
    let [dynamic, quasi_static] = TWISTS.map(hanging_curl);
    let length = 0.4 * 39.0 * 0.02f64.hypot(0.003);
    assert!(dynamic[39].z < -0.12, "{}", dynamic[39].z);
    for (a, b) in dynamic.iter().zip(&quasi_static) {
        assert!((a - b).norm() < 1e-6 * length, "{a} {b}");
    }
}

/// A bent and twisted rod that is let go while it spins.
fn flight(h: f64) -> [f64; 2] {
    let mut b = Builder::new(Vec3::zeros(), None);
    let points = (0..20).map(|i| {
        let a = 0.15 * f64::from(i);
        Vec3::new(0.1 * a.cos(), 0.1 * a.sin(), 0.01 * a)
    });
    let spec = BodySpec {
        velocity: Vec3::new(0.3, -0.1, 0.2),
        angular_velocity: Vec3::new(1.0, 2.0, -1.5),
        ..BodySpec::new("rod")
    };
    // Soft, so that steps resolve its vibrations.
    let material = RodMaterial {
        natural: Natural::Straight,
        young: 2e5,
        stretch: 2e5,
        shear: 7e4,
        ..material()
    };
    let strands = Strands::single(points.collect());
    b.rods(spec, strands, &material, &Vec3::y()).unwrap();
    let (model, state) = b.finish().unwrap();
    let before = (
        momentum(&model.bodies[0], &state),
        angular_momentum(&model.bodies[0], &state),
    );
    let sim = simulate((model, state), h, (0.05 / h).round() as usize);
    let body = &sim.model().bodies[0];
    let change = |a: Vec3, b: Vec3| (a - b).norm() / b.norm();
    [
        change(momentum(body, sim.state()), before.0),
        change(angular_momentum(body, sim.state()), before.1),
    ]
}

/// Linear momentum to rounding. Angular momentum as far as backward Euler keeps it, and but for the
/// spin of edges about their tangents, whose gyroscopic terms the model leaves out: it is (r/R)² of
/// the whole.
#[test]
fn momentum_is_kept_in_free_flight() {
    for h in [2.5e-4, 6.25e-5] {
        let [linear, angular] = flight(h);
        assert!(linear < 1e-12, "{linear:e}");
        assert!(angular < 1e-4, "{angular:e}");
    }
}
