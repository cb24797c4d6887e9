//! The keys of method `smooth`.

use stiction_contact::smooth::{FrictionTime, Penalty};

use crate::{
    integrators::Integrator,
    keys::{Key, KeyDefault, Keys},
    smooth::{Config, Solver, VolumeJacobian},
};

/// The default ε [m/s].
pub(super) const EPSILON: f64 = 1e-4;

pub(super) const KEYS: &[Key] = &[
    Key::word(
        "integrator",
        &[
            "backward-euler",
            "trapezoidal",
            "trapezoidal-decoupled",
            "trapezoidal-ipc",
            "bdf2",
            "tr-bdf2",
            "sdirk2",
        ],
        "backward-euler",
        "`\"backward-euler\"`, `\"trapezoidal\"`, `\"bdf2\"`, `\"tr-bdf2\"`, `\"sdirk2\"`; `\"trapezoidal-decoupled\"` leaves contact out of the trapezoidal rule, and `\"trapezoidal-ipc\"` is the rule of the program that came with [li2020] (barrier and lagged friction), both for comparison",
    ),
    Key::count(
        "startup",
        0,
        KeyDefault::count(0),
        "number of first steps that are taken as two halves of backward Euler each, which damp the oscillations of an irregular start: for `\"trapezoidal\"`, which does not damp them",
    ),
    Key::word(
        "solver",
        &["direct", "iterative", "descent"],
        "direct",
        "Newton directions by sparse LU (`\"direct\"`), `\"iterative\"`: by BiCGSTAB with products of the Jacobian, for large scenes; or `\"descent\"`: by sparse LU of the projected Jacobian, shortened until the potential of the step falls, for steps much longer than what moves can resolve (always so in `\"trapezoidal-ipc\"`)",
    ),
    Key::word(
        "volume_jacobian",
        &["exact", "sparse"],
        "exact",
        "the Jacobian of enclosed volumes in solver `\"direct\"`: `\"exact\"`, or the `\"sparse\"` terms only, as in the paper",
    ),
    Key::positive(
        "tolerance",
        "m/s",
        KeyDefault::Derived("1e-8, at most `epsilon`/1000"),
        "stop when a full step changes no velocity by more and the momentum residual is no larger, or cannot be lowered",
    ),
    Key::count(
        "max_iterations",
        1,
        KeyDefault::count(50),
        "Newton iterations, and a tenth more close to the root; a step that needs more is taken in substeps",
    ),
    Key::count(
        "max_linear_iterations",
        1,
        KeyDefault::count(1000),
        "BiCGSTAB iterations per direction",
    ),
    Key::positive(
        "sigma",
        "1",
        KeyDefault::number(0.01),
        "largest relative residual of a direction [larionov, Alg. 2]; below 1",
    ),
    Key::positive(
        "epsilon",
        "m/s",
        KeyDefault::number(EPSILON),
        "ε: friction is smoothed below this speed",
    ),
    Key::positive(
        "delta",
        "m",
        KeyDefault::Derived("`contact.thickness`"),
        "δ: contact forces begin at this distance",
    ),
    Key::positive(
        "kappa",
        "N/m",
        KeyDefault::Derived(
            "1000 m (1/`time.step`² + 4 g/δ), m the mean mass of a contact point; a tenth of that for a barrier; a hundredth in `\"trapezoidal\"` rules, m then that of the body with the lightest points; adapted in every step by `\"trapezoidal-ipc\"`",
        ),
        "contact stiffness at the start; raised where bodies would overlap",
    ),
    Key::word(
        "penalty",
        &["cubic", "barrier"],
        "cubic",
        "how contact forces grow: `\"cubic\"`, or `\"barrier\"`: infinite at zero distance, with Newton steps that continuous collision detection shortens, so that nothing passes through anything however fast it is",
    ),
    Key::word(
        "friction",
        &["implicit", "lagged"],
        "implicit",
        "`\"implicit\"`, or `\"lagged\"`, which takes normal forces and directions from the start of the step, for comparison",
    ),
    Key::count(
        "lagged_iterations",
        1,
        KeyDefault::Derived("1"),
        "solves per step with lagged friction",
    ),
    Key::positive(
        "stribeck_speed",
        "m/s",
        KeyDefault::Derived("10 `epsilon`"),
        "v_s: speed at which friction `static` has become `kinetic` [larionov, Eq. 8]",
    ),
    Key::not_negative(
        "viscous",
        "N·s/m",
        KeyDefault::number(0.0),
        "μ_v: viscous friction of each contact",
    ),
    Key::not_negative(
        "rounding",
        "m",
        KeyDefault::number(0.0),
        "radius to which edges of obstacles are rounded",
    ),
];

