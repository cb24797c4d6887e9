//! Frames of a recorded run, read back for pictures, exports and the viewer.

use std::path::{Component, Path, PathBuf};

use stiction_contact::ContactState;
use stiction_geometry::TetMesh;
use stiction_math::{Vec2, Vec3};
use stiction_record::{CONTACTS, OBSTACLE_PREFIX, PvdEntry, corner_textures, read_file, read_pvd};
use stiction_scene::mesh_files::{
    MeshLimits,
    vtu::{self, DataArray, Values, VtuFile},
};

/// Reason for which a run cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The folder has no series of frames.
    #[error("{0} does not exist: give the folder of a run that wrote frames as vtu")]
    NoSeries(PathBuf),
    /// The series is empty.
    #[error("{0} lists no frame")]
    NoFrame(PathBuf),
    /// The list of frames or one of them is not what it should be.
    #[error("{0}")]
    Broken(String),
}

/// The frames of a run.
#[derive(Debug)]
pub struct Replay {
    dir: PathBuf,
    /// The files of each frame.
    frames: Vec<Vec<PvdEntry>>,
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Shot {
    /// Its time [s].
    pub time: f64,
    /// Bodies and obstacles.
    pub bodies: Vec<Seen>,
    /// Contacts.
    pub contacts: Vec<RecordedContact>,
}

/// A contact.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedContact {
    /// Contact point [m].
    pub point: Vec3,
    /// Sticking, sliding or open.
    pub state: ContactState,
    /// Its force on the first body [N].
    pub force: Vec3,
}

/// A body or an obstacle.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// As the time series calls it: obstacles have a prefix.
    pub name: String,
    /// Points [m].
    pub positions: Vec<Vec3>,
    /// Velocities of the points [m/s]; empty if the run did not record any.
    pub velocities: Vec<Vec3>,
    /// Connectivity of the points.
    pub cells: SeenCells,
    /// Texture coordinates of the corners of triangles; empty if the run did not record any.
    pub texture: Vec<[Vec2; 3]>,
    /// Whether it is an obstacle.
    pub obstacle: bool,
}

/// Connectivity of the points of a body; for tetrahedra, their surface.
#[derive(Clone, Debug, PartialEq)]
pub enum SeenCells {
    /// A surface.
    Triangles(Vec<[u32; 3]>),
    /// Segments of rods, and their radius [m].
    Lines(Vec<[u32; 2]>, f64),
    /// Radii [m].
    Balls(Vec<f64>),
}

impl Replay {
    /// The frames in the folder of a run.
    pub fn open(dir: &Path) -> Result<Self, ReplayError> {
        let path = dir.join("frames.pvd");
        if !path.exists() {
            return Err(ReplayError::NoSeries(path));
        }
        let mut frames: Vec<Vec<PvdEntry>> = Vec::new();
        for entry in read_pvd(&path).map_err(|e| bad(&e.to_string()))? {
            match frames.last_mut() {
                Some(group) if group[0].time == entry.time => group.push(entry),
                _ => frames.push(vec![entry]),
            }
        }
        if frames.is_empty() {
            return Err(ReplayError::NoFrame(path));
        }
        let dir = dir.to_owned();
        Ok(Replay { dir, frames })
    }

    /// Number of frames, at least one.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The files of a frame, counted from 0: those that are the same as before hold the same.
    pub fn files(&self, index: usize) -> &[PvdEntry] {
        &self.frames[index]
    }

    /// A frame, counted from 0.
    pub fn shot(&self, index: usize) -> Result<Shot, ReplayError> {
        let entries = &self.frames[index];
        let mut shot = Shot {
            time: entries[0].time,
            bodies: Vec::new(),
            contacts: Vec::new(),
        };
        for entry in entries {
            let path = self.dir.join(inside(&entry.file)?);
            let bytes = read_file(&path).map_err(|e| bad(&e.to_string()))?;
            let stored = vtu::read(&bytes, &MeshLimits::default());
            let stored = stored.map_err(|e| bad(&e.in_file(&path).to_string()))?;
            if entry.name == CONTACTS {
                shot.contacts = touches(&stored);
                continue;
            }
            shot.bodies.push(seen(stored, &entry.name));
        }
        Ok(shot)
    }
}

