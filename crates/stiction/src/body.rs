//! Bodies and obstacles by name: reading and setting them between steps.

use stiction_bodies::{
    Body as ModelBody, BodyLoad, Model, State,
    energy::{angular_momentum, elastic_energy, kinetic_energy, momentum},
    motion::{Motion, Pose, Track},
    obstacle,
    schedule::Schedule,
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{Simulation, probe::centroid};

use crate::Error;

/// A body as it is now.
#[derive(Clone, Copy, Debug)]
pub struct BodyRef<'a> {
    pub(crate) body: &'a ModelBody,
    pub(crate) state: &'a State,
}

impl<'a> BodyRef<'a> {
    /// The name.
    pub fn name(&self) -> &'a str {
        &self.body.name
    }

    /// Whether it is one rigid body.
    pub fn is_rigid(&self) -> bool {
        self.body.kind.as_rigid().is_some()
    }

    /// Total mass [kg].
    pub fn mass(&self) -> f64 {
        self.body.total_mass()
    }

    /// Centre of mass [m].
    pub fn position(&self) -> Vec3 {
        centroid(&[self.body], self.state)
    }

    /// Velocity of the centre of mass [m/s].
    pub fn velocity(&self) -> Vec3 {
        self.momentum() / self.mass()
    }

    /// Pose of a rigid body: the rotation from its rest orientation, and the centre of mass [m].
    pub fn pose(&self) -> Result<Pose, Error> {
        let rigid = self.body.kind.as_rigid().ok_or_else(|| self.not_rigid())?;
        Ok(Pose {
            rotation: self.state.rotations[rigid.index],
            translation: self.state.x[self.body.blocks.start],
        })
    }

    /// Angular velocity of a rigid body, world frame [rad/s].
    pub fn angular_velocity(&self) -> Result<Vec3, Error> {
        match self.is_rigid() {
            true => Ok(self.state.v[self.body.blocks.start + 1]),
            false => Err(self.not_rigid()),
        }
    }

    /// Positions of the nodes [m]; empty for a rigid body.
    pub fn node_positions(&self) -> Vec<Vec3> {
        self.nodes(&self.state.x)
    }

    /// Velocities of the nodes [m/s]; empty for a rigid body.
    pub fn node_velocities(&self) -> Vec<Vec3> {
        self.nodes(&self.state.v)
    }

    /// Positions of the vertices of its surface [m], which are those of [`BodyRef::triangles`].
    pub fn surface_positions(&self) -> Vec<Vec3> {
        let mut out = Vec::new();
        self.body.vertices(self.state, &mut out);
        out
    }

    /// Triangles of its surface, counter-clockwise from outside; empty for rods and particles.
    pub fn triangles(&self) -> &'a [[u32; 3]] {
        &self.body.surface.triangles
    }

    /// Linear momentum [kg·m/s].
    pub fn momentum(&self) -> Vec3 {
        momentum(self.body, self.state)
    }

    /// Angular momentum about the world's origin [kg·m²/s].
    pub fn angular_momentum(&self) -> Vec3 {
        angular_momentum(self.body, self.state)
    }

    /// Kinetic energy [J].
    pub fn kinetic_energy(&self) -> f64 {
        kinetic_energy(self.body, self.state)
    }

    /// Elastic energy [J].
    pub fn elastic_energy(&self) -> f64 {
        elastic_energy(self.body, self.state)
    }

    fn nodes(&self, column: &[Vec3]) -> Vec<Vec3> {
        let block = |i| self.body.node_block(i).map(|b| column[b]);
        (0..self.body.node_count()).filter_map(block).collect()
    }

    fn not_rigid(&self) -> Error {
        kind(self.body, "the call needs a rigid body")
    }
}

/// A body that may be changed between steps.
pub struct BodyMut<'a> {
    pub(crate) simulation: &'a mut Simulation,
    /// The body's place in the model.
    pub(crate) index: usize,
}

