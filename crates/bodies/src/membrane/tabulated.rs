//! Membrane with measured moduli that depend on strain and direction [wang2011].
//!
//! A fabric is published as six rows (c₁₁, c₁₂, c₂₂, c₃₃) [N/m]: one at rest, and five at a stretch
//! of 1 + 1/6 along directions at φ = 0, 22.5, 45, 67.5 and 90° to the warp. They relate the stress to
//! FᵀF − 1 = 2 E, so that with the Green strain E
//!
//! S₁₁ = 2 c₁₁ E₁₁ + 2 c₁₂ E₂₂,  S₂₂ = 2 c₁₂ E₁₁ + 2 c₂₂ E₂₂,  S₁₂ = 2 c₃₃ E₁₂   [N/m].
//!
//! As in the program of [narain2012], rows are chosen by the principal direction of the largest strain
//! λ₁, φ ∈ [0, 90°]; between the row at rest and those, moduli are linear in the stretch w = √(1 + 2 λ₁)
//! and constant beyond 1 + 1/6 and below 1; negative moduli, which the fit produces, are set to zero.
//!
//! That stress is not the derivative of an energy. The energy here is the work that it does along
//! proportional loading, from E = 0 to E along t E:
//!
//! ψ(E) = ½ E : C̄(E) : E,   C̄ = C₀ + s̄(λ₁) (C(φ) − C₀),   s̄(λ) = 2 ∫₀¹ t s(t λ) dt,
//!
//! with s(λ) = min(6 (√(1 + 2 λ) − 1), 1). Its derivative along E is that of the table. Every matrix is projected to be
//! positive semi-definite, and C(φ) = B(φ)² interpolates the roots of the five, so that C̄ is positive
//! semi-definite at any strain, and ψ ≥ 0.
//!
//! Projected Hessian: with B = ∂E/∂x the exact one is A (Bᵀ ψ″ B + S ⊗ I); of ψ″ and of S the positive
//! part is taken.
//!
//! **Deviations** from [wang2011] and the program of [narain2012]:
//! - The energy: with theirs, stress is C(E) : E, and a closed path in the space of strains does work.
//! - Between directions the roots of the moduli are polynomials of degree 4 in cos 2φ through the five
//!   (which are its Chebyshev–Lobatto points), instead of moduli linear in φ; the program evaluates
//!   on a grid of strains of 1/30 and interpolates linearly, so that moduli at rest are blurred.
//! - Where both principal strains are tensile, for which nothing was measured, directions fade
//!   towards the row of 45°: cos 2φ is taken as d/√(R² + λ₂²), d = ½ (E₁₁ − E₂₂), R = ½ (λ₁ − λ₂).
//! - Kinks at zero strain are rounded over strains of [`ROUNDING`].

use super::{RestTriangles, StretchModuli, eig2, spread_hessian};
use crate::elements::{ElementDerivatives, ElementError, Elements, Hessian, require};
use stiction_math::{Dual, Mat2, Mat3, Real, Vec3, psd3, sym_eig2};

/// Stretch beyond 1 of the five rows [1] [wang2011].
const SPAN: f64 = 1.0 / 6.0;
/// Strains over which kinks at zero strain are rounded [1]: below the resolution of 0.03 at which
/// [narain2012] samples the table.
const ROUNDING: f64 = 2e-3;

/// Moduli c₁₁, c₁₂, c₂₂, c₃₃ [N/m] at rest, and at a stretch of 1 + 1/6 along 0, 22.5, 45, 67.5
/// and 90° to the warp, as published [wang2011].
pub type StretchTable = [[f64; 4]; 6];

/// The moduli of a fabric as functions of the strain.
#[derive(Clone, Copy, Debug)]
struct Moduli {
    /// C₀: c₁₁, c₁₂, c₂₂ and c₃₃ of the engineering strain 2 E₁₂ [N/m].
    rest: [f64; 4],
    /// Roots of C(φ): coefficients of polynomials in cos 2φ, by ascending powers.
    root: [[f64; 5]; 4],
}

/// A symmetric 2×2 matrix (three entries) and a number, over [`Real`].
type Entries<T> = [T; 4];

