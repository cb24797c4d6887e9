//! Values prescribed over time: keys, uniform acceleration, a sine, or a formula.

use std::f64::consts::TAU;
use stiction_math::elementary::sin;

use stiction_math::{Vec3, formula::Formula};

use crate::motion::{Keyed, Track};

/// A value prescribed over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule<T: Scheduled> {
    /// Interpolated between keys.
    Keys(Track<T>),
    /// v t + ½ a t².
    Uniform {
        /// v [1/s].
        velocity: T,
        /// a [1/s²].
        acceleration: T,
    },
    /// A sin(2π f t + φ).
    Sine {
        /// A.
        amplitude: T,
        /// f [1/s].
        frequency: f64,
        /// φ [rad].
        phase: f64,
    },
    /// Formulas in the time t [s], which is their only variable, times a factor.
    Formula {
        /// One per component.
        of: T::Formulas,
        /// The factor: from the unit of the text to that of the value.
        scale: f64,
    },
}

/// A value that formulas can give, component by component.
pub trait Scheduled: Keyed {
    /// One formula per component.
    type Formulas: Clone + std::fmt::Debug + PartialEq;

    /// The value at time `t` [s].
    fn of(formulas: &Self::Formulas, t: f64) -> Self;
}

impl Scheduled for f64 {
    type Formulas = Formula;

    fn of(formulas: &Formula, t: f64) -> Self {
        formulas.value(|_| t)
    }
}

impl Scheduled for Vec3 {
    type Formulas = [Formula; 3];

    fn of(formulas: &[Formula; 3], t: f64) -> Self {
        Self::from_fn(|i, _| formulas[i].value(|_| t))
    }
}

impl<T: Scheduled> Schedule<T> {
    /// The value at time `t` [s].
    pub fn at(&self, t: f64) -> T {
        match self {
            Self::Keys(track) => track.at(t),
            Self::Uniform {
                velocity,
                acceleration,
            } => *velocity * t + *acceleration * (0.5 * t * t),
            Self::Sine {
                amplitude,
                frequency,
                phase,
            } => *amplitude * sin(TAU * frequency * t + phase),
            Self::Formula { of, scale } => T::of(of, t) * *scale,
        }
    }
}

impl<T: Scheduled> From<Track<T>> for Schedule<T> {
    fn from(track: Track<T>) -> Self {
        Self::Keys(track)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn formula(text: &str) -> Formula {
        Formula::parse(text, |name| (name == "t").then_some(0)).unwrap()
    }

    #[test]
    fn a_formula_gives_what_the_closed_forms_give() {
        let closed: [Schedule<Vec3>; 2] = [
            Schedule::Uniform {
                velocity: Vec3::new(1.0, 0.0, -2.0),
                acceleration: Vec3::new(0.0, 4.0, 6.0),
            },
            Schedule::Sine {
                amplitude: Vec3::new(0.5, 0.0, 2.0),
                frequency: 3.0,
                phase: 0.25,
            },
        ];
        let texts = [
            ["t", "2 * t^2", "3*t^2 - 2*t"],
            ["sin(6*pi*t + 1/4) / 2", "0", "2*sin(6*pi*t + 0.25)"],
        ];
        for (closed, texts) in closed.iter().zip(texts) {
            let of = texts.map(formula);
            let written: Schedule<Vec3> = Schedule::Formula { of, scale: 1.0 };
            for k in 0..100 {
                let t = 0.013 * f64::from(k);
                let off: f64 = (closed.at(t) - written.at(t)).norm();
                assert!(off < 1e-13, "{texts:?} at {t}: {off:e}");
            }
        }
    }
}
