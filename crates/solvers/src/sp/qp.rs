//! One quadratic program by an active set.

use stiction_contact::{
    FrictionProblem,
    solver::{Iteration, Solution, SolverBytes, SolverReport},
};
use stiction_math::{Cancel, Mat3, Vec3, reduce};

use super::{ActiveSetRule, Config, Error, FrictionSet};
use crate::{
    facets::{FrictionPolygon, PolygonPlace},
    kkt::{ActiveRows, KktIteration, for_contacts, switching_interval},
};

/// Which impulses are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Normal,
    Friction,
}

/// Inputs of a program's solve.
pub(super) struct ProgramTask<'a> {
    pub problem: &'a FrictionProblem,
    pub config: &'a Config,
    pub cancel: &'a Cancel,
    pub observer: &'a mut dyn FnMut(&Iteration),
    /// Bound on the residual at blocks and active rows [m/s].
    pub accuracy: f64,
}

/// Changes of the whole active set before one contact changes at a time.
const TOGETHER: usize = 20;
/// Most changes of the active set of a program.
const CHANGES: usize = 400;
/// Growth of the residual since the last start that counts as a breakdown.
const GROWTH: f64 = 1e6;
/// Iterations within which the residual must halve; that of contradictory equations does not.
const STALL: usize = 400;

/// ρ of r − ρ u as a fraction of a contact's mass. With a small one the rules are those of active sets: a row is left
/// when its multiplier changes sign, whatever its velocity was before, and forces do not cross over to the other side.
const CLASSICAL: f64 = 1e-3;

/// Columns of a solve.
#[derive(Default)]
pub(super) struct Workspace {
    pub iteration: KktIteration,
    /// None for discs.
    polygons: Vec<FrictionPolygon>,
    /// Lengths of angular velocities [m].
    radii: Vec<f64>,
    /// Masses of contacts [kg].
    rho: Vec<f64>,
    proposals: Vec<(ActiveRows, Vec3, f64)>,
}

impl Workspace {
    pub fn begin(
        &mut self,
        problem: &FrictionProblem,
        start: &Solution,
        config: &Config,
    ) -> Result<(), Error> {
        let set = &problem.contacts;
        let (krylov, form) = (config.krylov, config.preconditioner);
        self.iteration.begin(problem, start, krylov, form)?;
        self.polygons = match config.friction {
            FrictionSet::Disc => Vec::new(),
            FrictionSet::Polygon(sides) => {
                let polygon = |n: &Vec3| FrictionPolygon::fixed(n, sides);
                set.normal.iter().map(polygon).collect()
            }
        };
        self.radii = problem.radii();
        self.rho = (0..set.len())
            .map(|c| 1.0 / set.scale(c, &problem.mass))
            .collect();
        let none = (ActiveRows::default(), Vec3::zeros(), 0.0);
        self.proposals = vec![none; set.len()];
        Ok(())
    }

    /// The largest relative velocity of a contact at the start [m/s].
    pub fn speed(&self, problem: &FrictionProblem) -> f64 {
        let (set, y) = (&problem.contacts, &self.iteration.y);
        let speed = |c: usize| set.relative_velocity(c, &y.v, &y.c).norm();
        reduce::max_ordered(set.len(), speed).max(0.0)
    }

    /// Solves a program from the present velocities and impulses.
    pub fn solve(
        &mut self,
        program: Program,
        task: &mut ProgramTask<'_>,
        report: &mut SolverReport,
    ) -> Result<(), Error> {
        let (problem, config) = (task.problem, task.config);
        self.propose(program, problem);
        self.accept(problem, 0.0, false);
        self.iteration.restart(problem);
        let mut changes = 0;
        loop {
            Error::unless(task.cancel)?;
            let solved = self.solve_equations(task, report)?;
            if report.iterations >= config.max_iterations || changes == CHANGES && solved {
                break;
            }
            self.propose(program, problem);
            let switched = self.accept(problem, task.accuracy, changes >= TOGETHER);
            if !switched && solved {
                break;
            }
            if switched {
                changes += usize::from(solved && changes < CHANGES);
                self.iteration.restart(problem);
            }
        }
        Ok(())
    }

    /// Iterates on the equations of the active rows. Returns whether they are solved as well as they can be;
    /// otherwise the active set is due.
    fn solve_equations(
        &mut self,
        task: &mut ProgramTask<'_>,
        report: &mut SolverReport,
    ) -> Result<bool, Error> {
        let iteration = &mut self.iteration;
        let (mut mark, mut since) = (f64::INFINITY, 0);
        loop {
            let missing = iteration.missing(&self.radii);
            if missing <= task.accuracy || report.iterations >= task.config.max_iterations {
                return Ok(true);
            }
            (mark, since) = match missing < 0.5 * mark {
                true => (missing, 0),
                false => (mark, since + 1),
            };
            if since == STALL {
                return Ok(true);
            }
            let step = iteration.step(task.problem);
            report.iterations += 1;
            let change = step.unwrap_or(0.0).abs() * iteration.direction();
            (task.observer)(&Iteration {
                number: report.iterations,
                change,
                restarted: iteration.since == 1,
                projection: 0.0,
            });
            if !change.is_finite() || !iteration.now.is_finite() {
                return Err(Error::Overflow {
                    iterations: report.iterations,
                    change,
                });
            }
            if step.is_none() || iteration.now > GROWTH * iteration.first {
                // The gradient of the residual vanishes: a least-squares answer [verschoor2019, Sect. 4.3].
                if iteration.since == 1 {
                    return Ok(true);
                }
                iteration.refresh(task.problem);
                iteration.restart(task.problem);
            }
            let due = || switching_interval(missing / task.accuracy);
            if task.config.switching == ActiveSetRule::Intervals
                && iteration.since.is_multiple_of(due())
            {
                return Ok(false);
            }
        }
    }

