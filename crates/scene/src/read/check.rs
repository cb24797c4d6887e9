//! `[[check]]`.

use stiction_contact::Certificate;
use stiction_math::formula::{Formula, FormulaErrorKind};
use stiction_sim::check::{Check, MovingBound, Reduce, Subject, When};

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section, words},
    read::formula,
    settings::TimeSettings,
    source::{At, SourceSpan},
    suggest,
    tree::{Node, Value},
};

words! { REDUCE: Reduce = "value" => Reduce::Value, "mean" => Reduce::Mean, "drift" => Reduce::Drift, "slope" => Reduce::Slope, "spread" => Reduce::Spread }

section! { pub(crate) CHECK "check" [Some(&["equals", "above", "below"]), OneGroup(&[&["equals"], &["above", "below"]]), Needs("equals", &["within", "relative"]), Needs("within", &["equals"]), Needs("relative", &["equals"])];
    "name": Name, Said("as `of`"), "its name";
    "of": Text, Required, "a probe, a [formula](#formulas) of probes, or a field of the certificate: `certificate.residual`, `.penetration`, `.cone`, `.slip_angle`, `.creep`, `.kinetic`, `.elastic`, `.potential`, `.contact_work`, `.dynamics`, `.overlap`, `.linear`, `.eliminated`";
    "at": Number("s", NotNegative), Said("the end"), "look at this time";
    "from": Number("s", NotNegative), Said("the start"), "look at every step from this time on";
    "to": Number("s", NotNegative), Said("the end"), "and up to this one";
    "reduce": Word(REDUCE.words), Chosen("value"), "what must meet the bound: every `\"value\"`, their `\"mean\"`, their `\"drift\"` (greatest minus least), `\"slope\"` (of the line through them, per second) or `\"spread\"` ((greatest − least) / (greatest + least): how far they are from being constant, as a fraction)";
    "equals": Formula, Absent, "the value wanted, with `within` or `relative`";
    "within": Formula, Absent, "the absolute difference allowed";
    "relative": Formula, Absent, "the difference allowed, as a fraction of `equals`";
    "above": Formula, Absent, "instead: the least value allowed";
    "below": Formula, Absent, "instead: the greatest value allowed";
}

/// All checks, in order. `probes` are the probes' names in their order.
pub(crate) fn checks(
    reporter: &Reporter,
    nodes: &[Node],
    probes: &[String],
    time: Option<&TimeSettings>,
    time_node: Option<&Node>,
) -> Vec<Check> {
    // A run that the command line cut short keeps its checks; they are then not met.
    let duration = match time_node.map(|n| &n.value) {
        Some(Value::Table(t)) => t
            .get("duration")
            .filter(|n| !reporter.sources.is_argument(n.place)),
        _ => None,
    };
    let end = duration.and(time).map(|t| t.duration);
    let mut checks: Vec<Check> = Vec::new();
    for node in nodes {
        let Some((check, place)) = check(reporter, node, probes, end) else {
            continue;
        };
        match checks.iter().any(|c| c.name == check.name) {
            true if check_has_name(node) => {
                let message = format!("two checks are called `{}`", check.name);
                let help = Some("give each its own name".to_owned());
                reporter.fail::<()>(ProblemKind::Duplicate, place, message, help);
            }
            true => {
                let name = (2..)
                    .map(|i| format!("{} ({i})", check.name))
                    .find(|n| checks.iter().all(|c| c.name != *n));
                checks.push(Check {
                    name: name.unwrap_or_default(),
                    ..check
                });
            }
            false => checks.push(check),
        }
    }
    checks
}

fn check_has_name(node: &Node) -> bool {
    matches!(&node.value, Value::Table(t) if t.get("name").is_some())
}

