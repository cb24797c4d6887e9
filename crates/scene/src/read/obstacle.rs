//! `[[obstacle]]`.

use stiction_bodies::{motion::Motion, obstacle::Solid};
use stiction_geometry::shapes::{BowlSurface, Cone};
use stiction_math::Vec3;

use crate::{
    format::{At, Direction, Fields, Section, TableKeys, Union, section, suggest, words},
    read::{
        Context,
        garment::Animation,
        motion::{MotionKeys, held},
        place::{Placement, Rotate},
        shape::{self, Generator, ShapePlan, TYPE},
    },
};

/// An obstacle.
pub(crate) struct ObstaclePlan {
    pub name: At<String>,
    pub shape: ObstacleGeometry,
    pub placement: Placement,
    pub motion: Option<Motion>,
    /// The name in the friction table: that of a material, or its own.
    pub material: At<String>,
    /// The frames of its mesh, if that moves.
    pub animation: Option<Animation>,
    /// The cells of a level set [m], if its mesh is to be touched as one.
    pub cell: Option<At<f64>>,
}

pub(crate) enum ObstacleGeometry {
    /// An analytic shape.
    Exact(Solid),
    Mesh(ShapePlan),
    File(At<String>),
}

/// Contact geometry of a mesh.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Collide {
    Mesh,
    LevelSet,
}
words! { Collide: "mesh" => Mesh, "level-set" => LevelSet }

section! { struct ObstacleKeys "obstacle" [ExactlyOne(&["shape", "mesh"]), Demands("collide", &["level-set"], "cell"), Needs("cell", &["collide"]), Needs("animation", &["mesh"]), AtMostOne(&["animation", "collide"])] => ObstaclePlan, obstacle {
    name: At<String> = Name, Required, "its name";
    shape: () = Union(&SHAPES), Absent, "a [shape](#shapes) of obstacles";
    mesh: Option<At<String>> = Text, Absent, "instead of `shape`: a [mesh file](#mesh-files)";
    animation: Option<Animation> = Table(Animation::SECTION), Said("at rest in its own frame"), "the frames of a [mesh that moves](#animation)";
    translate: Vec3 = Vector("m"), Vec(&[0.0; 3]), "where it starts, as for bodies";
    rotate: Vec<Rotate> = TableOrTables(Rotate::SECTION), Absent, "how it starts, as for bodies";
    scale: Vec3 = Either(&[Number("1", Any), Vector("1")]), Num(1.0), "of a mesh";
    motion: Option<Motion> = Table(MotionKeys::SECTION), Said("at rest"), "a [motion](#motion) without `release`";
    material: Option<At<String>> = Text, Said("its own name"), "a name for the [friction](#friction) table; need not be defined";
    collide: Option<Collide> = Word(Collide::WORDS), Said("`\"mesh\"`"), "contact geometry of a mesh: its triangles, or with `\"level-set\"` its signed distance sampled on a grid";
    cell: Option<At<f64>> = Number("m", Positive), Said("required with `\"level-set\"`"), "the side of the grid's cells";
} }

fn obstacle(f: &Fields<'_>, k: ObstacleKeys) -> Option<ObstaclePlan> {
    let what = &f.what;
    let shape = match k.mesh {
        Some(path) => ObstacleGeometry::File(path),
        None if f.has("scale") => {
            let message = format!("{what} has a shape, which takes its size from its own keys");
            return f.refuse("scale", message, "remove `scale`");
        }
        None => obstacle_shape(f)?,
    };
    if k.collide.is_some() && matches!(shape, ObstacleGeometry::Exact(_)) {
        let message = format!("{what} is an analytic shape and has no level set");
        return f.refuse("collide", message, "remove `collide`; it is for meshes");
    }
    if k.cell.is_some() && k.collide != Some(Collide::LevelSet) {
        let message = format!("{what} has no level set, whose resolution `cell` is");
        let help = "add `collide = \"level-set\"`, or remove `cell`";
        return f.refuse("cell", message, help);
    }
    Some(ObstaclePlan {
        placement: Placement::new(f, k.scale, &k.rotate, k.translate)?,
        motion: held(f, k.motion)?,
        material: k.material.unwrap_or(k.name.clone()),
        name: k.name,
        animation: k.animation,
        shape,
        cell: k.cell,
    })
}

