//! A parameter study: from which coefficient of friction on does a house of three cards stand?
//!
//! `cargo run --release -p stiction --example study`
#![allow(clippy::print_stdout)]

use stiction::{Body, Error, Obstacle, SceneBuilder};

/// Distance by which the top of two cards that lean against each other has sunk after half a second [m].
fn sinking(mu: f64, lean: f64) -> Result<f64, Error> {
    let (length, thickness) = (0.1, 0.002);
    let (sin, cos) = lean.to_radians().sin_cos();
    // A card stands on its lower edge; the upper edges nearly touch at x = 0.
    let card = |name: &str, side: f64| {
        let centre = 0.5 * (length * sin + thickness * cos) + 6e-4;
        Body::rigid_box(name, [thickness, 0.06, length], 700.0)
            .rotate([0.0, 1.0, 0.0], side * lean)
            .translate([
                -side * centre,
                0.0,
                0.5 * (length * cos + thickness * sin) + 1.1e-3,
            ])
    };
    let mut world = SceneBuilder::new()
        .step(0.005)
        .friction(mu)
        .obstacle(Obstacle::plane("table", [0.0, 0.0, 1.0]))
        .body(card("left", 1.0))
        .body(card("right", -1.0))
        .build()?;
    let start = world.body("left")?.position().z;
    world.run_until(0.5)?;
    Ok(start - world.body("left")?.position().z)
}

fn main() -> Result<(), Error> {
    // Each card is a ladder against a wall that gives no vertical force: the horizontal force at the
    // foot is W tan(lean) / 2, so that the two stand if μ > tan(lean) / 2.
    println!("lean [°]  tan/2   stands from μ");
    for lean in [20f64, 30.0, 40.0] {
        let limit = 0.5 * lean.to_radians().tan();
        let (mut falls, mut stands) = (0.0, 1.5);
        while stands - falls > 0.02 {
            let mu = 0.5 * (falls + stands);
            match sinking(mu, lean)? < 2e-3 {
                true => stands = mu,
                false => falls = mu,
            }
        }
        println!("{lean:8}  {limit:.3}   {stands:.3}");
        // The cards have a thickness of 2 % of their length.
        assert!((stands - limit).abs() < 0.05, "{stands} at {lean}°");
    }
    Ok(())
}
