//! Rods split off the rest of a step, for integrators that alternate between a linear system and small
//! problems of single elements: see [`Split`](crate::Split) [narain2016], [daviet2020, Sect. 6.1].
//!
//! Energies of rods depend on edges e = x₊ − x₋, so copies are edges, not nodes. Every edge has a copy z
//! for stretching, every inner vertex copies (z_a, z_b) of its two edges for bending and twist, each
//! with the force (unscaled multiplier) y that holds it to the rod. One iteration does
//!
//! ```text
//! x ← argmin  (inertia, contact) + Σ ½ ‖D x − z + L⁻¹ y‖²_L      one linear system
//! z ← argmin  E(z) + ½ ‖z − (D x + L⁻¹ y)‖²_L                    3 or 6 unknowns each
//! y ← y + L (D x − z)
//! ```
//!
//! **Metric.** L is the same for all directions: the matrix of a rod is a pentadiagonal matrix of
//! scalars times the identity of space, three numbers per vertex. That of bending is as stiff as the
//! rod, (b/l̄ᵢ) (|z_b/l_b − z_a/l_a|² + ν |z_a/l_a|² + ν |z_b/l_b|²), whose second part holds what
//! bending leaves free. That of stretching is min(E A/l̄, c n² m/h²) with n the vertices of the rod, m the
//! mass of the edge and h the step: with all of E A/l̄, edges that turn would have to wait for their
//! copies for thousands of iterations; with less, loads would take as many to go along the rod.
//!
//! **Local problems** of vertices are not solved but improved by one step of Newton's method from their last
//! copies. Where the loop ends they are solved as well: nothing changes there only if no step is left.
//!
//! **Frames** are transported from the start of the step as everywhere, at the twists that minimise the
//! energy there: θ lags behind x by one step. Both halves of a step then only lower the energy, and rest
//! is the same as with any other integrator; before that there is an error of first order in the step.
//!
//! **Rest.** Where a step begins within the tolerance of the loop, the loop ends after one iteration, which
//! does not damp rounding: it grows until it reaches the tolerance, and a rod at rest moves by some hundred
//! times the tolerance in all.
//!
//! **Memory** per vertex: 168 bytes here, 24 of the matrix and 24 of its factor.
//!
//! **Deviations.** The paper says tridiagonal; with bending it is pentadiagonal here, at the same cost for
//! all practical purposes. Damping in proportion to stiffness is part of the local problems, by the
//! change of the strains over the step: E(z) + (β/2h) Σ K (s(z) − s(xᵗ))², which is
//! ½ K (1 + β/h) (s − s*)² with s* between the natural strain and that at the start of the step.

use stiction_math::{Mat3, MatrixPart, Vec3};

use super::{
    RodStart, Rods, Strand,
    frames::reference_twist,
    strain::{Edge, strains},
};

/// ν, the fraction of the bending stiffness for modes without bending energy.
const FREE: f64 = 0.25;
/// c: with (2/π)², the metric of the slowest stretching mode of a rod equals its inertia.
const ALONG: f64 = 0.4;
/// Steps below this fraction of an edge, small rotations, are taken without a line search.
const SAFE: f64 = 0.05;
/// Rods per task.
const CHUNK: usize = 16;

/// The copies and forces of one edge and of the vertex where it begins.
#[derive(Clone, Copy, Debug, Default)]
struct Element {
    /// The copy of the edge for stretching [m] and its force [N].
    stretch: [Vec3; 2],
    /// The copies of the edge before and of this one for bending [m].
    bend: [Vec3; 2],
    /// Their forces [N].
    moment: [Vec3; 2],
    /// s*: κ₁, κ₂, τ.
    target: [f64; 3],
}

/// The elements of all rods of a body with their copies and forces.
#[derive(Clone, Debug, Default)]
pub struct RodSplit {
    /// One per edge; the first one of a rod has no vertex.
    elements: Vec<Element>,
    /// The step [s].
    h: f64,
    /// Factor of stiffness due to damping: 1 + β/h.
    stiffer: f64,
}

/// The metric of the two edges at a vertex: [[a, −c], [−c, b]] [N/m].
#[derive(Clone, Copy)]
struct Metric {
    a: f64,
    b: f64,
    c: f64,
}

impl Metric {
    fn apply(&self, y: &[Vec3; 2]) -> [Vec3; 2] {
        [y[0] * self.a - y[1] * self.c, y[1] * self.b - y[0] * self.c]
    }

