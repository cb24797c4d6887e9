//! Small scenes in which all kinds of bodies touch.
#![allow(dead_code)]

use stiction_contact::detect::{
    Collider, ColliderBody, ColliderForm, ColliderMesh, Laws, PairLaw, Points,
};
use stiction_contact::smooth::{ContactKinematics, RigidFrame};
use stiction_geometry::analytic::{Pose, Shape};
use stiction_geometry::{SplitMix, TriMesh};
use stiction_math::{Quat, Vec3};

pub const DELTA: f64 = 0.02;

pub struct SceneState {
    pub x: Vec<Vec3>,
    pub rotations: Vec<Quat>,
    pub v: Vec<Vec3>,
    pub obstacles: Vec<RigidFrame>,
    /// Length of the step whose chords are the velocities [s].
    pub chord: f64,
    /// The angular block of each rigid body.
    spins: Vec<u32>,
}

impl SceneState {
    pub fn place(&self) -> ContactKinematics<'_> {
        ContactKinematics {
            x: &self.x,
            rotations: &self.rotations,
            v: &self.v,
            obstacles: &self.obstacles,
            chord: self.chord,
        }
    }

    /// The state moved by t along (dx, dv); rotations by the exponential.
    pub fn moved(&self, dx: &[Vec3], dv: &[Vec3], t: f64) -> SceneState {
        let shift = |a: &[Vec3], d: &[Vec3]| a.iter().zip(d).map(|(a, d)| a + d * t).collect();
        let turned = self.rotations.iter().zip(&self.spins);
        SceneState {
            x: shift(&self.x, dx),
            v: shift(&self.v, dv),
            rotations: turned
                .map(|(q, j)| Quat::from_scaled_axis(dx[*j as usize] * t) * q)
                .collect(),
            obstacles: self.obstacles.clone(),
            chord: self.chord,
            spins: self.spins.clone(),
        }
    }
}

pub struct Scene {
    pub name: &'static str,
    pub colliders: Vec<Collider>,
    pub laws: Laws,
    pub state: SceneState,
    pub angular: Vec<u32>,
    /// Numbers of colliders that are obstacles.
    pub worlds: Vec<u32>,
}

impl Scene {
    pub fn directions(&self, seed: u64) -> (Vec<Vec3>, Vec<Vec3>) {
        let mut random = SplitMix::new(100 + seed);
        let mut list = || {
            (0..self.state.x.len())
                .map(|_| vector(&mut random))
                .collect()
        };
        (list(), list())
    }
}

pub fn vector(random: &mut SplitMix) -> Vec3 {
    let mut c = || 2.0 * random.uniform() - 1.0;
    Vec3::new(c(), c(), c())
}

/// An octahedron divided `times` times, pushed out to a sphere.
pub fn sphere(radius: f64, times: usize) -> TriMesh {
    let mut positions: Vec<Vec3> = (0..6)
        .map(|i| {
            let mut p = Vec3::zeros();
            p[i / 2] = if i % 2 == 0 { 1.0 } else { -1.0 };
            p
        })
        .collect();
    let mut triangles = Vec::new();
    for x in [0u32, 1] {
        for y in [2u32, 3] {
            for z in [4u32, 5] {
                // Outward for an even number of negative axes.
                let even = (x % 2 + y % 2 + z % 2) % 2 == 0;
                triangles.push(if even { [x, y, z] } else { [x, z, y] });
            }
        }
    }
    for _ in 0..times {
        let mut middles = std::collections::BTreeMap::new();
        let mut next = Vec::new();
        for t in &triangles {
            let m: [u32; 3] = std::array::from_fn(|k| {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                    let p = positions[a as usize] + positions[b as usize];
                    positions.push(p.normalize());
                    positions.len() as u32 - 1
                })
            });
            next.extend([
                [t[0], m[0], m[2]],
                [m[0], t[1], m[1]],
                [m[2], m[1], t[2]],
                m,
            ]);
        }
        triangles = next;
    }
    positions.iter_mut().for_each(|p| *p *= radius);
    TriMesh {
        positions,
        triangles,
    }
}

/// A cube of twelve triangles.
pub fn cube(size: f64) -> TriMesh {
    let at = |i: u32, bit: u32| (f64::from(i >> bit & 1) - 0.5) * size;
    let positions = (0..8).map(|i| Vec3::new(at(i, 0), at(i, 1), at(i, 2)));
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let split = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
    TriMesh {
        positions: positions.collect(),
        triangles: quads.into_iter().flat_map(split).collect(),
    }
}

/// A square sheet of n × n cells in the xy plane.
pub fn sheet(size: f64, n: u32) -> TriMesh {
    strip([size, size], [n, n])
}

