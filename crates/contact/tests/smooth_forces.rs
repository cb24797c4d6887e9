//! Smooth contact forces of all kinds of bodies: derivatives, balance, and nothing that is not a
//! number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod smooth_scenes;

use smooth_scenes::{Scene, SceneState, scenes};
use stiction_contact::smooth::{
    FrictionTime, JacobianPattern, Penalty, SmoothConfig, SmoothContacts,
};
use stiction_math::{Mat3, Vec3};

/// Contacts of a scene, searched at its state.
fn contacts(scene: &Scene, config: SmoothConfig) -> SmoothContacts {
    let mut c = SmoothContacts::new(&scene.colliders, &scene.laws, config).unwrap();
    c.find(&scene.state.place(), 0.01).unwrap();
    c.lag(&scene.state.place()).unwrap();
    c
}

fn force(c: &SmoothContacts, s: &SceneState) -> Vec<Vec3> {
    let mut f = vec![Vec3::zeros(); s.x.len()];
    c.force(&s.place(), &mut f).unwrap();
    f
}

fn product(c: &SmoothContacts, s: &SceneState, dx: &[Vec3], dv: &[Vec3]) -> Vec<Vec3> {
    let mut y = vec![Vec3::zeros(); s.x.len()];
    c.product(&s.place(), dx, dv, &mut y).unwrap();
    y
}

fn norm(x: &[Vec3]) -> f64 {
    x.iter().map(|v| v.norm_squared()).sum::<f64>().sqrt()
}

fn difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

fn configs() -> Vec<SmoothConfig> {
    let base = SmoothConfig {
        stiffness: 500.0,
        epsilon: 0.05,
        ..SmoothConfig::default()
    };
    let mut stribeck = base;
    stribeck.stribeck.speed = 0.5;
    stribeck.stribeck.viscous = 0.7;
    vec![
        base,
        stribeck,
        SmoothConfig {
            friction: FrictionTime::Lagged { iterations: 1 },
            ..base
        },
    ]
}

/// All scenes, with velocities as rates and as displacements over a step.
fn all() -> impl Iterator<Item = Scene> {
    let chords = [0.0, 0.05].into_iter();
    chords.flat_map(|chord| {
        scenes().into_iter().map(move |mut scene| {
            scene.state.chord = chord;
            scene
        })
    })
}

#[test]
fn products_are_differences_of_forces() {
    for scene in all() {
        for config in configs() {
            let c = contacts(&scene, config);
            let s = &scene.state;
            let f = force(&c, s);
            assert!(norm(&f) > 0.0, "{}: nothing touches", scene.name);
            for seed in 0..4 {
                let (mut dx, mut dv) = scene.directions(seed);
                if seed == 1 {
                    dv.fill(Vec3::zeros());
                } else if seed == 2 {
                    dx.fill(Vec3::zeros());
                }
                let exact = product(&c, s, &dx, &dv);
                // Extrapolated central differences.
                let along = |t: f64| force(&c, &s.moved(&dx, &dv, t));
                let central = |t: f64| -> Vec<Vec3> {
                    let (a, b) = (along(t), along(-t));
                    a.iter().zip(&b).map(|(a, b)| (a - b) / (2.0 * t)).collect()
                };
                let mut best = f64::INFINITY;
                for t in [3e-5, 1e-5, 3e-6, 1e-6, 3e-7] {
                    let (a, b) = (central(t), central(2.0 * t));
                    let d: Vec<Vec3> = a.iter().zip(&b).map(|(a, b)| (a * 4.0 - b) / 3.0).collect();
                    best = best.min(difference(&d, &exact));
                }
                let error = best / norm(&exact);
                assert!(error < 1e-6, "{} {config:?} {seed}: {error:e}", scene.name);
            }
        }
    }
}