    fn solve(&self, f: &[Vec3; 2]) -> [Vec3; 2] {
        let d = 1.0 / (self.a * self.b - self.c * self.c);
        [
            (f[0] * self.b + f[1] * self.c) * d,
            (f[1] * self.a + f[0] * self.c) * d,
        ]
    }
}

impl RodSplit {
    /// Elements of `rods` at rest and without forces.
    pub fn new(rods: &Rods) -> Self {
        Self {
            elements: vec![Element::default(); rods.length.len()],
            h: 1.0,
            stiffer: 1.0,
        }
    }

    /// Prepares a step of `h` [s] from `at`: copies are those of the guess `x` [m], forces are
    /// kept. `damping` is β [s].
    pub fn begin(&mut self, rods: &Rods, at: &RodStart, x: &[Vec3], h: f64, damping: f64) {
        self.h = h;
        let lag = damping / h;
        self.stiffer = 1.0 + lag;
        let of = |strand: Strand, elements: &mut [Element], _: &mut [Vec3]| {
            let mut before: Option<Edge> = None;
            for (e, element) in elements.iter_mut().enumerate() {
                let i = strand.block + e;
                element.stretch[0] = x[i + 1] - x[i];
                let edge = rods.edge(strand, e, at.x, at);
                if let Some(a) = &before {
                    element.bend = [x[i] - x[i - 1], x[i + 1] - x[i]];
                    let natural = rods.natural[strand.edge + e];
                    let now = rods.strains_at(strand, e, a, &edge, at);
                    element.target =
                        std::array::from_fn(|k| (natural[k] + lag * now[k]) / (1.0 + lag));
                }
                before = Some(edge);
            }
            0.0
        };
        walk(rods, &mut self.elements, &mut [], &of);
    }

    /// Adds t Σ Dᵀ L D, and the mass matrix times `mass`, to a part of scalars or of bands.
    pub fn add_matrix(&self, rods: &Rods, t: f64, mass: f64, part: &mut MatrixPart) {
        match part {
            MatrixPart::Scalar(a) => {
                for (row, m) in a.rows_mut().iter_mut().zip(&rods.mass) {
                    row[2] += mass * m.x;
                }
                let rows = a.rows_mut();
                for s in 0..rods.len() {
                    let strand = rods.strand(s);
                    for e in 0..strand.n - 1 {
                        let i = strand.block + e;
                        let w = t * self.stretch(rods, strand, e);
                        rows[i][2] += w;
                        rows[i + 1][2] += w;
                        rows[i + 1][1] -= w;
                        if e > 0 {
                            let [m00, m01, m02, m11, m12, m22] = self.nodes(rods, strand, e);
                            rows[i - 1][2] += t * m00;
                            rows[i][1] += t * m01;
                            rows[i + 1][0] += t * m02;
                            rows[i][2] += t * m11;
                            rows[i + 1][1] += t * m12;
                            rows[i + 1][2] += t * m22;
                        }
                    }
                }
            }
            MatrixPart::Banded(a) => a.for_each_group(|mut group| {
                for lane in 0..group.matrices().len() {
                    let strand = rods.strand(group.matrices()[lane] as usize);
                    rods.add_mass(strand, mass, lane, &mut group);
                    for e in 0..strand.n - 1 {
                        let w = t * self.stretch(rods, strand, e);
                        group.add_local(lane, 3 * e, &in_space::<6>(&[w, -w, 0.0, w, 0.0, 0.0]));
                        if e > 0 {
                            let m = self.nodes(rods, strand, e).map(|m| t * m);
                            group.add_local(lane, 3 * (e - 1), &in_space::<9>(&m));
                        }
                    }
                }
            }),
            // Rods have no other parts.
            MatrixPart::Sparse(_) | MatrixPart::Dense(_) => {}
        }
    }

    /// g ← g + s Σ Dᵀ (L (D x − z) + y) [N times s].
    pub fn add_gradient(&mut self, rods: &Rods, x: &[Vec3], s: f64, g: &mut [Vec3]) {
        let this = Self {
            elements: Vec::new(),
            ..*self
        };
        let of = |strand: Strand, elements: &mut [Element], g: &mut [Vec3]| {
            for (e, element) in elements.iter().enumerate() {
                let i = strand.block + e;
                let edge = x[i + 1] - x[i];
                let w = this.stretch(rods, strand, e);
                let pull = ((edge - element.stretch[0]) * w + element.stretch[1]) * s;
                g[e] -= pull;
                g[e + 1] += pull;
                if e > 0 {
                    let off = [x[i] - x[i - 1] - element.bend[0], edge - element.bend[1]];
                    let f = this.metric(rods, strand, e).apply(&off);
                    let f = [0, 1].map(|k| (f[k] + element.moment[k]) * s);
                    spread(e, &f, g);
                }
            }
            0.0
        };
        walk(rods, &mut self.elements, g, &of);
    }

