//! Contacts in columns.

use stiction_math::{Mat3, Vec3};

/// Contacts in the order in which the solver visits them, one column per quantity.
///
/// Row block c of B has the entries `start[c]..start[c + 1]`; entry e is the 3×3 block
///
/// ```text
/// B_ce = weights[e] I − [levers[e]]× + blocks[e]        at block column nodes[e]
/// ```
///
/// so that (B v)_c is the velocity of the first body at the contact less that of the second. A
/// node of a mesh has a weight and no lever; the angular block of a rigid body has a lever ρ and
/// no weight (ω ↦ ω × ρ), with the sign of its side: −ρ on the second body.
///
/// All columns are public: kernels take them as slices. [`ContactSet::push`] keeps them consistent
/// and `FrictionProblem::check` tells if they are not.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactSet {
    /// The first entry of each contact, and the number of entries at the end; one more than there
    /// are contacts.
    pub start: Vec<u32>,
    /// The block of each entry; no block twice in one contact.
    pub nodes: Vec<u32>,
    /// The weight b of each entry [1].
    pub weights: Vec<f64>,
    /// The lever ρ of each entry [m]; empty if no contact has any.
    pub levers: Vec<Vec3>,
    /// Any other part of each entry [1]; empty if no contact has any. Bodies have none; problems
    /// that come from elsewhere, in coordinates of their own, do.
    pub blocks: Vec<Mat3>,
    /// Contact point at the start of the step [m]: the midpoint of the two closest points. The
    /// solution does not depend on it; tables, pictures and torques do.
    pub point: Vec<Vec3>,
    /// Unit normals from the second body to the first.
    pub normal: Vec<Vec3>,
    /// The kinematic part of the relative velocity [m/s]: obstacles, prescribed blocks and
    /// (gap/h) n.
    pub k: Vec<Vec3>,
    /// Coefficients of friction μ [1].
    pub mu: Vec<f64>,
    /// The pull ξ that a contact bears [N·s]: a force times the time step [daviet2020,
    /// Sect. 6.3.1].
    pub cohesion: Vec<f64>,
    /// Normal compliance of a contact [1/kg]: velocity per impulse, that is metres per
    /// newton divided by h² [daviet2020, Sect. 6.3.2].
    pub compliance: Vec<f64>,
    /// The gap at the start of the step [m]. Where a contact was found by its motion, `correction` less the overlap of its
    /// features at the start.
    pub gap: Vec<f64>,
    /// The gap that is in `k` [m], kept for the work of contact: less deep than `gap` by the overlap that the
    /// contact leaves to later steps.
    pub correction: Vec<f64>,
    /// Which features touch, the same in the next step: impulses are carried over by it.
    pub key: Vec<ContactKey>,
    /// The first and the second body or obstacle, by the caller's numbers.
    pub pair: Vec<[u32; 2]>,
}

/// A name of two touching features that lasts from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContactKey {
    /// The feature of the first body.
    pub first: u64,
    /// The feature of the second body.
    pub second: u64,
}

/// One contact without its stencil: the columns of a [`ContactSet`] by the same names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Contact point at the start of the step [m].
    pub point: Vec3,
    /// Unit normal from the second body to the first.
    pub normal: Vec3,
    /// The kinematic part of the relative velocity [m/s], with (gap/h) n.
    pub k: Vec3,
    /// Coefficient of friction [1].
    pub mu: f64,
    /// The pull that it bears [N·s].
    pub cohesion: f64,
    /// Velocity per impulse along the normal [1/kg].
    pub compliance: f64,
    /// The gap at the start of the step [m].
    pub gap: f64,
    /// The gap that is in `k` [m], if that is not all of it.
    pub correction: Option<f64>,
    /// Which features touch.
    pub key: ContactKey,
    /// The two bodies or obstacles.
    pub pair: [u32; 2],
}

