//! The runs of experiments: scenes with changes, and their recorded quantities.

use std::fmt::Display;

use rayon::prelude::*;
use stiction_record::plot::{Plot, Series};
use stiction_scene::{LoadOptions, ProblemKind, SceneSource, load};
use stiction_sim::{
    Registry, StepReport,
    keys::KeyValue,
    registry::{Accuracy, ContactYielding, FrictionModel},
};

/// The standard acceleration of the scenes [m/s²].
pub const GRAVITY: f64 = 9.81;

/// Speed limit of exact rest [m/s]: a hundredth of the velocity that the solver's
/// tolerance of 1e-10 m allows in a step of 10 ms.
pub const REST: f64 = 1e-8;

/// The stiffness of penalties [N/m], if nothing else is said: it lets the weights of these scenes sink
/// by about a tenth of the contact thickness.
const STIFFNESS: f64 = 1e5;

/// Accuracy of a method's friction at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrictionAccuracy {
    /// Sticking contacts do not move.
    Exact,
    /// Friction is smoothed below this speed [m/s]: what holds creeps.
    Smoothed {
        /// ε [m/s].
        epsilon: f64,
    },
}

impl FrictionAccuracy {
    /// The speed of what is held, when `load` is the part of the greatest friction that it takes:
    /// s(v; ε) = load has the root v = ε (1 − √(1 − load)).
    pub fn creep(self, load: f64) -> f64 {
        match self {
            Self::Exact => 0.0,
            Self::Smoothed { epsilon } => epsilon * (1.0 - (1.0 - load).max(0.0).sqrt()),
        }
    }

    /// Creep with two coefficients: the least v with μ(v) s(v; ε) = `ratio`, by bisection.
    pub fn creep_of_two(self, rest: f64, sliding: f64, ratio: f64) -> f64 {
        let Self::Smoothed { epsilon } = self else {
            return 0.0;
        };
        let (mut low, mut high) = (0.0, epsilon);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            match stribeck(rest, sliding, epsilon, middle) < ratio {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Friction over the normal force at the sliding speed `v` of either sign [m/s].
    pub fn coefficient(self, rest: f64, sliding: f64, v: f64) -> f64 {
        match self {
            Self::Exact => sliding * v.signum(),
            Self::Smoothed { epsilon } => v.signum() * stribeck(rest, sliding, epsilon, v.abs()),
        }
    }
}

/// μ(v) s(v; ε) with v_s = 10 ε, which the method takes by default [larionov, Eqs. 7, 8]. Written
/// anew from the paper: what is judged does not judge itself.
fn stribeck(rest: f64, sliding: f64, epsilon: f64, v: f64) -> f64 {
    let (x, y) = (v / epsilon, v / (10.0 * epsilon));
    let transition = if x < 1.0 { x * (2.0 - x) } else { 1.0 };
    let bell = if y < 1.0 {
        (2.0 * y + 1.0) * (y - 1.0) * (y - 1.0)
    } else {
        0.0
    };
    (sliding + (rest - sliding) * bell) * transition
}

/// A method and how thorough to be.
#[derive(Clone, Copy, Debug)]
pub struct Lab<'a> {
    /// The method's name.
    pub method: &'a str,
    /// Fewer and shorter runs.
    pub quick: bool,
    /// Accuracy of its friction at rest.
    pub friction: FrictionAccuracy,
    /// Response of its contacts to load.
    pub contact: ContactYielding,
}

/// A scene and what is changed in it.
#[derive(Clone, Debug)]
pub struct Experiment {
    scene: &'static str,
    changes: Vec<String>,
    /// None: the method's own defaults.
    accuracy: Option<Accuracy>,
}

const ACCURACY: Accuracy = Accuracy {
    tolerance: 1e-10,
    residual: None,
    stiffness: STIFFNESS,
};

impl Experiment {
    /// The scene as it is.
    pub fn of(scene: &'static str) -> Self {
        Self {
            scene,
            changes: Vec::new(),
            accuracy: Some(ACCURACY),
        }
    }

    /// The scene as it is, with the method as it comes: no key about its accuracy.
    pub fn by_default(scene: &'static str) -> Self {
        Self {
            accuracy: None,
            ..Self::of(scene)
        }
    }

    /// With a key changed.
    pub fn with(mut self, key: &str, value: impl Display) -> Self {
        self.changes.push(format!("{key}={value}"));
        self
    }

