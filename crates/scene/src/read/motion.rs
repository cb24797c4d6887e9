//! Prescribed motion of pins and obstacles, and loads over time.

use stiction_bodies::{
    motion::{Interpolation, Motion, Track, TrackError, Turn},
    schedule::{Schedule, Scheduled},
};
use stiction_math::{Vec3, formula::Formula, nalgebra::Unit};

use crate::{
    format::{Direction, Fields, Read, TableKeys, TreeNode, Value, section, words},
    read::{Context, formula::OfTime},
};

words! { Interpolation: "linear" => Linear, "smooth" => Smooth, "spline" => Spline }

section! { struct MotionKeys "motion" => Motion, motion {
    translate: Option<Schedule<Vec3>> = Table(TranslateKeys::SECTION), Absent, "the displacement [m], in one of the forms below";
    rotate: Vec<Turn> = TableOrTables(TurnKeys::SECTION), Absent, "turns, one after another, each in one of the forms below";
    release: Option<f64> = Number("s", NotNegative), Said("never"), "pins let go after this time; not for obstacles and attachments";
} }

section! { struct TranslateKeys "motion.translate" [OneGroup(&[&["times", "values", "interpolation"], &["velocity", "acceleration"], &["amplitude", "frequency", "phase"], &["formula"]]), Needs("times", &["values"]), Needs("values", &["times"]),
    Needs("interpolation", &["times"]), Needs("amplitude", &["frequency"]), Needs("frequency", &["amplitude"]), Needs("phase", &["amplitude"])] => Schedule<Vec3>, displacement {
    times: Option<Vec<f64>> = List(&Number("s", Any)), Absent, "keys: their times";
    values: Vec<Vec3> = List(&Vector("m")), Absent, "keys: the displacements at these times; before the first and after the last one nothing moves";
    interpolation: Interpolation = Word(Interpolation::WORDS), Chosen("linear"), "between keys: `\"linear\"`, `\"smooth\"` (rests at every key) or `\"spline\"` (through the keys with continuous velocity)";
    velocity: Vec3 = Vector("m/s"), Vec(&[0.0; 3]), "uniform: v in v t + ½ a t²";
    acceleration: Vec3 = Vector("m/s²"), Vec(&[0.0; 3]), "uniform: a";
    amplitude: Option<Vec3> = Vector("m"), Absent, "sine: A in A sin(2π f t + φ)";
    frequency: Option<f64> = Number("1/s", Positive), Absent, "sine: f";
    phase: f64 = Number("°", Any), Num(0.0), "sine: φ";
    formula: Option<Formulas> = Formulas, Absent, "three [formulas](#formulas) in the time `t` or numbers, one per component";
} }

section! { struct TurnKeys "motion.rotate" [OneGroup(&[&["times", "angles", "interpolation"], &["angular_velocity", "angular_acceleration"], &["amplitude", "frequency", "phase"], &["formula"]]), Needs("times", &["angles"]), Needs("angles", &["times"]),
    Needs("interpolation", &["times"]), Needs("amplitude", &["frequency"]), Needs("frequency", &["amplitude"]), Needs("phase", &["amplitude"])] => Turn, turn {
    axis: Direction = Direction, Required, "the axis";
    pivot: Vec3 = Vector("m"), Vec(&[0.0; 3]), "a point of the axis";
    times: Option<Vec<f64>> = List(&Number("s", Any)), Absent, "keys: their times";
    angles: Vec<f64> = List(&Number("°", Any)), Absent, "keys: the angles at these times";
    interpolation: Interpolation = Word(Interpolation::WORDS), Chosen("linear"), "between keys, as above";
    angular_velocity: f64 = Number("°/s", Any), Num(0.0), "uniform: v in v t + ½ a t²";
    angular_acceleration: f64 = Number("°/s²", Any), Num(0.0), "uniform: a";
    amplitude: Option<f64> = Number("°", Any), Absent, "sine: A in A sin(2π f t + φ)";
    frequency: Option<f64> = Number("1/s", Positive), Absent, "sine: f";
    phase: f64 = Number("°", Any), Num(0.0), "sine: φ";
    formula: Option<OfTime> = Formula, Absent, "a [formula](#formulas) in the time `t`, in degrees";
} }

section! { struct LoadKeys "load" [AtMostOne(&["formula", "times"]), AtMostOne(&["formula", "values"]), AtMostOne(&["formula", "interpolation"]), Some(&["formula", "times"], "needs `formula` or `times`"), Needs("times", &["values"]), Needs("values", &["times"])] {
    times: Vec<f64> = List(&Number("s", Any)), Absent, "keys: their times";
    values: Vec<Vec3> = List(&Vector("")), Absent, "keys: the vectors at these times";
    interpolation: Interpolation = Word(Interpolation::WORDS), Chosen("linear"), "between keys, as in a [motion](#motion)";
    formula: Option<Formulas> = Formulas, Absent, "instead: three [formulas](#formulas) in the time `t` or numbers, one per component";
} }

