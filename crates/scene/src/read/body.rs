//! `[[body]]`.

use std::collections::BTreeMap;

use stiction_bodies::{
    Load,
    builder::{BodySpec, Rooting},
    drag::Drag,
    material::{Damping, MassKind, RestAngles, ShellMaterial, SolidMaterial},
    motion::{Interpolation, Track},
    rod::{Natural, RodMaterial, Twist},
    schedule::Schedule,
};
use stiction_math::Vec3;

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, string},
    friction::Coefficients,
    read::{
        material::Materials,
        motion::load,
        pin::{Filter, selection},
        place::{Placement, placement},
        settings::plain_name,
        shape::{Generator, Purpose, ShapePlan, shape},
    },
    schema,
    source::{At, Place},
    suggest,
    tree::{Node, Table, Value},
};

/// A body as it was read.
pub(crate) struct BodyPlan {
    pub name: At<String>,
    pub stuff: Stuff,
    pub geometry: Geometry,
    pub placement: Placement,
    /// All of it but names.
    pub spec: BodySpec,
    pub drag: Option<Drag>,
    /// The material's name in the friction table.
    pub material: String,
    pub friction: Option<Coefficients>,
    /// The material with all that it inherits.
    pub material_table: Table,
    pub repeat: Option<Repeat>,
    /// Where a shell is of another material; of several that hold a triangle, the last counts.
    pub patches: Vec<(At<Vec<Filter>>, ShellMaterial)>,
    /// What rods grow out of: the body's index.
    pub rooted: Option<(At<usize>, Rooting)>,
    /// Where errors about the built body point.
    pub place: Place,
}

/// What it is made of.
pub(crate) enum Stuff {
    Shell(ShellMaterial),
    Solid(SolidMaterial),
    Embedded(SolidMaterial, At<f64>),
    Rigid(f64, Damping),
    Particles {
        radius: f64,
        density: f64,
        damping: Damping,
    },
    Frames(SolidMaterial),
    /// Rods and the director of their first edges.
    Rods(RodMaterial, Vec3),
}

/// Where its mesh comes from.
pub(crate) enum Geometry {
    Shape(ShapePlan),
    File(At<String>),
}

/// Copies side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeat {
    pub count: u32,
    pub step: Vec3,
}

/// More bodies than this are a slip of the keyboard.
const MOST_COPIES: u32 = 100_000;

/// The bodies' names, copies included, in the order in which they are built.
pub(crate) struct Names {
    list: Vec<String>,
    index: BTreeMap<String, usize>,
}

impl Names {
    /// Reads only the names, so that a mistake elsewhere in a body does not make it unknown.
    pub fn of_bodies(reporter: &Reporter, nodes: &[Node]) -> Self {
        let mut names = Self {
            list: Vec::new(),
            index: BTreeMap::new(),
        };
        for node in nodes {
            let Value::Table(table) = &node.value else {
                continue;
            };
            let Some(Node {
                value: Value::String(name),
                place,
            }) = table.get("name")
            else {
                continue;
            };
            for copy in copies(name, repeat_count(table)) {
                let at = names.list.len();
                if names.index.insert(copy.clone(), at).is_some() {
                    let message = format!("two bodies are called `{copy}`");
                    reporter.fail::<()>(
                        Kind::Duplicate,
                        *place,
                        message,
                        Some("give each its own name".to_owned()),
                    );
                }
                names.list.push(copy);
            }
        }
        names
    }

    /// The index of the body called `name`.
    pub fn find(&self, reporter: &Reporter, name: &At<&str>) -> Option<usize> {
        match self.index.get(name.value) {
            Some(i) => Some(*i),
            None => {
                let help =
                    suggest::help(name.value, "bodies", self.list.iter().map(String::as_str));
                name.fail(
                    reporter,
                    Kind::UnknownName,
                    format!("there is no body `{}`", name.value),
                    Some(help),
                )
            }
        }
    }

    /// The index of the body that `key` names, or the number of bodies plus the index among
    /// `obstacles`: how contacts number them.
    pub fn need_thing(&self, f: &Fields<'_>, key: &str, obstacles: &[String]) -> Option<usize> {
        let name = string(f.reporter, f.need(key)?, &format!("`{key}` of {}", f.what))?;
        if let Some(body) = self.index.get(name.value) {
            return Some(*body);
        }
        if let Some(at) = obstacles.iter().position(|o| o == name.value) {
            return Some(self.list.len() + at);
        }
        let known = self.list.iter().chain(obstacles).map(String::as_str);
        let help = suggest::help(name.value, "bodies and obstacles", known);
        let message = format!("there is no body or obstacle `{}`", name.value);
        name.fail(f.reporter, Kind::UnknownName, message, Some(help))
    }

