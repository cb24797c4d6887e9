//! The summary of a run: the output of `--json` and the contents of `summary.json`.

use crate::{RecordError, atomic, read_text};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

/// Summary of one run. Numbers that are not finite are written as `null`, which JSON supports, and
/// read back as NaN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the program.
    pub version: String,
    /// Name of the scene.
    pub scene: String,
    /// Name of the scene's variant, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Name of the method.
    pub method: String,
    /// Final status of the run.
    pub status: Status,
    /// The error of a failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of steps taken.
    pub steps: u64,
    /// Number of frames written.
    pub frames: u64,
    /// Simulated time [s].
    #[serde(with = "number")]
    pub time: f64,
    /// Wall-clock time [s].
    #[serde(with = "number")]
    pub wall: f64,
    /// Wall-clock time per stage of the step [s], in the order of the stages.
    pub stages: Named<Number>,
    /// Contacts per step.
    pub contacts: MeanMax,
    /// Iterations of the solver per step.
    pub iterations: MeanMax,
    /// Number of steps in which the method missed its own stopping criterion, and that no check on the certificate
    /// accepts; the certificate quantifies the error.
    #[serde(default)]
    pub unconverged_steps: u64,
    /// Number of steps that were substepped.
    #[serde(default)]
    pub cut_steps: u64,
    /// Work of the failsafe, if the run had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failsafe: Option<FailsafeSummary>,
    /// The certificate over the run: `residual` [m/s], `penetration` [m], `cone` [1], `slip_angle`
    /// [rad], `creep` [m/s], energies [J], `dynamics` [m/s], `overlap` [1].
    pub certificate: Named<MaxRms>,
    /// Number of degrees of freedom.
    pub dofs: u64,
    /// Peak memory of the process [bytes]; 0 if unavailable.
    pub peak_memory: u64,
    /// Number of threads.
    pub threads: u64,
    /// The probes, in the order of the scene.
    pub probes: Named<ProbeSummary>,
    /// The scene's own checks.
    pub checks: Vec<CheckResult>,
    /// Bounds on the certificate of every step that the command line required.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<CheckResult>,
}

/// Status of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Still running, or killed.
    #[default]
    Running,
    /// All steps were taken.
    Done,
    /// Stopped on request; it can be resumed.
    Interrupted,
    /// A step failed.
    Failed,
}

/// Mean and maximum over the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeanMax {
    /// Mean.
    #[serde(with = "number")]
    pub mean: f64,
    /// Maximum.
    #[serde(with = "number")]
    pub max: f64,
}

/// Work of the failsafe over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailsafeSummary {
    /// Number of steps in which surfaces crossed and were moved apart.
    pub steps: u64,
    /// Pairs that crossed, per step.
    pub before: MeanMax,
    /// Pairs that still crossed afterwards, per step.
    pub after: MeanMax,
}

/// Maximum over the steps and, where meaningful, the root mean square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MaxRms {
    /// Maximum.
    #[serde(with = "number")]
    pub max: f64,
    /// Root mean square.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms: Option<f64>,
}

/// A probe over the run, in the probe's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeSummary {
    /// The unit; empty for plain numbers.
    #[serde(default)]
    pub unit: String,
    /// First value.
    #[serde(with = "number")]
    pub first: f64,
    /// Last value.
    #[serde(with = "number")]
    pub last: f64,
    /// Smallest value.
    #[serde(with = "number")]
    pub min: f64,
    /// Largest value.
    #[serde(with = "number")]
    pub max: f64,
}

/// The outcome of one check of the scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Name of the check.
    pub name: String,
    /// The probe or the quantity of the certificate that is bounded.
    pub of: String,
    /// The value found, the worst one over an interval.
    #[serde(with = "number")]
    pub value: f64,
    /// Lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Beginning of the interval [s].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// End of the interval [s].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// The time range that was not tested, if any. Such a check has not passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untested: Option<String>,
    /// Whether the bound holds and was tested over the whole run.
    pub passed: bool,
}

impl Summary {
    /// The document as text, ending with a line break.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }

