//! `[[pin]]` and `[[attachment]]`, and the ways to say where they hold.

use stiction_bodies::{builder::Anchor, motion::Motion};
use stiction_geometry::Selection;
use stiction_math::Vec3;

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, count, list},
    read::{body::Names, motion::motion},
    schema,
    source::{At, Place},
    tree::Node,
};

/// A pin as it was read.
pub(crate) struct PinPlan {
    pub body: usize,
    /// `None` holds a whole rigid body.
    pub select: Option<At<Vec<Filter>>>,
    pub motion: Option<Motion>,
    pub place: Place,
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
    /// How its point of the world moves.
    pub motion: Option<Motion>,
}

pub(crate) fn pin(reporter: &Reporter, node: &Node, names: &Names) -> Option<PinPlan> {
    let f = Fields::new(reporter, node, "[[pin]]", schema::PIN)?;
    f.string("name");
    let body = names.need(&f, "body");
    let what = match f.string("body") {
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
    let f = Fields::new(
        reporter,
        node,
        format!("`select` of {owner}"),
        schema::SELECT,
    )?;
    let mut filters = Vec::new();
    let whole = [
        ("all", Filter::Region(Selection::All)),
        ("boundary", Filter::Region(Selection::Boundary)),
        ("roots", Filter::Ends(End::Root)),
        ("tips", Filter::Ends(End::Tip)),
    ];
    for (key, filter) in whole {
        match f.bool(key) {
            Some(true) => filters.push(filter),
            Some(false) => {
                let message = format!("`{key} = false` selects nothing");
                return f.fail(Kind::Value, key, message, Some(format!("remove `{key}`")));
            }
            None => {}
        }
    }
    if let Some(node) = f.get("box") {
        let b = Fields::new(
            reporter,
            node,
            format!("`box` in `select` of {owner}"),
            schema::SELECT_BOX,
        )?;
        let (min, max) = (b.need_vector("min"), b.need_vector("max"));
        let (min, max) = (min?, max?);
        if (0..3).any(|k| min[k] > max[k]) {
            let message = format!(
                "the box in `select` of {owner} is empty: a coordinate of `min` exceeds that of `max`"
            );
            return b.fail(
                Kind::Value,
                "min",
                message,
                Some("exchange the two numbers".to_owned()),
            );
        }
        filters.push(Filter::Region(Selection::Box { min, max }));
    }
    if let Some(node) = f.get("sphere") {
        let s = Fields::new(
            reporter,
            node,
            format!("`sphere` in `select` of {owner}"),
            schema::SELECT_SPHERE,
        )?;
        let center = s.need_vector("center");
        s.need("radius")?;
        let radius = s.not_negative("radius");
        filters.push(Filter::Region(Selection::Sphere {
            centre: center?,
            radius: radius?,
        }));
    }
    if let Some(node) = f.get("half_space") {
        let h = Fields::new(
            reporter,
            node,
            format!("`half_space` in `select` of {owner}"),
            schema::SELECT_HALF_SPACE,
        )?;
        let normal = h.need_direction("normal")?;
        if h.has("point") && h.has("offset") && !h.exactly_one(&["point", "offset"]) {
            return None;
        }
        let point = match (h.has("point"), h.has("offset")) {
            (true, _) => h.vector("point")?,
            (_, true) => normal * h.number("offset")?,
            _ => Vec3::zeros(),
        };
        filters.push(Filter::Region(Selection::HalfSpace { point, normal }));
    }
    if let Some(node) = f.get("nodes") {
        let what = format!("`nodes` in `select` of {owner}");
        let items = list(reporter, node, &what, None)?;
        let nodes: Option<Vec<u32>> = items.iter().map(|n| count(reporter, n, &what, 0)).collect();
        filters.push(Filter::Region(Selection::Indices(nodes?)));
    }
    if f.has("group") {
        let group = f.string("group")?;
        filters.push(Filter::Group(At::new(group.value.to_owned(), group.place)));
    }
    // Last: it chooses among what the others leave.
    if f.has("nearest") {
        filters.push(Filter::Nearest(f.vector("nearest")?));
    }
    if filters.is_empty() {
        let message = format!("`select` of {owner} says nothing");
        let help = format!("give one or more of {}", schema::SELECT.join(", "));
        return reporter.fail(Kind::MissingKey, node.place, message, Some(help));
    }
    Some(filters)
}

pub(crate) fn attachment(
    reporter: &Reporter,
    node: &Node,
    names: &Names,
) -> Option<AttachmentPlan> {
    let f = Fields::new(reporter, node, "[[attachment]]", schema::ATTACHMENT)?;
    let name = f
        .string("name")
        .map(|n| At::new(n.value.to_owned(), n.place));
    let a = f
        .need("a")
        .and_then(|n| moving_anchor(reporter, n, "`a` of [[attachment]]", names));
    let b = f
        .need("b")
        .and_then(|n| moving_anchor(reporter, n, "`b` of [[attachment]]", names));
    f.need("stiffness")?;
    let stiffness = f.not_negative("stiffness");
    let length = if f.has("length") {
        f.not_negative("length")
    } else {
        Some(0.0)
    };
    let damping = if f.has("damping") {
        f.not_negative("damping")
    } else {
        Some(0.0)
    };
    let ((a, a_motion), (b, b_motion)) = (a?, b?);
    if matches!((&a.value, &b.value), (Anchor::World(_), Anchor::World(_))) {
        let message = "[[attachment]] joins the world to itself";
        return reporter.fail(
            Kind::Value,
            b.place,
            message,
            Some("let `a` or `b` name a body".to_owned()),
        );
    }
    Some(AttachmentPlan {
        name,
        a,
        b,
        stiffness: stiffness?,
        length: length?,
        damping: damping?,
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
    let f = Fields::new(reporter, node, what, schema::MOVING_ANCHOR)?;
    let point = anchor_of(&f, names)?;
    let Some(moves) = f.get("motion") else {
        return Some((point, None));
    };
    if !matches!(point.value, Anchor::World(_)) {
        let message = format!("{what} moves with its body and takes no `motion`");
        let help = "remove `motion`; it is for points of the world";
        return f.fail(Kind::Value, "motion", message, Some(help.to_owned()));
    }
    let motion = motion(reporter, moves, what, false)?;
    Some((point, Some(motion)))
}

/// `{ world = … }`, `{ body, near = … }` or `{ body, node = … }`.
pub(crate) fn anchor(
    reporter: &Reporter,
    node: &Node,
    what: &str,
    names: &Names,
) -> Option<At<Anchor>> {
    anchor_of(&Fields::new(reporter, node, what, schema::ANCHOR)?, names)
}

fn anchor_of(f: &Fields<'_>, names: &Names) -> Option<At<Anchor>> {
    let what = &f.what;
    if !f.exactly_one(&["world", "near", "node"]) {
        return None;
    }
    let anchor = if f.has("world") {
        if f.has("body") {
            let message = format!("{what}: a point of the world belongs to no body");
            return f.fail(
                Kind::Value,
                "body",
                message,
                Some("remove `body`, or write `near` for `world`".to_owned()),
            );
        }
        Anchor::World(f.vector("world")?)
    } else {
        let body = names.need(f, "body")?;
        point(f, body)?
    };
    Some(At::new(anchor, f.place))
}

/// A point of a body: `near` or `node`.
pub(crate) fn point(f: &Fields<'_>, body: usize) -> Option<Anchor> {
    if f.has("node") {
        return Some(Anchor::Node {
            body,
            node: f.count("node", 0)? as usize,
        });
    }
    Some(Anchor::Body {
        body,
        near: f.vector("near")?,
    })
}
