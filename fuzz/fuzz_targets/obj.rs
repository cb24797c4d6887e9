#![no_main]

use stiction_scene::mesh_files::{Limits, obj};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(obj::read(bytes, &Limits::default()));
});
