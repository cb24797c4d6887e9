//! Things on slopes: when they start, how fast they go, where they stop.

use stiction_record::plot::{Plot, Series};

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, LabRun, Row, Trouble, ValidationCase,
    lab::{GRAVITY, REST, formula, over_time},
};

pub fn cases() -> [ValidationCase; 6] {
    [
        ValidationCase {
            name: "slope-grid",
            title: "Things rest on slopes exactly when tan θ < μ, and slide with g (sin θ − μ cos θ) otherwise.",
            closed_form: "N = m g cos θ, T ≤ μ N; at rest T = m g sin θ, so rest iff tan θ < μ; else a = g (sin θ − μ cos θ). \
                          Smoothed friction creeps at v with s(v; ε) = tan θ/μ: v = ε (1 − √(1 − tan θ/μ)).",
            run: grid,
        },
        ValidationCase {
            name: "two-coefficients",
            title: "With μs at rest and μk in sliding, what rests stays up to μs, and what slides goes by μk.",
            closed_form: "Rest iff tan θ < μs; sliding with a = g (sin θ − μk cos θ); a push of v0 ends after v0²/(2g (μk cos θ − sin θ)).",
            run: two_coefficients,
        },
        ValidationCase {
            name: "invariance",
            title: "The same law at any size and with any time step.",
            closed_form: "Rest and a = g (sin θ − μ cos θ) contain neither size nor mass nor time step.",
            run: invariance,
        },
        ValidationCase {
            name: "stopping-distance",
            title: "A push on a level floor ends after v0²/(2 μ g).",
            closed_form: "v = v0 − μ g t, so that x = v0²/(2 μ g) at t = v0/(μ g).",
            run: stopping,
        },
        ValidationCase {
            name: "block-slide",
            title: "A block on a slope hardly too flat for it slides on for a quarter of a minute [larionov, Sect. V-A1].",
            closed_form: "θ = 10°, μ = 0.177, v0 = 0.1 m/s: x = v0²/(2g (μ cos θ − sin θ)) = 0.769 m after v0/(g (μ cos θ − sin θ)) = 15.38 s.",
            run: block_slide,
        },
        ValidationCase {
            name: "isotropy",
            title: "Friction is the same in all directions.",
            closed_form: "A push in any direction ends after v0²/(2 μ g), without going aside.",
            run: isotropy,
        },
    ]
}

/// The body on the slope.
#[derive(Clone, Copy, PartialEq)]
enum Thing {
    Box,
    Cloth,
    Block,
}

impl Thing {
    /// Its scene, its body and half its height [m].
    fn data(self) -> (&'static str, &'static str, f64) {
        match self {
            Self::Box => ("validation/slope", "box", 0.025),
            Self::Cloth => ("validation/slope-cloth", "cloth", 0.0),
            Self::Block => ("validation/slope-block", "block", 0.035),
        }
    }

    /// On a slope of the given angle [rad], at `scale` times its size, pushed down with `speed` [m/s].
    fn on(self, angle: f64, scale: f64, speed: f64) -> Experiment {
        let (_, body, half) = self.data();
        let (sin, cos) = angle.sin_cos();
        let on = self.at(angle, (half + 0.001) * scale);
        match speed {
            0.0 => on,
            v => on.with_vector(&format!("body.{body}.velocity"), [v * cos, 0.0, -v * sin]),
        }
    }

    /// On a slope of the given angle [rad], its middle `above` it [m].
    fn at(self, angle: f64, above: f64) -> Experiment {
        let (scene, body, _) = self.data();
        let (sin, cos) = angle.sin_cos();
        Experiment::of(scene)
            .with_vector("obstacle.slope.shape.normal", [sin, 0.0, cos])
            .with(&format!("body.{body}.rotate.angle"), angle.to_degrees())
            .with_vector(
                &format!("body.{body}.translate"),
                [above * sin, 0.0, above * cos],
            )
    }
}

/// tan θ as a multiple of μ: four rest and four slide, the nearest 0.15 % from the border.
const STEEPNESS: [f64; 8] = [0.5, 0.9, 0.99, 0.9985, 1.0015, 1.01, 1.1, 1.5];
/// A soft block takes up its load with a jerk, slides, and stops only when what friction has more
/// than gravity has used that up: so near the border that takes minutes, and proves nothing new.
const SOFT: [f64; 6] = [0.5, 0.9, 0.99, 1.01, 1.1, 1.5];