impl Moduli {
    /// Checks and prepares a table.
    fn new(table: &StretchTable) -> Result<Self, ElementError> {
        for c in table.iter().flatten() {
            require(c.is_finite(), "stretch.samples", *c, "finite")?;
        }
        let rows = table.map(positive);
        let [c11, c12, c22, c33] = rows[0];
        StretchModuli::measured(c11, c12, c22, c33)?;
        let mut nodes = [[0.0; 5]; 4];
        for (k, row) in rows[1..].iter().enumerate() {
            let root = root(row);
            for (entry, value) in nodes.iter_mut().zip(root) {
                entry[k] = value;
            }
        }
        Ok(Self {
            rest: rows[0],
            root: nodes.map(|n| polynomial(&n)),
        })
    }

    /// C(φ) and its derivative by c = cos 2φ.
    fn stretched<T: Real>(&self, c: T) -> [Entries<T>; 2] {
        let [p, q, r, s] = self.root.map(|k| horner(&k, c));
        let square = |(a, _): (T, T), (b, _): (T, T)| a * b;
        let slope = |(a, da): (T, T), (b, db): (T, T)| da * b + a * db;
        [
            [
                square(p, p) + square(q, q),
                square(p, q) + square(q, r),
                square(q, q) + square(r, r),
                square(s, s),
            ],
            [
                slope(p, p) + slope(q, q),
                slope(p, q) + slope(q, r),
                slope(q, q) + slope(r, r),
                slope(s, s),
            ],
        ]
    }

    /// ψ [N/m] and its derivatives by E₁₁, E₂₂ and 2 E₁₂ at these strains.
    fn stress<T: Real>(&self, e: [T; 3]) -> (T, [T; 3]) {
        let rest = self.rest.map(T::constant);
        let mut stress = times(&rest, &e);
        let mut density = product(&stress, &e) * 0.5;
        let Strain { share, c } = Strain::of(e);
        let (q, dq) = share;
        if q.value() == 0.0 {
            return (density, stress);
        }
        let (c, dc) = c;
        let [stretched, slope] = self.stretched(c);
        let more = std::array::from_fn(|k| stretched[k] - rest[k]);
        let own = times(&more, &e);
        let (gain, turn) = (
            product(&own, &e) * 0.5,
            product(&times(&slope, &e), &e) * 0.5,
        );
        density = density + q * gain;
        for k in 0..3 {
            stress[k] = stress[k] + q * own[k] + gain * dq[k] + q * turn * dc[k];
        }
        (density, stress)
    }
}

/// The share s̄ of the stretched moduli and c = cos 2φ, each with its gradient by E₁₁, E₂₂, 2 E₁₂.
struct Strain<T> {
    share: (T, [T; 3]),
    c: (T, [T; 3]),
}

impl<T: Real> Strain<T> {
    fn of([e11, e22, shear]: [T; 3]) -> Self {
        let (mean, d) = ((e11 + e22) * 0.5, (e11 - e22) * 0.5);
        let radius = (d * d + shear * shear * 0.25 + ROUNDING * ROUNDING).sqrt();
        let dr = [d * 0.5 / radius, -(d * 0.5 / radius), shear * 0.25 / radius];
        // ½ (λ₁ − λ₂), zero without strain, and its slope by `radius`.
        let rounding = T::constant(ROUNDING * ROUNDING) / radius;
        let (apart, slope) = (radius - rounding, rounding / radius + 1.0);
        let (p1, slope1) = ramp(mean + apart);
        let (q, dq) = share(p1);
        let zero = T::constant(0.0);
        if q.value() == 0.0 {
            return Self {
                share: (zero, [zero; 3]),
                c: (zero, [zero; 3]),
            };
        }
        let half = T::constant(0.5);
        let dm = [half, half, zero];
        let (p2, slope2) = ramp(mean - apart);
        let length = (radius * radius + p2 * p2).sqrt();
        let c = d / length;
        let dd = [half, -half, zero];
        let of_c = |k: usize| {
            let dl = (radius * dr[k] + p2 * slope2 * (dm[k] - slope * dr[k])) / length;
            (dd[k] - c * dl) / length
        };
        Self {
            share: (
                q,
                std::array::from_fn(|k| dq * slope1 * (dm[k] + slope * dr[k])),
            ),
            c: (c, std::array::from_fn(of_c)),
        }
    }
}

