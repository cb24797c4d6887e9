//! A point on any body, as a few 3-blocks and weights.

use stiction_math::{Mat3, Quat, Vec3};

use crate::state::State;

/// A point that moves with a body: x = Σⱼ bⱼ qⱼ over a few nodes [daviet2020, Assumption 1], or a
/// point of a rigid body, x = c + R p, whose velocity v + ω × (R p) adds a lever arm.
///
/// Contacts, attachments and air drag are all built from stencils, so embedded surfaces and rigid
/// bodies need no special case in them.
#[derive(Clone, Debug, PartialEq)]
pub enum Stencil {
    /// Weighted nodes: pairs of block and weight bⱼ [1].
    Nodes(Vec<(u32, f64)>),
    /// A point fixed in a rigid body.
    Rigid {
        /// The block of the centre of mass; the angular block follows it.
        block: u32,
        /// The rigid body's index in `State::rotations`.
        rigid: u32,
        /// The point in the body's frame, from the centre of mass [m].
        local: Vec3,
    },
    /// A point fixed in the world [m].
    World(Vec3),
}

/// The derivative of a point's velocity with respect to the velocity of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arm {
    /// bⱼ I.
    Weight(f64),
    /// −[ρ]× with ρ the lever from the centre of mass to the point [m]: ω ↦ ω × ρ.
    Lever(Vec3),
}

impl Arm {
    /// The arm as a 3×3 matrix.
    pub fn matrix(&self) -> Mat3 {
        match *self {
            Self::Weight(b) => Mat3::from_diagonal_element(b),
            Self::Lever(p) => -p.cross_matrix(),
        }
    }

    /// Its transpose times a force (or impulse) at the point: the force, or the torque ρ × f.
    pub fn transpose_mul(&self, f: &Vec3) -> Vec3 {
        match self {
            Self::Weight(b) => f * *b,
            Self::Lever(p) => p.cross(f),
        }
    }
}

impl Stencil {
    /// A single node.
    pub fn node(block: u32) -> Self {
        Self::Nodes(vec![(block, 1.0)])
    }

    /// Position of the point [m].
    pub fn position(&self, state: &State) -> Vec3 {
        self.position_at(&state.x, &state.rotations)
    }

    /// Position of the point [m] for block positions `x` and orientations `rotations`.
    pub fn position_at(&self, x: &[Vec3], rotations: &[Quat]) -> Vec3 {
        match self {
            Self::Nodes(nodes) => nodes.iter().map(|&(j, b)| x[j as usize] * b).sum(),
            Self::Rigid {
                block,
                rigid,
                local,
            } => x[*block as usize] + rotations[*rigid as usize] * local,
            Self::World(p) => *p,
        }
    }

    /// The velocity of the point [m/s].
    pub fn velocity(&self, state: &State) -> Vec3 {
        let mut u = Vec3::zeros();
        self.for_each_arm(&state.rotations, |block, arm| {
            u += arm.matrix() * state.v[block as usize];
        });
        u
    }

    /// Calls `f` with every block the point depends on and its arm, at orientations `rotations`.
    pub fn for_each_arm(&self, rotations: &[Quat], mut f: impl FnMut(u32, Arm)) {
        match self {
            Self::Nodes(nodes) => nodes.iter().for_each(|&(j, b)| f(j, Arm::Weight(b))),
            Self::Rigid {
                block,
                rigid,
                local,
            } => {
                f(*block, Arm::Weight(1.0));
                f(*block + 1, Arm::Lever(rotations[*rigid as usize] * local));
            }
            Self::World(_) => {}
        }
    }

    /// The blocks the point depends on.
    pub fn blocks(&self) -> Vec<u32> {
        match self {
            Self::Nodes(nodes) => nodes.iter().map(|n| n.0).collect(),
            Self::Rigid { block, .. } => vec![*block, *block + 1],
            Self::World(_) => Vec::new(),
        }
    }
}
