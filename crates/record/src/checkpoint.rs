//! Checkpoints: a container of named sections that is either complete and intact or refused.
//!
//! Layout, all integers little-endian:
//!
//! | bytes | contents |
//! | --- | --- |
//! | 8 | magic `STICTCKP` |
//! | 4 | version of the container, `u32` |
//! | 8 | length of the whole file, `u64` |
//! | 4 | number of sections, `u32` |
//! | … | per section: length of the name `u32`, name (UTF-8), version of the section `u32`, length of the data `u64`, data |
//! | 8 | XXH64 (seed 0) of everything before, `u64` |
//!
//! Each section has its own version, so that one can change while the others stay readable. Version 1
//! of the container had none: its sections are all of version 1.

use crate::codec::{DecodeError, Decoder, Encoder};
use crate::{RecordError, atomic, read_file};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use stiction_bodies::adapt::AdaptError;
use stiction_math::checksum::Xxh64;

pub(crate) const MAGIC: [u8; 8] = *b"STICTCKP";
const VERSION: u32 = 2;
/// The version of the container whose sections had no versions.
const UNVERSIONED: u32 = 1;
const HEAD: usize = 8 + 4 + 8 + 4;

/// Errors of a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file could not be read or written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The file is not a checkpoint.
    #[error("{} is not a checkpoint; give the one that the run wrote", path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
    },
    /// The container has a different version.
    #[error(
        "{} has checkpoint version {found}, this program reads {VERSION}; resume with the program \
         that wrote it, or start the run afresh",
        path.display()
    )]
    WrongVersion {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u32,
    },
    /// The file is shorter than it should be.
    #[error(
        "{} is cut short: {found} of {expected} bytes; restore it from a copy, or start the run \
         afresh",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes found.
        found: u64,
        /// Bytes expected.
        expected: u64,
    },
    /// The file is longer than it should be.
    #[error(
        "{} has {extra} bytes after its end; restore it from a copy, or start the run afresh",
        path.display()
    )]
    TrailingBytes {
        /// The file.
        path: PathBuf,
        /// Bytes too many.
        extra: u64,
    },
    /// The contents do not match their checksum.
    #[error(
        "{} is damaged (checksum {found:016x}, stored {stored:016x}); restore it from a copy, or \
         start the run afresh",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Checksum of the contents.
        found: u64,
        /// Checksum stored in the file.
        stored: u64,
    },
    /// The checksum is right but the section layout is invalid.
    #[error(
        "{} is inconsistent at byte {offset}: {reason}; start the run afresh",
        path.display()
    )]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// Offset of the error.
        offset: usize,
        /// Description of the error.
        reason: String,
    },
    /// A section is missing.
    #[error(
        "{} has no section \"{section}\"; it was written for another scene or method, start the \
         run afresh",
        path.display()
    )]
    MissingSection {
        /// The file.
        path: PathBuf,
        /// Name of the section.
        section: String,
    },
    /// A section was written by a newer program.
    #[error(
        "{} has version {found} of section \"{section}\", this program reads up to version {newest}; \
         resume with the program that wrote it, or start the run afresh",
        path.display()
    )]
    NewerSection {
        /// The file.
        path: PathBuf,
        /// Name of the section.
        section: String,
        /// Version found.
        found: u32,
        /// The newest supported version.
        newest: u32,
    },
    /// The meshes in the checkpoint do not fit the scene.
    #[error("{}: {source}; start the run afresh", path.display())]
    Topology {
        /// The file.
        path: PathBuf,
        /// The mismatch.
        source: Box<AdaptError>,
    },
    /// A section has unexpected contents.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// A section: its name, its version, and a function that writes its contents, called twice with the
/// same result.
pub type CheckpointSection<'a> = (&'a str, u32, &'a dyn Fn(&mut Encoder));

