//! Continuous collision detection against exact arithmetic: no impact is missed and none is
//! reported late, over random and adversarial motions of all four kinds of feature pairs.
//!
//! `STICTION_LONG=1` runs ten times the exact queries and ten million sampled ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod collide_exact;

use collide_exact::decode;
use collide_exact::distance::{edge_edge_squared, point_edge_squared, point_triangle_squared};
use collide_exact::impact::{Kind, first_contact};
use num_bigint::BigInt;
use stiction_geometry::SplitMix;
use stiction_geometry::collide::ccd::{self, CcdAnswer, CcdConfig};
use stiction_geometry::collide::{edge_edge, point_edge, point_triangle};
use stiction_math::Vec3;

const KINDS: [Kind; 4] = [
    Kind::VertexFace,
    Kind::EdgeEdge,
    Kind::VertexEdge,
    Kind::VertexVertex,
];

fn long() -> bool {
    std::env::var("STICTION_LONG").is_ok_and(|v| v == "1")
}

struct Query {
    kind: Kind,
    start: [Vec3; 4],
    end: [Vec3; 4],
}

impl Query {
    fn count(&self) -> usize {
        match self.kind {
            Kind::VertexFace | Kind::EdgeEdge => 4,
            Kind::VertexEdge => 3,
            Kind::VertexVertex => 2,
        }
    }

    fn run(&self, config: &CcdConfig) -> CcdAnswer {
        let (s, e) = (&self.start, &self.end);
        match self.kind {
            Kind::VertexFace => ccd::vertex_face(s, e, config),
            Kind::EdgeEdge => ccd::edge_edge(s, e, config),
            Kind::VertexEdge => ccd::vertex_edge(&[s[0], s[1], s[2]], &[e[0], e[1], e[2]], config),
            Kind::VertexVertex => ccd::vertex_vertex(&[s[0], s[1]], &[e[0], e[1]], config),
        }
    }

    fn at(&self, t: f64) -> [Vec3; 4] {
        std::array::from_fn(|k| self.start[k] + t * (self.end[k] - self.start[k]))
    }

    fn distance(&self, t: f64) -> f64 {
        let x = self.at(t);
        let squared = match self.kind {
            Kind::VertexFace => point_triangle(&x[0], &[x[1], x[2], x[3]]).squared,
            Kind::EdgeEdge => edge_edge(&[x[0], x[1]], &[x[2], x[3]]).squared,
            Kind::VertexEdge => point_edge(&x[0], &[x[1], x[2]]).squared,
            Kind::VertexVertex => (x[0] - x[1]).norm_squared(),
        };
        squared.sqrt()
    }
}

fn size(q: &Query) -> f64 {
    let all = q.start.iter().chain(&q.end);
    all.fold(0.0, |m: f64, x| m.max(x.amax()))
}

/// Families of motions; each stresses another weakness of collision detection.
const FAMILIES: u64 = 9;

