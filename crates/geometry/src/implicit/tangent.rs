//! Second derivatives of the potential of a deforming mesh, all at once.
//!
//! A [`Patch`](super::Patch) over dual numbers gives a few columns of a Jacobian per pass over all
//! samples. Here every sample is differentiated once, by the nine numbers that it depends on (the
//! query point and two edges, seen from its first corner), and samples meet only in a few sums:
//!
//! ```text
//! sample → sums (mass, moment, their gradients, arm, motion) → what the caller makes of them
//!        → the forces of each sample on its corners
//! ```
//!
//! So the Jacobian is a sum of small dense parts, one per sample, and of one product of thin
//! matrices through the sums: the work grows with the number of samples, not with its product with
//! the number of vertices.

use stiction_math::{Dual, Mat3, Real, Vec3, Vector};

use super::kernel::Sums;
use super::{Blend, Jet, SurfaceSample};

/// Directions of one sample: query point, first edge, second edge.
const LOCAL: usize = 9;
/// Sums that the potential is made of: mass, moment, and the gradients of both.
const POTENTIAL: usize = 8;
/// Directions of what depends on the sums: [`POTENTIAL`] of the potential, three of the velocity.
pub const TANGENT_LANES: usize = POTENTIAL + 3;
/// All sums: those of the potential, the arm, the mean velocity, and its gradient.
const SUMS: usize = POTENTIAL + 15;
/// Number of variables on which forces on the corners of a sample depend in addition to the sample:
/// s, tilt, f, arm, 1/mass.
const THROUGH: usize = 9;

/// A matrix of three rows and [`THROUGH`] columns, column after column.
type Thin = [[f64; 3]; THROUGH];

/// The samples near one query point with their derivatives. Kept from pair to pair for its memory.
#[derive(Debug, Default)]
pub struct Tangent {
    terms: Vec<Term>,
    /// The vertices in reach, by their places in the caller's list.
    used: Vec<u32>,
    /// The number in `used`, plus one, of each place of the caller's list.
    number: Vec<u32>,
    sums: [f64; SUMS],
    /// Derivatives of the sums by the query point, then by the vertices in `used`: three each.
    slopes: Vec<[f64; SUMS]>,
    /// By how much forces on vertices in `used` change with what they depend on.
    thin: Vec<Thin>,
    /// Derivatives of these variables by the query point and the vertices: three columns each.
    through: Vec<[[f64; 3]; THROUGH]>,
    blocks: Vec<Mat3>,
    blend: Blend,
}

#[derive(Debug)]
struct Term {
    /// Numbers of the corners in `used`, plus one.
    points: [usize; 3],
    weights: [f64; 3],
    weight: Dual<LOCAL>,
    slope: Dual<LOCAL>,
    r: Vector<Dual<LOCAL>>,
    normal: Vector<Dual<LOCAL>>,
    area: Dual<LOCAL>,
    edges: [Vector<Dual<LOCAL>>; 2],
}

/// The potential as a function of the sums, over dual numbers of which the first eight directions
/// are the sums.
#[derive(Clone, Copy, Debug)]
pub struct Blending {
    /// ψ and ∂ψ/∂q.
    pub jet: Jet<Dual<TANGENT_LANES>>,
    /// Of dψ = (dmoment − tilt dmass) scale.
    pub tilt: Dual<TANGENT_LANES>,
    /// Factor of dψ above.
    pub scale: Dual<TANGENT_LANES>,
}

/// A force s ∂ψ/∂q + f on the query point, over dual numbers of which the directions are those of
/// [`Blending`] and, the last three, the velocity of the query point less that of the surface.
#[derive(Clone, Copy, Debug)]
pub struct TangentForce {
    /// s of the part along the gradient [N].
    pub s: Dual<TANGENT_LANES>,
    /// The other part, which the surface takes by [`Patch::spread`](super::Patch::spread) [N].
    pub f: Vector<Dual<TANGENT_LANES>>,
}

