//! A masonry arch: rigid voussoirs held by nothing but contact and friction.

use super::{
    Experiment, Findings, Lab, Row, Trouble, ValidationCase,
    lab::{REST, over_time},
};

pub fn cases() -> [ValidationCase; 1] {
    [ValidationCase {
        name: "arch",
        title: "A semicircular arch of voussoirs stands if it is thick enough.",
        closed_form: "It stands iff a line of thrust fits into it: for many voussoirs iff t/R > 0.1075 (Milankovitch, Heyman).",
        run: arch,
    }]
}

/// Number of voussoirs, even; mean radius, contact thickness and depth [m].
const VOUSSOIRS: usize = 16;
const SIZE: (f64, f64, f64) = (1.0, 0.001, 0.2);

/// Margin of the line of thrust in the arch of thickness `t`: not negative if one fits.
///
/// By symmetry the crown bears a horizontal thrust H at the height y, without shear. Voussoirs 1 to k from there have the
/// weight k and centres x_j; moments about the point at the radius ρ of joint k, at the angle θ from the crown:
/// H (y − ρ cos θ) = Σ (ρ sin θ − x_j). With M = H y, ρ (H cos θ + k sin θ) = M + Σ x_j, and r_i ≤ ρ ≤ r_o at every joint
/// bounds M from both sides, linearly in H: the gap between the bounds is concave in H.
fn fits(t: f64) -> f64 {
    let angle = std::f64::consts::PI / VOUSSOIRS as f64;
    let (inner, outer) = (SIZE.0 - 0.5 * t, SIZE.0 + 0.5 * t);
    // Centre of a trapezoid with corners on the two circles.
    let centre = {
        let (low, high) = (inner, outer);
        let (a, b) = (2.0 * low, 2.0 * high);
        (0.5 * angle).cos() * (low + (high - low) * (a + 2.0 * b) / (3.0 * (a + b)))
    };
    let gap = |thrust: f64| {
        let (mut least, mut most) = (inner * thrust, outer * thrust);
        let mut sum = 0.0;
        for k in 1..=VOUSSOIRS / 2 {
            sum += centre * ((k as f64 - 0.5) * angle).sin();
            let (sin, cos) = (k as f64 * angle).sin_cos();
            let across = thrust * cos + k as f64 * sin;
            least = f64::max(least, inner * across - sum);
            most = f64::min(most, outer * across - sum);
        }
        most - least
    };
    let (mut low, mut high) = (0.0, VOUSSOIRS as f64);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        match gap(low + third) < gap(high - third) {
            true => low += third,
            false => high -= third,
        }
    }
    gap(0.5 * (low + high))
}

/// The least thickness of an arch that stands [m].
fn thinnest() -> f64 {
    let (mut low, mut high) = (0.01, 0.5);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        match fits(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Voussoirs with their corners on two circles, their faces half the contact thickness away from the joints.
fn built(t: f64) -> Experiment {
    let (radius, d, depth) = SIZE;
    let angle = std::f64::consts::PI / VOUSSOIRS as f64;
    let (sin, cos) = (0.5 * angle).sin_cos();
    let width = |r: f64| 2.0 * r * sin - d / cos;
    let (low, high) = (width(radius - 0.5 * t), width(radius + 0.5 * t));
    let mut made = Experiment::by_default("validation/arch");
    for i in 0..VOUSSOIRS {
        // From the crown, positive towards +x.
        let theta = (i as f64 + 0.5) * angle - std::f64::consts::FRAC_PI_2;
        let key = |what: &str| format!("body.v{:02}.{what}", i + 1);
        made = made
            .with(
                &key("shape"),
                format!(
                    "{{type=\"box\", size=[{low:?}, {depth:?}, {:?}], taper=[{:?}, 1]}}",
                    t * cos,
                    high / low
                ),
            )
            .with(&key("rotate.angle"), theta.to_degrees())
            .with_vector(
                &key("translate"),
                [radius * cos * theta.sin(), 0.0, radius * cos * theta.cos()],
            );
    }
    made
}

/// The joints are rough enough (μ = 0.7) that voussoirs turn before they slip. An arch that is too thin opens in four
/// joints; the one of 0.9 of the least thickness lacks a tenth of it.
fn arch(lab: &Lab<'_>) -> Result<Findings, Trouble> {
    let least = thinnest();
    let runs = lab.run_all(&[
        built(1.1 * least).with("time.duration", lab.choose(0.3, 2.0)),
        built(0.9 * least).with("time.duration", 0.45),
    ])?;
    // The crown moves with the creep of all joints below it.
    let joints = VOUSSOIRS as f64;
    let (still, why) = lab.at_rest(joints);
    let still = still.max(joints * REST);
    let rows = vec![
        Row::near(
            "least t/R of an arch of 16 voussoirs, by lines of thrust",
            "",
            (0.1075, least / SIZE.0),
            (
                0.1 * 0.1075,
                "10 %: hinges at joints only, 11° apart, and flat faces",
            ),
            &runs[0].command,
        ),
        Row::at_most(
            "1.1 of the least thickness: speed of the crown in the last third",
            "m/s",
            runs[0].most("crown-speed", runs[0].end() / 1.5, runs[0].end()),
            (still, &format!("{why}; 1e-8 m/s in every joint")),
            &runs[0].command,
        ),
        Row::at_most(
            "1.1 of the least thickness: settlement of the crown",
            "m",
            runs[0].first("crown") - runs[0].last("crown"),
            (
                SIZE.1,
                "the contact thickness: joints touch from the start, and a penalty yields",
            ),
            &runs[0].command,
        ),
        Row::at_most(
            "0.9 of the least thickness: 0.1 m, less the fall of the crown",
            "m",
            0.1 - (runs[1].first("crown") - runs[1].last("crown")),
            (0.0, "it collapses"),
            &runs[1].command,
        ),
    ];
    let plots = vec![over_time(
        &format!("the crown of an arch, {}", lab.method),
        "height [m]",
        vec![
            runs[0].curve("crown", "1.1 of the least thickness"),
            runs[1].curve("crown", "0.9 of the least thickness"),
        ],
    )];
    Ok(Findings { rows, plots })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_thickness_is_that_of_the_literature() {
        let least = thinnest();
        assert!((0.097..0.113).contains(&least), "{least}");
        assert!(fits(1.02 * least) > 0.0 && fits(0.98 * least) < 0.0);
    }
}
