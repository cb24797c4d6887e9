//! Smooth contact as the contact of the force-based core: obstacles at the time of the stage, rotation
//! vectors of rigid bodies, steps that a barrier admits.

use stiction_bodies::{Model, State, motion::Pose};
use stiction_contact::{
    ContactSet,
    smooth::{
        self, ContactLoad, JacobianPattern, Penalty, Rest, RigidFrame, SmoothConfig,
        SmoothContacts, SmoothError,
    },
};
use stiction_math::{Mat3, Vec3, reduce};

use super::{
    barrier::{self, BarrierLimits},
    guard::{Configuration, Guard},
};
use crate::{
    colliders::{ContactRules, colliders},
    error::SolveError,
    forces::{Change, ForceState},
    implicit::{Blocks, ContactForces, ContactRates, ContactStage, Trial},
    prescribed::Side,
};

/// The contacts of a model.
pub(super) struct Contacts {
    smooth: SmoothContacts,
    /// Obstacles at the time of the stage.
    frames: Vec<RigidFrame>,
    /// The rigid body of each angular block.
    angular: Vec<Option<usize>>,
    scratch: Vec<Vec3>,
    /// Blocks that contacts have coupled since the last detection.
    pattern: JacobianPattern,
    /// Admissible steps of a barrier.
    guard: Option<Guard>,
    /// Limits of κ in the step, where it adapts as in [li2020].
    limits: Option<BarrierLimits>,
    /// Masses of the bodies [kg], and gravity [m/s²].
    masses: Vec<f64>,
    gravity: Vec3,
    /// Whether velocities are displacements over the step.
    chords: bool,
    /// Length of the step if they are [s], else zero.
    chord: f64,
}

/// Largest number of times that a first guess is shortened for a barrier.
const MOST_SHORTENINGS: i32 = 30;

/// The velocity of an obstacle is a difference over this fraction of the step.
const PART: f64 = 1e-3;

/// Points of a body per point in contact, in the default of κ.
const SHARES: f64 = 4.0;
/// The default of κ of a cubic penalty, in units of m (1/h² + 4 g/δ): what rests is pressed by about a hundredth of δ, and
/// its oscillations are shorter than a step and die at once (measured, see docs/validation.md).
const CUBIC: f64 = 1000.0;
/// The default of κ of a barrier, in the same units.
const BARRIER: f64 = 100.0;
/// The default of κ in a trapezoidal rule, as a fraction of those: there a contact that a step does not resolve gives back
/// up to three times the velocity that it took (see [`Contacts::default_stiffness`]).
const RINGING: f64 = 0.01;

impl Contacts {
    pub fn new(
        model: &Model,
        rules: &ContactRules,
        config: &SmoothConfig,
    ) -> Result<Self, SmoothError> {
        let mut angular = vec![None; model.blocks()];
        for (body, rigid) in model.rigids() {
            angular[body.blocks.start + 1] = Some(rigid.index);
        }
        let masses: Vec<f64> = model
            .bodies
            .iter()
            .map(|b| b.kind.mechanics().total_mass())
            .collect();
        let mut smooth = SmoothContacts::new(&colliders(model, rules), &rules.laws, *config)?;
        smooth.set_masses(&masses);
        Ok(Self {
            smooth,
            frames: Vec::new(),
            scratch: vec![Vec3::zeros(); angular.len()],
            angular,
            pattern: JacobianPattern::default(),
            guard: None,
            limits: None,
            masses,
            gravity: model.gravity,
            chords: false,
            chord: 0.0,
        })
    }

    /// Contacts with the admissible steps that a barrier needs.
    pub fn guarded(
        model: &Model,
        rules: &ContactRules,
        config: &SmoothConfig,
    ) -> Result<Self, SolveError> {
        Ok(Self {
            guard: match config.penalty {
                Penalty::Barrier => Some(Guard::new(model, rules)?),
                _ => None,
            },
            ..Self::new(model, rules, config)?
        })
    }

    fn at<'a>(&'a self, place: ForceState<'a>) -> smooth::ContactKinematics<'a> {
        among(place, &self.frames, self.chord)
    }

    /// Sets whether velocities are displacements over the step, as in one stage of backward Euler.
    pub fn set_chords(&mut self, chords: bool) {
        self.chords = chords;
    }

    /// Whether nothing in reach is inside.
    pub fn is_feasible(&self, place: ForceState<'_>) -> Result<bool, SolveError> {
        Ok(self.smooth.is_feasible(&self.at(place))?)
    }

