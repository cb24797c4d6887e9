//! Nearest points on a set of triangles.

use std::{cmp::Ordering, collections::BinaryHeap};

use stiction_math::Vec3;

use crate::{
    bounds::Aabb,
    collide::{PointTriangle, point_triangle},
};

/// Largest number of triangles in a leaf.
const LEAF: usize = 4;

/// A hierarchy of boxes over triangles for nearest points and boxes.
#[derive(Clone, Debug, Default)]
pub struct TriangleTree {
    nodes: Vec<Node>,
    /// Triangles in the order of leaves.
    order: Vec<u32>,
    corners: Vec<[Vec3; 3]>,
}

#[derive(Clone, Debug)]
struct Node {
    bounds: Aabb,
    /// A range of `order` for a leaf, two children otherwise.
    range: [u32; 2],
    leaf: bool,
}

/// The nearest triangle to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestTriangle {
    /// The triangle.
    pub triangle: u32,
    /// Its nearest point.
    pub point: PointTriangle,
}

impl TriangleTree {
    /// A hierarchy over triangles with finite corners [m].
    pub fn new(corners: Vec<[Vec3; 3]>) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            order: (0..corners.len() as u32).collect(),
            corners,
        };
        if !tree.order.is_empty() {
            let mut order = std::mem::take(&mut tree.order);
            tree.split(&mut order, 0);
            tree.order = order;
        }
        tree
    }

    /// Corners of a triangle [m].
    pub fn corners(&self, t: u32) -> &[Vec3; 3] {
        &self.corners[t as usize]
    }

    fn split(&mut self, order: &mut [u32], first: usize) -> u32 {
        let centre = |c: &[Vec3; 3]| c[0] + c[1] + c[2];
        let mut bounds = Aabb {
            min: Vec3::repeat(f64::INFINITY),
            max: Vec3::repeat(f64::NEG_INFINITY),
        };
        let mut centres = bounds;
        for &t in order.iter() {
            let c = &self.corners[t as usize];
            for p in c {
                bounds.min = bounds.min.inf(p);
                bounds.max = bounds.max.sup(p);
            }
            centres.min = centres.min.inf(&centre(c));
            centres.max = centres.max.sup(&centre(c));
        }
        let own = self.nodes.len();
        self.nodes.push(Node {
            bounds,
            range: [first as u32, (first + order.len()) as u32],
            leaf: true,
        });
        if order.len() > LEAF {
            let axis = centres.extent().imax();
            let key = |t: &u32| centre(&self.corners[*t as usize])[axis];
            order.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
            let (left, right) = order.split_at_mut(order.len() / 2);
            let middle = first + left.len();
            let left = self.split(left, first);
            let right = self.split(right, middle);
            self.nodes[own].range = [left, right];
            self.nodes[own].leaf = false;
        }
        own as u32
    }

    /// The nearest point to `x` within `reach` [m] on a triangle that `keep` accepts at that
    /// distance [m]; of equals the triangle with the lowest number.
    pub fn nearest(
        &self,
        x: &Vec3,
        reach: f64,
        keep: impl Fn(u32, &PointTriangle) -> bool,
    ) -> Option<NearestTriangle> {
        let mut heap = BinaryHeap::new();
        let mut best: Option<NearestTriangle> = None;
        let mut limit = reach * reach;
        if let Some(root) = self.nodes.first() {
            heap.push(Open(root.bounds.squared_distance(x), 0));
        }
        while let Some(Open(distance, at)) = heap.pop() {
            if distance > limit {
                break;
            }
            let node = &self.nodes[at as usize];
            if !node.leaf {
                for child in node.range {
                    let bounds = &self.nodes[child as usize].bounds;
                    heap.push(Open(bounds.squared_distance(x), child));
                }
                continue;
            }
            for &t in &self.order[node.range[0] as usize..node.range[1] as usize] {
                let point = point_triangle(x, &self.corners[t as usize]);
                let closer = match &best {
                    None => point.squared <= limit,
                    Some(b) => {
                        point.squared < b.point.squared
                            || (point.squared == b.point.squared && t < b.triangle)
                    }
                };
                if closer && keep(t, &point) {
                    limit = point.squared;
                    best = Some(NearestTriangle { triangle: t, point });
                }
            }
        }
        best
    }

    /// Calls `with` for every triangle whose box overlaps `bounds`, until it returns false. Returns
    /// whether it always returned true.
    pub fn all_in(&self, bounds: &Aabb, mut with: impl FnMut(u32) -> bool) -> bool {
        let mut stack = vec![0_u32];
        while let Some(at) = stack.pop() {
            let Some(node) = self.nodes.get(at as usize) else {
                continue;
            };
            if !node.bounds.overlaps(bounds) {
                continue;
            }
            if !node.leaf {
                stack.extend(node.range);
                continue;
            }
            for &t in &self.order[node.range[0] as usize..node.range[1] as usize] {
                let own = Aabb::of(&self.corners[t as usize]);
                if own.is_some_and(|b| b.overlaps(bounds)) && !with(t) {
                    return false;
                }
            }
        }
        true
    }
}

/// A node to visit, the closest first.
struct Open(f64, u32);

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn the_nearest_point_is_that_of_a_search() {
        let mut random = SplitMix::new(5);
        let mut point = || Vec3::from_fn(|_, _| random.uniform());
        let corners: Vec<[Vec3; 3]> = (0..200)
            .map(|_| {
                let p = point();
                [p, p + point() * 0.1, p + point() * 0.1]
            })
            .collect();
        let tree = TriangleTree::new(corners.clone());
        for i in 0..300_u32 {
            let x = point() * 1.5;
            // Every third triangle is left out.
            let keep = |t: u32| t % 3 != i % 3;
            let slow = corners.iter().enumerate().filter(|(t, _)| keep(*t as u32));
            let slow = slow
                .map(|(t, c)| (point_triangle(&x, c).squared, t as u32))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap();
            let found = tree.nearest(&x, 10.0, |t, _| keep(t)).unwrap();
            assert_eq!((found.point.squared, found.triangle), slow);
            let reach = 0.9 * slow.0.sqrt();
            assert!(tree.nearest(&x, reach, |t, _| keep(t)).is_none());
        }
        let bounds = Aabb::of(&[Vec3::repeat(0.3), Vec3::repeat(0.5)]).unwrap();
        let mut found = Vec::new();
        tree.all_in(&bounds, |t| {
            found.push(t);
            true
        });
        found.sort_unstable();
        let slow = |t: &u32| Aabb::of(&corners[*t as usize]).unwrap().overlaps(&bounds);
        assert_eq!(found, (0..200).filter(slow).collect::<Vec<_>>());
    }
}
