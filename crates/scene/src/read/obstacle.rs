//! `[[obstacle]]`.

use stiction_bodies::{motion::Motion, obstacle::Solid as Shape};
use stiction_math::Vec3;

use crate::{
    error::Reporter,
    format::{Family, Fields, Key, keys, section},
    read::{
        motion::{MOTION, motion},
        place::{Placement, ROTATE, placement},
        shape::{Generator, ShapePlan, open},
        shapes,
    },
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
    /// Its span, if it is given.
    pub material_at: Option<At<String>>,
    /// The cells of a level set [m], if its mesh is to be touched as one.
    pub cell: Option<At<f64>>,
}

pub(crate) enum ObstacleGeometry {
    Shape(ObstacleForm),
    File(At<String>),
}

section! { pub(crate) OBSTACLE "obstacle" [ExactlyOne(&["shape", "mesh"]), With("collide", &["level-set"], &["cell"], &[]), Needs("cell", &["collide"])];
    "name": Name, Required, "its name";
    "shape": Union(Family::ObstacleShape), Absent, "a [shape](#shapes) of obstacles";
    "mesh": Text, Absent, "instead of `shape`: a [mesh file](#mesh-files)";
    "translate": Vector("m"), Vec(&[0.0; 3]), "where it starts, as for bodies";
    "rotate": TableOrTables(&ROTATE), Absent, "how it starts, as for bodies";
    "scale": Either(&[Number("1", Any), Vector("1")]), Num(1.0), "of a mesh";
    "motion": Table(&MOTION), Said("at rest"), "a [motion](#motion) without `release`";
    "material": Text, Said("its own name"), "a name for the [friction](#friction) table; need not be defined";
    "collide": Word(&["mesh", "level-set"]), Said("`\"mesh\"`"), "contact geometry of a mesh: its triangles, or with `\"level-set\"` its signed distance sampled on a grid";
    "cell": Number("m", Positive), Said("required with `\"level-set\"`"), "the side of the grid's cells";
}

pub(crate) fn obstacle(reporter: &Reporter, node: &Node) -> Option<ObstaclePlan> {
    let f = Fields::named(reporter, node, "obstacle", &OBSTACLE)?;
    let (name, what) = (f.name()?, f.what.clone());
    let placement = placement(&f);
    let motion = match f.get("motion") {
        Some(node) => Some(motion(reporter, node, &what, false)?),
        None => None,
    };
    let owned = |m: At<&str>| At::new(m.value.to_owned(), m.place);
    let material_at = f.text("material").map(owned);
    let shape = match f.get("shape") {
        Some(_) if f.has("scale") => {
            let message = format!("{what} has a shape, which takes its size from its own keys");
            return f.refuse("scale", message, "remove `scale`");
        }
        Some(node) => ObstacleGeometry::Shape(obstacle_shape(reporter, node, &what)?),
        None => ObstacleGeometry::File(owned(f.text("mesh")?)),
    };
    let cell = level_set(&f, &shape)?;
    let material = material_at.as_ref().unwrap_or(&name).value.clone();
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
    let collide: Option<String> = f.take("collide")?;
    let what = &f.what;
    if collide.is_some() && matches!(shape, ObstacleGeometry::Shape(ObstacleForm::Exact(_))) {
        let message = format!("{what} is an analytic shape and has no level set");
        return f.refuse("collide", message, "remove `collide`; it is for meshes");
    }
    match collide.as_deref() {
        Some("level-set") => match f.has("cell") {
            true => f.number_at("cell").map(Some),
            false => f.missing("cell"),
        },
        _ if f.has("cell") => {
            let message = format!("{what} has no level set, whose resolution `cell` is");
            let help = "add `collide = \"level-set\"`, or remove `cell`";
            f.refuse("cell", message, help)
        }
        _ => Some(None),
    }
}

