//! `[[body]]`.

use stiction_bodies::{
    BodyLoad,
    builder::{BodySpec, GranularSpec, Rooting},
    drag::Drag,
    material::{Damping, MassKind, RestAngles, ShellMaterial, SolidMaterial},
    rod::{Natural, RodMaterial, Twist},
};
use stiction_contact::detect::PairLaw;
use stiction_math::Vec3;

use crate::{
    format::{
        At, Direction, Fields, ProblemKind, Read, SourceSpan, TableKeys, TreeNode, Words, section,
        words,
    },
    read::{
        Context,
        garment::{PanelKeys, PanelPlan, RestShape},
        material::{Material, MaterialKeys},
        motion::{LoadKeys, OverTime},
        names::{MOST_COPIES, OfBody, copies},
        pin::{Filters, SelectKeys},
        place::{Placement, Rotate},
        shape::{Purpose, SHAPES, ShapePlan, shape},
    },
};

words! { MassKind: "lumped" => Lumped, "consistent" => Consistent }
words! { RestAngles: "mesh" => Mesh, "flat" => Flat }
words! { Natural: "given" => Given, "straight" => Straight }
words! { Twist: "dynamic" => Dynamic, "quasi-static" => QuasiStatic }

section! { struct BodyKeys "body" [ExactlyOne(&["shape", "mesh", "panel"]), Needs("uv_scale", &["rest"]), Excludes("rest", &["uv"], &["warp"], "the warp runs along u"), Demands("kind", &["particles"], "radius"), Demands("kind", &["embedded", "granular"], "cell"),
    Excludes("kind", &["shell", "solid", "embedded", "particles", "granular", "rods", "frames"], &["torque"], "the body is not rigid and takes no `torque`; pull at points of it with attachments"),
    Excludes("kind", &["solid", "embedded", "rigid", "particles", "granular", "rods", "frames"], &["warp", "rest_angles", "patch", "rest", "panel"], "it is for shells"),
    Excludes("kind", &["shell", "solid", "embedded", "rigid", "particles", "granular", "frames"], &["natural", "twist", "director", "rooted"], "it is for rods"),
    Excludes("kind", &["shell", "solid", "rigid", "particles", "rods", "frames"], &["cell"], "it is for embedded solids and granular bodies"),
    Excludes("kind", &["shell", "solid", "embedded", "rigid", "particles", "rods", "frames"], &["per_cell"], "it is for granular bodies"),
    Excludes("kind", &["shell", "solid", "embedded", "rigid", "granular", "rods", "frames"], &["radius"], "it is for particles"),
    Excludes("kind", &["particles", "granular", "rods"], &["padding", "drag"], "it is for bodies with a surface"),
    Excludes("kind", &["rigid", "particles", "granular", "rods", "frames"], &["start_scale", "mass"], "it is for shells and solids"),
    Excludes("rooted", &[], &["velocity", "angular_velocity", "repeat"], "rooted rods start with their body")] {
    name: At<String> = Name, Required, "its name, unlike all others";
    kind: () = Word(Purpose::WORDS), Said("the material's"), "`\"shell\"` (cloth), `\"solid\"` (tetrahedra), `\"embedded\"` (a closed surface carried by a lattice of tetrahedra), `\"rigid\"`, `\"particles\"` (balls that do not turn, such as grains), `\"granular\"` (material points that fill a closed surface: sand, goo and soft matter that may come apart; listed after all other bodies), `\"rods\"` (hair, ropes, wires), `\"frames\"` (branches and leaves, carried by affine frames)";
    shape: () = Union(&SHAPES), Absent, "a [shape](#shapes)";
    mesh: Option<At<String>> = Text, Absent, "instead of `shape`: a [mesh file](#mesh-files)";
    panels as "panel": Vec<PanelPlan> = Tables(PanelKeys::SECTION), Absent, "instead: the panels of a garment, which seams join";
    rest: RestShape = Word(RestShape::WORDS), Chosen("mesh"), "of shells: the shape without stress, that of the `\"mesh\"`, or that of its texture coordinates, `\"uv\"`: panels cut flat, with the warp along u and flat `rest_angles` unless these are given. Seams of the texture are sewn";
    texture_scale as "uv_scale": f64 = Number("m", Positive), Num(1.0), "length of one unit of these coordinates";
    material: () = Either(&[Text, Table(MaterialKeys::SECTION)]), Required, "its [material](#materialname)";
    translate: Vec3 = Vector("m"), Vec(&[0.0; 3]), "moved at last";
    rotate: Vec<Rotate> = TableOrTables(Rotate::SECTION), Absent, "turned after `scale`, one after another";
    scale: Vec3 = Either(&[Number("1", Any), Vector("1")]), Num(1.0), "applied first; negative numbers mirror";
    velocity: Vec3 = Vector("m/s"), Vec(&[0.0; 3]), "at the start";
    angular_velocity: Vec3 = Vector("°/s"), Vec(&[0.0; 3]), "at the start, about the centre of mass";
    acceleration: Option<OverTime> = Either(&[Vector("m/s²"), Table(LoadKeys::SECTION)]), Said("zero"), "of this body alone, in addition to gravity; as a table it changes over time as [gravity](#top-level) does";
    force: Option<OverTime> = Either(&[Vector("N"), Table(LoadKeys::SECTION)]), Said("zero"), "external force on the body as a whole, spread over it like its mass; as a table over time. Its potential is no part of energies. Not every [method](#method) supports forces, torques and changing accelerations";
    torque: Option<OverTime> = Either(&[Vector("N·m"), Table(LoadKeys::SECTION)]), Said("zero"), "external torque on a rigid body about its centre of mass, in the world frame; as a table over time";
    mass: MassKind = Word(MassKind::WORDS), Chosen("lumped"), "`\"lumped\"` or `\"consistent\"` mass matrix of shells and solids";
    drag: Option<Drag> = Table(Drag::SECTION), Absent, "air drag";
    warp: Direction = Direction, Vec(&[1.0, 0.0, 0.0]), "direction of a shell's warp in its shape's own frame";
    rest_angles: RestAngles = Word(RestAngles::WORDS), Chosen("mesh"), "which angles between a shell's triangles are free of stress: those of the `\"mesh\"` or `\"flat\"` ones";
    cell: Option<At<f64>> = Number("m", Positive), Said("required for embedded and granular"), "size of the cells of the lattice, or of the grid of granular bodies";
    per_cell: u32 = Count(1), Int(8), "of granular bodies: points per cell of the grid";
    radius: Option<f64> = Number("m", Positive), Said("required for particles"), "of each particle; surfaces stay the contact thickness apart from it";
    natural: Natural = Word(Natural::WORDS), Chosen("given"), "in which shape rods bear no stress: the one they are `\"given\"`, or `\"straight\"`";
    twist: Twist = Word(Twist::WORDS), Chosen("dynamic"), "whether the twists of rods are degrees of freedom, or `\"quasi-static\"`: at every moment where the energy of the centreline is least, as hair is twisted, whose twist waves are far too quick to be seen. Fewer unknowns, and what the splitting integrator needs";
    director: Direction = Direction, Vec(&[0.0, 0.0, 1.0]), "of rods, in their shape's own frame: where the first half axis of the cross-section points at the root, as far as it is across; along a rod it follows without twist";
    patch: Vec<Patch> = Tables(Patch::SECTION), Absent, "of shells: where they are of another material";
    rooted: Option<Rooted> = Table(Rooted::SECTION), Absent, "of rods: the body in which they are rooted";
    padding: f64 = Number("m", NotNegative), Num(0.0), "offset of the contact surface, in addition to the contact thickness: half the thickness of cloth";
    start_scale: Vec3 = Either(&[Number("1", Positive), Numbers(3, "1", Positive)]), Num(1.0), "of shells and solids: where nodes start, scaled about the centre of mass along x, y and z; the rest shape is not scaled, so that the body starts stretched";
    repeat: Option<Repeat> = Table(Repeat::SECTION), Absent, "copies, called `NAME-1`, `NAME-2`, …";
} }
section! { for Drag "body.drag" {
    normal: f64 = Number("1", NotNegative), Num(1.0), "across the surface";
    tangential: f64 = Number("1", NotNegative), Num(0.05), "along it";
} }
section! { struct Patch "body.patch" {
    material: Material = Either(&[Text, Table(MaterialKeys::SECTION)]), Required, "a material of shells. Damping and friction are those of the body's own";
    select: At<Filters> = Table(SelectKeys::SECTION), Required, "as for [pins](#pin): the triangles all of whose nodes are selected are of that material; of several patches the last counts";
} }
section! { /// The body in which rods are rooted.
    struct Rooted "body.rooted" {
    body: At<OfBody> = Text, Required, "a body listed before";
    stiffness: f64 = Number("1", Positive), Num(1.0), "of the springs, see below";
    bare: usize = Count(0), Int(2), "number of segments that never touch that body";
} }
section! { /// Copies side by side.
    struct Repeat "body.repeat" => Repeat, limited {
    count: u32 = Count(1), Required, "number of copies";
    step: Vec3 = Vector("m"), Required, "from one copy to the next";
} }

