//! Stage `adapt`: every method continues undisturbed through a change of topology.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{GRAVITY, cloth, sheet};
use stiction_bodies::{
    Model, State,
    adapt::{AdaptError, MeshChange, Topology},
    builder::{Anchor, BodySpec, Builder, Rooting},
    drag::{Air, Drag},
    energy::{angular_momentum, momentum},
    material::{Damping, MassKind},
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
    rod::{Natural, RodMaterial, Twist},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{
    Strands, TriMesh,
    shapes::{BoxSurface, Sheet, SheetPattern},
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Method, Newton, Simulation, Smooth, StepError,
    adapt::{Adapter, RefineAt, Refinements},
    admm,
    colliders::{ContactRules, material_names},
    integrators::Integrator,
    linearised, newton, smooth,
};
use stiction_solvers::admm::{Polish, Tolerance};

const THICKNESS: f64 = 1e-3;

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

fn refine_at(sim: &mut Simulation, body: usize, times: &[f64]) {
    let rule = RefineAt {
        body,
        times: times.to_vec(),
    };
    sim.adapt_by(Box::new(Refinements::new(vec![rule])));
}

/// A residual of 1e-8 m/s, as `residual = 1e-8` in a scene requires.
fn exact() -> admm::Config {
    let mut config = admm::Config::default();
    config.solver.polish = Some(Polish::to(1e-8));
    config
}

/// A cloth at rest on `floor`, tilted by `angle` against gravity.
fn at_rest(angle: f64, floor: ObstacleShape) -> (Model, State) {
    let (s, c) = angle.sin_cos();
    let mut b = Builder::new(Vec3::new(s, 0.0, -c) * 9.81, None);
    b.contact(true);
    b.obstacle(Obstacle {
        name: "floor".to_owned(),
        material: "floor".to_owned(),
        shape: floor,
        placement: Pose::default(),
        motion: None,
    });
    let mut mesh = Sheet {
        size: [0.3, 0.3],
        cells: [5, 5],
        pattern: SheetPattern::Alternating,
    }
    .build()
    .unwrap();
    let up = Vec3::new(0.0, 0.0, THICKNESS);
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
    b.shell(BodySpec::new("cloth"), mesh, &cloth()).unwrap();
    b.finish().unwrap()
}

fn plane() -> ObstacleShape {
    ObstacleShape::Solid(Solid::Plane {
        normal: Vec3::z(),
        offset: 0.0,
    })
}

/// A slab of triangles whose top is at height zero.
fn slab() -> ObstacleShape {
    let mut mesh = BoxSurface {
        size: [1.0, 1.0, 0.1],
        cells: [7, 7, 1],
    }
    .build()
    .unwrap();
    let down = Vec3::new(0.013, 0.007, -0.05);
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &down);
    ObstacleShape::Mesh(mesh)
}

#[test]
fn a_body_at_rest_on_a_slope_rests_through_a_refinement() {
    for floor in [plane(), slab()] {
        let (model, state) = at_rest(20f64.to_radians(), floor);
        let method = admm(exact(), rules(&model, 0.5));
        let nodes = model.blocks();
        let mut sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
        refine_at(&mut sim, 0, &[0.1, 0.2]);
        let mut counts = Vec::new();
        for step in 0..30 {
            let report = sim.step().unwrap();
            assert_eq!(report.parts, 1);
            assert!(report.certificate.creep < 1e-8, "{report:?}");
            assert!(report.certificate.residual < 1e-8, "{report:?}");
            // The solver stops at its residual in the first step on each mesh, and what little it
            // moved is held from then on.
            let speeds = sim.state().v.iter().map(|v| v.norm());
            let fastest = speeds.fold(0.0, f64::max);
            let bound = match step % 10 {
                0 => 5e-8,
                1..5 => 1e-8,
                _ => 1e-12,
            };
            assert!(fastest < bound, "step {step}: {fastest:e} m/s");
            counts.push(report.contacts);
        }
        assert_eq!(sim.model().generation, 2);
        assert!(sim.model().blocks() > 10 * nodes);
        // Every node of every mesh is held.
        assert!(counts[9] >= nodes && counts[10] > 3 * nodes && counts[29] > 10 * nodes);
    }
}

