//! From the tree to plans: everything that can be said about a scene before anything is built.
//!
//! A plan is typed, complete and remembers where it stands in the text. Reading goes on after a
//! problem, so that one run reports as many as possible.

pub(crate) mod adapt;
pub(crate) mod body;
pub(crate) mod check;
pub(crate) mod formula;
pub(crate) mod friction;
pub(crate) mod material;
pub(crate) mod motion;
pub(crate) mod obstacle;
pub(crate) mod pin;
pub(crate) mod place;
pub(crate) mod plant;
pub(crate) mod probe;
pub(crate) mod rod;
pub(crate) mod settings;
pub(crate) mod shape;
pub(crate) mod shapes;
pub(crate) mod volume;

use stiction_bodies::{drag::Air, schedule::Schedule};
use stiction_math::Vec3;
use stiction_sim::{MethodConfig, Registry, check::Check};

use crate::{
    error::{ProblemKind, Reporter},
    format::{Family, Fields, section},
    friction::FrictionTable,
    settings::{ContactSettings, OutputSettings, OverlapPolicy, TimeSettings},
    source::{At, SourceSpan},
    suggest,
    tree::{Node, Table, Value},
};
use adapt::AdaptPlan;
use body::{BodyPlan, Names};
use material::Materials;
use obstacle::ObstaclePlan;
use pin::{AttachmentPlan, PinPlan};
use probe::ProbePlan;
use volume::VolumePlan;

section! { /// The document itself.
    pub(crate) ROOT "top level";
    "name": Name, Said("the file's name"), "names the run";
    "description": Text, Said("empty"), "one sentence, shown in lists";
    "gravity": Either(&[Vector("m/s²"), Table(&motion::LOAD)]), Said("`[0, 0, -9.81]`"), "the acceleration of everything; as a table it changes over time, which not every [method](#method) supports";
    "time": Table(&settings::TIME), Required, "[`[time]`](#time)";
    "method": Union(Family::Method), Said("depends on whether bodies can touch"), "[`[method]`](#method)";
    "air": Table(&settings::AIR), Absent, "[`[air]`](#air)";
    "contact": Table(&settings::CONTACT), Said("see there"), "[`[contact]`](#contact)";
    "friction": Table(&friction::FRICTION), Said("μ = 0.5"), "[`[friction]`](#friction)";
    "material": Named(&material::MATERIAL), Absent, "[`[material.NAME]`](#materialname)";
    "body": Tables(&body::BODY), Said("required"), "[`[[body]]`](#body)";
    "pin": Tables(&pin::PIN), Absent, "[`[[pin]]`](#pin)";
    "attachment": Tables(&pin::ATTACHMENT), Absent, "[`[[attachment]]`](#attachment)";
    "volume": Tables(&volume::VOLUME), Absent, "[`[[volume]]`](#volume)";
    "adapt": Tables(&adapt::ADAPT), Absent, "[`[[adapt]]`](#adapt)";
    "obstacle": Tables(&obstacle::OBSTACLE), Absent, "[`[[obstacle]]`](#obstacle)";
    "probe": Unions(Family::Probe), Absent, "[`[[probe]]`](#probe)";
    "check": Tables(&check::CHECK), Absent, "[`[[check]]`](#check)";
    "output": Table(&settings::OUTPUT), Absent, "[`[output]`](#output)";
    "variant": Named(&crate::variant::VARIANT), Absent, "[`[variant.NAME]`](#variantname)";
}

/// The acceleration of everything [m/s²].
pub(crate) enum Gravity {
    Constant(Vec3),
    Changing(Schedule<Vec3>),
}

/// A scene as it was read.
pub(crate) struct Document {
    pub name: Option<String>,
    pub description: String,
    pub gravity: Gravity,
    pub air: Option<Air>,
    pub contact: ContactSettings,
    pub time: TimeSettings,
    pub method: At<Box<dyn MethodConfig>>,
    pub friction: FrictionTable,
    pub bodies: Vec<BodyPlan>,
    pub pins: Vec<PinPlan>,
    pub attachments: Vec<AttachmentPlan>,
    pub volumes: Vec<VolumePlan>,
    pub adaptations: Vec<AdaptPlan>,
    pub obstacles: Vec<ObstaclePlan>,
    pub probes: Vec<ProbePlan>,
    pub checks: Vec<Check>,
    pub output: OutputSettings,
}

