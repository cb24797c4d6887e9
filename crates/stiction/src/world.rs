//! A simulation that is addressed by names.

use std::path::Path;

use stiction_bodies::{State, obstacle::Obstacle};
use stiction_contact::{Certificate, ContactOutcome, ContactState};
use stiction_math::Vec3;
use stiction_scene::{LoadOptions, RunPlan, Scene, SceneSource, load};
use stiction_sim::{Controls, Memory, Simulation, StepReport};

use crate::{
    BodyMut, BodyRef, Error, ObstacleRef, Pose,
    body::{find, move_obstacle},
};

/// A scene that runs.
///
/// Steps have the scene's length. A step either succeeds as a whole or changes nothing.
pub struct World {
    simulation: Simulation,
    plan: RunPlan,
    certificate: Certificate,
    contacts: Vec<ContactOutcome>,
    /// The value of each probe.
    probes: Vec<f64>,
}

/// A contact of the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactReport<'a> {
    /// The names of the two bodies or obstacles.
    pub names: [&'a str; 2],
    /// Contact point at the start of the step [m].
    pub point: Vec3,
    /// Unit normal, from the second to the first.
    pub normal: Vec3,
    /// Distance beyond the contact thickness at the end of the step [m].
    pub gap: f64,
    /// Force along the normal on the first [N].
    pub normal_force: f64,
    /// Friction force on the first [N].
    pub tangential_force: Vec3,
    /// Tangential velocity of the first relative to the second [m/s].
    pub slip: Vec3,
    /// Open, stick or slide.
    pub state: ContactState,
}

impl ContactReport<'_> {
    /// The whole force on the first [N].
    pub fn force(&self) -> Vec3 {
        self.normal * self.normal_force + self.tangential_force
    }
}

/// A moment of a world to which it can go back.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Fingerprint of the scene, and the generation of its meshes.
    scene: (u64, u64),
    state: State,
    memory: Memory,
    controls: Controls,
    certificate: Certificate,
    contacts: Vec<ContactOutcome>,
    probes: Vec<f64>,
}

impl World {
    /// A built-in scene, by its name (`stiction scenes` lists them).
    pub fn builtin(name: &str) -> Result<Self, Error> {
        Self::load(
            &SceneSource::Builtin(name.to_owned()),
            &LoadOptions::default(),
        )
    }

