use super::scene::V;

/// A triangle or a capsule.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A corner and the edges to the other two.
    Triangle { a: V, ab: V, ac: V },
    /// The two ends and the radius.
    Capsule { a: V, b: V, radius: f32 },
}

/// A shape with the index given by its owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Primitive {
    pub shape: Shape,
    pub id: u32,
}

/// First intersection of a ray with a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hit {
    /// Distance along the ray.
    pub t: f32,
    /// Weights of the second and third corner of a triangle.
    pub weights: [f32; 2],
    pub id: u32,
}

/// A bounding volume hierarchy with four children per node, so that one ray is tested against four
/// boxes at once.
#[derive(Debug)]
pub(super) struct Bvh {
    nodes: Vec<Node>,
    primitives: Vec<Primitive>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// Lower corners of the children, axis by axis.
    lo: [[f32; 4]; 3],
    /// Upper corners.
    hi: [[f32; 4]; 3],
    /// A leaf's first primitive, or an inner child's node.
    index: [u32; 4],
    /// A leaf's number of primitives, or [`INNER`].
    count: [u32; 4],
}

#[derive(Clone, Copy, Debug)]
struct Aabb {
    lo: V,
    hi: V,
}

const INNER: u32 = u32::MAX;
const LEAF: usize = 4;
const BINS: usize = 12;
/// Depth at which halving replaces the surface area heuristic, to bound the depth: 2³² primitives
/// need at most 14 + 16 levels, each of which leaves three children on the stack.
const BALANCED_CUTS: usize = 28;
const STACK: usize = 96;

impl Bvh {
    pub fn new(primitives: Vec<Primitive>) -> Self {
        let mut items: Vec<Item> = primitives
            .iter()
            .enumerate()
            .map(|(index, primitive)| Item {
                bounds: primitive.shape.bounds(),
                index: index as u32,
            })
            .collect();
        let mut bvh = Self {
            nodes: Vec::with_capacity(items.len()),
            primitives: Vec::new(),
        };
        if items.is_empty() {
            return bvh;
        }
        bvh.split(&mut items, 0, 0);
        bvh.primitives = items
            .iter()
            .map(|item| primitives[item.index as usize])
            .collect();
        bvh
    }

    /// The first hit closer than `limit`.
    pub fn nearest(&self, origin: V, direction: V, limit: f32) -> Option<Hit> {
        let mut best = None;
        let mut limit = limit;
        self.walk(origin, direction, &mut limit, |primitive, limit| {
            if let Some((t, weights)) = primitive.shape.hit(origin, direction, *limit) {
                *limit = t;
                best = Some(Hit {
                    t,
                    weights,
                    id: primitive.id,
                });
            }
            false
        });
        best
    }

    /// Whether anything lies closer than `limit`.
    pub fn occluded(&self, origin: V, direction: V, limit: f32) -> bool {
        let mut found = false;
        let mut limit = limit;
        self.walk(origin, direction, &mut limit, |primitive, limit| {
            found = primitive.shape.hit(origin, direction, *limit).is_some();
            found
        });
        found
    }

