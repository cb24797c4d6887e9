//! Whatever the bytes, a reader answers with a sound mesh or an error; it never panics and never
//! takes long.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod writers;

use proptest::prelude::*;
use stiction_meshio::tetgen as tetgen_reader;
use stiction_meshio::{MeshFile, MeshFileError, MeshLimits, gmsh, obj, ply, stl, vtk, vtu};
use writers::{Written, cube, surface_files, tet_box, tet_files, tetgen};

fn readers() -> [(
    &'static str,
    fn(&[u8], &MeshLimits) -> Result<MeshFile, MeshFileError>,
); 7] {
    [
        ("obj", obj::read),
        ("ply", ply::read),
        ("stl", stl::read),
        ("msh", gmsh::read),
        ("vtk", vtk::read),
        ("vtu", vtu::read_mesh),
        ("node", read_pair),
    ]
}

/// A TetGen pair in one piece, cut at the first zero byte.
fn read_pair(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let cut = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let (node, ele) = bytes.split_at(cut);
    tetgen_reader::read(node, ele.get(1..).unwrap_or_default(), limits)
}

fn valid_files() -> Vec<Written> {
    let mut files = surface_files(&cube());
    files.extend(tet_files(&tet_box()));
    let (mut node, ele) = tetgen(&tet_box(), 1);
    node.push(0);
    node.extend(ele);
    files.push(("TetGen".into(), "node", node));
    files
}

fn check(result: Result<MeshFile, MeshFileError>) {
    let file = match result {
        Ok(file) => file,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.remedy().is_empty());
            return;
        }
    };
    let mut vertices = 0;
    if let Some(surface) = &file.surface {
        vertices = surface.positions.len();
        assert!(surface.positions.iter().flatten().all(|x| x.is_finite()));
        assert!(
            surface
                .triangles
                .iter()
                .flatten()
                .all(|&v| (v as usize) < vertices)
        );
    }
    if let Some(tets) = &file.tets {
        vertices = tets.positions.len();
        assert!(tets.positions.iter().flatten().all(|x| x.is_finite()));
        assert!(tets.tets.iter().flatten().all(|&v| (v as usize) < vertices));
    }
    assert!(vertices > 0);
    for group in &file.groups {
        assert!(group.vertices.windows(2).all(|w| w[0] < w[1]));
        assert!(group.vertices.iter().all(|&v| (v as usize) < vertices));
    }
}

/// A change to a file: (kind, where, with what).
fn mutate(bytes: &mut Vec<u8>, (kind, at, value): (u8, prop::sample::Index, u32)) {
    if bytes.is_empty() {
        return;
    }
    let at = at.index(bytes.len());
    const WORDS: [&[u8]; 10] = [
        b"-1",
        b"0",
        b"4294967296",
        b"18446744073709551615",
        b"nan",
        b"1e999",
        b"\"",
        b"<",
        b"\\\n",
        b"$End",
    ];
    match kind % 6 {
        0 => bytes[at] = value as u8,
        1 => bytes.truncate(at),
        2 => {
            let end = (at + value as usize % 40).min(bytes.len());
            bytes.drain(at..end);
        }
        3 => {
            let end = (at + value as usize % 40).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => {
            let word = WORDS[value as usize % WORDS.len()];
            let end = (at + word.len()).min(bytes.len());
            bytes.splice(at..end, word.iter().copied());
        }
        _ => {
            // A count in binary: all four bytes at once.
            let extremes = [
                0u32,
                1,
                255,
                1 << 16,
                i32::MAX as u32,
                u32::MAX,
                1_000_000_000,
            ];
            let word = extremes[value as usize % extremes.len()].to_le_bytes();
            let end = (at + 4).min(bytes.len());
            bytes.splice(at..end, word);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for (_, read) in readers() {
            check(read(&bytes, &MeshLimits::default()));
        }
    }

    #[test]
    fn any_words_are_survived(words in prop::collection::vec(prop::sample::select(vec![
        "v", "f", "g", "o", "l", "p", "#", "\\\n", "\n", "0", "1", "2", "3", "4", "-1", "-3", "1/2/3", "0.5", "nan",
        "solid", "facet", "normal", "outer", "loop", "vertex", "endloop", "endfacet", "endsolid", "10", "99999999999",
    ]), 0..120)) {
        let text = words.join(" ");
        for (_, read) in readers() {
            check(read(text.as_bytes(), &MeshLimits::default()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn mutated_files_are_survived(
        changes in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>(), any::<u32>()), 1..4)
    ) {
        for (_, extension, original) in valid_files() {
            let mut bytes = original;
            for &change in &changes {
                mutate(&mut bytes, change);
            }
            for (name, read) in readers() {
                if name == extension {
                    check(read(&bytes, &MeshLimits::default()));
                }
            }
        }
    }
}

/// Files that would take quadratic time or worse if read carelessly. Linear reading takes a few
/// milliseconds; the bound allows for slow machines and still fails at quadratic cost.
#[test]
fn hostile_files_are_read_in_linear_time() {
    let n = 60_000;
    let mut points = String::new();
    for i in 0..n {
        points += &format!("v {} {} 0\n", i, if i % 2 == 0 { 0 } else { 1 + i % 7 });
    }
    let polygon: String = (1..=n).map(|i| format!(" {i}")).collect();
    let names: String = (0..n).map(|i| format!(" g{i}")).collect();
    let triangles = "f 1 2 3\n".repeat(n);
    let sections = "$a$a$a$a\n".repeat(n);
    let hostile: [(&str, Vec<u8>); 8] = [
        ("obj", format!("{points}f{polygon}\n").into_bytes()),
        (
            "obj",
            format!("v 0 0 0\nv 1 0 0\nv 0 1 0\ng{names}\n{triangles}").into_bytes(),
        ),
        ("obj", "\\\n".repeat(n).into_bytes()),
        (
            "msh",
            format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n{sections}").into_bytes(),
        ),
        (
            "ply",
            format!("ply\nformat ascii 1.0\n{}", "element a 0\n".repeat(n)).into_bytes(),
        ),
        ("vtu", "<a ".repeat(n).into_bytes()),
        ("vtu", "<!--".repeat(n).into_bytes()),
        (
            "vtu",
            format!("<VTKFile type=\"UnstructuredGrid\" a='{}'>", "&".repeat(n)).into_bytes(),
        ),
    ];
    for (extension, bytes) in hostile {
        for (name, read) in readers() {
            if name == extension {
                let start = std::time::Instant::now();
                check(read(&bytes, &MeshLimits::default()));
                assert!(
                    start.elapsed().as_secs_f64() < 2.0,
                    "{extension} {}",
                    bytes.len()
                );
            }
        }
    }
}
