//! `stiction doctor`: what is wrong with this mesh or scene?

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use miette::miette;
use serde::Serialize;
use stiction_geometry::{Finding, Severity, Strands, TetMesh, TriMesh};
use stiction_math::Vec3;
use stiction_record::{OVERLAPS, write_overlaps};
use stiction_scene::{
    OverlapPolicy, Scene, SceneSource,
    mesh_files::{self, strands},
};

use super::{Failure, SceneArgs, output::counted, run::load_with};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A mesh file, a scene file or the name of a built-in scene.
    file: String,
    #[command(flatten)]
    with: SceneArgs,
    /// Folder of `overlaps.vtu`, which is written if bodies overlap; the current folder by default.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

/// One remark about one part of the patient.
#[derive(Debug, Serialize)]
struct Remark {
    part: String,
    severity: &'static str,
    message: String,
    remedy: String,
}

/// The examination as a document.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    summary: Vec<String>,
    findings: Vec<Remark>,
    errors: usize,
    warnings: usize,
}

pub fn main(args: DoctorArgs) -> Result<ExitCode, Failure> {
    let mut report = Report {
        file: args.file.clone(),
        summary: Vec::new(),
        findings: Vec::new(),
        errors: 0,
        warnings: 0,
    };
    if is_strands(&args.file) {
        let strands = strands::load(Path::new(&args.file), &mesh_files::MeshLimits::default());
        let strands = strands.map_err(|e| Failure::Input(miette!("{e}")))?;
        report.strands("strands", &strands);
    } else if is_mesh(&args.file) {
        mesh(&args.file, &mut report)?;
    } else {
        scene(&args, &mut report)?;
    }
    report.errors = report
        .findings
        .iter()
        .filter(|f| f.severity == "error")
        .count();
    report.warnings = report
        .findings
        .iter()
        .filter(|f| f.severity == "warning")
        .count();
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).map_err(Failure::run)?
        );
    } else {
        report.summary.iter().for_each(|line| println!("{line}"));
        for f in &report.findings {
            println!("{} {}: {}", f.severity, f.part, f.message);
            if !f.remedy.is_empty() {
                println!("      {}", f.remedy);
            }
        }
        println!("{} errors, {} warnings", report.errors, report.warnings);
    }
    Ok(if report.errors == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    })
}

fn is_strands(file: &str) -> bool {
    let extension = Path::new(file).extension();
    extension.is_some_and(|e| e.eq_ignore_ascii_case("strands"))
}

fn is_mesh(file: &str) -> bool {
    let extension = Path::new(file)
        .extension()
        .map(|e| e.to_string_lossy().to_lowercase());
    extension.is_some_and(|e| e != "toml")
}

fn mesh(file: &str, report: &mut Report) -> Result<(), Failure> {
    let loaded = mesh_files::load(Path::new(file), &mesh_files::MeshLimits::default())
        .map_err(|e| Failure::Input(miette!("{e}")))?;
    for note in &loaded.notes {
        report.push("file", "note", note.clone(), "");
    }
    for group in &loaded.groups {
        report.summary.push(format!(
            "group `{}`: {} vertices",
            group.name,
            group.vertices.len()
        ));
    }
    if let Some(tets) = &loaded.tets {
        report.tets("tetrahedra", tets);
    }
    if let Some((surface, _)) = loaded.compact_surface() {
        // A file of tetrahedra often brings its boundary along; the tetrahedra then say it all.
        if loaded.tets.is_none() {
            report.surface("surface", loaded.surface.as_ref().unwrap_or(&surface));
        }
    }
    Ok(())
}

fn scene(args: &DoctorArgs, report: &mut Report) -> Result<(), Failure> {
    if let SceneSource::File(path) = SceneSource::from_argument(&args.file)
        && !path.exists()
    {
        return Err(Failure::Input(miette!(
            help = "give a mesh file, a scene file or the name of a built-in scene",
            "{} does not exist",
            path.display()
        )));
    }
    // An overlap is a finding here, not a reason to stop.
    let scene = load_with(&args.file, &args.with, Some(OverlapPolicy::Ignore))?;
    let (model, state) = (&scene.model, &scene.state);
    let mut surface = TriMesh::default();
    for body in &model.bodies {
        body.vertices(state, &mut surface.positions);
        surface.triangles.clone_from(&body.surface.triangles);
        let kind = match body.kind.as_deformable() {
            None => body.kind.name(),
            Some(_) if body.is_particles() => "particles",
            Some(_) if !body.surface.segments.is_empty() => "rods",
            Some(_) if body.tets.is_empty() => "shell",
            Some(_) => "solid",
        };
        report.summary.push(format!(
            "body `{}`: {kind}, {} nodes, {} triangles, {} tetrahedra, {:.6} kg",
            body.name,
            body.blocks.len(),
            body.surface.triangles.len(),
            body.tets.len(),
            body.total_mass()
        ));
        let part = format!("body `{}`", body.name);
        if body.is_particles() || body.kind.per_step().is_some() {
            continue;
        }
        if !body.surface.segments.is_empty() {
            report.segments(&part, &surface.positions, &body.surface.segments);
            continue;
        }
        if body.tets.is_empty() {
            report.surface(&part, &surface);
        } else {
            let positions = state.x[body.blocks.clone()].to_vec();
            report.tets(
                &part,
                &TetMesh {
                    positions,
                    tets: body.tets.clone(),
                },
            );
        }
    }
    report.summary.push(format!(
        "scene `{}`: {}, {} dofs, {}, {}, {} of {} s with `{}`",
        scene.plan.name,
        match model.bodies.len() {
            1 => "1 body".to_owned(),
            n => format!("{n} bodies"),
        },
        model.dofs(),
        counted(model.pins.len(), "pinned node"),
        counted(model.attachments.len(), "attachment"),
        counted(scene.plan.time.steps() as usize, "step"),
        scene.plan.time.step,
        scene.plan.method.name()
    ));
    overlap(args, &scene, report)?;
    // Asks the method whether it can run the scene.
    scene.simulation().map_err(Failure::input)?;
    Ok(())
}

