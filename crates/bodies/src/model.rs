//! The data that are constant during a step: bodies, pins, attachments, obstacles and surroundings.

use std::{ops::Range, sync::Arc};

use stiction_geometry::{TetMesh, TriMesh};
use stiction_math::{BlockPattern, Quat, Vec2, Vec3, reduce};

use crate::{
    attachment::Attachment,
    drag::{Air, Drag},
    kind::OpenKind,
    mass::Mass,
    material::{Damping, MassKind, ShellMaterial},
    motion::Motion,
    obstacle::Obstacle,
    rigid::Rigid,
    rod::Rods,
    schedule::Schedule,
    state::{State, StateMisfit},
    stencil::Stencil,
    surface::{Skin, Surface},
    term::Term,
    volume::Volume,
};

/// Bodies, pins, attachments, obstacles and the space around them.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// In the order of the scene; body b owns the 3-blocks `bodies[b].blocks`.
    pub bodies: Vec<Body>,
    /// The uniform acceleration of all bodies [m/s²].
    pub gravity: Vec3,
    /// The uniform acceleration over time, if it changes; `gravity` is then its initial value.
    pub gravity_track: Option<Schedule<Vec3>>,
    /// The air; none means no drag.
    pub air: Option<Air>,
    /// Prescribed motions that pins refer to.
    pub motions: Vec<Motion>,
    /// Pinned blocks, sorted by block, at most one pin per block.
    pub pins: Vec<Pin>,
    /// Prescribed frames at the ends of rods with quasi-static twist.
    pub held_frames: Vec<HeldFrame>,
    /// Springs between bodies, within bodies and to the world.
    pub attachments: Vec<Attachment>,
    /// Enclosed volumes that resist volume changes.
    pub volumes: Vec<Volume>,
    /// Kinematic obstacles.
    pub obstacles: Vec<Obstacle>,
    /// Material points that probes track.
    pub points: Vec<Stencil>,
    /// Whether contact is enabled. Without contact, bodies and obstacles pass through one another.
    pub contact: bool,
    /// Number of topology changes so far. Cached data of a model (matrices, factors, detectors) are
    /// valid for one generation.
    pub generation: u64,
}

/// One body: a contiguous range of 3-blocks.
#[derive(Clone, Debug)]
pub struct Body {
    /// The name given in the scene.
    pub name: String,
    /// The material's name, looked up in the friction table.
    pub material: String,
    /// The 3-blocks it owns.
    pub blocks: Range<usize>,
    /// Its kind.
    pub kind: BodyKind,
    /// The surface for contact and output.
    pub surface: Surface,
    /// Texture coordinates of the corners of the surface's triangles [1], if it has any.
    pub texture: Option<Arc<[[Vec2; 3]]>>,
    /// The radius of each particle, or of the rods [m]; zero for all other bodies.
    pub radius: f64,
    /// Offset of the contact surface from the surface, in addition to the contact thickness [m].
    pub padding: f64,
    /// Of rods: the body they are rooted in.
    pub rooted: Option<Rooted>,
    /// Tetrahedra of a solid (also of an embedding lattice) in the body's own numbering.
    pub tets: Vec<[u32; 4]>,
    /// Inner damping.
    pub damping: Damping,
    /// Air drag on the surface.
    pub drag: Option<Drag>,
    /// An acceleration of this body alone, in addition to gravity [m/s²].
    pub acceleration: Vec3,
    /// Additional external loads.
    pub load: Option<Box<BodyLoad>>,
}

/// External loads on one body; each is absent if it is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyLoad {
    /// An acceleration that changes over time [m/s²].
    pub acceleration: Option<Schedule<Vec3>>,
    /// A force on the body as a whole, distributed in proportion to mass [N].
    pub force: Option<Schedule<Vec3>>,
    /// A torque about the centre of mass of a rigid body [N·m], in the world frame.
    pub torque: Option<Schedule<Vec3>>,
}

