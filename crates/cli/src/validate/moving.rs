//! Things on supports that move: turn, tilt, shake.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, LabRun, Row, Trouble, ValidationCase,
    lab::{GRAVITY, formula, over_time},
    ode::integrate,
};

pub fn cases() -> [ValidationCase; 3] {
    [
        ValidationCase {
            name: "turntable",
            title: "What lies on a turntable stays there for any number of turns, or slips outwards.",
            closed_form: "Rest iff ω² r < μ g; otherwise x'' = −μ g u/|u| with u = x' − ω × x.",
            run: turntable,
        },
        ValidationCase {
            name: "tilting",
            title: "A tilting table carries a box along until it is too steep.",
            closed_form: "At rest on the table until tan θ = μ (and ω² n of its height n, 1e-4 of g); then \
                          s'' = ω² s + g sin θ − μ (g cos θ − 2 ω s' − ω² n).",
            run: tilting,
        },
        ValidationCase {
            name: "shaker",
            title: "What lies on a shaking table goes with it, or slips to and fro without wandering.",
            closed_form: "Rest on the table iff A ω² < μ g. Far above, it moves in parabolas of μ g: over μ g T²/16, and on average \
                          not at all.",
            run: shaker,
        },
    ]
}

/// Distance of box and cloth from the axis [m], μ.
const PLACE: (f64, f64) = (0.2, 0.5);

/// Turning such that ω² r is a fraction of μ g; box and cloth begin at rest on the table.
fn turning(fraction: f64, turns: f64) -> (f64, Experiment) {
    let (radius, mu) = PLACE;
    let omega = (fraction * mu * GRAVITY / radius).sqrt();
    let degrees = omega.to_degrees();
    let mut made = Experiment::by_default("validation/turntable")
        .with("friction.default", mu)
        .with("time.duration", turns * TAU / omega)
        .with(
            "obstacle.table.motion.rotate.angles",
            format!("[0, {:?}]", 100.0 * degrees),
        );
    for (body, side) in [("box", 1.0), ("cloth", -1.0)] {
        made = made
            .with_vector(
                &format!("body.{body}.velocity"),
                [0.0, side * omega * radius, 0.0],
            )
            .with_vector(
                &format!("body.{body}.angular_velocity"),
                [0.0, 0.0, degrees],
            );
    }
    (omega, made)
}

/// The greatest distance on the table of a body from where it began [m].
fn walked(run: &LabRun, body: &str, side: f64, omega: f64) -> f64 {
    let (xs, ys) = (
        run.points(&format!("{body}-x")),
        run.points(&format!("{body}-y")),
    );
    let start = side * PLACE.0;
    xs.iter()
        .zip(&ys)
        .map(|(&(t, x), &(_, y))| {
            let (sin, cos) = (omega * t).sin_cos();
            f64::hypot(x * cos + y * sin - start, y * cos - x * sin)
        })
        .fold(0.0, |most: f64, d| if d.is_nan() { d } else { most.max(d) })
}

