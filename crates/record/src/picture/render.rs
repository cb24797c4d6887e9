use super::colour::encode;
use super::light::Lights;
use super::overlay;
use super::scene::{Scene, V};
use super::{Image, Picture, PictureError};
use rayon::prelude::*;
use stiction_math::Vec3;

/// Minimum number of samples per pixel.
const BASE: u32 = 4;
/// Difference between samples, or to a neighbour, above which a pixel gets more of them (sRGB, 0 to
/// 1).
const CONTRAST: f32 = 0.025;
/// Offset that keeps rays from meeting their own surface, in units of the scene.
const LIFT: f32 = 2e-4;

pub(super) fn render(picture: &Picture) -> Result<Image, PictureError> {
    let mut scene = Scene::new(picture)?;
    let lights = Lights::new(&mut scene);
    let tracer = Tracer {
        grid: Grid::new(&scene),
        scene: &scene,
        lights: &lights,
    };
    let [width, height] = picture.size.map(|side| side as usize);
    let base: Vec<Pixel> = (0..width * height)
        .into_par_iter()
        .map(|at| tracer.pixel(at % width, at / width, 0..BASE))
        .collect();
    let samples = picture.samples.clamp(BASE, 256);
    let pixels: Vec<[u8; 3]> = (0..width * height)
        .into_par_iter()
        .map(|at| {
            let (x, y) = (at % width, at / width);
            let mut colour = base[at].colour;
            if samples > BASE && uneven(&base, width, height, x, y) {
                let more = tracer.pixel(x, y, BASE..samples);
                let share = BASE as f32 / samples as f32;
                colour = colour * share + more.colour * (1.0 - share);
            }
            [colour.x, colour.y, colour.z].map(|c| (255.0 * c).round().clamp(0.0, 255.0) as u8)
        })
        .collect();
    let mut image = Image::from_rgb(
        picture.size[0],
        picture.size[1],
        pixels.as_flattened().to_vec(),
    )
    .ok_or_else(|| PictureError::Encode("the image is incomplete".into()))?;
    let depth = |x: usize, y: usize| base[y * width + x].depth;
    overlay::draw(&mut image, picture, &scene, depth);
    Ok(image)
}

#[derive(Clone, Copy)]
struct Pixel {
    /// Mean of the samples in sRGB: averaging perceived values keeps edges on bright ground smooth.
    colour: V,
    /// Largest difference between two samples.
    spread: f32,
    /// Distance of the closest surface.
    depth: f32,
}

fn uneven(base: &[Pixel], width: usize, height: usize, x: usize, y: usize) -> bool {
    let own = &base[y * width + x];
    if own.spread > CONTRAST {
        return true;
    }
    let range = |at: usize, end: usize| at.saturating_sub(1)..(at + 2).min(end);
    range(y, height).any(|j| {
        range(x, width).any(|i| (base[j * width + i].colour - own.colour).amax() > 2.0 * CONTRAST)
    })
}

/// The grid on the ground: its lines run through the origin of the world, and its squares are about
/// a fifth of the picture's height, rounded to 1, 2 or 5 times a power of ten metres.
struct Grid {
    origin: V,
    spacing: f32,
}

impl Grid {
    fn new(scene: &Scene) -> Self {
        let wanted = scene.metres(0.4);
        let decade = 10f64.powf(wanted.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0];
        let step = steps.into_iter().find(|step| step * decade >= 0.8 * wanted);
        // Far from the origin, single precision could not separate the lines.
        let step = step.unwrap_or(10.0) * decade;
        let near = scene
            .scaled(Vec3::zeros())
            .map(|x| x % (step / scene.metres(1.0)));
        Self {
            origin: near.cast(),
            spacing: (step / scene.metres(1.0)) as f32,
        }
    }

    /// Fraction of a pixel of width `footprint` that a line across `axis` covers.
    fn line(&self, point: V, axis: usize, footprint: f32) -> f32 {
        let half = 0.008 * self.spacing;
        let x = (point[axis] - self.origin[axis]) / self.spacing;
        let distance = (x - x.round()).abs() * self.spacing;
        let reach = 0.5 * footprint;
        let overlap = (distance + reach).min(half) - (distance - reach).max(-half);
        (overlap / footprint).clamp(0.0, 1.0)
    }
}

struct Tracer<'a> {
    scene: &'a Scene,
    lights: &'a Lights,
    grid: Grid,
}

