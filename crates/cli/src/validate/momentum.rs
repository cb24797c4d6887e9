//! Momentum and angular momentum of two free bodies that rub.

use super::{Experiment, Findings, FrictionAccuracy, Lab, LabRun, Row, Trouble, ValidationCase};

pub fn cases() -> [ValidationCase; 3] {
    [
        ValidationCase {
            name: "momentum-rigid",
            title: "Two rigid bodies collide and rub: their angular momentum stays in every step.",
            closed_form: "Σ m x × v + I ω is constant: forces at a contact are opposite and act at one point.",
            run: |lab| pair(lab, [Make::Rigid, Make::Rigid]),
        },
        ValidationCase {
            name: "momentum-mixed",
            title: "The same with a soft body on a rigid one.",
            closed_form: "As momentum-rigid, up to h ∫ |f| |v| dt of backward Euler in the soft body.",
            run: |lab| pair(lab, [Make::Rigid, Make::Soft]),
        },
        ValidationCase {
            name: "momentum-soft",
            title: "The same with two soft bodies.",
            closed_form: "As momentum-mixed.",
            run: |lab| pair(lab, [Make::Soft, Make::Soft]),
        },
    ]
}

#[derive(Clone, Copy, PartialEq)]
enum Make {
    Rigid,
    Soft,
}

/// A change of the total in one step, or over the run, of the three components [of a probe].
fn changes(run: &LabRun, name: &str) -> (f64, f64) {
    let columns = ["x", "y", "z"].map(|a| run.probe(&format!("{name}-{a}")));
    let at = |i: usize| columns.map(|c| c.get(i).copied().unwrap_or(f64::NAN));
    let length = |a: [f64; 3], b: [f64; 3]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b) * (a - b))
            .sum::<f64>()
            .sqrt()
    };
    let count = columns[0].len();
    if count < 2 {
        return (f64::NAN, f64::NAN);
    }
    let in_step = (1..count)
        .map(|i| length(at(i), at(i - 1)))
        .fold(0.0, |most: f64, d| if d.is_nan() { d } else { most.max(d) });
    (in_step, length(at(count - 1), at(0)))
}

/// The contact gives J to one body and −J to the other at the same point, so that Σ x × J = 0. In backward Euler
/// x⁺ = x + h v⁺, so that L⁺ = Σ x⁺ × p⁺ = Σ x × p⁺ and L changes by Σ x × (impulses), x at the start of the step: what acts
/// at one point there leaves L as it is, to rounding. Elastic forces have no torque about the places at the end of the
/// step, where they are evaluated, but −h Σ v × f about those at the start: a soft body may change L by h times the
/// impulse of its forces times its speed, no more. A couple J_T d across the contact thickness d would be larger:
/// μ d = 0.6 mm, h v = 0.066 mm with steps of 0.1 ms.
fn pair(lab: &Lab<'_>, [large, small]: [Make; 2]) -> Result<Findings, Trouble> {
    let soft = large == Make::Soft || small == Make::Soft;
    let mut experiment = Experiment::by_default("validation/pair");
    let cells = [
        ("large", large, "[4, 4, 1]", "[0.2, 0.2, 0.05]"),
        ("small", small, "[2, 2, 2]", "[0.05, 0.05, 0.05]"),
    ];
    for (body, make, cells, size) in cells {
        if make == Make::Soft {
            experiment = experiment
                .with(&format!("body.{body}.kind"), "solid")
                .with(
                    &format!("body.{body}.shape"),
                    format!("{{type=\"box\", size={size}, cells={cells}}}"),
                )
                .with(
                    &format!("body.{body}.material"),
                    "{kind=\"solid\", density=500, young=1e6, poisson=0.3}",
                );
        }
    }
    if soft {
        experiment = experiment
            .with("time.step", 1e-4)
            .with("time.duration", 0.02);
    }
    let run = lab.run(&experiment)?;
    // The small body: 0.0625 kg, 0.66 m/s, off the other's centre by 0.07 m.
    let speed = f64::sqrt(0.5 * 0.5 + 2.0 * 0.3 * 0.3);
    let momentum = 0.05f64.powi(3) * 500.0 * speed;
    let scale = momentum * 0.07;
    let (spin_step, spin) = changes(&run, "spin");
    let (total_step, _) = changes(&run, "total");
    let impulse = {
        let (_, gained) = changes(&run, "small");
        gained
    };
    let mut rows = vec![
        Row::at_most(
            "0.1 of the momentum, less the impulse of the contact",
            "kg·m/s",
            0.1 * momentum - impulse,
            (0.0, "they do touch"),
            &run.command,
        ),
        Row::at_most(
            "largest change of the total momentum in a step, over the small body's",
            "",
            total_step / momentum,
            match lab.friction {
                _ if !soft => (1e-12, "rounding: forces are opposite"),
                FrictionAccuracy::Exact => (
                    1e-7,
                    "forces are opposite; elastic ones to what the linearisations of a step leave of Newton's law",
                ),
                FrictionAccuracy::Smoothed { .. } => (1e-7, "the default tolerance of 1e-8 m/s"),
            },
            &run.command,
        ),
    ];
    if soft {
        rows.push(Row::at_most(
            "change of the total angular momentum, over J · 1 m",
            "m",
            spin / impulse,
            (
                run.step * speed,
                "h v: backward Euler in a soft body; a couple across the contact thickness d would be μ d = 0.6 mm",
            ),
            &run.command,
        ));
    } else {
        let allowed = match lab.friction {
            FrictionAccuracy::Exact => (1e-12, "rounding: forces act at one point"),
            FrictionAccuracy::Smoothed { .. } => (
                1e-6,
                "the default tolerance of 1e-8 m/s over the speed, a hundred times",
            ),
        };
        rows.push(Row::at_most(
            "largest change of the angular momentum in a step, over its scale",
            "",
            spin_step / scale,
            allowed,
            &run.command,
        ));
    }
    Ok(Findings {
        rows,
        plots: Vec::new(),
    })
}
