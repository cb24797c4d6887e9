//! Columns that bodies keep in the state survive a checkpoint.
#![allow(clippy::unwrap_used)]

#[path = "../../sim/tests/common/dust.rs"]
mod dust;

use std::path::Path;

use stiction_bodies::{Model, State};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_math::Vec3;
use stiction_record::{KeptScene, Recorder, RunFolder, RunInfo};
use stiction_sim::{Simulation, Smooth, colliders::ContactRules, smooth::Config};

/// Two particle clouds that fall through one another.
fn simulation() -> Simulation {
    let mut model = Model {
        gravity: Vec3::new(0.0, 0.0, -9.81),
        ..Model::default()
    };
    let mut state = State::default();
    for (name, up) in [("lower", 0.0), ("upper", 0.35)] {
        let x: Vec<Vec3> = (0..12)
            .map(|i| Vec3::new(0.013 * f64::from(i), 0.021 * f64::from(i * i % 7), up))
            .collect();
        let v = vec![Vec3::new(0.4, -0.2, 1.0 - 6.0 * up); x.len()];
        dust::add(&mut model, &mut state, name, &x, &v);
    }
    let rules = ContactRules {
        thickness: 1e-3,
        laws: Laws::uniform(PairLaw::default()),
    };
    let method = Box::new(Smooth::new(Config::default(), rules));
    Simulation::new(model, state, method, 0.01).unwrap()
}

fn info() -> RunInfo {
    RunInfo {
        variant: None,
        source: KeptScene::default(),
        scene: "dust".to_owned(),
        hash: 7,
        formats: Vec::new(),
        contacts: false,
        probes: Vec::new(),
        checks: Vec::new(),
    }
}

fn checkpoint_after(dir: &Path, steps: usize) -> Simulation {
    let mut sim = simulation();
    let mut recorder = Recorder::create(RunFolder::claim(dir).unwrap(), info(), &sim).unwrap();
    for _ in 0..steps {
        sim.step().unwrap();
    }
    recorder.checkpoint(&sim, 0.0).unwrap();
    sim
}

#[test]
fn columns_survive_a_checkpoint_and_go_on_bit_for_bit() {
    let dir = tempfile::tempdir().unwrap();
    let mut whole = checkpoint_after(dir.path(), 6);
    let mut resumed = simulation();
    Recorder::restore(dir.path(), 7, &mut resumed).unwrap();
    assert_eq!(resumed.state(), whole.state());
    let before = resumed.state().columns.clone();
    assert_eq!(before.len(), 2);
    for sim in [&mut whole, &mut resumed] {
        for _ in 0..5 {
            sim.step().unwrap();
        }
    }
    assert_eq!(resumed.state(), whole.state());
    for (now, before) in resumed.state().columns.iter().zip(&before) {
        assert!(now.get("age")[0] > before.get("age")[0]);
        assert_eq!(now.get("nodes").len(), 11);
    }
}
