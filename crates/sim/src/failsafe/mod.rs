//! Stage separate: surfaces that cross at the end of a substep are moved apart [li2018, Sect. 3].
//!
//! A method may leave crossings: its solver runs out of iterations, it does not refuse steps in which surfaces pass
//! (`safe = false`), or contact cannot be met at all. The failsafe counts pairs of triangles that cross at the end of
//! the substep, by exact tests. If there are any, positions are changed by [`resolve::separate`]: vertices
//! inside closed surfaces go back through the nearest face, parts of sheets that another sheet cuts off
//! go back through it, and the contours of all other crossings are made shorter [volino2006]. What is far from a
//! crossing stays, and so do rigid bodies, prescribed nodes and all velocities: no kinetic energy is added. The
//! certificate's overlap is that of the changed positions.
//!
//! What still crosses then is left to impact zones, if they are configured ([`impact`]): they begin from the motion of the
//! solver, not from the result of contour minimisation.
//!
//! **Deviations from [volino2006]**
//! - Nodes move by the least displacement in the norm of the step's own matrix that takes the ends of the
//!   contour along its gradient, and not by a fixed distance each.
//! - Where a side is known (closed surfaces, sheets of two bodies that a crossing divides), it is used, because
//!   shortening a contour may as well pull a sheet through.

mod impact;

use stiction_contact::detect::{DetectStep, Placement};
use stiction_math::Vec3;

use crate::{
    colliders::{ContactRules, place},
    error::SolveError,
    method::{Method, StepContext},
    resolve,
};

/// The failsafe of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Failsafe {
    /// Contact thickness and the materials of the model.
    pub rules: ContactRules,
    /// Rounds of contour minimisation.
    pub rounds: usize,
    /// Whether impact zones follow where contour minimisation leaves crossings [harmon2008].
    pub impact_zones: bool,
}

impl Failsafe {
    /// Rounds by default: each takes a contour back by about a thickness.
    pub const ROUNDS: usize = 40;

    /// A failsafe with the default number of rounds.
    pub fn new(rules: ContactRules) -> Self {
        Self {
            rules,
            rounds: Self::ROUNDS,
            impact_zones: false,
        }
    }

    /// Stage separate, for a solved substep that ends with the velocities `v` [m/s]: the displacement is left in
    /// `step.dynamics`.
    pub(crate) fn run(
        &self,
        step: &mut StepContext<'_>,
        method: &mut dyn Method,
        v: &[Vec3],
        placements: &mut Vec<Placement<'static>>,
    ) -> Result<Separation, SolveError> {
        let before = crossings(step, method, v, placements)?;
        if before == 0 {
            return Ok(Separation::default());
        }
        let (x, rotations) = step.dynamics.end();
        let mut end = step.state.clone();
        end.x.copy_from_slice(x);
        end.rotations.copy_from_slice(rotations);
        end.time = step.end;
        for body in &step.model.bodies {
            if let Some(rods) = body.kind.as_rods() {
                let range = body.blocks.clone();
                let from = &step.state.x[range.clone()];
                rods.carry(from, &end.x[range], &mut end.frames);
            }
        }
        let config = resolve::Config {
            rounds: self.rounds,
            h: step.h,
            ..resolve::Config::default()
        };
        let done = resolve::separate(step.model, &mut end, &self.rules, &config, step.cancel)?;
        step.dynamics.correct(&end.x);
        let mut report = Separation {
            before,
            after: crossings(step, method, v, placements)?,
            rounds: done.rounds,
            zones: 0,
            moved: done.moved,
        };
        if report.after > 0 && self.impact_zones {
            let mean = method.mean_velocity().unwrap_or(v).to_vec();
            step.dynamics.correct_nothing();
            report.zones = impact::project(step, method, self.rules.thickness, &mean)?;
            let after = crossings(step, method, v, placements)?;
            if after < report.after {
                (report.after, report.moved) = (after, step.dynamics.corrected());
            } else {
                // A substep that begins with crossings has no motion without passes.
                step.dynamics.correct_nothing();
                step.dynamics.finish(step.model, step.state, &mean);
                step.dynamics.correct(&end.x);
            }
        }
        Ok(report)
    }
}

/// Work of the failsafe in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Separation {
    /// Pairs of triangles that crossed after the solve, and triangles that reached into solids.
    pub before: usize,
    /// Those that still cross.
    pub after: usize,
    /// Rounds of contour minimisation.
    pub rounds: usize,
    /// Projections of impact zones.
    pub zones: usize,
    /// The largest displacement of a node [m].
    pub moved: f64,
}

impl Separation {
    /// That of this substep and another one of the same step.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        Self {
            before: self.before + other.before,
            after: self.after + other.after,
            rounds: self.rounds + other.rounds,
            zones: self.zones + other.zones,
            moved: self.moved.max(other.moved),
        }
    }
}

/// Number of crossings at the end of the substep; it leaves the positions there in `step.dynamics`.
fn crossings(
    step: &mut StepContext<'_>,
    method: &mut dyn Method,
    v: &[Vec3],
    placements: &mut Vec<Placement<'static>>,
) -> Result<usize, SolveError> {
    let mean = method.mean_velocity().unwrap_or(v);
    step.dynamics.finish(step.model, step.state, mean);
    let Some((detector, previous)) = method.detector() else {
        return Ok(0);
    };
    place(step.model, step.end, step.end, placements);
    let (x, rotations) = step.dynamics.end();
    let now = DetectStep {
        h: step.h,
        x,
        rotations,
        v,
        start: v,
        fixed: step.dynamics.fixed(),
        obstacles: placements,
        previous,
        held: &[],
    };
    Ok(detector.intersections(&now)?.len())
}
