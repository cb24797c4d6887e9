//! Frames at a contact.

use crate::{Mat3, Vec3};

/// A right-handed orthonormal frame with first column `n`, a unit vector.
pub fn frame(n: &Vec3) -> Mat3 {
    let axis = Vec3::ith(n.iamin(), 1.0);
    let t = n.cross(&axis).normalize();
    Mat3::from_columns(&[*n, t, n.cross(&t)])
}
