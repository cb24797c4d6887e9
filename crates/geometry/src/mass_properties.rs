//! Mass, centre of mass and inertia of meshes of uniform density.
//!
//! All integrals are exact for the mesh as it is: a sum over tetrahedra (for a closed surface,
//! the signed tetrahedra between each triangle and one reference point) or over triangles.

use stiction_math::elementary::hypot;
use stiction_math::nalgebra::Rotation3;
use stiction_math::{Mat3, Quat, Vec3};

use crate::mesh::{MeshError, TetMesh, TriMesh};

/// Mass, centre and inertia of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MassProperties {
    /// Mass m = ∫ ρ dV [kg].
    pub mass: f64,
    /// Centre of mass c = ∫ ρ x dV / m [m].
    pub centre: Vec3,
    /// Inertia tensor about the centre of mass, in the axes of the mesh,
    /// ∫ ρ (‖y‖² I − y yᵀ) dV with y = x − c [kg m²].
    pub inertia: Mat3,
}

/// The axes in which the inertia tensor is diagonal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrincipalAxes {
    /// The principal moments, ascending [kg m²].
    pub moments: Vec3,
    /// The rotation R whose columns are the axes: inertia = R diag(moments) Rᵀ.
    pub rotation: Quat,
}

/// Reason for which a mesh has no mass properties.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MassError {
    /// Indices, coordinates or closedness are at fault.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// There is nothing to integrate over.
    #[error("the mesh has no elements")]
    Empty,
    /// The density is not a positive number.
    #[error("the density must be positive and finite, but is {0}")]
    Density(f64),
    /// The surface is closed but faces inwards, or encloses nothing.
    #[error(
        "the surface encloses a volume of {volume} m³; if it is negative, the triangles face \
         inwards and must be turned over"
    )]
    Volume {
        /// The signed volume [m³].
        volume: f64,
    },
    /// A tetrahedron is inverted or flat.
    #[error("tetrahedron {tet} has a volume of {volume} m³, which must be positive")]
    InvertedTet {
        /// Index of the tetrahedron.
        tet: usize,
        /// Its signed volume [m³].
        volume: f64,
    },
    /// A shell without area.
    #[error("triangle {triangle} has no area, nor has any other")]
    NoArea {
        /// Index of the first triangle.
        triangle: usize,
    },
}

impl MassProperties {
    /// Of the volume enclosed by a closed surface, with a density in kg/m³.
    pub fn of_closed_surface(mesh: &TriMesh, density: f64) -> Result<Self, MassError> {
        mesh.check()?;
        check_density(density)?;
        mesh.check_closed()?;
        let o = mesh.bounds().ok_or(MassError::Empty)?.centre();
        let mut moments = Moments::default();
        for t in 0..mesh.triangles.len() {
            let [a, b, c] = mesh.corners(t).map(|p| p - o);
            let volume = a.dot(&b.cross(&c)) / 6.0;
            moments.add_simplex(volume, &[Vec3::zeros(), a, b, c]);
        }
        if moments.measure.is_nan() || moments.measure <= 0.0 {
            return Err(MassError::Volume {
                volume: moments.measure,
            });
        }
        Ok(moments.finish(density, &o))
    }

    /// Of a tetrahedral mesh, with a density in kg/m³.
    pub fn of_tets(mesh: &TetMesh, density: f64) -> Result<Self, MassError> {
        mesh.check()?;
        check_density(density)?;
        if mesh.tets.is_empty() {
            return Err(MassError::Empty);
        }
        let o = mesh.bounds().ok_or(MassError::Empty)?.centre();
        let mut moments = Moments::default();
        for tet in 0..mesh.tets.len() {
            let volume = mesh.tet_volume(tet);
            if volume.is_nan() || volume <= 0.0 {
                return Err(MassError::InvertedTet { tet, volume });
            }
            moments.add_simplex(volume, &mesh.corners(tet).map(|p| p - o));
        }
        Ok(moments.finish(density, &o))
    }

    /// Of a thin shell, open or closed, with an area density in kg/m².
    pub fn of_shell(mesh: &TriMesh, area_density: f64) -> Result<Self, MassError> {
        mesh.check()?;
        check_density(area_density)?;
        if mesh.triangles.is_empty() {
            return Err(MassError::Empty);
        }
        let o = mesh.bounds().ok_or(MassError::Empty)?.centre();
        let mut moments = Moments::default();
        for t in 0..mesh.triangles.len() {
            let area = mesh.area_vector(t).norm();
            moments.add_simplex(area, &mesh.corners(t).map(|p| p - o));
        }
        if moments.measure.is_nan() || moments.measure <= 0.0 {
            return Err(MassError::NoArea { triangle: 0 });
        }
        Ok(moments.finish(area_density, &o))
    }