impl Tangent {
    /// Takes the samples near `q`, as [`Patch::new`](super::Patch::new) does, and the velocities
    /// `v` of the vertices if the velocity of the surface matters. None if no sample is in reach.
    pub fn set<'a>(
        &mut self,
        q: &Vec3,
        samples: impl Iterator<Item = (&'a SurfaceSample, [u32; 3])>,
        x: &[Vec3],
        v: Option<&[Vec3]>,
        blend: &Blend,
    ) -> Option<Blending> {
        for &slot in &self.used {
            self.number[slot as usize] = 0;
        }
        self.used.clear();
        self.terms.clear();
        self.number.resize(x.len().max(self.number.len()), 0);
        self.sums = [0.0; SUMS];
        self.slopes.clear();
        self.slopes.resize(3, [0.0; SUMS]);
        self.blend = *blend;
        for (sample, slots) in samples {
            let p = slots.map(|s| x[s as usize]);
            let c = p[0] * sample.weights[0] + p[1] * sample.weights[1] + p[2] * sample.weights[2];
            if (q - c).norm_squared() >= sample.radius * sample.radius {
                continue;
            }
            self.add(
                sample,
                slots,
                &(q - p[0]),
                &(p[1] - p[0]),
                &(p[2] - p[0]),
                v,
            );
        }
        let mut seeded = [Dual::constant(0.0); POTENTIAL];
        for (i, y) in seeded.iter_mut().enumerate() {
            *y = Dual::constant(self.sums[i]);
            y.d[i] = 1.0;
        }
        let [mass, moment, a, b, c, d, e, f] = seeded;
        let sums = Sums {
            mass,
            moment,
            mass_gradient: Vector([a, b, c]),
            moment_gradient: Vector([d, e, f]),
        };
        let blended = sums.blend(blend)?;
        Some(Blending {
            jet: blended.jet,
            tilt: blended.tilt,
            scale: blended.scale,
        })
    }

    fn add(
        &mut self,
        sample: &SurfaceSample,
        slots: [u32; 3],
        q: &Vec3,
        first: &Vec3,
        second: &Vec3,
        v: Option<&[Vec3]>,
    ) {
        let seed = |x: &Vec3, lane: usize| {
            let mut y = Vector::<Dual<LOCAL>>::constant(x);
            for k in 0..3 {
                y.0[k].d[lane + k] = 1.0;
            }
            y
        };
        let (q, first, second) = (seed(q, 0), seed(first, 3), seed(second, 6));
        let r = q - first.times(sample.weights[1]) - second.times(sample.weights[2]);
        let a = first.cross(&second).times(0.5);
        let area = a.norm();
        if !area.re.is_normal() {
            return;
        }
        let factor = sample.share / (sample.radius * sample.radius);
        let plane = a.times(factor * self.blend.side);
        let mut sums = Sums::zero();
        let Some((k, slope)) = sums.add(&r, &plane, area * factor, sample.radius) else {
            return;
        };
        let points = slots.map(|s| {
            let number = &mut self.number[s as usize];
            if *number == 0 {
                self.used.push(s);
                self.slopes.extend([[0.0; SUMS]; 3]);
                *number = self.used.len() as u32;
            }
            *number as usize
        });
        let term = Term {
            points,
            weights: sample.weights,
            weight: k * factor,
            slope: slope * factor,
            r,
            normal: a.scale(Dual::constant(1.0) / area),
            area,
            edges: [first, second],
        };
        let mass = term.weight * area;
        let mut all = [Dual::constant(0.0); SUMS];
        all[0] = sums.mass;
        all[1] = sums.moment;
        all[2..5].copy_from_slice(&sums.mass_gradient.0);
        all[5..8].copy_from_slice(&sums.moment_gradient.0);
        all[8..11].copy_from_slice(&r.scale(mass).0);
        let mut count = 11;
        if let Some(v) = v {
            let v = slots.map(|s| v[s as usize]);
            let [b0, b1, b2] = sample.weights;
            let mean = v[0] * b0 + v[1] * b1 + v[2] * b2;
            all[11..14].copy_from_slice(&Vector::constant(&mean).scale(mass).0);
            // The gradient of the velocity, Σ (v_k g_kᵀ − (n·v_k) g_k nᵀ), by the two edges.
            let n = term.normal;
            let g = term.edges.map(|e| n.cross(&e).scale(term.weight * 0.5));
            let d = [
                Vector::constant(&(v[2] - v[0])),
                Vector::constant(&(v[0] - v[1])),
            ];
            let tilt = g[0].scale(n.dot(&d[0])) + g[1].scale(n.dot(&d[1]));
            for i in 0..3 {
                for j in 0..3 {
                    all[14 + 3 * i + j] =
                        g[0].0[j] * d[0].0[i].re + g[1].0[j] * d[1].0[i].re - tilt.0[i] * n.0[j];
                }
            }
            count = SUMS;
        }
        for i in 0..count {
            self.sums[i] += all[i].re;
        }
        for axis in 0..3 {
            for i in 0..count {
                let d = &all[i].d;
                self.slopes[axis][i] += d[axis];
                self.slopes[3 * points[1] + axis][i] += d[3 + axis];
                self.slopes[3 * points[2] + axis][i] += d[6 + axis];
                // Nothing changes if all moves together.
                self.slopes[3 * points[0] + axis][i] -= d[axis] + d[3 + axis] + d[6 + axis];
            }
        }
        self.terms.push(term);
    }

