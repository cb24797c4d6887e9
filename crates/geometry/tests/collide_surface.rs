//! Candidates, contacts and safe steps of surfaces, against brute force and against exact
//! intersection tests.
//!
//! `STICTION_LONG=1` crumples a thousand scenes instead of sixty.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

use std::collections::BTreeSet;

use stiction_geometry::collide::ccd::{self, CcdConfig};
use stiction_geometry::collide::{
    Candidate, Candidates, CollisionSurface, EdgeFeature, EndBox, EndPosition, ProximityKind,
    SurfaceError, SweptSurface, TriangleFeature, earliest_step, earliest_step_within, edge_edge,
    point_triangle, proximity, proximity_within, segment_meets_triangle, triangles_intersect,
};
use stiction_geometry::{Aabb, SplitMix};
use stiction_math::Vec3;

/// Square sheets of n × n cells above each other, each of side one.
fn sheets(count: u32, n: u32, gap: f64) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut x = Vec::new();
    let mut triangles = Vec::new();
    for s in 0..count {
        let base = x.len() as u32;
        for i in 0..=n {
            for j in 0..=n {
                let (u, v) = (i as f64 / n as f64, j as f64 / n as f64);
                x.push(Vec3::new(u, v, s as f64 * gap));
                if i < n && j < n {
                    let a = base + i * (n + 1) + j;
                    let (b, c, d) = (a + 1, a + n + 1, a + n + 2);
                    triangles.extend([[a, c, d], [a, d, b]]);
                }
            }
        }
    }
    (x, triangles)
}

fn jitter(random: &mut SplitMix, x: &[Vec3], size: f64) -> Vec<Vec3> {
    let mut unit = || 2.0 * random.uniform() - 1.0;
    let mut moved = |p: &Vec3| p + size * Vec3::new(unit(), unit(), unit());
    x.iter().map(&mut moved).collect()
}

fn any(_: Candidate) -> bool {
    true
}

/// Every pair of features that shares no vertex, by brute force.
fn all_pairs(s: &CollisionSurface) -> Candidates {
    let mut all = Candidates::default();
    for &v in s.vertices() {
        for t in s.triangles().iter().filter(|t| !t.contains(&v)) {
            all.vertex_face.push([v, t[0], t[1], t[2]]);
        }
    }
    for (i, a) in s.edges().iter().enumerate() {
        for (j, b) in s.edges().iter().enumerate().skip(i + 1) {
            if !b.contains(&a[0]) && !b.contains(&a[1]) {
                all.edge_edge.push([i as u32, j as u32]);
            }
        }
    }
    all
}

fn scene(seed: u64) -> (CollisionSurface, Vec<Vec3>, Vec<Vec3>) {
    let mut random = SplitMix::new(seed);
    let (x, triangles) = sheets(2, 4, 0.2);
    let start = jitter(&mut random, &x, 0.08);
    let end = jitter(&mut random, &start, 0.3);
    (CollisionSurface::new(&triangles, &[]).unwrap(), start, end)
}

