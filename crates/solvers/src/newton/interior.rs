//! An interior-point method for starts that are far from the law.
//!
//! With De Saxcé's change of variable the law is a complementarity of second-order cones [acary2011].
//! In the variables
//!
//! ```text
//! x = (r_N, r_T/μ),    z = (u_N + c r_N + μ‖u_T‖, μ u_T),    x, z ∈ L = {a_N ≥ ‖a_T‖},    x · z = 0
//! ```
//!
//! both cones are Lorentz's, and x · z is the power r · ũ. The method follows the path x ∘ z = τ e,
//! τ → 0, by Newton's method with the scaling of Nesterov and Todd [nesterov1997] and the predictor and
//! corrector of [mehrotra1992]. The scaling is the matrix H with H z = x; a step has
//!
//! ```text
//! dx + H dz = −x + σ τ z⁻¹ − second order,    dz = S du + c n dx_N − what z is off by
//! (A + Bᵀ G B) dv = …,    G = M H S (I + …)⁻¹,    M = diag(1, μ, μ),    S = (I + n ∂‖z_T‖) M
//! ```
//!
//! which is the matrix of the proximal loop with other numbers. The derivative of De Saxcé's term makes
//! it unsymmetric, and the path is that of no convex problem: nothing proves convergence, so the iterate
//! with the least certificate is returned, and the proximal loop decides.
//!
//! Contacts without friction have one-dimensional cones.

use stiction_math::{Mat3, Vec3};

/// A point of the two cones of one contact, in world coordinates with the normal as first axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Unit normal.
    pub n: Vec3,
    /// Coefficient of friction [1].
    pub mu: f64,
    /// Compliance [1/kg].
    pub compliance: f64,
    /// Scaled impulse [N·s].
    pub x: Vec3,
    /// Scaled velocity [m/s].
    pub z: Vec3,
}

/// The linearised law of one contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// −∂r/∂u [kg].
    pub stiffness: Mat3,
    /// M (I + c H n nᵀ)⁻¹.
    left: Mat3,
    /// The scaling H with H z = x [kg].
    h: Mat3,
    /// (I + n ∂‖z_T‖) M.
    s: Mat3,
    /// Error of z, with the change of De Saxcé's term [m/s].
    off: Vec3,
    /// Square root of H.
    root: Root,
}

/// Square root of the scaling: √η P(p), P(p) a = 2 p (p · a) − J a.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Root {
    eta: f64,
    p: Vec3,
}

/// a_N² − ‖a_T‖², without cancellation where a is close to the boundary.
fn det(a: &Vec3, n: &Vec3) -> f64 {
    let along = a.dot(n);
    let across = (a - n * along).norm();
    (along - across) * (along + across)
}

/// (a_N, −a_T).
fn mirror(a: &Vec3, n: &Vec3) -> Vec3 {
    n * (2.0 * a.dot(n)) - a
}

/// Jordan product a ∘ b.
fn jordan(a: &Vec3, b: &Vec3, n: &Vec3) -> Vec3 {
    let (an, bn) = (a.dot(n), b.dot(n));
    b * an + a * bn + n * (a.dot(b) - 2.0 * an * bn)
}

/// y with a ∘ y = b.
fn divide(b: &Vec3, a: &Vec3, n: &Vec3) -> Vec3 {
    let (an, bn) = (a.dot(n), b.dot(n));
    let (at, bt) = (a - n * an, b - n * bn);
    let along = (an * bn - at.dot(&bt)) / det(a, n);
    n * along + (bt - at * along) / an
}

/// The largest α with a + α d in L, at most `most`.
fn reach(a: &Vec3, d: &Vec3, n: &Vec3, most: f64) -> f64 {
    // det(a + α d) = 0 and a_N + α d_N = 0, whichever comes first.
    let (an, dn) = (a.dot(n), d.dot(n));
    let (at, dt) = (a - n * an, d - n * dn);
    let (p, q, r) = (
        dn * dn - dt.norm_squared(),
        an * dn - at.dot(&dt),
        det(a, n),
    );
    let mut least = most;
    if dn < 0.0 {
        least = least.min(-an / dn);
    }
    // p α² + 2 q α + r, with r > 0: the least positive root.
    let disc = q * q - p * r;
    if disc >= 0.0 {
        let root = disc.sqrt();
        let big = if q >= 0.0 { -(q + root) } else { -q + root };
        for alpha in [r / big, big / p] {
            if alpha.is_finite() && alpha > 0.0 {
                least = least.min(alpha);
            }
        }
    }
    least
}