    /// The index of the body that `key` names.
    pub fn need(&self, f: &Fields<'_>, key: &str) -> Option<usize> {
        let name = string(f.reporter, f.need(key)?, &format!("`{key}` of {}", f.what))?;
        self.find(f.reporter, &name)
    }
}

fn repeat_count(table: &Table) -> Option<u32> {
    let Value::Table(repeat) = &table.get("repeat")?.value else {
        return None;
    };
    let Value::Integer(count) = repeat.get("count")?.value else {
        return None;
    };
    Some(u32::try_from(count).unwrap_or(0).min(MOST_COPIES))
}

/// The names of a body's copies, or its own.
pub(crate) fn copies(name: &str, count: Option<u32>) -> Vec<String> {
    match count {
        Some(count) => (1..=count).map(|i| format!("{name}-{i}")).collect(),
        None => vec![name.to_owned()],
    }
}

const KINDS: &[(&str, Purpose)] = &[
    ("shell", Purpose::Shell),
    ("solid", Purpose::Solid),
    ("embedded", Purpose::Embedded),
    ("rigid", Purpose::Rigid),
    ("particles", Purpose::Particles),
    ("rods", Purpose::Rods),
    ("frames", Purpose::Frames),
];

pub(crate) fn body(
    reporter: &Reporter,
    node: &Node,
    materials: &Materials<'_>,
    names: &Names,
) -> Option<BodyPlan> {
    let f = Fields::named(reporter, node, "body", schema::BODY)?;
    let name = f.need_string("name")?;
    let name = At::new(
        plain_name(reporter, name.clone(), "the `name` of a body")?,
        name.place,
    );
    let material = f
        .need("material")
        .and_then(|n| materials.of(n, &name.value));
    let purpose = match f.get("kind") {
        Some(_) => f.choice("kind", KINDS)?,
        None => material.as_ref()?.purpose(&f)?,
    };
    only_for(&f, purpose);
    let placement = placement(&f);
    let spec = spec(&f, purpose, &name.value, placement.as_ref());
    let repeat = match f.get("repeat") {
        Some(node) => Some(repeat(reporter, node, &f.what)?),
        None => None,
    };

    let rooted = match f.get("rooted") {
        Some(node) => Some(rooted(&f, node, names, &name.value)?),
        None => None,
    };

    let rest_angles = f.choice(
        "rest_angles",
        &[("mesh", RestAngles::Mesh), ("flat", RestAngles::Flat)],
    );
    let patches = match f.get("patch") {
        Some(node) => list(reporter, node, "`patch`", None)?
            .iter()
            .map(|node| patch(&f, node, materials, rest_angles.unwrap_or_default()))
            .collect::<Option<_>>()?,
        None => Vec::new(),
    };
    let stuff = material.as_ref().and_then(|m| {
        Some(match purpose {
            Purpose::Shell => Stuff::Shell(m.shell(reporter, rest_angles.unwrap_or_default())?),
            Purpose::Solid => Stuff::Solid(m.solid(reporter)?),
            Purpose::Frames => Stuff::Frames(m.solid(reporter)?),
            Purpose::Embedded => {
                let cell = f.need_positive("cell");
                Stuff::Embedded(m.solid(reporter)?, At::new(cell?, f.place_of("cell")))
            }
            Purpose::Rigid => {
                let (density, damping) = m.rigid(reporter)?;
                Stuff::Rigid(density, damping)
            }
            Purpose::Particles => {
                let radius = f.need_positive("radius");
                let (density, damping) = m.rigid(reporter)?;
                Stuff::Particles {
                    radius: radius?,
                    density,
                    damping,
                }
            }
            Purpose::Rods => {
                let natural = [("given", Natural::Given), ("straight", Natural::Straight)];
                let natural = f.choice("natural", &natural).unwrap_or_default();
                let twist = [
                    ("dynamic", Twist::Dynamic),
                    ("quasi-static", Twist::QuasiStatic),
                ];
                let twist = f.choice("twist", &twist).unwrap_or_default();
                let director = match f.has("director") {
                    true => f.direction("director")?,
                    false => Vec3::z(),
                };
                let turned = placement.as_ref()?.pose.rotation * director;
                Stuff::Rods(m.rod(reporter, natural, twist)?, turned)
            }
        })
    });
    let geometry = if f.exactly_one(&["shape", "mesh"]) {
        match f.get("shape") {
            Some(node) => shape(reporter, node, &name.value, purpose).map(Geometry::Shape),
            None => f
                .string("mesh")
                .map(|path| Geometry::File(At::new(path.value.to_owned(), path.place))),
        }
    } else {
        None
    };
    if let Some(Geometry::Shape(ShapePlan {
        source: Generator::Grown(_),
        place,
        ..
    })) = &geometry
    {
        let message = match (
            &rooted,
            ["scale", "rotate", "translate"].iter().find(|k| f.has(k)),
        ) {
            (None, _) => format!("{}: hair on a body needs the key `rooted`", f.what),
            (_, Some(key)) => {
                format!(
                    "{}: hair on a body grows where the body is and takes no `{key}`",
                    f.what
                )
            }
            _ => String::new(),
        };
        if !message.is_empty() {
            return reporter.fail(Kind::Value, *place, message, None);
        }
    }
    let (material, spec) = (material?, spec?);
    Some(BodyPlan {
        rooted,
        stuff: stuff?,
        geometry: geometry?,
        placement: placement?,
        drag: spec.drag,
        spec,
        friction: material.friction(reporter),
        material: material.name,
        material_table: material.table,
        repeat,
        patches,
        place: name.place,
        name,
    })
}

