//! Motion under friction: energy, impulses, stick and slip.

use stiction_record::plot::Series;
use stiction_sim::registry::ContactYielding;

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, Row, Trouble, ValidationCase,
    lab::{formula, over_time},
};

pub fn cases() -> [ValidationCase; 4] {
    [
        ValidationCase {
            name: "energy",
            title: "Contact and friction never create energy.",
            closed_form: "Contact forces push and friction resists: kinetic + elastic + potential energy never exceeds its start.",
            run: energy,
        },
        ValidationCase {
            name: "collision",
            title: "Two free bodies collide and slide: momentum stays, and the impulse along the faces is μ times the one across.",
            closed_form: "Σ p and Σ L are constant; while they slide, J_T = μ J_N.",
            run: collision,
        },
        ValidationCase {
            name: "oscillator",
            title: "A mass on a spring on a moving belt sticks and slips.",
            closed_form: "With ω² = k/m, Δ = (μs − μk) m g/k and the belt's speed V: sticking for 2Δ/V, slipping for \
                          (2/ω)(π − atan(Δω/V)), about μk m g/k with the amplitude √(Δ² + (V/ω)²).",
            run: oscillator,
        },
        ValidationCase {
            name: "stick-slip",
            title: "The same with the method as it comes, without any setting of its accuracy.",
            closed_form: "As oscillator.",
            run: stick_slip,
        },
    ]
}

