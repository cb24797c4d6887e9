//! `[time]`, `[method]`, `[air]`, `[contact]`, `[output]`.

use stiction_bodies::drag::{Air, Gust};
use stiction_contact::smooth::{FrictionTime, Penalty};
use stiction_math::Vec3;
use stiction_sim::{
    admm::{self, ContactSolver},
    integrators::Integrator as Scheme,
    newton::{self, Stop},
    smooth::{self, Solver, VolumeJacobian},
};
use stiction_solvers::admm::{
    Acceleration, Finish, Local, Sleep, Start, Stop as Until, Velocity, Weights,
};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, string},
    schema,
    settings::{ContactSettings, Frames, MethodConfig, OutputSettings, Overlap, TimeSettings},
    source::At,
    suggest,
};

/// Nobody waits for so many steps.
const MOST_STEPS: f64 = 1e10;

pub(crate) fn time(root: &Fields<'_>) -> Option<TimeSettings> {
    let f = Fields::new(root.reporter, root.need("time")?, "[time]", schema::TIME)?;
    let (step, duration) = (f.need_positive("step"), f.need_positive("duration"));
    let frames = if f.has("frames_per_second") || f.has("frame_every") {
        if !f.exactly_one(&["frames_per_second", "frame_every"]) {
            return None;
        }
        match f.positive("frames_per_second") {
            Some(rate) => Frames::PerSecond(rate),
            None => Frames::EverySteps(u64::from(f.count("frame_every", 1)?)),
        }
    } else {
        // Divides the common steps of 1, 2, 5 and 10 ms evenly.
        Frames::PerSecond(25.0)
    };
    let (step, duration) = (step?, duration?);
    if duration / step > MOST_STEPS {
        let message = format!(
            "{duration} s in steps of {step} s are {:.1e} steps",
            duration / step
        );
        return f.fail(
            Kind::TooLarge,
            "duration",
            message,
            Some("use a larger step or a shorter duration".to_owned()),
        );
    }
    Some(TimeSettings {
        step,
        duration,
        frames,
    })
}

/// The method, from `[method]` or from the command line. A method named on the command line keeps
/// the parameters of the scene only if it is the scene's own.
pub(crate) fn method(root: &Fields<'_>, chosen: Option<At<&str>>) -> Option<At<MethodConfig>> {
    let f = match root.get("method") {
        Some(node) => Some(Fields::open(root.reporter, node, "[method]")?),
        None => None,
    };
    let own = f.as_ref().and_then(|f| f.string("name"));
    if let (Some(f), None) = (&f, &own) {
        f.need("name")?;
    }
    let name = match (&chosen, &own) {
        (Some(chosen), _) => chosen.clone(),
        (None, Some(own)) => own.clone(),
        // Where a scene does not care.
        (None, None) => At::new("newton", root.place),
    };
    let f = f.filter(|_| own.is_none_or(|own| own.value == name.value));
    let config = match name.value {
        "newton" => MethodConfig::Newton(match f {
            Some(f) => newton(&f)?,
            None => newton::Config::default(),
        }),
        "admm" => MethodConfig::Admm(match f {
            Some(f) => admm(&f)?,
            None => admm::Config::default(),
        }),
        "smooth" => MethodConfig::Smooth(match f {
            Some(f) => smooth(&f)?,
            None => smooth::Config::default(),
        }),
        other => {
            let help = suggest::help(other, "methods", MethodConfig::NAMES);
            return name.fail(
                root.reporter,
                Kind::UnknownName,
                format!("there is no method `{other}`"),
                Some(help),
            );
        }
    };
    Some(At::new(config, name.place))
}