#[test]
fn candidates_contain_every_pair_that_comes_within_the_margin_and_none_whose_paths_stay_apart() {
    for seed in 0..20 {
        let (surface, start, end) = scene(seed);
        let margin = 0.01;
        let swept = match seed % 2 {
            0 => SweptSurface::build(surface.clone(), &start, &end, margin).unwrap(),
            _ => SweptSurface::build_moving(surface.clone(), &start, &end, margin).unwrap(),
        };
        let found = Candidates::within(&swept, any);
        let overlap = |a: &[Vec3], b: &[Vec3], margin: f64| {
            let [mut a, b] = [a, b].map(|x| Aabb::of(x).unwrap());
            a.min -= Vec3::repeat(margin);
            a.max += Vec3::repeat(margin);
            a.overlaps(&b)
        };
        let at = |v: &[u32], t: f64| -> Vec<Vec3> {
            let x = |v: &u32| start[*v as usize].lerp(&end[*v as usize], t);
            v.iter().map(x).collect()
        };
        // At one of many times.
        let comes = |first: &[u32], second: &[u32]| {
            let mut times = (0..=50).map(|i| f64::from(i) / 50.0);
            times.any(|t| overlap(&at(first, t), &at(second, t), margin))
        };
        // At no time, however different.
        let motion = |v: &[u32]| [at(v, 0.0), at(v, 1.0)].concat();
        let apart = |first: &[u32], second: &[u32]| {
            !overlap(&motion(first), &motion(second), 1.01 * margin)
        };
        let mut least = all_pairs(&surface);
        let mut most = least.clone();
        least.vertex_face.retain(|v| comes(&v[..1], &v[1..]));
        let edges = |e: &[u32; 2]| e.map(|e| surface.edges()[e as usize]);
        least.edge_edge.retain(|e| {
            let [a, b] = edges(e);
            comes(&a, &b)
        });
        most.vertex_face.retain(|v| !apart(&v[..1], &v[1..]));
        most.edge_edge.retain(|e| {
            let [a, b] = edges(e);
            !apart(&a, &b)
        });
        let ends = |c: &Candidates| -> Vec<[u32; 4]> {
            c.edge_edge.iter().map(|e| surface.ends(*e)).collect()
        };
        let set = |v: &[[u32; 4]]| v.iter().copied().collect::<BTreeSet<_>>();
        for (found, least, most) in [
            (&found.vertex_face, &least.vertex_face, &most.vertex_face),
            (&ends(&found), &ends(&least), &ends(&most)),
        ] {
            assert_eq!(set(found).len(), found.len());
            assert!(set(found).is_superset(&set(least)));
            assert!(swept.is_moving() || set(found).is_subset(&set(most)));
            assert!(!least.is_empty());
        }
    }
}

#[test]
fn features_moving_together_have_no_more_pairs_than_at_rest() {
    let (surface, start, end) = scene(5);
    let motion = Vec3::new(2.0, -3.0, 1.0);
    let moved = |x: &[Vec3]| x.iter().map(|x| x + motion).collect::<Vec<_>>();
    let count = |end: &Vec<Vec3>| {
        let swept = SweptSurface::build_moving(surface.clone(), &start, end, 0.01).unwrap();
        Candidates::within(&swept, any).len()
    };
    for end in [&start, &end] {
        let (apart, together) = (count(end), count(&moved(end)));
        assert!(apart.abs_diff(together) * 100 < apart, "{apart} {together}");
    }
    // Boxes around whole trajectories contain all positions.
    let moved = moved(&end);
    let swept = SweptSurface::build(surface.clone(), &start, &moved, 0.01).unwrap();
    assert!(Candidates::within(&swept, any).len() > 5 * count(&moved));
    // Ends that are bounded by a box cover all positions in it.
    let corners = |(a, b): (&Vec3, &Vec3)| [a.inf(b), a.sup(b)];
    let ends: Vec<[Vec3; 2]> = start.iter().zip(&end).map(corners).collect();
    let all = SweptSurface::build_moving(surface.clone(), &start, ends.as_slice(), 0.0).unwrap();
    let all = Candidates::within(&all, any);
    let at_rest = SweptSurface::build(surface.clone(), &end, &end, 0.0).unwrap();
    for pair in Candidates::within(&at_rest, any).edge_edge {
        assert!(all.edge_edge.contains(&pair));
    }
}

#[test]
fn filters_and_two_surfaces_select_from_the_same_pairs() {
    let (surface, start, end) = scene(3);
    let half = start.len() as u32 / 2;
    let lower = |v: u32| v < half;
    let whole = SweptSurface::build(surface.clone(), &start, &end, 0.01).unwrap();
    let mixed = Candidates::within(&whole, |c| match c {
        Candidate::VertexFace(v, t) => lower(v) != lower(t[0]),
        Candidate::EdgeEdge(a, b) => lower(a[0]) != lower(b[0]),
    });
    assert!(mixed.len() > 100 && mixed.len() < Candidates::within(&whole, any).len());
    let (low, high): (Vec<_>, Vec<_>) = surface.triangles().iter().partition(|t| lower(t[0]));
    let [low, high] = [low, high].map(|t| CollisionSurface::new(&t, &[]).unwrap());
    let part = |s: &CollisionSurface| SweptSurface::build(s.clone(), &start, &end, 0.01).unwrap();
    // Parts number their edges by themselves.
    let named = |mut pairs: Candidates| {
        for pair in &mut pairs.edge_edge {
            let ends = [
                low.edges()[pair[0] as usize],
                high.edges()[pair[1] as usize],
            ];
            *pair = ends.map(|e| surface.edges().binary_search(&e).unwrap() as u32);
        }
        pairs
    };
    let pairs = Candidates::between(&part(&low), &part(&high), any);
    assert_eq!(named(pairs), mixed);
    // Of two kinds, the coarser one decides.
    let moving = SweptSurface::build_moving(high.clone(), &start, &end, 0.01).unwrap();
    let pairs = Candidates::between(&part(&low), &moving, any);
    assert_eq!(named(pairs), mixed);
}

