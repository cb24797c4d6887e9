//! Mesh files of a scene: where they may lie, and reading them.

use std::{
    cell::RefCell,
    path::{Component, Path, PathBuf},
};

use stiction_geometry::Strands;
use stiction_meshio::{
    self as mesh_files, MeshFile, MeshFileError, MeshFormat, MeshLimits,
    gltf::{self, AnimationConfig, MeshAnimation},
};

use crate::{
    LoadOptions, builtin,
    format::{At, ProblemKind, Reporter, SourceSpan, suggest},
    kept::{Kept, MeshSource},
};

/// Prefix of the paths of built-in meshes.
pub(crate) const BUILTIN: &str = "builtin:";

/// Search path of mesh files.
pub(crate) struct Files<'a> {
    options: &'a LoadOptions,
    /// The scene's folder; a built-in scene has none.
    base: Option<&'a Path>,
    limits: MeshLimits,
    /// The files that were read, and where their paths stand.
    used: RefCell<Vec<(SourceSpan, PathBuf)>>,
}

impl<'a> Files<'a> {
    /// The files of a scene that lies in `folder`.
    pub fn new(options: &'a LoadOptions, folder: Option<&'a Path>) -> Self {
        Self {
            options,
            base: options.base_dir.as_deref().or(folder),
            limits: MeshLimits {
                max_nodes: options.limits.max_nodes,
                max_bytes: options.limits.max_mesh_bytes,
                ..MeshLimits::default()
            },
            used: RefCell::default(),
        }
    }
}

impl Files<'_> {
    /// Reads a mesh. A path in a scene is relative to the scene's folder and stays inside it; a
    /// path on the command line is whatever the user may read.
    pub fn load(&self, reporter: &Reporter, path: &At<String>) -> Option<MeshFile> {
        if let Some((_, mesh)) = self.options.meshes.iter().find(|m| m.0 == path.value) {
            // No reader has checked it.
            if let Err(error) = mesh.check() {
                let message = format!("the mesh `{}`: {error}", path.value);
                let help = "repair the mesh in the program that made it";
                return path.fail(reporter, ProblemKind::Mesh, message, help);
            }
            return Some(mesh.clone());
        }
        let read = match self.open(reporter, path)? {
            Opened::Builtin(bytes) => gltf::read(bytes, &self.limits),
            Opened::File(full) => mesh_files::load(&full, &self.limits),
        };
        usable(reporter, path, read)
    }

    /// Reads a glTF file with an animation.
    pub fn load_animation(
        &self,
        reporter: &Reporter,
        path: &At<String>,
        config: &AnimationConfig,
    ) -> Option<MeshAnimation> {
        let read = match self.open(reporter, path)? {
            Opened::Builtin(bytes) => gltf::read_animation(bytes, &self.limits, config),
            Opened::File(full) if MeshFormat::of(&full).ok() == Some(MeshFormat::Gltf) => {
                mesh_files::load_animation(&full, &self.limits, config)
            }
            Opened::File(_) => {
                let message = format!("the mesh file `{}` holds no animation", path.value);
                let help = "name a glTF file, or a sequence: `mesh = \"walk.####.obj\"` with `first` and `last`";
                return path.fail(reporter, ProblemKind::Mesh, message, help);
            }
        };
        usable(reporter, path, read)
    }

    /// Reads a file of strands, found as meshes are.
    pub fn load_strands(&self, reporter: &Reporter, path: &At<String>) -> Option<Strands> {
        let full = self.find(reporter, path)?;
        usable(
            reporter,
            path,
            mesh_files::strands::load(&full, &self.limits),
        )
    }

    /// Reads one file of a sequence, in whose path a run of `#` stands for the digits of `number`.
    pub fn load_numbered(
        &self,
        reporter: &Reporter,
        path: &At<String>,
        number: u32,
    ) -> Option<MeshFile> {
        let text = &path.value;
        let Some(first) = text.find('#') else {
            let message = format!("the path `{text}` has no `#`, the place of a number");
            let help = "write one `#` for each digit, as in `walk.####.obj`";
            return path.fail(reporter, ProblemKind::Path, message, help);
        };
        let width = text[first..].bytes().take_while(|b| *b == b'#').count();
        let digits = format!("{number:0width$}");
        let file = format!("{}{digits}{}", &text[..first], &text[first + width..]);
        self.load(reporter, &At::new(file, path.place))
    }

    /// A mesh of the program, or the file that a path leads to.
    fn open(&self, reporter: &Reporter, path: &At<String>) -> Option<Opened> {
        let Some(name) = path.value.strip_prefix(BUILTIN) else {
            return self.find(reporter, path).map(Opened::File);
        };
        builtin::asset(name).map(Opened::Builtin).or_else(|| {
            let message = format!("there is no built-in mesh `{name}`");
            reporter.unknown(
                path.place,
                message,
                name,
                "built-in meshes",
                builtin::assets(),
            )
        })
    }

    fn find(&self, reporter: &Reporter, path: &At<String>) -> Option<PathBuf> {
        let full = if reporter.sources.is_argument(path.place) {
            let cwd = self.options.cwd.as_deref();
            cwd.unwrap_or(Path::new(".")).join(&path.value)
        } else {
            self.inside(reporter, path)?
        };
        if !full.is_file() {
            let message = format!("the mesh file `{}` does not exist", path.value);
            return path.fail(reporter, ProblemKind::Read, message, neighbours(&full));
        }
        self.used.borrow_mut().push((path.place, full.clone()));
        Some(full)
    }

    /// The files that were read, with their paths in the folder of a run.
    pub fn sources(&self, kept: &Kept) -> Vec<MeshSource> {
        let mut found: Vec<MeshSource> = Vec::new();
        for (place, path) in self.used.borrow().iter() {
            let Some(to) = kept.path(*place) else {
                continue;
            };
            // Of a sequence, every file has its own name.
            let own = to.contains('#').then(|| path.file_name()).flatten();
            let to = own.map_or_else(|| PathBuf::from(to), |n| Path::new(to).with_file_name(n));
            for path in with_sibling(path).into_iter().filter(|f| f.is_file()) {
                let to = to.with_extension(path.extension().unwrap_or_default());
                let kept = to.to_string_lossy().into_owned();
                if found.iter().all(|m| m.kept != kept) {
                    found.push(MeshSource { kept, path });
                }
            }
        }
        found
    }

    fn inside(&self, reporter: &Reporter, path: &At<String>) -> Option<PathBuf> {
        let Some(base) = self.base else {
            let message = "a scene without a folder of its own cannot name a mesh file";
            let help = "save the scene to a file next to its meshes";
            return path.fail(reporter, ProblemKind::Path, message, help);
        };
        let full = base.join(&path.value);
        if self.is_allowed(&full) {
            return Some(full);
        }
        // Links are followed before the comparison, so that none leads out either.
        let Ok(base) = base.canonicalize() else {
            let message = format!("the folder `{}` cannot be read", base.display());
            return path.fail(reporter, ProblemKind::Read, message, None);
        };
        let full = base.join(&path.value);
        if descends(&path.value) && all_within(&full, &base) {
            return Some(full);
        }
        let message = format!(
            "the mesh file `{}` is outside the scene's folder",
            path.value
        );
        let help = "copy the mesh beside the scene and name it by its relative path, or allow its \
                    folder with --allow-path DIR";
        path.fail(reporter, ProblemKind::Path, message, help)
    }

    /// Whether a file and its sibling really lie in one of the further folders.
    fn is_allowed(&self, full: &Path) -> bool {
        let mut folders = self
            .options
            .allowed
            .iter()
            .filter_map(|d| d.canonicalize().ok());
        full.exists() && folders.any(|folder| all_within(full, &folder))
    }
}

