use super::bvh::{Bvh, Primitive, Shape};
use super::camera::{Camera, View};
use super::normals::corner_normals;
use super::{Picture, PictureError};
use stiction_math::Vec3;
use stiction_math::nalgebra::Vector3;

/// Vectors in single precision, which is sufficient once the scene is moved to the origin and
/// scaled to about one unit.
pub(super) type V = Vector3<f32>;

/// The picture's contents, prepared for ray casting, in the scaled frame.
pub(super) struct Scene {
    pub bvh: Bvh,
    pub triangles: Vec<Triangle>,
    pub tubes: Vec<Tube>,
    /// Height of the ground.
    pub ground: Option<f32>,
    /// Corners of the box around everything.
    pub bounds: [V; 2],
    pub view: View,
    centre: Vec3,
    scale: f64,
}

/// Shading data of a triangle.
pub(super) struct Triangle {
    pub corners: [V; 3],
    pub normals: [V; 3],
    /// Ambient light at each corner, for the front and the back, 0 to 1.
    pub openness: [[f32; 2]; 3],
    /// Linear colour.
    pub colour: V,
}

/// Shading data of a line segment.
pub(super) struct Tube {
    pub ends: [V; 2],
    pub colour: V,
}

impl Scene {
    pub fn new(picture: &Picture) -> Result<Self, PictureError> {
        let [width, height] = picture.size;
        if !(1..=16384).contains(&width) || !(1..=16384).contains(&height) {
            return Err(PictureError::Size { width, height });
        }
        check_indices(picture)?;
        let meshes = picture.meshes.iter().filter(|mesh| mesh.framed);
        let framed = meshes.flat_map(|mesh| {
            let corners = mesh.triangles.as_flattened().iter();
            corners.map(|&index| mesh.positions[index as usize])
        });
        let lines = picture.lines.iter().flat_map(|line| {
            let ends = line.segments.as_flattened().iter();
            ends.map(|&index| line.positions[index as usize])
        });
        let points: Vec<Vec3> = framed
            .chain(lines)
            .chain(picture.points.iter().map(|point| point.position))
            .filter(finite)
            .collect();
        let radius = radius(&points);
        let camera = picture.camera.fit(points, picture.size)?;
        let Camera::LookAt {
            eye,
            target,
            up,
            fov,
        } = camera
        else {
            return Err(PictureError::Camera);
        };
        // The unit is half the height seen at the target. It depends on the camera alone, so that
        // lights and grid stand still while bodies move. A target right in front of the eye must
        // not make the unit too small for single precision.
        let seen = (target - eye).norm() * (0.5 * fov.to_radians()).tan();
        let unit = seen.max(0.05 * radius);
        let scale = if unit > 0.0 && unit.is_finite() {
            1.0 / unit
        } else {
            1.0
        };
        let centre = if finite(&target) {
            target
        } else {
            Vec3::zeros()
        };
        let camera = Camera::LookAt {
            eye: (eye - centre) * scale,
            target: (target - centre) * scale,
            up,
            fov,
        };
        let mut scene = Self {
            bvh: Bvh::new(Vec::new()),
            triangles: Vec::new(),
            tubes: Vec::new(),
            ground: picture
                .ground
                .filter(|height| height.is_finite())
                .map(|height| ((height - centre.z) * scale) as f32),
            bounds: [V::zeros(); 2],
            view: View::new(camera, picture.size)?,
            centre,
            scale,
        };
        scene.fill(picture);
        Ok(scene)
    }

    /// A point [m] in the scaled frame.
    pub fn scaled(&self, point: Vec3) -> Vec3 {
        (point - self.centre) * self.scale
    }

    /// A length in the scaled frame [m].
    pub fn metres(&self, length: f64) -> f64 {
        length / self.scale
    }

