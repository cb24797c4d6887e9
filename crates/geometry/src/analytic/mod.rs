//! Analytic shapes: plane, box, sphere, capsule, cylinder, cone and torus.
//!
//! [`Shape::nearest`] is the signed distance of a point, [`Shape::expand`] the same with its Hessian, [`Shape::edge_minimum`] the deepest point
//! of a segment, [`Shape::sharp_places`] where a segment passes its edges, [`Shape::points`] what of the shape itself can poke into a triangle. [`MovingSolid`]
//! carries a [`Solid`] (such a shape, or a sampled mesh) from one pose to another and says when a point or a segment comes close to it;
//! it may say so early, never late.

mod edge;
mod expansion;
mod moving;
mod nearest;
mod sharp;
mod solid;
#[cfg(test)]
mod tests;

use stiction_math::elementary::{cos, hypot, sin};
use stiction_math::{Quat, Vec3};

pub use edge::EdgeMinimum;
pub use expansion::FieldExpansion;
pub use moving::MovingSolid;
pub use nearest::Nearest;
pub use sharp::SharpPlace;
pub use solid::Solid;

/// A solid in its own frame. Lengths in [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// All points with n·x ≤ offset.
    Plane {
        /// The unit normal n, pointing out of the solid.
        normal: Vec3,
        /// n·x on the surface.
        offset: f64,
    },
    /// An axis-parallel box about the origin.
    Box {
        /// Half the size along each axis.
        half: Vec3,
    },
    /// A ball about the origin.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// All points within a radius of a core along z about the origin.
    Capsule {
        /// Its radius.
        radius: f64,
        /// Half the length of its core.
        half: f64,
    },
    /// A cylinder along z about the origin.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Half its height.
        half: f64,
    },
    /// A cone along z, base at z = 0, apex at z = height.
    Cone {
        /// Its radius at the base.
        radius: f64,
        /// Its height.
        height: f64,
    },
    /// A ring torus about the z axis.
    Torus {
        /// From the axis to the middle of the tube; not below `minor`.
        major: f64,
        /// The radius of the tube.
        minor: f64,
    },
}

/// A defect of a shape.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ShapeFault {
    /// A length is negative, zero where it must not be, or not finite.
    #[error("`{name}` is {value}")]
    Length {
        /// Its name.
        name: &'static str,
        /// Its value [m].
        value: f64,
    },
    /// The normal of a plane is not of unit length.
    #[error("the normal has length {0}")]
    Normal(f64),
    /// The tube of a torus would cross itself.
    #[error("the tube radius {minor} exceeds the ring radius {major}")]
    Spindle {
        /// Ring radius [m].
        major: f64,
        /// Tube radius [m].
        minor: f64,
    },
}

/// A rigid placement x ↦ R x + t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The rotation R.
    pub rotation: Quat,
    /// The translation t [m].
    pub translation: Vec3,
}

impl Default for Pose {
    fn default() -> Self {
        Self {
            rotation: Quat::identity(),
            translation: Vec3::zeros(),
        }
    }
}

impl Pose {
    /// R x + t [m].
    pub fn apply(&self, x: &Vec3) -> Vec3 {
        self.rotation * x + self.translation
    }

    /// Rᵀ (x − t) [m].
    pub fn invert(&self, x: &Vec3) -> Vec3 {
        self.rotation
            .inverse_transform_vector(&(x - self.translation))
    }
}

/// Number of points on a circle; the chord of neighbours is 0.4 radii, its sagitta 0.02.
const CIRCLE: usize = 16;

