//! Files of friction problems, of any kind that is read: by what is in them, not by their names.

use std::path::Path;

use stiction_contact::{
    exchange::{Exchange, siconos},
    file::{MAGIC, StoredProblem},
};

use crate::{RecordError, atomic, fclib, read_file};

/// A problem from a file: our own form, FCLIB's HDF5 or Siconos' text.
pub fn read_problem(path: &Path) -> Result<StoredProblem, RecordError> {
    let bytes = read_file(path)?;
    let refused = |e: &dyn std::error::Error| RecordError::malformed(path, e.to_string());
    if bytes.starts_with(&MAGIC) {
        return StoredProblem::from_bytes(&bytes).map_err(|e| refused(&e));
    }
    if fclib::is_hdf5(&bytes) {
        let exchange = fclib::from_bytes(&bytes).map_err(|e| refused(&e))?;
        return exchange.to_stored().map_err(|e| refused(&e));
    }
    let known = "no friction problem: neither ours, nor FCLIB's, nor Siconos' text";
    let text = String::from_utf8(bytes).map_err(|_| RecordError::malformed(path, known))?;
    let local =
        siconos::read(&text).map_err(|e| RecordError::malformed(path, format!("{known} ({e})")))?;
    let exchange = Exchange {
        form: local.into(),
        frames: Vec::new(),
        h: 1.0,
        origin: format!("{}", path.display()),
        guess: None,
        solution: None,
    };
    exchange.to_stored().map_err(|e| refused(&e))
}

/// Writes a problem, replacing what is there when it is complete: names that end in `.hdf5` or
/// `.h5` get FCLIB's global form, others our own.
pub fn write_problem(path: &Path, stored: &StoredProblem) -> Result<(), RecordError> {
    let refused = |e: &dyn std::error::Error| RecordError::invalid(path, e.to_string());
    let extension = path.extension().and_then(|e| e.to_str());
    let bytes = if matches!(extension, Some("hdf5" | "h5")) {
        let exchange = Exchange::global(stored).map_err(|e| refused(&e))?;
        fclib::to_bytes(&exchange).map_err(|e| refused(&e))?
    } else {
        stored.to_bytes().map_err(|e| refused(&e))?
    };
    atomic::write(path, &bytes)
}