    /// Proposes rows and forces by the signs of r − ρ u.
    fn propose(&mut self, program: Program, problem: &FrictionProblem) {
        let set = &problem.contacts;
        let Self {
            iteration: KktIteration { y, rows, .. },
            polygons,
            rho,
            proposals,
            ..
        } = self;
        for_contacts(proposals, |c, proposal| {
            let n = set.normal[c];
            let at = ContactNow {
                n,
                u: set.relative_velocity(c, &y.v, &y.c),
                force: y.c[c] + n * set.cohesion[c],
                rho: CLASSICAL * rho[c],
            };
            let (row, next) = match program {
                Program::Normal => at.normal(set.compliance[c]),
                Program::Friction => at.friction(set.mu[c], polygons.get(c)),
            };
            let step = (next - at.force) / rho[c];
            // Rows that were not active before show their violation now.
            let before = rows[c].active * at.u;
            let grown = (row.active * at.u).norm_squared() - before.norm_squared();
            let size = match row == rows[c] && next == at.force {
                true => 0.0,
                false => step.norm_squared().max(grown).sqrt(),
            };
            *proposal = (row, next, size);
        });
    }

    /// Takes proposals that change more than `least` [m/s], or only the largest. Returns whether any was taken.
    fn accept(&mut self, problem: &FrictionProblem, least: f64, one: bool) -> bool {
        let largest = self.proposals.iter().map(|p| p.2).fold(0.0, f64::max);
        let mut taken = false;
        for (c, (row, force, size)) in self.proposals.iter().enumerate() {
            let set = &problem.contacts;
            let chosen = *size > least && !(one && (taken || *size < largest));
            // Without a bound all rows are those of this program.
            if chosen || least == 0.0 {
                self.iteration.rows[c] = *row;
                self.iteration.y.c[c] = force - set.normal[c] * set.cohesion[c];
                taken |= chosen;
            }
        }
        taken
    }

    pub fn bytes(&self) -> SolverBytes {
        let [system, contacts] = self.iteration.bytes();
        SolverBytes {
            system: system + size_of_val(&self.radii[..]),
            contacts: contacts
                + size_of_val(&self.polygons[..])
                + size_of_val(&self.rho[..])
                + size_of_val(&self.proposals[..]),
        }
    }
}

/// One contact as it is.
struct ContactNow {
    n: Vec3,
    /// u = B v + k + C r [m/s].
    u: Vec3,
    /// r + ξ n [N·s].
    force: Vec3,
    rho: f64,
}

impl ContactNow {
    /// Row and force of the normal problem.
    fn normal(&self, compliance: f64) -> (ActiveRows, Vec3) {
        let n = &self.n;
        if self.force.dot(n) - self.rho * self.u.dot(n) <= 0.0 {
            return (ActiveRows::default(), self.tangent(&self.force));
        }
        let active = n * n.transpose();
        let row = ActiveRows {
            active,
            compliance: active * compliance,
        };
        (row, self.force)
    }

    /// Rows and force of the friction problem, in a polygon or in the disc.
    fn friction(&self, mu: f64, polygon: Option<&FrictionPolygon>) -> (ActiveRows, Vec3) {
        let normal = self.force.dot(&self.n);
        let pressed = self.n * normal;
        let (bound, friction) = (mu * normal.max(0.0), self.tangent(&self.force));
        let slide = self.tangent(&self.u);
        let x = friction - slide * self.rho;
        let rows = |active: Mat3, compliance: f64| ActiveRows {
            active,
            compliance: active * compliance,
        };
        let sticks = rows(Mat3::identity() - self.n * self.n.transpose(), 0.0);
        let across = |m: &Vec3| self.n.cross(m) * self.n.cross(m).transpose();
        let Some(polygon) = polygon else {
            let length = x.norm();
            if bound <= 0.0 {
                return (ActiveRows::default(), pressed);
            }
            // Outside a disc that has become smaller, a contact that sticks starts at the closest point.
            let size = friction.norm();
            if length <= bound {
                let inside = friction * (bound / size.max(bound));
                return (sticks, pressed + inside);
            }
            let along = x / length;
            let row = rows(across(&along), slide.norm() / bound);
            return (row, pressed + along * bound);
        };
        let (point, place) = polygon.project(&x, bound);
        match place {
            PolygonPlace::Inside => (sticks, pressed + polygon.project(&friction, bound).0),
            PolygonPlace::Side(m) => {
                let free = across(&m) * friction;
                let (start, _) = polygon.project(&(m * bound + free), bound);
                (rows(across(&m), 0.0), pressed + start)
            }
            PolygonPlace::Corner => (ActiveRows::default(), pressed + point),
        }
    }

    fn tangent(&self, x: &Vec3) -> Vec3 {
        x - self.n * x.dot(&self.n)
    }
}
