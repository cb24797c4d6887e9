//! Shapes and materials of rods.

use stiction_bodies::rod::{Natural, RodMaterial, Twist, shear_modulus};
use stiction_geometry::{
    Strands, TriMesh,
    shapes::{Groom, Move, Path, Scalp, ShapeError},
};

use crate::{
    error::{Kind, Reporter},
    fields::{Fields, list, number},
    read::{
        material::Material,
        shape::{Generate, Generator, Purpose, Reader, ShapeKind},
    },
    tree::Value,
};

impl Generate<Strands> for Path {
    fn count(&self) -> Result<u64, ShapeError> {
        self.node_count()
    }
    fn mesh(&self) -> Result<Strands, ShapeError> {
        self.build()
    }
}

impl Generate<Strands> for Groom {
    fn count(&self) -> Result<u64, ShapeError> {
        self.node_count()
    }
    fn mesh(&self) -> Result<Strands, ShapeError> {
        self.build()
    }
}

/// The shapes of rods.
pub(super) const KINDS: &[ShapeKind] = &[
    ShapeKind {
        name: "path",
        purposes: &[Purpose::Rods],
        keys: &["moves", "segments"],
        read: path,
    },
    ShapeKind {
        name: "groom",
        purposes: &[Purpose::Rods],
        keys: &[
            "on",
            "radius",
            "count",
            "length",
            "segments",
            "frizz",
            "curl_radius",
            "curl_pitch",
            "clumps",
            "clumping",
            "apart",
            "seed",
        ],
        read: groom,
    },
];

fn path(r: &Reader<'_, '_>) -> Option<Generator> {
    let (moves, segments) = (moves(r.f), r.f.need_count("segments", 1));
    let path = Path {
        moves: moves?,
        segments: segments?,
    };
    Some(Generator::Strands(Box::new(path)))
}

fn groom(r: &Reader<'_, '_>) -> Option<Generator> {
    let f = r.f;
    let scalps = [
        ("sphere", On::Sphere),
        ("half-sphere", On::HalfSphere),
        ("body", On::Body),
    ];
    let on = f.choice("on", &scalps).unwrap_or(On::Sphere);
    let radius = match on {
        On::Sphere | On::HalfSphere => f.need_positive("radius"),
        On::Body if f.has("radius") => {
            let message = format!("{}: hair on a body takes no `radius`", f.what);
            f.fail(Kind::Value, "radius", message, Some("remove it".to_owned()))
        }
        On::Body => Some(0.0),
    };
    let length = f.need_positive("length");
    let (count, segments) = (f.need_count("count", 1), f.need_count("segments", 1));
    let (radius, length) = (radius?, length?);
    let scalp = match on {
        On::Sphere => Scalp::Sphere { radius },
        On::HalfSphere => Scalp::HalfSphere { radius },
        // Known when the body is.
        On::Body => Scalp::Mesh(TriMesh {
            positions: Vec::new(),
            triangles: Vec::new(),
        }),
    };
    let mut groom = Groom::straight(scalp, count?, length, segments?);
    for (key, value) in [
        ("frizz", &mut groom.frizz),
        ("curl_radius", &mut groom.curl_radius),
        ("clumping", &mut groom.clumping),
        ("apart", &mut groom.apart),
    ] {
        if f.has(key) {
            *value = f.not_negative(key)?;
        }
    }
    if f.has("curl_pitch") {
        groom.curl_pitch = f.positive("curl_pitch")?;
    }
    if f.has("clumps") {
        groom.clumps = f.count("clumps", 0)?;
    }
    groom.seed = r.seed()?;
    Some(match on {
        On::Body => Generator::Grown(groom),
        On::Sphere | On::HalfSphere => Generator::Strands(Box::new(groom)),
    })
}

/// What a groom stands on.
#[derive(Clone, Copy, PartialEq)]
enum On {
    Sphere,
    HalfSphere,
    /// What the rods are rooted in.
    Body,
}

/// Runs `[length]` and arcs `[radius, angle]` or `[radius, angle, rise]`.
fn moves(f: &Fields<'_>) -> Option<Vec<Move>> {
    let what = format!("`moves` of {}", f.what);
    let items = list(f.reporter, f.need("moves")?, &what, None)?;
    let mut moves = Vec::with_capacity(items.len());
    for item in items {
        let numbers: Option<Vec<f64>> = list(f.reporter, item, &what, None)?
            .iter()
            .map(|n| number(f.reporter, n, &what))
            .collect();
        moves.push(match numbers?[..] {
            [length] => Move::Run { length },
            [radius, angle] => Move::Arc {
                radius,
                angle: angle.to_radians(),
                rise: 0.0,
            },
            [radius, angle, rise] => Move::Arc {
                radius,
                angle: angle.to_radians(),
                rise,
            },
            _ => {
                let message = format!("{what} holds a list that is no move");
                let help = "give [length], [radius, angle] or [radius, angle, rise]";
                return f
                    .reporter
                    .fail(Kind::Value, item.place, message, Some(help.to_owned()));
            }
        });
    }
    Some(moves)
}

impl Material {
    /// The material of rods.
    pub fn rod(&self, reporter: &Reporter, natural: Natural, twist: Twist) -> Option<RodMaterial> {
        let f = self.rod_fields(reporter)?;
        let density = f.need_number("density");
        let (radii, poisson) = (radii(&f), f.need_number("poisson"));
        // One modulus for both, or one for each.
        let modulus = |own: &str| match f.has(own) {
            true => f.number(own),
            false => f.need_number("young"),
        };
        let (young, stretch) = (modulus("young_bending"), modulus("young_stretch"));
        let (young, poisson) = (young?, poisson?);
        if poisson <= -1.0 || poisson > 0.5 {
            return f.out_of_range("poisson", poisson, "above −1 and at most 0.5");
        }
        let material = RodMaterial {
            density: density?,
            young,
            stretch: stretch?,
            shear: shear_modulus(young, poisson),
            radii: radii?,
            natural,
            twist,
            damping: self.damping(&f),
        };
        self.validated(&f, material.validate())?;
        Some(material)
    }
}

/// The radius, or both half axes of an ellipse.
fn radii(f: &Fields<'_>) -> Option<[f64; 2]> {
    match &f.need("radius")?.value {
        Value::Array(_) => f.numbers("radius"),
        _ => f.number("radius").map(|r| [r, r]),
    }
}
