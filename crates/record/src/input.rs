//! Reading of whole files.

use std::{fs, io, path::Path};

use crate::RecordError;

/// The largest file that is read [bytes]: larger than any checkpoint that fits into memory.
const LARGEST: u64 = 1 << 36;

/// Reads a regular file. Refuses devices and pipes, which may never end or wait for a writer.
pub fn read_file(path: &Path) -> Result<Vec<u8>, RecordError> {
    let fail = |error| RecordError::io("read", path, error);
    let meta = fs::metadata(path).map_err(fail)?;
    if !meta.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")));
    }
    if meta.len() > LARGEST {
        return Err(fail(io::Error::from(io::ErrorKind::FileTooLarge)));
    }
    fs::read(path).map_err(fail)
}

/// Reads a regular text file.
pub fn read_text(path: &Path) -> Result<String, RecordError> {
    let text = String::from_utf8(read_file(path)?);
    text.map_err(|_| RecordError::malformed(path, "it is not UTF-8 text"))
}
