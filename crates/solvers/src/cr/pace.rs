//! Pace of the proximal rounds: the growth of ρ by its cost, and extrapolation of impulses.

use stiction_contact::{ContactSet, project_cone};
use stiction_math::{Vec3, elementary::ln, reduce};

/// ρ grows by this factor, ...
const GROWTH: f64 = 6.0;
/// ... and by up to this one after rounds of few iterations.
const LEAP: f64 = 36.0;
/// Fraction of the error to which a round with a larger ρ must be expected to get, at the pace of the one before, to
/// be worth its iterations.
const WORTH: f64 = 0.05;
/// Rounds after which a ρ that was too expensive is tried again.
const AGAIN: usize = 12;

/// A round that costs no more than so many times those with a smaller ρ is worth it: rounds are never fewer with a
/// smaller one, whatever the error did while contacts changed their states.
const DEARER: f64 = 2.0;
/// Iterations that a round may always take.
const FEW: usize = 50;

/// Growth of ρ by what it costs. A larger ρ takes fewer rounds, whose linear systems are worse conditioned: it is
/// kept where rounds cost about the same, or the error falls by more per iteration.
#[derive(Default)]
pub(super) struct Growth {
    /// The pace before the last growth.
    from: Option<Pace>,
    /// A multiple that was not worth more, and rounds since.
    refused: Option<(f64, usize)>,
}

/// Pace of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The multiple of its ρ.
    pub multiple: f64,
    /// Fraction of the error that is left.
    pub left: f64,
    /// Iterations.
    pub iterations: usize,
}

impl Pace {
    /// ln(error before/after) per iteration.
    fn rate(&self) -> f64 {
        -ln(self.left) / self.iterations as f64
    }

    /// Factor of ρ that is expected to leave a tenth of the error: the slowest mode leaves 1/(1 + ρ m).
    fn growth(&self) -> f64 {
        let most = if self.iterations <= FEW { LEAP } else { GROWTH };
        let tenth = 9.0 * self.left / (1.0 - self.left);
        // Also where the error has grown.
        if tenth >= 0.0 && tenth < most {
            tenth.max(GROWTH)
        } else {
            most
        }
    }
}

impl Growth {
    /// Iterations that a round may take before it is given up.
    pub fn budget(&self) -> Option<usize> {
        let enough = |from: &Pace| (-ln(WORTH) / from.rate()) as usize + 1;
        self.from.as_ref().map(|from| enough(from).max(FEW))
    }

    /// The multiple after a round that balanced the bodies and was `slow`.
    pub fn next(&mut self, now: Pace, slow: bool, most: f64) -> f64 {
        self.refused = match self.refused {
            Some((refused, rounds)) if rounds < AGAIN => Some((refused, rounds + 1)),
            _ => None,
        };
        let worse = |before: &Pace| {
            now.rate() < before.rate() && now.iterations as f64 > DEARER * before.iterations as f64
        };
        if let Some(before) = self.from.take().filter(worse) {
            self.refused = Some((now.multiple, 0));
            return before.multiple;
        }
        let larger = (now.multiple * now.growth()).min(most);
        if !slow || self.refused.is_some_and(|(refused, _)| larger >= refused) {
            return now.multiple;
        }
        // A round that made nothing better has no pace to compare with.
        self.from = (now.rate() > 0.0 && now.rate().is_finite()).then_some(now);
        larger
    }

    /// The multiple after a round with `multiple` that was given up, if it had grown for it. It is not reached again for
    /// a while.
    pub fn undo(&mut self, multiple: f64) -> Option<f64> {
        self.refused = Some((multiple, 0));
        self.from.take().map(|before| before.multiple)
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
    use stiction_math::elementary;

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
        let pace = |multiple, rate: f64, iterations| Pace {
            multiple,
            left: elementary::exp(-rate * iterations as f64),
            iterations,
        };
        let mut growth = Growth::default();
        assert_eq!(growth.next(pace(30.0, 0.02, 100), true, 1e8), 180.0);
        assert!(growth.budget().is_some_and(|b| b > 100 && b < 200));
        // Worse per iteration, and three times as many: back, and no further for a while.
        assert_eq!(growth.next(pace(180.0, 0.01, 300), true, 1e8), 30.0);
        assert_eq!(growth.next(pace(30.0, 0.02, 100), true, 1e8), 30.0);
        assert_eq!(growth.next(pace(30.0, 0.02, 100), false, 1e8), 30.0);
        for _ in 0..AGAIN - 2 {
            assert_eq!(growth.next(pace(30.0, 0.02, 100), true, 1e8), 30.0);
        }
        assert_eq!(growth.next(pace(30.0, 0.02, 100), true, 1e8), 180.0);
        // Better per iteration, or no dearer: on.
        assert_eq!(growth.next(pace(180.0, 0.03, 300), true, 1e8), 1080.0);
        assert_eq!(growth.undo(1080.0), Some(180.0));
        let mut growth = Growth::default();
        assert_eq!(growth.next(pace(30.0, 0.5, 2), true, 1e8), 180.0);
        assert_eq!(growth.budget(), Some(FEW));
        // Half of the error is left by 1/(1 + ρ m) with ρ m = 1, a tenth with 9.
        let half = Pace {
            multiple: 180.0,
            left: 0.5,
            iterations: 4,
        };
        assert_eq!(growth.next(half, true, 1e8), 9.0 * 180.0);
        let none = Pace { left: 1.2, ..half };
        assert_eq!(none.growth(), LEAP);
    }
}
