//! Meshes of bodies and obstacles, checked against the limits before they are made.

use stiction_bodies::frames::Skeleton;
use stiction_geometry::{
    MeshError, Plant, PlantSection, TetMesh, TriMesh,
    shapes::{Groom, Scalp},
};
use stiction_math::elementary::cbrt;
use stiction_meshio::{MeshFile, VertexGroup};

use super::Assembly;
use crate::{
    SceneLimits,
    error::{ProblemKind, Reporter},
    read::{
        body::{BodyMaterial, BodyPlan, Geometry},
        place::Placement,
        shape::{Generator, Mesh, ShapePlan},
    },
    source::{At, SourceSpan},
};

/// Nodes spent so far.
pub(super) struct Budget {
    nodes: u128,
    limit: u128,
}

/// Bytes per node with its share of the matrix and of the factor, roughly.
pub(super) const SHELL_BYTES: f64 = 2e3;
pub(super) const SOLID_BYTES: f64 = 8e3;
/// Of a material point: an eighth of a node of its grid with 125 blocks of matrix and factor, and its place in cells.
pub(super) const POINT_BYTES: f64 = 8e3;

impl Budget {
    pub fn new(limits: &SceneLimits) -> Self {
        Self {
            nodes: 0,
            limit: u128::from(limits.max_nodes),
        }
    }

    /// Counts nodes of a body, each of so many bytes.
    pub fn spend(
        &mut self,
        reporter: &Reporter,
        nodes: u128,
        bytes: f64,
        body: &str,
        place: SourceSpan,
    ) -> Option<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes <= self.limit {
            return Some(());
        }
        let gigabytes = (self.nodes as f64 * bytes / 1e9).ceil();
        let memory = match gigabytes < 1e6 {
            true => format!("{gigabytes}"),
            false => format!("{gigabytes:.0e}"),
        };
        let message = format!(
            "body `{body}` brings the scene to {} nodes, which need roughly {memory} GB; the limit is {}",
            self.nodes, self.limit
        );
        reporter.fail(ProblemKind::TooLarge, place, message, "use fewer cells")
    }
}

