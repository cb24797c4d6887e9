//! `[time]`, `[method]`, `[air]`, `[contact]`, `[output]`.

use stiction_bodies::drag::{Air, Gust};
use stiction_math::Vec3;
use stiction_sim::{
    MethodConfig, Registry,
    keys::{KeySource, Range},
};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, string},
    schema,
    settings::{ContactSettings, Frames, OutputSettings, Overlap, TimeSettings},
    source::At,
    suggest,
};

/// Nobody waits for so many steps.
const MOST_STEPS: f64 = 1e10;

pub(crate) fn time(root: &Fields<'_>) -> Option<TimeSettings> {
    let f = Fields::new(root.reporter, root.need("time")?, "[time]", schema::TIME)?;
    let (step, duration) = (f.need_positive("step"), f.need_positive("duration"));
    let frames = if f.has("frames_per_second") || f.has("frame_every") {
        if !f.exactly_one(&["frames_per_second", "frame_every"]) {
            return None;
        }
        match f.positive("frames_per_second") {
            Some(rate) => Frames::PerSecond(rate),
            None => Frames::EverySteps(u64::from(f.count("frame_every", 1)?)),
        }
    } else {
        // Divides the common steps of 1, 2, 5 and 10 ms evenly.
        Frames::PerSecond(25.0)
    };
    let (step, duration) = (step?, duration?);
    if duration / step > MOST_STEPS {
        let message = format!(
            "{duration} s in steps of {step} s are {:.1e} steps",
            duration / step
        );
        return f.fail(
            Kind::TooLarge,
            "duration",
            message,
            Some("use a larger step or a shorter duration".to_owned()),
        );
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
    let own = f.as_ref().and_then(|f| f.string("name"));
    let name = match (&chosen, &own) {
        (Some(chosen), _) => chosen.clone(),
        (None, Some(own)) => own.clone(),
        (None, None) => At::new(methods.default_for(contact), root.place),
    };
    let Some(entry) = methods.get(name.value) else {
        let help = suggest::help(name.value, "methods", methods.names());
        let message = format!("there is no method `{}`", name.value);
        return name.fail(root.reporter, Kind::UnknownName, message, Some(help));
    };
    // Settings without a name are those of the default.
    let named = own.map_or_else(|| methods.default_for(contact), |own| own.value);
    let f = f.filter(|_| named == name.value);
    let config = match f {
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

    fn number(&self, key: &str, range: Range) -> Option<f64> {
        match range {
            Range::Positive => self.0.positive(key),
            Range::NotNegative => self.0.not_negative(key),
        }
    }

    fn count(&self, key: &str, least: u32) -> Option<u32> {
        self.0.count(key, least)
    }

    fn is_word(&self, key: &str, word: &str) -> bool {
        let found = self.0.get(key).map(|node| &node.value);
        matches!(found, Some(crate::tree::Value::String(text)) if text == word)
    }

    fn flag(&self, key: &str) -> Option<bool> {
        self.0.bool(key)
    }

    fn word(&self, key: &str, words: &[&str]) -> Option<usize> {
        let numbered: Vec<(&str, usize)> = words.iter().copied().zip(0..).collect();
        self.0.choice(key, &numbered)
    }

    fn refuse(&self, key: &str, message: &str, help: Option<&str>) {
        let help = help.map(str::to_owned);
        self.0.fail::<()>(Kind::Value, key, message, help);
    }
}

/// The air: given, or at rest if a body has drag.
pub(crate) fn air(root: &Fields<'_>, drag: bool) -> Option<Air> {
    let still = Air::steady(1.2, Vec3::zeros());
    let Some(node) = root.get("air") else {
        return drag.then_some(still);
    };
    let f = Fields::new(root.reporter, node, "[air]", schema::AIR)?;
    let density = if f.has("density") {
        f.not_negative("density")?
    } else {
        still.density
    };
    let wind = if f.has("wind") {
        f.vector("wind")?
    } else {
        still.wind
    };
    let gust = if f.has("gust") {
        let (swing, period) = (f.vector("gust"), f.need_positive("period"));
        Some(Gust {
            swing: swing?,
            period: period?,
        })
    } else {
        if f.has("period") {
            let message = "`period` of [air] has no meaning without `gust`";
            return f.fail(
                Kind::Value,
                "period",
                message,
                Some("remove `period`".to_owned()),
            );
        }
        None
    };
    Some(Air {
        density,
        wind,
        gust,
    })
}

pub(crate) fn contact(root: &Fields<'_>, obstacles: bool) -> Option<ContactSettings> {
    let asked = obstacles || root.has("friction") || root.has("contact");
    let mut settings = ContactSettings {
        enabled: asked,
        ..ContactSettings::default()
    };
    let Some(node) = root.get("contact") else {
        return Some(settings);
    };
    let f = Fields::new(root.reporter, node, "[contact]", schema::CONTACT)?;
    if let Some(enabled) = f.bool("enabled") {
        settings.enabled = enabled;
    }
    if f.has("thickness") {
        settings.thickness = f.positive("thickness")?;
    }
    let overlaps = [
        ("refuse", Overlap::Refuse),
        ("resolve", Overlap::Resolve),
        ("ignore", Overlap::Ignore),
    ];
    if let Some(overlap) = f.choice("overlap", &overlaps) {
        settings.overlap = overlap;
    }
    Some(settings)
}

pub(crate) fn output(root: &Fields<'_>) -> OutputSettings {
    let mut settings = OutputSettings::default();
    let Some(f) = root
        .get("output")
        .and_then(|n| Fields::new(root.reporter, n, "[output]", schema::OUTPUT))
    else {
        return settings;
    };
    let what = "`formats` of [output]";
    if let Some(items) = f
        .get("formats")
        .and_then(|n| list(root.reporter, n, what, None))
    {
        settings.formats.clear();
        for format in items.iter().filter_map(|n| string(root.reporter, n, what)) {
            if !OutputSettings::FORMATS.contains(&format.value) {
                let help = suggest::help(format.value, "formats", OutputSettings::FORMATS);
                let message = format!("frames cannot be written as `{}`", format.value);
                format.fail::<()>(root.reporter, Kind::UnknownName, message, Some(help));
            } else if !settings.formats.iter().any(|f| f == format.value) {
                settings.formats.push(format.value.to_owned());
            }
        }
    }
    settings.contacts = f.bool("contacts").unwrap_or(false);
    settings.checkpoint_every = f.count("checkpoint_every", 1).map(u64::from);
    settings
}

/// Whether a name may become a file name, a column and a word of an override.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ':' | ',');
    let long = name.chars().count() > 100;
    !name.trim().is_empty() && name.chars().all(good) && !long && !name.starts_with('.')
}

/// A name that may become a file name, a column and a word of an override.
pub(crate) fn plain_name(reporter: &Reporter, name: At<&str>, what: &str) -> Option<String> {
    if !is_plain_name(name.value) {
        let message = format!(
            "{what} cannot be \"{}\"",
            name.value.chars().take(100).collect::<String>()
        );
        let help = "use up to 100 letters, digits, spaces, and - _ : , . (the dot not first)";
        return name.fail(reporter, Kind::Value, message, Some(help.to_owned()));
    }
    Some(name.value.to_owned())
}
