//! Places of segments next to sharp features of analytic shapes.
#![allow(clippy::panic)]

use stiction_geometry::SplitMix;
use stiction_geometry::analytic::Shape;
use stiction_math::Vec3;

/// Every place where samples of the distance to a rim are least, along chords that are level, nearly level (then the
/// greatest distance between two crossings is off the middle of the chord) and steep, through the axis and touching the rim.
#[test]
fn a_segment_has_a_sharp_place_at_every_minimum_of_the_distance_to_a_rim() {
    const SAMPLES: usize = 2000;
    let mut random = SplitMix::new(21);
    let (radius, height) = (0.7, 0.9);
    let cone = Shape::Cone { radius, height };
    let mut pairs = 0;
    for case in 0..600 {
        let mut c = || 2.4 * random.uniform() - 1.2;
        let mut ends = [Vec3::new(c(), c(), c()), Vec3::new(c(), c(), c())];
        let tilt = c();
        match case % 6 {
            0 => ends[1].z = ends[0].z,
            1 => ends = ends.map(|p| Vec3::new(p.x, p.y, 0.01 * tilt)),
            2 => {
                let level = 0.1 * c();
                ends[0].z = level;
                ends[1].z = level + tilt * 10f64.powf(-9.0 * (0.5 + 0.4 * c()));
            }
            3 => (ends[1].x, ends[1].y) = (-ends[0].x, -ends[0].y),
            4 => (ends[0].y, ends[1].y) = (radius, radius),
            _ => {}
        }
        let at = |i: usize| i as f64 / SAMPLES as f64;
        let distance = |i: usize| {
            let x = ends[0] + (ends[1] - ends[0]) * at(i);
            ((x.x * x.x + x.y * x.y).sqrt() - radius).hypot(x.z)
        };
        let mut places = Vec::new();
        cone.sharp_places(&ends, &mut places);
        let rim: Vec<f64> = places.iter().filter(|p| p.part < 3).map(|p| p.at).collect();
        let mut minima = 0;
        for i in 2..SAMPLES - 1 {
            // By more than the rounding of a distance.
            let least = distance(i) + 1e-14;
            if least < distance(i - 1) && least < distance(i + 1) {
                minima += 1;
                let near = |place: &f64| (place - at(i)).abs() <= 1.0 / SAMPLES as f64;
                assert!(
                    rim.iter().any(near),
                    "{ends:?}: none of {rim:?} at {}",
                    at(i)
                );
            }
        }
        pairs += usize::from(minima == 2);
    }
    assert!(pairs > 100, "only {pairs} chords cross the rim twice");
}