/// The body that rods are rooted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rooted {
    /// The body.
    pub body: usize,
    /// Number of first segments of every rod without contact with it.
    pub bare: usize,
}

/// Kind of a body.
#[derive(Clone, Debug)]
pub enum BodyKind {
    /// Nodes held together by elastic terms.
    Deformable(Deformable),
    /// Two blocks: linear and angular.
    Rigid(Rigid),
    /// Rods: per rod the blocks of its nodes, then those of its twists.
    Rods(Box<Rods>),
    /// A kind defined elsewhere.
    Open(Box<dyn OpenKind>),
}

/// A shell or solid: nodes, elastic terms and a mass matrix on one block pattern.
#[derive(Clone, Debug)]
pub struct Deformable {
    /// The elastic terms; their sum is the body's energy.
    pub terms: Vec<Arc<dyn Term>>,
    /// The mass matrix.
    pub mass: Mass,
    /// The sparsity pattern of the body's matrix, in its own numbering.
    pub pattern: Arc<BlockPattern>,
    /// Rest positions of the nodes [m].
    pub rest: Vec<Vec3>,
    /// Of a shell: the source of its terms, so that its mesh can change.
    pub source: Option<Arc<ShellSource>>,
}

/// The source of the terms and the mass of a shell, in addition to its rest mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellSource {
    /// Its materials. Damping and rest angles are those of the first.
    pub materials: Arc<[ShellMaterial]>,
    /// The material of each triangle.
    pub patch: Vec<u32>,
    /// The direction of the warp, projected into each triangle.
    pub warp: Vec3,
    /// Distribution of mass over nodes.
    pub mass: MassKind,
    /// The flat pattern that the shell was cut from: corners of every triangle in material coordinates,
    /// along warp and weft [m]; none if its rest mesh is its rest shape.
    pub pattern: Option<Arc<[[Vec2; 3]]>>,
}

/// A 3-block whose motion is prescribed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// The block.
    pub block: usize,
    /// The motion in `Model::motions`; none fixes the block at its initial position.
    pub motion: Option<usize>,
    /// Initial position of the block [m]; unused for the angular block of a rigid body.
    pub start: Vec3,
    /// For the angular block of a rigid body: the prescribed orientation.
    pub spin: Option<Spin>,
    /// For the twist of the first or last edge of a rod: the prescribed frame.
    pub clamp: Option<Clamp>,
}

/// A prescribed frame that has no block.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldFrame {
    /// The motion in `Model::motions`; none fixes the frame in its initial orientation.
    pub motion: Option<usize>,
    /// The prescribed frame.
    pub clamp: Clamp,
}

/// The prescribed frame at an end of a rod.
#[derive(Clone, Debug, PartialEq)]
pub struct Clamp {
    /// The body.
    pub body: usize,
    /// The edge, in the body's numbering.
    pub edge: usize,
    /// The initial material director m₁.
    pub director: Vec3,
}

/// The prescribed orientation of a rigid body.
#[derive(Clone, Debug, PartialEq)]
pub struct Spin {
    /// The body's index in `State::rotations`.
    pub rigid: usize,
    /// The initial orientation.
    pub start: Quat,
}

impl Model {
    /// The uniform acceleration of all bodies at time `t` [m/s²].
    pub fn gravity_at(&self, t: f64) -> Vec3 {
        let track = self.gravity_track.as_ref();
        track.map_or(self.gravity, |track| track.at(t))
    }

    /// Whether a step without contact is linear in the velocities: rigid bodies and particles on
    /// which only prescribed forces act. Its first linearisation is then exact.
    pub fn is_linear(&self) -> bool {
        let linear = |body: &Body| {
            let free = match &body.kind {
                BodyKind::Rigid(_) => true,
                BodyKind::Deformable(d) => d.terms.is_empty(),
                BodyKind::Rods(_) | BodyKind::Open(_) => false,
            };
            free && body.drag.is_none()
        };
        self.attachments.is_empty() && self.volumes.is_empty() && self.bodies.iter().all(linear)
    }

