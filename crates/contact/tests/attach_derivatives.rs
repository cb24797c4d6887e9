//! Derivatives of attachments through every state of a relaxation, by the one derivative checker.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use stiction_bodies::check::check_product;
use stiction_contact::attach::{
    AttachConfig, AttachContacts, MeshPoint, RelaxState, RelaxTrace, SurfaceTopology,
    relax_on_mesh, relax_on_solid,
};
use stiction_contact::detect::{Collider, ColliderBody, ColliderForm, Laws, PairLaw, Points};
use stiction_contact::smooth::ContactKinematics;
use stiction_geometry::analytic::{Shape, Solid};
use stiction_geometry::{LevelSet, SplitMix, shapes::BallSurface};
use stiction_math::{Dual, Quat, Real, Vec3, Vector};

fn random(r: &mut SplitMix) -> Vec3 {
    Vec3::from_fn(|_, _| 2.0 * r.uniform() - 1.0)
}

fn along(x: &Vec3, d: &Vec3) -> Vector<Dual<1>> {
    Vector(std::array::from_fn(|k| Dual::new(x[k], [d[k]])))
}

/// The states of a relaxation.
type States = Vec<RelaxState>;

/// A mesh with a particle: unknowns are its vertices and, last, Z.
struct Case {
    topology: SurfaceTopology,
    from: MeshPoint,
    mu: f64,
    unknowns: Vec<Vec3>,
}

impl Case {
    fn relax<T: Real>(&self, x: &[Vector<T>]) -> (Vector<T>, RelaxTrace) {
        let mut trace = RelaxTrace::default();
        let corner = |v: u32| x[v as usize];
        let z = &x[x.len() - 1];
        let relaxed = relax_on_mesh(&self.topology, &corner, &self.from, z, self.mu, &mut trace);
        (relaxed.point, trace)
    }

    fn value(&self, x: &[Vec3]) -> (Vec3, RelaxTrace) {
        let x: Vec<Vector<f64>> = x.iter().map(Vector::constant).collect();
        let (y, trace) = self.relax(&x);
        (y.plain(), trace)
    }

    /// Error of the derivative along a random direction, with the path of states; none where the path changes
    /// within the steps of the checker, which is a kink.
    fn error(&self, seed: u64) -> Option<(f64, States)> {
        let mut r = SplitMix::new(seed);
        let d: Vec<Vec3> = self.unknowns.iter().map(|_| random(&mut r)).collect();
        let (_, here) = self.value(&self.unknowns);
        let length = 1e-3;
        let size = d.iter().map(|d| d.norm_squared()).sum::<f64>().sqrt();
        for k in -20..=20 {
            let t = 0.04 * length * f64::from(k) / 20.0 / size;
            let x: Vec<Vec3> = self
                .unknowns
                .iter()
                .zip(&d)
                .map(|(x, d)| x + d * t)
                .collect();
            if self.value(&x).1 != here {
                return None;
            }
        }
        let g = |x: &[Vec3]| vec![self.value(x).0];
        let product = |x: &[Vec3], d: &[Vec3]| {
            let x: Vec<Vector<Dual<1>>> = x.iter().zip(d).map(|(x, d)| along(x, d)).collect();
            vec![Vec3::from(self.relax(&x).0.0.map(|c| c.d[0]))]
        };
        let error = check_product(g, product, &self.unknowns, &d, length, 1e-3);
        Some((error, here.states))
    }
}

/// Checks random springs on a mesh; the paths that were seen.
fn check(triangles: &[[u32; 3]], x: &[Vec3], pulls: usize, seed: u64) -> BTreeSet<String> {
    let mut r = SplitMix::new(seed);
    let mut seen = BTreeSet::new();
    for k in 0..pulls {
        let triangle = (r.uniform() * triangles.len() as f64) as u32;
        let (a, b) = (r.uniform(), r.uniform());
        let (a, b) = if a + b > 1.0 {
            (1.0 - a, 1.0 - b)
        } else {
            (a, b)
        };
        let weights = [1.0 - a - b, a, b];
        let corners = triangles[triangle as usize].map(|v| x[v as usize]);
        let at: Vec3 = (0..3).map(|i| corners[i] * weights[i]).sum();
        let z = at + random(&mut r) * 1.2 - Vec3::z() * 0.2;
        let mut unknowns = x.to_vec();
        unknowns.push(z);
        let case = Case {
            topology: SurfaceTopology::new(triangles, x.len()),
            from: MeshPoint { triangle, weights },
            mu: [0.0, 0.2, 0.7][k % 3],
            unknowns,
        };
        if let Some((error, states)) = case.error(seed ^ k as u64) {
            assert!(error < 1e-6, "{error:e} {states:?}");
            let letters = states.iter().map(|s| match s {
                RelaxState::Inside => '1',
                RelaxState::Entered => '2',
                RelaxState::Edge => '3',
                RelaxState::Vertex => '4',
            });
            seen.insert(letters.collect());
        }
    }
    seen
}

