#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;

/// A sphere around the origin.
pub(super) fn sphere(rings: u32, sectors: u32, radius: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    use std::f64::consts::{PI, TAU};
    let mut positions = vec![Vec3::z() * radius];
    for ring in 1..rings {
        let (sin, cos) = (PI * f64::from(ring) / f64::from(rings)).sin_cos();
        for sector in 0..sectors {
            let (s, c) = (TAU * f64::from(sector) / f64::from(sectors)).sin_cos();
            positions.push(Vec3::new(sin * c, sin * s, cos) * radius);
        }
    }
    positions.push(-Vec3::z() * radius);
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors + sector % sectors;
    let south = positions.len() as u32 - 1;
    let mut triangles = Vec::new();
    for k in 0..sectors {
        triangles.push([0, at(1, k), at(1, k + 1)]);
        for ring in 1..rings - 1 {
            let [a, b] = [at(ring, k), at(ring, k + 1)];
            let [c, d] = [at(ring + 1, k), at(ring + 1, k + 1)];
            triangles.extend([[a, c, d], [a, d, b]]);
        }
        triangles.push([at(rings - 1, k), south, at(rings - 1, k + 1)]);
    }
    (positions, triangles)
}

/// A cube around the origin.
pub(super) fn cube(side: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let corner = |i: u32| Vec3::from_fn(|k, _| side * (f64::from(i >> k & 1) - 0.5));
    let quads: [[u32; 4]; 6] = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let triangles = quads
        .iter()
        .flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]);
    ((0..8).map(corner).collect(), triangles.collect())
}

/// A square sheet of side 2 at the height z = height(x, y).
fn sheet(cells: u32, height: impl Fn(f64, f64) -> f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let side = cells + 1;
    let coordinate = |i: u32| 2.0 * f64::from(i) / f64::from(cells) - 1.0;
    let positions = (0..side * side).map(|at| {
        let (x, y) = (coordinate(at % side), coordinate(at / side));
        Vec3::new(x, y, height(x, y))
    });
    let triangles = (0..cells * cells).flat_map(|at| {
        let corner = at / cells * side + at % cells;
        let [a, b, c, d] = [corner, corner + 1, corner + side, corner + side + 1];
        [[a, b, d], [a, d, c]]
    });
    (positions.collect(), triangles.collect())
}

fn view<'a>(mesh: &'a (Vec<Vec3>, Vec<[u32; 3]>), colour: Colour) -> MeshView<'a> {
    MeshView {
        positions: &mesh.0,
        triangles: &mesh.1,
        colour,
        smooth: true,
        framed: true,
    }
}

fn bright(image: &Image, x: u32, y: u32) -> i32 {
    image
        .get(x, y)
        .unwrap()
        .0
        .iter()
        .map(|&c| i32::from(c))
        .sum()
}

/// From the side, the picture's centre on the origin, 100 pixels per unit of height.
fn side_view() -> Camera {
    let distance = 20.0;
    Camera::LookAt {
        eye: Vec3::new(0.0, -distance, 0.0),
        target: Vec3::zeros(),
        up: Vec3::z(),
        fov: 2.0 * (1.0 / distance).atan().to_degrees(),
    }
}

#[test]
fn the_silhouette_of_a_sphere_is_a_disc_of_the_right_size() {
    let ball = sphere(60, 120, 0.5);
    let picture = Picture {
        meshes: vec![view(&ball, Colour([200, 20, 20]))],
        camera: side_view(),
        size: [200, 200],
        ..Picture::default()
    };
    let image = picture.render().unwrap();
    let red = |x: u32, y: u32| {
        let [r, g, _] = image.get(x, y).unwrap().0;
        f64::from(i32::from(r) - i32::from(g)) > 25.0
    };
    let area = (0..200 * 200).filter(|at| red(at % 200, at / 200)).count() as f64;
    // 100 pixels per unit, slightly enlarged by perspective: tan(asin(r/d)) d = 0.50016.
    let exact = std::f64::consts::PI * (50.0f64 * 1.0003).powi(2);
    assert!((area / exact - 1.0).abs() < 0.02, "{area} {exact}");
    assert!(red(100, 100) && !red(100, 45) && !red(155, 100));
    // Lit from above: the top is brighter than the bottom.
    assert!(bright(&image, 100, 62) > bright(&image, 100, 138) + 60);
}

