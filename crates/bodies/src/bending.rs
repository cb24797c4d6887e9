//! Bending of thin shells by hinges: the discrete shells of [grinspun2003].
//!
//! Every interior edge is a hinge with the signed angle θ between its two triangles (zero when
//! flat) and
//!
//! E = ½ k (θ − θ̄)²,   k = D ‖ē‖² / (Ā₁ + Ā₂)   [J]
//!
//! where bars denote the rest shape, D [N·m] is the bending rigidity and Ā are the triangle
//! areas. [grinspun2003] leaves the factor of ‖ē‖²/Ā to the user; here it is fixed so that D means
//! what it means for a Kirchhoff plate, D = Eh³/(12(1−ν²)): a sheet bent to a cylinder of radius R
//! stores ½ D/R² per area. This is exact for meshes with rows of edges along the cylinder's axis
//! and for equilateral triangles in every direction. Two limits of hinges are known: the energy of
//! other meshes depends somewhat on the edge directions, and in double curvature the model acts
//! like a plate with Poisson's ratio −1/3 (on equilateral triangles). In equilibrium the vertices of
//! meshes without translational symmetry also shift against one another, which no refinement cures:
//! a wide clamped sheet sinks by 1.00 of the plate's deflection on regular cells, 1.19 on alternating
//! and 1.12 on irregular ones (scene `cantilever-sheet`, by `pattern`).
//!
//! The gradient and the exact Hessian of θ are analytic, in the spirit of [tamstorf2013]: with the
//! weights w = (1−s, s, −1) of a triangle's edge ends and tip (s the foot of the altitude h),
//! d = (−1, 1, 0)/‖e‖, edge direction t, normal n and m = n × t,
//!
//! ∇θ = −Σ w⊗n/h,
//! ∇²θ = Σ [ −αβᵀ − βαᵀ + γηᵀ + ηγᵀ ],  α = w⊗n/h, β = w⊗m/h, γ = d⊗n, η = w⊗t/h − ½ d⊗m,
//!
//! summed over the two triangles. α ⊥ β and γ ⊥ η, so each pair has the eigenvalues ±‖·‖‖·‖.
//!
//! Projected Hessian: Gauss–Newton, k ∇θ ∇θᵀ, equal to the exact one at the rest angle. The dropped
//! part couples bending with stretching in the plane, where the membrane is far stiffer. Adding
//! the positive half of each pair above makes hinges too stiff out of the plane: on buckled sheets
//! (12 × 12 nodes, squeezed by 30 to 40 %, StVK membrane) Newton's method took 242, 211 and 151
//! iterations for D = 10⁻⁵, 10⁻⁴, 10⁻³ N·m with Gauss–Newton, 174, 319 and 266 with the positive
//! halves, and 291, 310 and 290 with the negative eigenvalues of the 12×12 matrix set to zero.
//!
//! Collapsed triangles have no normal and ∇θ grows like 1/h. A hinge therefore fades out while
//! the area of one of its triangles falls from 5 % to 1 % of its rest area: E is multiplied by a
//! C² ramp in the squared area ratio of each triangle, and the derivatives include the ramp. The
//! angle lies in (−π, π]; E is not smooth where a hinge folds flat onto itself (θ = ±π), which
//! contact normally prevents.
//!
//! The rigidity may depend on the curvature ([`BendingTable`]); ½ k (θ − θ̄)² is then ∫ k(τ) τ dτ up to |θ − θ̄|,
//! so that the moment stays k(θ − θ̄) (θ − θ̄), and Gauss–Newton takes the positive part of its slope.
//!
//! **Deviations** from [grinspun2003]: the factor above, rest quantities in the factor throughout,
//! directional rigidity and the fading of collapsed triangles.

use crate::elements::{ElementDerivatives, ElementError, Elements, Hessian, gather_rest};
use crate::hinges::interior_edges;
use crate::membrane::material_frame;
use crate::rigidity::{CURVATURE_STEP, CURVATURES, mean};

