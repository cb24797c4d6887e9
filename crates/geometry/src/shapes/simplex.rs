//! Regular subdivision of a coarse complex of triangles or tetrahedra.
//!
//! Every edge of the complex is cut into n parts. A vertex of the result is a set of integer
//! weights, summing to n, on the vertices of one coarse simplex; the caller maps these to
//! space. Vertices on shared faces are found by sorting the weights.

use stiction_math::Vec3;

/// Up to four coarse vertices with their positive weights, ascending by vertex; the rest is
/// [`UNUSED`].
pub(super) type Weights = [(u32, u32); 4];
const UNUSED: (u32, u32) = (u32::MAX, 0);

/// Vertices of the subdivision of a complex with the given numbers of vertices, edges,
/// triangles and tetrahedra.
pub(super) fn subdivision_nodes(counts: [u32; 4], n: u32) -> u128 {
    let n = i128::from(n);
    let inner = [
        1,
        n - 1,
        (n - 1) * (n - 2) / 2,
        (n - 1) * (n - 2) * (n - 3) / 6,
    ];
    let sum: i128 = (0..4).map(|k| i128::from(counts[k]) * inner[k]).sum();
    sum.unsigned_abs()
}

/// Each triangle becomes n² triangles of the same orientation.
pub(super) fn subdivide_triangles(
    coarse: &[[u32; 3]],
    n: u32,
    place: impl Fn(&[(u32, u32)]) -> Vec3,
) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    // A triangle is the face k = 0 of a tetrahedron whose last vertex never gets weight.
    let lattice = Lattice::new(coarse.iter().map(|&[a, b, c]| [a, b, c, a]), n, 0);
    let mut triangles = Vec::new();
    for s in 0..coarse.len() {
        for j in 0..n {
            for i in 0..n - j {
                let at = |di, dj| lattice.node(s, [i + di, j + dj, 0]);
                triangles.push([at(0, 0), at(1, 0), at(0, 1)]);
                if i + j + 2 <= n {
                    triangles.push([at(1, 0), at(1, 1), at(0, 1)]);
                }
            }
        }
    }
    (lattice.place(place), triangles)
}

/// Each tetrahedron becomes n³ tetrahedra of the same orientation. Inner octahedra are cut
/// along their shortest diagonal.
pub(super) fn subdivide_tets(
    coarse: &[[u32; 4]],
    n: u32,
    place: impl Fn(&[(u32, u32)]) -> Vec3,
) -> (Vec<Vec3>, Vec<[u32; 4]>, Vec<Weights>) {
    let lattice = Lattice::new(coarse.iter().copied(), n, n);
    let positions = lattice.place(place);
    let mut tets = Vec::with_capacity(coarse.len() * (n as usize).pow(3));
    for s in 0..coarse.len() {
        let mut push = |corners: [[u32; 3]; 4]| {
            let mut tet = corners.map(|p| lattice.node(s, p));
            if determinant(&corners) < 0 {
                tet.swap(2, 3);
            }
            tets.push(tet);
        };
        for p in lattice.points() {
            let sum: u32 = p.iter().sum();
            let to = |i, j, k| [p[0] + i, p[1] + j, p[2] + k];
            if sum < n {
                push([p, to(1, 0, 0), to(0, 1, 0), to(0, 0, 1)]);
            }
            if sum + 2 <= n {
                let pairs = [
                    [to(1, 0, 0), to(0, 1, 1)],
                    [to(0, 1, 0), to(1, 0, 1)],
                    [to(0, 0, 1), to(1, 1, 0)],
                ];
                let length = |pair: &[[u32; 3]; 2]| {
                    let [a, b] = pair.map(|q| positions[lattice.node(s, q) as usize]);
                    (a - b).norm_squared()
                };
                let mut best = 0;
                for k in 1..3 {
                    // The margin keeps rounding from choosing between equal diagonals.
                    if length(&pairs[k]) < (1.0 - 1e-9) * length(&pairs[best]) {
                        best = k;
                    }
                }
                let [d0, d1] = pairs[best];
                let [q, r] = [pairs[(best + 1) % 3], pairs[(best + 2) % 3]];
                for (a, b) in [(q[0], r[0]), (r[0], q[1]), (q[1], r[1]), (r[1], q[0])] {
                    push([d0, d1, a, b]);
                }
            }
            if sum + 3 <= n {
                push([to(1, 1, 0), to(1, 0, 1), to(0, 1, 1), to(1, 1, 1)]);
            }
        }
    }
    (positions, tets, lattice.nodes)
}

