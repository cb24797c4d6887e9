//! One contact: its gap, its direction, its relative velocity, and its forces.

use stiction_geometry::implicit::{
    Blend, Closest, End, FaceDistance, Patch, SurfaceSample, closest,
};
use stiction_math::{Real, Vector};

use super::contacts::{Pair, SmoothContacts};
use super::world::{Follow, FrameOf, Motion, Skin, faceted};
use crate::kinematics::{Blocks, Frozen};

/// A query point at a surface.
pub(super) struct QueryContact<T> {
    query: Motion<T>,
    /// The gap d = ψ [m].
    pub gap: T,
    /// ∂d/∂q [1].
    pub gradient: Vector<T>,
    base: Base<T>,
}

/// The other side.
enum Base<T> {
    /// A frame, with the arm from its origin to the query point and the velocity at that point.
    Framed {
        of: FrameOf,
        arm: Vector<T>,
        velocity: Vector<T>,
    },
    /// Faces that deform.
    Deforming {
        patch: Patch<T>,
        v: Vec<Vector<T>>,
        /// Corners of the closest facet; none where places in the pair's list are meant.
        corners: Option<[u32; 3]>,
        /// The end of blended planes by distance.
        fade: Option<Fade<T>>,
    },
}

/// The end of blended planes by distance ([`End`]).
struct Fade<T> {
    end: End<T>,
    corners: [u32; 3],
    by_corners: [Vector<T>; 3],
}

/// The forces of one contact on the query point.
#[derive(Clone, Copy)]
pub(super) struct Forces<T> {
    /// λ = −b′(d) [N].
    pub lambda: T,
    /// The size of the normal force, λ‖∂d/∂q‖ [N].
    pub normal: T,
    /// Sliding velocity [m/s]: the relative one without its part along the normal.
    pub slide: Vector<T>,
    /// Friction on the query point [N].
    pub friction: Vector<T>,
}

impl<T: Real> QueryContact<T> {
    /// The unit normal from the surface to the query point; none where the potential is flat.
    pub fn normal(&self) -> Option<(Vector<T>, T)> {
        unit(&self.gradient)
    }

    /// The velocity of the query point less that of the surface there [m/s].
    pub fn relative_velocity(&self) -> Vector<T> {
        let base = match &self.base {
            Base::Framed { velocity, .. } => *velocity,
            Base::Deforming { patch, v, .. } => patch.velocity(v),
        };
        self.query.v - base
    }
}

impl QueryContact<f64> {
    /// Calls `add` with the vertices of a deforming surface and their weights in its velocity at the
    /// query point; `vertices` are those of the pair.
    pub fn for_each_weight(&self, vertices: &[u32], mut add: impl FnMut(u32, f64)) {
        if let Base::Deforming { patch, corners, .. } = &self.base {
            let vertices = corners.as_ref().map_or(vertices, |c| &c[..]);
            patch.for_each_weight(|slot, weight| add(vertices[slot as usize], weight));
        }
    }
}

/// By how much, of δ, gaps may differ that are summed in different orders.
const ROUNDING: f64 = 1e-9;