pub use crate::rigidity::{BendingRigidity, BendingTable};

use stiction_math::elementary::atan2;
use stiction_math::nalgebra::{SMatrix, SVector};
use stiction_math::{Mat3, Vec2, Vec3};

/// Squared area ratios between which a hinge fades out: 1 % and 5 % of the rest area.
const FADE: [f64; 2] = [1e-4, 25e-4];

/// The nodes of the two triangles of a hinge, each running along the edge, then to the tip.
const SIDES: [[usize; 3]; 2] = [[0, 1, 2], [1, 0, 3]];

/// The hinges of a shell. Nodes of a hinge: the two ends of the edge, then the two tips.
#[derive(Clone, Debug, Default)]
pub struct Hinges {
    nodes: Vec<[u32; 4]>,
    /// k [J] at the rest angle.
    stiffness: Vec<f64>,
    /// Of every hinge k as a function of |θ − θ̄|; none if all are constant.
    curves: Vec<StiffnessCurve>,
    /// θ̄ [rad].
    rest_angles: Vec<f64>,
    /// Squared lengths of the rest normals (2Ā)² [m⁴] of the two triangles.
    rest_squares: Vec<[f64; 2]>,
}

impl Hinges {
    /// One hinge per interior edge, at rest at `positions` [m].
    ///
    /// `warp` gives the material direction as for membranes (see [`material_frame`]); it matters
    /// only if the rigidity depends on the direction, and the two triangles' values are averaged.
    ///
    /// # Errors
    /// If a triangle is malformed or has no area, or more than two triangles share an edge.
    pub fn new(
        positions: &[Vec3],
        triangles: &[[u32; 3]],
        rigidity: BendingRigidity,
        warp: Vec3,
    ) -> Result<Self, ElementError> {
        Self::patched(positions, triangles, |_| rigidity, warp)
    }

    /// Like [`Hinges::new`], with a rigidity for every triangle; a hinge has the mean of its two.
    pub fn patched<R: Into<BendingTable>>(
        positions: &[Vec3],
        triangles: &[[u32; 3]],
        rigidity: impl Fn(usize) -> R,
        warp: Vec3,
    ) -> Result<Self, ElementError> {
        let mut hinges = Self::default();
        for edge in interior_edges(triangles)? {
            let x = gather_rest(edge.triangles[0], &edge.nodes, positions)?;
            let hinge = Hinge::new(&x);
            let mut sides = [[0.0; CURVATURES]; 2];
            for side in 0..2 {
                let twice = hinge.squares[side].sqrt();
                if !(twice > 1e-8 * hinge.length * hinge.length && twice.is_finite()) {
                    return Err(ElementError::Degenerate {
                        element: edge.triangles[side],
                        measure: "area",
                        value: 0.5 * twice,
                    });
                }
                // Bending happens across the edge, so its direction is the in-plane normal.
                let n = hinge.normals[side];
                let [u, v] = material_frame(&n, &warp);
                let across = n.cross(&(x[1] - x[0]));
                let table = rigidity(edge.triangles[side]).into();
                sides[side] = table.along(atan2(across.dot(&v), across.dot(&u)));
            }
            let areas = 0.5 * (hinge.squares[0].sqrt() + hinge.squares[1].sqrt());
            hinges.push(
                edge.nodes,
                mean(&sides).map(|d| d * hinge.length * hinge.length / areas),
                CURVATURE_STEP * 2.0 * areas / hinge.length,
                hinge.angle(),
                hinge.squares,
            );
        }
        Ok(hinges.finished())
    }

    /// Adds a hinge with its stiffnesses [J] at the angles 0, `step`, 2 `step`, … [rad] from rest, its rest
    /// angle and the squared lengths of its rest normals.
    fn push(
        &mut self,
        nodes: [u32; 4],
        k: [f64; CURVATURES],
        step: f64,
        angle: f64,
        rest_squares: [f64; 2],
    ) {
        self.nodes.push(nodes);
        self.stiffness.push(k[0]);
        self.curves.push(StiffnessCurve { k, step });
        self.rest_angles.push(angle);
        self.rest_squares.push(rest_squares);
    }