    /// Number of contacts with a force at `place`.
    pub fn count(&self, place: ForceState<'_>) -> Result<usize, SolveError> {
        Ok(self.smooth.in_contact(&self.at(place))?)
    }

    /// Raises κ if something penetrates at `place`; whether it did.
    pub fn stiffen(&mut self, place: ForceState<'_>) -> Result<bool, SolveError> {
        let deepest = self.smooth.deepest(&self.at(place))?;
        Ok(self.smooth.raise_stiffness(deepest))
    }

    /// Lowers κ again if nothing touches at `place`.
    pub fn relax(&mut self, place: ForceState<'_>) -> Result<(), SolveError> {
        Ok(self.smooth.relax(&among(place, &self.frames, self.chord))?)
    }

    /// The contacts at `place` as the certificate wants them, with their impulses over `h` [s].
    pub fn contact_set(
        &self,
        place: ForceState<'_>,
        h: f64,
        fixed: &[bool],
        set: &mut ContactSet,
        r: &mut Vec<Vec3>,
    ) -> Result<(), SolveError> {
        Ok(self.smooth.contact_set(&self.at(place), h, fixed, set, r)?)
    }

    /// κ [N/m].
    pub fn stiffness(&self) -> f64 {
        self.smooth.stiffness()
    }

    /// κ for steps of `h` [s] unless it is set [N/m]: 1000 m (1/h² + 4 g/δ) of the mean mass m of a contact
    /// point, and 100 m (1/h² + 4 g/δ) for a barrier, which grows by itself.
    ///
    /// With κ = m/h², points of which one in four touches bear the weight of all pressed by √(4 g δ h²/3) or by δ/2, and
    /// swing with periods of many steps before they rest: what lies on a surface falls into it first, without friction
    /// at its load. 1000 times that takes the depth and the period down by factors of 30 and 6.
    ///
    /// In the trapezoidal rule nothing dies. A point that meets a stiff contact at the velocity v, with the fraction s of the
    /// step left, ends that step at the surface with (1 − 2s) v outwards, and the explicit half of the next step adds the same
    /// force once more: it leaves with (3 − 4s) v, on average with more than twice its energy. Only contact that a step
    /// resolves conserves it: there κ is a hundredth of the above, of the body with the lightest points, and grows where
    /// bodies would overlap [larionov, Sect. IV-D].
    pub fn default_stiffness(&self, model: &Model, thickness: f64, h: f64, dies: bool) -> f64 {
        let config = self.smooth.config();
        let (mut mass, mut points, mut lightest) = (0.0, 0, f64::INFINITY);
        for (i, own) in self.masses.iter().enumerate() {
            let count = self.smooth.points_of(i);
            if count > 0 {
                mass += own;
                points += count;
                lightest = lightest.min(own / count as f64);
            }
        }
        let (point, fraction) = match dies {
            true => (mass / points.max(1) as f64, 1.0),
            false => (lightest, RINGING),
        };
        let delta = config.delta.unwrap_or(thickness);
        let weight = SHARES * model.gravity.norm() / delta;
        let factor = match config.penalty {
            Penalty::Cubic => CUBIC,
            Penalty::Barrier => BARRIER,
        };
        let kappa = fraction * factor * point * (1.0 / (h * h) + weight);
        match kappa > 0.0 && kappa.is_finite() {
            true => kappa,
            false => SmoothConfig::default().stiffness,
        }
    }

    /// Sets κ where a step of `h` [s] begins at `state` as [li2020] does it: so that contact forces there balance
    /// what presses on them, `pressing` [N], within limits from masses and sizes.
    pub fn balance(
        &mut self,
        model: &Model,
        state: &State,
        pressing: &[Vec3],
        thickness: f64,
        h: f64,
    ) -> Result<(), SolveError> {
        // Nothing slides where nothing moves: the forces are those of the barrier alone.
        let still = vec![Vec3::zeros(); state.x.len()];
        let at = ForceState {
            v: &still,
            ..ForceState::of(state)
        };
        let mut force = still.clone();
        self.smooth
            .force(&among(at, &self.frames, 0.0), &mut force)?;
        let points: usize = (0..self.masses.len())
            .map(|i| self.smooth.points_of(i))
            .sum();
        let mass = self.masses.iter().sum::<f64>() / points.max(1) as f64;
        let delta = self.smooth.config().delta.unwrap_or(thickness);
        let mut limits = BarrierLimits::new(mass, barrier::diagonal(model, state), delta, h);
        let squared = reduce::dot(&force, &force);
        let now = self.smooth.stiffness();
        let wanted = match squared > 0.0 {
            true => -now * reduce::dot(pressing, &force) / squared,
            false => 0.0,
        };
        self.smooth.set_stiffness(limits.clamp(wanted))?;
        limits.start();
        self.limits = Some(limits);
        Ok(())
    }

