//! The interface of methods.
//!
//! The step is the same for all of them: [`Simulation::step`](crate::Simulation::step) goes through
//! the stages, and a method supplies [`build`](Method::build), [`predict`](Method::predict),
//! [`detect`](Method::detect) and [`solve`](Method::solve). [`SolvedStep`] is the input of the certificate,
//! [`Persistent`] the data that a method carries from step to step.

use std::borrow::Cow;

use stiction_bodies::{Model, State, adapt::Adaptation};
use stiction_contact::{
    Certificate, CertifyConfig, ContactSet, FrictionProblem, ProblemError, certify,
    detect::Detector, judge,
};
use stiction_math::{Cancel, Mat3, Vec3};

use crate::{
    capabilities::Unsupported,
    dynamics::Dynamics,
    error::SolveError,
    stages::{Stage, Stages},
};

/// A method to find the velocity at the end of a substep.
///
/// The stages are called in the order of the methods below. Each works on `v`: stage begin leaves the
/// first guess there, with prescribed blocks as they are prescribed, and `solve` the answer [m/s].
/// A method changes nothing that [`Persistent::save`] would show before [`Persistent::commit`].
pub trait Method: SolvedStep + Persistent + Send {
    /// The name used in scenes and on the command line.
    fn name(&self) -> &'static str;

    /// Whether the method supports the model. Called once, when the scene is loaded.
    fn needs(&self, model: &Model) -> Result<(), Unsupported>;

    /// Stage build: the equations of the substep.
    fn build(&mut self, step: &mut StepContext<'_>, v: &mut [Vec3]) -> Result<(), SolveError>;

    /// Stage predict: the motion without contact.
    fn predict(&mut self, _step: &mut StepContext<'_>, _v: &[Vec3]) -> Result<(), SolveError> {
        Ok(())
    }

    /// Stage detect: contacts along the predicted motion.
    fn detect(&mut self, _step: &mut StepContext<'_>, _v: &[Vec3]) -> Result<(), SolveError> {
        Ok(())
    }

    /// Stage solve: velocities and contact impulses at the end of the substep.
    fn solve(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError>;
}

/// Result of the last solve of a method, for the certificate and for reports.
pub trait SolvedStep {
    /// The momentum residual at the velocities `v` [N·s], one vector per block, zero where motion is
    /// prescribed: what is left of Newton's second law by the nonlinear force models and the rule of
    /// the integrator, with the contact impulses that were found.
    fn momentum_residual(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
    ) -> Result<Cow<'_, [Vec3]>, SolveError>;

    /// The mean velocity over the step where that is not the velocity at its end, as with
    /// integrators of higher order: positions advance by it [m/s].
    fn mean_velocity(&self) -> Option<&[Vec3]> {
        None
    }

    /// The contacts and their impulses. None for a method without contact, and before the first step.
    fn contacts(&self) -> Option<SolvedContacts<'_>> {
        None
    }

    /// The detector of the model's colliders, and contacts that say on which sides of sheets bodies
    /// are. None without contact.
    fn detector(&mut self) -> Option<(&mut Detector, &ContactSet)> {
        None
    }

    /// The memory it holds, as far as it is counted.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// Lets the method keep the starting points of its solves, for [`SolvedContacts::start`].
    fn keep_start(&mut self) {}
}

/// Data that a method carries from step to step.
pub trait Persistent {
    /// Stage advance: the memory becomes that of the end of the substep.
    fn commit(&mut self) {}

    /// The memory for a checkpoint, so that a resumed run goes on bit for bit.
    fn save(&self) -> Memory {
        Memory::default()
    }

    /// Restores the columns of `save`.
    fn recall(&mut self, _memory: Memory) {}

    /// Whether a substep is solved in the same way wherever the state, this memory and the model are the same, at any
    /// time: a substep that changes none of them is then not computed again.
    fn repeats(&self) -> bool {
        false
    }

