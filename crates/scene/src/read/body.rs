//! `[[body]]`.

use std::collections::BTreeMap;

use stiction_bodies::{
    BodyLoad,
    builder::{BodySpec, Rooting},
    drag::Drag,
    material::{Damping, MassKind, RestAngles, ShellMaterial, SolidMaterial},
    motion::{Interpolation, Track},
    rod::{Natural, RodMaterial, Twist},
    schedule::Schedule,
};
use stiction_math::Vec3;

use crate::{
    error::{ProblemKind, Reporter},
    format::{Family, Fields, section, words},
    friction::Coefficients,
    read::{
        material::{MATERIAL, Materials},
        motion::{LOAD, load},
        pin::{Filter, SELECT, selection},
        place::{Placement, ROTATE, placement},
        shape::{Generator, Purpose, ShapePlan, shape},
    },
    source::{At, SourceSpan},
    suggest,
    tree::{Node, Table, Value},
};

words! { KINDS: Purpose = "shell" => Purpose::Shell, "solid" => Purpose::Solid, "embedded" => Purpose::Embedded, "rigid" => Purpose::Rigid,
"particles" => Purpose::Particles, "rods" => Purpose::Rods, "frames" => Purpose::Frames }
words! { MASS: MassKind = "lumped" => MassKind::Lumped, "consistent" => MassKind::Consistent }
words! { REST_ANGLES: RestAngles = "mesh" => RestAngles::Mesh, "flat" => RestAngles::Flat }
words! { NATURAL: Natural = "given" => Natural::Given, "straight" => Natural::Straight }
words! { TWIST: Twist = "dynamic" => Twist::Dynamic, "quasi-static" => Twist::QuasiStatic }

