//! The potential of a deforming mesh near one point.

use stiction_math::{Real, Vec3, Vector};

use super::facet::{self, Closest};
use super::kernel::Sums;
use super::{Blend, Jet, SampleForm, SurfaceSample};

/// The faces near a query point q, blended into one potential ψ(q; x), with its derivatives by q
/// and by the vertices x, and with the motion of the surface carried to q.
///
/// # The motion of the surface
/// [`Patch::velocity`] is an affine field fitted to the vertices: with Wᵢ = wᵢ/Σw, the mean place
/// c̄ = Σ Wᵢ cᵢ and the mean gradient Ḡ = Σ Wᵢ (∇vᵢ + ṅᵢ nᵢᵀ), where ∇vᵢ is the gradient of the velocity
/// within face i and ṅᵢ the rate of its normal,
///
/// ```text
/// v(q) = Σ Wᵢ v(cᵢ) + Ḡ (q − c̄).
/// ```
///
/// It is exact for every rigid motion of the mesh. So its transpose, [`Patch::spread`], gives forces
/// on the vertices with the same sum and the same torque as the force at q.
///
/// Of facets only the closest counts: ψ is the distance to it, and the field is that of its plane.
#[derive(Debug)]
pub struct Patch<T> {
    terms: Vec<Term<T>>,
    /// Derivatives by the corners of the one term, where ψ is the distance to it.
    by_corners: Option<[Vector<T>; 3]>,
    jet: Jet<T>,
    /// 1/Σ w without the far value.
    per_mass: T,
    /// Of dψ = (dmoment − tilt dmass) scale.
    tilt: T,
    scale: T,
    side: f64,
    /// q − c̄.
    arm: Vector<T>,
}

#[derive(Debug)]
struct Term<T> {
    /// Places of the corners in the caller's list.
    slots: [u32; 3],
    weights: [T; 3],
    /// K · share/R².
    weight: T,
    /// 2 K′ · share/R⁴.
    slope: T,
    /// q − c.
    r: Vector<T>,
    normal: Vector<T>,
    area: T,
    /// x_{k+2} − x_{k+1}: the edge opposite to corner k.
    edges: [Vector<T>; 3],
}

impl<T: Real> Patch<T> {
    /// The potential at `q` [m] of `samples`, each with the places of its corners in the caller's
    /// list of vertices, at the positions `x` [m] of that list. Samples out of reach and faces
    /// without area have no say; none if no sample has any.
    pub fn new<'a>(
        q: &Vector<T>,
        samples: impl Iterator<Item = (&'a SurfaceSample, [u32; 3])> + Clone,
        x: &[Vector<T>],
        blend: &Blend,
    ) -> Option<Self> {
        if let Some((sample, _)) = samples.clone().next()
            && sample.form != SampleForm::Plane
        {
            return Self::closest(q, samples, x, blend);
        }
        let mut terms = Vec::new();
        let mut sums = Sums::zero();
        let mut middle = Vector::zero();
        for (sample, slots) in samples {
            let p = slots.map(|s| x[s as usize]);
            let [b0, b1, b2] = sample.weights;
            let c = p[0].times(b0) + p[1].times(b1) + p[2].times(b2);
            let r = *q - c;
            if r.value().norm_squared() >= sample.radius * sample.radius {
                continue;
            }
            let a = (p[1] - p[0]).cross(&(p[2] - p[0])).times(0.5);
            let area = a.norm();
            if !area.value().is_normal() {
                continue;
            }
            let factor = sample.share / (sample.radius * sample.radius);
            let plane = a.times(factor * blend.side);
            let added = sums.add(&r, &plane, area * factor, sample.radius);
            let Some((k, slope)) = added else {
                continue;
            };
            middle += c.scale(k * area * factor);
            terms.push(Term {
                slots,
                weights: sample.weights.map(T::constant),
                weight: k * factor,
                slope: slope * factor,
                r,
                normal: a.scale(T::constant(1.0) / area),
                area,
                edges: [p[2] - p[1], p[0] - p[2], p[1] - p[0]],
            });
        }
        let blended = sums.blend(blend)?;
        let per_mass = T::constant(1.0) / sums.mass;
        Some(Self {
            terms,
            by_corners: None,
            jet: blended.jet,
            per_mass,
            tilt: blended.tilt,
            scale: blended.scale,
            side: blend.side,
            arm: *q - middle.scale(per_mass),
        })
    }

    /// The distance to the closest of facets.
    fn closest<'a>(
        q: &Vector<T>,
        facets: impl Iterator<Item = (&'a SurfaceSample, [u32; 3])> + Clone,
        x: &[Vector<T>],
        blend: &Blend,
    ) -> Option<Self> {
        let closest = closest(&q.value(), facets.clone(), |i| x[i as usize].value())?;
        let (_, slots) = facets.clone().nth(closest.face)?;
        let corners = slots.map(|s| x[s as usize]);
        Self::facet(q, &closest, slots, &corners, blend)
    }