/// The contacts of a frame.
fn touches(frame: &VtuFile) -> Vec<RecordedContact> {
    let column = |name: &str| {
        let found = frame.point_data.iter().find(|a| a.name == name);
        found.map(|a| &a.values)
    };
    let (Some(Values::Integer(state)), Some(Values::Real(force))) =
        (column("state"), column("force"))
    else {
        return Vec::new();
    };
    let touch = |(i, point): (usize, &Vec3)| {
        let state = match *state.get(i)? {
            1 => ContactState::Stick,
            2 => ContactState::Slide,
            _ => ContactState::Open,
        };
        let force = Vec3::from_column_slice(force.get(3 * i..3 * i + 3)?);
        Some(RecordedContact {
            point: *point,
            state,
            force,
        })
    };
    frame.points.iter().enumerate().filter_map(touch).collect()
}

/// A stored body: its points and their connectivity.
fn seen(mut frame: VtuFile, name: &str) -> Seen {
    const LINE: u8 = 3;
    const TRIANGLE: u8 = 5;
    const TET: u8 = 10;
    let (mut triangles, mut tets, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, nodes) in frame.cells.iter() {
        match (kind, nodes) {
            (LINE, &[a, b]) => lines.push([a, b]),
            (TRIANGLE, &[a, b, c]) => triangles.push([a, b, c]),
            (TET, &[a, b, c, d]) => tets.push([a, b, c, d]),
            _ => {}
        }
    }
    let mut column = |name: &str| {
        let found = frame.point_data.iter_mut().find(|a| a.name == name);
        match found.map(|a| std::mem::replace(&mut a.values, Values::Integer(Vec::new()))) {
            Some(Values::Real(values)) => Some(values),
            _ => None,
        }
    };
    let (radii, velocities) = (column("radius"), column("velocity").unwrap_or_default());
    let velocities = velocities.as_chunks::<3>().0.iter();
    let mut seen = Seen {
        name: name.to_owned(),
        obstacle: name.starts_with(OBSTACLE_PREFIX),
        positions: frame.points,
        velocities: velocities.map(|v| Vec3::from(*v)).collect(),
        cells: SeenCells::Triangles(Vec::new()),
        texture: Vec::new(),
    };
    if !tets.is_empty() {
        let positions = seen.positions;
        let (surface, nodes) = TetMesh { positions, tets }.surface();
        seen.positions = surface.positions;
        if !seen.velocities.is_empty() {
            let of_node = |n: &u32| seen.velocities[*n as usize];
            seen.velocities = nodes.iter().map(of_node).collect();
        }
        seen.cells = SeenCells::Triangles(surface.triangles);
        return seen;
    }
    fn numbers<'a>(data: &'a [DataArray], name: &str) -> Option<&'a [f64]> {
        match &data.iter().find(|a| a.name == name)?.values {
            Values::Real(values) => Some(values),
            _ => None,
        }
    }
    let texture = corner_textures(
        &triangles,
        |name| numbers(&frame.point_data, name),
        |name| numbers(&frame.cell_data, name),
    );
    seen.texture = texture.unwrap_or_default();
    seen.cells = match radii {
        _ if !triangles.is_empty() => SeenCells::Triangles(triangles),
        radii if !lines.is_empty() => {
            let thickest = radii.iter().flatten().copied().fold(0.0, f64::max);
            SeenCells::Lines(lines, thickest)
        }
        Some(radii) => SeenCells::Balls(radii),
        None => SeenCells::Triangles(triangles),
    };
    seen
}

/// The path of a file that a series names, which must be in the folder of the run.
fn inside(file: &str) -> Result<&Path, ReplayError> {
    let path = Path::new(file);
    match path.components().all(|c| matches!(c, Component::Normal(_))) {
        true => Ok(path),
        false => Err(bad(&format!(
            "frames.pvd names `{}`, which is not in the folder of the run",
            file
        ))),
    }
}

fn bad(message: &str) -> ReplayError {
    ReplayError::Broken(message.to_owned())
}
