//! Coulomb's law for one contact, solved exactly.
//!
//! For u = W r + b with a symmetric 3×3 matrix W, the normal along x, a contact is open if b_N ≥ 0.
//! Else u_N = 0, which gives r_N as a function of r_T and leaves, with the Schur complement S of W_NN,
//!
//! ```text
//! S r_T + g = u_T = −α r_T,    α ≥ 0,    ‖r_T‖ ≤ μ r_N, with equality where α > 0.
//! ```
//!
//! In the eigenvectors of S, r_T(α) is explicit. α = 0 is sticking; if that leaves the cone, α is the
//! root of μ r_N(α) = ‖r_T(α)‖, which Newton's method finds between bounds. The ratio μ r_N/‖r_T‖
//! is almost linear in α, so that few iterations are needed.

use stiction_math::{Mat3, Vec3, elementary};

/// One contact with the decomposition of its matrix, and the last α.
#[derive(Clone, Copy, Debug)]
pub struct One {
    normal: f64,
    /// W_TN in the eigenvectors of S [1/kg].
    across: [f64; 2],
    /// Eigenvalues of S [1/kg].
    s: [f64; 2],
    /// The first eigenvector; the second is orthogonal to it.
    e: [f64; 2],
    mu: f64,
    alpha: f64,
}

/// Eigenvalues of S below this fraction of its trace count as this.
const SINGULAR: f64 = 1e-12;
/// Relative accuracy of α, as far as rounding allows.
const ROOT: f64 = 1e-15;
/// Iterations for α.
const STEPS: usize = 60;

impl One {
    pub fn new(w: &Mat3, mu: f64) -> Self {
        let normal = w.m11;
        let t = [0.5 * (w.m12 + w.m21), 0.5 * (w.m13 + w.m31)];
        let a = w.m22 - t[0] * t[0] / normal;
        let b = 0.5 * (w.m23 + w.m32) - t[0] * t[1] / normal;
        let c = w.m33 - t[1] * t[1] / normal;
        let turn = 0.5 * elementary::atan2(2.0 * b, a - c);
        let (sin, cos) = elementary::sin_cos(turn);
        let e = [cos, sin];
        let (mean, half) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
        let floor = SINGULAR * (a + c).abs().max(SINGULAR * normal);
        Self {
            normal,
            across: to_eigen(e, t),
            s: [(mean + half).max(floor), (mean - half).max(floor)],
            e,
            mu,
            alpha: 0.0,
        }
    }

    /// The impulse r [N·s] with (W r + `b`, r) ∈ C_μ.
    pub fn solve(&mut self, b: &Vec3) -> Vec3 {
        if b.x >= 0.0 {
            return Vec3::zeros();
        }
        let push = -b.x / self.normal;
        if self.mu == 0.0 {
            return Vec3::new(push, 0.0, 0.0);
        }
        let t = to_eigen(self.e, [b.y, b.z]);
        let g = [0, 1].map(|i| t[i] + self.across[i] * push);
        let mut at = self.at(0.0, b.x, g);
        if at.size > self.mu * at.n {
            at = self.slide(b.x, g, push);
            let limit = self.mu * at.n.max(0.0);
            let scale = if at.size > 0.0 { limit / at.size } else { 0.0 };
            at.t = at.t.map(|t| t * scale);
        }
        if at.n <= 0.0 {
            return Vec3::zeros();
        }
        let [x, y] = self.e;
        Vec3::new(at.n, x * at.t[0] - y * at.t[1], y * at.t[0] + x * at.t[1])
    }

    fn slide(&mut self, b: f64, g: [f64; 2], push: f64) -> At {
        let mean = 0.5 * (self.s[0] + self.s[1]);
        let mut alpha = self.alpha;
        if alpha == 0.0 {
            // As if S were its mean eigenvalue and r_N the impulse without friction.
            let pull = (g[0] * g[0] + g[1] * g[1]).sqrt();
            alpha = (pull / (self.mu * push) - mean).max(0.0);
        }
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut at = self.at(alpha, b, g);
        for _ in 0..STEPS {
            let over = at.size - self.mu * at.n;
            if over.abs() <= ROOT * self.mu * at.n.abs() {
                break;
            }
            match over > 0.0 {
                true => low = alpha,
                false => high = alpha,
            }
            let ratio = self.mu * at.n / at.size;
            let slope = self.mu * (at.dn * at.size - at.n * at.dsize) / (at.size * at.size);
            let mut next = alpha - (ratio - 1.0) / slope;
            // Also where it is not a number.
            if !(next > low && next < high) {
                next = match high.is_finite() {
                    true => 0.5 * (low + high),
                    false => 2.0 * low + self.s[0],
                };
            }
            if (next - alpha).abs() <= ROOT * (alpha + 1e-3 * self.s[0]) {
                break;
            }
            alpha = next;
            at = self.at(alpha, b, g);
        }
        self.alpha = alpha;
        at
    }

    fn at(&self, alpha: f64, b: f64, g: [f64; 2]) -> At {
        let inverse = self.s.map(|s| 1.0 / (s + alpha));
        let t = [0, 1].map(|i| -g[i] * inverse[i]);
        let size = (t[0] * t[0] + t[1] * t[1]).sqrt();
        let fall = t[0] * t[0] * inverse[0] + t[1] * t[1] * inverse[1];
        let [x, y] = self.across;
        At {
            n: -(b + x * t[0] + y * t[1]) / self.normal,
            dn: (x * t[0] * inverse[0] + y * t[1] * inverse[1]) / self.normal,
            dsize: if size > 0.0 { -fall / size } else { 0.0 },
            t,
            size,
        }
    }
}

/// The impulse at an α, with derivatives by α.
struct At {
    n: f64,
    dn: f64,
    t: [f64; 2],
    /// ‖t‖.
    size: f64,
    dsize: f64,
}

fn to_eigen(e: [f64; 2], t: [f64; 2]) -> [f64; 2] {
    [e[0] * t[0] + e[1] * t[1], e[0] * t[1] - e[1] * t[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_contact::coulomb_residual;

    /// Random symmetric positive matrices, some nearly singular, and velocities: the answer keeps the
    /// law by the certificate's own measure.
    #[test]
    fn every_answer_keeps_the_law() {
        let mut state = 7u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        for k in 0..2000 {
            let y = Mat3::from_fn(|_, _| random());
            let thin = if k % 3 == 0 { 1e-4 } else { 1.0 };
            let y = y * Mat3::from_diagonal(&Vec3::new(1.0, 1.0, thin));
            let w = y * y.transpose() + Mat3::identity() * 1e-6;
            let b = Vec3::from_fn(|_, _| 3.0 * random());
            let mu = 0.4 * (random() + 1.0);
            let mut one = One::new(&w, mu);
            // Again from the last α.
            for b in [b, b * 1.01] {
                let r = one.solve(&b);
                let u = w * r + b;
                let error = coulomb_residual(&u, &r, &Vec3::x(), mu, 3.0 / w.trace());
                assert!(error < 1e-9, "case {k}: {error:e}");
            }
        }
    }
}