    /// With a vector changed.
    pub fn with_vector(self, key: &str, v: [f64; 3]) -> Self {
        self.with(key, format!("[{:?}, {:?}, {:?}]", v[0], v[1], v[2]))
    }

    /// With exact solvers that go on until the certificate is below this [m/s].
    pub fn certified(mut self, residual: f64) -> Self {
        self.accuracy.get_or_insert(ACCURACY).residual = Some(residual);
        self
    }

    /// With another tolerance of exact solvers than 1e-10 m [m].
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.accuracy.get_or_insert(ACCURACY).tolerance = tolerance;
        self
    }

    /// With another stiffness of penalties than 1e5 N/m [N/m].
    pub fn stiffness(mut self, stiffness: f64) -> Self {
        self.accuracy.get_or_insert(ACCURACY).stiffness = stiffness;
        self
    }
}

/// A run and all that was followed in it.
#[derive(Clone, Debug)]
pub struct LabRun {
    /// The command that repeats it.
    pub command: String,
    /// The time step [s].
    pub step: f64,
    times: Vec<f64>,
    probes: Vec<(String, Vec<f64>)>,
    reports: Vec<StepReport>,
}

/// Reason for which there is no run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Trouble {
    /// The method cannot run the scene, and says so.
    #[error("{0}")]
    Unsupported(String),
    /// The run failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The run.
        command: String,
        /// The error.
        why: String,
    },
}

impl<'a> Lab<'a> {
    /// For a method by its name.
    pub fn new(method: &'a str, quick: bool) -> Self {
        let validation = Registry::default().get(method).and_then(|m| m.validation);
        let friction = match validation.map(|v| v.friction) {
            Some(FrictionModel::Smoothed { epsilon }) => FrictionAccuracy::Smoothed { epsilon },
            Some(FrictionModel::Exact) | None => FrictionAccuracy::Exact,
        };
        let contact = validation.map_or(ContactYielding::Constraint, |v| v.contact);
        Self {
            method,
            quick,
            friction,
            contact,
        }
    }

    /// One of two: the quick form or the whole.
    pub fn choose<T>(&self, quick: T, whole: T) -> T {
        if self.quick { quick } else { whole }
    }

    /// Initial penetration below the contact thickness [m] of a body that carries `force` [N] on
    /// each of its
    /// contacts from the start: the force of a penalty of stiffness κ is 3κ d²/δ [larionov, Sect. III-B].
    pub fn sunk(&self, force: f64, thickness: f64) -> f64 {
        match self.friction {
            FrictionAccuracy::Exact => 0.0,
            FrictionAccuracy::Smoothed { .. } => (force * thickness / (3.0 * STIFFNESS)).sqrt(),
        }
    }

    /// Stiffness of the spring of a contact point [N/m], where points bear `mass` [kg] on average; none for other contacts.
    pub fn spring(&self, mass: f64, thickness: f64, step: f64) -> Option<f64> {
        let springs = self.contact == ContactYielding::Springs;
        springs.then(|| 100.0 * mass * (1.0 / (step * step) + 4.0 * GRAVITY / thickness))
    }

    /// Displacement [m] of the centre of a box, at `slenderness` times half its length above the contact, when four springs below its
    /// corners bear the force of `a` [m/s²] on it: by their stretch, and by the turn that the force's moment gives it. Its eight
    /// corners are contact points.
    pub fn yields(&self, a: f64, slenderness: f64, thickness: f64, step: f64) -> f64 {
        let stretch = |k: f64| a / (4.0 * k) * (1.0 + slenderness * slenderness);
        self.spring(1.0 / 8.0, thickness, step).map_or(0.0, stretch)
    }

    /// The time until something that begins without load bears its weight [s]: a penalty does so within the contact
    /// thickness [m], a constraint at once.
    pub fn falls(&self, thickness: f64) -> f64 {
        match self.friction {
            FrictionAccuracy::Exact => 0.0,
            FrictionAccuracy::Smoothed { .. } => (2.0 * thickness / GRAVITY).sqrt(),
        }
    }

    /// The speed of what friction holds on `joints` contacts in series [m/s], and the reason.
    pub fn at_rest(&self, joints: f64) -> (f64, String) {
        match self.friction {
            FrictionAccuracy::Exact => {
                (REST, "exact friction: what sticks does not move".to_owned())
            }
            FrictionAccuracy::Smoothed { epsilon } => (
                1.05 * joints * epsilon,
                format!(
                    "smoothed friction creeps: below ε = {epsilon:e} m/s in each of {joints} joints, and 5 %"
                ),
            ),
        }
    }

