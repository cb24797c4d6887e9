//! Relaxation on solids given by a field: planes, analytic shapes and level sets [ding, Sects. 2.1.1, 2.1.2].
//!
//! With W the point of the surface closest to Z, the attachment moves along the path
//!
//! ```text
//! Y(s) = projection of K(s) = W + s (X − W) to the surface,      0 ≤ s ≤ 1
//! ```
//!
//! to the largest s at which the force is in the cone about n(Y(s)). On a plane s = μ‖Z − W‖/‖X − W‖
//! [ding, Eq. 2]. That is the first guess on any solid; the root of
//!
//! ```text
//! g(s) = μ (Y − Z)·n − ‖(Y − Z) − ((Y − Z)·n) n‖
//! ```
//!
//! is then found between s = 0, where g ≥ 0, and s = 1, where g < 0; it is nearly linear. Its derivatives are those of one step
//! of Newton's method for s, with derivatives carried through: ds = −dg/g′.

use stiction_geometry::analytic::Solid;
use stiction_math::{Dual, Real, Vec3, Vector};

/// A relaxed attachment on a solid, in the solid's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelaxedOnSolid<T> {
    /// The point Y [m].
    pub point: Vector<T>,
    /// Unit normal there.
    pub normal: Vec3,
    /// Whether Z is inside.
    pub active: bool,
    /// Whether the attachment has moved.
    pub moved: bool,
}

/// Iterations of the projection to a sampled surface; a signed distance needs one.
const PROJECTIONS: usize = 4;
/// Values of the field below this fraction of the coordinates are rounding.
const ON_SURFACE: f64 = 4.0 * f64::EPSILON;
/// Excess over the cone, relative to ‖Y − Z‖, that counts as rounding.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// Divisions of the interval of s.
const DIVISIONS: usize = 60;
/// A residual |g| at the root above this, relative to ‖W − Z‖, shows a jump of the path: s is constant there.
const JUMP: f64 = 1e-9;

/// P(X, Z) on the surface that is `thickness` [m] outside of a solid; everything in the solid's frame.
pub fn relax_on_solid<T: Real>(
    solid: &Solid,
    thickness: f64,
    x: &Vec3,
    z: &Vector<T>,
    mu: f64,
) -> RelaxedOnSolid<T> {
    let surface = Surface { solid, thickness };
    let (w, normal) = surface.project(z);
    let inside = surface.field(z).0.value() < 0.0;
    let apart = Vector::<T>::constant(x) - w;
    let at_foot = RelaxedOnSolid {
        point: w,
        normal: normal.value(),
        active: inside,
        moved: true,
    };
    // Without load nothing holds the attachment.
    if !inside {
        return at_foot;
    }
    let centre = Vector::<f64>::constant(&z.value());
    let start = Vector::<f64>::constant(x);
    let resting = surface.field(&start).1;
    let size = (x - z.value()).norm();
    if cone_excess(&(start, resting), &centre, mu) >= -ROUNDING * size {
        return RelaxedOnSolid {
            point: Vector::constant(x),
            normal: resting.plain(),
            active: true,
            moved: false,
        };
    }
    let d = apart.norm().value();
    let depth = (z.value() - w.value()).norm();
    let guess = mu * depth / d;
    if !(guess > 0.0 && guess.is_finite()) {
        return at_foot;
    }
    let at = |s: f64| {
        let path = w.value() + apart.value() * s;
        cone_excess(&surface.project(&Vector::constant(&path)), &centre, mu)
    };
    let s = root(guess.min(1.0), depth, at);
    // g(s) with derivatives by Z, and by s.
    let with = surface.project(&(w + apart.times(s)));
    let excess = cone_excess(&with, z, mu);
    let along = {
        let dual = |v: Vec3| Vector::<Dual<1>>::constant(&v);
        let step = Dual::new(s, [1.0]);
        let path = dual(w.value()) + dual(apart.value()).scale(step);
        cone_excess(&surface.project(&path), &dual(z.value()), mu)
    };
    let slope = along.d[0];
    let smooth = slope < 0.0 && slope.is_finite() && along.re.abs() <= JUMP * depth;
    let (y, n) = match smooth {
        true => {
            let s = -(excess * (1.0 / slope)) + s;
            surface.project(&(w + apart.scale(s)))
        }
        false => with,
    };
    RelaxedOnSolid {
        point: y,
        normal: n.value(),
        active: true,
        moved: true,
    }
}