section! { pub(crate) BODY "body" [ExactlyOne(&["shape", "mesh"]), With("kind", &["particles"], &["radius"], &[]), With("kind", &["embedded"], &["cell"], &[]),
    With("kind", &["shell", "solid", "embedded", "particles", "rods", "frames"], &[], &["torque"]), With("kind", &["rigid", "solid", "embedded", "particles", "rods", "frames"], &[], &["warp", "rest_angles", "patch"]),
    With("kind", &["shell", "rigid", "solid", "embedded", "particles", "frames"], &[], &["natural", "twist", "director", "rooted"])];
    "name": Name, Required, "its name, unlike all others";
    "kind": Word(KINDS.words), Said("the material's"), "`\"shell\"` (cloth), `\"solid\"` (tetrahedra), `\"embedded\"` (a closed surface carried by a lattice of tetrahedra), `\"rigid\"`, `\"particles\"` (balls that do not turn, such as grains), `\"rods\"` (hair, ropes, wires), `\"frames\"` (branches and leaves, carried by affine frames)";
    "shape": Union(Family::BodyShape), Absent, "a [shape](#shapes)";
    "mesh": Text, Absent, "instead of `shape`: a [mesh file](#mesh-files)";
    "material": Either(&[Text, Table(&MATERIAL)]), Required, "its [material](#materialname)";
    "translate": Vector("m"), Vec(&[0.0; 3]), "moved at last";
    "rotate": TableOrTables(&ROTATE), Absent, "turned after `scale`, one after another";
    "scale": Either(&[Number("1", Any), Vector("1")]), Num(1.0), "applied first; negative numbers mirror";
    "velocity": Vector("m/s"), Vec(&[0.0; 3]), "at the start";
    "angular_velocity": Vector("°/s"), Vec(&[0.0; 3]), "at the start, about the centre of mass";
    "acceleration": Either(&[Vector("m/s²"), Table(&LOAD)]), Said("zero"), "of this body alone, in addition to gravity; as a table it changes over time as [gravity](#top-level) does";
    "force": Either(&[Vector("N"), Table(&LOAD)]), Said("zero"), "external force on the body as a whole, spread over it like its mass; as a table over time. Its potential is no part of energies. Not every [method](#method) supports forces, torques and changing accelerations";
    "torque": Either(&[Vector("N·m"), Table(&LOAD)]), Said("zero"), "external torque on a rigid body about its centre of mass, in the world frame; as a table over time";
    "mass": Word(MASS.words), Chosen("lumped"), "`\"lumped\"` or `\"consistent\"` mass matrix of shells and solids";
    "drag": Table(&DRAG), Absent, "air drag";
    "warp": Direction, Vec(&[1.0, 0.0, 0.0]), "direction of a shell's warp in its shape's own frame";
    "rest_angles": Word(REST_ANGLES.words), Chosen("mesh"), "which angles between a shell's triangles are free of stress: those of the `\"mesh\"` or `\"flat\"` ones";
    "cell": Number("m", Positive), Said("required for embedded"), "size of the lattice's cells";
    "radius": Number("m", Positive), Said("required for particles"), "of each particle; surfaces stay the contact thickness apart from it";
    "natural": Word(NATURAL.words), Chosen("given"), "in which shape rods bear no stress: the one they are `\"given\"`, or `\"straight\"`";
    "twist": Word(TWIST.words), Chosen("dynamic"), "whether the twists of rods are degrees of freedom, or `\"quasi-static\"`: at every moment where the energy of the centreline is least, as hair is twisted, whose twist waves are far too quick to be seen. Fewer unknowns, and what the splitting integrator needs";
    "director": Direction, Vec(&[0.0, 0.0, 1.0]), "of rods, in their shape's own frame: where the first half axis of the cross-section points at the root, as far as it is across; along a rod it follows without twist";
    "patch": Tables(&PATCH), Absent, "of shells: where they are of another material";
    "rooted": Table(&ROOTED), Absent, "of rods: the body in which they are rooted";
    "padding": Number("m", NotNegative), Num(0.0), "offset of the contact surface, in addition to the contact thickness: half the thickness of cloth";
    "start_scale": Either(&[Number("1", Positive), Numbers(3, "1", Positive)]), Num(1.0), "of shells and solids: where nodes start, scaled about the centre of mass along x, y and z; the rest shape is not scaled, so that the body starts stretched";
    "repeat": Table(&REPEAT), Absent, "copies, called `NAME-1`, `NAME-2`, …";
}
section! { pub(crate) DRAG "body.drag";
    "normal": Number("1", NotNegative), Num(1.0), "across the surface";
    "tangential": Number("1", NotNegative), Num(0.05), "along it";
}
section! { pub(crate) PATCH "body.patch";
    "material": Either(&[Text, Table(&MATERIAL)]), Required, "a material of shells. Damping and friction are those of the body's own";
    "select": Table(&SELECT), Required, "as for [pins](#pin): the triangles all of whose nodes are selected are of that material; of several patches the last counts";
}
section! { pub(crate) ROOTED "body.rooted";
    "body": Text, Required, "a body listed before";
    "stiffness": Number("1", Positive), Num(1.0), "of the springs, see below";
    "bare": Count(0), Int(2), "number of segments that never touch that body";
}
section! { pub(crate) REPEAT "body.repeat";
    "count": Count(1), Required, "number of copies";
    "step": Vector("m"), Required, "from one copy to the next";
}

/// A body as it was read.
pub(crate) struct BodyPlan {
    pub name: At<String>,
    pub material_model: BodyMaterial,
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
    /// Regions of a shell with another material; of several that contain a triangle, the last counts.
    pub patches: Vec<(At<Vec<Filter>>, ShellMaterial)>,
    /// The body that rods are rooted in, by index.
    pub rooted: Option<(At<usize>, Rooting)>,
    /// Span for errors about the built body.
    pub place: SourceSpan,
}

