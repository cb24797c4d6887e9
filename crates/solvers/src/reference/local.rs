//! One contact by itself, solved exactly: u = W r + b, (u, r) ∈ C_μ, in local coordinates.

use std::f64::consts::PI;
use stiction_math::elementary::{cos, hypot, sin, sin_cos};

use stiction_math::{Mat2, Mat3, Vec2, Vec3};

use super::quartic::real_zeros;

/// The solution of one contact by the three cases of Coulomb's law [bonnefon2011]: it opens, it
/// sticks, or it slides in a direction that is a zero of a polynomial of degree four. For a large
/// μ more than one case can hold; then the one next to `last` is taken, so that a solution of all
/// contacts together stays one.
pub(super) fn solve_one(w: &Mat3, b: &Vec3, mu: f64, last: &Vec3) -> Vec3 {
    let rho = 3.0 / w.trace();
    let mut best = (f64::INFINITY, Vec3::zeros());
    let mut candidates: Vec<(f64, Vec3)> = Vec::with_capacity(8);
    let mut consider = |r: Vec3| {
        let error = residual(&(w * r + b), &r, mu, rho);
        if error < best.0 {
            best = (error, r);
        }
        candidates.push((error, r));
    };

    consider(Vec3::zeros());
    if mu == 0.0 {
        consider(Vec3::new((-b.x / w.m11).max(0.0), 0.0, 0.0));
    } else {
        if let Some(inverse) = w.try_inverse() {
            consider(-inverse * b);
        }
        for r in sliding(w, b, mu) {
            consider(r);
        }
    }
    let enough = (10.0 * best.0).max(1e-12 * b.norm());
    let nearest = candidates
        .into_iter()
        .filter(|(error, _)| *error <= enough)
        .min_by(|(_, a), (_, b)| (a - last).norm().total_cmp(&(b - last).norm()));
    nearest.map_or(best.1, |(_, r)| r)
}

/// Residual of Coulomb's law at (u, r) [m/s]: ‖r − P(r − ρ u)‖/ρ in the form of Alart and Curnier
/// [alart1991], which projects the normal part to r_N ≥ 0 and the tangential part to the disc that
/// goes with it.
pub(super) fn residual(u: &Vec3, r: &Vec3, mu: f64, rho: f64) -> f64 {
    let x = r - u * rho;
    let normal = x.x.max(0.0);
    let (radius, length) = (mu * normal, hypot(x.y, x.z));
    let shrink = if length > radius {
        radius / length
    } else {
        1.0
    };
    (r - Vec3::new(normal, x.y * shrink, x.z * shrink)).norm() / rho
}

