//! Small models that the tests share.
#![allow(dead_code, clippy::unwrap_used)]

use stiction_bodies::{
    Model, State,
    builder::{Anchor, BodySpec, Builder},
    drag::{Air, Drag},
    material::{
        BendingLaw, Damping, MassKind, MembraneLaw, RestAngles, ShellMaterial, SolidLaw,
        SolidMaterial,
    },
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
    rod::{Natural, RodMaterial, Twist, shear_modulus},
    volume::{Region, VolumeLaw},
};
use stiction_geometry::{
    Strands,
    shapes::{BoxSolid, BoxSurface, Sheet, SheetPattern, TetPattern},
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{Newton, Simulation, newton::Config};

pub const GRAVITY: Vec3 = Vec3::new(0.0, 0.0, -9.81);

/// The plane z = 0 of a material of its own, `floor`.
pub fn floor() -> Obstacle {
    Obstacle {
        name: "floor".to_owned(),
        material: "floor".to_owned(),
        shape: ObstacleShape::Solid(Solid::Plane {
            normal: Vec3::z(),
            offset: 0.0,
        }),
        placement: Pose::default(),
        motion: None,
    }
}

pub fn cloth() -> ShellMaterial {
    ShellMaterial {
        thickness: 1e-3,
        area_density: 0.2,
        membrane: MembraneLaw::StVk {
            young: 1e5,
            poisson: 0.3,
        },
        bending: BendingLaw::Rigidity(1e-5),
        rest_angles: RestAngles::Mesh,
        damping: Damping::default(),
    }
}

pub fn rubber() -> SolidMaterial {
    SolidMaterial {
        density: 1000.0,
        young: 1e5,
        poisson: 0.4,
        law: SolidLaw::StableNeoHookean,
        damping: Damping::default(),
    }
}

pub fn sheet(cells: u32) -> stiction_geometry::TriMesh {
    Sheet {
        size: [1.0, 1.0],
        cells: [cells, cells],
        pattern: SheetPattern::Regular,
    }
    .build()
    .unwrap()
}

/// Everything of [`mixed`], damped rods that are attached to the rigid box, and gas in the block.
pub fn all_kinds() -> (Model, State) {
    let mut b = mixed_builder();
    let point = |i: usize| {
        let s = i as f64 / 6.0;
        Vec3::new(
            0.1 + 0.3 * s,
            0.4 + 0.05 * (3.0 * s).sin(),
            0.7 + 0.1 * s * s,
        )
    };
    let mut strands = Strands::single((0..7).map(point).collect());
    let other: Vec<Vec3> = (0..5)
        .map(|i| point(i) + Vec3::new(0.0, 0.1, 0.0))
        .collect();
    strands.push(&other);
    let material = RodMaterial {
        density: 1200.0,
        young: 2e6,
        stretch: 2e6,
        shear: shear_modulus(2e6, 0.4),
        radii: [5e-3, 4e-3],
        natural: Natural::Straight,
        twist: Twist::Dynamic,
        damping: Damping {
            mass: 0.4,
            stiffness: 0.003,
        },
    };
    let spec = BodySpec {
        velocity: Vec3::new(-0.1, 0.2, 0.1),
        ..BodySpec::new("rods")
    };
    let rods = b.rods(spec, strands, &material, &Vec3::z()).unwrap();
    let ends = [(2, point(0)), (rods, point(0))];
    let [box_end, rod_end] = ends.map(|(body, near)| Anchor::Body { body, near });
    b.attach(&box_end, &rod_end, 40.0, 0.05, 0.01).unwrap();
    let law = VolumeLaw::Gas { ambient: 2e4 };
    b.volume("gas", 1, Region::Solid, law, 1e3).unwrap();
    b.finish().unwrap()
}

/// One of everything but rods: damped cloth with drag, a solid with consistent mass, a rigid box; pins,
/// springs within, between and to the world.
pub fn mixed() -> (Model, State) {
    mixed_builder().finish().unwrap()
}

fn mixed_builder() -> Builder {
    let air = Air::steady(1.2, Vec3::new(1.0, 0.5, 0.0));
    let mut b = Builder::new(GRAVITY, Some(air));
    let drag = Some(Drag {
        normal: 1.5,
        tangential: 0.1,
    });
    let mut material = cloth();
    material.damping = Damping {
        mass: 0.3,
        stiffness: 0.01,
    };
    let spec = BodySpec {
        drag,
        velocity: Vec3::new(0.2, 0.0, 0.4),
        angular_velocity: Vec3::new(0.5, 1.0, 0.0),
        ..BodySpec::new("cloth")
    };
    let cloth = b.shell(spec, sheet(3), &material).unwrap();
    let mut solid = rubber();
    solid.damping.stiffness = 0.002;
    let mut block = BoxSolid {
        size: [0.4, 0.3, 0.2],
        cells: [2, 1, 1],
        pattern: TetPattern::Kuhn,
    }
    .build()
    .unwrap();
    block.transform(
        &Quat::identity(),
        &Vec3::repeat(1.0),
        &Vec3::new(0.0, 0.0, 0.5),
    );
    let spec = BodySpec {
        mass: MassKind::Consistent,
        ..BodySpec::new("block")
    };
    let block = b.solid(spec, block, &solid).unwrap();
    let mut rigid = BoxSurface {
        size: [0.3, 0.2, 0.1],
        cells: [1, 1, 1],
    }
    .build()
    .unwrap();
    rigid.transform(
        &Quat::from_euler_angles(0.2, 0.3, 0.4),
        &Vec3::repeat(1.0),
        &Vec3::new(0.0, 0.4, 0.6),
    );
    let spec = BodySpec {
        drag,
        velocity: Vec3::new(0.1, -0.2, 0.3),
        angular_velocity: Vec3::new(1.0, 2.0, 3.0),
        ..BodySpec::new("rigid")
    };
    let rigid = b
        .rigid(
            spec,
            &rigid,
            500.0,
            Damping {
                mass: 0.2,
                stiffness: 0.0,
            },
        )
        .unwrap();
    b.pin(cloth, &[0, 3], None).unwrap();
    let near = |body, p| Anchor::Body { body, near: p };
    b.attach(
        &near(rigid, Vec3::new(0.1, 0.4, 0.6)),
        &near(cloth, Vec3::new(0.2, 0.1, 0.0)),
        80.0,
        0.0,
        0.02,
    )
    .unwrap();
    b.attach(
        &near(rigid, Vec3::new(-0.1, 0.4, 0.6)),
        &near(block, Vec3::new(0.0, 0.1, 0.5)),
        50.0,
        0.2,
        0.0,
    )
    .unwrap();
    b.attach(
        &near(cloth, Vec3::new(-0.4, 0.4, 0.0)),
        &near(cloth, Vec3::new(0.4, -0.4, 0.0)),
        20.0,
        0.5,
        0.01,
    )
    .unwrap();
    b.attach(
        &near(block, Vec3::new(0.2, 0.0, 0.6)),
        &Anchor::World(Vec3::new(0.0, 0.0, 1.0)),
        30.0,
        0.1,
        0.0,
    )
    .unwrap();
    b
}

pub fn simulate((model, state): (Model, State), h: f64, steps: usize) -> Simulation {
    let mut sim =
        Simulation::new(model, state, Box::new(Newton::new(Config::default())), h).unwrap();
    for _ in 0..steps {
        sim.step().unwrap();
    }
    sim
}