/// Nothing but friction holds it on its circle: m ω² r ≤ μ m g. What slips is a point mass: a box of 4 cm turns on with
/// its own spin, and what friction does to that has no effect on its middle while it slips by more than its spin.
fn turntable(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (radius, mu) = PLACE;
    let (omega, rests) = turning(0.9, lab.choose(3.0, 30.0));
    let (fast, slips) = turning(1.2, 0.25);
    let runs = lab.run_all(&[rests, slips.with("time.step", 0.001)])?;
    let mut found = Findings::default();
    let slip = &runs[1];
    // In the frame of the lab, from (r, 0) with the table's velocity there. At u = 0 the limit of the slipping
    // direction is outwards.
    let [x, y, ..] = integrate(
        [radius, 0.0, 0.0, fast * radius],
        slip.end(),
        4000,
        |&[x, y, vx, vy]| {
            let u = [vx + fast * y, vy - fast * x];
            let size = f64::hypot(u[0], u[1]);
            let a = match lab.friction {
                _ if size == 0.0 => [-mu * GRAVITY, 0.0],
                FrictionAccuracy::Exact => u.map(|c| -mu * GRAVITY * c / size),
                FrictionAccuracy::Smoothed { .. } => {
                    let s = lab.friction.coefficient(mu, mu, size);
                    u.map(|c| -s * GRAVITY * c / size)
                }
            };
            [vx, vy, a[0], a[1]]
        },
    );
    let expected = f64::hypot(x, y) - radius;
    let (held, why) = lab.held(1.0, runs[0].end());
    for (body, side) in [("box", 1.0), ("cloth", -1.0)] {
        found.rows.push(Row::at_most(
            format!("{body}, ω² r = 0.9 μ g: displacement on the table"),
            "m",
            walked(&runs[0], body, side, omega),
            (held, &why),
            &runs[0].command,
        ));
        let measured = f64::hypot(
            slip.last(&format!("{body}-x")),
            slip.last(&format!("{body}-y")),
        ) - radius;
        found.rows.push(Row::near(
            format!("{body}, ω² r = 1.2 μ g: outward displacement after a quarter of a turn"),
            "m",
            (expected, measured),
            (
                0.02 * expected + fast * fast * radius * slip.end() * slip.step,
                "2 % for its size; ω² r T h: a first-order integrator turns the velocity by h ω late",
            ),
            &slip.command,
        ));
    }
    Ok(found)
}

