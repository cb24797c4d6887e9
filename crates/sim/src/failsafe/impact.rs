//! Impact zones: the motion of a substep projected to one in which surfaces do not pass [harmon2008].
//!
//! Pairs that would pass along the straight motion from the start of the substep are found by continuous detection, and
//! the velocities are changed as little as possible so that none of them approaches beyond its thickness:
//!
//! ```text
//! min ½ (w − v)ᵀ A (w − v)     with     n·(B w + k) ≥ 0     for all pairs found so far,
//! ```
//!
//! without friction. The new motion may make other pairs pass, which join the zone, until there are none. Where contacts,
//! which are linear, do not keep a pair apart, all nodes at last go only as far along their motion as nothing passes.
//!
//! **Deviations from the paper**: inequalities in place of equalities, so that surfaces may part; the norm is that of
//! the step's own matrix A, which moves neighbours along, and not that of the masses alone; contacts of the step
//! are in the zone from the beginning.

use stiction_contact::{
    ContactSet, FrictionProblem,
    detect::ContactSource,
    solver::{ContactSolver, NoNewContacts, Solution, Task, TaskStart},
};
use stiction_math::{Cancel, LinearOperator, Vec3};
use stiction_solvers::admm;

use crate::{
    dynamics::Dynamics,
    error::SolveError,
    linearised::{CLEARANCE, safe_fraction},
    method::{Method, StepContext},
};

/// Projections of one substep.
const ROUNDS: usize = 20;

/// Shortenings of the motion where contacts do not suffice.
const SHORTENINGS: usize = 8;

/// Fraction of the safe part of a motion that is taken, so that surfaces do not touch at its end.
const TAKEN: f64 = 0.9;

/// Leaves in `step.dynamics` a substep that ends where a motion without passes leads, as far as one is found, for a
/// substep with the mean velocities `v` [m/s]. Rigid bodies keep their motion. Returns the number of projections.
pub(super) fn project(
    step: &mut StepContext<'_>,
    method: &mut dyn Method,
    thickness: f64,
    v: &[Vec3],
) -> Result<usize, SolveError> {
    let listed = method.contacts().map(|c| c.contacts.clone());
    let Some((detector, _)) = method.detector() else {
        return Ok(0);
    };
    let mut zone = Zone::new(step, listed.unwrap_or_default(), v)?;
    let mut w = v.to_vec();
    let clearance = CLEARANCE * thickness;
    let mut rounds = 0;
    while rounds < ROUNDS && safe_fraction(detector, &w, clearance)? < 1.0 {
        if detector.more_contacts(&w, &mut zone.listed) == 0 && rounds > 0 {
            break;
        }
        zone.solve(v, &mut w, step.cancel)?;
        rounds += 1;
    }
    for _ in 0..SHORTENINGS {
        let fraction = safe_fraction(detector, &w, clearance)?;
        if fraction >= 1.0 {
            break;
        }
        for (i, w) in w.iter_mut().enumerate() {
            if zone.free(i) {
                *w *= TAKEN * fraction;
            }
        }
    }
    let ends = step.state.x.iter().zip(&w).map(|(x, w)| x + w * step.h);
    let ends: Vec<Vec3> = ends.collect();
    step.dynamics.finish(step.model, step.state, v);
    let (x, _) = step.dynamics.end();
    let kept = |(i, end): (usize, Vec3)| match zone.free(i) {
        true => end,
        false => x[i],
    };
    let ends: Vec<Vec3> = ends.into_iter().enumerate().map(kept).collect();
    step.dynamics.correct(&ends);
    Ok(rounds)
}

/// Velocities that may change, and the contacts that restrict them.
struct Zone {
    /// As detected.
    listed: ContactSet,
    /// Which blocks belong to rigid bodies.
    rigid: Vec<bool>,
    problem: FrictionProblem,
    solver: admm::Admm,
}

impl Zone {
    fn new(step: &mut StepContext<'_>, listed: ContactSet, v: &[Vec3]) -> Result<Self, SolveError> {
        let (model, n) = (step.model, v.len());
        let mut rigid = vec![false; n];
        for (body, _) in model.rigids() {
            rigid[body.blocks.clone()].fill(true);
        }
        let mut problem =
            FrictionProblem::new(Dynamics::matrix(model), vec![Vec3::zeros(); n], step.h);
        let bodies = model.bodies.iter();
        problem.positions = bodies.clone().flat_map(|b| b.block_positions()).collect();
        problem.mass = bodies.flat_map(|b| b.block_masses()).collect();
        let dynamics = &mut *step.dynamics;
        dynamics.linearise(model, step.state, v, &mut problem.f, &mut problem.a)?;
        let fixed = dynamics.fixed().iter().zip(&rigid);
        problem.fixed = fixed.map(|(fixed, rigid)| *fixed || *rigid).collect();
        problem.a.eliminate(&problem.fixed);
        let own = |i: usize| match problem.fixed[i] {
            true => Vec3::zeros(),
            false => v[i],
        };
        let own: Vec<Vec3> = (0..n).map(own).collect();
        problem.a.apply(&own, &mut problem.f);
        for i in 0..n {
            if problem.fixed[i] {
                problem.f[i] = Vec3::zeros();
            }
        }
        let solver = admm::Admm::new(admm::Config {
            max_iterations: 500,
            contacts_every: 0,
            start: admm::Start::Unconstrained,
            velocity: admm::Velocity::Feasible,
            ..admm::Config::default()
        });
        Ok(Self {
            listed,
            rigid,
            problem,
            solver,
        })
    }

    fn free(&self, block: usize) -> bool {
        !self.problem.fixed[block]
    }

    /// The velocities nearest to `v` that satisfy the contacts, left in `w`.
    fn solve(&mut self, v: &[Vec3], w: &mut [Vec3], cancel: &Cancel) -> Result<(), SolveError> {
        let contacts = &mut self.problem.contacts;
        contacts.clear();
        for c in 0..self.listed.len() {
            let mut contact = self.listed.contact(c);
            (contact.mu, contact.cohesion, contact.compliance) = (0.0, 0.0, 0.0);
            let (held, free): (Vec<_>, Vec<_>) = self
                .listed
                .entries(c)
                .partition(|e| self.rigid[e.node as usize]);
            // Rigid bodies keep their velocities.
            contact.k += held
                .iter()
                .map(|e| e.mul(&v[e.node as usize]))
                .sum::<Vec3>();
            if !free.is_empty() {
                contacts.push_entries(free, contact);
            }
        }
        let mut found = Solution::default();
        let mut task = Task {
            problem: &mut self.problem,
            source: &mut NoNewContacts,
            start: TaskStart::Configured,
            polish: false,
            target: None,
            local: None,
            cancel,
            observer: &mut |_| {},
        };
        self.solver.solve(&mut task, &mut found)?;
        for (i, w) in w.iter_mut().enumerate() {
            if !self.problem.fixed[i] {
                *w = found.v[i];
            }
        }
        Ok(())
    }
}
