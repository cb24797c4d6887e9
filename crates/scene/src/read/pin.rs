//! `[[pin]]` and `[[attachment]]`, and the forms of their locations.

use stiction_bodies::{builder::Anchor, motion::Motion};
use stiction_geometry::Selection;
use stiction_math::Vec3;

use crate::{
    format::{At, Direction, Fields, Read, TreeNode, section},
    read::{
        Context,
        motion::{MotionKeys, held},
        names::{OfBody, OfCollider},
    },
};

section! { /// Nodes that are held or moved.
    struct Pin "pin" {
    name: () = Text, Absent, "for overrides";
    body: OfBody = Text, Required, "whose nodes";
    select: Option<At<Filters>> = Table(SelectKeys::SECTION), Said("required, but for rigid bodies"), "which nodes; those that fulfil all conditions given";
    motion: Option<Motion> = Table(MotionKeys::SECTION), Said("at rest"), "a [motion](#motion)";
    to: Option<At<OfCollider>> = Text, Absent, "an obstacle that carries the nodes, each with the triangle nearest to it at the start; or another body, to whose nearest points springs of the present length tie them";
    stiffness: Option<f64> = Number("N/m", Positive), Said("required with `to` for a body"), "of these springs";
} }
section! { struct SelectKeys "select" [Some(&["all", "boundary", "box", "sphere", "half_space", "nearest", "nodes", "group", "roots", "tips"], "says nothing")] => Filters, filters {
    all: Option<Whole> = Flag, Absent, "`true`: every node";
    boundary: Option<Whole> = Flag, Absent, "`true`: the rim of a shell, the surface of a solid";
    inside as "box": Option<Box> = Table(Box::SECTION), Absent, "nodes in a box";
    sphere: Option<Sphere> = Table(Sphere::SECTION), Absent, "nodes in a sphere";
    half_space: Option<HalfSpace> = Table(HalfSpace::SECTION), Absent, "nodes on the side of a plane to which its normal points";
    nearest: Option<Vec3> = Vector("m"), Absent, "a point: of the nodes that fulfil the other conditions, the nearest one";
    nodes: Option<Vec<u32>> = List(&Count(0)), Absent, "the numbers of nodes";
    group: Option<At<String>> = Text, Absent, "the name of a group in the mesh file";
    roots: Option<Whole> = Flag, Absent, "`true`: the first two nodes of every rod";
    tips: Option<Whole> = Flag, Absent, "`true`: the last two nodes of every rod";
} }
section! { struct Box "select.box" => Box, not_empty {
    min: Vec3 = Vector("m"), Required, "least coordinates";
    max: Vec3 = Vector("m"), Required, "greatest coordinates";
} }
section! { struct Sphere "select.sphere" {
    center: Vec3 = Vector("m"), Required, "the centre";
    radius: f64 = Number("m", NotNegative), Required, "the radius";
} }
section! { struct HalfSpace "select.half_space" [AtMostOne(&["point", "offset"])] {
    normal: Direction = Direction, Required, "the normal";
    point: Option<Vec3> = Vector("m"), Said("the origin"), "a point of the plane";
    offset: Option<f64> = Number("m", Any), Absent, "instead: the distance of the plane from the origin along the normal";
} }
section! { /// A spring.
    struct Attachment "attachment" => Attachment, between_two {
    name: Option<At<String>> = Text, Absent, "for probes and overrides";
    a: At<MovingPoint> = Table(MovingPointKeys::SECTION), Required, "one point";
    b: At<MovingPoint> = Table(MovingPointKeys::SECTION), Required, "the other";
    stiffness: f64 = Number("N/m", NotNegative), Required, "k";
    length: f64 = Number("m", NotNegative), Num(0.0), "ℓ; zero holds the points together";
    damping: f64 = Number("s", NotNegative), Num(0.0), "resistance to the relative velocity: this time times k; with a `length`, to the part of it along the spring, so that turning does not count";
} }
section! { /// A point of an attachment.
    struct MovingPointKeys "point" [ExactlyOne(&["world", "near", "node"]), Needs("near", &["body"]), Needs("node", &["body"]), AtMostOne(&["world", "body"])] => MovingPoint, moving_point {
    body: Option<OfBody> = Text, Absent, "the body that the point belongs to, with `near` or `node`";
    near: Option<Vec3> = Vector("m"), Absent, "the nearest point of the body's surface; of a rigid body, the point itself";
    node: Option<usize> = Count(0), Absent, "a node of a shell or solid";
    world: Option<Vec3> = Vector("m"), Absent, "instead: a point of the world";
    motion: Option<Motion> = Table(MotionKeys::SECTION), Said("at rest"), "of a point of the world: a [motion](#motion) without `release`; not every [method](#method) supports it";
} }
section! { /// A point of a probe: also a body alone, for its centre of mass.
    struct SpotKeys "probe.point" [AtMostOne(&["world", "near", "node"]), Some(&["body", "world"], "needs the key `body`"), AtMostOne(&["world", "body"])] => SpotPlan, spot {
    body: Option<OfBody> = Text, Absent, "the body that the point belongs to; alone: its centre of mass";
    near: Option<Vec3> = Vector("m"), Absent, "as in attachments";
    node: Option<usize> = Count(0), Absent, "as in attachments";
    world: Option<Vec3> = Vector("m"), Absent, "as in attachments";
} }