/// Writes named sections to `path`. The previous checkpoint stays in place until the new one is
/// complete and on the disk.
///
/// Contents are written twice, first to determine their length, because a checkpoint may be large
/// compared with the remaining memory.
pub fn write_checkpoint(
    path: &Path,
    sections: &[CheckpointSection],
) -> Result<(), CheckpointError> {
    for (at, (name, ..)) in sections.iter().enumerate() {
        if sections[..at].iter().any(|(other, ..)| other == name) {
            let reason = format!("section \"{name}\" is given twice");
            return Err(RecordError::invalid(path, reason).into());
        }
    }
    let too_large = |_| RecordError::invalid(path, "more than 2³² sections or bytes in a name");
    let count = u32::try_from(sections.len()).map_err(too_large)?;
    let mut length = (HEAD + 8) as u64;
    let mut lengths = Vec::new();
    for (name, _, contents) in sections {
        u32::try_from(name.len()).map_err(too_large)?;
        let mut bytes = 0;
        send(contents, &mut |piece| bytes += piece.len() as u64);
        length += 16 + name.len() as u64 + bytes;
        lengths.push(bytes);
    }
    atomic::write_with(path, |out| {
        let mut out = Hashing {
            out,
            hash: Xxh64::new(),
        };
        out.put(&MAGIC)?;
        out.put(&VERSION.to_le_bytes())?;
        out.put(&length.to_le_bytes())?;
        out.put(&count.to_le_bytes())?;
        for ((name, version, contents), length) in sections.iter().zip(&lengths) {
            out.put(&(name.len() as u32).to_le_bytes())?;
            out.put(name.as_bytes())?;
            out.put(&version.to_le_bytes())?;
            out.put(&length.to_le_bytes())?;
            let mut written = Ok(());
            send(contents, &mut |piece| {
                if written.is_ok() {
                    written = out.put(piece);
                }
            });
            written?;
        }
        let sum = out.hash.finish();
        out.out.write_all(&sum.to_le_bytes())
    })?;
    Ok(())
}

fn send(contents: &dyn Fn(&mut Encoder), sink: &mut dyn FnMut(&[u8])) {
    let mut out = Encoder::into_sink(sink);
    contents(&mut out);
    out.finish();
}

struct Hashing<'a> {
    out: &'a mut dyn Write,
    hash: Xxh64,
}

impl Hashing<'_> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.out.write_all(bytes)
    }
}

/// An intact checkpoint in memory.
#[derive(Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    bytes: Vec<u8>,
    sections: Vec<Stored>,
}

/// Position of a section in the file.
#[derive(Debug)]
struct Stored {
    name: String,
    version: u32,
    data: Range<usize>,
}

impl CheckpointFile {
    /// Reads and verifies the checkpoint at `path`. Memory is allocated for bytes that exist, never
    /// for a length that the file merely claims.
    pub fn read(path: &Path) -> Result<Self, CheckpointError> {
        Self::from_bytes(path, read_file(path)?)
    }

    /// The sections in the order in which they were written.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let bytes = &self.bytes;
        let pairs = self.sections.iter();
        pairs.map(move |s| (s.name.as_str(), &bytes[s.data.clone()]))
    }

    /// A decoder of the section called `name`; only version 1 is supported.
    pub fn section(&self, name: &str) -> Result<Decoder<'_>, CheckpointError> {
        Ok(self.versioned(name, 1)?.1)
    }

    /// The version of the section called `name` and its decoder, up to the version `newest`.
    pub fn versioned(
        &self,
        name: &str,
        newest: u32,
    ) -> Result<(u32, Decoder<'_>), CheckpointError> {
        let found = self.sections.iter().find(|s| s.name == name);
        let found = found.ok_or_else(|| CheckpointError::MissingSection {
            path: self.path.clone(),
            section: name.to_owned(),
        })?;
        if found.version > newest {
            return Err(CheckpointError::NewerSection {
                path: self.path.clone(),
                section: name.to_owned(),
                found: found.version,
                newest,
            });
        }
        let bytes = &self.bytes[found.data.clone()];
        Ok((found.version, Decoder::new(&found.name, bytes)))
    }

    /// Whether there is a section called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.sections.iter().any(|s| s.name == name)
    }

    /// The file it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, CheckpointError> {
        let owned = || path.to_owned();
        let found = bytes.len() as u64;
        if !bytes.starts_with(&MAGIC) {
            // A file that ends within the magic was ours before it was cut.
            let ours = !bytes.is_empty() && MAGIC.starts_with(&bytes);
            return Err(if ours {
                let expected = (HEAD + 8) as u64;
                CheckpointError::Truncated {
                    path: owned(),
                    found,
                    expected,
                }
            } else {
                CheckpointError::NotACheckpoint { path: owned() }
            });
        }
        let mut cursor = Cursor {
            bytes: &bytes,
            offset: MAGIC.len(),
        };
        let truncated = |expected: u64| CheckpointError::Truncated {
            path: owned(),
            found,
            expected,
        };
        let least = (HEAD + 8) as u64;
        let version = cursor.u32().ok_or_else(|| truncated(least))?;
        if !(UNVERSIONED..=VERSION).contains(&version) {
            return Err(CheckpointError::WrongVersion {
                path: owned(),
                found: version,
            });
        }
        let length = cursor.u64().ok_or_else(|| truncated(least))?;
        if found < length.max(least) {
            return Err(truncated(length.max(least)));
        }
        if found > length {
            return Err(CheckpointError::TrailingBytes {
                path: owned(),
                extra: found - length,
            });
        }
        let (body, sum) = bytes.split_at(bytes.len() - 8);
        let stored = Cursor {
            bytes: sum,
            offset: 0,
        }
        .u64()
        .unwrap_or(0);
        let computed = Xxh64::of(body);
        if computed != stored {
            return Err(CheckpointError::Corrupt {
                path: owned(),
                found: computed,
                stored,
            });
        }
        cursor.bytes = body;
        let sections = read_sections(&mut cursor, version > UNVERSIONED).map_err(|reason| {
            CheckpointError::Inconsistent {
                path: owned(),
                offset: cursor.offset,
                reason: reason.to_owned(),
            }
        })?;
        Ok(Self {
            path: owned(),
            bytes,
            sections,
        })
    }
}