    /// Visits primitives whose boxes the ray meets before `limit`, near ones first, until `visit`
    /// returns true.
    fn walk(
        &self,
        origin: V,
        direction: V,
        limit: &mut f32,
        mut visit: impl FnMut(&Primitive, &mut f32) -> bool,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        // A direction within a coordinate plane is tilted imperceptibly, because zero times
        // infinity would be NaN.
        let inverse = direction.map(|x| {
            if x.abs() < 1e-20 {
                1e20f32.copysign(x)
            } else {
                1.0 / x
            }
        });
        let mut stack = [(0u32, 0f32); STACK];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (at, entry) = stack[depth];
            if entry > *limit {
                continue;
            }
            let node = &self.nodes[at as usize];
            let entries = node.enter(origin, inverse, *limit);
            let base = depth;
            for child in 0..4 {
                let entry = entries[child];
                if entry == f32::INFINITY {
                    continue;
                }
                if node.count[child] == INNER {
                    // Kept in order, so that the nearest child is taken next.
                    let mut slot = depth.min(STACK - 1);
                    while slot > base && stack[slot - 1].1 < entry {
                        stack[slot] = stack[slot - 1];
                        slot -= 1;
                    }
                    stack[slot] = (node.index[child], entry);
                    depth = (depth + 1).min(STACK);
                    continue;
                }
                let first = node.index[child] as usize;
                let last = first + node.count[child] as usize;
                for primitive in &self.primitives[first..last] {
                    if visit(primitive, limit) {
                        return;
                    }
                }
            }
        }
    }

    /// Builds the node over `items`, which begin at `first` in the final order.
    fn split(&mut self, items: &mut [Item], first: usize, depth: usize) -> u32 {
        let at = self.nodes.len();
        self.nodes.push(Node::EMPTY);
        let cut = |items: &mut [Item], depth: usize| match items.len() {
            0..=LEAF => items.len(),
            _ => partition(items, depth),
        };
        let middle = cut(items, 2 * depth);
        let (left, right) = items.split_at_mut(middle);
        let quarters = [cut(left, 2 * depth + 1), cut(right, 2 * depth + 1)];
        let (a, b) = left.split_at_mut(quarters[0]);
        let (c, d) = right.split_at_mut(quarters[1]);
        let mut start = first;
        for (child, group) in [a, b, c, d].into_iter().enumerate() {
            let bounds = group.iter().fold(Aabb::EMPTY, |sum, i| sum.join(&i.bounds));
            let (index, count) = if group.len() <= LEAF {
                (start as u32, group.len() as u32)
            } else {
                (self.split(group, start, depth + 1), INNER)
            };
            start += group.len();
            let node = &mut self.nodes[at];
            for axis in 0..3 {
                node.lo[axis][child] = bounds.lo[axis];
                node.hi[axis][child] = bounds.hi[axis];
            }
            node.index[child] = index;
            node.count[child] = count;
        }
        at as u32
    }
}

impl Node {
    const EMPTY: Self = Self {
        lo: [[f32::INFINITY; 4]; 3],
        hi: [[f32::NEG_INFINITY; 4]; 3],
        index: [0; 4],
        count: [0; 4],
    };

    /// Distance at which a ray enters each box, or infinity if it misses or the box begins beyond
    /// `limit`.
    #[inline(always)]
    fn enter(&self, origin: V, inverse: V, limit: f32) -> [f32; 4] {
        let (mut from, mut to) = ([0f32; 4], [limit; 4]);
        for axis in 0..3 {
            let (o, i) = (origin[axis], inverse[axis]);
            for k in 0..4 {
                let a = (self.lo[axis][k] - o) * i;
                let b = (self.hi[axis][k] - o) * i;
                // Comparisons instead of `min` and `max`: nothing here is not-a-number, and these
                // become single instructions.
                let (near, far) = if a < b { (a, b) } else { (b, a) };
                from[k] = if near > from[k] { near } else { from[k] };
                to[k] = if far < to[k] { far } else { to[k] };
            }
        }
        let mut entries = [f32::INFINITY; 4];
        for k in 0..4 {
            // The slack covers the rounding of the slabs, so that no ray slips between two boxes;
            // an empty child has no primitives, whatever the slabs give.
            if from[k] <= to[k] * (1.0 + 1e-6) + 1e-7 {
                entries[k] = from[k];
            }
        }
        entries
    }
}

struct Item {
    bounds: Aabb,
    index: u32,
}

