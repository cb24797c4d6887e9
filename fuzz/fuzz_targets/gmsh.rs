#![no_main]

use stiction_meshio::{Limits, gmsh};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(gmsh::read(bytes, &Limits::default()));
});
