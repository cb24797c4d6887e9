//! Choosing nodes by where they are: for pins, attachments and probes.

use stiction_math::Vec3;

use crate::bounds::Aabb;
use crate::mesh::{TetMesh, TriMesh};

/// A rule that chooses some of the nodes of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// All nodes.
    All,
    /// The nodes with these indices, in any order, repetitions allowed.
    Indices(Vec<u32>),
    /// The nodes in an axis-parallel box, boundary included.
    Box {
        /// The corner with the smallest coordinates [m].
        min: Vec3,
        /// The corner with the largest coordinates [m].
        max: Vec3,
    },
    /// The nodes in a ball, boundary included.
    Sphere {
        /// Centre [m].
        centre: Vec3,
        /// Radius [m].
        radius: f64,
    },
    /// The nodes on the side of a plane to which the normal points, plane included:
    /// (x − point)·normal ≥ 0.
    HalfSpace {
        /// A point of the plane [m].
        point: Vec3,
        /// The normal, of any length.
        normal: Vec3,
    },
    /// The nodes nearest to a point; of equally near ones those with the lowest indices.
    Nearest {
        /// The point [m].
        point: Vec3,
        /// Number of nodes.
        count: usize,
    },
    /// The nodes on the boundary: of a surface its open edges, of a solid its surface.
    Boundary,
}

impl Selection {
    /// This region widened by `slack` [m], so that nodes on its boundary belong to it also after rounding.
    pub fn widened(&self, slack: f64) -> Self {
        let mut wider = self.clone();
        match &mut wider {
            Self::Box { min, max } => {
                *min -= Vec3::repeat(slack);
                *max += Vec3::repeat(slack);
            }
            Self::Sphere { radius, .. } => *radius += slack,
            Self::HalfSpace { point, normal } => *point -= *normal * slack,
            Self::All | Self::Indices(_) | Self::Nearest { .. } | Self::Boundary => {}
        }
        wider
    }
}

/// Reason for which a selection is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SelectError {
    /// An index beyond the last node.
    #[error("node {index} does not exist; the body has {count} nodes")]
    IndexOutOfRange {
        /// The given index.
        index: u32,
        /// Number of nodes.
        count: usize,
    },
    /// A coordinate, radius or normal that makes no sense.
    #[error("the {region} is not usable: {reason}")]
    BadRegion {
        /// The kind of region.
        region: &'static str,
        /// The defect of the expression.
        reason: &'static str,
    },
    /// The selection has more nodes than the body.
    #[error("the selection has {asked} nodes, but the body has {count}")]
    TooFew {
        /// Number of nodes selected.
        asked: usize,
        /// Number of nodes.
        count: usize,
    },
}

impl TriMesh {
    /// The chosen vertices, ascending, each once. An empty result is no error: the caller decides
    /// whether it makes sense.
    pub fn select(&self, selection: &Selection) -> Result<Vec<u32>, SelectError> {
        select(&self.positions, selection, || self.boundary_vertices())
    }
}

impl TetMesh {
    /// The chosen vertices, ascending, each once. An empty result is no error: the caller decides
    /// whether it makes sense.
    pub fn select(&self, selection: &Selection) -> Result<Vec<u32>, SelectError> {
        select(&self.positions, selection, || self.surface().1)
    }
}

/// The chosen nodes among the given positions; `boundary` is evaluated only if needed.
pub fn select(
    positions: &[Vec3],
    selection: &Selection,
    boundary: impl FnOnce() -> Vec<u32>,
) -> Result<Vec<u32>, SelectError> {
    let count = positions.len();
    let filter = |keep: &dyn Fn(&Vec3) -> bool| -> Vec<u32> {
        let chosen = |i: &u32| keep(&positions[*i as usize]);
        (0..count as u32).filter(chosen).collect()
    };
    let sorted = |mut list: Vec<u32>| {
        list.sort_unstable();
        list.dedup();
        list
    };
    let bad = |region, reason| Err(SelectError::BadRegion { region, reason });
    match selection {
        Selection::All => Ok((0..count as u32).collect()),
        Selection::Indices(list) => match list.iter().find(|i| **i as usize >= count) {
            Some(&index) => Err(SelectError::IndexOutOfRange { index, count }),
            None => Ok(sorted(list.clone())),
        },
        Selection::Box { min, max } => {
            // Written so that a coordinate which is not a number is refused too.
            if !(0..3).all(|k| min[k] <= max[k]) {
                return bad("box", "a lower bound exceeds the upper one");
            }
            let region = Aabb {
                min: *min,
                max: *max,
            };
            Ok(filter(&|p| region.contains(p)))
        }
        Selection::Sphere { centre, radius } => {
            if !finite(centre) {
                return bad("sphere", "its centre is not finite");
            }
            if radius.is_nan() || *radius < 0.0 {
                return bad("sphere", "its radius is negative");
            }
            Ok(filter(&|p| (p - centre).norm() <= *radius))
        }
        Selection::HalfSpace { point, normal } => {
            if !finite(point) || !finite(normal) {
                return bad("half-space", "its point or normal is not finite");
            }
            if *normal == Vec3::zeros() {
                return bad("half-space", "its normal is zero");
            }
            Ok(filter(&|p| (p - point).dot(normal) >= 0.0))
        }
        Selection::Nearest {
            point,
            count: asked,
        } => {
            if !finite(point) {
                return bad("nearest point", "it is not finite");
            }
            let asked = *asked;
            if asked > count {
                return Err(SelectError::TooFew { asked, count });
            }
            let mut by_distance: Vec<(f64, u32)> = positions
                .iter()
                .zip(0..)
                .map(|(p, i)| ((p - point).norm_squared(), i))
                .collect();
            by_distance.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let nearest = by_distance[..asked].iter().map(|(_, i)| *i);
            Ok(sorted(nearest.collect()))
        }
        Selection::Boundary => Ok(sorted(boundary())),
    }
}