    /// The local steps at positions `x` [m]: new copies and forces, and their change, f ← f + s Σ
    /// Dᵀ Δ(L z − y). Returns the largest ‖D x − z‖ of an edge [m].
    pub fn update(
        &mut self,
        rods: &Rods,
        at: &RodStart,
        x: &[Vec3],
        s: f64,
        f: &mut [Vec3],
    ) -> f64 {
        let this = Self {
            elements: Vec::new(),
            ..*self
        };
        let of = |strand: Strand, elements: &mut [Element], f: &mut [Vec3]| {
            let mut unmet: f64 = 0.0;
            for (e, element) in elements.iter_mut().enumerate() {
                let i = strand.block + e;
                let edge = x[i + 1] - x[i];
                unmet = unmet.max(this.step_stretch(rods, strand, e, at, &edge, element, s, f));
                if e > 0 {
                    let edges = [x[i] - x[i - 1], edge];
                    unmet = unmet.max(this.step_bend(rods, strand, e, at, &edges, element, s, f));
                }
            }
            unmet
        };
        walk(rods, &mut self.elements, f, &of)
    }

    /// The forces of all elements, three per edge [N]: the state that persists between steps.
    pub fn forces(&self) -> Vec<Vec3> {
        let of = |e: &Element| [e.stretch[1], e.moment[0], e.moment[1]];
        self.elements.iter().flat_map(of).collect()
    }

    /// Restores the result of `forces`; a list of another length is ignored.
    pub fn set_forces(&mut self, forces: &[Vec3]) {
        if forces.len() == 3 * self.elements.len() {
            for (e, f) in self.elements.iter_mut().zip(forces.as_chunks::<3>().0) {
                (e.stretch[1], e.moment) = (f[0], [f[1], f[2]]);
            }
        }
    }

    /// The stiffness of an edge against stretching, damping included [N/m].
    fn stiffness(&self, rods: &Rods, strand: Strand, e: usize) -> f64 {
        rods.section.stretch * self.stiffer / rods.length[strand.edge + e]
    }

    /// L of stretching [N/m].
    fn stretch(&self, rods: &Rods, strand: Strand, e: usize) -> f64 {
        let mass = rods.section.mass * rods.length[strand.edge + e];
        let n = strand.n as f64;
        let most = ALONG * n * n * mass / (self.h * self.h);
        self.stiffness(rods, strand, e).min(most)
    }

    /// L of bending.
    fn metric(&self, rods: &Rods, strand: Strand, e: usize) -> Metric {
        let i = strand.edge + e;
        let (la, lb) = (rods.length[i - 1], rods.length[i]);
        let bend = &rods.section.bend;
        let b = self.stiffer * (bend[0] + bend[1]) / (la + lb);
        Metric {
            a: (1.0 + FREE) * b / (la * la),
            b: (1.0 + FREE) * b / (lb * lb),
            c: b / (la * lb),
        }
    }

    /// Dᵀ L D of bending over three nodes: entries 00, 01, 02, 11, 12, 22 [N/m].
    fn nodes(&self, rods: &Rods, strand: Strand, e: usize) -> [f64; 6] {
        let Metric { a, b, c } = self.metric(rods, strand, e);
        [a, -a - c, c, a + b + 2.0 * c, -b - c, b]
    }

    fn step_stretch(
        &self,
        rods: &Rods,
        strand: Strand,
        e: usize,
        at: &RodStart,
        edge: &Vec3,
        element: &mut Element,
        s: f64,
        f: &mut [Vec3],
    ) -> f64 {
        let i = strand.block + e;
        let rest = rods.length[strand.edge + e];
        let start = (at.x[i + 1] - at.x[i]).norm();
        let natural = (rest + (self.stiffer - 1.0) * start) / self.stiffer;
        let (k, w) = (
            self.stiffness(rods, strand, e),
            self.stretch(rods, strand, e),
        );
        let [z, y] = element.stretch;
        let target = edge + y / w;
        let length = target.norm();
        if length > 1e-9 * rest {
            element.stretch[0] = target * ((k * natural + w * length) / ((k + w) * length));
        }
        let off = edge - element.stretch[0];
        element.stretch[1] = y + off * w;
        let change = ((element.stretch[0] - z) * w - (element.stretch[1] - y)) * s;
        f[e] -= change;
        f[e + 1] += change;
        off.norm()
    }

