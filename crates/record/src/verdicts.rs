//! Verdicts on a whole run: bounds on the certificate of every step, and the exact test of every
//! frame.
//!
//! They are kept in checkpoints. A resumed run starts from the earlier verdicts, so that a broken
//! bound stays broken, and frames that were not tested are counted.

use crate::{CheckResult, CheckpointError, CheckpointFile, Encoder, History};

/// Name of the section in a checkpoint.
pub(crate) const SECTION: &str = "verdicts";

/// Its newest version.
pub(crate) const VERSION: u32 = 1;

/// Name of the quantity that the exact test of frames counts.
pub const CROSSINGS: &str = "crossings";

/// Requirements on a run and their results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// Bounds on the certificate of every step.
    pub bounds: Vec<CertificateBound>,
    /// The exact test of frames, if any was made.
    pub exact: Option<ExactTest>,
}

/// An upper bound on a field of the certificate, for every step.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateBound {
    /// The field.
    pub field: String,
    /// The bound, in the unit of the field.
    pub bound: f64,
    /// The bound as the user wrote it.
    pub text: String,
}

/// Result of the exact test of frames for crossing surfaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactTest {
    /// Number of tested frames.
    pub frames: u64,
    /// Largest number of crossings in a frame.
    pub most: u64,
}

impl CertificateBound {
    /// Whether a value breaks the bound; NaN does.
    pub fn is_broken_by(&self, value: f64) -> bool {
        value.is_nan() || value >= self.bound
    }
}

impl Verdicts {
    /// Adds bounds that are not present yet.
    pub fn require(&mut self, bounds: impl IntoIterator<Item = CertificateBound>) {
        for bound in bounds {
            let same = |b: &CertificateBound| b.field == bound.field && b.bound == bound.bound;
            if !self.bounds.iter().any(same) {
                self.bounds.push(bound);
            }
        }
    }

    /// Adds the number of crossings of a frame.
    pub fn crossings(&mut self, found: u64) {
        let exact = self.exact.get_or_insert_default();
        exact.frames += 1;
        exact.most = exact.most.max(found);
    }

    /// The bounds over all steps of the run.
    pub(crate) fn requirements(&self, history: &History) -> Vec<CheckResult> {
        let result = |bound: &CertificateBound| {
            let worst = history.worst(&bound.field);
            let steps = history.iterations.count();
            let reason = || format!("`{}` does not apply to the method", bound.field);
            CheckResult {
                name: bound.text.clone(),
                of: format!("certificate.{}", bound.field),
                value: worst.unwrap_or(if steps == 0 { 0.0 } else { f64::NAN }),
                max: Some(bound.bound),
                passed: match worst {
                    Some(worst) => !bound.is_broken_by(worst),
                    None => steps == 0,
                },
                untested: (steps > 0 && worst.is_none()).then(reason),
                ..CheckResult::default()
            }
        };
        self.bounds.iter().map(result).collect()
    }

    /// The exact test over all frames of the run but the first, which is the state at the start.
    pub(crate) fn exact(&self, history: &History) -> Option<CheckResult> {
        let exact = self.exact?;
        let frames = history.frames.saturating_sub(1);
        let untested = frames.saturating_sub(exact.frames);
        Some(CheckResult {
            name: "no surfaces cross at any frame".to_owned(),
            of: CROSSINGS.to_owned(),
            value: exact.most as f64,
            max: Some(0.0),
            passed: exact.most == 0 && untested == 0,
            untested: (untested > 0).then(|| format!("{untested} of {frames} frames")),
            ..CheckResult::default()
        })
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u64(self.bounds.len() as u64);
        for bound in &self.bounds {
            out.str(&bound.field);
            out.f64(bound.bound);
            out.str(&bound.text);
        }
        out.bool(self.exact.is_some());
        let exact = self.exact.unwrap_or_default();
        out.u64(exact.frames);
        out.u64(exact.most);
    }

    /// Reads the section; empty from checkpoints of early versions.
    pub(crate) fn decode(checkpoint: &CheckpointFile) -> Result<Self, CheckpointError> {
        if !checkpoint.has(SECTION) {
            return Ok(Self::default());
        }
        let (_, mut input) = checkpoint.versioned(SECTION, VERSION)?;
        let mut verdicts = Self::default();
        for _ in 0..input.usize()? {
            verdicts.bounds.push(CertificateBound {
                field: input.str()?.to_owned(),
                bound: input.f64()?,
                text: input.str()?.to_owned(),
            });
        }
        let tested = input.bool()?;
        let exact = ExactTest {
            frames: input.u64()?,
            most: input.u64()?,
        };
        verdicts.exact = tested.then_some(exact);
        input.finish()?;
        Ok(verdicts)
    }
}
