//! The section `files` of a checkpoint: the other files of the run that it depends on.

use std::path::Path;

use stiction_bodies::Model;
use stiction_contact::Certificate;

use crate::{
    CheckpointError, CheckpointFile, ContactTable, Encoder, FrameFormat, PairTable, Pvd,
    RecordError, RunInfo, Table, TableMark,
    names::SeriesNames,
    recorder::{CERTIFICATE, CONTACT_TABLE, PAIR_TABLE, PROBES, Tables, columns},
    sequence_path,
};

/// Name of the section.
pub(crate) const SECTION: &str = "files";

/// Its newest version.
pub(crate) const VERSION: u32 = 1;

/// Tables and frames at the time of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Promises {
    /// Tables by their file names.
    pub tables: Vec<(String, TableMark)>,
    /// Formats of frames, each with the number of its first frame.
    pub formats: Vec<(FrameFormat, u64)>,
}

impl Promises {
    /// The required extent of a table.
    pub fn table(&self, name: &str) -> Option<&TableMark> {
        let found = self.tables.iter().find(|t| t.0 == name);
        found.map(|t| &t.1)
    }

    /// The number of the first frame in a format.
    pub fn first_frame(&self, format: FrameFormat) -> Option<u64> {
        let found = self.formats.iter().find(|f| f.0 == format);
        found.map(|f| f.1)
    }

    pub fn encode(&self, out: &mut Encoder) {
        out.u64(self.tables.len() as u64);
        for (name, mark) in &self.tables {
            out.str(name);
            out.u64(mark.length);
            out.u64(mark.checksum);
        }
        out.u64(self.formats.len() as u64);
        for (format, first) in &self.formats {
            out.str(format.name());
            out.u64(*first);
        }
    }

    /// Reads the section; none from checkpoints of early versions.
    pub fn decode(checkpoint: &CheckpointFile) -> Result<Option<Self>, CheckpointError> {
        if !checkpoint.has(SECTION) {
            return Ok(None);
        }
        let (_, mut input) = checkpoint.versioned(SECTION, VERSION)?;
        let mut promises = Self::default();
        for _ in 0..input.usize()? {
            let name = input.str()?.to_owned();
            let (length, checksum) = (input.u64()?, input.u64()?);
            promises.tables.push((name, TableMark { length, checksum }));
        }
        for _ in 0..input.usize()? {
            let name = input.str()?;
            let known = FrameFormat::ALL.iter().find(|f| f.0 == name);
            let (_, format) = known.ok_or_else(|| input.error(format!("format `{name}`")))?;
            promises.formats.push((*format, input.u64()?));
        }
        input.finish()?;
        Ok(Some(promises))
    }
}

/// Opens the tables of a resumed run, truncated to `step`.
pub(crate) fn resume_tables(
    dir: &Path,
    info: &RunInfo,
    promises: Option<&Promises>,
    step: u64,
    notes: &mut Vec<String>,
) -> Result<Tables, RecordError> {
    let each_step = |name: &str, columns: &[&str]| {
        let path = dir.join(name);
        let missing = || {
            let reason =
                format!("its rows up to step {step} are not all there; start the run afresh");
            RecordError::malformed(&path, reason)
        };
        match promises {
            Some(promises) => {
                let mark = promises.table(name).ok_or_else(missing)?;
                Table::resume_at(&path, columns, step, mark)
            }
            // Checkpoints of early versions do not store the lengths of tables.
            None => {
                let table = Table::resume(&path, columns, step)?;
                (table.last_step() == step)
                    .then_some(table)
                    .ok_or_else(missing)
            }
        }
    };
    let probes = each_step(PROBES, &columns(&info.probes))?;
    let certificate = each_step(CERTIFICATE, &Certificate::FIELDS)?;
    if !info.contacts {
        return Ok((probes, certificate, None));
    }
    let (contacts, pairs) = (dir.join(CONTACT_TABLE), dir.join(PAIR_TABLE));
    let both = match promises {
        Some(promises) => match (promises.table(CONTACT_TABLE), promises.table(PAIR_TABLE)) {
            (Some(c), Some(p)) => (
                ContactTable::resume_at(&contacts, step, c)?,
                PairTable::resume_at(&pairs, step, p)?,
            ),
            _ => {
                if step > 0 {
                    notes.push(format!("contacts up to step {step} were not recorded"));
                }
                (ContactTable::create(&contacts)?, PairTable::create(&pairs)?)
            }
        },
        None => (
            ContactTable::resume(&contacts, step)?,
            PairTable::resume(&pairs, step)?,
        ),
    };
    Ok((probes, certificate, Some(both)))
}

/// The formats of a resumed run, with the first frame of each. Frames that the checkpoint depends
/// on must exist.
pub(crate) fn kept_formats(
    dir: &Path,
    info: &RunInfo,
    promises: &Promises,
    model: &Model,
    frames: u64,
    notes: &mut Vec<String>,
) -> Result<Vec<(FrameFormat, u64)>, RecordError> {
    let folder = dir.join("frames");
    let names = SeriesNames::of(model);
    let mut formats = Vec::new();
    for &format in &info.formats {
        let Some(first) = promises.first_frame(format) else {
            if frames > 0 {
                let name = format.name();
                notes.push(format!(
                    "the first {frames} frames were not written as {name}"
                ));
            }
            if format == FrameFormat::Vtu {
                Pvd::create(&dir.join("frames.pvd"))?;
            }
            formats.push((format, frames));
            continue;
        };
        let moving = model.obstacles.iter().zip(&names.obstacles);
        let moving = moving.filter(|(o, _)| format == FrameFormat::Vtu && o.moves());
        let contacts = [&names.contacts].into_iter();
        let contacts = contacts.filter(|_| format == FrameFormat::Vtu);
        let stems: Vec<&str> = names
            .bodies
            .iter()
            .chain(moving.map(|(_, n)| n))
            .chain(contacts)
            .map(|(_, stem)| stem.as_str())
            .collect();
        for number in first..frames {
            for stem in &stems {
                let path = sequence_path(&folder, stem, number as usize, format.name());
                if !path.is_file() {
                    let reason = format!(
                        "it is one of {frames} frames that the checkpoint counts on, and is not there; \
                         restore it from a copy, start the run afresh, or write no frames as {}",
                        format.name()
                    );
                    return Err(RecordError::malformed(&path, reason));
                }
            }
        }
        formats.push((format, first));
    }
    Ok(formats)
}
