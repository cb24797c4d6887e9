//! The laws of Signorini and Coulomb, and the judgement of a solution by them.
//!
//! With De Saxcé's change of variable ũ = u + μ‖u_T‖ n the laws read K_μ ∋ r ⊥ ũ ∈ K_μ* [acary2011],
//! which holds exactly when r = P(r − ρ ũ) for the projection P to the cone K_μ and any ρ > 0.

use stiction_math::{
    CgConfig, IncompleteFactors, KrylovError, Mat3, SystemFactor, Vec3, elementary::atan2, reduce,
};

use crate::{
    Certificate, ContactSet, FrictionProblem, ProblemError, problem::length, solver::SolverError,
};

/// Thresholds of the certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CertifyConfig {
    /// Contacts slide if ‖u_T‖ is above this [m/s]. The direction of a slower slip is rounding, so
    /// it has no say in `slip_angle`.
    pub slip_speed: f64,
    /// A force is strictly inside the cone if ‖r_T‖ < (1 − `margin`) μ r_N. Iterative solvers
    /// leave sliding forces this close to the cone, and those must not count as `creep`.
    pub margin: f64,
    /// Impulses below this fraction of the largest one are rounding: relative to nothing smaller are
    /// violations of the cone measured, and contacts with less do not count as held.
    pub floor: f64,
}

impl Default for CertifyConfig {
    fn default() -> Self {
        Self {
            slip_speed: 1e-6,
            margin: 1e-3,
            floor: 1e-9,
        }
    }
}

/// Judges velocities `v` [m/s] (one vector per block, zero where prescribed) and contact impulses
/// `r` [N·s] (one per contact) as a solution of `problem`: the laws of contact by [`judge`], and
/// `linear`, what is left of A v = f + Bᵀ r.
///
/// `linear` is in m/s for angular blocks, too: the speed at the body's radius of gyration.
pub fn certify(
    problem: &FrictionProblem,
    v: &[Vec3],
    r: &[Vec3],
    config: &CertifyConfig,
) -> Result<Certificate, ProblemError> {
    length("v", problem.blocks(), v.len())?;
    // Made where it is needed: a list of all would be as large as three columns of velocities.
    let inverse = |j: usize| {
        let inverse = problem.a.diagonal(j).try_inverse();
        inverse.unwrap_or(Mat3::from_element(f64::NAN))
    };
    Ok(Certificate {
        linear: linear_residual(problem, v, r, inverse),
        ..judge(&problem.contacts, problem.h, v, r, inverse, config)?
    })
}

/// Judges contacts of a step of `h` [s] by the laws of Signorini and Coulomb: velocities `v` [m/s]
/// (one vector per block, zero where prescribed) and impulses `r` [N·s] (one per contact).
///
/// The length ρ [kg] in the residual of a contact is the inverse of its local Delassus scale, the
/// mean diagonal of Σ_j B_cj D_j B_cjᵀ + C_cc over the blocks of the contact, with D_j = `inverse(j)`
/// the inverse of the block's own 3×3 block of the system matrix [1/kg]: what the contact would feel
/// if only its own blocks moved, each by itself. So an error in r counts with the velocity that it
/// causes there, and one in u as it is.
///
/// With cohesion the laws are those of the shifted impulse r + ξ n [daviet2020, Sect. 6.3.1].
///
/// Numbers that are not finite give an infinite certificate. Fields that do not follow from contacts
/// are left zero.
pub fn judge(
    set: &ContactSet,
    h: f64,
    v: &[Vec3],
    r: &[Vec3],
    inverse: impl Fn(usize) -> Mat3 + Copy + Sync,
    config: &CertifyConfig,
) -> Result<Certificate, ProblemError> {
    length("r", set.len(), r.len())?;
    let rho = |c: usize| 3.0 / (set.local_delassus(c, inverse).trace() + set.compliance[c]);
    let laws = judge_laws(set.len(), |c| SolvedContact::new(set, v, r, c), rho, config);
    Ok(Certificate {
        contact_work: reduce::sum_ordered(set.len(), |c| contact_work(set, h, v, r, c)),
        ..laws
    })
}

/// The fields that follow from the states of `n` contacts alone: `residual` with ρ = `rho(c)` [kg],
/// `cone`, `slip_angle` and `creep`.
pub(crate) fn judge_laws(
    n: usize,
    state: impl Fn(usize) -> SolvedContact + Sync,
    rho: impl Fn(usize) -> f64 + Sync,
    config: &CertifyConfig,
) -> Certificate {
    let largest = worst(n, |c| state(c).force.norm());
    let floor = config.floor * largest;
    Certificate {
        residual: worst(n, |c| {
            let s = state(c);
            coulomb_residual(&s.u, &s.force, &s.n, s.mu, rho(c))
        }),
        cone: worst(n, |c| {
            let SolvedContact { force, n, mu, .. } = state(c);
            let distance = (force - project_cone(&force, &n, mu)).norm();
            // Without any force there is nothing to violate.
            if distance == 0.0 {
                0.0
            } else {
                distance / force.norm().max(floor)
            }
        }),
        slip_angle: worst(n, |c| state(c).slip_angle(config.slip_speed, floor)),
        creep: worst(n, |c| state(c).creep(config.margin, floor)),
        ..Certificate::default()
    }
}

