//! Use of earlier iterations by the outer loop: momentum and combinations.

use stiction_contact::ContactSet;
use stiction_math::{Vec3, parallel, reduce};

use super::{
    Acceleration, Admm,
    anderson::{Anderson, Step},
    outer::{GRAIN, hat},
};

impl Admm {
    /// The p and λ that enter the next linear system. Returns whether momentum was dropped.
    pub(super) fn extrapolate(
        &mut self,
        momentum: &mut Momentum,
        acceleration: Option<Acceleration>,
    ) -> bool {
        match acceleration {
            Some(Acceleration::Momentum { restart }) => self.push_on(momentum, restart),
            _ => {
                self.lambda_hat.clear();
                false
            }
        }
    }

    /// Nesterov's momentum.
    fn push_on(&mut self, momentum: &mut Momentum, restart: f64) -> bool {
        let p_hat = momentum.p_hat.get_or_insert_with(|| self.p.clone());
        let residual = reduce::sum_ordered(self.w.len(), |j| {
            let dual = (self.lambda[j] - self.lambda_hat[j]).norm_squared();
            let primal = (self.p[j] - p_hat[j]).norm_squared();
            self.w[j] * (dual + primal)
        });
        let restart = residual >= restart * momentum.residual;
        momentum.residual = residual;
        let factor = if restart {
            momentum.theta = 1.0;
            0.0
        } else {
            let before = momentum.theta;
            momentum.theta = 0.5 * (1.0 + (1.0 + 4.0 * before * before).sqrt());
            (before - 1.0) / momentum.theta
        };
        let ahead = |hat: &mut [Vec3], now: &[Vec3], before: &[Vec3]| {
            let ahead = |j: usize| now[j] + (now[j] - before[j]) * factor;
            parallel::each_mut(hat, GRAIN, |j, hat| *hat = ahead(j));
        };
        ahead(p_hat, &self.p, &momentum.p_before);
        ahead(&mut self.lambda_hat, &self.lambda, &momentum.lambda_before);
        restart
    }

    /// Anderson's combination of what the last projections were given. Moves the next one's start
    /// through λ̂ = v − z and the impulses.
    pub(super) fn combine(&mut self, known: &mut Known, set: &ContactSet) -> Step {
        let n = self.v.len();
        let mut r = vec![Vec3::zeros(); set.len()];
        self.projection.impulses(set, &mut r);
        let hat = hat(&self.lambda_hat, &self.lambda);
        let free = self.v.iter().zip(hat).map(|(v, l)| v - l);
        let all = free.chain(r.iter().copied());
        let g: Vec<f64> = all.flat_map(<[f64; 3]>::from).collect();
        // The first time, after a pause, and whenever contacts were found, there is nothing to
        // compare with.
        if known.x.len() != g.len() {
            let scale = (0..set.len()).map(|c| set.scale(c, &self.w) + set.compliance[c]);
            let all = self.w.iter().copied().chain(scale);
            known.weights = all.flat_map(|w| [w; 3]).collect();
            known.anderson.clear();
            known.x = g;
            return Step::Combined;
        }
        let Known {
            anderson,
            x,
            weights,
        } = known;
        let reach = |direction: &[f64]| until_open(set, &g[3 * n..], &direction[3 * n..]);
        let step = anderson.next(x, &g, weights, reach);
        if step == Step::Combined {
            let direction: Vec<f64> = x.iter().zip(&g).map(|(x, g)| x - g).collect();
            let part = reach(&direction);
            let part = if part < LEAST { 1.0 } else { part.min(1.0) };
            for ((x, g), direction) in x.iter_mut().zip(&g).zip(&direction) {
                *x = g + direction * part;
            }
        }
        let (z, impulses) = known.x.split_at(3 * n);
        self.lambda_hat.resize(n, Vec3::zeros());
        for (j, z) in z.as_chunks::<3>().0.iter().enumerate() {
            self.lambda_hat[j] = self.v[j] - Vec3::from(*z);
        }
        for (r, x) in r.iter_mut().zip(impulses.as_chunks::<3>().0) {
            *r = Vec3::from(*x);
        }
        self.projection.set_impulses(set, &r);
        if step != Step::Combined {
            known.x.clear();
        }
        step
    }
}

/// History of earlier iterations.
#[derive(Default)]
pub(super) struct Past {
    pub momentum: Momentum,
    /// Iterations are not combined before this one: what an extrapolation upset settles first.
    pub resume: usize,
    /// Number of failures of combinations.
    pub turns: usize,
    pub known: Option<Known>,
}

impl Past {
    /// Sweeps per projection. Where many send contacts round in circles, single ones leave it to
    /// the combination to escape; where one is too few, many are better. Each has its turn.
    pub fn sweeps(&self, configured: usize) -> usize {
        if self.turns % 2 == 1 { 1 } else { configured }
    }
}

/// θ of Nesterov's sequence, the last residual, and what the iteration began with.
pub(super) struct Momentum {
    theta: f64,
    residual: f64,
    /// p as it enters the next linear system, if not as it is.
    pub p_hat: Option<Vec<Vec3>>,
    p_before: Vec<Vec3>,
    lambda_before: Vec<Vec3>,
}

impl Momentum {
    pub fn keep(&mut self, p: &[Vec3], lambda: &[Vec3]) {
        for (before, now) in [(&mut self.p_before, p), (&mut self.lambda_before, lambda)] {
            before.clear();
            before.extend_from_slice(now);
        }
        if self.p_hat.is_none() {
            self.p_hat = Some(p.to_vec());
        }
    }
}

impl Default for Momentum {
    fn default() -> Self {
        Self {
            theta: 1.0,
            residual: f64::INFINITY,
            p_hat: None,
            p_before: Vec::new(),
            lambda_before: Vec::new(),
        }
    }
}

/// Anderson's memory, with the velocities and impulses that entered the iteration and the weights
/// that turn squares of their changes into energies.
pub(super) struct Known {
    anderson: Anderson,
    x: Vec<f64>,
    weights: Vec<f64>,
}

impl Known {
    pub fn new(memory: usize) -> Self {
        Self {
            anderson: Anderson::new(memory),
            x: Vec::new(),
            weights: Vec::new(),
        }
    }
}

/// Multiple of `direction` from the impulses `r` at which the first closed contact opens.
fn until_open(set: &ContactSet, r: &[f64], direction: &[f64]) -> f64 {
    let pairs = r
        .as_chunks::<3>()
        .0
        .iter()
        .zip(direction.as_chunks::<3>().0);
    let mut part = f64::INFINITY;
    for (c, (r, direction)) in pairs.enumerate() {
        let n = set.normal[c];
        let push = Vec3::from(*r).dot(&n) + set.cohesion[c];
        let change = Vec3::from(*direction).dot(&n);
        if push > 0.0 && change < 0.0 {
            part = part.min(-push / change);
        }
    }
    part
}

/// Contacts that would open in less than this fraction of a step are about to anyway.
const LEAST: f64 = 1e-3;