#[test]
fn derivatives_pass_through_every_transition_of_the_machine() {
    // A crumpled sheet: hills, valleys and saddles.
    let n = 4u32;
    let mut r = SplitMix::new(11);
    let mut x = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            let height = 0.8 * (r.uniform() - 0.5);
            x.push(Vec3::new(f64::from(i), f64::from(j), height));
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
    let seen = check(&triangles, &x, 4000, 7);
    let has = |part: &str| seen.iter().any(|s| s.contains(part));
    // All arrows of [ding, Fig. 7], and every state as the last one.
    for part in ["12", "22", "23", "34", "42"] {
        assert!(has(part), "{part}: {seen:?}");
    }
    for last in ['1', '2', '3', '4'] {
        assert!(seen.iter().any(|s| s.ends_with(last)), "{last}: {seen:?}");
    }
}

#[test]
fn derivatives_on_shapes_and_level_sets_are_exact() {
    let ball = BallSurface {
        radius: 0.5,
        frequency: 6,
    };
    let set = LevelSet::new(&ball.build().unwrap(), 0.05, 0.2).unwrap();
    let solids = [
        Solid::Shape(Shape::Plane {
            normal: Vec3::new(0.6, 0.0, 0.8),
            offset: 0.0,
        }),
        Solid::Shape(Shape::Sphere { radius: 0.5 }),
        Solid::Shape(Shape::Torus {
            major: 0.8,
            minor: 0.3,
        }),
        Solid::Shape(Shape::Cone {
            radius: 0.6,
            height: 0.9,
        }),
        Solid::LevelSet(set.into()),
    ];
    for (k, solid) in solids.iter().enumerate() {
        let mut r = SplitMix::new(k as u64);
        let (mut checked, mut slid) = (0, 0);
        for _ in 0..400 {
            let near = solid.nearest(&random(&mut r));
            let z = near.point - near.normal * (0.01 + 0.05 * r.uniform());
            let aside = solid.nearest(&(near.point + random(&mut r) * 0.1)).point;
            let mu = 0.1 + 0.5 * r.uniform();
            let g = |x: &[Vec3]| {
                let z = Vector::<f64>::constant(&x[0]);
                vec![relax_on_solid(solid, 0.0, &aside, &z, mu).point.plain()]
            };
            let product = |x: &[Vec3], d: &[Vec3]| {
                let y = relax_on_solid(solid, 0.0, &aside, &along(&x[0], &d[0]), mu).point;
                vec![Vec3::from(y.0.map(|c| c.d[0]))]
            };
            // Samples of a level set and edges of shapes are kinks: only where the step is smooth.
            let d = random(&mut r);
            let step = 4e-6;
            let (up, here, down) = (g(&[z + d * step])[0], g(&[z])[0], g(&[z - d * step])[0]);
            if ((up - here) - (here - down)).norm() > 1e-4 * step {
                continue;
            }
            let relaxed = relax_on_solid(solid, 0.0, &aside, &Vector::<f64>::constant(&z), mu);
            if !relaxed.active {
                continue;
            }
            // The gradient of a sampled field jumps between cells. Where the root is such a jump, the attachment ends
            // inside of the cone, and s counts as constant.
            let force = relaxed.point.plain() - z;
            let height = force.dot(&relaxed.normal);
            let excess = mu * height - (force - relaxed.normal * height).norm();
            if relaxed.moved && excess.abs() > 1e-9 * height {
                assert_eq!(k, 4);
                continue;
            }
            slid += usize::from(relaxed.moved);
            let error = check_product(g, product, &[z], &[d], 1e-4, 1e-3);
            assert!(error < 1e-5, "{k}: {error:e}");
            checked += 1;
        }
        assert!(checked > 100 && slid > 50, "{k}: {checked} {slid}");
    }
}

