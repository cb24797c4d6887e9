//! Prescribed motion of pins and obstacles.

use stiction_bodies::{
    motion::{Interpolation, Keyed, Motion, Track, TrackError, Turn},
    schedule::Schedule,
};
use stiction_math::{Vec3, nalgebra::Unit};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, vector, wrong_type},
    read::formula::of_time,
    schema,
    tree::{Node, Value},
};

/// A motion; `may_release` says whether it may end.
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
        motion.translation = Some(displacement(&t)?);
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
        let (axis, angle) = (t.need_direction("axis"), angle(&t));
        let pivot = if t.has("pivot") {
            t.vector("pivot")?
        } else {
            Vec3::zeros()
        };
        motion.turns.push(Turn {
            axis: Unit::new_unchecked(axis?),
            pivot,
            angle: angle?,
        });
    }
    if f.has("release") {
        if !may_release {
            let message =
                format!("{owner} cannot be released: it is always where its motion puts it");
            return f.fail(
                Kind::Value,
                "release",
                message,
                Some("remove `release`; only pins let go".to_owned()),
            );
        }
        motion.release = Some(f.not_negative("release")?);
    }
    Some(motion)
}

/// Keys that tell the ways apart in which a value is prescribed over time.
const KEYS: &str = "times";
const SINE: [&str; 3] = ["amplitude", "frequency", "phase"];
const FORMULA: &str = "formula";

/// Which of the ways is taken; `values` are the keys beside `times`, `uniform` velocity and
/// acceleration.
fn way(f: &Fields<'_>, values: &str, uniform: &[&'static str; 2]) -> Option<&'static str> {
    let ways: [(&'static str, Vec<&str>); 4] = [
        (KEYS, vec![KEYS, values, "interpolation"]),
        (uniform[0], uniform.to_vec()),
        (SINE[0], SINE.to_vec()),
        (FORMULA, vec![FORMULA]),
    ];
    let used = |keys: &[&str]| keys.iter().any(|k| f.has(k));
    let taken: Vec<&(&'static str, Vec<&str>)> = ways.iter().filter(|w| used(&w.1)).collect();
    let all = ways.each_ref().map(|w| format!("`{}`", w.0)).join(", ");
    match taken[..] {
        [(way, _)] => Some(way),
        [] => {
            let message = format!("{} needs one of {all}", f.what);
            f.reporter.fail(Kind::MissingKey, f.place, message, None)
        }
        [_, (_, keys), ..] => {
            let key = keys.iter().find(|k| f.has(k)).copied().unwrap_or(KEYS);
            let message = format!("{} takes only one of {all}", f.what);
            let help = format!("remove `{key}`, or what goes with the other");
            f.fail(Kind::Value, key, message, Some(help))
        }
    }
}

/// A displacement over time [m].
fn displacement(f: &Fields<'_>) -> Option<Schedule<Vec3>> {
    let uniform = ["velocity", "acceleration"];
    let vector = |key: &str| match f.has(key) {
        true => f.vector(key),
        false => Some(Vec3::zeros()),
    };
    match way(f, "values", &uniform)? {
        KEYS => vectors(f).map(Schedule::Keys),
        FORMULA => formulas(f),
        "amplitude" => {
            let (frequency, phase) = wave(f)?;
            Some(Schedule::Sine {
                amplitude: f.need_vector("amplitude")?,
                frequency,
                phase,
            })
        }
        _ => Some(Schedule::Uniform {
            velocity: vector("velocity")?,
            acceleration: vector("acceleration")?,
        }),
    }
}

/// An angle over time, given in degrees [rad].
fn angle(f: &Fields<'_>) -> Option<Schedule<f64>> {
    let uniform = ["angular_velocity", "angular_acceleration"];
    let degrees = |key: &str| match f.has(key) {
        true => f.number(key).map(f64::to_radians),
        false => Some(0.0),
    };
    match way(f, "angles", &uniform)? {
        KEYS => {
            let (times, angles) = (f.number_list("times"), f.number_list("angles"));
            let angles = angles?.into_iter().map(f64::to_radians).collect();
            track(f, times?, angles, "angles").map(Schedule::Keys)
        }
        FORMULA => {
            let what = format!("`{FORMULA}` of {}", f.what);
            Some(Schedule::Formula {
                of: of_time(f.reporter, f.need(FORMULA)?, &what)?,
                scale: 1f64.to_radians(),
            })
        }
        "amplitude" => {
            let (frequency, phase) = wave(f)?;
            Some(Schedule::Sine {
                amplitude: f.need_number("amplitude")?.to_radians(),
                frequency,
                phase,
            })
        }
        _ => Some(Schedule::Uniform {
            velocity: degrees(uniform[0])?,
            acceleration: degrees(uniform[1])?,
        }),
    }
}

/// Frequency [1/s] and phase [rad] of a sine.
fn wave(f: &Fields<'_>) -> Option<(f64, f64)> {
    let frequency = f.need_positive("frequency")?;
    let phase = match f.has("phase") {
        true => f.number("phase")?.to_radians(),
        false => 0.0,
    };
    Some((frequency, phase))
}

/// One formula, or number, per component.
fn formulas(f: &Fields<'_>) -> Option<Schedule<Vec3>> {
    let what = format!("`{FORMULA}` of {}", f.what);
    let node = f.need(FORMULA)?;
    let items = match &node.value {
        Value::Array(items) if items.len() == 3 => items,
        other => {
            let wanted = "a list of three formulas or numbers, one per component";
            return wrong_type(f.reporter, node, &what, wanted, other);
        }
    };
    let all: Option<Vec<_>> = items
        .iter()
        .map(|n| of_time(f.reporter, n, &what))
        .collect();
    let of = <[_; 3]>::try_from(all?).ok()?;
    Some(Schedule::Formula { of, scale: 1.0 })
}

/// A vector that changes over time, such as gravity or a force: keys or formulas.
pub(crate) fn load(f: &Fields<'_>, key: &str) -> Option<Schedule<Vec3>> {
    let what = match f.what.as_str() {
        "the scene" => format!("`{key}`"),
        owner => format!("`{key}` of {owner}"),
    };
    let f = Fields::new(f.reporter, f.get(key)?, what, schema::LOAD)?;
    if f.has(FORMULA) {
        if !f.exactly_one(&[FORMULA, "times", "values", "interpolation"]) {
            return None;
        }
        return formulas(&f);
    }
    vectors(&f).map(Schedule::Keys)
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
