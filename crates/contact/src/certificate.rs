//! The numbers that say how well a step kept the laws.

/// How well a step kept the laws, the same for every method. Zero is perfect for the first five,
/// for `dynamics` and for `overlap`.
///
/// `certify` computes what follows from a friction problem and its solution: `residual`, `cone`,
/// `slip_angle`, `creep`, `contact_work` and `dynamics`. The caller adds the rest.
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
    /// friction or an impact takes energy, positive only where overlap is pushed out.
    pub contact_work: f64,
    /// Max over blocks of ‖A_jj⁻¹ (A v − f − Bᵀ r)_j‖ [m/s]: how far each block alone would still
    /// have to change its velocity for the impulses to balance.
    pub dynamics: f64,
    /// The deepest overlap as a part of the distance at which the two touch [1]: 1 where middle
    /// lines, middle surfaces or the faces of solids meet, more where they have passed.
    pub overlap: f64,
}

impl Certificate {
    /// The names of the fields, in order: the columns of `certificate.csv`.
    pub const FIELDS: [&str; 11] = [
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
    ];

    /// The units of the fields, in the order of `FIELDS`; plain numbers have none.
    pub const UNITS: [&str; 11] = ["m/s", "m", "", "rad", "m/s", "J", "J", "J", "J", "m/s", ""];

    /// The fields' values, in the order of `FIELDS`.
    pub fn values(&self) -> [f64; 11] {
        [
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
        ]
    }

    /// A field by name.
    pub fn field(&self, name: &str) -> Option<f64> {
        Self::FIELDS
            .iter()
            .position(|f| *f == name)
            .map(|i| self.values()[i])
    }
}
