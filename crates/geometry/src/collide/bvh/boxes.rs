//! Boxes: one, one as registers hold it, and eight side by side; at rest and moving.

use stiction_math::Vec3;
use wide::f32x4;

use super::WIDTH;
use crate::Aabb;

/// An axis-parallel box in single precision, both corners included.
///
/// Rounding to the nearest single-precision number keeps the order of numbers, so that boxes that
/// overlap still overlap after rounding: no pair is lost. Boxes whose gap is below the resolution
/// of single precision, 6·10⁻⁸ of the coordinates, may be reported as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb32 {
    /// The corner with the smallest coordinates [m].
    pub min: [f32; 3],
    /// The corner with the largest coordinates [m].
    pub max: [f32; 3],
}

impl Aabb32 {
    /// The box that overlaps nothing.
    pub const EMPTY: Aabb32 = Aabb32 {
        min: [f32::INFINITY; 3],
        max: [f32::NEG_INFINITY; 3],
    };

    /// Whether the boxes share a point.
    pub fn overlaps(&self, other: &Aabb32) -> bool {
        (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }

    /// The smallest box around both; coordinates must be numbers.
    #[inline]
    pub fn union(&self, other: &Aabb32) -> Aabb32 {
        Aabb32::from(&Padded::unbounded(self).union(&Padded::unbounded(other)))
    }

    /// Half the surface [m²]; zero for the empty box.
    pub(super) fn half_area(&self) -> f64 {
        let d: [f64; 3] = std::array::from_fn(|k| (self.max[k] - self.min[k]).max(0.0) as f64);
        d[0] * d[1] + d[1] * d[2] + d[2] * d[0]
    }
}

impl From<&Aabb> for Aabb32 {
    fn from(b: &Aabb) -> Aabb32 {
        Aabb32 {
            min: std::array::from_fn(|k| b.min[k] as f32),
            max: std::array::from_fn(|k| b.max[k] as f32),
        }
    }
}

/// One box of a tree.
pub(crate) trait Hull: Copy + Send + Sync {
    /// Eight of them.
    type Eight: Row<One = Self>;
    /// The box that overlaps nothing.
    const EMPTY: Self;
    /// The smallest one around both; coordinates must be numbers.
    fn union(&self, other: &Self) -> Self;
    /// All that it ever covers.
    fn covers(&self) -> Aabb32;
    /// The covered region in the co-moving frame.
    fn own(&self) -> Aabb32;
    /// The box of a trajectory from a point to any point between two corners, `reach` larger on all sides.
    fn path(start: &Vec3, ends: [&Vec3; 2], reach: f64) -> Self;
}

/// Eight of them side by side; lanes that are not used overlap nothing.
pub(crate) trait Row: Copy + Send + Sync {
    /// One of the eight.
    type One: Hull<Eight = Self>;
    /// A box as the eight are compared with it.
    type Query;
    /// Eight that are not used.
    const EMPTY: Self;
    /// Eight boxes.
    fn of(boxes: &[Self::One; WIDTH]) -> Self;
    /// One of them.
    fn lane(&self, k: usize) -> Self::One;
    /// Puts one in its place.
    fn set(&mut self, k: usize, b: &Self::One);
    /// The box around all lanes.
    fn all(&self) -> Self::One;
    /// Prepares a box for comparisons.
    fn query(b: &Self::One) -> Self::Query;
    /// One bit per lane that overlaps the box.
    fn mask(&self, b: &Self::Query) -> u32;
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

impl Hull for Padded {
    type Eight = Wide;

    const EMPTY: Padded = Padded {
        min: [f32::INFINITY; 4],
        max: [f32::NEG_INFINITY; 4],
    };

    #[inline]
    fn union(&self, other: &Padded) -> Padded {
        Padded {
            min: less(self.min.into(), other.min.into()).into(),
            max: more(self.max.into(), other.max.into()).into(),
        }
    }

    fn covers(&self) -> Aabb32 {
        Aabb32::from(self)
    }

    fn own(&self) -> Aabb32 {
        Aabb32::from(self)
    }