#[test]
fn a_body_casts_a_shadow_on_the_ground() {
    let ball = sphere(20, 40, 0.5);
    let mut picture = Picture {
        meshes: vec![view(&ball, Colour::palette(0))],
        ground: Some(-0.6),
        size: [160, 120],
        ..Picture::default()
    };
    let with = picture.render().unwrap();
    let camera = picture
        .camera
        .fit(ball.0.iter().copied(), picture.size)
        .unwrap();
    picture.camera = camera;
    picture.meshes[0].framed = false;
    let same = picture.render().unwrap();
    assert_eq!(with.width(), same.width());
    picture.meshes.clear();
    let without = picture.render().unwrap();
    let darker = (0..160 * 120)
        .filter(|at| bright(&with, at % 160, at / 160) + 60 < bright(&without, at % 160, at / 160))
        .count();
    assert!(darker > 1500, "{darker}");
    // The sky does not depend on objects on the ground.
    assert!((bright(&with, 3, 2) - bright(&without, 3, 2)).abs() < 6);
}

#[test]
fn the_nearer_surface_hides_the_farther_one() {
    let (near, far) = (cube(0.4), cube(0.8));
    let moved: Vec<Vec3> = near.0.iter().map(|p| p - Vec3::y() * 2.0).collect();
    let near = (moved, near.1);
    let picture = Picture {
        meshes: vec![
            view(&far, Colour([20, 20, 220])),
            view(&near, Colour([20, 200, 20])),
        ],
        camera: side_view(),
        size: [100, 100],
        ..Picture::default()
    };
    let image = picture.render().unwrap();
    let [r, g, b] = image.get(50, 50).unwrap().0;
    assert!(g > r && g > b, "{r} {g} {b}");
    let [r, g, b] = image.get(50, 35).unwrap().0;
    assert!(b > r && b > g, "{r} {g} {b}");
}

#[test]
fn a_flat_obstacle_seen_from_its_back_does_not_hide_the_bodies() {
    let body = cube(0.8);
    let flat = sheet(1, |_, _| 0.0);
    // Upright, two units before the body, with its front towards the body or towards the eye.
    let wall = |front: f64| {
        let stand = |p: &Vec3| Vec3::new(p.x, -2.0, -front * p.y);
        (flat.0.iter().map(stand).collect::<Vec<_>>(), flat.1.clone())
    };
    let walls = [wall(1.0), wall(-1.0)];
    for (wall, framed, seen) in [(0, false, true), (1, false, false), (0, true, false)] {
        let picture = Picture {
            meshes: vec![
                view(&body, Colour([20, 20, 220])),
                MeshView {
                    framed,
                    ..view(&walls[wall], Colour([200, 20, 20]))
                },
            ],
            camera: side_view(),
            size: [100, 100],
            ..Picture::default()
        };
        let [r, _, b] = picture.render().unwrap().get(50, 50).unwrap().0;
        assert_eq!(b > r, seen, "wall {wall}, framed {framed}: {r} {b}");
    }
}

#[test]
fn the_image_has_the_same_bits_for_any_number_of_threads() {
    let cloth = sheet(30, |x, y| 0.15 * (4.0 * x).sin() * (3.0 * y).cos());
    let strand: Vec<Vec3> = (0..40)
        .map(|i| {
            Vec3::new(
                f64::from(i) * 0.05 - 1.0,
                0.3,
                0.6 + 0.1 * f64::from(i).sin(),
            )
        })
        .collect();
    let segments: Vec<[u32; 2]> = (0..39).map(|i| [i, i + 1]).collect();
    let picture = Picture {
        meshes: vec![view(&cloth, Colour::palette(1))],
        lines: vec![LineView {
            positions: &strand,
            segments: &segments,
            colour: Colour::palette(7),
            radius: 0.01,
        }],
        points: vec![PointView::contact(
            Vec3::z() * 0.2,
            ContactState::Slide,
            Some(Vec3::x()),
        )],
        ground: Some(-0.3),
        size: [160, 120],
        ..Picture::default()
    };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| picture.render().unwrap())
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

