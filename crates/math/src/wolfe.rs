//! Line search with the strong Wolfe conditions [nocedal2006, Algs. 3.5 and 3.6].
//!
//! A step s along a descent direction is accepted where, with c₁ < c₂ < 1,
//!
//! ```text
//! f(s) ≤ f(0) + c₁ s f′(0)      and      |f′(s)| ≤ c₂ |f′(0)|
//! ```
//!
//! Steps grow from the first one until an interval contains acceptable ones, which is then divided where
//! the cubic through its ends has its minimum. A kink may leave an interval in which the slope jumps and the
//! second condition holds nowhere: then the best step that satisfies the first one is the answer, and
//! [`WolfeReport::curvature`] says so.

/// Parameters of [`wolfe`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WolfeConfig {
    /// First step to try.
    pub initial_step: f64,
    /// c₁, the required fraction of the decrease predicted by the slope.
    pub sufficient_decrease: f64,
    /// c₂, the largest slope at an accepted step, as a fraction of the first slope.
    pub curvature: f64,
    /// Longest step.
    pub max_step: f64,
    /// Maximum number of evaluations of f.
    pub max_evaluations: usize,
    /// Differences up to this fraction of |f(0)| count as rounding.
    pub rounding: f64,
}

impl Default for WolfeConfig {
    fn default() -> Self {
        Self {
            initial_step: 1.0,
            sufficient_decrease: 1e-4, // [nocedal2006, Sect. 3.1]
            curvature: 0.9, // [nocedal2006, Sect. 3.1], for directions of Newton's method
            max_step: 1.0,
            max_evaluations: 30,
            rounding: 8.0 * f64::EPSILON,
        }
    }
}

/// Value and slope at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WolfeSample {
    /// f(s).
    pub value: f64,
    /// f′(s).
    pub slope: f64,
}

/// An accepted step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WolfeReport {
    /// The step s.
    pub step: f64,
    /// f(s).
    pub value: f64,
    /// Number of evaluations of f.
    pub evaluations: usize,
    /// Whether the second condition holds, or the step is the longest one.
    pub curvature: bool,
}

/// Errors of a search.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum WolfeError<E> {
    /// The slope is not negative, or a number at zero is not finite.
    #[error("not a descent direction: value {value:e}, slope {slope:e}")]
    NotDescent {
        /// f(0).
        value: f64,
        /// f′(0).
        slope: f64,
    },
    /// No step decreased f enough.
    #[error("no sufficient decrease in {evaluations} steps")]
    NoDecrease {
        /// Number of evaluations of f.
        evaluations: usize,
    },
    /// An evaluation failed.
    #[error(transparent)]
    Evaluation(E),
}

/// A step with its sample.
#[derive(Clone, Copy)]
struct At {
    step: f64,
    value: f64,
    slope: f64,
}

/// Finds a step that satisfies the conditions above. `f` gives value and slope at a step; numbers that are
/// not finite count as a rejected step.
pub fn wolfe<E>(
    start: WolfeSample,
    f: impl FnMut(f64) -> Result<WolfeSample, E>,
    config: &WolfeConfig,
) -> Result<WolfeReport, WolfeError<E>> {
    let WolfeSample { value, slope } = start;
    // Written so that NaN is refused as well.
    if !(slope < 0.0 && slope.is_finite() && value.is_finite()) {
        return Err(WolfeError::NotDescent { value, slope });
    }
    let mut search = Search {
        f,
        config,
        start,
        evaluations: 0,
        best: None,
    };
    search.run()
}

struct Search<'a, F> {
    f: F,
    config: &'a WolfeConfig,
    start: WolfeSample,
    evaluations: usize,
    /// The step with the smallest value of those with sufficient decrease.
    best: Option<At>,
}

impl<F, E> Search<'_, F>
where
    F: FnMut(f64) -> Result<WolfeSample, E>,
{
    fn run(&mut self) -> Result<WolfeReport, WolfeError<E>> {
        let config = self.config;
        let mut low = At {
            step: 0.0,
            value: self.start.value,
            slope: self.start.slope,
        };
        let mut step = config.initial_step.min(config.max_step);
        while self.evaluations < config.max_evaluations {
            let now = self.evaluate(step)?;
            let grows = low.step > 0.0 && now.value >= low.value;
            if !self.decreases(&now) || grows {
                return self.zoom(low, now);
            }
            if self.is_flat(&now) || (now.slope < 0.0 && step >= config.max_step) {
                return Ok(self.report(&now, true));
            }
            if now.slope >= 0.0 {
                return self.zoom(now, low);
            }
            low = now;
            step = (2.0 * step).min(config.max_step);
        }
        self.give_up()
    }

    /// Divides the interval between `low`, which decreases f enough and has the smallest value so far, and
    /// `high`: f falls from `low` towards it.
    fn zoom(&mut self, mut low: At, mut high: At) -> Result<WolfeReport, WolfeError<E>> {
        while self.evaluations < self.config.max_evaluations {
            let now = self.evaluate(between(&low, &high))?;
            if now.step == low.step || now.step == high.step {
                // Nothing lies between the ends.
                break;
            }
            if !self.decreases(&now) || now.value >= low.value {
                high = now;
                continue;
            }
            if self.is_flat(&now) {
                return Ok(self.report(&now, true));
            }
            if now.slope * (high.step - low.step) >= 0.0 {
                high = low;
            }
            low = now;
        }
        self.give_up()
    }

    fn evaluate(&mut self, step: f64) -> Result<At, WolfeError<E>> {
        self.evaluations += 1;
        let WolfeSample { value, slope } = (self.f)(step).map_err(WolfeError::Evaluation)?;
        let at = match value.is_finite() && slope.is_finite() {
            true => At { step, value, slope },
            false => At {
                step,
                value: f64::INFINITY,
                slope: f64::NAN,
            },
        };
        if self.decreases(&at) && self.best.is_none_or(|b| at.value < b.value) {
            self.best = Some(at);
        }
        Ok(at)
    }

    fn decreases(&self, at: &At) -> bool {
        let WolfeSample { value, slope } = self.start;
        let slack = self.config.rounding * value.abs();
        at.value <= value + self.config.sufficient_decrease * at.step * slope + slack
    }

    fn is_flat(&self, at: &At) -> bool {
        at.slope.abs() <= self.config.curvature * self.start.slope.abs()
    }

    fn report(&self, at: &At, curvature: bool) -> WolfeReport {
        WolfeReport {
            step: at.step,
            value: at.value,
            evaluations: self.evaluations,
            curvature,
        }
    }

    fn give_up(&self) -> Result<WolfeReport, WolfeError<E>> {
        match &self.best {
            Some(best) => Ok(self.report(best, false)),
            None => Err(WolfeError::NoDecrease {
                evaluations: self.evaluations,
            }),
        }
    }
}