/// The root of `g` in [0, 1], where it is not negative at 0 and negative at 1, from a guess, by the Illinois
/// variant of the rule of false position; the last s at which it was not negative where it jumps. `scale` is
/// the size of g.
fn root(guess: f64, scale: f64, g: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = ((0.0, g(0.0)), (1.0, g(1.0)));
    let mut s = guess;
    // The end that was replaced last: an end that stays counts half.
    let mut last = 0;
    for division in 0..DIVISIONS {
        let value = g(s);
        if value.abs() <= ROUNDING * scale {
            return s;
        }
        let side = if value >= 0.0 { 1 } else { -1 };
        match value >= 0.0 {
            true => low = (s, value),
            false => high = (s, value),
        }
        if side == last {
            match value >= 0.0 {
                true => high.1 *= 0.5,
                false => low.1 *= 0.5,
            }
        }
        last = side;
        let middle = 0.5 * (low.0 + high.0);
        let secant = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        // Across a jump only halving ends.
        s = match secant > low.0 && secant < high.0 && division < DIVISIONS / 3 {
            true => secant,
            false => middle,
        };
        if s <= low.0 || s >= high.0 {
            break;
        }
    }
    low.0
}

/// μ (Y − Z)·n − ‖(Y − Z) − ((Y − Z)·n) n‖: not negative in the cone.
fn cone_excess<T: Real>(at: &(Vector<T>, Vector<T>), z: &Vector<T>, mu: f64) -> T {
    let (e, n) = (at.0 - *z, at.1);
    let height = e.dot(&n);
    height * mu - (e - n.scale(height)).norm()
}

/// The surface of a solid at a distance.
#[derive(Clone, Copy)]
pub(super) struct Surface<'a> {
    pub solid: &'a Solid,
    pub thickness: f64,
}

impl Surface<'_> {
    /// The field less the thickness, and its unit gradient.
    pub fn field<T: Real>(&self, x: &Vector<T>) -> (T, Vector<T>) {
        let (value, _, normal) = self.expand(x);
        (value, normal)
    }

    /// Value, gradient and unit gradient.
    fn expand<T: Real>(&self, x: &Vector<T>) -> (T, Vector<T>, Vector<T>) {
        let centre = x.value();
        let expansion = self.solid.expand(&centre);
        let h = expansion.hessian;
        let step = *x - Vector::constant(&centre);
        let turned = Vector(std::array::from_fn(|i| {
            step.0[0] * h[(i, 0)] + step.0[1] * h[(i, 1)] + step.0[2] * h[(i, 2)]
        }));
        let gradient = Vector::constant(&expansion.gradient) + turned;
        let value =
            step.dot(&Vector::constant(&expansion.gradient)) + (expansion.value - self.thickness);
        let length = gradient.norm();
        let normal = match length.value() > 0.0 {
            true => gradient.scale(T::constant(1.0) / length),
            false => Vector::constant(&Vec3::z()),
        };
        (value, gradient, normal)
    }

    /// The point of the surface closest to `x`, by Newton's method along the gradient, and the normal.
    pub fn project<T: Real>(&self, x: &Vector<T>) -> (Vector<T>, Vector<T>) {
        let mut y = *x;
        for _ in 0..PROJECTIONS {
            let (value, gradient, _) = self.expand(&y);
            let square = gradient.norm_squared();
            if square.value() <= 0.0 {
                break;
            }
            y = y - gradient.scale(value / square);
            if matches!(self.solid, Solid::Shape(_)) {
                break;
            }
            if value.value().abs() <= ON_SURFACE * y.value().amax() {
                break;
            }
        }
        let normal = self.expand(&y).2;
        (y, normal)
    }
}