#[test]
fn contacts_show_through_surfaces_faintly() {
    let ball = sphere(20, 40, 0.5);
    let draw = |points: Vec<PointView>| {
        let picture = Picture {
            meshes: vec![view(&ball, Colour::palette(0))],
            points,
            camera: side_view(),
            size: [100, 100],
            ..Picture::default()
        };
        picture.render().unwrap().get(50, 50).unwrap().0
    };
    let dot = |y: f64| vec![PointView::contact(Vec3::y() * y, ContactState::Slide, None)];
    let [none, front, hidden] = [draw(vec![]), draw(dot(-0.5)), draw(dot(0.5))];
    assert_eq!(front, Colour::of_state(ContactState::Slide).0);
    assert!(
        hidden[0] > none[0] && hidden[0] < front[0],
        "{none:?} {hidden:?}"
    );
}

#[test]
fn thin_hair_never_vanishes() {
    let strand = [Vec3::new(-0.9, 0.0, 0.001), Vec3::new(0.9, 0.0, 0.003)];
    let picture = Picture {
        lines: vec![LineView {
            positions: &strand,
            segments: &[[0, 1]],
            colour: Colour([20, 20, 20]),
            radius: 1e-5,
        }],
        camera: side_view(),
        size: [100, 100],
        ..Picture::default()
    };
    let image = picture.render().unwrap();
    for x in 8..92 {
        let darkest = (45..55).map(|y| bright(&image, x, y)).min().unwrap();
        assert!(darkest < bright(&image, x, 30) - 60, "column {x}");
    }
}

#[test]
fn broken_input_is_refused_and_diverged_vertices_are_left_out() {
    let mut ball = sphere(10, 20, 0.5);
    let render = |picture: Picture| picture.render().map(drop);
    let size = [0, 10];
    let zero = Picture {
        size,
        ..Picture::default()
    };
    assert!(matches!(render(zero), Err(PictureError::Size { .. })));
    ball.1[3][1] = 9999;
    let wrong = Picture {
        meshes: vec![view(&ball, Colour::OBSTACLE)],
        size: [20, 20],
        ..Picture::default()
    };
    let message = render(wrong).unwrap_err().to_string();
    assert!(
        message.contains("triangle 3") && message.contains("9999"),
        "{message}"
    );
    ball.1[3][1] = 0;
    ball.0[5] = Vec3::new(f64::NAN, 0.0, f64::INFINITY);
    let diverged = Picture {
        meshes: vec![view(&ball, Colour::OBSTACLE)],
        ground: Some(f64::NAN),
        size: [20, 20],
        ..Picture::default()
    };
    assert_eq!(render(diverged), Ok(()));
    let empty = Picture {
        size: [20, 20],
        ground: Some(0.0),
        ..Picture::default()
    };
    assert_eq!(render(empty), Ok(()));
}

#[test]
fn a_png_decodes_to_the_same_pixels() {
    let pixels: Vec<u8> = (0..3 * 7 * 5).map(|i| (i * 37 % 251) as u8).collect();
    let image = Image::from_rgb(7, 5, pixels).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.png");
    image.write_png(&path).unwrap();
    let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut back = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut back).unwrap();
    assert_eq!((info.width, info.height), (7, 5));
    assert_eq!(back, image.pixels());
    assert!(Image::from_rgb(7, 5, vec![0; 3]).is_none());
}

#[test]
fn a_sheet_places_frames_and_labels() {
    let red = Image::filled(40, 30, Colour([255, 0, 0]));
    let blue = Image::filled(40, 30, Colour([0, 0, 255]));
    let frames = [
        (&red, "t = 0.5 s"),
        (&blue, "é"),
        (&red, ""),
        (&blue, "a label too long to fit"),
    ];
    let sheet = contact_sheet(&frames, 3).unwrap();
    assert_eq!((sheet.width(), sheet.height()), (3 * 48 + 8, 2 * 54 + 8));
    assert_eq!(sheet.get(8, 8), Some(Colour([255, 0, 0])));
    assert_eq!(sheet.get(56, 37), Some(Colour([0, 0, 255])));
    assert_eq!(sheet.get(8 + 39, 8 + 54), Some(Colour([0, 0, 255])));
    let ink = |x0: u32, y0: u32| {
        let inside = (0..40 * 8)
            .filter(|at| sheet.get(x0 + at % 40, y0 + at / 40) == Some(Colour([60, 66, 74])));
        inside.count()
    };
    assert!(ink(8, 46) > 30);
    assert_eq!(
        ink(56, 46),
        20,
        "the box that stands for an unknown character"
    );
    assert_eq!(ink(104, 46), 0);
    assert!(contact_sheet(&[], 3).is_ok());
}
