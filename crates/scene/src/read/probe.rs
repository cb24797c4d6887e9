//! `[[probe]]`.

use stiction_bodies::builder::Anchor;
use stiction_math::Vec3;
use stiction_sim::probe::{Axis, ContactSum, ExtentEnd, Quantity, Resultant};

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, Key, Type, keys, section},
    read::{
        body::Names,
        pin::{ANCHOR, anchor, point},
    },
    source::{At, SourceSpan},
    suggest,
    tree::{Node, Value},
};

/// A probe as it was read.
pub(crate) struct ProbePlan {
    pub name: At<String>,
    pub place: SourceSpan,
    pub of: Followed,
}

/// Measured quantity, bodies and attachments by their indices.
pub(crate) enum Followed {
    /// Independent of the model.
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

/// Reader of a type of probes: its keys, and the function that uses them.
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
    Extent(ExtentEnd),
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

/// A type of probes.
pub(crate) struct ProbeKind {
    /// The word after `type`.
    pub name: &'static str,
    pub unit: &'static str,
    pub doc: &'static str,
    pub reading: Reading,
}

macro_rules! probes {
    ($($name:literal $unit:literal $reading:expr, $doc:literal;)*) => {
        &[$(ProbeKind { name: $name, unit: $unit, doc: $doc, reading: $reading }),*]
    };
}

/// All types of probes.
pub(crate) const KINDS: &[ProbeKind] = probes! {
    "position" "m" Reading::Point(Followed::Position, None), "of a point";
    "displacement" "m" Reading::Point(Followed::Displacement, NORM), "of a point from its start";
    "velocity" "m/s" Reading::Point(Followed::Velocity, NORM), "of a point";
    "distance" "m" Reading::Distance, "between two points";
    "relative-position" "m" Reading::Relative(Followed::RelativePosition, None), "of `a` from `b`";
    "relative-velocity" "m/s" Reading::Relative(Followed::RelativeVelocity, NORM), "of `a` relative to `b`, in the world frame";
    "angular-velocity" "°/s" Reading::RigidAlong(Followed::AngularVelocity, NORM), "of a rigid body, in the world frame";
    "angle" "°" Reading::Angle, "by which a rigid body has turned since the start: the twist of its turn about a fixed direction of the world. It goes on over full turns if the body turns by less than half a turn per step; where the axis itself tips over by 180°, the twist is not defined";
    "centroid" "m" Reading::BodiesAlong(Quantity::Centroid, None), "centre of mass";
    "centroid-velocity" "m/s" Reading::BodiesAlong(Quantity::CentroidVelocity, NORM), "of the centre of mass";
    "travel" "m" Reading::Bodies(Followed::Travel), "distance of the centre of mass from its start";
    "radius" "m" Reading::Radius, "distance of the centre of mass from the line through the point along the axis";
    "min" "m" Reading::Extent(ExtentEnd::Min), "least extent of the surface along the axis";
    "max" "m" Reading::Extent(ExtentEnd::Max), "greatest extent";
    "size" "m" Reading::Extent(ExtentEnd::Size), "the difference of the two";
    "volume" "m³" Reading::ClosedBody, "inside a closed surface";
    "area" "m²" Reading::Body(Quantity::Area), "of the surface";
    "kinetic-energy" "J" Reading::Bodies(|b| Followed::Quantity(Quantity::Kinetic(b))), "kinetic energy";
    "elastic-energy" "J" Reading::Bodies(|b| Followed::Quantity(Quantity::Elastic(b))), "elastic energy";
    "potential-energy" "J" Reading::Bodies(|b| Followed::Quantity(Quantity::Potential(b))), "potential energy in gravity";
    "energy" "J" Reading::Bodies(|b| Followed::Quantity(Quantity::Energy(b))), "the sum of the three";
    "momentum" "kg·m/s" Reading::BodiesAlong(Quantity::Momentum, NORM), "linear momentum";
    "angular-momentum" "kg·m²/s" Reading::BodiesAlong(Quantity::AngularMomentum, NORM), "about the origin";
    "spin" "kg·m²/s" Reading::BodiesAlong(Quantity::Spin, NORM), "angular momentum about its own centre of mass, of any kind of body";
    "tension" "N" Reading::Attachment(Quantity::Tension), "force in a spring, positive when it pulls";
    "speed" "m/s" Reading::Body(Quantity::Speed), "of its fastest node, or of the fastest point of a rigid body's surface";
    "contact-force" "N" Reading::ContactAlong(Resultant::Force), "sum of the contact forces on the body";
    "friction-force" "N" Reading::ContactAlong(Resultant::Friction), "sum of their friction";
    "contact-torque" "N·m" Reading::ContactAlong(Resultant::Torque), "their torque about the origin";
    "normal-force" "N" Reading::Contact(Resultant::Normal), "sum of the sizes of the normal forces";
    "contacts" "1" Reading::Contact(Resultant::Count), "how many contacts bear a force";
    "contact-work" "J" Reading::Scene(Quantity::ContactWork), "work of all contacts so far: the sum of `certificate.contact_work`, also over a resume; negative where friction takes energy";
    "enclosed-volume" "m³" Reading::Volume(Quantity::EnclosedVolume), "of a [`[[volume]]`](#volume)";
    "pressure" "Pa" Reading::Volume(Quantity::Pressure), "in it: absolute for a gas, above that of the surroundings otherwise";
};

section! { /// The keys of every probe.
    pub(crate) PROBE "probe";
    "name": Name, Required, "its column";
    "type": Text, Required, "what it measures";
}

/// A key by which probes differ: the same for all that have it, but for its default.
macro_rules! key {
    ("body") => { keys!("body": Text, Required, "a body";) };
    ("body?") => { keys!("body": Text, Said("all bodies"), "a body";) };
    ("axis") => { keys!("axis": AXIS, Required, "an axis or a direction";) };
    ("axis?") => { keys!("axis": AXIS, Said("`\"norm\"`"), "an axis or a direction";) };
    ("a") => { keys!("a": Table(&ANCHOR), Required, "a point";) };
    ("b") => { keys!("b": Table(&ANCHOR), Required, "a point";) };
    ("node") => { keys!("node": Count(0), Absent, "a node, or:";) };
    ("near") => { keys!("near": Vector("m"), Absent, "the nearest point";) };
    ("point") => { keys!("point": Vector("m"), Vec(&[0.0; 3]), "a point of the line";) };
    ("with") => { keys!("with": Text, Said("all"), "a body or an obstacle";) };
    ("attachment") => { keys!("attachment": Text, Required, "an attachment";) };
    ("volume") => { keys!("volume": Text, Required, "an enclosed volume";) };
}
const AXIS: Type = Type::Either(&[Type::Word(&["x", "y", "z", "norm"]), Type::Direction]);

impl Reading {
    /// The keys in addition to `name` and `type`.
    pub fn keys(&self) -> Vec<&'static Key> {
        let lists: &[&'static [Key]] = match self {
            Self::Point(_, None) => &[key!("body"), key!("node"), key!("near"), key!("axis")],
            Self::Point(..) => &[key!("body"), key!("node"), key!("near"), key!("axis?")],
            Self::Distance => &[key!("a"), key!("b")],
            Self::Relative(_, None) => &[key!("a"), key!("b"), key!("axis")],
            Self::Relative(..) => &[key!("a"), key!("b"), key!("axis?")],
            Self::RigidAlong(..) => &[key!("body"), key!("axis?")],
            Self::Angle | Self::Extent(_) => &[key!("body"), key!("axis")],
            Self::Scene(_) => &[],
            Self::Body(_) | Self::ClosedBody => &[key!("body")],
            Self::Bodies(_) => &[key!("body?")],
            Self::BodiesAlong(_, None) => &[key!("body?"), key!("axis")],
            Self::BodiesAlong(..) => &[key!("body?"), key!("axis?")],
            Self::Radius => &[key!("body?"), key!("axis"), key!("point")],
            Self::Attachment(_) => &[key!("attachment")],
            Self::Volume(_) => &[key!("volume")],
            Self::Contact(_) => &[key!("body"), key!("with")],
            Self::ContactAlong(_) => &[key!("body"), key!("with"), key!("axis?")],
        };
        lists.iter().flat_map(|l| l.iter()).collect()
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
    let what = match node.name() {
        Some(name) => format!("probe `{name}`"),
        None => f.what.clone(),
    };
    let f = f.called(what);
    let word = f.checked::<String>("type", Type::Text);
    let kind = word.and_then(|word| {
        let found = KINDS.iter().find(|k| k.name == word);
        found.or_else(|| {
            let help = suggest::help(&word, "types", KINDS.iter().map(|k| k.name));
            let message = format!("there is no probe of type `{word}`");
            f.fail(ProblemKind::UnknownName, "type", message, Some(help))
        })
    });
    let own = kind.map_or_else(Vec::new, |k| k.reading.keys());
    // Of a probe of an unknown type, no key is wrong.
    let f = f.with_keys(PROBE.keys.iter().chain(own), kind.is_some());
    let (name, reading) = (f.name()?, &kind?.reading);
    if name.value.starts_with("certificate.") {
        let message = format!("{} would hide a field of the certificate", f.what);
        return f.refuse("name", message, "choose another name");
    }
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
                let point = self.f.take("point")?;
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