    /// Displacement of what friction holds for `time` [s] on `joints` contacts in series [m], and the
    /// reason: the speed of rest all the time.
    pub fn held(&self, joints: f64, time: f64) -> (f64, String) {
        let (speed, why) = self.at_rest(joints);
        (speed * time, why)
    }

    /// Runs an experiment to its end.
    pub fn run(&self, experiment: &Experiment) -> Result<LabRun, Trouble> {
        let mut overrides = experiment.changes.clone();
        overrides.push(method_table(self.method, experiment.accuracy.as_ref()));
        let shown: Vec<String> = overrides.iter().map(|o| format!("--set '{o}'")).collect();
        let command = format!("stiction run {} {}", experiment.scene, shown.join(" "));
        let failed = |why: String| Trouble::Failed {
            command: command.clone(),
            why,
        };
        let options = LoadOptions {
            overrides,
            ..LoadOptions::default()
        };
        let source = SceneSource::Builtin(experiment.scene.to_owned());
        let scene = load(&source, &options).map_err(|error| {
            let refused = error
                .problems()
                .iter()
                .any(|p| p.kind() == ProblemKind::Unsupported);
            match refused {
                true => Trouble::Unsupported(error.plain()),
                false => failed(error.plain()),
            }
        })?;
        let (mut sim, plan) = scene.simulation().map_err(|e| failed(e.to_string()))?;
        let steps = plan.time.steps();
        let names = plan.probes.iter().map(|p| p.name.clone());
        let mut run = LabRun {
            command: command.clone(),
            step: plan.time.step,
            times: Vec::with_capacity(steps as usize + 1),
            probes: names.map(|n| (n, Vec::new())).collect(),
            reports: Vec::new(),
        };
        let touching = plan.probes.iter().any(|p| p.quantity.needs_contacts());
        loop {
            let contacts = match touching && sim.state().step > 0 {
                true => sim.contacts(),
                false => Vec::new(),
            };
            run.times.push(sim.state().time);
            for (probe, (_, values)) in plan.probes.iter().zip(&mut run.probes) {
                let value = probe.quantity.measure(sim.model(), sim.state(), &contacts);
                values.push(value);
            }
            if sim.state().step >= steps {
                break;
            }
            let report = sim.step().map_err(|e| failed(e.to_string()))?;
            run.reports.push(report);
        }
        Ok(run)
    }

    /// Runs several experiments side by side.
    pub fn run_all(&self, experiments: &[Experiment]) -> Result<Vec<LabRun>, Trouble> {
        experiments.par_iter().map(|e| self.run(e)).collect()
    }
}

/// The table `[method]` with which a method reaches an accuracy, or with its defaults, as an override.
fn method_table(method: &str, accuracy: Option<&Accuracy>) -> String {
    let validation = Registry::default().get(method).and_then(|m| m.validation);
    let settings = validation
        .zip(accuracy)
        .map_or_else(Vec::new, |(v, a)| (v.settings)(a));
    let mut table = format!("method={{name=\"{method}\"");
    for (key, value) in settings {
        match value {
            KeyValue::Number(x) => table.push_str(&format!(", {key}={x:e}")),
            other => table.push_str(&format!(", {key}={other}")),
        }
    }
    table.push('}');
    table
}

impl LabRun {
    /// A probe from the start to the end; nothing if there is none of that name, which then equals
    /// nothing either.
    pub fn probe(&self, name: &str) -> &[f64] {
        let found = self.probes.iter().find(|p| p.0 == name);
        found.map_or(&[], |p| &p.1)
    }

    /// The last value of a probe.
    pub fn last(&self, name: &str) -> f64 {
        self.probe(name).last().copied().unwrap_or(f64::NAN)
    }

    /// The first value of a probe.
    pub fn first(&self, name: &str) -> f64 {
        self.probe(name).first().copied().unwrap_or(f64::NAN)
    }

