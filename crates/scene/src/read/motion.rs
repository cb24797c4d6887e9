//! Prescribed motion of pins and obstacles, and loads over time.

use stiction_bodies::{
    motion::{Interpolation, Motion, Track, TrackError, Turn},
    schedule::{Schedule, Scheduled},
};
use stiction_math::{Vec3, nalgebra::Unit};

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section, words, wrong_type},
    read::formula::of_time,
    tree::{Node, Value},
};

words! { INTERPOLATION: Interpolation = "linear" => Interpolation::Linear, "smooth" => Interpolation::Smooth, "spline" => Interpolation::Spline }

section! { pub(crate) MOTION "motion";
    "translate": Table(&TRANSLATE), Absent, "the displacement [m], in one of the forms below";
    "rotate": TableOrTables(&TURN), Absent, "turns, one after another, each in one of the forms below";
    "release": Number("s", NotNegative), Said("never"), "pins let go after this time; not for obstacles and attachments";
}

section! { pub(crate) TRANSLATE "motion.translate" [OneGroup(&[&["times", "values", "interpolation"], &["velocity", "acceleration"], &["amplitude", "frequency", "phase"], &["formula"]]), Needs("times", &["values"]), Needs("values", &["times"]), Needs("amplitude", &["frequency"]), Needs("frequency", &["amplitude"])];
    "times": List(&Number("s", Any)), Absent, "keys: their times";
    "values": List(&Vector("m")), Absent, "keys: the displacements at these times; before the first and after the last one nothing moves";
    "interpolation": Word(INTERPOLATION.words), Chosen("linear"), "between keys: `\"linear\"`, `\"smooth\"` (rests at every key) or `\"spline\"` (through the keys with continuous velocity)";
    "velocity": Vector("m/s"), Vec(&[0.0; 3]), "uniform: v in v t + ½ a t²";
    "acceleration": Vector("m/s²"), Vec(&[0.0; 3]), "uniform: a";
    "amplitude": Vector("m"), Absent, "sine: A in A sin(2π f t + φ)";
    "frequency": Number("1/s", Positive), Absent, "sine: f";
    "phase": Number("°", Any), Num(0.0), "sine: φ";
    "formula": List(&Formula), Absent, "three [formulas](#formulas) in the time `t` or numbers, one per component";
}

section! { pub(crate) TURN "motion.rotate" [OneGroup(&[&["times", "angles", "interpolation"], &["angular_velocity", "angular_acceleration"], &["amplitude", "frequency", "phase"], &["formula"]]), Needs("times", &["angles"]), Needs("angles", &["times"]), Needs("amplitude", &["frequency"]), Needs("frequency", &["amplitude"])];
    "axis": Direction, Required, "the axis";
    "pivot": Vector("m"), Vec(&[0.0; 3]), "a point of the axis";
    "times": List(&Number("s", Any)), Absent, "keys: their times";
    "angles": List(&Number("°", Any)), Absent, "keys: the angles at these times";
    "interpolation": Word(INTERPOLATION.words), Chosen("linear"), "between keys, as above";
    "angular_velocity": Number("°/s", Any), Num(0.0), "uniform: v in v t + ½ a t²";
    "angular_acceleration": Number("°/s²", Any), Num(0.0), "uniform: a";
    "amplitude": Number("°", Any), Absent, "sine: A in A sin(2π f t + φ)";
    "frequency": Number("1/s", Positive), Absent, "sine: f";
    "phase": Number("°", Any), Num(0.0), "sine: φ";
    "formula": Formula, Absent, "a [formula](#formulas) in the time `t`, in degrees";
}

section! { /// A vector over time: gravity and loads.
    pub(crate) LOAD "load" [AtMostOne(&["formula", "times"]), AtMostOne(&["formula", "values"]), AtMostOne(&["formula", "interpolation"]), Some(&["formula", "times"]), Needs("times", &["values"]), Needs("values", &["times"])];
    "times": List(&Number("s", Any)), Absent, "keys: their times";
    "values": List(&Vector("")), Absent, "keys: the vectors at these times";
    "interpolation": Word(INTERPOLATION.words), Chosen("linear"), "between keys, as in a [motion](#motion)";
    "formula": List(&Formula), Absent, "instead: three [formulas](#formulas) in the time `t` or numbers, one per component";
}

/// A motion; `may_release` says whether it may end.
pub(crate) fn motion(
    reporter: &Reporter,
    node: &Node,
    owner: &str,
    may_release: bool,
) -> Option<Motion> {
    let f = Fields::new(reporter, node, format!("`motion` of {owner}"), &MOTION)?;
    let mut motion = Motion::default();
    if let Some(node) = f.get("translate") {
        let what = format!("`translate` in the motion of {owner}");
        motion.translation = Some(displacement(&Fields::new(
            reporter, node, what, &TRANSLATE,
        )?)?);
    }
    for node in f.one_or_more("rotate") {
        let what = format!("`rotate` in the motion of {owner}");
        let t = Fields::new(reporter, node, what, &TURN)?;
        let (axis, angle) = (t.direction("axis"), angle(&t));
        motion.turns.push(Turn {
            axis: Unit::new_unchecked(axis?),
            pivot: t.take("pivot")?,
            angle: angle?,
        });
    }
    motion.release = f.take("release")?;
    if f.has("release") && !may_release {
        let message = format!("{owner} cannot be released: its motion is prescribed at all times");
        return f.refuse("release", message, "remove `release`; only pins let go");
    }
    Some(motion)
}

