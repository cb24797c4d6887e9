//! A step succeeds as a whole or changes nothing.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::{Arc, Mutex};

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    material::Damping,
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{SplitMix, shapes::BoxSurface};
use stiction_math::{Cancel, Quat, Vec3};
use stiction_sim::{
    Memory, Method, Newton, Observer, Simulation, Smooth, Stage, StepError, StepReport,
    StepVerdict,
    adapt::{RefineAt, Refinements},
    admm,
    colliders::{ContactRules, material_names},
    integrators, linearised, newton, smooth,
};

const H: f64 = 1.0 / 256.0;

/// A sheet and a rigid box that fall on a floor and slide on it; the sheet under the box.
fn scene(contact: bool) -> (Model, State) {
    let mut b = Builder::new(Vec3::new(2.0, 0.0, -9.81), None);
    b.contact(contact);
    b.obstacle(common::floor());
    let mut mesh = common::sheet(4);
    mesh.transform(
        &Quat::from_euler_angles(0.02, 0.01, 0.0),
        &Vec3::repeat(0.2),
        &Vec3::new(0.0, 0.0, 5e-3),
    );
    let mut cloth = common::cloth();
    cloth.damping.stiffness = 1e-3;
    b.shell(BodySpec::new("sheet"), mesh, &cloth).unwrap();
    let mut block = BoxSurface {
        size: [0.1, 0.08, 0.05],
        cells: [3, 3, 2],
    }
    .build()
    .unwrap();
    block.transform(
        &Quat::from_euler_angles(0.1, 0.0, 0.2),
        &Vec3::repeat(1.0),
        &Vec3::new(0.01, 0.02, 0.045),
    );
    b.rigid(BodySpec::new("box"), &block, 300.0, Damping::default())
        .unwrap();
    let (model, mut state) = b.finish().unwrap();
    for v in &mut state.v {
        *v = Vec3::new(0.3, 0.1, -0.5);
    }
    let spin = model.bodies[1].blocks.start + 1;
    state.v[spin] = Vec3::new(1.0, -2.0, 0.5);
    (model, state)
}

/// All methods, with integrators that carry much from step to step.
const METHODS: [&str; 7] = [
    "newton",
    "admm",
    "admm, not safe",
    "admm, splitting",
    "admm, nested relaxation",
    "smooth, bdf2",
    "smooth, tr-bdf2",
];

fn simulation(name: &str) -> Simulation {
    with_step(name, H)
}

fn with_step(name: &str, h: f64) -> Simulation {
    let (model, state) = scene(name != "newton");
    let law = PairLaw {
        mu: 0.3,
        ..PairLaw::default()
    };
    let laws = Laws::new(material_names(&model).len() as u32, |_, _| law);
    let rules = ContactRules {
        thickness: 2e-3,
        laws,
    };
    let of_admm = |config| -> Box<dyn Method> { Box::new(admm(config, rules.clone())) };
    let of_smooth = |integrator| -> Box<dyn Method> {
        // Soft enough that no step is cut of its own accord: faults are counted by substeps.
        let config = smooth::Config {
            integrator,
            kappa: Some(1e3),
            ..smooth::Config::default()
        };
        Box::new(Smooth::new(config, rules.clone()))
    };
    let mut config = admm::Config::default();
    config.solver.max_iterations = 300;
    let method: Box<dyn Method> = match name {
        "newton" => Box::new(Newton::new(newton::Config::default())),
        "admm" => of_admm(config),
        "admm, not safe" => {
            config.safe = false;
            of_admm(config)
        }
        "admm, splitting" => {
            // A stiff sheet under a box takes the alternating loop longer than the test has time.
            config.solver.max_iterations = 40;
            config.safe = false;
            config.integrator = linearised::ElasticSolver::Splitting;
            of_admm(config)
        }
        "admm, nested relaxation" => {
            config.by = admm::SolverChoice::NestedRelaxation;
            of_admm(config)
        }
        "smooth, bdf2" => of_smooth(integrators::Integrator::Bdf2),
        _ => of_smooth(integrators::Integrator::TrBdf2),
    };
    Simulation::new(model, state, method, h).unwrap()
}

