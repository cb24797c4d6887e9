//! Prescribed motion of pins and obstacles.

use stiction_bodies::motion::{Interpolation, Keyed, Motion, Track, TrackError, Turn};
use stiction_math::{Vec3, nalgebra::Unit};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, vector},
    schema,
    tree::{Node, Value},
};

pub(crate) fn motion(
    reporter: &Reporter,
    node: &Node,
    owner: &str,
    may_release: bool,
) -> Option<Motion> {
    let f = Fields::new(
        reporter,
        node,
        format!("`motion` of {owner}"),
        schema::MOTION,
    )?;
    let mut motion = Motion::default();
    if let Some(node) = f.get("translate") {
        let t = Fields::new(
            reporter,
            node,
            format!("`translate` in the motion of {owner}"),
            schema::TRANSLATE,
        )?;
        motion.translation = Some(vectors(&t)?);
    }
    let turns: &[Node] = match f.get("rotate") {
        None => &[],
        Some(Node {
            value: Value::Array(items),
            ..
        }) => items,
        Some(node) => std::slice::from_ref(node),
    };
    for node in turns {
        let t = Fields::new(
            reporter,
            node,
            format!("`rotate` in the motion of {owner}"),
            schema::TURN,
        )?;
        let (axis, times, angles) = (
            t.need_direction("axis"),
            t.number_list("times"),
            t.number_list("angles"),
        );
        let pivot = if t.has("pivot") {
            t.vector("pivot")?
        } else {
            Vec3::zeros()
        };
        let angles = angles?.into_iter().map(f64::to_radians).collect();
        motion.turns.push(Turn {
            axis: Unit::new_unchecked(axis?),
            pivot,
            angle: track(&t, times?, angles, "angles")?,
        });
    }
    if f.has("release") {
        if !may_release {
            let message = format!(
                "{owner} cannot be released: an obstacle is always where its motion puts it"
            );
            return f.fail(
                Kind::Value,
                "release",
                message,
                Some("remove `release`".to_owned()),
            );
        }
        motion.release = Some(f.not_negative("release")?);
    }
    Some(motion)
}

/// Gravity that changes over time.
pub(crate) fn gravity(f: &Fields<'_>) -> Option<Track<Vec3>> {
    let f = Fields::new(
        f.reporter,
        f.get("gravity")?,
        "`gravity`".to_owned(),
        schema::GRAVITY,
    )?;
    vectors(&f)
}

/// The vectors `values` at `times`.
fn vectors(f: &Fields<'_>) -> Option<Track<Vec3>> {
    let times = f.number_list("times");
    let what = format!("`values` of {}", f.what);
    let values = f
        .need("values")
        .and_then(|n| list(f.reporter, n, &what, None))?;
    let values: Option<Vec<Vec3>> = values
        .iter()
        .map(|n| vector(f.reporter, n, &what))
        .collect();
    track(f, times?, values?, "values")
}

fn track<T: Keyed>(f: &Fields<'_>, times: Vec<f64>, values: Vec<T>, of: &str) -> Option<Track<T>> {
    let kinds = [
        ("linear", Interpolation::Linear),
        ("smooth", Interpolation::Smooth),
        ("spline", Interpolation::Spline),
    ];
    let interpolation = f.choice("interpolation", &kinds).unwrap_or_default();
    let error = match Track::new(times, values, interpolation) {
        Ok(track) => return Some(track),
        Err(error) => error,
    };
    let message = format!("{}: {error}", f.what);
    match error {
        TrackError::Order { index, .. } => {
            let key = match f.get("times").map(|n| &n.value) {
                Some(Value::Array(items)) => items.get(index),
                _ => None,
            };
            let place = key.map_or_else(|| f.place_of("times"), |n| n.place);
            f.reporter.fail(Kind::Value, place, message, None)
        }
        TrackError::Empty | TrackError::Count { .. } => f.fail(Kind::Value, of, message, None),
    }
}
