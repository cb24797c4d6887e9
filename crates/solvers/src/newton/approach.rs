//! The loop of the interior-point method, see `interior`.

use stiction_math::{Cancel, LinearOperator, Vec3, reduce};

use super::{
    Error,
    interior::{ConePair, LinearLaw},
    law::Mode,
    search::{Answers, Search},
};

/// Steps before the iterate is handed over as it is.
const STEPS: usize = 40;
/// Fraction of the distance to the boundary of a cone that a step may go.
const INSIDE: f64 = 0.99;
/// Multiple of the tolerance below which the proximal loop takes over: it needs fewer steps there, ...
const HANDOVER: f64 = 100.0;
/// ... but only below this error [m/s], unless it is the tolerance.
const CLOSE: f64 = 1e-4;
/// Length of a step below which the derivative of De Saxcé's term is damped in the next one.
const SHORT: f64 = 0.3;
/// Factor of the derivative of De Saxcé's term after a short step. Where contacts jam, the whole
/// derivative makes the matrix almost singular and steps vanish; without any, convergence is slow (0.9
/// takes the fewest steps of 0, 0.5, 0.8, 0.9 and 0.97 on heaps of boxes).
const DAMPED: f64 = 0.9;
/// Length of an undamped step below which the method has failed.
const SHORTEST: f64 = 1e-9;

/// Relative rounding of an impulse in the certificate. Contradictory contacts let impulses grow without
/// bound, until rounding hides the velocities that violate the law.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Error below which the proximal loop takes over from interior points, for a `tolerance` of the answer [m/s].
pub(super) fn handover(tolerance: f64) -> f64 {
    (HANDOVER * tolerance).min(CLOSE).max(tolerance)
}

/// (dx, dz) of every contact.
type Steps = Vec<(Vec3, Vec3)>;