/// Action of an observer, and the number of substeps that began.
#[derive(Default)]
struct Script {
    /// Substep, counted from 1, stage and verdict.
    faults: Vec<(usize, Stage, StepVerdict)>,
    substeps: usize,
    /// Draws a fault before every stage with this chance.
    random: Option<(SplitMix, f64)>,
    stopped: usize,
}

struct Watch(Arc<Mutex<Script>>);

impl Observer for Watch {
    fn enter(&mut self, stage: Stage, _h: f64) -> StepVerdict {
        let mut script = self.0.lock().unwrap();
        script.substeps += usize::from(stage == Stage::Begin);
        if let Some((rng, chance)) = &mut script.random
            && rng.uniform() < *chance
        {
            script.stopped += 1;
            return StepVerdict::Stop;
        }
        let now = script.substeps;
        let fault = script.faults.iter().find(|f| (f.0, f.1) == (now, stage));
        fault.map_or(StepVerdict::Continue, |f| f.2)
    }
}

/// Makes a request to cancel before a stage, as another thread may at any time.
struct Cancelling(Cancel, Stage);

impl Observer for Cancelling {
    fn enter(&mut self, stage: Stage, _h: f64) -> StepVerdict {
        if stage == self.1 {
            self.0.request();
        }
        StepVerdict::Continue
    }
}

/// Before the stage solve the request is seen inside it, by the loop of the method or of its solver.
#[test]
fn a_cancelled_step_ends_in_the_loop_of_the_solver_and_changes_nothing() {
    for name in METHODS {
        let (mut sim, mut plain) = (simulation(name), simulation(name));
        for step in 0..6 {
            let before = kept(&sim);
            for stage in [Stage::Build, Stage::Solve] {
                let cancel = Cancel::new();
                sim.cancel_by(cancel.clone());
                sim.observe(Some(Box::new(Cancelling(cancel, stage))));
                let error = sim.step().unwrap_err();
                assert!(error.is_cancelled(), "{name}, step {step}: {error}");
                assert!(before == kept(&sim), "{name}, step {step}");
            }
            sim.cancel_by(Cancel::default());
            sim.observe(None);
            assert_eq!(sim.step().unwrap(), plain.step().unwrap(), "{name}");
            assert!(kept(&sim) == kept(&plain), "{name}, step {step}");
        }
    }
}

fn watched(name: &str) -> (Simulation, Arc<Mutex<Script>>) {
    let mut sim = simulation(name);
    let script = Arc::new(Mutex::new(Script::default()));
    sim.observe(Some(Box::new(Watch(script.clone()))));
    (sim, script)
}

fn kept(sim: &Simulation) -> (State, Memory) {
    (sim.state().clone(), sim.method().save())
}

const STAGES: [Stage; 7] = [
    Stage::Begin,
    Stage::Build,
    Stage::Predict,
    Stage::Detect,
    Stage::Solve,
    Stage::Certify,
    Stage::Advance,
];

/// In whole steps, in the first half of a step that was cut and in the second.
#[test]
fn a_failure_at_any_stage_leaves_state_and_memory_as_they_were() {
    for name in METHODS {
        let (mut sim, script) = watched(name);
        let mut plain = simulation(name);
        let mut touched = 0;
        for step in 0..12 {
            let before = kept(&sim);
            // Contact begins within the first steps.
            for stage in STAGES.into_iter().filter(|_| step % 4 == 3) {
                let reject = (1, Stage::Solve, StepVerdict::Reject);
                for faults in [
                    vec![(1, stage, StepVerdict::Stop)],
                    vec![reject, (2, stage, StepVerdict::Stop)],
                    vec![reject, (3, stage, StepVerdict::Stop)],
                ] {
                    let place = format!("{name}, step {step}: {faults:?}");
                    *script.lock().unwrap() = Script {
                        faults,
                        ..Script::default()
                    };
                    let error = sim.step().unwrap_err();
                    assert!(matches!(error, StepError::Final { .. }), "{place}: {error}");
                    assert!(before == kept(&sim), "{place}");
                }
            }
            *script.lock().unwrap() = Script::default();
            let (found, known) = (sim.step().unwrap(), plain.step().unwrap());
            assert_eq!(found, known, "{name}, step {step}");
            assert!(kept(&sim) == kept(&plain), "{name}, step {step}");
            touched += sim.contacts().len();
        }
        assert!(name == "newton" || touched > 0, "{name}: no contact");
    }
}

