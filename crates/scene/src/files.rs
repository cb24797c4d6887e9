//! Mesh files of a scene: where they may lie, and reading them.

use std::{
    cell::RefCell,
    path::{Component, Path, PathBuf},
};

use stiction_geometry::Strands;
use stiction_meshio::{
    self as mesh_files, MeshFile,
    gltf::{AnimationConfig, MeshAnimation},
};

use crate::{
    builtin,
    error::{ProblemKind, Reporter},
    kept::{Kept, MeshSource},
    source::{At, SourceSpan},
    suggest,
};

/// Prefix of the paths of built-in meshes.
pub(crate) const BUILTIN: &str = "builtin:";

/// Search path of mesh files.
pub(crate) struct Files<'a> {
    /// The scene's folder; a built-in scene has none.
    pub base: Option<&'a Path>,
    /// Further folders that paths in the scene may lead to.
    pub allowed: &'a [PathBuf],
    /// The folder that paths on the command line start from.
    pub cwd: &'a Path,
    pub limits: mesh_files::MeshLimits,
    /// Meshes in memory, by the path that the scene names.
    pub memory: &'a [(String, MeshFile)],
    /// The files that were read, and where their paths stand.
    pub used: RefCell<Vec<(SourceSpan, PathBuf)>>,
}

impl Files<'_> {
    /// Reads a mesh. A path in a scene is relative to the scene's folder and stays inside it; a
    /// path on the command line is whatever the user may read.
    pub fn load(&self, reporter: &Reporter, path: &At<String>) -> Option<MeshFile> {
        if let Some((_, mesh)) = self.memory.iter().find(|(name, _)| *name == path.value) {
            // No reader has checked it.
            if let Err(error) = mesh.check() {
                let message = format!("the mesh `{}`: {error}", path.value);
                let help = "repair the mesh in the program that made it";
                return path.fail(reporter, ProblemKind::Mesh, message, help);
            }
            return Some(mesh.clone());
        }
        if let Some(bytes) = self.builtin(reporter, path)? {
            let read = mesh_files::gltf::read(bytes, &self.limits);
            return read.map_or_else(|e| refuse(reporter, path, Path::new(&path.value), &e), Some);
        }
        let full = self.find(reporter, path)?;
        mesh_files::load(&full, &self.limits)
            .map_or_else(|error| refuse(reporter, path, &full, &error), Some)
    }

    /// Reads a glTF file with an animation.
    pub fn load_animation(
        &self,
        reporter: &Reporter,
        path: &At<String>,
        config: &AnimationConfig,
    ) -> Option<MeshAnimation> {
        if let Some(bytes) = self.builtin(reporter, path)? {
            let read = mesh_files::gltf::read_animation(bytes, &self.limits, config);
            return read.map_or_else(|e| refuse(reporter, path, Path::new(&path.value), &e), Some);
        }
        let full = self.find(reporter, path)?;
        if mesh_files::MeshFormat::of(&full).ok() != Some(mesh_files::MeshFormat::Gltf) {
            let message = format!("the mesh file `{}` holds no animation", path.value);
            let help = "name a glTF file, or a sequence: `mesh = \"walk.####.obj\"` with `first` and `last`";
            return path.fail(reporter, ProblemKind::Mesh, message, help);
        }
        mesh_files::load_animation(&full, &self.limits, config)
            .map_or_else(|error| refuse(reporter, path, &full, &error), Some)
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

    /// The bytes of a mesh that is part of the program; none for files.
    fn builtin(&self, reporter: &Reporter, path: &At<String>) -> Option<Option<&'static [u8]>> {
        let Some(name) = path.value.strip_prefix(BUILTIN) else {
            return Some(None);
        };
        match builtin::asset(name) {
            Some(bytes) => Some(Some(bytes)),
            None => {
                let message = format!("there is no built-in mesh `{name}`");
                let help = suggest::help(name, "built-in meshes", builtin::assets());
                path.fail(reporter, ProblemKind::UnknownName, message, help)
            }
        }
    }

    /// Reads a file of strands, found as meshes are.
    pub fn load_strands(&self, reporter: &Reporter, path: &At<String>) -> Option<Strands> {
        let full = self.find(reporter, path)?;
        mesh_files::strands::load(&full, &self.limits)
            .map_or_else(|error| refuse(reporter, path, &full, &error), Some)
    }

    fn find(&self, reporter: &Reporter, path: &At<String>) -> Option<PathBuf> {
        let full = if reporter.sources.is_argument(path.place) {
            self.cwd.join(&path.value)
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
        let escapes = || {
            let message = format!(
                "the mesh file `{}` is outside the scene's folder",
                path.value
            );
            let help = "copy the mesh beside the scene and name it by its relative path, or allow its \
                        folder with --allow-path DIR";
            path.fail(reporter, ProblemKind::Path, message, help)
        };
        if let Some(full) = self.in_allowed(base, &path.value) {
            return Some(full);
        }
        let mut depth = 0i32;
        for part in Path::new(&path.value).components() {
            match part {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir => depth -= 1,
                Component::RootDir | Component::Prefix(_) => return escapes(),
            }
            if depth < 0 {
                return escapes();
            }
        }
        // Links are followed before the comparison, so that none leads out either.
        let Ok(base) = base.canonicalize() else {
            return path.fail(
                reporter,
                ProblemKind::Read,
                format!("the folder `{}` cannot be read", base.display()),
                None,
            );
        };
        let full = base.join(&path.value);
        for file in with_sibling(&full) {
            if file
                .canonicalize()
                .is_ok_and(|real| !real.starts_with(&base))
            {
                return escapes();
            }
        }
        Some(full)
    }
}

impl Files<'_> {
    /// The path, if it and its sibling really lie in one of the further folders.
    fn in_allowed(&self, base: &Path, path: &str) -> Option<PathBuf> {
        let full = base.join(path);
        let folders = self.allowed.iter().filter_map(|d| d.canonicalize().ok());
        let mut inside = folders.filter(|folder| {
            let real = full.canonicalize();
            real.is_ok_and(|real| real.starts_with(folder))
                && with_sibling(&full)
                    .iter()
                    .filter_map(|f| f.canonicalize().ok())
                    .all(|real| real.starts_with(folder))
        });
        inside.next().map(|_| full)
    }
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

fn refuse<T>(
    reporter: &Reporter,
    path: &At<String>,
    full: &Path,
    error: &mesh_files::MeshFileError,
) -> Option<T> {
    let help = error.remedy();
    // The file's full path is of no interest to anyone but its owner.
    let told = match full.file_name() {
        Some(name) => error.clone().in_file(Path::new(name)),
        None => error.clone(),
    };
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
