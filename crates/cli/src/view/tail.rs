//! The rows of a table that are new.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use stiction_record::read_table;

use super::News;
use crate::replay::ReplayError;

/// Quantities that span many powers of ten are shown as their logarithms.
const LOGARITHMIC: [&str; 6] = [
    "residual",
    "penetration",
    "cone",
    "creep",
    "dynamics",
    "eliminated",
];
/// The least number whose logarithm is shown: zero has none.
const LEAST: f64 = 1e-18;
/// Of the certificate, what is an energy.
const ENERGIES: [&str; 4] = ["kinetic", "elastic", "potential", "contact_work"];

/// Whether a number of the certificate is shown as its logarithm to the base of ten.
pub fn is_logarithmic(field: &str) -> bool {
    LOGARITHMIC.contains(&field)
}

/// A table that is read as it grows.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// All columns, `step` and `time` first.
    columns: Vec<String>,
    /// Bytes read.
    offset: u64,
}

impl Tail {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            columns: Vec::new(),
            offset: 0,
        }
    }

    /// The names of the quantities.
    pub fn columns(&self) -> &[String] {
        self.columns.get(2..).unwrap_or_default()
    }

    /// The rows that were added since the last call, one series per column.
    pub fn read(&mut self, group: &str) -> Result<Vec<News>, ReplayError> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        let broken = |e: &dyn std::fmt::Display| {
            ReplayError::Broken(format!("{}: {e}", self.path.display()))
        };
        let mut text = String::new();
        File::open(&self.path)
            .and_then(|mut file| {
                file.seek(SeekFrom::Start(self.offset))?;
                file.read_to_string(&mut text)
            })
            .map_err(|e| broken(&e))?;
        // The last row may be half-written.
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = text.lines();
        if self.offset == 0 {
            // Names may be quoted; the reader of tables handles that.
            self.columns = read_table(&self.path).map_err(|e| broken(&e))?.columns;
            rows.next();
        }
        self.offset += text.len() as u64;
        // Cells are plain numbers; what is no number is left out.
        let rows: Vec<Vec<f64>> = rows
            .map(|row| {
                row.split(',')
                    .map(|c| c.parse().unwrap_or(f64::NAN))
                    .collect()
            })
            .collect();
        let mut news = Vec::new();
        for (at, name) in self.columns.iter().enumerate().skip(2) {
            let logarithm = group == "certificate" && is_logarithmic(name);
            let value = |row: &Vec<f64>| {
                let (time, value) = (*row.get(1)?, *row.get(at)?);
                // The cell of a number that does not apply is empty.
                if value.is_nan() {
                    return None;
                }
                let value = match logarithm {
                    true => value.abs().max(LEAST).log10(),
                    false => value,
                };
                (time.is_finite() && value.is_finite()).then_some((time, value))
            };
            let (times, values): (Vec<f64>, Vec<f64>) = rows.iter().filter_map(value).unzip();
            if times.is_empty() {
                continue;
            }
            let path = match group {
                "certificate" if ENERGIES.contains(&name.as_str()) => ["energy", name],
                _ => [group, name],
            };
            news.push(News::Numbers {
                path: path.map(str::to_owned).to_vec(),
                times,
                values,
            });
        }
        Ok(news)
    }
}
