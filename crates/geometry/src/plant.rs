//! Spines with cross-sections that grow on one another: trunks, branches, leaves.

use stiction_math::elementary::{cbrt, sin_cos};
use stiction_math::{Quat, Vec3};

use crate::{
    mesh::{TriMesh, transform},
    shapes::{MAX_NODES, ShapeError},
};

/// Parts that grow on one another; a part's parent comes before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plant {
    /// All parts.
    pub parts: Vec<PlantPart>,
}

/// One spine with a cross-section that is swept along it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlantPart {
    /// The spine runs through these points, smoothly [m].
    pub points: Vec<Vec3>,
    /// Cross-section swept along the spine.
    pub section: PlantSection,
    /// The second axis of the section, which is the normal of a flat one, is as near to this
    /// direction at the root as can be; along the spine it follows without twist.
    pub up: Vec3,
    /// Number of frames along the spine, the first of a part with a parent being the parent's, and
    /// across it. A round section has one across.
    pub frames: [u32; 2],
    /// Resolution of the surface: cells along the spine between two frames, and cells around a round
    /// section or across a flat one.
    pub cells: [u32; 2],
    /// Factor of Young's modulus of the body's material [1].
    pub stiffness: f64,
    /// The part that its root moves with.
    pub parent: Option<u32>,
}

/// A cross-section. Lists are spread evenly over the spine and joined by straight lines.
#[derive(Clone, Debug, PartialEq)]
pub enum PlantSection {
    /// A disc.
    Round {
        /// Radii from root to tip [m].
        radii: Vec<f64>,
    },
    /// A thin rectangle, whose surface is its middle.
    Flat {
        /// Widths from root to tip [m].
        widths: Vec<f64>,
        /// Thickness [m].
        thickness: f64,
    },
}

/// The cross-section at one place of a spine: the points c + η e + ζ f.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Middle of the section [m].
    pub c: Vec3,
    /// First half axis [m].
    pub e: Vec3,
    /// Second half axis [m].
    pub f: Vec3,
}

/// A vertex of a plant's surface: where it is on its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlantVertex {
    /// The part.
    pub part: u32,
    /// The place along the spine, counted in stations.
    pub along: u32,
    /// η, from −1 to 1.
    pub across: f64,
    /// ζ, from −1 to 1; 0 on flat parts.
    pub height: f64,
    /// Its position [m].
    pub position: Vec3,
}

const SHAPE: &str = "plant";
/// Points by which the length of a smooth spine is measured, for every given segment.
const FINE: usize = 32;

impl PlantPart {
    /// Number of stations.
    pub fn station_count(&self) -> u64 {
        u64::from(self.frames[0].max(1) - 1) * u64::from(self.cells[0]) + 1
    }

    /// Number of vertices of the surface.
    fn vertex_count(&self) -> u128 {
        let along = u128::from(self.station_count());
        match self.section {
            PlantSection::Round { .. } => along * u128::from(self.cells[1]) + 2,
            PlantSection::Flat { .. } => along * (u128::from(self.cells[1]) + 1),
        }
    }

