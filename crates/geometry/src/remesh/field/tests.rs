#![allow(clippy::unwrap_used)]
use super::*;
use crate::shapes::{Sheet as Rectangle, SheetPattern};

fn config() -> FieldConfig {
    FieldConfig {
        limits: SizeLimits {
            smallest: 1e-4,
            largest: 10.0,
            aspect: 1e-3,
        },
        angle: f64::INFINITY,
        velocity: f64::INFINITY,
        wave: f64::INFINITY,
        gradation: f64::INFINITY,
    }
}

/// The lengths that the field allows along and across the x axis of a flat sheet.
fn lengths(x: impl Fn(&Vec3) -> Vec3, v: impl Fn(&Vec3) -> Vec3, config: &FieldConfig) -> Vec2 {
    let mesh = Rectangle {
        size: [0.2, 0.2],
        cells: [20, 20],
        pattern: SheetPattern::Alternating,
    }
    .build()
    .unwrap();
    let world: Vec<Vec3> = mesh.positions.iter().map(x).collect();
    let v: Vec<Vec3> = mesh.positions.iter().map(v).collect();
    let motion = SheetMotion {
        rest: &mesh.positions,
        x: &world,
        v: &v,
        triangles: &mesh.triangles,
    };
    let field = sizing_field(&motion, &[], config);
    let middle = &field[10 * 21 + 10];
    Vec2::new(
        1.0 / middle.squared(&Vec3::x()).sqrt(),
        1.0 / middle.squared(&Vec3::y()).sqrt(),
    )
}

/// Along a cylinder of radius R the normal turns by Δn over R Δn.
#[test]
fn a_cylinder_is_refined_along_its_circumference() {
    let radius = 0.15;
    let roll = |p: &Vec3| {
        let a = p.x / radius;
        Vec3::new(radius * a.sin(), p.y, radius * a.cos())
    };
    let config = FieldConfig {
        angle: 0.3,
        ..config()
    };
    let l = lengths(roll, |_| Vec3::zeros(), &config);
    assert!((l.x - radius * 0.3).abs() < 0.05 * l.x, "{l}");
    assert!(l.y > 5.0 * l.x, "{l}");
}

#[test]
fn a_gradient_of_velocity_and_a_compression_give_their_lengths() {
    let shear = |p: &Vec3| Vec3::new(0.0, 0.0, 8.0 * p.y);
    let moving = FieldConfig {
        velocity: 0.4,
        ..config()
    };
    let l = lengths(|p| *p, shear, &moving);
    assert!((l.y - 0.05).abs() < 1e-9 && l.x > 9.0, "{l}");
    // A wave of amplitude a over l loses π²a²/(4 l²): E = ½ (0.98² − 1) = −0.0198.
    let squeezed = FieldConfig {
        wave: 0.005,
        ..config()
    };
    let squeeze = |p: &Vec3| Vec3::new(0.98 * p.x, p.y, 0.0);
    let l = lengths(squeeze, |_| Vec3::zeros(), &squeezed);
    let expected = std::f64::consts::PI * 0.005 / (4.0 * 0.0198_f64).sqrt();
    assert!((l.x - expected).abs() < 1e-9 && l.y > 9.0, "{l}");
    // Stretch has no tensor.
    let l = lengths(|p| p * 1.02, |_| Vec3::zeros(), &squeezed);
    assert!(l.min() > 9.0, "{l}");
}

/// An edge that crosses a plane has more than size 1, one next to it less [li2018, Eq. 15].
#[test]
fn edges_that_cross_a_tangent_plane_are_too_long() {
    let x = [
        Vec3::new(0.0, 0.0, 0.0),
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 1.0, 0.0),
    ];
    let size = |offset: f64| {
        let motion = SheetMotion {
            rest: &x,
            x: &x,
            v: &[Vec3::zeros(); 3],
            triangles: &[[0, 1, 2]],
        };
        let plane = TangentPlane {
            normal: Vec3::x(),
            offset,
        };
        let field = sizing_field(&motion, &[vec![plane]], &config());
        field[0].squared(&Vec3::x()).sqrt()
    };
    // φ runs from −offset to 1 − offset: s = 1 / max(|φ|), up to the floor of 1/10 m.
    for (offset, expected) in [
        (-0.5, 1.0 / 1.5),
        (0.0, 1.0),
        (0.5, 2.0),
        (0.25, 1.0 / 0.75),
    ] {
        let s = size(offset);
        assert!((s - expected).abs() < 1e-9, "{offset}: {s} {expected}");
    }
}

#[test]
fn gradation_bounds_the_growth_of_lengths() {
    let mesh = Rectangle {
        size: [1.0, 1.0],
        cells: [20, 20],
        pattern: SheetPattern::Alternating,
    }
    .build()
    .unwrap();
    // Only one triangle is near a plane.
    let mut planes = vec![Vec::new(); mesh.triangles.len()];
    let plane = |normal| TangentPlane {
        normal,
        offset: 1e-9,
    };
    planes[400] = vec![plane(Vec3::x()), plane(Vec3::y())];
    let motion = SheetMotion {
        rest: &mesh.positions,
        x: &mesh.positions,
        v: &vec![Vec3::zeros(); mesh.positions.len()],
        triangles: &mesh.triangles,
    };
    let steepest = |gradation: f64| {
        let config = FieldConfig {
            gradation,
            ..config()
        };
        let field = sizing_field(&motion, &planes, &config);
        let length = |v: u32, d: &Vec3| d.norm() / field[v as usize].squared(d).sqrt();
        let slope = |[a, b]: [u32; 2]| {
            let d = mesh.positions[b as usize] - mesh.positions[a as usize];
            (length(a, &d) - length(b, &d)).abs() / d.norm()
        };
        mesh.edges().into_iter().map(slope).fold(0.0, f64::max)
    };
    assert!(steepest(f64::INFINITY) > 3.0);
    assert!(steepest(0.5) < 0.6, "{}", steepest(0.5));
}