/// One entry of B: the block b I − [ρ]× + G at a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StencilEntry {
    /// The block column.
    pub node: u32,
    /// The weight b [1].
    pub weight: f64,
    /// The lever ρ [m].
    pub lever: Vec3,
    /// Any other part G [1]; none for points of bodies.
    pub block: Option<Mat3>,
}

impl Default for Contact {
    /// A frictionless, hard contact with a fixed floor: normal z, nothing else.
    fn default() -> Self {
        Self {
            point: Vec3::zeros(),
            normal: Vec3::z(),
            k: Vec3::zeros(),
            mu: 0.0,
            cohesion: 0.0,
            compliance: 0.0,
            gap: 0.0,
            correction: None,
            key: ContactKey::default(),
            pair: [0, 0],
        }
    }
}

impl Default for ContactSet {
    fn default() -> Self {
        Self {
            start: vec![0],
            nodes: Vec::new(),
            weights: Vec::new(),
            levers: Vec::new(),
            blocks: Vec::new(),
            point: Vec::new(),
            normal: Vec::new(),
            k: Vec::new(),
            mu: Vec::new(),
            cohesion: Vec::new(),
            compliance: Vec::new(),
            gap: Vec::new(),
            correction: Vec::new(),
            key: Vec::new(),
            pair: Vec::new(),
        }
    }
}

impl StencilEntry {
    /// A node with weight b.
    pub fn weight(node: u32, weight: f64) -> Self {
        Self {
            node,
            weight,
            lever: Vec3::zeros(),
            block: None,
        }
    }

    /// The angular block of a rigid body with lever ρ [m].
    pub fn lever(node: u32, lever: Vec3) -> Self {
        Self {
            node,
            weight: 0.0,
            lever,
            block: None,
        }
    }

    /// Any matrix G at a node. What of it is b I − [ρ]× is kept as weight and lever.
    pub fn matrix_at(node: u32, g: Mat3) -> Self {
        let weight = g.trace() / 3.0;
        let lever = Vec3::new(g.m23 - g.m32, g.m31 - g.m13, g.m12 - g.m21) * 0.5;
        let entry = Self {
            node,
            weight,
            lever,
            block: None,
        };
        // Rounding of coordinates that were turned is no reason to leave the fast path.
        if (g - entry.matrix()).amax() <= 1e-15 * g.amax() {
            return entry;
        }
        Self {
            weight: 0.0,
            lever: Vec3::zeros(),
            block: Some(g),
            ..entry
        }
    }

    /// B_ce as a matrix.
    pub fn matrix(&self) -> Mat3 {
        let own = Mat3::from_diagonal_element(self.weight) - self.lever.cross_matrix();
        self.block.map_or(own, |g| own + g)
    }

    /// B_ce v.
    pub fn mul(&self, v: &Vec3) -> Vec3 {
        let own = v * self.weight + v.cross(&self.lever);
        self.block.map_or(own, |g| own + g * v)
    }

    /// B_ceᵀ r.
    pub fn tr_mul(&self, r: &Vec3) -> Vec3 {
        let own = r * self.weight + self.lever.cross(r);
        self.block.map_or(own, |g| own + g.tr_mul(r))
    }

    /// ‖B_ce‖² in the norm of Frobenius.
    pub fn norm_squared(&self) -> f64 {
        match self.block {
            None => 3.0 * self.weight * self.weight + 2.0 * self.lever.norm_squared(),
            Some(_) => self.matrix().norm_squared(),
        }
    }
}

impl ContactSet {
    /// Heap memory in use [bytes].
    pub fn bytes(&self) -> usize {
        let vectors = [&self.levers, &self.point, &self.normal, &self.k];
        let numbers = [
            &self.weights,
            &self.mu,
            &self.cohesion,
            &self.compliance,
            &self.gap,
            &self.correction,
        ];
        vectors.map(|v| size_of_val(&v[..])).iter().sum::<usize>()
            + numbers.map(|v| size_of_val(&v[..])).iter().sum::<usize>()
            + size_of_val(&self.start[..])
            + size_of_val(&self.nodes[..])
            + size_of_val(&self.blocks[..])
            + size_of_val(&self.key[..])
            + size_of_val(&self.pair[..])
    }