/// In the frame of the table, s along it and n across: r'' = (s'' − ω² s) e₁ − (2 ω s' + ω² n) e₂.
fn tilting(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::by_default("validation/tilting"))?;
    let (mu, omega, height) = (0.3f64, 10f64.to_radians(), 0.026);
    let path: Vec<(f64, f64)> = run
        .points("x")
        .iter()
        .zip(run.points("z"))
        .map(|(&(t, x), (_, z))| {
            let (sin, cos) = (omega * t).sin_cos();
            (t, x * cos - z * sin)
        })
        .collect();
    let starts = mu.atan() / omega;
    let before = path.iter().filter(|w| w.0 <= 0.97 * starts);
    let most = before.map(|w| w.1.abs()).fold(0.0, f64::max);
    let [slid, ..] = integrate(
        [0.0, 0.0, starts],
        run.end() - starts,
        2000,
        |&[s, v, t]| {
            let (sin, cos) = (omega * t).sin_cos();
            let press = GRAVITY * cos - 2.0 * omega * v - omega * omega * height;
            [v, omega * omega * s + GRAVITY * sin - mu * press, 1.0]
        },
    );
    let measured = path.last().map_or(f64::NAN, |w| w.1);
    let (mut held, mut why) = lab.held(1.0, starts);
    let yields = lab.yields(GRAVITY * 0.97 * mu, 0.5, 0.001, run.step);
    if yields > 0.0 {
        held += 1.1 * yields;
        why += "; g sin θ on the springs of its corners, and 10 %";
    }
    let time = run.end() - starts;
    let rows = vec![
        Row::at_most(
            "displacement on the table until 0.97 of the time at which tan θ = μ",
            "m",
            most,
            (held, &why),
            &run.command,
        ),
        Row::near(
            "displacement on the table at the end",
            "m",
            (slid, measured),
            (
                slid * 3.0 * run.step / time + held,
                "3 h/T of a displacement that grows as T³, for a first-order integrator, and the creep before",
            ),
            &run.command,
        ),
    ];
    let plots = vec![over_time(
        &format!("a box on a tilting table, {}", lab.method),
        "place on the table [m]",
        vec![
            stiction_record::plot::Series {
                name: "measured".to_owned(),
                points: path,
            }
            .thinned(600),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// μ g of the shaken box [m/s²], the angular frequency of the table [1/s].
const SHAKE: (f64, f64) = (0.3 * GRAVITY, 10.0 * PI);

/// The table at A (sin(ωt + φ) − sin φ), given at the time of every step.
fn shaken(amplitude: f64, phase: f64, speed: f64, periods: usize, per_period: usize) -> Experiment {
    let period = TAU / SHAKE.1;
    let step = period / per_period as f64;
    let count = periods * per_period;
    let times: Vec<String> = (0..=count)
        .map(|i| format!("{:?}", step * i as f64))
        .collect();
    let values: Vec<String> = (0..=count)
        .map(|i| {
            let angle = SHAKE.1 * step * i as f64 + phase;
            format!("[{:?}, 0, 0]", amplitude * (angle.sin() - phase.sin()))
        })
        .collect();
    let motion = format!(
        "{{times=[{}], values=[{}], interpolation=\"spline\"}}",
        times.join(","),
        values.join(",")
    );
    Experiment::by_default("validation/shaker")
        .with("time.step", step)
        .with("time.duration", period * periods as f64)
        .with_vector("body.box.velocity", [speed, 0.0, 0.0])
        .with("obstacle.table.motion.translate", motion)
}

/// Held, the box has the table's acceleration, at most A ω².
///
/// If A ω² is large, it slips all the time, with ±μ g: its velocity is a triangle of height v = μ g T/4, its stroke
/// the area of half of it, v T/4 = μ g T²/16. Friction turns where the table has the same velocity and slows
/// down faster than μ g, A ω cos φ = v; there the run begins. With A ω² = 3 μ g, A ω² sin φ = 2.56 μ g.
fn shaker(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (brake, omega) = SHAKE;
    let period = TAU / omega;
    let periods = lab.choose(6, 20);
    let per_period = 100;
    let amplitude = |fraction: f64| fraction * brake / (omega * omega);
    let top = brake * period / 4.0;
    let phase = (top / (amplitude(3.0) * omega)).acos();
    let runs = lab.run_all(&[
        // From rest at one end.
        shaken(amplitude(0.95), -FRAC_PI_2, 0.0, periods, per_period),
        shaken(amplitude(3.0), phase, top, periods, per_period),
    ])?;
    // Of the last two periods, when a penalty has come to bear; exact methods bear from the first step.
    let late = |run: &LabRun| run.between("x", run.end() - 2.0 * period, run.end());
    let range = |values: Vec<f64>| {
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        highest - values.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let table = |t: f64| amplitude(0.95) * (1.0 - (omega * t).cos());
    let held = range(late(&runs[0]).iter().map(|&(t, x)| x - table(t)).collect());
    let (mut most, mut why) = lab.held(1.0, 2.0 * period);
    if lab.friction != FrictionAccuracy::Exact {
        // A constraint constrains the displacement of a step; a force of friction is a function of the velocity at its end.
        most += runs[0].step * amplitude(0.95) * omega;
        why += "; h A ω: it goes with the table's velocity at the end of each step, and is h/2 ahead of it";
    }
    let yields = lab.yields(0.95 * brake, 0.1, 0.001, runs[0].step);
    if yields > 0.0 {
        most += 1.1 * 2.0 * yields;
        why += "; to and fro in the springs of its corners, and 10 %";
    }
    let slip = late(&runs[1]);
    let swing = range(slip.iter().map(|p| p.1).collect());
    let drift = match (slip.first(), slip.last()) {
        (Some(first), Some(last)) => 0.5 * (last.1 - first.1),
        _ => f64::NAN,
    };
    let step = runs[1].step;
    let rows = vec![
        Row::at_most(
            "A ω² = 0.95 μ g: displacement on the table in the last two periods",
            "m",
            held,
            (most, &why),
            &runs[0].command,
        ),
        Row::near(
            "A ω² = 3 μ g: stroke in the last two periods",
            "m",
            (brake * period * period / 16.0, swing),
            (
                top * step,
                "v h at the greatest speed v: friction turns up to a step late",
            ),
            &runs[1].command,
        ),
        Row::near(
            "A ω² = 3 μ g: drift per period",
            "m",
            (0.0, drift),
            (
                top * step,
                "v h at the greatest speed v: friction turns up to a step late",
            ),
            &runs[1].command,
        ),
    ];
    let plots = vec![over_time(
        &format!("a box on a shaking table, {}", lab.method),
        "place [m]",
        vec![
            runs[1].curve("x", "A ω² = 3 μ g"),
            formula("the table", runs[1].end(), |t| {
                amplitude(3.0) * ((omega * t + phase).sin() - phase.sin())
            }),
        ],
    )];
    Ok(Findings { rows, plots })
}
