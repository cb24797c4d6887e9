//! Panels, rest shapes from textures, seams, animated obstacles, and pins that obstacles carry.

use std::sync::Arc;

use stiction_bodies::{
    Stencil,
    animated::AnimatedMesh,
    builder::Anchor,
    material::MembraneLaw,
    motion::{Carrier, Motion},
    obstacle::ObstacleShape,
};
use stiction_geometry::{SeamError, TriMesh, closest_point_on_triangle, stitches};
use stiction_math::{Vec2, Vec3};
use stiction_meshio::{VertexGroup, gltf};

use super::{Assembly, geometry};
use crate::{
    error::ProblemKind,
    read::{
        body::BodyPlan,
        garment::{Animation, PanelPlan, RestShape, Seam, SeamEdge},
        obstacle::ObstaclePlan,
        shape::Mesh,
    },
    source::{At, SourceSpan},
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
            let Mesh::Surface(flat) = geometry::generated(self.reporter, &panel.shape, None)?
            else {
                return None;
            };
            let scale = &panel.placement.scale;
            let corner = |v: u32| {
                let p = flat.positions[v as usize].component_mul(scale);
                Vec2::new(p.x, p.y)
            };
            texture.extend(flat.triangles.iter().map(|t| t.map(corner)));
            let placed = geometry::placed(&Mesh::Surface(flat), &panel.placement);
            let placed = placed.map_err(|e| format!("panel `{}`: {e}", panel.name.value));
            let place = panel.name.place;
            let Mesh::Surface(placed) = self.reporter.ok(ProblemKind::Value, place, placed)? else {
                return None;
            };
            let count = placed.positions.len() as u32;
            let first = self
                .reporter
                .ok(ProblemKind::TooLarge, place, all.append(&placed))?;
            groups.push(VertexGroup {
                name: panel.name.value.clone(),
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
            texture
                .iter()
                .flatten()
                .flat_map(|p| p.iter())
                .for_each(|x| self.fingerprint.number(*x));
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
        let (surface, mut times, frames) = match animation.numbers {
            None => {
                let config = gltf::AnimationConfig {
                    clip: animation.clip.clone(),
                    rate: animation.rate,
                };
                let read = self.files.load_animation(self.reporter, path, &config)?;
                (read.mesh.surface?, read.times, read.frames)
            }
            Some([first, last]) => {
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
        let numbers = frames.iter().flatten().flat_map(|p| p.iter());
        numbers
            .chain(&times)
            .for_each(|x| self.fingerprint.number(*x));
        for i in surface.triangles.iter().flatten() {
            self.fingerprint.bytes(&i.to_le_bytes());
        }
        self.spend_nodes(
            surface.positions.len() as u128,
            &plan.name.value,
            path.place,
        )?;
        let mesh = AnimatedMesh::new(surface.triangles, times, frames, animation.interpolation);
        let mesh = mesh.map_err(|error| format!("{what}: {error}"));
        let mut mesh = self.reporter.ok(ProblemKind::Mesh, path.place, mesh)?;
        mesh.scale(&plan.placement.scale);
        Some(ObstacleShape::Animated(Arc::new(mesh)))
    }

    /// Pins nodes of a body to the obstacle `obstacle`, each to the triangle nearest to it at the start.
    pub(super) fn carry(
        &mut self,
        body: usize,
        nodes: &[u32],
        obstacle: usize,
        motion: Option<&Motion>,
        place: SourceSpan,
    ) -> Option<()> {
        let obstacle = Arc::new(self.builder.model().obstacles.get(obstacle)?.clone());
        let (mut x, triangles) = (Vec::new(), obstacle.shape.triangles());
        obstacle.vertices(0.0, &mut x);
        let animated = matches!(obstacle.shape, ObstacleShape::Animated(_));
        let carried = |triangle| Motion {
            carrier: Some(Carrier {
                obstacle: Arc::clone(&obstacle),
                triangle,
            }),
            ..motion.cloned().unwrap_or_default()
        };
        if !animated {
            let pinned = self.builder.pin(body, nodes, Some(carried(None)));
            return self.reporter.ok(ProblemKind::Build, place, pinned);
        }
        for node in nodes {
            let own = &self.builder.model().bodies[body];
            let rigid = own.kind.as_rigid().is_some();
            let block = if rigid {
                own.blocks.start
            } else {
                own.node_block(*node as usize)?
            };
            let at = self.builder.state().x[block];
            let distance = |t: &[u32; 3]| {
                let corners = t.map(|v| x[v as usize]);
                let w = closest_point_on_triangle(&at, &corners);
                ((0..3).map(|k| corners[k] * w[k]).sum::<Vec3>() - at).norm_squared()
            };
            let distances = triangles.iter().map(distance).enumerate();
            let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1));
            let triangle = nearest.map(|n| n.0);
            let pinned = self.builder.pin(body, &[*node], Some(carried(triangle)));
            self.reporter.ok(ProblemKind::Build, place, pinned)?;
        }
        Some(())
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
        let first = source.materials.first();
        let own = first.map_or(0.0, |m| match m.membrane {
            MembraneLaw::StVk { young, .. } | MembraneLaw::NeoHookean { young, .. } => {
                young * m.thickness
            }
            MembraneLaw::Measured { c11, c22, .. } => 0.5 * (c11 + c22),
            MembraneLaw::Tabulated(rows) => rows[0][0] + rows[0][2],
            MembraneLaw::Springs { edge, .. } => edge,
        });
        let stiffness = plan.stiffness.unwrap_or(STITCH * own);
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