#[test]
fn the_safe_step_is_the_earliest_of_all_pairs() {
    let mut limited = 0;
    for seed in 0..40 {
        let (surface, start, end) = scene(seed);
        let config = CcdConfig::new(1e-3);
        let swept = SweptSurface::build(surface.clone(), &start, &end, config.d_min).unwrap();
        let step = earliest_step(
            &Candidates::within(&swept, any),
            &surface,
            &start,
            &end,
            &config,
        )
        .unwrap();
        let mut first = 1.0f64;
        let all = all_pairs(&surface);
        let at = |x: &[Vec3], v: &[u32; 4]| v.map(|v| x[v as usize]);
        for v in &all.vertex_face {
            let answer = ccd::vertex_face(&at(&start, v), &at(&end, v), &config);
            first = answer.impact.map_or(first, |i| first.min(i.time));
        }
        for e in &all.edge_edge {
            let v = &surface.ends(*e);
            let answer = ccd::edge_edge(&at(&start, v), &at(&end, v), &config);
            first = answer.impact.map_or(first, |i| first.min(i.time));
        }
        // The allowance for rounding is that of the largest coordinate of the scene, not of the
        // pair: the times differ by as much.
        assert!(
            (step.fraction - first).abs() < 1e-9,
            "{} {first}",
            step.fraction
        );
        assert_eq!(step.limited_by.is_some(), first < 1.0);
        limited += usize::from(first > 0.0 && first < 1.0);
    }
    assert!(limited > 10, "{limited}");
}

