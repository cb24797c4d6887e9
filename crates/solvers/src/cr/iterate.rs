//! The iteration of the paper: conjugate residuals between changes of state [verschoor2019, Alg. 1].

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify,
    solver::{Iteration, Solution, SolverBytes, SolverReport, Task},
};
use stiction_math::{CgWorkspace, Vec3, elementary::ln, reduce};

use super::{
    Config, CrPreconditioner, Error, Thresholds, conjugate,
    kkt::{ActiveRows, Column, Kkt, Transpose, for_contacts},
    law::{FrictionState, Proposal},
    precondition::Approximation,
};

/// Columns of a solve.
#[derive(Default)]
pub(super) struct Workspace {
    pub transpose: Transpose,
    pub approximation: Approximation,
    pub touches: Vec<FrictionState>,
    pub rows: Vec<ActiveRows>,
    pub proposals: Vec<Option<Proposal>>,
    /// Masses of contacts [kg]: by the blocks of a stiff matrix, a change that moves a whole body looks small.
    pub rho: Vec<f64>,
    /// v and r.
    pub y: Column,
    /// f − A v.
    unconstrained: Vec<Vec3>,
    pub residual: Column,
    /// C⁻¹ times the residual, and the matrix times that.
    pub z: Column,
    w: Column,
    /// The direction, the matrix times it, and C⁻¹ times that.
    p: Column,
    q: Column,
    s: Column,
    /// A times the velocities of z and of p.
    az: Vec<Vec3>,
    ap: Vec<Vec3>,
    cg: CgWorkspace,
}

/// Numbers of the iteration.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// zᵀ B z.
    curvature: f64,
    /// ‖r‖ after the last start [√J], and now.
    first: f64,
    now: f64,
    /// Iterations since the last start.
    since: usize,
    /// Breakdowns so far.
    breakdowns: usize,
}

/// Growth of the residual since the last start that counts as a breakdown.
const GROWTH: f64 = 1e6;

/// Breakdowns before the diagonal preconditioner takes over.
const BREAKDOWNS: usize = 5;

/// Most iterations between evaluations of contacts.
const LONGEST: usize = 50;

impl Workspace {
    pub fn bytes(&self) -> SolverBytes {
        let columns = [
            &self.y,
            &self.residual,
            &self.z,
            &self.w,
            &self.p,
            &self.q,
            &self.s,
        ];
        let blocks = [&self.unconstrained, &self.az, &self.ap];
        let blocks: usize = blocks.map(|b| size_of_val(&b[..])).iter().sum();
        let [system, contacts] = self.approximation.bytes();
        SolverBytes {
            system: columns.map(Column::bytes).iter().sum::<usize>() + blocks + system,
            contacts: contacts
                + self.transpose.bytes()
                + size_of_val(&self.rows[..])
                + size_of_val(&self.touches[..])
                + size_of_val(&self.proposals[..]),
        }
    }

