//! Cache prefetch hints.

/// Prefetches the cache line of entry `i` of a list; does nothing if there is no such entry.
///
/// Useful for irregular access in a known order, where hardware prefetching fails: bounding the
/// vertices of a large surface in spatial order took half the time.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(list: &[T], i: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = list.get(i) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint reads nothing that the program can see and never faults; the address is
        // that of an entry all the same. SSE belongs to every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(entry).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, i);
}
