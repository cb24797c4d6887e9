//! Rigid frames with derivatives.

use stiction_math::{Mat3, Quat, Real, Vector};

use super::{Blocks, swing};

/// A rigid frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FrameOf {
    /// The block of a rigid body's centre of mass (the angular one follows), and its rotation.
    Rigid { block: u32, rigid: u32 },
    /// An obstacle.
    Obstacle(u32),
}

impl FrameOf {
    /// Pose and velocity of a frame.
    pub fn frame<T: Real>(self, blocks: &impl Blocks<T>) -> Framed<T> {
        let matrix = |q: &Quat| q.to_rotation_matrix().into_inner();
        match self {
            FrameOf::Rigid { block, rigid } => Framed {
                origin: blocks.x(block),
                rotation: matrix(&blocks.rotation(rigid)),
                turn: blocks.turn(block + 1),
                velocity: blocks.v(block),
                spin: blocks.v(block + 1),
                chord: blocks.chord(),
            },
            FrameOf::Obstacle(i) => {
                let frame = blocks.obstacle(i);
                Framed {
                    origin: Vector::constant(&frame.pose.translation),
                    rotation: matrix(&frame.pose.rotation),
                    turn: Vector::zero(),
                    velocity: Vector::constant(&frame.velocity),
                    spin: Vector::constant(&frame.spin),
                    chord: blocks.chord(),
                }
            }
        }
    }
}

/// A frame and its motion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framed<T> {
    pub origin: Vector<T>,
    pub rotation: Mat3,
    /// The infinitesimal rotation on top of it.
    pub turn: Vector<T>,
    pub velocity: Vector<T>,
    pub spin: Vector<T>,
    /// Length of the step whose chords are velocities [s]; zero where they are rates.
    pub chord: f64,
}

impl<T: Real> Framed<T> {
    /// Velocity of the point at the end of `arm` from the origin.
    pub fn velocity_at(&self, arm: &Vector<T>) -> Vector<T> {
        self.velocity + swing(&self.spin, arm, self.chord)
    }

    /// R z for a vector of the frame.
    pub fn outward(&self, z: &Vector<T>) -> Vector<T> {
        let z = times(&self.rotation, z);
        z + self.turn.cross(&z)
    }

    /// Rᵀ z for a vector of the world.
    pub fn inward(&self, z: &Vector<T>) -> Vector<T> {
        let z = *z - self.turn.cross(z);
        times(&self.rotation.transpose(), &z)
    }
}

fn times<T: Real>(m: &Mat3, z: &Vector<T>) -> Vector<T> {
    Vector(std::array::from_fn(|i| {
        z.0[0] * m[(i, 0)] + z.0[1] * m[(i, 1)] + z.0[2] * m[(i, 2)]
    }))
}
