//! Nanoseconds per element of `local` (projected), `gradient` and `energy` for every model.
//!
//! `cargo run --release -p stiction-bodies --example element_timing`
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use stiction_bodies::bending::{BendingRigidity, Hinges};
use stiction_bodies::elements::{Elements, Hessian};
use stiction_bodies::membrane::{
    DEFAULT_WARP, NeoHookeanMembrane, RestTriangles, StretchModuli, StvkMembrane,
};
use stiction_bodies::solid::{
    Corotated, FixedCorotated, IsotropicLaw, Lame, NeoHookean, StableNeoHookean, Stvk, Tets,
};
use stiction_bodies::spring::{SpringConfig, Springs};
use stiction_math::Vec3;

const ELEMENTS: usize = 4096;

/// The fastest of several passes over all elements, in nanoseconds per element.
fn time(mut pass: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        pass();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e9 / ELEMENTS as f64
}

fn report<const K: usize, E: Elements<K>>(name: &str, model: &E, x: &[Vec3]) {
    let nodes = model.nodes();
    let gather = |e: usize| nodes[e % nodes.len()].map(|n| x[n as usize]);
    let states: Vec<[Vec3; K]> = (0..ELEMENTS).map(gather).collect();
    let each = |f: &dyn Fn(usize, &[Vec3; K])| {
        for (i, s) in states.iter().enumerate() {
            f(i % nodes.len(), black_box(s));
        }
    };
    let local = time(|| {
        each(&|e, s| {
            black_box(model.local(e, s, Hessian::Projected));
        });
    });
    let gradient = time(|| {
        each(&|e, s| {
            black_box(model.gradient(e, s));
        });
    });
    let energy = time(|| {
        each(&|e, s| {
            black_box(model.energy(e, s));
        });
    });
    println!("{name:30} local {local:6.0}  gradient {gradient:6.0}  energy {energy:6.0}  [ns]");
}

/// A repeatable wobble of size `a`.
fn shake(x: &[Vec3], a: f64) -> Vec<Vec3> {
    x.iter()
        .enumerate()
        .map(|(i, p)| {
            let t = i as f64;
            p + Vec3::new((7.1 * t).sin(), (3.7 * t).sin(), (5.3 * t).sin()) * a
        })
        .collect()
}

fn solid<L: IsotropicLaw>(name: &str, law: L, x: &[Vec3], tets: &[[u32; 4]], a: f64) {
    report(name, &Tets::new(law, x, tets, None).unwrap(), &shake(x, a));
}

fn main() {
    let n = 33;
    let sheet: Vec<Vec3> = (0..n * n)
        .map(|i| Vec3::new((i % n) as f64, (i / n) as f64, 0.0) * 0.01)
        .collect();
    let mut triangles = Vec::new();
    let mut tets = Vec::new();
    let top = (n * n) as u32;
    for j in 0..n - 1 {
        for i in 0..n - 1 {
            let a = (j * n + i) as u32;
            let (b, c, d) = (a + 1, a + n as u32 + 1, a + n as u32);
            triangles.extend([[a, b, c], [a, c, d]]);
            tets.extend([[a, b, c, c + top], [a, c, d, c + top]]);
        }
    }
    let mut block = sheet.clone();
    block.extend(sheet.iter().map(|p| p + Vec3::new(0.0, 0.0, 0.01)));

    let rest = RestTriangles::new(&sheet, &triangles, DEFAULT_WARP).unwrap();
    let moved = shake(&sheet, 0.002);
    let moduli = StretchModuli::isotropic(1e5, 0.3, 1e-3).unwrap();
    report(
        "StVK membrane",
        &StvkMembrane::new(rest.clone(), moduli),
        &moved,
    );
    let neo = NeoHookeanMembrane::new(rest, 1e5, 0.3, 1e-3).unwrap();
    report("neo-Hookean membrane", &neo, &moved);
    let rigidity = BendingRigidity::isotropic(1e-5).unwrap();
    let hinges = Hinges::new(&sheet, &triangles, rigidity, DEFAULT_WARP).unwrap();
    report("hinge", &hinges, &moved);
    let springs = Springs::cloth(&sheet, &triangles, SpringConfig::paper()).unwrap();
    report("spring", &springs, &moved);

    let lame = Lame::new(1e5, 0.4).unwrap();
    for (label, a) in [("", 0.001), (", some inverted", 0.006)] {
        let at = |name: &str| format!("{name}{label}");
        solid(&at("StVK"), Stvk { lame }, &block, &tets, a);
        solid(&at("co-rotated"), Corotated { lame }, &block, &tets, a);
        solid(
            &at("fixed co-rotated"),
            FixedCorotated { lame },
            &block,
            &tets,
            a,
        );
        solid(&at("neo-Hookean"), NeoHookean { lame }, &block, &tets, a);
        let stable = StableNeoHookean::new(lame);
        solid(&at("stable neo-Hookean"), stable, &block, &tets, a);
    }
}
