//! `[time]`, `[method]`, `[air]`, `[contact]`, `[output]`.

use stiction_bodies::drag::{Air, Gust};
use stiction_math::Vec3;
use stiction_sim::{
    MethodConfig, Registry,
    keys::{KeyRange as MethodRange, KeySource},
};

use crate::{
    error::ProblemKind,
    format::{Fields, Range, Type, section, words},
    settings::{ContactSettings, OutputFrames, OutputSettings, OverlapPolicy, TimeSettings},
    source::At,
    suggest,
    tree::Value,
};

/// Nobody waits for so many steps.
const MOST_STEPS: f64 = 1e10;

section! { pub(crate) TIME "time" [AtMostOne(&["frames_per_second", "frame_every"])];
    "step": Number("s", Positive), Required, "the time step";
    "duration": Number("s", Positive), Required, "how long the run lasts; rounded up to whole steps";
    "frames_per_second": Number("1/s", Positive), Said("25"), "frames are written at the first step that reaches their time, at most one per step";
    "frame_every": Count(1), Absent, "instead: a frame every so many steps";
}

section! { pub(crate) AIR "air" [Needs("gust", &["period"]), Needs("period", &["gust"])];
    "density": Number("kg/m³", NotNegative), Num(1.2), "of the air";
    "wind": Vector("m/s"), Vec(&[0.0; 3]), "the mean velocity of the air";
    "gust": Vector("m/s"), Absent, "how far the wind swells and falls, as a sine of time; gusts travel with the wind. Not every [method](#method) supports them";
    "period": Number("s", Positive), Said("required with `gust`"), "from one gust to the next";
}

words! { OVERLAP: OverlapPolicy = "refuse" => OverlapPolicy::Refuse, "resolve" => OverlapPolicy::Resolve, "ignore" => OverlapPolicy::Ignore }

section! { pub(crate) CONTACT "contact";
    "enabled": Flag, Said("see above"), "whether bodies collide";
    "thickness": Number("m", Positive), Num(1e-3), "how near surfaces come before they count as touching";
    "overlap": Word(OVERLAP.words), Chosen("refuse"), "bodies that overlap at the start: `\"refuse\"` the scene, naming bodies and triangles; `\"resolve\"`: move them apart; or `\"ignore\"` it";
}

section! { pub(crate) OUTPUT "output";
    "formats": List(&Word(&OutputSettings::FORMATS)), Said("`[\"vtu\"]`"), "formats of frames: `\"vtu\"`, `\"obj\"`, `\"ply\"`; `\"usd\"` and `\"gltf\"` add a file of the whole run, made from its vtu frames";
    "contacts": Flag, Bool(false), "write `contacts.csv` and `pairs.csv`: every contact of every step, and sums per pair";
    "checkpoint_every": Count(1), Absent, "a checkpoint every so many frames";
}

