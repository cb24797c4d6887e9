//! The keys `newton_iterations` and `newton_tolerance` of methods that linearise the step.

use crate::{keys::Keys, linearised::Linearisations};

/// The default of `newton_tolerance` [m/s]: a micron per second.
const NEWTON_TOLERANCE: f64 = 1e-6;

/// Most linearisations of a step that goes on until it has converged.
const MOST: usize = 50;

/// The number of linearisations that the keys give, if they do.
pub(super) fn linearisations(keys: &Keys<'_>) -> Option<Linearisations> {
    let linearisations = keys.count_or("newton_iterations").map(|count| match count {
        Some(count) => Linearisations::Fixed(count as usize),
        None => Linearisations::Converge {
            tolerance: keys.number("newton_tolerance").unwrap_or(NEWTON_TOLERANCE),
            max: MOST,
        },
    });
    if keys.has("newton_tolerance")
        && !matches!(linearisations, Some(Linearisations::Converge { .. }))
    {
        keys.refuse(
            "newton_tolerance",
            "`newton_tolerance` needs `newton_iterations = \"converge\"`",
            Some("set it, or remove `newton_tolerance`"),
        );
    }
    linearisations
}
