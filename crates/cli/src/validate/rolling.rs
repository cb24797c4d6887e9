//! Things that roll and spin: torques of friction.

use super::{
    Experiment, Findings, Lab, Row, Trouble, ValidationCase,
    lab::{GRAVITY, formula, over_time},
};

pub fn cases() -> [ValidationCase; 4] {
    [
        ValidationCase {
            name: "rolling",
            title: "A ball rolls down a slope, and slips if friction cannot turn it fast enough.",
            closed_form: "a = 5/7 g sin θ if tan θ < 7/2 μ; otherwise a = g (sin θ − μ cos θ).",
            run: rolling,
        },
        ValidationCase {
            name: "bowling",
            title: "A bowling ball slides, then rolls.",
            closed_form: "v = v₀ − μ g t until t = 2 v₀/(7 μ g), then 5/7 v₀.",
            run: bowling,
        },
        ValidationCase {
            name: "ring",
            title: "A ring that spins on a table is stopped by the torque μ m g R.",
            closed_form: "I ω' = −μ m g R with I = m (R² + ¾ r²): it stops after ω₀ (R² + ¾ r²)/(μ g R).",
            run: ring,
        },
        ValidationCase {
            name: "disc",
            title: "A disc that spins on a table is stopped by the torque 2/3 μ m g R.",
            closed_form: "∫ μ p r dA = 2/3 μ m g R with even pressure p, I = ½ m R²: it stops after 3 ω₀ R/(4 μ g).",
            run: disc,
        },
    ]
}

/// Radius of the ball [m].
const RADIUS: f64 = 0.1;

/// Angle between neighbouring vertices of the ball of triangles [rad]: the largest, that of a face of an icosahedron
/// (63.4°) over the frequency, and a fifth more in the middle of such a face.
fn facet(frequency: f64) -> f64 {
    1.2 * 1.107 / frequency
}

/// Acceleration that rolling on facets costs [m/s²]. At every edge the ball of triangles turns about the next one, which
/// takes the fraction 1 − (I + m R² cos δ)/(I + m R²) = 5/7 · δ²/2 of its speed, once for every δ R of its path.
fn facets(speed: f64, frequency: f64) -> f64 {
    5.0 / 7.0 * 0.5 * facet(frequency) * speed * speed / RADIUS
}

/// m x'' = m g sin θ − T and 2/5 m R² ω' = T R; rolling, ω' R = x'', so that T = 2/7 m g sin θ ≤ μ m g cos θ.
fn rolling(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let frequency = lab.choose(16.0, 24.0);
    let on = |mu: f64| {
        Experiment::by_default("validation/ball")
            .with("friction.default", mu)
            .with("body.ball.shape.frequency", frequency)
            .with("time.duration", 0.25)
    };
    let runs = lab.run_all(&[on(0.3), on(0.03)])?;
    let (sin, cos) = 10f64.to_radians().sin_cos();
    let forms = [
        ("μ = 0.3 > 2/7 tan θ", 5.0 / 7.0 * GRAVITY * sin),
        ("μ = 0.03 < 2/7 tan θ", GRAVITY * (sin - 0.03 * cos)),
    ];
    let mut found = Findings::default();
    for ((name, expected), run) in forms.iter().zip(&runs) {
        let end = run.end();
        found.rows.push(Row::near(
            format!("{name}: acceleration"),
            "m/s²",
            (*expected, run.line("speed", 0.1 * end, end).1),
            (
                facets(expected * end, frequency) + 0.002 * expected,
                "5/7 · δ/2 · v²/R at the greatest speed, for rolling over facets of the angle δ; 0.2 % for a ball of facets",
            ),
            &run.command,
        ));
        found.rows.push(Row::at_most(
            format!("{name}: sideways displacement over the distance"),
            "",
            run.most("aside", 0.0, end) / (0.5 * expected * end * end),
            (
                0.5 * facet(frequency),
                "half the angle of a facet: the ball runs along its edges",
            ),
            &run.command,
        ));
    }
    found.plots.push(over_time(
        &format!("a ball on a slope of 10°, {}", lab.method),
        "speed [m/s]",
        vec![
            runs[0].curve("speed", "μ = 0.3"),
            runs[1].curve("speed", "μ = 0.03"),
            formula("5/7 g sin θ t", runs[0].end(), |t| forms[0].1 * t),
        ],
    ));
    Ok(found)
}

