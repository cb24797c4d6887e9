//! Probes: named numbers followed over time.

use stiction_bodies::{
    Body, Model, State,
    energy::{
        angular_momentum, attachment_energy, elastic_energy, for_each_point, kinetic_energy,
        momentum, potential_energy, volume_energy,
    },
};
use stiction_contact::{Certificate, ContactOutcome, ContactState};
use stiction_math::elementary::atan2;
use stiction_math::{Quat, Vec3};

/// A named number followed over time.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The name: the column of `probes.csv`.
    pub name: String,
    /// Measured quantity.
    pub quantity: Quantity,
}

impl Probe {
    /// Takes the start of what is measured from the start, if it is, from `state`.
    pub fn begin(&mut self, model: &Model, state: &State) {
        match &mut self.quantity {
            Quantity::Displacement(point, start, _) => {
                *start = model.points[*point].position(state);
            }
            Quantity::Angle(body, start, _) => {
                if let Some(rigid) = model.bodies[*body].kind.as_rigid() {
                    *start = state.rotations[rigid.index];
                }
            }
            Quantity::Travel(body, start) => *start = centroid(&chosen(model, *body), state),
            _ => {}
        }
    }
}

/// A body, or all of them.
fn chosen(model: &Model, body: Option<usize>) -> Vec<&Body> {
    match body {
        Some(b) => vec![&model.bodies[b]],
        None => model.bodies.iter().collect(),
    }
}

/// A component of a vector, or its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    /// Along a unit direction.
    Along(Vec3),
    /// The Euclidean norm.
    Norm,
}

impl Axis {
    fn of(self, v: &Vec3) -> f64 {
        match self {
            Self::Along(d) => d.dot(v),
            Self::Norm => v.norm(),
        }
    }
}

/// Which end of an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtentEnd {
    /// The lowest coordinate.
    Min,
    /// The highest coordinate.
    Max,
    /// The difference of the two.
    Size,
}

/// A point that relative positions are measured between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// One of `Model::points`.
    Point(usize),
    /// The centre of mass of a body.
    Centre(usize),
}

impl Spot {
    /// Its position [m] and velocity [m/s].
    fn motion(self, model: &Model, state: &State) -> [Vec3; 2] {
        match self {
            Self::Point(p) => {
                let point = &model.points[p];
                [point.position(state), point.velocity(state)]
            }
            Self::Centre(b) => {
                let body = &model.bodies[b];
                let velocity = momentum(body, state) / body.total_mass();
                [centroid(&[body], state), velocity]
            }
        }
    }
}

/// Quantity of a probe. `body` is an index into `Model::bodies`; `None` means all bodies.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// The position of one of `Model::points` [m].
    Position(usize, Axis),
    /// Its displacement from `start` [m].
    Displacement(usize, Vec3, Axis),
    /// Its velocity [m/s].
    Velocity(usize, Axis),
    /// The distance of two of them [m].
    Distance(usize, usize),
    /// The centre of mass [m].
    Centroid(Option<usize>, Axis),
    /// The velocity of the centre of mass [m/s].
    CentroidVelocity(Option<usize>, Axis),
    /// The distance of the centre of mass from where it started, `start` [m].
    Travel(Option<usize>, Vec3),
    /// The distance of the centre of mass from the line through a point along a unit direction
    /// [m].
    Radius(Option<usize>, Vec3, Vec3),
    /// The surface's extent along an axis [m].
    Extent(usize, Vec3, ExtentEnd),
    /// The volume inside a body's closed surface [m³].
    Volume(usize),
    /// The area of a body's surface [m²].
    Area(usize),
    /// Kinetic energy [J].
    Kinetic(Option<usize>),
    /// Elastic energy, attachments and enclosed volumes included for all bodies [J].
    Elastic(Option<usize>),
    /// Potential energy in the uniform acceleration [J].
    Potential(Option<usize>),
    /// The sum of the three [J].
    Energy(Option<usize>),
    /// Linear momentum [kg·m/s].
    Momentum(Option<usize>, Axis),
    /// Angular momentum about the world's origin [kg·m²/s].
    AngularMomentum(Option<usize>, Axis),
    /// Angular momentum about the centre of mass of what is measured [kg·m²/s].
    Spin(Option<usize>, Axis),
    /// The angular velocity of a rigid body in the world frame [°/s].
    AngularVelocity(usize, Axis),
    /// The angle [°] by which a rigid body has turned about a unit direction of the world from its
    /// orientation `start`: the twist of the turn about that direction. It goes on over full turns as
    /// long as the body turns by less than half a turn from one measurement to the next.
    Angle(usize, Quat, Vec3),
    /// The position of the first point relative to the second [m].
    RelativePosition(Spot, Spot, Axis),
    /// Its velocity relative to the second one, in the world frame [m/s].
    RelativeVelocity(Spot, Spot, Axis),
    /// The work of all contacts so far: the sum of the certificate's `contact_work` over the steps [J].
    ContactWork,
    /// The force in an attachment [N], positive when it pulls.
    Tension(usize),
    /// The speed of the fastest node of a body, or of the fastest point of a rigid body's surface
    /// [m/s].
    Speed(usize),
    /// The volume of one of `Model::volumes` [m³].
    EnclosedVolume(usize),
    /// The pressure in it [Pa]: absolute for a gas, above that of the surroundings otherwise.
    Pressure(usize),
    /// Resultant of the contacts of a body.
    Contact(ContactSum),
}