/// A body.
pub(crate) struct BodyPlan {
    pub name: At<String>,
    pub material_model: BodyMaterial,
    pub geometry: Geometry,
    pub placement: Placement,
    /// All of it but names.
    pub spec: BodySpec,
    pub material: Material,
    pub friction: Option<PairLaw>,
    pub repeat: Option<Repeat>,
    /// Regions of a shell with another material; of several that contain a triangle, the last counts.
    pub patches: Vec<(At<Filters>, ShellMaterial)>,
    pub rooted: Option<(At<OfBody>, Rooting)>,
    pub rest: RestShape,
    /// Length of one unit of texture coordinates [m].
    pub texture_scale: f64,
}

/// Material model of a body.
pub(crate) enum BodyMaterial {
    Shell(Box<ShellMaterial>),
    Solid(SolidMaterial),
    Embedded(SolidMaterial, At<f64>),
    Rigid(f64, Damping),
    Particles(Balls),
    /// Points and grid, and where the key `cell` is.
    Granular(GranularSpec, SourceSpan),
    Frames(SolidMaterial),
    /// Rods and the director of their first edges.
    Rods(RodMaterial, Vec3),
}

/// Particles: their radius [m], density [kg/m³] and damping.
pub(crate) struct Balls {
    pub radius: f64,
    pub density: f64,
    pub damping: Damping,
}

