//! Cloth and friction: pulled away, over an edge, on a drum.

use std::f64::consts::{FRAC_PI_2, PI};

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, Row, Trouble, ValidationCase,
    lab::{GRAVITY, over_time},
    ode::integrate,
};

pub fn cases() -> [ValidationCase; 3] {
    [
        ValidationCase {
            name: "tablecloth",
            title: "A box on a tablecloth that is pulled away moves a little and stays on the table.",
            closed_form: "It gains μ g t until the cloth has left it, V t − ½ μ g t² = ℓ, and loses it on the table: μ g t² in all.",
            run: tablecloth,
        },
        ValidationCase {
            name: "overhang",
            title: "A cloth over the edge of a table slides off when it hangs too far.",
            closed_form: "Slick edge of radius a: rest iff h + a < μ (L − π a/2 − h), for a → 0 iff h < L μ/(1 + μ). Rough edge: \
                          T' = μ (T + w a cos φ) − w a sin φ round it.",
            run: overhang,
        },
        ValidationCase {
            name: "belt",
            title: "A cloth belt on a turning drum: its tensions are e^(μφ) apart.",
            closed_form: "T₂/T₁ = e^(μπ) for half a turn (Euler, Eytelwein).",
            run: belt,
        },
    ]
}

/// The cloth's rear edge begins 0.2 m behind the middle of the box, which is 20 mm long: it leaves the box while it passes
/// from its rear to its front.
fn tablecloth(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::by_default("validation/tablecloth"))?;
    let (speed, brake) = (3.0, 0.2 * GRAVITY);
    let path = |reach: f64| {
        let t = (speed - f64::sqrt(speed * speed - 2.0 * brake * reach)) / brake;
        (t, brake * t * t)
    };
    let (time, expected) = path(0.2);
    let uncertain = 0.5 * (path(0.21).1 - path(0.19).1);
    let rows = vec![
        Row::near(
            "acceleration on the cloth",
            "m/s²",
            (brake, run.line("speed", 0.1 * time, 0.9 * time).1),
            (
                0.005 * brake,
                "0.5 %: the cloth moves evenly, and trembles a little",
            ),
            &run.command,
        ),
        Row::near(
            "displacement of the box",
            "m",
            (expected, run.last("x")),
            (
                uncertain + brake * time * run.step,
                "the cloth passes below the box from its rear to its front; v h for a first-order integrator",
            ),
            &run.command,
        ),
        {
            let (still, why) = lab.at_rest(1.0);
            Row::at_most(
                "speed at the end",
                "m/s",
                run.last("speed").abs(),
                (still, &why),
                &run.command,
            )
        },
    ];
    let plots = vec![over_time(
        &format!("a tablecloth is pulled away, {}", lab.method),
        "speed of the box [m/s]",
        vec![run.curve("speed", "measured")],
    )];
    Ok(Findings { rows, plots })
}

/// Length of the strip, radius of its centreline round the edge [m], μ.
const STRIP: (f64, f64, f64) = (0.6, 0.031, 0.5);

