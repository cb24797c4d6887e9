//! Forward-mode differentiation: dual numbers with N derivatives, and vectors over them.
//!
//! A function written once over [`Real`] is evaluated with `f64` for its value and with
//! [`Dual`] for its value and N directional derivatives at once, exact to rounding. One lane gives
//! a Jacobian–vector product; twelve lanes give four 3×3 block columns of a Jacobian in one pass.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use crate::Vec3;

/// A scalar type for generic arithmetic: `f64` or [`Dual`].
///
/// Comparisons and branches use [`Real::value`], so that both types take the same branches.
pub trait Real:
    Copy
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Mul<f64, Output = Self>
    + Add<f64, Output = Self>
{
    /// The constant `x`: all derivatives are zero.
    fn constant(x: f64) -> Self;

    /// The number without its derivatives.
    fn value(&self) -> f64;

    /// The square root of a non-negative number. At zero, where the slope is infinite, the
    /// derivatives are set to zero, which is correct if the root is multiplied by a factor that
    /// also vanishes there.
    fn sqrt(self) -> Self;

    /// The natural logarithm of a positive number.
    fn ln(self) -> Self;

    /// The square.
    fn squared(self) -> Self {
        self * self
    }
}

impl Real for f64 {
    #[inline]
    fn constant(x: f64) -> Self {
        x
    }

    #[inline]
    fn value(&self) -> f64 {
        *self
    }

    #[inline]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline]
    fn ln(self) -> Self {
        crate::elementary::ln(self)
    }
}

/// A number and its derivatives in N directions: x + Σ dᵢ εᵢ with εᵢ εⱼ = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<const N: usize> {
    /// The number.
    pub re: f64,
    /// Its derivatives.
    pub d: [f64; N],
}

impl<const N: usize> Dual<N> {
    /// A number with given derivatives.
    pub fn new(re: f64, d: [f64; N]) -> Self {
        Self { re, d }
    }

    /// f(x) with slope f′(x).
    #[inline]
    fn chain(self, value: f64, slope: f64) -> Self {
        Self {
            re: value,
            d: self.d.map(|d| d * slope),
        }
    }
}

impl<const N: usize> Real for Dual<N> {
    #[inline]
    fn constant(x: f64) -> Self {
        Self { re: x, d: [0.0; N] }
    }

    #[inline]
    fn value(&self) -> f64 {
        self.re
    }

    #[inline]
    fn sqrt(self) -> Self {
        let root = self.re.sqrt();
        let slope = if root > 0.0 { 0.5 / root } else { 0.0 };
        self.chain(root, slope)
    }

