//! The elastic elements of a model as constraints of an alternating loop [narain2016], with
//! contact as one more [daviet2020, Sect. 6.1].

use stiction_bodies::{BodySplit, Model, State};
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
pub(crate) struct SplitElements {
    /// By body.
    splits: Vec<BodySplit>,
    /// Scratch: where the nodes are at a velocity [m].
    x: Vec<Vec3>,
}

impl SplitElements {
    pub fn new(model: &Model) -> Self {
        Self {
            splits: model
                .bodies
                .iter()
                .map(|b| b.kind.mechanics().split())
                .collect(),
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
                for t in (0..split.groups()).filter(|t| column(b, *t) == *name) {
                    split.set_multipliers(t, values);
                }
            }
        }
        self.x.clear();
        self.x.extend(state.x.iter().zip(v).map(|(x, v)| x + v * h));
        for (body, split) in model.bodies.iter().zip(&mut self.splits) {
            let at = dynamics.body_with(body, state, &self.x, v);
            split.begin(&body.kind, &at, h, body.damping.stiffness);
        }
    }

    /// The multipliers of all elements, as columns of a checkpoint.
    pub fn multipliers(&self) -> impl Iterator<Item = (String, Vec<Vec3>)> + '_ {
        let splits = self.splits.iter().enumerate();
        splits.flat_map(|(b, split)| {
            let groups = split.multipliers().into_iter().enumerate();
            groups.map(move |(t, values)| (column(b, t), values))
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
    elements: &'a mut SplitElements,
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
        let SplitElements { splits, x } = &mut **elements;
        let (fixed, x0) = (dynamics.fixed(), &state.x);
        x.clear();
        x.extend((0..v.len()).map(|i| {
            let v = if fixed[i] { prescribed[i] } else { v[i] };
            x0[i] + v * *h
        }));
        let mut unmet: f64 = 0.0;
        for (body, split) in model.bodies.iter().zip(splits) {
            let at = dynamics.body_with(body, state, x, v);
            let gap = split.update(&body.kind, &at, *h, &mut f[body.blocks.clone()]);
            if gap.is_nan() {
                return gap;
            }
            unmet = unmet.max(gap);
        }
        for (f, fixed) in f.iter_mut().zip(fixed) {
            if *fixed {
                *f = Vec3::zeros();
            }
        }
        unmet
    }
}
