//! Energy, gradient and Hessian of rods, rod by rod.

use stiction_math::{BandedGroup, BandedMatrices, Vec3};

use crate::elements::Hessian;

use super::{
    RodStart, Rods, Strand, Twist,
    frames::reference_twist,
    strain::{Edge, VARIABLES, curvature, second_derivatives, strains},
    twist::{self, InnerVertex},
    twist_place,
};

/// Rods per task: enough to amortise the overhead of a task.
const CHUNK: usize = 16;
/// Rows of the matrix that a vertex depends on: x, θ, x, θ, x.
const ROWS: usize = 11;
/// Rows of positions.
const VERTEX: [usize; 9] = [0, 1, 2, 4, 5, 6, 8, 9, 10];
/// Rows of positions of an edge: x, θ, x.
const EDGE: [usize; 6] = [0, 1, 2, 4, 5, 6];

/// A matrix of rods.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Matrix {
    /// The second derivative of the energy.
    Hessian(Hessian),
    /// Σ k (∂s/∂x)ᵀ ∂s/∂x over all strains s: zero for rigid motions, whatever the stress, if
    /// twists rotate along. Quasi-static twists do so from step to step only, so that a bent rod
    /// still resists rotation about its own tangent.
    Strain,
}

impl Matrix {
    fn is_full(self) -> bool {
        self == Self::Hessian(Hessian::Full)
    }
}

/// Strains of a vertex beyond the natural ones, times stiffness, and their derivatives by the rows of
/// the matrix.
struct Vertex {
    /// K s of κ₁, κ₂ and τ [N·m].
    moment: [f64; 3],
    /// K of κ₁, κ₂ and τ [N·m].
    stiffness: [f64; 3],
    /// The derivatives of κ₁, κ₂ and τ.
    rows: [[f64; ROWS]; 3],
}

/// Derivatives by (eₐ, e_b, θₐ, θ_b) as derivatives by (x₋, rθₐ, x, rθ_b, x₊).
#[inline]
fn by_rows(j: &[f64; VARIABLES], radius: f64) -> [f64; ROWS] {
    let mut row = [0.0; ROWS];
    for c in 0..3 {
        row[c] = -j[c];
        row[4 + c] = j[c] - j[3 + c];
        row[8 + c] = j[3 + c];
    }
    row[3] = j[6] / radius;
    row[7] = j[7] / radius;
    row
}

impl Rods {
    /// The energy of all rods [J] at the body's blocks `x`.
    pub fn energy(&self, x: &[Vec3], at: &RodStart) -> f64 {
        self.sum(0, self.len(), &|s| {
            let strand = self.strand(s);
            let mut sum = 0.0;
            self.walk(
                strand,
                |i| x[i],
                at,
                |e, edge, before| {
                    let rest = self.length[strand.edge + e];
                    let strain = edge.length / rest - 1.0;
                    sum += 0.5 * self.section.stretch * rest * strain * strain;
                    if let Some(before) = before {
                        sum += self.bend_energy(strand, e, before, edge, at);
                    }
                },
            );
            sum
        })
    }

    /// g += s ∂E/∂x.
    pub fn add_gradient(&self, x: &[Vec3], at: &RodStart, s: f64, g: &mut [Vec3]) {
        self.split(0, self.len(), g, &|strand, g| {
            self.walk(
                strand,
                |i| x[i],
                at,
                |e, edge, before| {
                    let rest = self.length[strand.edge + e];
                    let pull = edge.t * (s * self.section.stretch * (edge.length / rest - 1.0));
                    g[e] -= pull;
                    g[e + 1] += pull;
                    if let Some(before) = before {
                        let vertex = self.vertex(strand, e, before, edge, at);
                        let mut rows = [0.0; ROWS];
                        for (j, f) in vertex.rows.iter().zip(&vertex.moment) {
                            for (r, j) in rows.iter_mut().zip(j) {
                                *r += s * f * j;
                            }
                        }
                        self.add_rows(strand.n, e, &rows, g);
                    }
                },
            );
        });
    }

    /// g += s K v with K the exact or projected Hessian at the body's blocks `x`.
    pub fn add_product(
        &self,
        x: &[Vec3],
        at: &RodStart,
        kind: Hessian,
        s: f64,
        v: &[Vec3],
        g: &mut [Vec3],
    ) {
        self.multiply(|i| x[i], at, Matrix::Hessian(kind), s, v, g);
    }

    /// g += s S v with the stiffness S of all strains at the start of the step: forces that resist the rate
    /// of strain, and no rigid motion.
    pub fn add_damping_product(&self, at: &RodStart, s: f64, v: &[Vec3], g: &mut [Vec3]) {
        self.multiply(|i| at.x[i], at, Matrix::Strain, s, v, g);
    }