impl SmoothContacts {
    /// The gap and direction of a pair; none if it is out of reach.
    pub(super) fn touch<T: Real>(
        &self,
        pair: &Pair,
        blocks: &impl Blocks<T>,
    ) -> Option<QueryContact<T>> {
        let query = self.world.motion(pair.query, blocks);
        let part = &self.world.colliders[pair.surface as usize];
        let blend = Blend {
            side: pair.side,
            far: (!part.closed).then_some(2.0 * pair.delta),
            end: Some(pair.delta),
        };
        if let Skin::Deforming(samples) = &part.skin {
            if faceted(samples) {
                return self.touch_facet(pair, samples, query, blocks, &blend);
            }
            let vertices = &self.vertices[pair.vertices.clone()];
            let mut x = Vec::with_capacity(vertices.len());
            let mut v = Vec::with_capacity(vertices.len());
            for &i in vertices {
                let m = self.world.motion(i, blocks);
                x.push(m.x);
                v.push(m.v);
            }
            let near = self.near[pair.near.clone()].iter();
            let near = near.map(|n| (&samples[n.sample as usize], n.slots));
            let patch = Patch::new(&query.x, near, &x, &blend)?;
            let jet = *patch.jet();
            let (mut gap, mut gradient) = (jet.value, jet.gradient);
            let mut fade = None;
            if let Some((found, corners)) = self.ends(pair, samples, jet.value.value(), blocks) {
                let x = corners.map(|c| self.world.motion(c, blocks).x);
                let to = FaceDistance::new(&query.x, &x, &found, pair.side, pair.delta)?;
                let end = End::new(jet.value, to.value, pair.delta)?;
                gap = end.gap;
                gradient = jet.gradient.scale(end.by_planes) + to.gradient.scale(end.by_distance);
                fade = Some(Fade {
                    end,
                    corners,
                    by_corners: to.by_corners,
                });
            }
            return Some(QueryContact {
                query,
                gap,
                gradient,
                base: Base::Deforming {
                    patch,
                    v,
                    corners: None,
                    fade,
                },
            });
        }
        let Follow::Framed(of) = part.follow else {
            return None;
        };
        let frame = of.frame(blocks);
        let arm = query.x - frame.origin;
        let local = frame.inward(&arm);
        let jet = match &part.skin {
            Skin::Solid(solid, _) => solid.jet(&local),
            Skin::Rigid(surface) => {
                surface.jet(&local, &self.samples[pair.near.clone()], &blend)?
            }
            Skin::None | Skin::Deforming(_) => return None,
        };
        Some(QueryContact {
            query,
            gap: jet.value,
            gradient: frame.outward(&jet.gradient),
            base: Base::Framed {
                of,
                arm,
                velocity: frame.velocity_at(&arm),
            },
        })
    }

    /// The face closest to the query point of a pair with blended planes, and its corners, where the distance to it
    /// matters in addition to the value `psi` of the planes.
    pub(super) fn ends<T: Real>(
        &self,
        pair: &Pair,
        samples: &[SurfaceSample],
        psi: f64,
        blocks: &impl Blocks<T>,
    ) -> Option<(Closest, [u32; 3])> {
        if psi >= pair.delta {
            return None;
        }
        let (found, corners) = self.closest_facet(pair, samples, blocks)?;
        let q = Vector::constant(&self.world.motion(pair.query, blocks).x.value());
        let x = corners.map(|c| Vector::constant(&self.world.motion(c, blocks).x.value()));
        let distance = FaceDistance::<f64>::new(&q, &x, &found, pair.side, pair.delta)?.value;
        End::<f64>::is_felt(psi, distance, pair.delta).then_some((found, corners))
    }

    /// Whether the gap of a pair depends on the distance to faces in addition to blended planes.
    pub(super) fn is_fading(&self, pair: &Pair, blocks: &impl Blocks<f64>) -> bool {
        let touch: Option<QueryContact<f64>> = self.touch(pair, blocks);
        matches!(
            touch.map(|t| t.base),
            Some(Base::Deforming { fade: Some(_), .. })
        )
    }

    /// The closest of the facets of a pair with a deforming surface.
    pub(super) fn closest_facet<T: Real>(
        &self,
        pair: &Pair,
        samples: &[SurfaceSample],
        blocks: &impl Blocks<T>,
    ) -> Option<(Closest, [u32; 3])> {
        let q = self.world.motion(pair.query, blocks).x.value();
        let vertices = &self.vertices[pair.vertices.clone()];
        let x: Vec<_> = vertices
            .iter()
            .map(|&i| self.world.motion(i, blocks).x.value())
            .collect();
        let near = &self.near[pair.near.clone()];
        let list = near.iter().map(|n| (&samples[n.sample as usize], n.slots));
        let found = closest(&q, list, |slot| x[slot as usize])?;
        let slots = near[found.face].slots;
        Some((found, slots.map(|s| vertices[s as usize])))
    }

