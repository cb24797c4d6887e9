//! A hint that memory is needed soon.

/// Asks for the cache line where entry `i` of a list begins; nothing happens if there is none.
///
/// Worth it where the places to visit are known ahead but jump about, so that the processor's own
/// guess fails: bounding the vertices of a large surface in the order of space took half the time.
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
