//! The scene of a run in its folder: `scene.toml`, and copies of its mesh files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use stiction_math::checksum::Xxh64;

use crate::{
    CheckpointError, Decoder, Encoder, RecordError, atomic,
    folder::{begins_with, refuse_link},
};

/// Name of the kept scene in the folder of a run.
pub const SCENE_FILE: &str = "scene.toml";

/// First line of every kept scene, which distinguishes it from a user's file.
pub(crate) const HEADER: &str =
    "# The scene of this run with all overrides applied, kept by stiction.";

/// A scene as kept by its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptScene {
    /// One text with all overrides applied.
    pub text: String,
    /// The mesh files of the scene.
    pub meshes: Vec<KeptMesh>,
}

/// A mesh file of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptMesh {
    /// Path in the folder of the run, as in the text.
    pub kept: String,
    /// Source file; empty if unknown.
    pub path: PathBuf,
    /// XXH64 of its bytes.
    pub checksum: u64,
}

impl KeptScene {
    /// Writes the scene and copies its meshes to the folder of a run, each file atomically.
    ///
    /// Replaces files of an earlier run, but not files of the user.
    pub(crate) fn keep(&self, dir: &Path) -> Result<(), RecordError> {
        let path = dir.join(SCENE_FILE);
        let ours = self.check(dir)?;
        for mesh in &self.meshes {
            mesh.copy(dir, ours)?;
        }
        atomic::write_with(&path, |out| {
            writeln!(out, "{HEADER}")?;
            for mesh in &self.meshes {
                writeln!(out, "# {}: XXH64 {:016x}", mesh.kept, mesh.checksum)?;
            }
            write!(out, "\n{}", self.text)
        })
    }

    /// Refuses a folder with a user file in the place of the scene or one of its meshes; returns
    /// whether it has the kept scene of a run.
    pub(crate) fn check(&self, dir: &Path) -> Result<bool, RecordError> {
        let path = dir.join(SCENE_FILE);
        let ours = is_kept(&path)?;
        if path.exists() && !ours {
            let reason = "it is a file of yours, which the run does not overwrite; choose another \
                          output folder";
            return Err(RecordError::invalid(&path, reason));
        }
        for mesh in &self.meshes {
            mesh.is_there(dir, ours)?;
        }
        Ok(ours)
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.str(&self.text);
        out.u64(self.meshes.len() as u64);
        for mesh in &self.meshes {
            out.str(&mesh.kept);
            out.u64(mesh.checksum);
        }
    }

    pub(crate) fn decode(mut input: Decoder<'_>) -> Result<Self, CheckpointError> {
        let text = input.str()?.to_owned();
        let mut meshes = Vec::new();
        for _ in 0..input.usize()? {
            meshes.push(KeptMesh {
                kept: input.str()?.to_owned(),
                path: PathBuf::new(),
                checksum: input.u64()?,
            });
        }
        input.finish()?;
        Ok(Self { text, meshes })
    }
}

impl KeptMesh {
    /// Reads the file at `path`, which the run keeps as `kept`.
    pub fn read(kept: &str, path: &Path) -> Result<Self, RecordError> {
        Ok(Self {
            kept: kept.to_owned(),
            path: path.to_owned(),
            checksum: checksum(path)?,
        })
    }

    /// Whether the copy below `dir` already exists. A different file is refused unless `replace`,
    /// and so is a link in the place of its folder.
    fn is_there(&self, dir: &Path, replace: bool) -> Result<bool, RecordError> {
        let target = dir.join(&self.kept);
        let mut inside = target.ancestors().skip(1).take_while(|a| *a != dir);
        inside.try_for_each(refuse_link)?;
        if !target.exists() {
            return Ok(false);
        }
        if checksum(&target)? == self.checksum {
            return Ok(true);
        }
        if !replace {
            let reason = "another file is there, which a copy of the scene's mesh would replace; \
                          choose another output folder";
            return Err(RecordError::invalid(&target, reason));
        }
        Ok(false)
    }

