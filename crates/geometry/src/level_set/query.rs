//! Questions to a level set.

use stiction_math::{Mat3, Vec3};

use super::{BLOCK, Block, COARSE, LevelSet, NODES, SIDE};
use crate::analytic::{EdgeMinimum, FieldExpansion, Nearest, SharpPlace};

/// Smallest increment of a walk along a segment, as a fraction of a cell.
const PROGRESS: f64 = 1e-6;

/// Most places of a segment at which a flat piece is measured.
const MOST_STEPS: f64 = 128.0;

/// A fine cell: its eight samples, x fastest, and a place in it, 0 to 1 along each axis.
struct Cell {
    corners: [f64; 8],
    at: Vec3,
}

/// The representation of the field at a point.
enum Here<'a> {
    Fine(Cell, &'a Block),
    /// In a block without samples, or beyond the grid, where all is outside.
    Far {
        /// A bound on the distance from below.
        least: f64,
        inside: bool,
        block: &'a Block,
    },
}

impl LevelSet {
    /// The field at `x`, its unit gradient and the point x − f n.
    ///
    /// Beyond the band the answer is the distance to the surface point closest to the centre of
    /// the block: never smaller than the distance, and within the grid larger by at most the
    /// diagonal of a block.
    pub fn nearest(&self, x: &Vec3) -> Nearest {
        let (distance, normal) = match self.here(x) {
            Here::Fine(cell, block) => {
                let (f, gradient) = cell.value();
                let length = gradient.norm();
                if length > 1e-6 * self.cell {
                    (f, gradient / length)
                } else {
                    // In the middle of a thin part all sides are equally near.
                    (f, away(x, block, f < 0.0).1)
                }
            }
            Here::Far { inside, block, .. } => away(x, block, inside),
        };
        Nearest {
            distance,
            normal,
            point: x - normal * distance,
        }
    }

    /// The field around `x` to second order: that of its cell within the band, and beyond it that of the
    /// distance that [`LevelSet::nearest`] gives.
    pub fn expand(&self, x: &Vec3) -> FieldExpansion {
        let (block, inside) = match self.here(x) {
            Here::Fine(cell, block) => {
                let (value, slope) = cell.value();
                if slope.norm() > 1e-6 * self.cell {
                    return FieldExpansion {
                        value,
                        gradient: slope / self.cell,
                        hessian: cell.bend() / (self.cell * self.cell),
                    };
                }
                (block, value < 0.0)
            }
            Here::Far { inside, block, .. } => (block, inside),
        };
        let (value, gradient) = away(x, block, inside);
        let curvature = if value.is_normal() { 1.0 / value } else { 0.0 };
        FieldExpansion {
            value,
            gradient,
            hessian: (Mat3::identity() - gradient * gradient.transpose()) * curvature,
        }
    }

    /// A number c with f ≥ c − s `slope` at all points within any s of `x`, as far as that is
    /// positive and below the band: f itself near the surface, a bound on the distance beyond.
    ///
    /// Beyond the band the path is bounded not by f, but by the distance d ≥ band to the surface,
    /// and back in the band f ≥ d − error.
    pub fn clearance(&self, x: &Vec3) -> f64 {
        match self.here(x) {
            Here::Fine(cell, _) => cell.value().0.min(self.band - self.error()),
            Here::Far { inside: true, .. } => -self.band,
            Here::Far { least, .. } => least - self.error(),
        }
    }

    /// The point of the segment `ends` where f is least: exactly within the band, where f is a
    /// cubic polynomial of the place in each cell that the segment passes. Between the ends the
    /// normal is across the segment.
    pub fn edge_minimum(&self, ends: &[Vec3; 2]) -> EdgeMinimum {
        let at = self.walk(ends).0;
        let e = ends[1] - ends[0];
        let x = ends[0] + e * at;
        let mut nearest = self.nearest(&x);
        // The least value is often on a face of a cell, where the gradient jumps; of all gradients
        // between those of the two sides one is across.
        let across = nearest.normal - e * (nearest.normal.dot(&e) / e.norm_squared());
        let length = across.norm();
        if at > 0.0 && at < 1.0 && length > 0.1 {
            nearest.normal = across / length;
            nearest.point = x - nearest.normal * nearest.distance;
        }
        EdgeMinimum { at, nearest }
    }

