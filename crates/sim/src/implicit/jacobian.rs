//! The Jacobian of a stage: a sparse unsymmetric matrix plus dense parts of rank one.

use std::sync::Arc;

use stiction_bodies::{Body, Model};
use stiction_math::{
    BlockError, BlockMatrix, BlockPattern, LinearOperator, Mat3, MatrixPart, ScatterError, Vec3,
    parallel, reduce,
};

use crate::forces::split;

/// J = S + Σ w g gᵀ over all blocks of a model.
pub struct Jacobian {
    /// The sparse part S.
    pub matrix: BlockMatrix,
    /// The vectors g and weights w of enclosed volumes.
    ranks: Vec<(Vec<Vec3>, f64)>,
    /// The matrix of each body in its own form.
    local: Vec<Local>,
    /// The diagonal blocks before contact was added.
    diagonal: Vec<Mat3>,
    /// Cliques of blocks that contacts couple.
    cliques: Vec<Vec<u32>>,
}

/// The matrix of one body.
struct Local {
    part: MatrixPart,
    /// The blocks that it stores, in its own numbering; empty for a sparse part, whose pattern has
    /// them.
    stored: Vec<[u32; 2]>,
    /// Their places in S.
    places: Vec<usize>,
}

impl Jacobian {
    /// A zero matrix with the sparsity of all forces of a model but contact.
    pub fn new(model: &Model) -> Result<Self, BlockError> {
        let n = model.blocks();
        let local = model.bodies.iter().map(|b| Local {
            part: MatrixPart::zeros(b.kind.mechanics().part()),
            stored: Vec::new(),
            places: Vec::new(),
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

    /// Extends the sparsity by `cliques` of blocks that contacts couple. The pattern depends on the
    /// model and on them alone, not on earlier patterns, so that a resumed run has the same. Returns
    /// whether it changed.
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
        let parts = self.local.iter().map(|local| local.part.stored_blocks());
        let stored: Vec<Vec<[u32; 2]>> = parts.collect();
        for (body, stored) in model.bodies.iter().zip(&stored) {
            let first = body.blocks.start as u32;
            let above = stored.iter().filter(|[i, j]| i < j);
            all.extend(above.map(|[i, j]| vec![first + i, first + j]));
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
        let bodies = model.bodies.iter().zip(&mut self.local).zip(stored);
        for ((body, local), stored) in bodies {
            let first = body.blocks.start;
            let blocks = stored.iter().map(|b| b.map(|b| first + b as usize));
            local.places.clear();
            local
                .places
                .extend(blocks.filter_map(|[i, j]| pattern.find(i, j)));
            local.stored = match local.part {
                MatrixPart::Sparse(_) => Vec::new(),
                _ => stored,
            };
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

    /// Adds what `f` writes into each body's own matrix; `f` gets the body's number, the body, its
    /// slice of `scratch` and the matrix.
    pub fn add_bodies(
        &mut self,
        model: &Model,
        scratch: &mut [Vec3],
        f: impl Fn(usize, &Body, &mut [Vec3], &mut MatrixPart) -> Result<(), ScatterError> + Sync,
    ) -> Result<(), ScatterError> {
        let slices = split(scratch, &model.bodies);
        let mut bodies: Vec<_> = self.local.iter_mut().zip(slices).collect();
        let done = parallel::map_chunks_mut(&mut bodies, 1, |b, both| {
            let (local, g) = &mut both[0];
            local.part.set_zero();
            f(b, &model.bodies[b], g, &mut local.part)
        });
        done.into_iter().collect::<Result<(), _>>()?;
        let values = &mut self.matrix.values;
        for local in &self.local {
            let Local {
                part,
                stored,
                places,
            } = local;
            part.for_each_stored(stored, |k, m| values[places[k]] += m);
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

    /// S += s D, with the diagonal blocks D that were kept.
    pub fn shift(&mut self, s: f64) {
        for (i, block) in self.diagonal.iter().enumerate() {
            // A prescribed block is not in the system: its own block is the identity.
            if let Some(k) = self.matrix.pattern.find(i, i) {
                self.matrix.values[k] += block * s;
            }
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

    /// y = Jᵀ x.
    pub fn apply_transpose(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.matrix.apply_transpose(x, y);
        for (g, w) in &self.ranks {
            reduce::axpy(w * reduce::dot(g, x), g, y);
        }
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
