//! The keys of method `cr`.

use stiction_solvers::cr::{Config as SolverConfig, CrPreconditioner, CrStop, Thresholds};

use super::Config;
use crate::{
    keys::{Key, KeyDefault, Keys},
    methods::linearisations,
};

pub(super) const KEYS: &[Key] = &[
    Key::count_or(
        "newton_iterations",
        1,
        "converge",
        KeyDefault::Derived("2; 1 with `tolerance`"),
        "linearisations of elasticity per step; `\"converge\"` goes on until the momentum residual (`certificate.dynamics`) is below `newton_tolerance`, 50 at most",
    ),
    Key::positive(
        "newton_tolerance",
        "m/s",
        KeyDefault::Derived("1e-6"),
        "bound on the momentum residual with `newton_iterations = \"converge\"`",
    ),
    Key::positive(
        "residual",
        "m/s",
        KeyDefault::Derived("1e-9; none with `tolerance`"),
        "solve friction until the certificate's `residual`, `linear` and `eliminated` are below this in every step, whatever the step's length. A step that does not get there counts as unconverged",
    ),
    Key::positive(
        "tolerance",
        "m",
        KeyDefault::Absent,
        "ε₂: solve by the rules of the paper instead, until no active row is violated by more; 5e-6 there",
    ),
    Key::positive(
        "relative",
        "1",
        KeyDefault::Derived("5e-5 with `tolerance`"),
        "ε₁: relative residual at which the rules of the paper stop",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(20_000),
        "conjugate residual iterations per linearisation; the step goes on without convergence, and the certificate shows it",
    ),
    Key::word(
        "preconditioner",
        &["cholesky", "full", "diagonal"],
        "cholesky",
        "approximate inverse: incomplete factors, `\"cholesky\"` where the matrix is symmetric and LU where sliding contacts make it unsymmetric; with `\"full\"`, the default with `tolerance`, the diagonal blocks of the matrix and all four blocks of the equations [verschoor2019, Eq. 22]; with `\"diagonal\"` those on the diagonal alone",
    ),
    Key::word(
        "contacts",
        &["revise", "keep"],
        "revise",
        "`\"revise\"`: re-linearise contacts at the answer, with normals that turn by 15° at most, drop those that slid off, and solve again until gaps agree with the geometry [verschoor2019, Sect. 3.3]; or `\"keep\"` them as they were detected",
    ),
    Key::positive(
        "gap_tolerance",
        "m",
        KeyDefault::Derived("0.005 `contact.thickness`"),
        "with `contacts = \"revise\"`: how well the gaps of touching contacts agree with the geometry at the end of a step",
    ),
    Key::flag(
        "safe",
        true,
        "refuse steps in which surfaces would touch or pass, and take them in substeps; with `contact.overlap = \"ignore\"` always `false`",
    ),
];

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    match keys.number("tolerance") {
        Some(constraint) => {
            config = Config::paper();
            if keys.has("residual") {
                let message = "[method] has both `residual` and `tolerance`";
                let help = "remove `tolerance` to let the certificate decide, or `residual` to \
                            follow the rules of the paper";
                keys.refuse("residual", message, Some(help));
            }
            let CrStop::Thresholds(Thresholds { relative, .. }) = SolverConfig::paper().stop else {
                return config;
            };
            let relative = keys.number("relative").unwrap_or(relative);
            config.solver.stop = CrStop::Thresholds(Thresholds {
                relative,
                constraint,
            });
        }
        None if keys.has("relative") => {
            let message = "`relative` belongs to the rules of the paper, which need `tolerance`";
            keys.refuse(
                "relative",
                message,
                Some("give `tolerance`, too, or remove `relative`"),
            );
        }
        None => {}
    }
    if let Some(linearisations) = linearisations(keys) {
        config.linearisations = linearisations;
    }
    if let Some(bound) = keys.number("residual") {
        config.solver.stop = CrStop::Certificate(bound);
    }
    keys.set_count("max_iterations", &mut config.solver.max_iterations);
    let preconditioners = [
        ("cholesky", CrPreconditioner::Cholesky),
        ("full", CrPreconditioner::Full),
        ("diagonal", CrPreconditioner::Diagonal),
    ];
    keys.set_choice(
        "preconditioner",
        &preconditioners,
        &mut config.solver.preconditioner,
    );
    let contacts = [("revise", true), ("keep", false)];
    keys.set_choice("contacts", &contacts, &mut config.revisions);
    config.gap_tolerance = keys.number("gap_tolerance");
    config.safe = keys.flag("safe").unwrap_or(config.safe);
    config
}