/// Material model of a body.
pub(crate) enum BodyMaterial {
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

/// Source of its mesh.
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
            let (Value::Table(table), Some(name)) = (&node.value, node.name()) else {
                continue;
            };
            let place = table.get("name").map_or(node.place, |n| n.place);
            for copy in copies(name, repeat_count(table)) {
                let at = names.list.len();
                if names.index.insert(copy.clone(), at).is_some() {
                    let message = format!("two bodies are called `{copy}`");
                    let help = Some("give each its own name".to_owned());
                    reporter.fail::<()>(ProblemKind::Duplicate, place, message, help);
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
                    ProblemKind::UnknownName,
                    format!("there is no body `{}`", name.value),
                    Some(help),
                )
            }
        }
    }

    /// The index of the body that `key` names, or the number of bodies plus the index among
    /// `obstacles`: how contacts number them.
    pub fn need_thing(&self, f: &Fields<'_>, key: &str, obstacles: &[String]) -> Option<usize> {
        let name = f.text(key)?;
        if let Some(body) = self.index.get(name.value) {
            return Some(*body);
        }
        if let Some(at) = obstacles.iter().position(|o| o == name.value) {
            return Some(self.list.len() + at);
        }
        let known = self.list.iter().chain(obstacles).map(String::as_str);
        let help = suggest::help(name.value, "bodies and obstacles", known);
        let message = format!("there is no body or obstacle `{}`", name.value);
        name.fail(f.reporter, ProblemKind::UnknownName, message, Some(help))
    }

    /// The index of the body that `key` names.
    pub fn need(&self, f: &Fields<'_>, key: &str) -> Option<usize> {
        let name = f.text(key)?;
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

pub(crate) fn body(
    reporter: &Reporter,
    node: &Node,
    materials: &Materials<'_>,
    names: &Names,
) -> Option<BodyPlan> {
    let f = Fields::named(reporter, node, "body", &BODY)?;
    let name = f.name()?;
    let material = materials.of(f.get("material")?, &name.value);
    let purpose = match f.has("kind") {
        true => f.choice("kind", &KINDS)?,
        false => material.as_ref()?.purpose(&f)?,
    };
    only_for(&f, purpose);
    let placement = placement(&f);
    let spec = spec(&f, purpose, &name.value, placement.as_ref());
    let repeat = match f.sub("repeat", &REPEAT)? {
        Some(r) => Some(repeat(&r, &f.what)?),
        None => None,
    };
    let rooted = match f.sub("rooted", &ROOTED)? {
        Some(r) => Some(rooted(&f, &r, names, &name.value)?),
        None => None,
    };
    let rest_angles = f.choice("rest_angles", &REST_ANGLES)?;
    let patches = f
        .tables("patch")
        .iter()
        .map(|node| patch(&f, node, materials, rest_angles))
        .collect::<Option<_>>()?;
    let material_model = material.as_ref().and_then(|m| {
        Some(match purpose {
            Purpose::Shell => BodyMaterial::Shell(m.shell(reporter, rest_angles)?),
            Purpose::Solid => BodyMaterial::Solid(m.solid(reporter)?),
            Purpose::Frames => BodyMaterial::Frames(m.solid(reporter)?),
            Purpose::Embedded => {
                let cell = f.need("cell");
                BodyMaterial::Embedded(m.solid(reporter)?, At::new(cell?, f.place_of("cell")))
            }
            Purpose::Rigid => {
                let (density, damping) = m.rigid(reporter)?;
                BodyMaterial::Rigid(density, damping)
            }
            Purpose::Particles => {
                let radius = f.need("radius");
                let (density, damping) = m.rigid(reporter)?;
                BodyMaterial::Particles {
                    radius: radius?,
                    density,
                    damping,
                }
            }
            Purpose::Rods => {
                let natural = f.choice("natural", &NATURAL)?;
                let twist = f.choice("twist", &TWIST)?;
                let director = placement.as_ref()?.pose.rotation * f.direction("director")?;
                BodyMaterial::Rods(m.rod(reporter, natural, twist)?, director)
            }
        })
    });
    let geometry = match f.get("shape") {
        Some(node) => shape(reporter, node, &name.value, purpose).map(Geometry::Shape),
        None => f
            .text("mesh")
            .map(|path| Geometry::File(At::new(path.value.to_owned(), path.place))),
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
            return reporter.fail(ProblemKind::Value, *place, message, None);
        }
    }
    let (material, spec) = (material?, spec?);
    Some(BodyPlan {
        rooted,
        material_model: material_model?,
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
    let f = Fields::new(reporter, node, &what, &PATCH)?;
    let material = materials.of(f.get("material")?, &what)?;
    let select = f.get("select")?;
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
            f.refuse::<()>(key, message, &format!("remove `{key}`"));
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
    spec.load = loads(f, purpose)?;
    if f.has("mass") {
        spec.mass = f.choice("mass", &MASS)?;
    }
    if let Some(d) = f.sub("drag", &DRAG)? {
        let (normal, tangential) = (d.take("normal")?, d.take("tangential")?);
        spec.drag = Some(Drag { normal, tangential });
    }
    spec.warp = f.direction("warp")?;
    // The warp is woven into the shape and turns with it.
    if let Some(p) = placement {
        spec.warp = p.pose.rotation * spec.warp;
    }
    spec.padding = f.take("padding")?;
    spec.start_scale = f.take("start_scale")?;
    spec.velocity = f.take("velocity")?;
    // Angles are in degrees, also per second.
    spec.angular_velocity = f.take::<Vec3>("angular_velocity")?.map(f64::to_radians);
    if f.get("acceleration")
        .is_some_and(|n| matches!(n.value, Value::Array(_)))
    {
        spec.acceleration = f.take("acceleration")?;
    }
    Some(spec)
}

/// `force`, `torque` and an `acceleration` that changes over time; inner `None` without any.
fn loads(f: &Fields<'_>, purpose: Purpose) -> Option<Option<Box<BodyLoad>>> {
    let over_time = |key: &str| match f.get(key).map(|n| &n.value) {
        None => Some(None),
        Some(Value::Table(_)) => load(f, key).map(Some),
        // A constant one is a key of the specification itself.
        Some(_) if key == "acceleration" => Some(None),
        Some(_) => {
            let constant = Track::new(vec![0.0], vec![f.take(key)?], Interpolation::Linear);
            constant.ok().map(|track| Some(Schedule::Keys(track)))
        }
    };
    if f.has("torque") && purpose != Purpose::Rigid {
        let message = format!("{} is not rigid and takes no `torque`", f.what);
        let help = "remove `torque`, or pull at points of the body with attachments";
        return f.refuse("torque", message, help);
    }
    let load = BodyLoad {
        acceleration: over_time("acceleration")?,
        force: over_time("force")?,
        torque: over_time("torque")?,
    };
    Some((load != BodyLoad::default()).then(|| Box::new(load)))
}

/// The body that rods are rooted in, and the rooting.
fn rooted(
    f: &Fields<'_>,
    r: &Fields<'_>,
    names: &Names,
    own: &str,
) -> Option<(At<usize>, Rooting)> {
    for key in ["velocity", "angular_velocity", "repeat"] {
        if f.has(key) {
            let what = &f.what;
            let message = format!("{what}: rooted rods start with their body and take no `{key}`");
            return f.refuse(key, message, &format!("remove `{key}`"));
        }
    }
    let body = names.need(r, "body")?;
    // The rods' own place among the bodies; that it has a name was seen before.
    let index = names.index.get(own).copied().unwrap_or(0);
    if body >= index {
        let message = format!(
            "{}: the body in which it is rooted must come before it",
            f.what
        );
        return r.refuse("body", message, "");
    }
    let (stiffness, bare) = (r.take("stiffness")?, r.take("bare")?);
    Some((
        At::new(body, r.place_of("body")),
        Rooting { stiffness, bare },
    ))
}

fn repeat(f: &Fields<'_>, owner: &str) -> Option<Repeat> {
    let (count, step) = (f.take("count")?, f.take("step")?);
    if count > MOST_COPIES {
        let message = format!("{owner}: {count} copies are more than {MOST_COPIES}");
        return f.fail(ProblemKind::TooLarge, "count", message, None);
    }
    Some(Repeat { count, step })
}
