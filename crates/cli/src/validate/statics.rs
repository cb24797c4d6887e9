//! Things that lean, lie and jam: when rigid and elastic bodies stay where friction holds them.

use stiction_math::{Mat3, Vec3};

use super::{
    Experiment, Findings, FrictionAccuracy, Lab, Row, Trouble, ValidationCase,
    lab::{GRAVITY, over_time},
    ode::integrate,
};

pub fn cases() -> [ValidationCase; 5] {
    [
        ValidationCase {
            name: "board",
            title: "A board that leans at a wall rests exactly when it is steep enough.",
            closed_form: "Floor and wall with the same μ: rest iff tan θ > (1 − μ²)/(2 μ + (1 + μ²) t/L), θ above the floor.",
            run: board,
        },
        ValidationCase {
            name: "lock",
            title: "A block on a self-locking wedge rests with any time step.",
            closed_form: "Rest iff tan α < μ; otherwise a = g (sin α − μ cos α), while the wedge rests on the floor.",
            run: lock,
        },
        ValidationCase {
            name: "plates",
            title: "Of three plates, the middle one pulled, the weakest joint slips first.",
            closed_form: "μ = 0.3, 0.2, 0.3 from below, F on the middle plate of mass m: rest up to F = 2 μ₂ m g; then two \
                          plates go with (F − 2 μ₂ m g)/2m, up to F = 2 (μ₂ + μ₃) m g; then the upper one goes with μ₃ g and the \
                          middle one with F/m − (2 μ₂ + μ₃) g.",
            run: plates,
        },
        ValidationCase {
            name: "pedestal",
            title: "A plate rests on the edges of a narrower pedestal.",
            closed_form: "Its weight acts between the edges and tan 5° < μ: nothing moves, and the edges bear m g cos 5°.",
            run: pedestal,
        },
        ValidationCase {
            name: "painleve",
            title: "Painlevé's rod: the rod jams, and energy does not grow.",
            closed_form: "μ |x z| > I/m + x² for the contact at (x, z) from the centre of mass: no finite force balances, an \
                          impulse stops the end: K p = −v with K = 1/m + r×r×/I.",
            run: painleve,
        },
    ]
}

/// Length and thickness of the board, and the contact thickness [m].
const BOARD: (f64, f64, f64) = (1.0, 0.02, 0.0001);

/// tan θ below which the board slides.
///
/// Its lower corners F at the floor and W at the wall are L apart along the board, and its centre of mass is t/2 above
/// the line between them. At the limit, friction is μ N₁ at the floor and μ N₂ at the wall: N₂ = μ N₁ and
/// N₁ + μ N₂ = m g, so that N₂ = m g μ/(1 + μ²). Moments about F:
/// N₂ L sin θ + μ N₂ L cos θ = m g (½ L cos θ − ½ t sin θ).
/// Steeper, less than the limit is needed at both ends.
fn steepest(mu: f64) -> f64 {
    (1.0 - mu * mu) / (2.0 * mu + (1.0 + mu * mu) * BOARD.1 / BOARD.0)
}

/// The board at the angle θ above the floor [rad], its corners the contact thickness away from floor and wall.
fn leaning(scene: &'static str, theta: f64) -> Experiment {
    let (length, t, d) = BOARD;
    let (sin, cos) = theta.sin_cos();
    let middle = [
        d + 0.5 * (length * cos + t * sin),
        0.0,
        d + 0.5 * (length * sin + t * cos),
    ];
    Experiment::by_default(scene)
        .with("body.board.rotate.angle", theta.to_degrees())
        .with_vector("body.board.translate", middle)
}

/// Distance of the foot of the sliding board after `time` [m]: both ends slide. With the corners on
/// floor and wall,
/// x = d + ½ L cos θ + ½ t sin θ and z = d + ½ L sin θ + ½ t cos θ; N₁, N₂ and θ'' follow from m x'' = N₂ − μ N₁,
/// m z'' = N₁ + μ N₂ − m g and I θ'' = Σ (r × f)_y.
fn slides(theta: f64, mu: f64, time: f64) -> f64 {
    let (length, t, _) = BOARD;
    let inertia = (length * length + t * t) / 12.0;
    let [end, _] = integrate([theta, 0.0], time, 2000, |&[theta, omega]| {
        let (s, c) = theta.sin_cos();
        let (a, b) = (0.5 * length, 0.5 * t);
        let first = [-a * s + b * c, a * c - b * s];
        let second = [-a * c - b * s, -a * s - b * c];
        let foot = [a * c - b * s, -a * s - b * c];
        let top = [-a * c - b * s, a * s - b * c];
        // Unknown: N₁/m, N₂/m, θ''.
        let matrix = Mat3::new(
            -mu,
            1.0,
            -first[0],
            1.0,
            mu,
            -first[1],
            -mu * foot[1] - foot[0],
            top[1] - mu * top[0],
            -inertia,
        );
        let square = omega * omega;
        let right = Vec3::new(second[0] * square, GRAVITY + second[1] * square, 0.0);
        let found = matrix.lu().solve(&right).map_or(f64::NAN, |x| x[2]);
        [omega, found]
    });
    // The probe follows the upper corner there, which is t above the lower one, across the board.
    length * (end.cos() - theta.cos()) + t * (end.sin() - theta.sin())
}

