//! Dots and arrows drawn over the picture.

use super::scene::Scene;
use super::{Colour, Image, Picture};

/// Radius of a dot and half the width of an arrow's shaft, for a picture 480 pixels high [pixels].
const DOT: f64 = 3.2;
const SHAFT: f64 = 1.0;
/// Opacity of a hidden contact.
const HIDDEN: f32 = 0.35;

/// Draws the picture's points, far ones first. `depth` gives the distance of the closest surface in
/// a pixel.
pub(super) fn draw(
    image: &mut Image,
    picture: &Picture,
    scene: &Scene,
    depth: impl Fn(usize, usize) -> f32,
) {
    let [width, height] = picture.size;
    let unit = (f64::from(height) / 480.0).max(0.6);
    let mut order: Vec<(f64, usize, [f64; 2])> = picture
        .points
        .iter()
        .enumerate()
        .filter_map(|(at, point)| {
            let ([x, y], distance) = scene.view.project(scene.scaled(point.position))?;
            let inside = x >= 0.0 && y >= 0.0 && x < f64::from(width) && y < f64::from(height);
            inside.then_some((distance, at, [x, y]))
        })
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (distance, at, from) in order {
        let point = &picture.points[at];
        let surface = f64::from(depth(from[0] as usize, from[1] as usize));
        let alpha = if distance > surface + 0.02 {
            HIDDEN
        } else {
            1.0
        };
        let tip = point.arrow.and_then(|arrow| {
            scene
                .view
                .project(scene.scaled(point.position + arrow))
                .map(|(tip, _)| tip)
        });
        if let Some(to) = tip {
            let long = (to[0] - from[0]).hypot(to[1] - from[1]);
            let head = (6.0 * unit).min(0.5 * long);
            if long > 1.0 && long < 4.0 * f64::from(width.max(height)) {
                let part = 1.0 - head / long;
                let neck = [0, 1].map(|k| from[k] + part * (to[k] - from[k]));
                let shaft = |p: [f64; 2]| segment(p, from, neck) - SHAFT * unit;
                let cone = |p: [f64; 2]| cone(p, neck, to, 0.45 * head);
                paint(image, [from, to], 3.0 * unit, point.colour, alpha, |p| {
                    shaft(p).min(cone(p))
                });
            }
        }
        let dot = |p: [f64; 2]| (p[0] - from[0]).hypot(p[1] - from[1]) - DOT * unit;
        let outline = Colour([250, 250, 250]);
        paint(image, [from; 2], 5.0 * unit, outline, alpha, |p| {
            dot(p) - 0.9 * unit
        });
        paint(image, [from; 2], 4.0 * unit, point.colour, alpha, dot);
    }
}

/// Fills pixels with negative `distance` [pixels], with an edge one pixel wide.
fn paint(
    image: &mut Image,
    between: [[f64; 2]; 2],
    margin: f64,
    colour: Colour,
    alpha: f32,
    distance: impl Fn([f64; 2]) -> f64,
) {
    let range = |k: usize, end: u32| {
        let lo = between[0][k].min(between[1][k]) - margin - 1.0;
        let hi = between[0][k].max(between[1][k]) + margin + 1.0;
        (lo.max(0.0) as i64)..(hi.min(f64::from(end)).max(0.0) as i64)
    };
    for y in range(1, image.height()) {
        for x in range(0, image.width()) {
            let inside = 0.5 - distance([x as f64 + 0.5, y as f64 + 0.5]);
            if inside > 0.0 {
                image.blend(x, y, colour, alpha * inside.min(1.0) as f32);
            }
        }
    }
}

fn segment(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let along = (p[0] - a[0]) * dx + (p[1] - a[1]) * dy;
    let t = (along / (dx * dx + dy * dy).max(1e-12)).clamp(0.0, 1.0);
    (p[0] - a[0] - t * dx).hypot(p[1] - a[1] - t * dy)
}

/// Signed distance, near the outline, to the triangle with its tip at `tip` and a base of the given
/// half width around `base`.
fn cone(p: [f64; 2], base: [f64; 2], tip: [f64; 2], half: f64) -> f64 {
    let (dx, dy) = (tip[0] - base[0], tip[1] - base[1]);
    let long = dx.hypot(dy).max(1e-9);
    let along = ((p[0] - base[0]) * dx + (p[1] - base[1]) * dy) / long;
    let across = ((p[1] - base[1]) * dx - (p[0] - base[0]) * dy).abs() / long;
    let slope = half.hypot(long);
    let side = (across * long + (along - long) * half) / slope;
    side.max(-along)
}