    /// Copies the file to its path below `dir`. A different file is replaced only if `replace`.
    fn copy(&self, dir: &Path, replace: bool) -> Result<(), RecordError> {
        let target = dir.join(&self.kept);
        if self.is_there(dir, replace)? {
            return Ok(());
        }
        if let Some(folder) = target.parent() {
            atomic::make_folder(folder)?;
        }
        let mut hash = Xxh64::new();
        atomic::replace_with(&target, |out| {
            pieces(&self.path, |piece| {
                hash.update(piece);
                out.write_all(piece)
            })
        })?;
        if hash.finish() != self.checksum {
            let reason = "its mesh changed while the run started; start the run again";
            return Err(RecordError::malformed(&self.path, reason));
        }
        Ok(())
    }
}

/// Whether the file at `path` is a kept scene.
fn is_kept(path: &Path) -> Result<bool, RecordError> {
    match begins_with(path, HEADER.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        read => read.map_err(|e| RecordError::io("read", path, e)),
    }
}

fn checksum(path: &Path) -> Result<u64, RecordError> {
    let mut hash = Xxh64::new();
    let update = |piece: &[u8]| {
        hash.update(piece);
        Ok(())
    };
    pieces(path, update).map_err(|e| RecordError::io("read", path, e))?;
    Ok(hash.finish())
}

fn pieces(path: &Path, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            count => take(&piece[..count])?,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::fs;

    fn source(mesh: &Path) -> KeptScene {
        KeptScene {
            text: "name = \"a\"\n".to_owned(),
            meshes: vec![KeptMesh::read("meshes/part.obj", mesh).unwrap()],
        }
    }

    #[test]
    fn the_text_and_its_meshes_are_kept_and_replaced_by_a_later_run() {
        let dir = tempfile::tempdir().unwrap();
        let (mesh, run) = (dir.path().join("part.obj"), dir.path().join("run"));
        fs::write(&mesh, "v 0 0 0\n").unwrap();
        fs::create_dir(&run).unwrap();
        source(&mesh).keep(&run).unwrap();
        let text = fs::read_to_string(run.join(SCENE_FILE)).unwrap();
        assert!(
            text.ends_with("\n\nname = \"a\"\n") && text.starts_with(HEADER),
            "{text}"
        );
        let copy = run.join("meshes/part.obj");
        assert_eq!(fs::read(&copy).unwrap(), b"v 0 0 0\n");
        fs::write(&mesh, "v 1 0 0\n").unwrap();
        source(&mesh).keep(&run).unwrap();
        assert_eq!(fs::read(&copy).unwrap(), b"v 1 0 0\n");
    }

    #[test]
    fn files_of_the_user_are_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let mesh = dir.path().join("part.obj");
        fs::write(&mesh, "v 0 0 0\n").unwrap();
        let own = dir.path().join(SCENE_FILE);
        fs::write(&own, "# mine\n").unwrap();
        let error = source(&mesh).keep(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("scene.toml") && error.contains("yours"),
            "{error}"
        );
        assert_eq!(fs::read(&own).unwrap(), b"# mine\n");
        fs::remove_file(&own).unwrap();
        fs::create_dir(dir.path().join("meshes")).unwrap();
        let own = dir.path().join("meshes/part.obj");
        fs::write(&own, "v 9 9 9\n").unwrap();
        let error = source(&mesh).keep(dir.path()).unwrap_err().to_string();
        assert!(error.contains("part.obj"), "{error}");
        assert_eq!(fs::read(&own).unwrap(), b"v 9 9 9\n");
    }

    #[test]
    fn a_mesh_that_lies_in_the_folder_of_the_run_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("meshes")).unwrap();
        let mesh = dir.path().join("meshes/part.obj");
        fs::write(&mesh, "v 0 0 0\n").unwrap();
        source(&mesh).keep(dir.path()).unwrap();
        assert_eq!(fs::read(&mesh).unwrap(), b"v 0 0 0\n");
    }
}
