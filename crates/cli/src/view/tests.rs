#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use stiction_math::Vec3;
use stiction_record::{Cells, Data, Encoding, Frame, Pvd, Table, sequence_path, write_vtu};

use super::*;

const TRIANGLES: [[u32; 3]; 2] = [[0, 1, 2], [0, 2, 3]];
const SEGMENTS: [[u32; 2]; 3] = [[0, 1], [1, 2], [3, 4]];

/// A run as a recorder would write it, frame by frame: a sheet, two hairs, a floor that rests.
struct Writer {
    dir: PathBuf,
    pvd: Pvd,
    certificate: Table,
    probes: Table,
}

impl Writer {
    fn new(dir: &Path) -> Self {
        fs::create_dir_all(dir.join("frames")).unwrap();
        Self {
            dir: dir.to_owned(),
            pvd: Pvd::create(&dir.join("frames.pvd")).unwrap(),
            certificate: Table::create(&dir.join("certificate.csv"), &["residual", "kinetic"])
                .unwrap(),
            probes: Table::create(&dir.join("probes.csv"), &["height", "a, b"]).unwrap(),
        }
    }

    fn frame(&mut self, number: usize) {
        let time = 0.1 * number as f64;
        let sheet: Vec<Vec3> = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
            .map(|[x, y]| Vec3::new(x, y, 1.0 - time))
            .to_vec();
        let hair: Vec<Vec3> = (0..5)
            .map(|i| Vec3::new(0.0, 0.1 * f64::from(i), time))
            .collect();
        let floor: Vec<Vec3> = sheet.iter().map(|p| Vec3::new(p.x, p.y, 0.0)).collect();
        let radius = [1e-3; 5];
        let radii: [(&str, Data); 1] = [("radius", Data::Scalars(&radius))];
        let force = vec![Vec3::new(0.0, 0.0, 1.0 + number as f64); 2];
        let touch: [(&str, Data); 2] = [
            ("state", Data::Ints(&[1, 2])),
            ("force", Data::Vectors(&force)),
        ];
        let floor_name = format!("{}floor", stiction_record::OBSTACLE_PREFIX);
        let parts: [(&str, &[Vec3], Cells, &[(&str, Data)], usize); 4] = [
            ("sheet", &sheet, Cells::Triangles(&TRIANGLES), &[], number),
            ("hair", &hair, Cells::Lines(&SEGMENTS), &radii, number),
            (&floor_name, &floor, Cells::Triangles(&TRIANGLES), &[], 0),
            (
                stiction_record::CONTACTS,
                &floor[..2],
                Cells::Points,
                &touch,
                number,
            ),
        ];
        let mut files = Vec::new();
        for (name, positions, cells, point_data, number) in parts {
            let path = sequence_path(&self.dir.join("frames"), name, number, "vtu");
            let frame = Frame {
                name,
                time,
                positions,
                cells,
                point_data,
                cell_data: &[],
                field_data: &[],
            };
            write_vtu(&path, &frame, Encoding::Raw).unwrap();
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            files.push((name, format!("frames/{file}")));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(n, f)| (*n, f.as_str())).collect();
        self.pvd.add_frame(time, &files).unwrap();
        let step = number as u64;
        self.certificate.numbers(step, time, &[0.0, 2.0]).unwrap();
        self.probes.numbers(step, time, &[time, f64::NAN]).unwrap();
    }
}

fn all(follower: &mut Follower) -> Vec<News> {
    let mut news = Vec::new();
    follower
        .poll(|n| {
            news.push(n);
            Ok::<(), ReplayError>(())
        })
        .unwrap();
    news
}

/// The news of each kind, whatever came between them.
fn sorted(news: Vec<News>) -> (Vec<News>, BTreeNumbers) {
    let mut numbers = BTreeNumbers::new();
    let mut frames = Vec::new();
    for n in news {
        match n {
            News::Frame { .. } => frames.push(n),
            News::Numbers {
                path,
                times,
                values,
            } => {
                let series = numbers.entry(path).or_default();
                series.extend(times.into_iter().zip(values));
            }
        }
    }
    (frames, numbers)
}

type BTreeNumbers = std::collections::BTreeMap<Vec<String>, Vec<(f64, f64)>>;

#[test]
fn a_run_that_goes_on_gives_the_marks_of_one_that_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut live = Follower::new(dir.path());
    assert_eq!(all(&mut live), []);
    let mut writer = Writer::new(dir.path());
    let mut streamed = all(&mut live);
    assert_eq!(live.eye(), None);
    for number in 0..5 {
        writer.frame(number);
        if number != 2 {
            streamed.extend(all(&mut live));
        }
    }
    assert_eq!(all(&mut live), []);
    let mut late = Follower::new(dir.path());
    let replayed = all(&mut late);
    assert_eq!(late.frames(), 5);
    assert_eq!(late.probes(), ["height", "a, b"]);
    assert_eq!(late.eye(), live.eye());
    assert_eq!(sorted(streamed), sorted(replayed));
}

