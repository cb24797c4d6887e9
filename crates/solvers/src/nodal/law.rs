//! One contact in its own frame: the law as the root of a Fischer–Burmeister function of the
//! relative velocity [li2018, Eq. 10–12].

use stiction_math::{Mat3, Vec3, frame};

use crate::projection::solve_block;

/// p = W⁻¹ (u − q) with (u, p) ∈ C_μ, for the impulse p = r + ξ n with cohesion, in the frame of the
/// contact with the normal along x.
#[derive(Clone, Copy, Debug)]
pub struct PrimalContact {
    /// W: relative velocity per impulse [1/kg], with compliance.
    w: Mat3,
    /// Its inverse [kg], Ŵ of the paper.
    inverse: Mat3,
    /// The mean diagonal of W [1/kg]: impulses count with the velocity that they cause.
    scale: f64,
    mu: f64,
    /// From the frame to the world: columns n, t, t.
    frame: Mat3,
}

/// The answer of one contact, world frame.
#[derive(Clone, Copy, Debug)]
pub struct Solved {
    /// Relative velocity u [m/s].
    pub u: Vec3,
    /// Impulse p = r + ξ n [N·s].
    pub p: Vec3,
    /// Whether Newton's method converged; if not, u and p come from the cases of the law.
    pub converged: bool,
}

/// Bound on the Fischer–Burmeister function, as a fraction of the velocities that it compares.
const ROOT: f64 = 1e-13;
/// Iterations of Newton's method.
const ITERATIONS: usize = 30;
/// Halvings of one step.
const HALVINGS: usize = 8;
/// Eigenvalues of the Jordan square below this fraction of the largest count as this.
const BOUNDARY: f64 = 1e-30;

impl PrimalContact {
    /// The contact with matrix `w` [1/kg] and unit normal `n`, world frame; none if `w` has no inverse.
    pub fn new(w: &Mat3, n: &Vec3, mu: f64) -> Option<Self> {
        let frame = frame(n);
        let w = frame.transpose() * w * frame;
        let w = (w + w.transpose()) * 0.5;
        Some(Self {
            inverse: w.try_inverse()?,
            scale: w.trace() / 3.0,
            w,
            mu,
            frame,
        })
    }

    /// The size of the velocity that the impulse `r`, world frame, causes [m/s].
    pub fn speed(&self, r: &Vec3) -> f64 {
        self.scale * r.norm()
    }

    /// Solves the law with the free velocity `q` [m/s], from the relative velocity `start`.
    pub fn solve(&self, q: &Vec3, start: &Vec3) -> Solved {
        let [q, start] = [q, start].map(|x| self.frame.tr_mul(x));
        let (u, p, converged) = self.solve_in_frame(&q, start);
        Solved {
            u: self.frame * u,
            p: self.frame * p,
            converged,
        }
    }

    fn solve_in_frame(&self, q: &Vec3, start: Vec3) -> (Vec3, Vec3, bool) {
        if q.x >= 0.0 {
            return (*q, Vec3::zeros(), true);
        }
        if self.mu == 0.0 {
            let p = Vec3::new(-q.x / self.w.m11, 0.0, 0.0);
            return (self.w * p + q, p, true);
        }
        let stick = -(self.inverse * q);
        if tangent(&stick).norm() <= self.mu * stick.x {
            return (Vec3::zeros(), stick, true);
        }
        let mut u = match tangent(&start).norm() > 0.0 {
            true => start,
            false => self.guess(q),
        };
        if self.newton(q, &mut u) {
            return (u, self.on_cone(self.inverse * (u - q)), true);
        }
        let p = solve_block(&self.w, q, &Vec3::x(), self.mu);
        (self.w * p + q, p, false)
    }

    /// The slip if W were a multiple of the identity.
    fn guess(&self, q: &Vec3) -> Vec3 {
        let slip = tangent(q);
        let size = slip.norm();
        let held = self.mu * -q.x;
        match size > held {
            true => slip * ((size - held) / size),
            // Friction across the frame's axes lets it slide all the same: along the missing force.
            false => tangent(&(self.inverse * q)) * self.scale,
        }
    }

    /// p with the tangential part shortened to the cone, which rounding may have left.
    fn on_cone(&self, p: Vec3) -> Vec3 {
        let size = tangent(&p).norm();
        match size > self.mu * p.x {
            true => Vec3::new(p.x, 0.0, 0.0) + tangent(&p) * (self.mu * p.x.max(0.0) / size),
            false => p,
        }
    }