    pub fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        form: CrPreconditioner,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        let Self {
            approximation, cg, ..
        } = self;
        approximation.update_system(problem, form)?;
        conjugate(problem, approximation, x, tolerance, cg)
    }

    /// Solves by the rules of the paper.
    pub fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        config: &Config,
        thresholds: Thresholds,
    ) -> Result<SolverReport, Error> {
        self.begin(task.problem, solution, config.preconditioner)?;
        let mut report = SolverReport {
            change: f64::INFINITY,
            error: f64::INFINITY,
            asked: f64::INFINITY,
            ..SolverReport::default()
        };
        let mut progress = Progress::default();
        // Rows of the start: all that it says.
        self.evaluate(task.problem, &config.law, 0.0);
        self.accept(task.problem);
        self.restart(task.problem, &mut progress);
        let (mut revisions, mut revised) = (0, None);
        while report.iterations < config.max_iterations {
            Error::unless(task.cancel)?;
            let done = progress.now == 0.0 || self.meets(task.problem, thresholds);
            if !done {
                report.iterations += 1;
                let alpha = self.step(task.problem, &mut progress);
                report.change = alpha.abs() * reduce::norm_inf(&self.p.v);
                (task.observer)(&Iteration {
                    number: report.iterations,
                    change: report.change,
                    restarted: progress.since == 1,
                    projection: 0.0,
                });
                if !report.change.is_finite() || !progress.now.is_finite() {
                    return Err(Error::Overflow {
                        iterations: report.iterations,
                        change: report.change,
                    });
                }
                let broken = alpha == 0.0 || progress.now > GROWTH * progress.first;
                if broken {
                    progress.breakdowns += 1;
                    if progress.breakdowns > BREAKDOWNS {
                        let form = CrPreconditioner::Diagonal;
                        self.approximation.update_system(task.problem, form)?;
                    }
                    self.refresh(task.problem);
                    self.restart(task.problem, &mut progress);
                }
                let due = self.is_due(task.problem, thresholds, &progress);
                if !broken && (alpha < 0.0 || !due) {
                    continue;
                }
            }
            if self.evaluate(task.problem, &config.law, thresholds.constraint) {
                self.accept(task.problem);
                self.restart(task.problem, &mut progress);
                continue;
            }
            if !done {
                continue;
            }
            // Solved for these contacts: others may have appeared, and their features moved. An answer
            // that needed no iteration after a revision is the answer.
            if revisions < config.max_revisions && revised != Some(report.iterations) {
                revisions += 1;
                revised = Some(report.iterations);
                if self.revise(task, config, &mut report)? {
                    self.evaluate(task.problem, &config.law, 0.0);
                    self.accept(task.problem);
                    self.restart(task.problem, &mut progress);
                    continue;
                }
            }
            report.converged = true;
            break;
        }
        let judged = certify(
            task.problem,
            &self.y.v,
            &self.y.c,
            &CertifyConfig::default(),
        )?;
        report.error = judged.solution_error();
        solution.v.clone_from(&self.y.v);
        solution.r.clone_from(&self.y.c);
        Ok(report)
    }

    /// Columns for the problem, and the start.
    fn begin(
        &mut self,
        problem: &FrictionProblem,
        start: &Solution,
        form: CrPreconditioner,
    ) -> Result<(), Error> {
        let (n, m) = (problem.blocks(), problem.contacts.len());
        self.approximation.update_system(problem, form)?;
        self.y.reset(n, m);
        if start.v.len() == n {
            for j in (0..n).filter(|&j| !problem.fixed[j]) {
                self.y.v[j] = start.v[j];
            }
        }
        if start.r.len() == m {
            self.y.c.copy_from_slice(&start.r);
        }
        self.unconstrained.resize(n, Vec3::zeros());
        self.az.resize(n, Vec3::zeros());
        self.ap.resize(n, Vec3::zeros());
        self.touches.clear();
        self.touches.resize(m, FrictionState::fresh());
        self.rows.clear();
        self.rows.resize(m, ActiveRows::default());
        self.resize(problem);
        self.refresh(problem);
        Ok(())
    }

    /// Columns that follow the contacts.
    pub(super) fn resize(&mut self, problem: &FrictionProblem) {
        let (n, m) = (problem.blocks(), problem.contacts.len());
        self.transpose.update(n, &problem.contacts);
        self.approximation.update_contacts(problem, &self.transpose);
        self.rho.resize(m, 0.0);
        for_contacts(&mut self.rho, |c, rho| {
            *rho = 1.0 / problem.contacts.scale(c, &problem.mass);
        });
        self.proposals.clear();
        self.proposals.resize(m, None);
        for column in [
            &mut self.residual,
            &mut self.z,
            &mut self.w,
            &mut self.p,
            &mut self.q,
            &mut self.s,
        ] {
            column.reset(n, m);
        }
    }

    /// f − A v from its definition.
    pub(super) fn refresh(&mut self, problem: &FrictionProblem) {
        use stiction_math::LinearOperator as _;
        problem.a.apply(&self.y.v, &mut self.az);
        for_contacts(&mut self.unconstrained, |i, r| {
            *r = problem.f[i] - self.az[i];
        });
    }

    /// The residual of the rows that are active now, and the first direction [verschoor2019, Alg. 1,
    /// lines 19–21].
    fn restart(&mut self, problem: &FrictionProblem, progress: &mut Progress) {
        self.approximation.update_rows(&self.rows);
        let Self {
            transpose,
            rows,
            approximation,
            y,
            unconstrained,
            residual,
            z,
            w,
            p,
            q,
            az,
            ap,
            ..
        } = self;
        let kkt = Kkt {
            problem,
            transpose,
            rows,
        };
        kkt.residual(unconstrained, &y.v, &y.c, residual);
        approximation.apply(&kkt, residual, z);
        kkt.apply(z, az, w);
        p.copy(z);
        q.copy(w);
        reduce::copy(az, ap);
        let norm = approximation.norm(residual);
        *progress = Progress {
            curvature: z.dot(w),
            first: norm,
            now: norm,
            since: 0,
            breakdowns: progress.breakdowns,
        };
    }

    /// One step; returns its length α.
    fn step(&mut self, problem: &FrictionProblem, progress: &mut Progress) -> f64 {
        let Self {
            transpose,
            rows,
            approximation,
            y,
            unconstrained,
            residual,
            z,
            w,
            p,
            q,
            s,
            az,
            ap,
            ..
        } = self;
        let kkt = Kkt {
            problem,
            transpose,
            rows,
        };
        approximation.apply(&kkt, q, s);
        let denominator = q.dot(s);
        let alpha = progress.curvature / denominator;
        progress.since += 1;
        if !alpha.is_finite() || alpha == 0.0 {
            return 0.0;
        }
        y.axpy(alpha, p);
        residual.axpy(-alpha, q);
        reduce::axpy(-alpha, ap, unconstrained);
        z.axpy(-alpha, s);
        kkt.apply(z, az, w);
        let curvature = z.dot(w);
        let beta = curvature / progress.curvature;
        progress.curvature = curvature;
        p.xpby(z, beta);
        q.xpby(w, beta);
        reduce::xpby(az, beta, ap);
        progress.now = approximation.norm(residual);
        alpha
    }

    /// Whether contacts are evaluated now [verschoor2019, Alg. 2, line 2].
    fn is_due(&self, problem: &FrictionProblem, at: Thresholds, progress: &Progress) -> bool {
        let size = progress.now / (at.relative * self.weight(problem));
        let logarithm = ln(size.max(1.0));
        let interval = ((logarithm * logarithm / 3.0) as usize).clamp(1, LONGEST);
        progress.since.is_multiple_of(interval)
    }

    /// ‖f‖ in the norm of the residual [√J].
    fn weight(&self, problem: &FrictionProblem) -> f64 {
        self.approximation.size(&problem.f).max(f64::MIN_POSITIVE)
    }

    /// Whether the equations of the active rows are solved.
    fn meets(&self, problem: &FrictionProblem, at: Thresholds) -> bool {
        let rows = reduce::norm_inf(&self.residual.c);
        let norm = self.approximation.norm(&self.residual);
        problem.h * rows < at.constraint && norm < at.relative * self.weight(problem)
    }
}
