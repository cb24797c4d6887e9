//! Checks: bounds on probes, on the certificate and on formulas of them, which make a scene its own
//! test.

use stiction_contact::Certificate;
use stiction_math::formula::Formula;

/// A bound on a followed number at a time or over an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The name shown in tables; unique in a scene.
    pub name: String,
    /// Measured quantity.
    pub of: Subject,
    /// Time at which it is evaluated.
    pub when: When,
    /// Reduction of the values in that time.
    pub reduce: Reduce,
    /// The least accepted value; not used if the bounds move.
    pub min: f64,
    /// The greatest accepted value; not used if the bounds move.
    pub max: f64,
    /// Bounds that change from step to step, for single values only.
    pub moving: Option<Box<MovingBound>>,
}

/// Quantity of a check.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A probe, by its index.
    Probe(usize),
    /// A field of the certificate, by its name.
    Certificate(String),
    /// The time [s].
    Time,
    /// A number.
    Number(f64),
    /// A formula of these, by their places in the list.
    Formula(Formula, Vec<Subject>),
}

/// Bounds that change from step to step.
#[derive(Clone, Debug, PartialEq)]
pub enum MovingBound {
    /// From the first to the second; absent ones do not bound.
    Between(Option<Subject>, Option<Subject>),
    /// Around a value.
    Around {
        /// The value wanted.
        value: Subject,
        /// The difference allowed.
        margin: Subject,
        /// Whether the difference is a fraction of the value.
        relative: bool,
    },
}

/// The numbers at one moment of a run.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The time [s].
    pub time: f64,
    /// The values of all probes.
    pub probes: &'a [f64],
    /// The certificate of the step; none before the first one.
    pub certificate: Option<&'a Certificate>,
}

impl Subject {
    /// Its value; none before the first step if it needs a certificate.
    pub fn value(&self, at: &Moment<'_>) -> Option<f64> {
        match self {
            Self::Probe(i) => Some(at.probes.get(*i).copied().unwrap_or(f64::NAN)),
            Self::Certificate(field) => Some(at.certificate?.field(field).unwrap_or(f64::NAN)),
            Self::Time => Some(at.time),
            Self::Number(x) => Some(*x),
            Self::Formula(formula, terms) => {
                let values: Option<Vec<f64>> = terms.iter().map(|t| t.value(at)).collect();
                let values = values?;
                Some(formula.value(|i| values.get(i).copied().unwrap_or(f64::NAN)))
            }
        }
    }

    /// As it is written in a scene with the given probes.
    pub fn text(&self, probes: &[&str]) -> String {
        match self {
            Self::Probe(i) => probes.get(*i).copied().unwrap_or_default().to_owned(),
            Self::Certificate(field) => format!("certificate.{field}"),
            Self::Time => "t".to_owned(),
            Self::Number(x) => x.to_string(),
            Self::Formula(formula, _) => formula.text().to_owned(),
        }
    }
}

impl MovingBound {
    /// The least and the greatest accepted value; none before the first step if they need a
    /// certificate.
    fn bounds(&self, at: &Moment<'_>) -> Option<[f64; 2]> {
        match self {
            Self::Between(min, max) => {
                let of = |bound: &Option<Subject>, none| match bound {
                    Some(subject) => subject.value(at),
                    None => Some(none),
                };
                Some([of(min, f64::NEG_INFINITY)?, of(max, f64::INFINITY)?])
            }
            Self::Around {
                value,
                margin,
                relative,
            } => {
                let (value, margin) = (value.value(at)?, margin.value(at)?);
                let margin = match relative {
                    true => margin * value.abs(),
                    false => margin,
                };
                Some([value - margin, value + margin])
            }
        }
    }
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

/// Reduction of the values of a check.
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

/// A check in progress: all that must be remembered is in these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckProgress {
    /// Number of values.
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
    /// For moving bounds: largest distance of a value outside them, negative inside.
    pub excess: f64,
    /// See `excess`: that value.
    pub worst: f64,
    /// See `excess`: the bounds it had.
    pub worst_min: f64,
    /// See `worst_min`.
    pub worst_max: f64,
}

impl Default for CheckProgress {
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
            excess: f64::NEG_INFINITY,
            worst: f64::NAN,
            worst_min: f64::NAN,
            worst_max: f64::NAN,
        }
    }
}

impl CheckProgress {
    /// The numbers in the order of the fields, for a checkpoint.
    pub fn numbers(&self) -> [f64; 13] {
        [
            self.count,
            self.min,
            self.max,
            self.last,
            self.mean_t,
            self.mean_y,
            self.s_tt,
            self.s_ty,
            self.poisoned,
            self.excess,
            self.worst,
            self.worst_min,
            self.worst_max,
        ]
    }

    /// From what [`CheckProgress::numbers`] gave.
    pub fn from_numbers(numbers: [f64; 13]) -> Self {
        let [count, min, max, last, mean_t, mean_y, s_tt, s_ty, rest @ ..] = numbers;
        let [poisoned, excess, worst, worst_min, worst_max] = rest;
        Self {
            count,
            min,
            max,
            last,
            mean_t,
            mean_y,
            s_tt,
            s_ty,
            poisoned,
            excess,
            worst,
            worst_min,
            worst_max,
        }
    }
}

