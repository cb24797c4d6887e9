//! Elastic energy of blended frames, by cells.

use stiction_math::{Mat3, Svd3, Vec3, svd3};

use crate::{
    elements::{ElementDerivatives, ElementError, Elements, Hessian},
    solid::{IsotropicLaw, Modes},
};

/// A quadrature point of the energy density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuadraturePoint<const K: usize> {
    /// Shape gradients λ∇W + W∇λ of the cell's nodes [1/m].
    pub gradients: [Vec3; K],
    /// Its volume [m³].
    pub volume: f64,
    /// Index of its law.
    pub law: usize,
}

/// Cells that share two laws: all samples of a cell have the same K nodes, four per frame.
///
/// Eₑ(x) = Σₛ Vₛ ψₛ(Fₛ) over the samples of the cell, with Fₛ = Σₐ xₐ ⊗ ∇Nₐ(Xₛ).
#[derive(Clone, Debug)]
pub struct Blended<L, const K: usize> {
    laws: [L; 2],
    nodes: Vec<[u32; K]>,
    /// The first sample of every cell, and the number of samples at the end.
    start: Vec<u32>,
    samples: Vec<QuadraturePoint<K>>,
}

impl<L, const K: usize> Blended<L, K> {
    /// Cells without samples.
    pub fn new(laws: [L; 2]) -> Self {
        Self {
            laws,
            nodes: Vec::new(),
            start: vec![0],
            samples: Vec::new(),
        }
    }

    /// Appends a cell.
    ///
    /// # Errors
    /// If a sample has no volume, an invalid law index, or gradients that are not finite.
    pub fn push(
        &mut self,
        nodes: [u32; K],
        samples: &[QuadraturePoint<K>],
    ) -> Result<(), ElementError> {
        for s in samples {
            let finite = s.gradients.iter().all(|g| g.iter().all(|x| x.is_finite()));
            if !(s.volume > 0.0 && s.volume.is_finite() && finite && s.law < 2) {
                return Err(ElementError::Degenerate {
                    element: self.nodes.len(),
                    measure: "volume",
                    value: s.volume,
                });
            }
        }
        self.nodes.push(nodes);
        self.samples.extend_from_slice(samples);
        self.start.push(self.samples.len() as u32);
        Ok(())
    }

    fn of(&self, e: usize) -> &[QuadraturePoint<K>] {
        &self.samples[self.start[e] as usize..self.start[e + 1] as usize]
    }
}

impl<const K: usize> QuadraturePoint<K> {
    /// F. Gradients sum to zero, so that differences to one node avoid cancellation far from the
    /// origin.
    #[inline]
    fn deformation(&self, x: &[Vec3; K]) -> Mat3 {
        let mut f = Mat3::zeros();
        for (x, g) in x
            .iter()
            .zip(&self.gradients)
            .skip(1)
            .map(|(p, g)| (p - x[0], g))
        {
            f += x * g.transpose();
        }
        f
    }
}

impl<L: IsotropicLaw, const K: usize> Elements<K> for Blended<L, K> {
    fn nodes(&self) -> &[[u32; K]] {
        &self.nodes
    }

    fn energy(&self, e: usize, x: &[Vec3; K]) -> f64 {
        let of = |s: &QuadraturePoint<K>| {
            s.volume * self.laws[s.law].energy(&svd3(&s.deformation(x)).sigma)
        };
        self.of(e).iter().map(of).sum()
    }

    fn gradient(&self, e: usize, x: &[Vec3; K]) -> [Vec3; K] {
        let mut gradient = [Vec3::zeros(); K];
        for s in self.of(e) {
            let Svd3 { u, sigma, v } = svd3(&s.deformation(x));
            add_stress(s, &u, &v, &self.laws[s.law].gradient(&sigma), &mut gradient);
        }
        gradient
    }

    fn local(&self, e: usize, x: &[Vec3; K], kind: Hessian) -> ElementDerivatives<K> {
        let mut local = ElementDerivatives {
            energy: 0.0,
            gradient: [Vec3::zeros(); K],
            hessian: [[Mat3::zeros(); K]; K],
        };
        for s in self.of(e) {
            let Svd3 { u, sigma, v } = svd3(&s.deformation(x));
            let law = &self.laws[s.law];
            local.energy += s.volume * law.energy(&sigma);
            add_stress(s, &u, &v, &law.gradient(&sigma), &mut local.gradient);
            let modes = Modes::new(law, &sigma, kind);
            let turned = s.gradients.map(|g| v.tr_mul(&g));
            for a in 0..K {
                let scaled = turned[a] * s.volume;
                for b in a..K {
                    local.hessian[a][b] += u * modes.block(&scaled, &turned[b]) * u.transpose();
                }
            }
        }
        for a in 0..K {
            for b in 0..a {
                local.hessian[a][b] = local.hessian[b][a].transpose();
            }
        }
        local
    }
}

/// g += V U diag(ψᵢ) Vᵀ ∇N.
#[inline]
fn add_stress<const K: usize>(
    s: &QuadraturePoint<K>,
    u: &Mat3,
    v: &Mat3,
    stress: &Vec3,
    gradient: &mut [Vec3; K],
) {
    let p = u * Mat3::from_diagonal(&(stress * s.volume)) * v.transpose();
    for (g, n) in gradient.iter_mut().zip(&s.gradients) {
        *g += p * n;
    }
}
