//! A palm tree: a trunk, leaves that grow from its top, leaflets on both sides of each.

use std::f64::consts::PI;
use stiction_math::elementary::{cos, sin, sin_cos, tan};

use stiction_math::Vec3;

use super::{ShapeError, at_least_one, at_least_three, limited, positive, require};
use crate::{
    plant::{Plant, PlantPart, PlantSection},
    random::SplitMix,
};

/// A palm that stands on the origin, along z. Leaves grow from its top in all directions, in two tiers,
/// and bend down; without leaflets each is a blade. Each leaf keeps within its own sector, so that
/// nothing touches at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Palm {
    /// Height of the trunk [m].
    pub height: f64,
    /// Radius of the trunk at its root [m]; at its top it is 0.6 of it.
    pub radius: f64,
    /// Number of leaves; three or more.
    pub leaves: u32,
    /// Length of a leaf [m].
    pub leaf_length: f64,
    /// Leaflets on each side of a leaf; none makes it a blade.
    pub leaflets: u32,
    /// Greatest length of a leaflet, or half the width of a blade [m]; its sector may allow less.
    pub leaflet_length: f64,
    /// Thickness of leaflets and blades [m].
    pub thickness: f64,
    /// Distance by which the tip of a leaf hangs below its straight continuation, in leaf lengths.
    pub droop: f64,
    /// Factor of Young's modulus in leaflets and blades [1].
    pub leaf_stiffness: f64,
    /// Chooses small differences between leaves.
    pub seed: u64,
}

const SHAPE: &str = "palm";
/// Start and end of the leaflets on a leaf, in leaf lengths.
const LEAFLETS: [f64; 2] = [0.3, 0.95];
/// Angle between a leaflet and its leaf.
const LEAFLET_ANGLE: f64 = 50.0 * PI / 180.0;

impl Palm {
    /// The number of vertices of its surface.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        for (name, value) in [
            ("height", self.height),
            ("radius", self.radius),
            ("leaf_length", self.leaf_length),
            ("leaflet_length", self.leaflet_length),
            ("thickness", self.thickness),
            ("leaf_stiffness", self.leaf_stiffness),
        ] {
            positive(SHAPE, name, value)?;
        }
        at_least_three(SHAPE, "leaves", self.leaves)?;
        let good = (0.0..=1.5).contains(&self.droop);
        require(good, SHAPE, "droop", "from 0 to 1.5", self.droop)?;
        // A part has some hundred vertices at most.
        let parts = u128::from(self.leaves) * (2 * u128::from(self.leaflets) + 1) + 1;
        let nodes = limited(SHAPE, parts * 16)?;
        // Stems stand side by side on the trunk.
        let space = 2.0 * PI * self.stem_start() / f64::from(self.leaves);
        let need = 2.0 * self.stem_radius() + self.gap();
        let rule = "few enough for their stems to fit round the top of the trunk";
        require(space > need, SHAPE, "leaves", rule, f64::from(self.leaves))?;
        if self.leaflets > 1 {
            let width = self.leaflet_width();
            let rule = "few enough for them to lie side by side";
            require(
                width > self.thickness,
                SHAPE,
                "leaflets",
                rule,
                f64::from(self.leaflets),
            )?;
        }
        Ok(nodes)
    }

    /// Makes the tree: the trunk is part 0.
    pub fn build(&self) -> Result<Plant, ShapeError> {
        self.node_count()?;
        at_least_one(SHAPE, "leaves", self.leaves)?;
        let top = Vec3::new(0.05 * self.height, 0.0, self.height);
        let mut parts = vec![PlantPart {
            points: vec![Vec3::zeros(), Vec3::new(0.01, 0.0, 0.5) * self.height, top],
            section: PlantSection::Round {
                radii: vec![self.radius, 0.7 * self.radius, 0.6 * self.radius],
            },
            up: Vec3::y(),
            frames: [4, 1],
            cells: [3, 8],
            stiffness: 1.0,
            parent: None,
        }];
        let mut random = SplitMix::new(self.seed);
        for leaf in 0..self.leaves {
            let mut some = |size: f64| size * (2.0 * random.uniform() - 1.0);
            let step = 2.0 * PI / f64::from(self.leaves);
            let azimuth = step * (f64::from(leaf) + some(0.05));
            let tier = if leaf % 2 == 0 { 55.0 } else { 20.0 };
            let rise = (tier + some(6.0)) * PI / 180.0;
            let droop = self.droop * (1.0 + some(0.15));
            let stem = Stem {
                start: top - Vec3::z() * (0.05 * self.height).min(self.radius),
                out: Vec3::new(cos(azimuth), sin(azimuth), 0.0),
                from: self.stem_start(),
                length: self.leaf_length,
                rise,
                droop,
            };
            self.leaf(&stem, &mut parts);
        }
        Ok(Plant { parts })
    }

    fn leaf(&self, stem: &Stem, parts: &mut Vec<PlantPart>) {
        let number = parts.len() as u32;
        let points = (0..5).map(|i| stem.at(0.25 * f64::from(i))).collect();
        let side = Vec3::z().cross(&stem.out);
        let up = stem.tangent(0.0).cross(&side);
        let sector = |along: f64| 0.85 * stem.reach(along) * tan(PI / f64::from(self.leaves));
        if self.leaflets == 0 {
            let width =
                |along: f64| 2.0 * (self.leaflet_length * profile(along)).min(sector(along));
            parts.push(PlantPart {
                points,
                section: PlantSection::Flat {
                    widths: (0..9).map(|i| width(0.125 * f64::from(i))).collect(),
                    thickness: self.thickness,
                },
                up,
                frames: [6, 2],
                cells: [2, 4],
                stiffness: self.leaf_stiffness,
                parent: Some(0),
            });
            return;
        }
        let radius = |along: f64| self.stem_radius() * (1.0 - 0.7 * along);
        parts.push(PlantPart {
            points,
            section: PlantSection::Round {
                radii: vec![radius(0.0), radius(1.0)],
            },
            up,
            frames: [4, 1],
            cells: [2, 5],
            stiffness: 1.0,
            parent: Some(0),
        });
        let last = (self.leaflets - 1).max(1);
        for i in 0..self.leaflets {
            let along = LEAFLETS[0] + (LEAFLETS[1] - LEAFLETS[0]) * f64::from(i) / f64::from(last);
            let t = stem.tangent(along);
            let up = t.cross(&side);
            let (sin, cos) = sin_cos(LEAFLET_ANGLE);
            // The near corner of a leaflet's root stands out towards the stem.
            let corner = 0.25 * self.leaflet_width() * cos;
            let off = radius(along) + self.gap() + corner;
            let most = (sector(along) - off) / sin;
            let length = (self.leaflet_length * profile(along)).min(most);
            if length < 2.0 * self.leaflet_width() {
                continue;
            }
            for hand in [-1.0, 1.0] {
                let out = t * cos + side * (hand * sin);
                let root = stem.at(along) + side * (hand * off);
                let point = |s: f64| root + out * (s * length) - up * (0.15 * s * s * length);
                let w = self.leaflet_width();
                parts.push(PlantPart {
                    points: vec![point(0.0), point(0.5), point(1.0)],
                    section: PlantSection::Flat {
                        widths: vec![0.5 * w, w, 0.8 * w, 0.2 * w],
                        thickness: self.thickness,
                    },
                    up,
                    frames: [3, 1],
                    cells: [2, 2],
                    stiffness: self.leaf_stiffness,
                    parent: Some(number),
                });
            }
        }
    }

    /// Least distance between parts [m].
    fn gap(&self) -> f64 {
        2.0 * self.thickness
    }

    fn stem_radius(&self) -> f64 {
        0.025 * self.leaf_length
    }

    /// Distance of the starts of stems from the axis of the trunk [m].
    fn stem_start(&self) -> f64 {
        0.7 * self.radius + self.stem_radius() + self.gap()
    }

    /// Leaflets lie side by side without touching.
    fn leaflet_width(&self) -> f64 {
        let spacing = (LEAFLETS[1] - LEAFLETS[0]) * self.leaf_length;
        let spacing = spacing / f64::from((self.leaflets.max(2) - 1).max(1));
        let space = spacing * sin(LEAFLET_ANGLE) - self.gap();
        space.min(0.15 * self.leaflet_length)
    }
}