    /// Sets κ where nothing has penetrated yet [N/m].
    pub fn set_base_stiffness(&mut self, kappa: f64) -> Result<(), SolveError> {
        Ok(self.smooth.set_base_stiffness(kappa)?)
    }

    /// Sets κ [N/m].
    pub fn set_stiffness(&mut self, kappa: f64) -> Result<(), SolveError> {
        Ok(self.smooth.set_stiffness(kappa)?)
    }

    /// The contacts with which a step ends at `place`.
    pub fn rests(&self, place: ForceState<'_>) -> Result<Vec<Rest>, SolveError> {
        Ok(self.smooth.rests(&self.at(place))?)
    }

    /// Takes them back.
    pub fn set_rests(&mut self, rests: Vec<Rest>) {
        self.smooth.set_rests(rests);
    }

    /// On which sides of sheets vertices are, as columns of a checkpoint.
    pub fn sides(&self) -> &[([u32; 2], f64)] {
        self.smooth.sides()
    }

    /// Takes them back, at the start of a step.
    pub fn set_sides(&mut self, sides: Vec<([u32; 2], f64)>) {
        self.smooth.set_sides(sides);
        self.smooth.begin();
    }
}

impl ContactForces for Contacts {
    fn add(&mut self, at: ForceState<'_>, s: f64, f: &mut [Vec3]) -> Result<(), SolveError> {
        let mut forces = std::mem::take(&mut self.scratch);
        forces.fill(Vec3::zeros());
        let done = self.smooth.force(&self.at(at), &mut forces);
        reduce::axpy(s, &forces, f);
        self.scratch = forces;
        Ok(done?)
    }

    fn cliques(&mut self, at: ForceState<'_>) -> Result<Vec<Vec<u32>>, SolveError> {
        let mut pattern = std::mem::take(&mut self.pattern);
        let made = self.smooth.grow_pattern(&self.at(at), &mut pattern);
        self.pattern = pattern;
        made?;
        Ok(self.pattern.cliques().map(<[u32]>::to_vec).collect())
    }

    fn for_each_block(
        &self,
        at: ForceState<'_>,
        rates: &ContactRates<'_>,
        blocks: Blocks,
        sink: &mut dyn FnMut(usize, usize, &Mat3),
    ) -> Result<(), SolveError> {
        let at = self.at(at);
        let ContactRates {
            a,
            a_contact,
            slip,
            turns,
        } = *rates;
        let mut assemble = |by_position: f64, by_velocity: f64, turns: &[Mat3]| {
            // A rotation vector is not the rotation: its columns are turned.
            let mut take = |i: u32, j: u32, m: Mat3| {
                let turned = self.angular[j as usize].and_then(|rigid| turns.get(rigid));
                let m = turned.map_or(m, |turn| m * turn);
                sink(i as usize, j as usize, &m);
            };
            match blocks {
                Blocks::All => self.smooth.assemble(&at, by_position, by_velocity, take),
                Blocks::Diagonal => {
                    let take = |i: u32, m: Mat3| take(i, i, m);
                    self.smooth
                        .assemble_diagonal(&at, by_position, by_velocity, take)
                }
            }
        };
        if turns.is_empty() {
            assemble(-a_contact * a, -a_contact * slip, &[])?;
            return Ok(());
        }
        assemble(-a_contact * a, 0.0, turns)?;
        assemble(0.0, -a_contact * slip, &[])?;
        Ok(())
    }

    fn active(&self, at: ForceState<'_>) -> Result<Vec<u32>, SolveError> {
        Ok(self.smooth.active(&self.at(at))?)
    }

    fn add_product(
        &self,
        active: &[u32],
        at: ForceState<'_>,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let mut product = vec![Vec3::zeros(); y.len()];
        let Change { dq, dv } = change;
        self.smooth
            .product_of(active, &self.at(at), dq, dv, &mut product)?;
        reduce::axpy(s, &product, y);
        Ok(())
    }

    fn is_dense(&self) -> bool {
        self.smooth.has_deforming()
    }
}

impl ContactStage for Contacts {
    fn place(&mut self, model: &Model, time: f64, h: f64, side: Side) {
        let dt = match side {
            Side::Before if self.chords => h,
            Side::Before => PART * h,
            Side::After => -PART * h,
        };
        self.chord = match side {
            Side::Before if self.chords => h,
            _ => 0.0,
        };
        self.frames.clear();
        self.frames.extend(model.obstacles.iter().map(|o| {
            let now: Pose = o.pose(time);
            RigidFrame::reached(&o.pose(time - dt), &now, dt)
        }));
        self.pattern.clear();
    }

