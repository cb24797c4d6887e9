//! Growth and decay of energy in two trapezoidal rules [larionov, Fig. 6], in a short form.
#![allow(clippy::unwrap_used)]

use stiction_scene::{LoadOptions, SceneSource};

/// Energies [J] after 1.5 s and 2.5 s, and the largest of all steps up to then, in steps of 10 ms.
fn energies(settings: &[&str]) -> [f64; 3] {
    let options = LoadOptions {
        overrides: settings.iter().map(|s| (*s).to_owned()).collect(),
        variant: Some("paper-step".to_owned()),
        ..LoadOptions::default()
    };
    let source = SceneSource::from_argument("ball-in-box");
    let scene = stiction_scene::load(&source, &options).unwrap();
    let (mut sim, _) = scene.simulation().unwrap();
    let (mut most, mut early, mut late) = (0.0f64, 0.0, 0.0);
    for step in 1..=250 {
        let done = sim.step().unwrap().certificate;
        late = done.kinetic + done.elastic + done.potential;
        most = most.max(late);
        if step == 150 {
            early = late;
        }
    }
    [early, late, most]
}

/// The ball begins with 28.09 J: ½ m v² = 8.4 J and ½ I ω² = 21.2 J of a sphere, less what its mesh lacks.
const START: f64 = 28.1;

#[test]
fn contact_inside_the_trapezoidal_rule_decays() {
    let [early, late, most] = energies(&[]);
    assert!(most < START, "{most}");
    assert!(late < 0.8 * early, "{early} {late}");
}

#[test]
fn the_trapezoidal_rule_of_ipc_gains_energy_by_contact() {
    let [early, late, _] = energies(&[
        "method.integrator=trapezoidal-ipc",
        "method.solver=descent",
        "method.max_iterations=500",
    ]);
    assert!(late > 1.25 * early, "{early} {late}");
}
