//! Implicit integrators as tables over one residual [larionov, Sect. IV-A].
//!
//! A step of h [s] from y = (q, p), positions and momenta, with rates y′ = (v, f), is one or two
//! implicit stages. Each stage solves for its own y:
//!
//! ```text
//! y = yᵗ + α₋ (y⁻ − yᵗ) + α₁ (y₁ − yᵗ) + h (β₀ y′ᵗ + β₁ y′₁ + γ y′)
//! ```
//!
//! where y⁻ ends the step before and y₁ the first stage of this one. The last stage ends the step,
//! so that all of these schemes but the trapezoidal rule are L-stable. All forces are integrated
//! alike; only [`Integrator::TrapezoidalDecoupled`] and [`Integrator::TrapezoidalIpc`] treat contact apart, for
//! comparison.

/// Time integration scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Integrator {
    /// First order, L-stable [larionov, Eq. 16].
    #[default]
    BackwardEuler,
    /// Second order, not L-stable: modes that a step cannot resolve keep ringing [larionov, Eq. 17].
    Trapezoidal,
    /// The trapezoidal rule for all forces but contact and friction, which are taken at the end of
    /// the step alone, as incremental potential contact does it [larionov, Sect. V-A3]. Of first order in
    /// contact, and here for comparison.
    TrapezoidalDecoupled,
    /// The trapezoidal rule of the program that [li2020] released, Newmark's with β = 1/4 and γ = 1/2, for
    /// comparison. With x̃ = xᵗ + h vᵗ + (½ − β) h² aᵗ + β h² g it minimises
    /// ½ ‖x − x̃‖²_M + β h² W(x) + κ B(x) + D(x − xᵗ), W elasticity, B the barrier, D lagged friction on the
    /// displacement, and goes on with a = (x − x̃)/(β h²) + g and v = vᵗ + h (1 − γ) aᵗ + h γ a. So contact has
    /// the stiffness κ/(β h²) inside the trapezoidal rule, and its explicit half is the force that ended the
    /// step before, whatever κ and the lagged coefficients are now.
    TrapezoidalIpc,
    /// Second order, two steps, with coefficients for steps of changing length.
    Bdf2,
    /// Second order, a trapezoidal stage, then BDF2 through it.
    TrBdf2,
    /// Second order, two stages with one coefficient.
    Sdirk2,
}

/// One implicit stage: the weights of the formula above.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SchemeStage {
    /// End of the stage, as a fraction of the step.
    pub time: f64,
    /// α₋, of the end of the step before.
    pub before: f64,
    /// α₁, of the first stage.
    pub first: f64,
    /// β₀, of the rates at the start of the step.
    pub start_rate: f64,
    /// β₁, of the rates of the first stage.
    pub first_rate: f64,
    /// γ, of the stage's own rates.
    pub implicit: f64,
    /// β₀ and γ of contact and friction forces.
    pub contact: [f64; 2],
    /// Whether friction acts on the mean velocity of the step, x − xᵗ over h, instead of that at its end.
    pub mean_slip: bool,
}

/// BDF2 stays stable as long as a step is at most 1 + √2 times as long as the one before.
const LARGEST_RATIO: f64 = 2.4;

