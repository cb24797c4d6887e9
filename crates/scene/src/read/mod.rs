//! From the tree to plans: everything that can be said about a scene before anything is built.
//!
//! A plan is typed, complete and remembers where it stands in the text. Reading goes on after a
//! problem, so that one run reports as many as possible.

pub(crate) mod adapt;
pub(crate) mod body;
pub(crate) mod check;
pub(crate) mod formula;
pub(crate) mod friction;
pub(crate) mod garment;
pub(crate) mod material;
pub(crate) mod motion;
pub(crate) mod names;
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

use std::collections::BTreeSet;

use stiction_bodies::{Model, drag::Air};
use stiction_math::Vec3;
use stiction_sim::{
    MethodConfig, Registry, check::Check, colliders::ContactRules, friction::FrictionTable,
};

use crate::{
    format::{
        At, Fields, NOWHERE, ProblemKind, Reporter, SourceSpan, TableKeys, TreeNode, TreeTable,
        section,
    },
    settings::{ContactSettings, OutputSettings, OverlapPolicy, TimeSettings},
    variant::VariantKeys,
};
use adapt::Adapt;
use body::{BodyKeys, BodyPlan};
use check::{CheckKeys, CheckPlan};
use friction::{Friction, FrictionKeys};
use garment::Seam;
use material::{MaterialKeys, Materials};
use motion::{LoadKeys, OverTime};
use names::Names;
use obstacle::{ObstacleKeys, ObstaclePlan};
use pin::{Attachment, Pin};
use probe::{PROBES, ProbePlan};
use settings::{AirKeys, ContactKeys, OutputKeys, TimeKeys};
use volume::{VolumeKeys, VolumePlan};

section! { /// The document itself.
    struct Root "top level" {
    name: Option<String> = Name, Said("the file's name"), "names the run";
    description: Option<String> = Text, Said("empty"), "one sentence, shown in lists";
    gravity: Option<OverTime> = Either(&[Vector("m/s²"), Table(LoadKeys::SECTION)]), Said("`[0, 0, -9.81]`"), "the acceleration of everything; as a table it changes over time, which not every [method](#method) supports";
    time: TimeSettings = Table(TimeKeys::SECTION), Required, "[`[time]`](#time)";
    method: () = Open("method"), Said("depends on whether bodies can touch"), "[`[method]`](#method)";
    air: Option<Air> = Table(AirKeys::SECTION), Absent, "[`[air]`](#air)";
    contact: Option<ContactKeys> = Table(ContactKeys::SECTION), Said("see there"), "[`[contact]`](#contact)";
    friction: Option<Friction> = Table(FrictionKeys::SECTION), Said("μ = 0.5"), "[`[friction]`](#friction)";
    material: () = Named(MaterialKeys::SECTION), Absent, "[`[material.NAME]`](#materialname)";
    bodies as "body": Vec<BodyPlan> = Tables(BodyKeys::SECTION), Said("required"), "[`[[body]]`](#body)";
    pins as "pin": Vec<At<Pin>> = Tables(Pin::SECTION), Absent, "[`[[pin]]`](#pin)";
    attachments as "attachment": Vec<Attachment> = Tables(Attachment::SECTION), Absent, "[`[[attachment]]`](#attachment)";
    seams as "seam": Vec<At<Seam>> = Tables(Seam::SECTION), Absent, "[`[[seam]]`](#seam)";
    volumes as "volume": Vec<At<VolumePlan>> = Tables(VolumeKeys::SECTION), Absent, "[`[[volume]]`](#volume)";
    adaptations as "adapt": Vec<Adapt> = Tables(Adapt::SECTION), Absent, "[`[[adapt]]`](#adapt)";
    obstacles as "obstacle": Vec<ObstaclePlan> = Tables(ObstacleKeys::SECTION), Absent, "[`[[obstacle]]`](#obstacle)";
    probes as "probe": Vec<ProbePlan> = Unions(&PROBES), Absent, "[`[[probe]]`](#probe)";
    checks as "check": Vec<CheckPlan> = Tables(CheckKeys::SECTION), Absent, "[`[[check]]`](#check)";
    output: Option<OutputSettings> = Table(OutputKeys::SECTION), Absent, "[`[output]`](#output)";
    variant: () = Named(VariantKeys::SECTION), Absent, "[`[variant.NAME]`](#variantname)";
} }

/// Names, materials and times that tables refer to.
pub(crate) struct Context {
    pub names: Names,
    pub materials: Materials,
    /// When the run ends [s], if the scene says so. A run that the command line cut short keeps its checks;
    /// they are then not met.
    pub end: Option<f64>,
}

/// A scene as it was read.
pub(crate) struct Document {
    pub root: Root,
    pub contact: ContactSettings,
    pub method: At<Box<dyn MethodConfig>>,
    pub friction: FrictionTable,
    pub checks: Vec<Check>,
}

impl Document {
    /// The contact rules of the materials of the scene's model.
    pub fn rules(&self, model: &Model) -> ContactRules {
        self.friction.rules(model, self.contact.thickness)
    }

