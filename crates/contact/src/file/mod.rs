//! Friction problems as bytes: the input of `stiction solve`, and part of bug reports.
//!
//! The layout is in `docs/problem-format.md`. Numbers come back with the same bits. This module
//! reads and writes memory only.

mod bytes;
mod decode;
mod encode;

use stiction_math::Vec3;

use crate::{FrictionProblem, ProblemError};

/// The first bytes of a problem file.
pub const MAGIC: [u8; 8] = *b"STICTION";
/// The version of the layout that is written. Those from 1 on are read.
pub const VERSION: u32 = 4;

/// A problem with the starting point and settings of its solve.
#[derive(Clone, Debug)]
pub struct StoredProblem {
    /// The problem.
    pub problem: FrictionProblem,
    /// Description of the source: scene, method, step, version of the program.
    pub origin: String,
    /// Velocities to start from [m/s], one vector per block.
    pub v: Option<Vec<Vec3>>,
    /// Impulses to start from [N·s], one vector per contact.
    pub r: Option<Vec<Vec3>>,
    /// Solution, if any.
    pub solution: Option<StoredSolution>,
}

/// An answer to a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredSolution {
    /// Velocities of the blocks [m/s].
    pub v: Vec<Vec3>,
    /// Impulses at the contacts [N·s], world frame.
    pub r: Vec<Vec3>,
}

/// Reason for which bytes are not a problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FileError {
    /// The bytes do not start as a problem file does.
    #[error("this is not a friction problem")]
    NotAProblem,
    /// A version of the layout that this program does not support.
    #[error("the layout has version {found}; this program reads versions 1 to {VERSION}")]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// There are fewer or more bytes than the file says.
    #[error("the file says it has {expected} bytes, but there are {found}")]
    Length {
        /// Number in the header.
        expected: u64,
        /// Number found.
        found: u64,
    },
    /// The bytes are not those that were written.
    #[error("the checksum does not match: the file is damaged")]
    Checksum,
    /// The checksum matches, but the contents make no sense.
    #[error("{what} at byte {at}")]
    Corrupt {
        /// The defect.
        what: &'static str,
        /// Position [bytes].
        at: usize,
    },
    /// The bytes hold a problem that is not sound.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

