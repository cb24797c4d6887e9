//! Where bodies and obstacles start: `scale`, then `rotate`, then `translate`.

use stiction_bodies::motion::Pose;
use stiction_math::elementary::rotation_about;
use stiction_math::{Vec3, nalgebra::Unit};

use crate::{
    error::Kind,
    fields::{Fields, vector},
    schema,
    tree::{Node, Value},
};

/// x ↦ R (s ∘ x) + t.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub scale: Vec3,
    pub pose: Pose,
}

/// `scale`, `rotate` and `translate` of a body or obstacle.
pub(crate) fn placement(f: &Fields<'_>) -> Option<Placement> {
    let scale = match f.get("scale") {
        None => Some(Vec3::repeat(1.0)),
        Some(Node {
            value: Value::Array(_),
            ..
        }) => f.vector("scale"),
        Some(_) => f.number("scale").map(Vec3::repeat),
    };
    let mut pose = Pose::default();
    let turns: &[Node] = match f.get("rotate") {
        None => &[],
        Some(Node {
            value: Value::Array(items),
            ..
        }) => items,
        Some(node) => std::slice::from_ref(node),
    };
    for node in turns {
        let t = Fields::new(
            f.reporter,
            node,
            format!("`rotate` of {}", f.what),
            schema::ROTATE,
        )?;
        let (axis, angle) = (t.need_direction("axis"), t.need_number("angle"));
        let about = if t.has("about") {
            t.vector("about")?
        } else {
            Vec3::zeros()
        };
        let r = rotation_about(&Unit::new_unchecked(axis?), angle?.to_radians());
        pose.rotation = r * pose.rotation;
        pose.translation = r * (pose.translation - about) + about;
    }
    if let Some(node) = f.get("translate") {
        pose.translation += vector(f.reporter, node, &format!("`translate` of {}", f.what))?;
    }
    let scale = scale?;
    if scale.iter().any(|s| *s == 0.0) {
        return f.fail(
            Kind::Value,
            "scale",
            format!("`scale` of {} is zero, which leaves nothing", f.what),
            None,
        );
    }
    Some(Placement { scale, pose })
}
