//! `[[volume]]`.

use stiction_bodies::volume::{ATMOSPHERE, Region, VolumeLaw};

use crate::{
    error::Reporter,
    format::{Fields, section, words},
    read::body::Names,
    source::{At, SourceSpan},
    tree::Node,
};

/// An enclosed volume as it was read.
pub(crate) struct VolumePlan {
    pub name: At<String>,
    pub body: usize,
    pub region: Region,
    pub law: VolumeLaw,
    pub inflation: f64,
    pub place: SourceSpan,
}

words! { REGION: Region = "enclosed" => Region::Enclosed, "cavity" => Region::Cavity, "solid" => Region::Solid }

section! { pub(crate) VOLUME "volume" [AtMostOne(&["compression", "compression_per_atm"]), AtMostOne(&["inflation", "inflation_atm"]), With("law", &["gas"], &[], &["compression", "compression_per_atm"]), With("law", &["quadratic", "nearly-incompressible"], &[], &["pressure"])];
    "name": Name, Required, "for probes and messages";
    "body": Text, Required, "a shell or solid with a closed surface";
    "region": Word(REGION.words), Chosen("enclosed"), "`\"enclosed\"`: all inside the outer surface; `\"cavity\"`: the hollow inside a solid; `\"solid\"`: the solid itself";
    "law": Word(&["quadratic", "gas", "nearly-incompressible"]), Required, "how the medium answers, see below";
    "compression": Number("1/Pa", Positive), Absent, "the compression coefficient κ = −(1/V) ∂V/∂P";
    "compression_per_atm": Number("1/atm", Positive), Absent, "instead: the same as in the paper, where air has 1 and water 4.6e-5";
    "pressure": Number("Pa", Positive), Said("101325"), "P₀ around the body; of a gas only";
    "inflation": Number("Pa", Any), Said("0"), "pressure p above that of the surroundings at the rest volume V₀";
    "inflation_atm": Number("atm", Any), Absent, "instead: the same in atmospheres";
}

pub(crate) fn volume(reporter: &Reporter, node: &Node, names: &Names) -> Option<VolumePlan> {
    let f = Fields::named(reporter, node, "volume", &VOLUME)?;
    let body = names.need(&f, "body");
    let kind: String = f.take("law")?;
    let pressure: Option<f64> = f.take("pressure")?;
    let compression = match f.take("compression")? {
        Some(c) => Some(c),
        None => f
            .take::<Option<f64>>("compression_per_atm")?
            .map(|c| c / ATMOSPHERE),
    };
    let law = match (kind.as_str(), compression) {
        ("gas", None) => VolumeLaw::Gas {
            ambient: pressure.unwrap_or(ATMOSPHERE),
        },
        ("gas", Some(_)) => {
            let given = ["compression", "compression_per_atm"]
                .into_iter()
                .find(|k| f.has(k));
            let key = given.unwrap_or("compression");
            let what = &f.what;
            let message = format!("{what}: the compression of a gas is that of P V = const");
            let help = format!("remove `{key}`, or choose another `law`");
            return f.refuse(key, message, &help);
        }
        _ if pressure.is_some() => {
            let message = format!("{}: only a gas uses the surrounding `pressure`", f.what);
            let help = "remove `pressure`, or set `law = \"gas\"`";
            return f.refuse("pressure", message, help);
        }
        (_, None) => {
            f.exactly_one(&["compression", "compression_per_atm"]);
            return None;
        }
        ("quadratic", Some(compression)) => VolumeLaw::Quadratic { compression },
        (_, Some(compression)) => VolumeLaw::NearlyIncompressible { compression },
    };
    let inflation = match f.take("inflation")? {
        Some(p) => p,
        None => f.take::<Option<f64>>("inflation_atm")?.unwrap_or(0.0) * ATMOSPHERE,
    };
    Some(VolumePlan {
        name: f.name()?,
        body: body?,
        region: f.choice("region", &REGION)?,
        law,
        inflation,
        place: node.place,
    })
}
