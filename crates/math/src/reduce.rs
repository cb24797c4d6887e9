//! Vector operations and reductions in parallel, with the same bits for any number of threads.
//!
//! A sum is split at places that depend on its length alone, down to chunks of [`CHUNK`] terms
//! that are added from left to right; the partial sums are added in pairs up the same tree.
//! Nothing is allocated.

use crate::{Vec3, parallel};

/// Terms per sequential chunk.
pub const CHUNK: usize = 2048;

/// Σ f(i) for i in 0..n, in fixed order.
pub fn sum_ordered(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let leaf = |begin, end| (begin..end).fold(0.0, |sum, i| sum + f(i));
    reduce_ordered(n, CHUNK, &leaf, &|a, b| a + b)
}

/// max f(i) for i in 0..n, NaN if any term is NaN, −∞ for n = 0.
pub fn max_ordered(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let leaf = |begin, end| (begin..end).fold(f64::NEG_INFINITY, |max, i| max_or_nan(max, f(i)));
    reduce_ordered(n, CHUNK, &leaf, &max_or_nan)
}

/// Reduces 0..n: `leaf(begin, end)` for chunks of `chunk` indices (the last may be shorter; one
/// empty chunk if n = 0), combined as a binary tree whose shape depends on n and `chunk` alone.
///
/// `combine` need not be commutative: its arguments keep their order.
pub fn reduce_ordered<T: Send>(
    n: usize,
    chunk: usize,
    leaf: &(impl Fn(usize, usize) -> T + Sync),
    combine: &(impl Fn(T, T) -> T + Sync),
) -> T {
    let tree = Tree {
        chunk: chunk.max(1),
        leaf,
        combine,
    };
    tree.range(0, n)
}

/// The loops of a reduction behind pointers: a call per chunk is nothing, and the code that shares work
/// between threads is compiled once for a type of sums, not for every caller.
struct Tree<'a, T> {
    chunk: usize,
    leaf: &'a (dyn Fn(usize, usize) -> T + Sync),
    combine: &'a (dyn Fn(T, T) -> T + Sync),
}

impl<T: Send> Tree<'_, T> {
    fn range(&self, begin: usize, end: usize) -> T {
        let chunks = (end - begin).div_ceil(self.chunk);
        if chunks <= 1 {
            return (self.leaf)(begin, end);
        }
        let mid = begin + chunks / 2 * self.chunk;
        let (low, high) = rayon::join(|| self.range(begin, mid), || self.range(mid, end));
        (self.combine)(low, high)
    }
}

/// Σ aᵢ · bᵢ.
pub fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let leaf = |begin: usize, end: usize| {
        let mut sum = Vec3::zeros();
        for (a, b) in a[begin..end].iter().zip(&b[begin..end]) {
            sum += a.component_mul(b);
        }
        sum.x + sum.y + sum.z
    };
    reduce_ordered(a.len().min(b.len()), CHUNK, &leaf, &|a, b| a + b)
}

/// The Euclidean norm of all components.
pub fn norm(a: &[Vec3]) -> f64 {
    dot(a, a).sqrt()
}

/// The largest magnitude of a component; zero for an empty slice, NaN if any is NaN.
pub fn norm_inf(a: &[Vec3]) -> f64 {
    let largest = |v: &Vec3| v.iter().fold(0.0, |max, x| max_or_nan(max, x.abs()));
    max_or_nan(0.0, max_ordered(a.len(), |i| largest(&a[i])))
}

/// y += a x.
pub fn axpy(a: f64, x: &[Vec3], y: &mut [Vec3]) {
    zip_chunks(x, y, |x, y| *y += x * a);
}

/// y = x + b y.
pub fn xpby(x: &[Vec3], b: f64, y: &mut [Vec3]) {
    zip_chunks(x, y, |x, y| *y = x + *y * b);
}

/// y = x.
pub fn copy(x: &[Vec3], y: &mut [Vec3]) {
    zip_chunks(x, y, |x, y| *y = *x);
}

fn zip_chunks(x: &[Vec3], y: &mut [Vec3], f: impl Fn(&Vec3, &mut Vec3) + Sync) {
    debug_assert_eq!(x.len(), y.len());
    parallel::chunks_mut(y, CHUNK, |first, y| {
        y.iter_mut().zip(&x[first..]).for_each(|(y, x)| f(x, y));
    });
}

fn max_or_nan(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_pools, random_vectors};

    #[test]
    fn same_bits_for_any_thread_count_and_right() {
        for n in [0, 1, 5, CHUNK, CHUNK + 1, 5 * CHUNK + 77] {
            let (a, b) = (random_vectors(n, 1), random_vectors(n, 2));
            let (dot_ab, max, sum, y) = in_pools(|| {
                let mut y = b.clone();
                axpy(0.3, &a, &mut y);
                xpby(&a, -0.7, &mut y);
                (dot(&a, &b), norm_inf(&a), sum_ordered(n, |i| a[i].x), y)
            });
            let plain: f64 = a.iter().zip(&b).map(|(a, b)| a.dot(b)).sum();
            assert!((dot_ab - plain).abs() < 1e-11);
            assert_eq!(max, a.iter().map(|v| v.amax()).fold(0.0, f64::max));
            assert!((sum - a.iter().map(|v| v.x).sum::<f64>()).abs() < 1e-11);
            for i in 0..n {
                assert!((y[i] - (a[i] - (b[i] + a[i] * 0.3) * 0.7)).amax() < 1e-15);
            }
        }
    }

    #[test]
    fn order_is_kept_and_every_index_comes_once() {
        let leaf = |begin, end| (begin..end).collect::<Vec<_>>();
        let joined = reduce_ordered(1003, 10, &leaf, &|a, b| [a, b].concat());
        assert_eq!(joined, (0..1003).collect::<Vec<_>>());
    }

    #[test]
    fn nan_is_not_lost() {
        let mut a = random_vectors(3 * CHUNK, 5);
        for at in [0, CHUNK, 3 * CHUNK - 1] {
            let saved = a[at];
            a[at].y = f64::NAN;
            assert!(norm_inf(&a).is_nan());
            assert!(dot(&a, &a).is_nan());
            a[at] = saved;
        }
        assert!(norm_inf(&a).is_finite());
    }
}