/// Partitions items into two groups of low expected cost (surface area heuristic over bins of
/// centres) and returns the start of the second.
fn partition(items: &mut [Item], cuts: usize) -> usize {
    let centres = items.iter().fold(Aabb::EMPTY, |sum, item| {
        let centre = item.bounds.centre();
        sum.join(&Aabb {
            lo: centre,
            hi: centre,
        })
    });
    let extent = centres.hi - centres.lo;
    let bin = |item: &Item, axis: usize| -> usize {
        let x = (item.bounds.centre()[axis] - centres.lo[axis]) / extent[axis];
        ((x * BINS as f32) as usize).min(BINS - 1)
    };
    let mut best = (f32::INFINITY, 0, 0);
    for axis in (0..3).filter(|&axis| extent[axis] > 0.0 && cuts < BALANCED_CUTS) {
        let mut bins = [(Aabb::EMPTY, 0usize); BINS];
        for item in items.iter() {
            let (bounds, count) = &mut bins[bin(item, axis)];
            *bounds = bounds.join(&item.bounds);
            *count += 1;
        }
        let mut right = [(0.0, 0usize); BINS];
        let mut sum = (Aabb::EMPTY, 0);
        for k in (1..BINS).rev() {
            sum = (sum.0.join(&bins[k].0), sum.1 + bins[k].1);
            right[k] = (sum.0.area(), sum.1);
        }
        let mut left = (Aabb::EMPTY, 0);
        for k in 1..BINS {
            left = (left.0.join(&bins[k - 1].0), left.1 + bins[k - 1].1);
            let (area, count) = right[k];
            let cost = left.0.area() * left.1 as f32 + area * count as f32;
            if left.1 > 0 && count > 0 && cost < best.0 {
                best = (cost, axis, k);
            }
        }
    }
    if best.0 == f32::INFINITY {
        let axis = extent.imax();
        let key = |item: &Item| item.bounds.centre()[axis];
        // The index breaks ties, so that the order never depends on the sorting algorithm.
        items.sort_unstable_by(|a, b| key(a).total_cmp(&key(b)).then(a.index.cmp(&b.index)));
        return items.len() / 2;
    }
    let (_, axis, k) = best;
    let mut middle = 0;
    for at in 0..items.len() {
        if bin(&items[at], axis) < k {
            items.swap(middle, at);
            middle += 1;
        }
    }
    middle
}

impl Aabb {
    const EMPTY: Self = Self {
        lo: V::new(f32::INFINITY, f32::INFINITY, f32::INFINITY),
        hi: V::new(f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY),
    };

    fn join(&self, other: &Self) -> Self {
        Self {
            lo: self.lo.inf(&other.lo),
            hi: self.hi.sup(&other.hi),
        }
    }

    fn centre(&self) -> V {
        (self.lo + self.hi) * 0.5
    }

    fn area(&self) -> f32 {
        let d = self.hi - self.lo;
        if d.x < 0.0 {
            return 0.0;
        }
        d.x * d.y + d.y * d.z + d.z * d.x
    }
}

impl Shape {
    fn bounds(&self) -> Aabb {
        match *self {
            Self::Triangle { a, ab, ac } => Aabb {
                lo: a.inf(&(a + ab)).inf(&(a + ac)),
                hi: a.sup(&(a + ab)).sup(&(a + ac)),
            },
            Self::Capsule { a, b, radius } => Aabb {
                lo: a.inf(&b).add_scalar(-radius),
                hi: a.sup(&b).add_scalar(radius),
            },
        }
    }

    #[inline]
    fn hit(&self, origin: V, direction: V, limit: f32) -> Option<(f32, [f32; 2])> {
        match *self {
            Self::Triangle { a, ab, ac } => {
                let p = direction.cross(&ac);
                let determinant = ab.dot(&p);
                if determinant == 0.0 {
                    return None;
                }
                let scale = 1.0 / determinant;
                let s = origin - a;
                // A small overlap closes the cracks between neighbours.
                let u = s.dot(&p) * scale;
                if !(-1e-6..=1.0 + 1e-6).contains(&u) {
                    return None;
                }
                let q = s.cross(&ab);
                let v = direction.dot(&q) * scale;
                if v < -1e-6 || u + v > 1.0 + 1e-6 {
                    return None;
                }
                let t = ac.dot(&q) * scale;
                (t > 0.0 && t < limit).then_some((t, [u, v]))
            }
            Self::Capsule { a, b, radius } => {
                let t = hit_capsule(origin, direction, a, b, radius)?;
                (t > 0.0 && t < limit).then_some((t, [0.0; 2]))
            }
        }
    }
}