/// Reads the whole document. `None` only if something was reported.
pub(crate) fn document(
    reporter: &Reporter,
    root: &Table,
    library: &Table,
    method: Option<At<&str>>,
    methods: &Registry,
) -> Option<Document> {
    // The document has no header of its own: errors about it point at its first line.
    let place = SourceSpan::new(0, 0..0);
    let f = Fields::over(reporter, root, place, "the scene".to_owned()).of(&ROOT);

    let materials = Materials {
        reporter,
        scene: material_table(&f),
        library,
    };
    materials.check();
    let bodies = f.tables("body");
    let names = Names::of_bodies(reporter, bodies);
    let plans: Vec<BodyPlan> = bodies
        .iter()
        .filter_map(|node| body::body(reporter, node, &materials, &names))
        .collect();
    let obstacles: Vec<ObstaclePlan> = f
        .tables("obstacle")
        .iter()
        .filter_map(|node| obstacle::obstacle(reporter, node))
        .collect();
    unique(reporter, obstacles.iter().map(|o| &o.name), "obstacles");
    let pins = f
        .tables("pin")
        .iter()
        .filter_map(|node| pin::pin(reporter, node, &names))
        .collect();
    let attachments: Vec<AttachmentPlan> = f
        .tables("attachment")
        .iter()
        .filter_map(|node| pin::attachment(reporter, node, &names))
        .collect();
    unique(
        reporter,
        attachments.iter().filter_map(|a| a.name.as_ref()),
        "attachments",
    );
    let volumes: Vec<VolumePlan> = f
        .tables("volume")
        .iter()
        .filter_map(|node| volume::volume(reporter, node, &names))
        .collect();
    unique(reporter, volumes.iter().map(|v| &v.name), "volumes");
    let adaptations: Vec<AdaptPlan> = f
        .tables("adapt")
        .iter()
        .filter_map(|node| adapt::adapt(reporter, node, &names))
        .collect();
    adapt::once(reporter, &adaptations);
    let springs = names_in(f.tables("attachment"));
    let media = names_in(f.tables("volume"));
    let walls = names_in(f.tables("obstacle"));
    let probe_nodes = f.tables("probe");
    let probes: Vec<ProbePlan> = probe_nodes
        .iter()
        .filter_map(|node| probe::probe(reporter, node, &names, &springs, &walls, &media))
        .collect();
    unique(reporter, probes.iter().map(|p| &p.name), "probes");

    let time = settings::time(&f);
    let air = settings::air(&f, plans.iter().any(|b| b.drag.is_some()));
    let contact = settings::contact(&f, !obstacles.is_empty());
    let touching = contact.as_ref().is_some_and(|c| c.enabled);
    let mut method = settings::method(&f, method, methods, touching);
    let ignores = contact
        .as_ref()
        .is_some_and(|c| c.overlap == OverlapPolicy::Ignore);
    if let Some(method) = method.as_mut().filter(|_| ignores) {
        method.value.allow_overlap();
    }
    let (mut friction, pair_names) = friction::friction(reporter, f.get("friction"));
    let mut used: Vec<&str> = materials.names();
    for plan in &plans {
        if let Some(c) = plan.friction {
            friction.materials.insert(plan.material.clone(), c);
        }
        used.push(&plan.material);
    }
    for o in &obstacles {
        used.push(&o.material);
        // An obstacle needs nothing of its material but its friction.
        if let Some(name) = &o.material_at {
            friction_of_obstacle(&materials, name, &mut friction);
        }
    }
    used.sort_unstable();
    used.dedup();
    for name in pair_names {
        if !used.contains(&name.value) && reporter.clean() {
            let help = suggest::help(name.value, "materials", used.iter().copied());
            name.fail::<()>(
                reporter,
                ProblemKind::UnknownName,
                format!("no body or obstacle has the material `{}`", name.value),
                Some(help),
            );
        }
    }
    let checks = check::checks(
        reporter,
        f.tables("check"),
        &names_in(probe_nodes),
        time.as_ref(),
        f.get("time"),
    );
    let output = settings::output(&f);
    let gravity = match f.get("gravity").map(|n| &n.value) {
        None => Some(Gravity::Constant(Vec3::new(0.0, 0.0, -9.81))),
        Some(Value::Table(_)) => motion::load(&f, "gravity").map(Gravity::Changing),
        Some(_) => f.take("gravity").map(Gravity::Constant),
    };
    let name = f.take("name")?;
    let description = f.take::<Option<String>>("description")?.unwrap_or_default();
    // A key of another type has been reported.
    let another = |n: &Node| !matches!(n.value, Value::Array(_));
    if bodies.is_empty() && !f.get("body").is_some_and(another) {
        let help = Some("add a [[body]] table".to_owned());
        reporter.fail::<()>(
            ProblemKind::MissingKey,
            place,
            "the scene has no body",
            help,
        );
    }
    Some(Document {
        name,
        description,
        gravity: gravity?,
        air,
        contact: contact?,
        time: time?,
        method: method?,
        friction,
        bodies: plans,
        pins,
        attachments,
        volumes,
        adaptations,
        obstacles,
        probes,
        checks,
        output: output?,
    })
}

fn material_table<'a>(f: &Fields<'a>) -> Option<&'a Table> {
    let node = f.get("material")?;
    match &node.value {
        Value::Table(t) => Some(t),
        other => {
            let message = format!(
                "`material` is {}, but must be a table of materials",
                other.describe()
            );
            let help = "write [material.NAME] above the material's keys";
            f.reporter.fail(
                ProblemKind::Type,
                node.place,
                message,
                Some(help.to_owned()),
            )
        }
    }
}

/// An obstacle may name a material that exists nowhere: then it is only a name in the friction
/// table.
fn friction_of_obstacle(
    materials: &Materials<'_>,
    name: &At<String>,
    friction: &mut FrictionTable,
) {
    if !materials.names().contains(&name.value.as_str()) {
        return;
    }
    if let Some(c) = materials
        .by_name(name)
        .and_then(|m| m.friction(materials.reporter))
    {
        friction.materials.insert(name.value.clone(), c);
    }
}

/// The `name` of every entry of a list that has one, in order; empty text where it has none.
fn names_in(nodes: &[Node]) -> Vec<String> {
    let name = |n: &Node| n.name().unwrap_or_default().to_owned();
    nodes.iter().map(name).collect()
}

/// Reports names that are given twice.
fn unique<'a>(reporter: &Reporter, names: impl Iterator<Item = &'a At<String>>, what: &str) {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(&name.value) {
            let message = format!("two {what} are called `{}`", name.value);
            name.fail::<()>(
                reporter,
                ProblemKind::Duplicate,
                message,
                Some("give each its own name".to_owned()),
            );
        }
    }
}
