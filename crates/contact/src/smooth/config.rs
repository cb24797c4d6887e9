//! Settings of smooth contact.

use stiction_geometry::implicit::SampleConfig;

use super::law::{Penalty, Stribeck};

/// Settings of smooth contact and friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothConfig {
    /// The thickness tolerance δ [m]: forces start at this distance. `None` takes the contact
    /// thickness of each pair of colliders.
    pub delta: Option<f64>,
    /// The contact stiffness κ at the start [N/m]; [`SmoothContacts::raise_stiffness`] raises it.
    ///
    /// [`SmoothContacts::raise_stiffness`]: super::SmoothContacts::raise_stiffness
    pub stiffness: f64,
    /// Law of the normal force.
    pub penalty: Penalty,
    /// The speed ε below which friction is smoothed [m/s]: sticking contacts creep at up to ε.
    pub epsilon: f64,
    /// When the normal force and the sliding basis of friction are taken.
    pub friction: FrictionTime,
    /// Friction beyond Coulomb's law.
    pub stribeck: Stribeck,
    /// The radius to which edges of boxes, cylinders and cones are rounded [m].
    pub rounding: f64,
    /// Sampling of the faces of meshes; `reach` is set to δ.
    pub sampling: SampleConfig,
    /// The smallest margin of [`SmoothContacts::find`] [m]: displacement before the
    /// candidates are stale.
    ///
    /// [`SmoothContacts::find`]: super::SmoothContacts::find
    pub margin: f64,
}

/// When the normal force and the sliding basis of friction are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrictionTime {
    /// At the positions where the force is evaluated: fully implicit [larionov, Eq. 9].
    Implicit,
    /// At the positions of the last [`SmoothContacts::lag`], as in [li2020]; the method repeats the
    /// solve and the lag this many times in all.
    ///
    /// [`SmoothContacts::lag`]: super::SmoothContacts::lag
    Lagged {
        /// Solves per step, at least one.
        iterations: usize,
    },
}

impl Default for SmoothConfig {
    /// Implicit friction smoothed below 0.1 mm/s, cubic penalty.
    fn default() -> Self {
        Self {
            delta: None,
            stiffness: 1e3,
            penalty: Penalty::Cubic,
            epsilon: 1e-4,
            friction: FrictionTime::Implicit,
            stribeck: Stribeck::default(),
            rounding: 0.0,
            sampling: SampleConfig::default(),
            margin: 0.0,
        }
    }
}

/// Reason for which smooth contact cannot be set up or evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SmoothError {
    /// A setting is out of its range.
    #[error("`{name}` is {value}: it must be {rule}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The condition that it violates.
        rule: &'static str,
    },
    /// A collider's numbers are wrong.
    #[error("collider {collider}: {reason}")]
    Collider {
        /// Its place in the list.
        collider: usize,
        /// Its defect.
        reason: String,
    },
    /// A contact law that smooth contact does not support.
    #[error("materials {first} and {second} have {what}, which smooth contact does not support")]
    Law {
        /// A material.
        first: u32,
        /// Another, or the same.
        second: u32,
        /// `"cohesion"` or `"compliance"`.
        what: &'static str,
    },
    /// A column has the wrong length.
    #[error("`{column}` has {found} entries instead of {expected}")]
    Length {
        /// The column's name.
        column: &'static str,
        /// Expected number of entries.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// A position or a velocity is not finite.
    #[error("a position or velocity is not finite")]
    NotFinite,
    /// The force of a barrier was evaluated at a point that is not outside.
    #[error(
        "vertex {vertex} of collider {collider} is at {gap:e} m: a barrier has no force there; shorten the step until `is_feasible`"
    )]
    Crossed {
        /// The collider whose vertex it is, by its place in the list.
        collider: u32,
        /// The vertex, in the collider's numbering.
        vertex: u32,
        /// The potential there [m].
        gap: f64,
    },
}

impl SmoothConfig {
    /// Whether the numbers make sense.
    pub fn check(&self) -> Result<(), SmoothError> {
        let positive = [
            ("delta", self.delta.unwrap_or(1.0)),
            ("stiffness", self.stiffness),
            ("epsilon", self.epsilon),
            ("stribeck.speed", self.stribeck.speed),
            ("sampling.radius", self.sampling.radius),
        ];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                let rule = "positive and finite";
                return Err(SmoothError::Setting { name, value, rule });
            }
        }
        let not_negative = [
            ("rounding", self.rounding),
            ("margin", self.margin),
            ("stribeck.viscous", self.stribeck.viscous),
        ];
        for (name, value) in not_negative {
            if !(value >= 0.0 && value.is_finite()) {
                let rule = "zero or more and finite";
                return Err(SmoothError::Setting { name, value, rule });
            }
        }
        let spacing = self.sampling.spacing;
        if spacing.is_nan() || spacing <= 0.0 {
            let (name, value, rule) = ("sampling.spacing", spacing, "positive");
            return Err(SmoothError::Setting { name, value, rule });
        }
        if let FrictionTime::Lagged { iterations: 0 } = self.friction {
            let (name, value, rule) = ("friction.iterations", 0.0, "one or more");
            return Err(SmoothError::Setting { name, value, rule });
        }
        Ok(())
    }
}