#[test]
fn a_run_with_failures_that_are_retried_ends_in_the_same_bits() {
    for name in METHODS {
        let (mut sim, script) = watched(name);
        script.lock().unwrap().random = Some((SplitMix::new(7), 0.15));
        let mut plain = simulation(name);
        for step in 0..24 {
            let known = plain.step().unwrap();
            let found = loop {
                if let Ok(report) = sim.step() {
                    break report;
                }
            };
            assert_eq!(found, known, "{name}, step {step}");
        }
        assert!(kept(&sim) == kept(&plain), "{name}");
        let stopped = script.lock().unwrap().stopped;
        assert!(stopped > 20, "{name}: {stopped} failures");
    }
}

/// Two halves of a step are two steps of half the length, and the worse one is reported.
#[test]
fn every_substep_is_certified_and_the_worst_counts() {
    for name in ["admm, not safe", "smooth, tr-bdf2"] {
        let (mut sim, script) = watched(name);
        let mut fine = with_step(name, 0.5 * H);
        let mut differ = 0;
        for step in 0..10 {
            *script.lock().unwrap() = Script {
                faults: vec![(1, Stage::Solve, StepVerdict::Reject)],
                ..Script::default()
            };
            let whole: StepReport = sim.step().unwrap();
            let parts = [(); 2].map(|()| fine.step().unwrap());
            assert_eq!(whole.parts, parts[0].parts + parts[1].parts);
            let [first, second] = parts.map(|p| p.certificate);
            let mut worst = first.then(&second);
            // Sums of more than two substeps depend on their order.
            let scale = worst.contact_work.abs();
            assert!((worst.contact_work - whole.certificate.contact_work).abs() <= 1e-15 * scale);
            worst.contact_work = whole.certificate.contact_work;
            assert_eq!(whole.certificate, worst, "{name}, {step}");
            assert_eq!(sim.state().x, fine.state().x);
            differ += usize::from(first.dynamics > second.dynamics);
        }
        assert!(differ > 0, "{name}: the first half was never the worse");
    }
}

/// A change of topology is part of the step that it comes with.
#[test]
fn a_failed_step_takes_a_change_of_topology_back() {
    for name in ["admm, not safe", "smooth, bdf2"] {
        let refined = || {
            let (mut sim, script) = watched(name);
            let due = RefineAt {
                body: 0,
                times: vec![4.0 * H],
            };
            sim.adapt_by(Box::new(Refinements::new(vec![due])));
            (sim, script)
        };
        let ((mut sim, script), (mut plain, _)) = (refined(), refined());
        for step in 0..8 {
            let before = (kept(&sim), sim.model().generation);
            for stage in [Stage::Adapt].into_iter().chain(STAGES) {
                *script.lock().unwrap() = Script {
                    // Whichever substep reaches the stage first.
                    faults: (0..=4).map(|n| (n, stage, StepVerdict::Stop)).collect(),
                    ..Script::default()
                };
                let stepped = sim.step();
                assert!(
                    stepped.is_err(),
                    "{name}, step {step}: {stage:?}: {stepped:?}"
                );
                let after = (kept(&sim), sim.model().generation);
                assert!(before == after, "{name}, step {step}: {stage:?}");
            }
            *script.lock().unwrap() = Script::default();
            let (found, known) = (sim.step().unwrap(), plain.step().unwrap());
            assert_eq!(found, known, "{name}, step {step}");
            assert!(kept(&sim) == kept(&plain), "{name}, step {step}");
        }
        assert_eq!(sim.model().generation, 1);
    }
}
