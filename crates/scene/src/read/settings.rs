//! `[time]`, `[method]`, `[air]`, `[contact]`, `[output]`.

use std::collections::BTreeSet;

use stiction_bodies::drag::{Air, Gust};
use stiction_math::Vec3;
use stiction_sim::{
    MethodConfig, Registry,
    keys::{KeyRange as MethodRange, KeySource},
};

use crate::{
    format::{At, Fields, ProblemKind, Range, Type, section, words},
    settings::{FailsafePolicy, OutputFrames, OutputSettings, OverlapPolicy, TimeSettings},
};

/// Nobody waits for so many steps.
const MOST_STEPS: f64 = 1e10;

section! { struct TimeKeys "time" [AtMostOne(&["frames_per_second", "frame_every"])] => TimeSettings, time {
    step: f64 = Number("s", Positive), Required, "the time step";
    duration: f64 = Number("s", Positive), Required, "how long the run lasts; rounded up to whole steps";
    frames_per_second: Option<f64> = Number("1/s", Positive), Said("25"), "frames are written at the first step that reaches their time, at most one per step";
    frame_every: Option<u64> = Count(1), Absent, "instead: a frame every so many steps";
} }

section! { struct AirKeys "air" [Needs("gust", &["period"]), Needs("period", &["gust"])] => Air, air {
    density: f64 = Number("kg/m³", NotNegative), Num(1.2), "of the air";
    wind: Vec3 = Vector("m/s"), Vec(&[0.0; 3]), "the mean velocity of the air";
    gust: Option<Vec3> = Vector("m/s"), Absent, "how far the wind swells and falls, as a sine of time; gusts travel with the wind. Not every [method](#method) supports them";
    period: Option<f64> = Number("s", Positive), Said("required with `gust`"), "from one gust to the next";
} }

words! { FailsafePolicy: "none" => None, "contours" => Contours, "impact-zones" => ImpactZones }

words! { OverlapPolicy: "refuse" => Refuse, "resolve" => Resolve, "ignore" => Ignore }

section! { struct ContactKeys "contact" {
    enabled: Option<bool> = Flag, Said("see above"), "whether bodies collide";
    thickness: f64 = Number("m", Positive), Num(1e-3), "how near surfaces come before they count as touching";
    overlap: OverlapPolicy = Word(OverlapPolicy::WORDS), Chosen("refuse"), "bodies that overlap at the start: `\"refuse\"` the scene, naming bodies and triangles; `\"resolve\"`: move them apart; or `\"ignore\"` it";
    failsafe: FailsafePolicy = Word(FailsafePolicy::WORDS), Chosen("none"), "what happens to surfaces that cross at the end of a step: `\"none\"`: methods refuse such a step and divide it, unless they have `safe = false`; `\"contours\"`: crossings are counted after every step and moved apart by intersection contour minimisation [volino2006], also where the smallest substep would be refused; `\"impact-zones\"`: where that leaves crossings, the motion of the step is projected to one without passes [harmon2008]";
} }

section! { struct OutputKeys "output" => OutputSettings, output {
    formats: Option<Vec<String>> = List(&Word(&OutputSettings::FORMATS)), Said("`[\"vtu\"]`"), "formats of frames: `\"vtu\"`, `\"obj\"`, `\"ply\"`; `\"usd\"` and `\"gltf\"` add a file of the whole run, made from its vtu frames";
    contacts: bool = Flag, Bool(false), "write `contacts.csv` and `pairs.csv`: every contact of every step, and sums per pair";
    checkpoint_every: Option<u64> = Count(1), Absent, "a checkpoint every so many frames";
} }

fn time(f: &Fields<'_>, k: TimeKeys) -> Option<TimeSettings> {
    let (step, duration) = (k.step, k.duration);
    let frames = match (k.frames_per_second, k.frame_every) {
        (Some(rate), _) => OutputFrames::PerSecond(rate),
        (None, Some(steps)) => OutputFrames::EverySteps(steps),
        // Divides the common steps of 1, 2, 5 and 10 ms evenly.
        (None, None) => OutputFrames::PerSecond(25.0),
    };
    let steps = duration / step;
    if steps > MOST_STEPS {
        let message = format!("{duration} s in steps of {step} s are {steps:.1e} steps");
        let help = "use a larger step or a shorter duration";
        return f.fail(ProblemKind::TooLarge, "duration", message, help);
    }
    Some(TimeSettings {
        step,
        duration,
        frames,
    })
}

