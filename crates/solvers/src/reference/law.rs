//! Residuals of impulses.

use stiction_math::{Vec3, nalgebra};

use super::{delassus::Reduced, local};

type Vector = nalgebra::DVector<f64>;

/// The worst residual of Coulomb's law over contacts [m/s]; infinite if a number is not finite.
pub(super) fn worst(problem: &Reduced, r: &Vector, u: &Vector) -> f64 {
    (0..problem.len()).fold(0.0, |worst: f64, c| {
        let (u, r) = (part(u, c), part(r, c));
        let error = local::residual(&u, &r, problem.mu[c], problem.rho[c]);
        if error.is_nan() {
            f64::INFINITY
        } else {
            worst.max(error)
        }
    })
}

/// The three numbers of contact `c`.
pub(super) fn part(x: &Vector, c: usize) -> Vec3 {
    x.fixed_rows::<3>(3 * c).into_owned()
}

/// The size of velocities in the problem [m/s], and what rounding makes of sums like W r + q.
pub(super) fn scale_and_rounding(problem: &Reduced, r: &Vector) -> (f64, f64) {
    let mut scale: f64 = 0.0;
    let mut sums: f64 = 0.0;
    for i in 0..r.len() {
        scale = scale.max(problem.q[i].abs());
        let row = problem.w.row(i);
        let terms = row.iter().zip(r.iter()).map(|(w, r)| (w * r).abs());
        sums = sums.max(terms.sum::<f64>() + problem.q[i].abs());
    }
    (scale, 8.0 * f64::EPSILON * sums)
}
