//! Products with the Jacobian against the assembled Jacobian.
#![allow(clippy::unwrap_used)]

use super::*;
use stiction_bodies::{
    Hessian,
    builder::{BodySpec, Builder},
    material::{Damping, SolidLaw, SolidMaterial},
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
    volume::{Region, VolumeLaw},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::shapes::{BoxSolid, BoxSurface, TetPattern};
use stiction_math::{LinearOperator, Quat, reduce};

use crate::colliders::material_names;

/// A filled block on a slope and a rigid box on the block, all a little into one another.
fn pile() -> (Model, State) {
    let mut b = Builder::new(Vec3::new(1.0, 0.5, -9.7), None);
    b.contact(true);
    b.obstacle(Obstacle {
        name: "floor".to_owned(),
        material: "floor".to_owned(),
        shape: ObstacleShape::Solid(Solid::Plane {
            normal: Vec3::z(),
            offset: 0.0,
        }),
        placement: Pose::default(),
        motion: None,
    });
    let rubber = SolidMaterial {
        density: 1000.0,
        young: 1e5,
        poisson: 0.3,
        law: SolidLaw::StableNeoHookean,
        damping: Damping {
            mass: 0.1,
            stiffness: 0.002,
        },
    };
    let block = BoxSolid {
        size: [0.2, 0.2, 0.1],
        cells: [3, 3, 2],
        pattern: TetPattern::Kuhn,
    };
    let mut block = block.build().unwrap();
    let (same, unit) = (Quat::identity(), Vec3::repeat(1.0));
    block.transform(&same, &unit, &Vec3::new(0.0, 0.0, 0.0505));
    let body = b.solid(BodySpec::new("block"), block, &rubber).unwrap();
    let law = VolumeLaw::Quadratic { compression: 1e-5 };
    b.volume("water", body, Region::Solid, law, 0.0).unwrap();
    let rigid = BoxSurface {
        size: [0.1, 0.1, 0.1],
        cells: [2, 2, 2],
    };
    let mut rigid = rigid.build().unwrap();
    rigid.transform(
        &Quat::from_euler_angles(0.0, 0.0, 0.3),
        &unit,
        &Vec3::new(0.01, 0.02, 0.151),
    );
    b.rigid(BodySpec::new("rigid"), &rigid, 500.0, Damping::default())
        .unwrap();
    b.finish().unwrap()
}

#[test]
fn products_are_those_of_the_assembled_jacobian() {
    let (model, mut state) = pile();
    for (i, v) in state.v.iter_mut().enumerate() {
        *v = Vec3::from_fn(|c, _| ((i * 13 + c * 7) % 11) as f64 * 0.003 - 0.015);
    }
    let law = PairLaw {
        mu: 0.4,
        ..PairLaw::default()
    };
    let rules = ContactRules {
        thickness: 2e-3,
        laws: Laws::new(material_names(&model).len() as u32, |_, _| law),
    };
    let config = Config::default();
    let mut work = Work::new(&model, &rules, &config).unwrap();
    let fixed: Vec<bool> = (0..model.blocks()).map(|i| i == 5).collect();
    let tables = Integrator::TrBdf2.stages(None);
    let step = StepAttempt {
        model: &model,
        state: &state,
        h: 0.01,
        fixed: &fixed,
        integrator: Integrator::BackwardEuler,
        tables: &tables,
        before: None,
        contact_force: None,
        newton: &config.newton,
        cancel: stiction_math::Cancel::NEVER,
    };
    work.core.begin(&step).unwrap();
    let contacts = work.contacts.as_mut().unwrap();
    work.core.find_contacts(&step, contacts).unwrap();
    let mut v = state.v.clone();
    work.core.set(&step, 0, &mut v).unwrap();
    let time = work.core.stage().time();
    let contacts = work.contacts.as_mut().unwrap();
    contacts.place(&model, time, 0.01, Side::Before);
    let d: Vec<Vec3> = (0..model.blocks())
        .map(|i| Vec3::from_fn(|c, _| ((i * 31 + c * 17) % 23) as f64 / 11.0 - 1.0))
        .collect();
    let mut results = Vec::new();
    for mode in ["assembled", "products of contact", "matrix-free"] {
        let contacts = work.contacts.as_mut().unwrap();
        let mut problem = work.core.problem(&model, Some(contacts));
        let assemble = mode == "assembled";
        problem
            .linearise(&state.v, assemble, Hessian::Full)
            .unwrap();
        let mut y = vec![Vec3::zeros(); d.len()];
        match mode {
            "assembled" => problem.jacobian.apply(&d, &mut y),
            "matrix-free" => problem
                .matrix_free(Hessian::Full)
                .unwrap()
                .apply(&d, &mut y),
            _ => problem.operator(false).unwrap().apply(&d, &mut y),
        }
        results.push((mode, y));
        let touching = work.contacts.as_ref().unwrap();
        assert!(touching.count(work.core.stage().place()).unwrap() > 8);
    }
    let (_, assembled) = results.remove(0);
    let size = reduce::norm(&assembled);
    for (mode, mut y) in results {
        reduce::axpy(-1.0, &assembled, &mut y);
        let apart = reduce::norm(&y) / size;
        assert!(apart < 1e-13, "{mode}: {apart:e}");
    }
}