/// Sum over the contacts of a body, or of two bodies with each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSum {
    /// The body.
    pub body: u32,
    /// The other body or obstacle, obstacles numbered after bodies; all of them if none. The body
    /// itself: contacts among its own parts, whose forces add up to nothing.
    pub with: Option<u32>,
    /// Summed quantity.
    pub what: Resultant,
}

/// Quantity summed over contacts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resultant {
    /// The force on the body [N].
    Force(Axis),
    /// Of it, friction [N].
    Friction(Axis),
    /// Sum of the magnitudes of the normal forces [N].
    Normal,
    /// The torque on the body about the world's origin [N·m].
    Torque(Axis),
    /// Number of contacts with a force.
    Count,
}

impl ContactSum {
    fn measure(&self, contacts: &[ContactOutcome]) -> f64 {
        let mut vector = Vec3::zeros();
        let mut scalar = 0.0;
        // A contact of a body with itself moves nothing as a whole, and counts only on request: half on
        // each of its sides.
        let own = self.with == Some(self.body);
        let share = if own { 0.5 } else { 1.0 };
        for c in contacts.iter().filter(|c| own == (c.pair[0] == c.pair[1])) {
            let sides = [(c.pair[0], c.pair[1], 1.0), (c.pair[1], c.pair[0], -1.0)];
            for (body, other, sign) in sides {
                if body != self.body || self.with.is_some_and(|w| w != other) {
                    continue;
                }
                match self.what {
                    Resultant::Force(_) => vector += c.force() * sign,
                    Resultant::Friction(_) => vector += c.tangential_force * sign,
                    Resultant::Torque(_) => vector += c.point.cross(&c.force()) * sign,
                    Resultant::Normal => scalar += share * c.normal_force.abs(),
                    Resultant::Count => {
                        scalar += share * f64::from(c.state != ContactState::Open);
                    }
                }
            }
        }
        match self.what {
            Resultant::Force(a) | Resultant::Friction(a) | Resultant::Torque(a) => a.of(&vector),
            Resultant::Normal | Resultant::Count => scalar,
        }
    }
}

