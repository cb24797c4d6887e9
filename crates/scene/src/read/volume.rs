//! `[[volume]]`.

use stiction_bodies::volume::{ATMOSPHERE, Region, VolumeLaw};

use crate::{
    format::{At, Fields, section, words},
    read::names::OfBody,
};

/// An enclosed volume.
pub(crate) struct VolumePlan {
    pub name: At<String>,
    pub body: usize,
    pub region: Region,
    pub law: VolumeLaw,
    pub inflation: f64,
}

words! { Region: "enclosed" => Enclosed, "cavity" => Cavity, "solid" => Solid }

/// Law of the medium, without its constants.
#[derive(Clone, Copy)]
pub(crate) enum Medium {
    Quadratic,
    Gas,
    NearlyIncompressible,
}
words! { Medium: "quadratic" => Quadratic, "gas" => Gas, "nearly-incompressible" => NearlyIncompressible }

section! { struct VolumeKeys "volume" [AtMostOne(&["compression", "compression_per_atm"]), AtMostOne(&["inflation", "inflation_atm"]),
    Excludes("law", &["gas"], &["compression", "compression_per_atm"], "the compression of a gas is that of P V = const"),
    Excludes("law", &["quadratic", "nearly-incompressible"], &["pressure"], "only a gas uses the surrounding pressure"),
] => VolumePlan, volume {
    name: At<String> = Name, Required, "for probes and messages";
    body: OfBody = Text, Required, "a shell or solid with a closed surface";
    region: Region = Word(Region::WORDS), Chosen("enclosed"), "`\"enclosed\"`: all inside the outer surface; `\"cavity\"`: the hollow inside a solid; `\"solid\"`: the solid itself";
    law: Medium = Word(Medium::WORDS), Required, "how the medium answers, see below";
    compression: Option<f64> = Number("1/Pa", Positive), Absent, "the compression coefficient κ = −(1/V) ∂V/∂P";
    compression_per_atm: Option<f64> = Number("1/atm", Positive), Absent, "instead: the same as in the paper, where air has 1 and water 4.6e-5";
    pressure: Option<f64> = Number("Pa", Positive), Said("101325"), "P₀ around the body; of a gas only";
    inflation: Option<f64> = Number("Pa", Any), Said("0"), "pressure p above that of the surroundings at the rest volume V₀";
    inflation_atm: Option<f64> = Number("atm", Any), Absent, "instead: the same in atmospheres";
} }

fn volume(f: &Fields<'_>, k: VolumeKeys) -> Option<VolumePlan> {
    let compression = k
        .compression
        .or(k.compression_per_atm.map(|c| c / ATMOSPHERE));
    let law = match (k.law, compression) {
        (Medium::Gas, _) => VolumeLaw::Gas {
            ambient: k.pressure.unwrap_or(ATMOSPHERE),
        },
        (_, None) => return f.missing("compression"),
        (Medium::Quadratic, Some(compression)) => VolumeLaw::Quadratic { compression },
        (_, Some(compression)) => VolumeLaw::NearlyIncompressible { compression },
    };
    let inflation = k.inflation.or(k.inflation_atm.map(|p| p * ATMOSPHERE));
    Some(VolumePlan {
        name: k.name,
        body: k.body.0,
        region: k.region,
        law,
        inflation: inflation.unwrap_or(0.0),
    })
}
