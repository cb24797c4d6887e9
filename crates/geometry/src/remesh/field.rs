//! The sizing field of a sheet in motion [narain2012; li2018, Sect. 5.1].
//!
//! Each triangle has a tensor that combines five criteria. With F = ∂x/∂x̄:
//!
//! | criterion | tensor | an edge has size 1 when |
//! | --- | --- | --- |
//! | curvature | SᵀS / Δn² | the normal turns by Δn along it |
//! | velocity | ∇vᵀ∇v / Δv² | the velocity changes by Δv along it |
//! | compression | 4 (−E)₊ / (π a)² | a sine wave of amplitude a over it has the length lost |
//! | proximity | ∇φ∇φᵀ / max φ² | the distance φ to a tangent plane changes by as much as it is |
//! | lengths | | it is as long as `SizeLimits` allow |
//!
//! E = ½ (FᵀF − 1); a half wave of amplitude a over a length l loses the fraction π²a²/(4 l²) of it.
//! A vertex has the mean of its triangles by area.

use stiction_math::{Mat2, Mat3, Vec2, Vec3, sym_eig2};

use super::{
    curvature::{bends, shape_operator},
    edit::area_vector,
    sizing::{SizeLimits, Sizing, TangentFrame, combine},
};

/// Settings of [`sizing_field()`]; infinity switches a criterion off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldConfig {
    /// Limits of edge lengths.
    pub limits: SizeLimits,
    /// Largest turn Δn of the normal along an edge [rad].
    pub angle: f64,
    /// Largest change Δv of the velocity along an edge [m/s].
    pub velocity: f64,
    /// Amplitude a of waves that an edge may hide [m].
    pub wave: f64,
    /// Largest growth of the allowed length along an edge of that length [1].
    pub gradation: f64,
}

/// A sheet and its motion.
#[derive(Clone, Copy, Debug)]
pub struct SheetMotion<'a> {
    /// Rest positions [m].
    pub rest: &'a [Vec3],
    /// Positions [m].
    pub x: &'a [Vec3],
    /// Velocities [m/s].
    pub v: &'a [Vec3],
    /// Triangles.
    pub triangles: &'a [[u32; 3]],
}

/// A plane n·x = offset in world space, next to which a triangle moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TangentPlane {
    /// The unit normal n.
    pub normal: Vec3,
    /// n·x on the plane [m].
    pub offset: f64,
}

/// The sizing tensor of every vertex. `planes` lists tangent planes near each triangle; none for
/// triangles beyond its end.
pub fn sizing_field(
    sheet: &SheetMotion<'_>,
    planes: &[Vec<TangentPlane>],
    config: &FieldConfig,
) -> Vec<Sizing> {
    let bends = bends(sheet.rest, sheet.x, sheet.triangles);
    let mut sum = vec![(Mat3::zeros(), Vec3::zeros(), 0.0); sheet.rest.len()];
    let mut normals = vec![Vec3::zeros(); sheet.rest.len()];
    for t in sheet.triangles {
        let area = area_vector(&t.map(|v| sheet.rest[v as usize]));
        for &v in t {
            normals[v as usize] += area;
        }
    }
    let normals: Vec<Vec3> = normals
        .iter()
        .map(|n| n.try_normalize(0.0).unwrap_or(Vec3::z()))
        .collect();
    for (i, t) in sheet.triangles.iter().enumerate() {
        let corners = t.map(|v| sheet.rest[v as usize]);
        let Some(frame) = TangentFrame::of(&corners) else {
            continue;
        };
        let area = area_vector(&corners).norm();
        let near = planes.get(i).map_or(&[][..], |p| p);
        let m = triangle(sheet, t, &corners, &frame, &bends[i], near, config);
        for &v in t {
            // In the tangent plane of the vertex, turned with the least rotation.
            let normal = normals[v as usize];
            let turned = TangentFrame {
                axes: frame.axes.map(|e| turned(&e, &frame.normal, &normal)),
                normal,
            };
            let entry = &mut sum[v as usize];
            entry.0 += turned.lift(&m) * area;
            entry.2 += area;
        }
    }
    let mut field: Vec<Sizing> = sum
        .iter()
        .zip(&normals)
        .map(|(s, normal)| match s.2 > 0.0 {
            true => Sizing {
                tensor: s.0 / s.2,
                normal: *normal,
            },
            false => Sizing::uniform(*normal, config.limits.largest),
        })
        .collect();
    if config.gradation.is_finite() {
        grade(&mut field, sheet, config.gradation);
    }
    field
}

/// `e` after the least rotation that takes the unit vector `from` to `to`.
fn turned(e: &Vec3, from: &Vec3, to: &Vec3) -> Vec3 {
    let axis = from.cross(to);
    let cosine = from.dot(to);
    if cosine < -0.999 {
        return *e;
    }
    e + axis.cross(e) + axis.cross(&axis.cross(e)) / (1.0 + cosine)
}

