/// How well a step kept the laws, the same for every method. Zero is perfect for the first five.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Certificate {
    /// Max over contacts of ‖r − P(r − ρ ũ)‖/ρ [m/s]: zero exactly when Signorini's and Coulomb's
    /// laws hold.
    pub residual: f64,
    /// The deepest overlap on the end-of-step geometry [m].
    pub penetration: f64,
    /// Max relative violation of ‖r_T‖ ≤ μ r_N [1].
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
    /// Work of contact over the step [J].
    pub contact_work: f64,
}

impl Certificate {
    /// The names of the fields, in order: the columns of `certificate.csv`.
    pub const FIELDS: [&str; 9] = [
        "residual",
        "penetration",
        "cone",
        "slip_angle",
        "creep",
        "kinetic",
        "elastic",
        "potential",
        "contact_work",
    ];

    /// The fields' values, in the order of `FIELDS`.
    pub fn values(&self) -> [f64; 9] {
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
