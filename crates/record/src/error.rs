use std::io;
use std::path::{Path, PathBuf};

/// Errors of reading and writing files. Every variant names the path.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// An error of the operating system, with its message.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempted action: "write", "read", "rename", …
        action: &'static str,
        /// The file or directory concerned.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another process writes to the folder.
    #[error(
        "{owner} is writing a run to {}; wait until it has ended, or choose another output folder",
        path.display()
    )]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process.
        owner: String,
    },
    /// The folder contains files that do not belong to a run.
    #[error(
        "{} holds {}, which is not of a run, and runs do not mix with other files; choose another \
         output folder, an empty one or one that does not exist",
        path.display(),
        found.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The first file found, relative to the folder.
        found: PathBuf,
    },
    /// Inconsistent data; nothing was written.
    #[error("cannot write {}: {reason}", path.display())]
    Invalid {
        /// The file to be written.
        path: PathBuf,
        /// Description of the inconsistency.
        reason: String,
    },
    /// A file with unexpected contents.
    #[error("cannot read {}: {reason}", path.display())]
    Malformed {
        /// The file that was read.
        path: PathBuf,
        /// Description, position and remedy.
        reason: String,
    },
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn invalid(path: &Path, reason: impl Into<String>) -> Self {
        Self::Invalid {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn malformed(path: &Path, reason: impl Into<String>) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
