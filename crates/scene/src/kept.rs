//! The scene that a run keeps: one canonical text with all changes applied, which runs again to the
//! same bits.
//!
//! Comments, layout and the order of keys are not kept. Paths of mesh files are those of the copies in
//! the folder of the run: a path inside the scene's folder stays as it is, any other becomes
//! `meshes/FILE`.

use std::path::{Component, Path, PathBuf};

use stiction_format::write;

use crate::{
    files::BUILTIN,
    format::{
        SourceSpan, Sources, TableEntry, TableKeys, TreeNode, TreeTable, Value, is_plain_name,
    },
    read::Root,
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
    pub root: TreeTable,
    /// Place of each mesh path in the texts of the scene, and its path in the folder of a run.
    meshes: Vec<(SourceSpan, String)>,
}

impl Kept {
    /// The scene `root` with the method given on the command line, where it is not the scene's own
    /// (or `default` for a scene that chooses none), and the paths of copied meshes.
    pub fn new(root: &TreeTable, method: Option<&str>, default: &str, sources: &Sources) -> Self {
        let mut root = root.clone();
        let own = root
            .get("method")
            .and_then(TreeNode::name)
            .unwrap_or(default);
        if let Some(method) = method.filter(|m| *m != own) {
            let name = TableEntry::new("name", Value::String(method.to_owned()));
            let entries = vec![name];
            root.set(TableEntry::new(
                "method",
                Value::Table(TreeTable { entries }),
            ));
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
        write::text(&self.root, Root::SECTION)
    }
}

/// A mesh path, where it stands and whether it was typed on the command line.
struct MeshPath {
    place: SourceSpan,
    path: String,
    typed: bool,
}

/// Visits the path of every mesh, and where it stands.
fn mesh_paths(table: &mut TreeTable, visit: &mut dyn FnMut(&mut String, SourceSpan)) {
    for entry in &mut table.entries {
        let place = entry.node.place;
        match &mut entry.node.value {
            Value::String(path) if entry.key == "mesh" => visit(path, place),
            Value::Table(inner) => mesh_paths(inner, visit),
            Value::Array(items) => {
                for inner in items.iter_mut().filter_map(TreeNode::table_mut) {
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
    let own = |m: &&MeshPath| (m.place, m.path.clone());
    let mut chosen: Vec<(SourceSpan, String)> = stay.iter().map(own).collect();
    for (i, mesh) in moved.iter().enumerate() {
        let same = |m: &&MeshPath| m.path == mesh.path && m.typed == mesh.typed;
        let to = match moved[..i].iter().position(same) {
            Some(known) => chosen[stay.len() + known].1.clone(),
            None => {
                let file = Path::new(&mesh.path).file_name();
                let file = file.map_or_else(|| "mesh".into(), |f| f.to_string_lossy());
                let free = |to: &String| chosen.iter().all(|(_, other)| other != to);
                let numbered = (2..).map(|i| format!("{MESHES}/{i}/{file}"));
                let mut candidates = std::iter::once(format!("{MESHES}/{file}")).chain(numbered);
                candidates.find(free).unwrap_or_default()
            }
        };
        chosen.push((mesh.place, to));
    }
    chosen
}

/// Whether a mesh can lie in the folder of a run as it does in that of the scene.
fn stays(mesh: &MeshPath) -> bool {
    let mut parts = Path::new(&mesh.path).components();
    let good = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let inside = parts.clone().all(good);
    let first = parts.find(|part| matches!(part, Component::Normal(_)));
    let first = first.map_or("".into(), |name| name.as_os_str().to_string_lossy());
    mesh.path.starts_with(BUILTIN) || inside && !mesh.typed && !RESERVED.contains(&first.as_ref())
}