    /// A scene file. Mesh files lie in its folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let source = SceneSource::File(path.as_ref().to_path_buf());
        Self::load(&source, &LoadOptions::default())
    }

    /// A scene given as text.
    pub fn from_text(text: impl Into<String>) -> Result<Self, Error> {
        let source = SceneSource::Text {
            name: "scene".to_owned(),
            text: text.into(),
        };
        Self::load(&source, &LoadOptions::default())
    }

    /// A scene with overrides, variants, meshes in memory, further methods and limits.
    pub fn load(source: &SceneSource, options: &LoadOptions) -> Result<Self, Error> {
        Self::new(load(source, options)?)
    }

    /// A loaded scene.
    pub fn new(scene: Scene) -> Result<Self, Error> {
        let (simulation, plan) = scene.simulation()?;
        let mut world = Self {
            simulation,
            certificate: Certificate::default(),
            contacts: Vec::new(),
            probes: Vec::new(),
            plan,
        };
        world.measure(None);
        Ok(world)
    }

    /// Takes one step.
    pub fn step(&mut self) -> Result<StepReport, Error> {
        let report = self.simulation.step()?;
        self.certificate = report.certificate;
        self.contacts = self.simulation.contacts();
        self.measure(Some(&report.certificate));
        Ok(report)
    }

    /// Takes steps until the time is `end` [s], to half a step. Returns the worst certificate of these steps.
    pub fn run_until(&mut self, end: f64) -> Result<Certificate, Error> {
        let mut worst: Option<Certificate> = None;
        while self.time() + 0.5 * self.time_step() < end {
            let report = self.step()?;
            worst = Some(match worst {
                Some(worst) => worst.then(&report.certificate),
                None => report.certificate,
            });
        }
        Ok(worst.unwrap_or(self.certificate))
    }

    /// Simulated time [s].
    pub fn time(&self) -> f64 {
        self.simulation.state().time
    }

    /// Length of a step [s].
    pub fn time_step(&self) -> f64 {
        self.simulation.time_step()
    }

    /// The certificate of the last step.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The names of the bodies, in the order of the scene.
    pub fn bodies(&self) -> impl Iterator<Item = &str> {
        self.simulation.model().bodies.iter().map(|b| &*b.name)
    }

    /// The names of the obstacles, in the order of the scene.
    pub fn obstacles(&self) -> impl Iterator<Item = &str> {
        self.simulation.model().obstacles.iter().map(|o| &*o.name)
    }

    /// A body, by its name.
    pub fn body(&self, name: &str) -> Result<BodyRef<'_>, Error> {
        let model = self.simulation.model();
        Ok(BodyRef {
            body: &model.bodies[find(model, name)?],
            state: self.simulation.state(),
        })
    }

    /// A body, by its name, to be changed.
    pub fn body_mut(&mut self, name: &str) -> Result<BodyMut<'_>, Error> {
        let index = find(self.simulation.model(), name)?;
        Ok(BodyMut {
            simulation: &mut self.simulation,
            index,
        })
    }

    /// An obstacle, by its name.
    pub fn obstacle(&self, name: &str) -> Result<ObstacleRef<'_>, Error> {
        let index = self.obstacle_index(name)?;
        Ok(ObstacleRef {
            obstacle: &self.simulation.model().obstacles[index],
            time: self.time(),
        })
    }

    /// Moves an obstacle to a pose by the end of the next step; it stays there until the next call.
    /// Contact follows the whole trajectory, and friction its velocity.
    pub fn move_obstacle(&mut self, name: &str, pose: &Pose) -> Result<(), Error> {
        let index = self.obstacle_index(name)?;
        move_obstacle(&mut self.simulation, index, pose)
    }

    /// Sets the uniform acceleration of everything [m/s²].
    pub fn set_gravity(&mut self, gravity: Vec3) {
        self.simulation.set_gravity(gravity);
    }

    /// The contacts of the last step.
    pub fn contacts(&self) -> impl Iterator<Item = ContactReport<'_>> {
        self.contacts.iter().map(|c| ContactReport {
            names: c.pair.map(|i| self.collider(i)),
            point: c.point,
            normal: c.normal,
            gap: c.gap,
            normal_force: c.normal_force,
            tangential_force: c.tangential_force,
            slip: c.slip,
            state: c.state,
        })
    }

    /// The force of all contacts with `other` on `body` in the last step [N]; names of bodies or
    /// obstacles.
    pub fn contact_force(&self, body: &str, other: &str) -> Result<Vec3, Error> {
        for name in [body, other] {
            if self.bodies().all(|b| b != name) {
                self.obstacle_index(name)?;
            }
        }
        let force = |c: ContactReport<'_>| match c.names {
            [a, b] if a == body && b == other => c.force(),
            [a, b] if a == other && b == body => -c.force(),
            _ => Vec3::zeros(),
        };
        Ok(self.contacts().map(force).sum())
    }

    /// The value of a probe of the scene after the last step.
    pub fn probe(&self, name: &str) -> Result<f64, Error> {
        let mut probes = self.plan.probes.iter().zip(&self.probes);
        let found = probes.find(|(p, _)| p.name == name);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| Error::Unknown {
                kind: "probe",
                name: name.to_owned(),
                known: self.plan.probes.iter().map(|p| p.name.clone()).collect(),
            })
    }

    /// This moment, with all that [`World::step`] and the calls between steps depend on.
    pub fn checkpoint(&self) -> Checkpoint {
        let model = self.simulation.model();
        Checkpoint {
            scene: (self.plan.hash, model.generation),
            state: self.simulation.state().clone(),
            memory: self.simulation.method().save(),
            controls: self.simulation.controls(),
            certificate: self.certificate,
            contacts: self.contacts.clone(),
            probes: self.probes.clone(),
        }
    }

    /// Goes back to a checkpoint. What follows has the same bits as it had before.
    ///
    /// # Errors
    /// If the checkpoint belongs to another scene, or meshes were refined since.
    pub fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let model = self.simulation.model();
        // Extensions of a scene may make another model of the same text.
        let same = checkpoint.scene == (self.plan.hash, model.generation)
            && model.check_state(&checkpoint.state).is_ok();
        if !same {
            return Err(Error::OtherScene);
        }
        self.simulation
            .restore(checkpoint.state.clone(), checkpoint.memory.clone());
        self.simulation.set_controls(&checkpoint.controls);
        self.certificate = checkpoint.certificate;
        self.contacts.clone_from(&checkpoint.contacts);
        self.probes.clone_from(&checkpoint.probes);
        Ok(())
    }

    /// The simulation behind the names.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The simulation behind the names, for observers, timers and cancellation.
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// The scene's settings, probes and checks.
    pub fn plan(&self) -> &RunPlan {
        &self.plan
    }

    fn measure(&mut self, certificate: Option<&Certificate>) {
        let (model, state) = (self.simulation.model(), self.simulation.state());
        let values = self.plan.probes.iter().enumerate().map(|(i, probe)| {
            let previous = self.probes.get(i).copied();
            let contacts = &self.contacts;
            let quantity = &probe.quantity;
            quantity.follow(model, state, contacts, certificate, previous)
        });
        self.probes = values.collect();
    }

    fn obstacle_index(&self, name: &str) -> Result<usize, Error> {
        let obstacles: &[Obstacle] = &self.simulation.model().obstacles;
        let found = obstacles.iter().position(|o| o.name == name);
        found.ok_or_else(|| Error::Unknown {
            kind: "obstacle",
            name: name.to_owned(),
            known: obstacles.iter().map(|o| o.name.clone()).collect(),
        })
    }

    /// The name of a collider: bodies come first, then obstacles.
    fn collider(&self, index: u32) -> &str {
        let model = self.simulation.model();
        let index = index as usize;
        match model.bodies.get(index) {
            Some(body) => &body.name,
            None => {
                let obstacle = model.obstacles.get(index - model.bodies.len());
                obstacle.map_or("", |o| &o.name)
            }
        }
    }
}