fn check(
    reporter: &Reporter,
    node: &Node,
    probes: &[String],
    end: Option<f64>,
) -> Option<(Check, SourceSpan)> {
    let f = Fields::open(reporter, node, "[[check]]")?;
    let named = match (node.name(), f.text("of")) {
        (Some(name), _) => Some(name.to_owned()),
        (None, of) => of.map(|of| of.value.to_owned()),
    };
    let what = match &named {
        Some(name) => format!("check `{name}`"),
        None => f.what.clone(),
    };
    let f = f.called(what).of(&CHECK);
    let (name, place) = (named?, f.place_of("name"));
    let what = f.label("of");
    let of = f
        .text("of")
        .and_then(|s| subject(reporter, &s, &what, probes));
    let reduce = f.choice("reduce", &REDUCE)?;
    let when = when(&f, reduce, end);
    let (min, max, moving) = match bounds(&f, probes, reduce)? {
        Bounds::Fixed(min, max) => (min, max, None),
        Bounds::Moving(moving) => (f64::NAN, f64::NAN, Some(Box::new(moving))),
    };
    Some((
        Check {
            name,
            of: of?,
            when: when?,
            reduce,
            min,
            max,
            moving,
        },
        place,
    ))
}

/// Subject of a check: a probe, a field of the certificate, or a formula of them.
fn subject(reporter: &Reporter, of: &At<&str>, what: &str, probes: &[String]) -> Option<Subject> {
    // The whole text first: names need no quotes where they stand alone.
    if let Some(subject) = named(of.value, probes) {
        return Some(subject);
    }
    let mut terms: Vec<Subject> = Vec::new();
    let place = |name: &str| {
        let subject = match named(name, probes) {
            None if name == "t" => Subject::Time,
            found => found?,
        };
        let known = terms.iter().position(|t| *t == subject);
        Some(known.unwrap_or_else(|| {
            terms.push(subject);
            terms.len() - 1
        }))
    };
    let error = match Formula::parse(of.value, place) {
        Ok(formula) => {
            return match formula.constant() {
                Some(x) => Some(Subject::Number(x)),
                None => Some(Subject::Formula(formula, terms)),
            };
        }
        Err(error) => error,
    };
    let FormulaErrorKind::UnknownName(name) = &error.kind else {
        let message = error.to_string();
        return formula::refuse(reporter, of, what, &error, message, None);
    };
    let own = || probes.iter().map(String::as_str).filter(|p| !p.is_empty());
    if let Some(field) = name.strip_prefix("certificate.") {
        let help = suggest::help(field, "fields", Certificate::FIELDS);
        let message = format!("the certificate has no field `{field}`");
        return formula::refuse(reporter, of, what, &error, message, Some(help));
    }
    let known: Vec<&str> = own().chain(["t", "pi"]).collect();
    let quotes = formula::unquoted(of, &error, name, &known);
    let (message, help) = match (quotes, suggest::nearest(of.value, own())) {
        (Some(quotes), _) => (format!("there is no probe `{name}`"), quotes),
        // A slip in a name with a dash reads as a difference of two names.
        (None, Some(_)) => (
            format!("there is no probe `{}`", of.value),
            suggest::help(of.value, "probes", own()),
        ),
        (None, None) => (
            format!("there is no probe `{name}`"),
            suggest::help(name, "names", known),
        ),
    };
    let help = format!("{help}; fields of the certificate are written `certificate.residual`");
    formula::refuse(reporter, of, what, &error, message, Some(help))
}

/// A probe or a field of the certificate by its name.
fn named(name: &str, probes: &[String]) -> Option<Subject> {
    if let Some(field) = name.strip_prefix("certificate.") {
        let known = Certificate::FIELDS.contains(&field);
        return known.then(|| Subject::Certificate(field.to_owned()));
    }
    let found = probes.iter().position(|p| !p.is_empty() && p == name);
    found.map(Subject::Probe)
}

fn when(f: &Fields<'_>, reduce: Reduce, end: Option<f64>) -> Option<When> {
    let interval = f.has("from") || f.has("to");
    let late = |key: &str, t: f64| match end {
        // Rounding may put the last step just before the end.
        Some(end) if t > end * (1.0 + 1e-9) => {
            let message = format!(
                "`{key}` of {} is {t} s, but the run ends at {end} s",
                f.what
            );
            f.refuse(key, message, "raise `time.duration` or look earlier")
        }
        _ => Some(t),
    };
    if let Some(at) = f.take("at")? {
        if interval || reduce != Reduce::Value {
            let what = &f.what;
            let message =
                format!("{what} looks `at` one time, where an interval or `reduce` has no meaning");
            return f.refuse("at", message, "give `from` and `to` instead of `at`");
        }
        return late("at", at).map(When::At);
    }
    if !interval && reduce == Reduce::Value {
        return Some(When::End);
    }
    let from = late("from", f.take::<Option<f64>>("from")?.unwrap_or(0.0))?;
    let to = match f.take("to")? {
        Some(to) => late("to", to)?,
        None => f64::INFINITY,
    };
    if to < from {
        return f.refuse("to", format!("`to` of {} is before `from`", f.what), "");
    }
    Some(When::Between(from, to))
}