    /// The distance to the facet that [`closest`](super::closest) found, with the places `slots` of its
    /// corners in the caller's list and their positions `corners` [m].
    pub fn facet(
        q: &Vector<T>,
        closest: &Closest,
        slots: [u32; 3],
        corners: &[Vector<T>; 3],
        blend: &Blend,
    ) -> Option<Self> {
        let p = corners;
        let found = facet::distance(q, p, closest, blend.side, 0.0)?;
        let [b0, b1, b2] = found.weights;
        let r = *q - (p[0].scale(b0) + p[1].scale(b1) + p[2].scale(b2));
        let zero = T::constant(0.0);
        Some(Self {
            terms: vec![Term {
                slots,
                weights: found.weights,
                weight: T::constant(1.0),
                slope: zero,
                r,
                normal: found.normal,
                area: found.area,
                edges: [p[2] - p[1], p[0] - p[2], p[1] - p[0]],
            }],
            by_corners: Some(found.by_corners),
            jet: found.jet,
            per_mass: T::constant(1.0) / found.area,
            tilt: zero,
            scale: T::constant(1.0),
            side: blend.side,
            arm: r,
        })
    }

    /// ψ and ∂ψ/∂q.
    pub fn jet(&self) -> &Jet<T> {
        &self.jet
    }

    /// Calls `add` with s ∂ψ/∂x for the vertices in reach, by their places in the caller's list;
    /// a vertex comes once per sample that it belongs to.
    pub fn for_each_gradient(&self, s: T, mut add: impl FnMut(u32, Vector<T>)) {
        if let Some(by_corners) = &self.by_corners {
            for t in &self.terms {
                for (slot, by_corner) in t.slots.iter().zip(by_corners) {
                    add(*slot, by_corner.scale(s));
                }
            }
            return;
        }
        let s = s * self.scale;
        for t in &self.terms {
            let height = t.normal.dot(&t.r) * self.side - self.tilt;
            let by_c = t.r.scale(t.slope * t.area * height)
                + t.normal.scale(t.weight * t.area * self.side);
            let by_c = by_c.scale(s);
            // d(area vector)·y, from the planes (side r) and from the weights (−tilt n).
            let y = t.r.times(self.side) - t.normal.scale(self.tilt);
            let y = y.scale(t.weight * s * 0.5);
            for k in 0..3 {
                add(t.slots[k], y.cross(&t.edges[k]) - by_c.scale(t.weights[k]));
            }
        }
    }

    /// The velocity of the surface at q, from the velocities `v` of the caller's list.
    pub fn velocity(&self, v: &[Vector<T>]) -> Vector<T> {
        let mut sum = Vector::zero();
        for t in &self.terms {
            let height = t.normal.dot(&self.arm);
            for k in 0..3 {
                let v = &v[t.slots[k] as usize];
                let (g, along) = self.share(t, k);
                let tilt = g.scale(t.normal.dot(v) * height);
                sum += (v.scale(along) - tilt).scale(t.weight);
            }
        }
        sum.scale(self.per_mass)
    }

    /// Calls `add` with forces on vertices, by their places in the caller's list, that are together
    /// the force `f` at q: the transpose of [`Patch::velocity`].
    pub fn spread(&self, f: &Vector<T>, mut add: impl FnMut(u32, Vector<T>)) {
        for t in &self.terms {
            let height = t.normal.dot(&self.arm);
            let weight = t.weight * self.per_mass;
            for k in 0..3 {
                let (g, along) = self.share(t, k);
                let tilt = t.normal.scale(g.dot(f) * height);
                add(t.slots[k], (f.scale(along) - tilt).scale(weight));
            }
        }
    }

    /// Calls `add` with vertices, by their places in the caller's list, and weights that sum to one:
    /// [`Patch::velocity`] without the turning of normals. A vertex comes once per sample.
    pub fn for_each_weight(&self, mut add: impl FnMut(u32, T)) {
        for t in &self.terms {
            let weight = t.weight * self.per_mass;
            for k in 0..3 {
                add(t.slots[k], self.share(t, k).1 * weight);
            }
        }
    }

    /// The gradient of the k-th barycentric coordinate and its value at q, both times the area.
    fn share(&self, t: &Term<T>, k: usize) -> (Vector<T>, T) {
        let g = t.normal.cross(&t.edges[k]).times(0.5);
        (g, g.dot(&self.arm) + t.area * t.weights[k])
    }
}

/// The closest of `facets` to `q` [m]; `x` gives the positions of corners [m] by their places in the
/// caller's list. Facets without area, and those out of reach, are left out; none without facets.
pub fn closest<'a>(
    q: &Vec3,
    facets: impl Iterator<Item = (&'a SurfaceSample, [u32; 3])> + Clone,
    x: impl Fn(u32) -> Vec3 + Clone,
) -> Option<Closest> {
    facet::closest(
        q,
        facets.map(|(s, slots)| (slots.map(&x), s.border, s.radius)),
    )
}
