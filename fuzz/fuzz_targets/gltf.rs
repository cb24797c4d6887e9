#![no_main]

use stiction_meshio::{MeshLimits, gltf};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(gltf::read(bytes, &MeshLimits::default()));
});
