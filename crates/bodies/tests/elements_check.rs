//! The derivative checker must find the errors that it exists to find.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_bodies::check::{check_element, check_gradient, check_product};
use stiction_bodies::elements::{ElementDerivatives, Elements, Hessian};
use stiction_bodies::spring::Springs;
use stiction_math::{Mat3, Vec3};

const X: [Vec3; 2] = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(1.0, -0.4, 0.8)];

/// Which part of a correct spring is spoilt, and by how much.
#[derive(Clone, Copy)]
enum Fault {
    None,
    Gradient(f64),
    Hessian(f64),
    Asymmetry(f64),
    Negative(f64),
    Ground(f64),
}

struct Faulty {
    spring: Springs,
    fault: Fault,
}

impl Elements<2> for Faulty {
    fn nodes(&self) -> &[[u32; 2]] {
        self.spring.nodes()
    }

    fn energy(&self, e: usize, x: &[Vec3; 2]) -> f64 {
        let ground = if let Fault::Ground(k) = self.fault {
            k * x[0].z
        } else {
            0.0
        };
        self.spring.energy(e, x) + ground
    }

    fn gradient(&self, e: usize, x: &[Vec3; 2]) -> [Vec3; 2] {
        let mut g = self.spring.gradient(e, x);
        match self.fault {
            Fault::Gradient(f) => g = g.map(|v| v * (1.0 + f)),
            Fault::Ground(k) => g[0].z += k,
            _ => {}
        }
        g
    }

    fn local(&self, e: usize, x: &[Vec3; 2], kind: Hessian) -> ElementDerivatives<2> {
        let mut local = self.spring.local(e, x, kind);
        local.energy = self.energy(e, x);
        local.gradient = self.gradient(e, x);
        match self.fault {
            Fault::Hessian(f) => local.hessian[0][1] *= 1.0 + f,
            Fault::Asymmetry(f) => local.hessian[1][0][(0, 1)] += f,
            Fault::Negative(f) if kind == Hessian::Projected => {
                local.hessian[0][0] -= Mat3::from_diagonal_element(f);
            }
            _ => {}
        }
        local
    }
}

/// A compressed spring with a fault.
fn faulty(fault: Fault) -> Faulty {
    let rest = [Vec3::zeros(), Vec3::new(2.0, 0.0, 0.0)];
    Faulty {
        spring: Springs::new(&rest, &[([0, 1], 10.0)]).unwrap(),
        fault,
    }
}

#[test]
fn a_correct_model_passes_far_below_the_tolerance() {
    let report = check_element(&faulty(Fault::None), 0, &X);
    assert!(
        report.gradient < 1e-10 && report.hessian < 1e-10,
        "{report:?}"
    );
    assert!(
        report.negative < 1e-14 && report.motion < 1e-14,
        "{report:?}"
    );
}

#[test]
fn small_errors_are_found() {
    let with = |fault| check_element(&faulty(fault), 0, &X);
    let report = with(Fault::Gradient(2e-6));
    assert!(report.gradient > 1e-6, "{report:?}");
    let report = with(Fault::Hessian(1e-5));
    assert!(report.hessian > 1e-6, "{report:?}");
    let report = with(Fault::Asymmetry(1e-6));
    assert!(report.symmetry > 1e-8, "{report:?}");
    let report = with(Fault::Negative(1e-6));
    assert!(report.negative > 1e-8, "{report:?}");
    let report = with(Fault::Ground(1e-6));
    assert!(report.motion > 1e-8 && report.force > 1e-8, "{report:?}");
}

#[test]
fn nan_counts_as_an_error() {
    let report = check_element(&faulty(Fault::Gradient(f64::NAN)), 0, &X);
    let worst = report.worst(check_element(&faulty(Fault::None), 0, &X));
    assert!(worst.gradient.is_infinite(), "{worst:?}");
}

/// E = Σ sin(pₓ) p_y² + exp(p_z): gradient and Hessian product in closed form.
fn model(x: &[Vec3]) -> (f64, Vec<Vec3>) {
    let energy = x.iter().map(|p| p.x.sin() * p.y * p.y + p.z.exp()).sum();
    let gradient = x
        .iter()
        .map(|p| Vec3::new(p.x.cos() * p.y * p.y, 2.0 * p.x.sin() * p.y, p.z.exp()))
        .collect();
    (energy, gradient)
}

fn product(x: &[Vec3], d: &[Vec3], scale: f64) -> Vec<Vec3> {
    x.iter()
        .zip(d)
        .map(|(p, d)| {
            Vec3::new(
                -p.x.sin() * p.y * p.y * d.x + 2.0 * p.x.cos() * p.y * d.y,
                2.0 * p.x.cos() * p.y * d.x + 2.0 * p.x.sin() * d.y,
                p.z.exp() * d.z * scale,
            )
        })
        .collect()
}

#[test]
fn plain_functions_can_be_checked() {
    let d = [Vec3::new(1.0, -0.5, 0.3), Vec3::new(0.2, 0.4, -0.6)];
    assert!(check_gradient(model, &X, 1.0, 0.0) < 1e-10);
    let wrong = |x: &[Vec3]| {
        let (e, mut g) = model(x);
        g[1].z *= 1.0 + 1e-5;
        (e, g)
    };
    assert!(check_gradient(wrong, &X, 1.0, 0.0) > 1e-6);
    let force = |x: &[Vec3]| model(x).1;
    assert!(check_product(force, |x, d| product(x, d, 1.0), &X, &d, 1.0, 0.0) < 1e-10);
    assert!(check_product(force, |x, d| product(x, d, 1.0 + 1e-5), &X, &d, 1.0, 0.0) > 1e-6);
}
