//! Atomic replacement of files: a file is either the old version or the new one.
//!
//! The new contents go to a temporary file in the same directory, which is flushed to the disk and
//! then renamed over the target; last, the directory entry is flushed. A process that is killed, or
//! a machine that loses power, leaves the previous file untouched.
//!
//! Waiting for the disk takes longer than many a step. It is therefore reserved for checkpoints,
//! summaries and the tables that they refer to. Frames are renamed into place as well
//! ([`replace_with`]), so that no reader sees half of one, but reach the disk when the system
//! flushes them: a power failure may lose the frames of the last seconds, a killed process loses
//! none.
//!
//! The name of the temporary file depends on the target alone, so that a leftover is overwritten by
//! the next write of the same file; [`remove_leftovers`] removes those of files that are never
//! written again.

use crate::RecordError;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".partial";

/// Replaces the file at `path` by `bytes`, atomically and durably.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    write_with(path, |out| out.write_all(bytes))
}

/// Replaces the file at `path` by the output of `fill`, atomically and durably.
///
/// If `fill` or the disk fails, the temporary file is removed and the old file stays unchanged.
pub fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RecordError> {
    rename_into_place(path, true, fill)?;
    sync_directory(&parent(path))
}

/// Like [`write_with`], but does not wait for the disk.
pub fn replace_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RecordError> {
    rename_into_place(path, false, fill)
}

fn rename_into_place(
    path: &Path,
    wait: bool,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RecordError> {
    let partial = partial_path(path)
        .ok_or_else(|| RecordError::invalid(path, "the path does not name a file"))?;
    let attempt = fill_partial(&partial, wait, fill)
        .map_err(|error| RecordError::io("write", path, error))
        .and_then(|()| {
            fs::rename(&partial, path).map_err(|error| RecordError::io("replace", path, error))
        });
    if attempt.is_err() {
        // The first error is the one worth reporting; a leftover does no harm.
        let _ = fs::remove_file(&partial);
    }
    attempt
}

/// Removes temporary files that killed processes left in `directory`, and returns their number.
///
/// Call it before a run starts to write there, never while another run does.
pub fn remove_leftovers(directory: &Path) -> Result<usize, RecordError> {
    let listing =
        fs::read_dir(directory).map_err(|error| RecordError::io("list", directory, error))?;
    let mut removed = 0;
    for entry in listing {
        let entry = entry.map_err(|error| RecordError::io("list", directory, error))?;
        let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
        if plain && is_leftover(&entry.file_name()) {
            let path = entry.path();
            fs::remove_file(&path).map_err(|error| RecordError::io("remove", &path, error))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Whether a file is a temporary, by its name.
pub(crate) fn is_leftover(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") && name.ends_with(SUFFIX.as_bytes())
}

/// Creates a new file at `path`, replacing an existing one. A link is replaced, not followed.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() || meta.is_symlink() => fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::other("it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).open(path)
}

fn fill_partial(
    partial: &Path,
    wait: bool,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, create(partial)?);
    fill(&mut out)?;
    // `into_inner` reports the last flush, which dropping the writer would swallow.
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if wait { file.sync_all() } else { Ok(()) }
}

fn partial_path(path: &Path) -> Option<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name()?);
    name.push(SUFFIX);
    Some(path.with_file_name(name))
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Flushes a directory entry, so that a rename survives a power failure. On systems other than Unix
/// a directory cannot be opened as a file, and the file system flushes its own entries.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), RecordError> {
    if cfg!(unix) {
        File::open(directory)
            .and_then(|handle| handle.sync_all())
            .map_err(|error| RecordError::io("flush", directory, error))?;
    }
    Ok(())
}

/// Creates a folder and its parents, if they do not exist.
pub fn make_folder(path: &Path) -> Result<(), RecordError> {
    fs::create_dir_all(path).map_err(|e| RecordError::io("create folder", path, e))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn replaces_the_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_keeps_the_old_file_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        write(&path, b"old").unwrap();
        let full = |out: &mut dyn Write| {
            out.write_all(b"half of the n")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        replace_with(&path, full).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let error = write_with(&path, full).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("a.bin") && message.contains("no storage space"),
            "{message}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn leftovers_are_overwritten_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        fs::write(
            dir.path().join(".a.bin.partial"),
            b"torn, and longer than the rest",
        )
        .unwrap();
        fs::write(dir.path().join(".b.bin.partial"), b"torn").unwrap();
        fs::write(dir.path().join("kept.partial"), b"a user's file").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(remove_leftovers(dir.path()).unwrap(), 1);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn refuses_paths_that_name_no_file_and_missing_directories() {
        assert!(matches!(
            write(Path::new("/"), b"x"),
            Err(RecordError::Invalid { .. })
        ));
        let dir = tempfile::tempdir().unwrap();
        let error = write(&dir.path().join("missing/a.bin"), b"x").unwrap_err();
        assert!(error.to_string().contains("missing/a.bin"));
    }
}