/// Impulses follow the nodes: the first solve on the new mesh starts from a load in balance.
#[test]
fn impulses_are_spread_over_the_new_nodes() {
    let (model, state) = at_rest(0.3, plane());
    // One linearisation, so that its start is that of the step.
    let config = admm::Config {
        integrator: linearised::ElasticSolver::Newton(linearised::Linearisations::Fixed(1)),
        ..exact()
    };
    let method = admm(config, rules(&model, 0.5));
    let mut sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
    refine_at(&mut sim, 0, &[0.1]);
    sim.keep_start();
    for _ in 0..10 {
        sim.step().unwrap();
    }
    let sum = |r: &[Vec3]| r.iter().sum::<Vec3>();
    let before = sum(sim.method().contacts().unwrap().r);
    sim.step().unwrap();
    let solved = sim.method().contacts().unwrap();
    let (_, start) = solved.start.unwrap();
    assert_eq!(solved.contacts.len(), sim.model().blocks());
    assert!((sum(start) - before).norm() < 1e-9 * before.norm());
    // Node by node they are those of the answer, but for strains of 1e-10 that the coarse solve left.
    let worst = start.iter().zip(solved.r).map(|(a, b)| (a - b).norm());
    let largest = solved.r.iter().map(|r| r.norm()).fold(0.0, f64::max);
    let worst = worst.fold(0.0, f64::max);
    assert!(worst < 1e-4 * largest, "{worst:e} of {largest:e}");
}

/// Two sheets, one on the other, and a rigid box on both: pairs of features of meshes.
#[test]
fn layers_rest_through_refinements_of_either() {
    let (mut model, mut state) = {
        let mut b = Builder::new(GRAVITY, None);
        b.contact(true);
        b.obstacle(Obstacle {
            name: "floor".to_owned(),
            material: "floor".to_owned(),
            shape: plane(),
            placement: Pose::default(),
            motion: None,
        });
        for (i, name) in ["low", "high"].into_iter().enumerate() {
            let mut mesh = sheet(3);
            let up = Vec3::new(0.01 * i as f64, 0.0, THICKNESS * (i + 1) as f64);
            mesh.transform(&Quat::identity(), &Vec3::repeat(0.2), &up);
            b.shell(BodySpec::new(name), mesh, &cloth()).unwrap();
        }
        let mut mesh = BoxSurface {
            size: [0.05, 0.05, 0.02],
            cells: [1; 3],
        }
        .build()
        .unwrap();
        let up = Vec3::new(0.0, 0.0, 0.01 + 3.0 * THICKNESS);
        mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
        b.rigid(BodySpec::new("box"), &mesh, 300.0, Damping::default())
            .unwrap();
        b.finish().unwrap()
    };
    let method = admm(exact(), rules(&model, 0.5));
    let start = state.x.clone();
    let (old, first) = (model.bodies[2].blocks.start, state.clone());
    let mut sim = Simulation::new(
        std::mem::take(&mut model),
        std::mem::take(&mut state),
        Box::new(method),
        0.01,
    )
    .unwrap();
    let rules = [(1, 0.05), (0, 0.1)].map(|(body, time)| RefineAt {
        body,
        times: vec![time],
    });
    sim.adapt_by(Box::new(Refinements::new(rules.to_vec())));
    for _ in 0..20 {
        let report = sim.step().unwrap();
        assert!(report.certificate.residual < 1e-7, "{report:?}");
        assert!(report.certificate.penetration < 1e-6, "{report:?}");
    }
    assert_eq!(sim.model().generation, 2);
    let new = sim.model().bodies[2].blocks.start;
    assert!(new > old);
    assert!((sim.state().x[new] - start[old]).norm() < 1e-5);
    let top = |s: &State, r: std::ops::Range<usize>| {
        s.x[r].iter().map(|x| x.z).fold(f64::INFINITY, f64::min)
    };
    // Nothing has sunk into anything.
    let range = sim.model().bodies[1].blocks.clone();
    assert!(top(sim.state(), range) > top(&first, 16..32) - 1e-5);
}

/// A cloth in free flight, spinning and waving.
fn flying(mass: MassKind) -> (Model, State) {
    let mut b = Builder::new(GRAVITY, None);
    let spec = BodySpec {
        mass,
        velocity: Vec3::new(0.4, 0.1, 1.0),
        angular_velocity: Vec3::new(1.0, -2.0, 3.0),
        start_scale: Vec3::new(1.05, 0.97, 1.0),
        ..BodySpec::new("cloth")
    };
    b.shell(spec, sheet(3), &cloth()).unwrap();
    let mut other = sheet(2);
    let aside = Vec3::new(3.0, 0.0, 0.0);
    other.transform(&Quat::identity(), &Vec3::repeat(1.0), &aside);
    b.shell(BodySpec::new("other"), other, &cloth()).unwrap();
    b.finish().unwrap()
}