/// A vector that may change over time, such as gravity or a force.
pub(crate) enum OverTime {
    Constant(Vec3),
    Changing(Schedule<Vec3>),
}

/// One formula, or number, per component.
pub(crate) struct Formulas([Formula; 3]);

impl OverTime {
    /// The vector as a schedule.
    pub fn schedule(&self) -> Option<Schedule<Vec3>> {
        match self {
            Self::Changing(schedule) => Some(schedule.clone()),
            Self::Constant(always) => {
                let track = Track::new(vec![0.0], vec![*always], Interpolation::Linear);
                track.ok().map(Schedule::Keys)
            }
        }
    }
}

fn motion(_: &Fields<'_>, k: MotionKeys) -> Option<Motion> {
    Some(Motion {
        translation: k.translate,
        turns: k.rotate,
        release: k.release,
        carrier: None,
    })
}

/// The motion of what is never let go.
pub(crate) fn held(f: &Fields<'_>, motion: Option<Motion>) -> Option<Option<Motion>> {
    if motion.as_ref().is_some_and(|m| m.release.is_some()) {
        let what = &f.what;
        let message = format!("{what} cannot be released: its motion is prescribed at all times");
        let motion = f.get("motion").and_then(TreeNode::table);
        let place = motion
            .and_then(|m| m.get("release"))
            .map_or(f.place, |n| n.place);
        let help = "remove `release`; only pins let go";
        return f.reporter().refuse(place, message, help);
    }
    Some(motion)
}

/// A displacement over time [m].
fn displacement(f: &Fields<'_>, k: TranslateKeys) -> Option<Schedule<Vec3>> {
    match (k.times, k.formula, k.amplitude, k.frequency) {
        (Some(times), ..) => track(f, times, k.values, k.interpolation, "values"),
        (_, Some(Formulas(of)), ..) => Some(Schedule::Formula { of, scale: 1.0 }),
        (_, _, Some(amplitude), Some(frequency)) => Some(Schedule::Sine {
            amplitude,
            frequency,
            phase: k.phase.to_radians(),
        }),
        _ => Some(Schedule::Uniform {
            velocity: k.velocity,
            acceleration: k.acceleration,
        }),
    }
}

/// A turn, whose angle is given in degrees.
fn turn(f: &Fields<'_>, k: TurnKeys) -> Option<Turn> {
    let angle = match (k.times, k.formula, k.amplitude, k.frequency) {
        (Some(times), ..) => {
            let angles = k.angles.into_iter().map(f64::to_radians).collect();
            track(f, times, angles, k.interpolation, "angles")?
        }
        (_, Some(OfTime(of)), ..) => Schedule::Formula {
            of,
            scale: 1f64.to_radians(),
        },
        (_, _, Some(amplitude), Some(frequency)) => Schedule::Sine {
            amplitude: amplitude.to_radians(),
            frequency,
            phase: k.phase.to_radians(),
        },
        _ => Schedule::Uniform {
            velocity: k.angular_velocity.to_radians(),
            acceleration: k.angular_acceleration.to_radians(),
        },
    };
    Some(Turn {
        axis: Unit::new_unchecked(k.axis.0),
        pivot: k.pivot,
        angle,
    })
}

impl Read<Context> for OverTime {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            return Vec3::read(f, key, node).map(Self::Constant);
        }
        let f = f.inside(key, node, LoadKeys::SECTION)?;
        let k = LoadKeys::keys(&f)?;
        Some(Self::Changing(match k.formula {
            Some(Formulas(of)) => Schedule::Formula { of, scale: 1.0 },
            None => track(&f, k.times, k.values, k.interpolation, "values")?,
        }))
    }
}

impl Read<Context> for Formulas {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        let all = Vec::<OfTime>::read(f, key, node)?.into_iter();
        let all: Vec<Formula> = all.map(|of| of.0).collect();
        all.try_into().ok().map(Self)
    }
}

fn track<T: Scheduled>(
    f: &Fields<'_>,
    times: Vec<f64>,
    values: Vec<T>,
    interpolation: Interpolation,
    of: &str,
) -> Option<Schedule<T>> {
    let error = match Track::new(times, values, interpolation) {
        Ok(track) => return Some(Schedule::Keys(track)),
        Err(error) => error,
    };
    let message = format!("{}: {error}", f.what);
    let place = match error {
        TrackError::Order { index, .. } => f.table.items("times").get(index).map(|n| n.place),
        _ => None,
    };
    let place = place.unwrap_or(f.place_of(of));
    f.reporter().refuse(place, message, None)
}