    /// Number of 3-blocks.
    pub fn blocks(&self) -> usize {
        self.bodies.last().map_or(0, |b| b.blocks.end)
    }

    /// Number of scalar degrees of freedom.
    pub fn dofs(&self) -> usize {
        3 * self.blocks()
    }

    /// The body that owns `block`.
    pub fn body_of(&self, block: usize) -> Option<&Body> {
        let at = self.bodies.partition_point(|b| b.blocks.end <= block);
        self.bodies.get(at).filter(|b| b.blocks.contains(&block))
    }

    /// The body called `name`.
    pub fn body(&self, name: &str) -> Option<&Body> {
        self.bodies.iter().find(|b| b.name == name)
    }

    /// The rigid bodies, in the order of `State::rotations`.
    pub fn rigids(&self) -> impl Iterator<Item = (&Body, &Rigid)> {
        self.bodies
            .iter()
            .filter_map(|b| Some((b, b.kind.as_rigid()?)))
    }

    /// Refuses a state of another model.
    pub fn check_state(&self, state: &State) -> Result<(), StateMisfit> {
        let edges = self.rods().map(|(_, rods)| rods.edges().end).max();
        let (blocks, edges) = (self.blocks(), edges.unwrap_or(0));
        let columns = [
            ("positions", blocks, state.x.len()),
            ("velocities", blocks, state.v.len()),
            ("orientations", self.rigids().count(), state.rotations.len()),
            ("frames of rods", edges, state.frames.director.len()),
            ("frames of rods", edges, state.frames.twist.len()),
        ];
        let wrong = columns
            .into_iter()
            .find(|(_, expected, got)| expected != got);
        wrong.map_or(Ok(()), |(what, expected, got)| {
            Err(StateMisfit {
                what,
                expected,
                got,
            })
        })
    }

    /// The bodies made of rods, in the order of `State::frames`.
    pub fn rods(&self) -> impl Iterator<Item = (&Body, &Rods)> {
        self.bodies
            .iter()
            .filter_map(|b| Some((b, b.kind.as_rods()?)))
    }
}

impl Body {
    /// Rest positions of the nodes [m]; empty for a rigid body.
    pub fn rest(&self) -> &[Vec3] {
        self.kind.mechanics().rest()
    }

    /// Whether it is a particle body.
    pub fn is_particles(&self) -> bool {
        self.radius > 0.0 && self.kind.as_deformable().is_some()
    }

    /// Whether it is carried by affine frames, four nodes to a frame.
    pub fn is_frames(&self) -> bool {
        self.kind.as_deformable().is_some() && matches!(self.surface.skin, Skin::Blended { .. })
    }

    /// Computes the position of every vertex of the surface in `state` [m] into `out` (cleared first); those of bodies whose
    /// blocks exist for one step are their points.
    pub fn vertices(&self, state: &State, out: &mut Vec<Vec3>) {
        match self.kind.per_step() {
            Some((points, place)) if self.blocks.is_empty() => {
                out.clear();
                if let Some(columns) = state.columns.get(place) {
                    points.for_each_point(columns, &mut |x, _, _| out.push(*x));
                }
            }
            _ => self.surface.positions(&state.x, &state.rotations, out),
        }
    }

    /// Computes the velocities of the same vertices [m/s] into `out` (cleared first).
    pub fn vertex_velocities(&self, state: &State, out: &mut Vec<Vec3>) {
        match self.kind.per_step() {
            Some((points, place)) if self.blocks.is_empty() => {
                out.clear();
                if let Some(columns) = state.columns.get(place) {
                    points.for_each_point(columns, &mut |_, v, _| out.push(*v));
                }
            }
            _ => self.surface.velocities(state, out),
        }
    }

    /// Its surface in `state`.
    pub fn surface_in(&self, state: &State) -> TriMesh {
        let mut surface = TriMesh {
            positions: Vec::new(),
            triangles: self.surface.triangles.clone(),
        };
        self.vertices(state, &mut surface.positions);
        surface
    }