    /// Drops the curves if all stiffnesses are constant.
    fn finished(mut self) -> Self {
        let constant = |c: &StiffnessCurve| c.k.iter().all(|k| *k == c.k[0]);
        if self.curves.iter().all(constant) {
            self.curves = Vec::new();
        }
        self
    }

    /// Energy [J], moment [N·m] and stiffness [N·m] of hinge `e` at the angle `off` [rad] from rest.
    fn law(&self, e: usize, off: f64) -> [f64; 3] {
        match self.curves.get(e) {
            Some(curve) => curve.law(off),
            None => {
                let k = self.stiffness[e];
                [0.5 * k * off * off, k * off, k]
            }
        }
    }

    /// The hinges of a shell that is cut from flat panels: lengths, areas and directions are those of
    /// the `pattern`, corners of every triangle along warp and weft [m], rest angles those at
    /// `positions`. An edge on a seam, where the pattern has it twice, has the mean of both squared
    /// lengths.
    ///
    /// # Errors
    /// If a triangle is malformed or more than two triangles share an edge.
    pub fn cut<R: Into<BendingTable>>(
        positions: &[Vec3],
        pattern: &[[Vec2; 3]],
        triangles: &[[u32; 3]],
        rigidity: impl Fn(usize) -> R,
    ) -> Result<Self, ElementError> {
        if pattern.len() != triangles.len() {
            return Err(ElementError::Length {
                name: "the pattern",
                got: pattern.len(),
                expected: triangles.len(),
            });
        }
        let mut hinges = Self::default();
        for edge in interior_edges(triangles)? {
            let x = gather_rest(edge.triangles[0], &edge.nodes, positions)?;
            let mut sides = [[0.0; CURVATURES]; 2];
            let (mut square, mut areas) = (0.0, 0.0);
            let squares = [0, 1].map(|side| {
                let t = edge.triangles[side];
                let corner = |node: u32| {
                    let k = triangles[t].iter().position(|n| *n == node).unwrap_or(0);
                    pattern[t][k]
                };
                let along = corner(edge.nodes[1]) - corner(edge.nodes[0]);
                let [a, b, c] = pattern[t];
                let twice = (b - a).perp(&(c - a));
                let across = atan2(along.x, -along.y);
                sides[side] = rigidity(t).into().along(across);
                square += 0.5 * along.norm_squared();
                areas += 0.5 * twice;
                twice * twice
            });
            hinges.push(
                edge.nodes,
                mean(&sides).map(|d| d * square / areas),
                CURVATURE_STEP * 2.0 * areas / square.sqrt(),
                Hinge::new(&x).angle(),
                squares,
            );
        }
        Ok(hinges.finished())
    }

    /// Sets all rest angles to zero: a shell with a flat rest shape.
    pub fn flattened(mut self) -> Self {
        self.rest_angles.fill(0.0);
        self
    }

    /// Rest angles θ̄ [rad].
    pub fn rest_angles(&self) -> &[f64] {
        &self.rest_angles
    }

    /// Stiffnesses k [J] at the rest angles.
    pub fn stiffness(&self) -> &[f64] {
        &self.stiffness
    }

    /// Fading factors of the two triangles with their first and second derivatives by |n|².
    fn fades(&self, e: usize, hinge: &Hinge) -> [[f64; 3]; 2] {
        std::array::from_fn(|side| {
            let rest = self.rest_squares[e][side];
            let [r, dr, ddr] = ramp(hinge.squares[side] / rest);
            [r, dr / rest, ddr / (rest * rest)]
        })
    }
}

impl Elements<4> for Hinges {
    fn nodes(&self) -> &[[u32; 4]] {
        &self.nodes
    }

