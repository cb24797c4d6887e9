//! Parts of a scene by their names.

use std::collections::BTreeMap;

use crate::{
    format::{Fields, Read, Reporter, TreeNode, TreeTable},
    read::Context,
};

/// The names in a scene. They are read first, so that a mistake elsewhere in a table does not make its name
/// unknown; a table without a name has an empty one.
pub(crate) struct Names {
    /// Bodies, copies included, in the order in which they are built.
    bodies: Listed,
    obstacles: Listed,
    attachments: Listed,
    volumes: Listed,
    pub probes: Vec<String>,
}

/// Names in order, and the first place of each.
#[derive(Default)]
struct Listed {
    names: Vec<String>,
    index: BTreeMap<String, usize>,
}

/// More bodies than this are a slip of the keyboard.
pub(super) const MOST_COPIES: u32 = 100_000;

impl Listed {
    /// Adds a name; whether it is new.
    fn push(&mut self, name: &str) -> bool {
        let new = !self.index.contains_key(name);
        if new && !name.is_empty() {
            self.index.insert(name.to_owned(), self.names.len());
        }
        self.names.push(name.to_owned());
        new
    }
}

impl Names {
    pub fn new(reporter: &Reporter, root: &TreeTable) -> Self {
        let names = |key: &str| root.items(key).iter().map(|n| n.name().unwrap_or_default());
        let listed = |key: &str| {
            let mut all = Listed::default();
            for name in names(key) {
                all.push(name);
            }
            all
        };
        let mut bodies = Listed::default();
        for table in root.items("body").iter().filter_map(TreeNode::table) {
            let (Some(node), Some(name)) = (table.get("name"), table.text("name")) else {
                continue;
            };
            let count = || table.get("repeat")?.table()?.get("count")?.number();
            let count = count().map(|n| n.clamp(0.0, MOST_COPIES.into()) as u32);
            for copy in copies(name, count) {
                if !bodies.push(&copy) {
                    reporter.taken::<()>(node.place, &copy, "bodies");
                }
            }
        }
        Self {
            bodies,
            obstacles: listed("obstacle"),
            attachments: listed("attachment"),
            volumes: listed("volume"),
            probes: names("probe").map(str::to_owned).collect(),
        }
    }

    /// The index of the body called `name`.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.bodies.index.get(name).copied()
    }
}

/// The names of a body's copies, or its own.
pub(crate) fn copies(name: &str, count: Option<u32>) -> Vec<String> {
    match count {
        Some(count) => (1..=count).map(|i| format!("{name}-{i}")).collect(),
        None => vec![name.to_owned()],
    }
}

/// Declares types that are read as the name of a part of the scene: one, several, and the lists it may be in, one
/// after another.
macro_rules! by_name {
    ($($(#[$doc:meta])* $t:ident $one:literal $many:literal $($list:ident)+;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $t(pub usize);

        impl Read<Context> for $t {
            fn read(f: &Fields<'_>, _: &str, node: &TreeNode) -> Option<Self> {
                let lists = [$(&f.cx.names.$list),+];
                find(f, node, [$one, $many], &lists).map(Self)
            }
        }
    )*};
}
by_name! {
    /// A body by its index.
    OfBody "body" "bodies" bodies;
    /// A body by its index, or an obstacle by its index plus the number of bodies: how contacts number them.
    OfCollider "body or obstacle" "bodies and obstacles" bodies obstacles;
    /// An attachment by its index.
    OfAttachment "attachment" "attachments" attachments;
    /// An enclosed volume by its index.
    OfVolume "volume" "volumes" volumes;
}

/// The place in the lists of the name at `node`.
fn find(f: &Fields<'_>, node: &TreeNode, kinds: [&str; 2], lists: &[&Listed]) -> Option<usize> {
    let (name, [one, many]) = (node.text()?, kinds);
    let mut before = 0;
    for list in lists {
        if let Some(i) = list.index.get(name) {
            return Some(before + i);
        }
        before += list.names.len();
    }
    let known = lists.iter().flat_map(|l| &l.names).map(String::as_str);
    let known = known.filter(|s| !s.is_empty());
    let message = format!("there is no {one} `{name}`");
    f.reporter().unknown(node.place, message, name, many, known)
}