impl Root {
    fn apply(&self, a: &Vec3, n: &Vec3) -> Vec3 {
        (self.p * (2.0 * self.p.dot(a)) - mirror(a, n)) * self.eta.sqrt()
    }

    fn apply_inverse(&self, a: &Vec3, n: &Vec3) -> Vec3 {
        let p = mirror(&self.p, n);
        (p * (2.0 * p.dot(a)) - mirror(a, n)) / self.eta.sqrt()
    }
}

impl Pair {
    /// The impulse r [N·s].
    pub fn impulse(&self) -> Vec3 {
        let along = self.x.dot(&self.n);
        self.n * along + (self.x - self.n * along) * self.mu
    }

    /// The linearised law at the relative velocity `u` = B v + k [m/s], with `derivative` times the
    /// derivative of De Saxcé's term.
    pub fn linearise(&self, u: &Vec3, derivative: f64) -> Linear {
        let Self {
            n,
            mu,
            compliance,
            x,
            z,
        } = *self;
        let normal = n * n.transpose();
        let (xn, zn, un) = (x.dot(&n), z.dot(&n), u.dot(&n));
        let missing = zn - un - compliance * xn;
        if mu <= 0.0 {
            let eta = xn / zn;
            let h = normal * eta;
            let left = normal / (1.0 + compliance * eta);
            return Linear {
                stiffness: left * h,
                left,
                h,
                s: normal,
                off: n * missing,
                root: Root { eta, p: n },
            };
        }
        let (dx, dz) = (det(&x, &n).sqrt(), det(&z, &n).sqrt());
        let (xbar, zbar) = (x / dx, z / dz);
        let gamma = ((1.0 + xbar.dot(&zbar)) * 0.5).max(1.0).sqrt();
        let w = (xbar + mirror(&zbar, &n)) / (2.0 * gamma);
        let eta = dx / dz;
        let h = (w * w.transpose() * 2.0 - normal * 2.0 + Mat3::identity()) * eta;
        let p = (w + n) / (2.0 * (w.dot(&n) + 1.0)).sqrt();
        let m = normal + (Mat3::identity() - normal) * mu;
        let zt = z - n * zn;
        let slip = zt.norm();
        let slope = match slip > 0.0 {
            true => zt * (derivative / slip),
            false => Vec3::zeros(),
        };
        let across = zt - (u - n * un) * mu;
        let along = missing - slip;
        let s = (Mat3::identity() + n * slope.transpose()) * m;
        let hn = h * n;
        let give = compliance / (1.0 + compliance * n.dot(&hn));
        let left = m * (Mat3::identity() - hn * n.transpose() * give);
        Linear {
            stiffness: left * h * s,
            left,
            h,
            s,
            off: across + n * (along + slope.dot(&across)),
            root: Root { eta, p },
        }
    }

    /// z⁻¹, with z ∘ z⁻¹ = e.
    fn inverse(&self) -> Vec3 {
        match self.mu > 0.0 {
            true => mirror(&self.z, &self.n) / det(&self.z, &self.n),
            false => self.n / self.z.dot(&self.n),
        }
    }

    /// −x + τ z⁻¹ − the second order of the step (dx, dz) = `affine`.
    pub fn aim(&self, linear: &Linear, tau: f64, affine: &(Vec3, Vec3)) -> Vec3 {
        let (n, (dx, dz)) = (&self.n, affine);
        let second = match self.mu > 0.0 {
            true => {
                let root = &linear.root;
                let lambda = root.apply(&self.z, n);
                let product = jordan(&root.apply_inverse(dx, n), &root.apply(dz, n), n);
                root.apply(&divide(&product, &lambda, n), n)
            }
            false => n * (dx.dot(n) * dz.dot(n) / self.z.dot(n)),
        };
        self.inverse() * tau - self.x - second
    }

    /// The largest step, at most `most`, that stays in both cones.
    pub fn reach(&self, step: &(Vec3, Vec3), most: f64) -> f64 {
        let Self { n, x, z, mu, .. } = self;
        if *mu > 0.0 {
            return reach(x, &step.0, n, reach(z, &step.1, n, most));
        }
        let mut least = most;
        for (a, d) in [(x, step.0), (z, step.1)] {
            let d = d.dot(n);
            if d < 0.0 {
                least = least.min(-a.dot(n) / d);
            }
        }
        least
    }
}

