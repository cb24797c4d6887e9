//! Adaptive remeshing in stage `adapt`: conserved quantities, energy, contact, repeatability.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{GRAVITY, cloth, floor};
use stiction_bodies::{
    Model, State,
    adapt::{Adaptation, MeshChange, Topology, TopologyChange},
    builder::{BodySpec, Builder},
    energy::{angular_momentum, elastic_energy, kinetic_energy, momentum, potential_energy},
    material::{Damping, MassKind},
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{
    remesh::{FieldConfig, RemeshConfig, SizeLimits},
    shapes::{Sheet, SheetPattern},
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Method, Newton, Simulation, Smooth,
    adapt::{Adapter, RemeshRule, Remeshing},
    admm,
    colliders::{ContactRules, material_names},
    newton, smooth,
};

const THICKNESS: f64 = 2e-3;

fn rule(body: usize, edges: [f64; 2]) -> RemeshRule {
    RemeshRule {
        body,
        every: 5,
        field: FieldConfig {
            limits: SizeLimits {
                smallest: edges[0],
                largest: edges[1],
                aspect: 0.2,
            },
            angle: 0.3,
            velocity: 0.5,
            wave: 0.005,
            gradation: 1.0,
        },
        config: RemeshConfig::default(),
        proximity: true,
    }
}

fn rules(model: &Model, mu: f64) -> ContactRules {
    let law = PairLaw {
        mu,
        ..PairLaw::default()
    };
    ContactRules {
        thickness: THICKNESS,
        laws: Laws::new(material_names(model).len() as u32, |_, _| law),
    }
}

fn square(
    size: f64,
    cells: u32,
    place: impl Fn(&mut stiction_geometry::TriMesh),
) -> stiction_geometry::TriMesh {
    let mut mesh = Sheet {
        size: [size, size],
        cells: [cells, cells],
        pattern: SheetPattern::Alternating,
    }
    .build()
    .unwrap();
    place(&mut mesh);
    mesh
}

/// The next change of a simulation's topology, made apart from it.
fn peek(adapter: &Remeshing, sim: &Simulation) -> Option<(Model, State, TopologyChange)> {
    let changes = adapter.changes(sim.model(), sim.state()).unwrap();
    if changes.is_empty() {
        return None;
    }
    let change = TopologyChange::new(sim.model(), changes).unwrap();
    let after = Topology::after(sim.model(), &change)
        .apply(sim.model())
        .unwrap();
    let adaptation = Adaptation {
        before: sim.model(),
        after: &after,
        change: &change,
    };
    let state = adaptation.state(sim.state());
    Some((after, state, change))
}

fn area(model: &Model, x: Option<&State>) -> f64 {
    let body = &model.bodies[0];
    let positions = match x {
        Some(state) => state.x[body.blocks.clone()].to_vec(),
        None => body.rest().to_vec(),
    };
    stiction_geometry::TriMesh {
        positions,
        triangles: body.surface.triangles.clone(),
    }
    .area()
}

/// A waving, spinning sheet: every remeshing keeps mass, momenta and rest area.
#[test]
fn remeshing_keeps_mass_momenta_and_area() {
    for mass in [MassKind::Lumped, MassKind::Consistent] {
        let mut b = Builder::new(GRAVITY, None);
        let spec = BodySpec {
            mass,
            velocity: Vec3::new(0.4, 0.1, 1.0),
            angular_velocity: Vec3::new(6.0, -4.0, 3.0),
            ..BodySpec::new("cloth")
        };
        b.shell(spec, square(0.6, 4, |_| ()), &cloth()).unwrap();
        let (model, mut state) = b.finish().unwrap();
        for (x, v) in state.x.iter().zip(&mut state.v) {
            v.z += 2.0 * (9.0 * x.x).sin();
        }
        let method = Newton::new(newton::Config::default());
        let mut sim = Simulation::new(model, state, Box::new(method), 0.004).unwrap();
        let adapter = Remeshing::new(vec![rule(0, [0.02, 0.3])], None);
        sim.adapt_by(Box::new(adapter.clone()));
        let (mut refined, mut coarsened) = (0, 0);
        for step in 0..80 {
            if step % 5 == 0
                && let Some((model, state, _)) = peek(&adapter, &sim)
            {
                let (a, b) = (&sim.model().bodies[0], &model.bodies[0]);
                refined += usize::from(b.node_count() > a.node_count());
                coarsened += usize::from(b.node_count() < a.node_count());
                let (m, n) = (a.total_mass(), b.total_mass());
                assert!((m - n).abs() <= 1e-12 * m, "{m} {n}");
                let scale = (2.0 * m * kinetic_energy(a, sim.state())).sqrt();
                let (p, q) = (momentum(a, sim.state()), momentum(b, &state));
                assert!((p - q).norm() <= 1e-12 * scale, "{p} {q}");
                let spin = |body: &stiction_bodies::Body, state: &State| {
                    let c = stiction_sim::probe::centroid(&[body], state);
                    angular_momentum(body, state) - c.cross(&momentum(body, state))
                };
                let (l, k) = (spin(a, sim.state()), spin(b, &state));
                assert!((l - k).norm() <= 1e-12 * scale, "{l} {k}");
                let (was, is) = (area(sim.model(), None), area(&model, None));
                assert!((was - is).abs() < 1e-12 * was);
                let (was, is) = (
                    area(sim.model(), Some(sim.state())),
                    area(&model, Some(&state)),
                );
                assert!((was - is).abs() < 1e-3 * was, "{was} {is}");
            }
            sim.step().unwrap();
        }
        assert!(refined > 2 && coarsened > 0, "{refined} {coarsened}");
    }
}

/// Mechanical energy of the first body [J].
fn energy(model: &Model, state: &State) -> f64 {
    let body = &model.bodies[0];
    kinetic_energy(body, state) + elastic_energy(body, state) + potential_energy(model, body, state)
}

/// A cloth that hangs from two corners comes to rest; remeshing adds less than 0.1 % per second of the
/// energy that it has lost by sagging.
#[test]
fn remeshing_a_hanging_cloth_adds_no_energy() {
    let mut b = Builder::new(GRAVITY, None);
    let mut material = cloth();
    material.damping = Damping {
        mass: 2.0,
        stiffness: 0.01,
    };
    let body = b
        .shell(BodySpec::new("cloth"), square(0.5, 6, |_| ()), &material)
        .unwrap();
    b.pin(body, &[0, 6], None).unwrap();
    let (model, state) = b.finish().unwrap();
    let method = Newton::new(newton::Config::default());
    let start = energy(&model, &state);
    let mut sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
    let adapter = Remeshing::new(vec![rule(0, [0.02, 0.2])], None);
    sim.adapt_by(Box::new(adapter.clone()));
    let (mut added, mut finer, mut coarser) = (0.0, 0, 0);
    for step in 0..300 {
        if step % 5 == 0
            && let Some((model, state, _)) = peek(&adapter, &sim)
        {
            let gain = energy(&model, &state) - energy(sim.model(), sim.state());
            added += gain.max(0.0);
            let [n, m] = [sim.model(), &model].map(|m| m.bodies[0].node_count());
            finer += usize::from(m > n);
            coarser += usize::from(m < n);
        }
        sim.step().unwrap();
    }
    let lost = start - energy(sim.model(), sim.state());
    assert!(lost > 0.0);
    // Three seconds.
    assert!(added < 3.0 * 1e-3 * lost, "{added} of {lost}");
    // The mesh follows the motion all the same.
    assert!(finer > 10 && coarser > 5, "{finer} {coarser}");
    // Two pinned corners are still two: the edge between them hangs through.
    assert_eq!(sim.model().pins.len(), 2);
}

/// A cloth of two triangles on a slope, refined to 0.1 m: it slides as a block does, and rests where
/// friction holds it.
#[test]
fn a_remeshed_cloth_slides_by_the_law_of_friction() {
    let angle = 25f64.to_radians();
    let (s, c) = angle.sin_cos();
    let methods: [fn(&Model, f64) -> Box<dyn Method>; 2] = [
        |model, mu| Box::new(admm(admm::Config::default(), rules(model, mu))),
        |model, mu| Box::new(Smooth::new(smooth::Config::default(), rules(model, mu))),
    ];
    for (which, method) in methods.into_iter().enumerate() {
        let mut b = Builder::new(Vec3::new(s, 0.0, -c) * 9.81, None);
        b.contact(true);
        b.obstacle(floor());
        let up = |mesh: &mut stiction_geometry::TriMesh| {
            mesh.transform(
                &Quat::identity(),
                &Vec3::repeat(1.0),
                &(Vec3::z() * THICKNESS),
            );
        };
        b.shell(BodySpec::new("cloth"), square(0.4, 1, up), &cloth())
            .unwrap();
        let (model, state) = b.finish().unwrap();
        let mu = 0.2;
        let method = method(&model, mu);
        let h = 0.004;
        let mut sim = Simulation::new(model, state, method, h).unwrap();
        sim.adapt_by(Box::new(Remeshing::new(
            vec![rule(0, [0.02, 0.1])],
            Some(THICKNESS),
        )));
        for _ in 0..50 {
            sim.step().unwrap();
        }
        let body = &sim.model().bodies[0];
        // A flat sheet needs edges of 0.1 m, not of 0.02 m.
        assert!(
            (25..60).contains(&body.node_count()),
            "{which}: {}",
            body.node_count()
        );
        let v = momentum(body, sim.state()) / body.total_mass();
        let expected = 9.81 * (s - mu * c) * 50.0 * h;
        assert!(
            (v - Vec3::x() * expected).norm() < 1e-2 * expected,
            "{which}: {v} {expected}"
        );
    }
}

/// A sheet over the edge of a box is refined there and coarse on the flat part; without the criterion
/// of proximity it is coarse everywhere at the start.
#[test]
fn proximity_refines_where_a_plane_is_crossed() {
    let count = |proximity: bool| {
        let mut b = Builder::new(GRAVITY, None);
        b.obstacle(Obstacle {
            name: "box".to_owned(),
            material: "box".to_owned(),
            shape: ObstacleShape::Solid(Solid::Box {
                half: Vec3::new(0.1, 1.0, 0.1),
            }),
            placement: Pose::default(),
            motion: None,
        });
        // Tilted, so that it crosses the planes of the top and of the side near the edge x = 0.1.
        let place = |mesh: &mut stiction_geometry::TriMesh| {
            let turn = stiction_math::elementary::rotation(&Vec3::new(0.0, 0.6, 0.0));
            mesh.transform(&turn, &Vec3::repeat(1.0), &Vec3::new(0.11, 0.0, 0.11));
        };
        b.shell(BodySpec::new("cloth"), square(1.0, 1, place), &cloth())
            .unwrap();
        let (model, state) = b.finish().unwrap();
        let mut own = rule(0, [0.02, 0.5]);
        own.proximity = proximity;
        let method = Newton::new(newton::Config::default());
        let mut sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
        let adapter = Remeshing::new(vec![own], Some(THICKNESS));
        let mut counts = Vec::new();
        for _ in 0..6 {
            let Some((model, state, _)) = peek(&adapter, &sim) else {
                break;
            };
            counts.push(model.bodies[0].node_count());
            let method = Newton::new(newton::Config::default());
            sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
        }
        let body = &sim.model().bodies[0];
        let near = body
            .rest()
            .iter()
            .filter(|x| (*x - Vec3::new(0.1, x.y, 0.1)).norm() < 0.1);
        (body.node_count(), near.count(), counts)
    };
    let (all, near, history) = count(true);
    let (plain, ..) = count(false);
    assert!(plain < 20, "{plain}");
    assert!(all > 4 * plain, "{all} {plain} {history:?}");
    // The band of 0.1 m around the edge is a fifth of the sheet; it is at least twice as fine as all.
    assert!(5 * near > 2 * all, "{near} of {all}");
}

/// The memory of the adapter is enough to go on with the same bits from a checkpoint.
#[test]
fn a_resumed_run_has_the_same_bits() {
    let start = || {
        let mut b = Builder::new(GRAVITY, None);
        b.contact(true);
        b.obstacle(Obstacle {
            name: "ball".to_owned(),
            material: "ball".to_owned(),
            shape: ObstacleShape::Solid(Solid::Sphere { radius: 0.1 }),
            placement: Pose::default(),
            motion: None,
        });
        let up = |mesh: &mut stiction_geometry::TriMesh| {
            let up = Vec3::new(0.01, 0.02, 0.105);
            mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
        };
        b.shell(BodySpec::new("cloth"), square(0.4, 4, up), &cloth())
            .unwrap();
        let (model, state) = b.finish().unwrap();
        let method = admm(admm::Config::default(), rules(&model, 0.3));
        let mut sim = Simulation::new(model, state, Box::new(method), 0.004).unwrap();
        sim.adapt_by(Box::new(Remeshing::new(
            vec![rule(0, [0.02, 0.1])],
            Some(THICKNESS),
        )));
        sim
    };
    let mut whole = start();
    for _ in 0..12 {
        whole.step().unwrap();
    }
    assert!(whole.model().generation > 0);
    let mut resumed = start();
    let (topology, memory) = whole.adapted().unwrap();
    resumed.restore_topology(topology, &memory).unwrap();
    resumed.restore(whole.state().clone(), whole.method().save());
    for _ in 0..12 {
        let (a, b) = (whole.step().unwrap(), resumed.step().unwrap());
        assert_eq!(
            a.certificate.residual.to_bits(),
            b.certificate.residual.to_bits()
        );
    }
    assert!(whole.model().generation > 1);
    assert_eq!(whole.state(), resumed.state());
    assert_eq!(Topology::of(whole.model()), Topology::of(resumed.model()));
}

/// Springs along edges cannot be remeshed.
#[test]
fn a_net_of_springs_is_refused() {
    let mut b = Builder::new(GRAVITY, None);
    let mut material = cloth();
    material.membrane = stiction_bodies::material::MembraneLaw::Springs {
        edge: 10.0,
        bend: 1.0,
    };
    b.shell(BodySpec::new("net"), square(1.0, 2, |_| ()), &material)
        .unwrap();
    let (model, state) = b.finish().unwrap();
    let adapter = Remeshing::new(vec![rule(0, [0.1, 0.2])], None);
    let error = adapter.changes(&model, &state).unwrap_err();
    assert!(error.to_string().contains("springs"), "{error}");
    assert!(matches!(MeshChange::refine(&model, 0), Err(e) if e == error));
}
