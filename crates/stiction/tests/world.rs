//! The facade as a program uses it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction::{
    Body, Error, Material, Obstacle, Pin, Pose, Probe, Quat, SceneBuilder, Vec3, World,
    geometry::TriMesh,
};

/// A box of 1 kg that rests on a floor with μ = 0.5, its faces the contact thickness apart.
fn resting() -> SceneBuilder {
    SceneBuilder::new()
        .step(0.005)
        .friction(0.5)
        .obstacle(Obstacle::plane("floor", [0.0, 0.0, 1.0]))
        .body(Body::rigid_box("box", [0.1, 0.1, 0.1], 1000.0).translate([0.0, 0.0, 0.051]))
}

#[test]
fn a_force_within_the_friction_limit_moves_nothing_and_a_larger_one_does() {
    let mut world = resting().build().unwrap();
    world.run_until(0.1).unwrap();
    let start = world.body("box").unwrap().position();
    // The limit is μ m g = 4.905 N.
    world
        .body_mut("box")
        .unwrap()
        .set_force(Vec3::x() * 4.8)
        .unwrap();
    world.run_until(0.4).unwrap();
    assert!((world.body("box").unwrap().position() - start).norm() < 1e-9);
    let carried = world.contact_force("box", "floor").unwrap();
    assert!(
        (carried - Vec3::new(-4.8, 0.0, 9.81)).norm() < 1e-6,
        "{carried}"
    );
    world
        .body_mut("box")
        .unwrap()
        .set_force(Vec3::x() * 5.905)
        .unwrap();
    world.run_until(0.9).unwrap();
    // 1 N more than the limit gives 1 m/s², for half a second, without turning the box over.
    let speed = world.body("box").unwrap().velocity().x;
    assert!((speed - 0.5).abs() < 1e-6, "{speed}");
    assert!(
        world
            .contacts()
            .all(|c| c.names.contains(&"floor") && c.names.contains(&"box"))
    );
}

#[test]
fn a_torque_turns_a_free_body_as_its_inertia_says() {
    let mut world = SceneBuilder::new()
        .step(0.001)
        .gravity([0.0; 3])
        .body(Body::rigid_box("cube", [0.1, 0.1, 0.1], 1000.0))
        .build()
        .unwrap();
    world
        .body_mut("cube")
        .unwrap()
        .set_torque(Vec3::z() * 0.01)
        .unwrap();
    world.run_until(0.1).unwrap();
    // I = m a² / 6.
    let spin = world.body("cube").unwrap().angular_velocity().unwrap();
    let expected = 0.01 * 0.1 / (0.01 / 6.0);
    assert!((spin - Vec3::z() * expected).norm() < 1e-9, "{spin}");
}

#[test]
fn a_moving_obstacle_carries_what_lies_on_it() {
    let scene = SceneBuilder::new()
        .step(0.005)
        .friction(0.5)
        .obstacle(Obstacle::cuboid("tray", [0.5, 0.5, 0.1]).translate([0.0, 0.0, -0.05]))
        .body(Body::rigid_box("box", [0.1, 0.1, 0.1], 1000.0).translate([0.1, 0.0, 0.051]));
    let mut world = scene.build().unwrap();
    // Up to 0.2 m/s in 0.2 s, which is 1 m/s² < μ g, and a quarter turn.
    let mut pose = world.obstacle("tray").unwrap().pose();
    let relative = |world: &World| {
        let tray = world.obstacle("tray").unwrap().pose();
        let x = world.body("box").unwrap().position();
        tray.rotation.inverse() * (x - tray.translation)
    };
    let start = relative(&world);
    for i in 0..200 {
        let speed = (0.005 * f64::from(i)).min(0.2);
        pose.translation.x += 0.005 * speed;
        pose.rotation = Quat::from_scaled_axis(Vec3::z() * (0.005 * speed)) * pose.rotation;
        world.move_obstacle("tray", &pose).unwrap();
        world.step().unwrap();
    }
    assert!((world.obstacle("tray").unwrap().pose().translation - pose.translation).norm() < 1e-12);
    let slipped = (relative(&world) - start).norm();
    assert!(slipped < 1e-8, "{slipped:e}");
}