/// Impulses with which the contact may slide: u_N = 0 and r_T = −μ r_N d, with u_T along d or, as
/// the caller finds out, against it.
fn sliding(w: &Mat3, b: &Vec3, mu: f64) -> impl Iterator<Item = Vec3> {
    let coupling = Vec2::new(w.m21, w.m31);
    let tangent = w.fixed_view::<2, 2>(1, 1).into_owned();
    let free = Vec2::new(b.y, b.z);
    let (w_nn, b_n) = (w.m11, b.x);

    // Turn the tangents such that the direction at half a turn is far from any zero: the
    // substitution t = tan(θ/2) then has no zero near infinity.
    let across = |angle: f64| {
        let d = Vec2::new(cos(angle), sin(angle));
        let u = (coupling - tangent * d * mu) * -b_n + free * (w_nn - mu * coupling.dot(&d));
        (d.x * u.y - d.y * u.x).abs()
    };
    let far = (0..8)
        .map(|i| PI * f64::from(i) / 4.0)
        .max_by(|a, b| across(*a).total_cmp(&across(*b)))
        .unwrap_or_default();
    let (sin, cos) = sin_cos(far - PI);
    let turn = Mat2::new(cos, -sin, sin, cos);

    let c = turn.tr_mul(&coupling);
    let m = turn.transpose() * tangent * turn;
    let f = turn.tr_mul(&free);
    // d⊥ · u_T (w_nn − μ c·d) as a₀ + a₁ cos θ + b₁ sin θ + a₂ cos 2θ + b₂ sin 2θ.
    let a0 = -0.5 * mu * (c.x * f.y - c.y * f.x);
    let a1 = w_nn * f.y - b_n * c.y;
    let b1 = b_n * c.x - w_nn * f.x;
    let a2 = mu * (b_n * m.m12 - 0.5 * (c.x * f.y + c.y * f.x));
    let b2 = 0.5 * mu * (b_n * (m.m22 - m.m11) - (c.y * f.y - c.x * f.x));
    let quartic = [
        a0 + a1 + a2,
        2.0 * b1 + 4.0 * b2,
        2.0 * a0 - 6.0 * a2,
        2.0 * b1 - 4.0 * b2,
        a0 - a1 + a2,
    ];
    real_zeros(&quartic).into_iter().filter_map(move |t| {
        let d = turn * Vec2::new(1.0 - t * t, 2.0 * t) / (1.0 + t * t);
        let normal = -b_n / (w_nn - mu * coupling.dot(&d));
        let fits = normal.is_finite() && normal >= 0.0;
        fits.then(|| Vec3::new(normal, -mu * normal * d.x, -mu * normal * d.y))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matrix(g: [f64; 9], least: f64) -> Mat3 {
        let g = Mat3::from_row_slice(&g);
        g * g.transpose() + Mat3::from_diagonal_element(least)
    }

    #[test]
    fn the_three_cases_by_hand() {
        let w = Mat3::from_diagonal_element(0.5);
        let solve = |b: Vec3, mu| solve_one(&w, &b, mu, &Vec3::zeros());
        assert_eq!(solve(Vec3::new(0.1, 3.0, 0.0), 0.5), Vec3::zeros());
        let stick = solve(Vec3::new(-1.0, 0.3, -0.2), 0.5);
        assert!((stick - Vec3::new(2.0, -0.6, 0.4)).norm() < 1e-14);
        // Pressed by 2 N·s, it may drag with 1 N·s.
        let slide = solve(Vec3::new(-1.0, 0.6, -0.8), 0.5);
        assert!((slide - Vec3::new(2.0, -0.6, 0.8)).norm() < 1e-14);
        let smooth = solve(Vec3::new(-1.0, 0.6, -0.8), 0.0);
        assert!((smooth - Vec3::new(2.0, 0.0, 0.0)).norm() < 1e-14);
    }

    proptest! {
        /// A contact by itself always has a solution, and it is found to rounding.
        #[test]
        fn solutions_keep_the_law(
            g in prop::array::uniform9(-1.0..1.0f64),
            b in prop::array::uniform3(-1.0..1.0f64),
            mu in prop_oneof![Just(0.0), 0.0..1.0f64, 1.0..20.0f64],
            least in prop_oneof![Just(1e-3), Just(1e-1)],
        ) {
            let (w, b) = (matrix(g, least), Vec3::from(b));
            let r = solve_one(&w, &b, mu, &Vec3::zeros());
            let u = w * r + b;
            let scale = b.norm() + w.norm() * r.norm();
            prop_assert!(residual(&u, &r, mu, 3.0 / w.trace()) < 1e-11 * scale);
        }

        /// A solution by hand is found again when it is close to what was before.
        #[test]
        fn the_nearest_solution_is_kept(
            g in prop::array::uniform9(-1.0..1.0f64),
            angle in 0.0..6.3f64, slip in 0.1..2.0f64, normal in 0.1..2.0f64,
            mu in 0.0..3.0f64,
        ) {
            let w = matrix(g, 0.05);
            let r = Vec3::new(normal, -mu * normal * angle.cos(), -mu * normal * angle.sin());
            let u = Vec3::new(0.0, slip * angle.cos(), slip * angle.sin());
            let again = solve_one(&w, &(u - w * r), mu, &r);
            prop_assert!((again - r).norm() < 1e-7 * r.norm(), "{again} {r}");
        }
    }
}
