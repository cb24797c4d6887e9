//! Input of the builder: bodies and anchors.

use std::sync::Arc;

use stiction_math::{Vec2, Vec3};

use crate::{drag::Drag, material::MassKind, model::BodyLoad};

/// Properties common to all bodies.
#[derive(Clone, Debug)]
pub struct BodySpec {
    /// A name, unique among the bodies.
    pub name: String,
    /// The material's name in the friction table.
    pub material: String,
    /// Initial velocity [m/s].
    pub velocity: Vec3,
    /// Initial angular velocity about the centre of mass [rad/s].
    pub angular_velocity: Vec3,
    /// Acceleration in addition to gravity [m/s²].
    pub acceleration: Vec3,
    /// Additional external loads.
    pub load: Option<Box<BodyLoad>>,
    /// Air drag.
    pub drag: Option<Drag>,
    /// Distribution of mass over nodes.
    pub mass: MassKind,
    /// The direction of the warp of a shell, projected into each triangle.
    pub warp: Vec3,
    /// Offset of the contact surface from the surface [m], in addition to the contact thickness:
    /// half the thickness of cloth.
    pub padding: f64,
    /// Texture coordinates of the corners of the surface's triangles [1].
    pub texture: Option<Arc<[[Vec2; 3]]>>,
    /// The flat pattern that a shell is cut from: corners of every triangle along warp and weft [m].
    pub pattern: Option<Arc<[[Vec2; 3]]>>,
    /// Initial scale of a deformable body about its centre of mass [1]. Its rest shape is not
    /// scaled.
    pub start_scale: Vec3,
}

impl BodySpec {
    /// A body at rest.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            material: name.clone(),
            name,
            velocity: Vec3::zeros(),
            angular_velocity: Vec3::zeros(),
            acceleration: Vec3::zeros(),
            load: None,
            drag: None,
            mass: MassKind::Lumped,
            warp: Vec3::x(),
            padding: 0.0,
            texture: None,
            pattern: None,
            start_scale: Vec3::repeat(1.0),
        }
    }
}

/// One end of an attachment.
#[derive(Clone, Debug, PartialEq)]
pub enum Anchor {
    /// A point of the world [m].
    World(Vec3),
    /// The point of a body's surface closest to `near` [m]; for a rigid body, `near` itself.
    Body {
        /// The body.
        body: usize,
        /// Initial position in the world [m].
        near: Vec3,
    },
    /// A node of a deformable body, in its own numbering.
    Node {
        /// The body.
        body: usize,
        /// The node.
        node: usize,
    },
}