    fn touch_facet<T: Real>(
        &self,
        pair: &Pair,
        samples: &[SurfaceSample],
        query: Motion<T>,
        blocks: &impl Blocks<T>,
        blend: &Blend,
    ) -> Option<QueryContact<T>> {
        let (found, corners) = self.closest_facet(pair, samples, blocks)?;
        let motions = corners.map(|c| self.world.motion(c, blocks));
        let x = motions.map(|m| m.x);
        let patch = Patch::facet(&query.x, &found, [0, 1, 2], &x, blend)?;
        let jet = *patch.jet();
        Some(QueryContact {
            query,
            gap: jet.value,
            gradient: jet.gradient,
            base: Base::Deforming {
                patch,
                v: motions.iter().map(|m| m.v).collect(),
                corners: Some(corners),
                fade: None,
            },
        })
    }

    /// Normal force and friction of a contact, both of one geometry, at the stiffness `kappa`
    /// [N/m].
    pub(super) fn forces<T: Real>(
        &self,
        pair: &Pair,
        touch: &QueryContact<T>,
        kappa: f64,
    ) -> Forces<T> {
        let velocity = || touch.relative_velocity();
        self.forces_at(pair, touch.gap, &touch.gradient, velocity, kappa)
    }

    /// Forces for a gap and its gradient, with the relative velocity where it is needed.
    pub(super) fn forces_at<T: Real>(
        &self,
        pair: &Pair,
        gap: T,
        gradient: &Vector<T>,
        velocity: impl FnOnce() -> Vector<T>,
        kappa: f64,
    ) -> Forces<T> {
        let zero = T::constant(0.0);
        let (x, delta) = pair.at_rest(self.config.penalty, gap);
        let lambda = self.config.penalty.force(x, delta, kappa);
        let (normal, slide, friction) = match unit(gradient) {
            Some((n, length)) if lambda.value() > 0.0 => {
                let normal = lambda * length;
                let u = velocity();
                let slide = u - n.scale(n.dot(&u));
                let drag = pair.friction.drag(slide.norm(), normal);
                (normal, slide, -slide.scale(drag))
            }
            _ => (zero, Vector::zero(), Vector::zero()),
        };
        Forces {
            lambda,
            normal,
            slide,
            friction,
        }
    }

    /// Calls `add` with the forces of a pair on blocks. Whether there are any, or would be but for
    /// rounding.
    pub(super) fn forces_of_pair<T: Real, B: Blocks<T>>(
        &self,
        pair: &Pair,
        blocks: &B,
        mut add: impl FnMut(u32, Vector<T>),
    ) -> bool {
        let active = |t: &QueryContact<T>| t.gap.value() < pair.reach();
        // A point that one order of summation puts outside, another may put inside.
        let near = |t: &QueryContact<T>| t.gap.value() < pair.reach() + pair.delta * ROUNDING;
        let mut any = false;
        let touch = self.touch(pair, blocks).filter(near);
        any |= touch.is_some();
        if let Some(touch) = touch.filter(active) {
            let forces = self.forces(pair, &touch, self.stiffness);
            self.push_normal(pair, &touch, forces.lambda, &mut add);
            if self.lagged.is_none() {
                self.push_friction(pair, &touch, &forces.friction, &mut add);
                let f = touch.gradient.scale(forces.lambda) + forces.friction;
                self.push_shift(pair, &touch, &f, blocks, &mut add);
            }
        }
        if let Some(lagged) = &self.lagged {
            let frozen = Frozen {
                kept: &lagged.kept,
                now: blocks,
            };
            let touch = self.touch(pair, &frozen).filter(near);
            any |= touch.is_some();
            if let Some(touch) = touch.filter(active) {
                let forces = self.forces(pair, &touch, lagged.stiffness);
                self.push_friction(pair, &touch, &forces.friction, &mut add);
            }
        }
        any
    }