fn newton(f: &Fields<'_>) -> Option<newton::Config> {
    f.allow(schema::METHOD_NEWTON);
    let mut config = newton::Config::default();
    if f.has("iterations") {
        for key in ["tolerance", "max_iterations"] {
            if f.has(key) {
                let message = format!(
                    "[method] fixes the number of `iterations`, so that `{key}` has no meaning"
                );
                return f.fail(
                    Kind::Value,
                    key,
                    message,
                    Some(format!("remove `{key}` or `iterations`")),
                );
            }
        }
        config.stop = Stop::Fixed(f.count("iterations", 1)? as usize);
    } else if let Stop::Tolerance {
        mut tolerance,
        mut max,
    } = config.stop
    {
        if f.has("tolerance") {
            tolerance = f.positive("tolerance")?;
        }
        if f.has("max_iterations") {
            max = f.count("max_iterations", 1)? as usize;
        }
        config.stop = Stop::Tolerance { tolerance, max };
    }
    if f.has("linear_tolerance") {
        config.linear_tolerance = f.positive("linear_tolerance")?;
    }
    Some(config)
}

fn admm(f: &Fields<'_>) -> Option<admm::Config> {
    f.allow(schema::METHOD_ADMM);
    let mut config = admm::Config::default();
    if f.has("integrator") {
        let kinds = [
            ("newton", admm::Config::default().integrator),
            ("splitting", admm::Integrator::Splitting),
        ];
        config.integrator = f.choice("integrator", &kinds)?;
    }
    if f.has("newton_iterations") {
        if config.integrator == admm::Integrator::Splitting {
            let message = "`newton_iterations` means nothing to the splitting integrator";
            let help = "remove it, or set `integrator = \"newton\"`";
            let help = Some(help.to_owned());
            return f.fail(Kind::Value, "newton_iterations", message.to_owned(), help);
        }
        config.integrator = admm::Integrator::Newton(f.count("newton_iterations", 1)? as usize);
    }
    if f.has("solver") {
        let solvers = [
            ("admm", ContactSolver::Splitting),
            ("ica", ContactSolver::NestedRelaxation),
        ];
        config.by = f.choice("solver", &solvers)?;
    }
    let solver = &mut config.solver;
    if f.has("local") {
        let locals = [("isotropic", Local::Isotropic), ("blocks", Local::Blocks)];
        solver.local = f.choice("local", &locals)?;
    }
    if f.has("tolerance") {
        solver.tolerance = f.positive("tolerance")?;
    }
    if f.has("max_iterations") {
        solver.max_iterations = f.count("max_iterations", 1)? as usize;
    }
    if f.has("sweeps") {
        solver.sweeps = f.count("sweeps", 1)? as usize;
    }
    if f.has("linear_tolerance") {
        solver.linear_tolerance = f.positive("linear_tolerance")?;
    }
    if f.has("start") {
        let starts = [
            ("held", Start::Held),
            ("unconstrained", Start::Unconstrained),
        ];
        solver.start = f.choice("start", &starts)?;
    }
    if f.has("velocity") {
        let kinds = [
            ("feasible", Velocity::Feasible),
            ("balanced", Velocity::Balanced),
        ];
        solver.velocity = f.choice("velocity", &kinds)?;
    }
    if let Weights::Mass { sigma, beta } = &mut solver.weights {
        if f.has("sigma") {
            *sigma = f.positive("sigma")?;
        }
        if f.has("beta") {
            *beta = f.positive("beta")?;
        }
    }
    if f.has("sleep") {
        // Zero sweeps of sleep is no sleep.
        let sweeps = f.count("sleep", 0)?.min(u32::from(u8::MAX)) as u8;
        let threshold = solver.sleep.map_or(0.01, |s| s.threshold);
        solver.sleep = (sweeps > 0).then_some(Sleep { threshold, sweeps });
    }
    if f.has("acceleration") {
        // Momentum is dropped when the residual falls by less than a thousandth [goldstein2014].
        let momentum = Acceleration::Momentum { restart: 0.999 };
        let kinds = [
            ("none", None),
            ("momentum", Some(momentum)),
            ("anderson", Some(Acceleration::ANDERSON)),
        ];
        solver.acceleration = f.choice("acceleration", &kinds)?;
    }
    if f.has("stop") {
        let stops = [
            ("change", Until::Change),
            ("certificate", Until::Certificate),
        ];
        solver.stop = f.choice("stop", &stops)?;
    }
    let plain =
        config.by == ContactSolver::Splitting && config.integrator != admm::Integrator::Splitting;
    if f.has("residual") {
        if !plain {
            let message = "`residual` of [method] needs the linear problems of \"newton\" and their \
                           solver \"admm\"";
            let help = "remove it, or remove `integrator` and `solver`";
            let help = Some(help.to_owned());
            return f.fail(Kind::Value, "residual", message.to_owned(), help);
        }
        solver.finish = Some(Finish::to(f.positive("residual")?));
    } else if solver.stop == Until::Certificate && plain {
        solver.finish = Some(Finish::default());
    }
    if f.has("safe") {
        config.safe = f.bool("safe")?;
    }
    Some(config)
}