fn finite(v: &Vec3) -> bool {
    v.iter().all(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shapes::*;

    /// Nine nodes at −1, 0, 1 in x and y.
    fn sheet() -> TriMesh {
        Sheet {
            size: [2.0, 2.0],
            cells: [2, 2],
            pattern: SheetPattern::Regular,
        }
        .build()
        .unwrap()
    }

    fn chosen(selection: Selection) -> Vec<u32> {
        sheet().select(&selection).unwrap()
    }

    #[test]
    fn every_region_chooses_its_nodes() {
        assert_eq!(chosen(Selection::All), (0..9).collect::<Vec<u32>>());
        assert_eq!(chosen(Selection::Indices(vec![7, 2, 7, 0])), [0, 2, 7]);
        let upper_row = Selection::Box {
            min: Vec3::new(-1.0, 1.0, 0.0),
            max: Vec3::new(1.0, 2.0, 0.0),
        };
        assert_eq!(chosen(upper_row), [6, 7, 8]);
        let cross = Selection::Sphere {
            centre: Vec3::zeros(),
            radius: 1.0,
        };
        assert_eq!(chosen(cross), [1, 3, 4, 5, 7]);
        let right = Selection::HalfSpace {
            point: Vec3::new(1.0, 5.0, 5.0),
            normal: Vec3::new(3.0, 0.0, 0.0),
        };
        assert_eq!(chosen(right), [2, 5, 8]);
        assert_eq!(chosen(Selection::Boundary), [0, 1, 2, 3, 5, 6, 7, 8]);
    }

    #[test]
    fn equally_near_nodes_are_taken_in_order() {
        let nearest = |count| Selection::Nearest {
            point: Vec3::zeros(),
            count,
        };
        assert_eq!(chosen(nearest(1)), [4]);
        assert_eq!(chosen(nearest(3)), [1, 3, 4]);
        assert_eq!(chosen(nearest(9)).len(), 9);
        assert!(chosen(nearest(0)).is_empty());
        let error = sheet().select(&nearest(10)).unwrap_err();
        let expected = SelectError::TooFew {
            asked: 10,
            count: 9,
        };
        assert_eq!(error, expected);
    }

    #[test]
    fn the_boundary_of_a_solid_is_its_surface() {
        let m = BoxSolid {
            size: [1.0; 3],
            cells: [2; 3],
            pattern: TetPattern::Kuhn,
        }
        .build()
        .unwrap();
        let found = m.select(&Selection::Boundary).unwrap();
        let expected: Vec<u32> = (0..27).filter(|i| *i != 13).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn senseless_regions_are_refused() {
        let nan = Vec3::new(0.0, f64::NAN, 0.0);
        for selection in [
            Selection::Indices(vec![9]),
            Selection::Box {
                min: Vec3::new(1.0, 0.0, 0.0),
                max: Vec3::zeros(),
            },
            Selection::Box {
                min: nan,
                max: Vec3::zeros(),
            },
            Selection::Sphere {
                centre: Vec3::zeros(),
                radius: -1.0,
            },
            Selection::Sphere {
                centre: nan,
                radius: 1.0,
            },
            Selection::HalfSpace {
                point: Vec3::zeros(),
                normal: Vec3::zeros(),
            },
            Selection::Nearest {
                point: nan,
                count: 1,
            },
        ] {
            assert!(sheet().select(&selection).is_err(), "{selection:?}");
        }
    }
}