fn air(_: &Fields<'_>, k: AirKeys) -> Option<Air> {
    let gust = k.gust.zip(k.period);
    Some(Air {
        density: k.density,
        wind: k.wind,
        gust: gust.map(|(swing, period)| Gust { swing, period }),
    })
}

fn output(_: &Fields<'_>, k: OutputKeys) -> Option<OutputSettings> {
    let mut settings = OutputSettings {
        contacts: k.contacts,
        checkpoint_every: k.checkpoint_every,
        ..OutputSettings::default()
    };
    if let Some(mut formats) = k.formats {
        let mut seen = BTreeSet::new();
        formats.retain(|format| seen.insert(format.clone()));
        settings.formats = formats;
    }
    Some(settings)
}

/// The method, from `[method]` or from the command line. A method named on the command line keeps
/// the parameters of the scene only if it is the scene's own.
pub(crate) fn method(
    root: &Fields<'_>,
    chosen: Option<At<&str>>,
    methods: &Registry,
    contact: bool,
) -> Option<At<Box<dyn MethodConfig>>> {
    let f = match root.get("method") {
        Some(node) => Some(root.open(node, "[method]".to_owned())?),
        None => None,
    };
    if let Some(f) = &f {
        f.checked::<String>("name", Type::Text);
    }
    let given = f.as_ref().and_then(|f| f.get("name"));
    let own = given.and_then(|n| Some(At::new(n.text()?, n.place)));
    let default = At::new(methods.default_for(contact), root.place);
    let name = chosen.or_else(|| own.clone()).unwrap_or(default);
    let Some(entry) = methods.get(name.value) else {
        let At { value: name, place } = name;
        let message = format!("there is no method `{name}`");
        let (reporter, known) = (root.reporter(), methods.names());
        return reporter.unknown(place, message, name, "methods", known);
    };
    // Settings without a name are those of the default.
    let named = own.map_or_else(|| methods.default_for(contact), |own| own.value);
    let config = match f.filter(|_| named == name.value) {
        Some(f) => {
            let keys = entry.keys.iter().map(|k| k.name);
            let known: Vec<&str> = std::iter::once("name").chain(keys).collect();
            f.allow(&known);
            entry.configure(&MethodTable(f))
        }
        None => entry.defaults(),
    };
    Some(At::new(config, name.place))
}

/// The table `[method]` as a source of a method's settings.
struct MethodTable<'a>(Fields<'a>);

impl KeySource for MethodTable<'_> {
    fn has(&self, key: &str) -> bool {
        self.0.has(key)
    }

    fn number(&self, key: &str, range: MethodRange) -> Option<f64> {
        self.0.checked(key, Type::Number("", self::range(range)))
    }

    fn count(&self, key: &str, least: u32) -> Option<u32> {
        self.0.checked(key, Type::Count(least))
    }

    fn is_word(&self, key: &str, word: &str) -> bool {
        self.0.table.text(key) == Some(word)
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.0.checked(key, Type::Flag)
    }

    fn word(&self, key: &str, words: &[&str]) -> Option<usize> {
        let word: String = self.0.checked(key, Type::Text)?;
        let found = words.iter().position(|w| *w == word);
        found.or_else(|| {
            let message = format!("{} cannot be `{word}`", self.0.label(key));
            let known = words.iter().copied();
            self.0.unknown(key, message, &word, "values", known)
        })
    }

    fn refuse(&self, key: &str, message: &str, help: Option<&str>) {
        self.0.refuse::<()>(key, message, help.unwrap_or_default());
    }
}

/// A range of a method's setting.
pub(crate) fn range(range: MethodRange) -> Range {
    match range {
        MethodRange::Positive => Range::Positive,
        MethodRange::NotNegative => Range::NotNegative,
    }
}
