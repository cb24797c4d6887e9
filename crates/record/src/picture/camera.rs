use super::PictureError;
use stiction_math::Vec3;

/// Camera of a picture. z points up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Camera {
    /// Fits all framed objects, from the smallest distance.
    Auto {
        /// Direction of the eye around the vertical, from the x axis towards the y axis [degrees].
        azimuth: f64,
        /// Height of the eye above the horizon [degrees], between −89 and 89.
        elevation: f64,
        /// Vertical field of view [degrees].
        fov: f64,
    },
    /// A given view.
    LookAt {
        /// Position of the eye [m].
        eye: Vec3,
        /// Point at the centre of the picture [m].
        target: Vec3,
        /// Up direction of the picture.
        up: Vec3,
        /// Vertical field of view [degrees].
        fov: f64,
    },
}

impl Default for Camera {
    fn default() -> Self {
        Self::Auto {
            azimuth: -60.0,
            elevation: 18.0,
            fov: 30.0,
        }
    }
}

/// Fraction of the half width and height that framed points may fill.
const MARGIN: f64 = 0.86;

impl Camera {
    /// Turns [`Camera::Auto`] into the [`Camera::LookAt`] that shows all `points` [m] in a picture
    /// of the given size; use one for all frames of a sequence, so that the eye stands still.
    ///
    /// The fit is exact: with tangent T of the half angle, a point (x, y, z) along right, up and
    /// forward is inside if |x − x₀| ≤ T (z + d). The two sides give d = (a + b)/2 and x₀ = T (a −
    /// b)/2 with a = max(x/T − z), b = max(−x/T − z); the height is fitted likewise, and the larger
    /// of the two distances is used.
    pub fn fit(
        self,
        points: impl IntoIterator<Item = Vec3>,
        size: [u32; 2],
    ) -> Result<Self, PictureError> {
        let Self::Auto {
            azimuth,
            elevation,
            fov,
        } = self
        else {
            return Ok(self);
        };
        if !azimuth.is_finite() || !elevation.is_finite() {
            return Err(PictureError::Camera);
        }
        let (azimuth, elevation) = (
            azimuth.to_radians(),
            elevation.clamp(-89.0, 89.0).to_radians(),
        );
        let back = Vec3::new(
            elevation.cos() * azimuth.cos(),
            elevation.cos() * azimuth.sin(),
            elevation.sin(),
        );
        let basis = Basis::new(-back, Vec3::z()).ok_or(PictureError::Camera)?;
        let tangent = tangent(fov)? * MARGIN;
        let tangents = [tangent * aspect(size), tangent];
        let mut sides = [[f64::NEG_INFINITY; 2]; 2];
        let (mut nearest, mut farthest) = (f64::INFINITY, f64::NEG_INFINITY);
        for point in points
            .into_iter()
            .filter(|p| p.iter().all(|x| x.is_finite()))
        {
            let depth = point.dot(&basis.forward);
            (nearest, farthest) = (nearest.min(depth), farthest.max(depth));
            for (axis, across) in [basis.right, basis.up].iter().enumerate() {
                let x = point.dot(across) / tangents[axis];
                sides[axis][0] = sides[axis][0].max(x - depth);
                sides[axis][1] = sides[axis][1].max(-x - depth);
            }
        }
        if nearest == f64::INFINITY {
            sides = [[1.0; 2]; 2];
            (nearest, farthest) = (-1.0, 1.0);
        }
        let distance = sides.map(|[a, b]| 0.5 * (a + b));
        let [x, y] = [0, 1].map(|k| tangents[k] * 0.5 * (sides[k][0] - sides[k][1]));
        // Keeps a single point away from the eye.
        let distance = distance[0].max(distance[1]).max(1e-3 - nearest);
        let middle = basis.right * x + basis.up * y;
        let eye = middle - basis.forward * distance;
        let reach = 0.5 * (nearest + farthest) + distance;
        Ok(Self::LookAt {
            eye,
            target: eye + basis.forward * reach,
            up: Vec3::z(),
            fov,
        })
    }
}

fn aspect(size: [u32; 2]) -> f64 {
    f64::from(size[0].max(1)) / f64::from(size[1].max(1))
}

fn tangent(fov: f64) -> Result<f64, PictureError> {
    if !(1.0..=150.0).contains(&fov) {
        return Err(PictureError::Camera);
    }
    Ok((0.5 * fov.to_radians()).tan())
}

struct Basis {
    right: Vec3,
    up: Vec3,
    forward: Vec3,
}

impl Basis {
    fn new(forward: Vec3, up: Vec3) -> Option<Self> {
        let forward = forward.try_normalize(1e-12)?;
        let right = forward
            .cross(&up.try_normalize(1e-12)?)
            .try_normalize(1e-6)?;
        Some(Self {
            right,
            up: right.cross(&forward),
            forward,
        })
    }
}