    /// Writes the document to `path`, atomically.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        let text = self.to_json();
        let text = text.map_err(|error| RecordError::invalid(path, error.to_string()))?;
        atomic::write(path, text.as_bytes())
    }

    /// Reads a document.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let text = read_text(path)?;
        serde_json::from_str(&text).map_err(|error| RecordError::malformed(path, error.to_string()))
    }
}

/// A map that keeps the order in which its entries were added.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// Adds an entry at the end, or replaces the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<T>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// The entry of that name.
    pub fn get(&self, name: &str) -> Option<&T> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value)
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Named<T>, A::Error> {
                let mut named = Named::default();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    named.insert(name, value);
                }
                Ok(named)
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// A number that reads `null` as NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Number(#[serde(with = "number")] pub f64);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

mod number {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() {
            serializer.serialize_f64(*value)
        } else {
            serializer.serialize_none()
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Option::<f64>::deserialize(deserializer).map(|value| value.unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::fs;

    fn example() -> Summary {
        let mut summary = Summary {
            version: "0.1.0".into(),
            scene: "slope".into(),
            method: "admm".into(),
            status: Status::Done,
            steps: 100,
            frames: 25,
            time: 0.1 + 0.2,
            wall: 1.0 / 3.0,
            dofs: 12_345,
            threads: 2,
            contacts: MeanMax {
                mean: 1.5,
                max: 3.0,
            },
            ..Summary::default()
        };
        for stage in [
            "adapt", "begin", "build", "predict", "detect", "solve", "certify", "advance", "record",
        ] {
            summary.stages.insert(stage, 0.125);
        }
        summary.certificate.insert(
            "residual",
            MaxRms {
                max: 1e-9,
                rms: Some(1e-10),
            },
        );
        summary.certificate.insert(
            "creep",
            MaxRms {
                max: 0.0,
                rms: None,
            },
        );
        let travel = ProbeSummary {
            unit: "m".into(),
            first: 0.0,
            last: 1e-7,
            min: -0.0,
            max: 1e300,
        };
        summary.probes.insert("travel", travel);
        summary.checks.push(CheckResult {
            name: "holds".into(),
            of: "travel".into(),
            value: 1e-7,
            max: Some(1e-6),
            passed: true,
            ..CheckResult::default()
        });
        summary
    }

    #[test]
    fn the_document_has_the_promised_keys_in_order_and_reads_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("summary.json");
        example().write(&path).unwrap();
        assert_eq!(Summary::read(&path).unwrap(), example());
        let text = fs::read_to_string(&path).unwrap();
        let keys = [
            "version",
            "scene",
            "method",
            "status",
            "steps",
            "frames",
            "time",
            "wall",
            "stages",
            "adapt",
            "begin",
            "build",
            "predict",
            "detect",
            "solve",
            "certify",
            "advance",
            "record",
            "contacts",
            "mean",
            "max",
            "iterations",
            "certificate",
            "residual",
            "rms",
            "creep",
            "dofs",
            "peak_memory",
            "threads",
            "probes",
            "travel",
            "first",
            "last",
            "min",
            "checks",
            "passed",
        ];
        let mut from = 0;
        for key in keys {
            let at = text[from..].find(&format!("\"{key}\":"));
            from += at.unwrap_or_else(|| panic!("{key} is missing or out of order"));
        }
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["status"], "done");
        assert_eq!(value["checks"][0]["passed"], true);
        assert_eq!(value["certificate"]["residual"]["rms"], 1e-10);
    }

    #[test]
    fn numbers_that_are_not_finite_become_null() {
        let mut summary = example();
        summary.time = f64::NAN;
        summary.stages.insert("solve", f64::INFINITY);
        summary.certificate.insert(
            "residual",
            MaxRms {
                max: 1.0,
                rms: Some(f64::NAN),
            },
        );
        let text = summary.to_json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value["time"].is_null() && value["stages"]["solve"].is_null());
        assert!(value["certificate"]["residual"]["rms"].is_null());
        let back: Summary = serde_json::from_str(&text).unwrap();
        assert!(back.time.is_nan() && back.stages.get("solve").unwrap().0.is_nan());
    }
}