impl BodyMut<'_> {
    /// The body as it is now.
    pub fn get(&self) -> BodyRef<'_> {
        BodyRef {
            body: self.body(),
            state: self.simulation.state(),
        }
    }

    /// Moves a rigid body to a pose without a velocity in between. Contacts are detected anew there.
    pub fn set_pose(&mut self, pose: &Pose) -> Result<(), Error> {
        check_pose(pose, &self.body().name)?;
        let (block, index) = self.rigid()?;
        let state = self.simulation.state_mut();
        state.x[block] = pose.translation;
        state.rotations[index] = pose.rotation;
        Ok(())
    }

    /// Sets the velocity [m/s] and the angular velocity [rad/s] of a rigid body.
    pub fn set_velocity(&mut self, velocity: Vec3, angular: Vec3) -> Result<(), Error> {
        self.finite("the velocity", velocity.iter().chain(angular.iter()))?;
        let (block, _) = self.rigid()?;
        self.simulation.state_mut().v[block] = velocity;
        self.simulation.state_mut().v[block + 1] = angular;
        Ok(())
    }

    /// Sets the positions of all nodes [m].
    pub fn set_node_positions(&mut self, positions: &[Vec3]) -> Result<(), Error> {
        self.finite("a position", positions.iter().flat_map(|p| p.iter()))?;
        let blocks = self.node_blocks(positions.len())?;
        let state = self.simulation.state_mut();
        for (block, x) in blocks.into_iter().zip(positions) {
            state.x[block] = *x;
        }
        Ok(())
    }

    /// Sets the velocities of all nodes [m/s].
    pub fn set_node_velocities(&mut self, velocities: &[Vec3]) -> Result<(), Error> {
        self.finite("a velocity", velocities.iter().flat_map(|p| p.iter()))?;
        let blocks = self.node_blocks(velocities.len())?;
        let state = self.simulation.state_mut();
        for (block, v) in blocks.into_iter().zip(velocities) {
            state.v[block] = *v;
        }
        Ok(())
    }

    /// Applies a force [N] at the centre of mass from now on, in place of the scene's `force`; it is
    /// spread over deformable bodies like their mass. Zero ends it.
    pub fn set_force(&mut self, force: Vec3) -> Result<(), Error> {
        self.finite("the force", force.iter())?;
        self.load(|load| load.force = constant(force));
        Ok(())
    }

    /// Applies a torque [N·m] to a rigid body from now on, world frame, in place of the scene's
    /// `torque`. Zero ends it.
    pub fn set_torque(&mut self, torque: Vec3) -> Result<(), Error> {
        self.finite("the torque", torque.iter())?;
        self.rigid()?;
        self.load(|load| load.torque = constant(torque));
        Ok(())
    }

    /// Applies a force [N] at a point of the world [m] to a rigid body from now on: the force at the
    /// centre of mass and its torque there.
    pub fn set_force_at(&mut self, force: Vec3, point: Vec3) -> Result<(), Error> {
        let lever = point - self.get().pose()?.translation;
        self.set_torque(lever.cross(&force))?;
        self.set_force(force)
    }

    /// Moves what is pinned of the body to a pose by the end of the next step: of a rigid body its
    /// centre of mass and orientation, of other bodies the frame in which the pinned nodes stand as at
    /// the start. It stays there until the next call.
    pub fn move_to(&mut self, pose: &Pose) -> Result<(), Error> {
        check_pose(pose, &self.body().name)?;
        let model = self.simulation.model();
        let body = &model.bodies[self.index];
        let Some(pin) = model.pins.iter().find(|p| body.blocks.contains(&p.block)) else {
            return Err(kind(body, "the call needs a pinned body"));
        };
        let (time, h) = (self.simulation.state().time, self.simulation.time_step());
        let spin = model.pins.iter().find_map(|p| match &p.spin {
            Some(s) if body.blocks.contains(&p.block) => Some(s.start),
            _ => None,
        });
        // For a rigid body the motion takes the pose at the start to the requested pose.
        let about = pin.start;
        let to = match spin {
            Some(start) => {
                let rotation = pose.rotation * start.inverse();
                Pose {
                    rotation,
                    translation: pose.translation - rotation * about,
                }
            }
            None => *pose,
        };
        let now = pin
            .motion
            .map_or_else(Pose::default, |m| model.motions[m].pose(time));
        let motion = Motion::between(time, &now, time + h, &to, about);
        self.simulation.move_pins(self.index, motion);
        Ok(())
    }

    fn body(&self) -> &ModelBody {
        &self.simulation.model().bodies[self.index]
    }

    /// The first block of a rigid body, and its place among the orientations.
    fn rigid(&self) -> Result<(usize, usize), Error> {
        let body = self.body();
        match body.kind.as_rigid() {
            Some(rigid) => Ok((body.blocks.start, rigid.index)),
            None => Err(kind(body, "the call needs a rigid body")),
        }
    }

    fn node_blocks(&self, got: usize) -> Result<Vec<usize>, Error> {
        let body = self.body();
        let expected = body.node_count();
        match expected == got {
            true => Ok((0..got).filter_map(|i| body.node_block(i)).collect()),
            false => Err(Error::Length {
                body: body.name.clone(),
                expected,
                got,
            }),
        }
    }

    fn load(&mut self, change: impl FnOnce(&mut BodyLoad)) {
        let mut load = self.body().load.as_deref().cloned().unwrap_or_default();
        change(&mut load);
        self.simulation.set_load(self.index, load);
    }

    fn finite<'b>(
        &self,
        what: &'static str,
        mut values: impl Iterator<Item = &'b f64>,
    ) -> Result<(), Error> {
        finite(what, &self.body().name, values.all(|v| v.is_finite()))
    }
}

