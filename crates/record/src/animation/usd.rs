//! Universal Scene Description as text (`.usda`): meshes, curves and points with time samples.
//!
//! One time code is 1/24 s, the usual frame of film, whatever the frames of the run: a frame at the
//! time t has the code 24 t.
//!
//! Where the mesh of a body changes, all its attributes have time samples. Values of topology hold until
//! the next sample; points of different numbers are not interpolated by readers, and where the number
//! stays the same one more sample holds the old points until just before the change.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::path::Path;

use super::{AnimatedBody, AnimatedShape, Animation, Stretch, normals, polylines};
use crate::{RecordError, atomic};

const CODES_PER_SECOND: f64 = 24.0;

pub(super) fn write(animation: &Animation, path: &Path) -> Result<(), RecordError> {
    atomic::write_with(path, |out| encode(out, animation))
}

fn encode(out: &mut dyn Write, animation: &Animation) -> io::Result<()> {
    let codes: Vec<f64> = animation
        .times
        .iter()
        .map(|t| t * CODES_PER_SECOND)
        .collect();
    let (first, last) = (codes[0], codes[codes.len() - 1]);
    write!(
        out,
        "#usda 1.0\n(\n    defaultPrim = \"run\"\n    metersPerUnit = 1\n    upAxis = \"Z\"\n    \
         startTimeCode = {first}\n    endTimeCode = {last}\n    timeCodesPerSecond = \
         {CODES_PER_SECOND}\n)\n\ndef Xform \"run\"\n{{\n"
    )?;
    let names = identifiers(animation.bodies.iter().map(|b| b.name.as_str()));
    for (body, name) in animation.bodies.iter().zip(&names) {
        prim(out, body, name, &codes)?;
    }
    writeln!(out, "}}")
}

fn prim(out: &mut dyn Write, body: &AnimatedBody, name: &str, codes: &[f64]) -> io::Result<()> {
    let Some(Stretch { shape, .. }) = body.stretches.first() else {
        return Ok(());
    };
    let kind = match shape {
        AnimatedShape::Triangles(_) => "Mesh",
        AnimatedShape::Lines(..) => "BasisCurves",
        AnimatedShape::Balls(_) => "Points",
    };
    let shown = body.name.replace(['\\', '"'], "_");
    let shown = shown.replace(char::is_control, " ");
    writeln!(
        out,
        "    def {kind} \"{name}\" (\n        displayName = \"{shown}\"\n    )\n    {{"
    )?;
    match shape {
        AnimatedShape::Triangles(_) => {
            writeln!(out, "        uniform token subdivisionScheme = \"none\"")?;
        }
        AnimatedShape::Lines(..) => writeln!(out, "        uniform token type = \"linear\"")?,
        AnimatedShape::Balls(_) => {}
    }
    let meshes = meshes(body, codes);
    let mut topology = |name: &str, metadata: &str, value: fn(&AnimatedShape) -> String| {
        let samples = meshes.iter().map(|(code, shape)| (*code, *shape));
        attribute(out, name, metadata, samples, value)
    };
    match shape {
        AnimatedShape::Triangles(_) => {
            topology("int[] faceVertexCounts", "", face_counts)?;
            topology("int[] faceVertexIndices", "", face_indices)?;
            textures(out, body, codes)?;
        }
        AnimatedShape::Lines(..) => {
            topology("int[] curveVertexCounts", "", curve_counts)?;
            let thick = |(_, shape): &(f64, &AnimatedShape)| matches!(shape, AnimatedShape::Lines(_, r) if *r > 0.0);
            if meshes.iter().all(thick) {
                let constant = " (\n            interpolation = \"constant\"\n        )";
                topology("float[] widths", constant, widths)?;
            }
        }
        AnimatedShape::Balls(_) => topology("float[] widths", "", widths)?,
    }
    let samples = samples(body, codes);
    let each = || samples.iter().map(|s| (s.code, s));
    attribute(out, "float3[] extent", "", each(), extent)?;
    attribute(out, "point3f[] points", "", each(), |s| {
        ordered(s.shape, s.points)
    })?;
    if let AnimatedShape::Triangles(_) = shape {
        attribute(out, "normal3f[] normals", VERTEX, each(), |s| {
            match s.shape {
                AnimatedShape::Triangles(t) => triples(normals(t, s.points).iter()),
                _ => triples(std::iter::empty()),
            }
        })?;
    }
    let known = |s: &Sample| s.velocities.len() == s.points.len();
    if body.changes() && samples.iter().all(known) {
        attribute(out, "vector3f[] velocities", "", each(), |s| {
            ordered(s.shape, s.velocities)
        })?;
    }
    writeln!(out, "    }}")
}

/// Metadata of an attribute with one value per point, and per corner of a face.
const VERTEX: &str = " (\n            interpolation = \"vertex\"\n        )";
const CORNER: &str = " (\n            interpolation = \"faceVarying\"\n        )";

/// Texture coordinates of the corners of faces, if all meshes of the body have them.
fn textures(out: &mut dyn Write, body: &AnimatedBody, codes: &[f64]) -> io::Result<()> {
    let pairs = |texture: &[[[f32; 2]; 3]]| {
        let corners = texture.as_flattened().iter();
        list(corners.map(|[u, v]| format!("({u}, {v})")))
    };
    let mut first = 0;
    let mut samples = Vec::new();
    for stretch in &body.stretches {
        samples.push((codes[first], stretch.texture.as_slice()));
        first += stretch.frames.len();
    }
    let empty = |s: &Stretch| matches!(&s.shape, AnimatedShape::Triangles(t) if t.is_empty());
    let known = |s: &Stretch| !s.texture.is_empty() || empty(s);
    match body.stretches.iter().all(known) && !body.stretches.iter().all(empty) {
        true => attribute(
            out,
            "texCoord2f[] primvars:st",
            CORNER,
            samples.into_iter(),
            pairs,
        ),
        false => Ok(()),
    }
}

