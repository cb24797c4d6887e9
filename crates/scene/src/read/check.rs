//! `[[check]]`.

use stiction_contact::Certificate;
use stiction_math::formula::{Formula, FormulaErrorKind};
use stiction_sim::check::{Check, MovingBound, Reduce, Subject, When};

use crate::{
    format::{At, Fields, Read, Reporter, TreeNode, section, suggest, words},
    read::{Context, formula},
};

words! { Reduce: "value" => Value, "mean" => Mean, "drift" => Drift, "slope" => Slope, "spread" => Spread }

section! { struct CheckKeys "check" [Some(&["equals", "above", "below"], "has no bound"), AtMostOne(&["equals", "above"]), AtMostOne(&["equals", "below"]), Needs("equals", &["within", "relative"]), Needs("within", &["equals"]), Needs("relative", &["equals"]), AtMostOne(&["within", "relative"])] => CheckPlan, check {
    name: Option<At<String>> = Name, Said("as `of`"), "its name";
    of: Subject = Text, Required, "a probe, a [formula](#formulas) of probes, or a field of the certificate: `certificate.residual`, `.penetration`, `.cone`, `.slip_angle`, `.creep`, `.kinetic`, `.elastic`, `.potential`, `.contact_work`, `.dynamics`, `.overlap`, `.linear`, `.eliminated`";
    at: Option<f64> = Number("s", NotNegative), Said("the end"), "look at this time";
    from: Option<f64> = Number("s", NotNegative), Said("the start"), "look at every step from this time on";
    to: Option<f64> = Number("s", NotNegative), Said("the end"), "and up to this one";
    reduce: Reduce = Word(Reduce::WORDS), Chosen("value"), "what must meet the bound: every `\"value\"`, their `\"mean\"`, their `\"drift\"` (greatest minus least), `\"slope\"` (of the line through them, per second) or `\"spread\"` ((greatest − least) / (greatest + least): how far they are from being constant, as a fraction)";
    equals: Option<Subject> = Formula, Absent, "the value wanted, with `within` or `relative`";
    within: Option<Subject> = Formula, Absent, "the absolute difference allowed";
    relative: Option<Subject> = Formula, Absent, "the difference allowed, as a fraction of `equals`";
    above: Option<Subject> = Formula, Absent, "instead: the least value allowed";
    below: Option<Subject> = Formula, Absent, "instead: the greatest value allowed";
} }

/// A check, and its name where it has one of its own.
pub(crate) struct CheckPlan {
    name: Option<At<String>>,
    check: Check,
}

/// All checks, in order, with distinct names.
pub(crate) fn named(reporter: &Reporter, plans: Vec<CheckPlan>) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    for CheckPlan { name, mut check } in plans {
        let taken = |name: &str| checks.iter().any(|c| c.name == name);
        match name {
            Some(At { value, place }) if taken(&value) => {
                reporter.taken::<()>(place, &value, "checks");
            }
            None if taken(&check.name) => {
                let mut numbered = (2..).map(|i| format!("{} ({i})", check.name));
                check.name = numbered.find(|n| !taken(n)).unwrap_or_default();
            }
            _ => {}
        }
        checks.push(check);
    }
    checks
}

fn check(f: &Fields<'_>, k: CheckKeys) -> Option<CheckPlan> {
    let when = when(f, &k)?;
    let (min, max, moving) = bounds(f, k.equals, k.within.or(k.relative), [k.above, k.below])?;
    if moving.is_some() && k.reduce != Reduce::Value {
        let keys = ["equals", "within", "relative", "above", "below"];
        let is_text = |k: &&str| f.get(k).is_some_and(|n| n.text().is_some());
        let key = keys.into_iter().find(is_text).unwrap_or("below");
        let message = format!(
            "`{key}` of {} changes from step to step, but `reduce` makes one number of all steps",
            f.what
        );
        let help = "remove `reduce`, or move the bound into `of`: `of = \"a - b\"`, `below = 0`";
        return f.refuse(key, message, help);
    }
    let own = k.name.as_ref().map(|n| n.value.as_str());
    let check = Check {
        name: own.or(f.table.text("of"))?.to_owned(),
        of: k.of,
        when,
        reduce: k.reduce,
        min,
        max,
        moving: moving.map(Box::new),
    };
    let name = k.name;
    Some(CheckPlan { name, check })
}