    fn multiply(
        &self,
        x: impl Fn(usize) -> Vec3 + Copy + Sync,
        at: &RodStart,
        kind: Matrix,
        s: f64,
        v: &[Vec3],
        g: &mut [Vec3],
    ) {
        self.split(0, self.len(), g, &|strand, g| {
            let v = &v[strand.block..strand.block + g.len()];
            self.walk(strand, x, at, |e, edge, before| {
                let rest = self.length[strand.edge + e];
                let u = v[e + 1] - v[e];
                let (axial, lateral) = self.tension(edge, rest, kind);
                let along = edge.t * edge.t.dot(&u);
                let pull = (along * axial + (u - along) * lateral) * s;
                g[e] -= pull;
                g[e + 1] += pull;
                if let Some(before) = before {
                    let vertex = self.vertex(strand, e, before, edge, at);
                    let v = self.rows_of(strand.n, e, v);
                    let mut rows = [0.0; ROWS];
                    for (j, k) in vertex.rows.iter().zip(&vertex.stiffness) {
                        let rate: f64 = j.iter().zip(&v).map(|(j, v)| j * v).sum();
                        for (r, j) in rows.iter_mut().zip(j) {
                            *r += s * k * rate * j;
                        }
                    }
                    if kind.is_full() {
                        let second = self.second(before, edge, &vertex.moment);
                        for (r, second) in rows.iter_mut().zip(&second) {
                            *r += s * second.iter().zip(&v).map(|(k, v)| k * v).sum::<f64>();
                        }
                    }
                    self.add_rows(strand.n, e, &rows, g);
                }
            });
        });
    }

    /// A += t ∂²E/∂x² + the diagonal `mass` times the mass matrix.
    pub fn add_matrix(
        &self,
        x: &[Vec3],
        at: &RodStart,
        kind: Hessian,
        t: f64,
        mass: f64,
        a: &mut BandedMatrices,
    ) {
        self.assemble(|i| x[i], at, Matrix::Hessian(kind), t, mass, a);
    }

    /// A += t S, see [`Self::add_damping_product`].
    pub fn add_damping_matrix(&self, at: &RodStart, t: f64, a: &mut BandedMatrices) {
        self.assemble(|i| at.x[i], at, Matrix::Strain, t, 0.0, a);
    }

    fn assemble(
        &self,
        x: impl Fn(usize) -> Vec3 + Copy + Sync,
        at: &RodStart,
        kind: Matrix,
        t: f64,
        mass: f64,
        a: &mut BandedMatrices,
    ) {
        a.for_each_group(|mut group| {
            for lane in 0..group.matrices().len() {
                let strand = self.strand(group.matrices()[lane] as usize);
                if mass != 0.0 {
                    self.add_mass(strand, mass, lane, &mut group);
                }
                if t != 0.0 {
                    self.add_stiffness(strand, x, at, kind, t, lane, &mut group);
                }
            }
        });
    }

    pub(super) fn add_mass(&self, strand: Strand, s: f64, lane: usize, group: &mut BandedGroup) {
        for i in 0..strand.n {
            let m = self.mass[strand.block + i] * s;
            if self.twist == Twist::QuasiStatic {
                let local = std::array::from_fn(|r| {
                    std::array::from_fn(|c| if r == c { m[c] } else { 0.0 })
                });
                group.add_local::<3>(lane, 3 * i, &local);
                continue;
            }
            let mut local = [[0.0; 4]; 4];
            for c in 0..3 {
                local[c][c] = m[c];
            }
            // The last node has no edge after it.
            if i + 1 < strand.n {
                let (block, c) = twist_place(strand.n, i);
                local[3][3] = s * self.mass[strand.block + strand.n + block][c];
            }
            group.add_local(lane, 4 * i, &local);
        }
    }

    fn add_stiffness(
        &self,
        strand: Strand,
        x: impl Fn(usize) -> Vec3 + Copy,
        at: &RodStart,
        kind: Matrix,
        t: f64,
        lane: usize,
        group: &mut BandedGroup,
    ) {
        self.walk(strand, x, at, |e, edge, before| {
            let (axial, lateral) = self.tension(edge, self.length[strand.edge + e], kind);
            let mut local = [[0.0; 7]; 7];
            for r in 0..3 {
                for c in 0..3 {
                    let identity = f64::from(u8::from(r == c));
                    let along = edge.t[r] * edge.t[c];
                    let k = t * (axial * along + lateral * (identity - along));
                    local[r][c] = k;
                    local[4 + r][4 + c] = k;
                    local[4 + r][c] = -k;
                }
            }
            self.add_local(lane, e, &local, &EDGE, group);
            let Some(before) = before else { return };
            let vertex = self.vertex(strand, e, before, edge, at);
            let mut local = [[0.0; ROWS]; ROWS];
            for (j, k) in vertex.rows.iter().zip(&vertex.stiffness) {
                for r in 0..ROWS {
                    let left = t * k * j[r];
                    for c in 0..=r {
                        local[r][c] += left * j[c];
                    }
                }
            }
            if kind.is_full() {
                let second = self.second(before, edge, &vertex.moment);
                for c in 0..ROWS {
                    for r in c..ROWS {
                        local[r][c] += t * second[c][r];
                    }
                }
            }
            self.add_local(lane, e - 1, &local, &VERTEX, group);
        });
    }