fn query(random: &mut SplitMix, number: u64) -> Query {
    let kind = KINDS[(random.next_u64() % 8).saturating_sub(4) as usize];
    let unit = |r: &mut SplitMix| 2.0 * r.uniform() - 1.0;
    let point = |r: &mut SplitMix| Vec3::new(unit(r), unit(r), unit(r));
    let lattice = |r: &mut SplitMix, n: u64| {
        let mut c = || (r.next_u64() % (2 * n + 1)) as f64 - n as f64;
        Vec3::new(c(), c(), c())
    };
    let mut start = [0; 4].map(|_| point(random));
    let mut end = [0; 4].map(|_| point(random));
    match number % FAMILIES {
        0 => {}
        // Lattices: coplanar, collinear, coincident and degenerate in every way.
        1 => {
            start = start.map(|_| lattice(random, 2));
            end = end.map(|_| lattice(random, 2));
        }
        2 => {
            start = start.map(|_| lattice(random, 9));
            end = end.map(|_| lattice(random, 9));
        }
        // Everything moves within one plane.
        3 => {
            start = start.map(|_| lattice(random, 4));
            end = end.map(|_| lattice(random, 4));
            for x in start.iter_mut().chain(&mut end) {
                x.z = 0.0;
            }
        }
        // Contact at a known inner point and time, give or take rounding.
        4 => {
            let (s, t, time) = (random.uniform(), random.uniform(), random.uniform());
            let on = |x: &[Vec3; 4]| match kind {
                Kind::EdgeEdge => x[0] + (x[2] + s * (x[3] - x[2])) - (x[0] + t * (x[1] - x[0])),
                Kind::VertexFace => x[1] + 0.5 * s * (x[2] - x[1]) + 0.5 * t * (x[3] - x[1]),
                Kind::VertexEdge => x[1] + s * (x[2] - x[1]),
                Kind::VertexVertex => x[1],
            };
            let now: [Vec3; 4] = std::array::from_fn(|k| start[k] + time * (end[k] - start[k]));
            let miss = on(&now) - now[0];
            start[0] += miss;
            end[0] += miss;
            if kind == Kind::EdgeEdge {
                start[1] += miss;
                end[1] += miss;
            }
        }
        // Grazing: barely moves, starts at a tiny distance.
        5 => {
            let size = 10f64.powi(-((random.next_u64() % 12) as i32));
            end = std::array::from_fn(|k| start[k] + size * end[k]);
            let (s, t) = (random.uniform(), random.uniform());
            let at = match kind {
                Kind::EdgeEdge => start[2] + s * (start[3] - start[2]),
                _ => start[1] + 0.5 * s * (start[2] - start[1]) + 0.5 * t * (start[3] - start[1]),
            };
            let shift = at - start[0] + size * point(random);
            start[0] += shift;
            end[0] += shift;
        }
        // Fast passage: the whole first feature flies through.
        6 => {
            let jump = 1e3 * point(random);
            let (s, w) = (random.uniform(), 0.3 * point(random));
            start[0] = w - s * jump;
            end[0] = w + (1.0 - s) * jump;
            start[1] = if kind == Kind::EdgeEdge {
                start[1] - s * jump
            } else {
                start[1]
            };
            end[1] = if kind == Kind::EdgeEdge {
                end[1] + (1.0 - s) * jump
            } else {
                end[1]
            };
        }
        // Needles and nearly parallel edges.
        7 => {
            let thin = 10f64.powi(-((random.next_u64() % 16) as i32));
            start[3] = start[2] + random.uniform() * (start[1] - start[2]) + thin * start[3];
            end[3] = end[2] + random.uniform() * (end[1] - end[2]) + thin * end[3];
        }
        // No motion at all, or a common translation.
        _ => {
            let jump = (random.next_u64() % 2) as f64 * lattice(random, 3);
            start = start.map(|_| lattice(random, 3));
            end = start.map(|x| x + jump);
        }
    }
    let scale = [1.0, 1.0, 1e-6, 1e6][(random.next_u64() % 4) as usize];
    let shift = [0.0, 0.0, 10.0][(random.next_u64() % 3) as usize] * point(random);
    let place = |x: &Vec3| scale * (x + shift);
    Query {
        kind,
        start: start.map(|x| place(&x)),
        end: end.map(|x| place(&x)),
    }
}

#[test]
fn no_impact_is_missed_or_late_in_exact_arithmetic() {
    let count = if long() { 120_000 } else { 12_000 };
    let mut random = SplitMix::new(1);
    let config = CcdConfig::new(0.0);
    let (mut hits, mut early, mut most_early, mut false_alarms) = (0, 0.0, 0.0f64, 0);
    let (mut work, mut most_work) = (0u64, 0);
    for number in 0..count {
        let q = query(&mut random, number);
        let n = q.count();
        let answer = q.run(&config);
        work += answer.work as u64;
        most_work = most_work.max(answer.work);
        assert!(answer.work <= config.rounds);
        let truth = first_contact(q.kind, &q.start[..n], &q.end[..n]);
        match (truth, answer.impact) {
            (None, None) => {}
            // Most are contacts by construction that rounding has moved apart.
            (None, Some(_)) => {
                let first = q.distance(0.0);
                let sampled = (0..=256).map(|k| q.distance(k as f64 / 256.0));
                let nearest = sampled.fold(first, f64::min);
                false_alarms += u64::from(nearest > 0.05 * first && first > 1e-9 * size(&q));
            }
            (Some(_), None) => panic!("query {number} missed: {:?} {:?}", q.start, q.end),
            (Some(mut truth), Some(found)) => {
                let (m, e) = decode(found.time);
                let late = truth.is_before(m, e);
                assert!(
                    !late,
                    "query {number} late: {} after {}",
                    found.time,
                    truth.value()
                );
                hits += 1;
                early += truth.value() - found.time;
                most_early = most_early.max(truth.value() - found.time);
            }
        }
    }
    assert!(hits > count / 10 && hits < 9 * count / 10);
    println!(
        "{count} queries, {hits} impacts, 0 missed; reported early by {:.2e} on average, {:.2e} at \
         most; {false_alarms} alarms without a near miss; rounds {:.2} on average, {most_work} at most",
        early / hits as f64,
        most_early,
        work as f64 / count as f64
    );
    // Conservative must not mean useless.
    assert!(early / (hits as f64) < 0.02 && false_alarms < count / 500);
}

/// With a minimum separation: at every multiple of 1/64 before the answered time, and at that
/// time itself, the exact distance is at least the separation.
#[test]
fn the_minimum_separation_is_kept_in_exact_arithmetic() {
    let count = if long() { 30_000 } else { 2_000 };
    let mut random = SplitMix::new(2);
    let mut checked = 0u64;
    for number in 0..count {
        let q = query(&mut random, number);
        let size = q
            .start
            .iter()
            .chain(&q.end)
            .fold(0.0, |m: f64, x| m.max(x.amax()));
        let d_min = size * 10f64.powf(-8.0 * random.uniform());
        let answer = q.run(&CcdConfig::new(d_min));
        let until = match answer.impact {
            Some(i) if i.time == 0.0 => continue,
            Some(i) => i.time,
            None => 1.0,
        };
        let mut times: Vec<f64> = (0..=64).map(|k| k as f64 / 64.0).collect();
        times.retain(|t| *t < until);
        times.push(until);
        for t in times {
            assert!(exactly_apart(&q, t, d_min), "query {number} at {t}");
            checked += 1;
        }
    }
    assert!(checked > 20_000);
}

