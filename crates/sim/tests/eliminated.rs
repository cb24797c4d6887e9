//! The residual with velocities eliminated, in the certificate of every step.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    material::Damping,
};
use stiction_contact::{
    CertifyConfig,
    detect::{Laws, PairLaw},
    eliminated_residual,
};
use stiction_geometry::shapes::{BoxSolid, BoxSurface, TetPattern};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Method, Simulation, Smooth, StepReport,
    admm::{Config, SolverChoice, admm},
    colliders::{ContactRules, material_names},
    linearised::ElasticSolver,
    smooth,
};
use stiction_solvers::admm::Polish;

/// Cloth, a soft block and a rigid box on a slope, each a thickness above it.
fn scene() -> (Model, State) {
    let mut b = Builder::new(Vec3::new(2.5, 0.0, -9.0), None);
    b.contact(true);
    b.obstacle(common::floor());
    let same = Quat::identity();
    let mut sheet = common::sheet(5);
    sheet.transform(&same, &Vec3::repeat(0.3), &Vec3::new(0.0, 0.0, 1e-3));
    let cloth = BodySpec::new("cloth");
    b.shell(cloth, sheet, &common::cloth()).unwrap();
    let block = BoxSolid {
        size: [0.1; 3],
        cells: [2; 3],
        pattern: TetPattern::Kuhn,
    };
    let mut block = block.build().unwrap();
    let beside = Vec3::new(0.0, 0.5, 0.051);
    block.transform(&same, &Vec3::repeat(1.0), &beside);
    let spec = BodySpec::new("block");
    b.solid(spec, block, &common::rubber()).unwrap();
    let (size, cells) = ([0.1; 3], [1; 3]);
    let mut solid = BoxSurface { size, cells }.build().unwrap();
    solid.transform(&same, &Vec3::repeat(1.0), &Vec3::new(0.0, 1.0, 0.051));
    let spec = BodySpec::new("box");
    b.rigid(spec, &solid, 500.0, Damping::default()).unwrap();
    b.finish().unwrap()
}

fn simulation(method: impl FnOnce(ContactRules) -> Box<dyn Method>) -> Simulation {
    let (model, state) = scene();
    let law = PairLaw {
        mu: 0.5,
        ..PairLaw::default()
    };
    let rules = ContactRules {
        thickness: 1e-3,
        laws: Laws::new(material_names(&model).len() as u32, |_, _| law),
    };
    Simulation::new(model, state, method(rules), 0.005).unwrap()
}

/// The figure of the certificate is that of a factor of its own, for every contact solver.
#[test]
fn it_is_the_residual_of_the_impulses_alone() {
    let mut splitting = Config {
        integrator: ElasticSolver::Splitting,
        ..Config::default()
    };
    let mut nested = Config {
        by: SolverChoice::NestedRelaxation,
        ..Config::default()
    };
    (splitting.solver.polish, nested.solver.polish) = (None, None);
    for config in [Config::default(), Config::paper(), splitting, nested] {
        let mut sim = simulation(|rules| Box::new(admm(config.clone(), rules)));
        for step in 0..8 {
            let report = sim.step().unwrap();
            let solved = sim.method().contacts().unwrap();
            assert!(step == 0 || !solved.contacts.is_empty());
            let judge = CertifyConfig::default();
            let exact = eliminated_residual(solved.problem().unwrap(), solved.r, &judge).unwrap();
            let found = report.certificate.eliminated.unwrap();
            // The change of velocities is found to 1e-6 by impulses, of blocks whose stiffness differs
            // from their mass by up to 1e3; rounding of velocities of 1 m/s.
            assert!(
                (found - exact).abs() <= 1e-3 * exact + 1e-13,
                "step {step}: {found:e} instead of {exact:e}"
            );
        }
    }
}

/// The reports of some steps with `residual` bounded by `bound` [m/s].
fn bounded(bound: f64) -> Vec<StepReport> {
    let mut config = Config::default();
    config.solver.polish = Some(Polish::to(bound));
    let mut sim = simulation(|rules| Box::new(admm(config, rules)));
    (0..30).map(|_| sim.step().unwrap()).collect()
}

/// `residual` = X: converged means below X in both norms; a step that is not there says so.
#[test]
fn a_converged_step_is_below_the_bound_in_both_norms() {
    for bound in [1e-5, 1e-7, 1e-9, 1e-11, 1e-13, 1e-15] {
        for (step, report) in bounded(bound).iter().enumerate() {
            let c = &report.certificate;
            let worst = c.residual.max(c.eliminated.unwrap());
            assert!(
                !report.converged || worst <= bound,
                "step {step}: {worst:e} instead of {bound:e} m/s"
            );
            // What double precision can do is done.
            assert!(report.converged || bound < 1e-9, "{bound:e}, step {step}");
        }
    }
}

/// Without a friction problem there is no such residual, and no zero that looks like one.
#[test]
fn it_does_not_apply_to_a_method_without_a_friction_problem() {
    let mut sim = simulation(|rules| Box::new(Smooth::new(smooth::Config::default(), rules)));
    for _ in 0..3 {
        let certificate = sim.step().unwrap().certificate;
        assert_eq!(certificate.eliminated, None);
        assert_eq!(certificate.field("eliminated"), None);
        assert!(certificate.field("residual").is_some());
    }
}