impl Search<'_> {
    /// Interior-point steps from the present velocities and impulses, whose error is `error` [m/s], until
    /// they are close to an answer; to the tolerance unless the proximal loop may take over. The start is
    /// moved into the cones by the error.
    pub(super) fn approach(
        &mut self,
        error: f64,
        hand_over: bool,
        iterations: &mut usize,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        self.evaluate_u();
        let mut pairs = self.pairs(error);
        let near = match hand_over {
            true => handover(self.tolerance),
            false => self.tolerance,
        };
        let mut derivative = 1.0;
        for _ in 0..STEPS {
            let laws = pairs.iter().zip(&self.u);
            let linear: Vec<LinearLaw> = laws.map(|(p, u)| p.linearise(u, derivative)).collect();
            self.now = self.inside(&pairs, &linear);
            let impulses = self.now.impulse.iter().zip(&self.scale);
            let largest = impulses.fold(0.0f64, |m, (r, scale)| m.max(r.norm() / scale));
            // Also where they are not numbers.
            if largest.is_nan() || ROUNDING * largest > self.tolerance {
                self.restart(self.multiple, false);
                self.evaluate_u();
                return Ok(());
            }
            let (residual, dynamics) = self.judge()?;
            if residual.max(dynamics) <= near || *iterations == self.limit {
                break;
            }
            *iterations += 1;
            Error::unless(cancel)?;
            if !self.matrix.factor(self.problem, &self.now.stiffness)? {
                break;
            }
            let (direction, steps) = self.predict_and_correct(&pairs, &linear);
            let length = (INSIDE * reach(&pairs, &steps, 1.0 / INSIDE)).min(1.0);
            let finite = direction.iter().all(|x| x.iter().all(|x| x.is_finite()));
            if !finite || derivative == 1.0 && length < SHORTEST {
                break;
            }
            reduce::axpy(length, &direction, &mut self.v);
            for (pair, step) in pairs.iter_mut().zip(&steps) {
                pair.x += step.0 * length;
                pair.z += step.1 * length;
            }
            self.evaluate_u();
            derivative = if length < SHORT { DAMPED } else { 1.0 };
        }
        self.r = pairs.iter().map(ConePair::impulse).collect();
        Ok(())
    }

    /// u = B v + k.
    fn evaluate_u(&mut self) {
        let set = &self.problem.contacts;
        for (c, u) in self.u.iter_mut().enumerate() {
            *u = set.velocity(c, &self.v) + self.k[c];
        }
    }

    /// The present state of every contact, moved into its cones by `error` [m/s].
    fn pairs(&self, error: f64) -> Vec<ConePair> {
        let set = &self.problem.contacts;
        let speed = self.u.iter().fold(self.tolerance, |m, u| m.max(u.norm()));
        let depth = speed.min(error);
        let pair = |(c, u): (usize, &Vec3)| {
            let (n, mu) = (set.normal[c], set.mu[c]);
            let (u_n, r_n) = (u.dot(&n), self.r[c].dot(&n));
            let slip = (u - n * u_n) * mu;
            let drag = match mu > 0.0 {
                true => (self.r[c] - n * r_n) / mu,
                false => Vec3::zeros(),
            };
            ConePair {
                n,
                mu,
                compliance: set.compliance[c],
                x: n * (r_n.max(drag.norm()) + self.scale[c] * depth) + drag,
                z: n * (u_n.max(0.0) + slip.norm() + depth) + slip,
            }
        };
        self.u.iter().enumerate().map(pair).collect()
    }

    /// Impulses, momentum residual and matrices of a point inside the cones.
    fn inside(&self, pairs: &[ConePair], linear: &[LinearLaw]) -> Answers {
        let mut residual = vec![Vec3::zeros(); self.v.len()];
        self.problem.a.apply(&self.v, &mut residual);
        reduce::axpy(-1.0, &self.f, &mut residual);
        let impulse: Vec<Vec3> = pairs.iter().map(ConePair::impulse).collect();
        for (c, r) in impulse.iter().enumerate() {
            let set = &self.problem.contacts;
            set.add_transpose_of(c, &-r, &mut residual);
        }
        Answers {
            mode: vec![Mode::Slides; pairs.len()],
            u: self.u.clone(),
            impulse,
            stiffness: linear.iter().map(|l| l.stiffness).collect(),
            momentum_residual: residual,
        }
    }

    /// A step in two solves with one factor [mehrotra1992]: how far one towards τ = 0 leads tells what τ
    /// to aim at, and gives the second order.
    fn predict_and_correct(
        &mut self,
        pairs: &[ConePair],
        linear: &[LinearLaw],
    ) -> (Vec<Vec3>, Steps) {
        let both = || pairs.iter().zip(linear);
        let power = |steps: &[(Vec3, Vec3)], length: f64| {
            let left = pairs.iter().zip(steps);
            let left = left.map(|(p, s)| (p.x + s.0 * length).dot(&(p.z + s.1 * length)));
            left.sum::<f64>() / pairs.len() as f64
        };
        let tau = pairs.iter().map(|p| p.x.dot(&p.z)).sum::<f64>() / pairs.len() as f64;
        let aims: Vec<Vec3> = pairs.iter().map(|p| -p.x).collect();
        let (_, affine) = self.step(pairs, linear, &aims);
        let left = power(&affine, reach(pairs, &affine, 1.0));
        let sigma = (left / tau).clamp(0.0, 1.0).powi(3);
        let aims = both().zip(&affine);
        let aims: Vec<Vec3> = aims.map(|((p, l), a)| p.aim(l, sigma * tau, a)).collect();
        self.step(pairs, linear, &aims)
    }

    /// dv and the steps of the contacts for dx + H dz = `aims`, with the present factor.
    fn step(
        &mut self,
        pairs: &[ConePair],
        linear: &[LinearLaw],
        aims: &[Vec3],
    ) -> (Vec<Vec3>, Steps) {
        let set = &self.problem.contacts;
        let mut direction: Vec<Vec3> = self.now.momentum_residual.iter().map(|x| -x).collect();
        for (c, (linear, aim)) in linear.iter().zip(aims).enumerate() {
            set.add_transpose_of(c, &linear.push(aim), &mut direction);
        }
        self.matrix.solve(&mut direction);
        let step = |c: usize| linear[c].step(&pairs[c], &aims[c], &set.velocity(c, &direction));
        let steps = (0..pairs.len()).map(step).collect();
        (direction, steps)
    }
}

/// The longest step, at most `most`, that stays in all cones.
fn reach(pairs: &[ConePair], steps: &[(Vec3, Vec3)], most: f64) -> f64 {
    let both = pairs.iter().zip(steps);
    both.fold(most, |most, (p, s)| p.reach(s, most))
}
