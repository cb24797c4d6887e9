//! Rods and friction: a rope round a capstan, a rod on an edge.

use std::f64::consts::PI;

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, Row, Trouble, ValidationCase, cloths::hangs,
    lab::over_time,
};

pub fn cases() -> [ValidationCase; 3] {
    [
        ValidationCase {
            name: "capstan",
            title: "A rope round a cylinder slips when one end is pulled e^(μφ) times as hard as the other.",
            closed_form: "T₂/T₁ = e^(μφ) while it slides (Euler, Eytelwein); below, it rests.",
            run: capstan,
        },
        ValidationCase {
            name: "edge",
            title: "A rod tips over an edge and slides off.",
            closed_form: "It begins to slide where tan θ = μ k²/(k² + 3 d²), k² = ℓ²/12, for a thin rod whose middle is d beyond the edge.",
            run: edge,
        },
        ValidationCase {
            name: "rope",
            title: "A rope over the edge of a table slides off when it hangs too far.",
            closed_form: "As overhang, with a slick edge: rest iff h + a < μ (L − π a/2 − h).",
            run: rope,
        },
    ]
}

/// The radius of the rope's centreline round the cylinder at the start [m].
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
    let beyond = |slid: f64| std::array::from_fn(|c| end[c] + slid * ahead[c]);
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
                FrictionAccuracy::Exact => (1e-6, "exact friction, while the weights come to rest"),
                FrictionAccuracy::Smoothed { epsilon } => (epsilon, "smoothed friction creeps"),
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

/// The rod's length, and the height of its centreline above the edge [m]: its radius and the
/// contact thickness.
const ROD: (f64, f64) = (0.3, 0.00021);

/// The angle at which a thin rod whose middle is `d` [m] beyond the edge begins to slide. It turns about the edge as
/// a pendulum does, with k² = ℓ²/12 and ½ (k² + d²) ω² = g d sin θ; the edge carries m g cos θ k²/(k² + d²) across the
/// rod and m g sin θ (1 + 2 d²/(k² + d²)) along it.
fn slides_at(d: f64, mu: f64) -> f64 {
    let k2 = ROD.0 * ROD.0 / 12.0;
    (mu * k2 / (k2 + 3.0 * d * d)).atan()
}

/// Steps for which friction must stay at its limit to be sliding and not the rod's trembling.
const LASTS: usize = 20;

fn edge(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let cases = lab.choose(
        &[(0.0375, 0.5)][..],
        &[(0.0125, 0.3), (0.0375, 0.3), (0.0375, 0.5), (0.0625, 0.5)][..],
    );
    let experiments: Vec<Experiment> = cases
        .iter()
        .map(|&(d, mu)| {
            Experiment::of("validation/edge")
                .certified(1e-8)
                .with("friction.default", mu)
                .with("time.step", lab.choose(5e-5, 2.5e-5))
                .with("time.duration", 0.12 + 0.003 / d)
                .with_vector("body.rod.translate", [d - 0.5 * ROD.0, 0.0, ROD.1])
        })
        .collect();
    let mut findings = Findings::default();
    for (&(d, mu), run) in cases.iter().zip(lab.run_all(&experiments)?) {
        let columns = ["x", "z", "root-x", "root-z"].map(|name| run.points(name));
        // Time, angle, and the displacement of the rod along itself: it sticks at its centreline.
        let slid: Vec<(f64, f64, f64)> = (0..columns[0].len())
            .map(|i| {
                let [x, z, root_x, root_z] = [0, 1, 2, 3].map(|c| columns[c][i].1);
                let theta = (root_z - z).atan2(x - root_x);
                let (sin, cos) = theta.sin_cos();
                (columns[0][i].0, theta, x * cos - (z - ROD.1) * sin - d)
            })
            .collect();
        let expected = slides_at(d, mu);
        let (along, across) = (run.probe("along"), run.probe("across"));
        let limit: Vec<bool> = along
            .iter()
            .zip(across)
            .map(|(t, n)| *n > 0.0 && *t >= 0.999 * mu * n)
            .collect();
        let begins = limit.windows(LASTS).position(|w| w.iter().all(|l| *l));
        let angle = begins.map(|i| slid[i].1);
        findings.rows.push(Row::near(
            format!(
                "middle {:.1} mm beyond the edge, μ = {mu}: begins to slide at",
                d * 1e3
            ),
            "°",
            (
                expected.to_degrees(),
                angle.unwrap_or(f64::NAN).to_degrees(),
            ),
            (
                0.02 * expected.to_degrees(),
                "2 %: first order in time, in which a turning rod loses some of its spin, and a rod that bends a little",
            ),
            &run.command,
        ));
        let before = slid.iter().filter(|w| w.1 < 0.95 * expected);
        let most = before.map(|w| w.2.abs()).fold(0.0, f64::max);
        findings.rows.push(Row::at_most(
            format!(
                "middle {:.1} mm beyond the edge, μ = {mu}: slide before",
                d * 1e3
            ),
            "m",
            most,
            match lab.friction {
                FrictionAccuracy::Exact => (
                    1e-6,
                    "exact friction; the rod bends and stretches as the load on it changes",
                ),
                FrictionAccuracy::Smoothed { epsilon } => {
                    (epsilon * run.end(), "smoothed friction creeps")
                }
            },
            &run.command,
        ));
        if findings.plots.is_empty() {
            findings.plots.push(over_time(
                &format!("a rod on an edge, {}", lab.method),
                "height of its middle [m]",
                vec![run.curve("z", "measured")],
            ));
        }
    }
    Ok(findings)
}

/// The rope begins straight, its front beyond the edge, and falls; its tail is held until it hangs still.
fn rope(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (length, a, mu) = (0.6, 0.0312, 0.5);
    let hung = |fraction: f64| {
        let tail = fraction * hangs((length, a, mu), 0.0) + 0.5 * PI * a - length;
        Experiment::by_default("validation/rope")
            .with_vector("body.rope.translate", [tail, 0.0, 0.0012])
            .with(
                "pin.tail.select.half_space.offset",
                format!("{:?}", -tail - 1e-4),
            )
            .with("body.rope.shape.segments", lab.choose(80, 120))
    };
    let runs = lab.run_all(&[hung(0.97), hung(1.06)])?;
    let (still, why) = lab.at_rest(1.0);
    let rows = vec![
        Row::at_most(
            "0.97 of the limit: speed of the tail",
            "m/s",
            runs[0].last("tail-speed").abs(),
            (still, &why),
            &runs[0].command,
        ),
        Row::at_most(
            "1.06 of the limit: 10 mm, less the displacement of the tail",
            "m",
            0.01 - (runs[1].last("tail") - runs[1].first("tail")),
            (0.0, "it slides on, more than it could stretch or creep"),
            &runs[1].command,
        ),
    ];
    let plots = vec![over_time(
        &format!("a rope over a slick edge, {}", lab.method),
        "place of its tail [m]",
        vec![
            runs[0].curve("tail", "0.97 of the limit"),
            runs[1].curve("tail", "1.06 of the limit"),
        ],
    )];
    Ok(Findings { rows, plots })
}