    /// Number of contacts.
    pub fn len(&self) -> usize {
        self.normal.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.normal.is_empty()
    }

    /// Removes all contacts and keeps the memory.
    pub fn clear(&mut self) {
        self.start.truncate(1);
        self.nodes.clear();
        self.weights.clear();
        self.levers.clear();
        self.blocks.clear();
        self.point.clear();
        self.normal.clear();
        self.k.clear();
        self.mu.clear();
        self.cohesion.clear();
        self.compliance.clear();
        self.gap.clear();
        self.correction.clear();
        self.key.clear();
        self.pair.clear();
    }

    /// Appends a contact between nodes: pairs of block and weight, positive on the first body and
    /// negative on the second. Blocks that are named twice are merged.
    pub fn push(&mut self, nodes: &[(u32, f64)], contact: Contact) {
        let entries = nodes.iter().map(|&(node, b)| StencilEntry::weight(node, b));
        self.push_entries(entries, contact);
    }

    /// Appends a contact between points of any bodies. Blocks that are named twice are merged.
    pub fn push_entries(
        &mut self,
        entries: impl IntoIterator<Item = StencilEntry>,
        contact: Contact,
    ) {
        let begin = self.nodes.len();
        for entry in entries {
            let found = self.nodes[begin..].iter().position(|&n| n == entry.node);
            let at = match found {
                Some(at) => begin + at,
                None => {
                    self.nodes.push(entry.node);
                    self.weights.push(0.0);
                    if !self.levers.is_empty() {
                        self.levers.push(Vec3::zeros());
                    }
                    if !self.blocks.is_empty() {
                        self.blocks.push(Mat3::zeros());
                    }
                    self.nodes.len() - 1
                }
            };
            self.weights[at] += entry.weight;
            if entry.lever != Vec3::zeros() {
                self.levers.resize(self.nodes.len(), Vec3::zeros());
                self.levers[at] += entry.lever;
            }
            if let Some(block) = entry.block {
                self.blocks.resize(self.nodes.len(), Mat3::zeros());
                self.blocks[at] += block;
            }
        }
        self.start.push(self.nodes.len() as u32);
        self.point.push(contact.point);
        self.normal.push(contact.normal);
        self.k.push(contact.k);
        self.mu.push(contact.mu);
        self.cohesion.push(contact.cohesion);
        self.compliance.push(contact.compliance);
        self.gap.push(contact.gap);
        let correction = contact.correction.unwrap_or(contact.gap);
        self.correction.push(correction);
        self.key.push(contact.key);
        self.pair.push(contact.pair);
    }

    /// Contact `c` without its stencil.
    pub fn contact(&self, c: usize) -> Contact {
        Contact {
            point: self.point[c],
            normal: self.normal[c],
            k: self.k[c],
            mu: self.mu[c],
            cohesion: self.cohesion[c],
            compliance: self.compliance[c],
            gap: self.gap[c],
            correction: Some(self.correction[c]),
            key: self.key[c],
            pair: self.pair[c],
        }
    }