/// The shape of an obstacle: exact where there is a formula, a mesh otherwise.
pub(crate) enum ObstacleForm {
    Exact(Shape),
    Mesh(ShapePlan),
}

/// A shape of obstacles.
pub(crate) struct ObstacleKind {
    /// The word after `type`.
    pub name: &'static str,
    /// Its keys in addition to `type`.
    pub keys: &'static [Key],
    pub doc: &'static str,
    read: fn(&Fields<'_>) -> Option<ObstacleForm>,
}

macro_rules! obstacles {
    ($($name:literal $doc:literal { $($keys:tt)* } $f:ident => $read:expr;)*) => {
        &[$(ObstacleKind { name: $name, doc: $doc, keys: obstacles!(@keys $($keys)*), read: |$f: &Fields<'_>| $read }),*]
    };
    (@keys $known:path) => { $known };
    (@keys $($keys:tt)*) => { keys!($($keys)*) };
}

/// All shapes of obstacles.
pub(crate) const KINDS: &[ObstacleKind] = obstacles! {
    "plane" "all points below" {
        "normal": Direction, Vec(&[0.0, 0.0, 1.0]), "";
        "offset": Number("m", Any), Num(0.0), "along the normal";
    } f => exact(Shape::Plane { normal: f.direction("normal")?, offset: f.take("offset")? });
    "box" "a block" {
        "size": Numbers(3, "m", Positive), Required, "";
    } f => exact(Shape::Box { half: f.take::<Vec3>("size")? * 0.5 });
    "sphere" "a ball" {
        "radius": Number("m", Positive), Required, "";
    } f => exact(Shape::Sphere { radius: f.take("radius")? });
    "capsule" "a cylinder with round ends; `length` is that of the cylinder" {
        "radius": Number("m", Positive), Required, "";
        "length": Number("m", Positive), Required, "";
    } f => exact(Shape::Capsule { radius: f.take("radius")?, half: 0.5 * f.take::<f64>("length")? });
    "cylinder" "a cylinder" {
        "radius": Number("m", Positive), Required, "";
        "length": Number("m", Positive), Required, "";
    } f => exact(Shape::Cylinder { radius: f.take("radius")?, half: 0.5 * f.take::<f64>("length")? });
    "cone" "a cone, or a pyramid with `around` sides, which is a mesh; base at z = 0" { shapes::CONE } f => match f.has("around") {
        true => mesh(f, shapes::cone(f)?),
        false => exact(Shape::Cone { radius: f.take("radius")?, height: f.take("height")? }),
    };
    "torus" "a ring round the z axis" {
        "major": Number("m", Positive), Required, "";
        "minor": Number("m", Positive), Required, "";
    } f => {
        let (major, minor) = (f.take("major")?, f.take("minor")?);
        if minor >= major {
            return f.out_of_range("minor", minor, "below `major`");
        }
        exact(Shape::Torus { major, minor })
    };
    "bowl" "a mesh: a bowl open upwards, the centre of its sphere at the origin" { shapes::BOWL } f => mesh(f, shapes::bowl_surface(f)?);
};

fn exact(shape: Shape) -> Option<ObstacleForm> {
    Some(ObstacleForm::Exact(shape))
}

fn mesh(f: &Fields<'_>, source: Generator) -> Option<ObstacleForm> {
    Some(ObstacleForm::Mesh(ShapePlan::new(f, source)))
}

/// The shape of an obstacle.
fn obstacle_shape(reporter: &Reporter, node: &Node, owner: &str) -> Option<ObstacleForm> {
    let (f, name) = open(reporter, node, owner)?;
    let Some(kind) = KINDS.iter().find(|k| k.name == name) else {
        let help = suggest::help(name, "shapes of obstacles", KINDS.iter().map(|k| k.name));
        let message = format!("{owner} cannot have the shape `{name}`");
        return f.refuse("type", message, &help);
    };
    (kind.read)(&f.of_shape(kind.keys, true))
}
