//! The scene that a run keeps: one canonical text with all changes applied, which runs again to the
//! same bits.
//!
//! Comments, layout and the order of keys are not kept. Paths of mesh files are those of the copies in
//! the folder of the run: a path inside the scene's folder stays as it is, any other becomes
//! `meshes/FILE`.

use std::{
    fmt::Write as _,
    path::{Component, Path, PathBuf},
};

use crate::{
    files::BUILTIN,
    format::{Keys, is_plain_name},
    read::Root,
    source::{SourceSpan, Sources},
    tree::{Node, Table, TableEntry, Value},
};

/// Names in the folder of a run that belong to the recorder.
const RESERVED: [&str; 3] = ["frames", "problems", "overlaps.vtu"];

/// The folder of mesh files that cannot keep their path.
const MESHES: &str = "meshes";

/// A mesh file of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshSource {
    /// Path of the copy in the folder of a run, as the kept scene names it.
    pub kept: String,
    /// Path of the file that was read.
    pub path: PathBuf,
}

/// A scene in the form in which a run keeps it.
pub(crate) struct Kept {
    pub root: Table,
    /// Place of each mesh path in the texts of the scene, and its path in the folder of a run.
    meshes: Vec<(SourceSpan, String)>,
}

impl Kept {
    /// The scene `root` with the method given on the command line, where it is not the scene's own
    /// (or `default` for a scene that chooses none), and the paths of copied meshes.
    pub fn new(root: &Table, method: Option<&str>, default: &str, sources: &Sources) -> Self {
        let mut root = root.clone();
        let own = root.get("method").and_then(Node::name).unwrap_or(default);
        if let Some(method) = method.filter(|m| *m != own) {
            let name = TableEntry::new("name", Value::String(method.to_owned()));
            let entries = vec![name];
            root.set(TableEntry::new("method", Value::Table(Table { entries })));
        }
        let mut found = Vec::new();
        mesh_paths(&mut root, &mut |path, place| {
            let typed = sources.is_argument(place);
            let path = path.clone();
            found.push(MeshPath { place, path, typed });
        });
        let meshes = destinations(&found);
        mesh_paths(&mut root, &mut |path, place| {
            if let Some((_, to)) = meshes.iter().find(|(at, _)| *at == place) {
                path.clone_from(to);
            }
        });
        Self { root, meshes }
    }

    /// Path in the folder of a run of the mesh that is named at `place`.
    pub fn path(&self, place: SourceSpan) -> Option<&str> {
        let found = self.meshes.iter().find(|(at, _)| *at == place);
        found.map(|(_, path)| path.as_str())
    }

    /// The canonical text; a scene without a name of its own is called `name`, if it can be.
    pub fn text(mut self, name: &str) -> String {
        if self.root.get("name").is_none() && is_plain_name(name) {
            let value = Value::String(name.to_owned());
            self.root.set(TableEntry::new("name", value));
        }
        text(&self.root)
    }
}

/// A mesh path, where it stands and whether it was typed on the command line.
struct MeshPath {
    place: SourceSpan,
    path: String,
    typed: bool,
}

/// Visits the path of every mesh, and where it stands.
fn mesh_paths(table: &mut Table, visit: &mut dyn FnMut(&mut String, SourceSpan)) {
    for entry in &mut table.entries {
        let place = entry.node.place;
        match &mut entry.node.value {
            Value::String(path) if entry.key == "mesh" => visit(path, place),
            Value::Table(inner) => mesh_paths(inner, visit),
            Value::Array(items) => {
                for inner in items.iter_mut().filter_map(Node::table_mut) {
                    mesh_paths(inner, visit);
                }
            }
            _ => {}
        }
    }
}

