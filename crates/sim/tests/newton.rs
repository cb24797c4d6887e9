//! Method `newton` against closed forms of the integrator.
#![allow(clippy::unwrap_used)]

mod common;

use common::{GRAVITY, cloth, mixed, rubber, sheet, simulate};
use stiction_bodies::{
    builder::{BodySpec, Builder},
    energy::{angular_momentum, momentum},
    material::Damping,
};
use stiction_geometry::shapes::{BoxSolid, BoxSurface, TetPattern};
use stiction_math::Vec3;
use stiction_sim::{Newton, Simulation, newton::Config};

/// Backward Euler in free fall: x_n = x_0 + n h v_0 + h² g n(n+1)/2.
#[test]
fn free_fall_follows_the_integrators_own_trajectory() {
    let (h, n) = (0.01, 100);
    let v0 = Vec3::new(1.0, -0.5, 3.0);
    let mut b = Builder::new(GRAVITY, None);
    b.shell(
        BodySpec {
            velocity: v0,
            ..BodySpec::new("cloth")
        },
        sheet(4),
        &cloth(),
    )
    .unwrap();
    let block = BoxSolid {
        size: [0.3; 3],
        cells: [2; 3],
        pattern: TetPattern::Kuhn,
    }
    .build()
    .unwrap();
    b.solid(
        BodySpec {
            velocity: v0,
            ..BodySpec::new("block")
        },
        block,
        &rubber(),
    )
    .unwrap();
    let cube = BoxSurface {
        size: [0.2; 3],
        cells: [1; 3],
    }
    .build()
    .unwrap();
    b.rigid(
        BodySpec {
            velocity: v0,
            ..BodySpec::new("cube")
        },
        &cube,
        800.0,
        Damping::default(),
    )
    .unwrap();
    let (model, state) = b.finish().unwrap();
    let start = state.clone();
    let sim = simulate((model, state), h, n);
    let m = n as f64;
    let shift = v0 * (m * h) + GRAVITY * (h * h * m * (m + 1.0) / 2.0);
    for i in 0..start.x.len() {
        let spin = i == start.x.len() - 1;
        let expected = if spin {
            Vec3::zeros()
        } else {
            start.x[i] + shift
        };
        let error = (sim.state().x[i] - expected).norm();
        assert!(error < 1e-12, "block {i}: {error:e}");
    }
}

/// Relative changes of linear and angular momentum over a second, of an elastic and a rigid body.
fn momentum_drift(h: f64) -> [(f64, f64); 2] {
    let mut b = Builder::new(Vec3::zeros(), None);
    let spec = BodySpec {
        velocity: Vec3::new(0.3, -0.2, 0.1),
        angular_velocity: Vec3::new(1.0, 2.0, -1.0),
        ..BodySpec::new("block")
    };
    let block = BoxSolid {
        size: [0.3, 0.2, 0.5],
        cells: [2, 2, 3],
        pattern: TetPattern::Kuhn,
    };
    b.solid(spec.clone(), block.build().unwrap(), &rubber())
        .unwrap();
    let cube = BoxSurface {
        size: [0.1, 0.2, 0.4],
        cells: [1; 3],
    }
    .build()
    .unwrap();
    b.rigid(
        BodySpec {
            name: "rigid".into(),
            ..spec
        },
        &cube,
        800.0,
        Damping::default(),
    )
    .unwrap();
    let (model, state) = b.finish().unwrap();
    let before = state.clone();
    let sim = simulate((model, state), h, (1.0 / h).round() as usize);
    [0, 1].map(|i| {
        let body = &sim.model().bodies[i];
        let (p, l) = (momentum(body, &before), angular_momentum(body, &before));
        let (p1, l1) = (
            momentum(body, sim.state()),
            angular_momentum(body, sim.state()),
        );
        ((p1 - p).norm() / p.norm(), (l1 - l).norm() / l.norm())
    })
}

#[test]
fn momentum_is_conserved_as_far_as_backward_euler_can() {
    let [elastic, rigid] = momentum_drift(0.005);
    let [finer, _] = momentum_drift(0.0025);
    assert!(
        elastic.0 < 1e-10 && rigid.0 < 1e-12,
        "linear {:e} {:e}",
        elastic.0,
        rigid.0
    );
    assert!(
        rigid.1 < 1e-12,
        "angular momentum of a rigid body drifts by {:e}",
        rigid.1
    );
    // Forces act at x⁺ but turn about x, so an elastic body that spins loses Σ h² v⁺ × f⁺ per
    // step: first order in h.
    let ratio = elastic.1 / finer.1;
    assert!(
        (1.8..2.2).contains(&ratio),
        "angular {:e} then {:e}",
        elastic.1,
        finer.1
    );
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| simulate(mixed(), 0.01, 20).state().clone())
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(3));
}

#[test]
fn pins_stay_and_motions_are_followed() {
    let sim = simulate(mixed(), 0.01, 30);
    let (_, start) = mixed();
    for pin in &sim.model().pins {
        let moved = (sim.state().x[pin.block] - start.x[pin.block]).norm();
        assert!(
            moved < 1e-15,
            "pinned block {} moved by {moved:e}",
            pin.block
        );
    }
}

#[test]
fn a_failing_step_leaves_the_state_untouched() {
    let (model, state) = mixed();
    let config = Config {
        stop: stiction_sim::newton::NewtonStop::Tolerance {
            tolerance: 0.0,
            max: 1,
        },
        ..Config::default()
    };
    let mut sim =
        Simulation::new(model, state.clone(), Box::new(Newton::new(config)), 0.01).unwrap();
    assert!(sim.step().is_err());
    assert_eq!(*sim.state(), state);
}

/// A cloth thrown into its own pins at 200 m/s: the step must be cut, but the run goes on.
#[test]
fn violent_starts_survive() {
    let mut b = Builder::new(GRAVITY, None);
    let c = b
        .shell(
            BodySpec {
                velocity: Vec3::new(0.0, 0.0, 200.0),
                ..BodySpec::new("cloth")
            },
            sheet(8),
            &cloth(),
        )
        .unwrap();
    b.pin(c, &[0, 8, 72, 80], None).unwrap();
    let sim = simulate(b.finish().unwrap(), 0.02, 25);
    assert!(sim.state().first_non_finite().is_none());
}