    /// The velocity of the surface at the query point: [`Patch::velocity`](super::Patch::velocity).
    pub fn velocity(&self) -> Vec3 {
        (self.mean_velocity() + self.velocity_gradient() * self.arm()) / self.sums[0]
    }

    /// The vertices in reach, by their places in the caller's list, in the order of the blocks.
    pub fn vertices(&self) -> &[u32] {
        &self.used
    }

    fn arm(&self) -> Vec3 {
        Vec3::new(self.sums[8], self.sums[9], self.sums[10]) / self.sums[0]
    }

    fn mean_velocity(&self) -> Vec3 {
        Vec3::new(self.sums[11], self.sums[12], self.sums[13])
    }

    fn velocity_gradient(&self) -> Mat3 {
        Mat3::from_row_slice(&self.sums[14..23])
    }

    /// Works out cx ∂/∂x + cv ∂/∂v of all forces that belong to `pull`: on the query point and,
    /// with opposite sign of f, on the vertices. Read them with [`block`](Self::block) and
    /// [`query_velocity`](Self::query_velocity).
    ///
    /// Columns of the query point have the derivative by its place alone, times cx. Only blocks on
    /// the diagonal are complete if `diagonal`.
    pub fn differentiate(
        &mut self,
        blending: &Blending,
        pull: &TangentForce,
        cx: f64,
        cv: f64,
        diagonal: bool,
    ) {
        let n = self.used.len() + 1;
        self.blocks.clear();
        self.blocks.resize(n * n, Mat3::zeros());
        self.thin.clear();
        self.thin.resize(n, Thin::default());
        self.spread(blending, pull, cx);
        self.chain(blending, pull, cx);
        // Velocities enter through f alone: the surface's by the transpose of its forces.
        let by_velocity = lanes(&pull.f, POTENTIAL);
        for b in 1..n {
            let g = &self.thin[b];
            let to = Mat3::from_fn(|i, j| g[2 + i][j]);
            let change = by_velocity * to * cv;
            for i in 0..3 {
                for j in 0..3 {
                    self.through[b][2 + i][j] += change[(i, j)];
                }
            }
            self.blocks[b] += change;
        }
        for a in 1..n {
            let thin = &self.thin[a];
            let columns = if diagonal { a..a + 1 } else { 0..n };
            for b in columns {
                let block = &mut self.blocks[a * n + b];
                for (t, g) in thin.iter().zip(&self.through[b]) {
                    for j in 0..3 {
                        for i in 0..3 {
                            block[(i, j)] += t[i] * g[j];
                        }
                    }
                }
            }
        }
    }

