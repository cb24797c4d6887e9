//! The derivative checker: one test of every force model.
//!
//! Derivatives are compared with central differences of the quantity one order below, refined by
//! Richardson extrapolation over a sequence of halved steps; the entry of the extrapolation table
//! with the smallest error estimate is taken (Ridders' method). Truncation and rounding then
//! both fall to about 10⁻¹⁰ of the scale of the values, so that a relative error of 10⁻⁶ is a
//! real error of the model and not of the check.
//!
//! All results are relative numbers, to be compared with a tolerance by the caller.

use crate::elements::{Elements, Hessian};
use stiction_math::nalgebra::{DMatrix, DVector, SymmetricEigen};
use stiction_math::{Quat, Vec3};

/// Rows of the extrapolation table.
const ROWS: usize = 12;

/// Results of the checker for one element at one state, or the worst over many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ElementReport {
    /// ‖g − ΔE‖ / (‖g‖ + 10⁻³ ‖H‖ L): gradient against differences of the energy.
    pub gradient: f64,
    /// ‖H − Δg‖ / ‖H‖: exact Hessian against differences of the gradient.
    pub hessian: f64,
    /// ‖M − Mᵀ‖ / ‖M‖, the worse of the exact and the projected Hessian.
    pub symmetry: f64,
    /// −(smallest eigenvalue of the projected Hessian) / ‖projected‖, or zero if none is negative.
    pub negative: f64,
    /// Relative change of the energy under a rigid motion.
    pub motion: f64,
    /// ‖Σ g‖ relative to Σ‖g‖.
    pub force: f64,
    /// ‖Σ x × g‖ relative to L Σ‖g‖.
    pub torque: f64,
    /// Largest relative difference between `energy`/`gradient` and the result of `local`.
    pub agreement: f64,
}

impl ElementReport {
    /// Entry by entry the larger value; NaN counts as infinitely large.
    pub fn worst(self, other: Self) -> Self {
        Self {
            gradient: larger(self.gradient, other.gradient),
            hessian: larger(self.hessian, other.hessian),
            symmetry: larger(self.symmetry, other.symmetry),
            negative: larger(self.negative, other.negative),
            motion: larger(self.motion, other.motion),
            force: larger(self.force, other.force),
            torque: larger(self.torque, other.torque),
            agreement: larger(self.agreement, other.agreement),
        }
    }
}

/// Checks element `e` of `model` at the node positions `x` [m].
///
/// Here L is the diameter of the nodes, and denominators have the floor ε ‖H‖ Lⁿ (ε the machine
/// precision) so that rest states, where energy and forces vanish, are not divided by zero.
pub fn check_element<const K: usize, E: Elements<K> + ?Sized>(
    model: &E,
    e: usize,
    x: &[Vec3; K],
) -> ElementReport {
    let full = model.local(e, x, Hessian::Full);
    let projected = model.local(e, x, Hessian::Projected);
    let length = diameter(x);
    let h_full = dense(&full.hessian);
    let h_projected = dense(&projected.hessian);
    let stiffness = h_full.norm().max(h_projected.norm());
    let g = flatten(&full.gradient);

    let energy_differences = jacobian(
        |y| DVector::from_element(1, model.energy(e, &unflatten(y))),
        &flatten(x),
        length,
    );
    let gradient_differences = jacobian(
        |y| flatten(&model.gradient(e, &unflatten(y))),
        &flatten(x),
        length,
    );

    let total: Vec3 = full.gradient.iter().sum();
    let torque: Vec3 = (0..K).map(|a| (x[a] - x[0]).cross(&full.gradient[a])).sum();
    let sizes: f64 = full.gradient.iter().map(|v| v.norm()).sum();
    let force_scale = sizes + f64::EPSILON * stiffness * length;
    let energy_scale =
        full.energy.abs().max(g.norm() * length) + f64::EPSILON * stiffness * length * length;

    let mut motion = 0.0;
    for (axis, shift) in [
        (Vec3::new(0.3, -1.1, 0.7), Vec3::new(1.0, 0.0, -0.5)),
        (Vec3::new(2.1, 0.4, -0.9), Vec3::new(-0.2, 0.6, 0.1)),
    ] {
        let rotation = Quat::from_scaled_axis(axis);
        let moved = x.map(|p| rotation * (p - x[0]) + shift * length);
        motion = larger(
            motion,
            (model.energy(e, &moved) - full.energy).abs() / energy_scale,
        );
    }

    let mut agreement = (model.energy(e, x) - full.energy).abs() / energy_scale;
    let gradient = model.gradient(e, x);
    for local in [&full, &projected] {
        agreement = larger(agreement, (local.energy - full.energy).abs() / energy_scale);
        for a in 0..K {
            agreement = larger(
                agreement,
                (local.gradient[a] - gradient[a]).norm() / force_scale,
            );
        }
    }

    ElementReport {
        gradient: ratio(
            (energy_differences.row(0).transpose() - &g).norm(),
            g.norm() + 1e-3 * stiffness * length,
        ),
        hessian: ratio((gradient_differences - &h_full).norm(), h_full.norm()),
        symmetry: larger(asymmetry(&h_full), asymmetry(&h_projected)),
        negative: ratio(
            (-smallest_eigenvalue(&h_projected)).max(0.0),
            h_projected.norm(),
        ),
        motion,
        force: ratio(total.norm(), force_scale),
        torque: ratio(torque.norm(), force_scale * length),
        agreement,
    }
}