#[test]
fn a_checkpoint_brings_back_the_same_bits() {
    let mut world = resting()
        .body(Body::sheet("cloth", [0.2, 0.2], [4, 4], "cotton").translate([0.0, 0.0, 0.12]))
        .material(Material::shell("cotton", 0.2, 1e-3, 1e5, 0.3, 1e-5))
        .probe(Probe::new("height", "centroid").body("cloth").axis("z"))
        .build()
        .unwrap();
    world.run_until(0.05).unwrap();
    let there = world.checkpoint();
    let run = |world: &mut World| {
        world
            .body_mut("box")
            .unwrap()
            .set_force(Vec3::x() * 20.0)
            .unwrap();
        world.run_until(0.2).unwrap();
        let cloth = world.body("cloth").unwrap().node_positions();
        (cloth, world.probe("height").unwrap())
    };
    let first = run(&mut world);
    world.restore(&there).unwrap();
    assert_eq!(world.time(), 0.05);
    // The force is gone, too.
    let mut free = World::new(
        stiction::scene::load(
            &stiction::scene::SceneSource::Builtin("free-fall".to_owned()),
            &stiction::scene::LoadOptions::default(),
        )
        .unwrap(),
    )
    .unwrap();
    assert!(matches!(free.restore(&there), Err(Error::OtherScene)));
    assert_eq!(run(&mut world), first);
}

#[test]
fn meshes_come_from_memory_and_pins_move() {
    let vertex = |i: u32| Vec3::new(f64::from(i % 5), f64::from(i / 5), 0.0) * 0.05;
    let cell = |i: u32| [[i, i + 1, i + 6], [i, i + 6, i + 5]];
    let cells = (0..20).filter(|i| i % 5 < 4).flat_map(cell);
    let sheet = TriMesh {
        positions: (0..25)
            .map(|i| vertex(i) - Vec3::new(0.1, 0.1, 0.0))
            .collect(),
        triangles: cells.collect(),
    };
    let mut world = SceneBuilder::new()
        .step(0.005)
        .material(Material::shell("cotton", 0.2, 1e-3, 1e5, 0.3, 1e-5))
        .body(
            Body::new("shell", "flag")
                .triangles(sheet)
                .material("cotton"),
        )
        .pin(Pin::beyond("flag", [1.0, 0.0, 0.0], 0.099))
        .build()
        .unwrap();
    let start = world.body("flag").unwrap().node_positions();
    let to = Pose {
        translation: Vec3::new(0.0, 0.0, 0.01),
        ..Pose::default()
    };
    world.body_mut("flag").unwrap().move_to(&to).unwrap();
    world.run_until(0.05).unwrap();
    let end = world.body("flag").unwrap().node_positions();
    let pinned = start.iter().zip(&end).filter(|(a, _)| a.x > 0.099);
    let mut count = 0;
    for (a, b) in pinned {
        assert!((b - a - to.translation).norm() < 1e-12);
        count += 1;
    }
    assert_eq!(count, 5);
}

#[test]
fn setting_positions_and_velocities_is_seen_by_the_next_step() {
    let mut world = resting().gravity([0.0; 3]).build().unwrap();
    let pose = Pose {
        rotation: Quat::from_scaled_axis(Vec3::x()),
        translation: Vec3::new(0.0, 0.0, 2.0),
    };
    let mut cube = world.body_mut("box").unwrap();
    cube.set_pose(&pose).unwrap();
    cube.set_velocity(Vec3::new(0.0, 1.0, 0.0), Vec3::zeros())
        .unwrap();
    world.run_until(0.1).unwrap();
    let there = world.body("box").unwrap().pose().unwrap();
    assert!((there.translation - Vec3::new(0.0, 0.1, 2.0)).norm() < 1e-12);
    assert!(there.rotation.angle_to(&pose.rotation) < 1e-12);
}

#[test]
fn mistakes_are_named() {
    let mut world = resting().build().unwrap();
    let unknown = world.body("bax").unwrap_err().to_string();
    assert!(
        unknown.contains("`bax`") && unknown.contains("`box`"),
        "{unknown}"
    );
    let error = world
        .body_mut("box")
        .unwrap()
        .set_force(Vec3::x() * f64::NAN);
    assert!(matches!(error, Err(Error::NotFinite { .. })));
    let error = world
        .body_mut("box")
        .unwrap()
        .set_node_positions(&[Vec3::zeros()]);
    assert!(matches!(error, Err(Error::Length { expected: 0, .. })));
    let error = world.body_mut("box").unwrap().move_to(&Pose::default());
    assert!(error.unwrap_err().to_string().contains("pinned"));
    let error = resting()
        .set("method.residul", 1e-6)
        .build()
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("residual"), "{error}");
    let error = resting()
        .friction(-1.0)
        .body(Body::new("rigid", "ball"))
        .build()
        .map(|_| ());
    // Both at once.
    let text = error.unwrap_err().to_string();
    assert!(text.contains("friction") && text.contains("ball"), "{text}");
}

#[test]
fn a_scene_made_in_code_is_a_scene_file() {
    let scene = resting();
    let text = scene.text();
    let (mut a, mut b) = (scene.build().unwrap(), World::from_text(&*text).unwrap());
    for world in [&mut a, &mut b] {
        world.run_until(0.05).unwrap();
    }
    assert_eq!(a.simulation().state(), b.simulation().state());
    assert_eq!(a.plan().hash, b.plan().hash);
}
