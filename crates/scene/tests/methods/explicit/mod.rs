//! A method from outside the library: explicit Euler with a linear drag, without contact.
//!
//! v⁺ = (1 − h c) (v + h M⁻¹ f(x + h v)) at the blocks of shells and solids.

use std::borrow::Cow;

use stiction_bodies::Model;
use stiction_math::Vec3;
use stiction_sim::{
    Method, MethodConfig, MethodEntry, Persistent, SolveError, SolveReport, SolvedStep,
    StepContext, Unsupported,
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    keys::{Key, KeyDefault},
    needs::{ModelFeature, needs},
};

const NAME: &str = "explicit";

pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "advances each step explicitly.",
    keys: &[Key::not_negative(
        "slowing",
        "1/s",
        KeyDefault::number(0.0),
        "c: rate at which velocities decay",
    )],
    configure: |keys| {
        let slowing = keys.number("slowing").unwrap_or(0.0);
        Box::new(Config { slowing })
    },
    validation: None,
};

#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// c [1/s].
    pub slowing: f64,
}

impl MethodConfig for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Features::of(&[
            ModelFeature::Shells,
            ModelFeature::Solids,
            ModelFeature::Pins,
        ]))
    }

    fn build(&self, _rules: ContactRules) -> Box<dyn Method> {
        Box::new(Explicit(*self, Vec::new()))
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(*self)
    }
}

/// The settings, and the velocities at which forces were evaluated last.
struct Explicit(Config, Vec<Vec3>);

impl Method for Explicit {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        self.0
            .capabilities()
            .check(self.name(), &needs(model, None))
    }

    fn build(&mut self, step: &mut StepContext<'_>, _v: &mut [Vec3]) -> Result<(), SolveError> {
        step.dynamics.lag(step.model, step.state)?;
        Ok(())
    }

    fn solve(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        self.1 = v.to_vec();
        let mut gradient = vec![Vec3::zeros(); v.len()];
        step.dynamics
            .gradient(step.model, step.state, v, &mut gradient)?;
        let masses = step.model.bodies.iter().flat_map(|b| b.block_masses());
        let fixed = step.dynamics.fixed();
        for (i, mass) in masses.enumerate().filter(|(i, _)| !fixed[*i]) {
            v[i] = (v[i] - gradient[i] / mass) * (1.0 - step.h * self.0.slowing);
        }
        Ok(SolveReport {
            iterations: 1,
            converged: true,
            ..SolveReport::default()
        })
    }
}

impl SolvedStep for Explicit {
    /// M (v⁺ / (1 − h c) − v) + h ∇E(x + h v): the rule of the method itself.
    fn momentum_residual(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
    ) -> Result<Cow<'_, [Vec3]>, SolveError> {
        let mut residual = vec![Vec3::zeros(); v.len()];
        step.dynamics
            .gradient(step.model, step.state, &self.1, &mut residual)?;
        let masses = step.model.bodies.iter().flat_map(|b| b.block_masses());
        let fixed = step.dynamics.fixed();
        for (i, mass) in masses.enumerate().filter(|(i, _)| !fixed[*i]) {
            residual[i] += (v[i] / (1.0 - step.h * self.0.slowing) - self.1[i]) * mass;
        }
        Ok(Cow::Owned(residual))
    }
}

impl Persistent for Explicit {}