    /// The time of the last step [s].
    pub fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(f64::NAN)
    }

    /// Times and values of a probe between two times, ends included.
    pub fn between(&self, name: &str, from: f64, to: f64) -> Vec<(f64, f64)> {
        let slack = 1e-9 * self.end();
        self.points(name)
            .into_iter()
            .filter(|p| p.0 >= from - slack && p.0 <= to + slack)
            .collect()
    }

    /// The greatest absolute value of a probe between two times; not a number if any is.
    pub fn most(&self, name: &str, from: f64, to: f64) -> f64 {
        let values = self.between(name, from, to);
        let worst = |most: f64, p: &(f64, f64)| match p.1.is_nan() || p.1.abs() > most {
            true => p.1.abs(),
            false => most,
        };
        match values.is_empty() {
            true => f64::NAN,
            false => values.iter().fold(0.0, worst),
        }
    }

    /// Intercept and slope [1/s] of the line through a probe between two times.
    pub fn line(&self, name: &str, from: f64, to: f64) -> (f64, f64) {
        let points = self.between(name, from, to);
        let n = points.len() as f64;
        let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
        let (t, y) = (mean(|p| p.0), mean(|p| p.1));
        let (mut tt, mut ty) = (0.0, 0.0);
        for p in &points {
            tt += (p.0 - t) * (p.0 - t);
            ty += (p.0 - t) * (p.1 - y);
        }
        (y - ty / tt * t, ty / tt)
    }

    /// The greatest of a number of every step's report.
    pub fn worst(&self, of: impl Fn(&StepReport) -> f64) -> f64 {
        self.reports
            .iter()
            .map(of)
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// The greatest value of the steps that end after a time [s].
    pub fn worst_after(&self, from: f64, of: impl Fn(&StepReport) -> f64) -> f64 {
        let ends = self.times.iter().skip(1);
        let late = self.reports.iter().zip(ends).filter(|(_, t)| **t > from);
        late.map(|(r, _)| of(r)).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Times and values of a probe.
    pub fn points(&self, name: &str) -> Vec<(f64, f64)> {
        let times = self.times.iter().copied();
        times.zip(self.probe(name).iter().copied()).collect()
    }

    /// A probe as a curve.
    pub fn curve(&self, name: &str, label: &str) -> Series {
        let points = self.points(name);
        let name = label.to_owned();
        Series { name, points }.thinned(600)
    }
}

/// Curves over time.
pub fn over_time(title: &str, y_label: &str, series: Vec<Series>) -> Plot {
    Plot {
        title: title.to_owned(),
        x_label: "time [s]".to_owned(),
        y_label: y_label.to_owned(),
        series,
        size: (560, 360),
        ..Plot::default()
    }
}

/// A closed form as a curve.
pub fn formula(label: &str, end: f64, f: impl Fn(f64) -> f64) -> Series {
    let times = (0..=200).map(|i| end * f64::from(i) / 200.0);
    Series {
        name: label.to_owned(),
        points: times.map(|t| (t, f(t))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_contact::smooth as law;

    #[test]
    fn creep_is_the_root_of_the_smoothed_law() {
        let friction = FrictionAccuracy::Smoothed { epsilon: 1e-4 };
        for load in [0.1, 0.5, 0.9, 0.9985] {
            let v = friction.creep(load);
            assert!((law::transition(v, 1e-4) / load - 1.0).abs() < 1e-12);
            let one = friction.creep_of_two(0.5, 0.5, 0.5 * load);
            assert!((one / v - 1.0).abs() < 1e-9);
        }
        assert_eq!(FrictionAccuracy::Exact.creep(0.7), 0.0);
        let code = law::SmoothFriction {
            dynamic: 0.3,
            stat: 0.5,
            viscous: 0.0,
            speed: 1e-3,
            epsilon: 1e-4,
        };
        for v in [1e-6, 5e-5, 2e-4, 1e-2] {
            let other = code.coefficient(v) * law::transition(v, 1e-4);
            assert!((stribeck(0.5, 0.3, 1e-4, v) / other - 1.0).abs() < 1e-12);
        }
        assert_eq!(friction.coefficient(0.5, 0.3, -1.0), -0.3);
    }

    #[test]
    fn lines_are_fitted() {
        let run = LabRun {
            command: String::new(),
            step: 0.1,
            times: (0..11).map(|i| f64::from(i) * 0.1).collect(),
            probes: vec![(
                "a".into(),
                (0..11).map(|i| 2.0 - 0.3 * f64::from(i)).collect(),
            )],
            reports: Vec::new(),
        };
        let (start, slope) = run.line("a", 0.2, 1.0);
        assert!((start - 2.0).abs() < 1e-12 && (slope + 3.0).abs() < 1e-12);
        assert!(run.last("b").is_nan() && run.between("a", 0.2, 0.4).len() == 3);
    }
}
