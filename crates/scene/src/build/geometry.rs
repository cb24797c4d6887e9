//! Meshes of bodies and obstacles, checked against the limits before they are made.

use stiction_bodies::frames::Skeleton;
use stiction_geometry::{
    Plant, PlantSection, Strands, TetMesh, TriMesh,
    shapes::{Groom, Scalp},
};
use stiction_math::elementary::cbrt;
use stiction_math::{Quat, Vec3};
use stiction_meshio::{MeshFile, VertexGroup};

use crate::{
    SceneLimits,
    canonical::Fingerprint,
    error::{ProblemKind, Reporter},
    files::Files,
    read::{
        Document,
        body::{BodyMaterial, BodyPlan, Geometry},
        place::Placement,
        shape::{Generator, ShapePlan},
    },
    source::{At, SourceSpan},
};

/// The mesh of a body.
#[derive(Clone)]
pub(super) enum Mesh {
    Surface(TriMesh),
    Solid(TetMesh),
    Strands(Strands),
    Plant(Plant),
}

/// Nodes spent so far.
pub(super) struct Budget {
    nodes: u128,
    limit: u128,
}

/// Bytes per node with its share of the matrix and of the factor, roughly.
const SHELL_BYTES: f64 = 2e3;
const SOLID_BYTES: f64 = 8e3;

impl Budget {
    pub fn new(limits: &SceneLimits) -> Self {
        Self {
            nodes: 0,
            limit: u128::from(limits.max_nodes),
        }
    }

    /// Counts the nodes of all procedural shapes before any is built.
    pub fn shapes(&mut self, reporter: &Reporter, document: &Document) -> Option<()> {
        for plan in &document.bodies {
            let Geometry::Shape(shape) = &plan.geometry else {
                continue;
            };
            let Some(nodes) = shape.count(reporter) else {
                continue;
            };
            let all = nodes.saturating_mul(copies(plan));
            let bytes = if matches!(plan.material_model, BodyMaterial::Shell(_)) {
                SHELL_BYTES
            } else {
                SOLID_BYTES
            };
            self.spend(reporter, all, bytes, &plan.name.value, shape.place);
        }
        reporter.clean().then_some(())
    }

    /// Counts the nodes of a mesh that was read from a file.
    pub fn file(
        &mut self,
        reporter: &Reporter,
        nodes: u128,
        what: &str,
        place: SourceSpan,
    ) -> Option<()> {
        self.spend(reporter, nodes, SHELL_BYTES, what, place)
    }

    /// Counts the nodes of an embedding lattice.
    pub fn lattice(
        &mut self,
        reporter: &Reporter,
        nodes: u128,
        body: &str,
        place: SourceSpan,
    ) -> Option<()> {
        self.spend(reporter, nodes, SOLID_BYTES, body, place)
    }

    /// Counts the nodes that a refinement adds: one for each edge.
    pub fn refined(
        &mut self,
        reporter: &Reporter,
        edges: u128,
        body: &str,
        place: SourceSpan,
    ) -> Option<()> {
        self.spend(reporter, edges, SHELL_BYTES, body, place)
    }

    fn spend(
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
        let memory = if gigabytes < 1e6 {
            format!("{gigabytes}")
        } else {
            format!("{gigabytes:.0e}")
        };
        let message = format!(
            "body `{body}` brings the scene to {} nodes, which need roughly {memory} GB; the limit is {}",
            self.nodes, self.limit
        );
        reporter.fail(
            ProblemKind::TooLarge,
            place,
            message,
            Some("use fewer cells".to_owned()),
        )
    }
}

fn copies(plan: &BodyPlan) -> u128 {
    plan.repeat.map_or(1, |r| u128::from(r.count))
}

