//! The elastic elements of a model as constraints of an alternating loop [narain2016], beside which
//! contact is one more [daviet2020, Sect. 6.1].

use stiction_bodies::{Body, BodyKind, BodySplit, Model, State, rod::RodSplit};
use stiction_contact::solver::LocalStep;
use stiction_math::Vec3;

use crate::dynamics::Dynamics;

/// The name of the multipliers of a body's term in a checkpoint.
fn column(body: usize, term: usize) -> String {
    format!("multipliers {body}.{term}")
}

/// Whether a column of a checkpoint holds multipliers.
pub(crate) fn is_column(name: &str) -> bool {
    name.starts_with("multipliers ")
}

/// Whether a column of a checkpoint holds multipliers of a body for which `kept` holds.
pub(crate) fn belongs(name: &str, kept: impl Fn(usize) -> bool) -> bool {
    let body = name
        .strip_prefix("multipliers ")
        .and_then(|n| n.split('.').next());
    body.and_then(|b| b.parse().ok()).is_some_and(kept)
}

/// The elastic terms of all bodies, split off.
pub(crate) struct Elements {
    /// By body.
    splits: Vec<BodySplit>,
    /// Scratch: where the nodes are at a velocity [m].
    x: Vec<Vec3>,
}

impl Elements {
    pub fn new(model: &Model) -> Self {
        let split = |body: &Body| match &body.kind {
            BodyKind::Deformable(d) => {
                let terms = d.terms.iter().cloned();
                BodySplit::Terms(terms.map(|t| t.split(body.rest())).collect())
            }
            BodyKind::Rigid(_) => BodySplit::Terms(Vec::new()),
            BodyKind::Rods(rods) => BodySplit::Rods(RodSplit::new(rods)),
        };
        Self {
            splits: model.bodies.iter().map(split).collect(),
            x: Vec::new(),
        }
    }

    pub fn splits_mut(&mut self) -> &mut [BodySplit] {
        &mut self.splits
    }

    /// Prepares a step of `h` from `state` with the guess `v` of its velocity, from the multipliers
    /// `kept` at the end of the last step.
    pub fn begin(
        &mut self,
        model: &Model,
        dynamics: &Dynamics,
        state: &State,
        v: &[Vec3],
        h: f64,
        kept: &[(String, Vec<Vec3>)],
    ) {
        for (name, values) in kept {
            for (b, split) in self.splits.iter_mut().enumerate() {
                match split {
                    BodySplit::Terms(splits) => {
                        for (t, split) in splits.iter_mut().enumerate() {
                            if column(b, t) == *name {
                                split.set_multipliers(values);
                            }
                        }
                    }
                    BodySplit::Rods(split) if column(b, 0) == *name => split.set_forces(values),
                    BodySplit::Rods(_) => {}
                }
            }
        }
        self.x.clear();
        self.x.extend(state.x.iter().zip(v).map(|(x, v)| x + v * h));
        for (body, split) in model.bodies.iter().zip(&mut self.splits) {
            match (split, &body.kind) {
                (BodySplit::Terms(splits), _) => {
                    for split in splits {
                        split.restart(&state.x[body.blocks.clone()]);
                    }
                }
                // Strands swing: they are better guessed by their last velocity.
                (BodySplit::Rods(split), BodyKind::Rods(rods)) => {
                    let start = dynamics.rod_start(body, rods, state);
                    let x = &self.x[body.blocks.clone()];
                    split.begin(rods, &start, x, h, body.damping.stiffness);
                }
                (BodySplit::Rods(_), _) => {}
            }
        }
    }

    /// The multipliers of all elements, as columns of a checkpoint.
    pub fn multipliers(&self) -> impl Iterator<Item = (String, Vec<Vec3>)> + '_ {
        self.splits
            .iter()
            .enumerate()
            .flat_map(|(b, split)| match split {
                BodySplit::Terms(splits) => {
                    let terms = splits.iter().enumerate();
                    terms
                        .map(|(t, s)| (column(b, t), s.multipliers()))
                        .collect()
                }
                BodySplit::Rods(split) => vec![(column(b, 0), split.forces())],
            })
    }

    /// The local steps of a loop over velocities, which are prescribed as in `v` where `fixed`.
    pub fn local_step<'a>(
        &'a mut self,
        (model, state): (&'a Model, &'a State),
        dynamics: &'a Dynamics,
        v: &'a [Vec3],
        h: f64,
    ) -> Elastic<'a> {
        Elastic {
            model,
            state,
            dynamics,
            elements: self,
            prescribed: v,
            h,
        }
    }
}

/// The local steps of the elements.
pub(crate) struct Elastic<'a> {
    model: &'a Model,
    state: &'a State,
    dynamics: &'a Dynamics,
    elements: &'a mut Elements,
    prescribed: &'a [Vec3],
    h: f64,
}

impl LocalStep for Elastic<'_> {
    fn update(&mut self, v: &[Vec3], f: &mut [Vec3]) -> f64 {
        let Self {
            model,
            state,
            dynamics,
            elements,
            prescribed,
            h,
        } = self;
        let Elements { splits, x } = &mut **elements;
        let (fixed, x0) = (dynamics.fixed(), &state.x);
        x.clear();
        x.extend((0..v.len()).map(|i| {
            let v = if fixed[i] { prescribed[i] } else { v[i] };
            x0[i] + v * *h
        }));
        let mut unmet: f64 = 0.0;
        for (body, split) in model.bodies.iter().zip(splits) {
            let range = body.blocks.clone();
            let (x, f) = (&x[range.clone()], &mut f[range]);
            match (split, &body.kind) {
                (BodySplit::Terms(splits), _) => {
                    for split in splits {
                        match split.update(x, *h, f) {
                            Ok(gap) => unmet = unmet.max(gap),
                            Err(_) => return f64::NAN,
                        }
                    }
                }
                (BodySplit::Rods(split), BodyKind::Rods(rods)) => {
                    let start = dynamics.rod_start(body, rods, state);
                    let gap = split.update(rods, &start, x, *h, f);
                    if gap.is_nan() {
                        return gap;
                    }
                    unmet = unmet.max(gap);
                }
                (BodySplit::Rods(_), _) => {}
            }
        }
        for (f, fixed) in f.iter_mut().zip(fixed) {
            if *fixed {
                *f = Vec3::zeros();
            }
        }
        unmet
    }
}