/// The residual [m/s] of impulses `r` alone, with the velocities eliminated: `residual` of
/// [`certify`] for v* = A⁻¹ (f + Bᵀ r), which is how users of FCLIB measure answers [acary2014]. It
/// factorises A.
///
/// With velocities that balance the impulses exactly it is `residual` itself. A momentum residual g
/// that `linear` measures block by block enters here as A⁻¹ g, which is larger where many blocks move
/// together.
pub fn eliminated_residual(
    problem: &FrictionProblem,
    r: &[Vec3],
    config: &CertifyConfig,
) -> Result<f64, SolverError> {
    length("r", problem.contacts.len(), r.len())?;
    let v = balanced_velocities(problem, r)?;
    Ok(certify(problem, &v, r, config)?.residual)
}

/// [`eliminated_residual`] of an answer with velocities `v` [m/s], by a factor that is at hand: of A, or of
/// A plus a positive diagonal. The momentum residual A v − f − Bᵀ r is small, so that v* − v is found to a
/// relative accuracy alone: by one solve if the factor is that of A. Otherwise A is factorised, which takes less
/// than conjugate gradients with another factor.
pub fn eliminated_residual_near(
    problem: &FrictionProblem,
    v: &[Vec3],
    r: &[Vec3],
    factor: &mut SystemFactor,
    config: &CertifyConfig,
) -> Result<f64, SolverError> {
    let near = CgConfig {
        relative: CHANGE,
        absolute: 0.0,
        max_iterations: match problem.a.is_coupled() {
            true => NEAR_ITERATIONS,
            false => 0,
        },
    };
    eliminated_with(problem, v, r, config, |missing, change| {
        change.copy_from_slice(missing);
        if factor.solve_near(&problem.a, change, &near).is_err() {
            factor.refactor(&problem.a, None)?;
            change.copy_from_slice(missing);
            factor.solve(&problem.a, change, CHANGE)?;
        }
        Ok(true)
    })
}

/// [`eliminated_residual`] of an answer with velocities `v` [m/s] without a factor: v* − v is found by conjugate
/// gradients, preconditioned with incomplete Cholesky factors. Infinite if they do not converge.
pub fn eliminated_residual_iterated(
    problem: &FrictionProblem,
    v: &[Vec3],
    r: &[Vec3],
    config: &CertifyConfig,
) -> Result<f64, SolverError> {
    let iterated = CgConfig {
        relative: CHANGE,
        absolute: 0.0,
        max_iterations: ITERATED,
    };
    eliminated_with(problem, v, r, config, |missing, change| {
        let mut inverse = IncompleteFactors::default();
        inverse.update(&problem.a)?;
        match inverse.solve(&problem.a, missing, change, &iterated) {
            Ok(_) => Ok(true),
            Err(KrylovError::NotPositiveDefinite { .. }) => Err(SolverError::NotPositiveDefinite),
            Err(_) => Ok(false),
        }
    })
}

/// `residual` of the velocities v − A⁻¹ (A v − f − Bᵀ r), where `solve` writes A⁻¹ times its first argument to
/// its second one, which is zero, and says whether it could.
fn eliminated_with(
    problem: &FrictionProblem,
    v: &[Vec3],
    r: &[Vec3],
    config: &CertifyConfig,
    solve: impl FnOnce(&[Vec3], &mut [Vec3]) -> Result<bool, SolverError>,
) -> Result<f64, SolverError> {
    length("v", problem.blocks(), v.len())?;
    length("r", problem.contacts.len(), r.len())?;
    if problem.contacts.is_empty() {
        return Ok(0.0);
    }
    let mut missing = vec![Vec3::zeros(); problem.blocks()];
    problem.momentum_residual(v, r, &mut missing);
    if !missing.iter().all(|x| x.iter().all(|x| x.is_finite())) {
        return Ok(f64::INFINITY);
    }
    let mut change = vec![Vec3::zeros(); missing.len()];
    if !solve(&missing, &mut change)? {
        return Ok(f64::INFINITY);
    }
    let mut balanced = missing;
    reduce::copy(v, &mut balanced);
    reduce::axpy(-1.0, &change, &mut balanced);
    let inverse = |j: usize| {
        let inverse = problem.a.diagonal(j).try_inverse();
        inverse.unwrap_or(Mat3::from_element(f64::NAN))
    };
    Ok(judge(&problem.contacts, problem.h, &balanced, r, inverse, config)?.residual)
}

/// Relative accuracy of v* − v, by impulses.
const CHANGE: f64 = 1e-6;

/// Most iterations across couplings of bodies before A is factorised.
const NEAR_ITERATIONS: usize = 30;

/// Most iterations without a factor.
const ITERATED: usize = 20_000;

