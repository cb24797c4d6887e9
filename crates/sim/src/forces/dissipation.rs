//! Damping at points: dashpots of attachments and air drag.
//!
//! A point, or a pair of points, with the relative velocity u feels the force −C(u) u. Levers and
//! areas are lagged. Where C itself is lagged as well, the force is the derivative of the
//! dissipation potential ½ uᵀ C u.

use stiction_bodies::{Model, State, Stencil, drag::Drag, surface::vertex_areas};
use stiction_math::{Mat3, Quat, Vec3};

use super::{Change, ForceState, ForceTerm, Rates, TorqueForm};

/// All damped points of a model, with their lagged coefficients.
pub struct Dissipation {
    /// Stencils of the surface vertices of bodies with drag, kept because topology is constant.
    drag: Vec<(usize, Vec<Stencil>)>,
    points: Vec<DampedPoint>,
    /// Orientations that the levers belong to.
    rotations: Vec<Quat>,
    surface_x: Vec<Vec3>,
    surface_v: Vec<Vec3>,
    areas: Vec<Vec3>,
}

struct DampedPoint {
    ends: Ends,
    law: PointLaw,
}

/// The points that a dashpot joins, by index, so that a step copies no stencils.
#[derive(Clone, Copy)]
enum Ends {
    /// A drag point: entry and vertex in `Dissipation::drag`.
    Drag(usize, usize),
    /// An attachment of the model.
    Attachment(usize),
}

enum PointLaw {
    /// C [N·s/m] is lagged, and so is the wind [m/s].
    Linear { c: Mat3, wind: Vec3 },
    /// C depends on u; the area vector [m²] of the vertex is lagged.
    Drag { area: Vec3 },
}

/// The stencils that a damped point depends on, with their signs.
type Signed<'a> = [Option<(&'a Stencil, f64)>; 2];

impl Dissipation {
    /// Workspace for `model`.
    pub fn new(model: &Model) -> Self {
        let bodies = model.bodies.iter().enumerate();
        let dragged = bodies.filter(|(_, b)| b.drag.is_some() && model.air.is_some());
        let stencils = |surface: &stiction_bodies::Surface| {
            let vertices = 0..surface.len();
            vertices.map(|v| surface.stencil(v)).collect()
        };
        Self {
            drag: dragged.map(|(i, b)| (i, stencils(&b.surface))).collect(),
            points: Vec::new(),
            rotations: Vec::new(),
            surface_x: Vec::new(),
            surface_v: Vec::new(),
            areas: Vec::new(),
        }
    }

    /// Takes levers, areas and the stiffness of dashpots from positions `x` [m] and orientations
    /// `rotations`; drag stays a function of the velocity.
    pub fn lag(&mut self, model: &Model, x: &[Vec3], rotations: &[Quat]) {
        self.rotations.clear();
        self.rotations.extend_from_slice(rotations);
        self.points.clear();
        self.lag_dashpots(model, x, None);
        for (entry, (body, stencils)) in self.drag.iter().enumerate() {
            let surface = &model.bodies[*body].surface;
            surface.positions(x, rotations, &mut self.surface_x);
            vertex_areas(&self.surface_x, &surface.triangles, &mut self.areas);
            let areas = self.areas.iter().take(stencils.len()).enumerate();
            self.points.extend(areas.map(|(i, area)| DampedPoint {
                ends: Ends::Drag(entry, i),
                law: PointLaw::Drag { area: *area },
            }));
        }
    }

    /// Takes all coefficients, those of drag included, from `state`, for a step that ends at `end`
    /// [s]: the force then has a dissipation potential.
    pub fn lag_linear(&mut self, model: &Model, state: &State, end: f64) {
        self.rotations.clear();
        self.rotations.extend_from_slice(&state.rotations);
        self.points.clear();
        for (entry, (body, stencils)) in self.drag.iter().enumerate() {
            let body = &model.bodies[*body];
            let (Some(air), Some(drag)) = (&model.air, &body.drag) else {
                continue;
            };
            let surface = &body.surface;
            surface.positions(&state.x, &state.rotations, &mut self.surface_x);
            surface.velocities(state, &mut self.surface_v);
            vertex_areas(&self.surface_x, &surface.triangles, &mut self.areas);
            for i in 0..stencils.len() {
                let wind = air.velocity(&self.surface_x[i], end);
                let c = drag.matrix(air, &self.areas[i], &(self.surface_v[i] - wind));
                if c != Mat3::zeros() {
                    self.points.push(DampedPoint {
                        ends: Ends::Drag(entry, i),
                        law: PointLaw::Linear { c, wind },
                    });
                }
            }
        }
        self.lag_dashpots(model, &state.x, Some([state.time, end]));
    }

    /// `step` is the start and the end of the step [s], over which points of the world move.
    fn lag_dashpots(&mut self, model: &Model, x: &[Vec3], step: Option<[f64; 2]>) {
        for (i, spring) in model.attachments.iter().enumerate() {
            if spring.damping > 0.0 {
                let start = step.map_or(0.0, |[start, _]| start);
                // Where no step is given, a seam that has yet to close is slack.
                let end = step.map_or(f64::NEG_INFINITY, |[_, end]| end);
                let d = spring.difference(x, &self.rotations, start);
                let drive = step.map_or(Vec3::zeros(), |[start, end]| spring.drive(start, end));
                self.points.push(DampedPoint {
                    ends: Ends::Attachment(i),
                    law: PointLaw::Linear {
                        c: spring.dashpot(&d, end),
                        wind: -drive,
                    },
                });
            }
        }
    }