    /// Second derivatives of the strains at a vertex times its moments, by the rows of the matrix.
    fn second(&self, a: &Edge, b: &Edge, moment: &[f64; 3]) -> [[f64; ROWS]; ROWS] {
        let second = second_derivatives(a, b, moment);
        let half = second.map(|row| by_rows(&row, self.section.radius));
        std::array::from_fn(|c| by_rows(&half.map(|row| row[c]), self.section.radius))
    }

    /// Adds the matrix `local` in the order x θ x … from node `first` on; where twists are no degrees
    /// of freedom, its rows `positions` alone.
    fn add_local<const N: usize, const P: usize>(
        &self,
        lane: usize,
        first: usize,
        local: &[[f64; N]; N],
        positions: &[usize; P],
        group: &mut BandedGroup,
    ) {
        match self.twist {
            Twist::Dynamic => group.add_local(lane, 4 * first, local),
            Twist::QuasiStatic => {
                let part = positions.map(|r| positions.map(|c| local[r][c]));
                group.add_local(lane, 3 * first, &part);
            }
        }
    }

    /// Minimises the energy over the twists `angle` of a rod at the blocks `x`.
    pub(super) fn relax(&self, strand: Strand, x: &[Vec3], at: &RodStart, angle: &mut [f64]) {
        let edges = (0..strand.n - 1).map(|e| self.edge(strand, e, x, at));
        self.relax_edges(strand, &edges.collect::<Vec<_>>(), at, angle);
    }

    /// Like `relax`, with the edges of the rod given; their own twists are not used.
    fn relax_edges(&self, strand: Strand, edges: &[Edge], at: &RodStart, angle: &mut [f64]) {
        let mut places = Vec::with_capacity(strand.n.saturating_sub(2));
        for (e, pair) in edges.windows(2).enumerate() {
            let (a, edge) = (&pair[0], &pair[1]);
            let kb = a.t.cross(&edge.t) * (2.0 / (1.0 + a.t.dot(&edge.t)));
            let i = strand.edge + e + 1;
            places.push(InnerVertex {
                along: [a, edge].map(|e| [kb.dot(&e.d), kb.dot(&e.t.cross(&e.d))]),
                reference: reference_twist((&a.t, &a.d), (&edge.t, &edge.d), at.twist[i]),
                stiffness: self.stiffness(i),
                natural: self.natural[i],
            });
        }
        let held = &at.held[strand.edge..strand.edge + strand.n - 1];
        twist::relax(&places, held, angle);
    }

    /// K of κ₁, κ₂ and τ at the vertex where edge `i` (in the body's numbering) begins [N·m].
    pub(super) fn stiffness(&self, i: usize) -> [f64; 3] {
        let inverse = 2.0 / (self.length[i - 1] + self.length[i]);
        let section = &self.section;
        [section.bend[0], section.bend[1], section.twist].map(|k| k * inverse)
    }

    /// The stiffness of an edge along and across it [N/m].
    fn tension(&self, edge: &Edge, rest: f64, kind: Matrix) -> (f64, f64) {
        let k = self.section.stretch;
        let lateral = k * (1.0 / rest - 1.0 / edge.length);
        match kind {
            Matrix::Strain => (k / rest, 0.0),
            Matrix::Hessian(Hessian::Full) => (k / rest, lateral),
            // For a compressed edge, the magnitude of the negative stiffness limits a kink to about
            // its current angle. With none, a light rod would be thrown aside by its own
            // compression.
            Matrix::Hessian(Hessian::Projected) => (k / rest, lateral.abs()),
        }
    }