/// v* = A⁻¹ (f + Bᵀ r) [m/s], with a factor of A and one step of refinement.
pub fn balanced_velocities(
    problem: &FrictionProblem,
    r: &[Vec3],
) -> Result<Vec<Vec3>, SolverError> {
    let mut factor = SystemFactor::new(&problem.a, &problem.part_positions())?;
    factor.refactor(&problem.a, None)?;
    let mut v = problem.f.clone();
    problem.contacts.add_transpose(r, &mut v);
    factor.solve(&problem.a, &mut v, BALANCED)?;
    let mut missing = vec![Vec3::zeros(); problem.blocks()];
    problem.momentum_residual(&v, r, &mut missing);
    factor.solve(&problem.a, &mut missing, BALANCED)?;
    reduce::axpy(-1.0, &missing, &mut v);
    Ok(v)
}

/// Relative accuracy of linear systems across couplings of bodies for balanced velocities.
const BALANCED: f64 = 1e-12;

/// ‖r − P(r − ρ ũ)‖/ρ [m/s] of one contact with relative velocity `u` [m/s], impulse `r` [N·s],
/// unit normal `n`, coefficient `mu` and `rho` [kg].
pub fn coulomb_residual(u: &Vec3, r: &Vec3, n: &Vec3, mu: f64, rho: f64) -> f64 {
    let slip = (u - n * u.dot(n)).norm();
    let modified = u + n * (mu * slip);
    let x = r - modified * rho;
    let along = x.dot(n);
    // Without friction both sides may be zero below the cone's apex, where a contact separates.
    if along >= 0.0 && (x - n * along).norm() <= mu * along {
        // r − P(r − ρ ũ) = ρ ũ, but a difference would lose a velocity next to the huge impulses
        // with which contacts that contradict one another are jammed.
        return modified.norm();
    }
    (r - project_cone(&x, n, mu)).norm() / rho
}

/// The point of K_μ = {‖r_T‖ ≤ μ r_N} next to `x`; the half-line along `n` if μ = 0.
pub fn project_cone(x: &Vec3, n: &Vec3, mu: f64) -> Vec3 {
    let normal = x.dot(n);
    let tangent = x - n * normal;
    let t = tangent.norm();
    // Without friction the first product is −0 below the apex, which is not less than t = 0.
    if normal >= 0.0 && t <= mu * normal {
        *x
    } else if mu * t <= -normal {
        Vec3::zeros()
    } else {
        // On the boundary; t > 0 here unless μ = 0 and x is on the axis, where 0/0 must not be.
        let along = (normal + mu * t) / (1.0 + mu * mu);
        let across = if t > 0.0 { mu * along / t } else { 0.0 };
        n * along + tangent * across
    }
}

/// One contact of a solution.
pub(crate) struct SolvedContact {
    pub n: Vec3,
    pub mu: f64,
    /// u = B v + k + C r.
    pub u: Vec3,
    /// r + ξ n.
    pub force: Vec3,
}

impl SolvedContact {
    fn new(set: &ContactSet, v: &[Vec3], r: &[Vec3], c: usize) -> Self {
        let n = set.normal[c];
        Self {
            n,
            mu: set.mu[c],
            u: set.relative_velocity(c, v, r),
            force: r[c] + n * set.cohesion[c],
        }
    }

    fn tangent(&self, x: &Vec3) -> Vec3 {
        x - self.n * x.dot(&self.n)
    }

    fn slip_angle(&self, slip_speed: f64, floor: f64) -> f64 {
        let (slip, drag) = (self.tangent(&self.u), -self.tangent(&self.force));
        if slip.norm() <= slip_speed || drag.norm() <= floor {
            return 0.0;
        }
        atan2(slip.cross(&drag).norm(), slip.dot(&drag))
    }

    fn creep(&self, margin: f64, floor: f64) -> f64 {
        let normal = self.force.dot(&self.n);
        let tangent = self.tangent(&self.force).norm();
        if normal <= floor || tangent >= (1.0 - margin) * self.mu * normal {
            return 0.0;
        }
        self.tangent(&self.u).norm()
    }
}

/// r · (relative velocity of the bodies): u without the offsets by gap and compliance, which are
/// no motion.
fn contact_work(set: &ContactSet, h: f64, v: &[Vec3], r: &[Vec3], c: usize) -> f64 {
    let motion = set.velocity(c, v) + set.k[c] - set.normal[c] * (set.correction[c] / h);
    r[c].dot(&motion)
}

fn linear_residual(
    problem: &FrictionProblem,
    v: &[Vec3],
    r: &[Vec3],
    inverse: impl Fn(usize) -> Mat3 + Sync,
) -> f64 {
    let mut missing = vec![Vec3::zeros(); problem.blocks()];
    problem.momentum_residual(v, r, &mut missing);
    let radius = problem.radii();
    worst(missing.len(), |j| {
        (inverse(j) * missing[j]).norm() * radius[j]
    })
}

/// max f(i), 0 for n = 0, ∞ if any term is not a number.
fn worst(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    let max = reduce::max_ordered(n, f);
    if max.is_nan() {
        f64::INFINITY
    } else {
        max.max(0.0)
    }
}