    /// Follows a change of topology from the state `before` to the state `after`: transfers what is
    /// carried from step to step. What was made for a model is dropped when its generation differs.
    /// On error nothing is changed.
    fn adapt(
        &mut self,
        _change: &Adaptation<'_>,
        _before: &State,
        _after: &State,
    ) -> Result<(), SolveError> {
        Ok(())
    }
}

/// Contacts of a substep and their impulses.
#[derive(Clone, Copy, Debug)]
pub struct SolvedContacts<'a> {
    /// The contacts.
    pub contacts: &'a ContactSet,
    /// The length of the substep [s].
    pub h: f64,
    /// Velocities of the blocks, zero where prescribed [m/s].
    pub v: &'a [Vec3],
    /// Impulses at the contacts [N·s].
    pub r: &'a [Vec3],
    /// The system that they belong to.
    pub system: System<'a>,
    /// `eliminated` of the certificate [m/s]; none where the method solves no friction problem.
    pub eliminated: Option<f64>,
    /// Velocities and impulses that the solver started from, if it was set to keep them; contacts
    /// found during the solve have none.
    pub start: Option<(&'a [Vec3], &'a [Vec3])>,
}

/// The linear system behind solved contacts.
#[derive(Clone, Copy, Debug)]
pub enum System<'a> {
    /// The last friction problem of the substep.
    Problem(&'a FrictionProblem),
    /// Diagonal blocks of a Jacobian [kg], where the method solves no friction problem.
    Diagonal(&'a [Mat3]),
}

impl<'a> SolvedContacts<'a> {
    /// The friction problem, if the method solved one.
    pub fn problem(&self) -> Option<&'a FrictionProblem> {
        match self.system {
            System::Problem(problem) => Some(problem),
            System::Diagonal(_) => None,
        }
    }

    /// The fields of the certificate that follow from contacts.
    pub fn judge(&self) -> Result<Certificate, ProblemError> {
        let config = CertifyConfig::default();
        let judged = match self.system {
            System::Problem(problem) => certify(problem, self.v, self.r, &config),
            System::Diagonal(blocks) => {
                let inverse = |j: usize| {
                    let inverse = blocks[j].try_inverse();
                    inverse.unwrap_or(Mat3::from_element(f64::NAN))
                };
                judge(self.contacts, self.h, self.v, self.r, inverse, &config)
            }
        };
        Ok(Certificate {
            eliminated: self.eliminated,
            ..judged?
        })
    }
}

/// Memory that a method held at the end of its last solve [bytes].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Matrix, factor and columns of the linear systems.
    pub system: usize,
    /// Positions, topology, hierarchies and candidate pairs of collision detection.
    pub detection: usize,
    /// Contacts and what is solved for them.
    pub contacts: usize,
}

/// Data that a method carries from step to step, as plain columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Named columns of vectors.
    pub columns: Vec<(String, Vec<Vec3>)>,
    /// Keys of the contacts of the last step, two numbers each.
    pub keys: Vec<u64>,
}

impl Memory {
    /// The column of a name; empty if there is none.
    pub fn column(&self, name: &str) -> Vec<Vec3> {
        let found = self.columns.iter().find(|c| c.0 == name);
        found.map(|c| c.1.clone()).unwrap_or_default()
    }
}

/// Data of a substep for a method. The model and the state are not changed by it.
pub struct StepContext<'a> {
    /// The constant model.
    pub model: &'a Model,
    /// The state at the start of the substep.
    pub state: &'a State,
    /// The length of the substep [s].
    pub h: f64,
    /// The time at its end [s].
    pub end: f64,
    /// Prescribed motion, and the potential of backward Euler.
    pub dynamics: &'a mut Dynamics,
    /// Timers.
    pub stages: &'a mut Stages,
    /// Whether surfaces may pass: the failsafe removes what then crosses, and no smaller substep follows.
    pub may_pass: bool,
    /// Ends the step when it is requested; long loops look at it.
    pub cancel: &'a Cancel,
}

impl<'a> StepContext<'a> {
    /// Runs `work` and books its time to `stage`.
    pub fn time<T>(&mut self, stage: Stage, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.stages.switch(Some(stage));
        let result = work(self);
        self.stages.switch(outer);
        result
    }
}

/// Report of a solve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Outer iterations; factorisations of a polishing solver count, too.
    pub iterations: usize,
    /// Iterations of inner linear solvers, all together.
    pub linear_iterations: usize,
    /// Contacts of the last linear problem.
    pub contacts: usize,
    /// The last change of the velocity [m/s].
    pub change: f64,
    /// Whether the method met its own stopping criterion. A fixed count of iterations always does.
    pub converged: bool,
}
