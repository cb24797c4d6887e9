//! The body-centred cubic lattice: numbering, and which tetrahedron holds a point.

use std::ops::Range;

use stiction_math::Vec3;

use crate::bounds::Aabb;
use crate::mesh::unit_or_zero;

/// A block of cubes. Nodes are numbered from 0: first all corners, then all centres, x fastest.
#[derive(Clone, Debug)]
pub(super) struct Bcc {
    origin: Vec3,
    h: f64,
    cells: [u64; 3],
}

/// One of the four tetrahedra around the face between a cube and the next one along `axis`: the
/// two cube centres and one edge of the face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tet {
    cube: [u64; 3],
    axis: usize,
    edge: usize,
}

/// Corners of a face, counter-clockwise about its axis, along the two following axes.
const FACE: [[u64; 2]; 4] = [[1, 0], [1, 1], [0, 1], [0, 0]];

impl Bcc {
    /// Cubes along each axis to cover a box with a margin of one and a half cubes, so that no
    /// tetrahedron that meets the box reaches out of the lattice. If the box is a whole number
    /// of cubes long, its faces run through the middle of cubes and not along lattice planes.
    pub fn cells_over(bounds: &Aabb, h: f64) -> [f64; 3] {
        let e = bounds.extent();
        [e.x, e.y, e.z].map(|l| (l / h).ceil() + 3.0)
    }

    pub fn over(bounds: &Aabb, h: f64) -> Self {
        let cells = Self::cells_over(bounds, h);
        let half = 0.5 * h * Vec3::from(cells);
        Bcc {
            origin: bounds.centre() - half,
            h,
            cells: cells.map(|n| n as u64),
        }
    }

    pub fn cell_size(&self) -> f64 {
        self.h
    }

    pub fn cube_count(&self) -> usize {
        self.cells.iter().product::<u64>() as usize
    }

    pub fn node_count(&self) -> u64 {
        self.corner_count() + self.cells.iter().product::<u64>()
    }

    /// The cubes of each row along x.
    pub fn rows(&self) -> Vec<Range<usize>> {
        let n = self.cells[0] as usize;
        (0..self.cube_count() / n)
            .map(|r| r * n..(r + 1) * n)
            .collect()
    }

    /// The centre of a cube in the row that starts at cube `start`.
    pub fn cube_centre(&self, cube: usize, start: usize) -> Vec3 {
        let row = self.cube_at(start as u64);
        let at = [(cube - start) as u64, row[1], row[2]];
        self.lattice_point(at, 0.5)
    }

    /// The twelve tetrahedra on the upper faces of a cube, as far as there is a cube beyond.
    pub fn tets_of_cube(&self, cube: u64) -> Vec<Tet> {
        let cube = self.cube_at(cube);
        let mut tets = Vec::with_capacity(12);
        for axis in 0..3 {
            if cube[axis] + 1 < self.cells[axis] {
                tets.extend((0..4).map(|edge| Tet { cube, axis, edge }));
            }
        }
        tets
    }

    /// All tetrahedra near a triangle, which must lie in the lattice: those whose bounding box
    /// meets the triangle's and whose cube comes close to its plane. The second condition saves
    /// most of the work for a triangle that is large compared to the cells.
    pub fn tets_near(&self, triangle: &[Vec3; 3]) -> Vec<Tet> {
        let [x, y, z] = triangle;
        let reach = Aabb {
            min: x.inf(y).inf(z),
            max: x.sup(y).sup(z),
        };
        let normal = unit_or_zero((y - x).cross(&(z - x)));
        let low = self.cube_around(&reach.min);
        let high = self.cube_around(&reach.max);
        let slack = 1e-6 * self.h;
        let mut tets = Vec::new();
        for k in low[2] - 1..=high[2] {
            for j in low[1] - 1..=high[1] {
                for i in low[0] - 1..=high[0] {
                    let cube = [i, j, k];
                    // No tetrahedron reaches farther than h from the centre of its cube.
                    let offset = self.lattice_point(cube, 0.5) - x;
                    if offset.dot(&normal).abs() > self.h + slack {
                        continue;
                    }
                    for axis in 0..3 {
                        for edge in 0..4 {
                            let tet = Tet { cube, axis, edge };
                            let [a, b, c, d] = self.corners(&tet);
                            let own = Aabb {
                                min: a.inf(&b).inf(&c).inf(&d).add_scalar(-slack),
                                max: a.sup(&b).sup(&c).sup(&d).add_scalar(slack),
                            };
                            if own.overlaps(&reach) {
                                tets.push(tet);
                            }
                        }
                    }
                }
            }
        }
        tets
    }

