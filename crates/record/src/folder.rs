//! The folder of a run: locking, refusal of foreign files, and removal of an earlier run.
//!
//! A folder holds one run. Before anything is written, the process takes an advisory lock on
//! `DIR/run.lock`, which the operating system releases when the process ends, however it ends. A
//! folder with files that do not belong to a run is refused, so that no user files are replaced.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{OVERLAPS, RecordError, atomic, checkpoint, scene_file};

/// Name of the lock in the folder of a run. It is removed when the run ends.
pub const LOCK: &str = "run.lock";

/// First line of the lock, which distinguishes it from a user's own file.
const LOCK_HEADER: &str = "stiction run lock";

/// Files that mark a complete run; they are removed first, so that an interrupted removal leaves no
/// run.
const FIRST: [&str; 2] = ["summary.json", "checkpoint.bin"];

/// Other files of a run with fixed names. The kept scene and its meshes are replaced, not removed,
/// because the new run may be started from them.
const FILES: [&str; 7] = [
    "frames.pvd",
    "probes.csv",
    "certificate.csv",
    "contacts.csv",
    "pairs.csv",
    "run.usda",
    "run.glb",
];

/// Number of attempts to take the lock while other processes remove it.
const ATTEMPTS: usize = 100;

/// A run folder that is locked by this process. Clones share the lock.
#[derive(Clone, Debug)]
pub struct RunFolder {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    dir: PathBuf,
    /// None if the file system does not support locks.
    lock: Option<File>,
}

impl RunFolder {
    /// Creates the folder if it does not exist and locks it. Refuses a folder that another process
    /// writes to, and one with files that do not belong to a run.
    pub fn claim(dir: &Path) -> Result<Self, RecordError> {
        if let Some(found) = foreign(dir)? {
            return Err(RecordError::Foreign {
                path: dir.to_owned(),
                found,
            });
        }
        atomic::make_folder(dir)?;
        let lock = lock(&dir.join(LOCK))?;
        let dir = dir.to_owned();
        Ok(Self {
            held: Arc::new(Held { dir, lock }),
        })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.held.dir
    }

    /// Whether the folder holds a run, finished or not, or its remains.
    pub fn has_run(&self) -> bool {
        let marks = FIRST.iter().chain(&FILES);
        marks
            .into_iter()
            .any(|name| self.path().join(name).exists())
    }

    /// Removes all files of an earlier run except its kept scene and meshes. After an interruption
    /// at any moment the folder holds the whole earlier run, or no checkpoint.
    pub fn clear(&self) -> Result<(), RecordError> {
        for name in FIRST {
            if remove(&self.path().join(name))? {
                atomic::sync_directory(self.path())?;
            }
        }
        for name in FILES {
            remove(&self.path().join(name))?;
        }
        self.remove_numbered("frames", 0)?;
        self.remove_numbered("problems", 0)
    }

    /// Removes the file `name` if it exists.
    pub fn remove(&self, name: &str) -> Result<(), RecordError> {
        remove(&self.path().join(name)).map(|_| ())
    }