    /// The derivative of the force on point `a` by point `b`: 0 is the query point, then come the
    /// [`vertices`](Self::vertices).
    pub fn block(&self, a: usize, b: usize) -> &Mat3 {
        &self.blocks[a * (self.used.len() + 1) + b]
    }

    /// The derivative of the force on point `a` by the velocity of the query point.
    pub fn query_velocity(&self, pull: &TangentForce, a: usize) -> Mat3 {
        let by_velocity = lanes(&pull.f, POTENTIAL);
        if a == 0 {
            return by_velocity;
        }
        let g = &self.thin[a];
        Mat3::from_fn(|i, j| g[2 + j][i]) * by_velocity
    }

    /// The forces of every sample on its corners: their own derivatives into `blocks`, those by
    /// what they depend on into `thin`.
    ///
    /// With the edges e₁, e₂ from the first corner, the forces on the three corners are P₂ − P₁ + b₀ Q,
    /// −P₂ + b₁ Q and P₁ + b₂ Q.
    fn spread(&mut self, blending: &Blending, pull: &TangentForce, cx: f64) {
        let side = self.blend.side;
        let n = self.used.len() + 1;
        let scale = blending.scale.re;
        let (s, tilt) = (pull.s.re * scale, blending.tilt.re);
        let f = Vec3::new(pull.f.0[0].re, pull.f.0[1].re, pull.f.0[2].re);
        let (arm, per_mass) = (self.arm(), 1.0 / self.sums[0]);
        let (f_, arm_) = (Vector::constant(&f), Vector::constant(&arm));
        for t in &self.terms {
            let height = t.normal.dot(&t.r) * side + (-tilt);
            let slope_area = t.slope * t.area;
            let weight_area = t.weight * t.area;
            let by_c = t.r.scale(slope_area * height) + t.normal.scale(weight_area * side);
            let y = t.r.times(side) - t.normal.times(tilt);
            let y = y.scale(t.weight * (0.5 * s));
            let lift = t.normal.dot(&arm_);
            let half = t.weight * (0.5 * per_mass);
            let mut p = [Vector::zero(); 2];
            let mut levers = [(Vec3::zeros(), 0.0, 0.0); 2];
            for j in 0..2 {
                let g = t.normal.cross(&t.edges[j]);
                let (along, across) = (g.dot(&arm_), g.dot(&f_));
                let z = f_.scale(along * half) - t.normal.scale(across * lift * half);
                p[j] = y.cross(&t.edges[j]) - z;
                levers[j] = (g.value() * 0.5, 0.5 * along.re, 0.5 * across.re);
            }
            let q = -by_c.times(s) - f_.scale(weight_area * per_mass);
            // Own derivatives.
            let [b0, b1, b2] = t.weights;
            let rows = [
                p[1] - p[0] + q.times(b0),
                q.times(b1) - p[1],
                p[0] + q.times(b2),
            ];
            for (row, a) in rows.iter().zip(t.points) {
                let own = [lanes(row, 0), lanes(row, 3), lanes(row, 6)].map(|m| m * cx);
                let blocks = &mut self.blocks[a * n..][..n];
                blocks[0] += own[0];
                blocks[t.points[1]] += own[1];
                blocks[t.points[2]] += own[2];
                blocks[t.points[0]] -= own[0] + own[1] + own[2];
            }
            // By s, tilt, f, arm and 1/mass.
            let (normal, r, weight) = (t.normal.value(), t.r.value(), t.weight.re);
            let w = weight * per_mass;
            let area = t.area.re;
            let lift = lift.re;
            let plain = |y: &Vector<Dual<LOCAL>>| y.value();
            let mut ps = [[Vec3::zeros(); THROUGH]; 2];
            let mut qs = [Vec3::zeros(); THROUGH];
            let upright = r * side - normal * tilt;
            for j in 0..2 {
                let edge = plain(&t.edges[j]);
                let (g, along, across) = levers[j];
                ps[j][0] = upright.cross(&edge) * (0.5 * weight);
                ps[j][1] = normal.cross(&edge) * (-0.5 * weight * s);
                for k in 0..3 {
                    let mut e = Vec3::zeros();
                    e[k] = 1.0;
                    ps[j][2 + k] = (e * along - normal * (lift * g[k])) * -w;
                    ps[j][5 + k] = (f * g[k] - normal * (across * normal[k])) * -w;
                }
                ps[j][8] = (f * along - normal * (across * lift)) * -weight;
            }
            qs[0] = -plain(&by_c);
            qs[1] = r * (slope_area.re * s);
            for k in 0..3 {
                qs[2 + k][k] = -area * w;
            }
            qs[8] = f * (-area * weight);
            let [t0, t1, t2] = t.points;
            for c in 0..THROUGH {
                let forces = [
                    (t0, ps[1][c] - ps[0][c] + qs[c] * b0),
                    (t1, qs[c] * b1 - ps[1][c]),
                    (t2, ps[0][c] + qs[c] * b2),
                ];
                for (a, force) in forces {
                    for k in 0..3 {
                        self.thin[a][c][k] += force[k];
                    }
                }
            }
        }
    }

