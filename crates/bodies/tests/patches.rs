//! Shells of several materials.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_bodies::{
    builder::{BodySpec, BuildError, Builder},
    energy::elastic_energy,
    material::{BendingLaw, Damping, MembraneLaw, RestAngles, ShellMaterial},
};
use stiction_geometry::{
    TriMesh,
    shapes::{Sheet, SheetPattern},
};
use stiction_math::Vec3;

fn material(young: f64, area_density: f64, bending: f64) -> ShellMaterial {
    ShellMaterial {
        thickness: 1e-3,
        area_density,
        membrane: MembraneLaw::NeoHookean {
            young,
            poisson: 0.3,
        },
        bending: BendingLaw::Rigidity(bending),
        rest_angles: RestAngles::Mesh,
        damping: Damping::default(),
    }
}

fn sheet() -> TriMesh {
    let sheet = Sheet {
        size: [2.0, 1.0],
        cells: [8, 4],
        pattern: SheetPattern::Regular,
    };
    sheet.build().unwrap()
}

/// Mass and elastic energy of the sheet in a given shape.
fn measure(materials: &[ShellMaterial], of: &[u32], shape: impl Fn(&Vec3) -> Vec3) -> (f64, f64) {
    let mut builder = Builder::new(Vec3::zeros(), None);
    let spec = BodySpec::new("sheet");
    builder.patched_shell(spec, sheet(), materials, of).unwrap();
    let (model, mut state) = builder.finish().unwrap();
    state.x.iter_mut().for_each(|x| *x = shape(x));
    let body = &model.bodies[0];
    (body.total_mass(), elastic_energy(body, &state))
}

/// Triangles with all corners right of the middle are of the second material.
fn halves() -> Vec<u32> {
    let mesh = sheet();
    let middle = mesh.positions.iter().map(|x| x.x).sum::<f64>() / mesh.positions.len() as f64;
    let right = |t: &[u32; 3]| {
        t.iter()
            .all(|&v| mesh.positions[v as usize].x >= middle - 1e-9)
    };
    mesh.triangles.iter().map(|t| u32::from(right(t))).collect()
}

#[test]
fn each_half_has_its_own_mass_and_stiffness() {
    let (a, b) = (material(1e6, 0.2, 0.0), material(3e6, 0.7, 0.0));
    let of = halves();
    let stretch = |x: &Vec3| Vec3::new(1.1 * x.x, 0.95 * x.y, x.z);
    let (mass_a, energy_a) = measure(&[a], &vec![0; of.len()], stretch);
    let (mass_b, energy_b) = measure(&[b], &vec![0; of.len()], stretch);
    let (mass, energy) = measure(&[a, b], &of, stretch);
    // The strain is the same everywhere, so each half has half of what a whole one has.
    assert!((mass - 0.5 * (mass_a + mass_b)).abs() < 1e-12);
    assert!((energy - 0.5 * (energy_a + energy_b)).abs() < 1e-9 * energy);
    assert!(energy_b > 2.9 * energy_a);
}

#[test]
fn a_hinge_between_two_materials_has_the_mean_of_both() {
    let (a, b) = (material(1e6, 0.2, 1e-3), material(1e6, 0.2, 5e-3));
    let of = halves();
    let middle =
        sheet().positions.iter().map(|x| x.x).sum::<f64>() / sheet().positions.len() as f64;
    // Folded along the border alone, without strain in the triangles.
    let fold = |x: &Vec3| {
        let right = x.x - middle;
        match right > 0.0 {
            true => Vec3::new(middle + right * 0.3_f64.cos(), x.y, right * 0.3_f64.sin()),
            false => *x,
        }
    };
    let (_, mean) = measure(&[a, b], &of, fold);
    let (_, soft) = measure(&[a], &vec![0; of.len()], fold);
    let (_, stiff) = measure(&[b], &vec![0; of.len()], fold);
    assert!(soft > 0.0 && (mean - 0.5 * (soft + stiff)).abs() < 1e-9 * mean);
}

#[test]
fn lists_that_do_not_fit_and_springs_among_others_are_refused() {
    let a = material(1e6, 0.2, 0.0);
    let refused = |materials: &[ShellMaterial], of: Vec<u32>| {
        let mut builder = Builder::new(Vec3::zeros(), None);
        builder
            .patched_shell(BodySpec::new("sheet"), sheet(), materials, &of)
            .unwrap_err()
    };
    let count = sheet().triangles.len();
    assert!(matches!(
        refused(&[a], vec![0; count - 1]),
        BuildError::Element { .. }
    ));
    assert!(matches!(
        refused(&[a], vec![1; count]),
        BuildError::Element { .. }
    ));
    let springs = ShellMaterial {
        membrane: MembraneLaw::Springs {
            edge: 10.0,
            bend: 0.0,
        },
        ..a
    };
    let error = refused(&[a, springs], vec![0; count]);
    assert!(error.to_string().contains("springs"), "{error}");
}