pub(crate) fn time(root: &Fields<'_>) -> Option<TimeSettings> {
    let f = Fields::new(root.reporter, root.get("time")?, "[time]", &TIME)?;
    let (step, duration): (f64, f64) = (f.take("step")?, f.take("duration")?);
    let frames = match (f.take("frames_per_second")?, f.take("frame_every")?) {
        (Some(rate), _) => OutputFrames::PerSecond(rate),
        (None, Some(steps)) => OutputFrames::EverySteps(steps),
        // Divides the common steps of 1, 2, 5 and 10 ms evenly.
        (None, None) => OutputFrames::PerSecond(25.0),
    };
    let steps = duration / step;
    if steps > MOST_STEPS {
        let message = format!("{duration} s in steps of {step} s are {steps:.1e} steps");
        let help = "use a larger step or a shorter duration".to_owned();
        return f.fail(ProblemKind::TooLarge, "duration", message, Some(help));
    }
    Some(TimeSettings {
        step,
        duration,
        frames,
    })
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
        Some(node) => Some(Fields::open(root.reporter, node, "[method]")?),
        None => None,
    };
    if let Some(f) = &f {
        f.checked::<String>("name", Type::Text);
    }
    let own = f.as_ref().and_then(|f| f.text("name"));
    let name = match (&chosen, &own) {
        (Some(chosen), _) => chosen.clone(),
        (None, Some(own)) => own.clone(),
        (None, None) => At::new(methods.default_for(contact), root.place),
    };
    let Some(entry) = methods.get(name.value) else {
        let help = suggest::help(name.value, "methods", methods.names());
        let message = format!("there is no method `{}`", name.value);
        return name.fail(root.reporter, ProblemKind::UnknownName, message, Some(help));
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
        self.0.checked(key, Type::Number("", range.into()))
    }

    fn count(&self, key: &str, least: u32) -> Option<u32> {
        self.0.checked(key, Type::Count(least))
    }

    fn is_word(&self, key: &str, word: &str) -> bool {
        matches!(self.0.get(key).map(|n| &n.value), Some(Value::String(text)) if text == word)
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.0.checked(key, Type::Flag)
    }

    fn word(&self, key: &str, words: &[&str]) -> Option<usize> {
        let word: String = self.0.checked(key, Type::Text)?;
        let found = words.iter().position(|w| *w == word);
        found.or_else(|| {
            let help = suggest::help(&word, "values", words.iter().copied());
            let message = format!("{} cannot be `{word}`", self.0.label(key));
            self.0
                .fail(ProblemKind::UnknownName, key, message, Some(help))
        })
    }

    fn refuse(&self, key: &str, message: &str, help: Option<&str>) {
        self.0.refuse::<()>(key, message, help.unwrap_or_default());
    }
}

impl From<MethodRange> for Range {
    fn from(range: MethodRange) -> Self {
        match range {
            MethodRange::Positive => Self::Positive,
            MethodRange::NotNegative => Self::NotNegative,
        }
    }
}

/// The air: given, or at rest if a body has drag.
pub(crate) fn air(root: &Fields<'_>, drag: bool) -> Option<Air> {
    let Some(node) = root.get("air") else {
        return drag.then(|| Air::steady(1.2, Vec3::zeros()));
    };
    let f = Fields::new(root.reporter, node, "[air]", &AIR)?;
    let gust = match f.take("gust")? {
        Some(swing) => Some(Gust {
            swing,
            period: f.need("period")?,
        }),
        None if f.has("period") => {
            let message = "`period` of [air] has no meaning without `gust`";
            return f.refuse("period", message, "remove `period`");
        }
        None => None,
    };
    Some(Air {
        density: f.take("density")?,
        wind: f.take("wind")?,
        gust,
    })
}

pub(crate) fn contact(root: &Fields<'_>, obstacles: bool) -> Option<ContactSettings> {
    let asked = obstacles || root.has("friction") || root.has("contact");
    let Some(node) = root.get("contact") else {
        return Some(ContactSettings {
            enabled: asked,
            ..ContactSettings::default()
        });
    };
    let f = Fields::new(root.reporter, node, "[contact]", &CONTACT)?;
    Some(ContactSettings {
        enabled: f.take::<Option<bool>>("enabled")?.unwrap_or(asked),
        thickness: f.take("thickness")?,
        overlap: f.choice("overlap", &OVERLAP)?,
    })
}

pub(crate) fn output(root: &Fields<'_>) -> Option<OutputSettings> {
    let Some(node) = root.get("output") else {
        return Some(OutputSettings::default());
    };
    let f = Fields::new(root.reporter, node, "[output]", &OUTPUT)?;
    let mut formats = Vec::new();
    for format in f
        .take::<Option<Vec<String>>>("formats")?
        .unwrap_or_else(|| vec!["vtu".to_owned()])
    {
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    Some(OutputSettings {
        formats,
        contacts: f.take("contacts")?,
        checkpoint_every: f.take("checkpoint_every")?,
    })
}
