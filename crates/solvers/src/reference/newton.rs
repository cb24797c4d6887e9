//! All contacts at once by a Newton method on the equations of Alart and Curnier [alart1991].

use stiction_math::{Vec2, Vec3, nalgebra};

use super::{
    delassus::Reduced,
    law::{scale_and_rounding, worst},
};

type Matrix = nalgebra::DMatrix<f64>;
type Vector = nalgebra::DVector<f64>;

/// Part of W's diagonal that is added to it in the Newton matrix. Where contacts are redundant the
/// matrix is singular without it; with it the step is one of a proximal method, whose fixed points
/// are the same.
const PROXIMAL: f64 = 1e-12;

/// By how much full steps may make sums like W r larger. Jammed contacts can press against each
/// other with any impulse; a solution with huge ones is only known to as many digits fewer.
const GROWTH: f64 = 1e2;

/// Takes Newton steps from `r` as long as they make the worst residual smaller, at most `steps`;
/// returns how many it took.
pub(super) fn descend(problem: &Reduced, r: &mut Vector, steps: usize, target: f64) -> usize {
    let mut u = problem.velocity(r);
    let mut error = worst(problem, r, &u);
    for taken in 0..steps {
        if error <= target {
            return taken;
        }
        let (jacobian, value) = linearise(problem, r, &u);
        let Some(step) = jacobian.lu().solve(&value) else {
            return taken;
        };
        // Halving down to a thousandth: what needs less is better left to the sweeps.
        let better = (0..10).find_map(|halvings| {
            let trial = &*r - &step * 0.5f64.powi(halvings);
            let u = problem.velocity(&trial);
            let e = worst(problem, &trial, &u);
            (e < error).then_some((trial, u, e))
        });
        match better {
            Some((trial, velocity, e)) => {
                *r = trial;
                u = velocity;
                // A step that gains little goes on for ever.
                let slow = e > 0.99 * error;
                error = e;
                if slow {
                    return taken + 1;
                }
            }
            None => return taken,
        }
    }
    steps
}

/// Takes full Newton steps from `r` whatever the residual does meanwhile, and leaves the best
/// impulses in `r`. Of almost parallel contacts only one can be closed, and the path from one to
/// the other leads over states that are much worse than both. Returns how many steps it took.
pub(super) fn leap(problem: &Reduced, r: &mut Vector, steps: usize, target: f64) -> usize {
    let mut x = r.clone();
    let mut best = f64::INFINITY;
    let limit = GROWTH * scale_and_rounding(problem, r).1;
    for taken in 0..steps {
        let u = problem.velocity(&x);
        let error = worst(problem, &x, &u);
        if !error.is_finite() {
            return taken;
        }
        if error < best && scale_and_rounding(problem, &x).1 <= limit {
            best = error;
            r.copy_from(&x);
        }
        if best <= target {
            return taken;
        }
        let (jacobian, value) = linearise(problem, &x, &u);
        let Some(step) = jacobian.lu().solve(&value) else {
            return taken;
        };
        x -= step;
    }
    steps
}

/// F(r) and its generalised derivative, each row divided by what makes it a velocity:
///
/// ```text
/// x = r − ρ u,   F_N = (r_N − [x_N]⁺)/ρ,   F_T = (r_T − P(x_T))/ρ
/// ```
///
/// with P the projection to the disc of radius μ [x_N]⁺.
fn linearise(problem: &Reduced, r: &Vector, u: &Vector) -> (Matrix, Vector) {
    let n = 3 * problem.len();
    let mut jacobian = Matrix::zeros(n, n);
    let mut value = Vector::zeros(n);
    for c in 0..problem.len() {
        let (mu, rho, at) = (problem.mu[c], problem.rho[c], 3 * c);
        let x = r.fixed_rows::<3>(at) - u.fixed_rows::<3>(at) * rho;
        let local = r.fixed_rows::<3>(at).into_owned();
        let proximal = PROXIMAL / rho;
        let mut rows = jacobian.fixed_rows_mut::<3>(at);
        let w = problem.w.fixed_rows::<3>(at);
        let across = Vec2::new(x.y, x.z);
        let (length, radius) = (across.norm(), mu * x.x);
        if x.x <= 0.0 {
            // Open: r = 0.
            for i in 0..3 {
                rows[(i, at + i)] = 1.0 / rho;
            }
            value.fixed_rows_mut::<3>(at).copy_from(&(local / rho));
            continue;
        }
        // Closed: u_N = 0, and u_T = 0 where it sticks.
        rows.copy_from(&w);
        for i in 0..3 {
            rows[(i, at + i)] += proximal;
        }
        value
            .fixed_rows_mut::<3>(at)
            .copy_from(&u.fixed_rows::<3>(at));
        if length <= radius {
            continue;
        }
        // Slides: r_T = μ x_N x_T/‖x_T‖. With x = r − ρ u, dx = dr − ρ W dr.
        let d = across / length;
        let ratio = radius / length;
        for i in 0..2 {
            for j in 0..n {
                let own = |k: usize| if j == at + k { 1.0 } else { 0.0 };
                let dx = Vec3::from_fn(|k, _| own(k) / rho - w[(k, j)]);
                let turn = dx[1 + i] - d[i] * (d.x * dx.y + d.y * dx.z);
                rows[(1 + i, j)] = own(1 + i) / rho - mu * d[i] * dx.x - ratio * turn;
            }
            value[at + 1 + i] = (local[1 + i] - radius * d[i]) / rho;
        }
    }
    (jacobian, value)
}
