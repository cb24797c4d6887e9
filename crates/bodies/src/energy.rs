//! Energy and momentum of bodies.

use stiction_math::Vec3;

use crate::{
    kind::BodyAt,
    model::{Body, Model},
    state::State,
};

/// Calls `f` with position [m], velocity [m/s] and mass [kg] of every point of a body.
pub fn for_each_point(body: &Body, state: &State, mut f: impl FnMut(&Vec3, &Vec3, f64)) {
    if let Some((per_step, place)) = body.kind.per_step() {
        if let Some(columns) = state.columns.get(place) {
            per_step.for_each_point(columns, &mut f);
        }
        return;
    }
    let (x, v) = (&state.x[body.blocks.clone()], &state.v[body.blocks.clone()]);
    let mechanics = body.kind.mechanics();
    mechanics.for_each_mass(&mut |i, m| f(&x[i], &v[i], m));
}

/// ½ vᵀ M v [J]; for a body whose blocks exist for one step only, that of its points.
pub fn kinetic_energy(body: &Body, state: &State) -> f64 {
    if body.kind.per_step().is_some() {
        let mut sum = 0.0;
        for_each_point(body, state, |_, v, m| sum += 0.5 * m * v.norm_squared());
        return sum;
    }
    let at = BodyAt::of(body.blocks.clone(), state);
    body.kind.mechanics().kinetic_energy(&at)
}

/// The sum of the body's elastic terms [J].
pub fn elastic_energy(body: &Body, state: &State) -> f64 {
    if let Some((per_step, place)) = body.kind.per_step() {
        let columns = state.columns.get(place);
        return columns.map_or(0.0, |columns| per_step.stored_energy(columns));
    }
    let at = BodyAt::of(body.blocks.clone(), state);
    body.kind.mechanics().elastic_energy(&at)
}

/// The energy of all attachments [J].
pub fn attachment_energy(model: &Model, state: &State) -> f64 {
    model
        .attachments
        .iter()
        .map(|s| s.pull(&s.difference_in(state), state.time).energy)
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
    // Negative zero, the neutral element of a sum, so that a body without weight has energy +0.
    let mut sum = -0.0;
    for_each_point(body, state, |x, _, m| sum += m * a.dot(x));
    -sum
}

/// Σ m v [kg·m/s].
pub fn momentum(body: &Body, state: &State) -> Vec3 {
    let mut sum = Vec3::zeros();
    for_each_point(body, state, |_, v, m| sum += v * m);
    sum
}

/// Angular momentum about the world's origin [kg·m²/s].
pub fn angular_momentum(body: &Body, state: &State) -> Vec3 {
    if body.kind.per_step().is_some() {
        let mut sum = Vec3::zeros();
        for_each_point(body, state, |x, v, m| sum += x.cross(&(v * m)));
        return sum;
    }
    let at = BodyAt::of(body.blocks.clone(), state);
    body.kind.mechanics().angular_momentum(&at)
}