/// The meshes of a body and the time codes from which they are valid.
fn meshes<'a>(body: &'a AnimatedBody, codes: &[f64]) -> Vec<(f64, &'a AnimatedShape)> {
    let mut first = 0;
    let mut found = Vec::new();
    for stretch in &body.stretches {
        found.push((codes[first], &stretch.shape));
        first += stretch.frames.len();
    }
    found
}

/// A frame of a body.
struct Sample<'a> {
    code: f64,
    shape: &'a AnimatedShape,
    points: &'a [[f32; 3]],
    /// Empty if unknown.
    velocities: &'a [[f32; 3]],
}

/// The frames of a body: one if it rests.
fn samples<'a>(body: &'a AnimatedBody, codes: &[f64]) -> Vec<Sample<'a>> {
    /// Fraction of the time between two frames for which points of the old mesh move to those of the
    /// new one.
    const JUMP: f64 = 1.0 / 1024.0;
    let mut found: Vec<Sample> = Vec::new();
    let count = if body.rests() { 1 } else { codes.len() };
    for (i, (shape, points)) in body.frames().enumerate().take(count) {
        let velocities = body.velocities.get(i).map_or(&[][..], Vec::as_slice);
        if let Some(last) = found.last()
            && !std::ptr::eq(last.shape, shape)
            && last.points.len() == points.len()
        {
            let code = codes[i] - JUMP * (codes[i] - codes[i - 1]);
            found.push(Sample { code, ..*last });
        }
        found.push(Sample {
            code: codes[i],
            shape,
            points,
            velocities,
        });
    }
    found
}

/// An attribute with a value for each sample, or with one value if there is one.
fn attribute<T>(
    out: &mut dyn Write,
    name: &str,
    metadata: &str,
    samples: impl ExactSizeIterator<Item = (f64, T)>,
    value: impl Fn(T) -> String,
) -> io::Result<()> {
    let one = samples.len() == 1;
    if !one {
        if !metadata.is_empty() {
            writeln!(out, "        {name}{metadata}")?;
        }
        writeln!(out, "        {name}.timeSamples = {{")?;
    }
    for (code, sample) in samples {
        let value = value(sample);
        if one {
            return writeln!(out, "        {name} = {value}{metadata}");
        }
        writeln!(out, "            {code}: {value},")?;
    }
    writeln!(out, "        }}")
}

fn face_counts(shape: &AnimatedShape) -> String {
    match shape {
        AnimatedShape::Triangles(triangles) => list(triangles.iter().map(|_| 3)),
        _ => list(std::iter::empty::<u32>()),
    }
}

fn face_indices(shape: &AnimatedShape) -> String {
    match shape {
        AnimatedShape::Triangles(triangles) => list(triangles.iter().flatten()),
        _ => list(std::iter::empty::<u32>()),
    }
}

fn curve_counts(shape: &AnimatedShape) -> String {
    match shape {
        AnimatedShape::Lines(segments, _) => list(polylines(segments).iter().map(Vec::len)),
        _ => list(std::iter::empty::<u32>()),
    }
}

fn widths(shape: &AnimatedShape) -> String {
    match shape {
        AnimatedShape::Lines(_, radius) if *radius > 0.0 => list(std::iter::once(2.0 * radius)),
        AnimatedShape::Balls(radii) => list(radii.iter().map(|r| 2.0 * r)),
        _ => list(std::iter::empty::<f32>()),
    }
}

/// The bounding box of the points and their radii.
fn extent(sample: &Sample) -> String {
    let reach = match sample.shape {
        AnimatedShape::Balls(radii) => radii.iter().fold(0.0f32, |m, r| m.max(*r)),
        AnimatedShape::Lines(_, radius) => *radius,
        AnimatedShape::Triangles(_) => 0.0,
    };
    let [low, high] = AnimatedBody::corners(sample.points);
    triples([low.map(|x| x - reach), high.map(|x| x + reach)].iter())
}

/// Vectors of points in the order in which curves pass through them.
fn ordered(shape: &AnimatedShape, vectors: &[[f32; 3]]) -> String {
    match shape {
        AnimatedShape::Lines(segments, _) => {
            let order = polylines(segments).concat();
            triples(order.iter().map(|i| &vectors[*i as usize]))
        }
        _ => triples(vectors.iter()),
    }
}

fn list(values: impl Iterator<Item = impl Display>) -> String {
    let mut out = String::from("[");
    for (i, value) in values.enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        let _ = write!(out, "{comma}{value}");
    }
    out.push(']');
    out
}

/// Numbers in shortest round-trip form.
fn triples<'a>(points: impl Iterator<Item = &'a [f32; 3]>) -> String {
    let mut out = String::from("[");
    for (i, [x, y, z]) in points.enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        let _ = write!(out, "{comma}({x}, {y}, {z})");
    }
    out.push(']');
    out
}

/// Names that USD accepts: letters, digits and underscores, each once.
fn identifiers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let mut plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        if !plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            plain.insert(0, '_');
        }
        let mut unique = plain.clone();
        let mut count = 1;
        while taken.contains(&unique) {
            count += 1;
            unique = format!("{plain}_{count}");
        }
        taken.push(unique);
    }
    taken
}