/// The first intersection of a ray (unit direction) with a capsule, from outside.
fn hit_capsule(origin: V, direction: V, a: V, b: V, radius: f32) -> Option<f32> {
    // Measured from the point of the ray closest to `a`, so that thin tubes far away keep their
    // digits.
    let shift = (a - origin).dot(&direction);
    let s = origin + direction * shift - a;
    let axis = b - a;
    let length = axis.norm_squared();
    let along = axis.dot(&direction);
    let offset = axis.dot(&s);
    // |s + t d|² − ((s + t d)·axis)²/|axis|² = r², multiplied by |axis|².
    let k2 = length - along * along;
    let k1 = length * s.dot(&direction) - offset * along;
    let k0 = length * (s.norm_squared() - radius * radius) - offset * offset;
    let discriminant = k1 * k1 - k2 * k0;
    if k2 > 1e-12 * length {
        if discriminant < 0.0 {
            return None;
        }
        let t = (-k1 - discriminant.sqrt()) / k2;
        let y = offset + t * along;
        if y > 0.0 && y < length {
            return Some(t + shift);
        }
    }
    let cap = |centre: V| {
        let s = origin + direction * shift - centre;
        let half = s.dot(&direction);
        let discriminant = half * half - s.norm_squared() + radius * radius;
        (discriminant >= 0.0).then(|| shift - half - discriminant.sqrt())
    };
    match (cap(a), cap(b)) {
        (Some(x), Some(y)) => Some(x.min(y)),
        (x, y) => x.or(y),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    /// Deterministic numbers in [−1, 1].
    struct Noise(u64);
    impl Noise {
        fn next(&mut self) -> f32 {
            self.0 = self
                .0
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
        }
        fn vector(&mut self) -> V {
            V::new(self.next(), self.next(), self.next())
        }
    }

    #[test]
    fn the_tree_agrees_with_brute_force() {
        let mut noise = Noise(7);
        for count in [0usize, 1, 3, 5, 700] {
            let primitives: Vec<Primitive> = (0..count as u32)
                .map(|id| {
                    let (a, b, c) = (noise.vector(), noise.vector() * 0.2, noise.vector() * 0.2);
                    let shape = if id % 3 == 0 {
                        Shape::Capsule {
                            a,
                            b: a + b,
                            radius: 0.02,
                        }
                    } else {
                        Shape::Triangle { a, ab: b, ac: c }
                    };
                    Primitive { shape, id }
                })
                .collect();
            let bvh = Bvh::new(primitives.clone());
            let mut hits = 0;
            for _ in 0..2000 {
                let origin = noise.vector() * 2.0;
                let direction = (noise.vector() - origin).normalize();
                let all = primitives.iter().filter_map(|p| {
                    let (t, weights) = p.shape.hit(origin, direction, f32::INFINITY)?;
                    Some(Hit {
                        t,
                        weights,
                        id: p.id,
                    })
                });
                let expected = all.min_by(|a, b| a.t.total_cmp(&b.t));
                let found = bvh.nearest(origin, direction, f32::INFINITY);
                assert_eq!(found, expected);
                assert_eq!(bvh.occluded(origin, direction, 1e9), expected.is_some());
                if let Some(hit) = expected {
                    hits += 1;
                    assert_eq!(bvh.nearest(origin, direction, hit.t), None);
                }
            }
            assert!(count < 700 || hits > 500, "{hits}");
        }
    }

    #[test]
    fn a_capsule_is_met_at_its_radius() {
        let mut noise = Noise(3);
        let (a, b, radius) = (V::new(-0.4, 0.1, 0.0), V::new(0.5, -0.2, 0.3), 0.11);
        let axis = b - a;
        let distance = |p: V| {
            let t = ((p - a).dot(&axis) / axis.norm_squared()).clamp(0.0, 1.0);
            (p - a - axis * t).norm()
        };
        let mut hits = 0;
        for _ in 0..3000 {
            let origin = noise.vector().normalize() * 3.0;
            let direction = (noise.vector() * 0.6 - origin).normalize();
            let steps = (0..6000).map(|i| i as f32 * 1e-3);
            let closest = steps
                .map(|t| distance(origin + direction * t))
                .fold(f32::INFINITY, f32::min);
            match hit_capsule(origin, direction, a, b, radius) {
                Some(t) => {
                    hits += 1;
                    assert!((distance(origin + direction * t) - radius).abs() < 1e-4);
                }
                None => assert!(closest > radius - 1e-4, "{closest}"),
            }
        }
        assert!(hits > 300, "{hits}");
    }
}