    pub fn id(&self, tet: &Tet) -> u64 {
        (self.cube_index(&tet.cube) * 3 + tet.axis as u64) * 4 + tet.edge as u64
    }

    pub fn tet(&self, id: u64) -> Tet {
        Tet {
            cube: self.cube_at(id / 12),
            axis: (id / 4 % 3) as usize,
            edge: (id % 4) as usize,
        }
    }

    /// The two cubes that a tetrahedron lies in.
    pub fn cubes_of(&self, tet: &Tet) -> [usize; 2] {
        [tet.cube, next(tet)].map(|c| self.cube_index(&c) as usize)
    }

    /// Node numbers: the lower centre, the upper centre, and the two ends of the edge.
    pub fn nodes(&self, tet: &Tet) -> [u64; 4] {
        let centre = |c: &[u64; 3]| self.corner_count() + self.cube_index(c);
        let corner = |[i, j, k]: [u64; 3]| {
            let [nx, ny, _] = self.cells;
            (k * (ny + 1) + j) * (nx + 1) + i
        };
        let [p, q] = edge_ends(tet);
        [centre(&tet.cube), centre(&next(tet)), corner(p), corner(q)]
    }

    /// Node positions in the order of [`Bcc::nodes`].
    pub fn corners(&self, tet: &Tet) -> [Vec3; 4] {
        let [p, q] = edge_ends(tet);
        [
            self.lattice_point(tet.cube, 0.5),
            self.lattice_point(next(tet), 0.5),
            self.lattice_point(p, 0.0),
            self.lattice_point(q, 0.0),
        ]
    }

    pub fn position(&self, node: u64) -> Vec3 {
        match node.checked_sub(self.corner_count()) {
            Some(cube) => self.lattice_point(self.cube_at(cube), 0.5),
            None => {
                let [nx, ny, _] = self.cells.map(|n| n + 1);
                let at = [node % nx, node / nx % ny, node / (nx * ny)];
                self.lattice_point(at, 0.0)
            }
        }
    }

    /// The tetrahedron around a point, and the point's barycentric weights in it.
    ///
    /// Relative to the nearest cube centre, in units of h, let α ≥ β be the two largest
    /// coordinates by magnitude and γ the third. Then the neighbouring centre lies along the
    /// axis of α, the edge on the side of β, and the weights are 1 − α − β for the near centre,
    /// α − β for the far one and β ± γ for the ends of the edge.
    pub fn locate(&self, p: &Vec3) -> (Tet, [f64; 4]) {
        let cube = self.cube_around(p);
        let f = (p - self.lattice_point(cube, 0.5)) / self.h;
        let axis = f.iamax();
        let (b, g) = ((axis + 1) % 3, (axis + 2) % 3);
        let edge = match f[b].abs() >= f[g].abs() {
            true if f[b] >= 0.0 => 0,
            true => 2,
            false if f[g] >= 0.0 => 1,
            false => 3,
        };
        let (side, along) = if edge % 2 == 0 { (b, g) } else { (g, b) };
        let upwards = f[axis] >= 0.0;
        let mut lower = cube;
        if !upwards {
            lower[axis] -= 1;
        }
        let (alpha, beta) = (f[axis].abs(), f[side].abs());
        // From the first to the second end, edges 0 and 3 run upwards, 1 and 2 downwards.
        let gamma = if edge == 0 || edge == 3 {
            f[along]
        } else {
            -f[along]
        };
        let (near, far) = (1.0 - alpha - beta, alpha - beta);
        let [low, high] = if upwards { [near, far] } else { [far, near] };
        let tet = Tet {
            cube: lower,
            axis,
            edge,
        };
        (tet, [low, high, beta - gamma, beta + gamma])
    }

    fn cube_around(&self, p: &Vec3) -> [u64; 3] {
        let u = (p - self.origin) / self.h;
        [u.x, u.y, u.z].map(|x| x.floor() as u64)
    }