    fn ends<'a>(&'a self, model: &'a Model, ends: Ends) -> Signed<'a> {
        match ends {
            Ends::Drag(entry, i) => [Some((&self.drag[entry].1[i], 1.0)), None],
            Ends::Attachment(i) => {
                let spring = &model.attachments[i];
                [Some((&spring.a, 1.0)), Some((&spring.b, -1.0))]
            }
        }
    }

    /// Σ arm v over the points of a dashpot, from `u` on [m/s].
    fn velocity(&self, ends: &Signed<'_>, v: &[Vec3], mut u: Vec3) -> Vec3 {
        for (stencil, sign) in ends.iter().flatten() {
            stencil.for_each_arm(&self.rotations, |j, arm| {
                u += arm.matrix() * v[j as usize] * *sign;
            });
        }
        u
    }

    /// Calls `f` with every damped point, its ends and its velocity relative to the air.
    fn for_each_point(
        &self,
        model: &Model,
        v: &[Vec3],
        mut f: impl FnMut(&Signed<'_>, &Vec3, &Law<'_>),
    ) {
        for point in &self.points {
            let ends = self.ends(model, point.ends);
            match (&point.law, point.ends) {
                (PointLaw::Linear { c, wind }, _) => {
                    f(&ends, &self.velocity(&ends, v, -wind), &Law::Linear(c));
                }
                (PointLaw::Drag { area }, Ends::Drag(entry, _)) => {
                    let drag = &model.bodies[self.drag[entry].0].drag;
                    let (Some(air), Some(drag)) = (&model.air, drag) else {
                        continue;
                    };
                    let u = self.velocity(&ends, v, Vec3::zeros()) - air.wind;
                    f(&ends, &u, &Law::Drag { drag, air, area });
                }
                (PointLaw::Drag { .. }, Ends::Attachment(_)) => {}
            }
        }
    }
}

/// The law of one point with everything it depends on.
enum Law<'a> {
    Linear(&'a Mat3),
    Drag {
        drag: &'a Drag,
        air: &'a stiction_bodies::drag::Air,
        area: &'a Vec3,
    },
}

impl Law<'_> {
    /// C(u) u [N].
    fn force(&self, u: &Vec3) -> Vec3 {
        match self {
            Self::Linear(c) => *c * u,
            Self::Drag { drag, air, area } => drag.matrix(air, area, u) * u,
        }
    }

    /// Its derivative by u [N·s/m].
    fn derivative(&self, u: &Vec3) -> Mat3 {
        match self {
            Self::Linear(c) => **c,
            Self::Drag { drag, air, area } => drag.derivative(air, area, u),
        }
    }
}

impl ForceTerm for Dissipation {
    fn add_energy(&self, model: &Model, at: ForceState<'_>, s: f64, sum: &mut f64) {
        self.for_each_point(model, at.v, |_, u, law| {
            if let Law::Linear(c) = law {
                *sum += 0.5 * s * u.dot(&(*c * u));
            }
        });
    }

    /// Forces are the same in both forms: levers are lagged, so that rotation vectors turn at the
    /// rate of v.
    fn add_force(
        &self,
        model: &Model,
        at: ForceState<'_>,
        _: TorqueForm<'_>,
        s: f64,
        f: &mut [Vec3],
    ) {
        self.for_each_point(model, at.v, |ends, u, law| {
            let force = law.force(u) * -s;
            for (stencil, sign) in ends.iter().flatten() {
                stencil.for_each_arm(&self.rotations, |i, arm| {
                    f[i as usize] += arm.transpose_mul(&force) * *sign;
                });
            }
        });
    }

    fn for_each_block(
        &self,
        model: &Model,
        at: ForceState<'_>,
        rates: &Rates<'_>,
        sink: &mut dyn FnMut(u32, u32, &Mat3),
    ) {
        self.for_each_point(model, at.v, |ends, u, law| {
            let c = law.derivative(u) * rates.velocity;
            for (stencil, sign) in ends.iter().flatten() {
                stencil.for_each_arm(&self.rotations, |i, arm| {
                    let left = arm.matrix().transpose() * c * *sign;
                    for (other, sign) in ends.iter().flatten() {
                        other.for_each_arm(&self.rotations, |j, arm| {
                            sink(i, j, &(left * arm.matrix() * *sign));
                        });
                    }
                });
            }
        });
    }

    fn add_product(
        &self,
        model: &Model,
        at: ForceState<'_>,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) {
        self.for_each_point(model, at.v, |ends, u, law| {
            let du = self.velocity(ends, change.dv, Vec3::zeros());
            let force = law.derivative(u) * du * -s;
            for (stencil, sign) in ends.iter().flatten() {
                stencil.for_each_arm(&self.rotations, |i, arm| {
                    y[i as usize] += arm.transpose_mul(&force) * *sign;
                });
            }
        });
    }
}