/// The positive part of x rounded at zero, x³/(x² + ε²) for x > 0, and its slope.
fn ramp<T: Real>(x: T) -> (T, T) {
    if x.value() <= 0.0 {
        return (T::constant(0.0), T::constant(0.0));
    }
    const EPS: f64 = ROUNDING * ROUNDING;
    let square = x * x;
    let total = square + EPS;
    (
        x * square / total,
        square * (square + 3.0 * EPS) / (total * total),
    )
}

/// s̄(λ) and its slope. With w = √(1 + 2 λ) = 1 + z,
/// λ² s̄ / 2 = ∫ τ s dτ = 3 ∫ z² (2 + 3 z + z²) dz up to z = 1/6, and s = 1 beyond.
fn share<T: Real>(strain: T) -> (T, T) {
    if strain.value() <= 0.0 {
        return (T::constant(0.0), T::constant(0.0));
    }
    let z = strain * 2.0 / ((strain * 2.0 + 1.0).sqrt() + 1.0);
    let (s, mean) = if z.value() < SPAN {
        let sum = z * 4.8 + 18.0;
        let two = z + 2.0;
        (z * 6.0, z * (z * sum + 16.0) / (two * two))
    } else {
        let last = SPAN * (2.0 + SPAN) * 0.5;
        let work = SPAN.powi(3) * (4.0 + SPAN * (4.5 + 1.2 * SPAN));
        let missing = last * last - work;
        let one = T::constant(1.0);
        (one, one - T::constant(missing) / (strain * strain))
    };
    (mean, (s - mean) * 2.0 / strain)
}

/// The value of a polynomial with ascending coefficients and its slope.
fn horner<T: Real>(k: &[f64; 5], x: T) -> (T, T) {
    let (mut value, mut slope) = (T::constant(k[4]), T::constant(0.0));
    for k in k[..4].iter().rev() {
        slope = slope * x + value;
        value = value * x + *k;
    }
    (value, slope)
}

/// Coefficients of the polynomial in c with the given values at c = cos(k π/4), k = 0 … 4.
fn polynomial(f: &[f64; 5]) -> [f64; 5] {
    let r = std::f64::consts::FRAC_1_SQRT_2;
    let (ends, inner) = (f[0] + f[4], f[1] + f[3]);
    let (odd, inner_odd) = (f[0] - f[4], f[1] - f[3]);
    // Coefficients of Chebyshev polynomials, by the discrete cosine transform.
    let a = [
        0.25 * (0.5 * ends + inner + f[2]),
        0.5 * (0.5 * odd + r * inner_odd),
        0.5 * (0.5 * ends - f[2]),
        0.5 * (0.5 * odd - r * inner_odd),
        0.25 * (0.5 * ends - inner + f[2]),
    ];
    [
        a[0] - a[2] + a[4],
        a[1] - 3.0 * a[3],
        2.0 * a[2] - 8.0 * a[4],
        4.0 * a[3],
        8.0 * a[4],
    ]
}

/// A row of the table as a positive semi-definite matrix for E₁₁, E₂₂ and 2 E₁₂.
fn positive(row: [f64; 4]) -> [f64; 4] {
    let [c11, c12, c22, c33] = row.map(|c| c.max(0.0));
    let [c11, c12, c22] = matrix(&[2.0 * c11, 2.0 * c12, 2.0 * c22], |v| v);
    [c11, c12, c22, c33]
}

/// The positive root of such a matrix.
fn root(row: &[f64; 4]) -> [f64; 4] {
    let [p, q, r] = matrix(&[row[0], row[1], row[2]], f64::sqrt);
    [p, q, r, row[3].sqrt()]
}

/// `of` the positive eigenvalues of a symmetric matrix, and zero of the others.
fn matrix([a, b, c]: &[f64; 3], of: impl Fn(f64) -> f64) -> [f64; 3] {
    let (values, axes) = sym_eig2(&Mat2::new(*a, *b, *b, *c));
    let m = axes * Mat2::from_diagonal(&values.map(|v| of(v.max(0.0)))) * axes.transpose();
    [m[(0, 0)], 0.5 * (m[(0, 1)] + m[(1, 0)]), m[(1, 1)]]
}

fn times<T: Real>(c: &Entries<T>, e: &[T; 3]) -> [T; 3] {
    [
        c[0] * e[0] + c[1] * e[1],
        c[1] * e[0] + c[2] * e[1],
        c[3] * e[2],
    ]
}

