//! One contact with a full local matrix.

use stiction_math::{Mat2, Mat3, Vec2, Vec3, sym_eig2};

/// The impulse r with (S r + u*, r) ∈ C_μ for a symmetric positive definite S [1/kg], u* [m/s], the
/// unit normal `n` and μ: separate, stick or slide.
///
/// A sliding contact has u_T = −α r_T for some α > 0. With the normal eliminated, r_T = −(M + α)⁻¹ c
/// shrinks as α grows, and α is where it meets the cone: one equation in one unknown, solved inside
/// a bracket, so that it cannot fail. This is the law itself, as in [daviet2020, Sect. 5.2.2] for
/// S = s I, without a smoothed function in between.
pub fn solve_block(s: &Mat3, free: &Vec3, n: &Vec3, mu: f64) -> Vec3 {
    let along = free.dot(n);
    if along >= 0.0 {
        return Vec3::zeros();
    }
    let (t1, t2) = tangents(n);
    let (sn, s1, s2) = (s * n, s * t1, s * t2);
    let normal = sn.dot(n);
    let mixed = Vec2::new(sn.dot(&t1), sn.dot(&t2));
    let tangent = Mat2::new(s1.dot(&t1), s1.dot(&t2), s1.dot(&t2), s2.dot(&t2));
    let reduced = tangent - mixed * mixed.transpose() / normal;
    let across = Vec2::new(free.dot(&t1), free.dot(&t2)) - mixed * (along / normal);
    let (m, axes) = sym_eig2(&reduced);
    let (c, mixed) = (axes.tr_mul(&across), axes.tr_mul(&mixed));

    let at = |alpha: f64| {
        let r = Vec2::new(-c.x / (m.x + alpha), -c.y / (m.y + alpha));
        (r, -(along + mixed.dot(&r)) / normal)
    };
    let outside = |alpha: f64| {
        let (r, push) = at(alpha);
        r.norm() - mu * push
    };
    let world = |(r, push): (Vec2, f64)| {
        let r = axes * r;
        n * push + t1 * r.x + t2 * r.y
    };
    let stick = at(0.0);
    if stick.1 > 0.0 && stick.0.norm() <= mu * stick.1 {
        return world(stick);
    }
    if mu == 0.0 {
        return n * (-along / normal);
    }

    // Without tangential impulse the contact is closed, so a large α is inside the cone.
    let mut low = (0.0, outside(0.0));
    let mut high = (m.y, outside(m.y));
    for _ in 0..200 {
        if high.1 <= 0.0 {
            break;
        }
        low = high;
        high = (high.0 * 4.0, outside(high.0 * 4.0));
    }
    let mut last_low = None;
    for _ in 0..100 {
        // A secant, with the weight of an end halved that stays for a second time.
        let (x, f) = (high.0 * low.1 - low.0 * high.1, low.1 - high.1);
        let mut alpha = x / f;
        if !(alpha > low.0 && alpha < high.0) {
            alpha = 0.5 * (low.0 + high.0);
        }
        let value = outside(alpha);
        let is_low = value > 0.0;
        let stays = last_low == Some(is_low);
        if is_low {
            low = (alpha, value);
            high.1 *= if stays { 0.5 } else { 1.0 };
        } else {
            high = (alpha, value);
            low.1 *= if stays { 0.5 } else { 1.0 };
        }
        last_low = Some(is_low);
        if value == 0.0 || high.0 - low.0 <= 4.0 * f64::EPSILON * high.0 {
            break;
        }
    }
    let (r, push) = at(high.0);
    // On the cone to the last digit; the direction is what the root has decided.
    let size = r.norm();
    let factor = if size > mu * push {
        mu * push / size
    } else {
        1.0
    };
    world((r * factor, push.max(0.0)))
}

/// Two unit vectors that make a basis with `n`.
fn tangents(n: &Vec3) -> (Vec3, Vec3) {
    let other = if n.x.abs() < 0.6 {
        Vec3::x()
    } else {
        Vec3::y()
    };
    let t1 = n.cross(&other).normalize();
    (t1, n.cross(&t1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stiction_contact::coulomb_residual;

    fn vector(size: f64) -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(-size..size).prop_map(Vec3::from)
    }

    proptest! {
        #[test]
        fn the_law_holds(
            rows in prop::array::uniform3(prop::array::uniform3(-1.0..1.0f64)),
            least in 1e-3..1.0f64,
            free in vector(2.0),
            n in vector(1.0).prop_filter("a direction", |n| n.norm() > 0.1),
            mu in prop_oneof![Just(0.0), 0.0..1.0f64, Just(10.0)],
        ) {
            let g = Mat3::from_fn(|i, j| rows[i][j]);
            let s = g * g.transpose() + Mat3::from_diagonal_element(least);
            let n = n.normalize();
            let r = solve_block(&s, &free, &n, mu);
            let u = s * r + free;
            let residual = coulomb_residual(&u, &r, &n, mu, 3.0 / s.trace());
            prop_assert!(residual < 1e-11 * (1.0 + r.norm()), "{residual:e} {r:?}");
        }
    }
}