/// The mesh of a body before it is placed, its groups, and where errors about it point. `ground` is
/// the surface that hair grows on.
pub(super) fn mesh(
    reporter: &Reporter,
    plan: &BodyPlan,
    ground: impl Fn() -> TriMesh,
    files: &Files<'_>,
    budget: &mut Budget,
    fingerprint: &mut Fingerprint,
) -> Option<(Mesh, Vec<VertexGroup>, SourceSpan)> {
    match &plan.geometry {
        Geometry::Shape(shape) => {
            let mesh = match &shape.source {
                Generator::Surface(s) => s.mesh().map(Mesh::Surface),
                Generator::Solid(s) => s.mesh().map(Mesh::Solid),
                Generator::Strands(s) => s.mesh().map(Mesh::Strands),
                Generator::Grown(groom) => {
                    let scalp = Scalp::Mesh(ground());
                    let groom = Groom {
                        scalp,
                        ..groom.clone()
                    };
                    groom.build().map(Mesh::Strands)
                }
                Generator::Plant(s) => s.mesh().map(Mesh::Plant),
            };
            match mesh {
                Ok(mesh) => {
                    let groups = roots(&mesh);
                    Some((mesh, groups, shape.place))
                }
                Err(error) => shape.fail(reporter, &error),
            }
        }
        Geometry::File(path) => {
            let what = format!("body `{}`", plan.name.value);
            let (mesh, groups) = match plan.material_model {
                BodyMaterial::Solid(_) => {
                    let (mesh, groups) =
                        solid_of_file(reporter, path, files, &what, budget, fingerprint)?;
                    (Mesh::Solid(mesh), groups)
                }
                BodyMaterial::Shell(_) | BodyMaterial::Particles { .. } => {
                    let (mesh, groups) =
                        surface_of_file(reporter, path, files, &what, budget, fingerprint)?;
                    (Mesh::Surface(mesh), groups)
                }
                BodyMaterial::Rods(..) => {
                    let strands = files.load_strands(reporter, path)?;
                    let nodes = strands.points.len() as u128;
                    budget.file(reporter, nodes, &plan.name.value, path.place)?;
                    fingerprint_strands(&strands, fingerprint);
                    (Mesh::Strands(strands), Vec::new())
                }
                BodyMaterial::Frames(_) => {
                    let message = format!("{what} is carried by frames and needs a `shape`");
                    return path.fail(reporter, ProblemKind::Value, message, None);
                }
                // Groups are of surface vertices, which are not nodes of these.
                BodyMaterial::Embedded(..) | BodyMaterial::Rigid(..) => {
                    let (mesh, _) =
                        surface_of_file(reporter, path, files, &what, budget, fingerprint)?;
                    (Mesh::Surface(mesh), Vec::new())
                }
            };
            // The copies of the first one.
            let nodes = match &mesh {
                Mesh::Surface(m) => m.positions.len(),
                Mesh::Solid(m) => m.positions.len(),
                Mesh::Strands(s) => s.points.len(),
                Mesh::Plant(_) => 0,
            };
            budget.file(
                reporter,
                nodes as u128 * (copies(plan) - 1),
                &plan.name.value,
                path.place,
            )?;
            Some((mesh, groups, path.place))
        }
    }
}

impl Mesh {
    /// The mesh where the body starts.
    pub fn placed(
        &self,
        reporter: &Reporter,
        placement: &Placement,
        place: SourceSpan,
        body: &str,
    ) -> Option<Mesh> {
        let mut mesh = self.clone();
        let (r, s, t) = (
            &placement.pose.rotation,
            &placement.scale,
            &placement.pose.translation,
        );
        let checked = match &mut mesh {
            Mesh::Surface(m) => {
                m.transform(r, s, t);
                m.check()
            }
            Mesh::Solid(m) => {
                m.transform(r, s, t);
                m.check()
            }
            Mesh::Plant(plant) => {
                grow(plant, placement);
                Ok(())
            }
            // What cannot be a rod is refused when it is built.
            Mesh::Strands(strands) => {
                for p in &mut strands.points {
                    *p = r * p.component_mul(s) + t;
                }
                Ok(())
            }
        };
        match checked {
            Ok(()) => Some(mesh),
            Err(error) => reporter.fail(
                ProblemKind::Value,
                place,
                format!("body `{body}`: {error}"),
                None,
            ),
        }
    }
}

