//! `[[pin]]` and `[[attachment]]`, and the forms of their locations.

use stiction_bodies::{builder::Anchor, motion::Motion};
use stiction_geometry::Selection;
use stiction_math::Vec3;

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, section},
    read::{
        body::Names,
        motion::{MOTION, motion},
    },
    source::{At, SourceSpan},
    tree::Node,
};

section! { pub(crate) PIN "pin";
    "name": Text, Absent, "for overrides";
    "body": Text, Required, "whose nodes";
    "select": Table(&SELECT), Said("required, but for rigid bodies"), "which nodes; those that fulfil all conditions given";
    "motion": Table(&MOTION), Said("at rest"), "a [motion](#motion)";
}
section! { pub(crate) SELECT "select" [Some(&["all", "boundary", "box", "sphere", "half_space", "nearest", "nodes", "group", "roots", "tips"])];
    "all": Flag, Absent, "`true`: every node";
    "boundary": Flag, Absent, "`true`: the rim of a shell, the surface of a solid";
    "box": Table(&BOX), Absent, "nodes in a box";
    "sphere": Table(&SPHERE), Absent, "nodes in a sphere";
    "half_space": Table(&HALF_SPACE), Absent, "nodes on the side of a plane to which its normal points";
    "nearest": Vector("m"), Absent, "a point: of the nodes that fulfil the other conditions, the nearest one";
    "nodes": List(&Count(0)), Absent, "the numbers of nodes";
    "group": Text, Absent, "the name of a group in the mesh file";
    "roots": Flag, Absent, "`true`: the first two nodes of every rod";
    "tips": Flag, Absent, "`true`: the last two nodes of every rod";
}
section! { pub(crate) BOX "select.box";
    "min": Vector("m"), Required, "least coordinates";
    "max": Vector("m"), Required, "greatest coordinates";
}
section! { pub(crate) SPHERE "select.sphere";
    "center": Vector("m"), Required, "the centre";
    "radius": Number("m", NotNegative), Required, "the radius";
}
section! { pub(crate) HALF_SPACE "select.half_space" [AtMostOne(&["point", "offset"])];
    "normal": Direction, Required, "the normal";
    "point": Vector("m"), Said("the origin"), "a point of the plane";
    "offset": Number("m", Any), Absent, "instead: the distance of the plane from the origin along the normal";
}
section! { pub(crate) ATTACHMENT "attachment";
    "name": Text, Absent, "for probes and overrides";
    "a": Table(&MOVING_ANCHOR), Required, "one point";
    "b": Table(&MOVING_ANCHOR), Required, "the other";
    "stiffness": Number("N/m", NotNegative), Required, "k";
    "length": Number("m", NotNegative), Num(0.0), "ℓ; zero holds the points together";
    "damping": Number("s", NotNegative), Num(0.0), "resistance to the relative velocity: this time times k; with a `length`, to the part of it along the spring, so that turning does not count";
}
section! { /// A point of an attachment.
    pub(crate) MOVING_ANCHOR "point" [ExactlyOne(&["world", "near", "node"]), Needs("near", &["body"]), Needs("node", &["body"])];
    "body": Text, Absent, "the body that the point belongs to, with `near` or `node`";
    "near": Vector("m"), Absent, "the nearest point of the body's surface; of a rigid body, the point itself";
    "node": Count(0), Absent, "a node of a shell or solid";
    "world": Vector("m"), Absent, "instead: a point of the world";
    "motion": Table(&MOTION), Said("at rest"), "of a point of the world: a [motion](#motion) without `release`; not every [method](#method) supports it";
}
section! { /// A point of a probe: also a body alone, for its centre of mass.
    pub(crate) ANCHOR "probe.point" [AtMostOne(&["world", "near", "node"]), Some(&["body", "world"])];
    "body": Text, Absent, "the body that the point belongs to; alone: its centre of mass";
    "near": Vector("m"), Absent, "as in attachments";
    "node": Count(0), Absent, "as in attachments";
    "world": Vector("m"), Absent, "as in attachments";
}

/// A pin as it was read.
pub(crate) struct PinPlan {
    pub body: usize,
    /// `None` holds a whole rigid body.
    pub select: Option<At<Vec<Filter>>>,
    pub motion: Option<Motion>,
    pub place: SourceSpan,
}

/// One condition on nodes; a selection holds the nodes that fulfil all of them.
pub(crate) enum Filter {
    Region(Selection),
    Group(At<String>),
    /// The first or last two nodes of every rod.
    Ends(End),
    /// Of the nodes that fulfil the other conditions, the nearest one.
    Nearest(Vec3),
}

/// One end of a rod.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Root,
    Tip,
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

/// A spring as it was read.
pub(crate) struct AttachmentPlan {
    pub name: Option<At<String>>,
    pub a: At<Anchor>,
    pub b: At<Anchor>,
    pub stiffness: f64,
    pub length: f64,
    pub damping: f64,
    /// Motion of its point of the world.
    pub motion: Option<Motion>,
}

pub(crate) fn pin(reporter: &Reporter, node: &Node, names: &Names) -> Option<PinPlan> {
    let f = Fields::new(reporter, node, "[[pin]]", &PIN)?;
    let body = names.need(&f, "body");
    let what = match f.text("body") {
        Some(body) => format!("the pin of body `{}`", body.value),
        None => f.what.clone(),
    };
    let select = match f.get("select") {
        Some(node) => Some(At::new(selection(reporter, node, &what)?, node.place)),
        None => None,
    };
    let motion = match f.get("motion") {
        Some(node) => Some(motion(reporter, node, &what, true)?),
        None => None,
    };
    Some(PinPlan {
        body: body?,
        select,
        motion,
        place: node.place,
    })
}

