//! Reference frames along rods, carried in time without turning about their tangents.
//!
//! Every edge has a director d₁ perpendicular to its tangent t; d₂ = t × d₁ completes the frame. The
//! material frame is the reference frame turned by the edge's twist θ about t [bergou2010].

use stiction_math::Vec3;
use stiction_math::elementary::atan2;

use super::strain::Edge;

/// The reference frames of all edges of all rods of a model.
#[derive(Debug, Default, PartialEq)]
pub struct RodFrames {
    /// d₁ of every edge, a unit vector.
    pub director: Vec<Vec3>,
    /// The twist of the reference frames between the edge before and this one [rad], not reduced to
    /// one turn; zero for the first edge of a rod.
    pub twist: Vec<f64>,
    /// The quasi-static twists of edges [rad]; unused for other rods, and possibly shorter than the
    /// list of edges.
    pub angle: Vec<f64>,
    /// Whether such a twist is prescribed.
    pub held: Vec<bool>,
}

impl Clone for RodFrames {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        self.director.clone_from(&source.director);
        self.twist.clone_from(&source.twist);
        self.angle.clone_from(&source.angle);
        self.held.clone_from(&source.held);
    }
}

/// `d`, perpendicular to the unit vector `from`, turned by the smallest rotation that brings `from`
/// to the unit vector `to`: d − (d·b) (a + b) / (1 + a·b).
#[inline]
pub fn transport(d: &Vec3, from: &Vec3, to: &Vec3) -> Vec3 {
    d - (from + to) * (d.dot(to) / (1.0 + from.dot(to)))
}

/// The angle about `to.0` from the director of the edge `from` = (t, d₁), transported along the rod,
/// to that of the edge `to`; the one nearest to `near` of those that differ by whole turns [rad].
#[inline]
pub fn reference_twist(from: (&Vec3, &Vec3), to: (&Vec3, &Vec3), near: f64) -> f64 {
    let u = transport(from.1, from.0, to.0);
    let angle = atan2(to.0.dot(&u.cross(to.1)), u.dot(to.1));
    let turn = std::f64::consts::TAU;
    angle + turn * ((near - angle) / turn).round()
}

/// The twist [rad] of an edge with tangent `t` whose material director is `m`: the one nearest to the
/// twist that `edge` has of those that differ by whole turns.
pub fn reference_angle(edge: &Edge, t: &Vec3, m: &Vec3) -> f64 {
    let d = transport(&edge.d, &edge.t, t);
    let angle = atan2(t.dot(&d.cross(m)), d.dot(m));
    let turn = std::f64::consts::TAU;
    angle + turn * ((edge.theta - angle) / turn).round()
}

/// The unit vector perpendicular to the unit vector `t` that is closest to `wish`.
pub fn perpendicular(t: &Vec3, wish: &Vec3) -> Vec3 {
    let d = wish - t * t.dot(wish);
    if d.norm_squared() > 1e-12 * wish.norm_squared() {
        return d.normalize();
    }
    // The axis that is least along t.
    let axis = t.abs().imin();
    let e = Vec3::from_fn(|i, _| f64::from(u8::from(i == axis)));
    (e - t * t.dot(&e)).normalize()
}
