//! A force model of one's own: charges on the nodes of a cloth, which repel one another.
//!
//! `cargo run --release -p stiction --example own_force`
#![allow(clippy::print_stdout)]

use stiction::{
    Body, Error, Material, Obstacle, SceneBuilder, Vec3,
    bodies::{
        check,
        elements::{ElementDerivatives, Elements, Hessian},
    },
    math::Mat3,
};

/// Pairs of nodes with the energy E = k / |x₁ − x₀| [J].
#[derive(Debug)]
struct Charges {
    pairs: Vec<[u32; 2]>,
    /// k [J·m].
    strength: f64,
}

impl Elements<2> for Charges {
    fn nodes(&self) -> &[[u32; 2]] {
        &self.pairs
    }

    fn energy(&self, _: usize, x: &[Vec3; 2]) -> f64 {
        self.strength / (x[1] - x[0]).norm()
    }

    fn gradient(&self, _: usize, x: &[Vec3; 2]) -> [Vec3; 2] {
        let d = x[1] - x[0];
        let g = d * (-self.strength / d.norm().powi(3));
        [-g, g]
    }

    fn local(&self, e: usize, x: &[Vec3; 2], kind: Hessian) -> ElementDerivatives<2> {
        let d = x[1] - x[0];
        let (r, n) = (d.norm(), d.normalize());
        let along = n * n.transpose();
        // Along the pair 2 k / r³, across it −k / r³, which a projection leaves out.
        let across = match kind {
            Hessian::Full => -1.0,
            Hessian::Projected => 0.0,
        };
        let k = (along * 2.0 + (Mat3::identity() - along) * across) * (self.strength / r.powi(3));
        ElementDerivatives {
            energy: self.energy(e, x),
            gradient: self.gradient(e, x),
            hessian: [[k, -k], [-k, k]],
        }
    }
}

/// A sheet of 7 × 7 nodes on a slick table, all of its nodes charged.
fn spread(strength: f64) -> Result<f64, Error> {
    let mut world = SceneBuilder::new()
        .step(0.005)
        .friction(0.0)
        .material(Material::shell("film", 0.05, 1e-3, 2e3, 0.3, 1e-6).set("damping.mass", 5.0))
        .obstacle(Obstacle::plane("table", [0.0, 0.0, 1.0]))
        .body(Body::sheet("film", [0.3, 0.3], [6, 6], "film").translate([0.0, 0.0, 0.0011]))
        .extend(move |builder| {
            let count = builder.model().bodies[0].node_count() as u32;
            let pairs = (0..count)
                .flat_map(|i| (0..i).map(move |j| [j, i]))
                .collect();
            builder.elements(0, Charges { pairs, strength })
        })
        .build()?;
    world.run_until(1.0)?;
    let nodes = world.body("film")?.node_positions();
    let extent = |axis: usize| {
        let values = nodes.iter().map(|x| x[axis]);
        values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
    };
    Ok(extent(0))
}

fn main() -> Result<(), Error> {
    // The one checker of all force models compares derivatives with differences.
    let charges = Charges {
        pairs: vec![[0, 1]],
        strength: 0.3,
    };
    let x = [Vec3::new(0.1, 0.0, 0.2), Vec3::new(0.5, -0.3, 0.4)];
    let report = check::check_element(&charges, 0, &x);
    println!(
        "gradient off by {:.1e}, Hessian by {:.1e}",
        report.gradient, report.hessian
    );
    assert!(report.gradient < 1e-8 && report.hessian < 1e-8 && report.negative < 1e-12);
    let (plain, charged) = (spread(0.0)?, spread(1e-5)?);
    println!("0.3 m of film are {plain:.4} m wide, charged {charged:.4} m");
    assert!((plain - 0.3).abs() < 1e-3 && charged > 1.01 * plain);
    Ok(())
}