#[test]
fn contacts_are_all_pairs_within_the_distance_each_once() {
    let mut kinds = [0; 4];
    for seed in 0..20 {
        let mut random = SplitMix::new(seed);
        let (x, triangles) = sheets(3, 4, 0.1);
        // Every other scene stays aligned, where closest features are degenerate.
        let x = jitter(&mut random, &x, if seed % 2 == 0 { 0.03 } else { 0.0 });
        let surface = CollisionSurface::new(&triangles, &[]).unwrap();
        let distance = 0.1 + 1e-9;
        let swept = SweptSurface::build(surface.clone(), &x, &x, distance).unwrap();
        let zero = |_: ProximityKind, _: &[u32; 4]| Vec3::zeros();
        let found = proximity(
            &Candidates::within(&swept, any),
            &surface,
            &x,
            distance,
            zero,
        )
        .unwrap();

        // The active features, by brute force, as sorted vertex lists of the two sides.
        let mut expected = BTreeSet::new();
        let at = |v: u32| x[v as usize];
        let mut add = |mut a: Vec<u32>, mut b: Vec<u32>| {
            a.sort_unstable();
            b.sort_unstable();
            expected.insert(if a.len() == b.len() && b < a {
                (b, a)
            } else {
                (a, b)
            })
        };
        for v in &all_pairs(&surface).vertex_face {
            let c = point_triangle(&at(v[0]), &[at(v[1]), at(v[2]), at(v[3])]);
            if c.squared <= distance * distance {
                let (p, t) = (vec![v[0]], &v[1..]);
                match c.feature {
                    TriangleFeature::Vertex(k) => add(p, vec![t[k as usize]]),
                    TriangleFeature::Edge(k) => {
                        add(p, vec![t[k as usize], t[(k as usize + 1) % 3]])
                    }
                    TriangleFeature::Face => add(p, t.to_vec()),
                };
            }
        }
        for e in &all_pairs(&surface).edge_edge {
            let v = surface.ends(*e);
            let c = edge_edge(&[at(v[0]), at(v[1])], &[at(v[2]), at(v[3])]);
            if c.squared <= distance * distance {
                let side = |f: EdgeFeature, e: &[u32]| match f {
                    EdgeFeature::End(k) => vec![e[k as usize]],
                    EdgeFeature::Interior => e.to_vec(),
                };
                let (a, b) = (side(c.feature.0, &v[..2]), side(c.feature.1, &v[2..]));
                if a.len() <= b.len() {
                    add(a, b)
                } else {
                    add(b, a)
                };
            }
        }
        let keys: BTreeSet<_> = found
            .iter()
            .map(|c| {
                let (first, count) = match c.kind {
                    ProximityKind::VertexVertex => (1, 2),
                    ProximityKind::VertexEdge => (1, 3),
                    ProximityKind::VertexFace => (1, 4),
                    ProximityKind::EdgeEdge => (2, 4),
                };
                let mut a = c.vertices[..first].to_vec();
                let mut b = c.vertices[first..count].to_vec();
                a.sort_unstable();
                b.sort_unstable();
                if a.len() == b.len() && b < a {
                    (b, a)
                } else {
                    (a, b)
                }
            })
            .collect();
        assert_eq!(keys.len(), found.len(), "a contact is listed twice");
        assert_eq!(keys, expected);

        for c in &found {
            kinds[c.kind as usize] += 1;
            let d: Vec3 = (0..4).map(|k| c.weights[k] * at(c.vertices[k])).sum();
            assert!((d.norm() - c.gap).abs() < 1e-14);
            assert!((d - c.gap * c.normal).norm() < 1e-14);
            assert!(c.weights.iter().sum::<f64>().abs() < 1e-14);
        }
        assert!(found.is_sorted_by_key(|c| c.kind));
    }
    assert!(kinds.iter().all(|n| *n > 50), "{kinds:?}");
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, triangles) = sheets(4, 24, 0.05);
    let mut random = SplitMix::new(4);
    let start = jitter(&mut random, &x, 0.01);
    let end = jitter(&mut random, &start, 0.1);
    let surface = CollisionSurface::new(&triangles, &[]).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut swept = SweptSurface::build(surface.clone(), &start, &start, 0.02).unwrap();
            let still = Candidates::within(&swept, any);
            let none = |_: ProximityKind, _: &[u32; 4]| Vec3::zeros();
            let contacts = proximity(&still, &surface, &start, 0.05, none).unwrap();
            let streamed = proximity_within(&swept, &start, 0.05, any, none).unwrap();
            assert_eq!(contacts, streamed);
            swept.refit(&start, &end, 0.0).unwrap();
            let moving = Candidates::within(&swept, any);
            let anew = SweptSurface::build(surface.clone(), &start, &end, 0.0).unwrap();
            assert_eq!(moving, Candidates::within(&anew, any));
            let config = CcdConfig::new(1e-5);
            let step = earliest_step(&moving, &surface, &start, &end, &config).unwrap();
            let streamed = earliest_step_within(&swept, &start, &end, &config, any).unwrap();
            assert_eq!(step, streamed);
            (contacts, moving, step)
        })
    };
    let one = run(1);
    assert!(one.0.len() > 1_000 && one.2.limited_by.is_some());
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

#[test]
fn streamed_pairs_are_those_of_the_candidates() {
    let rods = [[0, 700], [3, 500], [40, 41], [9, 230]];
    for seed in 0..8 {
        let mut random = SplitMix::new(seed);
        let (x, triangles) = sheets(3, 15, 0.03);
        let start = jitter(&mut random, &x, 0.01);
        let end = jitter(&mut random, &start, 0.05);
        let surface = CollisionSurface::new(&triangles, &rods).unwrap();
        let swept = SweptSurface::build(surface.clone(), &start, &end, 0.03).unwrap();
        let odd = |c: Candidate| match c {
            Candidate::VertexFace(v, t) => (v + t[0]) % 3 != seed as u32 % 3,
            Candidate::EdgeEdge(a, b) => (a[0] + b[1]) % 5 != 0,
        };
        // The filter sees the names that the list has, and sees no neighbours.
        let seen = Candidates::within(&swept, |c| match c {
            Candidate::VertexFace(v, t) => {
                assert!(!t.contains(&v));
                false
            }
            Candidate::EdgeEdge(a, b) => {
                assert!(a < b && a[0] < a[1] && !b.contains(&a[0]) && !b.contains(&a[1]));
                false
            }
        });
        assert!(seen.is_empty());
        let listed = Candidates::within(&swept, odd);
        let side = |_: ProximityKind, v: &[u32; 4]| Vec3::new(f64::from(v[0]), 1.0, 2.0);
        let contacts = proximity(&listed, &surface, &start, 0.03, side).unwrap();
        let streamed = proximity_within(&swept, &start, 0.03, odd, side).unwrap();
        assert!(contacts.len() > 1_000);
        assert_eq!(contacts, streamed);
        let config = CcdConfig::new(1e-6);
        let step = earliest_step(&listed, &surface, &start, &end, &config).unwrap();
        assert!(step.limited_by.is_some());
        let streamed = earliest_step_within(&swept, &start, &end, &config, odd).unwrap();
        assert_eq!(step, streamed);
    }
}

