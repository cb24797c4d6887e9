//! A closed mesh as a signed distance on a grid.
//!
//! A mesh obstacle costs time with every triangle; a [`LevelSet`] answers in constant time however
//! fine the mesh is. Its field f interpolates exact signed distances trilinearly between the
//! corners of cubic cells of side `cell`. Fine cells exist only within `band` of the surface, in
//! blocks of 8³ cells; elsewhere each block stores the surface point closest to its centre. Memory
//! thus grows with the area of the surface, not with the volume of its box.
//!
//! # Error bound
//! The signed distance d is 1-Lipschitz. With weights wᵢ ≥ 0 of the corners xᵢ of a cell,
//!
//! ```text
//! |f(x) − d(x)| ≤ Σ wᵢ |x − xᵢ| ≤ (Σ wᵢ |x − xᵢ|²)^½ ≤ (√3/2) cell
//! ```
//!
//! anywhere within the band ([`LevelSet::error`]). That is for sharp corners and thin parts; where
//! the surface is smooth with curvature κ, the error is at most ⅜ κ cell², and none on a flat
//! part. What is thinner than a cell may vanish: choose `cell` no larger than half of it.
//!
//! # What is promised
//! Contacts, normals and impacts all speak of the same f: the normal is its gradient, and
//! [`LevelSet::clearance`] never lets a moving point jump over a place where f is smaller, because
//! it uses a bound on the slope of f ([`LevelSet::slope`], at most √3) taken from the samples.

mod query;
mod sample;
#[cfg(test)]
mod tests;

use stiction_math::Vec3;

use crate::bounds::Aabb;
use crate::mesh::MeshError;

/// Cells along each side of a block.
const SIDE: usize = 8;
/// Samples along each side of a block; those on a face are in both adjacent blocks.
const NODES: usize = SIDE + 1;
/// Samples of a block.
const BLOCK: usize = NODES * NODES * NODES;
/// A level set is not made if it would need more memory than this [bytes].
pub const MAX_LEVEL_SET_BYTES: usize = 1 << 30;

/// Signed distances to a closed surface, negative inside, sampled on a grid. Lengths in [m], in
/// the frame of the mesh.
#[derive(Clone, PartialEq)]
pub struct LevelSet {
    cell: f64,
    band: f64,
    slope: f64,
    /// The box around the mesh.
    bounds: Aabb,
    /// The corner of the grid with the smallest coordinates.
    origin: Vec3,
    /// Blocks along each axis, x fastest.
    count: [usize; 3],
    blocks: Vec<Block>,
    /// Samples of all fine blocks, 9³ each.
    samples: Vec<f32>,
}

/// 8³ cells.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block {
    /// The surface point closest to the centre.
    closest: Vec3,
    /// The signed distance of the centre.
    distance: f64,
    /// The place among the fine blocks, or `COARSE`.
    fine: u32,
}

const COARSE: u32 = u32::MAX;

/// Reason for which no level set can be made of a mesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LevelSetError {
    /// The mesh is broken or not closed.
    #[error("the mesh is not closed: {0}")]
    Mesh(#[from] MeshError),
    /// A length is not a positive number.
    #[error("`{name}` is {value} m; it must be positive and finite")]
    Length {
        /// Its name.
        name: &'static str,
        /// Its value [m].
        value: f64,
    },
    /// It would need too much memory.
    #[error(
        "cells of {cell} m need {} MB, more than {} MB; use larger cells",
        bytes >> 20,
        MAX_LEVEL_SET_BYTES >> 20
    )]
    TooLarge {
        /// The side of a cell [m].
        cell: f64,
        /// The memory it would need [bytes].
        bytes: usize,
    },
    /// No sample lies inside.
    #[error(
        "no grid point lies inside the mesh: it is thinner than the cells of {cell} m; use smaller cells"
    )]
    Vanished {
        /// The side of a cell [m].
        cell: f64,
    },
}

impl LevelSet {
    /// The side of a cell [m].
    pub fn cell(&self) -> f64 {
        self.cell
    }

    /// Distance from the surface, on either side, within which the field is fine [m].
    pub fn band(&self) -> f64 {
        self.band
    }

    /// A bound on |∇f| within the band: 1 for a plane, at most √3 (and rounding).
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// A bound on |f − d| within the band [m]: (√3/2) `cell`.
    pub fn error(&self) -> f64 {
        // The last digit of samples in single precision is far below the rounding up here.
        0.866_03 * self.cell
    }

    /// The box around the mesh [m].
    pub fn bounds(&self) -> &Aabb {
        &self.bounds
    }

    /// Memory [bytes].
    pub fn bytes(&self) -> usize {
        size_of_val(&self.blocks[..]) + size_of_val(&self.samples[..])
    }
}

impl std::fmt::Debug for LevelSet {
    /// Without the samples.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LevelSet")
            .field("cell", &self.cell)
            .field("band", &self.band)
            .field("blocks", &self.count)
            .field("fine", &(self.samples.len() / BLOCK))
            .finish()
    }
}