#[test]
fn assembled_blocks_are_the_product() {
    for scene in all() {
        for config in configs() {
            let c = contacts(&scene, config);
            let s = &scene.state;
            let (dx, _) = scene.directions(7);
            let (cx, cv) = (0.3, -1.7);
            let scaled = |d: &[Vec3], c: f64| d.iter().map(|v| v * c).collect::<Vec<_>>();
            let exact = product(&c, s, &scaled(&dx, cx), &scaled(&dx, cv));
            let mut pattern = JacobianPattern::default();
            c.grow_pattern(&s.place(), &mut pattern).unwrap();
            let cliques: Vec<&[u32]> = pattern.cliques().collect();
            let mut y = vec![Vec3::zeros(); s.x.len()];
            let mut sizes = 0.0;
            c.assemble(&s.place(), cx, cv, |i, j, b: Mat3| {
                assert!(cliques.iter().any(|q| q.contains(&i) && q.contains(&j)));
                y[i as usize] += b * dx[j as usize];
                sizes += (b * dx[j as usize]).norm_squared();
            })
            .unwrap();
            let error = difference(&y, &exact) / sizes.sqrt();
            assert!(error < 1e-12, "{} {config:?}: {error:e}", scene.name);
            // The diagonal alone is the same diagonal, and products of what is active are all.
            let mut diagonal = vec![Mat3::zeros(); s.x.len()];
            let mut sum = 0.0;
            c.assemble(&s.place(), cx, cv, |i, j, b| {
                if i == j {
                    diagonal[i as usize] += b;
                    sum += b.norm();
                }
            })
            .unwrap();
            c.assemble_diagonal(&s.place(), cx, cv, |i, b| diagonal[i as usize] -= b)
                .unwrap();
            let left = diagonal.iter().map(|b| b.norm()).fold(0.0, f64::max);
            assert!(left < 1e-12 * sum, "{} {config:?}: {left:e}", scene.name);
            let active = c.active(&s.place()).unwrap();
            assert!(active.len() <= c.len());
            let mut z = vec![Vec3::zeros(); s.x.len()];
            let (dx, dv) = (scaled(&dx, cx), scaled(&dx, cv));
            c.product_of(&active, &s.place(), &dx, &dv, &mut z).unwrap();
            assert_eq!(z, exact);
        }
    }
}

#[test]
fn the_normal_force_is_the_slope_of_its_energy() {
    for scene in scenes() {
        let mut scene = scene;
        // Without velocities there is no friction.
        scene.state.v.fill(Vec3::zeros());
        scene.state.obstacles.iter_mut().for_each(|o| {
            o.velocity = Vec3::zeros();
            o.spin = Vec3::zeros();
        });
        for penalty in [Penalty::Cubic, Penalty::Barrier] {
            let config = SmoothConfig {
                penalty,
                ..configs()[0]
            };
            let c = contacts(&scene, config);
            let s = &scene.state;
            let deepest = c.deepest(&s.place()).unwrap().unwrap();
            if penalty == Penalty::Barrier && deepest.gap <= 0.0 {
                let mut f = vec![Vec3::zeros(); s.x.len()];
                assert!(c.force(&s.place(), &mut f).is_err(), "{}", scene.name);
                continue;
            }
            let f = force(&c, s);
            let (dx, _) = scene.directions(3);
            let rate: f64 = -f.iter().zip(&dx).map(|(f, d)| f.dot(d)).sum::<f64>();
            let zero = vec![Vec3::zeros(); dx.len()];
            let energy = |t: f64| c.energy(&s.moved(&dx, &zero, t).place()).unwrap();
            let central = |t: f64| (energy(t) - energy(-t)) / (2.0 * t);
            let mut best = f64::INFINITY;
            for t in [1e-5, 3e-6, 1e-6] {
                let slope = (4.0 * central(t) - central(2.0 * t)) / 3.0;
                best = best.min((slope / rate - 1.0).abs());
            }
            assert!(best < 1e-6, "{} {penalty:?}: {best:e}", scene.name);
        }
    }
}

#[test]
fn forces_and_torques_of_bodies_cancel() {
    for scene in scenes()
        .into_iter()
        .filter(|s| s.state.obstacles.is_empty())
    {
        for config in configs() {
            let c = contacts(&scene, config);
            let (f, s) = (force(&c, &scene.state), &scene.state);
            let mut total = Vec3::zeros();
            let mut torque = Vec3::zeros();
            let mut scale = 0.0;
            for j in 0..f.len() {
                if scene.angular.contains(&(j as u32)) {
                    torque += f[j];
                    continue;
                }
                total += f[j];
                torque += s.x[j].cross(&f[j]);
                scale += f[j].norm();
            }
            assert!(total.norm() < 1e-12 * scale, "{}: {total:?}", scene.name);
            assert!(
                torque.norm() < 1e-12 * scale,
                "{}: {torque:?} {scale}",
                scene.name
            );
        }
    }
}