    /// The inertia tensor about another point, by the parallel-axis theorem [kg m²].
    pub fn inertia_about(&self, point: &Vec3) -> Mat3 {
        self.inertia + self.mass * spread(&(self.centre - point))
    }

    /// After the motion x ← R x + t.
    pub fn moved(&self, rotation: &Quat, translation: &Vec3) -> Self {
        let r = rotation.to_rotation_matrix().into_inner();
        MassProperties {
            mass: self.mass,
            centre: rotation * self.centre + translation,
            inertia: symmetric(&(r * self.inertia * r.transpose())),
        }
    }

    /// Of both bodies together.
    pub fn joined(&self, other: &Self) -> Self {
        let mass = self.mass + other.mass;
        let centre = (self.mass * self.centre + other.mass * other.centre) / mass;
        MassProperties {
            mass,
            centre,
            inertia: self.inertia_about(&centre) + other.inertia_about(&centre),
        }
    }

    /// The principal moments and axes. Each of the first two axes has its largest component
    /// positive, the third completes them to a rotation.
    pub fn principal_axes(&self) -> PrincipalAxes {
        let (values, vectors) = symmetric_eigen(&self.inertia);
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let axis = |k: usize| {
            let v: Vec3 = vectors.column(order[k]).into_owned();
            if v[v.iamax()] < 0.0 { -v } else { v }
        };
        let (x, y) = (axis(0), axis(1));
        let r = Mat3::from_columns(&[x, y, x.cross(&y)]);
        PrincipalAxes {
            moments: Vec3::from_fn(|k, _| values[order[k]]),
            rotation: Quat::from_rotation_matrix(&Rotation3::from_matrix_unchecked(r)),
        }
    }
}

/// ∫ 1, ∫ x and ∫ x xᵀ over the mesh.
#[derive(Default)]
struct Moments {
    measure: f64,
    first: Vec3,
    second: Mat3,
}

impl Moments {
    /// Adds a simplex of N corners and the given measure. With s = Σ xᵢ the exact integrals are
    /// ∫ x = measure · s / N and ∫ x xᵀ = measure · (Σ xᵢ xᵢᵀ + s sᵀ) / (N (N + 1)).
    fn add_simplex<const N: usize>(&mut self, measure: f64, corners: &[Vec3; N]) {
        let sum: Vec3 = corners.iter().sum();
        let squares: Mat3 = corners.iter().map(|x| x * x.transpose()).sum();
        let n = N as f64;
        self.measure += measure;
        self.first += measure / n * sum;
        self.second += measure / (n * (n + 1.0)) * (squares + sum * sum.transpose());
    }

    fn finish(self, density: f64, reference: &Vec3) -> MassProperties {
        let offset = self.first / self.measure;
        let central = self.second - self.measure * offset * offset.transpose();
        let inertia = Mat3::from_diagonal_element(central.trace()) - central;
        MassProperties {
            mass: density * self.measure,
            centre: reference + offset,
            inertia: symmetric(&(density * inertia)),
        }
    }
}

fn check_density(density: f64) -> Result<(), MassError> {
    if density > 0.0 && density.is_finite() {
        Ok(())
    } else {
        Err(MassError::Density(density))
    }
}

/// ‖d‖² I − d dᵀ.
fn spread(d: &Vec3) -> Mat3 {
    Mat3::from_diagonal_element(d.norm_squared()) - d * d.transpose()
}

fn symmetric(m: &Mat3) -> Mat3 {
    0.5 * (m + m.transpose())
}

