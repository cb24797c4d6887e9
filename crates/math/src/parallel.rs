//! Parallel loops whose scheduling is compiled once.
//!
//! An iterator of rayon brings some two hundred functions of scheduling with every call, compiled anew for each closure:
//! a third of what the compiler saw of detection. Here the threads share tasks through one pointer to the body of the
//! loop; only the body is compiled for each caller, and a task of many indices pays for the call through the pointer.
//!
//! Tasks are ranges of at most `grain` indices, which depend on the number of indices alone. A loop that fits in one
//! task runs on the spot, without a word to other threads. Results keep the order of the indices.
//!
//! # Why this is sound
//! [`ranges`] calls its body once for each task, and tasks are disjoint ranges within 0..n. A thread writes only
//! where its own range says: in [`map`] into the memory of a vector with a capacity of n values, in [`map_chunks_mut`]
//! into that part of a slice of n values, whose exclusive borrow is held for the whole call. The length of the vector
//! is set after all tasks are done; if one panics, it stays zero, and what was written is leaked.
#![allow(unsafe_code)]

use rayon::prelude::*;
use std::ops::Range;

/// Calls `body` for each range of at most `grain` of the indices 0..n, in no certain order.
pub fn ranges(n: usize, grain: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
    let grain = grain.max(1);
    if n <= grain {
        return if n > 0 {
            body(0..n)
        };
    }
    let tasks = 0..n.div_ceil(grain);
    tasks
        .into_par_iter()
        .for_each(|task| body(task * grain..n.min((task + 1) * grain)));
}

/// f(i) for each i in 0..n.
pub fn map<T: Send>(n: usize, grain: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut all: Vec<T> = Vec::with_capacity(n);
    let places = Places(all.as_mut_ptr());
    ranges(n, grain, &|range| {
        for i in range {
            // SAFETY: i < n, the capacity, and no other task has i.
            unsafe { places.at(i).write(f(i)) };
        }
    });
    // SAFETY: all n values were written.
    unsafe { all.set_len(n) };
    all
}

/// Results of `f` for each range of at most `grain` of the indices 0..n.
pub fn map_ranges<R: Send>(n: usize, grain: usize, f: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let grain = grain.max(1);
    map(n.div_ceil(grain), 1, |task| {
        f(task * grain..n.min((task + 1) * grain))
    })
}

/// The joined lists that `f` fills for each range of at most `grain` of the indices 0..n.
pub fn gather<T: Send>(
    n: usize,
    grain: usize,
    f: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let lists = map_ranges(n, grain, |range| {
        let mut list = Vec::new();
        f(range, &mut list);
        list
    });
    join(lists)
}

/// The entries of all lists, in their order.
fn join<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let total: usize = lists.iter().map(Vec::len).sum();
    let mut lists = lists.into_iter();
    let mut all = lists.next().unwrap_or_default();
    all.reserve_exact(total - all.len());
    lists.for_each(|mut list| all.append(&mut list));
    all
}

/// Calls `f` for each chunk of at most `grain` values, with the index of its first one.
pub fn chunks_mut<T: Send>(data: &mut [T], grain: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let n = data.len();
    let places = Places(data.as_mut_ptr());
    ranges(n, grain, &|range| {
        // SAFETY: the range lies within the slice, which is borrowed for this call, and no other task has any of it.
        f(range.start, unsafe { places.part(range) });
    });
}

/// Calls `f` for each value with its index.
pub fn each_mut<T: Send>(data: &mut [T], grain: usize, f: impl Fn(usize, &mut T) + Sync) {
    chunks_mut(data, grain, |first, part| {
        part.iter_mut().zip(first..).for_each(|(x, i)| f(i, x));
    });
}

/// Results of `f` for each chunk of at most `grain` values, with the index of its first one.
pub fn map_chunks_mut<T: Send, R: Send>(
    data: &mut [T],
    grain: usize,
    f: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let n = data.len();
    let places = Places(data.as_mut_ptr());
    map_ranges(n, grain, |range| {
        // SAFETY: as in `chunks_mut`.
        f(range.start, unsafe { places.part(range) })
    })
}

/// The start of an array, parts of which belong to one thread each.
struct Places<T>(*mut T);

// SAFETY: the methods' contracts give every value to one thread, which is what `Send` allows.
unsafe impl<T: Send> Sync for Places<T> {}

impl<T> Places<T> {
    /// # Safety
    /// `i` is within the array.
    unsafe fn at(&self, i: usize) -> *mut T {
        // SAFETY: by the contract.
        unsafe { self.0.add(i) }
    }

    /// # Safety
    /// `range` is within the array, whose values are initialised and borrowed exclusively for 'b, and no other
    /// thread has any of it.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part<'b>(&self, range: Range<usize>) -> &'b mut [T] {
        // SAFETY: by the contract.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_pools;

    #[test]
    fn every_index_comes_once_and_in_order() {
        for (n, grain) in [(0, 4), (1, 4), (4, 4), (5, 4), (1003, 10), (7, 0)] {
            in_pools(|| {
                let all: Vec<usize> = (0..n).collect();
                assert_eq!(map(n, grain, |i| i), all);
                assert_eq!(gather(n, grain, |range, list| list.extend(range)), all);
                let starts = map_ranges(n, grain, |range| range.start);
                assert_eq!(starts.len(), n.div_ceil(grain.max(1)));
                let mut data = vec![0; n];
                chunks_mut(&mut data, grain, |first, part| {
                    for (i, x) in part.iter_mut().enumerate() {
                        *x += first + i;
                    }
                });
                assert_eq!(data, all);
                let sums = map_chunks_mut(&mut data, grain, |_, part| {
                    part.iter_mut().for_each(|x| *x += 1);
                    part.iter().sum::<usize>()
                });
                assert_eq!(sums.iter().sum::<usize>(), n * (n + 1) / 2);
                data
            });
        }
    }

    #[test]
    fn values_with_memory_of_their_own_are_kept_and_dropped_once() {
        let owner = std::sync::Arc::new(());
        let all = map(1000, 7, |_| owner.clone());
        assert_eq!(std::sync::Arc::strong_count(&owner), 1001);
        drop(all);
        assert_eq!(std::sync::Arc::strong_count(&owner), 1);
    }

    #[test]
    fn a_panic_passes_to_the_caller() {
        let run = || map(1000, 10, |i| assert_ne!(i, 500));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
