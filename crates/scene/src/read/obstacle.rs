//! `[[obstacle]]`.

use stiction_bodies::{motion::Motion, obstacle::Solid as Shape};
use stiction_math::Vec3;

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    read::{
        motion::motion,
        place::{Placement, placement},
        settings::plain_name,
        shape::{Generator, Purpose, Reader, ShapePlan, known, open},
    },
    schema,
    source::At,
    suggest,
    tree::Node,
};

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
    /// The cells of a level set [m], if its mesh is to be touched as one.
    pub cell: Option<At<f64>>,
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
    let cell = level_set(&f, &shape)?;
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
        cell,
    })
}

/// `collide` and `cell`; `None` if they make no sense.
fn level_set(f: &Fields<'_>, shape: &ObstacleGeometry) -> Option<Option<At<f64>>> {
    let sampled = match f.has("collide") {
        true => f.choice("collide", &[("mesh", false), ("level-set", true)])?,
        false => false,
    };
    if f.has("collide") && matches!(shape, ObstacleGeometry::Shape(ObstacleShape::Exact(_))) {
        let message = format!(
            "{} is given by a formula, which is what bodies touch",
            f.what
        );
        let help = Some("remove `collide`; it is for meshes".to_owned());
        return f.fail(Kind::Value, "collide", message, help);
    }
    if !sampled {
        if f.has("cell") {
            let message = format!("{} has no level set, whose resolution `cell` is", f.what);
            let help = Some("add `collide = \"level-set\"`, or remove `cell`".to_owned());
            return f.fail(Kind::Value, "cell", message, help);
        }
        return Some(None);
    }
    let cell = f.need_positive("cell")?;
    Some(Some(At::new(cell, f.place_of("cell"))))
}

/// The shape of an obstacle: exact where there is a formula, a mesh otherwise.
pub(crate) enum ObstacleShape {
    Exact(Shape),
    Mesh(ShapePlan),
}

/// The shape of an obstacle.
pub(crate) fn obstacle_shape(
    reporter: &Reporter,
    node: &Node,
    owner: &str,
) -> Option<ObstacleShape> {
    let (f, kind) = open(reporter, node, owner)?;
    let r = Reader {
        f: &f,
        purpose: Purpose::Rigid,
    };
    // A cone with a number of sides is a pyramid, which has no formula of its own here.
    if kind == "bowl" || (kind == "cone" && f.has("around")) {
        let source = Generator::Surface(r.closed_surface(kind)?);
        let keys = f
            .table
            .entries
            .iter()
            .map(|e| (e.key.clone(), e.node.place))
            .collect();
        return Some(ObstacleShape::Mesh(ShapePlan {
            place: node.place,
            source,
            keys,
        }));
    }
    Some(ObstacleShape::Exact(match kind {
        "plane" => {
            known(&f, kind, &["type", "normal", "offset"]);
            let normal = if f.has("normal") {
                f.direction("normal")?
            } else {
                Vec3::z()
            };
            Shape::Plane {
                normal,
                offset: if f.has("offset") {
                    f.number("offset")?
                } else {
                    0.0
                },
            }
        }
        "box" => {
            known(&f, kind, &["type", "size"]);
            Shape::Box {
                half: Vec3::from(r.lengths::<3>("size")?) * 0.5,
            }
        }
        "sphere" => {
            known(&f, kind, &["type", "radius"]);
            Shape::Sphere {
                radius: r.length("radius")?,
            }
        }
        "capsule" => {
            known(&f, kind, &["type", "radius", "length"]);
            let (radius, length) = (r.length("radius"), r.length("length"));
            Shape::Capsule {
                radius: radius?,
                half: 0.5 * length?,
            }
        }
        "cylinder" => {
            known(&f, kind, &["type", "radius", "length"]);
            let (radius, length) = (r.length("radius"), r.length("length"));
            Shape::Cylinder {
                radius: radius?,
                half: 0.5 * length?,
            }
        }
        "cone" => {
            known(&f, kind, &["type", "radius", "height", "around", "along"]);
            let (radius, height) = (r.length("radius"), r.length("height"));
            Shape::Cone {
                radius: radius?,
                height: height?,
            }
        }
        "torus" => {
            known(&f, kind, &["type", "major", "minor"]);
            let (major, minor) = (r.length("major")?, r.length("minor")?);
            if minor >= major {
                return f.out_of_range("minor", minor, "below `major`");
            }
            Shape::Torus { major, minor }
        }
        other => {
            let known = [
                "plane", "box", "sphere", "capsule", "cylinder", "cone", "torus", "bowl",
            ];
            let help = suggest::help(other, "shapes of obstacles", known);
            let message = format!("{owner} cannot have the shape `{other}`");
            return f.fail(Kind::Value, "type", message, Some(help));
        }
    }))
}
