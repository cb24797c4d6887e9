//! Hair that grows out of elastic bodies: each moves the other.
#![allow(clippy::unwrap_used)]

use stiction_bodies::{
    Attachment, Model, State,
    builder::{BodySpec, Builder, Rooting},
    energy::momentum,
    material::{
        BendingLaw, Damping, MembraneLaw, RestAngles, ShellMaterial, SolidLaw, SolidMaterial,
    },
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{
    TriMesh,
    shapes::{BoxSolid, Groom, Scalp, Sheet, SheetPattern, TetPattern},
};
use stiction_math::Vec3;
use stiction_sim::{
    Newton, Simulation,
    colliders::{ContactRules, material_names},
    newton::Config,
    overlap::overlaps,
};

const STRANDS: u32 = 12;
const SEGMENTS: u32 = 4;
const SEGMENT: f64 = 0.005;

fn hair() -> RodMaterial {
    RodMaterial {
        density: 1300.0,
        young: 4e8,
        stretch: 1e8,
        shear: shear_modulus(4e8, 0.48),
        radii: [5e-5; 2],
        natural: Natural::Given,
        twist: Twist::Dynamic,
        damping: Damping {
            mass: 0.0,
            stiffness: 1e-3,
        },
    }
}

fn block(b: &mut Builder, spec: BodySpec) -> usize {
    let shape = BoxSolid {
        size: [0.06, 0.05, 0.04],
        cells: [3, 3, 2],
        pattern: TetPattern::Kuhn,
    };
    let material = SolidMaterial {
        density: 1000.0,
        young: 1e5,
        poisson: 0.3,
        law: SolidLaw::FixedCorotated,
        damping: Damping::default(),
    };
    b.solid(spec, shape.build().unwrap(), &material).unwrap()
}

fn sheet(b: &mut Builder, spec: BodySpec) -> usize {
    let shape = Sheet {
        size: [0.06, 0.05],
        cells: [6, 5],
        pattern: SheetPattern::Regular,
    };
    let material = ShellMaterial {
        thickness: 1e-3,
        area_density: 1.0,
        membrane: MembraneLaw::StVk {
            young: 1e6,
            poisson: 0.3,
        },
        bending: BendingLaw::FromThickness,
        rest_angles: RestAngles::Mesh,
        damping: Damping::default(),
    };
    b.shell(spec, shape.build().unwrap(), &material).unwrap()
}

/// Hair on a body, without gravity.
fn grown(
    ground: fn(&mut Builder, BodySpec) -> usize,
    spec: BodySpec,
    rooting: &Rooting,
) -> (Model, State) {
    let mut b = Builder::new(Vec3::zeros(), None);
    let ground = ground(&mut b, spec);
    let mut positions = Vec::new();
    let surface = &b.model().bodies[ground].surface;
    surface.positions(&b.state().x, &b.state().rotations, &mut positions);
    let mesh = TriMesh {
        positions,
        triangles: surface.triangles.clone(),
    };
    let length = SEGMENT * f64::from(SEGMENTS);
    let groom = Groom::straight(Scalp::Mesh(mesh), STRANDS, length, SEGMENTS);
    let strands = groom.build().unwrap();
    let rods = b.rods(BodySpec::new("hair"), strands, &hair(), &Vec3::z());
    b.root(rods.unwrap(), ground, rooting).unwrap();
    b.finish().unwrap()
}

fn simulate((model, state): (Model, State), h: f64, steps: usize) -> Simulation {
    let method = Box::new(Newton::new(Config::default()));
    let mut sim = Simulation::new(model, state, method, h).unwrap();
    for _ in 0..steps {
        sim.step().unwrap();
    }
    sim
}

fn total(model: &Model, state: &State) -> Vec3 {
    model.bodies.iter().map(|b| momentum(b, state)).sum()
}

/// Deviation of each spring from its length [m].
fn slack(sim: &Simulation) -> impl Iterator<Item = (&Attachment, f64)> {
    let at = |s: &Attachment| s.a.position(sim.state()) - s.b.position(sim.state());
    let springs = sim.model().attachments.iter();
    springs.map(move |s| (s, (at(s).norm() - s.length).abs()))
}

/// Tips that are thrown take the body with them, a body that is thrown takes its hair.
#[test]
fn momentum_goes_both_ways_and_none_is_lost() {
    for ground in [block, sheet] {
        for thrown in [0, 1] {
            let (model, mut state) = grown(ground, BodySpec::new("ground"), &Rooting::default());
            let hair = &model.bodies[1];
            let nodes: Vec<usize> = (0..hair.node_count())
                .filter_map(|i| hair.node_block(i))
                .collect();
            for block in model.bodies[thrown].blocks.clone() {
                // The twists of rods are no velocities.
                let moves = thrown == 0 || nodes.contains(&block);
                if moves {
                    state.v[block] = Vec3::new(0.4, -0.3, 1.0);
                }
            }
            let before = total(&model, &state);
            let other = 1 - thrown;
            let sim = simulate((model, state), 1e-3, 25);
            let (model, state) = (sim.model(), sim.state());
            let error = (total(model, state) - before).norm() / before.norm();
            assert!(error < 1e-11, "{error:e}");
            // Both end with one velocity, that of the centre of mass.
            let mass: Vec<f64> = model.bodies.iter().map(|b| b.total_mass()).collect();
            let share = momentum(&model.bodies[other], state) / mass[other];
            let mean = before / (mass[0] + mass[1]);
            assert!((share - mean).norm() < 0.2 * mean.norm(), "{share} {mean}");
        }
    }
}

/// Under a steady pull the springs of a root bear the weight of its strand, and no more: a body that is
/// pulled at 300 m/s² moves them by less than a hundredth of a segment.
#[test]
fn roots_bear_their_strands() {
    let pull = Vec3::new(0.0, 0.0, 300.0);
    let mut spec = BodySpec::new("ground");
    spec.acceleration = pull;
    let (mut model, state) = grown(block, spec, &Rooting::default());
    // The hair is damped until it only follows.
    model.bodies[1].damping.mass = 0.0;
    let sim = simulate((model, state), 2e-3, 60);
    let bodies = &sim.model().bodies;
    let mut force = Vec3::zeros();
    for (spring, distance) in slack(&sim) {
        assert!(distance < 0.01 * SEGMENT, "{distance:e}");
        let d = spring.b.position(sim.state()) - spring.a.position(sim.state());
        force += d * spring.stiffness;
    }
    let mass = [bodies[0].total_mass(), bodies[1].total_mass()];
    let acceleration = pull * mass[0] / (mass[0] + mass[1]);
    let expected = acceleration * mass[1];
    let error = (force - expected).norm() / expected.norm();
    assert!(error < 0.02, "{force} {expected}");
}

/// Roots turn with the body in which they are rooted: after a third of a turn they stand on it as at first.
#[test]
fn roots_keep_their_direction_in_a_turning_body() {
    for ground in [block, sheet] {
        let spin = Vec3::new(6.0, -2.0, 1.0);
        let spec = BodySpec {
            angular_velocity: spin,
            ..BodySpec::new("ground")
        };
        let built = grown(ground, spec, &Rooting::default());
        let (h, steps) = (2e-3, 90);
        let edge = |model: &Model, x: &[Vec3], s: u32| {
            let node = |i: u32| model.bodies[1].node_block((s * (SEGMENTS + 1) + i) as usize);
            (x[node(1).unwrap()] - x[node(0).unwrap()]).normalize()
        };
        let start: Vec<Vec3> = (0..STRANDS)
            .map(|s| edge(&built.0, &built.1.x, s))
            .collect();
        let sim = simulate(built, h, steps);
        for (_, distance) in slack(&sim) {
            assert!(distance < 0.01 * SEGMENT, "{distance:e}");
        }
        // Between any two roots the angle stays; against the world they turn.
        let end: Vec<Vec3> = (0..STRANDS)
            .map(|s| edge(sim.model(), &sim.state().x, s))
            .collect();
        let mut turned = 0.0_f64;
        for i in 0..STRANDS as usize {
            turned = turned.max(start[i].angle(&end[i]));
            for j in 0..i {
                let change = (start[i].angle(&start[j]) - end[i].angle(&end[j])).abs();
                assert!(change < 0.05, "{i} {j}: {change}");
            }
        }
        assert!(turned > 1.0, "{turned}");
    }
}

#[test]
fn bare_segments_do_not_touch_the_body_they_are_rooted_in() {
    let count = |bare: usize| {
        let rooting = Rooting {
            bare,
            ..Rooting::default()
        };
        let (model, state) = grown(block, BodySpec::new("ground"), &rooting);
        let rules = ContactRules {
            thickness: 1e-4,
            laws: Laws::new(material_names(&model).len() as u32, |_, _| {
                PairLaw::default()
            }),
        };
        overlaps(&model, &state, &rules).unwrap().len()
    };
    // The first segment stands in the surface; the second one begins a segment above it.
    assert!(count(0) >= STRANDS as usize);
    assert_eq!(count(1), 0);
    assert_eq!(count(2), 0);
}
