//! `[[probe]]`.

use stiction_bodies::builder::Anchor;
use stiction_math::{Quat, Vec3};
use stiction_sim::probe::{Axis, ContactSum, ExtentEnd, Quantity, Resultant, Spot};

use crate::{
    format::{
        At, Direction, Fields, KeySpec, Preset, ProblemKind, Read, Rule, Section, SourceSpan,
        TableKeys, TreeNode, Type, Union, section,
    },
    read::{
        Context,
        names::{OfAttachment, OfBody, OfCollider, OfVolume},
        pin::{SpotKeys, SpotPlan, point},
    },
};

/// A probe.
pub(crate) struct ProbePlan {
    pub name: At<String>,
    pub place: SourceSpan,
    /// Place of its `body`.
    pub body: SourceSpan,
    pub of: Followed,
}

/// Measured quantity, bodies and attachments by their indices. Where a quantity begins is filled in later.
pub(crate) enum Followed {
    /// Independent of the model.
    Quantity(Quantity),
    Point(Anchor, Box<dyn Fn(usize) -> Quantity>),
    Points([Anchor; 2]),
    Spots([SpotPlan; 2], Box<dyn Fn(Spot, Spot) -> Quantity>),
}

/// A type of probes.
pub(crate) struct ProbeKind {
    pub unit: &'static str,
    pub doc: &'static str,
    /// The word after `type`, and the keys in addition to `name` and `type`.
    pub section: Section,
    read: fn(&Fields<'_>) -> Option<Followed>,
}

section! { /// The keys of every probe.
    struct ProbeKeys "probe" {
    name: At<String> = Name, Required, "its column";
    kind as "type": () = Text, Required, "what it measures";
} }

/// Declares the keys by which probes differ.
macro_rules! own_keys {
    ($($id:ident $name:literal: $takes:expr, $default:expr, $doc:literal;)*) => {
        $(const $id: KeySpec = KeySpec { name: $name, takes: $takes, default: $default, doc: $doc };)*
    };
}
own_keys! {
    BODY "body": Type::Text, Preset::Required, "a body";
    BODIES "body": Type::Text, Preset::Said("all bodies"), "a body";
    AXIS "axis": AXES, Preset::Required, "an axis or a direction";
    AXIS_OR_NORM "axis": AXES, Preset::Said("`\"norm\"`"), "an axis or a direction";
    A "a": Type::Table(SpotKeys::SECTION), Preset::Required, "a point";
    B "b": Type::Table(SpotKeys::SECTION), Preset::Required, "a point";
    NODE "node": Type::Count(0), Preset::Absent, "a node, or:";
    NEAR "near": Type::Vector("m"), Preset::Absent, "the nearest point";
    POINT "point": Type::Vector("m"), Preset::Vec(&[0.0; 3]), "a point of the line";
    WITH "with": Type::Text, Preset::Said("all"), "a body or an obstacle";
    ATTACHMENT "attachment": Type::Text, Preset::Required, "an attachment";
    VOLUME "volume": Type::Text, Preset::Required, "an enclosed volume";
}
const AXES: Type = Type::Either(&[Type::Word(&["x", "y", "z", "norm"]), Type::Direction]);
const ONE_POINT: Rule = Rule::ExactlyOne(&["node", "near"]);

/// Declares types of probes: word, unit, keys, meaning, and what the keys make.
macro_rules! probes {
    ($($word:literal $unit:literal [$($key:ident)* $(; $rule:ident)?] $doc:literal, |$f:ident| $read:expr;)*) => {
        &[$(ProbeKind {
            unit: $unit,
            doc: $doc,
            section: Section { name: $word, keys: &[$($key),*], rules: &[$($rule)?] },
            read: |$f| $read,
        }),*]
    };
}

/// All types of probes.
pub(crate) const KINDS: &[ProbeKind] = probes! {
    "position" "m" [BODY NODE NEAR AXIS; ONE_POINT] "of a point", |f| of_point(f, Quantity::Position);
    "displacement" "m" [BODY NODE NEAR AXIS_OR_NORM; ONE_POINT] "of a point from its start", |f| of_point(f, |point, axis| Quantity::Displacement(point, Vec3::zeros(), axis));
    "velocity" "m/s" [BODY NODE NEAR AXIS_OR_NORM; ONE_POINT] "of a point", |f| of_point(f, Quantity::Velocity);
    "distance" "m" [A B] "between two points", |f| { let (a, b) = (anchor(f, "a"), anchor(f, "b")); Some(Followed::Points([a?, b?])) };
    "relative-position" "m" [A B AXIS] "of `a` from `b`", |f| of_two(f, Quantity::RelativePosition);
    "relative-velocity" "m/s" [A B AXIS_OR_NORM] "of `a` relative to `b`, in the world frame", |f| of_two(f, Quantity::RelativeVelocity);
    "angular-velocity" "°/s" [BODY AXIS_OR_NORM] "of a rigid body, in the world frame", |f| known(Quantity::AngularVelocity(body(f)?, axis(f)?));
    "angle" "°" [BODY AXIS] "by which a rigid body has turned since the start: the twist of its turn about a fixed direction of the world. It goes on over full turns if the body turns by less than half a turn per step; where the axis itself tips over by 180°, the twist is not defined", |f| known(Quantity::Angle(body(f)?, Quat::identity(), direction(f)?));
    "centroid" "m" [BODIES AXIS] "centre of mass", |f| known(Quantity::Centroid(bodies(f)?, axis(f)?));
    "centroid-velocity" "m/s" [BODIES AXIS_OR_NORM] "of the centre of mass", |f| known(Quantity::CentroidVelocity(bodies(f)?, axis(f)?));
    "travel" "m" [BODIES] "distance of the centre of mass from its start", |f| known(Quantity::Travel(bodies(f)?, Vec3::zeros()));
    "radius" "m" [BODIES AXIS POINT] "distance of the centre of mass from the line through the point along the axis", |f| known(Quantity::Radius(bodies(f)?, f.take("point")?, direction(f)?));
    "min" "m" [BODY AXIS] "least extent of the surface along the axis", |f| known(Quantity::Extent(body(f)?, direction(f)?, ExtentEnd::Min));
    "max" "m" [BODY AXIS] "greatest extent", |f| known(Quantity::Extent(body(f)?, direction(f)?, ExtentEnd::Max));
    "size" "m" [BODY AXIS] "the difference of the two", |f| known(Quantity::Extent(body(f)?, direction(f)?, ExtentEnd::Size));
    "volume" "m³" [BODY] "inside a closed surface", |f| known(Quantity::Volume(body(f)?));
    "area" "m²" [BODY] "of the surface", |f| known(Quantity::Area(body(f)?));
    "kinetic-energy" "J" [BODIES] "kinetic energy", |f| known(Quantity::Kinetic(bodies(f)?));
    "elastic-energy" "J" [BODIES] "elastic energy", |f| known(Quantity::Elastic(bodies(f)?));
    "potential-energy" "J" [BODIES] "potential energy in gravity", |f| known(Quantity::Potential(bodies(f)?));
    "energy" "J" [BODIES] "the sum of the three", |f| known(Quantity::Energy(bodies(f)?));
    "momentum" "kg·m/s" [BODIES AXIS_OR_NORM] "linear momentum", |f| known(Quantity::Momentum(bodies(f)?, axis(f)?));
    "angular-momentum" "kg·m²/s" [BODIES AXIS_OR_NORM] "about the origin", |f| known(Quantity::AngularMomentum(bodies(f)?, axis(f)?));
    "spin" "kg·m²/s" [BODIES AXIS_OR_NORM] "angular momentum about its own centre of mass, of any kind of body", |f| known(Quantity::Spin(bodies(f)?, axis(f)?));
    "tension" "N" [ATTACHMENT] "force in a spring, positive when it pulls", |f| known(Quantity::Tension(f.take::<OfAttachment>("attachment")?.0));
    "speed" "m/s" [BODY] "of its fastest node, or of the fastest point of a rigid body's surface", |f| known(Quantity::Speed(body(f)?));
    "contact-force" "N" [BODY WITH AXIS_OR_NORM] "sum of the contact forces on the body", |f| of_contacts(f, Resultant::Force(axis(f)?));
    "friction-force" "N" [BODY WITH AXIS_OR_NORM] "sum of their friction", |f| of_contacts(f, Resultant::Friction(axis(f)?));
    "contact-torque" "N·m" [BODY WITH AXIS_OR_NORM] "their torque about the origin", |f| of_contacts(f, Resultant::Torque(axis(f)?));
    "normal-force" "N" [BODY WITH] "sum of the sizes of the normal forces", |f| of_contacts(f, Resultant::Normal);
    "contacts" "1" [BODY WITH] "how many contacts bear a force", |f| of_contacts(f, Resultant::Count);
    "contact-work" "J" [] "work of all contacts so far: the sum of `certificate.contact_work`, also over a resume; negative where friction takes energy", |_f| known(Quantity::ContactWork);
    "enclosed-volume" "m³" [VOLUME] "of a [`[[volume]]`](#volume)", |f| known(Quantity::EnclosedVolume(f.take::<OfVolume>("volume")?.0));
    "pressure" "Pa" [VOLUME] "in it: absolute for a gas, above that of the surroundings otherwise", |f| known(Quantity::Pressure(f.take::<OfVolume>("volume")?.0));
};

pub(crate) const PROBES: Union = Union {
    name: "probe",
    common: ProbeKeys::SECTION.keys,
    members: || {
        let doc = |k: &ProbeKind| format!("{} [{}]", k.doc, k.unit);
        let member = |k: &'static ProbeKind| (k.section.name, doc(k), &k.section);
        KINDS.iter().map(member).collect()
    },
};

impl Read<Context> for ProbePlan {
    fn read(root: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        let f = root.open(node, root.title(key, node))?;
        let word = f.checked::<String>("type", Type::Text);
        let kind = word.and_then(|word| {
            let found = KINDS.iter().find(|k| k.section.name == word);
            found.or_else(|| {
                let message = format!("there is no probe of type `{word}`");
                let known = KINDS.iter().map(|k| k.section.name);
                f.unknown("type", message, &word, "types", known)
            })
        });
        // Of a probe of an unknown type, no key is wrong.
        let own = kind.map_or(&[][..], |k| k.section.keys);
        let f = f.with_keys(PROBES.common, own, kind.is_some());
        let (name, kind) = (ProbeKeys::keys(&f)?.name, kind?);
        f.rules(kind.section.rules, |_| None);
        if name.value.starts_with("certificate.") {
            let message = format!("{} would hide a field of the certificate", f.what);
            return f.refuse("name", message, "choose another name");
        }
        Some(Self {
            name,
            place: node.place,
            body: f.place_of("body"),
            of: (kind.read)(&f)?,
        })
    }
}

fn known(quantity: Quantity) -> Option<Followed> {
    Some(Followed::Quantity(quantity))
}

fn body(f: &Fields<'_>) -> Option<usize> {
    f.take("body").map(|OfBody(body)| body)
}

/// A body, or all of them.
fn bodies(f: &Fields<'_>) -> Option<Option<usize>> {
    Some(f.take::<Option<OfBody>>("body")?.map(|b| b.0))
}

fn axis(f: &Fields<'_>) -> Option<Axis> {
    Some(f.take::<Option<Axis>>("axis")?.unwrap_or(Axis::Norm))
}

fn direction(f: &Fields<'_>) -> Option<Vec3> {
    match f.take("axis")? {
        Axis::Along(d) => Some(d),
        Axis::Norm => {
            let message = format!("`axis` of {} must be a direction", f.what);
            f.refuse("axis", message, None)
        }
    }
}

fn of_point(f: &Fields<'_>, of: fn(usize, Axis) -> Quantity) -> Option<Followed> {
    let (near, node) = (f.take("near")?, f.take("node")?);
    let (anchor, axis) = (point(None, f.take("body"), near, node)?, axis(f)?);
    let of = Box::new(move |point| of(point, axis));
    Some(Followed::Point(anchor, of))
}

fn of_two(f: &Fields<'_>, of: fn(Spot, Spot, Axis) -> Quantity) -> Option<Followed> {
    let (a, b, axis) = (f.take("a"), f.take("b"), axis(f)?);
    let of = Box::new(move |a, b| of(a, b, axis));
    Some(Followed::Spots([a?, b?], of))
}

/// A point that is no centre of mass.
fn anchor(f: &Fields<'_>, key: &str) -> Option<Anchor> {
    match f.take(key)? {
        SpotPlan::Point(anchor) => Some(anchor),
        SpotPlan::Centre(_) => {
            let message = format!("{} needs one of `world`, `near`, `node`", f.label(key));
            f.fail(ProblemKind::MissingKey, key, message, None)
        }
    }
}

fn of_contacts(f: &Fields<'_>, what: Resultant) -> Option<Followed> {
    let with = f.take::<Option<OfCollider>>("with")?.map(|c| c.0 as u32);
    let body = body(f)? as u32;
    known(Quantity::Contact(ContactSum { body, with, what }))
}

impl Read<Context> for Axis {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        Some(match node.text() {
            None => Self::Along(Direction::read(f, key, node)?.0),
            Some("x") => Self::Along(Vec3::x()),
            Some("y") => Self::Along(Vec3::y()),
            Some("z") => Self::Along(Vec3::z()),
            Some(_) => Self::Norm,
        })
    }
}
