//! Checks: bounds on probes and on the certificate, which make a scene its own test.

/// A bound on a followed number at a time or over an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The name shown in tables; unique in a scene.
    pub name: String,
    /// What is followed.
    pub of: Subject,
    /// When it is looked at.
    pub when: When,
    /// What is made of the values seen in that time.
    pub reduce: Reduce,
    /// The least accepted value.
    pub min: f64,
    /// The greatest accepted value.
    pub max: f64,
}

/// What a check follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A probe, by its index.
    Probe(usize),
    /// A field of the certificate, by its name.
    Certificate(String),
}

/// When a check looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// At the step nearest to this time [s].
    At(f64),
    /// At every step between the two times, ends included [s].
    Between(f64, f64),
    /// At the last step.
    End,
}

/// What a check makes of the values it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduce {
    /// Every value must lie in the bound; the worst one is reported.
    #[default]
    Value,
    /// Their mean.
    Mean,
    /// The greatest minus the least.
    Drift,
    /// The slope of the least-squares line through them over time [1/s].
    Slope,
    /// (greatest − least) / (greatest + least): the largest relative distance from the one number
    /// that is nearest to all of them.
    Spread,
}

/// A check on its way through a run: all that must be remembered is in these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// How many values were seen.
    pub count: f64,
    /// Least and greatest value seen.
    pub min: f64,
    /// See `min`.
    pub max: f64,
    /// The value seen last.
    pub last: f64,
    /// Running mean of time [s] and value, and centred sums Σ(t−t̄)², Σ(t−t̄)(y−ȳ).
    pub mean_t: f64,
    /// See `mean_t`.
    pub mean_y: f64,
    /// See `mean_t`.
    pub s_tt: f64,
    /// See `mean_t`.
    pub s_ty: f64,
    /// One if a value was not a number.
    pub poisoned: f64,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            count: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            last: f64::NAN,
            mean_t: 0.0,
            mean_y: 0.0,
            s_tt: 0.0,
            s_ty: 0.0,
            poisoned: 0.0,
        }
    }
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The check's name.
    pub name: String,
    /// The reduced value, or the worst one; NaN if nothing was seen.
    pub measured: f64,
    /// The bound.
    pub min: f64,
    /// The bound.
    pub max: f64,
    /// Whether it held.
    pub passed: bool,
}

impl Check {
    /// Takes in the value at time `t` [s] after a step of `h` [s].
    pub fn observe(&self, progress: &mut Progress, t: f64, h: f64, value: f64) {
        let slack = 1e-9 * h;
        let sees = match self.when {
            // Steps at t₁ and t₁ + h are equally near only at the midpoint, which the first takes.
            When::At(at) => at > t - 0.5 * h - slack && at <= t + 0.5 * h - slack,
            When::Between(from, to) => t >= from - slack && t <= to + slack,
            When::End => true,
        };
        if !sees {
            return;
        }
        if matches!(self.when, When::End) {
            *progress = Progress::default();
        }
        if value.is_nan() {
            progress.poisoned = 1.0;
        }
        progress.count += 1.0;
        progress.min = progress.min.min(value);
        progress.max = progress.max.max(value);
        progress.last = value;
        let (dt, dy) = (t - progress.mean_t, value - progress.mean_y);
        progress.mean_t += dt / progress.count;
        progress.mean_y += dy / progress.count;
        progress.s_tt += dt * (t - progress.mean_t);
        progress.s_ty += dt * (value - progress.mean_y);
    }

