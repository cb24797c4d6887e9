//! `stiction export`: a recorded run for other programs.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use miette::miette;
use stiction_math::Vec3;
use stiction_record::{
    Cells, Frame, FrameFormat, TextureColumns,
    animation::{AnimatedBody, AnimatedShape, Animation, Whole},
    file_stems, make_folder, sequence_path, write_obj, write_ply,
};

use super::Failure;
use crate::replay::{Replay, SeenCells};

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The folder of a run that wrote frames as vtu.
    dir: PathBuf,
    /// Formats: usd, gltf (a file of the whole run), obj, ply (a file per body and frame).
    #[arg(short, long, value_delimiter = ',', required = true)]
    format: Vec<String>,
    /// Folder to write to; the folder of the run by default.
    #[arg(short, long)]
    out: Option<PathBuf>,
    /// Leave obstacles out.
    #[arg(long)]
    bodies_only: bool,
}

pub fn main(args: ExportArgs) -> Result<ExitCode, Failure> {
    let out = args.out.as_deref().unwrap_or(&args.dir);
    make_folder(out).map_err(Failure::run)?;
    let mut wholes = Vec::new();
    let mut sequences = Vec::new();
    for name in &args.format {
        let whole = Whole::ALL.iter().find(|(n, _)| n == name);
        match (whole, name.as_str()) {
            (Some((_, whole)), _) => wholes.push(*whole),
            (None, "obj") => sequences.push(FrameFormat::Obj),
            (None, "ply") => sequences.push(FrameFormat::Ply),
            _ => {
                return Err(Failure::Input(miette!(
                    help = "known formats: usd, gltf, obj, ply; the run itself is vtu",
                    "unknown format `{name}`"
                )));
            }
        }
    }
    let replay = Replay::open(&args.dir)?;
    for whole in wholes {
        let path = write_whole(&replay, out, whole, args.bodies_only)?;
        println!("{}", path.display());
    }
    if !sequences.is_empty() {
        let count = write_sequences(&replay, out, &sequences, args.bodies_only)?;
        println!("{count} files in {}", out.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the whole run as one file, and says where.
pub fn write_whole(
    replay: &Replay,
    out: &Path,
    format: Whole,
    bodies_only: bool,
) -> Result<PathBuf, Failure> {
    let path = out.join("run").with_extension(format.extension());
    let animation = animation(replay, bodies_only)?;
    animation.write(&path, format).map_err(Failure::run)?;
    Ok(path)
}

/// All frames of all bodies.
fn animation(replay: &Replay, bodies_only: bool) -> Result<Animation, Failure> {
    let mut all = Animation::default();
    for index in 0..replay.len() {
        let shot = replay.shot(index)?;
        all.times.push(shot.time);
        for body in shot.bodies {
            if bodies_only && body.obstacle {
                continue;
            }
            let points = body.positions.iter().map(single).collect();
            let at = match all.bodies.iter().position(|b| b.name == body.name) {
                Some(known) => known,
                None => {
                    all.bodies.push(AnimatedBody::new(&body.name));
                    all.bodies.len() - 1
                }
            };
            let texture = body.texture.iter();
            let texture: Vec<_> = texture
                .map(|t| t.map(|uv| [uv.x as f32, uv.y as f32]))
                .collect();
            all.bodies[at].push_textured(shape(body.cells), points, &texture);
        }
    }
    // Points of different meshes cannot be interpolated: programs need their velocities instead.
    if all.bodies.iter().any(AnimatedBody::changes) {
        for index in 0..replay.len() {
            for body in replay.shot(index)?.bodies {
                let changing = |b: &&mut AnimatedBody| b.name == body.name && b.changes();
                if let Some(known) = all.bodies.iter_mut().find(changing) {
                    let velocities = body.velocities.iter().map(single).collect();
                    known.velocities.push(velocities);
                }
            }
        }
    }
    Ok(all)
}

fn single(p: &Vec3) -> [f32; 3] {
    [p.x as f32, p.y as f32, p.z as f32]
}

fn shape(cells: SeenCells) -> AnimatedShape {
    match cells {
        SeenCells::Triangles(t) => AnimatedShape::Triangles(t),
        SeenCells::Lines(l, radius) => AnimatedShape::Lines(l, radius as f32),
        SeenCells::Balls(radii) => AnimatedShape::Balls(radii.iter().map(|r| *r as f32).collect()),
    }
}

/// A file per body and frame; how many there are.
fn write_sequences(
    replay: &Replay,
    out: &Path,
    formats: &[FrameFormat],
    bodies_only: bool,
) -> Result<usize, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for entry in (0..replay.len()).flat_map(|index| replay.files(index)) {
        if !names.contains(&entry.name.as_str()) {
            names.push(&entry.name);
        }
    }
    let stems = file_stems(names.iter().copied());
    let stem = |name: &str| names.iter().position(|n| *n == name).map(|at| &stems[at]);
    let mut count = 0;
    for index in 0..replay.len() {
        let shot = replay.shot(index)?;
        for body in shot.bodies.iter().filter(|b| !(bodies_only && b.obstacle)) {
            let texture = match &body.cells {
                SeenCells::Triangles(t) => {
                    TextureColumns::new(t, &body.texture, body.positions.len())
                }
                _ => TextureColumns::default(),
            };
            let point_data: Vec<_> = texture.point_data().collect();
            let cell_data: Vec<_> = texture.cell_data().collect();
            let frame = Frame {
                name: &body.name,
                time: shot.time,
                positions: &body.positions,
                cells: match &body.cells {
                    SeenCells::Triangles(t) => Cells::Triangles(t),
                    SeenCells::Lines(l, _) => Cells::Lines(l),
                    SeenCells::Balls(_) => Cells::Points,
                },
                point_data: &point_data,
                cell_data: &cell_data,
                field_data: &[],
            };
            for format in formats {
                let (ending, write): (_, fn(&Path, &Frame) -> _) = match format {
                    FrameFormat::Ply => ("ply", write_ply),
                    _ => ("obj", write_obj),
                };
                let stem = stem(&body.name).map_or("", String::as_str);
                let path = sequence_path(out, stem, index, ending);
                write(&path, &frame).map_err(Failure::run)?;
                count += 1;
            }
        }
    }
    Ok(count)
}
