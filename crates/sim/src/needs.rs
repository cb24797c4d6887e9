//! The features that a scene needs of a method, found in its model.

use std::fmt;

use stiction_bodies::{
    Body, BodyKind, Model,
    obstacle::{Obstacle, ObstacleShape},
    rod::Twist,
};
use stiction_contact::detect::PairLaw;

use crate::colliders::{ContactRules, material_names};

/// A property of scenes that a method may or may not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFeature {
    /// Shells.
    Shells,
    /// Elastic solids, embedded ones included.
    Solids,
    /// Rigid bodies.
    RigidBodies,
    /// Bodies of particles.
    Particles,
    /// Bodies carried by affine frames.
    AffineFrames,
    /// Rods without twist degrees of freedom.
    Rods,
    /// Rods whose twists are degrees of freedom.
    DynamicTwist,
    /// Blocks whose motion is prescribed.
    Pins,
    /// Springs.
    Attachments,
    /// Springs to points of the world that move.
    MovingAttachments,
    /// External forces and torques, and accelerations of single bodies that change over time.
    Loads,
    /// Air drag.
    Drag,
    /// Gravity that changes over time.
    ChangingGravity,
    /// Wind that changes over time and place.
    Gusts,
    /// Enclosed volumes that resist being changed.
    Volumes,
    /// Contact.
    Contact,
    /// Contact of particles.
    ParticleContact,
    /// Contacts that resist being pulled apart.
    Cohesion,
    /// Compliant contacts.
    Compliance,
    /// Bodies of kinds defined outside the library.
    OpenKinds,
    /// Bodies of material points.
    Granular,
    /// Bodies whose degrees of freedom are made anew for every step.
    PerStep,
    /// Contact of such bodies.
    PerStepContact,
    /// Contact with obstacles whose meshes deform.
    AnimatedObstacles,
    /// Seams that are drawn in.
    Seams,
}

/// A feature that a scene needs, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The feature.
    pub feature: ModelFeature,
    /// The part of the scene that has it, as a clause: ``body `rope` is made of rods``.
    pub clause: String,
}

impl ModelFeature {
    /// All of them, in the order in which refusals name them.
    pub const ALL: [Self; 25] = [
        Self::Shells,
        Self::Solids,
        Self::RigidBodies,
        Self::Particles,
        Self::AffineFrames,
        Self::Rods,
        Self::DynamicTwist,
        Self::Pins,
        Self::Attachments,
        Self::MovingAttachments,
        Self::Loads,
        Self::Drag,
        Self::ChangingGravity,
        Self::Gusts,
        Self::Volumes,
        Self::Contact,
        Self::ParticleContact,
        Self::Cohesion,
        Self::Compliance,
        Self::OpenKinds,
        Self::Granular,
        Self::PerStep,
        Self::PerStepContact,
        Self::AnimatedObstacles,
        Self::Seams,
    ];

