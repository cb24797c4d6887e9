//! The keys of method `cr`.

use stiction_solvers::cr::{Config as Solver, ContactUpdate, CrPreconditioner, CrStop};

use crate::{
    cr::Config,
    keys::{Key, KeyDefault, Keys},
    linearised::Linearisations,
    methods::linearisations,
};

/// Linear problems are solved to this fraction of `newton_tolerance`.
const LINEAR_FRACTION: f64 = 1e-4;

pub(super) const KEYS: &[Key] = &[
    Key::count_or(
        "newton_iterations",
        1,
        "converge",
        KeyDefault::Derived("2; 1 with `tolerance`"),
        "linearisations of elasticity per step; `\"converge\"` goes on until the momentum residual (`certificate.dynamics`) is below `newton_tolerance`, 50 at most, with the linear problems solved to 1e-4 of it unless `residual` says otherwise",
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
        "solve friction until the certificate's `residual` and `linear` are below this in every step",
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
        "ε₁: relative residual of the paper's rules",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(5000),
        "iterations per linearisation; the step goes on without convergence, and the certificate shows it",
    ),
    Key::word(
        "preconditioner",
        &["full", "diagonal", "cholesky"],
        "cholesky",
        "approximate inverse: all four blocks of the equations with the diagonal blocks of the matrix (`\"full\"`), those on the diagonal alone (`\"diagonal\"`), or all four with an incomplete Cholesky factor of the matrix (`\"cholesky\"`)",
    ),
    Key::word(
        "contacts",
        &["revise", "append"],
        "revise",
        "when a linear problem is solved, bring its contacts up to date with the motion and go on (`\"revise\"`), or only `\"append\"` new ones",
    ),
    Key::count(
        "max_revisions",
        0,
        KeyDefault::count(10),
        "revisions of the contacts per linearisation",
    ),
    Key::flag(
        "safe",
        true,
        "refuse steps in which surfaces would touch or pass, and take them in substeps; with `contact.overlap = \"ignore\"` always `false`",
    ),
];

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    if let Some(constraint) = keys.number("tolerance") {
        config = Config::paper();
        if keys.has("residual") {
            let message = "[method] has both `residual` and `tolerance`";
            let help = "remove `tolerance` to let the certificate decide, or `residual` to follow the \
                        rules of the paper";
            keys.refuse("residual", message, Some(help));
        }
        if let CrStop::Thresholds { relative, .. } = Solver::paper().stop {
            let relative = keys.number("relative").unwrap_or(relative);
            config.solver.stop = CrStop::Thresholds {
                relative,
                constraint,
            };
        }
    } else if keys.has("relative") {
        let help = "give `tolerance`, too, or remove `relative`";
        keys.refuse(
            "relative",
            "`relative` belongs to the rules of the paper, which need `tolerance`",
            Some(help),
        );
    }
    if let Some(linearisations) = linearisations(keys) {
        config.linearisations = linearisations;
    }
    if let Some(bound) = keys.number("residual") {
        config.solver.stop = CrStop::Certificate(bound);
    } else if let (CrStop::Certificate(bound), Linearisations::Converge { tolerance, .. }) =
        (&mut config.solver.stop, config.linearisations)
    {
        // The momentum residual counts by masses, which stiff elements make much larger.
        *bound = LINEAR_FRACTION * tolerance;
    }
    keys.set_count("max_iterations", &mut config.solver.max_iterations);
    keys.set_count("max_revisions", &mut config.solver.max_revisions);
    let preconditioners = [
        ("full", CrPreconditioner::Full),
        ("diagonal", CrPreconditioner::Diagonal),
        ("cholesky", CrPreconditioner::Cholesky),
    ];
    keys.set_choice(
        "preconditioner",
        &preconditioners,
        &mut config.solver.preconditioner,
    );
    let contacts = [
        ("revise", ContactUpdate::Revise),
        ("append", ContactUpdate::Append),
    ];
    keys.set_choice("contacts", &contacts, &mut config.solver.contacts);
    config.safe = keys.flag("safe").unwrap_or(config.safe);
    config
}
