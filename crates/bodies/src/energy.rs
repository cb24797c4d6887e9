//! Energy and momentum of bodies.

use stiction_math::Vec3;

use crate::{
    kind::BodyAt,
    model::{Body, Model},
    state::State,
};

/// ½ vᵀ M v [J].
pub fn kinetic_energy(body: &Body, state: &State) -> f64 {
    let at = BodyAt::of(body.blocks.clone(), state);
    body.kind.mechanics().kinetic_energy(&at)
}

/// The sum of the body's elastic terms [J].
pub fn elastic_energy(body: &Body, state: &State) -> f64 {
    let at = BodyAt::of(body.blocks.clone(), state);
    body.kind.mechanics().elastic_energy(&at)
}

/// The energy of all attachments [J].
pub fn attachment_energy(model: &Model, state: &State) -> f64 {
    model
        .attachments
        .iter()
        .map(|s| s.pull(&(s.a.position(state) - s.b.position(state))).energy)
        .sum()
}

/// The energy of all enclosed volumes [J].
pub fn volume_energy(model: &Model, state: &State) -> f64 {
    model
        .volumes
        .iter()
        .map(|v| v.energy(v.measure(&state.x))[0])
        .sum()
}

/// −Σ m a·x in gravity and the body's own acceleration [J], zero at the world's origin.
pub fn potential_energy(model: &Model, body: &Body, state: &State) -> f64 {
    let a = model.gravity_at(state.time) + body.acceleration;
    let x = &state.x[body.blocks.clone()];
    // The neutral element of a sum, so that a body without weight has energy +0.
    let mut sum = -0.0;
    let mechanics = body.kind.mechanics();
    mechanics.for_each_mass(&mut |i, m| sum += m * a.dot(&x[i]));
    -sum
}

/// Σ m v [kg·m/s].
pub fn momentum(body: &Body, state: &State) -> Vec3 {
    let v = &state.v[body.blocks.clone()];
    let mut sum = Vec3::zeros();
    let mechanics = body.kind.mechanics();
    mechanics.for_each_mass(&mut |i, m| sum += v[i] * m);
    sum
}

/// Angular momentum about the world's origin [kg·m²/s].
pub fn angular_momentum(body: &Body, state: &State) -> Vec3 {
    let at = BodyAt::of(body.blocks.clone(), state);
    body.kind.mechanics().angular_momentum(&at)
}
