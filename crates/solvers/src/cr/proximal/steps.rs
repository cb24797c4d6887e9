//! Newton steps of a round: their matrices, linear solves and lengths.
//!
//! A step that follows slips has an unsymmetric matrix, an incomplete LU factor of it and generalised minimal residuals; one
//! with given slips a symmetric matrix, its incomplete Cholesky factor and conjugate residuals.

use stiction_contact::solver::SolverReport;
use stiction_math::{
    CgConfig, LinearOperator, Mat3, Preconditioner, Vec3, conjugate_residuals, gmres, reduce,
};

use super::{CrPreconditioner, Error, KrylovColumns, Rounds, count, for_contacts};

/// Iterations of a linear solve per unknown before it is cut short: conjugate directions end after one, but for rounding.
const UNKNOWNS: usize = 2;
/// Relative change of a contact's G from which the preconditioner is made anew.
const RENEW: f64 = 0.2;
/// Fraction to which a linear system is solved.
const FORCING: f64 = 1e-2;
/// That fraction where no contact is closed: the equations are linear then.
const FREE: f64 = 1e-12;
/// Vectors of the basis for systems that follow slips.
const BASIS: usize = 50;
/// A step is long enough where the slope of the convex function has fallen to this fraction.
const SLOPE: f64 = 0.1;
/// Trials of the line search.
const TRIALS: usize = 20;
/// Fractions of a step that follows slips, longest first, ...
const FRACTIONS: [f64; 6] = [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125];
/// ... of which a fraction α must shorten g by the fraction α times this.
const DECREASE: f64 = 0.25;

