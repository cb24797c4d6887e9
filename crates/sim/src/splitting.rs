//! The elastic elements of a model as constraints of an alternating loop [narain2016], beside which
//! contact is one more [daviet2020, Sect. 6.1].

use std::ops::Range;

use stiction_bodies::{Body, BodyKind, Model, Split, State};
use stiction_math::Vec3;
use stiction_solvers::admm::LocalStep;

/// The name of the multipliers of a body's term in a checkpoint.
fn column(body: usize, term: usize) -> String {
    format!("multipliers {body}.{term}")
}

/// Whether a column of a checkpoint holds multipliers.
pub(crate) fn is_column(name: &str) -> bool {
    name.starts_with("multipliers ")
}

/// The elastic terms of all bodies, split off.
pub(crate) struct Elements {
    /// By body and term.
    splits: Vec<Vec<Box<dyn Split>>>,
    /// The blocks of every body.
    ranges: Vec<Range<usize>>,
    /// Positions at the start of the step [m].
    x: Vec<Vec3>,
}

impl Elements {
    pub fn new(model: &Model) -> Self {
        let split = |body: &Body| match &body.kind {
            BodyKind::Deformable(d) => {
                let terms = d.terms.iter().cloned();
                terms.map(|t| t.split(body.rest())).collect()
            }
            // The method has refused rods.
            BodyKind::Rigid(_) | BodyKind::Rods(_) => Vec::new(),
        };
        Self {
            splits: model.bodies.iter().map(split).collect(),
            ranges: model.bodies.iter().map(|b| b.blocks.clone()).collect(),
            x: Vec::new(),
        }
    }

    pub fn splits(&self) -> &[Vec<Box<dyn Split>>] {
        &self.splits
    }

    /// Makes ready for a step from `state`: multipliers are those of the last step, or those that a
    /// checkpoint gave.
    pub fn begin(&mut self, state: &State, recalled: &mut Vec<(String, Vec<Vec3>)>) {
        for (name, values) in recalled.drain(..) {
            for (b, splits) in self.splits.iter_mut().enumerate() {
                for (t, split) in splits.iter_mut().enumerate() {
                    if column(b, t) == name {
                        split.set_multipliers(&values);
                    }
                }
            }
        }
        self.x.clone_from(&state.x);
        for (range, splits) in self.ranges.iter().zip(&mut self.splits) {
            for split in splits {
                split.restart(&state.x[range.clone()]);
            }
        }
    }

    /// The multipliers of all elements, as columns of a checkpoint.
    pub fn multipliers(&self) -> impl Iterator<Item = (String, Vec<Vec3>)> + '_ {
        self.splits.iter().enumerate().flat_map(|(b, splits)| {
            let terms = splits.iter().enumerate();
            terms.map(move |(t, s)| (column(b, t), s.multipliers()))
        })
    }

    /// The local steps of a loop over velocities, which are prescribed as in `v` where `fixed`.
    pub fn local_step<'a>(&'a mut self, v: &'a [Vec3], fixed: &[bool], h: f64) -> Elastic<'a> {
        Elastic {
            elements: self,
            prescribed: v,
            fixed: fixed.to_vec(),
            h,
            x: Vec::new(),
        }
    }
}

/// The local steps of the elements.
pub(crate) struct Elastic<'a> {
    elements: &'a mut Elements,
    prescribed: &'a [Vec3],
    fixed: Vec<bool>,
    h: f64,
    x: Vec<Vec3>,
}

impl LocalStep for Elastic<'_> {
    fn update(&mut self, v: &[Vec3], f: &mut [Vec3]) -> f64 {
        let Self {
            elements,
            prescribed,
            fixed,
            h,
            x,
        } = self;
        let Elements {
            splits,
            ranges,
            x: x0,
        } = &mut **elements;
        x.clear();
        x.extend((0..v.len()).map(|i| {
            let v = if fixed[i] { prescribed[i] } else { v[i] };
            x0[i] + v * *h
        }));
        let mut unmet: f64 = 0.0;
        for (range, splits) in ranges.iter().zip(splits) {
            for split in splits {
                match split.update(&x[range.clone()], *h, &mut f[range.clone()]) {
                    Ok(gap) => unmet = unmet.max(gap),
                    Err(_) => return f64::NAN,
                }
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
