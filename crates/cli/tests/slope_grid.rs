//! Coulomb's law on slopes: over a grid of (μ, θ) bodies rest exactly when tan θ < μ, and slide with
//! g (sin θ − μ cos θ) otherwise, whatever their size and the time step.
//!
//! The whole grid at one size and step runs always; with STICTION_LONG=1 it runs at three sizes
//! from 1.4 m to 14 mm and four steps from 1 to 10 ms.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout)] // the worst figures, with --nocapture

use rayon::prelude::*;
use stiction_cli::{
    scene::{LoadOptions, SceneSource, load},
    sim::Simulation,
};

const GRAVITY: f64 = 9.81;
/// Friction coefficients.
const MU: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0];
/// tan θ as a multiple of μ: four rest and four slide, the nearest 0.11 % from the border.
const STEEPNESS: [f64; 8] = [0.5, 0.9, 0.99, 0.9989, 1.0011, 1.01, 1.1, 1.5];

/// Speeds below this are rest [m/s].
const REST: f64 = 1e-8;
/// Relative tolerance of accelerations.
const ACCURACY: f64 = 1e-3;

#[derive(Clone, Copy, Debug)]
enum Body {
    Cloth,
    Block,
}

/// One run: a square of the given edge on a slope.
#[derive(Clone, Copy, Debug)]
struct Case {
    body: Body,
    mu: f64,
    steepness: f64,
    size: f64,
    step: f64,
}

/// Motion of the body.
#[derive(Clone, Copy, Debug)]
struct Seen {
    case: Case,
    /// Speed of the centre of mass at the end [m/s].
    speed: f64,
    /// Its acceleration over the last quarter, relative to the exact one, less 1; zero at rest.
    error: f64,
}

impl Case {
    fn slides(&self) -> bool {
        self.steepness > 1.0
    }

    fn good(seen: &Seen) -> bool {
        match seen.case.slides() {
            true => seen.error.abs() < ACCURACY,
            false => seen.speed < REST,
        }
    }

    fn simulation(&self) -> Simulation {
        let Self { mu, size, step, .. } = *self;
        let angle = (mu * self.steepness).atan();
        let (sin, cos) = angle.sin_cos();
        let thickness = 0.01 * size;
        // Stiffness in proportion to size, damping in proportion to periods: the same strains and
        // the same damping ratio at every size.
        let stiffness = size / 0.14;
        let damping = 0.01 * stiffness.sqrt();
        let (shape, material, above) = match self.body {
            Body::Cloth => (
                format!(r#"{{ type = "sheet", size = [{size}, {size}], cells = [4, 4] }}"#),
                format!(
                    r#"{{ kind = "shell", area_density = 0.2, thickness = 1e-3, young = {}, poisson = 0.3, bending = {} }}"#,
                    1e5 * stiffness,
                    1e-5 * stiffness.powi(3)
                ),
                thickness,
            ),
            Body::Block => (
                format!(
                    r#"{{ type = "box", size = [{size}, {size}, {}], cells = [2, 2, 1] }}"#,
                    0.5 * size
                ),
                format!(
                    r#"{{ kind = "solid", density = 1000, young = {}, poisson = 0.4, damping = {{ stiffness = {damping} }} }}"#,
                    1e5 * stiffness
                ),
                thickness + 0.25 * size,
            ),
        };
        let text = format!(
            r#"
            gravity = [0, 0, -{GRAVITY}]
            time = {{ step = {step}, duration = 1 }}
            method = {{ name = "admm", tolerance = {tolerance}, max_iterations = 3000 }}
            contact = {{ thickness = {thickness} }}
            friction = {{ default = {mu} }}
            [[body]]
            name = "body"
            shape = {shape}
            material = {material}
            rotate = {{ axis = [0, 1, 0], angle = {degrees} }}
            translate = [{x}, 0, {z}]
            [[obstacle]]
            name = "slope"
            shape = {{ type = "plane", normal = [{sin}, 0, {cos}] }}
            "#,
            tolerance = 1e-10 * size,
            degrees = angle.to_degrees(),
            x = above * sin,
            z = above * cos,
        );
        let source = SceneSource::Text {
            name: "slope".into(),
            text,
        };
        let scene = load(&source, &LoadOptions::default());
        scene
            .unwrap_or_else(|e| panic!("{}", e.plain()))
            .simulation()
            .unwrap()
            .0
    }

    fn run(self) -> Seen {
        let mut sim = self.simulation();
        // Large blocks take longer to settle.
        let half = 0.25 * (self.size / 0.14).max(1.0).sqrt();
        let half = (half / self.step).round() as usize;
        let angle = (self.mu * self.steepness).atan();
        let down = [angle.cos(), -angle.sin()];
        let mut speed = |steps: usize| {
            for _ in 0..steps {
                sim.step().unwrap();
            }
            let body = &sim.model().bodies[0];
            let v = stiction_cli::bodies::energy::momentum(body, sim.state()) / body.total_mass();
            v.x * down[0] + v.z * down[1]
        };
        // The acceleration is that after the block has stopped trembling from the start: near the
        // border it is a thousandth of gravity's.
        let speeds = [speed(3 * half), speed(half)];
        let mut last = speeds[1].abs();
        // What should rest takes up its load with a jerk, and slides until friction has stopped it:
        // near the border that takes its time.
        for _ in 0..240 {
            if self.slides() || last < REST {
                break;
            }
            last = speed(half).abs();
        }
        let exact = GRAVITY * (angle.sin() - self.mu * angle.cos());
        let seen = (speeds[1] - speeds[0]) / (half as f64 * self.step);
        Seen {
            case: self,
            speed: last,
            error: if self.slides() {
                seen / exact - 1.0
            } else {
                0.0
            },
        }
    }
}

fn grid(body: Body, size: f64, step: f64) -> Vec<Seen> {
    let cases: Vec<Case> = MU
        .into_iter()
        .flat_map(|mu| STEEPNESS.map(|steepness| (mu, steepness)))
        .map(|(mu, steepness)| Case {
            body,
            mu,
            steepness,
            size,
            step,
        })
        .collect();
    let seen: Vec<Seen> = cases.into_par_iter().map(Case::run).collect();
    let of = |slides: bool| seen.iter().filter(move |s| s.case.slides() == slides);
    let resting = of(false)
        .max_by(|a, b| a.speed.total_cmp(&b.speed))
        .unwrap();
    let sliding = of(true)
        .max_by(|a, b| a.error.abs().total_cmp(&b.error.abs()))
        .unwrap();
    println!(
        "{body:?} of {size} m, steps of {step} s: fastest at rest {:.1e} m/s (μ {}, {}), worst \
         acceleration {:+.1e} (μ {}, {})",
        resting.speed,
        resting.case.mu,
        resting.case.steepness,
        sliding.error,
        sliding.case.mu,
        sliding.case.steepness
    );
    seen
}

#[test]
fn bodies_rest_or_slide_as_coulomb_says() {
    let long = std::env::var("STICTION_LONG").is_ok_and(|v| v == "1");
    let (sizes, steps): (&[f64], &[f64]) = match long {
        true => (&[1.4, 0.14, 0.014], &[0.001, 0.002, 0.005, 0.01]),
        false => (&[0.14], &[0.01]),
    };
    let mut bad = Vec::new();
    for body in [Body::Cloth, Body::Block] {
        for size in sizes {
            for step in steps {
                let seen = grid(body, *size, *step);
                bad.extend(seen.into_iter().filter(|s| !Case::good(s)));
            }
        }
    }
    assert!(bad.is_empty(), "{} cases: {bad:#?}", bad.len());
}
