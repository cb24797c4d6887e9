//! A contact solver of one's own, on a stored friction problem: Uzawa's iteration, judged by the certificate
//! compared with the solvers of the library.
//!
//! `cargo run --release -p stiction --example own_solver [-- PROBLEM]`, where PROBLEM is a file that
//! `stiction run SCENE --dump-problems` wrote. Without it, a stack of five nodes is solved.
#![allow(clippy::print_stdout)]

use stiction::{
    Vec3,
    contact::{
        CertifyConfig, FrictionProblem, certify,
        file::StoredProblem,
        generate, project_cone,
        solver::{
            ContactSolver, KeptFactor, Solution, SolverError, SolverReport, Task, TaskStart,
            solve_alone,
        },
    },
    solvers::SOLVERS,
};

/// r ← P(r − ρ ũ) with v = A⁻¹ (f + Bᵀ r) and ũ = u + μ‖u_T‖ n: simple, and slow.
#[derive(Default)]
struct Uzawa {
    factor: KeptFactor,
}

impl ContactSolver for Uzawa {
    fn name(&self) -> &'static str {
        "uzawa"
    }

    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, SolverError> {
        let problem = &*task.problem;
        let set = &problem.contacts;
        let (factor, _) = self.factor.of(problem)?;
        factor.refactor(&problem.a, None)?;
        solution.r.resize(set.len(), Vec3::zeros());
        // A step that is safe for every eigenvalue of B A⁻¹ Bᵀ: the lightest mass over the contacts of a
        // node.
        let lightest = problem.mass.iter().copied().fold(f64::INFINITY, f64::min);
        let rho = 0.25 * lightest;
        let mut report = SolverReport::default();
        for iteration in 1..=100_000 {
            SolverError::unless(task.cancel)?;
            solution.v.clone_from(&problem.f);
            set.add_transpose(&solution.r, &mut solution.v);
            factor.solve(&problem.a, &mut solution.v, 1e-14)?;
            let mut change: f64 = 0.0;
            for c in 0..set.len() {
                let (n, mu) = (set.normal[c], set.mu[c]);
                let u = set.relative_velocity(c, &solution.v, &solution.r);
                let slip = (u - n * u.dot(&n)).norm();
                let old = solution.r[c];
                solution.r[c] = project_cone(&(old - (u + n * (mu * slip)) * rho), &n, mu);
                change = change.max((solution.r[c] - old).norm() / rho);
            }
            report.iterations = iteration;
            report.change = change;
            if change < 1e-9 {
                report.converged = true;
                break;
            }
        }
        Ok(report)
    }
}

fn judge(
    problem: &mut FrictionProblem,
    solver: &mut dyn ContactSolver,
) -> Result<f64, SolverError> {
    let mut solution = Solution::default();
    let report = solve_alone(solver, problem, &mut solution, TaskStart::Configured, None)?;
    let certificate = certify(problem, &solution.v, &solution.r, &CertifyConfig::default())?;
    println!(
        "{:10} {:6} iterations, residual {:.1e} m/s",
        solver.name(),
        report.iterations,
        certificate.residual
    );
    Ok(certificate.residual)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut problem = match std::env::args().nth(1) {
        Some(path) => StoredProblem::from_bytes(&std::fs::read(path)?)?.problem,
        None => generate::stack(&[0.5, 0.4, 0.3, 0.2, 0.1], 0.5, 0.004).problem,
    };
    println!(
        "{} blocks, {} contacts",
        problem.blocks(),
        problem.contacts.len()
    );
    let own = judge(&mut problem, &mut Uzawa::default())?;
    assert!(own < 1e-6, "the solver is wrong");
    for entry in SOLVERS {
        judge(&mut problem, &mut *(entry.make)())?;
    }
    Ok(())
}