/// A grid over μ and tan θ/μ.
///
/// On a slope, N = m g cos θ, and rest needs T = m g sin θ ≤ μ N. Else T = μ N against the motion and
/// m a = m g sin θ − μ m g cos θ. With smoothed friction, m g sin θ = μ s(v) N has the root v, which is
/// below ε.
fn grid(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let mus: &[f64] = lab.choose(&[0.1, 0.3, 1.0], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0]);
    let things: &[(&str, Thing)] = lab.choose(
        &[("rigid box", Thing::Box), ("cloth", Thing::Cloth)],
        &[
            ("rigid box", Thing::Box),
            ("cloth", Thing::Cloth),
            ("soft block", Thing::Block),
        ],
    );
    let mut found = Findings::default();
    let mut measured = Vec::new();
    for &(name, thing) in things {
        let steepness: &[f64] = if thing == Thing::Block {
            &SOFT
        } else {
            &STEEPNESS
        };
        let duration = if thing == Thing::Block { 4.0 } else { 1.0 };
        let points: Vec<(f64, f64)> = mus
            .iter()
            .flat_map(|&mu| steepness.iter().map(move |&s| (mu, s)))
            .collect();
        let experiments: Vec<Experiment> = points
            .iter()
            .map(|&(mu, s)| {
                let on = thing.on((mu * s).atan(), 1.0, 0.0);
                on.with("friction.default", mu)
                    .with("time.duration", duration)
            })
            .collect();
        let runs = lab.run_all(&experiments)?;
        let all: Vec<(f64, f64, &LabRun)> = points
            .iter()
            .zip(&runs)
            .map(|(&(mu, s), run)| (mu, s, run))
            .collect();
        found.rows.extend(resting(lab, name, thing, &all));
        found.rows.push(sliding(name, &all));
        let slides = all.iter().filter(|p| p.1 > 1.0);
        measured.push(Series {
            name: format!("{name}, measured"),
            points: slides
                .filter(|p| p.0 == 0.3)
                .map(|p| (p.1, acceleration(p.2)))
                .collect(),
        });
    }
    measured.push(Series {
        name: "g (sin θ − μ cos θ)".to_owned(),
        points: (0..=50)
            .map(|i| 1.0 + 0.01 * f64::from(i))
            .map(|s| (s, exact(0.3, s)))
            .collect(),
    });
    found.plots.push(Plot {
        title: format!("sliding at μ = 0.3, {}", lab.method),
        x_label: "tan θ / μ [1]".to_owned(),
        y_label: "acceleration [m/s²]".to_owned(),
        series: measured,
        size: (560, 360),
        ..Plot::default()
    });
    Ok(found)
}

fn exact(mu: f64, steepness: f64) -> f64 {
    let (sin, cos) = (mu * steepness).atan().sin_cos();
    GRAVITY * (sin - mu * cos)
}

/// Of the second half: contact forces first build up.
fn acceleration(run: &LabRun) -> f64 {
    run.line("speed", 0.5 * run.end(), run.end()).1
}

/// The largest of the keys, with its run.
fn worst<'a>(all: impl Iterator<Item = (f64, &'a LabRun)>) -> (f64, String) {
    let mut found = (0.0, "no run".to_owned());
    for (value, run) in all {
        // Not a number is the worst of all.
        if value >= found.0 || value.is_nan() {
            found = (value, run.command.clone());
        }
        if value.is_nan() {
            break;
        }
    }
    found
}

fn resting(lab: &Lab<'_>, name: &str, thing: Thing, all: &[(f64, f64, &LabRun)]) -> Vec<Row> {
    let rest = || all.iter().filter(|p| p.1 < 1.0);
    let count = rest().count();
    let (speed, command) = worst(rest().map(|p| (p.2.last("speed"), p.2)));
    match lab.friction {
        FrictionAccuracy::Exact => vec![Row::at_most(
            format!("{name}: fastest of {count} that should rest"),
            "m/s",
            speed,
            (
                REST,
                "exact friction; the solver's tolerance is 1e-10 m per step",
            ),
            &command,
        )],
        FrictionAccuracy::Smoothed { epsilon } => {
            let mut rows = vec![Row::at_most(
                format!("{name}: fastest of {count} that should rest"),
                "m/s",
                speed,
                (
                    1.001 * epsilon,
                    "smoothed friction creeps below ε = 1e-4 m/s",
                ),
                &command,
            )];
            if thing != Thing::Block {
                let off = |p: &(f64, f64, &LabRun)| {
                    let expected = lab.friction.creep(p.1);
                    (p.2.last("speed") / expected - 1.0).abs()
                };
                let (error, command) = worst(rest().map(|p| (off(p), p.2)));
                rows.push(Row::at_most(
                    format!("{name}: creep compared with ε (1 − √(1 − tan θ/μ)), worst relative error of {count}"),
                    "",
                    error,
                    (0.02, "2 %: stretching is still under way; the root is steep near the border"),
                    &command,
                ));
            }
            rows
        }
    }
}

