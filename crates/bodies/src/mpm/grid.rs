//! The background grid of one step: its nodes, and the points sorted by cells.

use std::sync::Arc;

use stiction_math::{BlockPattern, Mat3, Scatter, ScatterError, Vec3};

use super::kernel::{Kernel, NodeKey, SUPPORT, support};

/// A sparse grid: the nodes that points see, and no others.
///
/// Points with the same first node form a *cell*. GridCells and nodes are sorted by their place, points in a
/// cell by their number, so that every sum has one order.
#[derive(Clone, Debug)]
pub struct StepGrid {
    /// Size of a cell [m].
    pub cell: f64,
    /// Positions of the nodes at the start of the step [m].
    pub nodes: Vec<Vec3>,
    /// Mass of each node [kg].
    pub mass: Vec<f64>,
    /// The kernel of every point.
    pub kernels: Vec<Kernel>,
    /// The points, cell by cell.
    pub order: Vec<u32>,
    /// The first place in `order` of every cell, and the number of points at the end.
    pub first: Vec<u32>,
    /// The cell of every point.
    pub of: Vec<u32>,
    /// Nodes of the cells, their colours and their places in the matrix.
    pub scatter: Scatter<SUPPORT>,
    /// Sparsity of the matrix.
    pub pattern: Arc<BlockPattern>,
}

/// A point as it is transferred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointMotion {
    /// Position [m].
    pub x: Vec3,
    /// Velocity [m/s].
    pub v: Vec3,
    /// Its affine part C [1/s]: the velocity at x + d is v + C d.
    pub affine: Mat3,
}

impl StepGrid {
    /// The grid that the points at `x` [m] see.
    pub fn new(x: impl ExactSizeIterator<Item = Vec3>, cell: f64) -> Result<Self, ScatterError> {
        let kernels: Vec<Kernel> = x.map(|x| Kernel::new(&x, cell)).collect();
        let mut order: Vec<u32> = (0..kernels.len() as u32).collect();
        order.sort_unstable_by_key(|&p| (kernels[p as usize].base, p));
        let base = |k: usize| kernels[order[k] as usize].base;
        let begins = |k: &usize| *k == 0 || base(*k) != base(*k - 1);
        let mut first: Vec<u32> = (0..order.len()).filter(begins).map(|k| k as u32).collect();
        let cells: Vec<NodeKey> = first.iter().map(|&k| base(k as usize)).collect();
        first.push(order.len() as u32);
        let mut of = vec![0; order.len()];
        for (c, range) in first.windows(2).enumerate() {
            for &p in &order[range[0] as usize..range[1] as usize] {
                of[p as usize] = c as u32;
            }
        }

        let mut keys: Vec<NodeKey> = cells.iter().flat_map(support).collect();
        keys.sort_unstable();
        keys.dedup();
        let number = |key: &NodeKey| keys.partition_point(|k| k < key) as u32;
        let supports: Vec<[u32; SUPPORT]> = cells
            .iter()
            .map(|base| support(base).map(|key| number(&key)))
            .collect();
        let cliques = supports.iter().map(|nodes| nodes.as_slice());
        let pattern = Arc::new(BlockPattern::from_cliques(keys.len(), cliques)?);
        let scatter = Scatter::new(keys.len(), &supports)?.with_pattern(Arc::clone(&pattern))?;
        let place = |key: &NodeKey| Vec3::from_fn(|axis, _| key[axis] as f64 * cell);
        Ok(Self {
            cell,
            mass: vec![0.0; keys.len()],
            nodes: keys.iter().map(place).collect(),
            kernels,
            order,
            first,
            of,
            scatter,
            pattern,
        })
    }

    /// The points of cell `c`.
    pub fn points(&self, c: usize) -> &[u32] {
        &self.order[self.first[c] as usize..self.first[c + 1] as usize]
    }

    /// The nodes that point `p` sees.
    pub fn support(&self, p: usize) -> &[u32; SUPPORT] {
        &self.scatter.nodes()[self.of[p] as usize]
    }

    /// Transfers points of `mass` [kg] to the grid; returns the velocities of the nodes [m/s].
    ///
    /// Affine transfers [jiang2015]: mᵢ vᵢ = Σ wᵢ m (v + C (xᵢ − x)). Mass, momentum and angular momentum are
    /// those of the points, rotation in C included.
    pub fn to_nodes(
        &mut self,
        mass: f64,
        point: impl Fn(usize) -> PointMotion + Sync,
    ) -> Result<Vec<Vec3>, ScatterError> {
        let mut masses = vec![0.0; self.nodes.len()];
        let mut velocities = vec![Vec3::zeros(); self.nodes.len()];
        let (kernels, nodes) = (&self.kernels, &self.nodes);
        self.scatter.add_to_nodes(&mut masses, |c| {
            let mut sums = [0.0; SUPPORT];
            for &p in self.points(c) {
                for (a, sum) in sums.iter_mut().enumerate() {
                    *sum += mass * kernels[p as usize].weight(a);
                }
            }
            (0.0, sums)
        })?;
        self.scatter.add_to_nodes(&mut velocities, |c| {
            let mut sums = [Vec3::zeros(); SUPPORT];
            for &p in self.points(c) {
                let own = point(p as usize);
                let support = self.support(p as usize);
                for (a, sum) in sums.iter_mut().enumerate() {
                    let w = mass * kernels[p as usize].weight(a);
                    let from = nodes[support[a] as usize] - own.x;
                    *sum += (own.v + own.affine * from) * w;
                }
            }
            (0.0, sums)
        })?;
        for (v, m) in velocities.iter_mut().zip(&masses) {
            *v /= *m;
        }
        self.mass = masses;
        Ok(velocities)
    }

    /// Transfers nodes at `x` [m] with velocities `v` [m/s] to point `p`, which began the step at `from` [m].
    pub fn to_point(&self, p: usize, from: &Vec3, x: &[Vec3], v: &[Vec3]) -> PointMotion {
        let kernel = &self.kernels[p];
        let mut motion = PointMotion {
            x: Vec3::zeros(),
            v: Vec3::zeros(),
            affine: Mat3::zeros(),
        };
        // Displacements are summed, not positions: what does not move stays where it is, to the last bit.
        for (a, &i) in self.support(p).iter().enumerate() {
            let (i, w) = (i as usize, kernel.weight(a));
            motion.x += (x[i] - self.nodes[i]) * w;
            motion.v += v[i] * w;
            motion.affine += v[i] * (self.nodes[i] - from).transpose() * w;
        }
        motion.x += from;
        motion.affine *= 4.0 / (self.cell * self.cell);
        motion
    }

    /// Change of the deformation gradient of point `p` over the step, Σ xᵢ ⊗ ∇wᵢ, with nodes at `x` [m] in the order
    /// of its support.
    pub fn strain(&self, p: usize, x: &[Vec3; SUPPORT]) -> Mat3 {
        let kernel = &self.kernels[p];
        let mut f = Mat3::identity();
        for (a, &i) in self.support(p).iter().enumerate() {
            f += (x[a] - self.nodes[i as usize]) * kernel.gradient(a).transpose();
        }
        f
    }
}
