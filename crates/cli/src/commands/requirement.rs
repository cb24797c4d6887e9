//! `--require NAME<BOUND`: bounds on the certificate of every step.

use std::str::FromStr;

use stiction_contact::Certificate;
use stiction_record::CheckResult;

/// A bound on one number of the certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    field: &'static str,
    bound: f64,
    text: String,
}

/// The largest value of each requirement's number so far.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    all: Vec<Requirement>,
    worst: Vec<f64>,
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, bound) = text
            .split_once('<')
            .ok_or("say NAME<BOUND, for example residual<1e-6")?;
        let field = Certificate::FIELDS
            .iter()
            .find(|f| **f == name.trim())
            .ok_or_else(|| {
                let known = Certificate::FIELDS.join(", ");
                format!("the certificate has no `{}`; it has {known}", name.trim())
            })?;
        let number: Option<f64> = bound.trim().parse().ok();
        let bound = number
            .filter(|b| b.is_finite())
            .ok_or_else(|| format!("`{}` is no bound", bound.trim()))?;
        Ok(Self {
            field,
            bound,
            text: text.to_owned(),
        })
    }
}

impl Requirements {
    /// Nothing has been seen yet.
    pub fn new(all: Vec<Requirement>) -> Self {
        let worst = vec![f64::NEG_INFINITY; all.len()];
        Self { all, worst }
    }

    /// Takes a step's certificate; says what broke first, if anything did.
    pub fn step(&mut self, step: u64, time: f64, certificate: &Certificate) -> Option<String> {
        let mut broken = None;
        for (r, worst) in self.all.iter().zip(&mut self.worst) {
            let value = certificate.field(r.field).unwrap_or(f64::NAN);
            // A value that is no number is as bad as can be.
            *worst = if value.is_nan() {
                f64::INFINITY
            } else {
                worst.max(value)
            };
            if broken.is_none() && *worst >= r.bound {
                broken = Some(format!(
                    "step {step} at t = {time} s breaks the requirement {}: {} is {value:e}",
                    r.text, r.field
                ));
            }
        }
        broken
    }

    /// What came of them, for the summary.
    pub fn results(&self) -> Vec<CheckResult> {
        let pairs = self.all.iter().zip(&self.worst);
        pairs
            .map(|(r, &worst)| CheckResult {
                name: r.text.clone(),
                of: format!("certificate.{}", r.field),
                value: if worst == f64::NEG_INFINITY {
                    0.0
                } else {
                    worst
                },
                max: Some(r.bound),
                passed: worst < r.bound,
                ..CheckResult::default()
            })
            .collect()
    }
}

/// `every=N`.
pub fn every(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("every=").and_then(|n| n.parse().ok());
    number
        .filter(|&n: &u64| n > 0)
        .ok_or_else(|| format!("`{text}`: say every=N with N from 1"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bounds_are_read_and_kept() {
        let r: Requirement = "residual<1e-6".parse().unwrap();
        assert_eq!((r.field, r.bound), ("residual", 1e-6));
        for bad in ["residual", "resid<1", "creep<x", "creep<inf", ""] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad}");
        }
        let mut all = Requirements::new(vec![r, "creep<1e-9".parse().unwrap()]);
        let fine = Certificate {
            residual: 1e-7,
            ..Certificate::default()
        };
        assert_eq!(all.step(1, 0.01, &fine), None);
        let creeps = Certificate {
            creep: 2e-9,
            ..fine
        };
        let said = all.step(2, 0.02, &creeps).unwrap();
        assert!(said.contains("step 2") && said.contains("2e-9") && said.contains("creep<1e-9"));
        let passed: Vec<bool> = all.results().iter().map(|r| r.passed).collect();
        assert_eq!(passed, [true, false]);
        let lost = Certificate {
            residual: f64::NAN,
            ..fine
        };
        assert!(all.step(3, 0.03, &lost).is_some());
        assert!(every("every=0").is_err() && every("5").is_err());
        assert_eq!(every("every=5"), Ok(5));
    }
}
