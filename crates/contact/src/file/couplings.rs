//! The blocks of A between parts.

use stiction_geometry::SplitMix;
use stiction_math::{LinearOperator, Mat3, Part, SystemMatrix, Vec3};

/// The nonzero blocks (i, j) of `a` with i in an earlier part than j, by column, then by row.
///
/// They are found from products of the matrix without its parts: a random vector on a range of
/// columns gives zero only if the range has no blocks; ranges that do are halved down to single
/// columns, which unit vectors then give exactly.
pub(super) fn couplings(a: &SystemMatrix) -> Vec<(u32, u32, Mat3)> {
    let mut found = Vec::new();
    if !a.is_coupled() {
        return found;
    }
    let mut rest = a.clone();
    for part in rest.parts_mut() {
        match part {
            Part::Sparse(m) => m.set_zero(),
            Part::Dense(m) => m.fill(0.0),
        }
    }
    let n = a.len();
    let mut rng = SplitMix::new(n as u64);
    let mut x = vec![Vec3::zeros(); n];
    let mut y = x.clone();
    let mut ranges = Vec::new();
    ranges.push(0..n);
    while let Some(range) = ranges.pop() {
        if range.len() > 1 {
            for x in &mut x[range.clone()] {
                *x = Vec3::from_fn(|_, _| 0.5 + rng.uniform());
            }
            rest.apply(&x, &mut y);
            x[range.clone()].fill(Vec3::zeros());
            if y.iter().any(|y| *y != Vec3::zeros()) {
                let middle = range.start + range.len() / 2;
                // The left half comes off the stack first.
                ranges.push(middle..range.end);
                ranges.push(range.start..middle);
            }
            continue;
        }
        let j = range.start;
        let mut column = vec![Mat3::zeros(); j];
        for k in 0..3 {
            x[j][k] = 1.0;
            rest.apply(&x, &mut y);
            x[j][k] = 0.0;
            for (block, y) in column.iter_mut().zip(&y) {
                block.set_column(k, y);
            }
        }
        let blocks = column.into_iter().enumerate();
        found.extend(
            blocks
                .filter(|(_, block)| *block != Mat3::zeros())
                .map(|(i, block)| (i as u32, j as u32, block)),
        );
    }
    found
}