    /// Calls `f` with every edge of a rod and the edge before it, twists that are no degrees of freedom
    /// where they minimise the energy.
    #[inline]
    fn walk(
        &self,
        strand: Strand,
        x: impl Fn(usize) -> Vec3 + Copy,
        at: &RodStart,
        mut f: impl FnMut(usize, &Edge, Option<&Edge>),
    ) {
        // Edges of quasi-static twists are computed once.
        if self.twist == Twist::QuasiStatic {
            let edges = (0..strand.n - 1).map(|e| self.edge_with(strand, e, x, at));
            let mut edges: Vec<Edge> = edges.collect();
            let mut angle = at.angle[strand.edge..strand.edge + strand.n - 1].to_vec();
            self.relax_edges(strand, &edges, at, &mut angle);
            for (edge, angle) in edges.iter_mut().zip(angle) {
                edge.theta = angle;
            }
            for (e, edge) in edges.iter().enumerate() {
                f(e, edge, e.checked_sub(1).map(|before| &edges[before]));
            }
            return;
        }
        let mut before: Option<Edge> = None;
        for e in 0..strand.n - 1 {
            let edge = self.edge_with(strand, e, x, at);
            f(e, &edge, before.as_ref());
            before = Some(edge);
        }
    }

    /// K and the strains beyond the natural ones at the vertex where edge `e` begins.
    #[inline]
    fn moments(
        &self,
        strand: Strand,
        e: usize,
        a: &Edge,
        b: &Edge,
        curvature: &[f64; 2],
        at: &RodStart,
    ) -> ([f64; 3], [f64; 3]) {
        let i = strand.edge + e;
        let twist = b.theta - a.theta + reference_twist((&a.t, &a.d), (&b.t, &b.d), at.twist[i]);
        let natural = &self.natural[i];
        (
            self.stiffness(i),
            [
                curvature[0] - natural[0],
                curvature[1] - natural[1],
                twist - natural[2],
            ],
        )
    }

    fn bend_energy(&self, strand: Strand, e: usize, a: &Edge, b: &Edge, at: &RodStart) -> f64 {
        let (k, s) = self.moments(strand, e, a, b, &curvature(a, b), at);
        0.5 * (0..3).map(|i| k[i] * s[i] * s[i]).sum::<f64>()
    }

    fn vertex(&self, strand: Strand, e: usize, a: &Edge, b: &Edge, at: &RodStart) -> Vertex {
        let strain = strains(a, b);
        let (stiffness, s) = self.moments(strand, e, a, b, &strain.curvature, at);
        let moment = std::array::from_fn(|k| stiffness[k] * s[k]);
        Vertex {
            moment,
            stiffness,
            rows: strain.jacobian.map(|j| by_rows(&j, self.section.radius)),
        }
    }

    /// Σ f over rods by recursive halving, in one order for any number of threads.
    fn sum(&self, first: usize, end: usize, f: &(impl Fn(usize) -> f64 + Sync)) -> f64 {
        if end - first <= CHUNK {
            return (first..end).map(f).sum();
        }
        let middle = first.midpoint(end);
        let (a, b) = rayon::join(|| self.sum(first, middle, f), || self.sum(middle, end, f));
        a + b
    }

    /// Calls `f` with every rod and its blocks of `g`.
    fn split(
        &self,
        first: usize,
        end: usize,
        g: &mut [Vec3],
        f: &(impl Fn(Strand, &mut [Vec3]) + Sync),
    ) {
        if end - first <= CHUNK {
            let mut rest = g;
            for s in first..end {
                let count = (self.blocks[s + 1] - self.blocks[s]) as usize;
                let (mine, after) = rest.split_at_mut(count);
                f(self.strand(s), mine);
                rest = after;
            }
            return;
        }
        let middle = first.midpoint(end);
        let (left, right) = g.split_at_mut((self.blocks[middle] - self.blocks[first]) as usize);
        rayon::join(
            || self.split(first, middle, left, f),
            || self.split(middle, end, right, f),
        );
    }
}

impl Rods {
    /// Adds the rows of the vertex where edge `e` begins to the blocks of its rod.
    fn add_rows(&self, n: usize, e: usize, rows: &[f64; ROWS], g: &mut [Vec3]) {
        for i in 0..3 {
            g[e - 1 + i] += Vec3::new(rows[4 * i], rows[4 * i + 1], rows[4 * i + 2]);
        }
        if self.twist == Twist::QuasiStatic {
            return;
        }
        for (i, value) in [(e - 1, rows[3]), (e, rows[7])] {
            let (block, component) = twist_place(n, i);
            g[n + block][component] += value;
        }
    }

    /// The rows of the vertex where edge `e` begins, from the blocks of its rod.
    fn rows_of(&self, n: usize, e: usize, v: &[Vec3]) -> [f64; ROWS] {
        let mut rows = [0.0; ROWS];
        for i in 0..3 {
            rows[4 * i..4 * i + 3].copy_from_slice(v[e - 1 + i].as_slice());
        }
        if self.twist == Twist::QuasiStatic {
            return rows;
        }
        for (i, at) in [(e - 1, 3), (e, 7)] {
            let (block, component) = twist_place(n, i);
            rows[at] = v[n + block][component];
        }
        rows
    }
}
