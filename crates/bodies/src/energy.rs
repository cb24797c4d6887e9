//! Energy and momentum of bodies.

use stiction_math::Vec3;

use crate::{
    model::{Body, BodyKind, Model},
    state::State,
};

/// ½ vᵀ M v [J].
pub fn kinetic_energy(body: &Body, state: &State) -> f64 {
    let v = &state.v[body.blocks.clone()];
    match &body.kind {
        BodyKind::Deformable(d) => {
            0.5 * (0..v.len())
                .map(|i| v[i].dot(&d.mass.row(&d.pattern, v, i)))
                .sum::<f64>()
        }
        BodyKind::Rigid(r) => {
            let inertia = r.world_inertia(&state.rotations[r.index]);
            0.5 * (r.mass * v[0].norm_squared() + v[1].dot(&(inertia * v[1])))
        }
        BodyKind::Rods(r) => {
            let terms = r.mass().iter().zip(v);
            0.5 * terms.map(|(m, v)| v.dot(&m.component_mul(v))).sum::<f64>()
        }
    }
}

/// The sum of the body's elastic terms [J].
pub fn elastic_energy(body: &Body, state: &State) -> f64 {
    match &body.kind {
        BodyKind::Deformable(d) => d
            .terms
            .iter()
            .map(|t| t.energy(&state.x[body.blocks.clone()]))
            .sum(),
        BodyKind::Rigid(_) => 0.0,
        BodyKind::Rods(r) => {
            let x = &state.x[body.blocks.clone()];
            r.energy(x, &r.start(x, &state.frames))
        }
    }
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
    match &body.kind {
        BodyKind::Deformable(d) => -d
            .mass
            .lumped()
            .iter()
            .zip(x)
            .map(|(m, x)| m * a.dot(x))
            .sum::<f64>(),
        BodyKind::Rigid(r) => -r.mass * a.dot(&x[0]),
        BodyKind::Rods(r) => {
            let node = |b: u32| r.mass()[b as usize].x * a.dot(&x[b as usize]);
            -r.node_blocks().map(node).sum::<f64>()
        }
    }
}

/// Σ m v [kg·m/s].
pub fn momentum(body: &Body, state: &State) -> Vec3 {
    let v = &state.v[body.blocks.clone()];
    match &body.kind {
        BodyKind::Deformable(d) => d.mass.lumped().iter().zip(v).map(|(m, v)| v * *m).sum(),
        BodyKind::Rigid(r) => v[0] * r.mass,
        BodyKind::Rods(r) => r
            .node_blocks()
            .map(|b| v[b as usize] * r.mass()[b as usize].x)
            .sum(),
    }
}

/// Angular momentum about the world's origin [kg·m²/s].
pub fn angular_momentum(body: &Body, state: &State) -> Vec3 {
    let (x, v) = (&state.x[body.blocks.clone()], &state.v[body.blocks.clone()]);
    match &body.kind {
        BodyKind::Deformable(d) => (0..v.len())
            .map(|i| x[i].cross(&d.mass.row(&d.pattern, v, i)))
            .sum(),
        BodyKind::Rigid(r) => {
            x[0].cross(&(v[0] * r.mass)) + r.world_inertia(&state.rotations[r.index]) * v[1]
        }
        BodyKind::Rods(r) => {
            let node = |b: u32| x[b as usize].cross(&(v[b as usize] * r.mass()[b as usize].x));
            let spin = |edge: usize| {
                let (Some((b, c)), Some([i, j])) = (r.twist_of(edge), r.edge_blocks(edge)) else {
                    return Vec3::zeros();
                };
                // (rθ)˙ r m is the moment of inertia times the rate of twist.
                (x[j] - x[i]).normalize() * (r.mass()[b][c] * v[b][c] * r.section().radius)
            };
            let nodes: Vec3 = r.node_blocks().map(node).sum();
            nodes + (0..r.edges().len()).map(spin).sum::<Vec3>()
        }
    }
}
