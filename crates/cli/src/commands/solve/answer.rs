//! Answers as files, so that others can check them.

use std::{fmt::Write as _, path::Path};

use serde::Serialize;
use stiction_record::{RecordError, atomic, problems::write_exchange};

use super::{
    Outcome,
    case::{CertifiedSolution, SolveCase},
};

/// Kinds of files for answers, by the end of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    Json,
    Csv,
    Fclib,
}

impl AnswerFormat {
    /// The kind of a path; none for a folder.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "hdf5" | "h5" => Some(Self::Fclib),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// `contact`: n, t, t of each contact; `world`: x, y, z.
    coordinates: &'static str,
    /// [m/s], one number per velocity.
    v: &'a [f64],
    /// [m/s], three numbers per contact.
    u: &'a [f64],
    /// [N·s], three numbers per contact.
    r: &'a [f64],
}

/// Writes v, u, r and the certificate.
pub fn write(
    path: &Path,
    format: AnswerFormat,
    case: &SolveCase,
    outcome: &Outcome,
    answer: &CertifiedSolution,
) -> Result<(), RecordError> {
    let invalid = |reason: String| RecordError::Invalid {
        path: path.to_owned(),
        reason,
    };
    if format == AnswerFormat::Fclib {
        return write_exchange(path, &case.exchange(answer).map_err(invalid)?);
    }
    let point = case.point(answer).map_err(invalid)?;
    let columns = [("v", &point.v), ("u", &point.u), ("r", &point.r)];
    let coordinates = case.coordinates();
    let text = match format {
        AnswerFormat::Csv => {
            let mut text = String::from("vector,index,value\n");
            for (name, value) in outcome.certificate() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name},0,{value:e}");
            }
            for (name, column) in columns {
                for (i, x) in column.iter().enumerate() {
                    let _ = writeln!(text, "{name},{i},{x:e}");
                }
            }
            text
        }
        _ => {
            let document = Document {
                outcome,
                coordinates,
                v: &point.v,
                u: &point.u,
                r: &point.r,
            };
            serde_json::to_string_pretty(&document).map_err(|e| invalid(e.to_string()))?
        }
    };
    atomic::write(path, text.as_bytes())
}
