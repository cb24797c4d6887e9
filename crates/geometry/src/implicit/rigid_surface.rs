//! The potential of a mesh in its own frame.

use stiction_math::{Real, Vec3, Vector};

use super::facet;
use super::kernel::Sums;
use super::{Blend, End, Jet, SampleForm, SurfaceSample};
use crate::Aabb;
use crate::collide::bvh::{Aabb32, Bvh, BvhError};
use crate::collide::point_triangle;

/// The potential of a mesh that does not deform, in its own frame.
#[derive(Clone, Debug)]
pub struct RigidSurface {
    terms: Vec<Term>,
    tree: Bvh,
    bounds: Option<Aabb>,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    point: Vec3,
    /// Area vector · share/R².
    plane: Vec3,
    area: f64,
    radius: f64,
    form: SampleForm,
    corners: [Vec3; 3],
    border: u8,
}

impl Term {
    /// The squared distance to the point or to the whole face [m²].
    fn squared_distance(&self, q: &Vec3) -> f64 {
        match self.form {
            SampleForm::Facet => point_triangle(q, &self.corners).squared,
            SampleForm::Plane => (q - self.point).norm_squared(),
        }
    }

    fn bounds(&self) -> Aabb {
        let around = match self.form {
            SampleForm::Facet => Aabb::of(&self.corners),
            SampleForm::Plane => None,
        };
        let (min, max) = around.map_or((self.point, self.point), |b| (b.min, b.max));
        Aabb {
            min: min.add_scalar(-self.radius),
            max: max.add_scalar(self.radius),
        }
    }
}

impl RigidSurface {
    /// The surface of `samples` at the vertices `x` [m]. Faces without area are left out.
    pub fn new(samples: &[SurfaceSample], x: &[Vec3]) -> Result<Self, BvhError> {
        let mut terms = Vec::with_capacity(samples.len());
        for s in samples {
            let p = s.corners.map(|c| x[c as usize]);
            let a = (p[1] - p[0]).cross(&(p[2] - p[0])) * 0.5;
            if !a.norm().is_normal() {
                continue;
            }
            let plane = a * (s.share / (s.radius * s.radius));
            terms.push(Term {
                point: p[0] * s.weights[0] + p[1] * s.weights[1] + p[2] * s.weights[2],
                plane,
                area: plane.norm(),
                radius: s.radius,
                form: s.form,
                corners: p,
                border: s.border,
            });
        }
        let boxes: Vec<Aabb> = terms.iter().map(Term::bounds).collect();
        let bounds = boxes.iter().copied().reduce(|a, b| a.union(&b));
        let boxes: Vec<Aabb32> = boxes.iter().map(Aabb32::from).collect();
        Ok(Self {
            terms,
            tree: Bvh::build(&boxes)?,
            bounds,
        })
    }

    /// The box outside which no sample has a say; none without samples.
    pub fn bounds(&self) -> Option<&Aabb> {
        self.bounds.as_ref()
    }

    /// Appends the samples that are in reach of a point within `margin` [m] of `q` [m], in
    /// ascending order. Of whole faces only those that may be the closest one there: distances change by no more than
    /// points move.
    pub fn near(&self, q: &Vec3, margin: f64, out: &mut Vec<u32>) {
        let begin = out.len();
        let query = Aabb32::from(&Aabb {
            min: q.add_scalar(-margin),
            max: q.add_scalar(margin),
        });
        let mut closest = f64::INFINITY;
        self.tree.overlapping(&query, |i| {
            let t = &self.terms[i as usize];
            let reach = t.radius + margin;
            let squared = t.squared_distance(q);
            if squared < reach * reach {
                closest = closest.min(squared);
                out.push(i);
            }
        });
        if self.is_faceted() {
            let limit = facet::farthest_closest(closest.sqrt(), margin);
            let mut kept = begin;
            for k in begin..out.len() {
                if self.terms[out[k] as usize].squared_distance(q) <= limit * limit {
                    out[kept] = out[k];
                    kept += 1;
                }
            }
            out.truncate(kept);
        }
        out[begin..].sort_unstable();
    }

    /// Corners, border bits and radii of the faces of the samples `near`.
    fn faces<'a>(&'a self, near: &'a [u32]) -> impl Iterator<Item = facet::Face> + Clone + 'a {
        let terms = near.iter().map(|&i| &self.terms[i as usize]);
        terms.map(|t| (t.corners, t.border, t.radius))
    }

    /// Whether samples are whole faces.
    pub fn is_faceted(&self) -> bool {
        let first = self.terms.first();
        first.is_some_and(|t| t.form == SampleForm::Facet)
    }

    /// Of the samples `near`, the one whose point is nearest to `q` decides on which side of the
    /// surface it lies: its height over that plane [m]; none without samples.
    pub fn height(&self, q: &Vec3, near: &[u32]) -> Option<f64> {
        if self.is_faceted() {
            return facet::closest(q, self.faces(near)).map(|c| c.signed());
        }
        let distance = |i: &u32| (q - self.terms[*i as usize].point).norm_squared();
        let nearest = near
            .iter()
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let t = &self.terms[*nearest as usize];
        Some(t.plane.dot(&(q - t.point)) / t.area)
    }

    /// ψ and ∂ψ/∂q at `q` from the samples `near`; none if none is in reach.
    pub fn jet<T: Real>(&self, q: &Vector<T>, near: &[u32], blend: &Blend) -> Option<Jet<T>> {
        if self.is_faceted() {
            return self.distance(q, near, blend.side, 0.0);
        }
        let at = q.value();
        let mut sums = Sums::zero();
        for &i in near {
            let t = &self.terms[i as usize];
            if (at - t.point).norm_squared() >= t.radius * t.radius {
                continue;
            }
            let r = *q - Vector::constant(&t.point);
            let plane = Vector::constant(&(t.plane * blend.side));
            sums.add(&r, &plane, T::constant(t.area), t.radius);
        }
        let psi = sums.blend(blend)?.jet;
        let Some(end) = blend.end else {
            return Some(psi);
        };
        if psi.value.value() >= end {
            return Some(psi);
        }
        let distance = self.distance(q, near, blend.side, end)?;
        let ended = End::new(psi.value, distance.value, end)?;
        Some(Jet {
            value: ended.gap,
            gradient: psi.gradient.scale(ended.by_planes)
                + distance.gradient.scale(ended.by_distance),
        })
    }

    /// The signed distance to the closest of the faces of the samples `near`, on the side `side` of an open sheet
    /// that goes on level for a fraction of `level` [m] beyond its border.
    fn distance<T: Real>(
        &self,
        q: &Vector<T>,
        near: &[u32],
        side: f64,
        level: f64,
    ) -> Option<Jet<T>> {
        let closest = facet::closest(&q.value(), self.faces(near))?;
        let (corners, ..) = self.faces(near).nth(closest.face)?;
        let x = corners.map(|p| Vector::constant(&p));
        facet::distance(q, &x, &closest, side, level).map(|d| d.jet)
    }
}