    /// The nodes on the rim of a shell or on the surface of a solid, ascending; none of bodies whose nodes are
    /// no vertices.
    pub fn boundary_nodes(&self) -> Vec<u32> {
        let positions = self.rest().to_vec();
        if self.is_frames() {
            return Vec::new();
        }
        if self.tets.is_empty() {
            let triangles = self.surface.triangles.clone();
            let mesh = TriMesh {
                positions,
                triangles,
            };
            return mesh.boundary_vertices();
        }
        let tets = self.tets.clone();
        TetMesh { positions, tets }.surface().1
    }

    /// Number of nodes: none for a rigid body.
    pub fn node_count(&self) -> usize {
        self.rest().len()
    }

    /// The block of node `i`, if there is such a node.
    pub fn node_block(&self, i: usize) -> Option<usize> {
        match (self.kind.as_rods(), &self.surface.skin) {
            (Some(_), Skin::Nodes(blocks)) => blocks.get(i).map(|&b| b as usize),
            _ => (i < self.node_count()).then(|| self.blocks.start + i),
        }
    }

    /// Rest positions of the blocks [m]: the nodes; the origin for the blocks of a rigid body and
    /// for the twists of rods.
    pub fn block_positions(&self) -> Vec<Vec3> {
        self.kind.mechanics().block_positions()
    }

    /// Mass of each block [kg]; the mean inertia [kg·m²] for the angular block of a rigid body, the
    /// mean of its twists for a block of twists.
    pub fn block_masses(&self) -> Vec<f64> {
        self.kind.mechanics().block_masses()
    }

    /// The largest speed that impulses [N·s, N·m·s], one per block of the body, would give to single
    /// blocks by their own lumped mass or inertia [m/s]; at the radius of gyration for the angular block
    /// of a rigid body, whose orientation is in `rotations`. Not a number if one impulse is not.
    pub fn largest_speed(&self, impulses: &[Vec3], rotations: &[Quat]) -> f64 {
        let of = |mass: &[f64]| {
            reduce::max_ordered(impulses.len(), |i| impulses[i].norm() / mass[i]).max(0.0)
        };
        match &self.kind {
            BodyKind::Deformable(d) => of(d.mass.lumped()),
            BodyKind::Open(_) => of(&self.block_masses()),
            BodyKind::Rods(r) => {
                let speed = |i: usize| impulses[i].component_div(&r.mass()[i]).norm();
                reduce::max_ordered(impulses.len(), speed).max(0.0)
            }
            BodyKind::Rigid(r) => {
                let inertia = r.world_inertia(&rotations[r.index]);
                let radius = (inertia.trace() / (3.0 * r.mass)).sqrt();
                let spin = inertia.try_inverse().map(|inverse| inverse * impulses[1]);
                let spin = spin.map_or(f64::INFINITY, |spin| spin.norm() * radius);
                reduce::max_ordered(2, |i| [impulses[0].norm() / r.mass, spin][i])
            }
        }
    }

    /// The acceleration of this body alone at time `t` [s], external forces included [m/s²].
    pub fn acceleration_at(&self, t: f64) -> Vec3 {
        let mut a = self.acceleration;
        if let Some(load) = &self.load {
            if let Some(changing) = &load.acceleration {
                a += changing.at(t);
            }
            if let Some(force) = &load.force {
                a += force.at(t) / self.total_mass();
            }
        }
        a
    }

    /// The torque on a rigid body about its centre of mass at time `t` [s], in the world frame [N·m].
    pub fn torque_at(&self, t: f64) -> Option<Vec3> {
        let torque = self.load.as_ref()?.torque.as_ref()?;
        Some(torque.at(t))
    }

    /// The total mass [kg].
    pub fn total_mass(&self) -> f64 {
        self.kind.mechanics().total_mass()
    }
}
