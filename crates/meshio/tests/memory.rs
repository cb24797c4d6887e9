//! Readers allocate memory in proportion to the bytes that are there, not to the claims of headers.
//! One test alone in its process, so that the peak belongs to it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod writers;

use miniz_oxide::deflate::compress_to_vec_zlib;
use peak_alloc::PeakAlloc;
use stiction_meshio::{MeshLimits, gmsh, obj, ply, stl, tetgen as tetgen_reader, vtk, vtu};
use writers::{base64, cube, surface_files, tet_box, tet_files, tetgen};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Bytes above what was in use before, at the peak of `run`.
fn peak(run: impl FnOnce()) -> usize {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    run();
    MEMORY.peak_usage().saturating_sub(before)
}

fn read(extension: &str, bytes: &[u8], limits: &MeshLimits) {
    // Only the memory matters here.
    let _ = match extension {
        "obj" => obj::read(bytes, limits),
        "ply" => ply::read(bytes, limits),
        "stl" => stl::read(bytes, limits),
        "msh" => gmsh::read(bytes, limits),
        "vtk" => vtk::read(bytes, limits),
        "vtu" => vtu::read_mesh(bytes, limits),
        other => panic!("no reader for {other}"),
    };
}

/// Limits that stop nothing, so that only the bytes present can.
const NO_LIMITS: MeshLimits = MeshLimits {
    max_nodes: u64::MAX,
    max_elements: u64::MAX,
    max_bytes: u64::MAX,
};

/// Every number in a text and every aligned word in binary data, one at a time, becomes huge.
fn with_huge_counts(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let huge: [&[u8]; 2] = [b"4000000000", b"9000000000000000000"];
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if length > 0 {
            for word in huge {
                out.push([&bytes[..at], word, &bytes[at + length..]].concat());
            }
        }
        for (width, word) in [(4, 0x7fff_fff0u64), (8, 1 << 40)] {
            if bytes.len() >= at + width && !bytes.is_ascii() {
                let little = &word.to_le_bytes()[..width];
                let big = &word.to_be_bytes()[8 - width..];
                for word in [little, big] {
                    out.push([&bytes[..at], word, &bytes[at + width..]].concat());
                }
            }
        }
        at += length.max(1);
    }
    out
}

#[test]
fn memory_follows_the_bytes_that_are_there() {
    let mut files = surface_files(&cube());
    files.extend(tet_files(&tet_box()));
    // The variants of VTU differ little here, and there are many.
    files.retain(|(label, extension, _)| {
        *extension != "vtu" || label.contains("wide: true, order: Little")
    });
    let mut worst = 0.0f64;
    for (label, extension, bytes) in files {
        for changed in with_huge_counts(&bytes) {
            let used = peak(|| read(extension, &changed, &NO_LIMITS));
            let ratio = used as f64 / changed.len() as f64;
            assert!(
                ratio < 64.0,
                "{label}: {used} bytes for a file of {}",
                changed.len()
            );
            worst = worst.max(ratio);
        }
    }
    let (node, ele) = tetgen(&tet_box(), 0);
    for node in with_huge_counts(&node) {
        let used = peak(|| drop(tetgen_reader::read(&node, &ele, &NO_LIMITS)));
        assert!(used < 64 * (node.len() + ele.len()));
    }
    for ele in with_huge_counts(&ele) {
        let used = peak(|| drop(tetgen_reader::read(&node, &ele, &NO_LIMITS)));
        assert!(used < 64 * (node.len() + ele.len()));
    }
    assert!(worst > 1.0, "the measurement measures nothing");

    // Compressed zeros expand a thousandfold; `max_bytes` stops them, and a size that not even
    // zeros could reach is refused without trying.
    let zeros = compress_to_vec_zlib(&vec![0; 64 << 20], 9);
    let bomb = |claimed: u64| {
        let header: Vec<u8> = [1, claimed, 0, zeros.len() as u64]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        format!(
            "<VTKFile type=\"UnstructuredGrid\" header_type=\"UInt64\" \
             compressor=\"vtkZLibDataCompressor\"><Piece NumberOfPoints=\"0\" \
             NumberOfCells=\"0\"/><FieldData><DataArray type=\"Int8\" Name=\"a\" \
             format=\"binary\">{}{}</DataArray></FieldData>",
            base64(&header),
            base64(&zeros)
        )
    };
    let limits = MeshLimits {
        max_bytes: 1 << 20,
        ..MeshLimits::default()
    };
    let cases = [
        (
            64 << 20,
            limits,
            "536870912 bytes of uncompressed array data exceed the limit",
        ),
        (
            1 << 40,
            NO_LIMITS,
            "1099511627776 bytes of uncompressed array data are declared",
        ),
    ];
    for (claimed, limits, message) in cases {
        let file = bomb(claimed);
        let used = peak(|| {
            let error = vtu::read(file.as_bytes(), &limits).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        });
        assert!(used < 8 << 20, "{used} bytes");
    }
    // The same data within the limits is read, so that it is the size that was refused.
    assert!(vtu::read(bomb(64 << 20).as_bytes(), &NO_LIMITS).is_ok());
}