#[test]
fn marks_say_what_was_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(dir.path());
    (0..2).for_each(|number| writer.frame(number));
    let (frames, numbers) = sorted(all(&mut Follower::new(dir.path())));
    let marks = |at: usize| match &frames[at] {
        News::Frame { marks, .. } => marks.clone(),
        News::Numbers { .. } => panic!("no frame"),
    };
    let find = |at: usize, path: &str| {
        let found = marks(at).into_iter().find(|m| m.path.join("/") == path);
        found.map(|m| m.what)
    };
    let Some(What::Surface {
        positions,
        triangles,
        normals,
        ..
    }) = find(1, "world/bodies/sheet")
    else {
        panic!("no sheet");
    };
    assert_eq!(positions[2], [1.0, 1.0, 0.9]);
    assert_eq!(normals[0], [0.0, 0.0, 1.0]);
    // Connections are sent once, and so is what rests.
    assert_eq!(triangles, None);
    assert!(find(0, "world/obstacles/floor").is_some());
    assert!(find(1, "world/obstacles/floor").is_none());
    let Some(What::Strands { strips, radius, .. }) = find(0, "world/bodies/hair") else {
        panic!("no hair");
    };
    assert_eq!(strips.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    // The size is √3 m: a millimetre would be less than a pixel wide.
    assert_eq!(radius, None);
    let Some(What::Arrows {
        vectors, colours, ..
    }) = find(1, "world/contacts/forces")
    else {
        panic!("no forces");
    };
    let size = 3.0f64.sqrt();
    assert!(
        (f64::from(vectors[0][2]) - 0.15 * size).abs() < 1e-6,
        "{vectors:?}"
    );
    assert_ne!(colours[0], colours[1]);
    assert_eq!(find(0, "contacts/stick"), Some(What::Number(1.0)));
    assert_eq!(find(0, "contacts/open"), Some(What::Number(0.0)));
    let series = |path: [&str; 2]| numbers.get(&path.map(str::to_owned)[..]);
    // Zero has no logarithm, and what is no number is left out.
    let residual = series(["certificate", "residual"]).unwrap();
    assert!((residual[0].1 + 18.0).abs() < 1e-12);
    assert_eq!(series(["energy", "kinetic"]).unwrap()[1], (0.1, 2.0));
    assert_eq!(series(["probes", "height"]).unwrap()[1], (0.1, 0.1));
    assert_eq!(series(["probes", "a, b"]), None);
}

#[test]
fn boxes_have_flat_sides_and_spheres_are_smooth() {
    use crate::replay::{Seen, SeenCells, Shot};
    use stiction_geometry::shapes::{BallSurface, BoxSurface};
    let cube = BoxSurface {
        size: [1.0; 3],
        cells: [1; 3],
    };
    let ball = BallSurface {
        radius: 1.0,
        frequency: 4,
    };
    let seen = |name: &str, mesh: stiction_geometry::TriMesh| Seen {
        velocities: Vec::new(),
        name: name.to_owned(),
        positions: mesh.positions,
        cells: SeenCells::Triangles(mesh.triangles),
        texture: Vec::new(),
        obstacle: false,
    };
    let shot = Shot {
        time: 0.0,
        bodies: vec![
            seen("cube", cube.build().unwrap()),
            seen("ball", ball.build().unwrap()),
        ],
        contacts: Vec::new(),
    };
    let marks = Scribe::default().frame(&shot);
    for (mark, exact) in marks.iter().zip([true, false]) {
        let What::Surface {
            positions,
            triangles: Some(triangles),
            normals,
            ..
        } = &mark.what
        else {
            panic!("no surface");
        };
        assert_eq!(positions.len(), if exact { 24 } else { 162 });
        for t in triangles {
            let [a, b, c] = t.map(|i| Vec3::from(positions[i as usize].map(f64::from)));
            let flat = (b - a).cross(&(c - a)).normalize();
            for i in t {
                let shown = Vec3::from(normals[*i as usize].map(f64::from));
                assert!(shown.dot(&flat) > if exact { 1.0 - 1e-6 } else { 0.9 });
            }
        }
    }
}

/// A mesh that changes is drawn anew, also where it loses points that no triangle uses.
#[test]
fn a_mesh_that_changes_is_drawn_with_its_own_points() {
    use crate::replay::{Seen, SeenCells, Shot};
    let shot = |count: usize, triangles: &[[u32; 3]]| Shot {
        time: 0.0,
        bodies: vec![Seen {
            name: "sheet".to_owned(),
            positions: (0..count)
                .map(|i| Vec3::new(i as f64, (i * i) as f64, 0.0))
                .collect(),
            velocities: Vec::new(),
            cells: SeenCells::Triangles(triangles.to_vec()),
            texture: Vec::new(),
            obstacle: false,
        }],
        contacts: Vec::new(),
    };
    let mut scribe = Scribe::default();
    let mut drawn = |shot: &Shot| match &scribe.frame(shot)[0].what {
        What::Surface {
            positions,
            triangles,
            ..
        } => (positions.len(), triangles.is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(drawn(&shot(5, &[[0, 1, 2]])), (5, true));
    assert_eq!(drawn(&shot(5, &[[0, 1, 2]])), (5, false));
    assert_eq!(drawn(&shot(3, &[[0, 1, 2]])), (3, true));
    assert_eq!(drawn(&shot(6, &[[0, 1, 2], [3, 4, 5]])), (6, true));
}