fn smooth(f: &Fields<'_>) -> Option<smooth::Config> {
    f.allow(schema::METHOD_SMOOTH);
    let mut config = smooth::Config::default();
    if f.has("integrator") {
        config.integrator = f.choice("integrator", &Scheme::NAMES)?;
    }
    if f.has("startup") {
        config.startup = u64::from(f.count("startup", 0)?);
    }
    let newton = &mut config.newton;
    if f.has("solver") {
        let solvers = [("direct", Solver::Direct), ("iterative", Solver::Iterative)];
        newton.solver = f.choice("solver", &solvers)?;
    }
    if f.has("volume_jacobian") {
        let kinds = [
            ("exact", VolumeJacobian::Exact),
            ("sparse", VolumeJacobian::Sparse),
        ];
        newton.volume = f.choice("volume_jacobian", &kinds)?;
    }
    if f.has("max_iterations") {
        newton.max_iterations = f.count("max_iterations", 1)? as usize;
    }
    if f.has("max_linear_iterations") {
        newton.max_linear = f.count("max_linear_iterations", 1)? as usize;
    }
    if f.has("sigma") {
        newton.sigma = f.positive("sigma")?;
        if newton.sigma >= 1.0 {
            let message =
                "`sigma` of [method] must be below 1: a direction must reduce the residual";
            return f.fail(Kind::Value, "sigma", message.to_owned(), None);
        }
    }
    let contact = &mut config.contact;
    for (key, value) in [
        ("epsilon", &mut contact.epsilon),
        ("kappa", &mut contact.stiffness),
    ] {
        if f.has(key) {
            *value = f.positive(key)?;
        }
    }
    if f.has("delta") {
        contact.delta = Some(f.positive("delta")?);
    }
    if f.has("penalty") {
        let kinds = [("cubic", Penalty::Cubic), ("barrier", Penalty::Barrier)];
        contact.penalty = f.choice("penalty", &kinds)?;
    }
    if f.has("rounding") {
        contact.rounding = f.not_negative("rounding")?;
    }
    let lagged =
        f.has("friction") && f.choice("friction", &[("implicit", false), ("lagged", true)])?;
    if lagged {
        let iterations = match f.has("lagged_iterations") {
            true => f.count("lagged_iterations", 1)? as usize,
            false => 1,
        };
        contact.friction = FrictionTime::Lagged { iterations };
    } else if f.has("lagged_iterations") {
        let message = "`lagged_iterations` of [method] has no meaning where friction is implicit";
        let help = "set `friction = \"lagged\"`, or remove it";
        return f.fail(
            Kind::Value,
            "lagged_iterations",
            message.to_owned(),
            Some(help.to_owned()),
        );
    }
    // As the paper sets it [larionov, Sect. III-C].
    contact.stribeck.speed = match f.has("stribeck_speed") {
        true => f.positive("stribeck_speed")?,
        false => 10.0 * contact.epsilon,
    };
    if f.has("viscous") {
        contact.stribeck.viscous = f.not_negative("viscous")?;
    }
    // Velocities must be known better than ε, or what sticks is not known to stick.
    config.newton.tolerance = match f.has("tolerance") {
        true => f.positive("tolerance")?,
        false => config.newton.tolerance.min(1e-3 * config.contact.epsilon),
    };
    Some(config)
}