    /// Newton's method on u ↦ f(û(u), p̂(u)), with halved steps while the norm does not fall.
    fn newton(&self, q: &Vec3, u: &mut Vec3) -> bool {
        let (mut value, mut jacobian) = self.linearise(q, u);
        for _ in 0..ITERATIONS {
            let compared = self.compared(q, u);
            if value.norm() <= ROOT * compared {
                return true;
            }
            let Some(inverse) = jacobian.try_inverse() else {
                return false;
            };
            let mut step = -(inverse * value);
            let mut accepted = false;
            for _ in 0..=HALVINGS {
                let next = *u + step;
                let (next_value, next_jacobian) = self.linearise(q, &next);
                if next_value.norm() < value.norm() {
                    (*u, value, jacobian) = (next, next_value, next_jacobian);
                    accepted = true;
                    break;
                }
                step *= 0.5;
            }
            if !accepted {
                // No smaller value can be resolved: as good as it gets, or a bad start.
                return value.norm() <= 1e3 * ROOT * compared;
            }
        }
        false
    }

    /// The size of the velocities that f compares at u [m/s].
    fn compared(&self, q: &Vec3, u: &Vec3) -> f64 {
        u.norm() + q.norm() + f64::MIN_POSITIVE
    }

    /// f and its derivative with respect to u.
    fn linearise(&self, q: &Vec3, u: &Vec3) -> (Vec3, Mat3) {
        let mu = self.mu;
        let p = self.inverse * (u - q);
        let slip = tangent(u);
        let speed = slip.norm();
        let toward = match speed > 0.0 {
            true => slip / speed,
            false => Vec3::zeros(),
        };
        // û = (u_N + μ ‖u_T‖, μ u_T) and p̂ = (μ p_N, p_T), in velocities.
        let x = Vec3::new(u.x + mu * speed, mu * u.y, mu * u.z);
        let y = Vec3::new(mu * p.x, p.y, p.z) * self.scale;
        let dx = Mat3::new(
            1.0,
            mu * toward.y,
            mu * toward.z,
            0.0,
            mu,
            0.0,
            0.0,
            0.0,
            mu,
        );
        let dy = Mat3::from_diagonal(&Vec3::new(mu, 1.0, 1.0)) * self.inverse * self.scale;
        let (value, by_x, by_y) = fischer_burmeister(&x, &y);
        (value, by_x * dx + by_y * dy)
    }
}

/// ‖f(û, p̂)‖ [m/s] of one contact with the law's local scale `scale` [1/kg]: zero exactly when the laws
/// of Signorini and Coulomb hold for the relative velocity `u` and the impulse `p`, world frame.
pub fn residual(u: &Vec3, p: &Vec3, n: &Vec3, mu: f64, scale: f64) -> f64 {
    let [along, force] = [u.dot(n), p.dot(n)];
    let [slip, drag] = [u - n * along, p - n * force];
    if mu == 0.0 {
        let [x, y] = [along, force * scale];
        return (x + y - (x * x + y * y).sqrt()).abs() + drag.norm() * scale;
    }
    // In any frame of the tangent plane: both tangential parts are turned alike.
    let frame = frame(n);
    let local = |normal: f64, tangent: Vec3| {
        let t = frame.tr_mul(&tangent);
        Vec3::new(normal, t.y, t.z)
    };
    let x = local(along + mu * slip.norm(), slip * mu);
    let y = local(mu * force, drag) * scale;
    fischer_burmeister(&x, &y).0.norm()
}

fn tangent(x: &Vec3) -> Vec3 {
    Vec3::new(0.0, x.y, x.z)
}

/// f(x, y) = x + y − (x∘x + y∘y)^½ on the second-order cone with the axis along x
/// [fukushima2002], and its derivatives I − L_z⁻¹ L_x and I − L_z⁻¹ L_y.
fn fischer_burmeister(x: &Vec3, y: &Vec3) -> (Vec3, Mat3, Mat3) {
    // Spectral values of the Jordan square.
    let first = x.norm_squared() + y.norm_squared();
    let rest = (tangent(x) * x.x + tangent(y) * y.x) * 2.0;
    let size = rest.norm();
    let floor = (BOUNDARY * first).max(f64::MIN_POSITIVE);
    let [low, high] = [(first - size).max(floor), (first + size).max(floor)];
    let [a, b] = [low.sqrt(), high.sqrt()];
    let mut z = match size > 0.0 {
        true => rest * (0.5 * (b - a) / size),
        false => Vec3::zeros(),
    };
    z.x = 0.5 * (a + b);
    let value = x + y - z;
    let inverse = arrow_inverse(&z, a * b);
    let by = |x: &Vec3| Mat3::identity() - inverse * arrow(x);
    (value, by(x), by(y))
}