/// A camera ready for rays, in the units of the caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub eye: Vec3,
    pub right: Vec3,
    pub up: Vec3,
    pub forward: Vec3,
    /// Tangents of the half angles across and up.
    pub tangents: [f64; 2],
    pub size: [u32; 2],
}

impl View {
    pub fn new(camera: Camera, size: [u32; 2]) -> Result<Self, PictureError> {
        let camera = camera.fit([], size)?;
        let Camera::LookAt {
            eye,
            target,
            up,
            fov,
        } = camera
        else {
            return Err(PictureError::Camera);
        };
        let finite = [eye, target, up]
            .iter()
            .all(|v| v.iter().all(|x| x.is_finite()));
        let basis = Basis::new(target - eye, up).filter(|_| finite);
        let Basis { right, up, forward } = basis.ok_or(PictureError::Camera)?;
        let tangent = tangent(fov)?;
        Ok(Self {
            eye,
            right,
            up,
            forward,
            tangents: [tangent * aspect(size), tangent],
            size,
        })
    }

    /// The unit direction through the point (x, y) of the picture [pixels], from the top left.
    pub fn direction(&self, x: f64, y: f64) -> Vec3 {
        let u = (2.0 * x / f64::from(self.size[0]) - 1.0) * self.tangents[0];
        let v = (1.0 - 2.0 * y / f64::from(self.size[1])) * self.tangents[1];
        (self.forward + self.right * u + self.up * v).normalize()
    }

    /// Position of a point in the picture [pixels] and its distance from the eye; `None` behind the
    /// eye.
    pub fn project(&self, point: Vec3) -> Option<([f64; 2], f64)> {
        let arm = point - self.eye;
        let depth = arm.dot(&self.forward);
        if depth.is_nan() || depth <= 1e-9 {
            return None;
        }
        let u = arm.dot(&self.right) / (depth * self.tangents[0]);
        let v = arm.dot(&self.up) / (depth * self.tangents[1]);
        let x = 0.5 * (u + 1.0) * f64::from(self.size[0]);
        let y = 0.5 * (1.0 - v) * f64::from(self.size[1]);
        Some(([x, y], arm.norm()))
    }

    /// Angle of a pixel at the centre of the picture [rad].
    pub fn pixel_angle(&self) -> f64 {
        2.0 * self.tangents[1] / f64::from(self.size[1])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_fit_touches_the_margin_and_leaves_nothing_out() {
        let points: Vec<Vec3> = (0..200)
            .map(|i| {
                let t = f64::from(i);
                Vec3::new(3.0 * t.sin() + 5.0, (1.7 * t).cos(), 0.3 * (0.9 * t).sin())
            })
            .collect();
        for size in [[640, 480], [200, 900]] {
            for azimuth in [-60.0, 10.0, 200.0] {
                let auto = Camera::Auto {
                    azimuth,
                    elevation: 25.0,
                    fov: 35.0,
                };
                let camera = auto.fit(points.iter().copied(), size).unwrap();
                let view = View::new(camera, size).unwrap();
                let half = size.map(|s| 0.5 * f64::from(s));
                let mut largest: f64 = 0.0;
                for &point in &points {
                    let ([x, y], _) = view.project(point).unwrap();
                    let out = ((x - half[0]) / half[0])
                        .abs()
                        .max(((y - half[1]) / half[1]).abs());
                    largest = largest.max(out);
                    // The ray through the pixel meets the point again.
                    let off = view.direction(x, y).cross(&(point - view.eye)).norm();
                    assert!(off < 1e-9, "{off}");
                }
                assert!((largest - MARGIN).abs() < 1e-9, "{largest}");
            }
        }
    }

    #[test]
    fn cameras_that_look_nowhere_are_refused() {
        let look = |eye: Vec3, target: Vec3, fov: f64| {
            let camera = Camera::LookAt {
                eye,
                target,
                up: Vec3::z(),
                fov,
            };
            View::new(camera, [10, 10]).map(drop)
        };
        assert!(look(Vec3::x(), Vec3::zeros(), 30.0).is_ok());
        assert_eq!(look(Vec3::x(), Vec3::x(), 30.0), Err(PictureError::Camera));
        assert_eq!(
            look(Vec3::z(), Vec3::zeros(), 30.0),
            Err(PictureError::Camera)
        );
        assert_eq!(
            look(Vec3::x(), Vec3::zeros(), f64::NAN),
            Err(PictureError::Camera)
        );
        assert!(look(Vec3::x() * f64::NAN, Vec3::zeros(), 30.0).is_err());
        for lone in [vec![], vec![Vec3::new(1.0, 2.0, 3.0)]] {
            let camera = Camera::default().fit(lone, [10, 10]).unwrap();
            assert!(View::new(camera, [10, 10]).is_ok());
        }
    }
}
