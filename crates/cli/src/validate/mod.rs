//! The analytic friction suite: experiments whose outcome is known in closed form, for every method.
//!
//! A [`ValidationCase`] is a name, a closed form and a function that runs scenes in a [`Lab`] and compares.
//! The scenes are built in (`validation/NAME`) and changed key by key, so that every row of the
//! report names a command that repeats its run. Tolerances are stated with their reasons where they
//! are used: the order of the integrator, the tolerance of the solver, or the smoothing of a method
//! whose friction is smooth. For such a method the closed form is that of its own law: what should
//! rest creeps with the speed v at which s(v; ε) = T/(μN) [larionov, Eq. 7].
//!
//! A new family of cases gets a file of its own in this folder, and a line in [`cases`].

mod arch;
mod cloths;
mod frames;
mod holding;
mod lab;
mod momentum;
mod motion;
mod moving;
mod ode;
mod resting;
mod rolling;
mod ropes;
mod slopes;
mod statics;

use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use stiction_record::plot::Plot;

pub use lab::{Experiment, FrictionAccuracy, Lab, LabRun, Trouble};

/// An experiment with a known outcome.
#[derive(Clone, Copy)]
pub struct ValidationCase {
    /// Its name on the command line.
    pub name: &'static str,
    /// Title in one sentence.
    pub title: &'static str,
    /// The expected result.
    pub closed_form: &'static str,
    /// Runs it.
    pub run: fn(&Lab<'_>) -> Result<Findings, Trouble>,
}

/// Results of a case with one method.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Measured quantities.
    pub rows: Vec<Row>,
    /// Curves for the report.
    pub plots: Vec<Plot>,
}

/// One number compared with its expected value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Name of the quantity.
    pub quantity: String,
    /// Its unit; empty for plain numbers.
    pub unit: &'static str,
    /// Expected value.
    pub expected: f64,
    /// Measured value.
    pub measured: f64,
    /// The difference allowed, in the same unit.
    pub tolerance: f64,
    /// Reason for the tolerance.
    pub reason: String,
    /// Whether it is within the tolerance.
    pub passed: bool,
    /// The run it was measured in.
    pub command: String,
}

impl Row {
    /// `measured` should be `expected` to within `tolerance`.
    pub fn near(
        quantity: impl Into<String>,
        unit: &'static str,
        (expected, measured): (f64, f64),
        (tolerance, reason): (f64, &str),
        command: &str,
    ) -> Self {
        Self {
            quantity: quantity.into(),
            unit,
            expected,
            measured,
            tolerance,
            reason: reason.to_owned(),
            // Not a number is never within.
            passed: (measured - expected).abs() <= tolerance,
            command: command.to_owned(),
        }
    }

    /// `measured` should be zero or less, up to `tolerance`.
    pub fn at_most(
        quantity: impl Into<String>,
        unit: &'static str,
        measured: f64,
        (tolerance, reason): (f64, &str),
        command: &str,
    ) -> Self {
        Self {
            passed: measured <= tolerance,
            ..Self::near(
                quantity,
                unit,
                (0.0, measured),
                (tolerance, reason),
                command,
            )
        }
    }
}

/// Result of one case with one method.
#[derive(Clone, Debug, Serialize)]
pub struct CaseVerdict {
    /// The case.
    pub case: &'static str,
    /// The method.
    pub method: String,
    /// `passed`, `failed`, or `refused` by a method that cannot run it.
    pub status: &'static str,
    /// Reason for the refusal, or the error that stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Time on the wall clock [s]; cases run side by side.
    pub seconds: f64,
    /// Measured quantities.
    pub rows: Vec<Row>,
    /// Curves for the report.
    #[serde(skip)]
    pub plots: Vec<Plot>,
}

/// All cases, in the order of the report.
pub fn cases() -> Vec<ValidationCase> {
    [
        slopes::cases().as_slice(),
        motion::cases().as_slice(),
        holding::cases().as_slice(),
        resting::cases().as_slice(),
        ropes::cases().as_slice(),
        statics::cases().as_slice(),
        arch::cases().as_slice(),
        rolling::cases().as_slice(),
        moving::cases().as_slice(),
        cloths::cases().as_slice(),
        frames::cases().as_slice(),
        momentum::cases().as_slice(),
    ]
    .concat()
}

/// Runs cases with methods, side by side; `done` hears of each as it ends.
pub fn run(
    cases: &[ValidationCase],
    methods: &[String],
    quick: bool,
    done: impl Fn(&CaseVerdict) + Sync,
) -> Vec<CaseVerdict> {
    let pairs: Vec<(&ValidationCase, &String)> = cases
        .iter()
        .flat_map(|c| methods.iter().map(move |m| (c, m)))
        .collect();
    pairs
        .into_par_iter()
        .with_max_len(1)
        .map(|(case, method)| {
            let verdict = judge(case, &Lab::new(method, quick));
            done(&verdict);
            verdict
        })
        .collect()
}

fn judge(case: &ValidationCase, lab: &Lab<'_>) -> CaseVerdict {
    let start = Instant::now();
    let found = (case.run)(lab);
    let mut verdict = CaseVerdict {
        case: case.name,
        method: lab.method.to_owned(),
        status: "failed",
        why: None,
        seconds: start.elapsed().as_secs_f64(),
        rows: Vec::new(),
        plots: Vec::new(),
    };
    match found {
        Ok(found) => {
            // A case that measures nothing has not passed.
            if !found.rows.is_empty() && found.rows.iter().all(|r| r.passed) {
                verdict.status = "passed";
            }
            verdict.rows = found.rows;
            verdict.plots = found.plots;
        }
        Err(trouble) => {
            if matches!(trouble, Trouble::Unsupported(_)) {
                verdict.status = "refused";
            }
            verdict.why = Some(trouble.to_string());
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_pass_within_their_tolerance_only() {
        let row = |m| Row::near("a", "m", (1.0, m), (0.1, "b"), "c").passed;
        assert!(row(1.05) && row(0.95) && !row(1.2) && !row(0.8) && !row(f64::NAN));
        let most = |m| Row::at_most("a", "m", m, (0.1, "b"), "c").passed;
        assert!(most(0.05) && most(-7.0) && !most(0.2) && !most(f64::NAN));
    }

    #[test]
    fn names_of_cases_differ() {
        let all = cases();
        for (i, case) in all.iter().enumerate() {
            assert!(
                all[..i].iter().all(|c| c.name != case.name),
                "{}",
                case.name
            );
        }
    }

    #[test]
    fn a_case_without_rows_has_not_passed_and_a_refusal_is_not_a_failure() {
        let case = |run| ValidationCase {
            name: "x",
            title: "",
            closed_form: "",
            run,
        };
        let lab = Lab::new("admm", true);
        assert_eq!(
            judge(&case(|_| Ok(Findings::default())), &lab).status,
            "failed"
        );
        let refused: fn(&Lab<'_>) -> _ = |_| Err(Trouble::Unsupported("no".into()));
        assert_eq!(judge(&case(refused), &lab).status, "refused");
        let broken: fn(&Lab<'_>) -> _ = |_| {
            Err(Trouble::Failed {
                command: "c".into(),
                why: "w".into(),
            })
        };
        assert_eq!(judge(&case(broken), &lab).status, "failed");
    }
}