    /// Span of the name of the body called `name`, or of the body it is a copy of.
    pub fn place_of(&self, name: &str) -> Option<SourceSpan> {
        let mut bodies = self.root.bodies.iter();
        let found = bodies.find(|b| b.names().iter().any(|n| n == name));
        found.map(|b| b.name.place)
    }
}

/// Reads the whole document. `None` only if something was reported.
pub(crate) fn document(
    reporter: &Reporter,
    root: &TreeTable,
    library: &TreeTable,
    method: Option<At<&str>>,
    methods: &Registry,
) -> Option<Document> {
    let scene = root.get("material").and_then(TreeNode::table);
    let duration = root.get("time").and_then(|t| t.table()?.get("duration"));
    let written = duration.filter(|n| !reporter.sources.is_argument(n.place));
    let cx = Context {
        names: Names::new(reporter, root),
        materials: Materials {
            scene: scene.cloned().unwrap_or_default(),
            library: library.clone(),
        },
        end: written.and_then(TreeNode::number).filter(|end| *end > 0.0),
    };
    let f = Fields::document(&cx, reporter, root, "the scene").of(Root::SECTION);
    cx.materials.check(&f);
    let contact = contact(&f);
    let method = settings::method(&f, method, methods, contact.enabled);
    if f.table.items("body").is_empty() && f.get("body").is_none_or(TreeNode::is_list) {
        let (kind, message) = (ProblemKind::MissingKey, "the scene has no body");
        reporter.fail::<()>(kind, NOWHERE, message, "add a [[body]] table");
    }
    let (mut root, mut method) = (Root::keys(&f)?, method?);
    let attachments = root.attachments.iter().filter_map(|a| a.name.as_ref());
    unique(
        reporter,
        root.obstacles.iter().map(|o| &o.name),
        "obstacles",
    );
    unique(reporter, attachments, "attachments");
    unique(
        reporter,
        root.volumes.iter().map(|v| &v.value.name),
        "volumes",
    );
    unique(reporter, root.probes.iter().map(|p| &p.name), "probes");
    adapt::once(reporter, &root.adaptations);
    if contact.overlap == OverlapPolicy::Ignore {
        method.value.allow_overlap();
    }
    // Something has drag: then there is air.
    if root.bodies.iter().any(|b| b.spec.drag.is_some()) {
        root.air.get_or_insert(Air::steady(1.2, Vec3::zeros()));
    }
    Some(Document {
        contact,
        method,
        friction: friction(&f, &mut root),
        checks: check::named(reporter, std::mem::take(&mut root.checks)),
        root,
    })
}

/// Bodies collide if the scene says so, or has obstacles, friction or settings of contact.
fn contact(f: &Fields<'_>) -> ContactSettings {
    let keys = ["obstacle", "friction", "contact"];
    let plain = ContactSettings {
        enabled: keys.iter().any(|k| f.has(k)),
        ..ContactSettings::default()
    };
    match f.take::<Option<ContactKeys>>("contact") {
        Some(Some(k)) => ContactSettings {
            enabled: k.enabled.unwrap_or(plain.enabled),
            thickness: k.thickness,
            overlap: k.overlap,
            failsafe: k.failsafe,
        },
        _ => plain,
    }
}

/// The friction table with the coefficients of materials. A pair of materials that nothing has is reported.
fn friction(f: &Fields<'_>, root: &mut Root) -> FrictionTable {
    let Friction { mut table, named } = root.friction.take().unwrap_or_default();
    let (reporter, materials) = (f.reporter(), &f.cx.materials);
    let mut used: Vec<&str> = materials.names();
    let known = used.clone();
    for body in &root.bodies {
        used.push(&body.material.name);
        if let Some(c) = body.friction {
            table.materials.insert(body.material.name.clone(), c);
        }
    }
    for At { value, place } in root.obstacles.iter().map(|o| &o.material) {
        used.push(value);
        // An obstacle needs nothing of its material but its friction: one that exists nowhere is only a name.
        let material = known
            .contains(&value.as_str())
            .then(|| materials.by_name(reporter, value, *place));
        if let Some(c) = material.flatten().and_then(|m| m.friction(f)) {
            table.materials.insert(value.clone(), c);
        }
    }
    used.sort_unstable();
    used.dedup();
    let unused = |name: &&At<String>| !used.contains(&name.value.as_str()) && reporter.clean();
    for At { value: name, place } in named.iter().filter(unused) {
        let message = format!("no body or obstacle has the material `{name}`");
        reporter.unknown::<()>(*place, message, name, "materials", used.iter().copied());
    }
    table
}

/// Reports names that are given twice.
fn unique<'a>(reporter: &Reporter, names: impl Iterator<Item = &'a At<String>>, kinds: &str) {
    let mut seen = BTreeSet::new();
    for At { value: name, place } in names {
        if !seen.insert(name) {
            reporter.taken::<()>(*place, name, kinds);
        }
    }
}