    /// Removes the files of a run in the folder `name` with number `from` or later.
    pub(crate) fn remove_numbered(&self, name: &str, from: u64) -> Result<(), RecordError> {
        let folder = self.path().join(name);
        if !is_plain_folder(&folder)? {
            return Ok(());
        }
        atomic::remove_leftovers(&folder)?;
        for entry in list(&folder)? {
            let entry = entry.map_err(|e| RecordError::io("list", &folder, e))?;
            if number(&entry.file_name()).is_some_and(|n| n >= from) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Refuses to go on after the folder was removed or replaced: another process may own what is
    /// there now.
    pub fn check_held(&self) -> Result<(), RecordError> {
        if self.held.is_held() {
            return Ok(());
        }
        let reason = "it or its run.lock was removed or replaced while the run was writing; start the run \
                      again";
        Err(RecordError::invalid(self.path(), reason))
    }

    /// Creates a subfolder, which must not be a link.
    pub fn make(&self, name: &str) -> Result<PathBuf, RecordError> {
        let folder = self.path().join(name);
        if !is_plain_folder(&folder)? {
            atomic::make_folder(&folder)?;
        }
        Ok(folder)
    }
}

impl Held {
    /// Whether the lock is where it was taken; true if the file system does not support locks.
    fn is_held(&self) -> bool {
        let lock = self.lock.as_ref();
        lock.is_none_or(|file| same_file(&self.dir.join(LOCK), file))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // While the lock is held, so that no other process's lock is removed.
        if self.lock.is_some() && self.is_held() {
            let _ = fs::remove_file(self.dir.join(LOCK));
        }
    }
}

/// Locks the file at `path`. None if the file system does not support locks.
fn lock(path: &Path) -> Result<Option<File>, RecordError> {
    let fail = |error| RecordError::io("lock", path, error);
    for _ in 0..ATTEMPTS {
        refuse_link(path)?;
        if path.metadata().is_ok_and(|m| !m.is_file()) {
            return Err(fail(io::Error::other("it is not a regular file")));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RecordError::Busy {
                    path: path.parent().unwrap_or(path).to_owned(),
                    owner: owner(&mut file),
                });
            }
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                return Ok(None);
            }
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
        // The previous owner may have removed the file after it was opened here.
        if !same_file(path, &file) {
            continue;
        }
        let text = format!("{LOCK_HEADER}\nprocess {}\n", std::process::id());
        // Overwritten, never truncated first: after any interruption, the header marks the folder
        // of a run.
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(text.as_bytes()))
            .and_then(|()| file.set_len(text.len() as u64))
            .map_err(fail)?;
        return Ok(Some(file));
    }
    Err(fail(io::Error::from(io::ErrorKind::ResourceBusy)))
}

/// The process named in a lock, if any.
fn owner(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.take(256).read_to_string(&mut text);
    let named = text.lines().find(|line| line.starts_with("process "));
    named.unwrap_or("another process").to_owned()
}

#[cfg(unix)]
fn same_file(path: &Path, file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: fs::Metadata| (m.dev(), m.ino());
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(there), Ok(here)) => id(there) == id(here),
        _ => false,
    }
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn same_file(path: &Path, _file: &File) -> bool {
    path.exists()
}

/// The first file in `dir` that does not belong to a run, unless `dir` is the folder of a run.
fn foreign(dir: &Path) -> Result<Option<PathBuf>, RecordError> {
    match fs::metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // Creating the folder reports the error.
        Err(_) => return Ok(None),
        Ok(meta) if !meta.is_dir() => return Ok(None),
        Ok(_) => {}
    }
    if is_run(dir) {
        return Ok(None);
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in list(dir)? {
        let name = entry
            .map_err(|e| RecordError::io("list", dir, e))?
            .file_name();
        // A process that is killed right after it created the lock leaves it empty.
        let lock = name == LOCK && dir.join(LOCK).metadata().is_ok_and(|m| m.len() == 0);
        if name != OVERLAPS && !lock && !atomic::is_leftover(&name) {
            found.push(PathBuf::from(name));
        }
    }
    found.sort();
    Ok(found.into_iter().next())
}

/// Whether `dir` is the folder of a run, by marks that no other program leaves.
fn is_run(dir: &Path) -> bool {
    let begins = |name: &str, with: &[u8]| {
        let path = dir.join(name);
        let plain = fs::symlink_metadata(&path).is_ok_and(|m| m.is_file());
        plain && begins_with(&path, with).unwrap_or(false)
    };
    // A kept scene alone may be a copy that the user edits.
    begins(LOCK, LOCK_HEADER.as_bytes())
        || begins("checkpoint.bin", &checkpoint::MAGIC)
        || begins(scene_file::SCENE_FILE, scene_file::HEADER.as_bytes())
            && (begins("probes.csv", b"step,time") || begins(LOCK, b""))
}

/// Whether the file at `path` begins with `bytes`.
pub(crate) fn begins_with(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut start = Vec::new();
    if !fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let file = File::open(path)?;
    file.take(bytes.len() as u64).read_to_end(&mut start)?;
    Ok(start == bytes)
}

fn list(dir: &Path) -> Result<fs::ReadDir, RecordError> {
    fs::read_dir(dir).map_err(|e| RecordError::io("list", dir, e))
}

/// Removes a file or a link; returns whether it existed.
fn remove(path: &Path) -> Result<bool, RecordError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(RecordError::io("remove", path, error)),
    }
}

