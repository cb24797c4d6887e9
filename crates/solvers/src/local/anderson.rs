//! Anderson's combination of the last sweeps [anderson1965, walker2011].

/// Differences of images and residuals of the last sweeps, with the Gram matrix of the latter.
pub struct Anderson {
    memory: usize,
    /// Differences of the images g, a ring.
    dg: Vec<Vec<f64>>,
    /// Differences of the residuals f = g − x.
    df: Vec<Vec<f64>>,
    gram: Vec<f64>,
    /// Slot of the next difference.
    next: usize,
    g: Vec<f64>,
    f: Vec<f64>,
}

/// Regularisation of the normal equations, as a fraction of their trace.
const RIDGE: f64 = 1e-12;

impl Anderson {
    pub fn new(memory: usize) -> Self {
        Self {
            memory,
            dg: Vec::new(),
            df: Vec::new(),
            gram: vec![0.0; memory * memory],
            next: 0,
            g: Vec::new(),
            f: Vec::new(),
        }
    }

    /// Forgets everything: the map has changed.
    pub fn clear(&mut self) {
        self.dg.clear();
        self.df.clear();
        self.next = 0;
        self.g.clear();
    }

    /// Replaces `x` by the next point to try, where `g` is its image and lengths are weighted by `w`.
    pub fn combine(&mut self, x: &mut [f64], g: &[f64], w: &[f64]) {
        let f: Vec<f64> = g.iter().zip(&*x).map(|(g, x)| g - x).collect();
        x.copy_from_slice(g);
        if self.g.len() == g.len() {
            self.push(g, &f, w);
            if let Some(part) = self.parts(&f, w) {
                for (part, dg) in part.iter().zip(&self.dg) {
                    for (x, dg) in x.iter_mut().zip(dg) {
                        *x -= part * dg;
                    }
                }
            }
        }
        self.g.clear();
        self.g.extend_from_slice(g);
        self.f = f;
    }

    fn push(&mut self, g: &[f64], f: &[f64], w: &[f64]) {
        let slot = self.next;
        self.next = (slot + 1) % self.memory;
        if self.df.len() <= slot {
            self.dg.push(Vec::new());
            self.df.push(Vec::new());
        }
        let set = |to: &mut Vec<f64>, a: &[f64], b: &[f64]| {
            to.clear();
            to.extend(a.iter().zip(b).map(|(a, b)| a - b));
        };
        set(&mut self.dg[slot], g, &self.g);
        set(&mut self.df[slot], f, &self.f);
        for other in 0..self.df.len() {
            let product = dot(&self.df[slot], &self.df[other], w);
            self.gram[slot * self.memory + other] = product;
            self.gram[other * self.memory + slot] = product;
        }
    }

    /// The combination that makes the residual least; none if the equations have no solution.
    fn parts(&self, f: &[f64], w: &[f64]) -> Option<Vec<f64>> {
        let n = self.df.len();
        let at = |i: usize, j: usize| self.gram[i * self.memory + j];
        let ridge = RIDGE * (0..n).map(|i| at(i, i)).sum::<f64>();
        let mut a: Vec<f64> = (0..n * n).map(|k| at(k / n, k % n)).collect();
        let mut b: Vec<f64> = self.df.iter().map(|df| dot(df, f, w)).collect();
        for i in 0..n {
            a[i * n + i] += ridge;
        }
        // Cholesky's elimination, in place.
        for i in 0..n {
            let pivot = a[i * n + i];
            if !(pivot.is_finite() && pivot > 0.0) {
                return None;
            }
            for j in i + 1..n {
                let s = a[j * n + i] / pivot;
                for k in i..n {
                    a[j * n + k] -= s * a[i * n + k];
                }
                b[j] -= s * b[i];
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                b[i] -= a[i * n + j] * b[j];
            }
            b[i] /= a[i * n + i];
        }
        b.iter().all(|x| x.is_finite()).then_some(b)
    }
}

fn dot(a: &[f64], b: &[f64], w: &[f64]) -> f64 {
    a.iter().zip(b).zip(w).map(|((a, b), w)| a * b * w).sum()
}
