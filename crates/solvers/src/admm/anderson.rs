//! Anderson's acceleration of the outer loop [anderson1965, walker2011].
//!
//! One iteration is a map g of feasible velocities and impulses, x = (p, r); a solution is where
//! g(x) = x. Once it is settled which contacts are open, stick or slide, the map is almost linear,
//! and its slow modes, such as a light body under a heavy one or a wedge that almost closes, are
//! few. The next x is then the combination of the last values of g whose residuals g(x) − x, combined
//! with the same weights, are least: for a linear map that is GMRES, which needs as many iterations as there
//! are modes, not as many as they are slow.
//!
//! λ = W⁻¹ Bᵀ r goes where r goes, and impulses that leave their cones in between come back in the
//! next projection.

use stiction_math::reduce;

/// Residuals that are combinations of others to this fraction are left out of the least squares.
const INDEPENDENT: f64 = 1e-8;
/// An extrapolation is taken back if the residual after it is so many times that before.
const GROWTH: f64 = 1e2;

/// Combinations are given up for a while if the residual does not become smaller by this factor
/// within so many times the memory.
const HALF: f64 = 0.5;
const PATIENCE: usize = 4;
/// Two residuals that differ by less than this fraction are a drift: the solution is not close, but
/// behind the next contact that opens.
const DRIFT: f64 = 0.01;
/// As many contacts may have to open one after another.
const DRIFTS: usize = 8;

/// Kind of the next point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It is the best combination.
    Combined,
    /// It is the image, or the one before: combinations do no good now.
    Back,
    /// It went on along its residual until a contact opens.
    Drift,
}

/// History of the last iterations.
pub(super) struct Anderson {
    memory: usize,
    /// Differences of g between iterations, the oldest first.
    dg: Vec<Vec<f64>>,
    /// Differences of the residuals f = g − x.
    df: Vec<Vec<f64>>,
    g: Vec<f64>,
    f: Vec<f64>,
    size: f64,
    /// The least residual since the last start, and for how many iterations it has been that.
    best: (f64, usize),
    /// Number of drifts followed since combinations last failed: a slow mode looks like one, and must
    /// not be taken for one for ever.
    drifts: usize,
}

impl Anderson {
    pub fn new(memory: usize) -> Self {
        Self {
            memory,
            dg: Vec::new(),
            df: Vec::new(),
            g: Vec::new(),
            f: Vec::new(),
            size: f64::INFINITY,
            best: (f64::INFINITY, 0),
            drifts: 0,
        }
    }

    /// Forgets everything: the map has changed.
    pub fn clear(&mut self) {
        self.dg.clear();
        self.df.clear();
        self.g.clear();
        self.f.clear();
        self.size = f64::INFINITY;
        self.best = (f64::INFINITY, 0);
    }

    /// Replaces the point `x`, whose image is `g`, by the next one to try. Lengths are measured
    /// with the weights `w`, one per number; `reach` tells how many times a residual one can go on
    /// until a contact opens.
    pub fn next(
        &mut self,
        x: &mut [f64],
        g: &[f64],
        w: &[f64],
        reach: impl Fn(&[f64]) -> f64,
    ) -> Step {
        let f: Vec<f64> = g.iter().zip(&*x).map(|(g, x)| g - x).collect();
        let size = dot(&f, &f, w).sqrt();
        if size < HALF * self.best.0 {
            self.best = (size, 0);
        } else if self.best.1 >= PATIENCE * self.memory {
            x.copy_from_slice(g);
            self.clear();
            self.drifts = 0;
            return Step::Back;
        } else {
            self.best.1 += 1;
        }
        if self.g.len() == f.len() {
            if !self.df.is_empty() && size > GROWTH * self.size {
                // From the last image on, as if nothing had been tried.
                x.copy_from_slice(&self.g);
                self.clear();
                self.drifts = 0;
                return Step::Back;
            }
            let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
            self.dg.push(difference(g, &self.g));
            self.df.push(difference(&f, &self.f));
            if self.df.len() > self.memory {
                self.dg.remove(0);
                self.df.remove(0);
            }
        } else {
            self.clear();
        }
        self.g = g.to_vec();
        self.size = size;
        x.copy_from_slice(g);
        if let [df] = &self.df[..]
            && dot(df, df, w).sqrt() <= DRIFT * size
            && self.drifts < DRIFTS
        {
            let multiple = reach(&f);
            if multiple < f64::INFINITY {
                add(x, multiple, &f);
                self.clear();
                self.drifts += 1;
                return Step::Drift;
            }
        }
        for (gamma, dg) in self.combine(&f, w).into_iter().zip(&self.dg) {
            for (x, dg) in x.iter_mut().zip(dg) {
                *x -= gamma * dg;
            }
        }
        self.f = f;
        Step::Combined
    }

    /// The γ with the least ‖f − Σ γ_i Δf_i‖, by Gram and Schmidt's method, twice, from the newest
    /// difference to the oldest; zero for those that add nothing new.
    fn combine(&self, f: &[f64], w: &[f64]) -> Vec<f64> {
        let n = self.df.len();
        let mut gamma = vec![0.0; n];
        // Orthonormal directions, each with its combination of differences.
        let mut basis: Vec<(Vec<f64>, Vec<f64>)> = Vec::with_capacity(n);
        for i in (0..n).rev() {
            let mut q = self.df[i].clone();
            let mut of = vec![0.0; n];
            of[i] = 1.0;
            let whole = dot(&q, &q, w).sqrt();
            for _ in 0..2 {
                for (other, other_of) in &basis {
                    let along = dot(&q, other, w);
                    add(&mut q, -along, other);
                    add(&mut of, -along, other_of);
                }
            }
            let rest = dot(&q, &q, w).sqrt();
            // Also false for a residual that is zero or not finite.
            if rest > INDEPENDENT * whole {
                q.iter_mut().for_each(|x| *x /= rest);
                of.iter_mut().for_each(|x| *x /= rest);
                basis.push((q, of));
            }
        }
        for (q, of) in &basis {
            let along = dot(f, q, w);
            add(&mut gamma, along, of);
        }
        gamma
    }
}

fn dot(a: &[f64], b: &[f64], w: &[f64]) -> f64 {
    reduce::sum_ordered(a.len(), |i| w[i] * a[i] * b[i])
}

fn add(x: &mut [f64], factor: f64, y: &[f64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += factor * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slow modes of a linear map, as slow as 1 − 1e-9, are found in as many steps as there are.
    #[test]
    fn a_linear_map_is_solved_in_as_many_steps_as_it_has_modes() {
        let rates = [0.999_999_999, 0.9999, 0.5, -0.3, 0.99];
        let fixed = [1.0, -2.0, 0.5, 3.0, 0.1];
        let w = [1.0, 2.0, 0.1, 1.0, 5.0];
        let map = |x: &[f64]| -> Vec<f64> {
            (0..5)
                .map(|i| fixed[i] + rates[i] * (x[i] - fixed[i]))
                .collect()
        };
        let mut x = vec![0.0; 5];
        let mut anderson = Anderson::new(8);
        for _ in 0..12 {
            let g = map(&x);
            anderson.next(&mut x, &g, &w, |_| f64::INFINITY);
        }
        for i in 0..5 {
            assert!((x[i] - fixed[i]).abs() < 1e-5, "{x:?}");
        }
    }
}