    /// The ends of the piece of a segment around its deepest place on which f is at most `flat` [m]
    /// larger than there, seen every half cell and at [`MOST_STEPS`] places at most.
    pub fn flat_ends(&self, ends: &[Vec3; 2], flat: f64, out: &mut Vec<SharpPlace>) {
        out.clear();
        let e = ends[1] - ends[0];
        let count = (2.0 * e.norm() / self.cell).ceil();
        if count.is_nan() || count < 2.0 {
            return;
        }
        let step = 1.0 / count.min(MOST_STEPS);
        let value = |at: f64| self.nearest(&(ends[0] + e * at)).distance;
        let deepest = self.walk(ends).0;
        let limit = value(deepest) + flat;
        for (part, sign) in [(1, -1.0), (2, 1.0)] {
            let mut last = None;
            let mut at = deepest + sign * step;
            while at > 0.0 && at < 1.0 {
                let distance = value(at);
                if distance > limit {
                    break;
                }
                last = Some(SharpPlace { part, at, distance });
                at += sign * step;
            }
            out.extend(last);
        }
    }

    /// The least [`LevelSet::clearance`] of the points of a segment.
    pub fn edge_clearance(&self, ends: &[Vec3; 2]) -> f64 {
        self.walk(ends).1
    }

    /// Position of the least f on the segment, 0 to 1, and the least clearance.
    fn walk(&self, ends: &[Vec3; 2]) -> (f64, f64) {
        let e = ends[1] - ends[0];
        let length = e.norm();
        let clear = ends.map(|x| self.clearance(&x));
        let f = ends.map(|x| self.nearest(&x).distance);
        let mut best = if f[1] < f[0] {
            (f[1], 1.0)
        } else {
            (f[0], 0.0)
        };
        let mut least = clear[0].min(clear[1]);
        if !(length.is_normal() && length.is_finite()) {
            return (best.1, least);
        }
        let direction = e / length;
        let cap = self.band - self.error();
        let nudge = PROGRESS * self.cell;
        let mut s = 0.0;
        while s < length {
            // The cell just ahead, so that a point on a face belongs to the next one.
            let inside = (s + nudge).min(length);
            match self.here(&(ends[0] + direction * inside)) {
                Here::Fine(cell, _) => {
                    let exit = inside + cell.exit(&direction) * self.cell;
                    let exit = exit.min(length).max(s + nudge);
                    let slope = direction / self.cell;
                    let (low, at) = cell.least(&slope, s - inside, exit - inside);
                    if low < best.0 {
                        best = (low, (inside + at) / length);
                    }
                    least = least.min(low);
                    let last = cell.along(&slope, exit - inside).min(cap);
                    // No smaller value comes sooner than the slope allows.
                    s = exit + ((last - best.0) / self.slope).max(0.0);
                }
                Here::Far {
                    least: distance,
                    inside: within,
                    block,
                } => {
                    let free = distance - self.error();
                    let jump = (free - best.0).max(0.25 * self.cell);
                    least = least.min(if within { -self.band } else { free - jump });
                    let (value, _) = away(&(ends[0] + direction * inside), block, within);
                    if value < best.0 {
                        best = (value, inside / length);
                    }
                    s = inside + jump;
                }
            }
        }
        (best.1.clamp(0.0, 1.0), least)
    }

    fn here(&self, x: &Vec3) -> Here<'_> {
        let u = (x - self.origin) / self.cell;
        let mut place = [0; 3];
        let mut within = true;
        for k in 0..3 {
            within &= u[k] >= 0.0 && u[k] < (self.count[k] * SIDE) as f64;
            place[k] = ((u[k] / SIDE as f64).max(0.0) as usize).min(self.count[k] - 1);
        }
        let [nx, ny, _] = self.count;
        let block = &self.blocks[place[0] + nx * (place[1] + ny * place[2])];
        if !within {
            return Here::Far {
                least: self.bounds.squared_distance(x).sqrt(),
                inside: false,
                block,
            };
        }
        if block.fine == COARSE {
            let from_centre = (x - self.centre(place)).norm();
            return Here::Far {
                least: (block.distance.abs() - from_centre).max(self.band),
                inside: block.distance < 0.0,
                block,
            };
        }
        let samples = &self.samples[block.fine as usize * BLOCK..][..BLOCK];
        let mut base = 0;
        let mut at = Vec3::zeros();
        for k in (0..3).rev() {
            let local = u[k] - (place[k] * SIDE) as f64;
            let i = (local as usize).min(SIDE - 1);
            at[k] = local - i as f64;
            base = base * NODES + i;
        }
        let corners = std::array::from_fn(|c| {
            let step = (c & 1) + NODES * ((c >> 1 & 1) + NODES * (c >> 2));
            f64::from(samples[base + step])
        });
        Here::Fine(Cell { corners, at }, block)
    }
}