/// Width of a leaf along its stem, 1 at most.
fn profile(along: f64) -> f64 {
    (0.15 + 3.4 * along * (1.0 - along)).min(1.0)
}

/// The centreline of a leaf.
struct Stem {
    start: Vec3,
    /// Unit vector away from the trunk.
    out: Vec3,
    from: f64,
    length: f64,
    rise: f64,
    droop: f64,
}

impl Stem {
    fn reach(&self, along: f64) -> f64 {
        self.from + self.length * along * cos(self.rise)
    }

    fn at(&self, along: f64) -> Vec3 {
        let up = sin(self.rise) * along - self.droop * along * along;
        self.start + self.out * self.reach(along) + Vec3::z() * (self.length * up)
    }

    fn tangent(&self, along: f64) -> Vec3 {
        let up = sin(self.rise) - 2.0 * self.droop * along;
        (self.out * cos(self.rise) + Vec3::z() * up).normalize()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn palm(leaflets: u32) -> Palm {
        Palm {
            height: 2.0,
            radius: 0.1,
            leaves: 8,
            leaf_length: 1.0,
            leaflets,
            leaflet_length: 0.3,
            thickness: 0.005,
            droop: 0.5,
            leaf_stiffness: 1.0,
            seed: 1,
        }
    }

    #[test]
    fn every_part_can_be_built_and_hangs_on_the_trunk() {
        for leaflets in [0, 5] {
            let plant = palm(leaflets).build().unwrap();
            plant.check().unwrap();
            assert_eq!(plant.parts.iter().filter(|p| p.parent.is_none()).count(), 1);
            assert_eq!(
                plant.parts.iter().filter(|p| p.parent == Some(0)).count(),
                8
            );
            assert!(plant.parts.len() > 8 * (leaflets as usize + 1));
        }
    }

    /// Brute force over all vertices of different parts.
    #[test]
    fn parts_are_apart_at_rest() {
        for leaflets in [0, 5] {
            let (_, vertices) = palm(leaflets).build().unwrap().surface();
            let mut least = f64::INFINITY;
            for (i, a) in vertices.iter().enumerate() {
                for b in vertices[..i].iter().filter(|b| b.part != a.part) {
                    least = least.min((a.position - b.position).norm());
                }
            }
            assert!(least > 0.005, "{leaflets}: {least}");
        }
    }

    #[test]
    fn too_many_leaves_are_refused() {
        let crowded = Palm {
            leaves: 40,
            ..palm(5)
        };
        let name = |p: Palm| match p.build() {
            Err(ShapeError::Parameter { parameter, .. }) => parameter,
            _ => "none",
        };
        assert_eq!(name(crowded), "leaves");
        assert_eq!(name(palm(200)), "leaflets");
        assert_eq!(
            name(Palm {
                droop: 3.0,
                ..palm(5)
            }),
            "droop"
        );
    }
}
