//! Formulas over the whole run: a motion or load that stops being finite is refused before it starts.

use stiction_bodies::{
    motion::Motion,
    schedule::{Schedule, Scheduled},
};
use stiction_math::Vec3;

use crate::{
    format::{At, NOWHERE, ProblemKind, Reporter, SourceSpan},
    read::{Document, motion::OverTime},
};

/// Most times at which a formula is tried; longer runs are sampled evenly.
const MOST_TIMES: u64 = 100_000;

/// Reports motions and loads that are not finite at the end of a step.
pub(super) fn check(reporter: &Reporter, document: &Document) {
    let root = &document.root;
    let steps = root.time.steps();
    let stride = steps.div_ceil(MOST_TIMES).max(1);
    let step = root.time.step;
    let of = Run {
        reporter,
        times: (0..=steps / stride).map(|k| (k * stride) as f64 * step),
    };
    if let Some(OverTime::Changing(gravity)) = &root.gravity {
        of.vector(gravity, "gravity", NOWHERE);
    }
    for At { value: pin, place } in &root.pins {
        of.motion(pin.motion.as_ref(), "the motion of a pin", *place);
    }
    for obstacle in &root.obstacles {
        let what = format!("the motion of obstacle `{}`", obstacle.name.value);
        of.motion(obstacle.motion.as_ref(), &what, obstacle.name.place);
    }
    for end in root.attachments.iter().flat_map(|s| [&s.a, &s.b]) {
        let motion = end.value.motion.as_ref();
        of.motion(motion, "the motion of an attachment", end.place);
    }
    for body in &root.bodies {
        let Some(load) = &body.spec.load else {
            continue;
        };
        let loads = [
            (&load.acceleration, "acceleration"),
            (&load.force, "force"),
            (&load.torque, "torque"),
        ];
        for (schedule, key) in loads {
            if let Some(schedule) = schedule {
                let what = format!("`{key}` of body `{}`", body.name.value);
                of.vector(schedule, &what, body.name.place);
            }
        }
    }
}

/// The times at which a run needs its formulas.
struct Run<'a, T> {
    reporter: &'a Reporter,
    times: T,
}

impl<T: Iterator<Item = f64> + Clone> Run<'_, T> {
    fn motion(&self, motion: Option<&Motion>, what: &str, place: SourceSpan) {
        let Some(motion) = motion else { return };
        let end = motion.release.unwrap_or(f64::INFINITY);
        for turn in &motion.turns {
            self.all(&turn.angle, |x| x.is_finite(), end, what, place);
        }
        if let Some(translation) = &motion.translation {
            self.all(translation, is_finite, end, what, place);
        }
    }

    fn vector(&self, schedule: &Schedule<Vec3>, what: &str, place: SourceSpan) {
        self.all(schedule, is_finite, f64::INFINITY, what, place);
    }

    fn all<V: Scheduled>(
        &self,
        schedule: &Schedule<V>,
        finite: impl Fn(&V) -> bool,
        end: f64,
        what: &str,
        place: SourceSpan,
    ) {
        if !matches!(schedule, Schedule::Formula { .. }) {
            return;
        }
        let mut times = self.times.clone().take_while(|t| *t <= end);
        let bad = times.find(|t| !finite(&schedule.at(*t)));
        if let Some(t) = bad {
            let message = format!("{what} is not finite at t = {t} s");
            let help = "keep the formula finite for the whole run, for example with min and max";
            self.reporter
                .fail::<()>(ProblemKind::Value, place, message, help);
        }
    }
}

fn is_finite(v: &Vec3) -> bool {
    v.iter().all(|x| x.is_finite())
}