fn product<T: Real>(a: &[T; 3], b: &[T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Triangles of a fabric with tabulated moduli.
#[derive(Clone, Debug)]
pub struct TabulatedMembrane {
    rest: RestTriangles,
    moduli: Moduli,
}

impl TabulatedMembrane {
    /// One fabric on all triangles.
    ///
    /// # Errors
    /// Unless all moduli are finite and those at rest, with negative ones set to zero, have
    /// c₁₁, c₂₂, c₃₃ > 0 and c₁₁ c₂₂ > c₁₂².
    pub fn new(rest: RestTriangles, table: &StretchTable) -> Result<Self, ElementError> {
        let moduli = Moduli::new(table)?;
        Ok(Self { rest, moduli })
    }

    /// Strains E₁₁, E₂₂ and 2 E₁₂.
    fn strain(f: &[Vec3; 2]) -> [f64; 3] {
        let own = |f: &Vec3| 0.5 * (f.norm_squared() - 1.0);
        [own(&f[0]), own(&f[1]), f[0].dot(&f[1])]
    }

    fn spread(&self, e: usize, f: &[Vec3; 2], s: &[f64; 3]) -> [Vec3; 3] {
        self.rest
            .spread(e, &[f[0] * s[0] + f[1] * s[2], f[0] * s[2] + f[1] * s[1]])
    }
}

impl Elements<3> for TabulatedMembrane {
    fn nodes(&self) -> &[[u32; 3]] {
        self.rest.nodes()
    }

    fn energy(&self, e: usize, x: &[Vec3; 3]) -> f64 {
        let f = self.rest.deformation(e, x);
        self.moduli.stress(Self::strain(&f)).0 * self.rest.areas[e]
    }

    fn gradient(&self, e: usize, x: &[Vec3; 3]) -> [Vec3; 3] {
        let f = self.rest.deformation(e, x);
        let (_, s) = self.moduli.stress(Self::strain(&f));
        self.spread(e, &f, &s)
    }

    fn local(&self, e: usize, x: &[Vec3; 3], kind: Hessian) -> ElementDerivatives<3> {
        let f = self.rest.deformation(e, x);
        let strain = Self::strain(&f);
        let unit = |k: usize| std::array::from_fn(|i| f64::from(u8::from(i == k)));
        let (density, stress) = self
            .moduli
            .stress(std::array::from_fn(|k| Dual::<3>::new(strain[k], unit(k))));
        let s = stress.map(|s| s.re);
        let second = Mat3::from_fn(|r, c| 0.5 * (stress[r].d[c] + stress[c].d[r]));
        let (second, tension) = match kind {
            Hessian::Full => (second, s),
            Hessian::Projected => (psd3(&second), positive_part(&s)),
        };
        // ∂E₁₁ = f₁·∂f₁, ∂E₂₂ = f₂·∂f₂, ∂(2 E₁₂) = f₂·∂f₁ + f₁·∂f₂.
        let by = [[f[0], Vec3::zeros(), f[1]], [Vec3::zeros(), f[1], f[0]]];
        let block = |i: usize, j: usize, s: f64| {
            let mut m = Mat3::from_diagonal_element(s);
            for r in 0..3 {
                for c in 0..3 {
                    m += by[i][r] * by[j][c].transpose() * second[(r, c)];
                }
            }
            m
        };
        let m = [
            block(0, 0, tension[0]),
            block(0, 1, tension[2]),
            block(1, 1, tension[1]),
        ];
        let area = self.rest.areas[e];
        ElementDerivatives {
            energy: density.re * area,
            gradient: self.spread(e, &f, &s),
            hessian: spread_hessian(area, &self.rest.gradients[e], &m),
        }
    }
}

/// The positive part of the stress [[S₁₁, S₁₂], [S₁₂, S₂₂]], given as S₁₁, S₂₂, S₁₂.
fn positive_part(s: &[f64; 3]) -> [f64; 3] {
    let (l1, l2, v) = eig2(s[0], s[2], s[1]);
    if l2 >= 0.0 {
        return *s;
    }
    let l1 = l1.max(0.0);
    [l1 * v.x * v.x, l1 * v.y * v.y, l1 * v.x * v.y]
}
