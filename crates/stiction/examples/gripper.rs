//! A gripper under force control: two fingers close on a block until they press with the requested force,
//! and lift it.
//!
//! `cargo run --release -p stiction --example gripper`
#![allow(clippy::print_stdout)]

use stiction::{Body, Error, Obstacle, Pin, Pose, SceneBuilder, Vec3, World};

/// Force with which each finger presses [N]: μ · 2 · 12 N = 12 N carry the weight of 4.9 N.
const FORCE: f64 = 12.0;

/// Stiffness that the controller assumes between finger and block [N/m]: three times that of a finger, E A / L
/// = 16 kN/m, so that it does not overshoot.
const GAIN: f64 = 48e3;

fn scene() -> Result<World, Error> {
    let finger = |name: &str, x: f64| {
        Body::solid_box(name, [0.02, 0.04, 0.04], [2, 3, 3], "rubber").translate([x, 0.0, 0.03])
    };
    SceneBuilder::new()
        .step(0.005)
        .friction(0.5)
        .material(
            stiction::Material::solid("rubber", 1000.0, 2e5, 0.4).set("damping.stiffness", 0.005),
        )
        .obstacle(Obstacle::plane("table", [0.0, 0.0, 1.0]))
        .body(Body::rigid_box("block", [0.1, 0.1, 0.05], 1000.0).translate([0.0, 0.0, 0.026]))
        .body(finger("left", -0.065))
        .body(finger("right", 0.065))
        // The outer faces of the fingers are held by the gripper.
        .pin(Pin::beyond("left", [-1.0, 0.0, 0.0], 0.0745))
        .pin(Pin::beyond("right", [1.0, 0.0, 0.0], 0.0745))
        .build()
}

fn main() -> Result<(), Error> {
    let mut world = scene()?;
    let h = world.time_step();
    let (mut closed, mut lifted) = (0.0, 0.0);
    while world.time() < 1.5 {
        // Force of the left finger, and the closing distance for the requested force: an
        // integral controller on the measured contact force.
        let pressing = -world.contact_force("left", "block")?.x;
        closed += ((FORCE - pressing) / GAIN).clamp(-0.1 * h, 0.1 * h);
        if world.time() > 0.5 {
            lifted += 0.1 * h;
        }
        for (name, side) in [("left", 1.0), ("right", -1.0)] {
            world.body_mut(name)?.move_to(&Pose {
                translation: Vec3::new(side * closed, 0.0, lifted),
                ..Pose::default()
            })?;
        }
        world.step()?;
    }
    let height = world.body("block")?.position().z - 0.026;
    let pressing = -world.contact_force("left", "block")?.x;
    println!("lifted by {lifted:.3} m, the block by {height:.4} m, pressed with {pressing:.2} N");
    println!(
        "certificate, last step: creep {:.1e} m/s",
        world.certificate().creep
    );
    assert!((height - lifted).abs() < 2e-3, "the block slipped");
    assert!((pressing - FORCE).abs() < 0.5, "the force is off");
    Ok(())
}