impl Rounds<'_> {
    /// H and, where contacts have changed, its preconditioner.
    pub(super) fn renew(&mut self) -> Result<(), Error> {
        let grown = self.matrix.update(self.problem, &self.stiffness)?;
        if grown || self.turned || !self.is_factored(&self.stiffness) {
            let (sum, form) = (self.matrix.matrix(), self.goal.preconditioner);
            self.inverse
                .update(self.problem, sum, &self.stiffness, form);
            self.factored = Some(self.stiffness.clone());
            self.turned = false;
        }
        Ok(())
    }

    /// Whether the preconditioner is that of a G close to this.
    fn is_factored(&self, g: &[Mat3]) -> bool {
        let same = |(now, then): (&Mat3, &Mat3)| (now - then).norm() <= RENEW * then.norm();
        let known =
            |factored: &Vec<Mat3>| factored.len() == g.len() && g.iter().zip(factored).all(same);
        self.factored.as_ref().is_some_and(known)
    }

    /// H with the derivative of the slips, A + Bᵀ G (1 + μ n τᵀ) B with τ = u_T/‖u_T‖, and its incomplete factor.
    /// Returns whether there is one.
    fn renew_following(&mut self) -> Result<bool, Error> {
        let set = &self.problem.contacts;
        let mut slides = false;
        let mut g = self.stiffness.clone();
        for (c, g) in g.iter_mut().enumerate() {
            let n = set.normal[c];
            let slide = (self.u[c] - n * self.u[c].dot(&n)).try_normalize(0.0);
            let force = *g * n * set.mu[c];
            if let (Some(slide), true) = (slide, force != Vec3::zeros()) {
                *g += force * slide.transpose();
                slides = true;
            }
        }
        if !slides {
            self.renew()?;
            return Ok(false);
        }
        let grown = self.matrix.update(self.problem, &g)?;
        if grown || !self.turned || !self.is_factored(&g) {
            self.turned = true;
            self.factored = None;
            let chosen = self.goal.preconditioner == CrPreconditioner::Cholesky;
            if !(chosen && self.inverse.follow(self.matrix.matrix())) {
                self.renew()?;
                self.matrix.update(self.problem, &g)?;
                return Ok(true);
            }
            self.factored = Some(g);
        }
        Ok(true)
    }

    fn krylov_config(&self, report: &SolverReport) -> CgConfig {
        // Without contact the equations are linear: they are solved at once, and free flight is exact.
        let free = self.stiffness.iter().all(|g| *g == Mat3::zeros());
        CgConfig {
            relative: if free { FREE } else { FORCING },
            absolute: 0.0,
            max_iterations: self
                .goal
                .max_iterations
                .min(self.end)
                .saturating_sub(report.iterations)
                .min(UNKNOWNS * 3 * self.v.len()),
        }
    }

    /// A Newton step that follows the slips. Returns whether a fraction of it was taken.
    pub(super) fn step_with_slips(&mut self, report: &mut SolverReport) -> Result<bool, Error> {
        let slides = self.renew_following()?;
        let set = &self.problem.contacts;
        let config = self.krylov_config(report);
        let mut p = vec![Vec3::zeros(); self.v.len()];
        let mut z = p.clone();
        self.inverse.apply(&self.residual, &mut z);
        let size = self.size(&z);
        let KrylovColumns {
            symmetric,
            unsymmetric,
        } = &mut *self.krylov;
        let (g, inverse, sum) = (&self.residual, &mut *self.inverse, self.matrix.matrix());
        let solved = match slides {
            false => conjugate_residuals(sum, inverse, g, &mut p, &config, symmetric),
            true => gmres(sum, inverse, g, &mut p, BASIS, &config, unsymmetric),
        };
        if !count(&solved, &p, report) {
            return Ok(false);
        }
        let (v, product) = (self.v.clone(), self.product.clone());
        let (u, slip) = (self.u.clone(), self.slip.clone());
        let (mut ap, mut du) = (z.clone(), u.clone());
        self.problem.a.apply(&p, &mut ap);
        for_contacts(&mut du, |c, du| *du = set.velocity(c, &p));
        for fraction in FRACTIONS {
            for (own, start, step) in [
                (&mut self.v, &v, &p),
                (&mut self.product, &product, &ap),
                (&mut self.u, &u, &du),
            ] {
                reduce::copy(start, own);
                reduce::axpy(-fraction, step, own);
            }
            self.follow_slips(1.0);
            self.answer();
            self.inverse.apply(&self.residual, &mut z);
            let next = self.size(&z);
            if next <= (1.0 - DECREASE * fraction) * size {
                report.change = fraction * reduce::norm_inf(&p);
                return Ok(true);
            }
        }
        (self.v, self.product, self.u, self.slip) = (v, product, u, slip);
        self.answer();
        Ok(false)
    }

    /// Norm of a velocity by masses.
    fn size(&self, z: &[Vec3]) -> f64 {
        let mass = &self.problem.mass;
        reduce::sum_ordered(z.len(), |j| mass[j] * z[j].norm_squared()).sqrt()
    }

    /// One Newton step with the given slips.
    pub(super) fn step(&mut self, report: &mut SolverReport) -> Result<(), Error> {
        let sum = self.matrix.matrix();
        let config = self.krylov_config(report);
        let mut p = vec![Vec3::zeros(); self.v.len()];
        let (g, inverse) = (&self.residual, &mut *self.inverse);
        let work = &mut self.krylov.symmetric;
        let solved = conjugate_residuals(sum, inverse, g, &mut p, &config, work);
        let descends = count(&solved, &p, report) && reduce::dot(&p, &self.residual) > 0.0;
        if !descends {
            self.inverse.update(
                self.problem,
                sum,
                &self.stiffness,
                CrPreconditioner::Diagonal,
            );
            self.factored = None;
            self.inverse.apply(&self.residual, &mut p);
        }
        for p in &mut p {
            *p = -*p;
        }
        let set = &self.problem.contacts;
        let mut ap = vec![Vec3::zeros(); p.len()];
        self.problem.a.apply(&p, &mut ap);
        let mut du = vec![Vec3::zeros(); set.len()];
        for_contacts(&mut du, |c, du| *du = set.velocity(c, &p));
        let length = self.line_search(&p, &ap, &du);
        reduce::axpy(length, &p, &mut self.v);
        reduce::axpy(length, &ap, &mut self.product);
        reduce::axpy(length, &du, &mut self.u);
        report.change = length * reduce::norm_inf(&p);
        Ok(())
    }

    /// The length at which the convex function is close to its least value along `p`, at most 1.
    fn line_search(&self, p: &[Vec3], ap: &[Vec3], du: &[Vec3]) -> f64 {
        let bodies = reduce::dot(p, &self.product) - reduce::dot(p, &self.f);
        let curvature = reduce::dot(p, ap);
        let slope = |length: f64| {
            let contacts = reduce::sum_ordered(du.len(), |c| {
                let u = self.u[c] + du[c] * length;
                self.cone(c).answer(&self.r[c], &u).0.dot(&du[c])
            });
            bodies + length * curvature - contacts
        };
        let start = slope(0.0);
        let (mut low, mut high) = ((0.0, start), (1.0, slope(1.0)));
        // A longer step is never needed, and rounding hides the slope of the last ones.
        if start.is_nan() || start >= 0.0 || high.1 <= -SLOPE * start {
            return 1.0;
        }
        let mut length = 1.0;
        for _ in 0..TRIALS {
            // The secant, kept off the ends.
            let secant = (low.0 * high.1 - high.0 * low.1) / (high.1 - low.1);
            let width = high.0 - low.0;
            length = secant.clamp(low.0 + 0.1 * width, high.0 - 0.1 * width);
            let now = slope(length);
            if now.abs() <= -SLOPE * start {
                break;
            }
            match now < 0.0 {
                true => low = (length, now),
                false => high = (length, now),
            }
        }
        length
    }
}
