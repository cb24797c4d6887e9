//! The diagonal W that stands for A in the projection.

use stiction_contact::FrictionProblem;
use stiction_math::{MatrixPart, parallel, sym_eig3};

use super::AdmmWeights;

/// w_j = max(σ η_j, min(β m_j, η_j)) [kg] for every block, with η_j the least eigenvalue of A_jj
/// and m_j its mass or mean inertia [daviet2020, Sect. 6.2.6].
pub(crate) fn weights(problem: &FrictionProblem, rule: &AdmmWeights, w: &mut Vec<f64>) {
    let weight = |j: usize| {
        let block = problem.a.diagonal(j);
        let (values, _) = sym_eig3(&block);
        // An eigenvalue of a nearly singular block may come out zero or negative by rounding.
        let least = values.min().max(1e-14 * block.trace());
        match *rule {
            AdmmWeights::Mass { sigma, beta } => {
                (sigma * least).max((beta * problem.mass[j]).min(least))
            }
            AdmmWeights::Diagonal { part } => part * least,
        }
    };
    w.resize(problem.blocks(), 0.0);
    parallel::each_mut(w, 1024, |j, w| *w = weight(j));
}

/// The angular blocks of rigid bodies with their radii of gyration [m], which turn their velocities
/// into metres per second.
pub(crate) fn reach(problem: &FrictionProblem, reach: &mut Vec<(usize, f64)>) {
    reach.clear();
    let mut first = 0;
    for part in problem.a.parts() {
        if let MatrixPart::Dense(_) = part {
            let radius = (problem.mass[first + 1] / problem.mass[first]).sqrt();
            reach.push((first + 1, radius));
        }
        first += part.len();
    }
}
