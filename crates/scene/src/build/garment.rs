//! Panels, rest shapes from textures, seams, animated obstacles, and pins that obstacles carry.

use std::sync::Arc;

use stiction_bodies::{
    Stencil, animated::AnimatedMesh, builder::Anchor, material::ShellMaterial,
    obstacle::ObstacleShape,
};
use stiction_geometry::{SeamError, TriMesh, stitches};
use stiction_math::Vec2;
use stiction_meshio::{VertexGroup, gltf};

use super::{Assembly, geometry};
use crate::{
    format::{At, ProblemKind, SourceSpan},
    read::{
        body::BodyPlan,
        garment::{Animation, PanelPlan, RestShape, Seam, SeamEdge},
        obstacle::ObstaclePlan,
        shape::Mesh,
    },
};

/// Stiffness of a stitch compared with that of the cloth in its plane.
const STITCH: f64 = 10.0;

/// Texture coordinates of the corners of triangles.
pub(super) type Texture = Arc<[[Vec2; 3]]>;

impl Assembly<'_> {
    /// The panels of a body as one mesh, with a group for each, and their flat shapes as its texture.
    pub(super) fn panels(&mut self, panels: &[PanelPlan]) -> Option<(TriMesh, Vec<VertexGroup>)> {
        let (mut all, mut groups) = (TriMesh::default(), Vec::new());
        let mut texture = Vec::new();
        for panel in panels {
            let (name, place) = (&panel.name.value, panel.name.place);
            let flat = geometry::generated(self.reporter, &panel.shape, None)?;
            let placed = geometry::placed(&flat, &panel.placement);
            let placed = placed.map_err(|e| format!("panel `{name}`: {e}"));
            let placed = self.reporter.ok(ProblemKind::Value, place, placed)?;
            let (Mesh::Surface(flat), Mesh::Surface(placed)) = (flat, placed) else {
                return None;
            };
            let scale = &panel.placement.scale;
            let corner = |v: u32| flat.positions[v as usize].component_mul(scale).xy();
            texture.extend(flat.triangles.iter().map(|t| t.map(corner)));
            let count = placed.positions.len() as u32;
            let first = all.append(&placed);
            let first = self.reporter.ok(ProblemKind::TooLarge, place, first)?;
            groups.push(VertexGroup {
                name: name.clone(),
                vertices: (first..first + count).collect(),
            });
        }
        self.texture = Some(texture);
        Some((all, groups))
    }

    /// The texture of a body that was just read, and the pattern that it is cut from if its rest shape is that.
    pub(super) fn cut(
        &mut self,
        plan: &BodyPlan,
        place: SourceSpan,
    ) -> Option<(Option<Texture>, Option<Texture>)> {
        let mut texture = self.texture.take();
        if plan.placement.scale.product() < 0.0 {
            // A mirrored mesh is turned over.
            for t in texture.iter_mut().flatten() {
                t.swap(1, 2);
            }
        }
        let mut pattern = None;
        if plan.rest == RestShape::Texture {
            let name = &plan.name.value;
            let Some(texture) = &texture else {
                let message = format!("body `{name}` has no texture coordinates to be cut from");
                let help = "export the mesh with its UV coordinates, or remove `rest`";
                return self.reporter.refuse(place, message, help);
            };
            let numbers = texture.iter().flatten().flatten();
            self.fingerprint.numbers(numbers);
            let cut = |t: &[Vec2; 3]| {
                let [a, b, c] = t.map(|p| p * plan.texture_scale);
                // Panels that lie mirrored in the texture are cut from the other side of the cloth.
                match (b - a).perp(&(c - a)) < 0.0 {
                    true => [a, b, c].map(|p| Vec2::new(p.x, -p.y)),
                    false => [a, b, c],
                }
            };
            pattern = Some(texture.iter().map(cut).collect());
        }
        Some((texture.map(Arc::from), pattern))
    }

    /// The mesh of an animated obstacle.
    pub(super) fn animated(
        &mut self,
        plan: &ObstaclePlan,
        animation: &Animation,
        path: &At<String>,
    ) -> Option<ObstacleShape> {
        let what = format!("obstacle `{}`", plan.name.value);
        let (surface, mut times, frames) = match animation.first.zip(animation.last) {
            None => {
                let config = gltf::AnimationConfig {
                    clip: animation.clip.clone(),
                    rate: animation.rate,
                };
                let read = self.files.load_animation(self.reporter, path, &config)?;
                (read.mesh.surface?, read.times, read.frames)
            }
            Some((first, last)) => {
                let (mut surface, mut frames) = (TriMesh::default(), Vec::new());
                for number in first..=last {
                    let mut mesh = self.files.load_numbered(self.reporter, path, number)?;
                    let Some(mesh) = mesh.surface.take() else {
                        let message = format!("{what}: file {number} holds no triangles");
                        return path.fail(self.reporter, ProblemKind::Mesh, message, None);
                    };
                    if frames.is_empty() {
                        surface = mesh.clone();
                    } else if mesh.triangles != surface.triangles {
                        let message =
                            format!("{what}: file {number} has other triangles than file {first}");
                        let help = "export all frames with one mesh";
                        return path.fail(self.reporter, ProblemKind::Mesh, message, help);
                    }
                    frames.push(mesh.positions);
                }
                let time = |i: usize| i as f64 / animation.rate;
                let times = (0..frames.len()).map(time).collect();
                (surface, times, frames)
            }
        };
        times.iter_mut().for_each(|t| *t += animation.start);
        let numbers = frames.iter().flatten().flatten();
        self.fingerprint.numbers(numbers.chain(&times));
        self.fingerprint.indices(surface.triangles.iter().flatten());
        let nodes = surface.positions.len() as u128;
        self.spend_nodes(nodes, &plan.name.value, path.place)?;
        let mesh = AnimatedMesh::new(surface.triangles, times, frames, animation.interpolation);
        let mesh = mesh.map_err(|error| format!("{what}: {error}"));
        let mut mesh = self.reporter.ok(ProblemKind::Mesh, path.place, mesh)?;
        mesh.scale(&plan.placement.scale);
        Some(ObstacleShape::Animated(Arc::new(mesh)))
    }

    /// Attaches nodes of a body to the nearest points of another one, which can move freely.
    pub(super) fn tie(
        &mut self,
        [body, other]: [usize; 2],
        nodes: &[u32],
        stiffness: f64,
        place: SourceSpan,
    ) -> Option<()> {
        for node in nodes {
            let node = Anchor::Node {
                body,
                node: *node as usize,
            };
            let a = self.stencil(&node, place)?;
            let near = a.position(self.builder.state());
            let b = self.stencil(&Anchor::Body { body: other, near }, place)?;
            self.builder.attach_points(a, b, stiffness, 0.0, None);
        }
        Some(())
    }

    /// Sews two edges of a shell together.
    pub(super) fn sew(&mut self, At { value: plan, place }: &At<Seam>) -> Option<()> {
        let index = plan.body.value.0;
        let model = self.builder.model();
        let body = &model.bodies[index];
        let name = body.name.clone();
        let source = body.kind.as_deformable().and_then(|d| d.source.as_ref());
        let Some(source) = source else {
            let message = format!("body `{name}` is not a shell and cannot be sewn");
            return self.reporter.refuse(plan.body.place, message, None);
        };
        let own = source
            .materials
            .first()
            .map(ShellMaterial::stretch_stiffness);
        let stiffness = plan.stiffness.unwrap_or(STITCH * own.unwrap_or(0.0));
        let blocks = body.blocks.clone();
        let mesh = TriMesh {
            positions: self.builder.state().x[blocks.clone()].to_vec(),
            triangles: body.surface.triangles.clone(),
        };
        let edge = |edge: &At<SeamEdge>| {
            let found = match (&edge.value.select, &edge.value.corners) {
                (Some(select), _) => mesh.outline_of(&self.selected(index, select)?),
                (_, Some(corners)) => mesh.outline_through(&mesh.positions, corners),
                _ => Err(SeamError::NoEdge),
            };
            let found = found.map_err(|error| format!("body `{name}`: {error}"));
            self.reporter.ok(ProblemKind::Value, edge.place, found)
        };
        let (a, b) = (edge(&plan.a)?, edge(&plan.b)?);
        let directed = plan.a.value.corners.is_some() && plan.b.value.corners.is_some();
        let reverse = plan.reverse == Some(true);
        let found = stitches(&a, &b, &mesh.positions, directed, reverse);
        if found.is_empty() {
            let message = format!("body `{name}`: both edges of the seam are the same");
            return self.reporter.refuse(*place, message, None);
        }
        let stencil = |point: &Vec<(u32, f64)>| {
            let nodes = point.iter().map(|&(v, w)| (blocks.start as u32 + v, w));
            Stencil::Nodes(nodes.collect())
        };
        for [a, b] in &found {
            let (a, b) = (stencil(a), stencil(b));
            let (damping, close) = (plan.damping, Some(plan.close));
            self.builder.attach_points(a, b, stiffness, damping, close);
        }
        Some(())
    }
}
