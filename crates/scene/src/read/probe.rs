//! `[[probe]]`.

use stiction_bodies::builder::Anchor;
use stiction_math::Vec3;
use stiction_sim::probe::{Axis, ContactSum, End, Quantity, Resultant};

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
    /// What is known without the model.
    Quantity(Quantity),
    Position(Anchor, Axis),
    Displacement(Anchor, Axis),
    Velocity(Anchor, Axis),
    Distance(Anchor, Anchor),
    Travel(Option<usize>),
    Volume(At<usize>),
    AngularVelocity(At<usize>, Axis),
    Angle(At<usize>, Vec3),
    RelativePosition(SpotPlan, SpotPlan, Axis),
    RelativeVelocity(SpotPlan, SpotPlan, Axis),
}

/// A point, or the centre of mass of a body.
pub(crate) enum SpotPlan {
    Point(Anchor),
    Centre(usize),
}

/// How a type of probes is read: its keys, and what they make.
pub(crate) enum Reading {
    /// A point of a body, and an axis with its default.
    Point(fn(Anchor, Axis) -> Followed, Option<Axis>),
    /// Two points.
    Distance,
    /// Two points or bodies, and an axis with its default.
    Relative(fn(SpotPlan, SpotPlan, Axis) -> Followed, Option<Axis>),
    /// A rigid body, and an axis with its default.
    RigidAlong(fn(At<usize>, Axis) -> Followed, Option<Axis>),
    /// A rigid body and a direction.
    Angle,
    /// The whole scene.
    Scene(Quantity),
    /// A body.
    Body(fn(usize) -> Quantity),
    /// A body whose surface is closed.
    ClosedBody,
    /// A body and a direction.
    Extent(End),
    /// A body or all.
    Bodies(fn(Option<usize>) -> Followed),
    /// A body or all, and an axis with its default.
    BodiesAlong(fn(Option<usize>, Axis) -> Quantity, Option<Axis>),
    /// A body or all, and a line.
    Radius,
    /// An attachment.
    Attachment(fn(usize) -> Quantity),
    /// An enclosed volume.
    Volume(fn(usize) -> Quantity),
    /// Contacts of a body.
    Contact(Resultant),
    /// Contacts of a body, and an axis.
    ContactAlong(fn(Axis) -> Resultant),
}

const NORM: Option<Axis> = Some(Axis::Norm);

/// All types of probes.
pub(crate) const KINDS: &[(&str, Reading)] = &[
    ("position", Reading::Point(Followed::Position, None)),
    ("displacement", Reading::Point(Followed::Displacement, NORM)),
    ("velocity", Reading::Point(Followed::Velocity, NORM)),
    ("distance", Reading::Distance),
    (
        "relative-position",
        Reading::Relative(Followed::RelativePosition, None),
    ),
    (
        "relative-velocity",
        Reading::Relative(Followed::RelativeVelocity, NORM),
    ),
    (
        "angular-velocity",
        Reading::RigidAlong(Followed::AngularVelocity, NORM),
    ),
    ("angle", Reading::Angle),
    ("centroid", Reading::BodiesAlong(Quantity::Centroid, None)),
    (
        "centroid-velocity",
        Reading::BodiesAlong(Quantity::CentroidVelocity, NORM),
    ),
    ("travel", Reading::Bodies(Followed::Travel)),
    ("radius", Reading::Radius),
    ("min", Reading::Extent(End::Min)),
    ("max", Reading::Extent(End::Max)),
    ("size", Reading::Extent(End::Size)),
    ("volume", Reading::ClosedBody),
    ("area", Reading::Body(Quantity::Area)),
    (
        "kinetic-energy",
        Reading::Bodies(|b| Followed::Quantity(Quantity::Kinetic(b))),
    ),
    (
        "elastic-energy",
        Reading::Bodies(|b| Followed::Quantity(Quantity::Elastic(b))),
    ),
    (
        "potential-energy",
        Reading::Bodies(|b| Followed::Quantity(Quantity::Potential(b))),
    ),
    (
        "energy",
        Reading::Bodies(|b| Followed::Quantity(Quantity::Energy(b))),
    ),
    ("momentum", Reading::BodiesAlong(Quantity::Momentum, NORM)),
    (
        "angular-momentum",
        Reading::BodiesAlong(Quantity::AngularMomentum, NORM),
    ),
    ("spin", Reading::BodiesAlong(Quantity::Spin, NORM)),
    ("tension", Reading::Attachment(Quantity::Tension)),
    ("speed", Reading::Body(Quantity::Speed)),
    ("contact-force", Reading::ContactAlong(Resultant::Force)),
    ("friction-force", Reading::ContactAlong(Resultant::Friction)),
    ("contact-torque", Reading::ContactAlong(Resultant::Torque)),
    ("normal-force", Reading::Contact(Resultant::Normal)),
    ("contacts", Reading::Contact(Resultant::Count)),
    ("contact-work", Reading::Scene(Quantity::ContactWork)),
    ("enclosed-volume", Reading::Volume(Quantity::EnclosedVolume)),
    ("pressure", Reading::Volume(Quantity::Pressure)),
];