    fn step_bend(
        &self,
        rods: &Rods,
        strand: Strand,
        e: usize,
        at: &RodStart,
        edges: &[Vec3; 2],
        element: &mut Element,
        s: f64,
        f: &mut [Vec3],
    ) -> f64 {
        let metric = self.metric(rods, strand, e);
        let shift = metric.solve(&element.moment);
        let target = [edges[0] + shift[0], edges[1] + shift[1]];
        let (z, y) = (element.bend, element.moment);
        let vertex = Vertex {
            rods,
            strand,
            e,
            at,
            stiffness: rods.stiffness(strand.edge + e).map(|k| k * self.stiffer),
            natural: element.target,
            metric,
        };
        element.bend = vertex.proximal(&target, z);
        let off = [edges[0] - element.bend[0], edges[1] - element.bend[1]];
        let force = metric.apply(&off);
        let moved = metric.apply(&[element.bend[0] - z[0], element.bend[1] - z[1]]);
        element.moment = [y[0] + force[0], y[1] + force[1]];
        spread(e, &[0, 1].map(|k| (moved[k] - force[k]) * s), f);
        off[0].norm().max(off[1].norm())
    }
}

/// The local problem of a vertex.
struct Vertex<'a> {
    rods: &'a Rods,
    strand: Strand,
    e: usize,
    at: &'a RodStart<'a>,
    stiffness: [f64; 3],
    natural: [f64; 3],
    metric: Metric,
}

impl Vertex<'_> {
    fn edges(&self, z: &[Vec3; 2]) -> [Edge; 2] {
        let edge = |e: usize, z: Vec3| self.rods.edge_along(self.strand, e, z, self.at);
        [edge(self.e - 1, z[0]), edge(self.e, z[1])]
    }

    fn quadratic(&self, z: &[Vec3; 2], target: &[Vec3; 2]) -> (f64, [Vec3; 2]) {
        let off = [z[0] - target[0], z[1] - target[1]];
        let force = self.metric.apply(&off);
        (0.5 * (off[0].dot(&force[0]) + off[1].dot(&force[1])), force)
    }

    fn energy(&self, strain: &[f64; 3]) -> f64 {
        let one = |k: usize| {
            let s = strain[k] - self.natural[k];
            0.5 * self.stiffness[k] * s * s
        };
        (0..3).map(one).sum()
    }

    fn objective(&self, z: &[Vec3; 2], target: &[Vec3; 2]) -> f64 {
        let [a, b] = self.edges(z);
        let strain = self.rods.strains_at(self.strand, self.e, &a, &b, self.at);
        self.energy(&strain) + self.quadratic(z, target).0
    }

    /// One step of Gauss and Newton from `z` towards argmin E(z) + ½ ‖z − target‖²_L. Its Hessian is L
    /// and three strains: H⁻¹ = L⁻¹ − L⁻¹ Jᵀ (K⁻¹ + J L⁻¹ Jᵀ)⁻¹ J L⁻¹.
    fn proximal(&self, target: &[Vec3; 2], z: [Vec3; 2]) -> [Vec3; 2] {
        let [a, b] = self.edges(&z);
        let strain = strains(&a, &b);
        let [k1, k2] = strain.curvature;
        let now = [
            k1,
            k2,
            self.rods.twist_at(self.strand, self.e, &a, &b, self.at),
        ];
        let rows = strain
            .jacobian
            .map(|j| [Vec3::new(j[0], j[1], j[2]), Vec3::new(j[3], j[4], j[5])]);
        let (quadratic, mut g) = self.quadratic(&z, target);
        for (k, row) in rows.iter().enumerate() {
            let moment = self.stiffness[k] * (now[k] - self.natural[k]);
            g = [g[0] + row[0] * moment, g[1] + row[1] * moment];
        }
        let y = self.metric.solve(&g);
        let softened = rows.map(|row| self.metric.solve(&row));
        let dot = |a: &[Vec3; 2], b: &[Vec3; 2]| a[0].dot(&b[0]) + a[1].dot(&b[1]);
        let mut small = Mat3::from_fn(|r, c| dot(&rows[r], &softened[c]));
        for k in 0..3 {
            small[(k, k)] += 1.0 / self.stiffness[k];
        }
        let Some(inverse) = small.try_inverse() else {
            return z;
        };
        let q = inverse * Vec3::from_fn(|k, _| dot(&rows[k], &y));
        let mut step = y;
        for k in 0..3 {
            step = [
                step[0] - softened[k][0] * q[k],
                step[1] - softened[k][1] * q[k],
            ];
        }
        let moved = |t: f64| [z[0] - step[0] * t, z[1] - step[1] * t];
        let length = self.rods.length[self.strand.edge + self.e];
        let size = step[0].norm_squared().max(step[1].norm_squared());
        if size <= (SAFE * length) * (SAFE * length) {
            return moved(1.0);
        }
        let value = self.energy(&now) + quadratic;
        let slope = dot(&g, &step);
        let mut t = 1.0;
        while t > 1e-6 {
            if self.objective(&moved(t), target) <= value - 1e-4 * t * slope {
                return moved(t);
            }
            t *= 0.5;
        }
        z
    }
}

