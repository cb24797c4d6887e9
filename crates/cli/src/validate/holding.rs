//! Things that friction holds: between walls, in grooves, on one another.

use stiction_sim::registry::ContactYielding;

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, LabRun, Row, Trouble, ValidationCase,
    lab::{GRAVITY, REST, over_time},
};

pub fn cases() -> [ValidationCase; 5] {
    [
        ValidationCase {
            name: "pinch",
            title: "A cube between two walls is held exactly when friction can bear its weight.",
            closed_form: "Two walls press with F each: rest iff 2 μ F > m g; else a = g − 2 μ F/m.",
            run: pinch,
        },
        ValidationCase {
            name: "wedge",
            title: "A block between two walls that lean outwards by α stays iff μ > tan α.",
            closed_form: "Each wall pushes out with N sin α and holds with at most μ N cos α: rest iff μ > tan α; else it rises until free, by s/tan α.",
            run: wedge,
        },
        ValidationCase {
            name: "groove",
            title: "A bar slides along a groove: wedging raises friction.",
            closed_form: "Each wall presses with N = m g cos θ/(2 sin β): a = g (sin θ − μ cos θ/sin β), β = 45°.",
            run: groove,
        },
        ValidationCase {
            name: "layers",
            title: "Of three layers of cloth with three coefficients, only the one that must slides.",
            closed_form: "The upper one, with μ = 0.2 < tan θ = 0.3, slides with g (sin θ − μ cos θ); the others rest.",
            run: layers,
        },
        ValidationCase {
            name: "stack",
            title: "Ten bodies on one another on a slope neither sink nor drift over many steps.",
            closed_form: "tan 10° < μ in every joint: nothing moves. Smoothed friction lets every joint creep: the top moves ten times as fast as the lowest.",
            run: stack,
        },
    ]
}