/// Single precision enlarges boxes slightly and loses no corner.
#[test]
fn boxes_of_ends_contain_their_corners() {
    let mut random = SplitMix::new(3);
    for size in [1e-6, 1.0, 1e6] {
        for _ in 0..1000 {
            let mut next = || (2.0 * random.uniform() - 1.0) * size;
            let a = Vec3::new(next(), next(), next());
            let b = Vec3::new(next(), next(), next());
            let (low, high) = (a.inf(&b), a.sup(&b));
            let [l, h] = EndBox::around(&low, &high).corners();
            assert!(l <= low && h >= high);
            assert!((low - l).amax().max((h - high).amax()) < 3e-7 * size);
        }
    }
    let beyond = Vec3::new(f64::INFINITY, 0.0, 0.0);
    let corners = EndBox::around(&beyond, &beyond).corners();
    assert!(corners.iter().flatten().any(|c| !c.is_finite()));
}

#[test]
fn margins_of_vertices_are_those_of_their_pairs() {
    let (x, triangles) = sheets(3, 6, 0.1);
    let surface = CollisionSurface::new(&triangles, &[]).unwrap();
    let sheet = |v: u32| v as usize / 49;
    let margins = |of: [f64; 3]| -> Vec<f64> { (0..147).map(|v| of[sheet(v)]).collect() };
    let met = |of: [f64; 3]| -> BTreeSet<[usize; 2]> {
        let each = margins(of);
        let swept = SweptSurface::build(surface.clone(), &x, &x, each.as_slice()).unwrap();
        let mut again = SweptSurface::build(surface.clone(), &x, &x, 0.0).unwrap();
        again.refit(&x, &x, each.as_slice()).unwrap();
        let all = Candidates::within(&swept, any);
        assert_eq!(all, Candidates::within(&again, any));
        let pairs = all.vertex_face.iter().map(|v| [sheet(v[0]), sheet(v[1])]);
        pairs.filter(|[a, b]| a < b).collect()
    };
    // Sheets 0.1 apart meet where the mean of their margins is as large, not before.
    assert_eq!(met([0.19, 0.0, 0.0]), BTreeSet::new());
    assert_eq!(met([0.21, 0.0, 0.0]), BTreeSet::from([[0, 1]]));
    assert_eq!(met([0.11, 0.1, 0.08]), BTreeSet::from([[0, 1]]));
    assert_eq!(met([0.3, 0.0, 0.12]), BTreeSet::from([[0, 1], [0, 2]]));
    let short = SweptSurface::build(surface.clone(), &x, &x, [0.1; 9].as_slice());
    let expected = SurfaceError::NoPosition {
        vertex: 146,
        count: 9,
    };
    assert_eq!(short.map(|_| ()).unwrap_err(), expected);
    let mut bad = margins([0.0; 3]);
    bad[100] = f64::NAN;
    let refused = SweptSurface::build(surface, &x, &x, bad.as_slice());
    assert!(matches!(refused, Err(SurfaceError::BadDistance(d)) if d.is_nan()));
}

/// Whether two triangles of a surface meet other than in vertices that they share.
fn tangled(x: &[Vec3], a: &[u32; 3], b: &[u32; 3]) -> bool {
    let at = |t: &[u32; 3]| t.map(|v| x[v as usize]);
    let shared: Vec<u32> = a.iter().copied().filter(|v| b.contains(v)).collect();
    match shared.as_slice() {
        [] => triangles_intersect(&at(a), &at(b)),
        [v] => {
            // What they share is convex and contains the vertex, so that if there is more, it
            // reaches the side of one of them opposite to the vertex.
            let opposite = |t: &[u32; 3]| {
                let ends: Vec<Vec3> = t
                    .iter()
                    .filter(|w| *w != v)
                    .map(|w| x[*w as usize])
                    .collect();
                [ends[0], ends[1]]
            };
            segment_meets_triangle(&opposite(a), &at(b))
                || segment_meets_triangle(&opposite(b), &at(a))
        }
        _ => false,
    }
}

