//! From a problem to bytes.

use stiction_math::{MatrixPart, Vec3, checksum::crc64};

use super::{MAGIC, StoredProblem, VERSION, bytes::Item};
use crate::{ContactSet, ProblemError, problem::length};

pub(super) fn encode(stored: &StoredProblem) -> Result<Vec<u8>, ProblemError> {
    let problem = &stored.problem;
    problem.check_lengths()?;
    if let Some(v) = &stored.v {
        length("v", problem.blocks(), v.len())?;
    }
    if let Some(r) = &stored.r {
        length("r", problem.contacts.len(), r.len())?;
    }
    if let Some(solution) = &stored.solution {
        length("solution.v", problem.blocks(), solution.v.len())?;
        length("solution.r", problem.contacts.len(), solution.r.len())?;
    }

    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    VERSION.put(&mut out);
    0u32.put(&mut out);
    // The length of the file, known at the end.
    let length_at = out.len();
    0u64.put(&mut out);

    count(stored.origin.len(), &mut out);
    out.extend_from_slice(stored.origin.as_bytes());
    problem.h.put(&mut out);

    let bandless = match problem.a.has_bands() {
        true => Some(problem.a.without_bands().map_err(ProblemError::Matrix)?),
        false => None,
    };
    let matrix = bandless.as_ref().unwrap_or(&problem.a);
    count(matrix.parts().len(), &mut out);
    for part in matrix.parts() {
        match part {
            MatrixPart::Sparse(m) => {
                0u8.put(&mut out);
                count(m.n(), &mut out);
                for row in 0..m.n() {
                    (m.pattern.row(row).len() as u32).put(&mut out);
                }
                all(m.pattern.cols(), &mut out);
                all(&m.values, &mut out);
            }
            MatrixPart::Dense(m) => {
                1u8.put(&mut out);
                m.iter().for_each(|x| x.put(&mut out));
            }
            // There is none in a matrix without bands.
            MatrixPart::Banded(_) | MatrixPart::Scalar(_) => {}
        }
    }
    let couplings = matrix.couplings();
    count(couplings.len(), &mut out);
    for (i, j, block) in couplings {
        [i, j].put(&mut out);
        block.put(&mut out);
    }

    all(&problem.f, &mut out);
    match problem.positions.is_empty() {
        true => all(&vec![Vec3::zeros(); problem.blocks()], &mut out),
        false => all(&problem.positions, &mut out),
    }
    all(&problem.mass, &mut out);
    out.extend(problem.fixed.iter().map(|&fixed| u8::from(fixed)));

    contacts(&problem.contacts, &mut out);
    optional(stored.v.as_deref(), &mut out);
    optional(stored.r.as_deref(), &mut out);
    u8::from(stored.solution.is_some()).put(&mut out);
    if let Some(solution) = &stored.solution {
        all(&solution.v, &mut out);
        all(&solution.r, &mut out);
    }

    let total = (out.len() + 8) as u64;
    out[length_at..length_at + 8].copy_from_slice(&total.to_le_bytes());
    crc64(&out).put(&mut out);
    Ok(out)
}

fn contacts(set: &ContactSet, out: &mut Vec<u8>) {
    count(set.len(), out);
    count(set.nodes.len(), out);
    all(&set.start, out);
    all(&set.nodes, out);
    all(&set.weights, out);
    optional((!set.levers.is_empty()).then_some(&set.levers), out);
    u8::from(!set.blocks.is_empty()).put(out);
    all(&set.blocks, out);
    all(&set.point, out);
    all(&set.normal, out);
    all(&set.k, out);
    all(&set.mu, out);
    all(&set.cohesion, out);
    all(&set.compliance, out);
    all(&set.gap, out);
    for key in &set.key {
        [key.first, key.second].put(out);
    }
    all(&set.pair, out);
    all(&set.correction, out);
}

fn count(n: usize, out: &mut Vec<u8>) {
    (n as u64).put(out);
}

fn all<T: Item>(items: &[T], out: &mut Vec<u8>) {
    out.reserve(items.len() * T::SIZE);
    items.iter().for_each(|x| x.put(out));
}

fn optional(items: Option<&[Vec3]>, out: &mut Vec<u8>) {
    u8::from(items.is_some()).put(out);
    all(items.unwrap_or_default(), out);
}
