//! `[friction]`.

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, string},
    friction::{Coefficients, Combine, FrictionTable, ordered},
    schema,
    source::At,
    tree::{Node, Value},
};

/// The table, and the names in its pairs for a later check against the materials in use.
pub(crate) fn friction<'a>(
    reporter: &'a Reporter,
    node: Option<&'a Node>,
) -> (FrictionTable, Vec<At<&'a str>>) {
    let mut table = FrictionTable::default();
    let mut names = Vec::new();
    let Some(f) = node.and_then(|n| Fields::new(reporter, n, "[friction]", schema::FRICTION))
    else {
        return (table, names);
    };
    if let Some(c) = f
        .get("default")
        .and_then(|n| coefficients(reporter, n, "`default` of [friction]"))
    {
        table.default = c;
    }
    let rules = [
        ("geometric-mean", Combine::GeometricMean),
        ("min", Combine::Min),
        ("max", Combine::Max),
        ("average", Combine::Average),
        ("multiply", Combine::Multiply),
    ];
    table.combine = f.choice("combine", &rules).unwrap_or_default();
    for node in f.tables("pair") {
        let Some(p) = Fields::new(reporter, node, "[[friction.pair]]", schema::PAIR) else {
            continue;
        };
        let Some(pair) = p.need("materials").and_then(|n| two_names(reporter, n)) else {
            continue;
        };
        let Some(c) = from_table(&p) else { continue };
        let key = ordered(pair[0].value, pair[1].value);
        if table.pairs.insert(key, c).is_some() {
            let message = format!(
                "friction between `{}` and `{}` is given twice",
                pair[0].value, pair[1].value
            );
            p.fail::<()>(
                Kind::Duplicate,
                "materials",
                message,
                Some("keep one of the two".to_owned()),
            );
        }
        names.extend(pair);
    }
    (table, names)
}

fn two_names<'a>(reporter: &Reporter, node: &'a Node) -> Option<[At<&'a str>; 2]> {
    let what = "`materials` of [[friction.pair]]";
    let items = list(reporter, node, what, None)?;
    let names: Option<Vec<_>> = items.iter().map(|n| string(reporter, n, what)).collect();
    match <[_; 2]>::try_from(names?) {
        Ok(pair) => Some(pair),
        Err(names) => {
            let message = format!("{what} must be two names, but there are {}", names.len());
            reporter.fail(Kind::Value, node.place, message, None)
        }
    }
}

/// A number, or a table of coefficients.
pub(crate) fn coefficients(reporter: &Reporter, node: &Node, what: &str) -> Option<Coefficients> {
    match &node.value {
        Value::Integer(_) | Value::Float(_) => {
            let mu = crate::fields::number(reporter, node, what)?;
            if mu >= 0.0 {
                Some(Coefficients::uniform(mu))
            } else {
                let message = format!("{what} is {mu}, but must be zero or positive");
                reporter.fail(Kind::Value, node.place, message, None)
            }
        }
        Value::Table(_) => from_table(&Fields::new(reporter, node, what, schema::COEFFICIENTS)?),
        other => crate::fields::wrong_type(reporter, node, what, "a number or a table", other),
    }
}

fn from_table(f: &Fields<'_>) -> Option<Coefficients> {
    f.need("static")?;
    let static_ = f.not_negative("static")?;
    let kinetic = if f.has("kinetic") {
        f.not_negative("kinetic")?
    } else {
        static_
    };
    if kinetic > static_ {
        let message = format!(
            "`kinetic` of {} is {kinetic}, above `static` = {static_}",
            f.what
        );
        let help = "friction in sliding does not exceed friction at rest";
        return f.fail(Kind::Value, "kinetic", message, Some(help.to_owned()));
    }
    let optional = |key| {
        if f.has(key) {
            f.not_negative(key)
        } else {
            Some(0.0)
        }
    };
    Some(Coefficients {
        static_,
        kinetic,
        cohesion: optional("cohesion")?,
        compliance: optional("compliance")?,
    })
}