/// A rigid box, a soft block and a cloth are thrown on a floor. Backward Euler loses energy, contact
/// may only lose it: no step ends above the start, and what contact does in a step is no gain.
fn energy(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let duration = lab.choose(0.5, 2.0);
    let run = lab.run(&Experiment::of("validation/energy").with("time.duration", duration))?;
    let start = run.first("energy");
    let most = run
        .probe("energy")
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let mut rows = vec![
        Row::at_most(
            "largest energy over the one at the start, less 1",
            "",
            most / start - 1.0,
            (1e-9, "rounding and the solver's tolerance"),
            &run.command,
        ),
        Row::at_most(
            "energy at the end over the one at the start, less 1",
            "",
            run.last("energy") / start - 1.0,
            (0.0, "thrown bodies have lost energy"),
            &run.command,
        ),
    ];
    if lab.contact == ContactYielding::Constraint {
        // A penalty keeps energy while it is compressed and gives it back.
        rows.push(Row::at_most(
            "largest work of contact in a step over the energy at the start",
            "",
            run.worst(|r| r.certificate.contact_work) / start,
            (
                1e-6,
                "only overlap within the solver's tolerance is pushed out",
            ),
            &run.command,
        ));
    }
    let plots = vec![over_time(
        &format!("three bodies thrown on a floor, {}", lab.method),
        "energy [J]",
        vec![
            run.curve("energy", "total"),
            run.curve("kinetic", "kinetic"),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// Two stiff sheets, without gravity. All forces are between them, so that momentum stays. Where they
/// slide all the time, every normal impulse dJ_N comes with μ dJ_N against the sliding.
///
/// Angular momentum stays up to two effects of first order: friction acts on faces that are the
/// contact thickness d apart, which is a couple of J_T d; and backward Euler moves bodies with the
/// velocity at the end of the step, which adds h J × p/m.
fn collision(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::of("validation/collision"))?;
    let (mu, mass, thickness) = (0.2, 0.2, 0.001);
    let change = |name: &str| run.last(name) - run.first(name);
    let (along, across) = (-change("small_x"), change("small_z"));
    let momentum = f64::hypot(run.first("small_x"), run.first("small_z"));
    // Velocities are right to the solver's tolerance over a step, and better with smooth forces.
    let exact = match lab.friction {
        FrictionAccuracy::Exact => 10.0 * 1e-10 / run.step * 2.0 * mass,
        FrictionAccuracy::Smoothed { .. } => 10.0 * 1e-8 * 2.0 * mass,
    };
    let mut rows = Vec::new();
    for (axis, name) in [("x", "total_x"), ("y", "total_y"), ("z", "total_z")] {
        rows.push(Row::near(
            format!("change of the total momentum along {axis}"),
            "kg·m/s",
            (0.0, change(name)),
            (
                exact,
                "ten steps of contact, each to the solver's tolerance",
            ),
            &run.command,
        ));
    }
    let impulse = f64::hypot(along, across);
    rows.push(Row::near(
        "change of the total angular momentum",
        "kg·m²/s",
        (0.0, change("spin")),
        (
            along * thickness + run.step * impulse * momentum / mass,
            "J_T d + h J p/m: a couple across the contact thickness, and the order of the integrator",
        ),
        &run.command,
    ));
    rows.push(Row::near(
        "impulse along the faces over the one across",
        "",
        (mu, along / across),
        (
            0.01 * mu,
            "1 %: the sheets bend and turn by less than 0.01 while they touch",
        ),
        &run.command,
    ));
    rows.push(Row::at_most(
        "energy at the end over the one at the start, less 1",
        "",
        run.last("energy") / run.first("energy") - 1.0,
        (0.0, "friction takes energy"),
        &run.command,
    ));
    let plots = vec![over_time(
        &format!("two sheets collide, {}", lab.method),
        "momentum of the small one [kg·m/s]",
        vec![
            run.curve("small_x", "along the faces"),
            run.curve("small_z", "across"),
        ],
    )];
    Ok(Findings { rows, plots })
}

/// m = 1 kg, k = 100 N/m, V = 0.1 m/s, μs = 0.5, μk = 0.3, g = 10 m/s².
///
/// It sticks while the spring pulls less than μs m g, that is up to x = x_k + Δ with x_k = μk m g/k
/// and Δ = (μs − μk) m g/k. Then m x'' = μk m g − k x from x_k + Δ with speed V:
/// x = x_k + Δ cos ωt + (V/ω) sin ωt, until x' = V again, at x_k − Δ after (2/ω)(π − atan(Δω/V)).
/// The belt then carries it back over 2Δ in 2Δ/V.
///
/// Exact methods tell sliding from sticking by a speed of u = 1e-5 m/s. From the border on, the speed
/// over the belt grows as ½ k V t²/m, so that μk takes over √(2 m u/(k V)) = 1.4 ms late: Δ is larger
/// by what the belt moves until then, 0.14 mm.
///
/// Springs of contact points share what friction adds since the last slip equally, while the spring's moment, at c = 1/8 of half the
/// box's length above the contact, shares the weight as 1 ± c F/(m g). When it stops, each point bears μk of its share; the one that
/// bears less slips again at μk/2 (1 − c μk) + (F/(m g) − μk)/2 = μs/2 (1 − c F/(m g)), and all others with it, since they would have to
/// bear more than μs. So F/(m g) = (μs + c μk²)/(1 + c μs) = 0.481 takes the place of μs.
///
/// Smoothed friction has no border: the same equation with μ(v) s(v; ε) m g in place of friction is
/// integrated with steps of 2 µs by Runge and Kutta's method instead.
fn oscillator(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    oscillates(lab, Experiment::of("validation/oscillator"))
}

fn stick_slip(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    oscillates(lab, Experiment::by_default("validation/oscillator"))
}

fn oscillates(lab: &Lab<'_>, experiment: Experiment) -> Result<Findings, Trouble> {
    let step = lab.choose(0.0005, 0.0001);
    let run = lab.run(&experiment.with("time.step", step))?;
    let (rest, kinetic, g, k, belt) = (0.5, 0.3, 10.0, 100.0, 0.1);
    let omega = f64::sqrt(k);
    let centre = kinetic * g / k;
    let lever = 0.125;
    let breaks = match lab.contact {
        ContactYielding::Springs => (rest + lever * kinetic * kinetic) / (1.0 + lever * rest),
        _ => rest,
    };
    let delta = (breaks - kinetic) * g / k;
    let stick = 2.0 * delta / belt;
    let slip = 2.0 / omega * (std::f64::consts::PI - (delta * omega / belt).atan());
    // Backward Euler damps the half turn of slipping by exp(−π ω h/2).
    let damping = std::f64::consts::PI * omega * step;
    let (expected, curve, late, why) = match lab.friction {
        FrictionAccuracy::Exact => {
            let first = (centre + delta) / belt;
            let period = stick + slip;
            let curve = formula("closed form", run.end(), |t| {
                if t < first {
                    return belt * t;
                }
                let t = (t - first) % period;
                if t < slip {
                    centre + delta * (omega * t).cos() + belt / omega * (omega * t).sin()
                } else {
                    centre - delta + belt * (t - slip)
                }
            });
            let expected = Cycle {
                period,
                amplitude: f64::hypot(delta, belt / omega),
                middle: centre,
            };
            let why = "π ω h, twice what backward Euler damps while it slips, and the belt's displacement until a speed of 1e-5 m/s tells that it slides";
            (expected, curve, f64::sqrt(2.0 * 1e-5 / (k * belt)), why)
        }
        FrictionAccuracy::Smoothed { .. } => {
            let law = |v: f64| lab.friction.coefficient(rest, kinetic, v);
            let points = smoothed(|x, v| law(belt - v) * g - k * x, belt, run.end());
            let expected = Cycle::of(&points, centre);
            let curve = Series {
                name: "smoothed law, integrated".to_owned(),
                points,
            };
            let why = "π ω h: twice what backward Euler damps while it slips";
            (expected, curve.thinned(600), 0.0, why)
        }
    };
    let seen = Cycle::of(&run.points("x"), centre);
    let row = |name: &str, unit, pair, tolerance| {
        Row::near(name, unit, pair, (tolerance, why), &run.command)
    };
    let rows = vec![
        row(
            "period",
            "s",
            (expected.period, seen.period),
            damping * expected.period + 2.0 * late,
        ),
        row(
            "amplitude",
            "m",
            (expected.amplitude, seen.amplitude),
            damping * expected.amplitude + belt * late,
        ),
        row(
            "middle",
            "m",
            (expected.middle, seen.middle),
            damping * expected.amplitude + belt * late,
        ),
    ];
    let plots = vec![over_time(
        &format!("stick and slip, {}", lab.method),
        "place [m]",
        vec![run.curve("x", "measured"), curve],
    )];
    Ok(Findings { rows, plots })
}

/// The periodic motion after the first second.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    period: f64,
    amplitude: f64,
    middle: f64,
}

impl Cycle {
    /// Of times and places; periods are those of upward crossings of `centre`.
    fn of(points: &[(f64, f64)], centre: f64) -> Self {
        let later: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.0 >= 1.0).collect();
        let mut crossings = Vec::new();
        for pair in later.windows(2) {
            let ((t0, a), (t1, b)) = (pair[0], pair[1]);
            if a < centre && b >= centre {
                crossings.push(t0 + (t1 - t0) * (centre - a) / (b - a));
            }
        }
        let cycles = crossings.len().saturating_sub(1) as f64;
        let period = match (crossings.first(), crossings.last()) {
            (Some(first), Some(last)) if cycles > 0.0 => (last - first) / cycles,
            _ => f64::NAN,
        };
        let highest = later.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
        let lowest = later.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
        Self {
            period,
            amplitude: 0.5 * (highest - lowest),
            middle: 0.5 * (highest + lowest),
        }
    }
}

/// x'' = a(x, x') from x = 0 with speed `v`, by the classical method of fourth order; a point per ms.
fn smoothed(a: impl Fn(f64, f64) -> f64, mut v: f64, end: f64) -> Vec<(f64, f64)> {
    let h = 2e-6;
    let mut x = 0.0;
    let mut points = vec![(0.0, x)];
    for i in 1..=(end / h) as u64 {
        let k1 = (v, a(x, v));
        let k2 = (
            v + 0.5 * h * k1.1,
            a(x + 0.5 * h * k1.0, v + 0.5 * h * k1.1),
        );
        let k3 = (
            v + 0.5 * h * k2.1,
            a(x + 0.5 * h * k2.0, v + 0.5 * h * k2.1),
        );
        let k4 = (v + h * k3.1, a(x + h * k3.0, v + h * k3.1));
        x += h / 6.0 * (k1.0 + 2.0 * k2.0 + 2.0 * k3.0 + k4.0);
        v += h / 6.0 * (k1.1 + 2.0 * k2.1 + 2.0 * k3.1 + k4.1);
        if i % 500 == 0 {
            points.push((i as f64 * h, x));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_measured_and_an_oscillator_integrated() {
        // x'' = −100 x from rest at 0 with speed 2: 0.2 sin 10 t.
        let points = smoothed(|x, _| -100.0 * x, 2.0, 4.0);
        for (t, x) in &points {
            assert!((x - 0.2 * (10.0 * t).sin()).abs() < 1e-9, "{t} {x}");
        }
        let cycle = Cycle::of(&points, 0.0);
        assert!(
            (cycle.period - std::f64::consts::TAU / 10.0).abs() < 1e-5,
            "{cycle:?}"
        );
        assert!((cycle.amplitude - 0.2).abs() < 1e-5 && cycle.middle.abs() < 1e-5);
    }
}