/// While it slides m x'' = −μ m g and 2/5 m R² ω' = μ m g R: v = v₀ − μ g t meets ω R = 5/2 μ g t at t = 2 v₀/(7 μ g),
/// with v = 5/7 v₀.
fn bowling(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let frequency = lab.choose(16.0, 24.0);
    let (v0, mu) = (0.5, 0.2);
    let meet = 2.0 * v0 / (7.0 * mu * GRAVITY);
    let run = lab.run(
        &Experiment::by_default("validation/ball")
            .with_vector("gravity", [0.0, 0.0, -GRAVITY])
            .with_vector("body.ball.velocity", [v0, 0.0, 0.0])
            .with("body.ball.shape.frequency", frequency)
            .with("friction.default", mu)
            .with("time.step", 0.0005)
            .with("time.duration", 1.5 * meet),
    )?;
    let lost = facets(v0, frequency) * run.end();
    let why = "5/7 · δ/2 · v²/R over the time, for rolling over facets of the angle δ";
    let slope = run.line("speed", 0.2 * meet, 0.8 * meet).1;
    let rolls = run.last("speed");
    let rows = vec![
        Row::near(
            "deceleration while it slides",
            "m/s²",
            (mu * GRAVITY, -slope),
            (
                0.05 * mu * GRAVITY,
                "5 %: the load jumps from facet to facet; over a facet it is m g on average",
            ),
            &run.command,
        ),
        Row::near(
            "speed of rolling",
            "m/s",
            (5.0 / 7.0 * v0, rolls),
            (lost + mu * GRAVITY * run.step, why),
            &run.command,
        ),
        Row::near(
            "time until it rolls",
            "s",
            (meet, (rolls - v0) / slope),
            (0.05 * meet + lost / (mu * GRAVITY), why),
            &run.command,
        ),
    ];
    let plots = vec![over_time(
        &format!("a bowling ball, {}", lab.method),
        "speed [m/s]",
        vec![
            run.curve("speed", "measured"),
            formula("closed form", run.end(), |t| {
                (v0 - mu * GRAVITY * t).max(5.0 / 7.0 * v0)
            }),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// Initial angular velocity of ring and disc [rad/s], their radius [m] and μ.
const SPIN: (f64, f64, f64) = (4.0 * std::f64::consts::PI, 0.05, 0.2);

/// Stopping time of a spinning body, and that it rests then.
fn stops(
    lab: &Lab<'_>,
    experiment: &Experiment,
    expected: f64,
    (allowed, why): (f64, &str),
) -> Result<Findings, Trouble> {
    let run = lab.run(experiment)?;
    let (start, slope) = run.line("angular", 0.1 * expected, 0.9 * expected);
    let (omega, radius, _) = SPIN;
    let inertia = run.first("angular") / omega;
    let (still, exact) = lab.at_rest(1.0);
    let rows = vec![
        Row::near(
            "time until it stops",
            "s",
            (expected, -start / slope),
            (allowed * expected + run.step, why),
            &run.command,
        ),
        Row::at_most(
            "speed of its rim afterwards",
            "m/s",
            run.last("angular").abs() / inertia * radius,
            (still, &exact),
            &run.command,
        ),
    ];
    let first = run.first("angular");
    let plots = vec![over_time(
        &format!("spinning down, {}", lab.method),
        "angular momentum [kg·m²/s]",
        vec![
            run.curve("angular", "measured"),
            formula("closed form", run.end(), |t| {
                first * (1.0 - t / expected).max(0.0)
            }),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// A torus touches the table along its lowest circle of radius R; r is the radius of its tube.
fn ring(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (omega, radius, mu) = SPIN;
    let tube = 0.005;
    let expected = omega * (radius * radius + 0.75 * tube * tube) / (mu * GRAVITY * radius);
    let run = Experiment::by_default("validation/ring");
    let why = "0.5 %: a ring of 64 pieces and a tube of 16; h";
    stops(lab, &run, expected, (0.005, why))
}

/// A stiff sheet bears its own weight where it lies, so that pressure is even; friction is μ p against the turning.
fn disc(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (omega, radius, mu) = SPIN;
    let rings: f64 = lab.choose(8.0, 16.0);
    let run = Experiment::by_default("validation/disc").with("body.disc.shape.rings", rings);
    let why = "2/n² for the masses of n rings of triangles at their corners; h";
    let expected = 0.75 * omega * radius / (mu * GRAVITY);
    stops(lab, &run, expected, (2.0 / (rings * rings), why))
}
