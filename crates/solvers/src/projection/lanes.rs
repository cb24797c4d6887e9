//! Four numbers at a time, with wide instructions where the machine has them.
//!
//! Both versions do the same operations in the same order, hence the same bits.
#![allow(unsafe_code)]

/// Four numbers, of which the last is padding.
///
/// # Safety
/// All functions may be called only where the instructions of the implementation exist: any
/// machine for arrays, AVX for `Wide`.
pub trait Four: Copy {
    /// All four.
    unsafe fn load(x: &[f64; 4]) -> Self;
    /// Three and a zero.
    unsafe fn load3(x: &[f64; 3]) -> Self;
    /// The first three of four, and a zero.
    unsafe fn load3of4(x: &[f64; 4]) -> Self;
    /// All four.
    unsafe fn store(self, x: &mut [f64; 4]);
    /// The first three.
    unsafe fn store3(self, x: &mut [f64; 3]);
    /// self + other · s.
    unsafe fn add_scaled(self, other: Self, s: f64) -> Self;
    /// self − other · s.
    unsafe fn sub_scaled(self, other: Self, s: f64) -> Self;
    /// self − other.
    unsafe fn sub(self, other: Self) -> Self;
    /// self · s.
    unsafe fn scale(self, s: f64) -> Self;
    /// The products of the first three, added from left to right.
    unsafe fn dot3(self, other: Self) -> f64;
}

impl Four for [f64; 4] {
    #[inline(always)]
    unsafe fn load(x: &[f64; 4]) -> Self {
        *x
    }

    #[inline(always)]
    unsafe fn load3(x: &[f64; 3]) -> Self {
        [x[0], x[1], x[2], 0.0]
    }

    #[inline(always)]
    unsafe fn load3of4(x: &[f64; 4]) -> Self {
        [x[0], x[1], x[2], 0.0]
    }

    #[inline(always)]
    unsafe fn store(self, x: &mut [f64; 4]) {
        *x = self;
    }

    #[inline(always)]
    unsafe fn store3(self, x: &mut [f64; 3]) {
        *x = [self[0], self[1], self[2]];
    }

    #[inline(always)]
    unsafe fn add_scaled(self, other: Self, s: f64) -> Self {
        std::array::from_fn(|i| self[i] + other[i] * s)
    }

    #[inline(always)]
    unsafe fn sub_scaled(self, other: Self, s: f64) -> Self {
        std::array::from_fn(|i| self[i] - other[i] * s)
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] - other[i])
    }

    #[inline(always)]
    unsafe fn scale(self, s: f64) -> Self {
        self.map(|x| x * s)
    }

    #[inline(always)]
    unsafe fn dot3(self, other: Self) -> f64 {
        self[0] * other[0] + self[1] * other[1] + self[2] * other[2]
    }
}

#[cfg(target_arch = "x86_64")]
pub use wide::Wide;

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::Four;

    /// A register of four numbers.
    #[derive(Clone, Copy)]
    pub struct Wide(__m256d);

    // SAFETY of all functions: the instructions exist, by the trait's condition, and every pointer
    // is made from a reference to as many numbers as are read or written.
    impl Four for Wide {
        #[inline(always)]
        unsafe fn load(x: &[f64; 4]) -> Self {
            unsafe { Self(_mm256_loadu_pd(x.as_ptr())) }
        }

        #[inline(always)]
        unsafe fn load3(x: &[f64; 3]) -> Self {
            unsafe {
                let low = _mm_loadu_pd(x.as_ptr());
                let high = _mm_load_sd(&x[2]);
                Self(_mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(low), high))
            }
        }

        #[inline(always)]
        unsafe fn load3of4(x: &[f64; 4]) -> Self {
            unsafe {
                let all = _mm256_loadu_pd(x.as_ptr());
                Self(_mm256_blend_pd::<0b1000>(all, _mm256_setzero_pd()))
            }
        }

        #[inline(always)]
        unsafe fn store(self, x: &mut [f64; 4]) {
            unsafe { _mm256_storeu_pd(x.as_mut_ptr(), self.0) }
        }

        #[inline(always)]
        unsafe fn store3(self, x: &mut [f64; 3]) {
            unsafe {
                _mm_storeu_pd(x.as_mut_ptr(), _mm256_castpd256_pd128(self.0));
                _mm_store_sd(&mut x[2], _mm256_extractf128_pd::<1>(self.0));
            }
        }

        #[inline(always)]
        unsafe fn add_scaled(self, other: Self, s: f64) -> Self {
            unsafe { Self(_mm256_add_pd(self.0, other.scale(s).0)) }
        }

        #[inline(always)]
        unsafe fn sub_scaled(self, other: Self, s: f64) -> Self {
            unsafe { Self(_mm256_sub_pd(self.0, other.scale(s).0)) }
        }

        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { Self(_mm256_sub_pd(self.0, other.0)) }
        }

        #[inline(always)]
        unsafe fn scale(self, s: f64) -> Self {
            unsafe { Self(_mm256_mul_pd(self.0, _mm256_set1_pd(s))) }
        }

        #[inline(always)]
        unsafe fn dot3(self, other: Self) -> f64 {
            unsafe {
                let products = _mm256_mul_pd(self.0, other.0);
                let low = _mm256_castpd256_pd128(products);
                let first = _mm_add_sd(low, _mm_unpackhi_pd(low, low));
                let sum = _mm_add_sd(first, _mm256_extractf128_pd::<1>(products));
                _mm_cvtsd_f64(sum)
            }
        }
    }
}
