//! Faceted friction: a regular polygon in the tangent plane in place of Coulomb's disc.
//!
//! The polygon is drawn around the disc of radius μ r_N: its sides touch the disc, as the box bounds of
//! [kaufman2008] do (four sides), and its corners reach μ r_N/cos(π/N). Where a contact slides across a polygon that
//! does not turn with it, the most dissipative force is a corner in almost every direction: it deviates from
//! the direction opposite to sliding by up to π/N, and is larger than Coulomb's by up to 1/cos(π/N).

use std::f64::consts::PI;

use stiction_math::{
    Vec3,
    elementary::{sin_cos, tan},
    frame,
};

/// Orientation and number of sides of a polygon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FrictionPolygon {
    /// Outward normal of the first side, and the direction a right angle further on.
    first: Vec3,
    second: Vec3,
    sides: usize,
}

/// Location of a projected point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum PolygonPlace {
    /// Inside, the boundary included.
    #[default]
    Inside,
    /// On a side with this outward normal, between its ends.
    Side(Vec3),
    /// At a corner.
    Corner,
}

impl FrictionPolygon {
    /// Axes that follow from the contact's normal `n` alone.
    pub fn fixed(n: &Vec3, sides: usize) -> Self {
        let frame = frame(n);
        Self {
            first: frame.column(1).into(),
            second: frame.column(2).into(),
            sides,
        }
    }

    /// The point of the polygon with the given distance of sides next to the tangential vector `x`.
    pub fn project(&self, x: &Vec3, apothem: f64) -> (Vec3, PolygonPlace) {
        if apothem <= 0.0 {
            return (Vec3::zeros(), PolygonPlace::Corner);
        }
        // A point lies in the sector of the side to whose normal it is closest, and so does its projection,
        // because the borders of sectors are axes of symmetry.
        let (mut out, mut normal) = (f64::NEG_INFINITY, self.first);
        for i in 0..self.sides {
            let (s, c) = sin_cos(2.0 * PI * i as f64 / self.sides as f64);
            let candidate = self.first * c + self.second * s;
            let distance = candidate.dot(x);
            if distance > out {
                (out, normal) = (distance, candidate);
            }
        }
        if out <= apothem {
            return (*x, PolygonPlace::Inside);
        }
        let across = x - normal * out;
        let (length, half) = (across.norm(), apothem * tan(PI / self.sides as f64));
        match length < half {
            true => (normal * apothem + across, PolygonPlace::Side(normal)),
            false => (
                normal * apothem + across * (half / length),
                PolygonPlace::Corner,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against brute force over points of the boundary, for several numbers of sides.
    #[test]
    fn projections_are_the_closest_points() {
        let n = Vec3::new(1.0, 2.0, -2.0) / 3.0;
        for sides in [3, 4, 8] {
            {
                let polygon = FrictionPolygon::fixed(&n, sides);
                let half = tan(PI / sides as f64);
                for k in 0..40 {
                    let (s, c) = sin_cos(0.37 * f64::from(k));
                    let x = (polygon.first * c + polygon.second * s) * (0.1 * f64::from(k));
                    let (p, place) = polygon.project(&x, 1.0);
                    let mut best = f64::INFINITY;
                    for i in 0..sides {
                        let (s, c) = sin_cos(2.0 * PI * i as f64 / sides as f64);
                        let m = polygon.first * c + polygon.second * s;
                        // No point outside.
                        assert!(p.dot(&m) <= 1.0 + 1e-14);
                        for j in -1000..=1000 {
                            let q = m + n.cross(&m) * (half * f64::from(j) / 1000.0);
                            best = best.min((x - q).norm());
                        }
                    }
                    match place {
                        PolygonPlace::Inside => assert!((p - x).norm() == 0.0),
                        // Points of the boundary are half/1000 apart.
                        _ => assert!(((x - p).norm() - best).abs() < 1e-3 * half, "{k}"),
                    }
                }
            }
        }
    }
}
