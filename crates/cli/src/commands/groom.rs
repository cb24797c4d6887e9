//! `stiction groom`: hair on a ball or on a mesh, as a strand file that scenes name like a mesh.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, ValueEnum};
use stiction_geometry::shapes::{Groom, Scalp};
use stiction_scene::mesh_files::{self, MeshLimits, strands};

use super::{Failure, bad};

#[derive(Debug, Args)]
pub struct GroomArgs {
    /// The strand file to write.
    out: PathBuf,
    /// Surface of the hair: `sphere`, `half-sphere` (z > 0), or a file with a surface.
    #[arg(long, default_value = "sphere", value_name = "SCALP")]
    on: String,
    /// Radius of the sphere [m].
    #[arg(long, default_value_t = 0.1)]
    radius: f64,
    /// Number of strands.
    #[arg(long, default_value_t = 1000)]
    count: u32,
    /// Length of each [m].
    #[arg(long, default_value_t = 0.1)]
    length: f64,
    /// Segments of each.
    #[arg(long, default_value_t = 30)]
    segments: u32,
    /// Waves: the steepest slope against the normal, from 0 to 1.
    #[arg(long, default_value_t = 0.0)]
    frizz: f64,
    /// Radius of curls and rise of a turn [m].
    #[arg(long, value_delimiter = ',', num_args = 1, value_name = "RADIUS,PITCH")]
    curl: Vec<f64>,
    /// Into how many clumps tips are gathered; none by default.
    #[arg(long, default_value_t = 0)]
    clumps: u32,
    /// Displacement of tips towards that of their clump, from 0 to 1.
    #[arg(long, default_value_t = 0.5)]
    clumping: f64,
    /// Least distance between the centrelines of strands [m].
    #[arg(long, default_value_t = 0.0)]
    apart: f64,
    /// Chooses waves, turns and places.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Format of the file.
    #[arg(long, value_enum, default_value_t = Form::Double)]
    form: Form,
}

/// The forms of strand files.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// Text, for people.
    Text,
    /// Bytes, exact.
    Double,
    /// Bytes, half as many, seven digits.
    Single,
}

pub fn main(args: GroomArgs) -> Result<ExitCode, Failure> {
    let radius = args.radius;
    let scalp = match args.on.as_str() {
        "sphere" => Scalp::Sphere { radius },
        "half-sphere" => Scalp::HalfSphere { radius },
        file => {
            let mesh = mesh_files::load(file.as_ref(), &MeshLimits::default());
            let mesh = mesh.map_err(Failure::input)?;
            let tets = || mesh.tets.as_ref().map(|tets| tets.surface().0);
            let surface = mesh.compact_surface().map(|(surface, _)| surface);
            let surface = surface.or_else(tets);
            Scalp::Mesh(surface.ok_or_else(|| bad(&format!("{file} holds no surface")))?)
        }
    };
    let mut groom = Groom {
        frizz: args.frizz,
        clumps: args.clumps,
        clumping: args.clumping,
        apart: args.apart,
        seed: args.seed,
        ..Groom::straight(scalp, args.count, args.length, args.segments)
    };
    match args.curl[..] {
        [] => {}
        [radius, pitch] => (groom.curl_radius, groom.curl_pitch) = (radius, pitch),
        _ => return Err(bad("--curl takes RADIUS,PITCH in metres")),
    }
    let made = groom.build().map_err(|e| bad(&e.to_string()))?;
    let form = match args.form {
        Form::Text => strands::StrandFormat::Text,
        Form::Double => strands::StrandFormat::Double,
        Form::Single => strands::StrandFormat::Single,
    };
    // Numbers may overflow while strands grow, and in the form of half as many bytes.
    let fits = |x: &f64| match args.form {
        Form::Single => (*x as f32).is_finite(),
        _ => x.is_finite(),
    };
    if let Some(at) = made.points.iter().position(|p| !p.iter().all(fits)) {
        return Err(bad(&format!(
            "point {at} of the strands is not finite: lengths and radii are too large"
        )));
    }
    strands::save(&args.out, &made, form).map_err(Failure::run)?;
    println!(
        "{} strands of {} points in {}",
        made.len(),
        args.segments + 1,
        args.out.display()
    );
    Ok(ExitCode::SUCCESS)
}
