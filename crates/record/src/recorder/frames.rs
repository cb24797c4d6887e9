//! Frames of bodies, obstacles and contacts.

use std::path::Path;

use stiction_bodies::{Body, Model, State, obstacle::ObstacleShape};
use stiction_contact::Certificate;
use stiction_sim::Simulation;

use super::{FrameFormat, Recorder};
use crate::{
    Cells, Data, Encoding, Frame, RecordError, TextureColumns, names::SeriesNames, sequence_path,
    write_contacts_vtu, write_obj, write_ply, write_vtu,
};

impl Recorder {
    /// Writes a frame of the current state.
    pub fn frame(&mut self, sim: &Simulation) -> Result<(), RecordError> {
        self.folder.check_held()?;
        let (model, state) = (sim.model(), sim.state());
        let number = self.history.frames as usize;
        let folder = self.folder.path().join("frames");
        let names = self.names.clone();
        let mut files: Vec<(&str, String)> = Vec::new();
        for (body, (name, stem)) in model.bodies.iter().zip(&names.bodies) {
            for format in self.info.formats.clone() {
                let path = sequence_path(&folder, stem, number, format.name());
                match format {
                    FrameFormat::Vtu => {
                        self.whole(body, state, &path)?;
                        files.push((name, listed(&path)));
                    }
                    FrameFormat::Obj => self.surface(body, state, |f| write_obj(&path, f))?,
                    FrameFormat::Ply => self.surface(body, state, |f| write_ply(&path, f))?,
                }
            }
        }
        if self.pvd.is_some() {
            self.obstacle_frames(model, state.time, number, &names, &mut files)?;
            let (name, stem) = &names.contacts;
            let path = sequence_path(&folder, stem, number, "vtu");
            write_contacts_vtu(&path, state.time, &sim.contacts())?;
            files.push((name, listed(&path)));
        }
        if let Some(pvd) = &mut self.pvd {
            let files: Vec<(&str, &str)> = files.iter().map(|(n, f)| (*n, f.as_str())).collect();
            pvd.add_frame(state.time, &files)?;
        }
        self.history.frames += 1;
        Ok(())
    }

    /// Writes obstacles: one file each, or one per frame for those that move.
    fn obstacle_frames<'a>(
        &mut self,
        model: &Model,
        time: f64,
        number: usize,
        names: &'a SeriesNames,
        files: &mut Vec<(&'a str, String)>,
    ) -> Result<(), RecordError> {
        let folder = self.folder.path().join("frames");
        let all = model.obstacles.iter().zip(&self.obstacles);
        for ((obstacle, mesh), (name, stem)) in all.zip(&names.obstacles) {
            let number = if obstacle.moves() { number } else { 0 };
            let path = sequence_path(&folder, stem, number, "vtu");
            if obstacle.moves() || !path.exists() {
                if let ObstacleShape::Animated(_) = obstacle.shape {
                    obstacle.vertices(time, &mut self.points);
                } else {
                    let pose = obstacle.pose(time);
                    self.points.clear();
                    self.points
                        .extend(mesh.positions.iter().map(|x| pose.apply(x)));
                }
                let frame = Frame {
                    name,
                    time,
                    positions: &self.points,
                    cells: Cells::Triangles(&mesh.triangles),
                    point_data: &[],
                    cell_data: &[],
                    field_data: &[],
                };
                write_vtu(&path, &frame, Encoding::Raw)?;
            }
            files.push((name, listed(&path)));
        }
        Ok(())
    }

    /// Writes a body with all its data: a solid with its tetrahedra, others as their surface.
    fn whole(&mut self, body: &Body, state: &State, path: &Path) -> Result<(), RecordError> {
        let values = self.last.values();
        let conforming = matches!(body.surface.skin, stiction_bodies::Skin::Nodes(_));
        if !body.tets.is_empty() && conforming && body.kind.as_deformable().is_some() {
            let r = body.blocks.clone();
            let frame = Frame {
                name: &body.name,
                time: state.time,
                positions: &state.x[r.clone()],
                cells: Cells::Tets(&body.tets),
                point_data: &[("velocity", Data::Vectors(&state.v[r]))],
                cell_data: &[],
                field_data: &fields(&values),
            };
            return write_vtu(path, &frame, Encoding::Raw);
        }
        self.surface(body, state, |frame| write_vtu(path, frame, Encoding::Raw))
    }

    fn surface(
        &mut self,
        body: &Body,
        state: &State,
        write: impl Fn(&Frame<'_>) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let values = self.last.values();
        body.vertices(state, &mut self.points);
        body.vertex_velocities(state, &mut self.velocities);
        let radius;
        let surface = &body.surface.triangles;
        let uv = body.texture.as_deref().unwrap_or(&[]);
        let texture = TextureColumns::new(surface, uv, self.points.len());
        let mut textured = Vec::new();
        let cell_data: Vec<_> = texture.cell_data().collect();
        let velocity = ("velocity", Data::Vectors(&self.velocities));
        let (cells, point_data): (_, &[(&str, Data<'_>)]) = if body.radius > 0.0 {
            radius = vec![body.radius; self.points.len()];
            let cells = match &body.surface.segments[..] {
                [] => Cells::Points,
                segments => Cells::Lines(segments),
            };
            (cells, &[velocity, ("radius", Data::Scalars(&radius))])
        } else {
            textured.push(velocity);
            textured.extend(texture.point_data());
            (Cells::Triangles(surface), &textured)
        };
        write(&Frame {
            name: &body.name,
            time: state.time,
            positions: &self.points,
            cells,
            point_data,
            cell_data: &cell_data,
            field_data: &fields(&values),
        })
    }
}

/// The path of a frame's file relative to the time series.
fn listed(path: &Path) -> String {
    let file = path.file_name().map(|f| f.to_string_lossy().into_owned());
    format!("frames/{}", file.unwrap_or_default())
}

/// The certificate of a frame's step, by name, as far as its fields apply to the method.
fn fields(values: &[Option<f64>; Certificate::FIELDS.len()]) -> Vec<(&'static str, Data<'_>)> {
    let names = Certificate::FIELDS.iter().zip(values);
    names
        .filter(|(_, value)| value.is_some())
        .map(|(name, value)| (*name, Data::Scalars(value.as_slice())))
        .collect()
}
