//! glTF files against positions that are worked out by hand, and the reader's answers to damaged ones.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use serde_json::{Value, json};
use stiction_math::{Vec2, Vec3};
use stiction_meshio::{
    MeshFileError, MeshLimits,
    gltf::{self, AnimationConfig, MeshAnimation},
};

/// A file under construction.
struct Glb {
    json: Value,
    data: Vec<u8>,
}

impl Glb {
    fn add(&mut self, kind: &str, width: usize, numbers: &[f32]) {
        let start = self.data.len();
        self.data
            .extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        self.view(start);
        let count = numbers.len() / width;
        let view = self.json["bufferViews"].as_array().unwrap().len() - 1;
        let accessor =
            json!({"bufferView": view, "componentType": 5126, "count": count, "type": kind});
        self.json["accessors"]
            .as_array_mut()
            .unwrap()
            .push(accessor);
    }

    fn view(&mut self, start: usize) {
        let view = json!({"buffer": 0, "byteOffset": start, "byteLength": self.data.len() - start});
        self.json["bufferViews"].as_array_mut().unwrap().push(view);
    }

    fn bytes(mut self) -> Vec<u8> {
        self.json["buffers"] = json!([{ "byteLength": self.data.len() }]);
        let mut text = self.json.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut out = b"glTF".to_vec();
        let total = 12 + 8 + text.len() + 8 + self.data.len();
        for word in [2, total, text.len()] {
            out.extend((word as u32).to_le_bytes());
        }
        out.extend(b"JSON");
        out.extend(&text);
        out.extend((self.data.len() as u32).to_le_bytes());
        out.extend(b"BIN\0");
        out.extend(&self.data);
        out
    }
}

/// Two triangles (a square whose edge is repeated for its texture) that follow two joints: the lower
/// vertices stay, the upper ones turn about x = 0, y = 1 by a right angle within a second, and a morph
/// target moves everything by (0, 0, 1) in the second after.
fn file() -> Glb {
    let mut f = Glb {
        json: json!({
            "asset": {"version": "2.0"},
            "scenes": [{"nodes": [0, 2]}],
            "nodes": [
                {"name": "root", "children": [1], "translation": [0, 0, 0]},
                {"name": "bone", "translation": [0, 1, 0]},
                {"name": "flag", "mesh": 0, "skin": 0, "translation": [50, 0, 0]},
            ],
            "meshes": [{"primitives": [{
                "attributes": {"POSITION": 0, "TEXCOORD_0": 1, "JOINTS_0": 2, "WEIGHTS_0": 3},
                "targets": [{"POSITION": 4}],
            }]}],
            "skins": [{"joints": [0, 1], "inverseBindMatrices": 5}],
            "animations": [{"name": "turn",
                "samplers": [{"input": 6, "output": 7}, {"input": 8, "output": 9}],
                "channels": [
                    {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
                    {"sampler": 1, "target": {"node": 2, "path": "weights"}},
                ],
            }],
            "accessors": [], "bufferViews": [],
        }),
        data: Vec::new(),
    };
    let square = [[0., 0.], [1., 0.], [1., 2.], [0., 0.], [1., 2.], [0., 2.]];
    let each = |of: &dyn Fn([f32; 2]) -> Vec<f32>| -> Vec<f32> {
        square.iter().flat_map(|p| of(*p)).collect()
    };
    f.add("VEC3", 3, &each(&|[x, y]| vec![x, y, 0.0]));
    let mut uv = each(&|[x, y]| vec![x, y]);
    uv[6..8].copy_from_slice(&[9.0, 9.0]);
    f.add("VEC2", 2, &uv);
    f.add("VEC4", 4, &each(&|_| vec![0.0, 1.0, 0.0, 0.0]));
    f.add(
        "VEC4",
        4,
        &each(&|[_, y]| match y > 1.0 {
            true => vec![0.0, 2.0, 0.0, 0.0],
            false => vec![1.0, 0.0, 0.0, 0.0],
        }),
    );
    f.add("VEC3", 3, &each(&|_| vec![0.0, 0.0, 1.0]));
    let still = [
        1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.,
    ];
    let mut lowered = still;
    lowered[13] = -1.0;
    f.add("MAT4", 16, &[still, lowered].concat());
    f.add("SCALAR", 1, &[0.0, 1.0]);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    f.add("VEC4", 4, &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, half, half]);
    f.add("SCALAR", 1, &[1.0, 2.0]);
    f.add("SCALAR", 1, &[0.0, 1.0]);
    f
}

fn read(bytes: &[u8], rate: f64) -> Result<MeshAnimation, MeshFileError> {
    let config = AnimationConfig { clip: None, rate };
    gltf::read_animation(bytes, &MeshLimits::default(), &config)
}

