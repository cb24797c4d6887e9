//! Slow truths in exact arithmetic: floating-point numbers are integers times a power of two, so
//! that distances and impacts of given positions can be decided without rounding.

#![allow(dead_code)] // each test file uses its part

pub mod distance;
pub mod impact;
pub mod polynomial;

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};
use stiction_math::Vec3;

pub type Int3 = [BigInt; 3];

/// The points as integers, and the power of two that one unit stands for.
pub fn integers(points: &[Vec3]) -> (Vec<Int3>, i32) {
    let numbers = || points.iter().flat_map(|p| p.iter().copied());
    let unit = numbers()
        .filter(|x| *x != 0.0)
        .map(|x| decode(x).1)
        .min()
        .unwrap_or(0);
    let scale = |x: f64| {
        let (m, e) = decode(x);
        if m == 0 {
            BigInt::zero()
        } else {
            BigInt::from(m) << (e - unit) as usize
        }
    };
    let points = points.iter().map(|p| [scale(p.x), scale(p.y), scale(p.z)]);
    (points.collect(), unit)
}

/// x = m 2ᵉ with m odd (or zero), so that lattice coordinates stay small.
pub fn decode(x: f64) -> (i64, i32) {
    assert!(x.is_finite());
    let bits = x.to_bits();
    let field = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mut m, mut e) = if field == 0 {
        (fraction, -1074)
    } else {
        (fraction | (1 << 52), field - 1075)
    };
    if m != 0 {
        let zeros = m.trailing_zeros();
        m >>= zeros;
        e += zeros as i32;
    }
    (if x < 0.0 { -m } else { m }, e)
}

pub fn sub(a: &Int3, b: &Int3) -> Int3 {
    [&a[0] - &b[0], &a[1] - &b[1], &a[2] - &b[2]]
}

pub fn dot(a: &Int3, b: &Int3) -> BigInt {
    &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
}

pub fn cross(a: &Int3, b: &Int3) -> Int3 {
    [
        &a[1] * &b[2] - &a[2] * &b[1],
        &a[2] * &b[0] - &a[0] * &b[2],
        &a[0] * &b[1] - &a[1] * &b[0],
    ]
}

/// n/d · 2ᵉ rounded to about 60 bits, for n ≥ 0 and d > 0.
pub fn to_f64(n: &BigInt, d: &BigInt, e: i32) -> f64 {
    if n.is_zero() {
        return 0.0;
    }
    let shift = 64 + d.bits() as i64 - n.bits() as i64;
    let q = if shift >= 0 {
        (n << shift as usize) / d
    } else {
        n / (d << (-shift) as usize)
    };
    let power = e as i64 - shift;
    // In two halves, because the power alone may under- or overflow.
    let half = (power / 2) as i32;
    q.to_f64().unwrap() * 2f64.powi(half) * 2f64.powi(power as i32 - half)
}
