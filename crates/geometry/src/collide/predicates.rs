//! Exact signs of orientation determinants: a floating-point filter with a proven bound, and
//! exact expansion arithmetic where the filter cannot tell [shewchuk1997].
//!
//! Exact for coordinates that are zero or between 10⁻⁹⁰ and 10⁹⁰ in modulus, so that products of
//! three neither under- nor overflow.

use stiction_math::Vec3;

/// The sign of det(a − d, b − d, c − d): positive if d sees a, b, c clockwise, zero exactly if
/// the four points are coplanar.
pub fn orient3d(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3) -> i32 {
    let (u, v, w) = (a - d, b - d, c - d);
    let minor = |i: usize, j: usize| (v[i] * w[j], v[j] * w[i]);
    let (mut det, mut permanent) = (0.0, 0.0);
    for (k, (i, j)) in [(1, 2), (2, 0), (0, 1)].into_iter().enumerate() {
        let (plus, minus) = minor(i, j);
        det += u[k] * (plus - minus);
        permanent += u[k].abs() * (plus.abs() + minus.abs());
    }
    // [shewchuk1997, Sect. 4.3], with a margin for the different order of the sum.
    if det.abs() > 8.0 * f64::EPSILON * permanent {
        return sign(det);
    }
    // det(a − d, b − d, c − d) = [a b c] − [d b c] − [a d c] − [a b d], each of six products.
    let mut sum = Expansion::default();
    for (s, p, q, r) in [
        (1.0, a, b, c),
        (-1.0, d, b, c),
        (-1.0, a, d, c),
        (-1.0, a, b, d),
    ] {
        for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            sum.add_product3(s * p[i], q[j], r[k]);
            sum.add_product3(-s * p[i], q[k], r[j]);
        }
    }
    sum.sign()
}

/// The sign of det(a − c, b − c): positive if a, b, c turn left, zero exactly if they are
/// collinear.
pub fn orient2d(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> i32 {
    let left = (a[0] - c[0]) * (b[1] - c[1]);
    let right = (a[1] - c[1]) * (b[0] - c[0]);
    let det = left - right;
    if det.abs() > 4.0 * f64::EPSILON * (left.abs() + right.abs()) {
        return sign(det);
    }
    let mut sum = Expansion::default();
    for (p, q) in [(a, b), (b, c), (c, a)] {
        sum.add_product(p[0], q[1]);
        sum.add_product(-p[1], q[0]);
    }
    sum.sign()
}

fn sign(x: f64) -> i32 {
    i32::from(x > 0.0) - i32::from(x < 0.0)
}

/// A sum of floating-point numbers that do not overlap, in ascending order of magnitude.
#[derive(Default)]
struct Expansion {
    terms: Vec<f64>,
}

impl Expansion {
    fn add(&mut self, x: f64) {
        let mut carry = x;
        let mut kept = 0;
        for i in 0..self.terms.len() {
            let (high, low) = two_sum(carry, self.terms[i]);
            if low != 0.0 {
                self.terms[kept] = low;
                kept += 1;
            }
            carry = high;
        }
        self.terms.truncate(kept);
        if carry != 0.0 {
            self.terms.push(carry);
        }
    }

    fn add_product(&mut self, x: f64, y: f64) {
        let (high, low) = two_product(x, y);
        self.add(low);
        self.add(high);
    }

    fn add_product3(&mut self, x: f64, y: f64, z: f64) {
        let (high, low) = two_product(x, y);
        self.add_product(low, z);
        self.add_product(high, z);
    }

    fn sign(&self) -> i32 {
        self.terms.last().map_or(0, |x| sign(*x))
    }
}

/// a + b = high + low exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    let b_part = high - a;
    let a_part = high - b_part;
    (high, (a - a_part) + (b - b_part))
}

/// a b = high + low exactly, if nothing underflows.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let high = a * b;
    (high, a.mul_add(b, -high))
}