    /// The feature in the documentation's table of methods.
    pub fn title(self) -> &'static str {
        match self {
            Self::Shells => "shells",
            Self::Solids => "elastic solids",
            Self::RigidBodies => "rigid bodies",
            Self::Particles => "particles",
            Self::AffineFrames => "affine frames",
            Self::Rods => "rods, quasi-static twist",
            Self::DynamicTwist => "rods, dynamic twist",
            Self::Pins => "pins",
            Self::Attachments => "attachments",
            Self::MovingAttachments => "attachments to moving points",
            Self::Loads => "external forces and torques",
            Self::Drag => "air drag",
            Self::ChangingGravity => "gravity over time",
            Self::Gusts => "gusts",
            Self::Volumes => "enclosed volumes",
            Self::Contact => "contact",
            Self::ParticleContact => "contact of particles",
            Self::Cohesion => "cohesion",
            Self::Compliance => "compliance",
            Self::OpenKinds => "kinds of bodies from outside the library",
            Self::Granular => "granular bodies",
            Self::PerStep => "degrees of freedom of one step, such as grids",
            Self::PerStepContact => "contact of those",
            Self::AnimatedObstacles => "contact with animated meshes",
            Self::Seams => "seams",
        }
    }

    /// The end of a sentence that refuses the feature.
    fn refusal(self) -> &'static str {
        match self {
            Self::Contact => ", and this method solves no contact",
            Self::Gusts => ", and this method supports steady wind only",
            Self::ParticleContact | Self::PerStepContact => ", whose contact it does not support",
            _ => ", which it does not support",
        }
    }

    /// The change of a scene after which it does not need the feature.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Shells
            | Self::Solids
            | Self::RigidBodies
            | Self::Particles
            | Self::AffineFrames
            | Self::Rods
            | Self::OpenKinds
            | Self::Granular
            | Self::PerStep => "remove the body",
            Self::DynamicTwist => "set `twist = \"quasi-static\"` for the body",
            Self::Pins => "remove the pin",
            Self::Attachments => "remove the attachment",
            Self::MovingAttachments => "remove `motion` from the attachment",
            Self::Loads => {
                "remove `force` and `torque` from the body; give one vector as `acceleration`"
            }
            Self::Drag => "remove `drag` from the body",
            Self::ChangingGravity => "give one vector as `gravity`",
            Self::Gusts => "remove `gust` from [air]",
            Self::Volumes => "remove the [[volume]] table",
            Self::Contact | Self::ParticleContact | Self::PerStepContact => {
                "set `contact.enabled = false` to let bodies pass through one another"
            }
            Self::Cohesion => "remove `cohesion` from [friction]",
            Self::Compliance => "remove `compliance` from [friction]",
            Self::AnimatedObstacles => "remove `animation` from the obstacle",
            Self::Seams => "remove the [[seam]] table",
        }
    }
}

impl fmt::Display for Need {
    /// As a reason for a refusal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.clause, self.feature.refusal())
    }
}

/// The features that a model needs, each once, with the first part of the scene that has it. Laws of
/// contact are examined where `rules` are given.
pub fn needs(model: &Model, rules: Option<&ContactRules>) -> Vec<Need> {
    let found = |feature: ModelFeature| {
        let clause = clause(feature, model, rules)?;
        Some(Need { feature, clause })
    };
    ModelFeature::ALL.into_iter().filter_map(found).collect()
}

