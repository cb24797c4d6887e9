//! `[friction]`.

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section, words, wrong_type},
    friction::{Coefficients, Combine, FrictionTable, ordered},
    source::At,
    tree::{Node, Value},
};

section! { pub(crate) COEFFICIENTS "coefficients";
    "static": Number("1", NotNegative), Required, "μ at rest";
    "kinetic": Number("1", NotNegative), Said("`static`"), "μ in sliding; not above `static`";
    "cohesion": Number("Pa", NotNegative), Num(0.0), "the pull of closed contacts; it falls off linearly with the gap, to nothing at half the contact thickness [daviet2020, Sect. 7.4]; the area it stands for is shared by vertices: triangles, or the width of rods";
    "compliance": Number("m/Pa", NotNegative), Num(0.0), "displacement of a contact under pressure";
}

section! { pub(crate) PAIR "friction.pair";
    "materials": List(&Text), Required, "the names of the two materials";
    "static": Number("1", NotNegative), Required, "as above";
    "kinetic": Number("1", NotNegative), Said("`static`"), "as above";
    "cohesion": Number("Pa", NotNegative), Num(0.0), "as above";
    "compliance": Number("m/Pa", NotNegative), Num(0.0), "as above";
}

words! { COMBINE: Combine = "geometric-mean" => Combine::GeometricMean, "min" => Combine::Min, "max" => Combine::Max,
"average" => Combine::Average, "multiply" => Combine::Multiply }

section! { pub(crate) FRICTION "friction";
    "default": Either(&[Number("1", NotNegative), Table(&COEFFICIENTS)]), Said("0.5"), "coefficients of materials without their own";
    "combine": Word(COMBINE.words), Chosen("geometric-mean"), "how two materials make a pair: `\"geometric-mean\"`, `\"min\"`, `\"max\"`, `\"average\"`, `\"multiply\"`";
    "pair": Tables(&PAIR), Absent, "pairs with coefficients of their own";
}

/// The table, and the names in its pairs for a later check against the materials in use.
pub(crate) fn friction<'a>(
    reporter: &'a Reporter,
    node: Option<&'a Node>,
) -> (FrictionTable, Vec<At<&'a str>>) {
    let (mut table, mut names) = (FrictionTable::default(), Vec::new());
    let Some(f) = node.and_then(|n| Fields::new(reporter, n, "[friction]", &FRICTION)) else {
        return (table, names);
    };
    let own = f.get("default");
    if let Some(c) = own.and_then(|n| coefficients(reporter, n, "`default` of [friction]")) {
        table.default = c;
    }
    table.combine = f.choice("combine", &COMBINE).unwrap_or_default();
    for node in f.tables("pair") {
        let Some(p) = Fields::new(reporter, node, "[[friction.pair]]", &PAIR) else {
            continue;
        };
        let (Some([a, b]), Some(c)) = (two_names(&p), from_table(&p)) else {
            continue;
        };
        if table.pairs.insert(ordered(a.value, b.value), c).is_some() {
            let (a, b) = (a.value, b.value);
            let message = format!("friction between `{a}` and `{b}` is given twice");
            let help = "keep one of the two".to_owned();
            p.fail::<()>(ProblemKind::Duplicate, "materials", message, Some(help));
        }
        names.extend([a, b]);
    }
    (table, names)
}

fn two_names<'a>(f: &Fields<'a>) -> Option<[At<&'a str>; 2]> {
    let Value::Array(items) = &f.get("materials")?.value else {
        return None;
    };
    let name = |n: &'a Node| match &n.value {
        Value::String(s) => Some(At::new(s.as_str(), n.place)),
        _ => None,
    };
    let names: Option<Vec<_>> = items.iter().map(name).collect();
    <[_; 2]>::try_from(names?).ok().or_else(|| {
        let (what, n) = (f.label("materials"), items.len());
        f.refuse(
            "materials",
            format!("{what} must be two names, but there are {n}"),
            "",
        )
    })
}

/// A number, or a table of coefficients.
pub(crate) fn coefficients(reporter: &Reporter, node: &Node, what: &str) -> Option<Coefficients> {
    match &node.value {
        // Its range has been checked with the table that it stands in.
        Value::Integer(mu) => Some(Coefficients::uniform(*mu as f64)),
        Value::Float(mu) => Some(Coefficients::uniform(*mu)),
        Value::Table(_) => from_table(&Fields::new(reporter, node, what, &COEFFICIENTS)?),
        _ => wrong_type(reporter, node, what, "a number or a table"),
    }
}

fn from_table(f: &Fields<'_>) -> Option<Coefficients> {
    let static_: f64 = f.take("static")?;
    let kinetic = f.take::<Option<f64>>("kinetic")?.unwrap_or(static_);
    if kinetic > static_ {
        let what = f.label("kinetic");
        let message = format!("{what} is {kinetic}, above `static` = {static_}");
        let help = "friction in sliding does not exceed friction at rest";
        return f.refuse("kinetic", message, help);
    }
    Some(Coefficients {
        static_,
        kinetic,
        cohesion: f.take("cohesion")?,
        compliance: f.take("compliance")?,
    })
}