    fn energy(&self, e: usize, x: &[Vec3; 4]) -> f64 {
        let hinge = Hinge::new(x);
        let fades = self.fades(e, &hinge);
        let factor = fades[0][0] * fades[1][0];
        if factor == 0.0 {
            return 0.0;
        }
        let off = hinge.angle() - self.rest_angles[e];
        self.law(e, off)[0] * factor
    }

    fn gradient(&self, e: usize, x: &[Vec3; 4]) -> [Vec3; 4] {
        let hinge = Hinge::new(x);
        let fades = self.fades(e, &hinge);
        let factor = fades[0][0] * fades[1][0];
        if factor == 0.0 {
            return [Vec3::zeros(); 4];
        }
        let off = hinge.angle() - self.rest_angles[e];
        let [energy, moment, _] = self.law(e, off);
        let mut g = angle_gradient(&hinge.sides(x)).map(|g| g * (moment * factor));
        if factor < 1.0 {
            add_fade_gradient(&mut g, &hinge, x, &fades, energy);
        }
        g
    }

    fn local(&self, e: usize, x: &[Vec3; 4], kind: Hessian) -> ElementDerivatives<4> {
        let hinge = Hinge::new(x);
        let fades = self.fades(e, &hinge);
        let factor = fades[0][0] * fades[1][0];
        if factor == 0.0 {
            return ElementDerivatives {
                energy: 0.0,
                gradient: [Vec3::zeros(); 4],
                hessian: [[Mat3::zeros(); 4]; 4],
            };
        }
        let off = hinge.angle() - self.rest_angles[e];
        let [energy, moment, stiffness] = self.law(e, off);
        let k = match kind {
            Hessian::Full => stiffness,
            Hessian::Projected => stiffness.max(0.0),
        };
        let kf = k * factor;
        let sides = hinge.sides(x);
        let slope = angle_gradient(&sides);
        let mut hessian = [[Mat3::zeros(); 4]; 4];
        for a in 0..4 {
            let scaled = slope[a] * kf;
            for b in a..4 {
                hessian[a][b] = scaled * slope[b].transpose();
            }
        }
        if kind == Hessian::Full {
            for (side, nodes) in sides.iter().zip(&SIDES) {
                side.add_second(nodes, moment * factor, &mut hessian);
            }
        }
        mirror(&mut hessian);
        let mut gradient = slope.map(|g| g * (moment * factor));
        if factor < 1.0 {
            if kind == Hessian::Full {
                add_fade_hessian(&mut hessian, &hinge, x, &fades, &slope, moment, energy);
            }
            add_fade_gradient(&mut gradient, &hinge, x, &fades, energy);
        }
        ElementDerivatives {
            energy: energy * factor,
            gradient,
            hessian,
        }
    }
}

/// The stiffness of a hinge by the size of its angle from rest: linear between equidistant values,
/// constant beyond the last.
#[derive(Clone, Copy, Debug)]
struct StiffnessCurve {
    /// k [J] at 0, `step`, 2 `step`, …
    k: [f64; CURVATURES],
    /// Distance of the values [rad].
    step: f64,
}

impl StiffnessCurve {
    /// ∫ k τ dτ, k(τ) τ and its slope at τ = `off`.
    fn law(&self, off: f64) -> [f64; 3] {
        let size = off.abs();
        let mut energy = 0.0;
        for (i, pair) in self.k.windows(2).enumerate() {
            let start = i as f64 * self.step;
            let slope = (pair[1] - pair[0]) / self.step;
            // k = level + slope τ
            let level = pair[0] - slope * start;
            let up_to = |t: f64| t * t * (0.5 * level + slope * t / 3.0);
            if size <= start + self.step {
                energy += up_to(size) - up_to(start);
                return [
                    energy,
                    (level + slope * size) * off,
                    level + 2.0 * slope * size,
                ];
            }
            energy += up_to(start + self.step) - up_to(start);
        }
        let (last, end) = (self.k[CURVATURES - 1], (CURVATURES - 1) as f64 * self.step);
        energy += 0.5 * last * (size * size - end * end);
        [energy, last * off, last]
    }
}

