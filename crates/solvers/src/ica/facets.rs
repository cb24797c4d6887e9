//! Sweeps over the contacts with faceted friction: projected Gauss–Seidel on the linear complementarity problem whose
//! matrix is B D⁻¹ Bᵀ [otaduy2009].
//!
//! A contact first takes its normal impulse, r_N ← max(0, r_N − u_N/W_NN), then friction with the bound that follows,
//! the point of the polygon nearest to r_T − u_T/w, where w is the largest eigenvalue of its block W_TT. The
//! two are interleaved: neither row accounts for the update of the other.

use stiction_contact::ContactSet;
use stiction_math::{Mat3, Vec3};

use crate::facets::FrictionPolygon;

/// Data of the sweeps, by contact.
pub(super) struct FacetedSweeps<'a> {
    set: &'a ContactSet,
    /// Inverses of the diagonal blocks of A [1/kg].
    inverse: &'a [Mat3],
    polygons: Vec<FrictionPolygon>,
    /// W_NN with the compliance, and the largest eigenvalue of W_TT [1/kg].
    steps: Vec<[f64; 2]>,
    /// r + ξ n [N·s].
    force: Vec<Vec3>,
}

impl<'a> FacetedSweeps<'a> {
    pub fn new(set: &'a ContactSet, inverse: &'a [Mat3], sides: usize) -> Self {
        let steps = (0..set.len()).map(|c| {
            let (n, w) = (set.normal[c], set.local_delassus(c, |j| inverse[j]));
            let across = Mat3::identity() - n * n.transpose();
            let tangential = across * w * across;
            // The eigenvalue along the normal is zero; the others have this sum and product.
            let sum = tangential.trace();
            let product = 0.5 * (sum * sum - (tangential * tangential).trace());
            let root = (0.25 * sum * sum - product).max(0.0).sqrt();
            [n.dot(&(w * n)) + set.compliance[c], 0.5 * sum + root]
        });
        Self {
            set,
            inverse,
            polygons: set
                .normal
                .iter()
                .map(|n| FrictionPolygon::fixed(n, sides))
                .collect(),
            steps: steps.collect(),
            force: vec![Vec3::zeros(); set.len()],
        }
    }

    pub fn set_impulses(&mut self, r: &[Vec3]) {
        for (c, force) in self.force.iter_mut().enumerate() {
            *force = r[c] + self.set.normal[c] * self.set.cohesion[c];
        }
    }

    pub fn impulses(&self, r: &mut [Vec3]) {
        for (c, r) in r.iter_mut().enumerate() {
            *r = self.force[c] - self.set.normal[c] * self.set.cohesion[c];
        }
    }

    /// Adds the velocities from the impulses to `v` and sweeps over the contacts. Returns the largest change of a relative
    /// velocity in the last sweep [m/s].
    pub fn project(&mut self, v: &mut [Vec3], sweeps: usize) -> f64 {
        for c in 0..self.set.len() {
            let cohesion = self.set.normal[c] * self.set.cohesion[c];
            self.add(c, &(self.force[c] - cohesion), v);
        }
        let mut settling = 0.0;
        for _ in 0..sweeps {
            settling = 0.0;
            for c in 0..self.set.len() {
                settling = f64::max(settling, self.update(c, v));
            }
        }
        settling
    }

    /// One contact; returns the change of its relative velocity [m/s].
    fn update(&mut self, c: usize, v: &mut [Vec3]) -> f64 {
        let (n, [along, across]) = (self.set.normal[c], self.steps[c]);
        let before = self.force[c];
        let velocity = |force: &Vec3, v: &[Vec3]| {
            let r = force.dot(&n) - self.set.cohesion[c];
            self.set.velocity(c, v) + self.set.k[c] + n * (self.set.compliance[c] * r)
        };
        let normal = before.dot(&n);
        let next = (normal - velocity(&before, v).dot(&n) / along).max(0.0);
        let friction = before - n * normal;
        let pressed = n * next + friction;
        self.add(c, &(pressed - before), v);
        let u = velocity(&pressed, v);
        let slide = u - n * u.dot(&n);
        let target = friction - slide / across;
        let (friction, _) = self.polygons[c].project(&target, self.set.mu[c] * next);
        let after = n * next + friction;
        self.add(c, &(after - pressed), v);
        self.force[c] = after;
        ((next - normal) * along).abs() + (after - pressed).norm() * across
    }

    /// v ← v + D⁻¹ B_cᵀ r.
    fn add(&self, c: usize, r: &Vec3, v: &mut [Vec3]) {
        for e in self.set.entries(c) {
            let j = e.node as usize;
            v[j] += self.inverse[j] * e.tr_mul(r);
        }
    }
}