/// Source of its mesh.
pub(crate) enum Geometry {
    Shape(ShapePlan),
    File(At<String>),
    Panels(Vec<PanelPlan>, SourceSpan),
}

impl BodyPlan {
    /// The number of bodies.
    pub fn copies(&self) -> u32 {
        self.repeat.as_ref().map_or(1, |r| r.count)
    }

    /// The names of the bodies.
    pub fn names(&self) -> Vec<String> {
        copies(&self.name.value, self.repeat.as_ref().map(|r| r.count))
    }
}

impl Read<Context> for BodyPlan {
    fn read(root: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        let section = BodyKeys::SECTION;
        let f = root.open(node, root.title(key, node))?;
        let f = f.with_keys(&[], section.keys, true);
        let material: Option<Material> = f.take("material");
        let purpose: Purpose = match f.has("kind") {
            true => f.take("kind")?,
            false => material.as_ref()?.purpose(&f)?,
        };
        // The kind may be that of the material.
        f.rules(section.rules, |key| match key {
            "kind" => Some(purpose.word().to_owned()),
            key => f.word(key),
        });
        let shape = f.has("shape").then(|| shape(&f, purpose));
        let mut k = BodyKeys::keys(&f)?;
        if k.rest == RestShape::Texture && !f.has("rest_angles") {
            k.rest_angles = RestAngles::Flat;
        }
        let geometry = match k.mesh.clone() {
            Some(path) => Geometry::File(path),
            None if f.has("panel") => {
                Geometry::Panels(std::mem::take(&mut k.panels), f.place_of("panel"))
            }
            None => Geometry::Shape(shape??),
        };
        let placement = Placement::new(&f, k.scale, &k.rotate, k.translate)?;
        let material = material?;
        let material_model = model(&f, &k, &material, purpose, &placement);
        let patch = |p: Patch| Some((p.select, p.material.shell(&f, k.rest_angles)?));
        let grown = matches!(&geometry, Geometry::Shape(s) if s.grows());
        let rooted = match k.rooted.take() {
            Some(rooted) => Some(rooting(&f, rooted, &k.name.value, grown)?),
            None if grown => {
                let message = format!("{}: hair on a body needs the key `rooted`", f.what);
                return f.refuse("shape", message, None);
            }
            None => None,
        };
        Some(Self {
            spec: spec(&k, &placement),
            patches: k.patch.into_iter().map(patch).collect::<Option<_>>()?,
            rooted,
            material_model: material_model?,
            friction: material.friction(&f),
            rest: k.rest,
            texture_scale: k.texture_scale,
            name: k.name,
            geometry,
            placement,
            material,
            repeat: k.repeat,
        })
    }
}