/// The edge and the two (unnormalised) triangle normals of a hinge.
struct Hinge {
    edge: Vec3,
    length: f64,
    normals: [Vec3; 2],
    /// |n|² [m⁴].
    squares: [f64; 2],
}

impl Hinge {
    fn new(x: &[Vec3; 4]) -> Self {
        let edge = x[1] - x[0];
        let normals = [edge.cross(&(x[2] - x[0])), (x[3] - x[0]).cross(&edge)];
        Self {
            edge,
            length: edge.norm(),
            normals,
            squares: [normals[0].norm_squared(), normals[1].norm_squared()],
        }
    }

    /// θ in (−π, π], positive where the tips rise to the side of the normals.
    fn angle(&self) -> f64 {
        let [n1, n2] = &self.normals;
        atan2(self.edge.dot(&n2.cross(n1)) / self.length, n1.dot(n2))
    }

    fn sides(&self, x: &[Vec3; 4]) -> [Side; 2] {
        let t = self.edge / self.length;
        let side = |i: usize, t: Vec3| {
            let norm = self.squares[i].sqrt();
            let n = self.normals[i] / norm;
            let s = (x[SIDES[i][2]] - x[SIDES[i][0]]).dot(&t) / self.length;
            Side {
                n,
                t,
                inverse_altitude: self.length / norm,
                weights: [1.0 - s, s, -1.0],
                inverse_length: 1.0 / self.length,
            }
        };
        [side(0, t), side(1, -t)]
    }
}

/// One triangle of a hinge, in its own orientation of the edge.
struct Side {
    n: Vec3,
    t: Vec3,
    /// 1/h [1/m].
    inverse_altitude: f64,
    /// w = (1−s, s, −1).
    weights: [f64; 3],
    /// 1/‖e‖ [1/m].
    inverse_length: f64,
}

impl Side {
    /// Adds `scale`·∇²θ of this triangle to the upper block triangle of `h`.
    fn add_second(&self, nodes: &[usize; 3], scale: f64, h: &mut [[Mat3; 4]; 4]) {
        let m = self.n.cross(&self.t);
        let nm = self.n * m.transpose();
        let q = nm + nm.transpose();
        let tn = self.t * self.n.transpose();
        let nt = tn.transpose();
        let d = [-self.inverse_length, self.inverse_length, 0.0];
        let w = self.weights.map(|w| w * self.inverse_altitude);
        for i in 0..3 {
            for j in 0..3 {
                if nodes[i] <= nodes[j] {
                    h[nodes[i]][nodes[j]] += q * (-scale * (w[i] * w[j] + 0.5 * d[i] * d[j]))
                        + tn * (scale * w[i] * d[j])
                        + nt * (scale * d[i] * w[j]);
                }
            }
        }
    }
}

/// ∇θ [1/m].
fn angle_gradient(sides: &[Side; 2]) -> [Vec3; 4] {
    let mut g = [Vec3::zeros(); 4];
    for (side, nodes) in sides.iter().zip(&SIDES) {
        for i in 0..3 {
            g[nodes[i]] -= side.n * (side.weights[i] * side.inverse_altitude);
        }
    }
    g
}

/// Fills the lower block triangle from the upper one.
fn mirror(h: &mut [[Mat3; 4]; 4]) {
    for a in 1..4 {
        for b in 0..a {
            h[a][b] = h[b][a].transpose();
        }
    }
}

