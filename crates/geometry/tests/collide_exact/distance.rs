//! Exact squared distances as fractions: the minimum over all features that could be active.

use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use stiction_math::Vec3;

use super::{Int3, cross, dot, integers, sub, to_f64};

/// A squared distance n/d, d > 0, in squared units.
pub struct Squared(pub BigInt, pub BigInt);

impl Squared {
    fn min(self, other: Squared) -> Squared {
        if &self.0 * &other.1 <= &other.0 * &self.1 {
            self
        } else {
            other
        }
    }

    fn distance(&self, unit: i32) -> f64 {
        // √(n/d) = √(n d)/d, with enough digits under the root.
        let root = ((&self.0 * &self.1) << 256usize).sqrt();
        to_f64(&root, &(&self.1 << 128usize), unit)
    }
}

pub fn point_edge(p: &Vec3, e: &[Vec3; 2]) -> f64 {
    let (x, unit) = integers(&[*p, e[0], e[1]]);
    point_edge_squared(&x[0], &x[1], &x[2]).distance(unit)
}

pub fn point_triangle(p: &Vec3, t: &[Vec3; 3]) -> f64 {
    let (x, unit) = integers(&[*p, t[0], t[1], t[2]]);
    point_triangle_squared(&x).distance(unit)
}

pub fn edge_edge(a: &[Vec3; 2], b: &[Vec3; 2]) -> f64 {
    let (x, unit) = integers(&[a[0], a[1], b[0], b[1]]);
    edge_edge_squared(&x).distance(unit)
}

pub fn point_edge_squared(p: &Int3, a: &Int3, b: &Int3) -> Squared {
    let (e, from_a, from_b) = (sub(b, a), sub(p, a), sub(p, b));
    if !dot(&from_a, &e).is_positive() {
        return Squared(dot(&from_a, &from_a), 1.into());
    }
    if !dot(&from_b, &e).is_negative() {
        return Squared(dot(&from_b, &from_b), 1.into());
    }
    let c = cross(&from_a, &e);
    Squared(dot(&c, &c), dot(&e, &e))
}

/// Of x = [p, a, b, c].
pub fn point_triangle_squared(x: &[Int3]) -> Squared {
    let n = cross(&sub(&x[2], &x[1]), &sub(&x[3], &x[1]));
    let n2 = dot(&n, &n);
    let inside = (1..4).all(|k| {
        let (a, b) = (&x[k], &x[k % 3 + 1]);
        !dot(&cross(&sub(b, a), &sub(&x[0], a)), &n).is_negative()
    });
    if inside && !n2.is_zero() {
        let h = dot(&sub(&x[0], &x[1]), &n);
        return Squared(&h * &h, n2);
    }
    let edge = |k: usize| point_edge_squared(&x[0], &x[k], &x[k % 3 + 1]);
    edge(1).min(edge(2)).min(edge(3))
}

/// Of x = [a₀, a₁, b₀, b₁].
pub fn edge_edge_squared(x: &[Int3]) -> Squared {
    let (a, b, r) = (sub(&x[1], &x[0]), sub(&x[3], &x[2]), sub(&x[2], &x[0]));
    let n = cross(&a, &b);
    let n2 = dot(&n, &n);
    let s = dot(&cross(&r, &b), &n);
    let t = dot(&cross(&r, &a), &n);
    let within = |v: &BigInt| !v.is_negative() && *v <= n2;
    if !n2.is_zero() && within(&s) && within(&t) {
        let h = dot(&r, &n);
        return Squared(&h * &h, n2);
    }
    let pe = |p: usize, a: usize, b: usize| point_edge_squared(&x[p], &x[a], &x[b]);
    pe(0, 2, 3)
        .min(pe(1, 2, 3))
        .min(pe(2, 0, 1))
        .min(pe(3, 0, 1))
}