/// The tensor of a triangle in its own frame.
fn triangle(
    sheet: &SheetMotion<'_>,
    t: &[u32; 3],
    corners: &[Vec3; 3],
    frame: &TangentFrame,
    bends: &[f64; 3],
    planes: &[TangentPlane],
    config: &FieldConfig,
) -> Mat2 {
    let limits = &config.limits;
    let [p, q] = [1, 2].map(|k| frame.flat(&(corners[k] - corners[0])));
    let Some(inverse) = Mat2::from_columns(&[p, q]).try_inverse() else {
        return limits.clamp(&Mat2::zeros());
    };
    // Columns of the gradient of a column of vectors at the corners.
    let gradient = |of: &[Vec3]| {
        let [a, b, c] = t.map(|v| of[v as usize]);
        [0, 1].map(|k| (b - a) * inverse[(0, k)] + (c - a) * inverse[(1, k)])
    };
    let square = |[a, b]: &[Vec3; 2]| Mat2::new(a.dot(a), a.dot(b), a.dot(b), b.dot(b));
    let mut m = Mat2::identity() / (limits.largest * limits.largest);
    // Every criterion is clamped on its own: a tensor of huge numbers would drown the others.
    let mut add = |tensor: Mat2| {
        if tensor.iter().all(|v| v.is_finite()) && tensor.norm_squared() > 0.0 {
            m = combine(&m, &bounded(&tensor, limits));
        }
    };
    let s = shape_operator(frame, corners, bends);
    add(s * s / (config.angle * config.angle));
    add(square(&gradient(sheet.v)) / (config.velocity * config.velocity));
    let f = gradient(sheet.x);
    let frame_area = area_vector(corners).norm();
    if config.wave.is_finite() {
        let (values, axes) = sym_eig2(&((square(&f) - Mat2::identity()) * 0.5));
        let lost = values.map(|e| (-e).max(0.0));
        let wave = std::f64::consts::PI * config.wave;
        add(axes * Mat2::from_diagonal(&lost) * axes.transpose() * (4.0 / (wave * wave)));
    }
    for plane in planes {
        let phi = t.map(|v| plane.normal.dot(&sheet.x[v as usize]) - plane.offset);
        let most = phi.iter().fold(0.0_f64, |m, p| m.max(p * p));
        // A triangle in the plane does not cross it; its slope is rounding.
        if most <= IN_PLANE * IN_PLANE * frame_area {
            continue;
        }
        let slope = Vec2::from(f.map(|f| f.dot(&plane.normal)));
        add(slope * slope.transpose() / most);
    }
    limits.clamp(&m)
}

/// Distance to a plane, relative to the size of a triangle, at which it lies in the plane.
const IN_PLANE: f64 = 1e-6;

/// A semi-definite tensor with no eigenvalue above 1/smallest².
fn bounded(m: &Mat2, limits: &SizeLimits) -> Mat2 {
    let (values, axes) = sym_eig2(m);
    let most = 1.0 / (limits.smallest * limits.smallest);
    let values = values.map(|v| v.clamp(0.0, most));
    axes * Mat2::from_diagonal(&values) * axes.transpose()
}

/// Bound on the sweeps of gradation, each of which reaches at least one edge farther.
const SWEEPS: usize = 64;

/// Bounds the growth of the allowed length along edges: with s the size of an edge at one end, the
/// tensor there over (1 + β s)² bounds that at the other.
fn grade(field: &mut [Sizing], sheet: &SheetMotion<'_>, growth: f64) {
    let mesh = crate::mesh::TriMesh {
        positions: Vec::new(),
        triangles: sheet.triangles.to_vec(),
    };
    let edges = mesh.edges();
    for _ in 0..SWEEPS {
        let mut changed = false;
        for &[a, b] in &edges {
            let d = sheet.rest[b as usize] - sheet.rest[a as usize];
            for (from, to) in [(a, b), (b, a)] {
                let (source, target) = (field[from as usize], field[to as usize]);
                let Some(along) = d.try_normalize(0.0) else {
                    continue;
                };
                let Some(across) = target.normal.cross(&along).try_normalize(1e-6) else {
                    continue;
                };
                let frame = TangentFrame {
                    axes: [across.cross(&target.normal), across],
                    normal: target.normal,
                };
                let scale = 1.0 + growth * source.squared(&d).sqrt();
                let bound = source.within(&frame) / (scale * scale);
                let own = target.within(&frame);
                let (gain, _) = sym_eig2(&(bound - own));
                if gain.max() > 1e-3 * own.norm() {
                    field[to as usize].tensor = frame.lift(&combine(&own, &bound));
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
}

#[cfg(test)]
mod tests;
