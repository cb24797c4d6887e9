//! `stiction render`: pictures of a recorded run, without a GPU.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use stiction_contact::ContactState;
use stiction_geometry::{TriMesh, shapes::BallSurface};
use stiction_math::{Quat, Vec3};
use stiction_record::picture::{
    Camera, Colour, Image, LineView, MeshView, Picture, PointView, contact_sheet,
};

use super::{Failure, bad, with_threads};
use crate::replay::{RecordedContact, Replay, SeenCells};

#[derive(Debug, Args)]
pub struct RenderArgs {
    /// The folder of a run.
    dir: PathBuf,
    /// Which frame, counted from 0; negative numbers count from the end.
    #[arg(long, allow_hyphen_values = true, default_value_t = -1, conflicts_with = "all")]
    frame: i64,
    /// Frames side by side on one sheet: this many, evenly spread.
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "12")]
    all: Option<usize>,
    /// The picture to write.
    #[arg(short, long, value_name = "FILE.png")]
    out: PathBuf,
    /// Direction of the camera: `AZIMUTH,ELEVATION` in degrees.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, num_args = 1)]
    camera: Option<Vec<f64>>,
    /// Width and height in pixels.
    #[arg(long, value_delimiter = ',', default_value = "640,480", num_args = 1)]
    size: Vec<u32>,
    /// Height of the ground [m]; it lies under the lowest point of the run by default.
    #[arg(long, allow_hyphen_values = true)]
    ground: Option<f64>,
    /// Draw contacts: grey when open, teal when they stick, orange when they slide, with arrows of
    /// their forces on the first body.
    #[arg(long)]
    contacts: bool,
    /// Threads to use; all cores by default.
    #[arg(long)]
    threads: Option<usize>,
}

pub fn main(args: RenderArgs) -> Result<ExitCode, Failure> {
    with_threads(args.threads, || render(&args))
}

/// One frame as it is drawn.
struct Drawn {
    time: f64,
    bodies: Vec<Surface>,
    contacts: Vec<RecordedContact>,
}

/// A surface or the segments of rods, and whether it belongs to an obstacle.
struct Surface {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    segments: Vec<[u32; 2]>,
    /// Of the segments [m].
    radius: f64,
    obstacle: bool,
}

fn render(args: &RenderArgs) -> Result<ExitCode, Failure> {
    let ending = args.out.extension().map(|e| e.to_ascii_lowercase());
    if ending.is_some_and(|e| e != "png") {
        let shown = args.out.display();
        return Err(bad(&format!(
            "--out {shown}: pictures are written as PNG; name it FILE.png"
        )));
    }
    if args.ground.is_some_and(|z| !z.is_finite()) {
        return Err(bad("--ground takes a finite height in metres"));
    }
    let replay = Replay::open(&args.dir)?;
    let size: [u32; 2] = args
        .size
        .clone()
        .try_into()
        .map_err(|_| bad("--size takes WIDTH,HEIGHT"))?;
    let camera = match args.camera.as_deref() {
        None => Camera::default(),
        Some([azimuth, elevation]) => Camera::Auto {
            azimuth: *azimuth,
            elevation: *elevation,
            fov: 30.0,
        },
        Some(_) => return Err(bad("--camera takes AZIMUTH,ELEVATION in degrees")),
    };
    let chosen: Vec<usize> = match args.all {
        Some(0) => return Err(bad("--all 0: at least one frame is needed")),
        Some(count) => spread(replay.len(), count),
        None => {
            let n = replay.len() as i64;
            let at = if args.frame < 0 {
                n + args.frame
            } else {
                args.frame
            };
            if !(0..n).contains(&at) {
                return Err(bad(&format!(
                    "frame {} does not exist: the run has frames 0 to {}",
                    args.frame,
                    n - 1
                )));
            }
            vec![at as usize]
        }
    };
    let shots = chosen
        .iter()
        .map(|&i| drawn(&replay, i))
        .collect::<Result<Vec<_>, _>>()?;
    // One camera and one ground for all frames, so that only the bodies move.
    let bodies = || {
        shots
            .iter()
            .flat_map(|s| s.bodies.iter().filter(|b| !b.obstacle))
    };
    let points = || bodies().flat_map(|b| b.positions.iter().copied());
    let lowest = points().map(|p| p.z).fold(f64::INFINITY, f64::min);
    // A run with obstacles shows its own ground.
    let bare = shots.iter().all(|s| s.bodies.iter().all(|b| !b.obstacle));
    let ground = args
        .ground
        .or_else(|| (bare && lowest.is_finite()).then_some(lowest));
    let camera = camera.fit(points(), size).map_err(Failure::run)?;
    // The largest force of all frames is as long as an eighth of what is seen.
    let largest = shots
        .iter()
        .flat_map(|s| &s.contacts)
        .map(|c| c.force.norm());
    let arrow = 0.125 * span(points()) / largest.fold(f64::MIN_POSITIVE, f64::max);
    let mut images = Vec::new();
    for shot in &shots {
        let mut colours = (0..).map(Colour::palette);
        let (mut meshes, mut lines) = (Vec::new(), Vec::new());
        for b in &shot.bodies {
            let colour = match b.obstacle {
                true => Colour::OBSTACLE,
                false => colours.next().unwrap_or(Colour::OBSTACLE),
            };
            if b.segments.is_empty() {
                meshes.push(MeshView {
                    positions: &b.positions,
                    triangles: &b.triangles,
                    colour,
                    smooth: true,
                    framed: !b.obstacle,
                });
            } else {
                lines.push(LineView {
                    positions: &b.positions,
                    segments: &b.segments,
                    colour,
                    radius: b.radius,
                });
            }
        }
        let picture = Picture {
            meshes,
            lines,
            points: match args.contacts {
                true => shot.contacts.iter().map(|c| touch(c, arrow)).collect(),
                false => Vec::new(),
            },
            ground,
            camera,
            size,
            ..Picture::default()
        };
        images.push((
            picture.render().map_err(Failure::run)?,
            format!("t = {:.3} s", shot.time),
        ));
    }
    let image = match images.as_slice() {
        [(image, _)] => image.clone(),
        many => {
            let labelled: Vec<(&Image, &str)> = many.iter().map(|(i, l)| (i, l.as_str())).collect();
            let columns = (labelled.len() as f64).sqrt().ceil() as usize;
            contact_sheet(&labelled, columns).map_err(Failure::run)?
        }
    };
    image.write_png(&args.out).map_err(Failure::run)?;
    Ok(ExitCode::SUCCESS)
}