/// Whether the scene itself says that the certificate of a step at time `t` [s] is good enough: a check bounds
/// the `residual` there, and the step keeps within all such bounds on its fields.
pub fn accepted(checks: &[Check], t: f64, h: f64, certificate: &Certificate) -> bool {
    let at = Moment {
        time: t,
        probes: &[],
        certificate: Some(certificate),
    };
    let mut demanded = false;
    for check in checks {
        let Subject::Certificate(field) = &check.of else {
            continue;
        };
        // Which step is the last one is not known before.
        let bounds_steps = check.reduce == Reduce::Value
            && check.moving.is_none()
            && !matches!(check.when, When::End);
        if !bounds_steps || !check.sees(t, h) {
            continue;
        }
        demanded |= field == "residual";
        match check.of.value(&at) {
            Some(value) if value >= check.min && value <= check.max => {}
            _ => return false,
        }
    }
    demanded
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOutcome {
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
    /// Takes in a moment after a step of `h` [s]; does nothing before the first step if what is
    /// followed needs a certificate.
    pub fn watch(&self, progress: &mut CheckProgress, at: &Moment<'_>, h: f64) {
        let bounds = match &self.moving {
            Some(moving) => moving.bounds(at).map(Some),
            None => Some(None),
        };
        if let (Some(value), Some(bounds)) = (self.of.value(at), bounds) {
            self.take(progress, at.time, h, value, bounds);
        }
    }

    /// Takes in the value at time `t` [s] after a step of `h` [s].
    pub fn observe(&self, progress: &mut CheckProgress, t: f64, h: f64, value: f64) {
        self.take(progress, t, h, value, None);
    }

    /// Whether the check looks at a step of `h` [s] that ends at `t` [s].
    fn sees(&self, t: f64, h: f64) -> bool {
        let slack = 1e-9 * h;
        match self.when {
            // Steps at t₁ and t₁ + h are equally near only at the midpoint, which the first takes.
            When::At(at) => at > t - 0.5 * h - slack && at <= t + 0.5 * h - slack,
            When::Between(from, to) => t >= from - slack && t <= to + slack,
            When::End => true,
        }
    }

    fn take(
        &self,
        progress: &mut CheckProgress,
        t: f64,
        h: f64,
        value: f64,
        bounds: Option<[f64; 2]>,
    ) {
        if !self.sees(t, h) {
            return;
        }
        if matches!(self.when, When::End) {
            *progress = CheckProgress::default();
        }
        if value.is_nan() {
            progress.poisoned = 1.0;
        }
        if let Some([min, max]) = bounds {
            let excess = (value - max).max(min - value);
            if min.is_nan() || max.is_nan() {
                progress.poisoned = 1.0;
            }
            if excess > progress.excess || progress.count == 0.0 {
                progress.excess = excess;
                (progress.worst, progress.worst_min, progress.worst_max) = (value, min, max);
            }
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

    /// The part of its time that a run of steps of `h` [s] until `end` [s] has not reached, in words; none if
    /// it was all seen. A check that was not reached has not passed.
    pub fn unreached(&self, progress: &CheckProgress, end: f64, h: f64) -> Option<String> {
        let slack = 0.5 * h;
        match self.when {
            When::At(_) | When::End if progress.count == 0.0 => {
                Some(format!("not reached, the run ended at {end:.6} s"))
            }
            When::Between(from, to)
                if from > end + slack || progress.count == 0.0 && to > end + slack =>
            {
                Some(format!("not reached, the run ended at {end:.6} s"))
            }
            When::Between(_, to) if to.is_finite() && to > end + slack => {
                Some(format!("from {end:.6} s, where the run ended"))
            }
            _ => None,
        }
    }

    /// The verdict after a run. A check that saw nothing fails: it would otherwise pass by accident.
    pub fn outcome(&self, progress: &CheckProgress) -> CheckOutcome {
        let (min, max) = match &self.moving {
            Some(_) => (progress.worst_min, progress.worst_max),
            None => (self.min, self.max),
        };
        let measured = if progress.count == 0.0 || progress.poisoned > 0.0 {
            f64::NAN
        } else {
            match self.reduce {
                Reduce::Value if self.moving.is_some() => progress.worst,
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
        let passed = measured >= min && measured <= max;
        CheckOutcome {
            name: self.name.clone(),
            measured,
            min,
            max,
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
            moving: None,
        }
    }

    fn run(c: &Check, f: impl Fn(f64) -> f64) -> CheckOutcome {
        let mut p = CheckProgress::default();
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
    fn the_scene_accepts_steps_within_its_bounds_on_the_certificate() {
        let bound = |field: &str, when: When, max: f64| Check {
            of: Subject::Certificate(field.to_owned()),
            ..check(when, Reduce::Value, f64::NEG_INFINITY, max)
        };
        let certificate = Certificate {
            residual: 1e-3,
            linear: 1e-2,
            ..Certificate::default()
        };
        let whole = When::Between(0.0, 1.0);
        let is_accepted = |checks: &[Check]| accepted(checks, 0.5, 0.01, &certificate);
        assert!(is_accepted(&[bound("residual", whole, 2e-3)]));
        assert!(!is_accepted(&[bound("residual", whole, 5e-4)]));
        let linear = bound("linear", whole, 5e-3);
        assert!(!is_accepted(&[bound("residual", whole, 2e-3), linear]));
        // No demand, none at that time, none before the end.
        assert!(!is_accepted(&[]));
        assert!(!is_accepted(&[bound("penetration", whole, 1.0)]));
        let later = When::Between(0.6, 1.0);
        assert!(!is_accepted(&[bound("residual", later, 2e-3)]));
        assert!(!is_accepted(&[bound("residual", When::End, 2e-3)]));
    }

    #[test]
    fn checks_that_a_run_did_not_reach_are_reported() {
        let reached = |when: When, end: f64| {
            let c = check(when, Reduce::Value, -1.0, 1.0);
            let mut p = CheckProgress::default();
            for k in 0..=(end / 0.01).round() as u32 {
                c.observe(&mut p, f64::from(k) * 0.01, 0.01, 0.0);
            }
            c.unreached(&p, end, 0.01)
        };
        for when in [When::At(0.5), When::Between(0.2, 0.5), When::End] {
            assert_eq!(reached(when, 0.5), None, "{when:?}");
        }
        for when in [When::At(0.5), When::Between(0.5, 0.9)] {
            assert!(reached(when, 0.3).is_some_and(|s| s.starts_with("not reached")));
        }
        // Rounding may put the last step just before the time that a check looks from.
        let none = check(When::Between(0.3, 0.5), Reduce::Value, -1.0, 1.0);
        let said = none.unreached(&CheckProgress::default(), 0.3, 0.01);
        assert!(said.is_some_and(|s| s.starts_with("not reached")));
        let cut = reached(When::Between(0.2, 0.5), 0.3);
        assert!(cut.is_some_and(|s| s.starts_with("from 0.3")));
        assert_eq!(reached(When::Between(0.2, f64::INFINITY), 0.3), None);
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

    fn formula(text: &str) -> Subject {
        let names = ["a", "b", "t"];
        let place = |name: &str| names.iter().position(|n| *n == name);
        let terms = vec![Subject::Probe(0), Subject::Probe(1), Subject::Time];
        match Formula::parse(text, place) {
            Ok(formula) => Subject::Formula(formula, terms),
            Err(_) => Subject::Number(f64::NAN),
        }
    }

    fn watch(c: &Check, f: impl Fn(f64) -> [f64; 2]) -> CheckOutcome {
        let mut p = CheckProgress::default();
        for k in 0..=100 {
            let time = f64::from(k) * 0.01;
            let at = Moment {
                time,
                probes: &f(time),
                certificate: None,
            };
            // As after a checkpoint.
            p = CheckProgress::from_numbers(p.numbers());
            c.watch(&mut p, &at, 0.01);
        }
        c.outcome(&p)
    }

    #[test]
    fn a_formula_of_probes_is_reduced_like_a_probe() {
        let mut c = check(When::Between(0.5, 1.0), Reduce::Mean, 0.0, 9.0);
        c.of = formula("(b - a) / t");
        let o = watch(&c, |t| [t, 5.0 * t]);
        assert!(o.passed && (o.measured - 4.0).abs() < 1e-12, "{o:?}");
    }

    #[test]
    fn a_moving_bound_is_met_at_every_step_and_the_worst_is_reported() {
        let mut c = check(When::Between(0.0, 1.0), Reduce::Value, f64::NAN, f64::NAN);
        c.moving = Some(Box::new(MovingBound::Between(None, Some(formula("1 + t")))));
        // Below 1 + t but where t = 0.5, where it is 0.25 above.
        let bump = |t: f64| [if (t - 0.5).abs() < 1e-9 { 1.75 } else { t }, 0.0];
        let o = watch(&c, bump);
        assert!(
            !o.passed && o.measured == 1.75 && (o.max - 1.5).abs() < 1e-12,
            "{o:?}"
        );
        assert!(watch(&c, |t| [0.9 + t, 0.0]).passed);
        c.moving = Some(Box::new(MovingBound::Around {
            value: Subject::Probe(1),
            margin: Subject::Number(0.1),
            relative: true,
        }));
        assert!(watch(&c, |t| [1.0 + t, 1.05 + t]).passed);
        assert!(!watch(&c, |t| [1.0 + t, 1.2 * (1.0 + t)]).passed);
        // Before the first step there is no certificate, and nothing is seen.
        c.moving = Some(Box::new(MovingBound::Between(
            Some(Subject::Certificate("residual".into())),
            None,
        )));
        assert!(!watch(&c, |t| [t, t]).passed);
    }
}
