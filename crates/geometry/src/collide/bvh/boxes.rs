//! Boxes: one, one as registers hold it, and eight side by side.

use wide::f32x4;

use super::WIDTH;
use crate::Aabb;

/// An axis-parallel box in single precision, both corners included.
///
/// Rounding to the nearest single-precision number keeps the order of numbers, so that boxes that
/// overlap still overlap after rounding: no pair is lost. Boxes whose gap is below the resolution
/// of single precision, 6·10⁻⁸ of the coordinates, may be reported as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The corner with the smallest coordinates [m].
    pub min: [f32; 3],
    /// The corner with the largest coordinates [m].
    pub max: [f32; 3],
}

impl Bound {
    /// The box that overlaps nothing.
    pub const EMPTY: Bound = Bound {
        min: [f32::INFINITY; 3],
        max: [f32::NEG_INFINITY; 3],
    };

    /// Whether the boxes share a point.
    pub fn overlaps(&self, other: &Bound) -> bool {
        (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }

    /// The smallest box around both; coordinates must be numbers.
    #[inline]
    pub fn union(&self, other: &Bound) -> Bound {
        Bound::from(&Padded::from(self).union(&Padded::from(other)))
    }

    /// Half the surface [m²]; zero for the empty box.
    pub(super) fn half_area(&self) -> f64 {
        let d: [f64; 3] = std::array::from_fn(|k| (self.max[k] - self.min[k]).max(0.0) as f64);
        d[0] * d[1] + d[1] * d[2] + d[2] * d[0]
    }
}

impl From<&Aabb> for Bound {
    fn from(b: &Aabb) -> Bound {
        Bound {
            min: std::array::from_fn(|k| b.min[k] as f32),
            max: std::array::from_fn(|k| b.max[k] as f32),
        }
    }
}

/// A box as registers hold it, with a coordinate to spare.
///
/// Corners are compared whole and by name: left to itself, the compiler was seen to branch on the
/// outcome of comparisons of three coordinates, which no processor can predict, so that the bounds
/// of a large surface took three times as long as those of a small one that it had learnt by heart.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Padded {
    pub(crate) min: [f32; 4],
    pub(crate) max: [f32; 4],
}

impl Padded {
    pub(crate) const EMPTY: Padded = Padded {
        min: [f32::INFINITY; 4],
        max: [f32::NEG_INFINITY; 4],
    };

    /// The smallest box around both; coordinates must be numbers.
    #[inline]
    pub(crate) fn union(&self, other: &Padded) -> Padded {
        Padded {
            min: less(self.min.into(), other.min.into()).into(),
            max: more(self.max.into(), other.max.into()).into(),
        }
    }
}

impl From<&Bound> for Padded {
    #[inline]
    fn from(b: &Bound) -> Padded {
        let ([x, y, z], [u, v, w]) = (b.min, b.max);
        Padded {
            min: [x, y, z, z],
            max: [u, v, w, w],
        }
    }
}

impl From<&Padded> for Bound {
    #[inline]
    fn from(b: &Padded) -> Bound {
        let ([x, y, z, _], [u, v, w, _]) = (b.min, b.max);
        Bound {
            min: [x, y, z],
            max: [u, v, w],
        }
    }
}

#[inline]
fn less(a: f32x4, b: f32x4) -> f32x4 {
    a.fast_min(b)
}

#[inline]
fn more(a: f32x4, b: f32x4) -> f32x4 {
    a.fast_max(b)
}

/// Eight boxes side by side, in two halves of four; lanes that are not used overlap nothing.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Wide {
    min: [[[f32; 4]; 2]; 3],
    max: [[[f32; 4]; 2]; 3],
}

impl Wide {
    pub(crate) const EMPTY: Wide = Wide {
        min: [[[f32::INFINITY; 4]; 2]; 3],
        max: [[[f32::NEG_INFINITY; 4]; 2]; 3],
    };

    /// Eight boxes.
    #[inline]
    pub(crate) fn of(boxes: &[Padded; WIDTH]) -> Wide {
        let mut wide = Wide::EMPTY;
        for half in 0..2 {
            let four: [Padded; 4] = std::array::from_fn(|k| boxes[4 * half + k]);
            let min = f32x4::transpose(four.map(|b| b.min.into()));
            let max = f32x4::transpose(four.map(|b| b.max.into()));
            for c in 0..3 {
                wide.min[c][half] = min[c].into();
                wide.max[c][half] = max[c].into();
            }
        }
        wide
    }

    #[inline]
    pub(super) fn lane(&self, k: usize) -> Padded {
        let (half, k) = (k / 4, k % 4);
        let corner = |c: &[[[f32; 4]; 2]; 3]| [c[0], c[1], c[2], c[2]].map(|c| c[half][k]);
        Padded {
            min: corner(&self.min),
            max: corner(&self.max),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, k: usize, b: &Padded) {
        let (half, k) = (k / 4, k % 4);
        for c in 0..3 {
            self.min[c][half][k] = b.min[c];
            self.max[c][half][k] = b.max[c];
        }
    }

    /// The box around all lanes.
    #[inline]
    pub(crate) fn all(&self) -> Padded {
        fn fold(c: &[[[f32; 4]; 2]; 3], pick: impl Fn(f32x4, f32x4) -> f32x4) -> [f32; 4] {
            let [x, y, z] = c.map(|[a, b]| pick(a.into(), b.into()));
            let [a, b, c, d] = f32x4::transpose([x, y, z, z]);
            pick(pick(a, b), pick(c, d)).into()
        }
        Padded {
            min: fold(&self.min, less),
            max: fold(&self.max, more),
        }
    }

    /// One bit per lane that overlaps the box.
    #[inline]
    pub(super) fn mask(&self, b: &Padded) -> u32 {
        let half = |h: usize| {
            let mut hit = f32x4::splat(f32::from_bits(u32::MAX));
            for c in 0..3 {
                let (low, high) = (f32x4::from(self.min[c][h]), f32x4::from(self.max[c][h]));
                hit &= low.simd_le(f32x4::splat(b.max[c]));
                hit &= f32x4::splat(b.min[c]).simd_le(high);
            }
            hit.to_bitmask()
        };
        half(0) | half(1) << 4
    }
}
