//! Bodies whose degrees of freedom are affine frames, blended linearly [faure2011]
//! [daviet2020, Sect. 7.4].
//!
//! A frame is an affine map of the rest shape. It is kept as four **nodes**, the images of the
//! corners of a tetrahedron, so that it moves like four nodes of a mesh; a point X at rest has
//! affine coordinates λ₀…λ₃ in it, Σλ = 1. With weights Wᵢ(X) that sum to one over the frames,
//!
//! ```text
//! x(X) = Σᵢ Wᵢ(X) Σₐ λᵢₐ(X) qᵢₐ,     F(X) = Σᵢₐ qᵢₐ ⊗ (λᵢₐ ∇Wᵢ + Wᵢ ∇λᵢₐ):
//! ```
//!
//! every point is an ordinary weighted sum of nodes, and elasticity is a sum over samples of
//! [`Blended`] cells.
//!
//! **Weights** are linear between neighbouring frames along a spine, and bilinear on a surface with
//! several frames across. Along a spine a frame bends the section by θᵢ and its origin has a slope
//! of its own, so that linear weights make θ piecewise linear and the deflection piecewise
//! quadratic: the shear θ − u′ can vanish everywhere, and nothing locks. Smoother weights of the
//! same support cannot bend evenly: with smoothstep weights a constant curvature costs 6/5 of its
//! energy, however many frames there are. Kinks between cells are as large as the shear is, that
//! is, hardly there. Weights that reproduce a line leave the slopes' mean without effect; only mass
//! holds it, and the mass below moves it rightly.
//!
//! **Mass** is lumped, and yet right for every affine motion. Let mᵢ = ∫ρWᵢ, with the centre cᵢ and
//! the central second moment Sᵢ of ρWᵢ. The nodes lie at cᵢ + Σₖ ±√(Sᵢₖ/mᵢ) eₖ, eₖ the principal
//! axes of Sᵢ with values Sᵢₖ and the signs those of a regular tetrahedron in a cube; each has mᵢ/4.
//! Then mass, centre and second moment of the nodes are those of ρWᵢ, and summed over the frames
//! those of the body: total mass, centre of mass and inertia are exact, so is the momentum of any
//! affine motion. (∫ρ λₐλ_b Wᵢ is diagonal in this basis, so that nothing is lost within a frame.)
//!
//! **Samples** span cross-sections: four points of a disc or rectangle, or two Gauss points through
//! the thickness of a surface. Sections stay affine, so that they cannot narrow on one side and
//! widen on the other as a bent beam's do. The part of λ that would resist this is therefore taken
//! at the middle of the section alone: samples have λ′ = 2μν for a section of one frame, which
//! makes bending cost E, and λ′ = 2μν/(1−ν), plane stress, where several frames across let the
//! section curve; the middle has λ − λ′. Stretching sees λ either way.
//!
//! **Deviations from the papers.** [martin2010] integrates by second-order expansions at elastons and
//! [faure2011] finds weights by solving on voxels; here spines and their surfaces give both in closed
//! form. The split of λ is ours.

mod blended;
mod skeleton;

pub use blended::{Blended, QuadraturePoint};
pub use skeleton::{FrameError, MOST_FRAMES, Skeleton, SkinPoint};