impl Tracer<'_> {
    fn pixel(&self, x: usize, y: usize, samples: std::ops::Range<u32>) -> Pixel {
        let count = samples.len() as f32;
        let mut sum = V::zeros();
        let (mut least, mut most) = (V::repeat(f32::INFINITY), V::repeat(f32::NEG_INFINITY));
        let mut depth = f32::INFINITY;
        let turn = dither(x, y);
        for index in samples {
            let [dx, dy] = net(index);
            let direction = self.scene.view.direction(x as f64 + dx, y as f64 + dy);
            // The same sample net, with coordinates exchanged and rotated from pixel to pixel.
            let light = [dy as f32, (dx as f32 + turn).fract()];
            let (linear, t) = self.trace(direction, light);
            let colour = linear.map(encode);
            sum += colour;
            least = least.inf(&colour);
            most = most.sup(&colour);
            depth = depth.min(t);
        }
        Pixel {
            colour: sum / count,
            spread: (most - least).amax(),
            depth,
        }
    }

    /// Linear colour along a ray and the distance of its first hit.
    fn trace(&self, direction: Vec3, light: [f32; 2]) -> (V, f32) {
        let scene = self.scene;
        let origin: V = scene.view.eye.cast();
        let ray: V = direction.cast();
        let ground = scene
            .ground
            .filter(|_| ray.z < 0.0)
            .map(|h| (h - origin.z) / ray.z);
        let ground = ground.filter(|&t| t > 0.0);
        let limit = ground.unwrap_or(f32::INFINITY);
        if let Some(hit) = scene.bvh.nearest(origin, ray, limit) {
            let point = origin + ray * hit.t;
            let id = hit.id as usize;
            let colour = if id < scene.triangles.len() {
                self.triangle(id, hit.weights, point, ray, light)
            } else {
                self.tube(id - scene.triangles.len(), point, ray, light)
            };
            return (colour, hit.t);
        }
        match ground {
            Some(t) => (self.ground(origin + ray * t, t, ray, light), t),
            None => (background(ray), f32::INFINITY),
        }
    }

    fn triangle(&self, id: usize, weights: [f32; 2], point: V, ray: V, light: [f32; 2]) -> V {
        let triangle = &self.scene.triangles[id];
        let [a, b, c] = triangle.corners;
        let [v, w] = weights.map(|x| x.clamp(0.0, 1.0));
        let weights = [(1.0 - v - w).max(0.0), v, w];
        let face = (b - a).cross(&(c - a)).try_normalize(1e-20).unwrap_or(-ray);
        let back = face.dot(&ray) > 0.0;
        let sign = if back { -1.0 } else { 1.0 };
        let face = face * sign;
        let (mut normal, mut open, mut lifted) = (V::zeros(), 0.0, point);
        for k in 0..3 {
            let corner = triangle.normals[k] * sign;
            normal += corner * weights[k];
            open += triangle.openness[k][usize::from(back)] * weights[k];
            // Shadow rays start on the smooth surface given by the normals, not on the flat
            // triangle, which would shade itself in facets near the terminator. [hanika2021]
            let below = (point - triangle.corners[k]).dot(&corner).min(0.0);
            lifted -= corner * (below * weights[k]);
        }
        let mut normal = normal.try_normalize(1e-6).unwrap_or(face);
        // A smooth normal may lean away from the eye at the rim; it is turned back to grazing.
        let away = normal.dot(&ray);
        if away > 0.0 {
            normal = (normal - ray * (away + 1e-3))
                .try_normalize(1e-6)
                .unwrap_or(face);
        }
        let tint = if back { 0.78 } else { 1.0 };
        let start = lifted + face * LIFT;
        self.shade(triangle.colour * tint, start, normal, open, ray, light)
    }

    fn tube(&self, id: usize, point: V, ray: V, light: [f32; 2]) -> V {
        let tube = &self.scene.tubes[id];
        let [a, b] = tube.ends;
        let axis = b - a;
        let t = ((point - a).dot(&axis) / axis.norm_squared().max(1e-20)).clamp(0.0, 1.0);
        let normal = (point - a - axis * t).try_normalize(1e-12).unwrap_or(-ray);
        let open = match self.scene.ground {
            Some(ground) => self
                .lights
                .ground(point.x, point.y)
                .max(((point.z - ground) * 4.0).clamp(0.0, 1.0)),
            None => 1.0,
        };
        self.shade(tube.colour, point + normal * LIFT, normal, open, ray, light)
    }

    fn shade(&self, colour: V, start: V, normal: V, open: f32, ray: V, light: [f32; 2]) -> V {
        let sky = V::new(0.40, 0.43, 0.48);
        let bounce = V::new(0.30, 0.29, 0.27);
        let up = 0.5 + 0.5 * normal.z;
        let ambient = (sky * up + bounce * (1.0 - up)) * (0.25 + 0.75 * open);
        let fill = V::new(0.13, 0.14, 0.16) * (normal.dot(&self.lights.fill).max(0.0) * open);
        let key = self.lights.key(light);
        let facing = normal.dot(&key);
        let mut light = ambient + fill;
        let mut gloss = 0.0;
        if facing > 0.0 && !self.shadowed(start, key) {
            light += V::new(0.86, 0.82, 0.74) * facing;
            let half = (key - ray).try_normalize(1e-6).unwrap_or(normal);
            gloss = 0.14 * normal.dot(&half).max(0.0).powi(48) * facing.sqrt();
        }
        let rim = (1.0 + normal.dot(&ray)).clamp(0.0, 1.0).powi(4) * 0.10 * open;
        (colour.component_mul(&light) + V::repeat(gloss + rim)).map(shoulder)
    }

    fn ground(&self, point: V, t: f32, ray: V, light: [f32; 2]) -> V {
        let horizon = background(V::new(ray.x, ray.y, 0.0));
        let near = 1.0 - smooth(3.0, 14.0, (point - V::new(0.0, 0.0, point.z)).norm());
        if near <= 0.0 {
            return horizon;
        }
        let lit = !self.shadowed(point + V::z() * LIFT, self.lights.key(light));
        let open = self.lights.ground(point.x, point.y);
        let base = V::new(0.80, 0.805, 0.81);
        let light = 0.55 * (0.2 + 0.8 * open) + if lit { 0.45 } else { 0.0 };
        // One pixel on the ground: lines thinner than that fade instead of flickering.
        let footprint = t * self.scene.view.pixel_angle() as f32;
        let slant = footprint / (-ray.z).max(1e-3);
        let width = footprint.max(0.5 * slant);
        let line = self
            .grid
            .line(point, 0, width)
            .max(self.grid.line(point, 1, width));
        let colour = base * (light * (1.0 - 0.2 * line));
        horizon + (colour - horizon) * near
    }

    fn shadowed(&self, from: V, towards: V) -> bool {
        let blocked = self
            .scene
            .ground
            .is_some_and(|ground| from.z < ground - 1e-3);
        !blocked && self.scene.bvh.occluded(from, towards, f32::INFINITY)
    }
}