fn model(
    f: &Fields<'_>,
    k: &BodyKeys,
    material: &Material,
    purpose: Purpose,
    placement: &Placement,
) -> Option<BodyMaterial> {
    Some(match purpose {
        Purpose::Shell => BodyMaterial::Shell(Box::new(material.shell(f, k.rest_angles)?)),
        Purpose::Solid => BodyMaterial::Solid(material.solid(f)?),
        Purpose::Frames => BodyMaterial::Frames(material.solid(f)?),
        Purpose::Embedded => BodyMaterial::Embedded(material.solid(f)?, k.cell.clone()?),
        Purpose::Rigid => {
            let (density, damping) = material.rigid(f)?;
            BodyMaterial::Rigid(density, damping)
        }
        Purpose::Particles => {
            let ((density, damping), radius) = (material.rigid(f)?, k.radius?);
            BodyMaterial::Particles(Balls {
                radius,
                density,
                damping,
            })
        }
        Purpose::Granular => {
            let At { value: cell, place } = k.cell.clone()?;
            BodyMaterial::Granular(material.granular(f, cell, k.per_cell)?, place)
        }
        Purpose::Rods => {
            let director = placement.pose.rotation * k.director.0;
            BodyMaterial::Rods(material.rod(f, k.natural, k.twist)?, director)
        }
    })
}

fn spec(k: &BodyKeys, placement: &Placement) -> BodySpec {
    let over_time = |load: &Option<OverTime>| load.as_ref().and_then(OverTime::schedule);
    let mut load = BodyLoad {
        force: over_time(&k.force),
        torque: over_time(&k.torque),
        ..BodyLoad::default()
    };
    let mut spec = BodySpec::new(&k.name.value);
    match &k.acceleration {
        // A constant one is a key of the specification itself.
        Some(OverTime::Constant(a)) => spec.acceleration = *a,
        changing => load.acceleration = over_time(changing),
    }
    BodySpec {
        load: (load != BodyLoad::default()).then(|| Box::new(load)),
        mass: k.mass,
        drag: k.drag,
        // The warp is woven into the shape and turns with it.
        warp: placement.pose.rotation * k.warp.0,
        padding: k.padding,
        start_scale: k.start_scale,
        velocity: k.velocity,
        // Angles are in degrees, also per second.
        angular_velocity: k.angular_velocity.map(f64::to_radians),
        ..spec
    }
}

/// The body that the rods called `own` are rooted in, and the rooting; `grown` if its surface is where they grow.
fn rooting(
    f: &Fields<'_>,
    rooted: Rooted,
    own: &str,
    grown: bool,
) -> Option<(At<OfBody>, Rooting)> {
    let what = &f.what;
    let moved = ["scale", "rotate", "translate"];
    if let Some(key) = moved.into_iter().find(|k| grown && f.has(k)) {
        let message =
            format!("{what}: hair on a body grows where the body is and takes no `{key}`");
        return f.refuse(key, message, format!("remove `{key}`"));
    }
    // The rods' own place among the bodies; that it has a name was seen before.
    let index = f.cx.names.body(own).unwrap_or(0);
    if rooted.body.value.0 >= index {
        let message = format!("{what}: the body in which it is rooted must come before it");
        return f.reporter().refuse(rooted.body.place, message, None);
    }
    let Rooted {
        body,
        stiffness,
        bare,
    } = rooted;
    Some((body, Rooting { stiffness, bare }))
}

fn limited(f: &Fields<'_>, repeat: Repeat) -> Option<Repeat> {
    let count = repeat.count;
    if count > MOST_COPIES {
        let message = format!("{}: {count} copies are more than {MOST_COPIES}", f.what);
        return f.fail(ProblemKind::TooLarge, "count", message, None);
    }
    Some(repeat)
}