/// Refuses a symbolic link, through which files elsewhere would be overwritten.
pub(crate) fn refuse_link(path: &Path) -> Result<(), RecordError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => Err(RecordError::invalid(
            path,
            "it is a symbolic link to another place, which a run does not write to; remove it",
        )),
        _ => Ok(()),
    }
}

/// Whether there is a folder at `path`; links and other files are refused.
fn is_plain_folder(path: &Path) -> Result<bool, RecordError> {
    refuse_link(path)?;
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => Ok(true),
        Ok(_) => Err(RecordError::invalid(
            path,
            "a file is in its place; remove it",
        )),
        Err(_) => Ok(false),
    }
}

/// The number in `NAME_000012.vtu` or `000012.problem`.
fn number(name: &OsStr) -> Option<u64> {
    let (stem, extension) = name.to_str()?.rsplit_once('.')?;
    let digits = match extension {
        "vtu" | "obj" | "ply" => stem.rsplit_once('_')?.1,
        "problem" => stem,
        _ => return None,
    };
    let plain = digits.len() >= 6 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_is_claimed_by_one_and_free_again_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let first = RunFolder::claim(&run).unwrap();
        let clone = first.clone();
        drop(first);
        let error = RunFolder::claim(&run).unwrap_err().to_string();
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        drop(clone);
        assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
        // The lock of a killed process does not lock the folder.
        fs::write(run.join(LOCK), format!("{LOCK_HEADER}\nprocess 1\n")).unwrap();
        fs::write(run.join("probes.csv"), "step,time\n").unwrap();
        RunFolder::claim(&run).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_was_replaced_belongs_to_its_new_owner() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let first = RunFolder::claim(&run).unwrap();
        first.check_held().unwrap();
        fs::remove_dir_all(&run).unwrap();
        let error = first.check_held().unwrap_err().to_string();
        assert!(error.contains("removed or replaced"), "{error}");
        let second = RunFolder::claim(&run).unwrap();
        assert!(first.check_held().is_err());
        drop(first);
        // The lock of the new owner stands.
        second.check_held().unwrap();
        assert!(RunFolder::claim(&run).is_err());
    }

    #[test]
    fn a_lock_that_was_made_and_not_written_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(LOCK), "").unwrap();
        drop(RunFolder::claim(dir.path()).unwrap());
        fs::write(dir.path().join(LOCK), "a user's").unwrap();
        assert!(RunFolder::claim(dir.path()).is_err());
    }

    #[test]
    fn folders_with_files_of_the_user_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("probes.csv"), "my data\n").unwrap();
        let error = RunFolder::claim(dir.path()).unwrap_err().to_string();
        assert!(error.contains("probes.csv"), "{error}");
        // A kept scene that the user copied does not make it the folder of a run.
        fs::write(dir.path().join("scene.toml"), scene_file::HEADER).unwrap();
        assert!(RunFolder::claim(dir.path()).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn clearing_removes_a_run_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::claim(dir.path()).unwrap();
        for name in ["frames", "problems"] {
            folder.make(name).unwrap();
        }
        let ours = [
            "summary.json",
            "checkpoint.bin",
            "contacts.csv",
            "frames/a_b_000012.vtu",
            "frames/a_1234567.ply",
            "problems/000004.problem",
        ];
        let others = ["notes.txt", "frames/a_12.vtu", "frames/film.mp4"];
        for name in ours.iter().chain(&others) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        folder.remove_numbered("frames", 13).unwrap();
        assert!(dir.path().join(ours[3]).exists() && !dir.path().join(ours[4]).exists());
        folder.clear().unwrap();
        assert!(ours.iter().all(|name| !dir.path().join(name).exists()));
        assert!(others.iter().all(|name| dir.path().join(name).exists()));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (run, other) = (dir.path().join("run"), dir.path().join("other"));
        fs::create_dir_all(&run).unwrap();
        fs::create_dir_all(&other).unwrap();
        let folder = RunFolder::claim(&run).unwrap();
        std::os::unix::fs::symlink(&other, run.join("frames")).unwrap();
        assert!(folder.make("frames").is_err() && folder.clear().is_err());
    }
}