/// In a step of backward Euler, x⁺ = x + h v⁺, angular momentum changes by the torque about x = x⁺ − h v⁺.
#[test]
fn the_angular_momentum_of_rigid_bodies_stays_in_a_step_of_backward_euler() {
    let mut seen = 0;
    for mut scene in scenes() {
        let s = &mut scene.state;
        let rigid = s.x.len() == 2 * scene.angular.len();
        if !s.obstacles.is_empty() || !rigid {
            continue;
        }
        seen += 1;
        s.chord = 0.05;
        let mut c = contacts(&scene, configs()[0]);
        c.set_masses(&[3.0, 1.0, 2.0]);
        let (f, s) = (force(&c, &scene.state), &scene.state);
        let (mut torque, mut scale) = (Vec3::zeros(), 0.0);
        for j in 0..f.len() {
            if scene.angular.contains(&(j as u32)) {
                torque += f[j];
                continue;
            }
            torque += (s.x[j] - s.v[j] * s.chord).cross(&f[j]);
            scale += f[j].norm();
        }
        assert!(torque.norm() < 1e-12 * scale, "{}: {torque:?}", scene.name);
    }
    assert!(seen > 0);
}

#[test]
fn friction_takes_energy_and_opposes_slip() {
    for scene in scenes() {
        for config in &configs()[..2] {
            let c = contacts(&scene, *config);
            for t in c.touching(&scene.state.place()).unwrap() {
                let slide = t.velocity - t.normal * t.normal.dot(&t.velocity);
                assert!(t.friction.dot(&t.velocity) <= 0.0);
                assert!(
                    t.friction.cross(&slide).norm() <= 1e-12 * t.friction.norm() * slide.norm()
                );
                assert!(t.friction.dot(&t.normal).abs() <= 1e-12 * t.friction.norm());
                if config.stribeck.viscous == 0.0 {
                    let part = stiction_contact::smooth::transition(slide.norm(), config.epsilon);
                    let expected = t.mu * t.normal_force * part;
                    assert!((t.friction.norm() - expected).abs() <= 1e-12 * expected);
                }
            }
        }
    }
}

#[test]
fn samples_have_the_forces_that_act() {
    for scene in scenes() {
        let c = contacts(&scene, configs()[0]);
        let s = &scene.state;
        let (mut set, mut r) = (stiction_contact::ContactSet::default(), Vec::new());
        let h = 0.01;
        let fixed = vec![false; s.x.len()];
        c.contact_set(&s.place(), h, &fixed, &mut set, &mut r)
            .unwrap();
        let touching = c.touching(&s.place()).unwrap();
        assert_eq!(set.len(), touching.len());
        for (i, t) in touching.iter().enumerate() {
            let u = set.velocity(i, &s.v) + set.k[i];
            let slip = u - t.normal * t.normal.dot(&u);
            let seen = t.velocity - t.normal * t.normal.dot(&t.velocity);
            assert!(
                (slip - seen).norm() < 1e-12 * (1.0 + seen.norm()),
                "{}",
                scene.name
            );
            // The penalty as a compliance: no normal velocity is left.
            let left = t.normal.dot(&u) + set.compliance[i] * t.normal.dot(&r[i]);
            assert!(left.abs() < 1e-12, "{}: {left}", scene.name);
            let impulse = (t.normal * t.normal_force + t.friction) * h;
            assert!((r[i] - impulse).norm() <= 1e-15);
            // Weights of both sides cancel unless one is the world.
            let weight: f64 = t.entries.iter().map(|e| e.weight).sum();
            let world = t.pair.iter().any(|p| scene.worlds.contains(p));
            assert!((weight.abs() < 1e-12) != world, "{}: {weight}", scene.name);
        }
        // The total force of the stencils is the total force.
        let mut from_set = vec![Vec3::zeros(); s.x.len()];
        set.add_transpose(&r, &mut from_set);
        let f = force(&c, s);
        let sum = |f: &[Vec3], scene: &Scene| {
            let blocks = (0..f.len()).filter(|j| !scene.angular.contains(&(*j as u32)));
            blocks.map(|j| f[j]).sum::<Vec3>()
        };
        let (a, b) = (sum(&from_set, &scene) / h, sum(&f, &scene));
        assert!(
            (a - b).norm() < 1e-10 * norm(&f),
            "{}: {a:?} {b:?}",
            scene.name
        );
    }
}

#[test]
fn the_same_bits_on_one_thread() {
    let pool = |n| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build()
            .unwrap()
    };
    for scene in scenes() {
        let run = || {
            let c = contacts(&scene, configs()[1]);
            let (dx, dv) = scene.directions(5);
            (force(&c, &scene.state), product(&c, &scene.state, &dx, &dv))
        };
        assert!(
            pool(1).install(run) == pool(3).install(run),
            "{}",
            scene.name
        );
    }
}