impl Linear {
    /// Contribution of `aim` and of the residual of z to the impulse: dr = push − G du.
    pub fn push(&self, aim: &Vec3) -> Vec3 {
        self.left * (aim + self.h * self.off)
    }

    /// (dx, dz) that follow from du.
    pub fn step(&self, pair: &Pair, aim: &Vec3, du: &Vec3) -> (Vec3, Vec3) {
        let n = &pair.n;
        let dr = self.push(aim) - self.stiffness * du;
        let along = dr.dot(n);
        let across = dr - n * along;
        let dx = match pair.mu > 0.0 {
            true => n * along + across / pair.mu,
            false => n * along,
        };
        let dz = self.s * du + n * (pair.compliance * along) - self.off;
        (dx, dz)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pair() -> Pair {
        let n = Vec3::new(1.0, 2.0, -2.0) / 3.0;
        let t = Vec3::new(2.0, -1.0, 0.0) / 5.0f64.sqrt();
        Pair {
            n,
            mu: 0.6,
            compliance: 0.2,
            x: n * 1.3 + t * 0.9 + n.cross(&t) * 0.4,
            z: n * 0.7 - t * 0.5 + n.cross(&t) * 0.3,
        }
    }

    /// Rounding of a few products of numbers of size one.
    const ROUNDING: f64 = 1e-13;

    #[test]
    fn the_scaling_takes_z_to_x_and_its_root_is_half_of_it() {
        let p = pair();
        let linear = p.linearise(&Vec3::zeros(), 1.0);
        assert!((linear.h * p.z - p.x).norm() < ROUNDING);
        let twice = linear.root.apply(&linear.root.apply(&p.z, &p.n), &p.n);
        assert!((twice - p.x).norm() < ROUNDING);
        let back = linear
            .root
            .apply_inverse(&linear.root.apply(&p.z, &p.n), &p.n);
        assert!((back - p.z).norm() < ROUNDING);
    }

    #[test]
    fn inverses_of_the_product() {
        let p = pair();
        assert!((jordan(&p.z, &p.inverse(), &p.n) - p.n).norm() < ROUNDING);
        let y = divide(&p.x, &p.z, &p.n);
        assert!((jordan(&p.z, &y, &p.n) - p.x).norm() < ROUNDING);
    }

    #[test]
    fn a_step_ends_at_the_boundary() {
        let p = pair();
        let steps = [
            (-p.x, p.z),
            (p.x, Vec3::new(0.3, -2.0, 0.4)),
            (Vec3::new(-1.0, 4.0, 2.0), -p.n),
        ];
        for step in steps {
            let alpha = p.reach(&step, 1e3);
            let inside = |a: f64| {
                let (x, z) = (p.x + step.0 * a, p.z + step.1 * a);
                let is = |y: &Vec3| y.dot(&p.n) >= 0.0 && det(y, &p.n) >= 0.0;
                is(&x) && is(&z)
            };
            // Brute force: the first point outside on a fine line.
            let first = (0..10_000).map(|k| k as f64 * 1e-3).find(|a| !inside(*a));
            let first = first.unwrap();
            assert!(
                (first - alpha).abs() <= 1.1e-3,
                "{alpha} instead of {first}"
            );
        }
    }

    /// (dx, dz) that follow from du solve the linearised law, compliance and De Saxcé's term included:
    /// by differences of the law itself.
    #[test]
    fn a_small_step_follows_the_law() {
        let p = pair();
        let off = |p: &Pair, u: &Vec3| {
            let (un, zn) = (u.dot(&p.n), p.z.dot(&p.n));
            let zt = p.z - p.n * zn;
            let across = zt - (u - p.n * un) * p.mu;
            across + p.n * (zn - un - p.compliance * p.x.dot(&p.n) - zt.norm())
        };
        let u = Vec3::new(0.2, -0.1, 0.4);
        let linear = p.linearise(&u, 1.0);
        let (aim, du) = (Vec3::new(1e-6, 2e-6, -1e-6), Vec3::new(-2e-6, 1e-6, 3e-6));
        let (dx, dz) = linear.step(&p, &aim, &du);
        assert!((dx + linear.h * dz - aim).norm() < 1e-12);
        // A step of any size takes z where it belongs, to second order of dz.
        let next = Pair {
            x: p.x + dx,
            z: p.z + dz,
            ..p
        };
        let left = off(&next, &(u + du)).norm();
        assert!(left < 2.0 * dz.norm_squared(), "{left:e}");
    }
}