/// Subject of a check: a probe, a field of the certificate, a formula of them, or a number.
impl Read<Context> for Subject {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        let what = f.label(key);
        let Some(text) = node.text() else {
            return node.number().map(Self::Number);
        };
        let text = At::new(text, node.place);
        match subject(f.reporter(), &text, &what, &f.cx.names.probes)? {
            Self::Number(x) if !x.is_finite() => f.out_of_range(key, x, "finite"),
            found => Some(found),
        }
    }
}

fn subject(reporter: &Reporter, of: &At<&str>, what: &str, probes: &[String]) -> Option<Subject> {
    // The whole text first: names need no quotes where they stand alone.
    if let Some(subject) = alone(of.value, probes) {
        return Some(subject);
    }
    let mut terms: Vec<Subject> = Vec::new();
    let place = |name: &str| {
        let subject = match alone(name, probes) {
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
    let (name, help) = match (quotes, suggest::nearest(of.value, own())) {
        (Some(quotes), _) => (name.as_str(), quotes),
        // A slip in a name with a dash reads as a difference of two names.
        (None, Some(_)) => (of.value, suggest::help(of.value, "probes", own())),
        (None, None) => (name.as_str(), suggest::help(name, "names", known)),
    };
    let message = format!("there is no probe `{name}`");
    let help = format!("{help}; fields of the certificate are written `certificate.residual`");
    formula::refuse(reporter, of, what, &error, message, Some(help))
}

/// A probe or a field of the certificate by its name.
fn alone(name: &str, probes: &[String]) -> Option<Subject> {
    if let Some(field) = name.strip_prefix("certificate.") {
        let known = Certificate::FIELDS.contains(&field);
        return known.then(|| Subject::Certificate(field.to_owned()));
    }
    let found = probes.iter().position(|p| !p.is_empty() && p == name);
    found.map(Subject::Probe)
}

fn when(f: &Fields<'_>, k: &CheckKeys) -> Option<When> {
    let interval = k.from.is_some() || k.to.is_some();
    let late = |key: &str, t: f64| match f.cx.end {
        // Rounding may put the last step just before the end.
        Some(end) if t > end * (1.0 + 1e-9) => {
            let what = f.label(key);
            let message = format!("{what} is {t} s, but the run ends at {end} s");
            f.refuse(key, message, "raise `time.duration` or look earlier")
        }
        _ => Some(t),
    };
    if let Some(at) = k.at {
        if interval || k.reduce != Reduce::Value {
            let what = &f.what;
            let message =
                format!("{what} looks `at` one time, where an interval or `reduce` has no meaning");
            return f.refuse("at", message, "give `from` and `to` instead of `at`");
        }
        return late("at", at).map(When::At);
    }
    if !interval && k.reduce == Reduce::Value {
        return Some(When::End);
    }
    let from = late("from", k.from.unwrap_or(0.0))?;
    let to = match k.to {
        Some(to) => late("to", to)?,
        None => f64::INFINITY,
    };
    if to < from {
        return f.refuse("to", format!("`to` of {} is before `from`", f.what), None);
    }
    Some(When::Between(from, to))
}

/// The least and the greatest value allowed where they are numbers, or else the bounds that change; `margin` is
/// `within` or `relative`, `ends` are `above` and `below`.
fn bounds(
    f: &Fields<'_>,
    equals: Option<Subject>,
    margin: Option<Subject>,
    ends: [Option<Subject>; 2],
) -> Option<(f64, f64, Option<MovingBound>)> {
    let moving = |bound| Some((f64::NAN, f64::NAN, Some(bound)));
    if let Some((value, margin)) = equals.zip(margin) {
        let relative = f.has("relative");
        return match (value, margin) {
            (_, Subject::Number(x)) if x < 0.0 => {
                let key = if relative { "relative" } else { "within" };
                f.out_of_range(key, x, "zero or positive")
            }
            (Subject::Number(value), Subject::Number(margin)) => {
                let margin = margin * if relative { value.abs() } else { 1.0 };
                Some((value - margin, value + margin, None))
            }
            (value, margin) => moving(MovingBound::Around {
                value,
                margin,
                relative,
            }),
        };
    }
    let (min, max) = match &ends {
        [None, Some(Subject::Number(max))] => (f64::NEG_INFINITY, *max),
        [Some(Subject::Number(min)), None] => (*min, f64::INFINITY),
        [Some(Subject::Number(min)), Some(Subject::Number(max))] => (*min, *max),
        _ => {
            let [above, below] = ends;
            return moving(MovingBound::Between(above, below));
        }
    };
    if min > max {
        let message = format!("{}: no number is above {min} and below {max}", f.what);
        return f.refuse("below", message, None);
    }
    Some((min, max, None))
}
