//! A first simulation: a box on a slope that holds it, and one that does not.
//!
//! `cargo run --release -p stiction --example first`
#![allow(clippy::print_stdout)]

use stiction::{Body, Error, Obstacle, SceneBuilder, World};

/// A box of 20 × 20 × 10 cm on a plane that is tilted by 20°, μ as given.
fn slope(mu: f64) -> Result<World, Error> {
    let (sin, cos) = 20f64.to_radians().sin_cos();
    // Half the height and the contact thickness of 1 mm above the plane.
    let height = 0.051;
    SceneBuilder::new()
        .step(0.01)
        .friction(mu)
        .obstacle(Obstacle::plane("slope", [sin, 0.0, cos]))
        .body(
            Body::rigid_box("box", [0.2, 0.2, 0.1], 500.0)
                .rotate([0.0, 1.0, 0.0], 20.0)
                .translate([height * sin, 0.0, height * cos]),
        )
        .build()
}

fn main() -> Result<(), Error> {
    // tan 20° = 0.364: the first must hold, the second must slide with g (sin 20° − 0.2 cos 20°).
    for mu in [0.5, 0.2] {
        let mut world = slope(mu)?;
        let start = world.body("box")?.position();
        let worst = world.run_until(1.0)?;
        let moved = (world.body("box")?.position() - start).norm();
        let force = world.contact_force("box", "slope")?;
        println!(
            "μ = {mu}: moved {moved:.9} m in 1 s, carried by {:.3} N",
            force.norm()
        );
        println!(
            "  certificate, worst step: residual {:.1e} m/s",
            worst.residual
        );
        let (sin, cos) = 20f64.to_radians().sin_cos();
        let expected = (0.5 * 9.81 * (sin - mu * cos)).max(0.0);
        // A step of 10 ms is of first order: 1 % of the path in 100 steps.
        assert!((moved - expected).abs() <= 0.011 * expected + 1e-9);
    }
    Ok(())
}