#[test]
fn skins_morph_targets_and_keys_give_the_positions_of_the_specification() {
    let found = read(&file().bytes(), 4.0).unwrap();
    let mesh = found.mesh.surface.as_ref().unwrap();
    // The repeated corner is one vertex with two texture coordinates; v counts from the upper edge.
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
    let uv = found.mesh.uv.as_ref().unwrap();
    assert_eq!(
        (uv[0][0], uv[1][0]),
        (Vec2::new(0.0, 1.0), Vec2::new(9.0, -8.0))
    );
    assert_eq!(found.mesh.group("flag").unwrap().vertices, [0, 1, 2, 3]);
    assert_eq!(found.times.len(), 9);
    for (t, x) in found.times.iter().zip(&found.frames) {
        let (sin, cos) = (t.min(1.0) * std::f64::consts::FRAC_PI_2).sin_cos();
        let up = (t - 1.0).max(0.0);
        let turned = |x: f64, y: f64| Vec3::new(cos * x - sin * y, 1.0 + sin * x + cos * y, up);
        let expected = [
            Vec3::new(0.0, 0.0, up),
            Vec3::new(1.0, 0.0, up),
            turned(1.0, 1.0),
            turned(0.0, 1.0),
        ];
        for (x, y_up) in x.iter().zip(expected) {
            let z_up = Vec3::new(y_up.x, -y_up.z, y_up.y);
            // Keys are single precision.
            assert!((x - z_up).norm() < 3e-7, "t = {t}: {x} {z_up}");
        }
    }
    // Without animation, the rest pose.
    let still = gltf::read(&file().bytes(), &MeshLimits::default()).unwrap();
    assert_eq!(still.surface.unwrap().positions, found.frames[0]);
}

#[test]
fn embedded_data_are_read_and_files_beside_are_refused() {
    let mut f = file();
    let data = std::mem::take(&mut f.data);
    let digits: Vec<char> = ('A'..='Z')
        .chain('a'..='z')
        .chain('0'..='9')
        .chain(['+', '/'])
        .collect();
    let mut text = String::new();
    for group in data.chunks(3) {
        let bits =
            group.iter().fold(0u32, |b, x| b << 8 | u32::from(*x)) << (8 * (3 - group.len()));
        for k in 0..4 {
            let digit = digits[(bits >> (18 - 6 * k)) as usize & 63];
            text.push(if k <= group.len() { digit } else { '=' });
        }
    }
    let uri = format!("data:application/octet-stream;base64,{text}");
    f.json["buffers"] = json!([{ "byteLength": data.len(), "uri": uri }]);
    let found = read(f.json.to_string().as_bytes(), 4.0).unwrap();
    assert_eq!(found.frames, read(&file().bytes(), 4.0).unwrap().frames);
    f.json["buffers"][0]["uri"] = json!("flag.bin");
    let error = read(f.json.to_string().as_bytes(), 4.0).unwrap_err();
    assert!(error.to_string().contains("outside the file"), "{error}");
    assert!(error.remedy().contains(".glb"));
}

#[test]
fn damage_is_refused_by_name() {
    let damage: [(&str, Value, &str); 9] = [
        ("/asset/version", json!("1.0"), "version 1.0"),
        ("/nodes/1/children", json!([0]), "below itself"),
        ("/nodes/2/mesh", json!(4), "`mesh` is 4"),
        ("/accessors/0/count", json!(1e9 as u64), "exceed the limit"),
        ("/accessors/0/count", json!(7), "longer than its view"),
        (
            "/bufferViews/3/byteLength",
            json!(1e15 as u64),
            "longer than its buffer",
        ),
        (
            "/accessors/3/bufferView",
            json!(99),
            "view that does not exist",
        ),
        ("/accessors/0/type", json!("VEC2"), "does not fit its use"),
        ("/meshes/0/primitives/0/mode", json!(5), "strip"),
    ];
    for (at, value, message) in damage {
        let mut f = file();
        match f.json.pointer_mut(at) {
            Some(place) => *place = value,
            None => {
                let (parent, key) = at.rsplit_once('/').unwrap();
                f.json.pointer_mut(parent).unwrap()[key] = value;
            }
        }
        let error = read(&f.bytes(), 4.0).unwrap_err();
        assert!(error.to_string().contains(message), "{at}: {error}");
    }
    for rate in [1e18, f64::NAN, f64::INFINITY] {
        assert!(read(&file().bytes(), rate).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_gives_a_mesh_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..6)
    ) {
        let mut bytes = file().bytes();
        for (at, value, kind) in changes {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes.truncate(at.max(1)),
                1 => { bytes.remove(at); }
                _ => bytes[at] = value,
            }
            if bytes.is_empty() { bytes.push(0); }
        }
        match read(&bytes, 4.0) {
            Ok(found) => {
                let mesh = found.mesh.surface.unwrap();
                let n = mesh.positions.len();
                prop_assert!(mesh.triangles.iter().flatten().all(|v| (*v as usize) < n));
                prop_assert!(found.frames.iter().all(|f| f.len() == n));
                prop_assert!(found.frames.iter().flatten().flatten().all(|x| x.is_finite()));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty() && !error.remedy().is_empty()),
        }
    }
}