/// Number of overlaps listed one by one.
const LISTED: usize = 20;

fn overlap(args: &DoctorArgs, scene: &Scene, report: &mut Report) -> Result<(), Failure> {
    let found = scene.overlaps().map_err(Failure::run)?;
    if found.is_empty() {
        return Ok(());
    }
    let crossing = found.iter().filter(|o| o.overlaps).count();
    for o in found.iter().take(LISTED) {
        let (severity, remedy) = match o.overlaps {
            true => (
                "error",
                "move them apart, or set `contact.overlap = \"resolve\"`",
            ),
            false => (
                "warning",
                "the run moves them apart; `contact.overlap = \"resolve\"` does so before the first step",
            ),
        };
        let part = format!("bodies `{}` and `{}`", o.first.name, o.second.name);
        report.push(&part, severity, o.to_string(), remedy);
    }
    std::fs::create_dir_all(&args.out).map_err(Failure::run)?;
    let path = args.out.join(OVERLAPS);
    write_overlaps(&path, &found).map_err(Failure::run)?;
    report.summary.push(format!(
        "overlap at the start: {crossing} pairs overlap, {} are closer than the contact thickness; all are in {}",
        found.len() - crossing,
        path.display()
    ));
    Ok(())
}

impl Report {
    fn push(&mut self, part: &str, severity: &'static str, message: String, remedy: &str) {
        self.findings.push(Remark {
            part: part.to_owned(),
            severity,
            message,
            remedy: remedy.to_owned(),
        });
    }

    fn findings(&mut self, part: &str, findings: Vec<Finding>) {
        for f in findings {
            let severity = match f.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            self.push(part, severity, f.message, f.remedy);
        }
    }

    fn surface(&mut self, part: &str, mesh: &TriMesh) {
        if let Some(q) = mesh.quality() {
            self.summary.push(format!(
                "{part}: {} vertices, {} triangles, edges {:.4e} to {:.4e} m (mean {:.4e}), least angle {:.1}°",
                mesh.positions.len(),
                mesh.triangles.len(),
                q.edges.min,
                q.edges.max,
                q.edges.mean,
                q.min_angle.to_degrees()
            ));
        }
        self.findings(part, mesh.diagnose());
    }

    fn strands(&mut self, part: &str, strands: &Strands) {
        self.summary.push(format!(
            "{part}: {} strands, {} points",
            strands.len(),
            strands.points.len()
        ));
        if strands.points.is_empty() {
            self.push(part, "error", "there is no strand".to_owned(), "");
        }
        let all = (0..strands.len()).flat_map(|s| {
            let first = strands.starts[s];
            let points = strands.strand(s).len() as u32;
            (1..points).map(move |i| [first + i - 1, first + i])
        });
        let segments: Vec<[u32; 2]> = all.collect();
        self.segments(part, &strands.points, &segments);
    }

    /// Segments of rods: all must have a length.
    fn segments(&mut self, part: &str, points: &[Vec3], segments: &[[u32; 2]]) {
        let lengths: Vec<f64> = segments
            .iter()
            .map(|s| (points[s[1] as usize] - points[s[0] as usize]).norm())
            .collect();
        let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let most = lengths.iter().copied().fold(0.0, f64::max);
        let mean = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        self.summary.push(format!(
            "{part}: {} segments, lengths {least:.4e} to {most:.4e} m (mean {mean:.4e})",
            segments.len()
        ));
        let bad = |l: &f64| !(*l > 0.0 && l.is_finite());
        if let Some(at) = lengths.iter().position(bad) {
            let count = lengths.iter().filter(|l| bad(l)).count();
            let message = format!("{count} segments have no length, among them segment {at}");
            self.push(part, "error", message, "remove repeated points");
        }
    }

    fn tets(&mut self, part: &str, mesh: &TetMesh) {
        if let Some(q) = mesh.quality() {
            self.summary.push(format!(
                "{part}: {} vertices, {} tetrahedra, edges {:.4e} to {:.4e} m (mean {:.4e}), least dihedral angle {:.1}°",
                mesh.positions.len(),
                mesh.tets.len(),
                q.edges.min,
                q.edges.max,
                q.edges.mean,
                q.min_dihedral.to_degrees()
            ));
        }
        self.findings(part, mesh.diagnose());
    }
}