/// Eigenvalues and orthonormal eigenvectors (columns) by cyclic Jacobi rotations, which find
/// small moments next to large ones to full relative accuracy and always end.
fn symmetric_eigen(m: &Mat3) -> (Vec3, Mat3) {
    let mut a = symmetric(m);
    let mut v = Mat3::identity();
    for _ in 0..32 {
        let off = a[(0, 1)].abs() + a[(0, 2)].abs() + a[(1, 2)].abs();
        if off == 0.0 || !off.is_finite() {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[(p, q)] == 0.0 {
                continue;
            }
            let theta = (a[(q, q)] - a[(p, p)]) / (2.0 * a[(p, q)]);
            let t = theta.signum() / (theta.abs() + hypot(theta, 1.0));
            let c = 1.0 / hypot(t, 1.0);
            let s = t * c;
            let mut g = Mat3::identity();
            g[(p, p)] = c;
            g[(q, q)] = c;
            g[(p, q)] = s;
            g[(q, p)] = -s;
            a = g.transpose() * a * g;
            a[(p, q)] = 0.0;
            a[(q, p)] = 0.0;
            v *= g;
        }
    }
    (a.diagonal(), v)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shapes::*;
    use std::f64::consts::PI;

    fn close(a: &MassProperties, b: &MassProperties, tolerance: f64) {
        assert!((a.mass - b.mass).abs() <= tolerance * b.mass, "{a:?} {b:?}");
        assert!((a.centre - b.centre).norm() <= tolerance, "{a:?} {b:?}");
        let scale = b.inertia.norm();
        assert!((a.inertia - b.inertia).norm() <= tolerance * scale);
    }

    fn brick() -> (TriMesh, TetMesh, MassProperties) {
        let (size, cells) = ([1.0, 2.0, 3.0], [2, 3, 1]);
        let surface = BoxSurface { size, cells }.build().unwrap();
        let solid = BoxSolid {
            size,
            cells,
            pattern: TetPattern::Five,
        }
        .build()
        .unwrap();
        let diagonal = Vec3::new(4.0 + 9.0, 1.0 + 9.0, 1.0 + 4.0);
        let exact = MassProperties {
            mass: 60.0,
            centre: Vec3::zeros(),
            inertia: Mat3::from_diagonal(&(60.0 / 12.0 * diagonal)),
        };
        (surface, solid, exact)
    }

    #[test]
    fn a_box_is_exact_as_surface_and_as_solid() {
        let (surface, solid, exact) = brick();
        close(
            &MassProperties::of_closed_surface(&surface, 10.0).unwrap(),
            &exact,
            1e-14,
        );
        close(
            &MassProperties::of_tets(&solid, 10.0).unwrap(),
            &exact,
            1e-14,
        );
    }

    #[test]
    fn motions_and_parallel_axes_commute_with_integration() {
        let (surface, solid, exact) = brick();
        let one = Vec3::new(1.0, 1.0, 1.0);
        for (k, t) in [Vec3::new(3.0, -2.0, 1.0), Vec3::new(-20.0, 5.0, 9.0)]
            .into_iter()
            .enumerate()
        {
            let r = Quat::from_euler_angles(0.4 + k as f64, -1.1, 2.0);
            let (mut a, mut b) = (surface.clone(), solid.clone());
            a.transform(&r, &one, &t);
            b.transform(&r, &one, &t);
            let expected = exact.moved(&r, &t);
            let found = MassProperties::of_closed_surface(&a, 10.0).unwrap();
            close(&found, &expected, 1e-12);
            close(
                &MassProperties::of_tets(&b, 10.0).unwrap(),
                &expected,
                1e-12,
            );
            // About the origin: integrate point masses of a fine partition independently.
            let about = found.inertia_about(&Vec3::zeros());
            let n = 48; // the midpoint rule errs by 1/n² of the central inertia
            let mut sum = Mat3::zeros();
            let cell = |i: i32, l: f64| l * ((f64::from(i) + 0.5) / f64::from(n) - 0.5);
            for i in 0..n {
                for j in 0..n {
                    for l in 0..n {
                        let x = r * Vec3::new(cell(i, 1.0), cell(j, 2.0), cell(l, 3.0)) + t;
                        sum += 60.0 / f64::from(n * n * n) * spread(&x);
                    }
                }
            }
            assert!((about - sum).norm() < 1e-3 * exact.inertia.norm());
        }
    }

    #[test]
    fn round_bodies_converge_to_their_closed_forms() {
        let ball = |frequency| {
            let m = BallSurface {
                radius: 0.5,
                frequency,
            };
            m.build().unwrap()
        };
        let mass = 1000.0 * 4.0 / 3.0 * PI * 0.125;
        let (mut previous, mut last) = (f64::NAN, f64::NAN);
        for frequency in [8, 16, 32] {
            let p = MassProperties::of_closed_surface(&ball(frequency), 1000.0).unwrap();
            let exact = 0.4 * mass * 0.25;
            previous = last;
            last = (p.inertia[(0, 0)] / exact - 1.0).abs();
            assert!(p.centre.norm() < 1e-14);
        }
        assert!(last < 4e-3 && (3.8..4.2).contains(&(previous / last)));

        let shell = MassProperties::of_shell(&ball(32), 2.0).unwrap();
        let exact = 2.0 / 3.0 * shell.mass * 0.25;
        assert!((shell.inertia[(2, 2)] / exact - 1.0).abs() < 3e-3);
        assert!((shell.mass / (2.0 * PI) - 1.0).abs() < 3e-3);

        let torus = TorusSolid {
            major: 0.5,
            minor: 0.2,
            around: 96,
            rings: 8,
        };
        let p = MassProperties::of_tets(&torus.build().unwrap(), 10.0).unwrap();
        let exact = p.mass * (0.25 + 0.75 * 0.04);
        assert!((p.inertia[(2, 2)] / exact - 1.0).abs() < 5e-3);
    }

    #[test]
    fn a_flat_sheet_as_a_shell() {
        let m = Sheet {
            size: [2.0, 3.0],
            cells: [4, 4],
            pattern: SheetPattern::Irregular {
                jitter: 1.0,
                seed: 1,
            },
        }
        .build()
        .unwrap();
        let p = MassProperties::of_shell(&m, 0.5).unwrap();
        let expected = 3.0 / 12.0 * Vec3::new(9.0, 4.0, 13.0);
        assert!((p.inertia - Mat3::from_diagonal(&expected)).norm() < 1e-13);
    }

    #[test]
    fn two_halves_make_a_whole() {
        let half = |x: f64| {
            let mut m = BoxSurface {
                size: [1.0, 2.0, 3.0],
                cells: [1, 1, 1],
            }
            .build()
            .unwrap();
            let one = Vec3::new(1.0, 1.0, 1.0);
            m.transform(&Quat::identity(), &one, &Vec3::new(x, 0.0, 0.0));
            MassProperties::of_closed_surface(&m, 1.0).unwrap()
        };
        let whole = BoxSurface {
            size: [2.0, 2.0, 3.0],
            cells: [1, 1, 1],
        };
        let whole = MassProperties::of_closed_surface(&whole.build().unwrap(), 1.0).unwrap();
        close(&half(-0.5).joined(&half(0.5)), &whole, 1e-14);
    }

    #[test]
    fn principal_axes_diagonalise() {
        let (_, _, exact) = brick();
        for angles in [(0.0, 0.0, 0.0), (0.3, 0.9, -2.0), (3.0, 0.001, 1.0)] {
            let r = Quat::from_euler_angles(angles.0, angles.1, angles.2);
            let p = exact.moved(&r, &Vec3::zeros());
            let axes = p.principal_axes();
            let moments = Vec3::new(25.0, 50.0, 65.0);
            assert!((axes.moments - moments).norm() < 1e-12);
            let m = axes.rotation.to_rotation_matrix().into_inner();
            let back = m * Mat3::from_diagonal(&axes.moments) * m.transpose();
            assert!((back - p.inertia).norm() < 1e-11, "{angles:?}");
        }
    }

    #[test]
    fn faults_are_named() {
        let (mut surface, mut solid, _) = brick();
        let turned = {
            let mut m = surface.clone();
            m.flip();
            MassProperties::of_closed_surface(&m, 1.0).unwrap_err()
        };
        assert!(matches!(turned, MassError::Volume { volume } if (volume + 6.0).abs() < 1e-12));
        surface.triangles.remove(7);
        let open = MassProperties::of_closed_surface(&surface, 1.0).unwrap_err();
        assert!(matches!(open, MassError::Mesh(MeshError::OpenEdge { .. })));
        assert!(MassProperties::of_shell(&surface, 1.0).is_ok());
        solid.tets[3].swap(0, 1);
        let inverted = MassProperties::of_tets(&solid, 1.0).unwrap_err();
        assert!(matches!(inverted, MassError::InvertedTet { tet: 3, .. }));
        let density = MassProperties::of_shell(&surface, -1.0).unwrap_err();
        assert_eq!(density, MassError::Density(-1.0));
        let empty = TriMesh::default();
        for error in [
            MassProperties::of_shell(&empty, 1.0),
            MassProperties::of_closed_surface(&empty, 1.0),
        ] {
            assert_eq!(error.unwrap_err(), MassError::Empty);
        }
    }
}