/// An obstacle as it is now.
#[derive(Clone, Copy, Debug)]
pub struct ObstacleRef<'a> {
    pub(crate) obstacle: &'a obstacle::Obstacle,
    pub(crate) time: f64,
}

impl<'a> ObstacleRef<'a> {
    /// The name.
    pub fn name(&self) -> &'a str {
        &self.obstacle.name
    }

    /// Pose of its frame.
    pub fn pose(&self) -> Pose {
        self.obstacle.pose(self.time)
    }
}

/// Lets an obstacle move to a pose by the end of the next step.
pub(crate) fn move_obstacle(
    simulation: &mut Simulation,
    index: usize,
    pose: &Pose,
) -> Result<(), Error> {
    let (time, h) = (simulation.state().time, simulation.time_step());
    let own = &simulation.model().obstacles[index];
    check_pose(pose, &own.name)?;
    let start = &own.placement;
    // The motion that takes the frame from where it starts to a pose.
    let relative = |pose: &Pose| {
        let rotation: Quat = pose.rotation * start.rotation.inverse();
        Pose {
            rotation,
            translation: pose.translation - rotation * start.translation,
        }
    };
    let (from, to) = (relative(&own.pose(time)), relative(pose));
    let motion = Motion::between(time, &from, time + h, &to, start.translation);
    simulation.move_obstacle(index, motion);
    Ok(())
}

/// The place of a body in the model.
pub(crate) fn find(model: &Model, name: &str) -> Result<usize, Error> {
    let bodies = model.bodies.iter();
    let found = bodies.clone().position(|b| b.name == name);
    found.ok_or_else(|| Error::Unknown {
        kind: "body",
        name: name.to_owned(),
        known: bodies.map(|b| b.name.clone()).collect(),
    })
}

fn constant(value: Vec3) -> Option<Schedule<Vec3>> {
    (value != Vec3::zeros()).then(|| Track::ramp(0.0, value, 0.0, value).into())
}

fn kind(body: &ModelBody, needs: &'static str) -> Error {
    Error::Kind {
        body: body.name.clone(),
        is: body.kind.name().to_owned(),
        needs,
    }
}

/// Largest deviation of the length of a quaternion from 1: the rounding of many products of rotations.
const ROTATION: f64 = 1e-6;

fn check_pose(pose: &Pose, name: &str) -> Result<(), Error> {
    let mut values = pose.translation.iter().chain(pose.rotation.coords.iter());
    finite("the pose", name, values.all(|v| v.is_finite()))?;
    let length = pose.rotation.coords.norm();
    match (length - 1.0).abs() <= ROTATION {
        true => Ok(()),
        false => Err(Error::Rotation {
            name: name.to_owned(),
            length,
        }),
    }
}

fn finite(what: &'static str, name: &str, finite: bool) -> Result<(), Error> {
    match finite {
        true => Ok(()),
        false => Err(Error::NotFinite {
            what,
            name: name.to_owned(),
        }),
    }
}