    /// The stencil of contact `c`.
    pub fn entries(&self, c: usize) -> impl ExactSizeIterator<Item = StencilEntry> + '_ {
        (self.start[c] as usize..self.start[c + 1] as usize).map(|e| StencilEntry {
            node: self.nodes[e],
            weight: self.weights[e],
            lever: self.levers.get(e).copied().unwrap_or_default(),
            block: self.blocks.get(e).copied().filter(|g| *g != Mat3::zeros()),
        })
    }

    /// Permutes the contacts: contact `order[i]` becomes the i-th.
    pub fn permuted(&self, order: &[u32]) -> Self {
        let mut set = Self::default();
        for &c in order {
            set.push_entries(self.entries(c as usize), self.contact(c as usize));
        }
        set
    }

    /// (B v)_c [m/s].
    pub fn velocity(&self, c: usize, v: &[Vec3]) -> Vec3 {
        if !self.blocks.is_empty() {
            return self
                .entries(c)
                .fold(Vec3::zeros(), |u, e| u + e.mul(&v[e.node as usize]));
        }
        let range = self.start[c] as usize..self.start[c + 1] as usize;
        let points = self.nodes[range.clone()]
            .iter()
            .zip(&self.weights[range.clone()]);
        match self.levers.get(range) {
            None => points.fold(Vec3::zeros(), |u, (j, b)| u + v[*j as usize] * *b),
            Some(levers) => points
                .zip(levers)
                .fold(Vec3::zeros(), |u, ((j, b), lever)| {
                    let v = &v[*j as usize];
                    u + (v * *b + v.cross(lever))
                }),
        }
    }

    /// The relative velocity u_c = (B v + k + C r)_c [m/s].
    pub fn relative_velocity(&self, c: usize, v: &[Vec3], r: &[Vec3]) -> Vec3 {
        let n = self.normal[c];
        let slack = n * (self.compliance[c] * n.dot(&r[c]));
        self.velocity(c, v) + self.k[c] + slack
    }

    /// u ← B v [m/s], one vector per contact.
    pub fn apply(&self, v: &[Vec3], u: &mut [Vec3]) {
        for (c, u) in u.iter_mut().enumerate() {
            *u = self.velocity(c, v);
        }
    }

    /// y ← y + Bᵀ r [N·s, N·m·s], one vector per block. Contacts are added in their order.
    pub fn add_transpose(&self, r: &[Vec3], y: &mut [Vec3]) {
        for (c, r) in r.iter().enumerate() {
            self.add_transpose_of(c, r, y);
        }
    }

    /// y ← y + B_cᵀ r [N·s, N·m·s] for the impulse `r` of contact `c`.
    pub fn add_transpose_of(&self, c: usize, r: &Vec3, y: &mut [Vec3]) {
        if !self.blocks.is_empty() {
            for e in self.entries(c) {
                y[e.node as usize] += e.tr_mul(r);
            }
            return;
        }
        let range = self.start[c] as usize..self.start[c + 1] as usize;
        let points = self.nodes[range.clone()]
            .iter()
            .zip(&self.weights[range.clone()]);
        match self.levers.get(range) {
            None => points.for_each(|(j, b)| y[*j as usize] += r * *b),
            Some(levers) => points
                .zip(levers)
                .for_each(|((j, b), lever)| y[*j as usize] += r * *b + lever.cross(r)),
        }
    }

    /// The mean diagonal of Σ_j B_cj W⁻¹ B_cjᵀ for a diagonal W with one weight w_j [kg] per
    /// block, Σ_j (b² + ⅔ ‖ρ‖²)/w_j [1/kg] for points of bodies: s_c of [daviet2020, Alg. 3]. Compliance is not in it.
    pub fn scale(&self, c: usize, w: &[f64]) -> f64 {
        self.entries(c).fold(0.0, |s, e| {
            s + e.norm_squared() / (3.0 * w[e.node as usize])
        })
    }

    /// Σ_j B_cj D_j B_cjᵀ [1/kg] for 3×3 blocks D_j, such as inverses of the diagonal blocks of A,
    /// given by `inverse`. Compliance is not in it.
    pub fn local_delassus(&self, c: usize, inverse: impl Fn(usize) -> Mat3) -> Mat3 {
        self.entries(c).fold(Mat3::zeros(), |s, e| {
            let b = e.matrix();
            s + b * inverse(e.node as usize) * b.transpose()
        })
    }
}