/// A soft cube with ν = 0 between walls that have closed by s = 1 mm each: strain 2s/L, F = E A 2s/L
/// = 20 N. A penalty yields, so that F is the measured one in accelerations; whether it holds is
/// asked 25 % from the border.
fn pinch(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (force, mass) = (20.0, 1.0);
    let border = mass * GRAVITY / (2.0 * force);
    let with = |mu: f64| Experiment::of("validation/pinch").with("friction.default", mu);
    let (holds, slips) = (1.25 * border, 0.8 * border);
    let runs = lab.run_all(&[with(holds), with(slips)])?;
    let mut rows = Vec::new();
    let press = runs[0].last("press");
    rows.push(Row::near(
        "force of a wall",
        "N",
        (force, press),
        match lab.friction {
            FrictionAccuracy::Exact => (0.01 * force, "1 %: the weight bends the cube a little"),
            FrictionAccuracy::Smoothed { .. } => (
                0.15 * force,
                "15 %: a penalty of 1e5 N/m yields by up to 0.15 mm of 1 mm",
            ),
        },
        &runs[0].command,
    ));
    let creep = lab.friction.creep(mass * GRAVITY / (2.0 * holds * press));
    rows.push(Row::near(
        "μ = 1.25 m g/2F: speed",
        "m/s",
        (creep, runs[0].last("speed").abs()),
        match lab.friction {
            FrictionAccuracy::Exact => (REST, "exact friction"),
            FrictionAccuracy::Smoothed { .. } => (
                0.05 * creep,
                "5 % of the creep at which s(v; ε) = m g/(2 μ F)",
            ),
        },
        &runs[0].command,
    ));
    let expected = GRAVITY - 2.0 * slips * runs[1].last("press") / mass;
    let fall = -runs[1].line("speed", 1.0, 1.5).1;
    rows.push(Row::near(
        "μ = 0.8 m g/2F: acceleration downwards",
        "m/s²",
        (expected, fall),
        (
            0.005 * expected,
            "0.5 %: F as measured at the end; the cube still shakes",
        ),
        &runs[1].command,
    ));
    let plots = vec![over_time(
        &format!("a cube between walls, let go at 0.5 s, {}", lab.method),
        "height [m]",
        vec![
            runs[0].curve("height", "μ = 1.25 m g/2F"),
            runs[1].curve("height", "μ = 0.8 m g/2F"),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// Walls with normals (±cos α, sin α) close by s = 1 mm each on the lower edges of a block. Without
/// gravity, rest needs N sin α = T cos α, so T/N = tan α ≤ μ. If it slips, it is driven until the
/// walls press no more: they are s apart from where they began, at a height of s/tan α.
fn wedge(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let alpha = 20f64.to_radians();
    let border = alpha.tan();
    let with = |mu: f64| Experiment::of("validation/wedge").with("friction.default", mu);
    let runs = lab.run_all(&[with(1.1 * border), with(0.9 * border)])?;
    let creep = lab.friction.creep(1.0 / 1.1) * alpha.cos();
    let free = 0.001 / border;
    let rise = runs[1].last("rise") - runs[1].first("rise");
    let rows = vec![
        Row::near(
            "μ = 1.1 tan α: speed",
            "m/s",
            (creep, runs[0].last("speed")),
            match lab.friction {
                FrictionAccuracy::Exact => (REST, "exact friction"),
                FrictionAccuracy::Smoothed { .. } => (
                    0.1 * creep,
                    "10 % of the creep: the block loses its strain while it moves",
                ),
            },
            &runs[0].command,
        ),
        Row::at_most(
            "μ = 1.1 tan α: displacement upwards over s/tan α",
            "",
            (runs[0].last("rise") - runs[0].first("rise")) / free,
            (
                0.25,
                "a quarter: pressed at its lower edges, the block bends, and its middle rises by a fraction of s",
            ),
            &runs[0].command,
        ),
        Row::at_most(
            "μ = 0.9 tan α: s/tan α, less the displacement upwards, over s/tan α",
            "",
            1.0 - rise / free,
            (0.0, "squeezed out for good"),
            &runs[1].command,
        ),
    ];
    let plots = vec![over_time(
        &format!("a block between walls, {}", lab.method),
        "height [m]",
        vec![
            runs[0].curve("rise", "μ = 1.1 tan α"),
            runs[1].curve("rise", "μ = 0.9 tan α"),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// While it slides, friction is along the groove, so that across it 2 N sin β = m g cos θ, and along
/// it m a = m g sin θ − 2 μ N. At rest friction may also act across: N is then not determined, but
/// whether it rests is.
fn groove(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let angle = 30f64.to_radians();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let with = |mu: f64| Experiment::of("validation/groove").with("friction.default", mu);
    let runs = lab.run_all(&[with(0.3), with(0.5)])?;
    let expected = GRAVITY * (angle.sin() - 0.3 * angle.cos() / half);
    let seen = runs[0].line("speed", 0.5, 1.0).1;
    let creep = lab.friction.creep(angle.tan() * half / 0.5);
    let press = 0.5 * GRAVITY * angle.cos() / half;
    let rows = vec![
        Row::near(
            "μ = 0.3: both walls together",
            "N",
            (press, runs[0].last("press")),
            (1e-4 * press, "0.01 %: oscillations that still die down"),
            &runs[0].command,
        ),
        Row::near(
            "μ = 0.3: acceleration",
            "m/s²",
            (expected, seen),
            (
                1e-3 * expected,
                "a constant force is integrated exactly; 0.1 % for oscillations",
            ),
            &runs[0].command,
        ),
        Row::near(
            "μ = 0.5 > tan θ sin β = 0.408: speed",
            "m/s",
            (creep, runs[1].last("speed").abs()),
            match lab.friction {
                FrictionAccuracy::Exact => (REST, "exact friction"),
                FrictionAccuracy::Smoothed { .. } => (0.02 * creep, "2 % of the creep"),
            },
            &runs[1].command,
        ),
    ];
    Ok(Findings {
        rows,
        plots: Vec::new(),
    })
}

/// Areas 0.08, 0.0648 and 0.01 m² of the same cloth. With smoothed friction, the joint below the
/// lower sheet bears (A₁ + A₂) tan θ + A₃ μ₃ of the weight per area and could bear μ₁ (A₁ + A₂ + A₃);
/// the one above A₂ tan θ + A₃ μ₃ of μ₂ (A₂ + A₃). Each creeps accordingly.
fn layers(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::of("validation/layers"))?;
    let (sin, cos) = 0.3f64.atan().sin_cos();
    let expected = GRAVITY * (sin - 0.2 * cos);
    let areas = [0.08, 0.0648, 0.01];
    let lower = lab
        .friction
        .creep(((areas[0] + areas[1]) * 0.3 + areas[2] * 0.2) / (0.5 * areas.iter().sum::<f64>()));
    let middle = lower
        + lab
            .friction
            .creep((areas[1] * 0.3 + areas[2] * 0.2) / (0.4 * (areas[1] + areas[2])));
    let at_rest = |creep: f64| match lab.friction {
        FrictionAccuracy::Exact => (REST, "exact friction"),
        FrictionAccuracy::Smoothed { .. } => (
            0.05 * creep,
            "5 % of the creep: the load of the upper sheet is local",
        ),
    };
    let rows = vec![
        Row::near(
            "upper sheet: acceleration",
            "m/s²",
            (expected, run.line("upper", 0.2, 0.4).1),
            (2e-3 * expected, "0.2 %: the layers below yield a little"),
            &run.command,
        ),
        Row::near(
            "lower sheet: speed",
            "m/s",
            (lower, run.last("lower").abs()),
            at_rest(lower),
            &run.command,
        ),
        Row::near(
            "middle sheet: speed",
            "m/s",
            (middle, run.last("middle").abs()),
            at_rest(middle),
            &run.command,
        ),
    ];
    let curve = |name: &str| run.curve(name, name);
    let plots = vec![over_time(
        &format!("three layers of cloth, {}", lab.method),
        "speed [m/s]",
        vec![curve("lower"), curve("middle"), curve("upper")],
    )];
    Ok(Findings { rows, plots })
}

/// The stack on springs: four below the lowest plate, and eight in every other joint, since the corners of both plates are contact
/// points. A joint bears the weight m g of the n plates above it and its moment, and yields by
///
/// n m g cos 10°/(j k) downwards, n m g sin 10°/(j k) along the slope, m g sin 10° Σ (z − z₀)/(j k a²) in angle
///
/// with j springs at a = 5 cm. From then on nothing moves: attachments that stick do not.
fn tower(lab: &Lab<'_>, run: &LabRun) -> Vec<Row> {
    let (pitch, a, mass) = (0.021, 0.05, 0.2);
    let (along, down) = (1.703_488_600, 9.660_964_058);
    let k = lab.spring(mass / 8.0, 0.001, run.step).unwrap_or(f64::NAN);
    let (mut sinks, mut drifts) = (0.0, 0.0);
    for joint in 0..10 {
        let springs = if joint == 0 { 4.0 } else { 8.0 };
        let above = f64::from(10 - joint);
        // The centres are half a pitch and more above the joint: their sum is n²/2 pitches.
        let moment = mass * along * pitch * above * above / 2.0;
        let turns = moment / (springs * k * a * a);
        sinks += above * mass * down / (springs * k);
        drifts += above * mass * along / (springs * k) + turns * pitch * (above - 0.5);
    }
    let half = (0.5 * run.end(), run.end());
    let later = |name: &str| {
        let values = run.between(name, half.0, half.1);
        let last = run.last(name);
        let off = values.iter().map(|p| (p.1 - last).abs());
        off.fold(0.0, |most: f64, d| if d.is_nan() { d } else { most.max(d) })
    };
    let change = |name: &str| run.last(name) - run.first(name);
    let elastic =
        "5 %: springs are within a contact thickness of their places, and rotations are small";
    let still = (
        1e-8 * run.step,
        "attachments do not move: the solver's 1e-8 m/s of one step, which the springs take back",
    );
    let near = |name: &str, expected: f64, seen: f64| {
        let tolerance = (0.05 * expected.abs(), elastic);
        Row::near(name, "m", (expected, seen), tolerance, &run.command)
    };
    let mut rows = vec![
        near("top: change of height", -sinks, change("top_height")),
        near("top: displacement along the slope", drifts, change("top_x")),
    ];
    for name in ["top_x", "top_y", "top_height", "bottom_x"] {
        let quantity = format!("{name}: drift in the second half");
        rows.push(Row::near(
            quantity,
            "m",
            (0.0, later(name)),
            still,
            &run.command,
        ));
    }
    rows
}

/// Ten bodies, gravity tilted by 10°, μ = 0.5. With exact friction they are rigid plates of two
/// triangles per face; a potential that is blended over faces rounds such plates off, so that methods
/// with smooth contact stack sheets of cloth. The whole form takes 10⁵ steps, the quick one 300.
fn stack(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let exact = lab.friction == FrictionAccuracy::Exact;
    let (scene, thickness) = match exact {
        true => ("validation/stack", 0.001),
        false => ("validation/stack-cloth", 0.001),
    };
    let steps = lab.choose(300.0, if exact { 1e5 } else { 1e4 });
    let tolerance = 1e-12;
    let run = lab.run(
        &Experiment::of(scene)
            .with("time.duration", 0.01 * steps)
            .tolerance(tolerance)
            .certified(tolerance / 0.01),
    )?;
    let change = |name: &str| run.last(name) - run.first(name);
    let drift = f64::hypot(change("top_x"), change("top_y"));
    let rows = match lab.friction {
        FrictionAccuracy::Exact if lab.contact == ContactYielding::Springs => tower(lab, &run),
        FrictionAccuracy::Exact => {
            let most = (
                tolerance * steps,
                "a certificate of 1e-10 m/s in every step of 10 ms",
            );
            let command = &run.command;
            vec![
                Row::near(
                    format!("top: drift in {steps} steps"),
                    "m",
                    (0.0, drift),
                    most,
                    command,
                ),
                Row::near(
                    "top: change of height",
                    "m",
                    (0.0, change("top_height")),
                    most,
                    command,
                ),
                Row::near(
                    "lowest: drift",
                    "m",
                    (0.0, change("bottom_x")),
                    most,
                    command,
                ),
            ]
        }
        FrictionAccuracy::Smoothed { .. } => {
            let creep = lab.friction.creep(10f64.to_radians().tan() / 0.5);
            let why = "2 % of ten (one) times the creep of a joint";
            let half = (0.5 * run.end(), run.end());
            let speed = |name: &str| run.line(name, half.0, half.1).1;
            vec![
                Row::near(
                    format!("top: mean speed in the second half of {steps} steps"),
                    "m/s",
                    (10.0 * creep, speed("top_x")),
                    (0.2 * creep, why),
                    &run.command,
                ),
                Row::near(
                    "lowest: mean speed",
                    "m/s",
                    (creep, speed("bottom_x")),
                    (0.02 * creep, why),
                    &run.command,
                ),
                Row::near(
                    "top: change of height",
                    "m",
                    (0.0, change("top_height")),
                    (
                        10.0 * thickness,
                        "ten joints that yield by less than the contact thickness",
                    ),
                    &run.command,
                ),
            ]
        }
    };
    let plots = vec![over_time(
        &format!("ten on one another, {}", lab.method),
        "place along the slope [m]",
        vec![run.curve("top_x", "top"), run.curve("bottom_x", "lowest")],
    )];
    Ok(Findings { rows, plots })
}
