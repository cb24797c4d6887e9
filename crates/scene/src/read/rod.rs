//! Shapes of rods.

use stiction_geometry::{
    TriMesh,
    shapes::{Groom, Move, Path, Scalp},
};

use crate::{
    format::{Fields, words},
    read::shape::{Generator, Purpose, Shape, generators, shape_kinds},
};

generators! { Strands: Path, Groom; }

const RODS: &[Purpose] = &[Purpose::Rods];

/// Surface that hair grows on.
#[derive(Clone, Copy)]
pub(crate) enum Ground {
    Sphere,
    HalfSphere,
    Body,
}
words! { Ground: "sphere" => Sphere, "half-sphere" => HalfSphere, "body" => Body }

shape_kinds! {
    [new "path" RODS PathKeys "one rod from the origin, along x at first: `moves` is a list of runs `[length]` and of arcs `[radius, angle]` or `[radius, angle, rise]` in the xy plane, to the left for positive angles [°], rising along z"] => {
        moves: Vec<Vec<f64>> = List(&List(&Number("", Any))), Required, "";
        segments: u32 = Count(1), Required, "";
    }
    [new "groom" RODS GroomKeys "hair: `count` strands of the given `length` on a ball of the given `radius`, on its upper half (`\"half-sphere\"`, z > 0) or, without `radius`, all over the surface of the body that the rods are `rooted` in (`\"body\"`); `frizz` (0 to 1) adds waves, `curl_radius` and `curl_pitch` curls, `clumping` (0 to 1) gathers tips into so many `clumps`; `apart` is the least distance between centrelines: strands that come closer get other waves"] => {
        on: Ground = Word(Ground::WORDS), Chosen("sphere"), "";
        radius: Option<f64> = Number("m", Positive), Said("required but on a body"), "";
        count: u32 = Count(1), Required, "";
        length: f64 = Number("m", Positive), Required, "";
        segments: u32 = Count(1), Required, "";
        frizz: Option<f64> = Number("1", NotNegative), Absent, "";
        curl_radius: Option<f64> = Number("m", NotNegative), Absent, "";
        curl_pitch: Option<f64> = Number("m", Positive), Absent, "";
        clumps: Option<u32> = Count(0), Absent, "";
        clumping: Option<f64> = Number("1", NotNegative), Absent, "";
        apart: Option<f64> = Number("m", NotNegative), Absent, "";
        seed: u64 = Count(0), Int(0), "";
    }
}

impl Shape for PathKeys {
    fn generator(self, f: &Fields<'_>) -> Option<Generator> {
        let mut moves = Vec::new();
        for numbers in self.moves {
            moves.push(match numbers[..] {
                [length] => Move::Run { length },
                [radius, angle] | [radius, angle, _] => Move::Arc {
                    radius,
                    angle: angle.to_radians(),
                    rise: numbers.get(2).copied().unwrap_or(0.0),
                },
                _ => {
                    let message = format!("{} holds a list that is no move", f.label("moves"));
                    let help = "give [length], [radius, angle] or [radius, angle, rise]";
                    return f.refuse("moves", message, help);
                }
            });
        }
        let segments = self.segments;
        Some(Generator::mesh(Path { moves, segments }))
    }
}

impl Shape for GroomKeys {
    fn generator(self, f: &Fields<'_>) -> Option<Generator> {
        let radius = || f.need("radius", self.radius);
        let scalp = match self.on {
            Ground::Body if self.radius.is_some() => {
                let message = format!("{}: hair on a body takes no `radius`", f.what);
                return f.refuse("radius", message, "remove it");
            }
            // Known when the body is.
            Ground::Body => Scalp::Mesh(TriMesh {
                positions: Vec::new(),
                triangles: Vec::new(),
            }),
            Ground::HalfSphere => Scalp::HalfSphere { radius: radius()? },
            Ground::Sphere => Scalp::Sphere { radius: radius()? },
        };
        let plain = Groom::straight(scalp, self.count, self.length, self.segments);
        let groom = Groom {
            frizz: self.frizz.unwrap_or(plain.frizz),
            curl_radius: self.curl_radius.unwrap_or(plain.curl_radius),
            curl_pitch: self.curl_pitch.unwrap_or(plain.curl_pitch),
            clumping: self.clumping.unwrap_or(plain.clumping),
            clumps: self.clumps.unwrap_or(plain.clumps),
            apart: self.apart.unwrap_or(plain.apart),
            seed: self.seed,
            ..plain
        };
        Some(match self.on {
            Ground::Body => Generator::Grown(groom),
            _ => Generator::mesh(groom),
        })
    }
}
