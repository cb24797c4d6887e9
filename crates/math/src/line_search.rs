//! Backtracking line search with Armijo's condition [nocedal2006, Alg. 3.1].

/// Parameters of [`armijo`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineSearchConfig {
    /// First step to try.
    pub initial_step: f64,
    /// Required fraction of the decrease predicted by the slope.
    pub sufficient_decrease: f64,
    /// Factor between steps.
    pub shrink: f64,
    /// Maximum number of evaluations of f.
    pub max_evaluations: usize,
    /// Differences up to this fraction of |f(0)| count as rounding: near a minimum, f cannot
    /// resolve a decrease that the gradient still sees.
    pub rounding: f64,
}

impl Default for LineSearchConfig {
    fn default() -> Self {
        Self {
            initial_step: 1.0,
            sufficient_decrease: 1e-4, // [nocedal2006, Sect. 3.1]
            shrink: 0.5,
            max_evaluations: 40,
            rounding: 8.0 * f64::EPSILON,
        }
    }
}

/// An accepted step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineSearchReport {
    /// The step s.
    pub step: f64,
    /// f(s).
    pub value: f64,
    /// Number of evaluations of f.
    pub evaluations: usize,
}

/// Errors of a line search.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum LineSearchError {
    /// The slope is not negative, or the value at zero is not finite.
    #[error("not a descent direction: value {value:e}, slope {slope:e}")]
    NotDescent {
        /// f(0).
        value: f64,
        /// f′(0).
        slope: f64,
    },
    /// No step decreased f enough.
    #[error(
        "no sufficient decrease in {evaluations} steps, the last {step:e} with value {value:e}"
    )]
    NoDecrease {
        /// Last step tried.
        step: f64,
        /// Its value.
        value: f64,
        /// Number of evaluations of f.
        evaluations: usize,
    },
}

/// Finds the first step s = s₀ · shrinkᵏ with f(s) ≤ f(0) + c s f′(0).
///
/// `value` = f(0), `slope` = f′(0) < 0, and `f` gives f(s); a value that is not finite (an inverted
/// element, say) counts as a rejected step.
pub fn armijo(
    value: f64,
    slope: f64,
    mut f: impl FnMut(f64) -> f64,
    config: &LineSearchConfig,
) -> Result<LineSearchReport, LineSearchError> {
    // Written so that NaN is refused as well.
    if !(slope < 0.0 && slope.is_finite() && value.is_finite()) {
        return Err(LineSearchError::NotDescent { value, slope });
    }
    let slack = config.rounding * value.abs();
    let mut step = config.initial_step;
    let mut last = (step, f64::NAN);
    for evaluations in 1..=config.max_evaluations {
        let at_step = f(step);
        let bound = value + config.sufficient_decrease * step * slope + slack;
        if at_step.is_finite() && at_step <= bound {
            return Ok(LineSearchReport {
                step,
                value: at_step,
                evaluations,
            });
        }
        last = (step, at_step);
        step *= config.shrink;
    }
    Err(LineSearchError::NoDecrease {
        step: last.0,
        value: last.1,
        evaluations: config.max_evaluations,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// f(s) = −s + a s²: Armijo holds exactly for s ≤ (1 − c)/a, so the step is known.
        #[test]
        fn step_on_a_parabola_is_the_largest_admissible(a in 0.01..1e6f64) {
            let config = LineSearchConfig { rounding: 0.0, ..LineSearchConfig::default() };
            let report = armijo(0.0, -1.0, |s| -s + a * s * s, &config).unwrap();
            let limit = (1.0 - config.sufficient_decrease) / a;
            prop_assert!(report.step <= limit * (1.0 + 1e-12));
            prop_assert!(report.step == 1.0 || 2.0 * report.step > limit * (1.0 - 1e-12));
            prop_assert_eq!(report.step, 0.5f64.powi(report.evaluations as i32 - 1));
        }
    }

    #[test]
    fn walls_are_avoided() {
        let config = LineSearchConfig::default();
        let report = armijo(0.0, -1.0, |s| if s > 0.2 { f64::NAN } else { -s }, &config).unwrap();
        assert_eq!(report.step, 0.125);
        let report = armijo(
            0.0,
            -1.0,
            |s| if s > 0.2 { f64::NEG_INFINITY } else { -s },
            &config,
        );
        assert_eq!(report.unwrap().step, 0.125);
    }

    #[test]
    fn failures_are_values() {
        let config = LineSearchConfig::default();
        for slope in [0.0, 1.0, f64::NAN, f64::NEG_INFINITY] {
            let error = armijo(1.0, slope, |_| 0.0, &config).unwrap_err();
            assert!(matches!(error, LineSearchError::NotDescent { .. }));
        }
        let mut calls = 0;
        let error = armijo(
            0.0,
            -1.0,
            |s| {
                calls += 1;
                s
            },
            &config,
        )
        .unwrap_err();
        assert!(matches!(
            error,
            LineSearchError::NoDecrease {
                evaluations: 40,
                ..
            }
        ));
        assert_eq!(calls, 40);
    }

    /// A decrease below the resolution of f is accepted instead of being searched for without end.
    #[test]
    fn rounding_does_not_stall() {
        let value = 1e6;
        let report = armijo(value, -1e-12, |_| value, &LineSearchConfig::default()).unwrap();
        assert_eq!(report.step, 1.0);
    }
}