fn board(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let mu = 0.4;
    let limit = steepest(mu);
    let rigid = |fraction: f64| leaning("validation/board", (fraction * limit).atan());
    let elastic = |fraction: f64| {
        leaning("validation/board-elastic", (fraction * limit).atan())
            .with("time.duration", lab.choose(1.5, 3.0))
    };
    let runs = lab.run_all(&[
        rigid(1.02),
        rigid(0.98),
        rigid(0.9).with("time.duration", 0.4),
        elastic(1.02),
        elastic(0.98),
    ])?;
    let moved = |i: usize| runs[i].last("foot") - runs[i].first("foot");
    let mut found = Findings::default();
    for (i, name) in [(0, "rigid"), (3, "elastic")] {
        let half = 0.5 * runs[i].end();
        let (most, why) = lab.at_rest(2.0);
        found.rows.push(Row::at_most(
            format!("{name}, tan θ = 1.02 of the limit: speed in the last tenth"),
            "m/s",
            runs[i].most("speed", 1.8 * half, 2.0 * half),
            (most, &why),
            &runs[i].command,
        ));
    }
    for (i, name) in [(1, "rigid"), (4, "elastic")] {
        found.rows.push(Row::at_most(
            format!("{name}, tan θ = 0.98 of the limit: 5 mm, less the displacement of its foot"),
            "m",
            0.005 - moved(i),
            (
                0.0,
                "it slides on: 5 mm are more than creep and bending could be",
            ),
            &runs[i].command,
        ));
    }
    let expected = slides((0.9 * limit).atan(), mu, runs[2].end());
    found.rows.push(Row::near(
        "rigid, tan θ = 0.9 of the limit: displacement of its foot",
        "m",
        (expected, moved(2)),
        (
            expected
                * (2.0 * BOARD.2 / (0.1 * BOARD.0)
                    + 2.0 * (runs[2].step + lab.falls(BOARD.2)) / runs[2].end()),
            "d/L of the 10 % that friction lacks at each end, for the contact thickness d; 2 h/T for a first-order \
             integrator, and as much for the time in which a penalty comes to bear",
        ),
        &runs[2].command,
    ));
    found.plots.push(over_time(
        &format!("a leaning board, {}", lab.method),
        "place of its foot [m]",
        vec![
            runs[0].curve("foot", "2 % steeper than the limit"),
            runs[1].curve("foot", "2 % flatter"),
        ],
    ));
    Ok(found)
}

