//! Relaxation of attachments: the properties of [ding, Sect. 2.1], on planes, shapes, level sets and meshes.

use proptest::prelude::*;
use stiction_contact::attach::{
    MeshPoint, RelaxState, RelaxTrace, Relaxed, SurfaceTopology, relax_on_mesh, relax_on_solid,
};
use stiction_geometry::analytic::{Shape, Solid};
use stiction_geometry::{SplitMix, TriMesh};
use stiction_math::{Quat, Vec3, Vector};

trait Between {
    /// A number between two.
    fn between(&mut self, low: f64, high: f64) -> f64;
}

impl Between for SplitMix {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
}

fn random(r: &mut SplitMix) -> Vec3 {
    Vec3::new(
        r.between(-1.0, 1.0),
        r.between(-1.0, 1.0),
        r.between(-1.0, 1.0),
    )
}

struct Mesh {
    topology: SurfaceTopology,
    x: Vec<Vec3>,
}

impl Mesh {
    fn new(triangles: &[[u32; 3]], x: Vec<Vec3>) -> Self {
        let topology = SurfaceTopology::new(triangles, x.len());
        Self { topology, x }
    }

    fn of(mesh: &TriMesh) -> Self {
        Self::new(&mesh.triangles, mesh.positions.clone())
    }

    fn relax(&self, from: &MeshPoint, z: &Vec3, mu: f64) -> (Relaxed<f64>, RelaxTrace) {
        let mut trace = RelaxTrace::default();
        let x = |v: u32| Vector::constant(&self.x[v as usize]);
        let z = Vector::constant(z);
        let relaxed = relax_on_mesh(&self.topology, &x, from, &z, mu, &mut trace);
        (relaxed, trace)
    }

    fn at(&self, p: &MeshPoint) -> Vec3 {
        let corners = self.topology.triangles()[p.triangle as usize];
        (0..3)
            .map(|i| self.x[corners[i] as usize] * p.weights[i])
            .sum()
    }

