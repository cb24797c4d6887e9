//! Small scenes for the tests of detection.
#![allow(dead_code)]

use stiction_contact::ContactSet;
use stiction_contact::detect::{
    Collider, ColliderBody, ColliderForm, ColliderMesh, DetectConfig, DetectReport, DetectStep,
    Detector, Laws, PairLaw, Placement, Points,
};
use stiction_geometry::analytic::{Pose, Shape};
use stiction_math::{Quat, Vec3};

/// A thickness for all colliders [m].
pub const T: f64 = 1e-3;
/// A time step [s].
pub const H: f64 = 0.01;

/// Colliders and the state of their blocks.
#[derive(Clone, Default)]
pub struct Scene {
    pub colliders: Vec<Collider>,
    pub x: Vec<Vec3>,
    pub v: Vec<Vec3>,
    pub rotations: Vec<Quat>,
    pub fixed: Vec<bool>,
    pub poses: Vec<[Pose; 2]>,
}

/// n × n vertices over a square of side `size` about `centre`, in the plane of x and y.
pub fn sheet(n: usize, size: f64, centre: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut x = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..n {
        for j in 0..n {
            let c = |k: usize| size * (k as f64 / (n - 1) as f64 - 0.5);
            x.push(centre + Vec3::new(c(i), c(j), 0.0));
            if i + 1 < n && j + 1 < n {
                let a = (i * n + j) as u32;
                let (b, c, d) = (a + n as u32, a + n as u32 + 1, a + 1);
                triangles.push([a, b, c]);
                triangles.push([a, c, d]);
            }
        }
    }
    (x, triangles)
}

/// A box as a closed mesh of twelve triangles.
pub fn block(half: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let corner = |i: u32| {
        let s = |bit: u32| if i >> bit & 1 == 0 { -1.0 } else { 1.0 };
        Vec3::new(s(0), s(1), s(2)).component_mul(&half)
    };
    let quads = [
        [0, 4, 6, 2],
        [1, 3, 7, 5],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 2, 3, 1],
        [4, 5, 7, 6],
    ];
    let triangles = quads
        .iter()
        .flat_map(|q: &[u32; 4]| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]])
        .collect();
    ((0..8).map(corner).collect(), triangles)
}

impl Scene {
    /// Adds a shell with one block per vertex; its first block.
    pub fn shell(&mut self, (x, triangles): (Vec<Vec3>, Vec<[u32; 3]>)) -> u32 {
        self.nodes((x, triangles), false)
    }

    /// Adds a surface with one block per vertex; its first block.
    pub fn nodes(&mut self, (x, triangles): (Vec<Vec3>, Vec<[u32; 3]>), closed: bool) -> u32 {
        let first = self.x.len() as u32;
        self.add(ColliderForm::Body(ColliderBody {
            triangles,
            rods: Vec::new(),
            points: Points::nodes(first..first + x.len() as u32),
            rest: x.clone(),
            closed,
            self_contact: true,
            exempt: None,
        }));
        self.blocks(&x);
        first
    }

    /// Adds balls of the given diameter without a mesh; their first block.
    pub fn particles(&mut self, x: &[Vec3], diameter: f64) -> u32 {
        let first = self.nodes((x.to_vec(), Vec::new()), false);
        if let Some(c) = self.colliders.last_mut() {
            c.thickness = diameter;
        }
        first
    }

    /// Adds a rigid body with its centre of mass at `centre`; its first block.
    pub fn rigid(&mut self, (local, triangles): (Vec<Vec3>, Vec<[u32; 3]>), centre: Vec3) -> u32 {
        let block = self.x.len() as u32;
        let rigid = self.rotations.len() as u32;
        self.add(ColliderForm::Body(ColliderBody {
            triangles,
            rods: Vec::new(),
            rest: local.clone(),
            points: Points::Rigid {
                block,
                rigid,
                local,
            },
            closed: true,
            self_contact: true,
            exempt: None,
        }));
        self.blocks(&[centre, Vec3::zeros()]);
        self.rotations.push(Quat::identity());
        block
    }

    /// Adds a solid that goes from a pose to another.
    pub fn shape(&mut self, shape: Shape, poses: [Pose; 2]) {
        self.add(ColliderForm::Shape(shape));
        self.poses.push(poses);
    }

    /// Adds a mesh that goes from a pose to another.
    pub fn mesh(&mut self, (vertices, triangles): (Vec<Vec3>, Vec<[u32; 3]>), poses: [Pose; 2]) {
        let closed = false;
        self.add(ColliderForm::Mesh(ColliderMesh {
            triangles,
            vertices,
            closed,
        }));
        self.poses.push(poses);
    }

    pub fn blocks(&mut self, x: &[Vec3]) {
        self.x.extend(x);
        self.v.resize(self.x.len(), Vec3::zeros());
        self.fixed.resize(self.x.len(), false);
    }

    pub fn add(&mut self, form: ColliderForm) {
        let id = 10 + self.colliders.len() as u32;
        self.colliders.push(Collider {
            id,
            material: 0,
            thickness: T,
            form,
        });
    }

    pub fn detector(&self) -> Detector {
        self.detector_with(DetectConfig::default())
    }

    pub fn detector_with(&self, config: DetectConfig) -> Detector {
        let laws = Laws::uniform(PairLaw {
            mu: 0.3,
            ..PairLaw::default()
        });
        Detector::new(self.colliders.clone(), laws, config).unwrap()
    }

    /// Calls `f` with the scene as a step.
    pub fn step<R>(&self, previous: &ContactSet, f: impl FnOnce(&DetectStep) -> R) -> R {
        let placements: Vec<Placement> = self.poses.iter().map(|p| Placement::Poses(*p)).collect();
        f(&DetectStep {
            h: H,
            x: &self.x,
            rotations: &self.rotations,
            v: &self.v,
            start: &self.v,
            fixed: &self.fixed,
            obstacles: &placements,
            previous,
            held: &[],
        })
    }

    /// The contacts of the scene, found by a new detector.
    pub fn contacts(&self) -> (ContactSet, DetectReport) {
        self.contacts_by(&mut self.detector(), &ContactSet::default())
    }

    pub fn contacts_by(
        &self,
        d: &mut Detector,
        previous: &ContactSet,
    ) -> (ContactSet, DetectReport) {
        let mut out = ContactSet::default();
        let report = self.step(previous, |s| d.detect(s, &mut out)).unwrap();
        check(&out, self);
        (out, report)
    }
}

/// Conditions of every contact set.
pub fn check(c: &ContactSet, scene: &Scene) {
    assert_eq!(c.start.len(), c.len() + 1);
    for i in 0..c.len() {
        assert!((c.normal[i].norm() - 1.0).abs() < 1e-12);
        assert!(c.entries(i).len() > 0);
        for e in c.entries(i) {
            assert!(!scene.fixed[e.node as usize], "a prescribed block is named");
        }
        assert!(c.k[i].iter().all(|x| x.is_finite()));
    }
    let mut keys = c.key.clone();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), c.len(), "a feature pair is listed twice");
}

pub fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose {
        rotation: Quat::identity(),
        translation: Vec3::new(x, y, z),
    }
}

pub fn floor() -> Shape {
    Shape::Plane {
        normal: Vec3::z(),
        offset: 0.0,
    }
}
