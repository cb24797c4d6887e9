//! Smooth contacts of a whole scene.

use std::ops::Range;

use stiction_math::{Dual, Mat3, Vec3, Vector, parallel};

use super::config::{FrictionTime, SmoothConfig, SmoothError};
use super::law::{Penalty, SmoothFriction};
use super::rest::Rest;
use super::search::Search;
use super::slopes::{Slopes, Which};
use super::world::{Skin, World};
use crate::detect::{Collider, Laws, PairLaw};
use crate::kinematics::{Along, ContactKinematics, Kept};

/// Contact and friction as smooth forces f(x, v) on blocks, with their derivatives.
///
/// ```text
/// f(x, v) = Σ over pairs   λ ∂d/∂x − Tᵀ c(‖u‖, N) u/‖u‖,     λ = −b′(d),  N = λ‖∂d/∂q‖
/// ```
///
/// A pair is a vertex q of one collider and the potential d = ψ(q) of another. Its use in a step:
///
/// 1. [`find`](Self::find) lists the pairs that may touch. Again whenever
///    [`is_stale`](Self::is_stale): something moved farther than the margin. The
///    list changes f only by missing pairs.
/// 2. With lagged friction, [`lag`](Self::lag), and again between solves.
/// 3. The solver calls [`force`](Self::force), [`product`](Self::product) or
///    [`assemble`](Self::assemble) as often as it likes.
/// 4. At the end, [`deepest`](Self::deepest); if that is below zero,
///    [`raise_stiffness`](Self::raise_stiffness) and solve again [larionov, Sect. IV-D].
/// 5. [`contact_set`](Self::contact_set) for the certificate, and [`relax`](Self::relax).
///
/// # Angular blocks
/// The derivative of a place by the angular block of a rigid body is that by an infinitesimal
/// rotation dθ in the world, R ← exp(dθ) R; the force there is a torque about the centre of mass.
#[derive(Debug)]
pub struct SmoothContacts {
    pub(super) world: World,
    pub(super) config: SmoothConfig,
    /// One law per pair of materials.
    frictions: Vec<SmoothFriction>,
    materials: u32,
    /// κ [N/m].
    pub(super) stiffness: f64,
    pub(super) search: Search,
    pub(super) pairs: Vec<Pair>,
    /// Samples in reach of the pairs, with places of their corners in the pair's vertices.
    pub(super) near: Vec<Near>,
    /// Samples of surfaces that move as a whole.
    pub(super) samples: Vec<u32>,
    /// Vertices of deforming surfaces that take part in the pairs.
    pub(super) vertices: Vec<u32>,
    /// Blocks that take part in pairs with surfaces that move as a whole, sorted within each pair.
    pub(super) blocks: Vec<u32>,
    pub(super) lagged: Option<Lagged>,
    /// Contacts at the start of the step, sorted by their keys.
    pub(super) rests: Vec<Rest>,
    /// Masses of the colliders [kg]; see [`set_masses`](SmoothContacts::set_masses).
    masses: Vec<f64>,
}

/// A query vertex and a surface that it may touch.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub query: u32,
    pub surface: u32,
    pub side: f64,
    pub delta: f64,
    /// By how much less than δ the distance is at which forces begin [m]; see [`Rest`].
    pub rest: f64,
    pub friction: SmoothFriction,
    /// In `near` or in `samples`.
    pub near: Range<usize>,
    pub vertices: Range<usize>,
    pub blocks: Range<usize>,
}

/// A sample in reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub sample: u32,
    pub slots: [u32; 3],
}

/// State at which lagged friction takes its normal forces and directions.
#[derive(Debug)]
pub(super) struct Lagged {
    pub kept: Kept,
    pub stiffness: f64,
}

/// The pair with the smallest clearance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deepest {
    /// Its gap [m].
    pub gap: f64,
    /// Remaining compression [m]; negative if it penetrates. The gap, unless the contact
    /// began closer than δ.
    pub clearance: f64,
    /// Largest possible compression [m]: δ, unless the contact began closer than that.
    pub range: f64,
    /// Its tolerance δ [m].
    pub delta: f64,
    /// The colliders of the vertex and of the surface, by their numbers.
    pub pair: [u32; 2],
}

