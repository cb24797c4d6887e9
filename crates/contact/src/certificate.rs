//! The numbers that say how well a step kept the laws.

/// Accuracy of a step: one definition of every field for all methods. Zero is perfect
/// for all of them but the energies and `contact_work`.
///
/// [`judge`](crate::judge) computes what follows from contacts and what they did: `residual`, `cone`,
/// `slip_angle`, `creep` and `contact_work`; [`certify`](crate::certify) adds `linear`. The rest
/// (`penetration`, `overlap`, `dynamics` and the energies) follows from the state at the end of the
/// step and is added by the simulation, as is `eliminated`, which needs a factor of A.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certificate {
    /// Max over contacts of ‖r − P(r − ρ ũ)‖/ρ [m/s], with ũ = u + μ‖u_T‖ n and P the projection to
    /// the friction cone: zero exactly when Signorini's and Coulomb's laws hold.
    pub residual: f64,
    /// The deepest overlap on the end-of-step geometry [m].
    pub penetration: f64,
    /// Max relative violation of ‖r_T‖ ≤ μ r_N [1]: the distance of r from the cone over ‖r‖.
    pub cone: f64,
    /// Max angle between −r_T and u_T where contacts slide [rad].
    pub slip_angle: f64,
    /// Max ‖u_T‖ over contacts whose force is strictly inside the cone [m/s].
    pub creep: f64,
    /// Kinetic energy [J].
    pub kinetic: f64,
    /// Elastic energy [J].
    pub elastic: f64,
    /// Potential energy [J].
    pub potential: f64,
    /// Work of contact on the bodies over the step, by relative velocity [J]: negative where
    /// friction or an impact takes energy, positive only where penetration is corrected.
    pub contact_work: f64,
    /// The momentum residual: max over blocks of ‖M_jj⁻¹ g_j‖ [m/s], where g is what is left of
    /// Newton's second law at the end of the step, by the nonlinear force models and the rule of
    /// the integrator [N·s]. Angular blocks count with the speed at the radius of gyration.
    pub dynamics: f64,
    /// The deepest overlap as a fraction of the contact distance of the pair [1]: 1 where centrelines,
    /// mid-surfaces or the faces of solids meet, more where they have passed.
    pub overlap: f64,
    /// The residual of the last linearised problem: max over blocks of ‖A_jj⁻¹ (A v − f − Bᵀ r)_j‖
    /// [m/s]. It says how far the contact solver went, not how well the step was solved.
    pub linear: f64,
    /// `residual` of the impulses alone, with velocities eliminated: v* = A⁻¹ (f + Bᵀ r) of the last
    /// linearised problem [m/s], see [`eliminated_residual`](crate::eliminated_residual). None for a
    /// method that solves no friction problem, to which the field does not apply.
    pub eliminated: Option<f64>,
}

impl Certificate {
    /// The names of the fields, in order: the columns of `certificate.csv`.
    pub const FIELDS: [&str; 13] = [
        "residual",
        "penetration",
        "cone",
        "slip_angle",
        "creep",
        "kinetic",
        "elastic",
        "potential",
        "contact_work",
        "dynamics",
        "overlap",
        "linear",
        "eliminated",
    ];

    /// The units of the fields, in the order of `FIELDS`; plain numbers have none.
    pub const UNITS: [&str; 13] = [
        "m/s", "m", "", "rad", "m/s", "J", "J", "J", "J", "m/s", "", "m/s", "m/s",
    ];

    /// The fields' values, in the order of `FIELDS`; none where a field does not apply to the method.
    pub fn values(&self) -> [Option<f64>; 13] {
        let always = [
            self.residual,
            self.penetration,
            self.cone,
            self.slip_angle,
            self.creep,
            self.kinetic,
            self.elastic,
            self.potential,
            self.contact_work,
            self.dynamics,
            self.overlap,
            self.linear,
        ];
        let mut values = [self.eliminated; 13];
        for (value, known) in values.iter_mut().zip(always) {
            *value = Some(known);
        }
        values
    }

    /// The certificate of two substeps in a row: the worse of each field, the energies at the end
    /// and the sum of the work of contact.
    pub fn then(&self, next: &Self) -> Self {
        Self {
            residual: self.residual.max(next.residual),
            penetration: self.penetration.max(next.penetration),
            cone: self.cone.max(next.cone),
            slip_angle: self.slip_angle.max(next.slip_angle),
            creep: self.creep.max(next.creep),
            kinetic: next.kinetic,
            elastic: next.elastic,
            potential: next.potential,
            contact_work: self.contact_work + next.contact_work,
            dynamics: self.dynamics.max(next.dynamics),
            overlap: self.overlap.max(next.overlap),
            linear: self.linear.max(next.linear),
            eliminated: match (self.eliminated, next.eliminated) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            },
        }
    }

    /// Error of a solution of a friction problem [m/s]: the worse of `residual` and `linear`.
    pub fn solution_error(&self) -> f64 {
        self.residual.max(self.linear)
    }

    /// A field by name; none if there is no such field, or if it does not apply to the method.
    pub fn field(&self, name: &str) -> Option<f64> {
        let at = Self::FIELDS.iter().position(|f| *f == name)?;
        self.values()[at]
    }
}
