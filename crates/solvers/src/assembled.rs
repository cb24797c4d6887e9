//! The matrix A + Bᵀ G B, assembled: that of Newton's method on the velocities, for G = −∂r/∂u.

use std::sync::Arc;

use stiction_contact::FrictionProblem;
use stiction_math::{BlockError, BlockMatrix, BlockPattern, Mat3};

/// A + Bᵀ G B of one problem. The pattern includes the contacts that were closed so far: most
/// of those that detection reports stay open, and would only make the matrix larger.
pub(crate) struct Assembled {
    /// A alone.
    plain: BlockMatrix,
    /// A + Bᵀ G B.
    sum: BlockMatrix,
    /// Contacts in the pattern.
    closed: Vec<bool>,
    /// Positions of the blocks of each contact's clique, row by row.
    places: Vec<usize>,
    /// The first of `places` of each contact.
    start: Vec<usize>,
}

impl Assembled {
    /// Builds the pattern for the contacts marked in `closed`.
    pub fn new(problem: &FrictionProblem, closed: Vec<bool>) -> Result<Self, BlockError> {
        let set = &problem.contacts;
        let nodes = |c: usize| &set.nodes[set.start[c] as usize..set.start[c + 1] as usize];
        let pairs = problem.a.block_pairs();
        let stencils = (0..set.len()).filter(|&c| closed[c]).map(nodes);
        let cliques = pairs.iter().map(|p| &p[..]).chain(stencils);
        let pattern = Arc::new(BlockPattern::from_cliques(problem.blocks(), cliques)?);
        let mut plain = BlockMatrix::zeros(Arc::clone(&pattern));
        gather(problem, &mut plain)?;
        let mut places = Vec::new();
        let mut start = vec![0];
        for (c, &closed) in closed.iter().enumerate() {
            for &i in nodes(c).iter().filter(|_| closed) {
                for &j in nodes(c) {
                    let (row, col) = (i as usize, j as usize);
                    let place = pattern.find(row, col);
                    places.push(place.ok_or(BlockError::Missing { row, col })?);
                }
            }
            start.push(places.len());
        }
        Ok(Self {
            sum: plain.clone(),
            plain,
            closed,
            places,
            start,
        })
    }

    /// The sum.
    pub fn matrix(&self) -> &BlockMatrix {
        &self.sum
    }

    /// Assembles the sum with the given G [kg], one per contact. Returns whether the pattern has grown.
    pub fn update(&mut self, problem: &FrictionProblem, g: &[Mat3]) -> Result<bool, BlockError> {
        let acts = |g: &Mat3| *g != Mat3::zeros();
        let listed = || g.iter().zip(&self.closed);
        let grows = listed().any(|(g, &listed)| acts(g) && !listed);
        if grows {
            let both = listed().map(|(g, &listed)| listed || acts(g)).collect();
            *self = Self::new(problem, both)?;
        }
        self.sum.values.copy_from_slice(&self.plain.values);
        let mut row: Vec<Mat3> = Vec::new();
        for (c, g) in g.iter().enumerate().filter(|(_, g)| acts(g)) {
            row.clear();
            row.extend(problem.contacts.entries(c).map(|e| e.matrix()));
            let mut places = self.places[self.start[c]..self.start[c + 1]].iter();
            for left in &row {
                let half = left.tr_mul(g);
                for (right, &place) in row.iter().zip(&mut places) {
                    self.sum.values[place] += half * right;
                }
            }
        }
        Ok(grows)
    }
}

/// Copies A with its couplings into one matrix.
fn gather(problem: &FrictionProblem, all: &mut BlockMatrix) -> Result<(), BlockError> {
    let mut gathered = Ok(());
    problem.a.for_each_block(|i, j, block| {
        if gathered.is_ok() {
            gathered = all.add(i, j, block);
        }
    });
    gathered
}