pub(crate) fn selection(reporter: &Reporter, node: &Node, owner: &str) -> Option<Vec<Filter>> {
    let f = Fields::new(reporter, node, format!("`select` of {owner}"), &SELECT)?;
    let inner = |key: &str, section| {
        let what = format!("`{key}` in `select` of {owner}");
        f.get(key).map(|n| Fields::new(reporter, n, what, section))
    };
    let mut filters = Vec::new();
    let whole = [
        ("all", Filter::Region(Selection::All)),
        ("boundary", Filter::Region(Selection::Boundary)),
        ("roots", Filter::Ends(End::Root)),
        ("tips", Filter::Ends(End::Tip)),
    ];
    for (key, filter) in whole {
        match f.take(key)? {
            Some(true) => filters.push(filter),
            Some(false) => {
                let message = format!("`{key} = false` selects nothing");
                return f.refuse(key, message, &format!("remove `{key}`"));
            }
            None => {}
        }
    }
    if let Some(b) = inner("box", &BOX) {
        let b = b?;
        let (min, max): (Vec3, Vec3) = (b.take("min")?, b.take("max")?);
        if (0..3).any(|k| min[k] > max[k]) {
            let message = format!(
                "the box in `select` of {owner} is empty: a coordinate of `min` exceeds that of `max`"
            );
            return b.refuse("min", message, "exchange the two numbers");
        }
        filters.push(Filter::Region(Selection::Box { min, max }));
    }
    if let Some(s) = inner("sphere", &SPHERE) {
        let s = s?;
        let (centre, radius) = (s.take("center")?, s.take("radius")?);
        filters.push(Filter::Region(Selection::Sphere { centre, radius }));
    }
    if let Some(h) = inner("half_space", &HALF_SPACE) {
        let h = h?;
        let normal = h.direction("normal")?;
        let point = match (h.take("point")?, h.take::<Option<f64>>("offset")?) {
            (Some(point), _) => point,
            (None, offset) => normal * offset.unwrap_or(0.0),
        };
        filters.push(Filter::Region(Selection::HalfSpace { point, normal }));
    }
    if let Some(nodes) = f.take("nodes")? {
        filters.push(Filter::Region(Selection::Indices(nodes)));
    }
    if let Some(group) = f.text("group") {
        filters.push(Filter::Group(At::new(group.value.to_owned(), group.place)));
    }
    // Last: it chooses among what the others leave.
    if let Some(point) = f.take("nearest")? {
        filters.push(Filter::Nearest(point));
    }
    if filters.is_empty() {
        let message = format!("`select` of {owner} says nothing");
        let keys: Vec<&str> = SELECT.keys.iter().map(|k| k.name).collect();
        let help = format!("give one or more of {}", keys.join(", "));
        return reporter.fail(ProblemKind::MissingKey, node.place, message, Some(help));
    }
    Some(filters)
}

pub(crate) fn attachment(
    reporter: &Reporter,
    node: &Node,
    names: &Names,
) -> Option<AttachmentPlan> {
    let f = Fields::new(reporter, node, "[[attachment]]", &ATTACHMENT)?;
    let point = |key: &str| moving_anchor(reporter, f.get(key)?, &f.label(key), names);
    let (a, b) = (point("a"), point("b"));
    let ((a, a_motion), (b, b_motion)) = (a?, b?);
    if matches!((&a.value, &b.value), (Anchor::World(_), Anchor::World(_))) {
        let message = "[[attachment]] joins the world to itself";
        return f.refuse("b", message, "let `a` or `b` name a body");
    }
    Some(AttachmentPlan {
        name: f.name(),
        a,
        b,
        stiffness: f.take("stiffness")?,
        length: f.take("length")?,
        damping: f.take("damping")?,
        motion: a_motion.or(b_motion),
    })
}

/// A point of an attachment; one of the world may have a `motion`.
fn moving_anchor(
    reporter: &Reporter,
    node: &Node,
    what: &str,
    names: &Names,
) -> Option<(At<Anchor>, Option<Motion>)> {
    let f = Fields::new(reporter, node, what, &MOVING_ANCHOR)?;
    let point = anchor(&f, names)?;
    let Some(moves) = f.get("motion") else {
        return Some((point, None));
    };
    if !matches!(point.value, Anchor::World(_)) {
        let message = format!("{what} moves with its body and takes no `motion`");
        let help = "remove `motion`; it is for points of the world";
        return f.refuse("motion", message, help);
    }
    let motion = motion(reporter, moves, what, false)?;
    Some((point, Some(motion)))
}

/// `{ world = … }`, `{ body, near = … }` or `{ body, node = … }`.
pub(crate) fn anchor(f: &Fields<'_>, names: &Names) -> Option<At<Anchor>> {
    let what = &f.what;
    let anchor = match f.take("world")? {
        Some(_) if f.has("body") => {
            let message = format!("{what}: a point of the world belongs to no body");
            let help = "remove `body`, or write `near` for `world`";
            return f.refuse("body", message, help);
        }
        Some(point) => Anchor::World(point),
        None if !f.has("body") => return f.missing("body"),
        None => point(f, names.need(f, "body")?)?,
    };
    Some(At::new(anchor, f.place))
}

/// A point of a body: `near` or `node`.
pub(crate) fn point(f: &Fields<'_>, body: usize) -> Option<Anchor> {
    match f.take("node")? {
        Some(node) => Some(Anchor::Node { body, node }),
        None => f
            .take::<Option<Vec3>>("near")?
            .map(|near| Anchor::Body { body, near }),
    }
}
