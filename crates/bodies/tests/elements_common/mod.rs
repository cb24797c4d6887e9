//! States at which every element model is examined.
#![allow(dead_code)]

use stiction_bodies::check::{ElementReport, check_element};
use stiction_bodies::elements::{Elements, Hessian};
use stiction_math::{Mat3, Quat, Vec3, svd3};

/// A small generator of pseudo-random numbers (SplitMix64), so that every run sees the same
/// states.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn vector(&mut self, size: f64) -> Vec3 {
        Vec3::new(
            self.range(-size, size),
            self.range(-size, size),
            self.range(-size, size),
        )
    }

    pub fn rotation(&mut self) -> Mat3 {
        Quat::from_scaled_axis(self.vector(3.0))
            .to_rotation_matrix()
            .into_inner()
    }

    /// U diag(σ) Vᵀ with random rotations.
    pub fn with_stretches(&mut self, sigma: Vec3) -> Mat3 {
        self.rotation() * Mat3::from_diagonal(&sigma) * self.rotation().transpose()
    }

    /// Deformation gradients of every kind: rest, small strain, strong stretch, strong
    /// compression, inverted, nearly flat, repeated stretches.
    pub fn deformation(&mut self, kind: usize) -> Mat3 {
        let sigma = match kind % 8 {
            0 => Vec3::repeat(1.0),
            1 => Vec3::repeat(1.0) + self.vector(1e-3),
            2 => Vec3::repeat(1.0) + self.vector(0.4),
            3 => Vec3::new(
                self.range(2.0, 5.0),
                self.range(0.5, 3.0),
                self.range(0.3, 2.0),
            ),
            4 => Vec3::new(
                self.range(0.1, 0.9),
                self.range(0.1, 0.6),
                self.range(0.05, 0.3),
            ),
            5 => Vec3::new(
                self.range(0.5, 2.0),
                self.range(0.4, 1.2),
                -self.range(0.05, 1.5),
            ),
            6 => Vec3::new(
                self.range(0.8, 1.4),
                self.range(0.5, 1.2),
                self.range(-1e-6, 1e-6),
            ),
            _ => {
                let s = self.range(0.6, 1.5);
                Vec3::new(s, s, self.range(0.5, 1.6))
            }
        };
        self.with_stretches(sigma)
    }
}

/// Signed singular values.
pub fn stretches(f: &Mat3) -> Vec3 {
    svd3(f).sigma
}

/// Asserts every bound of the checker; `derivative` bounds gradient and Hessian errors.
pub fn assert_report(name: &str, report: &ElementReport, derivative: f64) {
    assert!(report.gradient < derivative, "{name}: gradient {report:?}");
    assert!(report.hessian < derivative, "{name}: Hessian {report:?}");
    assert!(report.symmetry < 1e-12, "{name}: symmetry {report:?}");
    assert!(
        report.negative < 1e-12,
        "{name}: negative eigenvalue {report:?}"
    );
    assert!(report.motion < 1e-12, "{name}: rigid motion {report:?}");
    assert!(report.force < 1e-12, "{name}: total force {report:?}");
    assert!(report.torque < 1e-12, "{name}: total torque {report:?}");
    assert!(report.agreement < 1e-12, "{name}: agreement {report:?}");
}

/// Checks a model at many states and asserts the worst.
pub fn check_all<const K: usize, E: Elements<K>>(
    name: &str,
    model: &E,
    states: impl Iterator<Item = [Vec3; K]>,
) -> ElementReport {
    let mut worst = ElementReport::default();
    let mut count = 0;
    for x in states {
        let report = check_element(model, 0, &x);
        assert_report(&format!("{name}, state {count} {x:?}"), &report, 1e-6);
        worst = worst.worst(report);
        count += 1;
    }
    assert!(count >= 200, "{name}: only {count} states");
    worst
}

/// Asserts that energy, gradient and both Hessians are finite.
pub fn assert_finite<const K: usize, E: Elements<K>>(name: &str, model: &E, x: &[Vec3; K]) {
    assert!(model.energy(0, x).is_finite(), "{name}: energy at {x:?}");
    assert!(
        model
            .gradient(0, x)
            .iter()
            .all(|g| g.iter().all(|v| v.is_finite())),
        "{name}: gradient at {x:?}"
    );
    for kind in [Hessian::Full, Hessian::Projected] {
        let local = model.local(0, x, kind);
        assert!(local.energy.is_finite(), "{name}: local energy at {x:?}");
        assert!(
            local
                .hessian
                .iter()
                .flatten()
                .all(|h| h.iter().all(|v| v.is_finite())),
            "{name}: {kind:?} Hessian at {x:?}"
        );
    }
}

/// Largest entry by which the projected Hessian differs from the exact one, relative to the
/// largest entry of the exact one.
pub fn projection_gap<const K: usize, E: Elements<K>>(model: &E, x: &[Vec3; K]) -> f64 {
    let full = model.local(0, x, Hessian::Full).hessian;
    let projected = model.local(0, x, Hessian::Projected).hessian;
    let mut gap: f64 = 0.0;
    let mut size: f64 = 0.0;
    for a in 0..K {
        for b in 0..K {
            gap = gap.max((full[a][b] - projected[a][b]).amax());
            size = size.max(full[a][b].amax());
        }
    }
    gap / size
}