impl Integrator {
    /// The names used in scenes, with their integrators.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("backward-euler", Self::BackwardEuler),
        ("trapezoidal", Self::Trapezoidal),
        ("trapezoidal-decoupled", Self::TrapezoidalDecoupled),
        ("trapezoidal-ipc", Self::TrapezoidalIpc),
        ("bdf2", Self::Bdf2),
        ("tr-bdf2", Self::TrBdf2),
        ("sdirk2", Self::Sdirk2),
    ];

    /// The stages of a step `ratio` times as long as the step before; none if there was no step
    /// before. BDF2 then starts with one step of backward Euler, whose error of second order in a
    /// single step does not lower the order of the whole.
    pub fn stages(self, ratio: Option<f64>) -> Vec<SchemeStage> {
        // γ = 1 − 1/√2 makes both TR-BDF2 and SDIRK2 of second order and L-stable.
        let g = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
        match self {
            Self::BackwardEuler => vec![SchemeStage::new(1.0, 1.0)],
            Self::Trapezoidal => vec![SchemeStage::new(1.0, 0.5).with_start(0.5)],
            Self::TrapezoidalDecoupled => vec![SchemeStage {
                contact: [0.0, 1.0],
                ..SchemeStage::new(1.0, 0.5).with_start(0.5)
            }],
            Self::TrapezoidalIpc => vec![SchemeStage {
                mean_slip: true,
                ..SchemeStage::new(1.0, 0.5).with_start(0.5)
            }],
            Self::Bdf2 => match ratio.filter(|r| *r <= LARGEST_RATIO) {
                None => vec![SchemeStage::new(1.0, 1.0)],
                Some(r) => vec![SchemeStage {
                    before: -r * r / (1.0 + 2.0 * r),
                    ..SchemeStage::new(1.0, (1.0 + r) / (1.0 + 2.0 * r))
                }],
            },
            Self::TrBdf2 => {
                let t = 2.0 * g;
                vec![
                    SchemeStage::new(t, g).with_start(g),
                    SchemeStage {
                        first: 1.0 / (t * (2.0 - t)),
                        ..SchemeStage::new(1.0, (1.0 - t) / (2.0 - t))
                    },
                ]
            }
            Self::Sdirk2 => vec![
                SchemeStage::new(g, g),
                SchemeStage {
                    first_rate: 1.0 - g,
                    ..SchemeStage::new(1.0, g)
                },
            ],
        }
    }

    /// Two halves of a step by backward Euler: damps what an irregular start has set ringing, before a
    /// scheme takes over that would let it ring on; a fixed number of such steps leaves schemes of
    /// second order what they are [rannacher1984].
    pub fn startup() -> Vec<SchemeStage> {
        vec![
            SchemeStage::new(0.5, 0.5),
            SchemeStage {
                first: 1.0,
                ..SchemeStage::new(1.0, 0.5)
            },
        ]
    }

    /// Whether the scheme needs the end of the step before.
    pub fn is_multistep(self) -> bool {
        self == Self::Bdf2
    }

    /// Whether contact forces at the start of a step are those that ended the step before, kept as they
    /// were, and steps are minimised as [li2020] does it.
    pub fn is_ipc(self) -> bool {
        self == Self::TrapezoidalIpc
    }

    /// Whether oscillations faster than the step die: all schemes but the trapezoidal rules.
    pub fn is_l_stable(self) -> bool {
        !matches!(
            self,
            Self::Trapezoidal | Self::TrapezoidalDecoupled | Self::TrapezoidalIpc
        )
    }

    /// The order of convergence.
    pub fn order(self) -> u32 {
        match self {
            Self::BackwardEuler => 1,
            _ => 2,
        }
    }
}

impl SchemeStage {
    fn new(time: f64, implicit: f64) -> Self {
        Self {
            time,
            implicit,
            contact: [0.0, implicit],
            ..Self::default()
        }
    }

