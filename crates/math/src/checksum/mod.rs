//! Checksums of the file formats; they detect accidental damage, not forgery.
//!
//! | checksum | used by |
//! | --- | --- |
//! | [`Xxh64`] | checkpoints, mesh files that a run keeps |
//! | [`crc64`] | friction problems |
//! | [`crc32`] | strand files |
//! | [`Fnv1a`] | the fingerprint of a scene |

mod crc;
mod fnv;
mod xxh64;

pub use crc::{crc32, crc64};
pub use fnv::Fnv1a;
pub use xxh64::Xxh64;