    fn fields(&self, key: &str) -> Option<Fields<'_>> {
        Fields::new(
            self.f.reporter,
            self.f.get(key)?,
            self.f.label(key),
            &ANCHOR,
        )
    }

    fn anchor(&self, key: &str) -> Option<Anchor> {
        let f = self.fields(key)?;
        match f.exactly_one(&["world", "near", "node"]) {
            true => anchor(&f, self.names).map(|a| a.value),
            false => None,
        }
    }

    /// A point, or a body alone for its centre of mass.
    fn spot(&self, key: &str) -> Option<SpotPlan> {
        let f = self.fields(key)?;
        match ["world", "near", "node"].iter().any(|k| f.has(k)) {
            true => anchor(&f, self.names).map(|a| SpotPlan::Point(a.value)),
            false if !f.has("body") => f.missing("body"),
            false => self.names.need(&f, "body").map(SpotPlan::Centre),
        }
    }

    fn direction(&self) -> Option<Vec3> {
        let f = self.f;
        match axis(f, None)? {
            Axis::Along(d) => Some(d),
            Axis::Norm => {
                let message = format!("`axis` of {} must be a direction", f.what);
                f.refuse("axis", message, "")
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
    let name = f.text(key)?;
    let found = all.iter().position(|s| !s.is_empty() && s == name.value);
    found.or_else(|| {
        let named = all.iter().map(String::as_str).filter(|s| !s.is_empty());
        let help = suggest::help(name.value, &format!("{key}s"), named);
        name.fail(
            f.reporter,
            ProblemKind::UnknownName,
            format!("there is no {key} `{}`", name.value),
            Some(help),
        )
    })
}

fn axis(f: &Fields<'_>, default: Option<Axis>) -> Option<Axis> {
    match f.get("axis").map(|n| &n.value) {
        None => default,
        Some(Value::Array(_)) => f.direction("axis").map(Axis::Along),
        Some(_) => Some(match f.text("axis")?.value {
            "x" => Axis::Along(Vec3::x()),
            "y" => Axis::Along(Vec3::y()),
            "z" => Axis::Along(Vec3::z()),
            _ => Axis::Norm,
        }),
    }
}