    fn with_start(self, rate: f64) -> Self {
        Self {
            start_rate: rate,
            contact: [rate, self.contact[1]],
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integrates y′ = a(t) y + b(t) through `times`.
    fn integrate(
        scheme: Integrator,
        times: &[f64],
        start: f64,
        rate: impl Fn(f64) -> (f64, f64),
    ) -> f64 {
        let slope = |t: f64, y: f64| rate(t).0 * y + rate(t).1;
        let mut y = start;
        let mut before: Option<(f64, f64)> = None;
        for t in times.windows(2) {
            let (t, h) = (t[0], t[1] - t[0]);
            let stages = scheme.stages(before.map(|(length, _)| h / length));
            let (mut first, mut last) = (y, y);
            let mut first_rate = 0.0;
            for (k, s) in stages.iter().enumerate() {
                let known = y
                    + before.map_or(0.0, |(_, old)| s.before * (old - y))
                    + s.first * (first - y)
                    + h * (s.start_rate * slope(t, y) + s.first_rate * first_rate);
                let end = t + s.time * h;
                let (a, b) = rate(end);
                last = (known + h * s.implicit * b) / (1.0 - h * s.implicit * a);
                if k == 0 {
                    first = last;
                    first_rate = slope(end, last);
                }
            }
            before = Some((h, y));
            y = last;
        }
        y
    }

    /// Steps that change by factors of up to two, as halved steps do.
    fn uneven(n: usize) -> Vec<f64> {
        let mut t = vec![0.0];
        for i in 0..n {
            let h = [1.0, 0.5, 0.5, 1.0, 2.0, 1.5][i % 6];
            t.push(t[i] + h);
        }
        let end = t[n];
        t.iter().map(|t| t / end).collect()
    }

    #[test]
    fn orders_are_as_stated_also_for_uneven_steps() {
        // y′ = −2 t y + cos t against itself on a fine grid; and y′ = −y against exp(−1).
        for (_, scheme) in Integrator::NAMES {
            for exact_decay in [false, true] {
                let rate = |t: f64| {
                    if exact_decay {
                        (-1.0, 0.0)
                    } else {
                        (-2.0 * t, t.cos())
                    }
                };
                let truth = if exact_decay {
                    (-1.0f64).exp()
                } else {
                    let coarse = integrate(Integrator::Sdirk2, &uneven(6 * 4096), 1.0, rate);
                    let fine = integrate(Integrator::Sdirk2, &uneven(6 * 8192), 1.0, rate);
                    fine + (fine - coarse) / 3.0
                };
                let error = |n: usize| (integrate(scheme, &uneven(n), 1.0, rate) - truth).abs();
                let order = (error(6 * 32) / error(6 * 64)).log2();
                let stated = f64::from(scheme.order());
                assert!((order - stated).abs() < 0.15, "{scheme:?}: {order}");
            }
        }
    }

    #[test]
    fn a_damped_start_takes_ringing_and_leaves_the_order() {
        // y′ = −y, the first two steps by halves of backward Euler, and y′ = −10⁴ y, of which the
        // trapezoidal rule alone keeps nearly all, with changing sign.
        let march = |n: usize, rate: f64, startup: usize| {
            let (mut y, h) = (1.0, 1.0 / n as f64);
            for step in 0..n {
                let stages = match step < startup {
                    true => Integrator::startup(),
                    false => Integrator::Trapezoidal.stages(Some(1.0)),
                };
                let (mut first, mut last) = (y, y);
                for s in &stages {
                    let known = y + s.first * (first - y) - h * s.start_rate * rate * y;
                    last = known / (1.0 + h * s.implicit * rate);
                    first = last;
                }
                y = last;
            }
            y
        };
        let error = |n| (march(n, 1.0, 2) - (-1.0f64).exp()).abs();
        let order = (error(64) / error(128)).log2();
        assert!((order - 2.0).abs() < 0.1, "{order}");
        assert!(march(10, 1e4, 0).abs() > 0.9);
        assert!(march(10, 1e4, 2).abs() < 1e-8);
    }

    #[test]
    fn a_parabola_is_exact_for_second_order() {
        // After BDF2's first step, which is of first order.
        for (_, scheme) in Integrator::NAMES {
            let times: Vec<f64> = uneven(12);
            let y = integrate(scheme, &times, 0.0, |t| (0.0, 2.0 * t));
            let start = match scheme {
                Integrator::Bdf2 => continue,
                _ => y - 1.0,
            };
            let bound = if scheme.order() == 2 { 1e-14 } else { 0.2 };
            assert!(start.abs() < bound, "{scheme:?}: {start:e}");
        }
    }

    #[test]
    fn stiff_decay_dies_in_l_stable_schemes_and_rings_in_the_trapezoidal_rule() {
        let times: Vec<f64> = (0..=20).map(|i| f64::from(i) * 0.1).collect();
        for (_, scheme) in Integrator::NAMES {
            let y = integrate(scheme, &times, 1.0, |_| (-1e6, 0.0)).abs();
            let rings = !scheme.is_l_stable();
            assert_eq!(rings, y > 0.9, "{scheme:?}: {y}");
            assert!(rings || y < 1e-9, "{scheme:?}: {y}");
        }
    }

    #[test]
    fn a_step_that_grows_too_fast_starts_anew() {
        let euler = Integrator::BackwardEuler.stages(None);
        assert_eq!(Integrator::Bdf2.stages(Some(4.0)), euler);
        assert_eq!(Integrator::Bdf2.stages(None), euler);
        let even = Integrator::Bdf2.stages(Some(1.0))[0];
        assert!((even.implicit - 2.0 / 3.0).abs() < 1e-15);
        assert!((even.before + 1.0 / 3.0).abs() < 1e-15);
    }
}
