//! Axis-parallel bounding boxes.

use stiction_math::Vec3;

/// An axis-parallel box, both corners included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// The corner with the smallest coordinates [m].
    pub min: Vec3,
    /// The corner with the largest coordinates [m].
    pub max: Vec3,
}

impl Aabb {
    /// The smallest box around the points; `None` if there are none.
    pub fn of(points: &[Vec3]) -> Option<Aabb> {
        let first = *points.first()?;
        let start = Aabb {
            min: first,
            max: first,
        };
        Some(points.iter().fold(start, |b, p| Aabb {
            min: b.min.inf(p),
            max: b.max.sup(p),
        }))
    }

    /// The smallest box around both.
    pub fn union(&self, other: &Aabb) -> Aabb {
        Aabb {
            min: self.min.inf(&other.min),
            max: self.max.sup(&other.max),
        }
    }

    /// Edge lengths [m].
    pub fn extent(&self) -> Vec3 {
        self.max - self.min
    }

    /// The middle [m].
    pub fn centre(&self) -> Vec3 {
        0.5 * (self.min + self.max)
    }

    /// Length of the space diagonal [m].
    pub fn diagonal(&self) -> f64 {
        self.extent().norm()
    }

    /// Whether the point lies in the box or on its boundary.
    pub fn contains(&self, p: &Vec3) -> bool {
        (0..3).all(|k| self.min[k] <= p[k] && p[k] <= self.max[k])
    }

    /// The squared distance of the point to the box [m²]; zero inside.
    pub fn squared_distance(&self, p: &Vec3) -> f64 {
        (p - p.sup(&self.min).inf(&self.max)).norm_squared()
    }

    /// Whether the boxes share a point.
    pub fn overlaps(&self, other: &Aabb) -> bool {
        (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn boxes_enclose_their_points() {
        assert_eq!(Aabb::of(&[]), None);
        let points = [Vec3::new(1.0, 5.0, -2.0), Vec3::new(-1.0, 6.0, 0.0)];
        let b = Aabb::of(&points).unwrap();
        assert_eq!(b.extent(), Vec3::new(2.0, 1.0, 2.0));
        assert_eq!(b.centre(), Vec3::new(0.0, 5.5, -1.0));
        assert_eq!(b.diagonal(), 3.0);
        assert!(points.iter().all(|p| b.contains(p)));
        assert!(!b.contains(&Vec3::new(0.0, 4.9, -1.0)));
        let touching = Aabb::of(&[Vec3::new(1.0, 6.0, 0.0), Vec3::new(2.0, 7.0, 1.0)]).unwrap();
        assert!(b.overlaps(&touching));
        assert_eq!(b.union(&touching).max, Vec3::new(2.0, 7.0, 1.0));
        let apart = Aabb::of(&[Vec3::new(1.1, 6.0, 0.0)]).unwrap();
        assert!(!b.overlaps(&apart));
    }
}