impl Assembly<'_> {
    /// Counts the nodes of all procedural shapes before any is built.
    pub(super) fn count_shapes(&mut self, bodies: &[BodyPlan]) -> Option<()> {
        for plan in bodies {
            let (nodes, place) = match &plan.geometry {
                Geometry::Shape(shape) => (shape.count(self.reporter), shape.place),
                Geometry::Panels(panels, place) => {
                    let counts = panels.iter().map(|p| p.shape.count(self.reporter));
                    (counts.sum(), *place)
                }
                Geometry::File(_) => continue,
            };
            let Some(nodes) = nodes else {
                continue;
            };
            let all = nodes.saturating_mul(u128::from(plan.copies()));
            let bytes = match plan.material_model {
                BodyMaterial::Shell(_) => SHELL_BYTES,
                _ => SOLID_BYTES,
            };
            let name = &plan.name.value;
            self.budget.spend(self.reporter, all, bytes, name, place);
        }
        self.reporter.clean().then_some(())
    }

    /// The mesh of a body before it is placed, its groups, and where errors about it point.
    pub(super) fn mesh(&mut self, plan: &BodyPlan) -> Option<(Mesh, Vec<VertexGroup>, SourceSpan)> {
        let name = &plan.name.value;
        let path = match &plan.geometry {
            Geometry::Shape(shape) => {
                let ground = plan.rooted.as_ref().map(|r| self.surface(r.0.value.0).1);
                let mesh = generated(self.reporter, shape, ground)?;
                // The root of a plant can be pinned.
                let groups = match &mesh {
                    Mesh::Plant(plant) => vec![VertexGroup {
                        name: "root".to_owned(),
                        vertices: Skeleton::roots(plant),
                    }],
                    _ => Vec::new(),
                };
                return Some((mesh, groups, shape.place));
            }
            Geometry::Panels(panels, place) => {
                let (mesh, groups) = self.panels(panels)?;
                return Some((Mesh::Surface(mesh), groups, *place));
            }
            Geometry::File(path) => path,
        };
        let what = format!("body `{name}`");
        let mut groups = Vec::new();
        let (mesh, nodes) = match plan.material_model {
            BodyMaterial::Solid(_) => {
                let (mesh, own) = self.solid_of_file(path, &what)?;
                groups = own;
                let nodes = mesh.positions.len();
                (Mesh::Solid(mesh), nodes)
            }
            BodyMaterial::Rods(..) => {
                let strands = self.files.load_strands(self.reporter, path)?;
                let nodes = strands.points.len();
                self.spend_file(nodes as u128, name, path)?;
                for p in &strands.points {
                    p.iter().for_each(|x| self.fingerprint.number(*x));
                }
                for s in &strands.starts {
                    self.fingerprint.bytes(&s.to_le_bytes());
                }
                (Mesh::Strands(strands), nodes)
            }
            BodyMaterial::Frames(_) => {
                let message = format!("{what} is carried by frames and needs a `shape`");
                return self.reporter.refuse(path.place, message, None);
            }
            _ => {
                let (mesh, own) = self.surface_of_file(path, &what)?;
                // Groups are of surface vertices, which are not nodes of others.
                if let BodyMaterial::Shell(_) | BodyMaterial::Particles { .. } = plan.material_model
                {
                    groups = own;
                }
                let nodes = mesh.positions.len();
                (Mesh::Surface(mesh), nodes)
            }
        };
        // The copies of the first one.
        let copies = u128::from(plan.copies()) - 1;
        self.spend_file(nodes as u128 * copies, name, path)?;
        Some((mesh, groups, path.place))
    }

    /// The surface in a file: its triangles, or the boundary of its tetrahedra.
    pub(super) fn surface_of_file(
        &mut self,
        path: &At<String>,
        what: &str,
    ) -> Option<(TriMesh, Vec<VertexGroup>)> {
        let file = self.file(path, what)?;
        let found = file.compact_surface().or_else(|| {
            let (surface, map) = file.tets.as_ref()?.surface();
            let groups = regrouped(&file.groups, |v| map.binary_search(&v).ok());
            Some((surface, groups))
        });
        found.or_else(|| {
            let message = format!("{what}: `{}` holds no triangles", path.value);
            path.fail(self.reporter, ProblemKind::Mesh, message, None)
        })
    }

    /// The tetrahedra in a file, without vertices that none of them uses.
    fn solid_of_file(
        &mut self,
        path: &At<String>,
        what: &str,
    ) -> Option<(TetMesh, Vec<VertexGroup>)> {
        let file = self.file(path, what)?;
        let Some(tets) = &file.tets else {
            let path_name = &path.value;
            let message = format!("{what} is a solid, but `{path_name}` holds no tetrahedra");
            let help = "use `kind = \"embedded\"` for a closed surface, or mesh the volume";
            return path.fail(self.reporter, ProblemKind::Mesh, message, help);
        };
        let mut used: Vec<u32> = tets.tets.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let new = |v: u32| used.binary_search(&v).ok();
        let renumbered = |t: &[u32; 4]| t.map(|v| new(v).unwrap_or(0) as u32);
        let mesh = TetMesh {
            positions: used.iter().map(|v| tets.positions[*v as usize]).collect(),
            tets: tets.tets.iter().map(renumbered).collect(),
        };
        Some((mesh, regrouped(&file.groups, new)))
    }

    fn file(&mut self, path: &At<String>, what: &str) -> Option<MeshFile> {
        let mut file = self.files.load(self.reporter, path)?;
        self.texture = file.uv.take();
        let positions = [
            file.surface.as_ref().map(|m| &m.positions),
            file.tets.as_ref().map(|m| &m.positions),
        ];
        let positions = || positions.into_iter().flatten();
        let nodes = positions().map(Vec::len).max().unwrap_or(0);
        let name = what.trim_start_matches("body ").trim_matches('`');
        self.spend_file(nodes as u128, name, path)?;
        for p in positions() {
            self.fingerprint.bytes(&(p.len() as u64).to_le_bytes());
            let numbers = p.iter().flat_map(|p| p.iter());
            numbers.for_each(|x| self.fingerprint.number(*x));
        }
        let triangles = file
            .surface
            .iter()
            .flat_map(|m| m.triangles.iter().flatten());
        let tets = file.tets.iter().flat_map(|m| m.tets.iter().flatten());
        let groups = file.groups.iter().flat_map(|g| g.vertices.iter());
        for i in triangles.chain(tets).chain(groups) {
            self.fingerprint.bytes(&i.to_le_bytes());
        }
        Some(file)
    }

    /// Counts the nodes of a mesh.
    pub(super) fn spend_nodes(&mut self, nodes: u128, name: &str, place: SourceSpan) -> Option<()> {
        self.budget
            .spend(self.reporter, nodes, SHELL_BYTES, name, place)
    }

    /// Counts the nodes of a mesh that was read from a file.
    fn spend_file(&mut self, nodes: u128, name: &str, path: &At<String>) -> Option<()> {
        self.budget
            .spend(self.reporter, nodes, SHELL_BYTES, name, path.place)
    }
}

