#![no_main]

use stiction_meshio::{MeshLimits, gmsh};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stiction_fuzz::check_mesh(gmsh::read(bytes, &MeshLimits::default()));
});
