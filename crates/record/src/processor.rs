//! The section `processor` of a checkpoint: the instruction sets that the last bits of a run depend
//! on.

use crate::checkpoint::{CheckpointError, CheckpointFile};
use crate::codec::Encoder;
use stiction_math::instruction_sets;

/// Name of the section.
pub(crate) const SECTION: &str = "processor";
/// Its version.
pub(crate) const VERSION: u32 = 1;

pub(crate) fn encode(out: &mut Encoder) {
    out.str(&instruction_sets());
}

/// A note for users who resume a run on another processor. Checkpoints of early versions have no
/// such section.
pub(crate) fn note(checkpoint: &CheckpointFile) -> Result<Option<String>, CheckpointError> {
    if !checkpoint.sections().any(|(name, _)| name == SECTION) {
        return Ok(None);
    }
    let (_, mut input) = checkpoint.versioned(SECTION, VERSION)?;
    let (then, now) = (input.str()?, instruction_sets());
    Ok((then != now).then(|| {
        format!(
            "the run began on a processor with {then}, this one has {now}: the last bits of sparse factorisations may \
             differ from an uninterrupted run's"
        )
    }))
}