    fn check(&self, index: usize) -> Result<(), ShapeError> {
        let rule = |good: bool, parameter, requirement, value| {
            if good {
                return Ok(());
            }
            Err(ShapeError::Parameter {
                shape: SHAPE,
                parameter,
                requirement,
                value,
            })
        };
        let points = self.points.len() as f64;
        rule(points >= 2.0, "points", "two points or more", points)?;
        let far = |w: &[Vec3]| (w[1] - w[0]).norm();
        let apart = self
            .points
            .windows(2)
            .map(far)
            .fold(f64::INFINITY, f64::min);
        let good = apart > 0.0 && apart.is_finite();
        rule(good, "points", "finite, each apart from the next", apart)?;
        rule(
            self.frames[0] >= 2,
            "frames",
            "two or more along a spine",
            f64::from(self.frames[0]),
        )?;
        rule(
            self.cells[0] >= 1,
            "cells",
            "one or more",
            f64::from(self.cells[0]),
        )?;
        let (name, sizes, round) = match &self.section {
            PlantSection::Round { radii } => ("radius", radii, true),
            PlantSection::Flat { widths, thickness } => {
                rule(
                    *thickness > 0.0 && thickness.is_finite(),
                    "thickness",
                    "positive",
                    *thickness,
                )?;
                ("width", widths, false)
            }
        };
        rule(!sizes.is_empty(), name, "one number or more", 0.0)?;
        for &s in sizes {
            rule(s > 0.0 && s.is_finite(), name, "positive", s)?;
        }
        let across = f64::from(self.frames[1]);
        if round {
            rule(
                self.frames[1] == 1,
                "frames",
                "one across a round section",
                across,
            )?;
            rule(
                self.cells[1] >= 3,
                "cells",
                "three or more around",
                f64::from(self.cells[1]),
            )?;
        } else {
            rule(self.frames[1] >= 1, "frames", "one or more across", across)?;
            rule(
                self.cells[1] >= 1,
                "cells",
                "one or more across",
                f64::from(self.cells[1]),
            )?;
        }
        let up = self.up.norm();
        rule(up > 0.0 && up.is_finite(), "up", "a direction", up)?;
        let stiffness = self.stiffness;
        rule(
            stiffness > 0.0 && stiffness.is_finite(),
            "stiffness",
            "positive",
            stiffness,
        )?;
        if let Some(parent) = self.parent {
            rule(
                (parent as usize) < index,
                "parent",
                "a part before its own",
                f64::from(parent),
            )?;
        }
        Ok(())
    }

    /// The cross-sections, evenly along the spine from root to tip; `cells[0]` of them between two
    /// frames.
    pub fn stations(&self) -> Vec<Station> {
        let curve = fine(&self.points);
        let mut arc = vec![0.0];
        for w in curve.windows(2) {
            arc.push(arc[arc.len() - 1] + (w[1] - w[0]).norm());
        }
        let length = arc[arc.len() - 1];
        let count = self.station_count() as usize;
        let at = |s: f64| {
            let k = arc.partition_point(|w| *w <= s).clamp(1, arc.len() - 1);
            let t = ((s - arc[k - 1]) / (arc[k] - arc[k - 1])).clamp(0.0, 1.0);
            curve[k - 1] + (curve[k] - curve[k - 1]) * t
        };
        let centres: Vec<Vec3> = (0..count)
            .map(|k| at(length * k as f64 / (count - 1).max(1) as f64))
            .collect();
        let mut up = self.up;
        let mut stations = Vec::with_capacity(count);
        for k in 0..count {
            let (a, b) = (k.saturating_sub(1), (k + 1).min(count - 1));
            let t = (centres[b] - centres[a]).normalize();
            let across = up - t * t.dot(&up);
            // A spine that starts along `up` itself takes whichever direction is across.
            up = if across.norm() > 1e-6 * up.norm() {
                across.normalize()
            } else {
                let least = t.iamin();
                let mut axis = Vec3::zeros();
                axis[least] = 1.0;
                (axis - t * t.dot(&axis)).normalize()
            };
            let u = k as f64 / (count - 1).max(1) as f64;
            let (he, hf) = match &self.section {
                PlantSection::Round { radii } => (spread(radii, u), spread(radii, u)),
                PlantSection::Flat { widths, thickness } => {
                    (0.5 * spread(widths, u), 0.5 * thickness)
                }
            };
            // (t, e, f) is right-handed.
            stations.push(Station {
                c: centres[k],
                e: up.cross(&t) * he,
                f: up * hf,
            });
        }
        stations
    }
}

impl Plant {
    /// Moves the spines: x ← R (s ∘ x) + t, with one scale factor per axis. Cross-sections grow by the
    /// cube root of the change of volume.
    pub fn transform(&mut self, rotation: &Quat, scale: &Vec3, translation: &Vec3) {
        let size = cbrt(scale.product().abs());
        for part in &mut self.parts {
            transform(&mut part.points, rotation, scale, translation);
            part.up = rotation * part.up.component_mul(scale);
            match &mut part.section {
                PlantSection::Round { radii } => radii.iter_mut().for_each(|r| *r *= size),
                PlantSection::Flat { widths, thickness } => {
                    widths.iter_mut().for_each(|w| *w *= size);
                    *thickness *= size;
                }
            }
        }
    }