fn methods(model: &Model) -> Vec<Box<dyn Method>> {
    let mut accurate = admm::Config {
        integrator: linearised::ElasticSolver::Newton(linearised::Linearisations::Fixed(6)),
        ..admm::Config::default()
    };
    accurate.solver.tolerance = Tolerance::Displacement(1e-12);
    accurate.solver.polish = None;
    let steps = |integrator| smooth::Config {
        integrator,
        newton: smooth::NewtonConfig {
            tolerance: 1e-12,
            ..smooth::NewtonConfig::default()
        },
        ..smooth::Config::default()
    };
    vec![
        Box::new(Newton::new(newton::Config {
            stop: newton::NewtonStop::Tolerance {
                tolerance: 1e-11,
                max: 50,
            },
            ..newton::Config::default()
        })),
        Box::new(admm(accurate, rules(model, 0.5))),
        Box::new(Smooth::new(
            steps(Integrator::BackwardEuler),
            rules(model, 0.5),
        )),
        Box::new(Smooth::new(steps(Integrator::Bdf2), rules(model, 0.5))),
    ]
}

#[test]
fn every_method_keeps_momentum_through_a_refinement() {
    for mass in [MassKind::Lumped, MassKind::Consistent] {
        let count = methods(&flying(mass).0).len();
        for which in 0..count {
            let (model, state) = flying(mass);
            let method = methods(&model).swap_remove(which);
            let name = format!("{} {which} {mass:?}", method.name());
            let h = 0.005;
            let mut sim = Simulation::new(model, state, method, h).unwrap();
            refine_at(&mut sim, 0, &[4.0 * h, 6.0 * h]);
            let about = |sim: &Simulation| {
                let body = &sim.model().bodies[0];
                let p = momentum(body, sim.state());
                let bodies = [body];
                let c = stiction_sim::probe::centroid(&bodies, sim.state());
                (p, angular_momentum(body, sim.state()) - c.cross(&p))
            };
            let (p, l) = about(&sim);
            let mass = sim.model().bodies[0].total_mass();
            let mut worst: [f64; 2] = [0.0; 2];
            for step in 1..=10 {
                let (was, spin) = about(&sim);
                sim.step().unwrap_or_else(|e| panic!("{name}: {e}"));
                let (p, l) = about(&sim);
                let fallen = was + GRAVITY * (mass * h);
                worst[0] = worst[0].max((p - fallen).norm());
                let refined = step == 5 || step == 7;
                if refined {
                    // A step of backward Euler loses spin; a refinement adds nothing to it.
                    worst[1] = worst[1].max((l - spin).norm());
                }
            }
            assert_eq!(sim.model().generation, 2, "{name}");
            assert!(worst[0] < 1e-8 * p.norm(), "{name}: {worst:?}");
            assert!(worst[1] < 2e-2 * l.norm(), "{name}: {worst:?}");
        }
    }
}

/// BDF2 is exact for a parabola once its start is forgotten. A step of backward Euler, which a lost
/// history would mean, is off by g h²/2.
#[test]
fn bdf2_goes_on_through_a_refinement() {
    let (model, mut state) = flying(MassKind::Consistent);
    state.x.clear();
    for body in &model.bodies {
        state.x.extend(body.rest());
    }
    state.v.fill(Vec3::new(0.3, 0.2, 4.0));
    let config = smooth::Config {
        integrator: Integrator::Bdf2,
        newton: smooth::NewtonConfig {
            tolerance: 1e-12,
            ..smooth::NewtonConfig::default()
        },
        ..smooth::Config::default()
    };
    let method = Smooth::new(config, rules(&model, 0.5));
    let h = 0.01;
    let mut sim = Simulation::new(model, state, Box::new(method), h).unwrap();
    refine_at(&mut sim, 0, &[30.0 * h]);
    for step in 0..33 {
        let (x, v) = (sim.state().x[0], sim.state().v[0]);
        sim.step().unwrap();
        let exact = x + v * h + GRAVITY * (0.5 * h * h);
        if step >= 25 {
            let off = (sim.state().x[0] - exact).norm();
            assert!(off < 1e-9, "step {step}: {off:e}");
        }
    }
    assert_eq!(sim.model().generation, 1);
}

