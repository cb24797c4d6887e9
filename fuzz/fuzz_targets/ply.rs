#![no_main]

use stiction_meshio::{MeshLimits, ply};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(ply::read(bytes, &MeshLimits::default()));
});
