#![no_main]

use stiction_meshio::{MeshLimits, stl};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(stl::read(bytes, &MeshLimits::default()));
});