/// Everything that names blocks: a pinned shell with drag and damping, hair that grows out of it, a
/// rigid box that hangs from it, another sheet.
fn hung() -> (Model, State) {
    let mut b = Builder::new(GRAVITY, Some(Air::steady(1.2, Vec3::new(1.0, 0.5, 0.0))));
    let mut material = cloth();
    material.damping = Damping {
        mass: 0.2,
        stiffness: 0.01,
    };
    let drag = Some(Drag {
        normal: 1.5,
        tangential: 0.1,
    });
    let spec = BodySpec {
        drag,
        ..BodySpec::new("cloth")
    };
    let cloth = b.shell(spec, sheet(4), &material).unwrap();
    let strands = Strands {
        starts: vec![0, 5],
        points: (0..5)
            .map(|i| Vec3::new(0.11, 0.07, 0.03 * f64::from(i)))
            .collect(),
    };
    let rod = RodMaterial {
        density: 1300.0,
        radii: [1e-3, 1e-3],
        young: 1e8,
        stretch: 1e7,
        shear: 4e7,
        damping: Damping::default(),
        natural: Natural::Given,
        twist: Twist::Dynamic,
    };
    let hair = b
        .rods(BodySpec::new("hair"), strands, &rod, &Vec3::y())
        .unwrap();
    b.root(hair, cloth, &Rooting::default()).unwrap();
    let mut cube = BoxSurface {
        size: [0.1, 0.1, 0.1],
        cells: [1; 3],
    }
    .build()
    .unwrap();
    let down = Vec3::new(0.2, 0.1, -0.3);
    cube.transform(&Quat::identity(), &Vec3::repeat(1.0), &down);
    let spec = BodySpec {
        drag,
        ..BodySpec::new("box")
    };
    let cube = b.rigid(spec, &cube, 100.0, Damping::default()).unwrap();
    let rest = b.model().bodies[cloth].rest().to_vec();
    let rim: Vec<u32> = (0..rest.len() as u32)
        .filter(|i| rest[*i as usize].x < -0.49)
        .collect();
    b.pin(cloth, &rim, None).unwrap();
    let near = |body, p| Anchor::Body { body, near: p };
    let hook = Vec3::new(0.23, 0.12, 0.0);
    b.attach(
        &near(cloth, hook),
        &near(cube, Vec3::new(0.2, 0.1, -0.25)),
        200.0,
        0.2,
        0.01,
    )
    .unwrap();
    let point = b.anchor(&near(cloth, hook)).unwrap();
    b.track(point);
    let point = b.anchor(&near(cloth, Vec3::new(-0.5, 0.1, 0.0))).unwrap();
    b.track(point);
    b.finish().unwrap()
}

/// Kinks would show as jumps of the tracked point's velocity from step to step.
#[test]
fn a_hung_cloth_with_hair_and_load_goes_on_smoothly() {
    let track = |refine: &[f64], method: fn(&Model) -> Box<dyn Method>| {
        let (model, state) = hung();
        let method = method(&model);
        let mut sim = Simulation::new(model, state, method, 0.005).unwrap();
        refine_at(&mut sim, 0, refine);
        let rim = sim.model().points[1].position(sim.state());
        let mut path = Vec::new();
        for _ in 0..30 {
            sim.step().unwrap();
            let points = &sim.model().points;
            path.push(points[0].velocity(sim.state()));
            let moved = points[1].position(sim.state()) - rim;
            assert!(moved.norm() < 1e-14, "the rim is held: {moved}");
            assert_eq!(points[1].velocity(sim.state()), Vec3::zeros());
        }
        // What names blocks names those of the right bodies.
        let own = |i: usize| sim.model().bodies[i].blocks.clone();
        let spring = sim.model().attachments.last().unwrap();
        assert!(
            spring
                .a
                .blocks()
                .iter()
                .all(|b| own(0).contains(&(*b as usize)))
        );
        assert!(
            spring
                .b
                .blocks()
                .iter()
                .all(|b| own(2).contains(&(*b as usize)))
        );
        path
    };
    let newton: fn(&Model) -> Box<dyn Method> =
        |_| Box::new(Newton::new(newton::Config::default()));
    let admm: fn(&Model) -> Box<dyn Method> =
        |model| Box::new(admm(admm::Config::default(), rules(model, 0.5)));
    for method in [newton, admm] {
        let plain = track(&[], method);
        let refined = track(&[0.05], method);
        // Until then the two are the same to the last bit.
        assert_eq!(plain[..10], refined[..10]);
        assert_ne!(plain[12], refined[12]);
        // A jump at the refinement is no larger than what the forces do in a step.
        let change = |path: &[Vec3], i: usize| (path[i] - path[i - 1]).norm();
        let usual = (5..10).map(|i| change(&plain, i)).fold(0.0, f64::max);
        for i in 10..14 {
            let now = change(&refined, i);
            assert!(now < 3.0 * usual, "step {i}: {now:e}, before {usual:e}");
        }
    }
}