/// Pairs per parallel task.
const GRAIN: usize = 32;
/// Tasks whose lists exist at the same time.
const BATCH: usize = 64;

impl SmoothContacts {
    /// Contacts between `colliders` with the coefficients of friction of `laws`.
    ///
    /// Every vertex of a body is a query against every other surface, vertices of mesh obstacles
    /// against bodies. Bodies with `self_contact` touch themselves where faces are farther from the
    /// vertex at rest than twice their samples' radius.
    pub fn new(
        colliders: &[Collider],
        laws: &Laws,
        config: SmoothConfig,
    ) -> Result<Self, SmoothError> {
        config.check()?;
        if config.delta.is_none() {
            let thin = colliders
                .iter()
                .position(|c| c.thickness.is_nan() || c.thickness <= 0.0);
            if let Some(collider) = thin {
                let reason = "it has no thickness, and no `delta` is set".into();
                return Err(SmoothError::Collider { collider, reason });
            }
        }
        let materials = laws.count();
        let foreign = colliders.iter().position(|c| c.material >= materials);
        if let Some(collider) = foreign {
            let reason = "its material has no row in the table of laws".into();
            return Err(SmoothError::Collider { collider, reason });
        }
        let mut frictions = Vec::with_capacity((materials as usize).pow(2));
        for first in 0..materials {
            for second in 0..materials {
                frictions.push(friction(
                    first,
                    second,
                    laws.between(first, second),
                    &config,
                )?);
            }
        }
        Ok(Self {
            world: World::new(colliders, &config)?,
            frictions,
            materials,
            stiffness: config.stiffness,
            search: Search::default(),
            pairs: Vec::new(),
            near: Vec::new(),
            samples: Vec::new(),
            vertices: Vec::new(),
            blocks: Vec::new(),
            lagged: None,
            rests: Vec::new(),
            masses: Vec::new(),
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &SmoothConfig {
        &self.config
    }

    /// Sets another friction law for every pair of materials, asked from `law` once per pair.
    pub fn set_friction(
        &mut self,
        mut law: impl FnMut(u32, u32, SmoothFriction) -> SmoothFriction,
    ) {
        for a in 0..self.materials {
            for b in 0..self.materials {
                let at = (a * self.materials + b) as usize;
                self.frictions[at] = law(a.min(b), a.max(b), self.frictions[at]);
            }
        }
        self.pairs.clear();
    }

    /// Sets the masses of the colliders [kg], by which two rigid bodies share the torque that keeps the angular
    /// momentum of a step of backward Euler.
    pub fn set_masses(&mut self, masses: &[f64]) {
        self.masses = masses.to_vec();
    }

    /// The mass of the first of two colliders over the sum of both; one half if none is known.
    pub(super) fn mass_share(&self, first: u32, second: u32) -> f64 {
        let mass = |c: u32| self.masses.get(c as usize).copied().unwrap_or(0.0);
        let (a, b) = (mass(first), mass(second));
        if a + b > 0.0 { a / (a + b) } else { 0.5 }
    }

    pub(super) fn friction(&self, a: u32, b: u32) -> SmoothFriction {
        self.frictions[(a * self.materials + b) as usize]
    }

    /// Fixes the normal forces and directions of lagged friction at the places of `at`; nothing for
    /// implicit friction.
    pub fn lag(&mut self, at: &ContactKinematics) -> Result<(), SmoothError> {
        self.check(at)?;
        if let FrictionTime::Lagged { .. } = self.config.friction {
            let lagged = self.lagged.get_or_insert_with(|| Lagged {
                kept: Kept::default(),
                stiffness: 0.0,
            });
            lagged.kept.set(at);
            lagged.stiffness = self.stiffness;
        }
        Ok(())
    }

    /// out += f(x, v) [N, N·m].
    pub fn force(&self, at: &ContactKinematics, out: &mut [Vec3]) -> Result<(), SmoothError> {
        self.check(at)?;
        self.check_length("out", out.len())?;
        self.check_barrier(at)?;
        self.gather(
            |pair, list| self.forces_of_pair(pair, at, |j, f| list.push((j, f.plain()))),
            |(j, f)| out[j as usize] += f,
        );
        Ok(())
    }

    /// out += ∂f/∂x dx + ∂f/∂v dv, exact to rounding.
    ///
    /// Where friction slides at exactly zero velocity, and at exactly the velocities ε and v_s, the
    /// slope is taken from one side; f itself is continuously differentiable there.
    pub fn product(
        &self,
        at: &ContactKinematics,
        dx: &[Vec3],
        dv: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<(), SmoothError> {
        self.check(at)?;
        for (column, found) in [("dx", dx.len()), ("dv", dv.len()), ("out", out.len())] {
            self.check_length(column, found)?;
        }
        self.check_barrier(at)?;
        let along = Along { at, dx, dv };
        self.gather(
            |pair, list| self.forces_of_pair(pair, &along, |j, f| list.push((j, slope(f)))),
            |(j, f)| out[j as usize] += f,
        );
        Ok(())
    }

    /// The pairs that have a force at `at`, by their places in the list of pairs: all that products
    /// there need to look at.
    pub fn active(&self, at: &ContactKinematics) -> Result<Vec<u32>, SmoothError> {
        self.check(at)?;
        let mut active = Vec::new();
        let mut place = 0;
        self.gather(
            |pair, list| list.push(self.forces_of_pair(pair, at, |_, _| {})),
            |any| {
                active.extend(any.then_some(place));
                place += 1;
            },
        );
        Ok(active)
    }

    /// [`product`](Self::product) of the pairs in `active` alone; those that do not exist are left
    /// out. Barriers are not examined: [`active`](Self::active) pairs have forces.
    pub fn product_of(
        &self,
        active: &[u32],
        at: &ContactKinematics,
        dx: &[Vec3],
        dv: &[Vec3],
        out: &mut [Vec3],
    ) -> Result<(), SmoothError> {
        self.check(at)?;
        for (column, found) in [("dx", dx.len()), ("dv", dv.len()), ("out", out.len())] {
            self.check_length(column, found)?;
        }
        let along = Along { at, dx, dv };
        gather(
            active,
            || (),
            |(), i: &u32, list| {
                if let Some(pair) = self.pairs.get(*i as usize) {
                    self.forces_of_pair(pair, &along, |j, f| list.push((j, slope(f))));
                }
            },
            |(j, f)| out[j as usize] += f,
        );
        Ok(())
    }

    /// Calls `sink` with the 3×3 blocks (row, column, block) of cx ∂f/∂x + cv ∂f/∂v: the columns of
    /// [`product`](Self::product). Not symmetric; a place may come several times; all have their
    /// place in the [`JacobianPattern`](super::JacobianPattern) made at `at`.
    pub fn assemble(
        &self,
        at: &ContactKinematics,
        cx: f64,
        cv: f64,
        mut sink: impl FnMut(u32, u32, Mat3),
    ) -> Result<(), SmoothError> {
        self.check(at)?;
        self.check_barrier(at)?;
        gather(
            &self.pairs,
            Slopes::default,
            |slopes, pair, list| slopes.of_pair(self, pair, at, cx, cv, Which::All, list),
            |(i, j, block)| sink(i, j, block),
        );
        Ok(())
    }

    /// The blocks (row, block) on the diagonal of what [`assemble`](Self::assemble) gives, for less
    /// work: what a preconditioner wants.
    pub fn assemble_diagonal(
        &self,
        at: &ContactKinematics,
        cx: f64,
        cv: f64,
        mut sink: impl FnMut(u32, Mat3),
    ) -> Result<(), SmoothError> {
        self.check(at)?;
        self.check_barrier(at)?;
        gather(
            &self.pairs,
            Slopes::default,
            |slopes, pair, list| slopes.of_pair(self, pair, at, cx, cv, Which::Diagonal, list),
            |(i, _, block)| sink(i, block),
        );
        Ok(())
    }

    /// Whether some pair is with a surface that deforms: its forces depend on so many blocks that
    /// [`assemble`](Self::assemble) once is less work than many a [`product`](Self::product).
    pub fn has_deforming(&self) -> bool {
        let deforms = |p: &Pair| {
            let skin = &self.world.colliders[p.surface as usize].skin;
            matches!(skin, Skin::Deforming(_))
        };
        self.pairs.iter().any(deforms)
    }

    /// Number of pairs in the list.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether no pairs are listed.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// W(x) = Σ b(d) [J]: the energy of the normal forces; infinite where a barrier is crossed.
    pub fn energy(&self, at: &ContactKinematics) -> Result<f64, SmoothError> {
        self.check(at)?;
        let energy = |pair: &Pair| {
            let touch = self.touch(pair, at)?;
            let penalty = self.config.penalty;
            let (x, delta) = pair.at_rest(penalty, touch.gap);
            Some(penalty.energy(x, delta, self.stiffness))
        };
        let mut sum = 0.0;
        self.gather(|pair, list| list.extend(energy(pair)), |e: f64| sum += e);
        Ok(sum)
    }

    /// The pair with the smallest clearance at `at`; none if nothing is in reach.
    pub fn deepest(&self, at: &ContactKinematics) -> Result<Option<Deepest>, SmoothError> {
        self.check(at)?;
        let mut deepest: Option<Deepest> = None;
        self.gather(
            |pair, list| {
                let touch = self.touch(pair, at);
                list.extend(touch.map(|t| Deepest {
                    gap: t.gap,
                    clearance: pair.clearance(self.config.penalty, t.gap),
                    delta: pair.delta,
                    range: pair.range(),
                    pair: self.names(pair),
                }));
            },
            |d: Deepest| {
                if deepest.is_none_or(|old| d.clearance < old.clearance) {
                    deepest = Some(d);
                }
            },
        );
        Ok(deepest)
    }

    /// The contact stiffness κ [N/m].
    pub fn stiffness(&self) -> f64 {
        self.stiffness
    }

    /// Number of contact points of a collider, by its place in the list: its vertices, and points on long
    /// edges and large faces.
    pub fn points_of(&self, collider: usize) -> usize {
        let count = |first: &[u32]| match first.get(collider..collider + 2) {
            Some(range) => (range[1] - range[0]) as usize,
            None => 0,
        };
        count(&self.world.first) + count(&self.world.first_extra)
    }

    /// Sets the value to which [`relax`](Self::relax) sets κ back [N/m].
    pub fn set_base_stiffness(&mut self, kappa: f64) -> Result<(), SmoothError> {
        let now = self.stiffness;
        self.set_stiffness(kappa)?;
        self.config.stiffness = kappa;
        self.stiffness = now;
        Ok(())
    }

    /// Sets κ [N/m], as a resumed run must.
    pub fn set_stiffness(&mut self, kappa: f64) -> Result<(), SmoothError> {
        if !(kappa > 0.0 && kappa.is_finite()) {
            let (name, rule) = ("stiffness", "positive and finite");
            return Err(SmoothError::Setting {
                name,
                value: kappa,
                rule,
            });
        }
        self.stiffness = kappa;
        Ok(())
    }

    /// Raises κ by b′(d)/b′(δ/2) if the deepest gap d is below zero, so that the force found there
    /// appears at half the tolerance; whether it did [larionov, Sect. IV-D]. The step is then to be
    /// solved again. Contacts that were pressed when the step began keep their forces there: see
    /// [`Rest`].
    pub fn raise_stiffness(&mut self, deepest: Option<Deepest>) -> bool {
        match deepest {
            Some(d) if d.clearance < 0.0 => {
                let factor = Penalty::bump(d.clearance, d.range);
                self.stiffness *= factor;
                self.rebase(factor);
                true
            }
            _ => false,
        }
    }

    /// Sets κ back to its first value if nothing is in contact at `at`: while something is, it is
    /// never lowered [larionov, Sect. IV-D].
    pub fn relax(&mut self, at: &ContactKinematics) -> Result<(), SmoothError> {
        if self.stiffness != self.config.stiffness && self.in_contact(at)? == 0 {
            self.stiffness = self.config.stiffness;
        }
        Ok(())
    }

    /// Whether every vertex in reach is outside: where a barrier has a force. A method with barriers
    /// shortens its steps until this holds at their end, besides what continuous collision detection
    /// allows: that keeps meshes apart, this their potentials.
    pub fn is_feasible(&self, at: &ContactKinematics) -> Result<bool, SmoothError> {
        Ok(self.deepest(at)?.is_none_or(|d| d.clearance > 0.0))
    }

    /// Number of pairs with a force at `at`.
    pub fn in_contact(&self, at: &ContactKinematics) -> Result<usize, SmoothError> {
        self.check(at)?;
        let mut count = 0;
        self.gather(
            |pair, list: &mut Vec<()>| {
                let touch = self.touch(pair, at);
                list.extend(touch.filter(|t| t.gap < pair.reach()).map(|_| ()));
            },
            |()| count += 1,
        );
        Ok(count)
    }

    /// Numbers of the two colliders of a pair.
    pub(super) fn names(&self, pair: &Pair) -> [u32; 2] {
        [
            self.world.part_of(pair.query).id,
            self.world.colliders[pair.surface as usize].id,
        ]
    }

    /// Fills lists from pairs in parallel and hands their entries on in the order of the pairs.
    pub(super) fn gather<E: Send, R>(
        &self,
        fill: impl Fn(&Pair, &mut Vec<E>) -> R + Sync,
        take: impl FnMut(E),
    ) {
        gather(&self.pairs, || (), |(), pair, list| fill(pair, list), take);
    }

    pub(super) fn check(&self, at: &ContactKinematics) -> Result<(), SmoothError> {
        self.check_length("x", at.x.len())?;
        self.check_length("v", at.v.len())?;
        let at_least = |column, expected: usize, found: usize| {
            let error = SmoothError::Length {
                column,
                expected,
                found,
            };
            if found < expected { Err(error) } else { Ok(()) }
        };
        at_least("rotations", self.world.rigids, at.rotations.len())?;
        at_least("obstacles", self.world.obstacles, at.obstacles.len())
    }

    fn check_length(&self, column: &'static str, found: usize) -> Result<(), SmoothError> {
        if found < self.world.blocks {
            return Err(SmoothError::Length {
                column,
                expected: self.world.blocks,
                found,
            });
        }
        Ok(())
    }

    /// A barrier has no force inside.
    fn check_barrier(&self, at: &ContactKinematics) -> Result<(), SmoothError> {
        if self.config.penalty != Penalty::Barrier {
            return Ok(());
        }
        let mut crossed = None;
        self.gather(
            |pair, list| {
                let gap = self.touch(pair, at).map(|t| t.gap);
                list.extend(gap.filter(|g| *g <= 0.0).map(|g| (pair.query, g)));
            },
            |found: (u32, f64)| {
                crossed.get_or_insert(found);
            },
        );
        match crossed {
            None => Ok(()),
            Some((query, gap)) => {
                let collider = self.world.owner[query as usize];
                Err(SmoothError::Crossed {
                    collider,
                    vertex: self.world.local(query),
                    gap,
                })
            }
        }
    }
}

/// Fills lists from items in parallel, with memory that each task keeps from item to item, and hands
/// their entries on in the order of the items. Only so many lists exist at a time, because those of
/// blocks are long.
fn gather<P: Sync, S, E: Send, R>(
    items: &[P],
    start: impl Fn() -> S + Sync + Send,
    fill: impl Fn(&mut S, &P, &mut Vec<E>) -> R + Sync,
    mut take: impl FnMut(E),
) {
    for batch in items.chunks(GRAIN * BATCH) {
        let lists = parallel::map_ranges(batch.len(), GRAIN, |range| {
            let (mut kept, mut list) = (start(), Vec::new());
            for item in &batch[range] {
                fill(&mut kept, item, &mut list);
            }
            list
        });
        lists.into_iter().flatten().for_each(&mut take);
    }
}

/// The derivative of a force along the direction.
fn slope(f: Vector<Dual<1>>) -> Vec3 {
    Vec3::new(f.0[0].d[0], f.0[1].d[0], f.0[2].d[0])
}

fn friction(
    first: u32,
    second: u32,
    law: PairLaw,
    config: &SmoothConfig,
) -> Result<SmoothFriction, SmoothError> {
    let unknown = |what| SmoothError::Law {
        first,
        second,
        what,
    };
    if law.cohesion != 0.0 {
        return Err(unknown("cohesion"));
    }
    if law.compliance != 0.0 {
        return Err(unknown("compliance"));
    }
    Ok(SmoothFriction {
        dynamic: law.kinetic.unwrap_or(law.mu),
        stat: law.mu,
        viscous: config.stribeck.viscous,
        speed: config.stribeck.speed,
        epsilon: config.epsilon,
    })
}