/// A clause about the first part of a scene that has a feature.
fn clause(feature: ModelFeature, model: &Model, rules: Option<&ContactRules>) -> Option<String> {
    let body = |is: &dyn Fn(&Body) -> bool, what: &str| {
        let found = model.bodies.iter().find(|b| is(b));
        found.map(|b| format!("body `{}` {what}", b.name))
    };
    let of_kind = |what: &str| body(&|b| kind(b) == feature, what);
    let touching = rules.filter(|_| model.contact);
    match feature {
        ModelFeature::Shells => of_kind("is a shell"),
        ModelFeature::Solids => of_kind("is an elastic solid"),
        ModelFeature::RigidBodies => of_kind("is rigid"),
        ModelFeature::Particles => of_kind("is made of particles"),
        ModelFeature::AffineFrames => of_kind("is carried by affine frames"),
        ModelFeature::Rods => of_kind("is made of rods"),
        ModelFeature::DynamicTwist => of_kind("is made of rods with dynamic twist"),
        ModelFeature::Pins => {
            let block = model.pins.first().and_then(|p| model.body_of(p.block));
            let held = model.held_frames.first();
            let pinned = block.or_else(|| model.bodies.get(held?.clamp.body));
            pinned.map(|b| format!("body `{}` is pinned", b.name))
        }
        ModelFeature::Attachments => {
            let springs = !model.attachments.is_empty();
            springs.then(|| "the scene has attachments".to_owned())
        }
        ModelFeature::MovingAttachments => {
            let driven = model.attachments.iter().any(|s| s.motion.is_some());
            driven.then(|| "an attachment has a moving end".to_owned())
        }
        ModelFeature::Loads => body(&|b| b.load.is_some(), "has external loads"),
        ModelFeature::Drag => body(&|b| b.drag.is_some(), "has air drag"),
        ModelFeature::ChangingGravity => {
            let track = model.gravity_track.as_ref();
            track.map(|_| "gravity changes over time".to_owned())
        }
        ModelFeature::Gusts => {
            let gust = model.air.and_then(|air| air.gust);
            gust.map(|_| "the wind has gusts".to_owned())
        }
        ModelFeature::Volumes => {
            let first = model.volumes.first();
            first.map(|v| format!("volume `{}` is enclosed", v.name))
        }
        ModelFeature::Contact => model.contact.then(|| match model.obstacles.first() {
            Some(o) => format!("obstacle `{}` collides with bodies", o.name),
            None => "contact between bodies is enabled".to_owned(),
        }),
        ModelFeature::ParticleContact => body(
            &|b| model.contact && b.is_particles(),
            "is made of particles",
        ),
        ModelFeature::OpenKinds => of_kind("is of a kind from outside the library"),
        ModelFeature::Granular => of_kind("is granular"),
        ModelFeature::PerStep => body(
            &|b| b.kind.per_step().is_some(),
            "has degrees of freedom that are made anew for every step",
        ),
        ModelFeature::PerStepContact => body(
            &|b| model.contact && b.kind.per_step().is_some(),
            "has degrees of freedom that are made anew for every step",
        ),
        ModelFeature::AnimatedObstacles => {
            let animated = |o: &&Obstacle| matches!(o.shape, ObstacleShape::Animated(_));
            let found = model.obstacles.iter().find(animated);
            found
                .filter(|_| model.contact)
                .map(|o| format!("obstacle `{}` is an animated mesh", o.name))
        }
        ModelFeature::Seams => {
            let closing = model.attachments.iter().any(|s| s.closing.is_some());
            closing.then(|| "the scene has seams".to_owned())
        }
        ModelFeature::Cohesion => materials(model, touching?, "cohesion", |law| law.cohesion),
        ModelFeature::Compliance => materials(model, touching?, "compliance", |law| law.compliance),
    }
}

/// The first pair of materials whose law has a number that is not zero.
fn materials(
    model: &Model,
    rules: &ContactRules,
    what: &str,
    number: fn(&PairLaw) -> f64,
) -> Option<String> {
    let names = material_names(model);
    let known = names.len().min(rules.laws.count() as usize);
    let pairs = (0..known).flat_map(|a| (a..known).map(move |b| (a, b)));
    let has = |&(a, b): &(usize, usize)| number(&rules.laws.between(a as u32, b as u32)) != 0.0;
    let (a, b) = pairs.into_iter().find(has)?;
    Some(format!(
        "materials `{}` and `{}` have {what}",
        names[a], names[b]
    ))
}

/// The feature that a body is.
fn kind(body: &Body) -> ModelFeature {
    match &body.kind {
        BodyKind::Rigid(_) => ModelFeature::RigidBodies,
        BodyKind::Rods(rods) => match rods.twist() {
            Twist::Dynamic => ModelFeature::DynamicTwist,
            Twist::QuasiStatic => ModelFeature::Rods,
        },
        BodyKind::Deformable(_) if body.is_particles() => ModelFeature::Particles,
        BodyKind::Deformable(_) if body.is_frames() => ModelFeature::AffineFrames,
        BodyKind::Deformable(_) if !body.tets.is_empty() => ModelFeature::Solids,
        BodyKind::Deformable(_) => ModelFeature::Shells,
        BodyKind::Open(kind) if kind.material_points().is_some() => ModelFeature::Granular,
        BodyKind::Open(_) => ModelFeature::OpenKinds,
    }
}
