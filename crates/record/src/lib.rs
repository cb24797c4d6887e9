//! Output of a run: frames (VTU with a PVD time series, OBJ, PLY), tables of probes, certificates
//! and contacts, the summary, checkpoints and pictures.
//!
//! Writers take plain data. Files are replaced atomically or appended to row by row, and every
//! error carries the path and the operating system's reason.
//!
//! Features, both on by default: `render` (PNG, curves and reports), `fclib` (friction problems as HDF5).

pub mod animation;
pub mod atomic;
mod checkpoint;
mod codec;
mod contact_table;
mod csv;
mod error;
#[cfg(feature = "fclib")]
pub mod fclib;
mod folder;
mod frame;
mod history;
mod input;
mod names;
mod obj;
mod obstacles;
mod overlaps;
pub mod picture;
#[cfg(feature = "render")]
pub mod plot;
mod ply;
pub mod problems;
mod process;
mod processor;
mod promises;
mod pvd;
mod recorder;
#[cfg(feature = "render")]
pub mod report;
mod running;
mod scene_file;
mod stored;
mod summary;
mod texture;
mod topology;
mod verdicts;
mod vtu;
#[cfg(test)]
mod vtu_read;
mod xml;

pub use atomic::make_folder;
pub use checkpoint::{CheckpointError, CheckpointFile, CheckpointSection, write_checkpoint};
pub use codec::{DecodeError, Decoder, Encoder};
pub use contact_table::{CONTACTS, ContactTable, PairTable, write_contacts_vtu};
pub use csv::{StoredTable, Table, TableMark, TableValue, read_table};
pub use error::RecordError;
pub use folder::{LOCK, RunFolder};
pub use frame::{Cells, Data, Frame, sequence_path};
pub use history::History;
pub use input::{read_file, read_text};
pub use names::file_stems;
pub use obj::write_obj;
pub use obstacles::PREFIX as OBSTACLE_PREFIX;
pub use overlaps::{OVERLAPS, write_overlaps};
pub use ply::write_ply;
pub use process::{peak_memory, processor_time, reset_peak_memory};
pub use pvd::{Pvd, PvdEntry, read_pvd};
pub use recorder::{FrameFormat, Recorder, RunInfo, StoredScene};
pub use running::Running;
pub use scene_file::{KeptMesh, KeptScene, SCENE_FILE};
pub use summary::{
    CheckResult, FailsafeSummary, MaxRms, MeanMax, Named, Number, ProbeSummary, Status, Summary,
};
pub use texture::{TextureColumns, corner_textures};
pub use verdicts::{CROSSINGS, CertificateBound, ExactTest, Verdicts};
pub use vtu::{Encoding, write_vtu};
