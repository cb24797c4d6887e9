//! Gather and scatter between vector components and slots, and per-thread scratch memory.

use std::cell::RefCell;

use super::layout::NONE;
use crate::Vec3;

/// Copies components of the piece of a vector that begins at block `first` into slots.
pub(super) fn gather(components: &[u32], x: &[Vec3], first: usize, slots: &mut [f64]) {
    for (slot, &component) in slots.iter_mut().zip(components) {
        let component = component as usize;
        *slot = if component == NONE as usize {
            0.0
        } else {
            x[component / 3 - first][component % 3]
        };
    }
}

/// Copies slots into the piece of a vector that begins at block `first`.
pub(super) fn scatter(components: &[u32], slots: &[f64], x: &mut [Vec3], first: usize) {
    for (&slot, &component) in slots.iter().zip(components) {
        if component != NONE {
            let component = component as usize;
            x[component / 3 - first][component % 3] = slot;
        }
    }
}

/// Calls `f` with scratch memory of this thread; allocates only when a larger size is required.
pub(super) fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f64]) -> R) -> R {
    thread_local! {
        static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut scratch) => {
            if scratch.len() < len {
                scratch.resize(len, 0.0);
            }
            f(&mut scratch[..len])
        }
        Err(_) => f(&mut vec![0.0; len]),
    })
}
