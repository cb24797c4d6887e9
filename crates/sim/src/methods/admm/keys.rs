//! The keys of method `admm`.

use stiction_solvers::admm::{
    Acceleration, AdmmWeights, Polish, ProjectionKernel, Sleep, Start, Tolerance, Velocity,
};

use crate::{
    admm::{Config, SolverChoice},
    keys::{Key, KeyDefault, Keys},
    linearised::{ElasticSolver, Linearisations},
    methods::linearisations,
};

/// Linear problems are solved to this fraction of `newton_tolerance`.
const LINEAR_PART: f64 = 1e-4;

pub(super) const KEYS: &[Key] = &[
    Key::word(
        "integrator",
        &["newton", "splitting"],
        "newton",
        "how elasticity is solved: projected Newton, or `\"splitting\"`, in which every element is one more constraint of the loop [narain2016]: a matrix that deformation does not change, more iterations. For rods it is a band of scalars, three numbers per node",
    ),
    Key::count_or(
        "newton_iterations",
        1,
        "converge",
        KeyDefault::count(2),
        "linearisations per step of integrator `\"newton\"`; `\"converge\"` goes on until the momentum residual (`certificate.dynamics`) is below `newton_tolerance`, 50 at most, with the linear problems solved to 1e-4 of it unless `residual` says otherwise",
    ),
    Key::positive(
        "newton_tolerance",
        "m/s",
        KeyDefault::Derived("1e-6"),
        "bound on the momentum residual with `newton_iterations = \"converge\"`",
    ),
    Key::word(
        "solver",
        &["admm", "ica"],
        "admm",
        "the contact solver of the linearised steps: `\"admm\"`, or, for comparison, `\"ica\"` (nested relaxation [otaduy2009] with the same law), which uses only `newton_iterations`, `tolerance`, `max_iterations` and `sweeps`",
    ),
    Key::word(
        "local",
        &["isotropic", "blocks"],
        "isotropic",
        "how one contact is solved: `\"isotropic\"` in closed form, or with full 3×3 `\"blocks\"` for comparison",
    ),
    Key::positive(
        "tolerance",
        "m",
        KeyDefault::Absent,
        "stop when nothing moves further in an iteration, as in the paper; `residual` then only counts if it is given, too. Without it, iterations that end with a change are those of splitting and of solver `\"ica\"`, below 2e-5 m/s",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(500),
        "iterations per linearisation; the step goes on without convergence, and the certificate shows it",
    ),
    Key::count(
        "sweeps",
        1,
        KeyDefault::count(10),
        "sweeps over the contacts per iteration",
    ),
    Key::positive(
        "linear_tolerance",
        "1",
        KeyDefault::number(1e-4),
        "relative residual of linear solves across attachments and roots, in every iteration",
    ),
    Key::word(
        "start",
        &["held", "unconstrained"],
        "held",
        "start of the iteration: the contact forces of the last step (`\"held\"`), or the `\"unconstrained\"` velocity",
    ),
    Key::word(
        "velocity",
        &["feasible", "balanced"],
        "feasible",
        "the velocity of the result: the `\"feasible\"` one, which satisfies the constraints, or the `\"balanced\"` one, which satisfies momentum",
    ),
    Key::positive(
        "sigma",
        "1",
        KeyDefault::number(1e-3),
        "weight of the splitting: fraction of the stiffness",
    ),
    Key::positive(
        "beta",
        "1",
        KeyDefault::number(25.0),
        "weight of the splitting: multiple of the mass",
    ),
    Key::count(
        "sleep",
        0,
        KeyDefault::count(10),
        "number of sweeps for which contacts that hardly change are skipped; 0 for never",
    ),
    Key::word(
        "acceleration",
        &["none", "momentum"],
        "none",
        "`\"none\"`, or `\"momentum\"` with restart [goldstein2014]",
    ),
    Key::positive(
        "residual",
        "m/s",
        KeyDefault::Derived("1e-9; none with `tolerance`"),
        "solve friction until the certificate's `residual`, `linear` and `eliminated` are below this in every step, whatever the step's length: splitting, then Newton's method, whose factorisations count as iterations. A step that does not get there counts as unconverged",
    ),
    Key::flag(
        "safe",
        true,
        "refuse steps in which surfaces would touch or pass, and take them in substeps; with `contact.overlap = \"ignore\"` always `false`",
    ),
];

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    let integrators = [
        ("newton", config.integrator),
        ("splitting", ElasticSolver::Splitting),
    ];
    keys.set_choice("integrator", &integrators, &mut config.integrator);
    if config.integrator != ElasticSolver::Splitting {
        if let Some(linearisations) = linearisations(keys) {
            config.integrator = ElasticSolver::Newton(linearisations);
        }
    } else if keys.has("newton_iterations") {
        let message = "`newton_iterations` has no meaning with the splitting integrator";
        let help = "remove it, or set `integrator = \"newton\"`";
        keys.refuse("newton_iterations", message, Some(help));
    }
    let solvers = [
        ("admm", SolverChoice::Splitting),
        ("ica", SolverChoice::NestedRelaxation),
    ];
    keys.set_choice("solver", &solvers, &mut config.by);

    let solver = &mut config.solver;
    let locals = [
        ("isotropic", ProjectionKernel::Isotropic),
        ("blocks", ProjectionKernel::Blocks),
    ];
    keys.set_choice("local", &locals, &mut solver.local);
    let tolerance = keys.number("tolerance").map(Tolerance::Displacement);
    solver.tolerance = tolerance.unwrap_or(solver.tolerance);
    keys.set_count("max_iterations", &mut solver.max_iterations);
    keys.set_count("sweeps", &mut solver.sweeps);
    keys.set_number("linear_tolerance", &mut solver.linear_tolerance);
    let starts = [
        ("held", Start::Held),
        ("unconstrained", Start::Unconstrained),
    ];
    keys.set_choice("start", &starts, &mut solver.start);
    let velocities = [
        ("feasible", Velocity::Feasible),
        ("balanced", Velocity::Balanced),
    ];
    keys.set_choice("velocity", &velocities, &mut solver.velocity);
    if let AdmmWeights::Mass { sigma, beta } = &mut solver.weights {
        keys.set_number("sigma", sigma);
        keys.set_number("beta", beta);
    }
    if let Some(sweeps) = keys.count("sleep") {
        let sweeps = sweeps.min(u32::from(u8::MAX)) as u8;
        let threshold = solver.sleep.map_or(0.01, |s| s.threshold);
        solver.sleep = (sweeps > 0).then_some(Sleep { threshold, sweeps });
    }
    // Momentum is dropped when the residual falls by less than a thousandth [goldstein2014].
    let momentum = Acceleration::Momentum { restart: 0.999 };
    let accelerations = [("none", None), ("momentum", Some(momentum))];
    keys.set_choice("acceleration", &accelerations, &mut solver.acceleration);
    let linear =
        config.by == SolverChoice::Splitting && config.integrator != ElasticSolver::Splitting;
    if keys.has("residual") && !linear {
        let message = "`residual` of [method] needs the linear problems of \"newton\" and their \
                       solver \"admm\"";
        let help = "remove it, or remove `integrator` and `solver`";
        keys.refuse("residual", message, Some(help));
    } else if let Some(residual) = keys.number("residual") {
        solver.polish = Some(Polish::to(residual));
    } else if let (ElasticSolver::Newton(Linearisations::Converge { tolerance, .. }), true) =
        (config.integrator, linear)
    {
        // What the linear problems leave counts by masses there, which stiff elements make much larger.
        solver.polish = Some(Polish::to(LINEAR_PART * tolerance));
    } else if tolerance.is_some() || !linear {
        solver.polish = None;
    }
    config.safe = keys.flag("safe").unwrap_or(config.safe);
    config
}
