//! Universal Scene Description as text (`.usda`): meshes, curves and points with time samples.
//!
//! One time code is 1/24 s, the usual frame of film, whatever the frames of the run: a frame at the
//! time t has the code 24 t.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use super::{Animation, Moving, Shape};
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

fn prim(out: &mut dyn Write, body: &Moving, name: &str, codes: &[f64]) -> io::Result<()> {
    let kind = match body.shape {
        Shape::Triangles(_) => "Mesh",
        Shape::Lines(..) => "BasisCurves",
        Shape::Balls(_) => "Points",
    };
    let shown = body.name.replace(['\\', '"'], "_");
    let shown = shown.replace(char::is_control, " ");
    writeln!(
        out,
        "    def {kind} \"{name}\" (\n        displayName = \"{shown}\"\n    )\n    {{"
    )?;
    let order = match &body.shape {
        Shape::Triangles(triangles) => {
            writeln!(out, "        uniform token subdivisionScheme = \"none\"")?;
            list(out, "int[] faceVertexCounts", triangles.iter().map(|_| 3))?;
            list(out, "int[] faceVertexIndices", triangles.iter().flatten())?;
            None
        }
        Shape::Lines(segments, radius) => {
            let curves = chains(segments);
            writeln!(out, "        uniform token type = \"linear\"")?;
            list(out, "int[] curveVertexCounts", curves.iter().map(Vec::len))?;
            if *radius > 0.0 {
                let width = 2.0 * radius;
                writeln!(
                    out,
                    "        float[] widths = [{width}] (\n            interpolation = \"constant\"\n        )"
                )?;
            }
            Some(curves.concat())
        }
        Shape::Balls(radii) => {
            list(out, "float[] widths", radii.iter().map(|r| 2.0 * r))?;
            None
        }
    };
    let rests = body.rests();
    let samples = body.frames.iter().zip(codes);
    let samples: Vec<_> = samples.take(if rests { 1 } else { codes.len() }).collect();
    let reach = match &body.shape {
        Shape::Balls(radii) => radii.iter().fold(0.0f32, |m, r| m.max(*r)),
        Shape::Lines(_, radius) => *radius,
        Shape::Triangles(_) => 0.0,
    };
    let extent = |out: &mut dyn Write, points: &[[f32; 3]]| {
        let [low, high] = Moving::corners(points);
        triples(
            out,
            [low.map(|x| x - reach), high.map(|x| x + reach)].iter(),
        )
    };
    let points = |out: &mut dyn Write, points: &[[f32; 3]]| match &order {
        None => triples(out, points.iter()),
        Some(order) => triples(out, order.iter().map(|i| &points[*i as usize])),
    };
    sampled(out, "float3[] extent", &samples, rests, extent)?;
    sampled(out, "point3f[] points", &samples, rests, points)?;
    writeln!(out, "    }}")
}

/// An attribute that has a value for each frame, or one for all.
fn sampled(
    out: &mut dyn Write,
    name: &str,
    samples: &[(&Vec<[f32; 3]>, &f64)],
    rests: bool,
    value: impl Fn(&mut dyn Write, &[[f32; 3]]) -> io::Result<()>,
) -> io::Result<()> {
    if let (true, [(points, _), ..]) = (rests, samples) {
        write!(out, "        {name} = ")?;
        value(out, points)?;
        return writeln!(out);
    }
    writeln!(out, "        {name}.timeSamples = {{")?;
    for (points, code) in samples {
        write!(out, "            {code}: ")?;
        value(out, points)?;
        writeln!(out, ",")?;
    }
    writeln!(out, "        }}")
}

fn list(
    out: &mut dyn Write,
    name: &str,
    values: impl Iterator<Item = impl Display>,
) -> io::Result<()> {
    write!(out, "        {name} = [")?;
    for (i, value) in values.enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(out, "{comma}{value}")?;
    }
    writeln!(out, "]")
}

/// Numbers in the shortest form that gives back the same ones.
fn triples<'a>(out: &mut dyn Write, points: impl Iterator<Item = &'a [f32; 3]>) -> io::Result<()> {
    write!(out, "[")?;
    for (i, [x, y, z]) in points.enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(out, "{comma}({x}, {y}, {z})")?;
    }
    write!(out, "]")
}

/// Segments as polylines: a segment that starts where the one before ends goes on with it.
fn chains(segments: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut curves: Vec<Vec<u32>> = Vec::new();
    for [a, b] in segments {
        match curves.last_mut().filter(|c| c.last() == Some(a)) {
            Some(curve) => curve.push(*b),
            None => curves.push(vec![*a, *b]),
        }
    }
    curves
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
