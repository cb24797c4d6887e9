//! Which bodies start held and which free.
//!
//! A body that rests starts best with the contact forces of the last step, one that lifts off
//! without: forces that are gone would leave its velocity only slowly, by a part m/(m + w) in each
//! iteration. So both are tried, body by body, by how far contacts would then be from Coulomb's law. The others
//! are held meanwhile: bodies that fall side by side agree with one another, so that a pile all of whose bodies are
//! freed at once is wrong at its lowest contacts alone.

use stiction_contact::{ContactSet, FrictionProblem, project_cone};
use stiction_math::{Vec3, parallel};

/// For every block whether its body starts better from `held` and the impulses `r` (none if empty)
/// than from `free` and no impulses, where all other bodies start from `held`.
pub(crate) fn better_held(
    problem: &FrictionProblem,
    w: &[f64],
    free: &[Vec3],
    held: &[Vec3],
    r: &[Vec3],
) -> Vec<bool> {
    let set = &problem.contacts;
    let mut body = Vec::with_capacity(problem.blocks());
    for (i, part) in problem.a.parts().iter().enumerate() {
        body.resize(body.len() + part.len(), i);
    }
    // Bodies of every contact, with its errors where each of them is freed and where none is.
    let errors = |c: usize| {
        let s = set.scale(c, w);
        let known = r.get(c).copied().unwrap_or_default();
        let owner = |node: u32| body[node as usize];
        let all_held = law_error(set, c, s, &set.velocity(c, held), &known);
        let own = |e: usize| set.entries(c).nth(e).map(|e| owner(e.node));
        let bodies = set.entries(c).map(|e| owner(e.node)).enumerate();
        let first = bodies.filter(move |(e, b)| (0..*e).all(|k| own(k) != Some(*b)));
        let pairs = first.map(move |(_, b)| {
            let u = set.entries(c).fold(Vec3::zeros(), |u, e| {
                let v = if owner(e.node) == b { free } else { held };
                u + e.mul(&v[e.node as usize])
            });
            (b, [law_error(set, c, s, &u, &Vec3::zeros()), all_held])
        });
        pairs.collect::<Vec<_>>()
    };
    let errors = parallel::map(set.len(), 1024, errors);

    let mut sums = vec![[0.0; 2]; problem.a.parts().len()];
    for (body, error) in errors.into_iter().flatten() {
        sums[body][0] += error[0];
        sums[body][1] += error[1];
    }
    // Free if equal: without an error it is the solution.
    body.iter().map(|&i| sums[i][1] < sums[i][0]).collect()
}

/// By how much one solve of the contact alone would change its velocity B v, squared [m²/s²].
fn law_error(set: &ContactSet, c: usize, s: f64, velocity: &Vec3, r: &Vec3) -> f64 {
    let (n, give) = (set.normal[c], set.compliance[c]);
    // Where a light body bears a heavy load, normals that turned by a thousandth since the last step put
    // its impulses out of the cone by more than all velocities are worth: s r is thousands of m/s.
    let shifted = project_cone(&(r + n * set.cohesion[c]), &n, set.mu[c]);
    let u = velocity + set.k[c] - n * (give * set.cohesion[c]);
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
    use std::sync::Arc;
    use stiction_contact::generate::{incline, stack};
    use stiction_math::{BlockPattern, Mat3, PartShape, SystemMatrix};

    /// A column of bodies at rest that falls side by side without its impulses: only the lowest contact is then wrong.
    /// Impulses from a step that was solved to 1e-9 m/s hold all of it, up to the body that is lifted off.
    #[test]
    fn a_pile_at_rest_is_held_from_bottom_to_top() {
        let masses = [1.0, 2.0, 0.5, 1.0];
        let mut solved = stack(&masses, 0.4, 0.0);
        let pattern = BlockPattern::from_cliques(1, std::iter::empty()).unwrap_or_default();
        let one = Arc::new(pattern);
        let parts = masses.map(|_| PartShape::Sparse(Arc::clone(&one))).to_vec();
        solved.problem.a = SystemMatrix::new(parts, &[]);
        for (i, m) in masses.iter().enumerate() {
            solved.problem.a.add(i, i, &Mat3::from_diagonal_element(*m));
        }
        let noise = |i: usize| if i.is_multiple_of(2) { 1e-9 } else { -2e-9 };
        let mut held: Vec<Vec3> = (0..4).map(|i| Vec3::z() * noise(i)).collect();
        let forces = solved.problem.f.iter().zip(&masses);
        let mut free: Vec<Vec3> = forces.map(|(f, m)| f / *m).collect();
        let better = |free: &[Vec3], held: &[Vec3]| {
            better_held(&solved.problem, &masses, free, held, &solved.r)
        };
        assert_eq!(better(&free, &held), [true; 4]);
        let lift = Vec3::z() * 3.0;
        (held[3], free[3]) = (held[3] + lift, free[3] + lift);
        // The light body below it bore it, and may start either way.
        let better = better(&free, &held);
        assert!(better[0] && better[1] && !better[3]);
    }

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
