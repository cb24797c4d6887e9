//! Deformable bodies that lie flat on one another: what should rest comes to rest, whatever the time step.

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, LabRun, Row, Trouble, ValidationCase,
    lab::{GRAVITY, over_time},
};

pub fn cases() -> [ValidationCase; 2] {
    [
        ValidationCase {
            name: "sheets",
            title: "Stacks of two to five sheets on a slope come to rest, aligned or turned.",
            closed_form: "tan 20° = 0.364 < μ = 0.5 in every joint: nothing moves, and contacts do no work.",
            run: sheets,
        },
        ValidationCase {
            name: "pyramid",
            title: "A pyramid of six soft boxes comes to rest.",
            closed_form: "Oscillations die down, then nothing moves, and contacts do no work.",
            run: pyramid,
        },
    ]
}

/// Velocity error that exact methods leave in a step by default [m/s].
const ERROR: f64 = 1e-9;

fn steps(lab: &Lab<'_>) -> &'static [f64] {
    lab.choose(&[0.01], &[0.01, 0.005, 0.001])
}

/// Each stack with its cells aligned, and with every sheet turned by 17° against the one below.
fn sheets(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let names: Vec<(String, f64)> = (2..=5)
        .flat_map(|n| (1..=n).map(move |i| (format!("sheet-{n}-{i}"), 17.0 * f64::from(i - 1))))
        .collect();
    let mut made = Vec::new();
    for step in steps(lab) {
        for turned in [false, true] {
            let mut one = Experiment::by_default("validation/sheets")
                .with("time.step", step)
                .with("time.duration", lab.choose(0.6, 1.0));
            for (name, angle) in names.iter().filter(|_| turned) {
                let turn = format!("{{axis=[0,0,1], angle={angle:?}}}");
                one = one.with(&format!("body.{name}.rotate"), turn);
            }
            let how = if turned { "turned" } else { "aligned" };
            made.push((format!("{how}, {} ms", 1e3 * step), one));
        }
    }
    let names: Vec<&str> = names.iter().map(|n| n.0.as_str()).collect();
    let weight = 14.0 * 0.04 * 0.2 * GRAVITY;
    judge(lab, made, &names, (weight, 5.0))
}

fn pyramid(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let names = [
        "box-1-1", "box-1-2", "box-1-3", "box-2-1", "box-2-2", "box-3-1",
    ];
    let with = |step: &f64| {
        let made = Experiment::by_default("validation/pyramid").with("time.step", step);
        (format!("{} ms", 1e3 * step), made)
    };
    let made = steps(lab).iter().map(with).collect();
    judge(lab, made, &names, (6.0 * GRAVITY, 3.0))
}

/// Creep and contact work in the last quarter of each run. Contacts at rest bear `weight` [N] each time, over up to
/// `joints` of them in series: an error of a velocity does the work of that impulse at most.
fn judge(
    lab: &Lab<'_>,
    made: Vec<(String, Experiment)>,
    names: &[&str],
    (weight, joints): (f64, f64),
) -> Result<Findings, Trouble> {
    let experiments: Vec<Experiment> = made.iter().map(|m| m.1.clone()).collect();
    let runs = lab.run_all(&experiments)?;
    let mut rows = Vec::new();
    for ((how, _), run) in made.iter().zip(&runs) {
        let late = (0.75 * run.end(), run.end());
        let creep = |name: &&str| run.line(name, late.0, late.1).1.abs();
        let worst = |most: f64, speed: f64| match speed.is_nan() {
            true => speed,
            false => most.max(speed),
        };
        let (bound, why) = lab.at_rest(joints);
        rows.push(Row::near(
            format!("{how}: creep of the fastest in the last quarter"),
            "m/s",
            (0.0, names.iter().map(creep).fold(0.0, worst)),
            (bound, &why),
            &run.command,
        ));
        if lab.friction == FrictionAccuracy::Exact {
            rows.push(work(how, run, weight * joints));
        }
    }
    let plots = vec![over_time(
        &format!("{}, {}", made[0].0, lab.method),
        "distance from the start [m]",
        names.iter().map(|n| runs[0].curve(n, n)).collect(),
    )];
    Ok(Findings { rows, plots })
}

/// The most work that contacts do in a step of the last quarter: what an error of the velocities does on the load.
fn work(how: &str, run: &LabRun, load: f64) -> Row {
    Row::at_most(
        format!("{how}: most work of all contacts in a step of the last quarter"),
        "J",
        run.worst_after(0.75 * run.end(), |r| r.certificate.contact_work),
        (
            load * run.step * ERROR,
            "the impulses of a step, of all joints, times the error of 1e-9 m/s that the solver leaves",
        ),
        &run.command,
    )
}
