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
        shape::{Generator, Purpose, Reader, ShapePlan, allow, open},
        shapes,
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

/// A shape of obstacles.
pub(crate) struct ObstacleKind {
    /// The word after `type`.
    pub name: &'static str,
    /// Its keys beside `type`.
    pub keys: &'static [&'static str],
    read: fn(&Reader<'_, '_>) -> Option<ObstacleShape>,
}

/// All shapes of obstacles.
pub(crate) const KINDS: &[ObstacleKind] = &[
    kind("plane", &["normal", "offset"], |r| {
        let normal = match r.f.has("normal") {
            true => r.f.direction("normal")?,
            false => Vec3::z(),
        };
        let offset = match r.f.has("offset") {
            true => r.f.number("offset")?,
            false => 0.0,
        };
        exact(Shape::Plane { normal, offset })
    }),
    kind("box", &["size"], |r| {
        let half = Vec3::from(r.lengths::<3>("size")?) * 0.5;
        exact(Shape::Box { half })
    }),
    kind("sphere", &["radius"], |r| {
        let radius = r.length("radius")?;
        exact(Shape::Sphere { radius })
    }),
    kind("capsule", &["radius", "length"], |r| {
        let ([radius, length], []) = r.sizes(["radius", "length"], [])?;
        let half = 0.5 * length;
        exact(Shape::Capsule { radius, half })
    }),
    kind("cylinder", &["radius", "length"], |r| {
        let ([radius, length], []) = r.sizes(["radius", "length"], [])?;
        let half = 0.5 * length;
        exact(Shape::Cylinder { radius, half })
    }),
    kind("cone", &["radius", "height", "around", "along"], |r| {
        // A cone with a number of sides is a pyramid, which has no formula of its own here.
        if r.f.has("around") {
            return mesh(r, shapes::cone(r)?);
        }
        let ([radius, height], []) = r.sizes(["radius", "height"], [])?;
        exact(Shape::Cone { radius, height })
    }),
    kind("torus", &["major", "minor"], |r| {
        let (major, minor) = (r.length("major")?, r.length("minor")?);
        if minor >= major {
            return r.f.out_of_range("minor", minor, "below `major`");
        }
        exact(Shape::Torus { major, minor })
    }),
    kind("bowl", shapes::BOWL, |r| mesh(r, shapes::bowl_surface(r)?)),
];

const fn kind(
    name: &'static str,
    keys: &'static [&'static str],
    read: fn(&Reader<'_, '_>) -> Option<ObstacleShape>,
) -> ObstacleKind {
    ObstacleKind { name, keys, read }
}

fn exact(shape: Shape) -> Option<ObstacleShape> {
    Some(ObstacleShape::Exact(shape))
}

fn mesh(r: &Reader<'_, '_>, source: Generator) -> Option<ObstacleShape> {
    Some(ObstacleShape::Mesh(ShapePlan::new(r.f, source)))
}

/// The shape of an obstacle.
pub(crate) fn obstacle_shape(
    reporter: &Reporter,
    node: &Node,
    owner: &str,
) -> Option<ObstacleShape> {
    let (f, name) = open(reporter, node, owner)?;
    let Some(kind) = KINDS.iter().find(|k| k.name == name) else {
        let help = suggest::help(name, "shapes of obstacles", KINDS.iter().map(|k| k.name));
        let message = format!("{owner} cannot have the shape `{name}`");
        return f.fail(Kind::Value, "type", message, Some(help));
    };
    allow(&f, kind.keys);
    let purpose = Purpose::Rigid;
    (kind.read)(&Reader { f: &f, purpose })
}