impl Rods {
    /// Edge `e` of a rod if it were along `vector`, at the twist of the start of the step.
    fn edge_along(&self, strand: Strand, e: usize, vector: Vec3, at: &RodStart) -> Edge {
        let first = strand.block + e;
        let t0 = (at.x[first + 1] - at.x[first]).normalize();
        let d0 = at.director[strand.edge + e];
        Edge::new(t0, d0, vector, at.angle[strand.edge + e])
    }

    fn twist_at(&self, strand: Strand, e: usize, a: &Edge, b: &Edge, at: &RodStart) -> f64 {
        let near = at.twist[strand.edge + e];
        b.theta - a.theta + reference_twist((&a.t, &a.d), (&b.t, &b.d), near)
    }

    /// κ₁, κ₂ and τ at the vertex where edge `e` begins.
    fn strains_at(&self, strand: Strand, e: usize, a: &Edge, b: &Edge, at: &RodStart) -> [f64; 3] {
        let [k1, k2] = super::strain::curvature(a, b);
        [k1, k2, self.twist_at(strand, e, a, b, at)]
    }
}

/// Forces on the edges before and after the vertex where edge `e` begins, as forces on its nodes.
fn spread(e: usize, f: &[Vec3; 2], g: &mut [Vec3]) {
    g[e - 1] -= f[0];
    g[e] += f[0] - f[1];
    g[e + 1] += f[1];
}

/// A symmetric matrix over two or three nodes, given as 00, 01, 02, 11, 12, 22, times the identity.
fn in_space<const N: usize>(m: &[f64; 6]) -> [[f64; N]; N] {
    let at = [[0, 1, 2], [1, 3, 4], [2, 4, 5]];
    std::array::from_fn(|r| {
        std::array::from_fn(|c| {
            if r % 3 == c % 3 {
                m[at[r / 3][c / 3]]
            } else {
                0.0
            }
        })
    })
}

/// Calls `f` with every rod, its elements and its blocks of `g` (none if `g` is empty), and gives the
/// largest result. Rods are halved until few are left: in one order for any number of threads.
fn walk(
    rods: &Rods,
    elements: &mut [Element],
    g: &mut [Vec3],
    f: &(impl Fn(Strand, &mut [Element], &mut [Vec3]) -> f64 + Sync),
) -> f64 {
    fn halves(
        rods: &Rods,
        range: (usize, usize),
        elements: &mut [Element],
        g: &mut [Vec3],
        f: &(impl Fn(Strand, &mut [Element], &mut [Vec3]) -> f64 + Sync),
    ) -> f64 {
        let (first, end) = range;
        let blocks = |a: usize, b: usize, g: &[Vec3]| {
            let count = (rods.blocks[b] - rods.blocks[a]) as usize;
            if g.is_empty() { 0 } else { count }
        };
        if end - first <= CHUNK {
            let (mut elements, mut g) = (elements, g);
            let mut largest: f64 = 0.0;
            for s in first..end {
                let strand = rods.strand(s);
                let (mine, rest) = elements.split_at_mut(strand.n - 1);
                let count = blocks(s, s + 1, g);
                let (here, after) = g.split_at_mut(count);
                let found = f(strand, mine, here);
                // `max` would lose a NaN.
                largest = if found > largest || found.is_nan() {
                    found
                } else {
                    largest
                };
                (elements, g) = (rest, after);
            }
            return largest;
        }
        let middle = first.midpoint(end);
        let count = blocks(first, middle, g);
        let edges = rods.strand(middle).edge - rods.strand(first).edge;
        let (left, right) = elements.split_at_mut(edges);
        let (g_left, g_right) = g.split_at_mut(count);
        let (a, b) = rayon::join(
            || halves(rods, (first, middle), left, g_left, f),
            || halves(rods, (middle, end), right, g_right, f),
        );
        if a > b || a.is_nan() { a } else { b }
    }
    halves(rods, (0, rods.len()), elements, g, f)
}
