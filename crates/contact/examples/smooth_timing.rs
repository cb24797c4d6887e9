//! Times of smooth contact: two sheets on each other and a sheet on a formula.
//!
//! ```text
//! cargo run --release -p stiction-contact --example smooth_timing
//! ```
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use stiction_contact::detect::{Collider, ColliderBody, ColliderForm, Laws, PairLaw, Points};
use stiction_contact::smooth::{ContactKinematics, RigidFrame, SmoothConfig, SmoothContacts};
use stiction_geometry::analytic::Shape;
use stiction_math::Vec3;

fn sheet(id: u32, first: u32, n: u32, size: f64, thickness: f64) -> (Collider, Vec<Vec3>) {
    let at = |i: u32| (f64::from(i) / f64::from(n) - 0.5) * size;
    let mut x = Vec::new();
    let mut triangles = Vec::new();
    for j in 0..=n {
        for i in 0..=n {
            x.push(Vec3::new(at(i), at(j), 0.0));
            if i < n && j < n {
                let a = j * (n + 1) + i;
                triangles.push([a, a + 1, a + n + 2]);
                triangles.push([a, a + n + 2, a + n + 1]);
            }
        }
    }
    let body = ColliderBody {
        triangles,
        rods: Vec::new(),
        points: Points::nodes(first..first + x.len() as u32),
        rest: x.clone(),
        closed: false,
        self_contact: false,
        exempt: None,
    };
    let collider = Collider {
        id,
        material: 0,
        thickness,
        form: ColliderForm::Body(body),
    };
    (collider, x)
}

fn run(name: &str, colliders: &[Collider], x: &[Vec3], obstacles: &[RigidFrame]) {
    let laws = Laws::uniform(PairLaw {
        mu: 0.3,
        ..PairLaw::default()
    });
    let mut c = SmoothContacts::new(colliders, &laws, SmoothConfig::default()).unwrap();
    let v: Vec<Vec3> = x.iter().map(|p| p.cross(&Vec3::z()) * 0.1).collect();
    let at = ContactKinematics {
        x,
        rotations: &[],
        v: &v,
        obstacles,
        chord: 0.0,
    };
    let time = |what: &str, f: &mut dyn FnMut()| {
        f();
        let rounds = 3;
        let start = Instant::now();
        (0..rounds).for_each(|_| f());
        let ms = start.elapsed().as_secs_f64() * 1e3 / f64::from(rounds);
        println!("{name:24} {what:9} {ms:9.2} ms");
    };
    time("find", &mut || c.find(&at, 0.005).unwrap());
    let mut y = vec![Vec3::zeros(); x.len()];
    time("force", &mut || c.force(&at, &mut y).unwrap());
    time("product", &mut || c.product(&at, &v, &v, &mut y).unwrap());
    let mut blocks = 0usize;
    time("assemble", &mut || {
        blocks = 0;
        c.assemble(&at, 1.0, 1.0, |_, _, _| blocks += 1).unwrap();
    });
    let active = c.in_contact(&at).unwrap();
    println!(
        "{name:24} {} pairs, {active} in contact, {blocks} blocks",
        c.len()
    );
}

fn main() {
    let n = 60;
    let thickness = 2e-3;
    let (a, mut x) = sheet(0, 0, n, 1.0, thickness);
    let (b, second) = sheet(1, x.len() as u32, n, 1.0, thickness);
    let up = Vec3::new(0.003, 0.002, 0.5 * thickness);
    x.extend(second.iter().map(|p| p + up));
    run("two sheets", &[a, b], &x, &[]);

    let (a, x) = sheet(0, 0, 120, 1.0, thickness);
    let ball = Collider {
        id: 1,
        material: 0,
        thickness,
        form: ColliderForm::Shape(Shape::Sphere { radius: 1.0 }),
    };
    let x: Vec<Vec3> = x
        .iter()
        .map(|p| Vec3::new(p.x, p.y, 1.0).normalize() * (1.0 + 0.5 * thickness))
        .collect();
    run(
        "a sheet on a sphere",
        &[a, ball],
        &x,
        &[RigidFrame::default()],
    );
}