/// The wedge is isosceles with half a base of 0.3 m; the block lies in the middle of a face. The wedge presses on the
/// floor with the whole weight, and while the block rests the floor bears no friction at all; while it slides, it bears
/// N (sin α − μ cos α), far below μ times the weight.
fn lock(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let (mu, base, d, half) = (0.4, 0.3, 0.001, 0.02);
    let on = |steepness: f64, step: f64, time: f64| {
        let height = base * mu * steepness;
        let alpha = (mu * steepness).atan();
        let (sin, cos) = alpha.sin_cos();
        let scale = [height / 1.5, base / 0.75f64.sqrt(), 1.0];
        let middle = [
            0.5 * base + (half + d) * sin,
            0.0,
            0.5 * height + (half + d) * cos + d,
        ];
        Experiment::by_default("validation/lock")
            .with("friction.default", mu)
            .with("time.step", step)
            .with("time.duration", time)
            .with_vector("body.wedge.scale", scale)
            .with_vector("body.wedge.translate", [0.0, 0.0, height / 3.0 + d])
            .with("body.block.rotate.angle", alpha.to_degrees())
            .with_vector("body.block.translate", middle)
    };
    let steps = [1e-4, 1e-3, 1e-2];
    let mut experiments: Vec<Experiment> = steps
        .iter()
        .map(|&h| on(0.98, h, lab.choose(0.2, 2.0)))
        .collect();
    experiments.push(on(1.2, 1e-3, 0.2));
    let runs = lab.run_all(&experiments)?;
    let mut found = Findings::default();
    for (h, run) in steps.iter().zip(&runs) {
        let (most, why) = lab.at_rest(2.0);
        found.rows.push(Row::at_most(
            format!("tan α = 0.98 μ, steps of {} ms: fastest", 1e3 * h),
            "m/s",
            run.most("speed", 0.5 * run.end(), run.end()).max(run.most(
                "wedge",
                0.5 * run.end(),
                run.end(),
            )),
            (most, &why),
            &run.command,
        ));
    }
    let (sin, cos) = (1.2 * mu).atan().sin_cos();
    let slide = &runs[steps.len()];
    let expected = GRAVITY * (sin - mu * cos);
    found.rows.push(Row::near(
        "tan α = 1.2 μ: acceleration of the block",
        "m/s²",
        (
            expected,
            slide.line("speed", 0.5 * slide.end(), slide.end()).1,
        ),
        (
            1e-3 * expected,
            "a constant force is integrated exactly; 0.1 % for oscillations",
        ),
        &slide.command,
    ));
    let (most, why) = lab.at_rest(1.0);
    found.rows.push(Row::at_most(
        "tan α = 1.2 μ: speed of the wedge",
        "m/s",
        slide.most("wedge", 0.5 * slide.end(), slide.end()),
        (most, &why),
        &slide.command,
    ));
    Ok(found)
}

/// Newton's law for each plate. The joint below the middle plate bears 2 m g, the floor 3 m g, which is never overcome:
/// the floor could bear 0.9 m g, and the joint above passes on 0.4 m g at most.
fn plates(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let g = GRAVITY;
    let pulled = |fraction: f64| {
        Experiment::by_default("validation/plates")
            .with_vector("body.middle.acceleration", [fraction * g, 0.0, 0.0])
    };
    // F/mg, and accelerations of middle and upper plate over g.
    let loads = [(0.38, 0.0, 0.0), (0.8, 0.2, 0.2), (1.3, 0.6, 0.3)];
    let experiments: Vec<Experiment> = loads.iter().map(|l| pulled(l.0)).collect();
    let runs = lab.run_all(&experiments)?;
    let mut found = Findings::default();
    let (rest, why) = lab.at_rest(3.0);
    for ((load, middle, upper), run) in loads.iter().zip(&runs) {
        let late = (0.5 * run.end(), run.end());
        for (name, expected) in [("middle", *middle), ("upper", *upper), ("lower", 0.0)] {
            let quantity = format!("F = {load} m g: {name} plate");
            found.rows.push(match expected > 0.0 {
                true => Row::near(
                    format!("{quantity}: acceleration"),
                    "m/s²",
                    (expected * g, run.line(name, late.0, late.1).1),
                    (
                        1e-3 * expected * g,
                        "constant forces are integrated exactly; 0.1 % for oscillations",
                    ),
                    &run.command,
                ),
                false => Row::at_most(
                    format!("{quantity}: speed"),
                    "m/s",
                    run.most(name, late.0, late.1),
                    (
                        rest + 1.1 * rolls(lab, run.step, middle * g * run.end()),
                        &why,
                    ),
                    &run.command,
                ),
            });
        }
    }
    Ok(found)
}

/// Speed of the centre of a plate [m/s], on whose springs two others of its weight m g are carried along with `speed`: the plate turns with
/// 2 m g · speed/(4 k a²), a = 0.2 m half its length, and its centre is 0.01 m above the springs.
fn rolls(lab: &Lab<'_>, step: f64, speed: f64) -> f64 {
    let k = lab.spring(1.0 / 8.0, 0.001, step);
    k.map_or(0.0, |k| {
        2.0 * GRAVITY * speed / (4.0 * k * 0.2 * 0.2) * 0.01
    })
}