impl Quantity {
    /// Its unit, as written at axes; empty for plain numbers.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Position(..)
            | Self::Displacement(..)
            | Self::Distance(..)
            | Self::Centroid(..)
            | Self::Travel(..)
            | Self::Radius(..)
            | Self::RelativePosition(..)
            | Self::Extent(..) => "m",
            Self::Velocity(..)
            | Self::CentroidVelocity(..)
            | Self::RelativeVelocity(..)
            | Self::Speed(_) => "m/s",
            Self::Angle(..) => "°",
            Self::AngularVelocity(..) => "°/s",
            Self::Volume(_) | Self::EnclosedVolume(_) => "m³",
            Self::Area(_) => "m²",
            Self::Kinetic(_)
            | Self::Elastic(_)
            | Self::Potential(_)
            | Self::Energy(_)
            | Self::ContactWork => "J",
            Self::Momentum(..) => "kg·m/s",
            Self::AngularMomentum(..) | Self::Spin(..) => "kg·m²/s",
            Self::Tension(_) => "N",
            Self::Pressure(_) => "Pa",
            Self::Contact(sum) => match sum.what {
                Resultant::Force(_) | Resultant::Friction(_) | Resultant::Normal => "N",
                Resultant::Torque(_) => "N·m",
                Resultant::Count => "",
            },
        }
    }

    /// Whether it needs the contacts of the step.
    pub fn needs_contacts(&self) -> bool {
        matches!(self, Self::Contact(_))
    }

    /// The number after a step with the given certificate, if one was taken, and the number before it:
    /// work adds up, and angles go on over full turns.
    pub fn follow(
        &self,
        model: &Model,
        state: &State,
        contacts: &[ContactOutcome],
        certificate: Option<&Certificate>,
        previous: Option<f64>,
    ) -> f64 {
        let now = self.measure(model, state, contacts);
        match (self, previous) {
            (Self::ContactWork, _) => {
                previous.unwrap_or(0.0) + certificate.map_or(0.0, |c| c.contact_work)
            }
            (Self::Angle(..), Some(previous)) => now + 360.0 * ((previous - now) / 360.0).round(),
            _ => now,
        }
    }

    /// The number in the given state, with the contacts of the step that led to it if
    /// `needs_contacts`. Of what goes on from step to step ([`Quantity::follow`]) it is the beginning:
    /// no work, and an angle from −180° to 180°.
    pub fn measure(&self, model: &Model, state: &State, contacts: &[ContactOutcome]) -> f64 {
        let chosen = |body: &Option<usize>| chosen(model, *body);
        let at = |point: &usize| model.points[*point].position(state);
        match self {
            Self::Position(p, axis) => axis.of(&at(p)),
            Self::Displacement(p, start, axis) => axis.of(&(at(p) - start)),
            Self::Velocity(p, axis) => axis.of(&model.points[*p].velocity(state)),
            Self::Distance(a, b) => (at(a) - at(b)).norm(),
            Self::Centroid(body, axis) => axis.of(&centroid(&chosen(body), state)),
            Self::CentroidVelocity(body, axis) => {
                let bodies = chosen(body);
                let mass: f64 = bodies.iter().map(|b| b.total_mass()).sum();
                let p: Vec3 = bodies.iter().map(|b| momentum(b, state)).sum();
                axis.of(&(p / mass))
            }
            Self::Travel(body, start) => (centroid(&chosen(body), state) - start).norm(),
            Self::Radius(body, point, axis) => {
                (centroid(&chosen(body), state) - point).cross(axis).norm()
            }
            Self::Extent(body, axis, end) => {
                let (lo, hi) = extent(&model.bodies[*body], state, axis);
                match end {
                    ExtentEnd::Min => lo,
                    ExtentEnd::Max => hi,
                    ExtentEnd::Size => hi - lo,
                }
            }
            Self::Volume(body) => over_triangles(&model.bodies[*body], state, |a, b, c| {
                a.dot(&b.cross(c)) / 6.0
            }),
            Self::Area(body) => over_triangles(&model.bodies[*body], state, |a, b, c| {
                0.5 * (b - a).cross(&(c - a)).norm()
            }),
            Self::Kinetic(body) => chosen(body).iter().map(|b| kinetic_energy(b, state)).sum(),
            Self::Elastic(body) => elastic(model, state, &chosen(body), body.is_none()),
            Self::Potential(body) => chosen(body)
                .iter()
                .map(|b| potential_energy(model, b, state))
                .sum(),
            Self::Energy(body) => {
                let bodies = chosen(body);
                bodies
                    .iter()
                    .map(|b| kinetic_energy(b, state) + potential_energy(model, b, state))
                    .sum::<f64>()
                    + elastic(model, state, &bodies, body.is_none())
            }
            Self::Momentum(body, axis) => {
                axis.of(&chosen(body).iter().map(|b| momentum(b, state)).sum())
            }
            Self::AngularMomentum(body, axis) => axis.of(&chosen(body)
                .iter()
                .map(|b| angular_momentum(b, state))
                .sum()),
            Self::Spin(body, axis) => {
                let bodies = chosen(body);
                let about: Vec3 = bodies.iter().map(|b| angular_momentum(b, state)).sum();
                let p: Vec3 = bodies.iter().map(|b| momentum(b, state)).sum();
                axis.of(&(about - centroid(&bodies, state).cross(&p)))
            }
            Self::AngularVelocity(body, axis) => {
                let spin = state.v[model.bodies[*body].blocks.start + 1];
                axis.of(&spin.map(f64::to_degrees))
            }
            Self::Angle(body, start, axis) => {
                let Some(rigid) = model.bodies[*body].kind.as_rigid() else {
                    return f64::NAN;
                };
                let turn = state.rotations[rigid.index] * start.inverse();
                let half = atan2(turn.imag().dot(axis), turn.w);
                // Quaternions of either sign mean the same turn.
                let angle = 2.0 * half.to_degrees();
                angle - 360.0 * (angle / 360.0).round()
            }
            Self::RelativePosition(a, b, axis) => {
                axis.of(&(a.motion(model, state)[0] - b.motion(model, state)[0]))
            }
            Self::RelativeVelocity(a, b, axis) => {
                axis.of(&(a.motion(model, state)[1] - b.motion(model, state)[1]))
            }
            Self::ContactWork => 0.0,
            Self::Tension(a) => {
                let spring = &model.attachments[*a];
                let d = spring.difference_in(state);
                spring.stiffness * (d.norm() - spring.length)
            }
            Self::EnclosedVolume(volume) => model.volumes[*volume].measure(&state.x),
            Self::Pressure(volume) => {
                let volume = &model.volumes[*volume];
                volume.pressure(volume.measure(&state.x))
            }
            Self::Contact(sum) => sum.measure(contacts),
            Self::Speed(body) => {
                let body = &model.bodies[*body];
                let mut fastest = 0.0;
                for_each_point(body, state, |_, v, _| fastest = v.norm().max(fastest));
                if body.kind.as_rigid().is_some() {
                    let mut velocities = Vec::with_capacity(body.surface.len());
                    body.surface.velocities(state, &mut velocities);
                    // Speed is convex over a rigid body: largest at a vertex of its surface.
                    let surface = velocities.iter().map(Vec3::norm).fold(0.0, f64::max);
                    fastest = surface.max(fastest);
                }
                fastest
            }
        }
    }
}

