//! ParaView collections (`.pvd`): the files of all bodies and times.

use crate::xml::{escape, tags};
use crate::{RecordError, atomic, read_text};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The time series of a run on disk.
///
/// The file is rewritten atomically after every frame, so that it can be opened during the run, and
/// a killed run leaves a valid collection of all frames so far.
#[derive(Debug)]
pub struct Pvd {
    path: PathBuf,
    entries: Vec<PvdEntry>,
}

/// One body's file at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct PvdEntry {
    /// Time of the frame [s].
    pub time: f64,
    /// Number of the part; the same for a body in every frame.
    pub part: usize,
    /// Name of the body.
    pub name: String,
    /// Path of the file, relative to the collection, with `/` between folders.
    pub file: String,
}

impl Pvd {
    /// Starts an empty collection, replacing the file at `path`.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let pvd = Self {
            path: path.to_owned(),
            entries: Vec::new(),
        };
        pvd.write()?;
        Ok(pvd)
    }

    /// Continues the collection at `path` with the frames up to `time` [s], inclusive; later ones
    /// belong to steps that will be taken again. A missing file starts an empty collection.
    pub fn resume(path: &Path, time: f64) -> Result<Self, RecordError> {
        if !path.exists() {
            return Self::create(path);
        }
        let mut entries = read_pvd(path)?;
        entries.retain(|entry| entry.time <= time);
        let pvd = Self {
            path: path.to_owned(),
            entries,
        };
        pvd.write()?;
        Ok(pvd)
    }

    /// Adds the files of one frame at `time` [s], as (body, file relative to the collection), and
    /// rewrites the collection. Parts are numbered in the order given. Entries of the same time and
    /// body are replaced.
    pub fn add_frame(&mut self, time: f64, files: &[(&str, &str)]) -> Result<(), RecordError> {
        if !time.is_finite() {
            return Err(RecordError::invalid(
                &self.path,
                format!("a frame at time {time}"),
            ));
        }
        let before = self.entries.len();
        let repeated = |entry: &PvdEntry| {
            entry.time == time && files.iter().any(|(name, _)| *name == entry.name)
        };
        let replaced: Vec<PvdEntry> = self.entries.extract_if(.., |e| repeated(e)).collect();
        let kept = before - replaced.len();
        for (part, (name, file)) in files.iter().enumerate() {
            self.entries.push(PvdEntry {
                time,
                part,
                name: (*name).to_owned(),
                file: file.replace('\\', "/"),
            });
        }
        let written = self.write();
        if written.is_err() {
            // Memory and disk stay consistent, so that a later frame does not include this one.
            self.entries.truncate(kept);
            self.entries.extend(replaced);
        }
        written
    }

    /// The entries on disk, in the order of the file.
    pub fn entries(&self) -> &[PvdEntry] {
        &self.entries
    }

    /// Number of frames, that is, of different times.
    pub fn frames(&self) -> usize {
        self.entries.chunk_by(|a, b| a.time == b.time).count()
    }

    /// Flushes the collection to the disk.
    pub fn sync(&self) -> Result<(), RecordError> {
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .map_err(|error| RecordError::io("flush", &self.path, error))
    }

    fn write(&self) -> Result<(), RecordError> {
        atomic::replace_with(&self.path, |out| {
            writeln!(
                out,
                "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" \
                 byte_order=\"LittleEndian\">\n<Collection>"
            )?;
            for PvdEntry {
                time,
                part,
                name,
                file,
            } in &self.entries
            {
                let (name, file) = (escape(name), escape(file));
                writeln!(
                    out,
                    "<DataSet timestep=\"{time:?}\" group=\"\" part=\"{part}\" name=\"{name}\" \
                     file=\"{file}\"/>"
                )?;
            }
            writeln!(out, "</Collection>\n</VTKFile>")
        })
    }
}

/// Reads the entries of a collection.
pub fn read_pvd(path: &Path) -> Result<Vec<PvdEntry>, RecordError> {
    let text = read_text(path)?;
    if !text.trim_end().ends_with("</VTKFile>") || !text.contains("type=\"Collection\"") {
        return Err(RecordError::malformed(
            path,
            "it is not a ParaView collection",
        ));
    }
    let sets = tags(&text).filter(|tag| tag.name == "DataSet").enumerate();
    sets.map(|(at, tag)| {
        let entry = || {
            Some(PvdEntry {
                time: tag.parse("timestep")?,
                part: tag.parse("part").unwrap_or(0),
                name: tag.get("name").unwrap_or_default(),
                file: tag.get("file")?,
            })
        };
        entry().ok_or_else(|| {
            RecordError::malformed(path, format!("entry {at} lacks its timestep or file"))
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::fs;

    #[test]
    fn every_frame_is_on_disk_at_once_and_survives_a_resume() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.pvd");
        let mut pvd = Pvd::create(&path).unwrap();
        assert_eq!(read_pvd(&path).unwrap(), []);
        for frame in 0..10 {
            let time = frame as f64 / 30.0;
            let (a, b) = (format!("a&b_{frame}.vtu"), format!("box\\{frame}.vtu"));
            pvd.add_frame(time, &[("a&b", &a), ("box", &b)]).unwrap();
            assert_eq!(read_pvd(&path).unwrap(), pvd.entries());
        }
        let last = &pvd.entries()[19];
        assert_eq!((last.part, last.file.as_str()), (1, "box/9.vtu"));

        let mut resumed = Pvd::resume(&path, 6.0 / 30.0).unwrap();
        assert_eq!(resumed.entries(), &pvd.entries()[..14]);
        resumed
            .add_frame(7.0 / 30.0, &[("box", "again.vtu")])
            .unwrap();
        resumed
            .add_frame(7.0 / 30.0, &[("box", "twice.vtu")])
            .unwrap();
        assert_eq!(resumed.entries().len(), 15);
        assert_eq!(read_pvd(&path).unwrap()[14].file, "twice.vtu");
    }

    #[test]
    fn a_failed_write_is_reported_and_not_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("run");
        fs::create_dir(&folder).unwrap();
        let path = folder.join("run.pvd");
        let mut pvd = Pvd::create(&path).unwrap();
        pvd.add_frame(0.0, &[("a", "a0.vtu")]).unwrap();
        fs::rename(&folder, dir.path().join("moved")).unwrap();
        assert!(pvd.add_frame(0.0, &[("a", "again.vtu")]).is_err());
        assert!(pvd.add_frame(f64::NAN, &[("a", "nan.vtu")]).is_err());
        assert_eq!(pvd.entries().len(), 1);
        assert_eq!(pvd.entries()[0].file, "a0.vtu");
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.pvd");
        fs::write(&path, "<VTKFile type=\"Collection\"><Collection>").unwrap();
        assert!(matches!(
            Pvd::resume(&path, 0.0),
            Err(RecordError::Malformed { .. })
        ));
    }
}