    /// All properties that hold for any mesh; the relaxed point.
    fn check(&self, from: &MeshPoint, z: &Vec3, mu: f64) -> (MeshPoint, Relaxed<f64>, RelaxTrace) {
        let (relaxed, trace) = self.relax(from, z, mu);
        let to = MeshPoint {
            triangle: relaxed.triangle,
            weights: relaxed.weights,
        };
        let y = relaxed.point.plain();
        let size = self
            .x
            .iter()
            .chain([z])
            .fold(0.0, |m: f64, x| m.max(x.amax()));
        // On the object: weights of a point of a triangle.
        assert!(to.weights.iter().all(|w| *w >= 0.0), "{to:?}");
        assert!((to.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        assert!((self.at(&to) - y).norm() <= 1e-14 * size);
        // Never farther from the particle than before.
        let (before, after) = ((self.at(from) - z).norm(), (y - z).norm());
        assert!(after <= before + 1e-13 * size, "{before} {after}");
        // The limit on the number of states was not what ended it.
        assert!(trace.states.len() < 8 * (self.topology.triangles().len() + 8));
        if relaxed.active {
            let f = y - z;
            let normal = f.dot(&relaxed.normal);
            let tangential = (f - relaxed.normal * normal).norm();
            assert!(
                tangential <= mu * normal + 1e-12 * size,
                "{tangential} {}",
                mu * normal
            );
        }
        // Once more changes nothing.
        let (again, _) = self.relax(&to, z, mu);
        assert!(
            (again.point.plain() - y).norm() <= 1e-10 * size,
            "{trace:?}"
        );
        assert_eq!(again.active, relaxed.active);
        (to, relaxed, trace)
    }
}

fn weights(r: &mut SplitMix) -> [f64; 3] {
    let (mut a, mut b) = (r.between(0.0, 1.0), r.between(0.0, 1.0));
    if a + b > 1.0 {
        (a, b) = (1.0 - a, 1.0 - b);
    }
    [1.0 - a - b, a, b]
}

/// A ball of triangles: an octahedron whose faces are divided.
fn ball(times: usize) -> TriMesh {
    let mut x = vec![
        Vec3::x(),
        -Vec3::x(),
        Vec3::y(),
        -Vec3::y(),
        Vec3::z(),
        -Vec3::z(),
    ];
    let mut triangles: Vec<[u32; 3]> = vec![
        [0, 2, 4],
        [2, 1, 4],
        [1, 3, 4],
        [3, 0, 4],
        [2, 0, 5],
        [1, 2, 5],
        [3, 1, 5],
        [0, 3, 5],
    ];
    for _ in 0..times {
        let mut middles = std::collections::BTreeMap::new();
        let mut finer = Vec::new();
        for [a, b, c] in triangles {
            let mut middle = |i: u32, j: u32| {
                *middles.entry((i.min(j), i.max(j))).or_insert_with(|| {
                    x.push((x[i as usize] + x[j as usize]).normalize());
                    x.len() as u32 - 1
                })
            };
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
        }
        triangles = finer;
    }
    TriMesh {
        positions: x,
        triangles,
    }
}

/// A flat sheet of triangles in a plane, with its vertices out of line.
fn flat(n: u32, r: &mut SplitMix, frame: &Quat) -> Mesh {
    let mut x = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            let mut p = Vec3::new(f64::from(i), f64::from(j), 0.0) * (4.0 / f64::from(n));
            p += Vec3::new(r.between(-0.3, 0.3), r.between(-0.3, 0.3), 0.0) * (4.0 / f64::from(n));
            x.push(frame * (p - Vec3::new(2.0, 2.0, 0.0)));
        }
    }
    let at = |i: u32, j: u32| j * (n + 1) + i;
    let mut triangles = Vec::new();
    for j in 0..n {
        for i in 0..n {
            triangles.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            triangles.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    Mesh::new(&triangles, x)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// [ding, Eq. 2] written anew.
    #[test]
    fn a_plane_is_a_flat_mesh_is_the_formula(seed in any::<u64>(), mu in 0.0..1.5f64) {
        let mut r = SplitMix::new(seed);
        let frame = Quat::from_scaled_axis(random(&mut r));
        let mesh = flat(7, &mut r, &frame);
        let n = frame * Vec3::z();
        let local = |p: Vec3| frame * p;
        let z = local(Vec3::new(r.between(-0.7, 0.7), r.between(-0.7, 0.7), r.between(-0.3, -0.01)));
        // Start in the middle of the sheet, so that nothing reaches its border.
        let inner: Vec<u32> = (0..mesh.topology.triangles().len() as u32)
            .filter(|t| {
                let c = MeshPoint { triangle: *t, weights: [1.0 / 3.0; 3] };
                mesh.at(&c).norm() < 1.0
            })
            .collect();
        let triangle = inner[(r.between(0.0, 0.999) * inner.len() as f64) as usize];
        let from = MeshPoint { triangle, weights: weights(&mut r) };
        let x = mesh.at(&from);
        let w = z - n * n.dot(&z);
        let s = (mu * (z - w).norm() / (x - w).norm()).min(1.0);
        let expected = w + (x - w) * s;
        let (_, relaxed, _) = mesh.check(&from, &z, mu);
        prop_assert!(relaxed.active);
        prop_assert!((relaxed.point.plain() - expected).norm() < 1e-12, "{} {expected}", relaxed.point.plain());
        let plane = Solid::Shape(Shape::Plane { normal: n, offset: 0.0 });
        let on_plane = relax_on_solid(&plane, 0.0, &x, &Vector::<f64>::constant(&z), mu);
        prop_assert!((on_plane.point.plain() - expected).norm() < 1e-12);
        prop_assert_eq!(on_plane.moved, s < 1.0);
    }

    /// On curved shapes the cone holds to rounding, the point stays on the surface, and nothing moves twice.
    #[test]
    fn shapes_keep_the_cone_exactly(seed in any::<u64>(), mu in 0.01..1.0f64, kind in 0..4usize) {
        let mut r = SplitMix::new(seed);
        let shape = [
            Shape::Sphere { radius: 1.0 },
            Shape::Capsule { radius: 1.0, half: 0.5 },
            Shape::Torus { major: 2.0, minor: 0.8 },
            Shape::Cylinder { radius: 1.0, half: 4.0 },
        ][kind];
        let thickness = r.between(0.0, 0.1);
        let solid = Solid::Shape(shape);
        let start = random(&mut r).normalize() * 1.2 + Vec3::new(if kind == 2 { 2.0 } else { 0.0 }, 0.0, 0.0);
        let near = shape.nearest(&start);
        let z = near.point - near.normal * r.between(0.001, 0.1);
        let aside = near.point + random(&mut r) * 0.3;
        let x = shape.nearest(&aside);
        let x = x.point + x.normal * thickness;
        let relax = |x: &Vec3| relax_on_solid(&solid, thickness, x, &Vector::<f64>::constant(&z), mu);
        let relaxed = relax(&x);
        let y = relaxed.point.plain();
        prop_assert!(relaxed.active);
        let here = shape.nearest(&y);
        prop_assert!((here.distance - thickness).abs() < 1e-13);
        let f = y - z;
        let normal = f.dot(&here.normal);
        let tangential = (f - here.normal * normal).norm();
        prop_assert!(tangential <= mu * normal + 1e-12, "{tangential} {}", mu * normal);
        if relaxed.moved {
            // No farther than needed: on the boundary of the cone.
            prop_assert!(tangential >= mu * normal - 1e-10, "{tangential} {}", mu * normal);
        }
        prop_assert!((relax(&y).point.plain() - y).norm() < 1e-12);
    }

    #[test]
    fn relaxation_turns_with_the_scene(seed in any::<u64>(), mu in 0.0..1.0f64) {
        let mut r = SplitMix::new(seed);
        let round = ball(2);
        let turn = Quat::from_scaled_axis(random(&mut r) * 3.0);
        let shift = random(&mut r);
        let mesh = Mesh::of(&round);
        let moved = Mesh::new(&round.triangles, round.positions.iter().map(|x| turn * x + shift).collect());
        let from = MeshPoint { triangle: (seed % 128) as u32, weights: weights(&mut r) };
        let z = mesh.at(&from) * 0.95 + random(&mut r) * 0.3;
        let (_, a, _) = mesh.check(&from, &z, mu);
        let (_, b, _) = moved.check(&from, &(turn * z + shift), mu);
        let same = (turn * a.point.plain() + shift - b.point.plain()).norm();
        // A pull along an edge may pass on either side of it by rounding; both ends are within a little of each other.
        prop_assert!(same < 1e-7, "{same:e}");
        prop_assert_eq!(a.active, b.active);
    }

    /// Random soups, needles and fans: it ends, on the object, closer to the particle.
    #[test]
    fn hostile_meshes_end(seed in any::<u64>(), mu in 0.0..2.0f64, kind in 0..4usize) {
        let mut r = SplitMix::new(seed);
        let mesh = match kind {
            // A fan of needles around a vertex of high valence, bent by noise.
            0 => {
                let n = 200u32;
                let mut x = vec![Vec3::new(0.0, 0.0, r.between(-0.2, 0.2))];
                for i in 0..n {
                    let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n);
                    let away = r.between(1e-4, 1.0);
                    x.push(Vec3::new(angle.cos() * away, angle.sin() * away, r.between(-0.05, 0.05)));
                }
                let triangles: Vec<[u32; 3]> = (0..n).map(|i| [0, i + 1, (i + 1) % n + 1]).collect();
                Mesh::new(&triangles, x)
            }
            // A strip of slivers.
            1 => {
                let n = 60u32;
                let mut x = Vec::new();
                for i in 0..=n {
                    let height = 10f64.powf(r.between(-12.0, 0.0));
                    x.push(Vec3::new(f64::from(i), 0.0, r.between(-1e-3, 1e-3)));
                    x.push(Vec3::new(f64::from(i) + r.between(-0.4, 0.4), height, 0.0));
                }
                let mut triangles = Vec::new();
                for i in 0..n {
                    let k = 2 * i;
                    triangles.push([k, k + 2, k + 1]);
                    triangles.push([k + 2, k + 3, k + 1]);
                }
                Mesh::new(&triangles, x)
            }
            // Vertices on a coarse lattice: many coincide, many triangles have no area.
            2 => {
                let x: Vec<Vec3> = (0..30).map(|_| random(&mut r).map(|c| (c * 1.5).round())).collect();
                let mut corner = || (r.between(0.0, 29.999)) as u32;
                let triangles: Vec<[u32; 3]> = (0..60)
                    .map(|_| [corner(), corner(), corner()])
                    .filter(|[a, b, c]| a != b && b != c && a != c)
                    .collect();
                Mesh::new(&triangles, x)
            }
            // A ball with spikes.
            _ => {
                let mut round = ball(2);
                for x in &mut round.positions {
                    *x *= r.between(0.3, 1.5);
                }
                Mesh::of(&round)
            }
        };
        let count = mesh.topology.triangles().len();
        let triangle = (r.between(0.0, 0.999) * count as f64) as u32;
        let from = MeshPoint { triangle, weights: weights(&mut r) };
        let z = match kind {
            1 => Vec3::new(r.between(0.0, 60.0), r.between(-0.5, 1.0), r.between(-0.5, 0.5)),
            _ => random(&mut r),
        };
        let (relaxed, trace) = mesh.relax(&from, &z, mu);
        prop_assert!(trace.states.len() < 8 * (count + 8), "{:?}", &trace.states[..20]);
        prop_assert!(relaxed.weights.iter().all(|w| *w >= 0.0 && *w <= 1.0 + 1e-12), "{:?}", relaxed.weights);
        let size = 60.0;
        let (before, after) = ((mesh.at(&from) - z).norm(), (relaxed.point.plain() - z).norm());
        prop_assert!(after <= before + 1e-9 * size, "{before} {after} {:?}", trace.states);
    }
}

/// A ball of triangles has all properties, and pulls across it pass through all states.
#[test]
fn a_ball_of_triangles_has_all_properties_in_all_states() {
    let mut r = SplitMix::new(5);
    let round = ball(3);
    let mesh = Mesh::of(&round);
    let mut seen = Vec::new();
    for _ in 0..3000 {
        let from = MeshPoint {
            triangle: (r.between(0.0, 511.9)) as u32,
            weights: weights(&mut r),
        };
        let toward = (mesh.at(&from) + random(&mut r) * 0.7).normalize();
        let z = toward * r.between(0.85, 1.05);
        let mu = [0.0, 0.1, 0.5][seen.len() % 3];
        let (_, relaxed, trace) = mesh.check(&from, &z, mu);
        // Well inside and well outside are what they are.
        if z.norm() < 0.97 {
            assert!(relaxed.active, "{:?}", trace.states);
        }
        if z.norm() > 1.0 {
            assert!(!relaxed.active, "{:?}", trace.states);
        }
        seen.extend(trace.states);
    }
    for state in [RelaxState::Inside, RelaxState::Entered] {
        assert!(seen.contains(&state), "{state:?}");
    }
}

/// A valley and its end: the attachment slides down a face into the edge, along it, over the vertex.
#[test]
fn a_concave_edge_leads_to_a_vertex_and_beyond() {
    // Two faces that form a valley along x, then a level floor.
    let x = vec![
        Vec3::new(0.0, 0.0, 0.0),
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.5),
        Vec3::new(0.0, -1.0, 0.5),
        Vec3::new(1.0, 1.0, 0.5),
        Vec3::new(1.0, -1.0, 0.5),
        Vec3::new(3.0, 1.0, 0.3),
        Vec3::new(3.0, -1.0, 0.3),
    ];
    let triangles = [
        [0, 1, 2],
        [1, 4, 2],
        [1, 0, 3],
        [1, 3, 5],
        [1, 6, 4],
        [1, 5, 7],
        [1, 7, 6],
    ];
    let mesh = Mesh::new(&triangles, x);
    let close = MeshPoint {
        triangle: 0,
        weights: [0.79, 0.2, 0.01],
    };
    let z = Vec3::new(2.5, 0.0, -0.2);
    let (to, relaxed, trace) = mesh.check(&close, &z, 0.0);
    assert!(relaxed.active);
    assert_eq!(to.triangle, 6, "{:?}", trace.states);
    for state in [
        RelaxState::Inside,
        RelaxState::Entered,
        RelaxState::Edge,
        RelaxState::Vertex,
    ] {
        assert!(trace.states.contains(&state), "{:?}", trace.states);
    }
    // With friction it stops in the edge; the force is in the cone about a normal of the edge.
    let from = MeshPoint {
        triangle: 0,
        weights: [0.6, 0.1, 0.3],
    };
    let near = Vec3::new(0.7, 0.0, -0.2);
    let (_, held, trace) = mesh.check(&from, &near, 0.4);
    assert_eq!(trace.states.last(), Some(&RelaxState::Edge));
    assert!(held.point.plain().y.abs() < 1e-15 && held.active);
}

/// A particle beyond the border of a sheet is not held by it.
#[test]
fn the_border_of_a_sheet_lets_go() {
    let mut r = SplitMix::new(3);
    let mesh = flat(4, &mut r, &Quat::identity());
    let from = MeshPoint {
        triangle: 7,
        weights: [1.0 / 3.0; 3],
    };
    let (relaxed, _) = mesh.relax(&from, &Vec3::new(4.0, 0.0, -0.05), 0.3);
    assert!(!relaxed.active);
    let (relaxed, _) = mesh.relax(&from, &Vec3::new(1.0, 0.0, -0.05), 0.3);
    assert!(relaxed.active);
}