/// Another material in a part of a shell.
fn patch(
    body: &Fields<'_>,
    node: &Node,
    materials: &Materials<'_>,
    rest_angles: RestAngles,
) -> Option<(At<Vec<Filter>>, ShellMaterial)> {
    let reporter = body.reporter;
    let what = format!("a patch of {}", body.what);
    let f = Fields::new(reporter, node, &what, schema::PATCH)?;
    let select = f.need("select");
    let material = materials.of(f.need("material")?, &what)?;
    let select = select?;
    let filters = selection(reporter, select, &what)?;
    let material = material.shell(reporter, rest_angles)?;
    Some((At::new(filters, select.place), material))
}

/// Reports keys that mean nothing for a body of this kind.
fn only_for(f: &Fields<'_>, purpose: Purpose) {
    let surfaces: &[Purpose] = &[
        Purpose::Shell,
        Purpose::Solid,
        Purpose::Embedded,
        Purpose::Rigid,
        Purpose::Frames,
    ];
    let elastic: &[Purpose] = &[Purpose::Shell, Purpose::Solid, Purpose::Embedded];
    let rules: [(&str, &[Purpose], &str); 13] = [
        ("patch", &[Purpose::Shell], "shells"),
        ("rooted", &[Purpose::Rods], "rods"),
        ("padding", surfaces, "bodies with a surface"),
        ("start_scale", elastic, "shells and solids"),
        ("natural", &[Purpose::Rods], "rods"),
        ("twist", &[Purpose::Rods], "rods"),
        ("director", &[Purpose::Rods], "rods"),
        ("warp", &[Purpose::Shell], "shells"),
        ("rest_angles", &[Purpose::Shell], "shells"),
        ("cell", &[Purpose::Embedded], "embedded solids"),
        ("radius", &[Purpose::Particles], "particles"),
        ("drag", surfaces, "bodies with a surface"),
        ("mass", elastic, "shells and solids"),
    ];
    for (key, kinds, whose) in rules {
        if f.has(key) && !kinds.contains(&purpose) {
            let message = format!("`{key}` of {} has no meaning: it is for {whose}", f.what);
            f.fail::<()>(Kind::Value, key, message, Some(format!("remove `{key}`")));
        }
    }
}