/// Relative error of the gradient that `f` returns with its energy, against differences of the
/// energy: ‖g − ΔE‖ / (‖g‖ + `floor`).
///
/// `f` maps positions [m] to (energy [J], gradient [N]); `length` [m] is the length scale of f, and
/// `floor` [N] a small force.
pub fn check_gradient(
    f: impl Fn(&[Vec3]) -> (f64, Vec<Vec3>),
    x: &[Vec3],
    length: f64,
    floor: f64,
) -> f64 {
    let g = flatten(&f(x).1);
    let differences = jacobian(
        |y| DVector::from_element(1, f(&points(y)).0),
        &flatten(x),
        length,
    );
    ratio(
        (differences.row(0).transpose() - &g).norm(),
        g.norm() + floor,
    )
}

/// Relative error of a Jacobian–vector product against differences of `g` along `direction`: ‖J d −
/// Δg‖ / (‖J d‖ + `floor`).
///
/// `g` maps positions [m] (or velocities) to forces [N] and need not derive from an energy;
/// `product` returns J(x)·d; `length` is the length scale of `g`.
pub fn check_product(
    g: impl Fn(&[Vec3]) -> Vec<Vec3>,
    product: impl Fn(&[Vec3], &[Vec3]) -> Vec<Vec3>,
    x: &[Vec3],
    direction: &[Vec3],
    length: f64,
    floor: f64,
) -> f64 {
    let d = flatten(direction);
    let size = d.norm();
    if size == 0.0 {
        return ratio(flatten(&product(x, direction)).norm(), floor);
    }
    let (base, unit) = (flatten(x), &d / size);
    let differences = derivative(|t| flatten(&g(&points(&(&base + &unit * t)))), length) * size;
    let exact = flatten(&product(x, direction));
    ratio((differences - &exact).norm(), exact.norm() + floor)
}

/// ∂f/∂x by extrapolated central differences, column by column.
fn jacobian(
    f: impl Fn(&DVector<f64>) -> DVector<f64>,
    x: &DVector<f64>,
    length: f64,
) -> DMatrix<f64> {
    let columns: Vec<DVector<f64>> = (0..x.len())
        .map(|c| {
            derivative(
                |t| {
                    let mut y = x.clone();
                    y[c] += t;
                    f(&y)
                },
                length,
            )
        })
        .collect();
    DMatrix::from_columns(&columns)
}

/// df/dt at t = 0 by Ridders' method, from steps 0.04 `length` downwards.
fn derivative(f: impl Fn(f64) -> DVector<f64>, length: f64) -> DVector<f64> {
    let mut best = DVector::zeros(0);
    let mut best_error = f64::INFINITY;
    let mut previous: Vec<DVector<f64>> = Vec::new();
    for i in 0..ROWS {
        let h = 0.04 * length / f64::from(1u32 << i);
        let mut row = vec![(f(h) - f(-h)) / (2.0 * h)];
        let mut factor = 1.0;
        for j in 0..i.min(previous.len()) {
            factor *= 4.0;
            let next = (&row[j] * factor - &previous[j]) / (factor - 1.0);
            let error = (&next - &row[j]).norm().max((&next - &previous[j]).norm());
            if error < best_error {
                best_error = error;
                best = next.clone();
            }
            row.push(next);
        }
        // The coarsest difference is used if no finite one follows, so that a NaN shows up.
        if best.is_empty() {
            best = row[0].clone();
            best_error = f64::INFINITY;
        }
        previous = row;
    }
    best
}

fn smallest_eigenvalue(m: &DMatrix<f64>) -> f64 {
    if m.iter().any(|v| !v.is_finite()) {
        return f64::NEG_INFINITY;
    }
    SymmetricEigen::new((m + m.transpose()) * 0.5)
        .eigenvalues
        .min()
}

fn asymmetry(m: &DMatrix<f64>) -> f64 {
    ratio((m - m.transpose()).norm(), m.norm())
}

/// a / b, with 0 / 0 = 0.
fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a / b }
}

fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        a.max(b)
    }
}

fn diameter(x: &[Vec3]) -> f64 {
    let mut d: f64 = 0.0;
    for a in x {
        for b in x {
            d = d.max((a - b).norm());
        }
    }
    d
}

fn dense<const K: usize>(blocks: &[[stiction_math::Mat3; K]; K]) -> DMatrix<f64> {
    DMatrix::from_fn(3 * K, 3 * K, |r, c| blocks[r / 3][c / 3][(r % 3, c % 3)])
}

fn flatten(x: &[Vec3]) -> DVector<f64> {
    DVector::from_iterator(3 * x.len(), x.iter().flat_map(|v| [v.x, v.y, v.z]))
}

fn points(y: &DVector<f64>) -> Vec<Vec3> {
    y.as_slice()
        .chunks_exact(3)
        .map(|c| Vec3::new(c[0], c[1], c[2]))
        .collect()
}

fn unflatten<const K: usize>(y: &DVector<f64>) -> [Vec3; K] {
    std::array::from_fn(|a| Vec3::new(y[3 * a], y[3 * a + 1], y[3 * a + 2]))
}