/// Sheets are thrown into each other again and again, each time as far as the safe step allows,
/// or nearly so, and without any separation; no two triangles ever meet.
#[test]
fn crumpled_sheets_never_intersect_after_safe_steps() {
    let long = std::env::var("STICTION_LONG").is_ok_and(|v| v == "1");
    let scenes = if long { 1_000 } else { 60 };
    let mut smallest = f64::INFINITY;
    let (mut stopped, mut crossed_without) = (0, 0);
    for seed in 0..scenes {
        let mut random = SplitMix::new(seed);
        let (mut x, triangles) = sheets(2, 5, 0.1);
        let surface = CollisionSurface::new(&triangles, &[]).unwrap();
        let mut swept = SweptSurface::build(surface.clone(), &x, &x, 0.0).unwrap();
        // Which pairs meet; by brute force, so that it does not share the hierarchy's faults.
        let meet = |x: &[Vec3]| {
            let t = &triangles;
            (0..t.len()).any(|i| (i + 1..t.len()).any(|j| tangled(x, &t[i], &t[j])))
        };
        assert!(!meet(&x));
        for round in 0..8 {
            // Towards a common point at times, else at random.
            let pull = if round % 2 == 0 { 0.6 } else { 0.0 };
            let target = jitter(&mut random, &x, 0.15);
            let centre = Vec3::new(0.5, 0.5, 0.05);
            let end: Vec<Vec3> = target.iter().map(|p| p + pull * (centre - p)).collect();
            swept.refit(&x, &end, 0.0).unwrap();
            let candidates = Candidates::within(&swept, any);
            let step =
                earliest_step(&candidates, &surface, &x, &end, &CcdConfig::new(0.0)).unwrap();
            smallest = smallest.min(step.fraction);
            stopped += usize::from(step.fraction < 1.0);
            if round == 0 {
                crossed_without += usize::from(meet(&end));
            }
            // The full step leaves ever smaller gaps; a part of it crumples further.
            let fraction = step.fraction * if seed % 2 == 0 { 1.0 } else { 0.8 };
            for (p, q) in x.iter_mut().zip(&end) {
                *p += fraction * (*q - *p);
            }
            assert!(!meet(&x), "scene {seed}, round {round}");
        }
    }
    println!(
        "{scenes} scenes: {stopped} steps limited, smallest fraction {smallest:.1e}; \
         {crossed_without} would have crossed in the first round"
    );
    assert!(crossed_without * 2 > scenes as usize && stopped * 2 > scenes as usize);
}