/// Selects the form in which a value is prescribed over time; `groups` are the keys of each.
fn form(f: &Fields<'_>, groups: [&[&'static str]; 4]) -> Option<&'static str> {
    let taken: Vec<&[&'static str]> = groups
        .into_iter()
        .filter(|keys| keys.iter().any(|k| f.has(k)))
        .collect();
    let all = groups.map(|keys| format!("`{}`", keys[0])).join(", ");
    match taken[..] {
        [keys] => Some(keys[0]),
        [] => {
            let message = format!("{} needs one of {all}", f.what);
            f.reporter
                .fail(ProblemKind::MissingKey, f.place, message, None)
        }
        [_, keys, ..] => {
            let key = keys.iter().find(|k| f.has(k)).copied().unwrap_or(keys[0]);
            let message = format!("{} takes only one of {all}", f.what);
            let help = format!("remove `{key}`, or what goes with the other");
            f.refuse(key, message, &help)
        }
    }
}

const SINE: &[&str] = &["amplitude", "frequency", "phase"];
const FORMULA: &[&str] = &["formula"];

/// A displacement over time [m].
fn displacement(f: &Fields<'_>) -> Option<Schedule<Vec3>> {
    let keys = &["times", "values", "interpolation"];
    match form(f, [keys, &["velocity", "acceleration"], SINE, FORMULA])? {
        "times" => vectors(f),
        "formula" => formulas(f),
        "amplitude" => sine(f, f.need("amplitude")?),
        _ => Some(Schedule::Uniform {
            velocity: f.take("velocity")?,
            acceleration: f.take("acceleration")?,
        }),
    }
}

/// An angle over time, given in degrees [rad].
fn angle(f: &Fields<'_>) -> Option<Schedule<f64>> {
    let keys = &["times", "angles", "interpolation"];
    let uniform = &["angular_velocity", "angular_acceleration"];
    match form(f, [keys, uniform, SINE, FORMULA])? {
        "times" => {
            let (times, angles) = (f.need("times"), f.need::<Vec<f64>>("angles"));
            let angles = angles?.into_iter().map(f64::to_radians).collect();
            track(f, times?, angles, "angles")
        }
        "formula" => Some(Schedule::Formula {
            of: of_time(f.reporter, f.get("formula")?, &f.label("formula"))?,
            scale: 1f64.to_radians(),
        }),
        "amplitude" => sine(f, f.need::<f64>("amplitude")?.to_radians()),
        _ => Some(Schedule::Uniform {
            velocity: f.take::<f64>(uniform[0])?.to_radians(),
            acceleration: f.take::<f64>(uniform[1])?.to_radians(),
        }),
    }
}

fn sine<T: Scheduled>(f: &Fields<'_>, amplitude: T) -> Option<Schedule<T>> {
    Some(Schedule::Sine {
        amplitude,
        frequency: f.need("frequency")?,
        phase: f.take::<f64>("phase")?.to_radians(),
    })
}

/// One formula, or number, per component.
fn formulas(f: &Fields<'_>) -> Option<Schedule<Vec3>> {
    let (node, what) = (f.get("formula")?, f.label("formula"));
    let items = match &node.value {
        Value::Array(items) if items.len() == 3 => items,
        _ => {
            let wanted = "a list of three formulas or numbers, one per component";
            return wrong_type(f.reporter, node, &what, wanted);
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
        _ => f.label(key),
    };
    let f = Fields::new(f.reporter, f.get(key)?, what, &LOAD)?;
    match f.has("formula") {
        true => formulas(&f),
        false => vectors(&f),
    }
}

/// The vectors `values` at `times`.
fn vectors(f: &Fields<'_>) -> Option<Schedule<Vec3>> {
    let (times, values) = (f.need("times"), f.need("values"));
    track(f, times?, values?, "values")
}

fn track<T: Scheduled>(
    f: &Fields<'_>,
    times: Vec<f64>,
    values: Vec<T>,
    of: &str,
) -> Option<Schedule<T>> {
    let interpolation = f.choice("interpolation", &INTERPOLATION)?;
    let error = match Track::new(times, values, interpolation) {
        Ok(track) => return Some(Schedule::Keys(track)),
        Err(error) => error,
    };
    let message = format!("{}: {error}", f.what);
    match (error, f.get("times").map(|n| &n.value)) {
        (TrackError::Order { index, .. }, Some(Value::Array(items))) if index < items.len() => f
            .reporter
            .fail(ProblemKind::Value, items[index].place, message, None),
        _ => f.refuse(of, message, ""),
    }
}
