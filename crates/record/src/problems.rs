//! Files of friction problems in all supported formats, recognised by their contents.

use std::path::Path;

use stiction_contact::{
    exchange::{Exchange, siconos},
    file::{MAGIC, StoredProblem},
};

#[cfg(feature = "fclib")]
use crate::fclib::{self, is_hdf5};
use crate::{RecordError, atomic, read_file};

/// Message of a build without FCLIB about its files.
#[cfg(not(feature = "fclib"))]
const WITHOUT: &str = "FCLIB's files need the feature `fclib` of this library";

/// A problem in the form of its file.
#[derive(Clone, Debug)]
pub enum ProblemFile {
    /// Stiction's own format.
    Own(Box<StoredProblem>),
    /// FCLIB's HDF5 or Siconos' text.
    Exchange(Box<Exchange>),
}

/// Reads a problem file: Stiction's own format, FCLIB's HDF5 or Siconos' text.
pub fn read_problem_file(path: &Path) -> Result<ProblemFile, RecordError> {
    let bytes = read_file(path)?;
    let refused = |e: &dyn std::error::Error| RecordError::malformed(path, e.to_string());
    if bytes.starts_with(&MAGIC) {
        let stored = StoredProblem::from_bytes(&bytes).map_err(|e| refused(&e))?;
        return Ok(ProblemFile::Own(Box::new(stored)));
    }
    if is_hdf5(&bytes) {
        return Ok(ProblemFile::Exchange(Box::new(read_fclib(path, &bytes)?)));
    }
    let known = "no friction problem: neither ours, nor FCLIB's, nor Siconos' text";
    let text = String::from_utf8(bytes).map_err(|_| RecordError::malformed(path, known))?;
    let form =
        siconos::read(&text).map_err(|e| RecordError::malformed(path, format!("{known} ({e})")))?;
    Ok(ProblemFile::Exchange(Box::new(Exchange {
        form,
        frames: Vec::new(),
        h: 1.0,
        origin: format!("{}", path.display()),
        guess: None,
        solution: None,
    })))
}

/// Reads a problem file in the form that solvers with velocities require.
pub fn read_problem(path: &Path) -> Result<StoredProblem, RecordError> {
    match read_problem_file(path)? {
        ProblemFile::Own(stored) => Ok(*stored),
        ProblemFile::Exchange(exchange) => exchange
            .to_stored()
            .map_err(|e| RecordError::malformed(path, e.to_string())),
    }
}

/// Writes a problem, atomically: in FCLIB's global form if the name ends in `.hdf5` or `.h5`, in
/// Stiction's own format otherwise.
pub fn write_problem(path: &Path, stored: &StoredProblem) -> Result<(), RecordError> {
    let refused = |e: &dyn std::error::Error| RecordError::invalid(path, e.to_string());
    let extension = path.extension().and_then(|e| e.to_str());
    if matches!(extension, Some("hdf5" | "h5")) {
        let exchange = Exchange::global(stored).map_err(|e| refused(&e))?;
        return write_exchange(path, &exchange);
    }
    let bytes = stored.to_bytes().map_err(|e| refused(&e))?;
    atomic::write(path, &bytes)
}

#[cfg(not(feature = "fclib"))]
fn is_hdf5(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89HDF\r\n\x1a\n")
}

#[cfg(feature = "fclib")]
fn read_fclib(path: &Path, bytes: &[u8]) -> Result<Exchange, RecordError> {
    fclib::from_bytes(bytes).map_err(|e| RecordError::malformed(path, e.to_string()))
}

#[cfg(not(feature = "fclib"))]
fn read_fclib(path: &Path, _: &[u8]) -> Result<Exchange, RecordError> {
    Err(RecordError::malformed(path, WITHOUT))
}

/// Writes a problem with its solution as an FCLIB file, in its own form.
#[cfg(feature = "fclib")]
pub fn write_exchange(path: &Path, exchange: &Exchange) -> Result<(), RecordError> {
    let refused = |e: fclib::FclibError| RecordError::invalid(path, e.to_string());
    atomic::write(path, &fclib::to_bytes(exchange).map_err(refused)?)
}

/// Refuses to write an FCLIB file: this build has no HDF5.
#[cfg(not(feature = "fclib"))]
pub fn write_exchange(path: &Path, _: &Exchange) -> Result<(), RecordError> {
    Err(RecordError::invalid(path, WITHOUT))
}