pub(super) fn configure(keys: &Keys<'_>) -> Config {
    let mut config = Config::default();
    keys.set_choice("integrator", &Integrator::NAMES, &mut config.integrator);
    config.startup = keys.count("startup").map_or(config.startup, u64::from);

    let newton = &mut config.newton;
    let solvers = [
        ("direct", Solver::Direct),
        ("iterative", Solver::Iterative),
        ("descent", Solver::Descent),
    ];
    keys.set_choice("solver", &solvers, &mut newton.solver);
    let jacobians = [
        ("exact", VolumeJacobian::Exact),
        ("sparse", VolumeJacobian::Sparse),
    ];
    keys.set_choice("volume_jacobian", &jacobians, &mut newton.volume);
    keys.set_count("max_iterations", &mut newton.max_iterations);
    keys.set_count("max_linear_iterations", &mut newton.max_linear);
    keys.set_number("sigma", &mut newton.sigma);
    if newton.sigma >= 1.0 {
        let message = "`sigma` of [method] must be below 1: a direction must reduce the residual";
        keys.refuse("sigma", message, None);
    }

    config.kappa = keys.number("kappa");
    let contact = &mut config.contact;
    keys.set_number("epsilon", &mut contact.epsilon);
    contact.delta = keys.number("delta").or(contact.delta);
    let penalties = [("cubic", Penalty::Cubic), ("barrier", Penalty::Barrier)];
    keys.set_choice("penalty", &penalties, &mut contact.penalty);
    keys.set_number("rounding", &mut contact.rounding);
    let times = [("implicit", false), ("lagged", true)];
    let ipc = config.integrator.is_ipc();
    let contradicts = |key: &str, word: &str| {
        let message =
            format!("`{key}` of [method] must be \"{word}\" for integrator \"trapezoidal-ipc\"");
        keys.refuse(key, &message, Some("remove it"));
    };
    if ipc {
        config.newton.solver = Solver::Descent;
        if keys.has("penalty") && contact.penalty != Penalty::Barrier {
            contradicts("penalty", "barrier");
        }
        contact.penalty = Penalty::Barrier;
    }
    match keys.choice("friction", &times).or(ipc.then_some(true)) {
        Some(false) if ipc => contradicts("friction", "lagged"),
        Some(true) => {
            let iterations = keys.count("lagged_iterations").unwrap_or(1) as usize;
            contact.friction = FrictionTime::Lagged { iterations };
        }
        // A word that is none of the two has been reported, and nothing is known about friction.
        None if keys.has("friction") => {}
        _ if keys.has("lagged_iterations") => {
            let message =
                "`lagged_iterations` of [method] has no meaning where friction is implicit";
            let help = "set `friction = \"lagged\"`, or remove it";
            keys.refuse("lagged_iterations", message, Some(help));
        }
        _ => {}
    }
    // As the paper sets it [larionov, Sect. III-C].
    let stribeck = &mut contact.stribeck;
    stribeck.speed = keys
        .number("stribeck_speed")
        .unwrap_or(10.0 * contact.epsilon);
    keys.set_number("viscous", &mut stribeck.viscous);
    // Velocities must be known better than ε, or sticking cannot be told from sliding.
    let derived = config.newton.tolerance.min(1e-3 * config.contact.epsilon);
    config.newton.tolerance = keys.number("tolerance").unwrap_or(derived);
    config
}