/// The centre of mass of the given bodies [m].
pub fn centroid(bodies: &[&Body], state: &State) -> Vec3 {
    let mut sum = Vec3::zeros();
    let mut mass = 0.0;
    for body in bodies {
        for_each_point(body, state, |x, _, m| sum += x * m);
        mass += body.total_mass();
    }
    sum / mass
}

fn elastic(model: &Model, state: &State, bodies: &[&Body], with_attachments: bool) -> f64 {
    let inner: f64 = bodies.iter().map(|b| elastic_energy(b, state)).sum();
    if !with_attachments {
        return inner;
    }
    inner + attachment_energy(model, state) + volume_energy(model, state)
}

fn surface_positions(body: &Body, state: &State) -> Vec<Vec3> {
    let mut out = Vec::with_capacity(body.surface.len());
    body.vertices(state, &mut out);
    out
}

pub(crate) fn extent(body: &Body, state: &State, axis: &Vec3) -> (f64, f64) {
    surface_positions(body, state)
        .iter()
        .map(|p| p.dot(axis))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), s| {
            (lo.min(s), hi.max(s))
        })
}

fn over_triangles(body: &Body, state: &State, f: impl Fn(&Vec3, &Vec3, &Vec3) -> f64) -> f64 {
    let p = surface_positions(body, state);
    body.surface
        .triangles
        .iter()
        .map(|t| f(&p[t[0] as usize], &p[t[1] as usize], &p[t[2] as usize]))
        .sum()
}
