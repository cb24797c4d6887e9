//! Shapes of rods.

use stiction_geometry::{
    Strands, TriMesh,
    shapes::{Groom, Move, Path, Scalp, ShapeError},
};

use crate::{
    format::{Fields, keys},
    read::shape::{Generate, Generator, Purpose, ShapeKind},
};

macro_rules! generators {
    ($mesh:ty: $($shape:ty),*) => {$(
        impl Generate<$mesh> for $shape {
            fn count(&self) -> Result<u64, ShapeError> {
                self.node_count()
            }
            fn mesh(&self) -> Result<$mesh, ShapeError> {
                self.build()
            }
        }
    )*};
}
generators!(Strands: Path, Groom);

/// The shapes of rods.
pub(super) const KINDS: &[ShapeKind] = &[
    ShapeKind {
        name: "path",
        purposes: &[Purpose::Rods],
        doc: "one rod from the origin, along x at first: `moves` is a list of runs `[length]` and of arcs `[radius, angle]` or `[radius, angle, rise]` in the xy plane, to the left for positive angles [°], rising along z",
        keys: keys! {
            "moves": List(&List(&Number("", Any))), Required, "";
            "segments": Count(1), Required, "";
        },
        read: path,
    },
    ShapeKind {
        name: "groom",
        purposes: &[Purpose::Rods],
        doc: "hair: `count` strands of the given `length` on a ball of the given `radius`, on its upper half (`\"half-sphere\"`, z > 0) or, without `radius`, all over the surface of the body that the rods are `rooted` in (`\"body\"`); `frizz` (0 to 1) adds waves, `curl_radius` and `curl_pitch` curls, `clumping` (0 to 1) gathers tips into so many `clumps`; `apart` is the least distance between centrelines: strands that come closer get other waves",
        keys: keys! {
            "on": Word(&["sphere", "half-sphere", "body"]), Chosen("sphere"), "";
            "radius": Number("m", Positive), Said("required but on a body"), "";
            "count": Count(1), Required, "";
            "length": Number("m", Positive), Required, "";
            "segments": Count(1), Required, "";
            "frizz": Number("1", NotNegative), Absent, "";
            "curl_radius": Number("m", NotNegative), Absent, "";
            "curl_pitch": Number("m", Positive), Absent, "";
            "clumps": Count(0), Absent, "";
            "clumping": Number("1", NotNegative), Absent, "";
            "apart": Number("m", NotNegative), Absent, "";
            "seed": Count(0), Int(0), "";
        },
        read: groom,
    },
];

fn path(f: &Fields<'_>) -> Option<Generator> {
    let mut moves = Vec::new();
    for numbers in f.take::<Vec<Vec<f64>>>("moves")? {
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
    let segments = f.take("segments")?;
    Some(Generator::Strands(Box::new(Path { moves, segments })))
}

fn groom(f: &Fields<'_>) -> Option<Generator> {
    let on: String = f.take("on")?;
    let scalp = match on.as_str() {
        "body" if f.has("radius") => {
            let message = format!("{}: hair on a body takes no `radius`", f.what);
            return f.refuse("radius", message, "remove it");
        }
        // Known when the body is.
        "body" => Scalp::Mesh(TriMesh {
            positions: Vec::new(),
            triangles: Vec::new(),
        }),
        "half-sphere" => Scalp::HalfSphere {
            radius: f.need("radius")?,
        },
        _ => Scalp::Sphere {
            radius: f.need("radius")?,
        },
    };
    let count = f.take("count")?;
    let mut groom = Groom::straight(scalp, count, f.take("length")?, f.take("segments")?);
    for (key, value) in [
        ("frizz", &mut groom.frizz),
        ("curl_radius", &mut groom.curl_radius),
        ("curl_pitch", &mut groom.curl_pitch),
        ("clumping", &mut groom.clumping),
        ("apart", &mut groom.apart),
    ] {
        *value = f.take::<Option<f64>>(key)?.unwrap_or(*value);
    }
    groom.clumps = f.take::<Option<u32>>("clumps")?.unwrap_or(groom.clumps);
    groom.seed = f.take("seed")?;
    Some(match on.as_str() {
        "body" => Generator::Grown(groom),
        _ => Generator::Strands(Box::new(groom)),
    })
}