/// The sign of the volume in lattice coordinates.
pub(super) fn determinant(x: &[[u32; 3]; 4]) -> i64 {
    let d = |k: usize, axis: usize| i64::from(x[k][axis]) - i64::from(x[0][axis]);
    let minor = |a: usize, b: usize| d(2, a) * d(3, b) - d(2, b) * d(3, a);
    d(1, 0) * minor(1, 2) + d(1, 1) * minor(2, 0) + d(1, 2) * minor(0, 1)
}

struct Lattice {
    n: u32,
    depth: u32,
    /// Distinct vertices, sorted.
    nodes: Vec<Weights>,
    /// Lattice points of simplex 0, then 1, …; each in the order of [`Lattice::points`].
    ids: Vec<u32>,
    per_simplex: usize,
}

impl Lattice {
    /// `depth` bounds the third coordinate: n for tetrahedra, 0 for triangles.
    fn new(simplices: impl Iterator<Item = [u32; 4]>, n: u32, depth: u32) -> Self {
        let mut lattice = Lattice {
            n,
            depth,
            nodes: Vec::new(),
            ids: Vec::new(),
            per_simplex: 0,
        };
        let points: Vec<[u32; 3]> = lattice.points().collect();
        lattice.per_simplex = points.len();
        let mut keyed: Vec<(Weights, u32)> = Vec::new();
        for simplex in simplices {
            for [i, j, k] in &points {
                let weights = [n - i - j - k, *i, *j, *k];
                let mut key = [UNUSED; 4];
                for (slot, pair) in key.iter_mut().zip(simplex.into_iter().zip(weights)) {
                    if pair.1 > 0 {
                        *slot = pair;
                    }
                }
                key.sort_unstable();
                keyed.push((key, keyed.len() as u32));
            }
        }
        lattice.ids = vec![0; keyed.len()];
        keyed.sort_unstable();
        for (key, place) in keyed {
            if lattice.nodes.last() != Some(&key) {
                lattice.nodes.push(key);
            }
            lattice.ids[place as usize] = lattice.nodes.len() as u32 - 1;
        }
        lattice
    }

    fn points(&self) -> impl Iterator<Item = [u32; 3]> + use<> {
        let (n, depth) = (self.n, self.depth);
        (0..=depth).flat_map(move |k| {
            (0..=n - k).flat_map(move |j| (0..=n - k - j).map(move |i| [i, j, k]))
        })
    }

    fn node(&self, simplex: usize, [i, j, k]: [u32; 3]) -> u32 {
        // Points before layer k, then before row j of a triangle with m = n − k cells a side.
        let (n, i, j, k) = (u64::from(self.n), u64::from(i), u64::from(j), u64::from(k));
        let tetrahedral = |m: u64| m * (m + 1) * (m + 2) / 6;
        let before_layer = tetrahedral(n + 1) - tetrahedral(n + 1 - k);
        let m = n - k;
        let before_row = j * (m + 1) - j * j.saturating_sub(1) / 2;
        let local = (before_layer + before_row + i) as usize;
        self.ids[simplex * self.per_simplex + local]
    }

    fn place(&self, place: impl Fn(&[(u32, u32)]) -> Vec3) -> Vec<Vec3> {
        let used = |w: &Weights| w.partition_point(|pair| *pair != UNUSED);
        self.nodes.iter().map(|w| place(&w[..used(w)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subdivided_tetrahedron_has_the_known_counts_and_equal_volumes() {
        let corner = |id: u32| match id {
            0 => Vec3::zeros(),
            k => Vec3::ith(k as usize - 1, 1.0),
        };
        for n in 1..7 {
            let place = |w: &[(u32, u32)]| -> Vec3 {
                let sum = w.iter().map(|(id, w)| corner(*id) * f64::from(*w));
                sum.sum::<Vec3>() / f64::from(n)
            };
            let (positions, tets, _) = subdivide_tets(&[[0, 1, 2, 3]], n, place);
            let cells = n as usize;
            assert_eq!(tets.len(), cells.pow(3));
            assert_eq!(positions.len(), (cells + 1) * (cells + 2) * (cells + 3) / 6);
            assert_eq!(subdivision_nodes([4, 6, 4, 1], n), positions.len() as u128);
            let mesh = crate::TetMesh { positions, tets };
            for t in 0..mesh.tets.len() {
                let exact = 1.0 / 6.0 / f64::from(n).powi(3);
                assert!((mesh.tet_volume(t) - exact).abs() < 1e-12 * exact.max(1e-3));
            }
        }
    }
}
