//! Rooted rods: positions of the springs, and their initial energy.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, BuildError, Builder, Rooting},
    material::{
        BendingLaw, Damping, MembraneLaw, RestAngles, ShellMaterial, SolidLaw, SolidMaterial,
    },
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_geometry::{
    EmbeddingConfig, Strands, TriMesh,
    shapes::{BallSolid, BallSurface, Groom, Scalp, Sheet, SheetPattern},
};
use stiction_math::{Quat, Vec3};

const LENGTH: f64 = 0.02;

fn hair() -> RodMaterial {
    RodMaterial {
        density: 1300.0,
        young: 4e8,
        stretch: 1e8,
        shear: shear_modulus(4e8, 0.48),
        radii: [2.5e-5; 2],
        natural: Natural::Given,
        twist: Twist::Dynamic,
        damping: Damping {
            mass: 0.0,
            stiffness: 1e-3,
        },
    }
}

fn jelly() -> SolidMaterial {
    SolidMaterial {
        density: 1000.0,
        young: 2e4,
        poisson: 0.2,
        law: SolidLaw::FixedCorotated,
        damping: Damping::default(),
    }
}

fn spinning(name: &str) -> BodySpec {
    BodySpec {
        velocity: Vec3::new(0.3, -0.2, 1.0),
        angular_velocity: Vec3::new(2.0, 1.0, -3.0),
        ..BodySpec::new(name)
    }
}

fn surface() -> TriMesh {
    let ball = BallSurface {
        radius: 0.1,
        frequency: 6,
    };
    ball.build().unwrap()
}

/// A ground and hair on it.
fn grown(ground: impl FnOnce(&mut Builder) -> usize) -> (Model, State) {
    let mut b = Builder::new(Vec3::zeros(), None);
    let ground = ground(&mut b);
    let (model, state) = (b.model(), b.state());
    let body = &model.bodies[ground];
    let mut positions = Vec::new();
    let surface = &body.surface;
    surface.positions(&state.x, &state.rotations, &mut positions);
    let mesh = TriMesh {
        positions,
        triangles: surface.triangles.clone(),
    };
    let groom = Groom {
        frizz: 0.3,
        ..Groom::straight(Scalp::Mesh(mesh), 80, LENGTH, 5)
    };
    let strands = groom.build().unwrap();
    let rods = b
        .rods(BodySpec::new("hair"), strands, &hair(), &Vec3::z())
        .unwrap();
    b.root(rods, ground, &Rooting::default()).unwrap();
    b.finish().unwrap()
}

fn grounds() -> Vec<(&'static str, (Model, State))> {
    let solid = |b: &mut Builder| {
        let ball = BallSolid {
            radius: 0.1,
            layers: 3,
        };
        b.solid(spinning("ball"), ball.build().unwrap(), &jelly())
            .unwrap()
    };
    let embedded = |b: &mut Builder| {
        let mesh = surface();
        let embedding = EmbeddingConfig::new(0.05).build(&mesh).unwrap();
        b.embedded(spinning("ball"), &mesh, embedding, &jelly())
            .unwrap()
    };
    let rigid = |b: &mut Builder| {
        b.rigid(spinning("ball"), &surface(), 1000.0, Damping::default())
            .unwrap()
    };
    let shell = |b: &mut Builder| {
        let sheet = Sheet {
            size: [0.2, 0.3],
            cells: [6, 9],
            pattern: SheetPattern::Regular,
        };
        let material = ShellMaterial {
            thickness: 1e-3,
            area_density: 0.2,
            membrane: MembraneLaw::StVk {
                young: 1e5,
                poisson: 0.3,
            },
            bending: BendingLaw::FromThickness,
            rest_angles: RestAngles::Mesh,
            damping: Damping::default(),
        };
        b.shell(spinning("sheet"), sheet.build().unwrap(), &material)
            .unwrap()
    };
    vec![
        ("solid", grown(solid)),
        ("embedded", grown(embedded)),
        ("rigid", grown(rigid)),
        ("shell", grown(shell)),
    ]
}

/// Springs are at rest initially, also after a rigid motion of the whole: they refer to positions
/// and directions in the material.
#[test]
fn roots_rest_wherever_the_whole_is_moved() {
    for (name, (model, state)) in grounds() {
        let turn = Quat::from_euler_angles(0.7, -1.1, 2.0);
        let shift = Vec3::new(0.3, 0.5, -0.2);
        let x: Vec<Vec3> = state.x.iter().map(|x| turn * x + shift).collect();
        let rotations: Vec<Quat> = state.rotations.iter().map(|r| turn * r).collect();
        for spring in &model.attachments {
            for (x, rotations) in [(&state.x, &state.rotations), (&x, &rotations)] {
                let d = spring.a.position_at(x, rotations) - spring.b.position_at(x, rotations);
                assert!((d.norm() - spring.length).abs() < 1e-12, "{name}: {d}");
            }
            assert!(spring.stiffness > 0.0 && spring.damping == 1e-3);
        }
        let springs = if name == "shell" { 4 } else { 2 };
        assert_eq!(model.attachments.len(), 80 * springs, "{name}");
    }
}

/// E A/ℓ of the first segment, in every direction along a sheet, and everywhere else in all.
#[test]
fn roots_are_as_stiff_as_a_segment() {
    let segment = 1e8 * std::f64::consts::PI * 2.5e-5_f64.powi(2) / (LENGTH / 5.0);
    for (name, (model, _)) in grounds() {
        let single = |s: &&stiction_bodies::Attachment| s.length == 0.0;
        for spring in model.attachments.iter().filter(single) {
            assert!((spring.stiffness / segment - 1.0).abs() < 1e-6, "{name}");
        }
    }
}

/// The hair starts as part of what it grows out of: at every node v + ω × (x − c).
#[test]
fn hair_starts_with_the_velocity_of_its_ground() {
    for (name, (model, state)) in grounds() {
        let spec = spinning("any");
        // A velocity field of rigid motion is known from one point of it.
        let ground = &model.bodies[0];
        let (x, v) = (state.x[ground.blocks.start], state.v[ground.blocks.start]);
        let exact = |p: &Vec3| v + spec.angular_velocity.cross(&(p - x));
        let hair = &model.bodies[1];
        for node in 0..hair.node_count() {
            let block = hair.node_block(node).unwrap();
            let error = (state.v[block] - exact(&state.x[block])).norm();
            assert!(error < 1e-11, "{name}, node {node}: {error}");
        }
    }
}

#[test]
fn refuses_bodies_without_roots_and_scalps_without_area() {
    let mut b = Builder::new(Vec3::zeros(), None);
    let rope = |z: f64| Strands::single(vec![Vec3::z() * z, Vec3::new(0.1, 0.0, z)]);
    let spec = BodySpec::new;
    let first = b.rods(spec("a"), rope(0.0), &hair(), &Vec3::z()).unwrap();
    let second = b.rods(spec("b"), rope(1.0), &hair(), &Vec3::z()).unwrap();
    let rigid = b
        .rigid(spec("c"), &surface(), 1e3, Damping::default())
        .unwrap();
    let rooting = Rooting::default();
    let ground = b.root(first, second, &rooting);
    assert!(matches!(ground, Err(BuildError::Ground { .. })));
    let rods = b.root(rigid, first, &rooting);
    assert!(matches!(rods, Err(BuildError::NotRods { .. })));
    let soft = Rooting {
        stiffness: 0.0,
        ..rooting
    };
    let number = b.root(first, rigid, &soft);
    assert!(matches!(number, Err(BuildError::Number { .. })));
}
