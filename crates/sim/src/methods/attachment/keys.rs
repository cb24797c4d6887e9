//! The keys of method `attachment`.

use crate::{
    attachment::Config,
    implicit::{LinearSolver, Solver},
    keys::{Key, KeyDefault, Keys},
};

pub(super) const KEYS: &[Key] = &[
    Key::word(
        "solver",
        &["direct", "gmres"],
        "direct",
        "Newton directions by sparse LU (`\"direct\"`), or by at most `max_linear_iterations` of GMRES (`\"gmres\"`), as in the paper",
    ),
    Key::positive(
        "tolerance",
        "m/s",
        KeyDefault::number(1e-8),
        "stop when the momentum residual gives no block a larger speed; at a kink of the forces a hundred times that is accepted",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(100),
        "Newton iterations; a step that needs more is taken in substeps",
    ),
    Key::count(
        "max_linear_iterations",
        1,
        KeyDefault::count(20),
        "GMRES iterations per direction [ding, Sect. 5]",
    ),
    Key::positive(
        "stiffness",
        "N/m",
        KeyDefault::Derived(
            "100 m (1/`time.step`² + 4 g/`contact.thickness`), m the mean mass of a contact point",
        ),
        "k: stiffness of the spring between a particle and its attachment",
    ),
];

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    let solvers = [
        ("direct", Solver::Stabilised(LinearSolver::Direct)),
        ("gmres", Solver::Stabilised(LinearSolver::Gmres)),
    ];
    let newton = &mut config.newton;
    keys.set_choice("solver", &solvers, &mut newton.solver);
    keys.set_number("tolerance", &mut newton.tolerance);
    keys.set_count("max_iterations", &mut newton.max_iterations);
    keys.set_count("max_linear_iterations", &mut newton.max_linear);
    config.stiffness = keys.number("stiffness");
    config
}