    fn lattice_point(&self, at: [u64; 3], shift: f64) -> Vec3 {
        self.origin + self.h * Vec3::from(at.map(|c| c as f64 + shift))
    }

    fn cube_index(&self, [i, j, k]: &[u64; 3]) -> u64 {
        (k * self.cells[1] + j) * self.cells[0] + i
    }

    fn cube_at(&self, index: u64) -> [u64; 3] {
        let [nx, ny, _] = self.cells;
        [index % nx, index / nx % ny, index / (nx * ny)]
    }

    fn corner_count(&self) -> u64 {
        self.cells.iter().map(|n| n + 1).product()
    }
}

fn next(tet: &Tet) -> [u64; 3] {
    let mut cube = tet.cube;
    cube[tet.axis] += 1;
    cube
}

fn edge_ends(tet: &Tet) -> [[u64; 3]; 2] {
    let (b, g) = ((tet.axis + 1) % 3, (tet.axis + 2) % 3);
    [tet.edge, (tet.edge + 1) % 4].map(|c| {
        let mut at = next(tet);
        at[b] += FACE[c][0];
        at[g] += FACE[c][1];
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    fn lattice() -> (Bcc, Aabb) {
        let bounds = Aabb {
            min: Vec3::new(-1.0, 2.0, 0.5),
            max: Vec3::new(1.0, 3.3, 1.1),
        };
        (Bcc::over(&bounds, 0.31), bounds)
    }

    #[test]
    fn tetrahedra_are_congruent_and_fill_the_cubes() {
        let (bcc, _) = lattice();
        for cube in 0..bcc.cube_count() as u64 {
            for tet in bcc.tets_of_cube(cube) {
                let [a, b, c, d] = bcc.corners(&tet);
                let volume = (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
                assert!((volume - 0.31_f64.powi(3) / 12.0).abs() < 1e-14);
                assert_eq!(bcc.tet(bcc.id(&tet)), tet);
                assert_eq!(bcc.nodes(&tet).map(|n| bcc.position(n)), [a, b, c, d]);
                let [low, high] = crate::quality::dihedral_range(&[a, b, c, d]);
                assert!((low.to_degrees() - 60.0).abs() < 1e-9);
                assert!((high.to_degrees() - 90.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn located_points_are_reproduced_with_proper_weights() {
        let (bcc, bounds) = lattice();
        let mut random = SplitMix::new(3);
        let points = (0..3000).map(|_| {
            let u = Vec3::from_fn(|_, _| random.uniform());
            bounds.min + u.component_mul(&bounds.extent())
        });
        // Lattice nodes and edge midpoints are the hard cases.
        let cubes = 0..bcc.cube_count() as u64;
        let nodes = cubes.flat_map(|c| bcc.tets_of_cube(c)).flat_map(|t| {
            let [a, b, c, d] = bcc.corners(&t);
            [a, 0.5 * (a + b), 0.5 * (c + d), 0.5 * (a + c)]
        });
        let nodes = nodes.filter(|p| bounds.contains(p)).collect::<Vec<_>>();
        for p in points.chain(nodes) {
            let (tet, w) = bcc.locate(&p);
            assert!(w.iter().all(|w| *w >= -1e-12), "{p} {w:?}");
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-15);
            let terms = bcc.corners(&tet).into_iter().zip(w);
            let back: Vec3 = terms.map(|(x, w)| w * x).sum();
            assert!((back - p).norm() < 1e-13);
        }
    }

    #[test]
    fn near_tetrahedra_include_every_one_that_holds_a_point_of_the_triangle() {
        let (bcc, bounds) = lattice();
        let mut random = SplitMix::new(8);
        for _ in 0..50 {
            let mut point = || {
                let u = Vec3::from_fn(|_, _| random.uniform());
                bounds.min + u.component_mul(&bounds.extent())
            };
            let [x, y, z] = [point(), point(), point()];
            let near = bcc.tets_near(&[x, y, z]);
            for _ in 0..50 {
                let (s, t) = (random.uniform(), random.uniform());
                let p = x + s * (1.0 - t) * (y - x) + s * t * (z - x);
                assert!(near.contains(&bcc.locate(&p).0));
            }
        }
    }
}
