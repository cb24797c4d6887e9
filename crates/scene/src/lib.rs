//! placeholder

pub mod mesh_files;