    /// λ ∂d/∂x on all blocks.
    fn push_normal<T: Real>(
        &self,
        pair: &Pair,
        touch: &QueryContact<T>,
        lambda: T,
        add: &mut impl FnMut(u32, Vector<T>),
    ) {
        let f = touch.gradient.scale(lambda);
        self.world
            .pull(pair.query, &touch.query.lever, &f, &mut *add);
        match &touch.base {
            Base::Framed { of, arm, .. } => react(*of, arm, &f, add),
            Base::Deforming {
                patch,
                corners,
                fade,
                ..
            } => {
                let vertices = &self.vertices[pair.vertices.clone()];
                let vertices = corners.as_ref().map_or(vertices, |c| &c[..]);
                let weighted = fade.as_ref().map_or(lambda, |f| lambda * f.end.by_planes);
                patch.for_each_gradient(weighted, |slot, f| {
                    let vertex = vertices[slot as usize];
                    self.world.pull(vertex, &Vector::zero(), &f, &mut *add);
                });
                if let Some(fade) = fade {
                    for (vertex, by_corner) in fade.corners.iter().zip(&fade.by_corners) {
                        let f = by_corner.scale(lambda * fade.end.by_distance);
                        self.world.pull(*vertex, &Vector::zero(), &f, &mut *add);
                    }
                }
            }
        }
    }

    /// Torques that keep the angular momentum of two rigid bodies in a step of backward Euler.
    ///
    /// Such a step changes Σ x × p by the torque about the places where it *began*. The force f at the common point q of
    /// its end has the lever q − x⁺ + h v there, and −f on the other body q − y⁺ + h w: together they would turn the pair
    /// by −h (v − w) × f. The heavier body takes more of what is missing.
    fn push_shift<T: Real>(
        &self,
        pair: &Pair,
        touch: &QueryContact<T>,
        f: &Vector<T>,
        blocks: &impl Blocks<T>,
        add: &mut impl FnMut(u32, Vector<T>),
    ) {
        let h = blocks.chord();
        let query = self.world.part_of(pair.query);
        let (
            Follow::Framed(FrameOf::Rigid { block: a, .. }),
            Base::Framed {
                of: FrameOf::Rigid { block: b, .. },
                ..
            },
        ) = (&query.follow, &touch.base)
        else {
            return;
        };
        if h == 0.0 {
            return;
        }
        let surface = self.world.colliders[pair.surface as usize].parent;
        let share = self.mass_share(self.world.owner[pair.query as usize], surface);
        let missing = (blocks.v(*a) - blocks.v(*b)).cross(f).times(h);
        add(*a + 1, missing.times(share));
        add(*b + 1, missing.times(1.0 - share));
    }

    /// The friction `f` on the query point, and its reaction.
    fn push_friction<T: Real>(
        &self,
        pair: &Pair,
        touch: &QueryContact<T>,
        f: &Vector<T>,
        add: &mut impl FnMut(u32, Vector<T>),
    ) {
        self.world
            .pull(pair.query, &touch.query.lever, f, &mut *add);
        match &touch.base {
            Base::Framed { of, arm, .. } => react(*of, arm, f, add),
            Base::Deforming { patch, corners, .. } => {
                let vertices = &self.vertices[pair.vertices.clone()];
                let vertices = corners.as_ref().map_or(vertices, |c| &c[..]);
                patch.spread(&-*f, |slot, f| {
                    let vertex = vertices[slot as usize];
                    self.world.pull(vertex, &Vector::zero(), &f, &mut *add);
                });
            }
        }
    }
}

/// A direction and its length; none without length.
fn unit<T: Real>(gradient: &Vector<T>) -> Option<(Vector<T>, T)> {
    let length = gradient.norm();
    if !length.value().is_normal() {
        return None;
    }
    Some((gradient.scale(T::constant(1.0) / length), length))
}

/// The reaction to the force `f` at the end of `arm` on a frame.
fn react<T: Real>(
    of: FrameOf,
    arm: &Vector<T>,
    f: &Vector<T>,
    add: &mut impl FnMut(u32, Vector<T>),
) {
    if let FrameOf::Rigid { block, .. } = of {
        add(block, -*f);
        add(block + 1, -arm.cross(f));
    }
}