/// A change that cannot be made ends the step, and leaves model, state and method alone.
#[test]
fn a_change_that_fails_changes_nothing() {
    struct Broken;
    impl Adapter for Broken {
        fn changes(&self, model: &Model, state: &State) -> Result<Vec<MeshChange>, AdaptError> {
            let mut change = MeshChange::refine(model, 0)?;
            if state.step == 3 {
                change.triangles[0] = [0, 0, 1];
                return Ok(vec![change]);
            }
            Ok(Vec::new())
        }
        fn made(&mut self, _changes: &[MeshChange], _state: &State) {}
        fn save(&self) -> Vec<u64> {
            Vec::new()
        }
        fn recall(&mut self, _memory: &[u64]) {}
    }
    let (model, state) = flying(MassKind::Lumped);
    let method = Newton::new(newton::Config::default());
    let mut sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
    sim.adapt_by(Box::new(Broken));
    for _ in 0..3 {
        sim.step().unwrap();
    }
    let (state, topology) = (sim.state().clone(), Topology::of(sim.model()));
    let error = sim.step().unwrap_err();
    assert!(matches!(error, StepError::Adapt { step: 4, .. }), "{error}");
    assert_eq!(*sim.state(), state);
    assert_eq!(Topology::of(sim.model()), topology);
}

/// A curved sheet has the same energy on the refined mesh up to bending at its creases.
#[test]
fn the_mesh_of_a_closed_surface_refines_too() {
    let mesh: TriMesh = BoxSurface {
        size: [0.2, 0.2, 0.2],
        cells: [2, 2, 2],
    }
    .build()
    .unwrap();
    let mut b = Builder::new(GRAVITY, None);
    b.shell(BodySpec::new("cube"), mesh, &cloth()).unwrap();
    let (model, state) = b.finish().unwrap();
    let nodes = model.blocks();
    let method = Newton::new(newton::Config::default());
    let mut sim = Simulation::new(model, state, Box::new(method), 0.01).unwrap();
    refine_at(&mut sim, 0, &[0.0]);
    sim.step().unwrap();
    // V − E + F = 2 before and after: V' = V + E, and E = 3 (V − 2).
    assert_eq!(sim.model().blocks(), nodes + 3 * (nodes - 2));
    // It falls without being strained: rest angles of the fine mesh are those of the coarse one.
    let energy = stiction_bodies::energy::elastic_energy(&sim.model().bodies[0], sim.state());
    assert!(energy < 1e-12, "{energy}");
}

/// Elements of a new mesh start without multipliers, those of other bodies keep theirs. The cloth is
/// hardly strained: a stretched one makes this integrator diverge, whether it is refined or not.
#[test]
fn the_splitting_integrator_goes_on_through_a_refinement() {
    let mut b = Builder::new(GRAVITY, None);
    let spec = BodySpec {
        velocity: Vec3::new(0.4, 0.1, 1.0),
        angular_velocity: Vec3::new(0.1, -0.2, 0.1),
        ..BodySpec::new("cloth")
    };
    b.shell(spec, sheet(3), &cloth()).unwrap();
    let mut other = sheet(2);
    let aside = Vec3::new(3.0, 0.0, 0.0);
    other.transform(&Quat::identity(), &Vec3::repeat(1.0), &aside);
    b.shell(BodySpec::new("other"), other, &cloth()).unwrap();
    let (model, state) = b.finish().unwrap();
    let config = admm::Config {
        integrator: linearised::ElasticSolver::Splitting,
        ..admm::Config::default()
    };
    let method = admm(config, rules(&model, 0.5));
    let h = 0.01;
    let mut sim = Simulation::new(model, state, Box::new(method), h).unwrap();
    refine_at(&mut sim, 0, &[4.0 * h]);
    for _ in 0..10 {
        let was: Vec<Vec3> = sim
            .model()
            .bodies
            .iter()
            .map(|b| momentum(b, sim.state()))
            .collect();
        let kinetic = sim.step().unwrap().certificate.kinetic;
        for (body, was) in sim.model().bodies.iter().zip(was) {
            let expected = was + GRAVITY * (body.total_mass() * h);
            let off = (momentum(body, sim.state()) - expected).norm();
            // The tolerance of the solver, 1e-7 m, is 1e-5 m/s.
            assert!(off < 2e-5, "{}: {off:e}", body.name);
        }
        assert!(kinetic < 1.0);
    }
    assert_eq!(sim.model().generation, 1);
}