impl Shape {
    /// Whether the numbers make a solid.
    pub fn check(&self) -> Result<(), ShapeFault> {
        let positive = |name: &'static str, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(ShapeFault::Length { name, value })
            }
        };
        match *self {
            Shape::Plane { normal, offset } => {
                let length = normal.norm();
                if (length - 1.0).abs() > 1e-9 || length.is_nan() {
                    return Err(ShapeFault::Normal(length));
                }
                if !offset.is_finite() {
                    let (name, value) = ("offset", offset);
                    return Err(ShapeFault::Length { name, value });
                }
                Ok(())
            }
            Shape::Box { half } => half.iter().try_for_each(|h| positive("half", *h)),
            Shape::Sphere { radius } => positive("radius", radius),
            Shape::Capsule { radius, half } => {
                positive("radius", radius)?;
                if half >= 0.0 && half.is_finite() {
                    return Ok(());
                }
                let (name, value) = ("half", half);
                Err(ShapeFault::Length { name, value })
            }
            Shape::Cylinder { radius, half } => {
                positive("radius", radius)?;
                positive("half", half)
            }
            Shape::Cone { radius, height } => {
                positive("radius", radius)?;
                positive("height", height)
            }
            Shape::Torus { major, minor } => {
                positive("major", major)?;
                positive("minor", minor)?;
                if minor > major {
                    return Err(ShapeFault::Spindle { major, minor });
                }
                Ok(())
            }
        }
    }

    /// Whether the solid is convex: all but the torus.
    pub fn is_convex(&self) -> bool {
        !matches!(self, Shape::Torus { .. })
    }

    /// The radius of a ball about the origin that contains the solid [m]; infinite for a plane.
    pub fn radius(&self) -> f64 {
        match *self {
            Shape::Plane { .. } => f64::INFINITY,
            Shape::Box { half } => half.norm(),
            Shape::Sphere { radius } => radius,
            Shape::Capsule { radius, half } => radius + half,
            Shape::Cylinder { radius, half } => hypot(radius, half),
            Shape::Cone { radius, height } => radius.max(height),
            Shape::Torus { major, minor } => major + minor,
        }
    }

    /// Balls within the solid, as centre and radius [m], that reach its surface where it can poke
    /// into the middle of a triangle: corners, apex, the centre of a sphere, the ends of a
    /// capsule's core; sixteen points on each rim of a cylinder or cone and on the ring of a torus.
    pub fn points(&self) -> Vec<(Vec3, f64)> {
        let circle = |radius: f64, z: f64, ball: f64| {
            (0..CIRCLE).map(move |i| {
                let angle = i as f64 * (std::f64::consts::TAU / CIRCLE as f64);
                (Vec3::new(radius * cos(angle), radius * sin(angle), z), ball)
            })
        };
        match *self {
            Shape::Plane { .. } => Vec::new(),
            Shape::Box { half } => (0..8)
                .map(|i| {
                    let sign = |bit: usize| if i >> bit & 1 == 0 { -1.0 } else { 1.0 };
                    let corner = Vec3::new(sign(0), sign(1), sign(2)).component_mul(&half);
                    (corner, 0.0)
                })
                .collect(),
            Shape::Sphere { radius } => vec![(Vec3::zeros(), radius)],
            Shape::Capsule { radius, half } => vec![
                (Vec3::new(0.0, 0.0, -half), radius),
                (Vec3::new(0.0, 0.0, half), radius),
            ],
            Shape::Cylinder { radius, half } => circle(radius, -half, 0.0)
                .chain(circle(radius, half, 0.0))
                .collect(),
            Shape::Cone { radius, height } => {
                let apex = std::iter::once((Vec3::new(0.0, 0.0, height), 0.0));
                apex.chain(circle(radius, 0.0, 0.0)).collect()
            }
            Shape::Torus { major, minor } => circle(major, 0.0, minor).collect(),
        }
    }

    /// The points of the rims of a cylinder or cone that lie farthest along `direction`; none for
    /// other shapes, or where the direction is along the axis. Between the sixteen points of
    /// [`Shape::points`] this is where a tilted rim touches first.
    pub fn rims(&self, direction: &Vec3) -> [Option<Vec3>; 2] {
        let (radius, z) = match *self {
            Shape::Cylinder { radius, half } => (radius, [Some(-half), Some(half)]),
            Shape::Cone { radius, .. } => (radius, [Some(0.0), None]),
            _ => return [None; 2],
        };
        let across = hypot(direction.x, direction.y);
        if across == 0.0 {
            return [None; 2];
        }
        let scale = radius / across;
        z.map(|z| z.map(|z| Vec3::new(direction.x * scale, direction.y * scale, z)))
    }

    /// Largest distance along a unit `direction` by which a point of a rim lies beyond the closest of
    /// the sixteen [m].
    pub fn rim_excess(&self, direction: &Vec3) -> f64 {
        match *self {
            Shape::Cylinder { radius, .. } | Shape::Cone { radius, .. } => {
                let sagitta = 1.0 - cos(std::f64::consts::PI / CIRCLE as f64);
                radius * sagitta * hypot(direction.x, direction.y)
            }
            _ => 0.0,
        }
    }
}
