//! From bytes to a problem.

use std::sync::Arc;

use stiction_math::{
    BlockMatrix, BlockPattern, Mat3, Mat6, MatrixPart, PartShape, SystemMatrix, Vec3,
    checksum::crc64,
};

use super::{FileError, MAGIC, StoredProblem, StoredSolution, VERSION, bytes::Reader};
use crate::{ContactKey, ContactSet, FrictionProblem};

/// Magic, version, reserved word and length.
const HEADER: usize = 24;

pub(super) fn decode(bytes: &[u8]) -> Result<StoredProblem, FileError> {
    let mut header = Reader::new(bytes, 0);
    if !bytes.starts_with(&MAGIC) {
        return Err(FileError::NotAProblem);
    }
    header.bytes(MAGIC.len())?;
    let version = header.one::<u32>()?;
    if !(1..=VERSION).contains(&version) {
        return Err(FileError::Version { found: version });
    }
    let reserved = header.one::<u32>()?;
    let expected = header.one::<u64>()?;
    if expected != bytes.len() as u64 || bytes.len() < HEADER + 8 {
        return Err(FileError::Length {
            expected,
            found: bytes.len() as u64,
        });
    }
    let (contents, sum) = bytes.split_at(bytes.len() - 8);
    if crc64(contents).to_le_bytes() != sum {
        return Err(FileError::Checksum);
    }
    if reserved != 0 {
        return Err(header.corrupt("a reserved word that is not zero"));
    }

    let mut reader = Reader::new(contents, HEADER);
    let length = reader.length()?;
    let origin = match str::from_utf8(reader.bytes(length)?) {
        Ok(origin) => origin.to_owned(),
        Err(_) => return Err(reader.corrupt("an origin that is not UTF-8")),
    };
    let h = reader.one()?;
    let a = matrix(&mut reader)?;
    let n = a.len();
    let f = reader.many(n)?;
    let positions = reader.many(n)?;
    let mass = reader.many(n)?;
    let fixed = (0..n).map(|_| reader.flag()).collect::<Result<_, _>>()?;
    let contacts = contacts(&mut reader, version)?;
    let v = optional(&mut reader, n)?;
    let r = optional(&mut reader, contacts.len())?;
    let solution = match version >= 3 && reader.flag()? {
        true => Some(StoredSolution {
            v: reader.many(n)?,
            r: reader.many(contacts.len())?,
        }),
        false => None,
    };
    if !reader.is_at_end() {
        return Err(reader.corrupt("bytes after the end"));
    }
    let problem = FrictionProblem {
        a,
        f,
        h,
        positions,
        mass,
        fixed,
        contacts,
    };
    problem.check()?;
    Ok(StoredProblem {
        problem,
        origin,
        v,
        r,
        solution,
    })
}

fn matrix(reader: &mut Reader) -> Result<SystemMatrix, FileError> {
    let count = reader.length()?;
    let mut shapes = Vec::new();
    let mut parts = Vec::new();
    let mut blocks = 0;
    for _ in 0..count {
        let (shape, part) = match reader.one::<u8>()? {
            0 => sparse(reader)?,
            1 => {
                let m = Mat6::from_column_slice(&reader.one::<[f64; 36]>()?);
                (PartShape::Dense, MatrixPart::Dense(Box::new(m)))
            }
            _ => return Err(reader.corrupt("a part of unknown kind")),
        };
        blocks += part.len();
        shapes.push(shape);
        parts.push(part);
    }
    if blocks > u32::MAX as usize {
        return Err(reader.corrupt("too many blocks"));
    }

    let count = reader.length()?;
    let mut pairs = Vec::new();
    let mut values = Vec::new();
    for _ in 0..count {
        let [i, j] = reader.one::<[u32; 2]>()?;
        if i >= j || j as usize >= blocks {
            return Err(reader.corrupt("a coupling of blocks that do not exist"));
        }
        pairs.push((i, j));
        values.push(reader.one::<Mat3>()?);
    }
    let mut a = SystemMatrix::new(shapes, &pairs);
    a.parts_mut()
        .iter_mut()
        .zip(parts)
        .for_each(|(there, read)| *there = read);
    // A pair inside one part would be added to it: that was never written.
    let mut first = vec![0];
    for part in a.parts() {
        first.push(first[first.len() - 1] + part.len());
    }
    let part_of = |block: u32| first.partition_point(|&s| s <= block as usize);
    for (&(i, j), value) in pairs.iter().zip(&values) {
        if part_of(i) == part_of(j) || !a.add(i as usize, j as usize, value) {
            return Err(reader.corrupt("a coupling inside a part"));
        }
    }
    Ok(a)
}

fn sparse(reader: &mut Reader) -> Result<(PartShape, MatrixPart), FileError> {
    let n = reader.length()?;
    let rows = reader.many::<u32>(n)?;
    let nnz: usize = rows.iter().map(|&r| r as usize).sum();
    let cols = reader.many::<u32>(nnz)?;
    let values = reader.many::<Mat3>(nnz)?;

    // The pattern is made anew from the upper triangle and must come out as it was written:
    // symmetric, sorted, with the diagonal.
    let mut edges = Vec::new();
    let mut at = 0;
    for (i, &row) in rows.iter().enumerate() {
        let row = &cols[at..at + row as usize];
        edges.extend(
            row.iter()
                .filter(|&&j| j as usize > i)
                .map(|&j| [i as u32, j]),
        );
        at += row.len();
    }
    let pattern = BlockPattern::from_cliques(n, edges.iter().map(|e| &e[..]))
        .map_err(|_| reader.corrupt("a column that does not exist"))?;
    let same = pattern.cols() == cols && (0..n).all(|i| pattern.row(i).len() == rows[i] as usize);
    if !same {
        return Err(reader.corrupt("a pattern that is not symmetric and sorted"));
    }
    let pattern = Arc::new(pattern);
    let shape = PartShape::Sparse(pattern.clone());
    Ok((shape, MatrixPart::Sparse(BlockMatrix { pattern, values })))
}

fn contacts(reader: &mut Reader, version: u32) -> Result<ContactSet, FileError> {
    let m = reader.length()?;
    let entries = reader.length()?;
    let starts = m.checked_add(1);
    let starts = starts.ok_or_else(|| reader.corrupt("too many contacts"))?;
    let mut set = ContactSet {
        start: reader.many(starts)?,
        nodes: reader.many(entries)?,
        weights: reader.many(entries)?,
        levers: optional(reader, entries)?.unwrap_or_default(),
        blocks: match version >= 3 && reader.flag()? {
            true => reader.many(entries)?,
            false => Vec::new(),
        },
        point: match version {
            // Its place: a list that is longer than the file must be refused before it is made.
            1 => vec![Vec3::zeros(); reader.at_least(m, 24)?],
            _ => reader.many(m)?,
        },
        normal: reader.many(m)?,
        k: reader.many(m)?,
        mu: reader.many(m)?,
        cohesion: reader.many(m)?,
        compliance: reader.many(m)?,
        gap: reader.many(m)?,
        key: reader
            .many::<[u64; 2]>(m)?
            .into_iter()
            .map(|[first, second]| ContactKey { first, second })
            .collect(),
        pair: reader.many(m)?,
        correction: Vec::new(),
    };
    set.correction = match version >= 4 {
        true => reader.many(m)?,
        false => set.gap.clone(),
    };
    Ok(set)
}

fn optional(reader: &mut Reader, count: usize) -> Result<Option<Vec<Vec3>>, FileError> {
    match reader.flag()? {
        true => Ok(Some(reader.many(count)?)),
        false => Ok(None),
    }
}
