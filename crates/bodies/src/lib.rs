//! What moves: shells, solids and rigid bodies, their materials and forces.

pub mod elements;