    fn fill(&mut self, picture: &Picture) {
        for mesh in &picture.meshes {
            let positions: Vec<V> = mesh
                .positions
                .iter()
                .map(|p| self.scaled(*p).cast())
                .collect();
            let whole = |t: &&[u32; 3]| t.iter().all(|&i| finite(&mesh.positions[i as usize]));
            let triangles: Vec<[u32; 3]> = mesh.triangles.iter().filter(whole).copied().collect();
            if !mesh.framed && hides_what_is_behind(&positions, &triangles, self.view.eye.cast()) {
                continue;
            }
            let normals = corner_normals(&positions, &triangles, mesh.smooth);
            let colour = V::from(mesh.colour.linear());
            for (triangle, normals) in triangles.iter().zip(normals) {
                self.triangles.push(Triangle {
                    corners: triangle.map(|i| positions[i as usize]),
                    normals,
                    openness: [[1.0; 2]; 3],
                    colour,
                });
            }
        }
        let mut primitives: Vec<Primitive> = Vec::with_capacity(self.triangles.len());
        for triangle in &self.triangles {
            let [a, b, c] = triangle.corners;
            let shape = Shape::Triangle {
                a,
                ab: b - a,
                ac: c - a,
            };
            let id = primitives.len() as u32;
            primitives.push(Primitive { shape, id });
        }
        let pixel = self.view.pixel_angle();
        for line in &picture.lines {
            let colour = V::from(line.colour.linear());
            for segment in line.segments {
                let ends = segment.map(|i| line.positions[i as usize]);
                if !ends.iter().all(finite) {
                    continue;
                }
                let ends = ends.map(|end| self.scaled(end));
                let distance = (0.5 * (ends[0] + ends[1]) - self.view.eye).norm();
                let radius = (line.radius * self.scale).max(0.45 * pixel * distance) as f32;
                let [a, b]: [V; 2] = ends.map(|end| end.cast());
                let id = primitives.len() as u32;
                let shape = Shape::Capsule { a, b, radius };
                primitives.push(Primitive { shape, id });
                self.tubes.push(Tube {
                    ends: [a, b],
                    colour,
                });
            }
        }
        let corners = self.triangles.iter().flat_map(|t| t.corners);
        let mut all = corners.chain(self.tubes.iter().flat_map(|t| t.ends));
        let first = all.next().unwrap_or_else(V::zeros);
        let (lo, hi) = all.fold((first, first), |(lo, hi), p| (lo.inf(&p), hi.sup(&p)));
        self.bounds = [lo, hi];
        self.bvh = Bvh::new(primitives);
    }
}

/// Half the diagonal of the box around all points.
fn radius(points: &[Vec3]) -> f64 {
    let first = points.first().copied().unwrap_or_default();
    let ends = points
        .iter()
        .fold((first, first), |(lo, hi), p| (lo.inf(p), hi.sup(p)));
    0.5 * (ends.1 - ends.0).norm()
}

fn finite(point: &Vec3) -> bool {
    point.iter().all(|x| x.is_finite())
}

/// Whether a surface is a flat wall seen from its back: what it bounds lies behind it.
fn hides_what_is_behind(positions: &[V], triangles: &[[u32; 3]], eye: V) -> bool {
    /// Sine of the largest angle between normals of what is flat; single precision has 1e-7.
    const FLAT: f32 = 1e-3;
    let normal = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| positions[i as usize]);
        (b - a).cross(&(c - a)).try_normalize(0.0)
    };
    let Some(first) = triangles.iter().find_map(normal) else {
        return false;
    };
    triangles.iter().all(|t| {
        let flat = normal(t).is_none_or(|n| (n - first).norm() < FLAT);
        flat && (eye - positions[t[0] as usize]).dot(&first) < 0.0
    })
}

fn check_indices(picture: &Picture) -> Result<(), PictureError> {
    let check = |kind: &'static str, view: usize, corners: usize, indices: &[u32], count: usize| {
        match indices.iter().position(|&index| index as usize >= count) {
            Some(at) => Err(PictureError::Index {
                kind,
                item: at / corners,
                view,
                vertex: indices[at],
                count,
            }),
            None => Ok(()),
        }
    };
    for (view, mesh) in picture.meshes.iter().enumerate() {
        let indices = mesh.triangles.as_flattened();
        check("triangle", view, 3, indices, mesh.positions.len())?;
    }
    for (view, line) in picture.lines.iter().enumerate() {
        let indices = line.segments.as_flattened();
        check("segment", view, 2, indices, line.positions.len())?;
    }
    Ok(())
}