    /// Whether every part can be built.
    ///
    /// # Errors
    /// Naming the parameter that cannot be, or if there would be too many vertices.
    pub fn check(&self) -> Result<(), ShapeError> {
        if self.parts.is_empty() {
            return Err(ShapeError::Parameter {
                shape: SHAPE,
                parameter: "parts",
                requirement: "one or more",
                value: 0.0,
            });
        }
        for (i, part) in self.parts.iter().enumerate() {
            part.check(i)?;
        }
        let nodes = self.parts.iter().map(PlantPart::vertex_count).sum::<u128>();
        if nodes > u128::from(MAX_NODES) {
            return Err(ShapeError::TooLarge {
                shape: SHAPE,
                nodes,
            });
        }
        Ok(())
    }

    /// The number of vertices of its surface.
    pub fn vertex_count(&self) -> Result<u64, ShapeError> {
        self.check()?;
        Ok(self.parts.iter().map(PlantPart::vertex_count).sum::<u128>() as u64)
    }

    /// Its surface: closed tubes round round parts, the middle sheets of flat ones.
    pub fn surface(&self) -> (TriMesh, Vec<PlantVertex>) {
        let (mut triangles, mut vertices) = (Vec::new(), Vec::new());
        for (p, part) in self.parts.iter().enumerate() {
            let stations = part.stations();
            let first = vertices.len() as u32;
            let mut add = |along: usize, [across, height]: [f64; 2], position: Vec3| {
                vertices.push(PlantVertex {
                    part: p as u32,
                    along: along as u32,
                    across,
                    height,
                    position,
                });
            };
            match part.section {
                PlantSection::Round { .. } => {
                    let n = part.cells[1];
                    for (k, s) in stations.iter().enumerate() {
                        for a in 0..n {
                            let (sin, cos) =
                                sin_cos(std::f64::consts::TAU * f64::from(a) / f64::from(n));
                            add(k, [cos, sin], s.c + s.e * cos + s.f * sin);
                        }
                    }
                    let last = stations.len() - 1;
                    add(0, [0.0; 2], stations[0].c);
                    add(last, [0.0; 2], stations[last].c);
                    let rings = last as u32;
                    let at = |k: u32, a: u32| first + k * n + a % n;
                    for k in 0..rings {
                        for a in 0..n {
                            let [p, q, r, s] =
                                [at(k, a), at(k, a + 1), at(k + 1, a + 1), at(k + 1, a)];
                            triangles.extend([[p, q, r], [p, r, s]]);
                        }
                    }
                    let root = first + (rings + 1) * n;
                    for a in 0..n {
                        triangles.push([root, at(0, a + 1), at(0, a)]);
                        triangles.push([root + 1, at(rings, a), at(rings, a + 1)]);
                    }
                }
                PlantSection::Flat { .. } => {
                    let n = part.cells[1];
                    for (k, s) in stations.iter().enumerate() {
                        for a in 0..=n {
                            let across = 2.0 * f64::from(a) / f64::from(n) - 1.0;
                            add(k, [across, 0.0], s.c + s.e * across);
                        }
                    }
                    let at = |k: u32, a: u32| first + k * (n + 1) + a;
                    for k in 0..stations.len() as u32 - 1 {
                        for a in 0..n {
                            let [p, q, r, s] =
                                [at(k, a), at(k, a + 1), at(k + 1, a + 1), at(k + 1, a)];
                            // Diagonals alternate, so that neither side is stiffer to look at.
                            if (k + a) % 2 == 0 {
                                triangles.extend([[p, r, q], [p, s, r]]);
                            } else {
                                triangles.extend([[p, s, q], [q, s, r]]);
                            }
                        }
                    }
                }
            }
        }
        let positions = vertices.iter().map(|v| v.position).collect();
        let mesh = TriMesh {
            positions,
            triangles,
        };
        (mesh, vertices)
    }
}

/// A list spread evenly over 0 ≤ u ≤ 1, with straight lines between.
fn spread(list: &[f64], u: f64) -> f64 {
    let x = u * (list.len() - 1) as f64;
    let k = (x as usize).min(list.len().saturating_sub(2));
    let next = list.get(k + 1).unwrap_or(&list[k]);
    list[k] + (next - list[k]) * (x - k as f64)
}