/// A mesh that was found.
enum Opened {
    /// Part of the program.
    Builtin(&'static [u8]),
    File(PathBuf),
}

/// Whether a relative path never leads above where it starts.
fn descends(path: &str) -> bool {
    let mut depth = 0i32;
    Path::new(path).components().all(|part| {
        depth += match part {
            Component::Normal(_) => 1,
            Component::CurDir => 0,
            Component::ParentDir => -1,
            Component::RootDir | Component::Prefix(_) => return false,
        };
        depth >= 0
    })
}

/// Whether a file and its sibling, as far as they exist, really lie in `folder`.
fn all_within(full: &Path, folder: &Path) -> bool {
    let real = with_sibling(full)
        .into_iter()
        .filter_map(|f| f.canonicalize().ok());
    real.into_iter().all(|file| file.starts_with(folder))
}

/// The file, and for TetGen the other one of the pair.
fn with_sibling(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_path_buf()];
    let extension = path
        .extension()
        .map(|e| e.to_string_lossy().to_ascii_lowercase());
    if matches!(extension.as_deref(), Some("node" | "ele")) {
        files.extend(["node", "ele", "NODE", "ELE"].map(|e| path.with_extension(e)));
    }
    files
}

/// The contents of a file, or a report.
fn usable<T>(reporter: &Reporter, path: &At<String>, read: Result<T, MeshFileError>) -> Option<T> {
    let error = match read {
        Ok(read) => return Some(read),
        Err(error) => error,
    };
    let help = error.remedy();
    // The file's full path is of no interest to anyone but its owner.
    let name = Path::new(&path.value).file_name().map(Path::new);
    let told = name.map_or_else(|| error.clone(), |name| error.clone().in_file(name));
    path.fail(reporter, ProblemKind::Mesh, told.to_string(), help)
}

/// A file of a similar name in the same folder.
fn neighbours(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let folder = std::fs::read_dir(path.parent()?).ok()?;
    let mut names: Vec<String> = folder
        .take(1000)
        .filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    let near = suggest::nearest(&wanted, names.iter().map(String::as_str))?;
    Some(format!("did you mean `{near}`?"))
}