/// The length that hangs straight down at the limit [m], of a strip or rope with its length, its radius round the edge [m]
/// and μ on the table, over an edge with another μ. Weight per length is 1: round a slick edge the tension is the
/// height, h + a at the top. Round a rough one, friction bears μ' (T + a cos φ) of it per angle φ from the top.
pub fn hangs((length, a, mu): (f64, f64, f64), edge: f64) -> f64 {
    let pull = |h: f64| {
        let [tension, _] = integrate([h, FRAC_PI_2], FRAC_PI_2, 200, |&[t, phi]| {
            let (sin, cos) = phi.sin_cos();
            [a * sin - edge * (t + a * cos), -1.0]
        });
        tension - mu * (length - a * FRAC_PI_2 - h)
    };
    let (mut low, mut high) = (0.0, length);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match pull(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// The strip begins flat, its front beyond the edge, and falls; its tail is held until it hangs still.
fn overhang(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (length, a, mu) = STRIP;
    let hung = |edge: f64, fraction: f64| {
        let beyond = fraction * hangs(STRIP, edge) + a * FRAC_PI_2;
        let middle = beyond - 0.5 * length;
        Experiment::by_default("validation/overhang")
            .with("friction.default", mu)
            .with("friction.pair.0.static", edge)
            .with_vector("body.cloth.translate", [middle, 0.0, 0.001])
            .with(
                "pin.tail.select.half_space.offset",
                format!("{:?}", length - beyond - 1e-4),
            )
            .with("body.cloth.shape.cells", lab.choose("[80, 1]", "[120, 1]"))
    };
    let kinds: &[(&str, f64)] = lab.choose(&[("slick", 0.0)], &[("slick", 0.0), ("rough", 0.3)]);
    let experiments: Vec<Experiment> = kinds
        .iter()
        .flat_map(|&(_, edge)| [hung(edge, 0.97), hung(edge, 1.06)])
        .collect();
    let runs = lab.run_all(&experiments)?;
    let mut found = Findings::default();
    let (still, why) = lab.at_rest(1.0);
    for ((name, _), pair) in kinds.iter().zip(runs.chunks_exact(2)) {
        let moved = |i: usize| pair[i].last("tail") - pair[i].first("tail");
        found.rows.push(Row::at_most(
            format!("{name} edge, 0.97 of the limit: speed of the tail"),
            "m/s",
            pair[0].last("tail-speed").abs(),
            (still, &why),
            &pair[0].command,
        ));
        // Held at its tail, the strip is stretched, by less than w L²/2Et: it relaxes by that.
        let stretch = 0.3 * GRAVITY * length * length / (2.0 * 1e6 * 1e-3);
        found.rows.push(Row::at_most(
            format!("{name} edge, 0.97 of the limit: displacement of the tail"),
            "m",
            moved(0),
            (
                match lab.friction {
                    FrictionAccuracy::Exact => stretch,
                    FrictionAccuracy::Smoothed { epsilon } => stretch + 1.05 * epsilon,
                },
                "w L²/(2 E t) with 1e6 Pa · 1 mm: the tail that was held relaxes by the stretch of the strip; and smoothed friction creeps",
            ),
            &pair[0].command,
        ));
        found.rows.push(Row::at_most(
            format!("{name} edge, 1.06 of the limit: 10 mm, less the displacement of the tail"),
            "m",
            0.01 - moved(1),
            (0.0, "it slides on, more than it could stretch or creep"),
            &pair[1].command,
        ));
    }
    found.plots.push(over_time(
        &format!("a cloth over a slick edge, {}", lab.method),
        "place of its tail [m]",
        vec![
            runs[0].curve("tail", "0.97 of the limit"),
            runs[1].curve("tail", "1.06 of the limit"),
        ],
    ));
    Ok(found)
}

/// The held half of the belt bears T₁ and T₂; the drum pulls with T₁ + T₂ and turns with (T₂ − T₁) R. The radius at which
/// friction acts is between that of the drum and that of the belt, which is the contact thickness of 0.2 mm larger.
fn belt(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let coefficients: &[f64] = lab.choose(&[0.3], &[0.1, 0.3, 0.5]);
    let experiments: Vec<Experiment> = coefficients
        .iter()
        .map(|mu| {
            Experiment::by_default("validation/belt-brake")
                .with("friction.default", mu)
                .with("time.duration", lab.choose(0.2, 0.6))
        })
        .collect();
    let mut found = Findings::default();
    for (mu, run) in coefficients.iter().zip(lab.run_all(&experiments)?) {
        let (drum, radius) = (0.103, 0.0501);
        let both = run.last("pull").abs();
        let torque = (run.last("torque") - drum * run.last("side")).abs();
        let ratio = (both + torque / radius) / (both - torque / radius);
        let expected = (mu * PI).exp();
        // d(ratio)/ratio = 2 ρ/(1 − ρ²) δ for ρ = (T₂ − T₁)/(T₂ + T₁), of which the radius makes δ = 0.2 % ρ.
        let rho = (expected - 1.0) / (expected + 1.0);
        found.rows.push(Row::near(
            format!("μ = {mu}: T₂/T₁"),
            "",
            (expected, ratio),
            (
                expected * (0.01 + 0.002 * 2.0 * rho / (1.0 - rho * rho)),
                "1 %: a belt of segments bends 5° at a node, and has some stiffness; 0.2 % of the radius",
            ),
            &run.command,
        ));
        if found.plots.is_empty() {
            found.plots.push(over_time(
                &format!("a belt on a drum, {}", lab.method),
                "torque about the origin [N·m]",
                vec![run.curve("torque", "measured")],
            ));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hanging_length_is_that_of_the_textbook() {
        // A sharp, slick edge: L μ/(1 + μ). A round, slick one: h + a = μ (L − π a/2 − h).
        assert!((hangs((0.6, 1e-9, 0.5), 0.0) - 0.2).abs() < 1e-8);
        let h = hangs(STRIP, 0.0);
        let (length, a, mu) = STRIP;
        assert!((h + a - mu * (length - FRAC_PI_2 * a - h)).abs() < 1e-9);
        // A sharp, rough one multiplies the tension that holds by e^(μ'π/2).
        let rough = hangs((0.6, 1e-9, 0.5), 0.3);
        assert!((rough - 0.5 * (0.3 * FRAC_PI_2).exp() * (0.6 - rough)).abs() < 1e-7);
    }
}
