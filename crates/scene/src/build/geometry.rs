//! Meshes of bodies and obstacles, checked against the limits before they are made.

use stiction_bodies::frames::Skeleton;
use stiction_geometry::{
    MeshError, TriMesh,
    shapes::{Groom, Scalp},
};
use stiction_meshio::{MeshFile, VertexGroup};

use super::Assembly;
use crate::{
    SceneLimits,
    format::{At, ProblemKind, Reporter, SourceSpan},
    read::{
        body::{BodyMaterial, BodyPlan, Geometry},
        place::Placement,
        shape::{Generator, Mesh, ShapePlan},
    },
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
            let (nodes, place): (Option<u128>, _) = match &plan.geometry {
                Geometry::Shape(shape) => (shape.count(self.reporter), shape.place),
                Geometry::Panels(panels, place) => {
                    let counts = panels.iter().map(|p| p.shape.count(self.reporter));
                    (counts.sum(), *place)
                }
                Geometry::File(_) => continue,
            };
            let Some(nodes) = nodes else { continue };
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
                let (model, state) = (self.builder.model(), self.builder.state());
                let rooted = plan.rooted.as_ref();
                let ground = rooted.map(|r| model.bodies[r.0.value.0].surface_in(state));
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
        let (mesh, groups) = match plan.material_model {
            BodyMaterial::Solid(_) => {
                let file = self.file(path, name)?;
                let Some((mesh, groups)) = file.compact_solid() else {
                    let message = format!(
                        "{what} is a solid, but `{path}` holds no tetrahedra",
                        path = path.value
                    );
                    let help = "use `kind = \"embedded\"` for a closed surface, or mesh the volume";
                    return path.fail(self.reporter, ProblemKind::Mesh, message, help);
                };
                (Mesh::Solid(mesh), groups)
            }
            BodyMaterial::Rods(..) => {
                let strands = self.files.load_strands(self.reporter, path)?;
                self.spend_nodes(strands.points.len() as u128, name, path.place)?;
                self.fingerprint.numbers(strands.points.iter().flatten());
                self.fingerprint.indices(&strands.starts);
                (Mesh::Strands(strands), Vec::new())
            }
            BodyMaterial::Frames(_) => {
                let message = format!("{what} is carried by frames and needs a `shape`");
                return self.reporter.refuse(path.place, message, None);
            }
            // Groups are of surface vertices, which are not nodes of others.
            BodyMaterial::Shell(_) | BodyMaterial::Particles { .. } => {
                let (mesh, groups) = self.surface_of_file(path, name, &what)?;
                (Mesh::Surface(mesh), groups)
            }
            _ => (
                Mesh::Surface(self.surface_of_file(path, name, &what)?.0),
                Vec::new(),
            ),
        };
        // The copies of the first one.
        let copies = u128::from(plan.copies()) - 1;
        self.spend_nodes(mesh.node_count() as u128 * copies, name, path.place)?;
        Some((mesh, groups, path.place))
    }

    /// The surface in a file: its triangles, or the boundary of its tetrahedra.
    pub(super) fn surface_of_file(
        &mut self,
        path: &At<String>,
        name: &str,
        what: &str,
    ) -> Option<(TriMesh, Vec<VertexGroup>)> {
        self.file(path, name)?.outer_surface().or_else(|| {
            let message = format!("{what}: `{}` holds no triangles", path.value);
            path.fail(self.reporter, ProblemKind::Mesh, message, None)
        })
    }

    fn file(&mut self, path: &At<String>, name: &str) -> Option<MeshFile> {
        let mut file = self.files.load(self.reporter, path)?;
        self.texture = file.uv.take();
        let (surface, tets) = (file.surface.as_ref(), file.tets.as_ref());
        let positions = [surface.map(|m| &m.positions), tets.map(|m| &m.positions)];
        let nodes = positions.iter().flatten().map(|p| p.len()).max();
        self.spend_nodes(nodes.unwrap_or(0) as u128, name, path.place)?;
        for p in positions.into_iter().flatten() {
            self.fingerprint.bytes(&(p.len() as u64).to_le_bytes());
            self.fingerprint.numbers(p.iter().flatten());
        }
        let triangles = surface
            .into_iter()
            .flat_map(|m| m.triangles.iter().flatten());
        let tets = tets.into_iter().flat_map(|m| m.tets.iter().flatten());
        let groups = file.groups.iter().flat_map(|g| &g.vertices);
        self.fingerprint
            .indices(triangles.chain(tets).chain(groups));
        Some(file)
    }

    /// Counts the nodes of a mesh.
    pub(super) fn spend_nodes(&mut self, nodes: u128, name: &str, place: SourceSpan) -> Option<()> {
        self.budget
            .spend(self.reporter, nodes, SHELL_BYTES, name, place)
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
    let (rotation, translation) = (&pose.rotation, &pose.translation);
    match &mut mesh {
        Mesh::Surface(m) => {
            m.transform(rotation, scale, translation);
            m.check()?;
        }
        Mesh::Solid(m) => {
            m.transform(rotation, scale, translation);
            m.check()?;
        }
        Mesh::Plant(plant) => plant.transform(rotation, scale, translation),
        // What cannot be a rod is refused when it is built.
        Mesh::Strands(strands) => strands.transform(rotation, scale, translation),
    }
    Ok(mesh)
}
