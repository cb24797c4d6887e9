//! Scenes that a method does not support.

use stiction_bodies::{Model, rod::Twist};

/// A scene that a method cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("method `{method}` cannot run this scene: {reason}")]
pub struct Unsupported {
    /// The method.
    pub method: &'static str,
    /// Which body or obstacle, and why.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

impl Unsupported {
    /// Refuses particles: a method whose contact is between surfaces would let them pass.
    pub fn particles(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.bodies.iter().find(|b| b.is_particles()) {
            None => Ok(()),
            Some(body) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is made of particles, which it does not know",
                    body.name
                ),
                remedy: "choose method `admm`, or remove the body".to_owned(),
            }),
        }
    }

    /// Refuses rods.
    pub fn rods(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.rods().next() {
            None => Ok(()),
            Some((body, _)) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is made of rods, which it does not know",
                    body.name
                ),
                remedy:
                    "choose method `admm` or `newton`, with integrator `newton`, or remove the body"
                        .to_owned(),
            }),
        }
    }

    /// Refuses frames: the local problems of an integrator that splits elements have four nodes.
    pub fn frames(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.bodies.iter().find(|b| b.is_frames()) {
            None => Ok(()),
            Some(body) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is carried by frames, which its splitting integrator does not know",
                    body.name
                ),
                remedy: "choose integrator `newton`, or remove the body".to_owned(),
            }),
        }
    }

    /// Refuses rods whose twists are degrees of freedom: an alternating integrator holds frames.
    pub fn dynamic_twist(method: &'static str, model: &Model) -> Result<(), Self> {
        match model
            .rods()
            .find(|(_, rods)| rods.twist() == Twist::Dynamic)
        {
            None => Ok(()),
            Some((body, _)) => Err(Self {
                method,
                reason: format!(
                    "the twists of body `{}` are degrees of freedom, which its integrator `splitting` \
                     does not know",
                    body.name
                ),
                remedy:
                    "set `twist = \"quasi-static\"` for the body, or choose integrator `newton`"
                        .to_owned(),
            }),
        }
    }

    /// Refuses gravity that changes: a method with stages would need it at the time of each.
    pub fn changing_gravity(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.gravity_track {
            None => Ok(()),
            Some(_) => Err(Self {
                method,
                reason: "its gravity changes over time, which it does not know".to_owned(),
                remedy: "choose method `admm` or `newton`, or give one vector as `gravity`"
                    .to_owned(),
            }),
        }
    }

    /// Refuses wind that changes with time and place.
    pub fn gusts(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.air.and_then(|air| air.gust) {
            None => Ok(()),
            Some(_) => Err(Self {
                method,
                reason: "the wind has gusts, and it knows steady wind only".to_owned(),
                remedy: "choose method `admm` or `newton`, or remove `gust` from [air]".to_owned(),
            }),
        }
    }

    /// Refuses enclosed volumes: a method that minimises a potential would need their dense Hessian.
    pub fn volumes(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.volumes.first() {
            None => Ok(()),
            Some(volume) => Err(Self {
                method,
                reason: format!(
                    "volume `{}` is enclosed, which it does not know",
                    volume.name
                ),
                remedy: "choose method `smooth`, or remove the [[volume]] table".to_owned(),
            }),
        }
    }
}
