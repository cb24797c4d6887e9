//! `[[check]]`.

use stiction_contact::Certificate;
use stiction_sim::check::{Check, Reduce, Subject, When};

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    read::settings::plain_name,
    schema,
    settings::TimeSettings,
    source::{At, Place},
    suggest,
    tree::{Node, Value},
};

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
                reporter.fail::<()>(
                    Kind::Duplicate,
                    place,
                    message,
                    Some("give each its own name".to_owned()),
                );
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
) -> Option<(Check, Place)> {
    let f = Fields::new(reporter, node, "[[check]]", schema::CHECK)?;
    let subject = f.need_string("of");
    let place = f.place_of("name");
    let name = match f.string("name") {
        Some(name) => plain_name(reporter, name, "the `name` of a check")?,
        None => subject.as_ref()?.value.to_owned(),
    };
    let f = Fields {
        what: format!("check `{name}`"),
        ..f
    };
    let of = subject.and_then(|s| self::subject(reporter, &s, probes));
    let reduces = [
        ("value", Reduce::Value),
        ("mean", Reduce::Mean),
        ("drift", Reduce::Drift),
        ("slope", Reduce::Slope),
        ("spread", Reduce::Spread),
    ];
    let reduce = f.choice("reduce", &reduces).unwrap_or_default();
    let when = when(&f, reduce, end);
    let (min, max) = bounds(&f)?;
    Some((
        Check {
            name,
            of: of?,
            when: when?,
            reduce,
            min,
            max,
        },
        place,
    ))
}

fn subject(reporter: &Reporter, of: &At<&str>, probes: &[String]) -> Option<Subject> {
    if let Some(field) = of.value.strip_prefix("certificate.") {
        if Certificate::FIELDS.contains(&field) {
            return Some(Subject::Certificate(field.to_owned()));
        }
        let help = suggest::help(field, "fields", Certificate::FIELDS);
        return of.fail(
            reporter,
            Kind::UnknownName,
            format!("the certificate has no field `{field}`"),
            Some(help),
        );
    }
    match probes.iter().position(|p| !p.is_empty() && p == of.value) {
        Some(i) => Some(Subject::Probe(i)),
        None => {
            let help = suggest::help(
                of.value,
                "probes",
                probes.iter().map(String::as_str).filter(|p| !p.is_empty()),
            );
            let help =
                format!("{help}; fields of the certificate are written `certificate.residual`");
            of.fail(
                reporter,
                Kind::UnknownName,
                format!("there is no probe `{}`", of.value),
                Some(help),
            )
        }
    }
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
            f.fail(
                Kind::Value,
                key,
                message,
                Some("raise `time.duration` or look earlier".to_owned()),
            )
        }
        _ => Some(t),
    };
    if f.has("at") {
        if interval || reduce != Reduce::Value {
            let message = format!(
                "{} looks `at` one time, where an interval or `reduce` has no meaning",
                f.what
            );
            return f.fail(
                Kind::Value,
                "at",
                message,
                Some("give `from` and `to` instead of `at`".to_owned()),
            );
        }
        return late("at", f.not_negative("at")?).map(When::At);
    }
    if !interval && reduce == Reduce::Value {
        return Some(When::End);
    }
    let from = if f.has("from") {
        late("from", f.not_negative("from")?)?
    } else {
        0.0
    };
    let to = if f.has("to") {
        late("to", f.not_negative("to")?)?
    } else {
        f64::INFINITY
    };
    if to < from {
        return f.fail(
            Kind::Value,
            "to",
            format!("`to` of {} is before `from`", f.what),
            None,
        );
    }
    Some(When::Between(from, to))
}

fn bounds(f: &Fields<'_>) -> Option<(f64, f64)> {
    if f.has("equals") {
        for key in ["above", "below"] {
            if f.has(key) {
                let message = format!("{} gives both `equals` and `{key}`", f.what);
                return f.fail(
                    Kind::Value,
                    key,
                    message,
                    Some("remove one of them".to_owned()),
                );
            }
        }
        if !f.exactly_one(&["within", "relative"]) {
            return None;
        }
        let value = f.number("equals")?;
        let margin = match f.has("within") {
            true => f.not_negative("within")?,
            false => f.not_negative("relative")? * value.abs(),
        };
        return Some((value - margin, value + margin));
    }
    for key in ["within", "relative"] {
        if f.has(key) {
            return f.fail(
                Kind::MissingKey,
                key,
                format!("`{key}` of {} needs `equals`", f.what),
                None,
            );
        }
    }
    if !f.has("above") && !f.has("below") {
        let message = format!("{} has no bound", f.what);
        let help = "give `equals` with `within` or `relative`, or `above` and `below`";
        return f
            .reporter
            .fail(Kind::MissingKey, f.place, message, Some(help.to_owned()));
    }
    let min = if f.has("above") {
        f.number("above")?
    } else {
        f64::NEG_INFINITY
    };
    let max = if f.has("below") {
        f.number("below")?
    } else {
        f64::INFINITY
    };
    if min > max {
        return f.fail(
            Kind::Value,
            "below",
            format!("{}: no number is above {min} and below {max}", f.what),
            None,
        );
    }
    Some((min, max))
}
