#![no_main]

use stiction_meshio::{MeshLimits, vtk};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(vtk::read(bytes, &MeshLimits::default()));
});