fn background(ray: V) -> V {
    let low = V::new(0.86, 0.87, 0.88);
    let high = V::new(0.62, 0.71, 0.82);
    low + (high - low) * smooth(-0.1, 0.7, ray.z)
}

fn smooth(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Compresses highlights below white instead of clipping them.
fn shoulder(x: f32) -> f32 {
    const KNEE: f32 = 0.65;
    if x <= KNEE {
        x
    } else {
        KNEE + (1.0 - KNEE) * (1.0 - (-(x - KNEE) / (1.0 - KNEE)).exp())
    }
}

/// Point `index` of the Sobol sequence in the unit square: the first four, and every power of four,
/// fall into different squares of a regular grid.
fn net(index: u32) -> [f64; 2] {
    let (mut second, mut direction, mut rest) = (0u32, 1u32 << 31, index);
    while rest > 0 {
        if rest & 1 == 1 {
            second ^= direction;
        }
        direction ^= direction >> 1;
        rest >>= 1;
    }
    // Half a step of a 16×16 grid centres the first points in their squares.
    let unit = |bits: u32| (f64::from(bits) / 4_294_967_296.0 + 1.0 / 32.0).fract();
    [unit(index.reverse_bits()), unit(second)]
}

/// A number in [0, 1) per pixel that differs strongly between neighbours.
fn dither(x: usize, y: usize) -> f32 {
    let mixed = 0.067_110_56 * x as f64 + 0.005_837_15 * y as f64;
    (52.982_918_9 * mixed.fract()).fract() as f32
}
