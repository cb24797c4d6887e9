//! From marks to the log calls of Rerun: the only place that draws.

use rerun::{
    Arrows3D, Color, EntityPath, EntityPathPart, LineStrips3D, Mesh3D, Points3D, RecordingStream,
    Scalars, TimeColumn,
};
use stiction_cli::view::{News, ViewMark, What};

use crate::Error;

/// The one timeline [s].
pub const TIME: &str = "time";
/// Above what is plotted.
pub const PLOTS: &str = "plots";

/// Shows what is new.
pub fn show(stream: &RecordingStream, news: News) -> Result<(), Error> {
    match news {
        News::Frame { time, marks } => {
            stream.set_duration_secs(TIME, time);
            marks.into_iter().try_for_each(|mark| draw(stream, mark))
        }
        News::Numbers {
            path,
            times,
            values,
        } => {
            let times = TimeColumn::new_duration_secs(TIME, times);
            let values = Scalars::new(values).columns_of_unit_batches()?;
            stream.send_columns(entity(PLOTS, &path), [times], values)?;
            Ok(())
        }
    }
}

fn draw(stream: &RecordingStream, mark: ViewMark) -> Result<(), Error> {
    let ViewMark { path, what } = mark;
    let place = || entity("", &path);
    match what {
        What::Surface {
            positions,
            triangles,
            normals,
            colour,
        } => {
            if let Some(triangles) = triangles {
                let fixed = Mesh3D::update_fields()
                    .with_triangle_indices(triangles)
                    .with_albedo_factor(rgb(colour).0);
                stream.log(place(), &fixed)?;
            }
            let moving = Mesh3D::update_fields()
                .with_vertex_positions(positions)
                .with_vertex_normals(normals);
            stream.log(place(), &moving)?;
        }
        What::Strands {
            strips,
            radius,
            colour,
        } => {
            let strips = LineStrips3D::new(strips).with_colors([rgb(colour)]);
            // Thin hair would vanish: it is drawn a pixel and a half wide from any distance.
            let radius = match radius {
                Some(radius) => rerun::Radius::new_scene_units(radius),
                None => rerun::Radius::new_ui_points(0.75),
            };
            stream.log(place(), &strips.with_radii([radius]))?;
        }
        What::Balls {
            positions,
            radii,
            colours,
        } => {
            let balls = Points3D::new(positions)
                .with_radii(radii)
                .with_colors(colours.into_iter().map(rgb));
            stream.log(place(), &balls)?;
        }
        What::Arrows {
            origins,
            vectors,
            colours,
        } => {
            let arrows = Arrows3D::from_vectors(vectors)
                .with_origins(origins)
                .with_colors(colours.into_iter().map(rgb));
            stream.log(place(), &arrows)?;
        }
        What::Number(value) => stream.log(entity(PLOTS, &path), &Scalars::new([value]))?,
    }
    Ok(())
}

fn rgb([r, g, b]: [u8; 3]) -> Color {
    Color::from_rgb(r, g, b)
}

/// Names of bodies may hold anything; parts of a path are escaped where they must be.
pub fn entity(above: &str, path: &[String]) -> EntityPath {
    let parts = path.iter().map(|part| EntityPathPart::new(part.clone()));
    let above = (!above.is_empty()).then(|| EntityPathPart::new(above));
    EntityPath::new(above.into_iter().chain(parts).collect())
}
