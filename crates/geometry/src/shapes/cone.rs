//! The surface of a cone.

use super::revolve::{Circle, cap, cap_nodes, graded, revolve};
use super::{MAX_NODES, ShapeError, at_least_one, at_least_three, limited, positive};
use crate::mesh::TriMesh;

/// The closed surface of a cone around the z axis, facing outwards: base at z = 0, apex at
/// z = height. Circles nearer to the apex have fewer vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// Radius of the base [m].
    pub radius: f64,
    /// Height of the apex over the base [m].
    pub height: f64,
    /// Number of cells around the base.
    pub around: u32,
    /// Number of rings of cells from the apex to the base.
    pub along: u32,
}

const SHAPE: &str = "cone";

impl Cone {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        positive(SHAPE, "height", self.height)?;
        at_least_three(SHAPE, "around", self.around)?;
        at_least_one(SHAPE, "along", self.along)?;
        // At least three vertices per circle, and half of `around` on average: a bound that
        // keeps the exact sum below short.
        let (around, along) = (u128::from(self.around), u128::from(self.along));
        let least = (3 * along).max(around * along / 2);
        if least > u128::from(MAX_NODES) {
            return limited(SHAPE, least);
        }
        let side: u128 = (1..=self.along)
            .map(|k| u128::from(graded(self.around, k, self.along)))
            .sum();
        limited(SHAPE, 1 + side + cap_nodes(self.around))
    }

    /// Builds the mesh. Vertex 0 is the apex.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let mut profile = vec![Circle::pole(self.height)];
        for k in 1..=self.along {
            let s = f64::from(k) / f64::from(self.along);
            profile.push(Circle {
                radius: s * self.radius,
                z: (1.0 - s) * self.height,
                count: graded(self.around, k, self.along),
            });
        }
        profile.extend(cap(self.radius, 0.0, self.around).into_iter().rev());
        Ok(revolve(&profile))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_second_order};
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn cones_are_closed_and_converge() {
        let (mut areas, mut volumes) = (Vec::new(), Vec::new());
        for (around, along) in [(3, 1), (5, 7), (7, 3), (12, 4), (24, 8), (48, 16), (96, 32)] {
            let shape = Cone {
                radius: 0.5,
                height: 1.2,
                around,
                along,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_closed_surface(&m, 0, &format!("cone {around}×{along}"));
            if around % 12 == 0 {
                areas.push(m.area());
                volumes.push(m.volume());
            }
        }
        assert_second_order(PI * 0.25 * 1.2 / 3.0, &volumes, "volume");
        let slant = 0.5_f64.hypot(1.2);
        assert_second_order(PI * 0.5 * slant + PI * 0.25, &areas, "area");
        let huge = Cone {
            radius: 1.0,
            height: 1.0,
            around: 3,
            along: u32::MAX,
        };
        assert!(matches!(huge.build(), Err(ShapeError::TooLarge { .. })));
    }
}
