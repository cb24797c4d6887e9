//! `[[probe]]`.

use stiction_bodies::builder::Anchor;
use stiction_math::Vec3;
use stiction_sim::probe::{Axis, ContactSum, Resultant};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, direction},
    read::{
        body::Names,
        pin::{anchor, point},
        settings::plain_name,
    },
    schema,
    source::{At, Place},
    suggest,
    tree::{Node, Value},
};

/// A probe as it was read.
pub(crate) struct ProbePlan {
    pub name: At<String>,
    pub place: Place,
    pub of: Followed,
}

/// What it follows, bodies and attachments by their indices.
pub(crate) enum Followed {
    Position(Anchor, Axis),
    Displacement(Anchor, Axis),
    Velocity(Anchor, Axis),
    Distance(Anchor, Anchor),
    Centroid(Option<usize>, Axis),
    CentroidVelocity(Option<usize>, Axis),
    Travel(Option<usize>),
    Radius(Option<usize>, Vec3, Vec3),
    Min(usize, Vec3),
    Max(usize, Vec3),
    Size(usize, Vec3),
    Volume(At<usize>),
    Area(usize),
    Kinetic(Option<usize>),
    Elastic(Option<usize>),
    Potential(Option<usize>),
    Energy(Option<usize>),
    Momentum(Option<usize>, Axis),
    AngularMomentum(Option<usize>, Axis),
    Tension(usize),
    Speed(usize),
    Contact(ContactSum),
    EnclosedVolume(usize),
    Pressure(usize),
}

pub(crate) fn probe(
    reporter: &Reporter,
    node: &Node,
    names: &Names,
    springs: &[String],
    obstacles: &[String],
    volumes: &[String],
) -> Option<ProbePlan> {
    let f = Fields::open(reporter, node, "[[probe]]")?;
    let name = f.need_string("name")?;
    let name = At::new(
        plain_name(reporter, name.clone(), "the `name` of a probe")?,
        name.place,
    );
    let f = Fields {
        what: format!("probe `{}`", name.value),
        ..f
    };
    if name.value.starts_with("certificate.") {
        let message = format!("{} would hide a field of the certificate", f.what);
        return name.fail(
            reporter,
            Kind::Value,
            message,
            Some("choose another name".to_owned()),
        );
    }
    let kind = f.need_string("type")?;
    let Some((_, keys)) = schema::PROBES.iter().find(|p| p.0 == kind.value) else {
        let help = suggest::help(kind.value, "types", schema::PROBES.iter().map(|p| p.0));
        return kind.fail(
            reporter,
            Kind::UnknownName,
            format!("there is no probe of type `{}`", kind.value),
            Some(help),
        );
    };
    let known: Vec<&str> = ["name", "type"]
        .into_iter()
        .chain(keys.iter().copied())
        .collect();
    f.allow(&known);

    let need_body = || names.need(&f, "body");
    // Outer `None`: reported; inner: all bodies.
    let any_body = || match f.get("body") {
        Some(_) => need_body().map(Some),
        None => Some(None),
    };
    let at_point = || {
        let body = need_body()?;
        if f.exactly_one(&["node", "near"]) {
            point(&f, body)
        } else {
            None
        }
    };
    let unit = || match axis(&f, None)? {
        Axis::Along(d) => Some(d),
        Axis::Norm => f.fail(
            Kind::Value,
            "axis",
            format!("`axis` of {} must be a direction", f.what),
            None,
        ),
    };
    let norm = Some(Axis::Norm);
    let summed = |what| {
        let body = need_body()? as u32;
        let with = match f.get("with") {
            Some(_) => Some(names.need_thing(&f, "with", obstacles)? as u32),
            None => None,
        };
        Some(Followed::Contact(ContactSum { body, with, what }))
    };
    let of = match kind.value {
        "position" => Followed::Position(at_point()?, axis(&f, None)?),
        "displacement" => Followed::Displacement(at_point()?, axis(&f, norm)?),
        "velocity" => Followed::Velocity(at_point()?, axis(&f, norm)?),
        "distance" => {
            let end = |key| {
                Some(
                    anchor(
                        reporter,
                        f.need(key)?,
                        &format!("`{key}` of {}", f.what),
                        names,
                    )?
                    .value,
                )
            };
            let (a, b) = (end("a"), end("b"));
            Followed::Distance(a?, b?)
        }
        "centroid" => Followed::Centroid(any_body()?, axis(&f, None)?),
        "centroid-velocity" => Followed::CentroidVelocity(any_body()?, axis(&f, norm)?),
        "travel" => Followed::Travel(any_body()?),
        "radius" => {
            let point = match f.has("point") {
                true => f.vector("point")?,
                false => Vec3::zeros(),
            };
            Followed::Radius(any_body()?, point, unit()?)
        }
        "min" => Followed::Min(need_body()?, unit()?),
        "max" => Followed::Max(need_body()?, unit()?),
        "size" => Followed::Size(need_body()?, unit()?),
        "volume" => Followed::Volume(At::new(need_body()?, f.place_of("body"))),
        "area" => Followed::Area(need_body()?),
        "kinetic-energy" => Followed::Kinetic(any_body()?),
        "elastic-energy" => Followed::Elastic(any_body()?),
        "potential-energy" => Followed::Potential(any_body()?),
        "energy" => Followed::Energy(any_body()?),
        "momentum" => Followed::Momentum(any_body()?, axis(&f, norm)?),
        "angular-momentum" => Followed::AngularMomentum(any_body()?, axis(&f, norm)?),
        "tension" => Followed::Tension(named(&f, "attachment", springs)?),
        "enclosed-volume" => Followed::EnclosedVolume(named(&f, "volume", volumes)?),
        "pressure" => Followed::Pressure(named(&f, "volume", volumes)?),
        "contact-force" => summed(Resultant::Force(axis(&f, norm)?))?,
        "friction-force" => summed(Resultant::Friction(axis(&f, norm)?))?,
        "contact-torque" => summed(Resultant::Torque(axis(&f, norm)?))?,
        "normal-force" => summed(Resultant::Normal)?,
        "contacts" => summed(Resultant::Count)?,
        _ => Followed::Speed(need_body()?),
    };
    Some(ProbePlan {
        name,
        place: node.place,
        of,
    })
}

/// The attachment or volume that `key` names, by its index.
fn named(f: &Fields<'_>, key: &str, all: &[String]) -> Option<usize> {
    let name = f.need_string(key)?;
    let found = all.iter().position(|s| !s.is_empty() && s == name.value);
    found.or_else(|| {
        let named = all.iter().map(String::as_str).filter(|s| !s.is_empty());
        let help = suggest::help(name.value, &format!("{key}s"), named);
        name.fail(
            f.reporter,
            Kind::UnknownName,
            format!("there is no {key} `{}`", name.value),
            Some(help),
        )
    })
}

fn axis(f: &Fields<'_>, default: Option<Axis>) -> Option<Axis> {
    let node = match (f.get("axis"), default) {
        (Some(node), _) => node,
        (None, Some(axis)) => return Some(axis),
        (None, None) => f.need("axis")?,
    };
    if let Value::Array(_) = node.value {
        let v = f.vector("axis")?;
        return direction(f.reporter, v, node.place, &format!("`axis` of {}", f.what))
            .map(Axis::Along);
    }
    let axes = [
        ("x", Axis::Along(Vec3::x())),
        ("y", Axis::Along(Vec3::y())),
        ("z", Axis::Along(Vec3::z())),
        ("norm", Axis::Norm),
    ];
    f.choice("axis", &axes)
}