/// Paths in the folder of a run, distinct for distinct files.
fn destinations(found: &[MeshPath]) -> Vec<(SourceSpan, String)> {
    let (stay, moved): (Vec<&MeshPath>, Vec<&MeshPath>) = found.iter().partition(|m| stays(m));
    let mut taken: Vec<(&str, bool, String)> = Vec::new();
    let mut chosen = Vec::new();
    for mesh in &stay {
        taken.push((&mesh.path, false, mesh.path.clone()));
        chosen.push((mesh.place, mesh.path.clone()));
    }
    for mesh in &moved {
        let known = taken
            .iter()
            .find(|(path, typed, _)| *path == mesh.path && *typed == mesh.typed);
        let to = match known {
            Some((_, _, to)) => to.clone(),
            None => {
                let file = Path::new(&mesh.path).file_name();
                let file = file.map_or_else(|| "mesh".into(), |f| f.to_string_lossy());
                let free = |to: &String| !taken.iter().any(|(_, _, other)| other == to);
                let numbered = (2..).map(|i| format!("{MESHES}/{i}/{file}"));
                let mut candidates = std::iter::once(format!("{MESHES}/{file}")).chain(numbered);
                let to = candidates.find(free).unwrap_or_default();
                taken.push((&mesh.path, mesh.typed, to.clone()));
                to
            }
        };
        chosen.push((mesh.place, to));
    }
    chosen
}

/// Whether a mesh can lie in the folder of a run as it does in that of the scene.
fn stays(mesh: &MeshPath) -> bool {
    let mut parts = Path::new(&mesh.path).components();
    let inside = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let mut names = Path::new(&mesh.path).components().filter_map(|c| match c {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let first = names.next().unwrap_or_default();
    mesh.path.starts_with(BUILTIN) || inside && !mesh.typed && !RESERVED.contains(&first.as_ref())
}

/// The document as canonical TOML: tables in the order of the documentation, keys in one order, numbers
/// in the shortest form that gives the same bits.
pub(crate) fn text(root: &Table) -> String {
    let mut entries: Vec<&TableEntry> = root.entries.iter().collect();
    let rank = |e: &TableEntry| Root::SECTION.keys.iter().position(|key| key.name == e.key);
    entries.sort_by_key(|e| (rank(e).unwrap_or(usize::MAX), e.key.clone()));
    let mut out = String::new();
    // Plain values come first: behind a header they would belong to its table.
    for e in entries.iter().filter(|e| !has_header(&e.node)) {
        line(&mut out, e);
    }
    for e in entries.iter().filter(|e| has_header(&e.node)) {
        let name = key(&e.key);
        for table in e.node.items().iter().filter_map(Node::table) {
            block(&mut out, &format!("[[{name}]]"), table);
        }
        match e.node.table() {
            Some(table) if all_tables(table) => {
                for e in sorted(table) {
                    let inner = e.node.table().into_iter();
                    let header = format!("[{name}.{}]", key(&e.key));
                    inner.for_each(|t| block(&mut out, &header, t));
                }
            }
            Some(table) => block(&mut out, &format!("[{name}]"), table),
            None => {}
        }
    }
    out
}

/// Whether a value at the top level is written below a header of its own.
fn has_header(node: &Node) -> bool {
    let items = node.items();
    node.table().is_some() || !items.is_empty() && items.iter().all(|i| i.table().is_some())
}

fn all_tables(table: &Table) -> bool {
    let mut nodes = table.entries.iter().map(|e| &e.node);
    !table.entries.is_empty() && nodes.all(|n| n.table().is_some())
}

fn block(out: &mut String, header: &str, table: &Table) {
    let _ = writeln!(out, "\n{header}");
    sorted(table).into_iter().for_each(|e| line(out, e));
}

fn line(out: &mut String, entry: &TableEntry) {
    let _ = writeln!(out, "{} = {}", key(&entry.key), inline(&entry.node));
}

/// Names and kinds first, then the alphabet.
fn sorted(table: &Table) -> Vec<&TableEntry> {
    let mut entries: Vec<&TableEntry> = table.entries.iter().collect();
    let rank = |key: &str| match key {
        "name" => 0,
        "kind" | "type" => 1,
        _ => 2,
    };
    entries.sort_by(|a, b| (rank(&a.key), &a.key).cmp(&(rank(&b.key), &b.key)));
    entries
}

/// A key, in quotes where it needs them.
pub(crate) fn key(key: &str) -> String {
    toml_edit::Key::new(key).display_repr().into_owned()
}

/// A value on one line.
pub(crate) fn inline(node: &Node) -> String {
    match &node.value {
        Value::String(s) => toml_edit::Value::from(s.as_str()).to_string(),
        Value::Integer(i) => i.to_string(),
        Value::Float(x) if x.is_nan() => "nan".to_owned(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => b.to_string(),
        Value::Datetime(d) => d.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entries = sorted(table).into_iter();
            let entries: Vec<String> = entries
                .map(|e| format!("{} = {}", key(&e.key), inline(&e.node)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}