/// The centre of mass is at x = 0.05 m between the edges at ±0.1 m. Across the edges, equilibrium of moments wants
/// forces of one sign there, so that only friction, a fraction tan 5°/μ = 0.17 of its greatest, is needed.
fn pedestal(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::by_default("validation/pedestal"))?;
    let (most, why) = lab.at_rest(1.0);
    let weight = 0.6 * 0.1 * 0.02 * 1000.0 * 9.773;
    let rows = vec![
        Row::at_most(
            "speed in the second half",
            "m/s",
            run.most("speed", 0.5, 1.0),
            (most, &why),
            &run.command,
        ),
        Row::at_most(
            "displacement",
            "m",
            run.last("travel"),
            match lab.friction {
                FrictionAccuracy::Exact => (
                    1e-8,
                    "exact friction and touching edges from the start: no displacement but the solver's error",
                ),
                FrictionAccuracy::Smoothed { .. } => (
                    0.001 + 1.05e-4,
                    "a penalty yields by less than the contact thickness, and friction creeps",
                ),
            },
            &run.command,
        ),
        Row::near(
            "force of the edges together",
            "N",
            (weight, run.last("press")),
            (1e-3 * weight, "0.1 %: oscillations of a penalty"),
            &run.command,
        ),
    ];
    Ok(Findings {
        rows,
        plots: Vec::new(),
    })
}

/// The rod's lower end slides ahead of its centre of mass with 1 m/s. With r = (x, z) from the centre to the end, a
/// normal force N and friction −μ N there accelerate it upwards by N (1/m + x²/I + μ x z/I), which is negative: friction
/// turns the rod into the floor faster than N lifts it. Within one step, the end is stopped by an impulse p in both
/// directions: K p = −v, K = [[1/m + z²/I, −x z/I], [−x z/I, 1/m + x²/I]], inside the cone: |p_x| < μ p_z.
fn painleve(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let run = lab.run(&Experiment::by_default("validation/painleve"))?;
    let (length, t): (f64, f64) = (1.0, 0.02);
    let (sin, cos) = 50f64.to_radians().sin_cos();
    let inertia = (length * length + t * t) / 12.0;
    let (x, z) = (
        0.5 * (length * cos - t * sin),
        -0.5 * (length * sin + t * cos),
    );
    let k = [
        1.0 + z * z / inertia,
        -x * z / inertia,
        1.0 + x * x / inertia,
    ];
    let det = k[0] * k[2] - k[1] * k[1];
    let p = [-k[2] / det, k[1] / det];
    let after = 20.0 * run.step;
    let at = |name: &str| {
        run.between(name, after, after)
            .first()
            .map_or(f64::NAN, |p| p.1)
    };
    let mut rows = Vec::new();
    if lab.friction == FrictionAccuracy::Exact {
        let why = "2 g t after t = 20 steps: gravity and the pivoting rod change speeds by less";
        for (name, quantity, expected) in [
            ("vx", "speed along the floor after the jam", 1.0 + p[0]),
            ("vz", "speed upwards after the jam", p[1]),
        ] {
            rows.push(Row::near(
                quantity,
                "m/s",
                (expected, at(name)),
                (2.0 * GRAVITY * after, why),
                &run.command,
            ));
        }
        rows.push(Row::at_most(
            "worst residual of Coulomb's law in a step",
            "m/s",
            run.worst(|r| r.certificate.residual),
            (1e-4, "1e-4 of the sliding speed: a solution was found"),
            &run.command,
        ));
    }
    let start = run.first("energy");
    let energies = run.probe("energy");
    let most = energies.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    rows.push(Row::at_most(
        "largest energy over the one at the start, less 1",
        "",
        most / start - 1.0,
        (
            1e-6,
            "contact and friction only take energy; rounding and the solver",
        ),
        &run.command,
    ));
    let plots = vec![over_time(
        &format!("Painlevé's rod, {}", lab.method),
        "speed of the centre of mass [m/s]",
        vec![run.curve("vx", "along"), run.curve("vz", "upwards")],
    )];
    Ok(Findings { rows, plots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_accelerates_from_its_limit_on() {
        // At the limit it does not start; flatter, it does, and more so the flatter it is.
        let at = |fraction: f64| slides((fraction * steepest(0.4)).atan(), 0.4, 0.1);
        assert!(at(1.0).abs() < 1e-9, "{}", at(1.0));
        assert!(at(0.95) > 0.0 && at(0.9) > 1.5 * at(0.95));
        // Without friction a thin board has θ'' = −3/2 g cos θ/L at the start; here it is 2 % as thick as long.
        let (theta, time) = (std::f64::consts::FRAC_PI_4, 0.01);
        let turned = -0.75 * GRAVITY * theta.cos() * time * time;
        let foot = -theta.sin() * turned;
        let found = slides(theta, 0.0, time);
        assert!((found / foot - 1.0).abs() < 0.05, "{found} {foot}");
    }
}