/// A sheet of 3 × 3 nodes (blocks 0 to 8) and two rigid boxes (blocks 9 to 12) that press it from both sides.
struct Pressed {
    contacts: AttachContacts,
    x: Vec<Vec3>,
    centre: Vec3,
}

const STIFFNESS: f64 = 1e3;
const THICKNESS: f64 = 0.02;

fn cube(half: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let corner = |i: u32| {
        Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) * 2.0 * half
            - Vec3::repeat(half)
    };
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let halves = |q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]];
    (
        (0..8).map(corner).collect(),
        quads.iter().flat_map(halves).collect(),
    )
}

impl Pressed {
    /// Begins with all parts apart and goes to a place where they overlap, with some sliding.
    fn new(seed: u64) -> Self {
        let mut r = SplitMix::new(seed);
        let mut rest = Vec::new();
        let mut triangles = Vec::new();
        for j in 0..3u32 {
            for i in 0..3u32 {
                rest.push(Vec3::new(f64::from(i) - 1.0, f64::from(j) - 1.0, 0.0));
                if i < 2 && j < 2 {
                    let a = 3 * j + i;
                    triangles.extend([[a, a + 1, a + 4], [a, a + 4, a + 3]]);
                }
            }
        }
        let body = |form: ColliderBody, id: u32| Collider {
            id,
            material: 0,
            thickness: THICKNESS,
            form: ColliderForm::Body(form),
        };
        let sheet = ColliderBody {
            triangles,
            rods: Vec::new(),
            points: Points::nodes(0..9),
            rest: rest.clone(),
            closed: false,
            self_contact: true,
            exempt: None,
        };
        let (local, faces) = cube(0.3);
        let rigid = |block: u32, rigid: u32| ColliderBody {
            triangles: faces.clone(),
            rods: Vec::new(),
            points: Points::Rigid {
                block,
                rigid,
                local: local.clone(),
            },
            rest: local.clone(),
            closed: true,
            self_contact: false,
            exempt: None,
        };
        let colliders = [body(sheet, 0), body(rigid(9, 0), 1), body(rigid(11, 1), 2)];
        let law = PairLaw {
            mu: 0.3,
            ..PairLaw::default()
        };
        let config = AttachConfig {
            stiffness: STIFFNESS,
        };
        let mut contacts = AttachContacts::new(&colliders, &Laws::uniform(law), config).unwrap();
        let mut apart = rest;
        let centre = Vec3::new(0.15, -0.1, 0.0);
        apart.extend([centre + Vec3::z() * 0.4, Vec3::zeros()]);
        apart.extend([centre - Vec3::z() * 0.4, Vec3::zeros()]);
        let still = vec![Vec3::zeros(); 13];
        let level = [Quat::identity(); 2];
        let begun = at(&apart, &level, &still);
        contacts.begin(&begun, &[]).unwrap();
        contacts.find(&begun, 1.0).unwrap();
        let mut x = apart;
        for (i, x) in x.iter_mut().enumerate() {
            *x += random(&mut r) * if i < 9 { 0.002 } else { 0.02 };
        }
        x[9].z = 0.31 - 0.005;
        x[11].z = -0.31 + 0.005;
        x[10] = Vec3::zeros();
        x[12] = Vec3::zeros();
        let level = [Quat::identity(); 2];
        let pressed = at(&x, &level, &still);
        contacts.detect(&pressed).unwrap();
        Self {
            contacts,
            x,
            centre,
        }
    }

    /// Forces where the angular blocks of `x` are rotation vectors.
    fn force(&self, x: &[Vec3]) -> Vec<Vec3> {
        let mut f = vec![Vec3::zeros(); x.len()];
        let turns = [10, 12].map(|j| Quat::from_scaled_axis(x[j]));
        let still = vec![Vec3::zeros(); x.len()];
        self.contacts.force(&at(x, &turns, &still), &mut f).unwrap();
        f
    }

    fn product(&self, x: &[Vec3], d: &[Vec3]) -> Vec<Vec3> {
        let mut y = vec![Vec3::zeros(); x.len()];
        let still = vec![Vec3::zeros(); x.len()];
        let level = [Quat::identity(); 2];
        let here = at(x, &level, &still);
        self.contacts.product(&here, d, &mut y).unwrap();
        y
    }
}