/// One condition on nodes.
pub(crate) enum Filter {
    Region(Selection),
    Group(At<String>),
    /// The first or last two nodes of every rod.
    Ends(End),
    /// Of the nodes that fulfil the other conditions, the nearest one.
    Nearest(Vec3),
}

/// Conditions on nodes, all of which the selected nodes fulfil.
pub(crate) struct Filters(pub Vec<Filter>);

/// One end of a rod.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Root,
    Tip,
}

/// A point of an attachment; one of the world may have a `motion`.
pub(crate) struct MovingPoint {
    pub anchor: Anchor,
    pub motion: Option<Motion>,
}

/// A point, or the centre of mass of a body.
pub(crate) enum SpotPlan {
    Point(Anchor),
    Centre(usize),
}

impl End {
    /// The two nodes at this end of every rod, sorted; `starts` are the first nodes of the rods and
    /// the number of nodes.
    pub fn nodes(self, starts: &[u32]) -> Vec<u32> {
        let of = |w: &[u32]| match self {
            Self::Root => [w[0], w[0] + 1],
            Self::Tip => [w[1] - 2, w[1] - 1],
        };
        starts.windows(2).flat_map(of).collect()
    }
}

/// A selection that is switched on.
pub(crate) struct Whole;

impl Read<Context> for Whole {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        if bool::read(f, key, node)? {
            return Some(Self);
        }
        let message = format!("`{key} = false` selects nothing");
        f.refuse(key, message, format!("remove `{key}`"))
    }
}

fn filters(_: &Fields<'_>, k: SelectKeys) -> Option<Filters> {
    let half_space = |h: HalfSpace| {
        let normal = h.normal.0;
        let point = h.point.unwrap_or(normal * h.offset.unwrap_or(0.0));
        Selection::HalfSpace { point, normal }
    };
    let sphere = |s: Sphere| Selection::Sphere {
        centre: s.center,
        radius: s.radius,
    };
    let filters = [
        k.all.map(|_| Filter::Region(Selection::All)),
        k.boundary.map(|_| Filter::Region(Selection::Boundary)),
        k.roots.map(|_| Filter::Ends(End::Root)),
        k.tips.map(|_| Filter::Ends(End::Tip)),
        k.inside.map(|b| {
            Filter::Region(Selection::Box {
                min: b.min,
                max: b.max,
            })
        }),
        k.sphere.map(|s| Filter::Region(sphere(s))),
        k.half_space.map(|h| Filter::Region(half_space(h))),
        k.nodes
            .map(|nodes| Filter::Region(Selection::Indices(nodes))),
        k.group.map(Filter::Group),
        // Last: it chooses among what the others leave.
        k.nearest.map(Filter::Nearest),
    ];
    Some(Filters(filters.into_iter().flatten().collect()))
}

fn not_empty(f: &Fields<'_>, b: Box) -> Option<Box> {
    if (0..3).all(|k| b.min[k] <= b.max[k]) {
        return Some(b);
    }
    let message = format!(
        "{} is empty: a coordinate of `min` exceeds that of `max`",
        f.what
    );
    f.refuse("min", message, "exchange the two numbers")
}

fn between_two(f: &Fields<'_>, attachment: Attachment) -> Option<Attachment> {
    let world = |p: &At<MovingPoint>| matches!(p.value.anchor, Anchor::World(_));
    if world(&attachment.a) && world(&attachment.b) {
        let message = format!("{} joins the world to itself", f.what);
        return f.refuse("b", message, "let `a` or `b` name a body");
    }
    Some(attachment)
}

fn moving_point(f: &Fields<'_>, k: MovingPointKeys) -> Option<MovingPoint> {
    let anchor = point(k.world, k.body, k.near, k.node)?;
    if k.motion.is_some() && !matches!(anchor, Anchor::World(_)) {
        let message = format!("{} moves with its body and takes no `motion`", f.what);
        let help = "remove `motion`; it is for points of the world";
        return f.refuse("motion", message, help);
    }
    let motion = held(f, k.motion)?;
    Some(MovingPoint { anchor, motion })
}

fn spot(_: &Fields<'_>, k: SpotKeys) -> Option<SpotPlan> {
    match (k.world, k.near, k.node) {
        (None, None, None) => k.body.map(|body| SpotPlan::Centre(body.0)),
        _ => point(k.world, k.body, k.near, k.node).map(SpotPlan::Point),
    }
}

/// A point of the world, the point of a body nearest to one, or a node.
pub(crate) fn point(
    world: Option<Vec3>,
    body: Option<OfBody>,
    near: Option<Vec3>,
    node: Option<usize>,
) -> Option<Anchor> {
    match (world, node) {
        (Some(point), _) => Some(Anchor::World(point)),
        (_, Some(node)) => body.map(|b| Anchor::Node { body: b.0, node }),
        _ => body
            .zip(near)
            .map(|(b, near)| Anchor::Body { body: b.0, near }),
    }
}