    /// Derivatives of s, tilt, f, arm and 1/mass by all points into `through`, and those of the
    /// force on the query point into `blocks`.
    fn chain(&mut self, blending: &Blending, pull: &TangentForce, cx: f64) {
        let n = self.used.len() + 1;
        let per_mass = 1.0 / self.sums[0];
        let (arm, gradient) = (self.arm(), self.velocity_gradient());
        let velocity = self.velocity();
        let s = pull.s * blending.scale;
        let query: Vector<Dual<TANGENT_LANES>> = blending.jet.gradient.scale(pull.s) + pull.f;
        let dot = |y: &Dual<TANGENT_LANES>, d: &[f64; TANGENT_LANES]| {
            let mut sum = 0.0;
            for i in 0..TANGENT_LANES {
                sum += y.d[i] * d[i];
            }
            sum
        };
        self.through.clear();
        self.through.resize(n, [[0.0; 3]; THROUGH]);
        for b in 0..n {
            for axis in 0..3 {
                let d = &self.slopes[3 * b + axis];
                let d_mass = d[0];
                let d_arm = (Vec3::new(d[8], d[9], d[10]) - arm * d_mass) * per_mass;
                let d_mean = Vec3::new(d[11], d[12], d[13]);
                let d_gradient = Mat3::from_row_slice(&d[14..23]);
                let d_velocity =
                    (d_mean + d_gradient * arm + gradient * d_arm - velocity * d_mass) * per_mass;
                let mut lanes = [0.0; TANGENT_LANES];
                lanes[..POTENTIAL].copy_from_slice(&d[..POTENTIAL]);
                for k in 0..3 {
                    lanes[POTENTIAL + k] = -d_velocity[k];
                }
                let out = &mut self.through[b];
                out[0][axis] = cx * dot(&s, &lanes);
                out[1][axis] = cx * dot(&blending.tilt, &lanes);
                for k in 0..3 {
                    out[2 + k][axis] = cx * dot(&pull.f.0[k], &lanes);
                    out[5 + k][axis] = cx * d_arm[k];
                    self.blocks[b][(k, axis)] = cx * dot(&query.0[k], &lanes);
                }
                out[8][axis] = -cx * per_mass * per_mass * d_mass;
            }
        }
    }
}

/// Three directions of three numbers as a matrix.
fn lanes<const N: usize>(y: &Vector<Dual<N>>, first: usize) -> Mat3 {
    Mat3::from_fn(|i, j| y.0[i].d[first + j])
}