fn read_sections(cursor: &mut Cursor, versioned: bool) -> Result<Vec<Stored>, &'static str> {
    let count = cursor.u32().ok_or("the number of sections is missing")?;
    let mut sections = Vec::new();
    for _ in 0..count {
        let length = cursor.u32().ok_or("a section is missing")?;
        let name = cursor
            .take(u64::from(length))
            .ok_or("a name is cut short")?;
        let name = String::from_utf8(cursor.bytes[name].to_vec());
        let name = name.map_err(|_| "a name is not UTF-8")?;
        let version = match versioned {
            true => cursor.u32().ok_or("a section has no version")?,
            false => 1,
        };
        let length = cursor.u64().ok_or("a section has no length")?;
        let data = cursor.take(length).ok_or("a section is cut short")?;
        sections.push(Stored {
            name,
            version,
            data,
        });
    }
    if cursor.offset != cursor.bytes.len() {
        return Err("bytes after the last section");
    }
    Ok(sections)
}

struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl Cursor<'_> {
    fn take(&mut self, count: u64) -> Option<Range<usize>> {
        let end = self.offset.checked_add(usize::try_from(count).ok()?)?;
        let range = self.offset..end;
        self.bytes.get(range.clone())?;
        self.offset = end;
        Some(range)
    }

    fn u32(&mut self) -> Option<u32> {
        let range = self.take(4)?;
        self.bytes[range]
            .first_chunk()
            .copied()
            .map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        let range = self.take(8)?;
        self.bytes[range]
            .first_chunk()
            .copied()
            .map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::fs;

    fn sections(seed: u8) -> Vec<(String, Vec<u8>)> {
        let mut state = Encoder::new();
        state.f64s(&[0.1, -0.0, f64::from(seed)]);
        vec![
            ("state".into(), state.finish()),
            ("empty".into(), vec![]),
            ("größe".into(), vec![seed; 40]),
        ]
    }

    fn write(path: &Path, sections: &[(String, Vec<u8>)]) -> Result<(), CheckpointError> {
        let contents: Vec<_> = sections
            .iter()
            .map(|(_, bytes)| move |out: &mut Encoder| bytes.iter().for_each(|&b| out.byte(b)))
            .collect();
        let named = sections.iter().zip(&contents);
        let sections: Vec<CheckpointSection> = named
            .map(|((name, _), contents)| (name.as_str(), 1, contents as &dyn Fn(&mut Encoder)))
            .collect();
        write_checkpoint(path, &sections)
    }

    fn written(dir: &Path) -> (PathBuf, Vec<u8>) {
        let path = dir.join("checkpoint.bin");
        write(&path, &sections(1)).unwrap();
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    }

    #[test]
    fn sections_come_back_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = written(dir.path());
        let back = CheckpointFile::read(&path).unwrap();
        let expected = sections(1);
        let listed: Vec<(String, Vec<u8>)> = back
            .sections()
            .map(|(n, b)| (n.to_owned(), b.to_vec()))
            .collect();
        assert_eq!(listed, expected);
        assert_eq!(
            back.section("state").unwrap().f64s().unwrap(),
            [0.1, -0.0, 1.0]
        );
        let error = back.section("rods").unwrap_err().to_string();
        assert!(
            error.contains("checkpoint.bin") && error.contains("\"rods\""),
            "{error}"
        );
    }

    #[test]
    fn sections_longer_than_a_piece_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint.bin");
        let numbers: Vec<f64> = (0..30_001).map(f64::from).collect();
        write_checkpoint(&path, &[("long", 1, &|out| out.f64s(&numbers))]).unwrap();
        let back = CheckpointFile::read(&path).unwrap();
        assert_eq!(back.section("long").unwrap().f64s().unwrap(), numbers);
    }

    /// Version 1 of the container, byte by byte.
    #[test]
    fn sections_without_versions_are_still_read() {
        let mut bytes = MAGIC.to_vec();
        let (name, data) = (b"state", [1_u8, 2, 3]);
        let length = (HEAD + 8 + 12 + name.len() + data.len()) as u64;
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend(name);
        bytes.extend((data.len() as u64).to_le_bytes());
        bytes.extend(data);
        bytes.extend(Xxh64::of(&bytes).to_le_bytes());
        let old = CheckpointFile::from_bytes(Path::new("old.bin"), bytes).unwrap();
        assert_eq!(old.sections().collect::<Vec<_>>(), [("state", &data[..])]);
        assert_eq!(old.versioned("state", 5).unwrap().0, 1);
    }

    #[test]
    fn a_newer_section_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint.bin");
        write_checkpoint(
            &path,
            &[("mesh", 3, &|out| out.u64(7)), ("state", 1, &|_| {})],
        )
        .unwrap();
        let back = CheckpointFile::read(&path).unwrap();
        assert!(back.section("state").is_ok() && back.has("mesh") && !back.has("rods"));
        let (version, mut mesh) = back.versioned("mesh", 3).unwrap();
        assert_eq!((version, mesh.u64().unwrap()), (3, 7));
        let error = back.versioned("mesh", 2).unwrap_err().to_string();
        for part in ["checkpoint.bin", "version 3", "\"mesh\"", "up to version 2"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn every_flipped_byte_every_cut_and_every_tail_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes) = written(dir.path());
        assert!(CheckpointFile::from_bytes(&path, bytes.clone()).is_ok());
        for at in 0..bytes.len() {
            for flip in 1..=255 {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let error = CheckpointFile::from_bytes(&path, damaged).unwrap_err();
                let fits = match at {
                    0..8 => matches!(error, CheckpointError::NotACheckpoint { .. }),
                    // The one flip that makes the version before is caught by the checksum.
                    8 if flip == VERSION as u8 ^ UNVERSIONED as u8 => {
                        matches!(error, CheckpointError::Corrupt { .. })
                    }
                    8..12 => matches!(error, CheckpointError::WrongVersion { .. }),
                    12..20 => matches!(
                        error,
                        CheckpointError::Truncated { .. } | CheckpointError::TrailingBytes { .. }
                    ),
                    _ => matches!(error, CheckpointError::Corrupt { .. }),
                };
                assert!(fits, "byte {at} ^ {flip}: {error}");
                assert!(error.to_string().contains("checkpoint.bin"));
            }
        }
        for cut in 1..bytes.len() {
            let error = CheckpointFile::from_bytes(&path, bytes[..cut].to_vec()).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Truncated { .. }),
                "{cut}: {error}"
            );
        }
        let error = CheckpointFile::from_bytes(&path, vec![]).unwrap_err();
        assert!(matches!(error, CheckpointError::NotACheckpoint { .. }));
        let mut longer = bytes;
        longer.extend_from_slice(b"tail");
        let error = CheckpointFile::from_bytes(&path, longer).unwrap_err();
        assert!(
            matches!(error, CheckpointError::TrailingBytes { extra: 4, .. }),
            "{error}"
        );
    }

    /// Lengths that lie but carry a right checksum, as a broken writer might produce.
    #[test]
    fn lying_lengths_are_inconsistent() {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes) = written(dir.path());
        // Count of sections, length of the first name, length of the first section's data.
        for at in [20, 24, 37] {
            for lie in [0xff, 0x7f] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].fill(lie);
                let body = damaged.len() - 8;
                let sum = Xxh64::of(&damaged[..body]);
                damaged[body..].copy_from_slice(&sum.to_le_bytes());
                let error = CheckpointFile::from_bytes(&path, damaged).unwrap_err();
                assert!(
                    matches!(error, CheckpointError::Inconsistent { .. }),
                    "{error}"
                );
            }
        }
    }

    #[test]
    fn a_killed_writer_leaves_the_previous_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes) = written(dir.path());
        let leftover = dir.path().join(".checkpoint.bin.partial");
        fs::write(&leftover, &bytes[..30]).unwrap();
        assert!(CheckpointFile::read(&path).is_ok());
        write(&path, &sections(2)).unwrap();
        assert!(!leftover.exists());
        let back = CheckpointFile::read(&path).unwrap();
        assert_eq!(back.sections().nth(2).unwrap().1, [2; 40]);

        let twice = [sections(3), sections(3)].concat();
        assert!(write(&path, &twice).is_err());
        assert!(CheckpointFile::read(&path).is_ok());
        let missing = CheckpointFile::read(&dir.path().join("none.bin"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("none.bin"), "{missing}");
    }
}
