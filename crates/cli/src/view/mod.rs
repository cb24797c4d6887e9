//! Contents of a viewer: plain marks at plain times, made from the recorded files of a run.
//!
//! A run that is still going on and one that has ended are read by the same [`Follower`], frame by
//! frame and row by row, so that both give the same marks in the same order.

mod marks;
pub mod serve;
mod tail;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::replay::{Replay, ReplayError};
pub use marks::{Eye, Scribe, ViewMark, What};
use tail::Tail;
pub use tail::is_logarithmic;

/// Something new of a run, to be shown at its time.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A frame.
    Frame {
        /// Its time [s].
        time: f64,
        /// Marks of this time.
        marks: Vec<ViewMark>,
    },
    /// Numbers followed over time.
    Numbers {
        /// Path in the viewer, from the general to the particular.
        path: Vec<String>,
        /// When [s].
        times: Vec<f64>,
        /// Values.
        values: Vec<f64>,
    },
}

/// Reads a run's folder while it grows.
#[derive(Debug)]
pub struct Follower {
    dir: PathBuf,
    scribe: Scribe,
    frames: usize,
    certificate: Tail,
    probes: Tail,
}

impl Follower {
    /// Follows the run in a folder from its first frame.
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            scribe: Scribe::default(),
            frames: 0,
            certificate: Tail::new(&dir.join("certificate.csv")),
            probes: Tail::new(&dir.join("probes.csv")),
        }
    }

    /// Hands all that is new since the last call to `show`, in order. A run that has not written
    /// its first frame yet has nothing to show.
    pub fn poll<E: From<ReplayError>>(
        &mut self,
        mut show: impl FnMut(News) -> Result<(), E>,
    ) -> Result<(), E> {
        let replay = match Replay::open(&self.dir) {
            Ok(replay) => replay,
            Err(ReplayError::NoSeries(_) | ReplayError::NoFrame(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        while self.frames < replay.len() {
            let shot = replay.shot(self.frames)?;
            let marks = self.scribe.frame(&shot);
            self.frames += 1;
            show(News::Frame {
                time: shot.time,
                marks,
            })?;
        }
        for (table, group) in [
            (&mut self.certificate, "certificate"),
            (&mut self.probes, "probes"),
        ] {
            for news in table.read(group)? {
                show(news)?;
            }
        }
        Ok(())
    }

    /// Number of frames shown.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The names of the probes; known once the run has begun.
    pub fn probes(&self) -> &[String] {
        self.probes.columns()
    }

    /// From where the first frame is seen best, once there is one.
    pub fn eye(&self) -> Option<Eye> {
        self.scribe.eye()
    }
}
