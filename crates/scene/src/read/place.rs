//! Where bodies and obstacles start: `scale`, then `rotate`, then `translate`; and `[[obstacle]]`.

use stiction_bodies::motion::{Motion, Pose};
use stiction_math::{Quat, Vec3, nalgebra::Unit};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, vector},
    read::{
        motion::motion,
        settings::plain_name,
        shape::{ObstacleShape, obstacle_shape},
    },
    schema,
    source::At,
    tree::{Node, Value},
};

/// x ↦ R (s ∘ x) + t.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub scale: Vec3,
    pub pose: Pose,
}

/// An obstacle as it was read.
pub(crate) struct ObstaclePlan {
    pub name: At<String>,
    pub shape: ObstacleGeometry,
    pub placement: Placement,
    pub motion: Option<Motion>,
    /// The name in the friction table.
    pub material: String,
    /// The same where it is given.
    pub material_at: Option<At<String>>,
}

pub(crate) enum ObstacleGeometry {
    Shape(ObstacleShape),
    File(At<String>),
}

pub(crate) fn obstacle(reporter: &Reporter, node: &Node) -> Option<ObstaclePlan> {
    let f = Fields::named(reporter, node, "obstacle", schema::OBSTACLE)?;
    let name = f.need_string("name")?;
    let name = At::new(
        plain_name(reporter, name.clone(), "the `name` of an obstacle")?,
        name.place,
    );
    let what = f.what.clone();
    if !f.exactly_one(&["shape", "mesh"]) {
        return None;
    }
    let placement = placement(&f);
    let motion = match f.get("motion") {
        Some(node) => Some(motion(reporter, node, &what, false)?),
        None => None,
    };
    let material_at = f
        .string("material")
        .map(|m| At::new(m.value.to_owned(), m.place));
    let shape = match f.get("shape") {
        Some(node) => {
            if f.has("scale") {
                let message = format!("{what} has a shape, which takes its size from its own keys");
                return f.fail(
                    Kind::Value,
                    "scale",
                    message,
                    Some("remove `scale`".to_owned()),
                );
            }
            ObstacleGeometry::Shape(obstacle_shape(reporter, node, &what)?)
        }
        None => {
            let path = f.string("mesh")?;
            ObstacleGeometry::File(At::new(path.value.to_owned(), path.place))
        }
    };
    let material = material_at
        .as_ref()
        .map_or_else(|| name.value.clone(), |m| m.value.clone());
    Some(ObstaclePlan {
        material,
        name,
        shape,
        placement: placement?,
        motion,
        material_at,
    })
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
    let mut pose = Pose::identity();
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
        let r = Quat::from_axis_angle(&Unit::new_unchecked(axis?), angle?.to_radians());
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
