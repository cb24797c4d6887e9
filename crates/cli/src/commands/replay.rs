//! Frames of a recorded run, read back for pictures and exports.

use std::{
    fs,
    path::{Path, PathBuf},
};

use miette::miette;
use stiction_contact::ContactState;
use stiction_geometry::TetMesh;
use stiction_math::Vec3;
use stiction_record::{CONTACTS, OBSTACLE_PREFIX, PvdEntry, read_pvd};
use stiction_scene::mesh_files::{
    Limits,
    vtu::{self, Values, VtuFile},
};

use super::Failure;

/// The frames of a run.
pub struct Replay {
    dir: PathBuf,
    /// The files of each frame.
    frames: Vec<Vec<PvdEntry>>,
}

/// One frame: the time and what is seen.
pub struct Shot {
    pub time: f64,
    pub bodies: Vec<Seen>,
    pub contacts: Vec<Touch>,
}

/// A contact: where, what it does, and its force [N].
pub struct Touch {
    pub point: Vec3,
    pub state: ContactState,
    pub force: Vec3,
}

/// A body or an obstacle.
pub struct Seen {
    pub name: String,
    pub positions: Vec<Vec3>,
    pub cells: SeenCells,
    pub obstacle: bool,
}

/// What connects the points of a body; of tetrahedra, their surface.
pub enum SeenCells {
    Triangles(Vec<[u32; 3]>),
    Lines(Vec<[u32; 2]>),
    /// Radii [m].
    Balls(Vec<f64>),
}

impl Replay {
    /// The frames in the folder of a run.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join("frames.pvd");
        if !path.exists() {
            return Err(Failure::Input(miette!(
                help = "give the folder of a run that wrote frames as vtu",
                "{} does not exist",
                path.display()
            )));
        }
        let mut frames: Vec<Vec<PvdEntry>> = Vec::new();
        for entry in read_pvd(&path).map_err(|e| bad(&e.to_string()))? {
            match frames.last_mut() {
                Some(group) if group[0].time == entry.time => group.push(entry),
                _ => frames.push(vec![entry]),
            }
        }
        if frames.is_empty() {
            return Err(bad(&format!("{} lists no frame", path.display())));
        }
        let dir = dir.to_owned();
        Ok(Replay { dir, frames })
    }

    /// How many frames there are, at least one.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// A frame, counted from 0.
    pub fn shot(&self, index: usize) -> Result<Shot, Failure> {
        let entries = &self.frames[index];
        let mut shot = Shot {
            time: entries[0].time,
            bodies: Vec::new(),
            contacts: Vec::new(),
        };
        for entry in entries {
            let path = self.dir.join(&entry.file);
            let bytes = fs::read(&path).map_err(|e| bad(&format!("{}: {e}", path.display())))?;
            let stored = vtu::read(&bytes, &Limits::default());
            let stored = stored.map_err(|e| bad(&e.in_file(&path).to_string()))?;
            if entry.name == CONTACTS {
                shot.contacts = touches(&stored);
                continue;
            }
            let (positions, cells) = seen(stored);
            shot.bodies.push(Seen {
                obstacle: entry.name.starts_with(OBSTACLE_PREFIX),
                name: entry.name.clone(),
                positions,
                cells,
            });
        }
        Ok(shot)
    }
}

/// The contacts of a frame.
fn touches(frame: &VtuFile) -> Vec<Touch> {
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
        Some(Touch {
            point: *point,
            state,
            force,
        })
    };
    frame.points.iter().enumerate().filter_map(touch).collect()
}

/// The points of a stored body and what connects them.
fn seen(frame: VtuFile) -> (Vec<Vec3>, SeenCells) {
    const LINE: u8 = 3;
    const TRIANGLE: u8 = 5;
    const TET: u8 = 10;
    let radius = frame.point_data.iter().find(|a| a.name == "radius");
    if let Some(Values::Real(radii)) = radius.map(|a| &a.values) {
        let radii = radii.clone();
        return (frame.points, SeenCells::Balls(radii));
    }
    let (mut triangles, mut tets, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, nodes) in frame.cells.iter() {
        match (kind, nodes) {
            (LINE, &[a, b]) => lines.push([a, b]),
            (TRIANGLE, &[a, b, c]) => triangles.push([a, b, c]),
            (TET, &[a, b, c, d]) => tets.push([a, b, c, d]),
            _ => {}
        }
    }
    if !tets.is_empty() {
        let mesh = TetMesh {
            positions: frame.points,
            tets,
        };
        let (surface, _) = mesh.surface();
        return (surface.positions, SeenCells::Triangles(surface.triangles));
    }
    match lines.is_empty() || !triangles.is_empty() {
        true => (frame.points, SeenCells::Triangles(triangles)),
        false => (frame.points, SeenCells::Lines(lines)),
    }
}

/// A complaint about what was given.
pub fn bad(message: &str) -> Failure {
    Failure::Input(miette!("{message}"))
}
