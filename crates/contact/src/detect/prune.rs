//! Removal of nearly redundant contacts [li2018, Sect. 5.2].
//!
//! Of contacts that meet at the same vertices of free bodies, with normals within an angle of one another,
//! the one with the deepest predicted penetration at the end of the step stays. A contact meets at the vertex
//! nearest to it on each side.
//!
//! **Deviations from the paper**: a contact that stays keeps its own point unless contacts are relocated
//! ([`relocate`](super::relocate)); a contact that was removed and is violated during the solve is relisted.

use stiction_math::{Vec3, elementary::cos};

use super::emit::{Found, Wait};
use super::relocate::{Meeting, meeting};
use super::step::Motion;

/// The gap beyond the thickness at the predicted end of the step [m].
fn predicted(found: &Found, motion: &Motion) -> f64 {
    let still = found.touch.as_ref().map_or(Vec3::zeros(), |t| -t.to);
    let points = found.vertices.iter().zip(&found.weights);
    let apart = points.fold(still, |sum, (&v, w)| sum + motion.x1[v as usize] * *w);
    apart.dot(&found.normal) - found.thickness
}

/// Removes what is nearly redundant of `found`, and keeps its order: normals within `angle` [rad] count as
/// one. Returns the number of contacts removed.
pub(super) fn prune(found: &mut Vec<Found>, motion: &Motion, angle: f64) -> usize {
    let least = cos(angle);
    let eligible = |f: &Found| f.wait == Wait::Never && !f.deep && !f.spare;
    let mut list: Vec<(Meeting, f64, usize)> = found
        .iter()
        .enumerate()
        .filter(|(_, f)| eligible(f))
        .map(|(i, f)| (meeting(f, motion), predicted(f, motion), i))
        .collect();
    list.sort_by(|a, b| {
        let order = |i: usize| found[i].order();
        (a.0.cmp(&b.0))
            .then(a.1.total_cmp(&b.1))
            .then_with(|| order(a.2).cmp(&order(b.2)))
    });
    let mut removed = vec![false; found.len()];
    for group in list.chunk_by(|a, b| a.0 == b.0) {
        let mut kept: Vec<Vec3> = Vec::new();
        for (at, _, i) in group {
            let normal = found[*i].normal;
            // What meets at no free vertex is not emitted either.
            let known = *at != [None; 2] && kept.iter().any(|n| n.dot(&normal) >= least);
            removed[*i] = known;
            if !known {
                kept.push(normal);
            }
        }
    }
    let before = found.len();
    let mut at = removed.iter();
    found.retain(|_| !at.next().is_some_and(|r| *r));
    before - found.len()
}
