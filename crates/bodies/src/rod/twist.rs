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

/// What the angles see of an inner vertex.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// κb·d₁, κb·d₂ with the reference frames of the edge before and of the edge after the vertex.
    pub along: [[f64; 2]; 2],
    /// The twist of the reference frames [rad].
    pub reference: f64,
    /// K of κ₁, κ₂ and τ [N·m].
    pub stiffness: [f64; 3],
    /// κ̄₁, κ̄₂, τ̄.
    pub natural: [f64; 3],
}

/// Newton iterations; two or three are usual.
const ITERATIONS: usize = 60;
/// Angles are found when they change by less than this [rad].
const TOLERANCE: f64 = 1e-13;
/// The part of the largest stiffness that is added to the diagonal, for rods that are free to spin.
const RIDGE: f64 = 1e-12;

/// The strains beyond the natural ones of one vertex and their slopes.
struct Slopes {
    strain: [f64; 3],
    /// ∂s/∂θₐ, ∂s/∂θ_b.
    first: [[f64; 2]; 3],
    /// ∂²s/∂θₐ², ∂²s/∂θ_b²; mixed ones are zero.
    second: [[f64; 2]; 3],
}

impl Place {
    fn strain(&self, theta: [f64; 2]) -> [f64; 3] {
        let [[a1, a2], [b1, b2]] = self.turned(theta);
        let n = &self.natural;
        let twist = theta[1] - theta[0] + self.reference;
        [
            0.5 * (a2 + b2) - n[0],
            -0.5 * (a1 + b1) - n[1],
            twist - n[2],
        ]
    }

    /// κb·m₁, κb·m₂ of both edges.
    fn turned(&self, theta: [f64; 2]) -> [[f64; 2]; 2] {
        std::array::from_fn(|side| {
            let (sin, cos) = theta[side].sin_cos();
            let [c1, c2] = self.along[side];
            [c1 * cos + c2 * sin, c2 * cos - c1 * sin]
        })
    }

    fn slopes(&self, theta: [f64; 2]) -> Slopes {
        let [[a1, a2], [b1, b2]] = self.turned(theta);
        Slopes {
            strain: self.strain(theta),
            first: [[-0.5 * a1, -0.5 * b1], [-0.5 * a2, -0.5 * b2], [-1.0, 1.0]],
            second: [[-0.5 * a2, -0.5 * b2], [0.5 * a1, 0.5 * b1], [0.0, 0.0]],
        }
    }
}

/// E(θ) [J].
fn energy(places: &[Place], theta: &[f64]) -> f64 {
    let one = |(place, theta): (&Place, &[f64])| {
        let s = place.strain([theta[0], theta[1]]);
        (0..3)
            .map(|k| 0.5 * place.stiffness[k] * s[k] * s[k])
            .sum::<f64>()
    };
    places.iter().zip(theta.windows(2)).map(one).sum()
}

/// Gradient and Hessian: per edge the gradient, the diagonal and what couples it to the edge before.
struct System {
    gradient: Vec<f64>,
    diagonal: Vec<f64>,
    before: Vec<f64>,
}

impl System {
    fn fill(&mut self, places: &[Place], theta: &[f64], exact: bool) {
        self.gradient.fill(0.0);
        self.diagonal.fill(0.0);
        self.before.fill(0.0);
        for (e, place) in places.iter().enumerate() {
            let at = place.slopes([theta[e], theta[e + 1]]);
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

    /// gradient ← H⁻¹ gradient with held angles left alone; false if H is not positive.
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

/// The angles `theta` [rad], one per edge, brought to a minimum of the energy near them; those that
/// are `held` stay.
pub(super) fn relax(places: &[Place], held: &[bool], theta: &mut [f64]) {
    let n = theta.len();
    if places.is_empty() || held.iter().all(|h| *h) {
        return;
    }
    let mut system = System {
        gradient: vec![0.0; n],
        diagonal: vec![0.0; n],
        before: vec![0.0; n],
    };
    let mut next = theta.to_vec();
    let mut value = energy(places, theta);
    for _ in 0..ITERATIONS {
        system.fill(places, theta, true);
        let force: Vec<f64> = system.gradient.clone();
        if !system.solve(held) {
            system.fill(places, theta, false);
            if !system.solve(held) {
                return;
            }
        }
        let step = &system.gradient;
        let size = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        if !size.is_finite() {
            return;
        }
        let slope: f64 = step.iter().zip(&force).map(|(s, f)| s * f).sum();
        let mut t = 1.0;
        loop {
            for (next, (theta, step)) in next.iter_mut().zip(theta.iter().zip(step)) {
                *next = theta - t * step;
            }
            let found = energy(places, &next);
            // Near the minimum rounding hides the decrease, and full steps are right.
            if found <= value - 1e-4 * t * slope + 1e-14 * value {
                value = found;
                break;
            }
            t *= 0.5;
            if t < 1e-9 {
                return;
            }
        }
        theta.copy_from_slice(&next);
        if t * size <= TOLERANCE {
            return;
        }
    }
}
