//! The keys of method `nodal`.

use stiction_solvers::nodal::NodalSleep;

use super::{Config, SWEEPS};
use crate::{
    keys::{Key, KeyDefault, Keys},
    methods::linearisations,
};

pub(super) const KEYS: &[Key] = &[
    Key::count_or(
        "newton_iterations",
        1,
        "converge",
        KeyDefault::count(2),
        "linearisations per step; `\"converge\"` goes on until the momentum residual (`certificate.dynamics`) is below `newton_tolerance`, 50 at most",
    ),
    Key::positive(
        "newton_tolerance",
        "m/s",
        KeyDefault::Derived("1e-6"),
        "bound on the momentum residual with `newton_iterations = \"converge\"`",
    ),
    Key::positive(
        "tolerance",
        "m/s",
        KeyDefault::Absent,
        "stop when the law, as a Fischer–Burmeister function, and the certificate are below this, as in the paper; without Newton's method at the end unless `residual` is given, too",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(SWEEPS as u32),
        "sweeps over all vertices per linearisation, before Newton's method takes over",
    ),
    Key::count(
        "evaluate_every",
        1,
        KeyDefault::count(10),
        "sweeps between evaluations of the residual",
    ),
    Key::count(
        "sleep",
        0,
        KeyDefault::count(0),
        "number of sweeps for which contacts with a small or steady force are skipped; 0 for never",
    ),
    Key::positive(
        "residual",
        "m/s",
        KeyDefault::Derived("1e-9; none with `tolerance`"),
        "solve friction until the certificate's `residual`, `linear` and `eliminated` are below this in every step, whatever the step's length: relaxation, then Newton's method, whose factorisations count as iterations. A step that does not get there counts as unconverged",
    ),
    Key::not_negative(
        "prune_angle",
        "°",
        KeyDefault::Absent,
        "of contacts at the same vertices whose normals are within this angle of one another, only the one with the deepest predicted penetration is listed, others when they are violated; 10 in the paper",
    ),
    Key::flag(
        "relocate",
        false,
        "move contacts to the nearest vertex of each side that follows nodes, with the normal and the gap of the points where they were found; `true` in the paper, whose meshes are refined where they touch",
    ),
    Key::flag(
        "safe",
        true,
        "refuse steps in which surfaces would touch or pass, and take them in substeps; with `contact.overlap = \"ignore\"` always `false`",
    ),
];

/// The velocity that a sleeping contact's force may change by [m/s], as a fraction of the tolerance.
const STEADY: f64 = 1e-3;

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    if let Some(linearisations) = linearisations(keys) {
        config.linearisations = linearisations;
    }
    let solver = &mut config.solver;
    keys.set_count("max_iterations", &mut solver.max_iterations);
    keys.set_count("evaluate_every", &mut solver.evaluate_every);
    if let Some(tolerance) = keys.number("tolerance") {
        (solver.tolerance, solver.polish, config.residual) = (tolerance, 0, None);
    }
    if let Some(residual) = keys.number("residual") {
        let polish = Config::default().solver.polish;
        (solver.tolerance, solver.polish, config.residual) = (residual, polish, Some(residual));
    }
    if let Some(sweeps) = keys.count("sleep") {
        let settled = STEADY * solver.tolerance;
        let sleep = NodalSleep {
            small: settled,
            settled,
            sweeps,
        };
        solver.sleep = (sweeps > 0).then_some(sleep);
    }
    config.detect.prune = keys.number("prune_angle").map(f64::to_radians);
    config.detect.relocate = keys.flag("relocate").unwrap_or(config.detect.relocate);
    config.safe = keys.flag("safe").unwrap_or(config.safe);
    config
}