/// Rods cross each other above a triangle, far from the origin.
#[test]
fn rods_meet_rods_and_triangles() {
    let far = Vec3::new(1e3, -2e3, 500.0);
    let x: Vec<Vec3> = [
        [-1.0, -1.0, 0.0],
        [1.0, -1.0, 0.0],
        [0.0, 1.0, 0.0],
        [-0.1, 0.0, 0.01],
        [0.1, 0.0, 0.01],
        [0.0, -0.1, 0.03],
        [0.0, 0.1, 0.03],
    ]
    .iter()
    .map(|p| far + Vec3::from(*p))
    .collect();
    let surface = CollisionSurface::new(&[[0, 1, 2]], &[[4, 3], [5, 6]]).unwrap();
    let swept = SweptSurface::build(surface.clone(), &x, &x, 0.025).unwrap();
    let pairs = Candidates::within(&swept, any);
    let near = proximity(&pairs, &surface, &x, 0.025, |_, _| Vec3::zeros()).unwrap();
    let found: Vec<_> = near.iter().map(|c| (c.kind, c.vertices)).collect();
    let expected = [
        (ProximityKind::VertexFace, [3, 0, 1, 2]),
        (ProximityKind::VertexFace, [4, 0, 1, 2]),
        (ProximityKind::EdgeEdge, [3, 4, 5, 6]),
    ];
    assert_eq!(found, expected);
    for (c, gap) in near.iter().zip([0.01, 0.01, 0.02]) {
        let side = if c.kind == ProximityKind::EdgeEdge {
            -1.0
        } else {
            1.0
        };
        assert!((c.gap - gap).abs() < 1e-12);
        assert!((c.normal - Vec3::new(0.0, 0.0, side)).norm() < 1e-9);
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let twice = CollisionSurface::new(&[[0, 1, 2], [3, 1, 3]], &[]);
    assert_eq!(
        twice.unwrap_err(),
        SurfaceError::Repeated {
            element: 1,
            vertex: 3
        }
    );
    let rod = CollisionSurface::new(&[[0, 1, 2]], &[[0, 5], [4, 4]]);
    assert_eq!(
        rod.unwrap_err(),
        SurfaceError::Repeated {
            element: 2,
            vertex: 4
        }
    );
    let (mut x, triangles) = sheets(1, 2, 0.1);
    let surface = CollisionSurface::new(&triangles, &[]).unwrap();
    let build = |x: &[Vec3], margin| {
        SweptSurface::build(surface.clone(), x, x, margin)
            .map(|_| ())
            .unwrap_err()
    };
    let expected = SurfaceError::NoPosition {
        vertex: 8,
        count: 8,
    };
    assert_eq!(build(&x[..8], 0.0), expected);
    assert_eq!(build(&x, -1.0), SurfaceError::BadDistance(-1.0));
    let swept = SweptSurface::build(surface.clone(), &x, &x, 1.0).unwrap();
    let pairs = Candidates::within(&swept, any);
    let step = earliest_step(&pairs, &surface, &x, &x[..8], &CcdConfig::new(0.0));
    assert_eq!(step.unwrap_err(), expected);
    let zero = |_: ProximityKind, _: &[u32; 4]| Vec3::zeros();
    let near = |x: &[Vec3], d| proximity(&pairs, &surface, x, d, zero).unwrap_err();
    assert_eq!(near(&x[..8], 1.0), expected);
    let foreign = Candidates {
        edge_edge: vec![[0, 99]],
        ..Candidates::default()
    };
    let step = earliest_step(&foreign, &surface, &x, &x, &CcdConfig::new(0.0));
    let (edge, count) = (99, surface.edges().len());
    assert_eq!(step.unwrap_err(), SurfaceError::NoEdge { edge, count });
    assert_eq!(near(&x, -1.0), SurfaceError::BadDistance(-1.0));
    x[4].y = f64::INFINITY;
    assert_eq!(build(&x, 0.0), SurfaceError::NotFinite { vertex: 4 });
}

#[test]
fn features_proven_apart_meet_nowhere_in_their_corners() {
    let mut random = SplitMix::new(11);
    let mut unit = move || 2.0 * random.uniform() - 1.0;
    let mut proven = 0;
    for round in 0..4000 {
        let start: [Vec3; 4] = std::array::from_fn(|_| Vec3::new(unit(), unit(), unit()));
        let motion = Vec3::new(unit(), unit(), unit()) * 3.0;
        let ends = start.map(|x| {
            let end = x + motion + Vec3::new(unit(), unit(), unit()) * 0.3;
            let half = Vec3::new(unit(), unit(), unit()).abs() * 0.1;
            [end - half, end + half]
        });
        let d_min = 0.05;
        let pair = match round % 2 {
            0 => Candidate::EdgeEdge([0, 1], [2, 3]),
            _ => Candidate::VertexFace(0, [1, 2, 3]),
        };
        if !ccd::stays_apart(&pair, &start, &ends, d_min) {
            continue;
        }
        proven += 1;
        for _ in 0..8 {
            let end = ends.map(|[low, high]| {
                // The corners are where it is hardest.
                let pick = Vec3::new(unit(), unit(), unit()).map(|x| f64::from(u8::from(x > 0.0)));
                low + (high - low).component_mul(&pick)
            });
            let config = CcdConfig::new(d_min);
            let answer = match pair {
                Candidate::EdgeEdge(..) => ccd::edge_edge(&start, &end, &config),
                Candidate::VertexFace(..) => ccd::vertex_face(&start, &end, &config),
            };
            assert!(answer.impact.is_none(), "{round}");
        }
    }
    assert!(proven > 1000, "{proven}");
}