/// The air: given, or at rest if a body has drag.
pub(crate) fn air(root: &Fields<'_>, drag: bool) -> Option<Air> {
    let still = Air::steady(1.2, Vec3::zeros());
    let Some(node) = root.get("air") else {
        return drag.then_some(still);
    };
    let f = Fields::new(root.reporter, node, "[air]", schema::AIR)?;
    let density = if f.has("density") {
        f.not_negative("density")?
    } else {
        still.density
    };
    let wind = if f.has("wind") {
        f.vector("wind")?
    } else {
        still.wind
    };
    let gust = if f.has("gust") {
        let (swing, period) = (f.vector("gust"), f.need_positive("period"));
        Some(Gust {
            swing: swing?,
            period: period?,
        })
    } else {
        if f.has("period") {
            let message = "`period` of [air] has no meaning without `gust`";
            return f.fail(
                Kind::Value,
                "period",
                message,
                Some("remove `period`".to_owned()),
            );
        }
        None
    };
    Some(Air {
        density,
        wind,
        gust,
    })
}

pub(crate) fn contact(root: &Fields<'_>, obstacles: bool) -> Option<ContactSettings> {
    let asked = obstacles || root.has("friction") || root.has("contact");
    let mut settings = ContactSettings {
        enabled: asked,
        ..ContactSettings::default()
    };
    let Some(node) = root.get("contact") else {
        return Some(settings);
    };
    let f = Fields::new(root.reporter, node, "[contact]", schema::CONTACT)?;
    if let Some(enabled) = f.bool("enabled") {
        settings.enabled = enabled;
    }
    if f.has("thickness") {
        settings.thickness = f.positive("thickness")?;
    }
    let overlaps = [
        ("refuse", Overlap::Refuse),
        ("resolve", Overlap::Resolve),
        ("ignore", Overlap::Ignore),
    ];
    if let Some(overlap) = f.choice("overlap", &overlaps) {
        settings.overlap = overlap;
    }
    Some(settings)
}

pub(crate) fn output(root: &Fields<'_>) -> OutputSettings {
    let mut settings = OutputSettings::default();
    let Some(f) = root
        .get("output")
        .and_then(|n| Fields::new(root.reporter, n, "[output]", schema::OUTPUT))
    else {
        return settings;
    };
    let what = "`formats` of [output]";
    if let Some(items) = f
        .get("formats")
        .and_then(|n| list(root.reporter, n, what, None))
    {
        settings.formats.clear();
        for format in items.iter().filter_map(|n| string(root.reporter, n, what)) {
            if !OutputSettings::FORMATS.contains(&format.value) {
                let help = suggest::help(format.value, "formats", OutputSettings::FORMATS);
                let message = format!("frames cannot be written as `{}`", format.value);
                format.fail::<()>(root.reporter, Kind::UnknownName, message, Some(help));
            } else if !settings.formats.iter().any(|f| f == format.value) {
                settings.formats.push(format.value.to_owned());
            }
        }
    }
    settings.contacts = f.bool("contacts").unwrap_or(false);
    settings.checkpoint_every = f.count("checkpoint_every", 1).map(u64::from);
    settings
}

/// Whether a name may become a file name, a column and a word of an override.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let long = name.chars().count() > 100;
    !name.trim().is_empty() && name.chars().all(good) && !long && !name.starts_with('.')
}

/// A name that may become a file name, a column and a word of an override.
pub(crate) fn plain_name(reporter: &Reporter, name: At<&str>, what: &str) -> Option<String> {
    if !is_plain_name(name.value) {
        let message = format!(
            "{what} cannot be \"{}\"",
            name.value.chars().take(100).collect::<String>()
        );
        let help = "use up to 100 letters, digits, spaces, and - _ . (not first)";
        return name.fail(reporter, Kind::Value, message, Some(help.to_owned()));
    }
    Some(name.value.to_owned())
}
