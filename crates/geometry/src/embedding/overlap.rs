//! Overlap of a triangle and a tetrahedron.

use stiction_math::Vec3;

/// The smallest overlap of the two over all directions that can separate them [m]: negative if
/// they are apart, zero if they touch. Exact up to rounding as a test for overlap, since two
/// convex polyhedra are apart only if a face normal or a product of two edges separates them.
pub(super) fn depth(tet: &[Vec3; 4], triangle: &[Vec3; 3]) -> f64 {
    const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    const FACES: [[usize; 3]; 4] = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]];
    let mut least = f64::INFINITY;
    let scale = (tet[1] - tet[0]).norm_squared();
    let mut consider = |axis: Vec3| {
        let length = axis.norm();
        // Parallel edges give no direction; then another one decides.
        if length > 1e-12 * scale {
            let [a, b] = span(tet, &axis);
            let [c, d] = span(triangle, &axis);
            least = least.min((b - c).min(d - a) / length);
        }
        least < -1e-6 * scale.sqrt()
    };
    for [a, b, c] in FACES {
        if consider((tet[b] - tet[a]).cross(&(tet[c] - tet[a]))) {
            return least;
        }
    }
    let sides = [0, 1, 2].map(|k| triangle[(k + 1) % 3] - triangle[k]);
    if consider(sides[0].cross(&sides[1])) {
        return least;
    }
    for [a, b] in EDGES {
        for side in sides {
            if consider((tet[b] - tet[a]).cross(&side)) {
                return least;
            }
        }
    }
    least
}

fn span(points: &[Vec3], axis: &Vec3) -> [f64; 2] {
    points
        .iter()
        .map(|p| p.dot(axis))
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
            [low.min(x), high.max(x)]
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    const TET: [Vec3; 4] = [
        Vec3::new(0.0, 0.0, 0.0),
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
        Vec3::new(0.0, 0.0, 1.0),
    ];

    /// Samples the triangle densely: finds every overlap that is not tiny.
    fn sampled(triangle: &[Vec3; 3]) -> bool {
        let n = 60;
        (0..=n).any(|i| {
            (0..=n - i).any(|j| {
                let (s, t) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
                let [a, b, c] = triangle;
                let p = a + s * (b - a) + t * (c - a);
                p.min() >= 0.0 && p.sum() <= 1.0
            })
        })
    }

    #[test]
    fn agrees_with_sampling_on_random_triangles() {
        let mut random = SplitMix::new(1);
        let (mut hits, mut unclear) = (0, 0);
        for _ in 0..3000 {
            let mut point = || Vec3::from_fn(|_, _| 2.4 * random.uniform() - 0.7);
            let triangle = [point(), point(), point()];
            let depth = depth(&TET, &triangle);
            let hit = sampled(&triangle);
            if hit {
                assert!(depth >= -1e-12, "{triangle:?}");
                hits += 1;
            } else if depth > 0.0 {
                // Only shallow overlaps may slip between the samples.
                assert!(depth < 0.1, "{depth} {triangle:?}");
                unclear += 1;
            }
        }
        assert!(hits > 500 && unclear < 300, "{hits} {unclear}");
    }

    #[test]
    fn touching_is_neither_in_nor_out() {
        let on_face = [
            Vec3::new(0.2, 0.2, 0.0),
            Vec3::new(0.3, 0.2, 0.0),
            Vec3::new(0.2, 0.3, 0.0),
        ];
        assert!(depth(&TET, &on_face).abs() < 1e-15);
        let above = on_face.map(|p| p - Vec3::new(0.0, 0.0, 0.1));
        assert!((depth(&TET, &above) + 0.1).abs() < 1e-15);
        let within = on_face.map(|p| p + Vec3::new(0.0, 0.0, 0.1));
        assert!((depth(&TET, &within) - 0.1).abs() < 1e-12);
        let corner = [
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(1.0, 0.0, 2.0),
            Vec3::new(0.0, 1.0, 2.0),
        ];
        assert!(depth(&TET, &corner).abs() < 1e-15);
    }
}