impl StoredProblem {
    /// The problem as bytes. Columns whose lengths do not fit together are refused; numbers are
    /// written as they are, finite or not.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProblemError> {
        encode::encode(self)
    }

    /// The problem in `bytes`, which pass `FrictionProblem::check`. Memory is allocated for what is
    /// there only, whatever lengths the bytes claim.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FileError> {
        decode::decode(bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use stiction_math::LinearOperator;

    use super::*;
    use crate::generate::{RandomProblem, random};

    fn stored(kind: RandomProblem, size: usize, seed: u64) -> StoredProblem {
        let problem = random(kind, size, seed);
        let v = seed
            .is_multiple_of(2)
            .then(|| vec![Vec3::new(0.1, -0.0, 3.0); problem.blocks()]);
        let r = seed
            .is_multiple_of(3)
            .then(|| vec![Vec3::new(1.0, 2.0, 1e-300); problem.contacts.len()]);
        let solution = seed.is_multiple_of(5).then(|| StoredSolution {
            v: vec![Vec3::new(0.3, 0.0, -1e-20); problem.blocks()],
            r: vec![Vec3::new(-1.0, 0.5, 2.0); problem.contacts.len()],
        });
        StoredProblem {
            problem,
            origin: format!("{kind:?} of seed {seed}, Größe {size}"),
            v,
            r,
            solution,
        }
    }

    /// Puts the right checksum at the end again.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let end = bytes.len() - 8;
        let sum = stiction_math::checksum::crc64(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    #[test]
    fn written_values_come_back_with_the_same_bits() {
        for kind in RandomProblem::ALL {
            for seed in 0..6 {
                let there = stored(kind, 9, seed);
                let bytes = there.to_bytes().unwrap();
                let back = StoredProblem::from_bytes(&bytes).unwrap();
                assert_eq!(back.to_bytes().unwrap(), bytes);
                assert_eq!(back.origin, there.origin);
                assert_eq!(back.v, there.v);
                assert_eq!(back.r, there.r);
                assert_eq!(back.solution, there.solution);
                let (a, b) = (&there.problem, &back.problem);
                assert_eq!(a.contacts, b.contacts);
                assert_eq!((&a.f, a.h), (&b.f, b.h));
                assert_eq!(a.positions, b.positions);
                assert_eq!(a.mass, b.mass);
                assert_eq!(a.fixed, b.fixed);
                assert_eq!(a.a.is_coupled(), b.a.is_coupled());
                // The matrices act the same, bit for bit.
                let x: Vec<Vec3> = (0..a.blocks())
                    .map(|i| Vec3::new(i as f64, 0.3, -1.0 / (1.0 + i as f64)))
                    .collect();
                let mut y = vec![Vec3::zeros(); a.blocks()];
                let mut z = y.clone();
                a.a.apply(&x, &mut y);
                b.a.apply(&x, &mut z);
                assert_eq!(y, z);
            }
        }
    }

    /// Files of versions 1 to 3, without what they lack: corrections, solution and blocks, points.
    #[test]
    fn older_versions_are_read() {
        let mut there = stored(RandomProblem::Rigid, 6, 1);
        there.v = None;
        there.r = None;
        there.solution = None;
        let m = there.problem.contacts.len();
        there.problem.contacts.point = vec![Vec3::new(1.0, 2.0, 3.0); m];
        let new = there.to_bytes().unwrap();
        let older = |version: u8| {
            let mut bytes = new.clone();
            // At the end: flags of v, r and solution, and the checksum.
            let correction = new.len() - 9 - 2 - 8 * m;
            // Behind the flag of blocks: points, normals and k, and seven numbers.
            let blocks = correction - m * (3 * 24 + 7 * 8) - 1;
            if version < 3 {
                bytes.remove(new.len() - 9);
            }
            bytes.drain(correction..correction + 8 * m);
            if version < 3 {
                assert_eq!(bytes.remove(blocks), 0);
            }
            if version == 1 {
                bytes.drain(blocks..blocks + 24 * m);
            }
            bytes[8] = version;
            let length = bytes.len() as u64;
            bytes[16..24].copy_from_slice(&length.to_le_bytes());
            StoredProblem::from_bytes(&sealed(bytes)).unwrap()
        };
        for version in [3, 2] {
            assert_eq!(older(version).problem.contacts, there.problem.contacts);
        }
        there.problem.contacts.point = vec![Vec3::zeros(); m];
        assert_eq!(older(1).problem.contacts, there.problem.contacts);
    }

    #[test]
    fn any_damage_is_noticed() {
        let bytes = stored(RandomProblem::Rigid, 4, 0).to_bytes().unwrap();
        for length in 0..bytes.len() {
            assert!(StoredProblem::from_bytes(&bytes[..length]).is_err());
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(matches!(
            StoredProblem::from_bytes(&longer),
            Err(FileError::Length { .. })
        ));
        for i in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[i] ^= 1 << (i % 8);
            assert!(StoredProblem::from_bytes(&damaged).is_err(), "byte {i}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let bytes = stored(RandomProblem::Sparse, 4, 0).to_bytes().unwrap();
        let after = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            StoredProblem::from_bytes(&bytes).unwrap_err()
        };
        assert_eq!(after(&|b| b[0] = b'X'), FileError::NotAProblem);
        assert_eq!(after(&|b| b.truncate(5)), FileError::NotAProblem);
        assert_eq!(after(&|b| b[8] = 99), FileError::Version { found: 99 });
        assert_eq!(
            after(&|b| b.truncate(100)),
            FileError::Length {
                expected: bytes.len() as u64,
                found: 100
            }
        );
        assert_eq!(after(&|b| b[60] ^= 1), FileError::Checksum);
        let mut unsound = stored(RandomProblem::Sparse, 4, 0);
        unsound.problem.contacts.mu[1] = -1.0;
        assert!(matches!(
            StoredProblem::from_bytes(&unsound.to_bytes().unwrap()),
            Err(FileError::Problem(ProblemError::Contact { contact: 1, .. }))
        ));
        let mut ragged = stored(RandomProblem::Sparse, 4, 0);
        ragged.r = Some(Vec::new());
        assert!(ragged.to_bytes().is_err());
    }

    /// Every eight bytes in turn claim to be an enormous length; reading must fail or give other
    /// numbers, and cannot allocate the memory that it needs.
    #[test]
    fn lengths_that_lie_allocate_nothing() {
        let bytes = stored(RandomProblem::Coupled, 4, 6).to_bytes().unwrap();
        for claim in [u64::MAX, 1 << 60, 1 << 45, 1 << 32, 0] {
            for at in 16..bytes.len() - 16 {
                let mut lying = bytes.clone();
                lying[at..at + 8].copy_from_slice(&claim.to_le_bytes());
                let _ = StoredProblem::from_bytes(&sealed(lying));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        /// Contents that were never written, under a right checksum, are refused or read; nothing
        /// panics.
        #[test]
        fn hostile_contents_do_no_harm(
            seed in 0..40u64,
            changes in prop::collection::vec((24usize..4000, any::<u8>()), 1..6),
        ) {
            let kind = RandomProblem::ALL[seed as usize % RandomProblem::ALL.len()];
            let mut bytes = stored(kind, 4, seed).to_bytes().unwrap();
            let end = bytes.len() - 8;
            for (at, value) in changes {
                bytes[24 + at % (end - 24)] = value;
            }
            if let Ok(read) = StoredProblem::from_bytes(&sealed(bytes)) {
                prop_assert!(read.problem.check().is_ok());
            }
        }
    }
}