/// `count` of `n` frames, evenly spread, first and last among them.
fn spread(n: usize, count: usize) -> Vec<usize> {
    if count >= n {
        return (0..n).collect();
    }
    if count == 1 {
        return vec![n - 1];
    }
    (0..count).map(|k| k * (n - 1) / (count - 1)).collect()
}

/// A frame with surfaces for all that it holds.
fn drawn(replay: &Replay, index: usize) -> Result<Drawn, Failure> {
    let shot = replay.shot(index)?;
    let mut bodies = Vec::new();
    for body in shot.bodies {
        let mut drawn = Surface {
            positions: body.positions,
            triangles: Vec::new(),
            segments: Vec::new(),
            radius: 0.0,
            obstacle: body.obstacle,
        };
        match body.cells {
            SeenCells::Triangles(triangles) => drawn.triangles = triangles,
            SeenCells::Balls(radii) => {
                let balls = balls(&drawn.positions, &radii)?;
                drawn.positions = balls.positions;
                drawn.triangles = balls.triangles;
            }
            SeenCells::Lines(segments, radius) => {
                drawn.segments = segments;
                drawn.radius = radius;
            }
        }
        bodies.push(drawn);
    }
    Ok(Drawn {
        time: shot.time,
        bodies,
        contacts: shot.contacts,
    })
}

/// A contact with an arrow of its force at `scale` [m/N]; a short one would only be a blot.
fn touch(contact: &RecordedContact, scale: f64) -> PointView {
    let arrow = contact.force * scale;
    let arrow = (contact.state != ContactState::Open).then_some(arrow);
    PointView::contact(contact.point, contact.state, arrow)
}

/// The diagonal of the box around points [m].
fn span(points: impl Iterator<Item = Vec3>) -> f64 {
    let far = Vec3::repeat(f64::INFINITY);
    let (lo, hi) = points.fold((far, -far), |(lo, hi), p| (lo.inf(&p), hi.sup(&p)));
    let size = (hi - lo).norm();
    if size.is_finite() { size } else { 0.0 }
}

/// Particles as balls.
fn balls(centres: &[Vec3], radii: &[f64]) -> Result<TriMesh, Failure> {
    // Fine enough for a ball that is one of many.
    let ball = BallSurface {
        radius: 1.0,
        frequency: 3,
    };
    let ball = ball.build().map_err(Failure::run)?;
    let mut all = TriMesh::default();
    for (centre, radius) in centres.iter().zip(radii) {
        let mut one = ball.clone();
        one.transform(&Quat::identity(), &Vec3::repeat(*radius), centre);
        all.append(&one).map_err(Failure::run)?;
    }
    Ok(all)
}
