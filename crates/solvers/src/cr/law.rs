//! Changes of state of contacts.

use stiction_contact::ContactSet;
use stiction_math::{Mat3, Vec3, elementary::cos};

use super::SwitchRule;
use crate::kkt::ActiveRows;

/// State of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FrictionMode {
    /// No force.
    #[default]
    Open,
    /// Three active rows.
    Sticks,
    /// The normal row is active; friction is given.
    Slides,
}

/// State of a contact with what it remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FrictionState {
    pub kind: FrictionMode,
    /// The direction δ of sliding, opposite to friction.
    pub slide: Vec3,
    /// Normal forces at the last evaluations [N·s], the newest first; not a number if there was none.
    pub past: [f64; PAST],
}

impl FrictionState {
    /// An open contact without a past.
    pub fn fresh() -> Self {
        Self {
            past: [f64::NAN; PAST],
            ..Self::default()
        }
    }
}

/// Most normal forces in a moving average.
const PAST: usize = 4;

/// One contact as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalContact {
    pub n: Vec3,
    pub mu: f64,
    /// u = B v + k + C r [m/s].
    pub u: Vec3,
    /// r + ξ n [N·s].
    pub force: Vec3,
    /// Compliance along the normal [1/kg].
    pub compliance: f64,
}

impl LocalContact {
    pub fn new(set: &ContactSet, c: usize, v: &[Vec3], r: &[Vec3]) -> Self {
        let n = set.normal[c];
        Self {
            n,
            mu: set.mu[c],
            u: set.relative_velocity(c, v, r),
            force: r[c] + n * set.cohesion[c],
            compliance: set.compliance[c],
        }
    }

    fn tangent(&self, x: &Vec3) -> Vec3 {
        x - self.n * x.dot(&self.n)
    }
}

/// Result of the evaluation of a contact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub touch: FrictionState,
    pub row: ActiveRows,
    /// r + ξ n [N·s].
    pub force: Vec3,
}

impl SwitchRule {
    /// The state of a contact after an evaluation.
    pub(super) fn evaluate(&self, at: &LocalContact, touch: &FrictionState) -> Proposal {
        switch(at, touch, self.average, cos(self.angle), self.turn)
    }
}

/// Algorithms 2 and 3 of the paper.
fn switch(
    at: &LocalContact,
    touch: &FrictionState,
    average: usize,
    cosine: f64,
    turn: f64,
) -> Proposal {
    let (gap, normal) = (at.u.dot(&at.n), at.force.dot(&at.n));
    let slip = at.tangent(&at.u);
    let mut touch = *touch;
    let mut friction = at.tangent(&at.force);
    match touch.kind {
        FrictionMode::Open if gap > 0.0 => return open(),
        FrictionMode::Open => {
            touch = FrictionState {
                kind: FrictionMode::Slides,
                slide: slip.try_normalize(0.0).unwrap_or_default(),
                past: [f64::NAN; PAST],
            };
        }
        _ if gap >= 0.0 && normal <= 0.0 => return open(),
        FrictionMode::Sticks if friction.norm() > at.mu * normal && slip.dot(&friction) < 0.0 => {
            touch.kind = FrictionMode::Slides;
            touch.slide = -friction.try_normalize(0.0).unwrap_or_default();
            touch.past = [f64::NAN; PAST];
            touch.past[0] = friction.norm() / at.mu.max(f64::MIN_POSITIVE);
        }
        FrictionMode::Slides if at.mu > 0.0 && slip.dot(&touch.slide) <= 0.0 => {
            touch.kind = FrictionMode::Sticks;
        }
        FrictionMode::Sticks | FrictionMode::Slides => {}
    }
    if touch.kind == FrictionMode::Sticks {
        return Proposal {
            touch,
            row: sticking(at),
            force: at.force,
        };
    }
    touch.past.rotate_right(1);
    touch.past[0] = normal.max(0.0);
    let known = touch.past.iter().take(average.clamp(1, PAST));
    let known = known.filter(|x| x.is_finite());
    let (sum, count) = known.fold((0.0, 0.0), |s, x| (s.0 + x, s.1 + 1.0));
    if let Some(now) = slip.try_normalize(0.0) {
        let aligned = now.dot(&touch.slide);
        if aligned > 0.0 && aligned < cosine {
            let turned = touch.slide + (now - touch.slide) * turn;
            touch.slide = turned.try_normalize(0.0).unwrap_or(now);
        }
    }
    friction = touch.slide * (-at.mu * sum / count);
    Proposal {
        touch,
        row: normal_only(at),
        force: at.n * normal + friction,
    }
}

fn open() -> Proposal {
    Proposal {
        touch: FrictionState::fresh(),
        row: ActiveRows::default(),
        force: Vec3::zeros(),
    }
}

fn sticking(at: &LocalContact) -> ActiveRows {
    ActiveRows {
        active: Mat3::identity(),
        compliance: at.n * at.n.transpose() * at.compliance,
    }
}

fn normal_only(at: &LocalContact) -> ActiveRows {
    let active = at.n * at.n.transpose();
    ActiveRows {
        active,
        compliance: active * at.compliance,
    }
}
