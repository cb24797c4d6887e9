//! Rods and friction: a rope round a capstan.

use std::f64::consts::PI;

use super::{Case, Experiment, Findings, Friction, Lab, Row, Trouble, lab::over_time};

pub fn cases() -> [Case; 1] {
    [Case {
        name: "capstan",
        title: "A rope round a cylinder slips when one end is pulled e^(μφ) times as hard as the other.",
        closed_form: "T₂/T₁ = e^(μφ) while it slides (Euler, Eytelwein); below, it rests.",
        run: capstan,
    }]
}

/// The radius of the rope's middle line round the cylinder at the start [m].
const WAY: f64 = 0.0514;
/// The straight run before and after it [m].
const RUN: f64 = 0.08;
/// The length of the springs that weights pull by [m].
const SPRING: f64 = 0.012;
/// The weight's own acceleration at the harder pulled end [m/s²]. It is the same for all ratios, so
/// that the rope stretches by no more than one in a hundred.
const PULL: f64 = 20.0;

/// The rope wrapped by `angle`, pulled at its far end `ratio` times as hard.
fn wrapped(angle: f64, mu: f64, ratio: f64) -> Experiment {
    let (sin, cos) = angle.sin_cos();
    let rise = if angle > PI { 0.004 } else { 0.0 };
    // The path turns to the right round (RUN, −WAY).
    let ahead = [cos, -sin, 0.0];
    let end: [f64; 3] = [
        RUN + WAY * sin + RUN * ahead[0],
        WAY * cos - WAY + RUN * ahead[1],
        rise,
    ];
    let beyond = |way: f64| std::array::from_fn(|c| end[c] + way * ahead[c]);
    let moves = format!(
        "[[{RUN}], [{WAY}, {:?}, {rise:?}], [{RUN}]]",
        -angle.to_degrees()
    );
    // About 5 mm, or 6°, to a segment.
    let segments = (200.0 * (2.0 * RUN + WAY * angle)).round();
    Experiment::of("validation/capstan")
        .certified(1e-8)
        .with("friction.default", mu)
        .with("body.rope.shape.moves", moves)
        .with("body.rope.shape.segments", segments)
        .with("probe.speed.node", (segments / 2.0).round())
        .with_vector("attachment.right.a.near", end)
        .with_vector("body.heavy.translate", beyond(SPRING))
        .with_vector("body.light.acceleration", [-PULL / ratio, 0.0, 0.0])
        .with_vector("body.heavy.acceleration", ahead.map(|a| a * PULL))
}

/// For every wrap and coefficient: what the ratio of tensions is while the rope slides, pulled 5 %
/// harder than it can hold, and whether it rests when pulled 1 % less.
fn capstan(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let angles = [("π/2", 0.5 * PI), ("π", PI), ("2π", 2.0 * PI)];
    let coefficients = lab.choose(&[0.3][..], &[0.1, 0.3, 0.5][..]);
    let cases: Vec<(&str, f64, f64)> = angles
        .iter()
        .flat_map(|&(name, angle)| coefficients.iter().map(move |&mu| (name, angle, mu)))
        .collect();
    let experiments: Vec<Experiment> = cases
        .iter()
        .flat_map(|&(_, angle, mu)| {
            let border = (mu * angle).exp();
            [
                wrapped(angle, mu, 1.05 * border),
                wrapped(angle, mu, 0.99 * border),
            ]
        })
        .collect();
    let runs = lab.run_all(&experiments)?;
    let mut findings = Findings::default();
    for ((name, angle, mu), pair) in cases.iter().zip(runs.chunks_exact(2)) {
        let border = (mu * angle).exp();
        let ratio = pair[0].last("right") / pair[0].last("left");
        findings.rows.push(Row::near(
            format!("φ = {name}, μ = {mu}, sliding: T₂/T₁"),
            "",
            (border, ratio),
            (
                0.01 * border,
                "1 %: a rope of segments bends 6° at a node, and has some stiffness and mass",
            ),
            &pair[0].command,
        ));
        let speed = pair[1].last("speed").abs();
        findings.rows.push(Row::at_most(
            format!("φ = {name}, μ = {mu}, pulled 1 % less: speed"),
            "m/s",
            speed,
            match lab.friction {
                Friction::Exact => (1e-6, "exact friction, while the weights come to rest"),
                Friction::Smoothed { epsilon } => (epsilon, "smoothed friction creeps"),
            },
            &pair[1].command,
        ));
    }
    if let [sliding, resting, ..] = &runs[..] {
        findings.plots.push(over_time(
            &format!("a rope round a quarter of a cylinder, {}", lab.method),
            "tension of the harder pulled end [N]",
            vec![
                sliding.curve("right", "5 % more than it holds"),
                resting.curve("right", "1 % less"),
            ],
        ));
    }
    Ok(findings)
}