/// Whether the exact distance at time `t` is at least `d`.
fn exactly_apart(q: &Query, t: f64, d: f64) -> bool {
    // Positions with denominators cleared: x = ((2ᵉ − m) x₀ + m x₁)/2ᵉ with t = m/2ᵉ.
    let n = q.count();
    let mut both: Vec<Vec3> = q.start[..n].iter().chain(&q.end[..n]).copied().collect();
    both.push(Vec3::new(d, 0.0, 0.0));
    let (x, _) = collide_exact::integers(&both);
    let (m, e) = decode(t);
    let (m, one) = (BigInt::from(m), BigInt::from(1) << (-e).max(0) as usize);
    let m = if e > 0 { m << e as usize } else { m };
    let rest = &one - &m;
    let now: Vec<[BigInt; 3]> = (0..n)
        .map(|i| std::array::from_fn(|k| &rest * &x[i][k] + &m * &x[n + i][k]))
        .collect();
    let squared = match q.kind {
        Kind::VertexFace => point_triangle_squared(&now),
        Kind::EdgeEdge => edge_edge_squared(&now),
        Kind::VertexEdge => point_edge_squared(&now[0], &now[1], &now[2]),
        Kind::VertexVertex => point_edge_squared(&now[0], &now[1], &now[1]),
    };
    let limit = &x[2 * n][0] * &one;
    squared.0 >= &limit * &limit * squared.1
}

/// Dense sampling in floating point, for numbers of queries out of reach of exact arithmetic.
#[test]
fn sampled_distances_never_fall_below_the_minimum_separation() {
    let count = if long() { 10_000_000 } else { 20_000 };
    let mut random = SplitMix::new(3);
    let (mut work, mut most, mut early, mut impacts) = (0u64, 0, 0, 0);
    for number in 0..count {
        let q = query(&mut random, number);
        let size = q
            .start
            .iter()
            .chain(&q.end)
            .fold(0.0, |m: f64, x| m.max(x.amax()));
        let d_min = match number % 2 {
            0 => 0.0,
            _ => size * 10f64.powf(-6.0 * random.uniform()),
        };
        let answer = q.run(&CcdConfig::new(d_min));
        work += answer.work as u64;
        most = most.max(answer.work);
        let until = match answer.impact {
            Some(i) if i.time == 0.0 => continue,
            Some(i) => i.time,
            None => 1.0,
        };
        impacts += u64::from(answer.impact.is_some());
        early += u64::from(answer.work == CcdConfig::new(0.0).rounds);
        for k in 0..=16 {
            let t = until * k as f64 / 16.0;
            let d = q.distance(t);
            assert!(
                d >= d_min - 1e-14 * size && d > 0.0,
                "query {number} at {t}: {d:e}"
            );
        }
    }
    println!(
        "{count} sampled queries, {impacts} impacts; rounds {:.2} on average, {most} at most; \
         {early} used all rounds",
        work as f64 / count as f64
    );
}

#[test]
fn special_cases_have_exact_answers() {
    let v = Vec3::new;
    let face = [v(0.0, 0.0, 0.0), v(1.0, 0.0, 0.0), v(0.0, 1.0, 0.0)];
    let with = |p: Vec3| [p, face[0], face[1], face[2]];
    let drop = |to: f64| (with(v(0.2, 0.2, 1.0)), with(v(0.2, 0.2, to)));
    let time = |(s, e): ([Vec3; 4], [Vec3; 4]), d: f64| {
        ccd::vertex_face(&s, &e, &CcdConfig::new(d))
            .impact
            .map(|i| i.time)
    };
    // A point that falls at unit speed meets the separation 0.25 at time 0.75.
    let t = time(drop(0.0), 0.25).unwrap();
    assert!(t <= 0.75 && t > 0.75 - 1e-12);
    // It stops short of the separation by a millionth.
    assert_eq!(time(drop(0.25 + 1e-6), 0.25), None);
    // No motion: apart is apart, closer than the separation is an impact at once.
    assert_eq!(time(drop(1.0), 0.999), None);
    assert_eq!(time(drop(1.0), 1.001), Some(0.0));
    // Starting in contact is an impact at time 0, even when moving apart.
    assert_eq!(
        time((with(v(0.2, 0.2, 0.0)), with(v(0.2, 0.2, 1.0))), 0.0),
        Some(0.0)
    );
    // What is not finite admits no proof.
    assert_eq!(time(drop(f64::NAN), 0.0), Some(0.0));
    assert_eq!(time(drop(f64::INFINITY), 0.0), Some(0.0));
    assert_eq!(time(drop(1.0), f64::NAN), Some(0.0));
}