/// A sheet of so many cells along x and y.
pub fn strip(size: [f64; 2], n: [u32; 2]) -> TriMesh {
    let at = |i: u32, k: usize| (f64::from(i) / f64::from(n[k]) - 0.5) * size[k];
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for j in 0..=n[1] {
        for i in 0..=n[0] {
            positions.push(Vec3::new(at(i, 0), at(j, 1), 0.0));
            if i < n[0] && j < n[1] {
                let a = j * (n[0] + 1) + i;
                triangles.push([a, a + 1, a + n[0] + 2]);
                triangles.push([a, a + n[0] + 2, a + n[0] + 1]);
            }
        }
    }
    TriMesh {
        positions,
        triangles,
    }
}

struct Making {
    colliders: Vec<Collider>,
    state: SceneState,
    angular: Vec<u32>,
    worlds: Vec<u32>,
    random: SplitMix,
}

impl Making {
    fn new(seed: u64) -> Self {
        Making {
            colliders: Vec::new(),
            state: SceneState {
                x: Vec::new(),
                rotations: Vec::new(),
                v: Vec::new(),
                obstacles: Vec::new(),
                chord: 0.0,
                spins: Vec::new(),
            },
            angular: Vec::new(),
            worlds: Vec::new(),
            random: SplitMix::new(seed),
        }
    }

    fn add(&mut self, form: ColliderForm) {
        let id = self.colliders.len() as u32;
        self.colliders.push(Collider {
            id,
            material: 0,
            thickness: DELTA,
            form,
        });
    }

    /// A deforming mesh, moved by `shift` and shaken a little, with random velocities.
    fn soft(&mut self, mesh: &TriMesh, shift: Vec3, closed: bool, self_contact: bool) {
        let first = self.state.x.len() as u32;
        let count = mesh.positions.len() as u32;
        for p in &mesh.positions {
            let shake = vector(&mut self.random) * 1e-3;
            self.state.x.push(p + shift + shake);
            self.state.v.push(vector(&mut self.random));
        }
        self.add(ColliderForm::Body(ColliderBody {
            triangles: mesh.triangles.clone(),
            rods: Vec::new(),
            points: Points::nodes(first..first + count),
            rest: mesh.positions.clone(),
            closed,
            self_contact,
            exempt: None,
        }));
    }

    /// The mesh carried by four nodes each, the corners of a large tetrahedron.
    fn embedded(&mut self, mesh: &TriMesh, shift: Vec3) {
        let first = self.state.x.len() as u32;
        let corners = [
            Vec3::new(-3.0, -3.0, -3.0),
            Vec3::new(5.0, -1.0, -2.0),
            Vec3::new(-1.0, 5.0, -2.0),
            Vec3::new(-1.0, -1.0, 6.0),
        ];
        for p in corners {
            self.state.x.push(p + shift);
            self.state.v.push(vector(&mut self.random));
        }
        let m = stiction_math::Mat3::from_columns(&[
            corners[1] - corners[0],
            corners[2] - corners[0],
            corners[3] - corners[0],
        ]);
        let inverse = m.try_inverse().unwrap();
        let mut entries = Vec::new();
        for p in &mesh.positions {
            let b = inverse * (p - corners[0]);
            entries.push((first, 1.0 - b.x - b.y - b.z));
            entries.extend((0..3).map(|k| (first + 1 + k as u32, b[k])));
        }
        let start = (0..=mesh.positions.len() as u32).map(|i| 4 * i).collect();
        self.add(ColliderForm::Body(ColliderBody {
            triangles: mesh.triangles.clone(),
            rods: Vec::new(),
            points: Points::Weighted { start, entries },
            rest: mesh.positions.clone(),
            closed: true,
            self_contact: false,
            exempt: None,
        }));
    }

    fn rigid(&mut self, mesh: &TriMesh, shift: Vec3, turn: Vec3) {
        let block = self.state.x.len() as u32;
        self.state.x.extend([shift, Vec3::zeros()]);
        let v = [vector(&mut self.random), vector(&mut self.random)];
        self.state.v.extend(v);
        self.state.spins.push(block + 1);
        self.angular.push(block + 1);
        let rigid = self.state.rotations.len() as u32;
        self.state.rotations.push(Quat::from_scaled_axis(turn));
        self.add(ColliderForm::Body(ColliderBody {
            triangles: mesh.triangles.clone(),
            rods: Vec::new(),
            points: Points::Rigid {
                block,
                rigid,
                local: mesh.positions.clone(),
            },
            rest: mesh.positions.clone(),
            closed: true,
            self_contact: false,
            exempt: None,
        }));
    }

    fn obstacle(&mut self, form: ColliderForm, pose: Pose) {
        self.worlds.push(self.colliders.len() as u32);
        self.add(form);
        let frame = RigidFrame {
            pose,
            velocity: vector(&mut self.random),
            spin: vector(&mut self.random),
        };
        self.state.obstacles.push(frame);
    }

    fn done(self, name: &'static str) -> Scene {
        Scene {
            name,
            colliders: self.colliders,
            laws: Laws::uniform(PairLaw {
                mu: 0.6,
                kinetic: Some(0.4),
                ..PairLaw::default()
            }),
            state: self.state,
            angular: self.angular,
            worlds: self.worlds,
        }
    }
}

fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose {
        rotation: Quat::from_scaled_axis(Vec3::new(0.1, -0.2, 0.3)),
        translation: Vec3::new(x, y, z),
    }
}

pub fn scenes() -> Vec<Scene> {
    let ball = sphere(0.3, 2);
    let mut list = Vec::new();

    let mut m = Making::new(1);
    m.soft(&ball, Vec3::zeros(), true, false);
    m.soft(&ball, Vec3::new(0.1, 0.05, 0.56), true, false);
    list.push(m.done("two soft balls"));

    let mut m = Making::new(2);
    m.rigid(&ball, Vec3::new(0.2, 0.0, 0.0), Vec3::new(0.3, 0.2, 0.1));
    m.rigid(&ball, Vec3::new(0.1, 0.05, 0.59), Vec3::new(-0.3, 1.2, 0.1));
    list.push(m.done("two rigid balls"));

    let mut m = Making::new(3);
    m.rigid(&ball, Vec3::new(0.0, 0.0, 0.31), Vec3::new(0.3, 0.2, 0.1));
    m.soft(&sheet(1.0, 8), Vec3::zeros(), false, false);
    list.push(m.done("a rigid ball on a sheet"));

    let mut m = Making::new(4);
    m.soft(&sheet(0.5, 4), Vec3::new(0.0, 0.0, 0.01), false, false);
    m.soft(&sheet(0.5, 5), Vec3::zeros(), false, false);
    list.push(m.done("two sheets"));

    // Faces, edges and vertices of coarse meshes.
    let block = cube(0.6);
    let mut m = Making::new(8);
    m.soft(&block, Vec3::zeros(), true, false);
    m.rigid(
        &block,
        Vec3::new(0.1, 0.05, 0.611),
        Vec3::new(0.01, 0.005, 0.4),
    );
    m.rigid(
        &block,
        Vec3::new(0.612, 0.2, 0.1),
        Vec3::new(0.0, 0.005, 0.01),
    );
    list.push(m.done("coarse blocks, soft and rigid"));

    let mut m = Making::new(9);
    m.embedded(&block, Vec3::zeros());
    m.soft(&block, Vec3::new(0.2, 0.1, 0.611), true, false);
    m.soft(&sheet(0.5, 1), Vec3::new(-0.4, 0.1, 0.312), false, false);
    list.push(m.done("coarse blocks and a sheet"));

    let mut m = Making::new(5);
    m.embedded(&ball, Vec3::zeros());
    m.rigid(&ball, Vec3::new(0.1, 0.05, 0.59), Vec3::new(-0.3, 1.2, 0.1));
    m.soft(&ball, Vec3::new(-0.59, 0.0, 0.05), true, false);
    list.push(m.done("embedded, rigid and soft balls"));

    let mut m = Making::new(6);
    m.soft(&ball, Vec3::zeros(), true, false);
    let mesh = sphere(0.3, 2);
    let mesh = ColliderMesh {
        triangles: mesh.triangles,
        vertices: mesh.positions,
        closed: true,
    };
    m.obstacle(ColliderForm::Mesh(mesh), at(0.0, 0.05, -0.59));
    let plane = Shape::Plane {
        normal: Vec3::new(0.0, -0.6, -0.8),
        offset: -0.31,
    };
    m.obstacle(ColliderForm::Shape(plane), Pose::default());
    list.push(m.done("a soft ball between obstacles"));

    let shapes = [
        Shape::Box {
            half: Vec3::new(0.4, 0.3, 0.2),
        },
        Shape::Sphere { radius: 0.2 },
        Shape::Capsule {
            radius: 0.2,
            half: 0.3,
        },
        Shape::Cylinder {
            radius: 0.3,
            half: 0.2,
        },
        Shape::Cone {
            radius: 0.3,
            height: 0.4,
        },
        Shape::Torus {
            major: 0.3,
            minor: 0.1,
        },
    ];
    let mut m = Making::new(7);
    for (i, shape) in shapes.into_iter().enumerate() {
        let x = 3.0 * i as f64;
        m.obstacle(ColliderForm::Shape(shape), at(x, 0.0, 0.0));
        // Balls that meet the shape from all sides.
        for d in [Vec3::x(), Vec3::y(), Vec3::z(), -Vec3::x(), -Vec3::z()] {
            let pose = at(x, 0.0, 0.0);
            let mut shift = pose.apply(&(d * 1.5));
            let probe = |s: &Vec3| {
                let vertices = ball.positions.iter().map(|p| {
                    let q = pose.invert(&(p + s));
                    shape.nearest(&q).distance
                });
                vertices.fold(f64::INFINITY, f64::min)
            };
            while probe(&shift) > 0.4 * DELTA {
                shift -= pose.rotation * d * 1e-3;
            }
            m.rigid(&ball, shift, Vec3::zeros());
        }
    }
    list.push(m.done("rigid balls around shapes"));
    list
}
