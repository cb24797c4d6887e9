//! The Jacobian of a step that is not a potential: sparse, not symmetric, and dense parts of rank
//! one beside it.

use std::sync::Arc;

use rayon::prelude::*;
use stiction_bodies::{Body, BodyKind, Model};
use stiction_math::{
    BlockError, BlockMatrix, BlockPattern, LinearOperator, Mat3, ScatterError, Vec3, reduce,
};

use crate::dynamics::split;

/// J = S + Σ w g gᵀ over all blocks of a model.
pub struct Jacobian {
    /// The sparse part S.
    pub matrix: BlockMatrix,
    /// The vectors g and weights w of enclosed volumes.
    ranks: Vec<(Vec<Vec3>, f64)>,
    /// The matrix of each deformable body on its own pattern, and the places of its entries in S.
    local: Vec<Option<(BlockMatrix, Vec<usize>)>>,
    /// The diagonal blocks before contact was added.
    diagonal: Vec<Mat3>,
    /// What else S has room for.
    cliques: Vec<Vec<u32>>,
}

impl Jacobian {
    /// Room for all of a model but contact.
    pub fn new(model: &Model) -> Result<Self, BlockError> {
        let n = model.blocks();
        let local = model.bodies.iter().map(|b| match &b.kind {
            BodyKind::Deformable(d) => Some((BlockMatrix::zeros(d.pattern.clone()), Vec::new())),
            BodyKind::Rigid(_) | BodyKind::Rods(_) => None,
        });
        let mut jacobian = Self {
            matrix: BlockMatrix::zeros(Arc::default()),
            ranks: vec![(vec![Vec3::zeros(); n], 0.0); model.volumes.len()],
            local: local.collect(),
            diagonal: vec![Mat3::zeros(); n],
            cliques: Vec::new(),
        };
        jacobian.lay_out(model, Vec::new())?;
        Ok(jacobian)
    }

    /// Makes room for `cliques` of blocks that touch. The pattern depends on the model and on them
    /// alone, not on what was there before, so that a resumed run has the same. Returns whether it
    /// changed.
    pub fn touch(&mut self, model: &Model, cliques: Vec<Vec<u32>>) -> Result<bool, BlockError> {
        if cliques == self.cliques {
            return Ok(false);
        }
        let old = Arc::clone(&self.matrix.pattern);
        self.lay_out(model, cliques)?;
        if *old == *self.matrix.pattern {
            self.matrix.pattern = old;
            return Ok(false);
        }
        Ok(true)
    }

    fn lay_out(&mut self, model: &Model, cliques: Vec<Vec<u32>>) -> Result<(), BlockError> {
        let mut all: Vec<Vec<u32>> = Vec::new();
        for body in &model.bodies {
            let first = body.blocks.start as u32;
            match &body.kind {
                BodyKind::Deformable(d) => {
                    for i in 0..d.pattern.n() {
                        let above = d.pattern.row(i).iter().filter(|j| **j > i as u32);
                        all.extend(above.map(|j| vec![first + i as u32, first + j]));
                    }
                }
                BodyKind::Rigid(_) => all.push(vec![first, first + 1]),
                // The method has refused rods.
                BodyKind::Rods(_) => {}
            }
        }
        for spring in &model.attachments {
            all.push(
                spring
                    .a
                    .blocks()
                    .into_iter()
                    .chain(spring.b.blocks())
                    .collect(),
            );
        }
        for volume in &model.volumes {
            all.extend(volume.cliques());
        }
        let every = all.iter().chain(&cliques).map(Vec::as_slice);
        let pattern = Arc::new(BlockPattern::from_cliques(model.blocks(), every)?);
        for (body, local) in model.bodies.iter().zip(&mut self.local) {
            let (Some((matrix, places)), first) = (local, body.blocks.start) else {
                continue;
            };
            let own = Arc::clone(&matrix.pattern);
            places.clear();
            for i in 0..own.n() {
                let row = own.row(i).iter();
                places.extend(row.filter_map(|&j| pattern.find(first + i, first + j as usize)));
            }
        }
        self.matrix = BlockMatrix::zeros(pattern);
        self.cliques = cliques;
        Ok(())
    }

    /// J ← 0.
    pub fn set_zero(&mut self) {
        self.matrix.set_zero();
        for (g, w) in &mut self.ranks {
            g.fill(Vec3::zeros());
            *w = 0.0;
        }
    }

    /// Adds `value` to block (i, j) of S.
    pub fn add(&mut self, i: usize, j: usize, value: &Mat3) -> Result<(), ScatterError> {
        Ok(self.matrix.add(i, j, value)?)
    }

    /// Adds what `f` writes into each deformable body's own matrix; `f` gets the body's number, the
    /// body, its part of `scratch` and the matrix.
    pub fn add_bodies(
        &mut self,
        model: &Model,
        scratch: &mut [Vec3],
        f: impl Fn(usize, &Body, &mut [Vec3], &mut BlockMatrix) -> Result<(), ScatterError> + Sync,
    ) -> Result<(), ScatterError> {
        let slices = split(scratch, &model.bodies);
        let bodies = self.local.par_iter_mut().zip(&model.bodies).zip(slices);
        bodies
            .enumerate()
            .try_for_each(|(b, ((local, body), g))| match local {
                Some((matrix, _)) => {
                    matrix.set_zero();
                    f(b, body, g, matrix)
                }
                None => Ok(()),
            })?;
        for (matrix, places) in self.local.iter().flatten() {
            for (value, &at) in matrix.values.iter().zip(places) {
                self.matrix.values[at] += value;
            }
        }
        Ok(())
    }

    /// The vector g of rank-one part `k`, to be filled, with its weight set.
    pub fn rank_one(&mut self, k: usize, weight: f64) -> &mut [Vec3] {
        self.ranks[k].1 = weight;
        &mut self.ranks[k].0
    }

    /// Remembers the diagonal blocks as they are now.
    pub fn keep_diagonal(&mut self) {
        for (i, block) in self.diagonal.iter_mut().enumerate() {
            *block = self.matrix.diagonal(i);
        }
    }

    /// The diagonal blocks that were kept [kg, kg·m²].
    pub fn diagonal(&self) -> &[Mat3] {
        &self.diagonal
    }

    /// The rank-one parts: vectors and weights.
    pub fn ranks(&self) -> &[(Vec<Vec3>, f64)] {
        &self.ranks
    }

    /// Takes the blocks marked in `fixed` out of the system.
    pub fn eliminate(&mut self, fixed: &[bool]) {
        self.matrix.eliminate(fixed, 1.0);
        for (g, _) in &mut self.ranks {
            for (g, fixed) in g.iter_mut().zip(fixed) {
                if *fixed {
                    *g = Vec3::zeros();
                }
            }
        }
    }
}

impl LinearOperator for Jacobian {
    fn len(&self) -> usize {
        self.matrix.n()
    }

    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.matrix.apply(x, y);
        for (g, w) in &self.ranks {
            reduce::axpy(w * reduce::dot(g, x), g, y);
        }
    }
}
