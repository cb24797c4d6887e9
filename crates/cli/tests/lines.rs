//! Rods in pictures and exports: recorded as segments with a radius, drawn as tubes, written as
//! curves, lines and edges.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path};

use common::{code, stderr, stiction};
use openusd::sdf::{self, AbstractData, Value};
use stiction_cli::{
    geometry::{
        Strands,
        shapes::{Groom, Scalp},
    },
    math::Vec3,
    record::{Cells, Data, Encoding, Frame, Pvd, sequence_path, write_vtu},
};

const RADIUS: f64 = 5e-4;

/// Records `strands` as a run of two frames would: the second one a little higher.
fn record(dir: &Path, strands: &Strands) {
    fs::create_dir_all(dir.join("frames")).unwrap();
    let mut pvd = Pvd::create(&dir.join("frames.pvd")).unwrap();
    let segments = strands.segments();
    let radius = vec![RADIUS; strands.points.len()];
    for number in 0..2 {
        let lift = Vec3::z() * 0.01 * number as f64;
        let positions: Vec<Vec3> = strands.points.iter().map(|p| p + lift).collect();
        let path = sequence_path(&dir.join("frames"), "hair", number, "vtu");
        let frame = Frame {
            name: "hair",
            time: 0.5 * number as f64,
            positions: &positions,
            cells: Cells::Lines(&segments),
            point_data: &[("radius", Data::Scalars(&radius))],
            cell_data: &[],
            field_data: &[],
        };
        write_vtu(&path, &frame, Encoding::Raw).unwrap();
        let file = format!("frames/hair_{number:06}.vtu");
        pvd.add_frame(frame.time, &[("hair", &file)]).unwrap();
    }
}

fn groom(count: u32) -> Strands {
    let groom = Groom {
        curl_radius: 0.004,
        curl_pitch: 0.03,
        ..Groom::straight(Scalp::HalfSphere { radius: 0.1 }, count, 0.06, 20)
    };
    groom.build().unwrap()
}

#[test]
fn rods_are_drawn_with_their_colour_and_cast_shadows() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), &groom(400));
    let picture = dir.path().join("hair.png");
    let made = stiction(&[
        "render",
        &dir.path().to_string_lossy(),
        "--out",
        &picture.to_string_lossy(),
        "--size",
        "240,180",
    ]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let (width, pixels) = decode(&picture);
    assert_eq!(width, 240);
    // The first colour of bodies is blue; ground and sky are grey and pale.
    let blue = |p: &&[u8; 3]| i32::from(p[2]) - i32::from(p[0]) > 60;
    let hair = pixels.iter().filter(blue).count();
    assert!((1500..25_000).contains(&hair), "{hair} pixels of hair");
    // Shadows on the ground: grey, but darker than the rest of it.
    let shadow = |p: &&[u8; 3]| p.iter().all(|c| *c < 190) && p[2].abs_diff(p[0]) < 15;
    let dark = pixels.iter().filter(shadow).count();
    assert!(dark > 300, "{dark} pixels of shadow");
}

#[test]
fn hair_is_grown_on_a_mesh_and_written_in_every_form() {
    use stiction_cli::scene::mesh_files::{MeshLimits, strands};
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (mesh, out) = (path("tent.obj"), path("hair.strands"));
    // A roof: normals at its foot lean outwards, and all point up.
    fs::write(
        &mesh,
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv .5 .5 .3\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n",
    )
    .unwrap();
    for form in ["text", "double", "single"] {
        let args = [
            "groom", &out, "--on", &mesh, "--count", "40", "--form", form,
        ];
        let made = stiction(&[&args[..], &["--curl", "0.004,0.02", "--segments", "8"]].concat());
        assert_eq!(code(&made), 0, "{}", stderr(&made));
        let strands = strands::load(out.as_ref(), &MeshLimits::default()).unwrap();
        assert_eq!((strands.len(), strands.points.len()), (40, 360));
        for s in 0..40 {
            let points = strands.strand(s);
            assert!(points[0].z >= 0.0 && points[1].z > points[0].z);
        }
    }
    for (args, message) in [
        (vec!["groom", &out, "--on", "no.obj"], "no.obj"),
        (
            vec!["groom", &out, "--frizz", "2"],
            "`frizz` must be from 0 to 1",
        ),
        (
            vec!["groom", &out, "--curl", "1"],
            "--curl takes RADIUS,PITCH",
        ),
    ] {
        let refused = stiction(&args);
        assert_eq!(code(&refused), 2);
        assert!(stderr(&refused).contains(message), "{}", stderr(&refused));
    }
}

#[test]
fn exports_carry_rods_as_curves_lines_and_edges() {
    let dir = tempfile::tempdir().unwrap();
    let strands = groom(7);
    record(dir.path(), &strands);
    let folder = dir.path().to_string_lossy();
    let made = stiction(&["export", &folder, "--format", "usd,gltf,obj,ply"]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));

    let text = fs::read_to_string(dir.path().join("run.usda")).unwrap();
    let data = openusd::usda::parse(&text).unwrap();
    let field = |path: &str, name: &str| {
        let path = sdf::Path::new(path).unwrap();
        data.get_field(&path, name).unwrap().into_owned()
    };
    let Value::IntVec(counts) = field("/run/hair.curveVertexCounts", "default") else {
        panic!("no curves");
    };
    assert_eq!(counts, [21; 7]);
    assert!(text.contains("uniform token type = \"linear\""));
    let Value::FloatVec(widths) = field("/run/hair.widths", "default") else {
        panic!("no widths");
    };
    assert_eq!(widths, [2.0 * RADIUS as f32]);
    let Value::TimeSamples(samples) = field("/run/hair.points", "timeSamples") else {
        panic!("no points");
    };
    assert_eq!(samples.len(), 2);

    let file = gltf::Gltf::open(dir.path().join("run.glb")).unwrap();
    let mesh = file.meshes().next().unwrap();
    let primitive = mesh.primitives().next().unwrap();
    assert_eq!(primitive.mode(), gltf::mesh::Mode::Lines);
    assert_eq!(primitive.indices().unwrap().count(), 2 * 7 * 20);

    let obj = fs::read_to_string(dir.path().join("hair_000001.obj")).unwrap();
    assert_eq!(obj.lines().filter(|l| l.starts_with("l ")).count(), 7 * 20);
    assert_eq!(obj.lines().filter(|l| l.starts_with("v ")).count(), 7 * 21);
    let ply = fs::read(dir.path().join("hair_000001.ply")).unwrap();
    let head = String::from_utf8_lossy(&ply[..400.min(ply.len())]).into_owned();
    assert!(head.contains("element edge 140"), "{head}");
}

fn decode(path: &Path) -> (u32, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()))
        .read_info()
        .unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width, bytes.as_chunks::<3>().0.to_vec())
}
