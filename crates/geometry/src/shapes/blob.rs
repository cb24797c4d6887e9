//! A blob: a ball with lobes, for heaps of bodies of which no two are alike.

use stiction_math::Vec3;
use stiction_math::elementary::exp;

use super::{BallSurface, ShapeError, positive, require};
use crate::{mesh::TriMesh, random::SplitMix};

/// A closed surface round the origin, facing outwards: a sphere pulled out along six seeded
/// directions d by factors 1 + bumps · s exp(3 (d·x̂ − 1)), 0.3 ≤ s ≤ 1. Every ray from the origin
/// meets it once, so that it never crosses itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blob {
    /// Radius of the sphere that it starts from [m].
    pub radius: f64,
    /// Height of the lobes as a fraction of the radius, from 0 to 2.
    pub bumps: f64,
    /// Chooses the lobes.
    pub seed: u64,
    /// Number of parts into which each edge of the icosahedron is cut: 20 · frequency² triangles.
    pub frequency: u32,
}

const SHAPE: &str = "blob";
const LOBES: usize = 6;

impl Blob {
    fn sphere(&self) -> BallSurface {
        BallSurface {
            radius: 1.0,
            frequency: self.frequency,
        }
    }

    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        let good = (0.0..=2.0).contains(&self.bumps);
        require(good, SHAPE, "bumps", "from 0 to 2", self.bumps)?;
        self.sphere().node_count()
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let mut random = SplitMix::new(self.seed);
        let lobes: [(Vec3, f64); LOBES] = std::array::from_fn(|_| {
            let direction = direction(&mut random);
            (direction, 0.3 + 0.7 * random.uniform())
        });
        let mut mesh = self.sphere().build()?;
        for x in &mut mesh.positions {
            let lobe = |(d, s): &(Vec3, f64)| s * exp(3.0 * (d.dot(x) - 1.0));
            *x *= self.radius * (1.0 + self.bumps * lobes.iter().map(lobe).sum::<f64>());
        }
        Ok(mesh)
    }
}

/// A unit vector, uniformly: a point of the ball that is not too near its centre.
fn direction(random: &mut SplitMix) -> Vec3 {
    loop {
        let mut next = || 2.0 * random.uniform() - 1.0;
        let x = Vec3::new(next(), next(), next());
        let square = x.norm_squared();
        if (0.01..=1.0).contains(&square) {
            return x / square.sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn blobs_are_closed_star_shaped_and_unlike_one_another() {
        let blob = |seed, bumps| {
            Blob {
                radius: 0.1,
                bumps,
                seed,
                frequency: 5,
            }
            .build()
            .unwrap()
        };
        for seed in 0..20 {
            let mesh = blob(seed, 1.5);
            assert_eq!(mesh.triangles.len(), 20 * 25);
            mesh.check_closed().unwrap();
            for t in &mesh.triangles {
                let [a, b, c] = t.map(|v| mesh.positions[v as usize]);
                assert!(
                    a.dot(&b.cross(&c)) > 0.0,
                    "seen from the origin, all face out"
                );
            }
            let far = mesh.positions.iter().map(|x| x.norm()).fold(0.0, f64::max);
            assert!(far > 0.1 * 1.3 && far < 0.1 * (1.0 + 1.5 * LOBES as f64));
            assert_ne!(mesh.positions, blob(seed + 1, 1.5).positions);
        }
        let sphere = blob(1, 0.0);
        assert!(
            sphere
                .positions
                .iter()
                .all(|x| (x.norm() - 0.1).abs() < 1e-15)
        );
    }

    #[test]
    fn absurd_blobs_are_refused() {
        for (radius, bumps, frequency) in [
            (0.0, 1.0, 4),
            (1.0, -0.1, 4),
            (1.0, 3.0, 4),
            (1.0, f64::NAN, 4),
            (1.0, 1.0, 0),
            (1.0, 1.0, u32::MAX),
        ] {
            let blob = Blob {
                radius,
                bumps,
                seed: 0,
                frequency,
            };
            assert!(blob.build().is_err());
        }
    }
}
