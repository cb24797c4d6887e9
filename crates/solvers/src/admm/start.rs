//! Which bodies start held and which free.
//!
//! A body that rests starts best with the contact forces of the last step, one that lifts off
//! without: forces that are gone would leave its velocity only slowly, by a part m/(m + w) in each
//! iteration. So both are tried, body by body, by how far contacts would then be from Coulomb's law.

use rayon::prelude::*;
use stiction_contact::{ContactSet, FrictionProblem, project_cone};
use stiction_math::Vec3;

/// For every block whether its body starts better from `held` and the impulses `r` (none if empty)
/// than from `free` and no impulses.
pub(crate) fn better_held(
    problem: &FrictionProblem,
    w: &[f64],
    free: &[Vec3],
    held: &[Vec3],
    r: &[Vec3],
) -> Vec<bool> {
    let set = &problem.contacts;
    let errors: Vec<[f64; 2]> = (0..set.len())
        .into_par_iter()
        .with_min_len(1024)
        .map(|c| {
            let s = set.scale(c, w);
            let known = r.get(c).copied().unwrap_or_default();
            [
                law_error(set, c, s, free, &Vec3::zeros()),
                law_error(set, c, s, held, &known),
            ]
        })
        .collect();

    let mut body = Vec::with_capacity(problem.blocks());
    for (i, part) in problem.a.parts().iter().enumerate() {
        body.resize(body.len() + part.len(), i);
    }
    let mut sums = vec![[0.0; 2]; problem.a.parts().len()];
    for (c, error) in errors.iter().enumerate() {
        for e in set.entries(c) {
            let sum = &mut sums[body[e.node as usize]];
            sum[0] += error[0];
            sum[1] += error[1];
        }
    }
    // Free if equal: without an error it is the solution.
    body.iter().map(|&i| sums[i][1] < sums[i][0]).collect()
}

/// By how much one solve of the contact alone would change its velocity, squared [m²/s²].
fn law_error(set: &ContactSet, c: usize, s: f64, v: &[Vec3], r: &Vec3) -> f64 {
    let (n, give) = (set.normal[c], set.compliance[c]);
    // Where a light body bears a heavy load, normals that turned by a thousandth since the last step put
    // its impulses out of the cone by more than all velocities are worth: s r is thousands of m/s.
    let shifted = project_cone(&(r + n * set.cohesion[c]), &n, set.mu[c]);
    let u = set.velocity(c, v) + set.k[c] - n * (give * set.cohesion[c]);
    let rest = u - shifted * s;
    let along = rest.dot(&n);
    let push = (-along).max(0.0) / (s + give);
    let across = (rest - n * along) / s;
    let size = across.norm();
    let limit = set.mu[c] * push;
    let factor = if size > limit { limit / size } else { 1.0 };
    let new = n * push - across * factor;
    ((new - shifted) * s).norm_squared()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_contact::generate::incline;

    /// A load that comes through stiff elasticity on a block that is light by itself.
    #[test]
    fn impulses_a_little_out_of_the_cone_hold_all_the_same() {
        let problem = incline(1, 0.2, 0.5, 0.0).problem;
        let (n, mu) = (problem.contacts.normal[0], problem.contacts.mu[0]);
        let w = vec![1e-6; problem.blocks()];
        let free = vec![-n; problem.blocks()];
        let held = vec![Vec3::zeros(); problem.blocks()];
        let along = n.cross(&Vec3::new(0.3, 0.5, 0.8)).normalize();
        let carried = |friction: f64| vec![n + along * friction; problem.contacts.len()];
        for friction in [0.9 * mu, 1.001 * mu, 1.1 * mu] {
            let better = better_held(&problem, &w, &free, &held, &carried(friction));
            assert!(better.iter().all(|b| *b), "{friction}");
        }
        // What lifts off is free, however large the impulses were.
        let lifted = vec![n; problem.blocks()];
        let faster = vec![n * 3.0; problem.blocks()];
        let better = better_held(&problem, &w, &lifted, &faster, &carried(mu));
        assert!(better.iter().all(|b| !*b));
    }
}
