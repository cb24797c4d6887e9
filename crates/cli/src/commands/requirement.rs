//! `--require NAME<BOUND`: bounds on the certificate of every step.

use std::{path::Path, str::FromStr};

use stiction_contact::Certificate;
use stiction_record::{CertificateBound, Recorder, read_table};

use super::Failure;

/// A bound on one number of the certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement(pub CertificateBound);

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
        Ok(Self(CertificateBound {
            field: (*field).to_owned(),
            bound,
            text: text.to_owned(),
        }))
    }
}

impl Requirement {
    /// Takes a step's certificate; says how the step breaks the bound, if it does.
    pub fn step(&self, step: u64, time: f64, certificate: &Certificate) -> Option<String> {
        let CertificateBound { field, text, .. } = &self.0;
        let Some(value) = certificate.field(field) else {
            return Some(format!(
                "the requirement {text} cannot be tested: the method solves no friction problem, so that \
                 `{field}` does not apply to it"
            ));
        };
        self.0
            .is_broken_by(value)
            .then(|| self.message(step, time, value))
    }

    /// Says which of the `steps` before a resume broke the bound first, if one did.
    pub fn broken_before(
        &self,
        dir: &Path,
        steps: u64,
        recorder: &Recorder,
    ) -> Result<Option<String>, Failure> {
        let worst = recorder.history().worst(&self.0.field);
        if steps == 0 || !worst.is_none_or(|worst| self.0.is_broken_by(worst)) {
            return Ok(None);
        }
        let table = read_table(&dir.join("certificate.csv")).map_err(Failure::run)?;
        let column = |name: &str| table.numbers(name).unwrap_or_default();
        let (at, times, values) = (column("step"), column("time"), column(&self.0.field));
        let mut rows = at.iter().zip(&times).zip(&values);
        let first = rows.find(|(_, value)| self.0.is_broken_by(**value));
        Ok(Some(match first {
            Some(((step, time), value)) => self.message(*step as u64, *time, *value),
            None => format!("an earlier step breaks the requirement {}", self.0.text),
        }))
    }

    fn message(&self, step: u64, time: f64, value: f64) -> String {
        let CertificateBound { field, text, .. } = &self.0;
        format!("step {step} at t = {time} s breaks the requirement {text}: {field} is {value:e}")
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
        assert_eq!((r.0.field.as_str(), r.0.bound), ("residual", 1e-6));
        for bad in ["residual", "resid<1", "creep<x", "creep<inf", ""] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad}");
        }
        let creep: Requirement = "creep<1e-9".parse().unwrap();
        let fine = Certificate {
            residual: 1e-7,
            ..Certificate::default()
        };
        assert_eq!(r.step(1, 0.01, &fine), None);
        let creeps = Certificate {
            creep: 2e-9,
            ..fine
        };
        let eliminated: Requirement = "eliminated<1e-9".parse().unwrap();
        let said = eliminated.step(1, 0.01, &fine).unwrap();
        assert!(said.contains("does not apply"), "{said}");
        let known = Certificate {
            eliminated: Some(1e-10),
            ..fine
        };
        assert_eq!(eliminated.step(1, 0.01, &known), None);
        let said = creep.step(2, 0.02, &creeps).unwrap();
        assert!(said.contains("step 2") && said.contains("2e-9") && said.contains("creep<1e-9"));
        let lost = Certificate {
            residual: f64::NAN,
            ..fine
        };
        assert!(r.step(3, 0.03, &lost).is_some());
        assert!(every("every=0").is_err() && every("5").is_err());
        assert_eq!(every("every=5"), Ok(5));
    }
}