fn sliding(name: &str, all: &[(f64, f64, &LabRun)]) -> Row {
    let slides = || all.iter().filter(|p| p.1 > 1.0);
    let off = |p: &(f64, f64, &LabRun)| (acceleration(p.2) / exact(p.0, p.1) - 1.0).abs();
    let (error, command) = worst(slides().map(|p| (off(p), p.2)));
    let count = slides().count();
    Row::at_most(
        format!(
            "{name}: acceleration compared with g (sin θ − μ cos θ), worst relative error of {count}"
        ),
        "",
        error,
        (
            1e-3,
            "a constant force is integrated exactly; 0.1 % for oscillations that still die down",
        ),
        &command,
    )
}

/// μs = 0.5, μk = 0.3: rest on tan θ = 0.4; the same slope after a push; start on 0.55; stop on 0.2.
///
/// Rest is a state only of what bears its weight: on a penalty, a box that begins without force falls
/// a little, gains speed along the slope, and then slides for good, as it should. There it begins as
/// deep as its weight of m g cos θ on four corners sinks.
fn two_coefficients(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (rest, kinetic) = (0.5, 0.3);
    let sunk = lab.sunk(0.5 * GRAVITY * 0.4f64.atan().cos() / 4.0, 0.001);
    let at_rest = Thing::Box.at(0.4f64.atan(), 0.026 - sunk);
    let on = |ratio: f64, push: f64| Thing::Box.on(ratio.atan(), 1.0, push);
    let law = |on: Experiment, duration: f64| {
        on.with("friction.default", "{static=0.5, kinetic=0.3}")
            .with("time.duration", duration)
            .with("time.step", 0.005)
    };
    let runs = lab.run_all(&[
        law(at_rest, 1.0),
        law(on(0.4, 0.2), 1.0),
        law(on(0.55, 0.0), 1.0),
        law(on(0.2, 0.5), 1.5),
    ])?;
    let pull = |ratio: f64| {
        let (sin, cos) = ratio.atan().sin_cos();
        GRAVITY * (sin - kinetic * cos)
    };
    let mut rows = Vec::new();
    let creep = lab.friction.creep_of_two(rest, kinetic, 0.4);
    rows.push(Row::near(
        "at rest on tan θ = 0.4 < μs: speed",
        "m/s",
        (creep, runs[0].last("speed")),
        match lab.friction {
            FrictionAccuracy::Exact => (REST, "exact friction"),
            FrictionAccuracy::Smoothed { .. } => (
                0.02 * creep,
                "2 % of the creep at which μ(v) s(v; ε) = tan θ",
            ),
        },
        &runs[0].command,
    ));
    let names = [
        "pushed on the same slope: acceleration",
        "started on tan θ = 0.55 > μs: acceleration",
    ];
    for ((name, run), ratio) in names.iter().zip(&runs[1..3]).zip([0.4, 0.55]) {
        let expected = pull(ratio);
        rows.push(Row::near(
            *name,
            "m/s²",
            (expected, acceleration(run)),
            (
                1e-3 * expected,
                "a constant force is integrated exactly; 0.1 % for oscillations",
            ),
            &run.command,
        ));
    }
    let stop = &runs[3];
    let distance = 0.5 * 0.5 / (2.0 * -pull(0.2));
    rows.push(Row::near(
        "pushed on tan θ = 0.2: distance",
        "m",
        (distance, stop.last("travel")),
        (
            0.5 * stop.step,
            "v0 h: twice the error of an integrator of first order",
        ),
        &stop.command,
    ));
    let plots = vec![over_time(
        &format!("μs = 0.5, μk = 0.3, {}", lab.method),
        "speed [m/s]",
        vec![
            runs[0].curve("speed", "tan θ = 0.4, from rest"),
            runs[1].curve("speed", "tan θ = 0.4, pushed"),
            runs[2].curve("speed", "tan θ = 0.55, from rest"),
            stop.curve("speed", "tan θ = 0.2, pushed"),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// μ = 0.4 and tan θ = 0.9 μ or 1.2 μ, a box of 1 cm, 10 cm and 1 m, steps from 1 to 10 ms.
///
/// Neither rest nor a depends on size, mass or step. Contact thickness, the solver's tolerance [m] and
/// the penalty's stiffness (weight over thickness) scale with the box.
fn invariance(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let steps: &[f64] = lab.choose(&[0.002, 0.01], &[0.001, 0.002, 0.005, 0.01]);
    let mu: f64 = 0.4;
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for scale in [0.1, 1.0, 10.0] {
        for &step in steps {
            points.push((scale, step, 0.9));
            points.push((scale, step, 1.2));
        }
    }
    let experiments: Vec<Experiment> = points
        .iter()
        .map(|&(scale, step, steepness)| {
            // Oscillations last as long as a fall through the box.
            let duration = f64::max(1.0, scale.sqrt());
            Thing::Box
                .on((mu * steepness).atan(), scale, 0.0)
                .with("body.box.scale", scale)
                .with("contact.thickness", 0.001 * scale)
                .with("friction.default", mu)
                .with("time.step", step)
                .with("time.duration", duration)
                .tolerance(1e-10 * scale)
                .stiffness(1e5 * scale * scale)
        })
        .collect();
    let runs = lab.run_all(&experiments)?;
    let mut rows = Vec::new();
    for scale in [0.1, 1.0, 10.0] {
        let of = |steepness: f64| {
            let chosen = points.iter().zip(&runs);
            chosen
                .filter(move |(p, _)| p.0 == scale && p.2 == steepness)
                .map(|(_, r)| r)
        };
        let size = format!(
            "{:.2} m, {} time steps from {} ms",
            0.1 * scale,
            steps.len(),
            1e3 * steps[0]
        );
        let creep = lab.friction.creep(0.9);
        let (error, command) = worst(of(0.9).map(|r| ((r.last("speed") - creep).abs(), r)));
        rows.push(Row::at_most(
            format!("{size}: speed at tan θ = 0.9 μ, off its creep of {creep:.2e} m/s"),
            "m/s",
            error,
            match lab.friction {
                FrictionAccuracy::Exact => (REST, "exact friction"),
                FrictionAccuracy::Smoothed { .. } => (0.02 * creep, "2 % of the creep"),
            },
            &command,
        ));
        let off = |r: &LabRun| (acceleration(r) / exact(mu, 1.2) - 1.0).abs();
        let (error, command) = worst(of(1.2).map(|r| (off(r), r)));
        rows.push(Row::at_most(
            format!("{size}: acceleration at tan θ = 1.2 μ, worst relative error"),
            "",
            error,
            (
                1e-3,
                "a constant force is integrated exactly; 0.1 % for oscillations",
            ),
            &command,
        ));
    }
    Ok(Findings {
        rows,
        plots: Vec::new(),
    })
}

/// From m v' = −μ m g: v = v0 − μ g t, x = v0²/(2 μ g). Backward Euler ends v0 h/2 short.
fn stopping(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let pushes = [(0.5, 0.2), (1.0, 0.2), (2.0, 0.5), (1.0, 0.8)];
    let experiments: Vec<Experiment> = pushes
        .iter()
        .map(|&(speed, mu)| {
            Thing::Box
                .on(0.0, 1.0, speed)
                .with("friction.default", mu)
                .with("time.step", 0.002)
                .with("time.duration", speed / (mu * GRAVITY) + 0.2)
        })
        .collect();
    let runs = lab.run_all(&experiments)?;
    let mut found = Findings::default();
    for (&(speed, mu), run) in pushes.iter().zip(&runs) {
        found.rows.push(Row::near(
            format!("v0 = {speed} m/s, μ = {mu}: distance"),
            "m",
            (speed * speed / (2.0 * mu * GRAVITY), run.last("travel")),
            (
                speed * run.step,
                "v0 h: twice the error of an integrator of first order",
            ),
            &run.command,
        ));
        let (start, slope) = run.line(
            "speed",
            0.1 * speed / (mu * GRAVITY),
            0.9 * speed / (mu * GRAVITY),
        );
        found.rows.push(Row::near(
            format!("v0 = {speed} m/s, μ = {mu}: time"),
            "s",
            (speed / (mu * GRAVITY), -start / slope),
            (
                run.step,
                "h: the first step bears the whole impulse of the landing or none",
            ),
            &run.command,
        ));
    }
    found.plots.push(over_time(
        &format!("v0 = 1 m/s, μ = 0.2, {}", lab.method),
        "speed [m/s]",
        vec![
            runs[1].curve("speed", "measured"),
            formula("v0 − μ g t", runs[1].end(), |t| {
                (1.0 - 0.2 * GRAVITY * t).max(0.0)
            }),
        ],
    ));
    Ok(found)
}

/// As `stopping`, on a slope: μ cos θ − sin θ = 6.6e-4 is left of friction, so that an error of 1e-5 in
/// the force would show as 1.5 % in the distance.
fn block_slide(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::of("block-slide").tolerance(1e-9))?;
    let (sin, cos) = 10f64.to_radians().sin_cos();
    let brake = GRAVITY * (0.177 * cos - sin);
    let (distance, time) = (0.1 * 0.1 / (2.0 * brake), 0.1 / brake);
    let (start, slope) = run.line("speed", 2.0, 14.0);
    let why = "1 %, as the paper's figure can be read";
    let rows = vec![
        Row::near(
            "distance",
            "m",
            (distance, run.last("travel")),
            (0.01 * distance, why),
            &run.command,
        ),
        Row::near(
            "time",
            "s",
            (time, -start / slope),
            (0.01 * time, why),
            &run.command,
        ),
    ];
    let plots = vec![over_time(
        &format!("block-slide, {}", lab.method),
        "distance [m]",
        vec![
            run.curve("travel", "measured"),
            formula("v0 t − ½ a t²", run.end(), |t| {
                let t = t.min(time);
                0.1 * t - 0.5 * brake * t * t
            }),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// Sixteen directions. The scene is square, so that pressure moves along the push and friction at the
/// four corners has no moment about the vertical: the box goes straight.
fn isotropy(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (speed, mu, step) = (1.0, 0.3, 0.002);
    let directions: Vec<f64> = (0..16)
        .map(|i| std::f64::consts::TAU * f64::from(i) / 16.0)
        .collect();
    let experiments: Vec<Experiment> = directions
        .iter()
        .map(|phi| {
            let v = [speed * phi.cos(), speed * phi.sin(), 0.0];
            Thing::Box
                .on(0.0, 1.0, 0.0)
                .with_vector("body.box.velocity", v)
                .with("friction.default", mu)
                .with("time.step", step)
                .with("time.duration", 0.5)
        })
        .collect();
    let runs = lab.run_all(&experiments)?;
    let distance = speed * speed / (2.0 * mu * GRAVITY);
    let mut along = Vec::new();
    let mut aside = Vec::new();
    for (phi, run) in directions.iter().zip(&runs) {
        let d = [
            run.last("x") - run.first("x"),
            run.last("y") - run.first("y"),
        ];
        along.push((d[0] * phi.cos() + d[1] * phi.sin(), run));
        aside.push(((d[1] * phi.cos() - d[0] * phi.sin()).abs() / distance, run));
    }
    let mean = along.iter().map(|a| a.0).sum::<f64>() / 16.0;
    let (spread, off) = worst(along.iter().map(|a| ((a.0 / mean - 1.0).abs(), a.1)));
    let (sideways, askew) = worst(aside.into_iter());
    let rows = vec![
        Row::near(
            "mean distance in 16 directions",
            "m",
            (distance, mean),
            (
                speed * step,
                "v0 h: twice the error of an integrator of first order",
            ),
            &runs[0].command,
        ),
        Row::at_most(
            "relative difference of a direction from the mean",
            "",
            spread,
            (
                1e-3,
                "a cone, not a pyramid: eight facets would show 8 %; 0.1 % for landing on corners",
            ),
            &off,
        ),
        Row::at_most(
            "sideways displacement over the distance",
            "",
            sideways,
            (
                1e-3,
                "friction is opposite to the motion; 0.1 % for landing on corners",
            ),
            &askew,
        ),
    ];
    let mut points: Vec<(f64, f64)> = runs.iter().map(|r| (r.last("x"), r.last("y"))).collect();
    points.extend(points.first().copied());
    let plots = vec![Plot {
        title: format!("where pushes in 16 directions end, {}", lab.method),
        x_label: "x [m]".to_owned(),
        y_label: "y [m]".to_owned(),
        series: vec![
            Series {
                name: "measured".to_owned(),
                points,
            },
            Series {
                name: "v0²/(2 μ g)".to_owned(),
                points: (0..=90)
                    .map(|i| std::f64::consts::TAU * f64::from(i) / 90.0)
                    .map(|phi| (distance * phi.cos(), distance * phi.sin()))
                    .collect(),
            },
        ],
        size: (440, 420),
        ..Plot::default()
    }];
    Ok(Findings { rows, plots })
}
