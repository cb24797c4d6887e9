#![no_main]

use stiction_scene::mesh_files::{Limits, ply};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(ply::read(bytes, &Limits::default()));
});