/// The fading factor at a squared area ratio, with two derivatives: 0 below, 1 above, a quintic
/// between.
fn ramp(q: f64) -> [f64; 3] {
    let width = FADE[1] - FADE[0];
    let t = (q - FADE[0]) / width;
    if t >= 1.0 {
        [1.0, 0.0, 0.0]
    } else if t > 0.0 {
        [
            t * t * t * (10.0 + t * (6.0 * t - 15.0)),
            30.0 * t * t * (t - 1.0) * (t - 1.0) / width,
            60.0 * t * (t - 1.0) * (2.0 * t - 1.0) / (width * width),
        ]
    } else {
        // Also for NaN ratios, as on a hinge whose edge has no length.
        [0.0; 3]
    }
}

/// Opposite edges p of a triangle's corners: ∂n/∂xₐ·v = pₐ × v.
fn opposite(nodes: &[usize; 3], x: &[Vec3; 4]) -> [Vec3; 3] {
    let [a, b, c] = nodes.map(|i| x[i]);
    [c - b, a - c, b - a]
}

/// The normal of a triangle in the order of `SIDES`.
fn square_gradient(side: usize, hinge: &Hinge, x: &[Vec3; 4]) -> [Vec3; 4] {
    let p = opposite(&SIDES[side], x);
    let mut g = [Vec3::zeros(); 4];
    for i in 0..3 {
        g[SIDES[side][i]] = hinge.normals[side].cross(&p[i]) * 2.0;
    }
    g
}

/// Adds `weight` ∇(r₁r₂).
#[cold]
fn add_fade_gradient(
    g: &mut [Vec3; 4],
    hinge: &Hinge,
    x: &[Vec3; 4],
    fades: &[[f64; 3]; 2],
    weight: f64,
) {
    for side in 0..2 {
        let slope = square_gradient(side, hinge, x);
        for a in 0..4 {
            g[a] += slope[a] * (weight * fades[side][1] * fades[1 - side][0]);
        }
    }
}

/// Adds `tilt` (∇ρ∇θᵀ + ∇θ∇ρᵀ) + `weight` ∇²ρ with ρ = r₁r₂.
#[cold]
fn add_fade_hessian(
    h: &mut [[Mat3; 4]; 4],
    hinge: &Hinge,
    x: &[Vec3; 4],
    fades: &[[f64; 3]; 2],
    angle_slope: &[Vec3; 4],
    tilt: f64,
    weight: f64,
) {
    let flat = |g: &[Vec3; 4]| SVector::<f64, 12>::from_fn(|r, _| g[r / 3][r % 3]);
    let theta = flat(angle_slope);
    let q = [
        flat(&square_gradient(0, hinge, x)),
        flat(&square_gradient(1, hinge, x)),
    ];
    let [r, s] = fades;
    let rho = q[0] * (r[1] * s[0]) + q[1] * (r[0] * s[1]);
    let lean = rho * theta.transpose() * tilt;
    let cross = q[0] * q[1].transpose() * (weight * r[1] * s[1]);
    let half: SMatrix<f64, 12, 12> = lean
        + cross
        + q[0] * q[0].transpose() * (0.5 * weight * r[2] * s[0])
        + q[1] * q[1].transpose() * (0.5 * weight * r[0] * s[2]);
    let total = half + half.transpose();
    for a in 0..4 {
        for b in 0..4 {
            h[a][b] += total.fixed_view::<3, 3>(3 * a, 3 * b);
        }
    }
    for side in 0..2 {
        let scale = 2.0 * weight * fades[side][1] * fades[1 - side][0];
        let p = opposite(&SIDES[side], x);
        let turn = hinge.normals[side].cross_matrix();
        for i in 0..3 {
            for j in 0..3 {
                // ∂pᵢ/∂xⱼ is +1, −1 or 0 times the identity, cyclic in i, j.
                let sign = [0.0, -1.0, 1.0][(j + 3 - i) % 3];
                h[SIDES[side][i]][SIDES[side][j]] += (Mat3::from_diagonal_element(p[i].dot(&p[j]))
                    - p[j] * p[i].transpose()
                    + turn * sign)
                    * scale;
            }
        }
    }
}
