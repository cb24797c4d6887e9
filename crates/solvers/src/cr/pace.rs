//! Pace of the proximal rounds: the growth of ρ by its cost, and extrapolation of impulses.

use stiction_contact::{ContactSet, project_cone};
use stiction_math::{Vec3, elementary::ln, reduce};

/// ρ grows by this factor.
const GROWTH: f64 = 6.0;
/// Fraction of the error to which a round with a larger ρ must be expected to get, at the pace of the one before, to
/// be worth its iterations.
const WORTH: f64 = 0.05;
/// Rounds after which a ρ that was too expensive is tried again.
const AGAIN: usize = 12;

/// Growth of ρ by what it costs. A larger ρ takes fewer rounds, whose linear systems are worse conditioned: it is
/// kept where the error falls by more per iteration.
#[derive(Default)]
pub(super) struct Growth {
    /// The multiple before the last growth, and ln(error before/after) per iteration with it.
    from: Option<(f64, f64)>,
    /// A multiple that was not worth more, and rounds since.
    refused: Option<(f64, usize)>,
}

impl Growth {
    /// Iterations that a round may take before it is given up.
    pub fn budget(&self) -> Option<usize> {
        self.from.map(|(_, rate)| (-ln(WORTH) / rate) as usize + 1)
    }

    /// The multiple after a round with `multiple` that balanced the bodies, in which the error fell at `rate` per
    /// iteration, and was `slow` per round.
    pub fn next(&mut self, multiple: f64, rate: f64, slow: bool, most: f64) -> f64 {
        self.refused = match self.refused {
            Some((refused, rounds)) if rounds < AGAIN => Some((refused, rounds + 1)),
            _ => None,
        };
        if let Some((smaller, _)) = self.from.take().filter(|&(_, before)| rate < before) {
            self.refused = Some((multiple, 0));
            return smaller;
        }
        let larger = (multiple * GROWTH).min(most);
        if !slow || self.refused.is_some_and(|(refused, _)| larger >= refused) {
            return multiple;
        }
        // A round that made nothing better has no pace to compare with.
        self.from = (rate > 0.0 && rate.is_finite()).then_some((multiple, rate));
        larger
    }

    /// The multiple after a round with `multiple` that was given up, if it had grown for it.
    pub fn undo(&mut self, multiple: f64) -> Option<f64> {
        let (smaller, _) = self.from.take()?;
        self.refused = Some((multiple, 0));
        Some(smaller)
    }
}

/// Extrapolation of impulses along the mode that settles last [aitken1926]. With a fixed ρ and settled states the rounds
/// are a linear iteration, whose differences Δ become multiples of one another: Δ ≈ λ Δ₋₁ leads to r + λ/(1 − λ) Δ.
#[derive(Default)]
pub(super) struct Extrapolation {
    /// ρ and Δ of the last round.
    last: Option<(f64, Vec<Vec3>)>,
    /// Error and impulses before the last jump.
    jumped: Option<(f64, Vec<Vec3>)>,
    /// Rounds without a jump that are left.
    rest: usize,
}

/// Cosine of the angle between two differences from which they count as one mode.
const ALIGNED: f64 = 0.9;
/// Values of λ that are worth a jump, and to which rounding leaves digits.
const MODES: (f64, f64) = (0.3, 0.999);
/// Rounds without a jump after one that failed.
const REST: usize = 4;

impl Extrapolation {
    /// Impulses and error before the last jump, if it led to a larger error.
    pub fn undo(&mut self, error: f64) -> Option<(f64, Vec<Vec3>)> {
        let jumped = self.jumped.take().filter(|(before, _)| error > *before)?;
        (self.last, self.rest) = (None, REST);
        Some(jumped)
    }

    /// Moves `answer`, which a round with the given multiple made of `r`, along the last mode if there is one.
    pub fn jump(
        &mut self,
        set: &ContactSet,
        weight: &[f64],
        multiple: f64,
        error: f64,
        r: &[Vec3],
        answer: &mut [Vec3],
    ) {
        let change: Vec<Vec3> = answer.iter().zip(r).map(|(a, r)| a - r).collect();
        let dot =
            |a: &[Vec3], b: &[Vec3]| reduce::sum_ordered(a.len(), |c| a[c].dot(&b[c]) / weight[c]);
        let last = self.last.take();
        self.rest = self.rest.saturating_sub(1);
        let mode = last.filter(|(m, _)| *m == multiple).and_then(|(_, last)| {
            let (along, now, before) = (
                dot(&change, &last),
                dot(&change, &change),
                dot(&last, &last),
            );
            let lambda = along / before;
            let one = along > ALIGNED * (now * before).sqrt();
            (one && lambda > MODES.0 && lambda < MODES.1).then_some(lambda)
        });
        match mode {
            Some(lambda) if self.rest == 0 => {
                self.jumped = Some((error, answer.to_vec()));
                let length = lambda / (1.0 - lambda);
                for (c, answer) in answer.iter_mut().enumerate() {
                    let far = *answer + change[c] * length;
                    *answer = project_cone(&far, &set.normal[c], set.mu[c]);
                }
            }
            _ => self.last = Some((multiple, change)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mode_is_solved_by_one_jump() {
        let mut set = ContactSet::default();
        let contact = stiction_contact::Contact {
            mu: 1.0,
            ..stiction_contact::Contact::default()
        };
        set.push(&[(0, 1.0)], contact);
        let n = set.normal[0];
        let target = n * 5.0;
        let round = |r: &Vec3| target + (r - target) * 0.96;
        let (mut r, mut jumps) = (n * 4.0, Extrapolation::default());
        for k in 0..2 {
            let mut answer = [round(&r)];
            jumps.jump(&set, &[1.0], 30.0, 1.0, &[r], &mut answer);
            r = answer[0];
            // The first round has no difference to compare with.
            assert_eq!((r - target).norm() < 1e-12, k == 1);
        }
        assert!(jumps.undo(2.0).is_some_and(|(e, _)| e == 1.0));
        assert!(jumps.undo(2.0).is_none());
    }

    #[test]
    fn a_larger_rho_is_kept_only_if_it_pays() {
        let mut growth = Growth::default();
        assert_eq!(growth.next(30.0, 0.02, true, 1e8), 180.0);
        assert!(growth.budget().is_some_and(|b| b > 100 && b < 200));
        // Worse per iteration: back, and no further for a while.
        assert_eq!(growth.next(180.0, 0.01, true, 1e8), 30.0);
        assert_eq!(growth.next(30.0, 0.02, true, 1e8), 30.0);
        assert_eq!(growth.next(30.0, 0.02, false, 1e8), 30.0);
        for _ in 0..AGAIN - 2 {
            assert_eq!(growth.next(30.0, 0.02, true, 1e8), 30.0);
        }
        assert_eq!(growth.next(30.0, 0.02, true, 1e8), 180.0);
        // Better per iteration: on.
        assert_eq!(growth.next(180.0, 0.03, true, 1e8), 1080.0);
        assert_eq!(growth.undo(1080.0), Some(180.0));
    }
}