/// L_x: y ↦ x∘y.
fn arrow(x: &Vec3) -> Mat3 {
    Mat3::new(x.x, x.y, x.z, x.y, x.x, 0.0, x.z, 0.0, x.x)
}

/// L_z⁻¹, with the determinant z₀² − ‖z̄‖² given.
fn arrow_inverse(z: &Vec3, determinant: f64) -> Mat3 {
    let t = tangent(z);
    let mut inverse =
        (t * t.transpose() + Mat3::from_diagonal(&Vec3::new(0.0, determinant, determinant))) / z.x;
    inverse[(0, 0)] = z.x;
    for i in 1..3 {
        inverse[(0, i)] = -z[i];
        inverse[(i, 0)] = -z[i];
    }
    inverse / determinant
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stiction_contact::coulomb_residual;

    fn vector(size: f64) -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(-size..size).prop_map(Vec3::from)
    }

    fn contact() -> impl Strategy<Value = (Mat3, Vec3, f64)> {
        let rows = prop::array::uniform3(prop::array::uniform3(-1.0..1.0f64));
        let mu = prop_oneof![Just(0.0), 0.01..1.0f64, Just(10.0)];
        let n = vector(1.0).prop_filter("a direction", |n| n.norm() > 0.1);
        (rows, 1e-2..1.0f64, n, mu).prop_map(|(rows, least, n, mu)| {
            let g = Mat3::from_fn(|i, j| rows[i][j]);
            let w = g * g.transpose() + Mat3::from_diagonal_element(least);
            (w, n.normalize(), mu)
        })
    }

    proptest! {
        #[test]
        fn the_law_holds_from_any_start(
            (w, n, mu) in contact(),
            q in vector(2.0),
            start in prop_oneof![Just(Vec3::zeros()), vector(2.0)],
        ) {
            let contact = PrimalContact::new(&w, &n, mu).unwrap();
            let solved = contact.solve(&q, &start);
            let rho = 3.0 / w.trace();
            let size = 1.0 + solved.p.norm();
            let error = coulomb_residual(&solved.u, &solved.p, &n, mu, rho);
            prop_assert!(error < 1e-10 * size, "{error:e} {solved:?}");
            let balance = (w * solved.p + q - solved.u).norm();
            prop_assert!(balance < 1e-10 * size, "{balance:e} {solved:?}");
            // The residual agrees that this is a root, and that an approaching contact is none.
            prop_assert!(residual(&solved.u, &solved.p, &n, mu, 1.0 / rho) < 1e-6 * size);
            let off = solved.u - (1.0 + solved.u.dot(&n)) * n;
            prop_assert!(residual(&off, &solved.p, &n, mu, 1.0 / rho) > 1e-3);
        }

        /// Derivatives against central differences, away from the kinks.
        #[test]
        fn derivatives(
            (w, n, mu) in contact(),
            q in vector(2.0),
            u in vector(2.0).prop_filter("slips", |u| tangent(u).norm() > 0.1),
        ) {
            let contact = PrimalContact::new(&w, &n, mu).unwrap();
            let jacobian = contact.linearise(&q, &u).1;
            let h = 1e-6;
            for i in 0..3 {
                let at = |s: f64| contact.linearise(&q, &(u + Vec3::ith(i, s))).0;
                let slope = (at(h) - at(-h)) / (2.0 * h);
                let error = (slope - jacobian.column(i)).norm();
                prop_assert!(error < 1e-5 * (1.0 + jacobian.norm()), "{error:e}");
            }
        }

        /// Newton's method rarely needs the cases of the law.
        #[test]
        fn jordan_square_root(x in vector(2.0), y in vector(2.0)) {
            let (value, _, _) = fischer_burmeister(&x, &y);
            let z = x + y - value;
            let square = arrow(&z) * z;
            let expected = arrow(&x) * x + arrow(&y) * y;
            prop_assert!((square - expected).norm() < 1e-12 * (1.0 + expected.norm()));
        }
    }

    #[test]
    fn newton_converges_on_nearly_all_sliding_contacts() {
        let mut state = 7u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        };
        let mut failed = 0;
        for _ in 0..2000 {
            let g = Mat3::from_fn(|_, _| random());
            let w = g * g.transpose() + Mat3::identity() * 0.1;
            let q = Vec3::new(-random().abs(), random(), random());
            let contact = PrimalContact::new(&w, &Vec3::x(), 0.3).unwrap();
            failed += usize::from(!contact.solve(&q, &Vec3::zeros()).converged);
        }
        assert!(failed <= 20, "{failed} of 2000");
    }
}