/// The mesh of a shape; hair grows on `ground`.
pub(super) fn generated(
    reporter: &Reporter,
    shape: &ShapePlan,
    ground: Option<TriMesh>,
) -> Option<Mesh> {
    let mesh = match &shape.source {
        Generator::Mesh(generator) => generator.mesh(),
        Generator::Grown(groom) => {
            let scalp = Scalp::Mesh(ground?);
            let groom = groom.clone();
            Groom { scalp, ..groom }.build().map(Mesh::Strands)
        }
    };
    mesh.map_or_else(|error| shape.fail(reporter, &error), Some)
}

/// The mesh where the body starts.
pub(super) fn placed(mesh: &Mesh, placement: &Placement) -> Result<Mesh, MeshError> {
    let mut mesh = mesh.clone();
    let Placement { scale, pose } = placement;
    match &mut mesh {
        Mesh::Surface(m) => {
            m.transform(&pose.rotation, scale, &pose.translation);
            m.check()?;
        }
        Mesh::Solid(m) => {
            m.transform(&pose.rotation, scale, &pose.translation);
            m.check()?;
        }
        Mesh::Plant(plant) => grow(plant, placement),
        // What cannot be a rod is refused when it is built.
        Mesh::Strands(strands) => {
            for p in &mut strands.points {
                *p = pose.rotation * p.component_mul(scale) + pose.translation;
            }
        }
    }
    Ok(mesh)
}

/// A plant where it starts. Cross-sections grow by the cube root of the change of volume.
fn grow(plant: &mut Plant, placement: &Placement) {
    let (r, s, t) = (
        &placement.pose.rotation,
        &placement.scale,
        &placement.pose.translation,
    );
    let size = cbrt(s.product().abs());
    for part in &mut plant.parts {
        for p in &mut part.points {
            *p = r * p.component_mul(s) + t;
        }
        part.up = r * part.up.component_mul(s);
        match &mut part.section {
            PlantSection::Round { radii } => radii.iter_mut().for_each(|r| *r *= size),
            PlantSection::Flat { widths, thickness } => {
                widths.iter_mut().for_each(|w| *w *= size);
                *thickness *= size;
            }
        }
    }
}

fn regrouped(groups: &[VertexGroup], new: impl Fn(u32) -> Option<usize>) -> Vec<VertexGroup> {
    let kept = |g: &VertexGroup| {
        let vertices: Vec<u32> = g
            .vertices
            .iter()
            .filter_map(|v| new(*v))
            .map(|v| v as u32)
            .collect();
        VertexGroup {
            name: g.name.clone(),
            vertices,
        }
    };
    groups
        .iter()
        .map(kept)
        .filter(|g| !g.vertices.is_empty())
        .collect()
}
