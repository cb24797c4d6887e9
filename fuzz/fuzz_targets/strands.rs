#![no_main]

use stiction_meshio::{MeshLimits, strands};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match strands::read(bytes, &MeshLimits::default()) {
        Err(error) => assert!(!error.to_string().is_empty() && !error.remedy().is_empty()),
        Ok(read) => {
            assert!(read.points.iter().all(|p| p.iter().all(|x| x.is_finite())));
            for form in [strands::StrandFormat::Text, strands::StrandFormat::Double] {
                let bytes = strands::write(&read, form);
                assert_eq!(strands::read(&bytes, &MeshLimits::default()).as_ref(), Ok(&read));
            }
        }
    }
});