    #[inline]
    fn path(start: &Vec3, [low, high]: [&Vec3; 2], reach: f64) -> Padded {
        let less = |k: usize| if start[k] < low[k] { start[k] } else { low[k] };
        let more = |k: usize| {
            if start[k] > high[k] {
                start[k]
            } else {
                high[k]
            }
        };
        grown([0, 1, 2].map(less), [0, 1, 2].map(more), reach)
    }
}

impl Padded {
    #[inline]
    fn unbounded(b: &Aabb32) -> Padded {
        let ([x, y, z], [u, v, w]) = (b.min, b.max);
        Padded {
            min: [x, y, z, z],
            max: [u, v, w, w],
        }
    }
}

/// Corners of boxes in trees have no larger coordinates: a box without bounds would overlap lanes that are not
/// used. Sums of a few of them are finite.
const LARGEST: f32 = 1e37;

impl From<&Aabb32> for Padded {
    #[inline]
    fn from(b: &Aabb32) -> Padded {
        let Padded { min, max } = Padded::unbounded(b);
        Padded {
            min: min.map(not_below),
            max: max.map(not_above),
        }
    }
}

#[inline]
fn not_below(x: f32) -> f32 {
    if x < -LARGEST { -LARGEST } else { x }
}

#[inline]
fn not_above(x: f32) -> f32 {
    if x > LARGEST { LARGEST } else { x }
}

impl From<&Padded> for Aabb32 {
    #[inline]
    fn from(b: &Padded) -> Aabb32 {
        let ([x, y, z, _], [u, v, w, _]) = (b.min, b.max);
        Aabb32 {
            min: [x, y, z],
            max: [u, v, w],
        }
    }
}

/// The box between two corners, `reach` larger on all sides.
#[inline]
fn grown(low: [f64; 3], high: [f64; 3], reach: f64) -> Padded {
    // Covers the rounding to single precision.
    const ROUNDING: f64 = f32::EPSILON as f64;
    let (mut min, mut max) = ([0.0; 4], [0.0; 4]);
    for k in 0..3 {
        min[k] = not_below((low[k] - reach - ROUNDING * (low[k].abs() + reach)) as f32);
        max[k] = not_above((high[k] + reach + ROUNDING * (high[k].abs() + reach)) as f32);
    }
    Padded { min, max }
}

#[inline]
fn less(a: f32x4, b: f32x4) -> f32x4 {
    a.fast_min(b)
}

#[inline]
fn more(a: f32x4, b: f32x4) -> f32x4 {
    a.fast_max(b)
}

/// Eight boxes side by side, in two halves of four.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Wide {
    min: [[[f32; 4]; 2]; 3],
    max: [[[f32; 4]; 2]; 3],
}

impl Row for Wide {
    type One = Padded;
    type Query = Padded;

    const EMPTY: Wide = Wide {
        min: [[[f32::INFINITY; 4]; 2]; 3],
        max: [[[f32::NEG_INFINITY; 4]; 2]; 3],
    };

