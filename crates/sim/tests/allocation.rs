//! A warm step allocates nothing proportional to the mesh.
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use stiction_bodies::builder::{BodySpec, Builder};
use stiction_sim::{
    Newton, Simulation,
    newton::{Config, NewtonStop},
};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system allocator unchanged; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated in one warm step of a pinned, damped sheet of n×n cells.
fn warm_step(n: u32) -> usize {
    let mut b = Builder::new(common::GRAVITY, None);
    let mut material = common::cloth();
    material.damping.stiffness = 0.01;
    let c = b
        .shell(BodySpec::new("cloth"), common::sheet(n), &material)
        .unwrap();
    b.pin(c, &[0, n], None).unwrap();
    let (model, state) = b.finish().unwrap();
    let config = Config {
        stop: NewtonStop::Fixed(2),
        ..Config::default()
    };
    let mut sim = Simulation::new(model, state, Box::new(Newton::new(config)), 0.01).unwrap();
    for _ in 0..3 {
        sim.step().unwrap();
    }
    let before = BYTES.load(Ordering::Relaxed);
    sim.step().unwrap();
    BYTES.load(Ordering::Relaxed) - before
}

#[test]
fn a_warm_step_allocates_nothing_proportional_to_the_mesh() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let (small, large) = pool.install(|| (warm_step(10), warm_step(60)));
    // 36 times the nodes; what is left is per body and per parallel call.
    assert!(
        large <= small + 4096,
        "{small} bytes for 121 nodes, {large} for 3721"
    );
}