/// A step between two, at the minimum of the cubic with their values and slopes [nocedal2006, Eq. 3.59],
/// and not closer to either than a tenth of their distance; the middle where there is no such cubic.
fn between(a: &At, b: &At) -> f64 {
    let width = b.step - a.step;
    let middle = a.step + 0.5 * width;
    let d1 = a.slope + b.slope - 3.0 * (b.value - a.value) / width;
    let root = (d1 * d1 - a.slope * b.slope).sqrt().copysign(width);
    let at = b.step - width * (b.slope + root - d1) / (b.slope - a.slope + 2.0 * root);
    let fraction = (at - a.step) / width;
    match fraction.is_finite() {
        true => a.step + width * fraction.clamp(0.1, 0.9),
        false => middle,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Found = Result<WolfeReport, WolfeError<&'static str>>;

    fn search(f: impl Fn(f64) -> (f64, f64), config: &WolfeConfig) -> Found {
        let sample = |s: f64| {
            let (value, slope) = f(s);
            Ok(WolfeSample { value, slope })
        };
        let (value, slope) = f(0.0);
        wolfe(WolfeSample { value, slope }, sample, config)
    }

    proptest! {
        /// Quartics with a minimum: an accepted step satisfies both conditions as they are written.
        #[test]
        fn both_conditions_hold(at in 1e-3..50.0f64, steep in 0.1..100.0f64, bend in 0.0..10.0f64) {
            // f = steep (s − at)² + bend (s − at)⁴.
            let f = |s: f64| {
                let d: f64 = s - at;
                (steep * d * d + bend * d.powi(4), 2.0 * steep * d + 4.0 * bend * d.powi(3))
            };
            for curvature in [0.9, 0.1] {
                let config = WolfeConfig { curvature, max_step: 1e3, rounding: 0.0, ..WolfeConfig::default() };
                let found = search(f, &config).unwrap();
                let (start, end) = (f(0.0), f(found.step));
                prop_assert!(found.curvature);
                prop_assert!(end.0 <= start.0 + 1e-4 * found.step * start.1);
                prop_assert!(end.1.abs() <= curvature * start.1.abs());
                prop_assert!(found.evaluations <= 25, "{}", found.evaluations);
            }
        }
    }

    #[test]
    fn the_longest_step_is_taken_where_f_falls_on() {
        let found = search(|s| (-s, -1.0), &WolfeConfig::default()).unwrap();
        assert_eq!((found.step, found.evaluations), (1.0, 1));
        assert!(found.curvature);
    }

    /// |s − 0.3| has slopes ±1 only: no step is flat, and the answer is close to the kink.
    #[test]
    fn a_kink_ends_with_sufficient_decrease_alone() {
        let f = |s: f64| ((s - 0.3).abs(), if s < 0.3 { -1.0 } else { 1.0 });
        let found = search(f, &WolfeConfig::default()).unwrap();
        assert!(
            !found.curvature && (found.step - 0.3).abs() < 1e-3,
            "{found:?}"
        );
    }

    #[test]
    fn walls_and_ascent_are_refused() {
        let wall = |s: f64| {
            if s > 0.2 {
                (f64::NAN, f64::NAN)
            } else {
                (-s, -1.0)
            }
        };
        let found = search(wall, &WolfeConfig::default()).unwrap();
        assert!(found.step > 0.1 && found.step <= 0.2, "{found:?}");
        let up = search(|s| (s, 1.0), &WolfeConfig::default());
        assert!(matches!(up, Err(WolfeError::NotDescent { .. })));
        // A slope that lies: f grows along it.
        let lie = search(|s| (s, -1.0), &WolfeConfig::default());
        assert!(matches!(lie, Err(WolfeError::NoDecrease { .. })), "{lie:?}");
        let start = WolfeSample {
            value: 0.0,
            slope: -1.0,
        };
        let failed = wolfe(start, |_| Err("broken"), &WolfeConfig::default());
        assert_eq!(failed, Err(WolfeError::Evaluation("broken")));
    }
}
