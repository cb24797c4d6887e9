#![no_main]

use stiction_meshio::{MeshLimits, vtu};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let limits = MeshLimits {
        max_bytes: 1 << 24,
        ..MeshLimits::default()
    };
    if let Ok(file) = vtu::read(bytes, &limits) {
        for (_, points) in file.cells.iter() {
            assert!(points.iter().all(|&p| (p as usize) < file.points.len()));
        }
    }
    stiction_fuzz::check_mesh(vtu::read_mesh(bytes, &limits));
});