fn at<'a>(x: &'a [Vec3], rotations: &'a [Quat], v: &'a [Vec3]) -> ContactKinematics<'a> {
    ContactKinematics {
        x,
        rotations,
        v,
        obstacles: &[],
        chord: 0.0,
    }
}

#[test]
fn forces_on_sheets_and_rigid_bodies_have_exact_derivatives() {
    let mut checked = 0;
    for seed in 0..40 {
        let scene = Pressed::new(seed);
        let mut r = SplitMix::new(seed ^ 77);
        let d: Vec<Vec3> = scene.x.iter().map(|_| random(&mut r)).collect();
        let count = scene
            .force(&scene.x)
            .iter()
            .filter(|f| f.norm() > 0.0)
            .count();
        assert!(count >= 8, "{count}");
        // Kinks within the steps of the checker are left out.
        let g = |x: &[Vec3]| scene.force(x);
        let go = |t: f64| {
            let x: Vec<Vec3> = scene.x.iter().zip(&d).map(|(x, d)| x + d * t).collect();
            scene
                .product(&scene.x, &d)
                .iter()
                .zip(g(&x))
                .map(|(p, f)| f - p * t)
                .collect::<Vec<_>>()
        };
        let (up, here, down) = (go(1e-6), go(0.0), go(-1e-6));
        let bend: f64 = (0..up.len())
            .map(|i| (up[i] - here[i] * 2.0 + down[i]).norm())
            .sum();
        if bend > 1e-7 {
            continue;
        }
        let product = |x: &[Vec3], d: &[Vec3]| scene.product(x, d);
        let error = check_product(g, product, &scene.x, &d, 1e-5, 1.0);
        assert!(error < 1e-6, "{seed}: {error:e}");
        checked += 1;
        // The assembled blocks are the product.
        let still = vec![Vec3::zeros(); scene.x.len()];
        let level = [Quat::identity(); 2];
        let place = at(&scene.x, &level, &still);
        let mut y = vec![Vec3::zeros(); scene.x.len()];
        let cliques = scene.contacts.cliques(&place).unwrap();
        scene
            .contacts
            .assemble(&place, 1.0, |i, j, m| {
                y[i as usize] += m * d[j as usize];
                assert!(cliques.iter().any(|c| c.contains(&i) && c.contains(&j)));
            })
            .unwrap();
        for (y, p) in y.iter().zip(scene.product(&scene.x, &d)) {
            assert!((y - p).norm() < 1e-9 * STIFFNESS);
        }
    }
    assert!(checked >= 20, "{checked}");
}

#[test]
fn forces_sum_to_zero_and_the_table_refuses_what_it_knows() {
    for seed in 0..10 {
        let mut scene = Pressed::new(seed);
        let f = scene.force(&scene.x);
        let total: Vec3 = (0..9).chain([9, 11]).map(|j| f[j]).sum();
        let size: f64 = f.iter().map(|f| f.norm()).sum();
        assert!(total.norm() < 1e-13 * size, "{}", total.norm());
        // The couple that is left is friction at the contact thickness.
        let lever = |j: usize| (scene.x[j] - scene.centre).cross(&f[j]);
        let torque: Vec3 = (0..9).chain([9, 11]).map(lever).sum::<Vec3>() + f[10] + f[12];
        assert!(torque.norm() <= 0.3 * THICKNESS * size, "{torque}");
        // Detected once more: nothing new.
        let still = vec![Vec3::zeros(); scene.x.len()];
        let level = [Quat::identity(); 2];
        let place = at(&scene.x, &level, &still);
        let before = scene.contacts.stored(&place).unwrap();
        scene.contacts.detect(&place).unwrap();
        assert_eq!(before, scene.contacts.stored(&place).unwrap());
        assert!(before.len() >= 8);
        // Stored and begun again at the end, nothing has moved: relaxation is idempotent.
        scene.contacts.begin(&place, &before).unwrap();
        let again = scene.contacts.stored(&place).unwrap();
        for (a, b) in before.iter().zip(&again) {
            assert_eq!((a.key, a.triangle), (b.key, b.triangle));
            assert!((a.place - b.place).norm() < 1e-6);
        }
    }
}