fn spec(
    f: &Fields<'_>,
    purpose: Purpose,
    name: &str,
    placement: Option<&Placement>,
) -> Option<BodySpec> {
    let mut spec = BodySpec::new(name);
    let optional = |key| {
        if f.has(key) {
            f.vector(key)
        } else {
            Some(Vec3::zeros())
        }
    };
    let (velocity, spin, acceleration) = (
        optional("velocity"),
        optional("angular_velocity"),
        match f.get("acceleration").map(|n| &n.value) {
            Some(Value::Table(_)) => Some(Vec3::zeros()),
            _ => optional("acceleration"),
        },
    );
    spec.load = loads(f, purpose)?;
    if f.has("mass")
        && !matches!(
            purpose,
            Purpose::Rigid | Purpose::Particles | Purpose::Rods | Purpose::Frames
        )
    {
        spec.mass = f.choice(
            "mass",
            &[
                ("lumped", MassKind::Lumped),
                ("consistent", MassKind::Consistent),
            ],
        )?;
    }
    if let Some(node) = f.get("drag") {
        let d = Fields::new(
            f.reporter,
            node,
            format!("`drag` of {}", f.what),
            schema::DRAG,
        )?;
        let normal = if d.has("normal") {
            d.not_negative("normal")?
        } else {
            1.0
        };
        let tangential = if d.has("tangential") {
            d.not_negative("tangential")?
        } else {
            0.05
        };
        spec.drag = Some(Drag { normal, tangential });
    }
    if f.has("warp") {
        spec.warp = f.direction("warp")?;
    }
    if f.has("padding") {
        spec.padding = f.not_negative("padding")?;
    }
    if f.has("start_scale") {
        spec.start_scale = match &f.need("start_scale")?.value {
            Value::Array(_) => f.vector("start_scale")?,
            _ => Vec3::repeat(f.number("start_scale")?),
        };
        if let Some(s) = spec.start_scale.iter().find(|s| **s <= 0.0) {
            return f.out_of_range("start_scale", *s, "positive");
        }
    }
    // The warp is woven into the shape and turns with it.
    if let Some(p) = placement {
        spec.warp = p.pose.rotation * spec.warp;
    }
    spec.velocity = velocity?;
    // Angles are in degrees, also per second.
    spec.angular_velocity = spin?.map(f64::to_radians);
    spec.acceleration = acceleration?;
    Some(spec)
}

/// `force`, `torque` and an `acceleration` that changes over time; inner `None` without any.
fn loads(f: &Fields<'_>, purpose: Purpose) -> Option<Option<Box<Load>>> {
    let over_time = |key: &str| match f.get(key).map(|n| &n.value) {
        None => Some(None),
        Some(Value::Table(_)) => load(f, key).map(Some),
        // A constant one is a key of the specification itself.
        Some(_) if key == "acceleration" => Some(None),
        Some(_) => {
            let constant = Track::new(vec![0.0], vec![f.vector(key)?], Interpolation::Linear);
            constant.ok().map(|track| Some(Schedule::Keys(track)))
        }
    };
    if f.has("torque") && purpose != Purpose::Rigid {
        let message = format!("{} is not rigid and takes no `torque`", f.what);
        let help = "remove `torque`, or pull at points of the body with attachments";
        return f.fail(Kind::Value, "torque", message, Some(help.to_owned()));
    }
    let load = Load {
        acceleration: over_time("acceleration")?,
        force: over_time("force")?,
        torque: over_time("torque")?,
    };
    Some((load != Load::default()).then(|| Box::new(load)))
}

/// What rods grow out of, and how.
fn rooted(f: &Fields<'_>, node: &Node, names: &Names, own: &str) -> Option<(At<usize>, Rooting)> {
    let r = Fields::new(
        f.reporter,
        node,
        format!("`rooted` of {}", f.what),
        schema::ROOTED,
    )?;
    for key in ["velocity", "angular_velocity", "repeat"] {
        if f.has(key) {
            let message = format!(
                "{}: rooted rods start with their body and take no `{key}`",
                f.what
            );
            return f.fail(Kind::Value, key, message, Some(format!("remove `{key}`")));
        }
    }
    let body = names.need(&r, "body")?;
    // The rods' own place among the bodies; that it has a name was seen before.
    let index = names.index.get(own).copied().unwrap_or(0);
    if body >= index {
        let message = format!("{}: what it is rooted in must come before it", f.what);
        return r.fail(Kind::Value, "body", message, None);
    }
    let mut rooting = Rooting::default();
    if r.has("stiffness") {
        rooting.stiffness = r.positive("stiffness")?;
    }
    if r.has("bare") {
        rooting.bare = r.count("bare", 0)? as usize;
    }
    Some((At::new(body, r.place_of("body")), rooting))
}

fn repeat(reporter: &Reporter, node: &Node, owner: &str) -> Option<Repeat> {
    let f = Fields::new(
        reporter,
        node,
        format!("`repeat` of {owner}"),
        schema::REPEAT,
    )?;
    let (count, step) = (f.need_count("count", 1), f.need_vector("step"));
    let count = count?;
    if count > MOST_COPIES {
        return f.fail(
            Kind::TooLarge,
            "count",
            format!("{owner}: {count} copies are more than {MOST_COPIES}"),
            None,
        );
    }
    Some(Repeat { count, step: step? })
}