    fn find(&mut self, at: ForceState<'_>, h: f64) -> Result<(), SolveError> {
        self.pattern.clear();
        Ok(self.smooth.find(&among(at, &self.frames, self.chord), h)?)
    }

    fn settle(&mut self, at: ForceState<'_>) -> Result<(), SolveError> {
        let load = ContactLoad {
            masses: &self.masses,
            gravity: self.gravity,
        };
        Ok(self
            .smooth
            .settle(&among(at, &self.frames, self.chord), &load)?)
    }

    fn is_stale(&self, at: ForceState<'_>) -> Result<bool, SolveError> {
        Ok(self.smooth.is_stale(&self.at(at))?)
    }

    /// Doubles κ, up to its limit, where the closest pair is closer than [`barrier::CLOSE`] of the size of the
    /// model and has come closer still [li2020].
    fn accept(&mut self, at: ForceState<'_>) -> Result<bool, SolveError> {
        let Some(limits) = &mut self.limits else {
            return Ok(false);
        };
        let smallest = self.smooth.deepest(&among(at, &self.frames, self.chord))?;
        let gap = smallest.map_or(f64::INFINITY, |d| d.gap);
        let kappa = limits.next(self.smooth.stiffness(), gap);
        let changed = kappa > self.smooth.stiffness();
        if changed {
            self.smooth.set_stiffness(kappa)?;
        }
        Ok(changed)
    }

    /// Takes normal forces and directions of lagged friction.
    fn lag(&mut self, at: ForceState<'_>) -> Result<(), SolveError> {
        Ok(self.smooth.lag(&among(at, &self.frames, self.chord))?)
    }

    /// Shortens the displacement to the first guess until nothing collides along it and nothing in
    /// reach is inside, where a barrier has forces. Prescribed blocks move in any case.
    fn admit(&mut self, trial: Trial<'_>, v: &mut [Vec3]) -> Result<(), SolveError> {
        let Some(mut guard) = self.guard.take() else {
            return Ok(());
        };
        let done = self.hold_back(trial, &mut guard, v);
        self.guard = Some(guard);
        done
    }

    /// The fraction without collisions: 1 without a barrier.
    fn reach(&mut self, trial: Trial<'_>, v: &[Vec3], to: &[Vec3]) -> Result<f64, SolveError> {
        let Some(guard) = &mut self.guard else {
            return Ok(1.0);
        };
        let Trial {
            model,
            prescribed,
            stage,
        } = trial;
        stage.configure(model, prescribed, v);
        let (x, rotations) = (stage.x.clone(), stage.rotations.clone());
        stage.configure(model, prescribed, to);
        let from = Configuration {
            x: &x,
            rotations: &rotations,
        };
        let end = Configuration {
            x: &stage.x,
            rotations: &stage.rotations,
        };
        guard.fraction(model, &from, &end, [stage.time(); 2])
    }
}

impl Contacts {
    fn hold_back(
        &mut self,
        trial: Trial<'_>,
        guard: &mut Guard,
        v: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let Trial {
            model,
            prescribed,
            stage,
        } = trial;
        let stay = stage.stay();
        let mut fraction = 0.0;
        for _ in 0..MOST_SHORTENINGS {
            stage.configure(model, prescribed, v);
            let (x, rotations) = stage.start();
            let from = Configuration { x, rotations };
            let to = Configuration {
                x: &stage.x,
                rotations: &stage.rotations,
            };
            fraction = guard.fraction(model, &from, &to, stage.times)?;
            if fraction >= 1.0 {
                if self.is_stale(stage.place())? {
                    self.find(stage.place(), stage.h)?;
                }
                if self.is_feasible(stage.place())? {
                    return Ok(());
                }
            }
            let keep = fraction.min(0.5);
            for (v, stay) in v.iter_mut().zip(&stay) {
                *v = stay + (*v - stay) * keep;
            }
            prescribed.drive(v);
        }
        let pair = guard.limiting_pair()?;
        Err(SolveError::Passes { fraction, pair })
    }
}

/// `place` among obstacles that stand at `obstacles`, with velocities that are chords of `chord` [s].
fn among<'a>(
    place: ForceState<'a>,
    obstacles: &'a [RigidFrame],
    chord: f64,
) -> smooth::ContactKinematics<'a> {
    smooth::ContactKinematics {
        x: place.x,
        rotations: place.rotations,
        v: place.v,
        obstacles,
        chord,
    }
}