/// The root of a plant, as a group that can be pinned.
fn roots(mesh: &Mesh) -> Vec<VertexGroup> {
    match mesh {
        Mesh::Plant(plant) => vec![VertexGroup {
            name: "root".to_owned(),
            vertices: Skeleton::roots(plant),
        }],
        _ => Vec::new(),
    }
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

fn fingerprint_strands(strands: &Strands, fingerprint: &mut Fingerprint) {
    for p in &strands.points {
        p.iter().for_each(|x| fingerprint.number(*x));
    }
    for s in &strands.starts {
        fingerprint.bytes(&s.to_le_bytes());
    }
}

/// The mesh of an obstacle that has no formula.
pub(super) fn obstacle_shape(reporter: &Reporter, shape: &ShapePlan) -> Option<TriMesh> {
    let Generator::Surface(surface) = &shape.source else {
        return None;
    };
    match surface.mesh() {
        Ok(mesh) => Some(mesh),
        Err(error) => shape.fail(reporter, &error),
    }
}

/// The surface in a file: its triangles, or the boundary of its tetrahedra.
pub(super) fn surface_of_file(
    reporter: &Reporter,
    path: &At<String>,
    files: &Files<'_>,
    what: &str,
    budget: &mut Budget,
    fingerprint: &mut Fingerprint,
) -> Option<(TriMesh, Vec<VertexGroup>)> {
    let file = load(reporter, path, files, what, budget, fingerprint)?;
    let found = file.compact_surface().or_else(|| {
        let (surface, map) = file.tets.as_ref()?.surface();
        let groups = regrouped(&file.groups, |v| map.binary_search(&v).ok());
        Some((surface, groups))
    });
    found.or_else(|| {
        path.fail(
            reporter,
            ProblemKind::Mesh,
            format!("{what}: `{}` holds no triangles", path.value),
            None,
        )
    })
}

/// The tetrahedra in a file, without vertices that none of them uses.
fn solid_of_file(
    reporter: &Reporter,
    path: &At<String>,
    files: &Files<'_>,
    what: &str,
    budget: &mut Budget,
    fingerprint: &mut Fingerprint,
) -> Option<(TetMesh, Vec<VertexGroup>)> {
    let file = load(reporter, path, files, what, budget, fingerprint)?;
    let Some(tets) = &file.tets else {
        let message = format!(
            "{what} is a solid, but `{}` holds no tetrahedra",
            path.value
        );
        let help = "use `kind = \"embedded\"` for a closed surface, or mesh the volume";
        return path.fail(reporter, ProblemKind::Mesh, message, Some(help.to_owned()));
    };
    let mut used: Vec<u32> = tets.tets.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let new = |v: u32| used.binary_search(&v).ok();
    let mesh = TetMesh {
        positions: used.iter().map(|v| tets.positions[*v as usize]).collect(),
        tets: tets
            .tets
            .iter()
            .map(|t| t.map(|v| new(v).unwrap_or(0) as u32))
            .collect(),
    };
    let groups = regrouped(&file.groups, new);
    Some((mesh, groups))
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

fn load(
    reporter: &Reporter,
    path: &At<String>,
    files: &Files<'_>,
    what: &str,
    budget: &mut Budget,
    fingerprint: &mut Fingerprint,
) -> Option<MeshFile> {
    let file = files.load(reporter, path)?;
    let name = what.trim_start_matches("body ").trim_matches('`');
    let nodes = [
        file.surface.as_ref().map(|m| m.positions.len()),
        file.tets.as_ref().map(|m| m.positions.len()),
    ];
    let nodes = nodes.into_iter().flatten().max().unwrap_or(0);
    budget.file(reporter, nodes as u128, name, path.place)?;
    let mut positions = |p: &[Vec3]| {
        fingerprint.bytes(&(p.len() as u64).to_le_bytes());
        p.iter()
            .flat_map(|p| p.iter())
            .for_each(|x| fingerprint.number(*x));
    };
    if let Some(m) = &file.surface {
        positions(&m.positions);
    }
    if let Some(m) = &file.tets {
        positions(&m.positions);
    }
    let triangles = file
        .surface
        .iter()
        .flat_map(|m| m.triangles.iter().flatten());
    let tets = file.tets.iter().flat_map(|m| m.tets.iter().flatten());
    let groups = file.groups.iter().flat_map(|g| g.vertices.iter());
    for i in triangles.chain(tets).chain(groups) {
        fingerprint.bytes(&i.to_le_bytes());
    }
    Some(file)
}

/// The mesh of an obstacle in its own frame.
pub(super) fn scaled(
    reporter: &Reporter,
    mut mesh: TriMesh,
    scale: &Vec3,
    place: SourceSpan,
    what: &str,
) -> Option<TriMesh> {
    mesh.transform(&Quat::identity(), scale, &Vec3::zeros());
    match mesh.check() {
        Ok(()) => Some(mesh),
        Err(error) => reporter.fail(ProblemKind::Value, place, format!("{what}: {error}"), None),
    }
}