    #[inline]
    fn of(boxes: &[Padded; WIDTH]) -> Wide {
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
    fn lane(&self, k: usize) -> Padded {
        let (half, k) = (k / 4, k % 4);
        let corner = |c: &[[[f32; 4]; 2]; 3]| [c[0], c[1], c[2], c[2]].map(|c| c[half][k]);
        Padded {
            min: corner(&self.min),
            max: corner(&self.max),
        }
    }

    #[inline]
    fn set(&mut self, k: usize, b: &Padded) {
        let (half, k) = (k / 4, k % 4);
        for c in 0..3 {
            self.min[c][half][k] = b.min[c];
            self.max[c][half][k] = b.max[c];
        }
    }

    #[inline]
    fn all(&self) -> Padded {
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

    #[inline]
    fn query(b: &Padded) -> Padded {
        *b
    }

    #[inline]
    fn mask(&self, b: &Padded) -> u32 {
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

/// A moving box: its positions at the start and at the end of a step, with straight lines between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovingBox {
    pub(crate) start: Padded,
    pub(crate) end: Padded,
}

impl MovingBox {
    /// Displacement of its centre.
    #[inline]
    fn shift(&self) -> f32x4 {
        let twice = |b: &Padded| f32x4::from(b.min) + f32x4::from(b.max);
        (twice(&self.end) - twice(&self.start)) * f32x4::splat(0.5)
    }

    /// The box around its trajectory in the frame that moves by `shift`.
    #[inline]
    fn seen(&self, shift: f32x4) -> Padded {
        let end = Padded {
            min: (f32x4::from(self.end.min) - shift).into(),
            max: (f32x4::from(self.end.max) - shift).into(),
        };
        self.start.union(&end)
    }
}

impl Hull for MovingBox {
    type Eight = WideMoving;

    const EMPTY: MovingBox = MovingBox {
        start: Padded::EMPTY,
        end: Padded::EMPTY,
    };

    #[inline]
    fn union(&self, other: &MovingBox) -> MovingBox {
        MovingBox {
            start: self.start.union(&other.start),
            end: self.end.union(&other.end),
        }
    }

    fn covers(&self) -> Aabb32 {
        Aabb32::from(&self.start.union(&self.end))
    }

    fn own(&self) -> Aabb32 {
        Aabb32::from(&self.seen(self.shift()))
    }

    #[inline]
    fn path(start: &Vec3, [low, high]: [&Vec3; 2], reach: f64) -> MovingBox {
        let start = <[f64; 3]>::from(*start);
        MovingBox {
            start: grown(start, start, reach),
            end: grown((*low).into(), (*high).into(), reach),
        }
    }
}

/// Eight moving boxes, side by side.
///
/// Two such boxes are compared in the frame that moves with one of them: x(t) − s t of a straight path
/// lies between x(0) and x(1) − s. Things that move together, however far, are then no closer to one
/// another than they are at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WideMoving {
    start: Wide,
    end: Wide,
}

/// A moving box as it sees itself, and how far it moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    own: Padded,
    shift: [f32; 4],
}

impl Row for WideMoving {
    type One = MovingBox;
    type Query = Seen;

    const EMPTY: WideMoving = WideMoving {
        start: Wide::EMPTY,
        end: Wide::EMPTY,
    };

    #[inline]
    fn of(boxes: &[MovingBox; WIDTH]) -> WideMoving {
        WideMoving {
            start: Wide::of(&boxes.map(|b| b.start)),
            end: Wide::of(&boxes.map(|b| b.end)),
        }
    }

    #[inline]
    fn lane(&self, k: usize) -> MovingBox {
        MovingBox {
            start: self.start.lane(k),
            end: self.end.lane(k),
        }
    }

    #[inline]
    fn set(&mut self, k: usize, b: &MovingBox) {
        self.start.set(k, &b.start);
        self.end.set(k, &b.end);
    }

    #[inline]
    fn all(&self) -> MovingBox {
        MovingBox {
            start: self.start.all(),
            end: self.end.all(),
        }
    }

    #[inline]
    fn query(b: &MovingBox) -> Seen {
        // What subtracting the shift rounds, here and in `mask`, of all coordinates that may touch.
        const ROUNDING: f32 = 4.0 * f32::EPSILON;
        let shift = b.shift();
        let own = b.seen(shift);
        let (min, max) = (f32x4::from(own.min), f32x4::from(own.max));
        let slack = (min.abs() + max.abs() + shift.abs()) * f32x4::splat(ROUNDING);
        Seen {
            own: Padded {
                min: (min - slack).into(),
                max: (max + slack).into(),
            },
            shift: shift.into(),
        }
    }

    #[inline]
    fn mask(&self, b: &Seen) -> u32 {
        let half = |h: usize| {
            let mut hit = f32x4::splat(f32::from_bits(u32::MAX));
            for c in 0..3 {
                let shift = f32x4::splat(b.shift[c]);
                let at = |corner: &[[[f32; 4]; 2]; 3]| f32x4::from(corner[c][h]);
                let low = less(at(&self.start.min), at(&self.end.min) - shift);
                let high = more(at(&self.start.max), at(&self.end.max) - shift);
                hit &= low.simd_le(f32x4::splat(b.own.max[c]));
                hit &= f32x4::splat(b.own.min[c]).simd_le(high);
            }
            hit.to_bitmask()
        };
        half(0) | half(1) << 4
    }
}
