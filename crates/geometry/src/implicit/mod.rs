//! Smooth potentials of surfaces: what is outside, how far, and in which direction.
//!
//! [`SmoothSolid`] is the signed distance of an analytic shape, with edges that can be
//! rounded. [`Patch`] is the potential of a deforming triangle mesh near one point and
//! [`RigidSurface`] that of a mesh in its own frame: planes of faces, blended by moving least
//! squares with local support [larionov2021]. Everything is written over
//! [`Real`](stiction_math::Real), so that dual numbers give second derivatives contracted with any
//! direction. There are no forces here.
//!
//! # The potential of a mesh
//! Every face has one sample, or several if it is large: a point cᵢ on it, its unit normal nᵢ, its
//! share of the area Aᵢ and a radius Rᵢ. At the query point q
//!
//! ```text
//! ψ(q) = Σ wᵢ nᵢ·(q − cᵢ) / Σ wᵢ,    wᵢ = K(‖q − cᵢ‖²/Rᵢ²) Aᵢ/Rᵢ².
//! ```
//!
//! Planes are reproduced exactly, with unit gradient; a mesh of a smooth surface is approached with
//! the square of the edge length. ψ is twice continuously differentiable in q and in all vertices,
//! and invariant under rigid motions of all of them together.
//!
//! If no sample is in reach there is no value. Outside a closed surface, ψ is about Rᵢ there, so that
//! a caller that uses values below some δ ≪ Rᵢ sees no jump. Inside, a point deeper than about Rᵢ
//! loses its value: that is the deepest overlap that the potential can tell. At the border of an
//! open sheet the planes would go on sideways up to the support's end; there ψ fades into the value
//! [`Blend::far`] as the weights vanish, from about a third of an edge beyond the border.
//!
//! # The distance to a coarse mesh
//! Blended planes reach as far as faces are large: the plane of a face extends beyond it over its
//! radius. For a mesh that bends by much from one large face to the next, a box of twelve triangles
//! above all, samples are whole faces instead ([`facets`]): ψ is the signed distance to the closest
//! one, whatever its size, and a point farther from the mesh than some δ has ψ > δ. [`creases`] tells how
//! far blended planes would be wrong. The distance has a continuous gradient outside of convex meshes; in front of a
//! concave edge the gradient jumps from one face to the other. Around the border of a sheet it goes on continuously from one side to the other. Where the edge is sharp, the two belong to different
//! [`pieces`] of the mesh, each with a distance of its own.
//!
//! # The end of blended planes
//! A contact may act closer than some δ alone. [`End`] makes the blended value and the distance to the faces one gap that is
//! never less than δ where the distance is not, and smooth: the planes where they are farther away, the distance elsewhere.
//!
//! # Deviations from the paper
//! Coarse meshes have distances instead of blended planes, as above. Weights contain the area of the face, which makes faces without area harmless; the paper weights
//! samples alike. The kernel is rational and of finite support instead of a shifted inverse power.
//! Large faces can have several samples.

mod end;
mod facet;
mod kernel;
mod patch;
mod pieces;
mod rigid_surface;
mod sample;
mod solid;
mod tangent;
#[cfg(test)]
mod tests;

pub use end::End;
pub use facet::{Closest, FaceDistance, farthest_closest};
pub use patch::{Patch, closest};
pub use pieces::pieces;
pub use rigid_surface::RigidSurface;
pub use sample::{
    Creases, SampleConfig, SampleForm, SurfaceSample, borders, creases, facets, samples,
};
pub use solid::{Jet, SmoothSolid};
pub use tangent::{Blending, TANGENT_LANES, Tangent, TangentForce};

/// Settings of the blending of samples to one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blend {
    /// 1 if outside is where the normals point; −1 for the other side of an open sheet.
    pub side: f64,
    /// The value into which the potential of an open sheet fades where its samples end [m]; `None`
    /// for a closed surface.
    pub far: Option<f64>,
    /// The distance to the faces at which a potential of blended planes ends [m] ([`End`]); `None` where it need not.
    /// Only [`RigidSurface`] reads it: a [`Patch`] has its planes alone.
    pub end: Option<f64>,
}

impl Default for Blend {
    /// A closed surface.
    fn default() -> Self {
        Self {
            side: 1.0,
            far: None,
            end: None,
        }
    }
}