    /// The verdict after a run. A check that saw nothing fails: it would otherwise pass by accident.
    pub fn outcome(&self, progress: &Progress) -> Outcome {
        let measured = if progress.count == 0.0 || progress.poisoned > 0.0 {
            f64::NAN
        } else {
            match self.reduce {
                Reduce::Value => {
                    let over = progress.max - self.max;
                    let under = self.min - progress.min;
                    if over.is_finite() && (over > under || !under.is_finite()) {
                        progress.max
                    } else {
                        progress.min
                    }
                }
                Reduce::Mean => progress.mean_y,
                Reduce::Drift => progress.max - progress.min,
                Reduce::Slope => progress.s_ty / progress.s_tt,
                Reduce::Spread => (progress.max - progress.min) / (progress.max + progress.min),
            }
        };
        let passed = measured >= self.min && measured <= self.max;
        Outcome {
            name: self.name.clone(),
            measured,
            min: self.min,
            max: self.max,
            passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(when: When, reduce: Reduce, min: f64, max: f64) -> Check {
        Check {
            name: "c".into(),
            of: Subject::Probe(0),
            when,
            reduce,
            min,
            max,
        }
    }

    fn run(c: &Check, f: impl Fn(f64) -> f64) -> Outcome {
        let mut p = Progress::default();
        for k in 0..=100 {
            let t = f64::from(k) * 0.01;
            c.observe(&mut p, t, 0.01, f(t));
        }
        c.outcome(&p)
    }

    #[test]
    fn a_value_is_taken_at_the_nearest_step() {
        let o = run(
            &check(When::At(0.304), Reduce::Value, 0.29999, 0.30001),
            |t| t,
        );
        assert!(o.passed && (o.measured - 0.3).abs() < 1e-12, "{o:?}");
        let o = run(
            &check(When::At(0.3), Reduce::Value, 0.29999, 0.30001),
            |t| t,
        );
        assert!(o.passed, "{o:?}");
    }

    #[test]
    fn the_worst_value_over_an_interval_is_reported() {
        let o = run(
            &check(When::Between(0.2, 0.6), Reduce::Value, -1.0, 0.5),
            |t| t,
        );
        assert!(!o.passed && (o.measured - 0.6).abs() < 1e-12, "{o:?}");
        let o = run(
            &check(When::Between(0.2, 0.6), Reduce::Value, 0.3, f64::INFINITY),
            |t| t,
        );
        assert!(!o.passed && (o.measured - 0.2).abs() < 1e-12, "{o:?}");
    }

    #[test]
    fn slope_mean_drift_and_end() {
        let line = |t: f64| 3.0 * t + 1.0;
        assert!(
            (run(
                &check(When::Between(0.0, 1.0), Reduce::Slope, 0.0, 9.0),
                line
            )
            .measured
                - 3.0)
                .abs()
                < 1e-12
        );
        assert!(
            (run(
                &check(When::Between(0.0, 1.0), Reduce::Mean, 0.0, 9.0),
                line
            )
            .measured
                - 2.5)
                .abs()
                < 1e-12
        );
        assert!(
            (run(
                &check(When::Between(0.5, 1.0), Reduce::Drift, 0.0, 9.0),
                line
            )
            .measured
                - 1.5)
                .abs()
                < 1e-12
        );
        assert!(
            (run(&check(When::End, Reduce::Value, 0.0, 9.0), line).measured - 4.0).abs() < 1e-12
        );
        // From 2.5 to 4: 3.25 is nearest to all, at most 0.75 away.
        let spread = run(
            &check(When::Between(0.5, 1.0), Reduce::Spread, 0.0, 9.0),
            line,
        );
        assert!((spread.measured - 0.75 / 3.25).abs() < 1e-12);
    }

    #[test]
    fn nothing_seen_and_not_a_number_both_fail() {
        assert!(
            !run(
                &check(
                    When::At(7.0),
                    Reduce::Value,
                    f64::NEG_INFINITY,
                    f64::INFINITY
                ),
                |t| t
            )
            .passed
        );
        let nan = |t: f64| if t > 0.5 { f64::NAN } else { t };
        assert!(
            !run(
                &check(When::Between(0.0, 1.0), Reduce::Value, -9.0, 9.0),
                nan
            )
            .passed
        );
    }
}