/// The bounds of a check.
enum Bounds {
    Fixed(f64, f64),
    Moving(MovingBound),
}

/// A number or a formula; a formula without variables is a number.
fn bound(f: &Fields<'_>, key: &str, probes: &[String]) -> Option<Subject> {
    let node = f.get(key)?;
    let Value::String(text) = &node.value else {
        return f.take(key).map(Subject::Number);
    };
    let what = format!("`{key}` of {}", f.what);
    let text = At::new(text.as_str(), node.place);
    match subject(f.reporter, &text, &what, probes)? {
        Subject::Number(x) if !x.is_finite() => f.out_of_range(key, x, "finite"),
        found => Some(found),
    }
}

fn bounds(f: &Fields<'_>, probes: &[String], reduce: Reduce) -> Option<Bounds> {
    let made = read_bounds(f, probes)?;
    if let (Bounds::Moving(_), true) = (&made, reduce != Reduce::Value) {
        let keys = ["equals", "within", "relative", "above", "below"];
        let is_text = |k: &&&str| matches!(f.get(k).map(|n| &n.value), Some(Value::String(_)));
        let key = keys.iter().find(is_text).copied().unwrap_or("below");
        let message = format!(
            "`{key}` of {} changes from step to step, but `reduce` makes one number of all steps",
            f.what
        );
        let help = "remove `reduce`, or move the bound into `of`: `of = \"a - b\"`, `below = 0`";
        return f.refuse(key, message, help);
    }
    Some(made)
}

fn read_bounds(f: &Fields<'_>, probes: &[String]) -> Option<Bounds> {
    if f.has("equals") {
        for key in ["above", "below"] {
            if f.has(key) {
                let message = format!("{} gives both `equals` and `{key}`", f.what);
                return f.refuse(key, message, "remove one of them");
            }
        }
        if !f.exactly_one(&["within", "relative"]) {
            return None;
        }
        let relative = f.has("relative");
        let key = if relative { "relative" } else { "within" };
        let (value, margin) = (bound(f, "equals", probes)?, bound(f, key, probes)?);
        if let Subject::Number(x) = margin
            && x < 0.0
        {
            return f.out_of_range(key, x, "zero or positive");
        }
        return Some(match (&value, &margin) {
            (Subject::Number(value), Subject::Number(margin)) => {
                let margin = match relative {
                    true => margin * value.abs(),
                    false => *margin,
                };
                Bounds::Fixed(value - margin, value + margin)
            }
            _ => Bounds::Moving(MovingBound::Around {
                value,
                margin,
                relative,
            }),
        });
    }
    for key in ["within", "relative"] {
        if f.has(key) {
            return f.fail(
                ProblemKind::MissingKey,
                key,
                format!("`{key}` of {} needs `equals`", f.what),
                None,
            );
        }
    }
    if !f.has("above") && !f.has("below") {
        let message = format!("{} has no bound", f.what);
        let help = "give `equals` with `within` or `relative`, or `above` and `below`";
        return f.reporter.fail(
            ProblemKind::MissingKey,
            f.place,
            message,
            Some(help.to_owned()),
        );
    }
    // Outer `None`: reported; inner: not given.
    let one = |key: &str| match f.has(key) {
        true => bound(f, key, probes).map(Some),
        false => Some(None),
    };
    let (above, below) = (one("above")?, one("below")?);
    let number = |bound: &Option<Subject>, none: f64| match bound {
        None => Some(none),
        Some(Subject::Number(x)) => Some(*x),
        Some(_) => None,
    };
    let fixed = (
        number(&above, f64::NEG_INFINITY),
        number(&below, f64::INFINITY),
    );
    let (Some(min), Some(max)) = fixed else {
        return Some(Bounds::Moving(MovingBound::Between(above, below)));
    };
    if min > max {
        let message = format!("{}: no number is above {min} and below {max}", f.what);
        return f.refuse("below", message, "");
    }
    Some(Bounds::Fixed(min, max))
}
