//! A path of straight runs and arcs: a rope laid out.

use stiction_math::Vec3;
use stiction_math::elementary::{cos, hypot, sin};

use super::{ShapeError, at_least_one, limited, require};
use crate::strands::Strands;

/// One part of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Move {
    /// Straight on.
    Run {
        /// Length [m].
        length: f64,
    },
    /// Round a circle in the xy plane, to the left for positive angles.
    Arc {
        /// Radius [m].
        radius: f64,
        /// Angle [rad]; more than a turn is a coil.
        angle: f64,
        /// Rise along z [m].
        rise: f64,
    },
}

/// One strand of segments of equal arc length, from the origin along x at first.
///
/// Nodes lie on the path, so that edges are chords of its arcs.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The parts, one after another.
    pub moves: Vec<Move>,
    /// Number of segments of the whole path.
    pub segments: u32,
}

const SHAPE: &str = "path";

impl Path {
    /// The number of points.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        at_least_one(SHAPE, "segments", self.segments)?;
        for part in &self.moves {
            let (value, good) = match *part {
                Move::Run { length } => (length, length > 0.0 && length.is_finite()),
                Move::Arc {
                    radius,
                    angle,
                    rise,
                } => {
                    let good = radius > 0.0 && radius.is_finite() && angle != 0.0;
                    (radius, good && angle.is_finite() && rise.is_finite())
                }
            };
            let rule = "positive lengths and radii, and angles other than 0";
            require(good, SHAPE, "moves", rule, value)?;
        }
        let rule = "at least one move";
        require(!self.moves.is_empty(), SHAPE, "moves", rule, 0.0)?;
        limited(SHAPE, u128::from(self.segments) + 1)
    }

    /// The strand.
    pub fn build(&self) -> Result<Strands, ShapeError> {
        self.node_count()?;
        let whole: f64 = self.moves.iter().map(Move::length).sum();
        let mut parts = self.moves.iter();
        let mut part = parts.next();
        let (mut at, mut heading, mut begun) = (Vec3::zeros(), 0.0, 0.0);
        let mut points = Vec::with_capacity(self.segments as usize + 1);
        for i in 0..=self.segments {
            let arc = whole * f64::from(i) / f64::from(self.segments);
            while let Some(p) = part {
                // The last part goes on to the end, whatever rounding says.
                if arc <= begun + p.length() || parts.len() == 0 {
                    break;
                }
                (at, heading) = p.go(&at, heading, p.length());
                begun += p.length();
                part = parts.next();
            }
            if let Some(p) = part {
                points.push(p.go(&at, heading, arc - begun).0);
            }
        }
        Ok(Strands::single(points))
    }
}

impl Move {
    fn length(&self) -> f64 {
        match *self {
            Self::Run { length } => length,
            Self::Arc {
                radius,
                angle,
                rise,
            } => hypot(radius * angle, rise),
        }
    }

    /// Position after the arc length `arc`, and the heading there [rad].
    fn go(&self, from: &Vec3, heading: f64, arc: f64) -> (Vec3, f64) {
        let ahead = |h: f64| Vec3::new(cos(h), sin(h), 0.0);
        match *self {
            Self::Run { .. } => (from + ahead(heading) * arc, heading),
            Self::Arc {
                radius,
                angle,
                rise,
            } => {
                let part = arc / self.length();
                let turned = heading + angle * part;
                let side = radius * angle.signum();
                let aside = |h: f64| Vec3::new(-sin(h), cos(h), 0.0) * side;
                let z = Vec3::z() * (rise * part);
                (from + aside(heading) - aside(turned) + z, turned)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::f64::consts::{FRAC_PI_2, PI, TAU};

    #[test]
    fn runs_and_arcs_follow_one_another() {
        let arc = |radius, angle, rise| Move::Arc {
            radius,
            angle,
            rise,
        };
        // Ahead, back in a half circle to the left, and a quarter to the right, climbing.
        let path = Path {
            moves: vec![
                Move::Run { length: 1.0 },
                arc(0.5, PI, 0.0),
                arc(1.0, -FRAC_PI_2, 0.3),
            ],
            segments: 4000,
        };
        let strand = path.build().unwrap();
        let end = strand.points[4000];
        assert!((end - Vec3::new(0.0, 2.0, 0.3)).norm() < 1e-12, "{end}");
        let whole = 1.0 + 0.5 * PI + FRAC_PI_2.hypot(0.3);
        assert!((strand.length(0) - whole).abs() < 1e-5);
        let edge = |i: usize| (strand.points[i + 1] - strand.points[i]).norm();
        assert!((0..4000).all(|i| (edge(i) / whole * 4000.0 - 1.0).abs() < 1e-3));
    }

    #[test]
    fn a_circle_closes() {
        let moves = vec![Move::Arc {
            radius: 0.2,
            angle: TAU,
            rise: 0.0,
        }];
        let ring = Path {
            moves,
            segments: 64,
        };
        let points = ring.build().unwrap().points;
        assert!((points[0] - points[64]).norm() < 1e-12);
        let centre = Vec3::new(0.0, 0.2, 0.0);
        assert!(
            points
                .iter()
                .all(|p| ((p - centre).norm() - 0.2).abs() < 1e-12)
        );
    }

    #[test]
    fn impossible_input_is_refused() {
        let bad = |moves, segments| Path { moves, segments }.build().is_err();
        assert!(bad(vec![], 3));
        assert!(bad(vec![Move::Run { length: 0.0 }], 3));
        assert!(bad(vec![Move::Run { length: 1.0 }], 0));
    }
}
