//! Warm solves do not allocate: counted by a global allocator, in a test binary of its own.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use stiction_math::{
    BlockJacobi, BlockMatrix, BlockPattern, CgConfig, CgWorkspace, Factor, Mat3, Ordering, Scatter,
    Symbolic, Vec3, conjugate_gradients,
};

static BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), SeqCst);
        // SAFETY: the caller's contract is ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is ours.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated(f: impl FnOnce()) -> usize {
    let before = BYTES.load(SeqCst);
    f();
    BYTES.load(SeqCst) - before
}

/// The scheduler's queues may grow once in a while, by amounts that do not depend on the matrix.
const SCHEDULER: usize = 16 * 1024;

/// A single test: another one running at the same time would be counted too.
#[test]
fn warm_solves_and_assembly_allocate_nothing() {
    let n = 60u32;
    let node = |i: u32, j: u32| i * n + j;
    let mut x = Vec::new();
    let mut cells: Vec<[u32; 4]> = Vec::new();
    for i in 0..n {
        for j in 0..n {
            x.push(Vec3::new(i.into(), j.into(), 0.0));
            if i + 1 < n && j + 1 < n {
                cells.push([
                    node(i, j),
                    node(i + 1, j),
                    node(i, j + 1),
                    node(i + 1, j + 1),
                ]);
            }
        }
    }
    let nodes = x.len();
    let cliques = cells.iter().map(|c| c.as_slice());
    let pattern = Arc::new(BlockPattern::from_cliques(nodes, cliques).unwrap());
    let scatter = Scatter::new(nodes, &cells).unwrap();
    let scatter = scatter.with_pattern(Arc::clone(&pattern)).unwrap();
    let mut a = BlockMatrix::zeros(pattern);
    let mut gradient = vec![Vec3::zeros(); nodes];
    let spring = |a: usize, b: usize| Mat3::identity() * if a == b { 3.1 } else { -1.0 };
    let element = |_: usize| {
        let hessian = std::array::from_fn(|a| std::array::from_fn(|b| spring(a, b)));
        (1.0, [Vec3::x(); 4], hessian)
    };

    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let symbolic = Arc::new(Symbolic::analyse(&a.pattern, Ordering::Auto(&x)).unwrap());
            let mut factor = Factor::new(symbolic).unwrap();
            let mut jacobi = BlockJacobi::new(&a);
            let mut workspace = CgWorkspace::default();
            let mut y = vec![Vec3::zeros(); nodes];
            let config = CgConfig::default();
            let mut round = || {
                a.set_zero();
                scatter
                    .add_to_system(&mut gradient, &mut a, element)
                    .unwrap();
                factor.refactor(&a, None).unwrap();
                y.copy_from_slice(&x);
                factor.solve_in_place(&mut y);
                jacobi.update(&a);
                y.fill(Vec3::zeros());
                conjugate_gradients(&a, &mut jacobi, &x, &mut y, &config, &mut workspace).unwrap();
            };
            round();
            let bytes = allocated(round);
            assert!(bytes <= SCHEDULER, "{bytes} bytes with {threads} threads");
            assert!(factor.bytes() > 100 * SCHEDULER, "too small to tell");
        });
    }
}
