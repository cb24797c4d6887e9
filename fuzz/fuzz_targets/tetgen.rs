#![no_main]

use stiction_meshio::{MeshLimits, tetgen};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The first zero byte separates the two files; text files hold none.
    let cut = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let (node, ele) = bytes.split_at(cut);
    let ele = ele.get(1..).unwrap_or_default();
    stiction_fuzz::check_mesh(tetgen::read(node, ele, &MeshLimits::default()));
});