    #[inline]
    fn ln(self) -> Self {
        self.chain(crate::elementary::ln(self.re), 1.0 / self.re)
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;
    #[inline]
    fn add(self, b: Self) -> Self {
        Self {
            re: self.re + b.re,
            d: std::array::from_fn(|i| self.d[i] + b.d[i]),
        }
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;
    #[inline]
    fn sub(self, b: Self) -> Self {
        Self {
            re: self.re - b.re,
            d: std::array::from_fn(|i| self.d[i] - b.d[i]),
        }
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;
    // The product rule is a sum.
    #[allow(clippy::suspicious_arithmetic_impl)]
    #[inline]
    fn mul(self, b: Self) -> Self {
        Self {
            re: self.re * b.re,
            d: std::array::from_fn(|i| self.d[i] * b.re + self.re * b.d[i]),
        }
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Self;
    #[inline]
    fn div(self, b: Self) -> Self {
        let re = self.re / b.re;
        let inverse = 1.0 / b.re;
        Self {
            re,
            d: std::array::from_fn(|i| (self.d[i] - re * b.d[i]) * inverse),
        }
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self {
            re: -self.re,
            d: self.d.map(|d| -d),
        }
    }
}

impl<const N: usize> Mul<f64> for Dual<N> {
    type Output = Self;
    #[inline]
    fn mul(self, b: f64) -> Self {
        Self {
            re: self.re * b,
            d: self.d.map(|d| d * b),
        }
    }
}

impl<const N: usize> Add<f64> for Dual<N> {
    type Output = Self;
    #[inline]
    fn add(self, b: f64) -> Self {
        Self {
            re: self.re + b,
            d: self.d,
        }
    }
}

/// A vector of three numbers over [`Real`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vector<T>(pub [T; 3]);

impl<T: Real> Vector<T> {
    /// A constant vector.
    #[inline]
    pub fn constant(v: &Vec3) -> Self {
        Self([T::constant(v.x), T::constant(v.y), T::constant(v.z)])
    }

    /// The zero vector.
    #[inline]
    pub fn zero() -> Self {
        Self([T::constant(0.0); 3])
    }

    /// The vector without derivatives.
    #[inline]
    pub fn value(&self) -> Vec3 {
        Vec3::new(self.0[0].value(), self.0[1].value(), self.0[2].value())
    }

    /// The inner product.
    #[inline]
    pub fn dot(&self, b: &Self) -> T {
        self.0[0] * b.0[0] + self.0[1] * b.0[1] + self.0[2] * b.0[2]
    }

    /// The cross product.
    #[inline]
    pub fn cross(&self, b: &Self) -> Self {
        let (a, b) = (&self.0, &b.0);
        Self([
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ])
    }

    /// The square of the length.
    #[inline]
    pub fn norm_squared(&self) -> T {
        self.dot(self)
    }

    /// The length; see [`Real::sqrt`] for its derivative at zero.
    #[inline]
    pub fn norm(&self) -> T {
        self.norm_squared().sqrt()
    }

    /// The vector times a number.
    #[inline]
    pub fn scale(&self, s: T) -> Self {
        Self([self.0[0] * s, self.0[1] * s, self.0[2] * s])
    }

    /// The vector times a constant.
    #[inline]
    pub fn times(&self, s: f64) -> Self {
        Self([self.0[0] * s, self.0[1] * s, self.0[2] * s])
    }
}

impl Vector<f64> {
    /// Converts to a [`Vec3`].
    #[inline]
    pub fn plain(&self) -> Vec3 {
        Vec3::new(self.0[0], self.0[1], self.0[2])
    }
}

impl<T: Real> Add for Vector<T> {
    type Output = Self;
    #[inline]
    fn add(self, b: Self) -> Self {
        Self([self.0[0] + b.0[0], self.0[1] + b.0[1], self.0[2] + b.0[2]])
    }
}

impl<T: Real> Sub for Vector<T> {
    type Output = Self;
    #[inline]
    fn sub(self, b: Self) -> Self {
        Self([self.0[0] - b.0[0], self.0[1] - b.0[1], self.0[2] - b.0[2]])
    }
}

impl<T: Real> Neg for Vector<T> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(self.0.map(|c| -c))
    }
}

impl<T: Real> AddAssign for Vector<T> {
    #[inline]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that uses every operation.
    fn f<T: Real>(x: T, y: T) -> T {
        let a = Vector([x, y, T::constant(0.5)]);
        let b = Vector([y * 2.0, x + 1.0, x * y]);
        let c = a.cross(&b).scale(x.squared()) - b.times(0.3) + (-a);
        (c.norm() / (y + 2.0)).ln() + a.dot(&c).squared().sqrt() * x
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let (x, y) = (0.8, 1.3);
        let exact = f(Dual::<2>::new(x, [1.0, 0.0]), Dual::<2>::new(y, [0.0, 1.0]));
        let e = 1e-5;
        let by_x = (f(x + e, y) - f(x - e, y)) / (2.0 * e);
        let by_y = (f(x, y + e) - f(x, y - e)) / (2.0 * e);
        assert_eq!(exact.re, f(x, y));
        assert!((exact.d[0] - by_x).abs() < 1e-8 * by_x.abs());
        assert!((exact.d[1] - by_y).abs() < 1e-8 * by_y.abs());
    }

    #[test]
    fn the_root_of_zero_has_no_derivative_and_no_nan() {
        let zero = Vector([Dual::<1>::new(0.0, [1.0]); 3]);
        assert_eq!(zero.norm(), Dual::constant(0.0));
        assert_eq!(zero.scale(zero.norm()), Vector::zero());
    }
}