impl Reading {
    /// The keys beside `name` and `type`.
    pub fn keys(&self) -> &'static [&'static str] {
        match self {
            Self::Point(..) => &["body", "node", "near", "axis"],
            Self::Distance => &["a", "b"],
            Self::Relative(..) => &["a", "b", "axis"],
            Self::RigidAlong(..) | Self::Angle => &["body", "axis"],
            Self::Scene(_) => &[],
            Self::Body(_) | Self::ClosedBody | Self::Bodies(_) => &["body"],
            Self::Extent(_) | Self::BodiesAlong(..) => &["body", "axis"],
            Self::Radius => &["body", "axis", "point"],
            Self::Attachment(_) => &["attachment"],
            Self::Volume(_) => &["volume"],
            Self::Contact(_) => &["body", "with"],
            Self::ContactAlong(_) => &["body", "with", "axis"],
        }
    }
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
    let word = f.need_string("type")?;
    let Some((_, reading)) = KINDS.iter().find(|k| k.0 == word.value) else {
        let help = suggest::help(word.value, "types", KINDS.iter().map(|k| k.0));
        return word.fail(
            reporter,
            Kind::UnknownName,
            format!("there is no probe of type `{}`", word.value),
            Some(help),
        );
    };
    f.allow(&[&["name", "type"], reading.keys()].concat());
    let reader = Reader {
        f: &f,
        names,
        springs,
        obstacles,
        volumes,
    };
    let of = reader.read(reading)?;
    Some(ProbePlan {
        name,
        place: node.place,
        of,
    })
}

/// Reads the keys of a probe.
struct Reader<'f, 'a> {
    f: &'f Fields<'a>,
    names: &'f Names,
    springs: &'f [String],
    obstacles: &'f [String],
    volumes: &'f [String],
}

impl Reader<'_, '_> {
    fn read(&self, reading: &Reading) -> Option<Followed> {
        Some(Followed::Quantity(match reading {
            Reading::Point(make, default) => {
                return Some(make(self.point()?, axis(self.f, *default)?));
            }
            Reading::Distance => {
                let (a, b) = (self.anchor("a"), self.anchor("b"));
                return Some(Followed::Distance(a?, b?));
            }
            Reading::Relative(make, default) => {
                let (a, b) = (self.spot("a"), self.spot("b"));
                return Some(make(a?, b?, axis(self.f, *default)?));
            }
            Reading::RigidAlong(make, default) => {
                let body = At::new(self.body()?, self.f.place_of("body"));
                return Some(make(body, axis(self.f, *default)?));
            }
            Reading::Angle => {
                let body = At::new(self.body()?, self.f.place_of("body"));
                return Some(Followed::Angle(body, self.direction()?));
            }
            Reading::Scene(quantity) => quantity.clone(),
            Reading::Bodies(make) => return Some(make(self.any_body()?)),
            Reading::ClosedBody => {
                let body = At::new(self.body()?, self.f.place_of("body"));
                return Some(Followed::Volume(body));
            }
            Reading::Body(make) => make(self.body()?),
            Reading::Extent(end) => Quantity::Extent(self.body()?, self.direction()?, *end),
            Reading::BodiesAlong(make, default) => make(self.any_body()?, axis(self.f, *default)?),
            Reading::Radius => {
                let point = match self.f.has("point") {
                    true => self.f.vector("point")?,
                    false => Vec3::zeros(),
                };
                Quantity::Radius(self.any_body()?, point, self.direction()?)
            }
            Reading::Attachment(make) => make(named(self.f, "attachment", self.springs)?),
            Reading::Volume(make) => make(named(self.f, "volume", self.volumes)?),
            Reading::Contact(what) => self.summed(*what)?,
            Reading::ContactAlong(what) => self.summed(what(axis(self.f, NORM)?))?,
        }))
    }

    fn body(&self) -> Option<usize> {
        self.names.need(self.f, "body")
    }

    /// Outer `None`: reported; inner: all bodies.
    fn any_body(&self) -> Option<Option<usize>> {
        match self.f.get("body") {
            Some(_) => self.body().map(Some),
            None => Some(None),
        }
    }

    fn point(&self) -> Option<Anchor> {
        let body = self.body()?;
        match self.f.exactly_one(&["node", "near"]) {
            true => point(self.f, body),
            false => None,
        }
    }

    fn anchor(&self, key: &str) -> Option<Anchor> {
        let what = format!("`{key}` of {}", self.f.what);
        let found = anchor(self.f.reporter, self.f.need(key)?, &what, self.names)?;
        Some(found.value)
    }

    /// A point, or a body alone for its centre of mass.
    fn spot(&self, key: &str) -> Option<SpotPlan> {
        let what = format!("`{key}` of {}", self.f.what);
        let node = self.f.need(key)?;
        let f = Fields::new(self.f.reporter, node, what, schema::ANCHOR)?;
        match ["world", "near", "node"].iter().any(|k| f.has(k)) {
            true => self.anchor(key).map(SpotPlan::Point),
            false => self.names.need(&f, "body").map(SpotPlan::Centre),
        }
    }

    fn direction(&self) -> Option<Vec3> {
        let f = self.f;
        match axis(f, None)? {
            Axis::Along(d) => Some(d),
            Axis::Norm => {
                let message = format!("`axis` of {} must be a direction", f.what);
                f.fail(Kind::Value, "axis", message, None)
            }
        }
    }

    fn summed(&self, what: Resultant) -> Option<Quantity> {
        let body = self.body()? as u32;
        let with = match self.f.get("with") {
            Some(_) => Some(self.names.need_thing(self.f, "with", self.obstacles)? as u32),
            None => None,
        };
        Some(Quantity::Contact(ContactSum { body, with, what }))
    }
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