/// A smooth curve through the points, as many short segments: cubic between neighbours, with the
/// slope of the parabola through three points at each inner one.
fn fine(points: &[Vec3]) -> Vec<Vec3> {
    let n = points.len();
    if n == 2 {
        return points.to_vec();
    }
    let step = |i: usize| (points[i + 1] - points[i]).norm();
    let secant = |i: usize| (points[i + 1] - points[i]) / step(i);
    let slope = |i: usize| match i {
        0 => secant(0) * 1.5 - inner(points, 1) * 0.5,
        i if i == n - 1 => secant(n - 2) * 1.5 - inner(points, n - 2) * 0.5,
        i => inner(points, i),
    };
    let mut curve = vec![points[0]];
    for i in 0..n - 1 {
        let (h, a, b) = (step(i), slope(i), slope(i + 1));
        for k in 1..=FINE {
            let t = k as f64 / FINE as f64;
            let (t2, t3) = (t * t, t * t * t);
            curve.push(
                points[i] * (2.0 * t3 - 3.0 * t2 + 1.0)
                    + a * (h * (t3 - 2.0 * t2 + t))
                    + points[i + 1] * (3.0 * t2 - 2.0 * t3)
                    + b * (h * (t3 - t2)),
            );
        }
    }
    curve
}

/// The slope of the parabola through an inner point and its neighbours.
fn inner(points: &[Vec3], i: usize) -> Vec3 {
    let (a, b) = (points[i] - points[i - 1], points[i + 1] - points[i]);
    let (h, k) = (a.norm(), b.norm());
    (a / h * k + b / k * h) / (h + k)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn branch(points: Vec<Vec3>) -> PlantPart {
        PlantPart {
            points,
            section: PlantSection::Round {
                radii: vec![0.1, 0.05],
            },
            up: Vec3::z(),
            frames: [4, 1],
            cells: [2, 8],
            stiffness: 1.0,
            parent: None,
        }
    }

    #[test]
    fn a_smooth_spine_follows_an_arc() {
        let arc = |a: f64| Vec3::new(a.sin(), 1.0 - a.cos(), 0.0);
        let part = branch((0..9).map(|i| arc(0.125 * f64::from(i))).collect());
        let stations = part.stations();
        assert_eq!(stations.len(), 7);
        for (k, s) in stations.iter().enumerate() {
            let off = (s.c - arc(k as f64 / 6.0)).norm();
            assert!(off < 1e-3, "{k}: {off}");
            assert!(s.e.dot(&s.f).abs() < 1e-12);
            assert!((s.e.norm() - (0.1 - 0.05 * k as f64 / 6.0)).abs() < 1e-12);
        }
    }

    #[test]
    fn round_parts_are_closed_and_face_outwards() {
        let part = branch(vec![Vec3::zeros(), Vec3::x()]);
        let (mesh, vertices) = Plant { parts: vec![part] }.surface();
        mesh.check_closed().unwrap();
        assert_eq!(vertices.len(), mesh.positions.len());
        // A frustum with an octagonal section.
        let octagon = 8.0 * 0.5 * std::f64::consts::FRAC_PI_4.sin();
        let exact = octagon * (0.01 + 0.005 + 0.0025) / 3.0;
        let volume = crate::MassProperties::of_closed_surface(&mesh, 1.0)
            .unwrap()
            .mass;
        assert!((volume / exact - 1.0).abs() < 1e-12, "{volume} {exact}");
    }

    #[test]
    fn grooms_that_cannot_grow_are_refused_by_name() {
        let good = branch(vec![Vec3::zeros(), Vec3::x()]);
        let name = |part: PlantPart| match (Plant { parts: vec![part] }).check() {
            Err(ShapeError::Parameter { parameter, .. }) => parameter,
            _ => "none",
        };
        assert_eq!(name(good.clone()), "none");
        assert_eq!(name(branch(vec![Vec3::zeros()])), "points");
        assert_eq!(name(branch(vec![Vec3::zeros(); 2])), "points");
        let frames = PlantPart {
            frames: [1, 1],
            ..good.clone()
        };
        assert_eq!(name(frames), "frames");
        let parent = PlantPart {
            parent: Some(0),
            ..good.clone()
        };
        assert_eq!(name(parent), "parent");
        let up = PlantPart {
            up: Vec3::zeros(),
            ..good
        };
        assert_eq!(name(up), "up");
    }
}
