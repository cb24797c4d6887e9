#![no_main]

use stiction_meshio::{MeshLimits, obj};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(obj::read(bytes, &MeshLimits::default()));
});