/// A shape of obstacles.
pub(crate) struct ObstacleKind {
    /// The word after `type`.
    pub word: &'static str,
    pub section: &'static Section,
    pub doc: &'static str,
    read: fn(&Fields<'_>) -> Option<ObstacleGeometry>,
}

/// Declares shapes: the word after `type`, the struct of keys, the meaning, and what the keys make.
macro_rules! obstacles {
    ($($word:literal $t:ident $doc:literal $({ $($keys:tt)* })? |$f:ident, $k:ident| $made:expr;)*) => {
        $($(section! { struct $t $word { $($keys)* } })?)*
        /// All shapes of obstacles.
        pub(crate) const KINDS: &[ObstacleKind] = &[$(ObstacleKind {
            word: $word,
            section: <$t as TableKeys<Context>>::SECTION,
            doc: $doc,
            read: |$f| { let $k = <$t as TableKeys<Context>>::keys($f)?; Some($made) },
        }),*];
    };
}

obstacles! {
    "plane" Plane "all points below" {
        normal: Direction = Direction, Vec(&[0.0, 0.0, 1.0]), "";
        offset: f64 = Number("m", Any), Num(0.0), "along the normal";
    } |_f, k| ObstacleGeometry::Exact(Solid::Plane { normal: k.normal.0, offset: k.offset });
    "box" Block "a block" {
        size: Vec3 = Numbers(3, "m", Positive), Required, "";
    } |_f, k| ObstacleGeometry::Exact(Solid::Box { half: k.size * 0.5 });
    "sphere" Ball "a ball" {
        radius: f64 = Number("m", Positive), Required, "";
    } |_f, k| ObstacleGeometry::Exact(Solid::Sphere { radius: k.radius });
    "capsule" Capsule "a cylinder with round ends; `length` is that of the cylinder" {
        radius: f64 = Number("m", Positive), Required, "";
        length: f64 = Number("m", Positive), Required, "";
    } |_f, k| ObstacleGeometry::Exact(Solid::Capsule { radius: k.radius, half: 0.5 * k.length });
    "cylinder" Cylinder "a cylinder" {
        radius: f64 = Number("m", Positive), Required, "";
        length: f64 = Number("m", Positive), Required, "";
    } |_f, k| ObstacleGeometry::Exact(Solid::Cylinder { radius: k.radius, half: 0.5 * k.length });
    "cone" Cone "a cone, or a pyramid with `around` sides, which is a mesh; base at z = 0"
    |f, k| match f.has("around") {
        true => ObstacleGeometry::Mesh(ShapePlan::new(f, Generator::mesh(k))),
        false => ObstacleGeometry::Exact(Solid::Cone { radius: k.radius, height: k.height }),
    };
    "torus" Torus "a ring round the z axis" {
        major: f64 = Number("m", Positive), Required, "";
        minor: f64 = Number("m", Positive), Required, "";
    } |f, k| match k.minor < k.major {
        true => ObstacleGeometry::Exact(Solid::Torus { major: k.major, minor: k.minor }),
        false => return f.out_of_range("minor", k.minor, "below `major`"),
    };
    "bowl" BowlSurface "a mesh: a bowl open upwards, the centre of its sphere at the origin"
    |f, k| ObstacleGeometry::Mesh(ShapePlan::new(f, Generator::mesh(k)));
}

const SHAPES: Union = Union {
    name: "obstacle.shape",
    common: TYPE,
    members: || {
        let all = KINDS.iter().map(|k| (k.word, k.doc.to_owned(), k.section));
        all.collect()
    },
};

fn obstacle_shape(f: &Fields<'_>) -> Option<ObstacleGeometry> {
    let (shape, word) = shape::open(f)?;
    let Some(kind) = KINDS.iter().find(|k| k.word == word) else {
        let help = suggest::help(&word, "shapes of obstacles", KINDS.iter().map(|k| k.word));
        let message = format!("{} cannot have the shape `{word}`", f.what);
        return shape.refuse("type", message, help);
    };
    (kind.read)(&shape::of_shape(shape, kind.section, true))
}