/// Distance to the point closest to the centre of the block, with its sign, and the direction.
fn away(x: &Vec3, block: &Block, inside: bool) -> (f64, Vec3) {
    let d = x - block.closest;
    let length = d.norm();
    let sign = if inside { -1.0 } else { 1.0 };
    if length.is_normal() {
        (sign * length, d * (sign / length))
    } else {
        // On the surface, or not a number, which stays one.
        (length, Vec3::z())
    }
}

impl Cell {
    /// The value and the gradient per cell.
    fn value(&self) -> (f64, Vec3) {
        let c = &self.corners;
        let [x, y, z] = [self.at.x, self.at.y, self.at.z];
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let edge = [0, 2, 4, 6].map(|i| mix(c[i], c[i + 1], x));
        let face = [mix(edge[0], edge[1], y), mix(edge[2], edge[3], y)];
        let rise = [0, 2, 4, 6].map(|i| c[i + 1] - c[i]);
        let gradient = Vec3::new(
            mix(mix(rise[0], rise[1], y), mix(rise[2], rise[3], y), z),
            mix(edge[1] - edge[0], edge[3] - edge[2], z),
            face[1] - face[0],
        );
        (mix(face[0], face[1], z), gradient)
    }

    /// The second derivatives per cell: those along one axis vanish.
    fn bend(&self) -> Mat3 {
        let c = &self.corners;
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let twist = |i: usize, u: usize, v: usize| c[i + u + v] - c[i + u] - c[i + v] + c[i];
        let xy = mix(twist(0, 1, 2), twist(4, 1, 2), self.at.z);
        let xz = mix(twist(0, 1, 4), twist(2, 1, 4), self.at.y);
        let yz = mix(twist(0, 2, 4), twist(1, 2, 4), self.at.x);
        Mat3::new(0.0, xy, xz, xy, 0.0, yz, xz, yz, 0.0)
    }

    /// The value at the place shifted by `s` times `slope` [cells].
    fn along(&self, slope: &Vec3, s: f64) -> f64 {
        let at = self.at + slope * s;
        let corners = self.corners;
        Cell { corners, at }.value().0
    }

    /// Distance along `direction` to the border of the cell [cells].
    fn exit(&self, direction: &Vec3) -> f64 {
        let one = |k: usize| {
            let free = if direction[k] > 0.0 {
                1.0 - self.at[k]
            } else {
                self.at[k]
            };
            // Zero speed never leaves: infinite.
            free.max(0.0) / direction[k].abs()
        };
        let times = [one(0), one(1), one(2)].into_iter();
        times.filter(|t| !t.is_nan()).fold(f64::INFINITY, f64::min)
    }

    /// The least value for shifts between `from` and `to`, and where it is.
    fn least(&self, slope: &Vec3, from: f64, to: f64) -> (f64, f64) {
        let third = (to - from) / 3.0;
        let [a, b, c, d] = [0.0, 1.0, 2.0, 3.0].map(|i| self.along(slope, from + i * third));
        let mut best = if d < a { (d, to) } else { (a, from) };
        // The cubic through the four values over τ = 0…3, by differences.
        let (d1, d2, d3) = (b - a, c - 2.0 * b + a, d - 3.0 * c + 3.0 * b - a);
        // Its derivative is p τ² + q τ + r.
        let (p, q) = (0.5 * d3, d2 - d3);
        let r = d1 - 0.5 * d2 + d3 / 3.0;
        let disc = q * q - 4.0 * p * r;
        if disc >= 0.0 {
            let w = -0.5 * (q + disc.sqrt().copysign(q));
            for tau in [w / p, r / w] {
                if tau > 0.0 && tau < 3.0 {
                    let at = from + tau * third;
                    let f = self.along(slope, at);
                    if f < best.0 {
                        best = (f, at);
                    }
                }
            }
        }
        best
    }
}
