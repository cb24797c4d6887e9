//! Twist without inertia: the angles that minimise a rod's energy for a given centreline
//! [bergou2008, Sect. 5.1], [daviet2020, Sect. 7.4].
//!
//! With x fixed, every vertex has constant κb·d₁, κb·d₂ of its two edges, and the energy is a function
//! of the angles alone,
//!
//! E(θ) = Σᵢ ½ (K₁ (κ₁(θₐ, θ_b) − κ̄₁)² + K₂ (κ₂(θₐ, θ_b) − κ̄₂)² + K_τ (θ_b − θₐ + m − τ̄)²),
//!
//! with the reference twist m. Its Hessian is tridiagonal: Newton's method with a line search needs a
//! few passes along the rod, one where the rod is round and naturally straight. Where the Hessian is
//! not positive, its Gauss–Newton part is used, which is.

/// The coefficients of an inner vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerVertex {
    /// κb·d₁, κb·d₂ with the reference frames of the edge before and of the edge after the vertex.
    pub along: [[f64; 2]; 2],
    /// The twist of the reference frames [rad].
    pub reference: f64,
    /// K of κ₁, κ₂ and τ [N·m].
    pub stiffness: [f64; 3],
    /// κ̄₁, κ̄₂, τ̄.
    pub natural: [f64; 3],
}

/// Maximum number of Newton iterations; two or three are usual.
const ITERATIONS: usize = 60;
/// Size of a full Newton step after which the remaining error is rounding [rad].
const LAST: f64 = 1e-7;
/// Fraction of the largest stiffness added to the diagonal, for rods that are free to spin.
const RIDGE: f64 = 1e-12;

/// The strains beyond the natural ones of one vertex and their slopes.
struct Slopes {
    strain: [f64; 3],
    /// ∂s/∂θₐ, ∂s/∂θ_b.
    first: [[f64; 2]; 3],
    /// ∂²s/∂θₐ², ∂²s/∂θ_b²; mixed ones are zero.
    second: [[f64; 2]; 3],
}

/// An angle with its sine and cosine, which dominate the cost.
#[derive(Clone, Copy)]
struct Angle {
    theta: f64,
    sin: f64,
    cos: f64,
}

impl Angle {
    fn new(theta: f64) -> Self {
        let (sin, cos) = stiction_math::elementary::sin_cos(theta);
        Self { theta, sin, cos }
    }
}

impl InnerVertex {
    fn slopes(&self, angles: [Angle; 2]) -> Slopes {
        // κb·m₁, κb·m₂ of both edges.
        let [[a1, a2], [b1, b2]] = std::array::from_fn(|side| {
            let Angle { sin, cos, .. } = angles[side];
            let [c1, c2] = self.along[side];
            [c1 * cos + c2 * sin, c2 * cos - c1 * sin]
        });
        let n = &self.natural;
        let twist = angles[1].theta - angles[0].theta + self.reference;
        Slopes {
            strain: [
                0.5 * (a2 + b2) - n[0],
                -0.5 * (a1 + b1) - n[1],
                twist - n[2],
            ],
            first: [[-0.5 * a1, -0.5 * b1], [-0.5 * a2, -0.5 * b2], [-1.0, 1.0]],
            second: [[-0.5 * a2, -0.5 * b2], [0.5 * a1, 0.5 * b1], [0.0, 0.0]],
        }
    }
}

/// E(θ) [J].
fn energy(places: &[InnerVertex], angles: &[Angle]) -> f64 {
    let one = |(place, angles): (&InnerVertex, &[Angle])| {
        let s = place.slopes([angles[0], angles[1]]).strain;
        (0..3)
            .map(|k| 0.5 * place.stiffness[k] * s[k] * s[k])
            .sum::<f64>()
    };
    places.iter().zip(angles.windows(2)).map(one).sum()
}

/// Gradient and Hessian: per edge the gradient, the diagonal and the coupling to the previous edge.
struct System {
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    before: Vec<f64>,
}

