//! The evolving state: positions, velocities and orientations.

use stiction_math::{Quat, Vec3};

use crate::rod::RodFrames;

/// The evolving state of a simulation. The model is constant during a step.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// Simulated time [s].
    pub time: f64,
    /// Number of steps taken.
    pub step: u64,
    /// One per 3-block: a node's position [m], a rigid body's centre of mass [m], the twists of three
    /// edges of a rod times its radius [m]; zero for the angular block of a rigid body, whose
    /// orientation is in `rotations`.
    pub x: Vec<Vec3>,
    /// One per 3-block: a node's velocity [m/s], a rigid body's linear [m/s] and angular [rad/s]
    /// velocity, all in the world frame.
    pub v: Vec<Vec3>,
    /// The orientation of each rigid body, in the order of the model's rigid bodies.
    pub rotations: Vec<Quat>,
    /// The reference frames of the edges of rods, in the order of the model's rods.
    pub frames: RodFrames,
    /// Columns of bodies of open kinds in addition to their blocks, one set per such body.
    pub columns: Vec<Columns>,
}

/// A state that is not one of the model: it has another number of something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state has {got} {what}, the model {expected}")]
pub struct StateMisfit {
    /// Positions, velocities, orientations or frames of rods.
    pub what: &'static str,
    /// The number that the model has.
    pub expected: usize,
    /// The number that the state has.
    pub got: usize,
}

/// A named column of numbers that a body keeps from step to step, such as deformation gradients of
/// particles, with a number of values per particle that its kind defines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// The name, unique within the body.
    pub name: String,
    /// The numbers.
    pub values: Vec<f64>,
}

/// The columns of one body.
#[derive(Debug, Default, PartialEq)]
pub struct Columns {
    list: Vec<Column>,
}

impl Columns {
    /// The columns, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.list.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The numbers of the column called `name`; empty if there is none.
    pub fn get(&self, name: &str) -> &[f64] {
        let found = self.list.iter().find(|c| c.name == name);
        found.map_or(&[], |c| &c.values)
    }

    /// The numbers of the column called `name`, which is added if there is none.
    pub fn get_mut(&mut self, name: &str) -> &mut Vec<f64> {
        let found = self.list.iter().position(|c| c.name == name);
        let at = found.unwrap_or_else(|| {
            self.list.push(Column {
                name: name.to_owned(),
                values: Vec::new(),
            });
            self.list.len() - 1
        });
        &mut self.list[at].values
    }
}

impl Clone for Columns {
    fn clone(&self) -> Self {
        Self {
            list: self.list.clone(),
        }
    }

    /// Reuses the memory of `self`.
    fn clone_from(&mut self, source: &Self) {
        self.list.truncate(source.list.len());
        for (own, column) in self.list.iter_mut().zip(&source.list) {
            own.name.clone_from(&column.name);
            own.values.clone_from(&column.values);
        }
        let have = self.list.len();
        self.list.extend_from_slice(&source.list[have..]);
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the memory of `self`, because the step copies the state every time.
    fn clone_from(&mut self, source: &Self) {
        self.time = source.time;
        self.step = source.step;
        self.x.clone_from(&source.x);
        self.v.clone_from(&source.v);
        self.rotations.clone_from(&source.rotations);
        self.frames.clone_from(&source.frames);
        self.columns.clone_from(&source.columns);
    }
}

impl State {
    /// The first block with a value that is not finite, if any.
    pub fn first_non_finite(&self) -> Option<usize> {
        let bad = |p: &Vec3| !p.iter().all(|c| c.is_finite());
        (0..self.x.len()).find(|&i| bad(&self.x[i]) || bad(&self.v[i]))
    }
}
