//! Parts of a scene by their names.

use std::collections::BTreeMap;

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, Read},
    read::Context,
    suggest,
    tree::{TreeNode, TreeTable},
};

/// The names in a scene. They are read first, so that a mistake elsewhere in a table does not make its name
/// unknown; a table without a name has an empty one.
pub(crate) struct Names {
    /// Bodies, copies included, in the order in which they are built.
    bodies: Vec<String>,
    index: BTreeMap<String, usize>,
    obstacles: Vec<String>,
    attachments: Vec<String>,
    volumes: Vec<String>,
    pub probes: Vec<String>,
}

/// A body by its index.
#[derive(Clone, Copy)]
pub(crate) struct OfBody(pub usize);

/// A body by its index, or an obstacle by its index plus the number of bodies: how contacts number them.
pub(crate) struct OfCollider(pub u32);

/// An attachment by its index.
pub(crate) struct OfAttachment(pub usize);

/// An enclosed volume by its index.
pub(crate) struct OfVolume(pub usize);

/// More bodies than this are a slip of the keyboard.
pub(super) const MOST_COPIES: u32 = 100_000;

impl Names {
    pub fn new(reporter: &Reporter, root: &TreeTable) -> Self {
        let name = |n: &TreeNode| n.name().unwrap_or_default().to_owned();
        let all = |key: &str| root.items(key).iter().map(name).collect();
        let mut names = Self {
            bodies: Vec::new(),
            index: BTreeMap::new(),
            obstacles: all("obstacle"),
            attachments: all("attachment"),
            volumes: all("volume"),
            probes: all("probe"),
        };
        for node in root.items("body") {
            let Some(name) = node.name() else { continue };
            let count = node
                .table()
                .and_then(|t| t.get("repeat")?.table()?.get("count")?.number());
            let count = count.map(|n| n.clamp(0.0, MOST_COPIES.into()) as u32);
            for copy in copies(name, count) {
                let at = names.bodies.len();
                if names.index.insert(copy.clone(), at).is_some() {
                    let place = node
                        .table()
                        .and_then(|t| t.get("name"))
                        .unwrap_or(node)
                        .place;
                    let message = format!("two bodies are called `{copy}`");
                    reporter.fail::<()>(
                        ProblemKind::Duplicate,
                        place,
                        message,
                        "give each its own name",
                    );
                }
                names.bodies.push(copy);
            }
        }
        names
    }

    /// The index of the body called `name`.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }
}

/// The names of a body's copies, or its own.
pub(crate) fn copies(name: &str, count: Option<u32>) -> Vec<String> {
    match count {
        Some(count) => (1..=count).map(|i| format!("{name}-{i}")).collect(),
        None => vec![name.to_owned()],
    }
}

/// The index among `all` that `find` gives for the name at `node`.
fn find(
    f: &Fields<'_>,
    node: &TreeNode,
    kinds: [&str; 2],
    all: &mut dyn Iterator<Item = &String>,
    find: impl Fn(&str) -> Option<usize>,
) -> Option<usize> {
    let name = node.text()?;
    find(name).or_else(|| {
        let [one, many] = kinds;
        let known = all.map(String::as_str).filter(|s| !s.is_empty());
        let help = suggest::help(name, many, known);
        let message = format!("there is no {one} `{name}`");
        f.reporter()
            .fail(ProblemKind::UnknownName, node.place, message, help)
    })
}

fn position(all: &[String], name: &str) -> Option<usize> {
    all.iter().position(|s| !s.is_empty() && s == name)
}

impl Read<Context> for OfBody {
    fn read(f: &Fields<'_>, _: &str, node: &TreeNode) -> Option<Self> {
        let names = &f.cx.names;
        let all = &mut names.bodies.iter();
        find(f, node, ["body", "bodies"], all, |name| names.body(name)).map(Self)
    }
}

impl Read<Context> for OfCollider {
    fn read(f: &Fields<'_>, _: &str, node: &TreeNode) -> Option<Self> {
        let names = &f.cx.names;
        let all = &mut names.bodies.iter().chain(&names.obstacles);
        let kinds = ["body or obstacle", "bodies and obstacles"];
        let obstacle = |name: &str| Some(names.bodies.len() + position(&names.obstacles, name)?);
        let found = find(f, node, kinds, all, |name| {
            names.body(name).or_else(|| obstacle(name))
        });
        found.map(|i| Self(i as u32))
    }
}

impl Read<Context> for OfAttachment {
    fn read(f: &Fields<'_>, _: &str, node: &TreeNode) -> Option<Self> {
        let all = &f.cx.names.attachments;
        let kinds = ["attachment", "attachments"];
        find(f, node, kinds, &mut all.iter(), |name| position(all, name)).map(Self)
    }
}

impl Read<Context> for OfVolume {
    fn read(f: &Fields<'_>, _: &str, node: &TreeNode) -> Option<Self> {
        let all = &f.cx.names.volumes;
        let kinds = ["volume", "volumes"];
        find(f, node, kinds, &mut all.iter(), |name| position(all, name)).map(Self)
    }
}