impl System {
    fn fill(&mut self, places: &[InnerVertex], angles: &[Angle], exact: bool) {
        self.gradient.fill(0.0);
        self.diagonal.fill(0.0);
        self.before.fill(0.0);
        for (e, place) in places.iter().enumerate() {
            let at = place.slopes([angles[e], angles[e + 1]]);
            for (k, stiffness) in place.stiffness.iter().enumerate() {
                let moment = stiffness * at.strain[k];
                for side in 0..2 {
                    self.gradient[e + side] += moment * at.first[k][side];
                    self.diagonal[e + side] += stiffness * at.first[k][side] * at.first[k][side];
                    if exact {
                        self.diagonal[e + side] += moment * at.second[k][side];
                    }
                }
                self.before[e + 1] += stiffness * at.first[k][0] * at.first[k][1];
            }
        }
    }

    /// gradient ← H⁻¹ gradient with held angles unchanged; false if H is not positive definite.
    fn solve(&mut self, held: &[bool]) -> bool {
        let n = self.gradient.len();
        let largest = self.diagonal.iter().fold(0.0f64, |m, d| m.max(d.abs()));
        for e in 0..n {
            if held[e] {
                self.gradient[e] = 0.0;
                self.diagonal[e] = 1.0;
                self.before[e] = 0.0;
                if e + 1 < n {
                    self.before[e + 1] = 0.0;
                }
            } else {
                self.diagonal[e] += RIDGE * largest;
            }
        }
        for e in 1..n {
            let factor = self.before[e] / self.diagonal[e - 1];
            self.diagonal[e] -= factor * self.before[e];
            self.gradient[e] -= factor * self.gradient[e - 1];
        }
        let least = 0.1 * RIDGE * largest;
        if !(0..n).all(|e| held[e] || self.diagonal[e] > least) {
            return false;
        }
        self.gradient[n - 1] /= self.diagonal[n - 1];
        for e in (0..n - 1).rev() {
            self.gradient[e] =
                (self.gradient[e] - self.before[e + 1] * self.gradient[e + 1]) / self.diagonal[e];
        }
        true
    }
}

/// Minimises the energy over the angles `theta` [rad], one per edge, from the given values; those
/// that are `held` are fixed.
pub(super) fn relax(places: &[InnerVertex], held: &[bool], theta: &mut [f64]) {
    let n = theta.len();
    if places.is_empty() || held.iter().all(|h| *h) {
        return;
    }
    let mut system = System {
        gradient: vec![0.0; n],
        diagonal: vec![0.0; n],
        before: vec![0.0; n],
    };
    let mut angles: Vec<Angle> = theta.iter().map(|theta| Angle::new(*theta)).collect();
    let mut next = angles.clone();
    let mut force = vec![0.0; n];
    let mut value = energy(places, &angles);
    'newton: for _ in 0..ITERATIONS {
        system.fill(places, &angles, true);
        force.copy_from_slice(&system.gradient);
        let exact = system.solve(held);
        if !exact {
            system.fill(places, &angles, false);
            if !system.solve(held) {
                break;
            }
        }
        let step = &system.gradient;
        let size = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        if !size.is_finite() {
            break;
        }
        if exact && size <= LAST {
            for (angle, step) in angles.iter_mut().zip(step) {
                angle.theta -= step;
            }
            break;
        }
        let slope: f64 = step.iter().zip(&force).map(|(s, f)| s * f).sum();
        let mut t = 1.0;
        loop {
            for (next, (angle, step)) in next.iter_mut().zip(angles.iter().zip(step)) {
                *next = Angle::new(angle.theta - t * step);
            }
            let found = energy(places, &next);
            // Near the minimum rounding hides the decrease, and full steps are right.
            if found <= value - 1e-4 * t * slope + 1e-14 * value {
                value = found;
                break;
            }
            t *= 0.5;
            if t < 1e-9 {
                break 'newton;
            }
        }
        std::mem::swap(&mut angles, &mut next);
    }
    for (theta, angle) in theta.iter_mut().zip(&angles) {
        *theta = angle.theta;
    }
}
