//! `[[volume]]`.

use stiction_bodies::volume::{ATMOSPHERE, Region, VolumeLaw};

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    read::{body::Names, settings::plain_name},
    schema,
    source::{At, Place},
    tree::Node,
};

/// An enclosed volume as it was read.
pub(crate) struct VolumePlan {
    pub name: At<String>,
    pub body: usize,
    pub region: Region,
    pub law: VolumeLaw,
    pub inflation: f64,
    pub place: Place,
}

#[derive(Clone, Copy)]
enum Kinds {
    Quadratic,
    Gas,
    NearlyIncompressible,
}

pub(crate) fn volume(reporter: &Reporter, node: &Node, names: &Names) -> Option<VolumePlan> {
    let f = Fields::new(reporter, node, "[[volume]]", schema::VOLUME)?;
    let name = f.need_string("name")?;
    let name = At::new(
        plain_name(reporter, name.clone(), "the `name` of a volume")?,
        name.place,
    );
    let f = Fields {
        what: format!("volume `{}`", name.value),
        ..f
    };
    let body = names.need(&f, "body");
    let regions = [
        ("enclosed", Region::Enclosed),
        ("cavity", Region::Cavity),
        ("solid", Region::Solid),
    ];
    let region = match f.has("region") {
        true => f.choice("region", &regions)?,
        false => Region::default(),
    };
    let kinds = [
        ("quadratic", Kinds::Quadratic),
        ("gas", Kinds::Gas),
        ("nearly-incompressible", Kinds::NearlyIncompressible),
    ];
    f.need("law")?;
    let kind = f.choice("law", &kinds)?;
    let law = match kind {
        Kinds::Gas => {
            for key in ["compression", "compression_per_atm"] {
                if f.has(key) {
                    let message = format!(
                        "{}: the compression of a gas is that of P V = const",
                        f.what
                    );
                    let help = format!("remove `{key}`, or choose another `law`");
                    return f.fail(Kind::Value, key, message, Some(help));
                }
            }
            VolumeLaw::Gas {
                ambient: match f.has("pressure") {
                    true => f.positive("pressure")?,
                    false => ATMOSPHERE,
                },
            }
        }
        Kinds::Quadratic | Kinds::NearlyIncompressible => {
            if f.has("pressure") {
                let message = format!("{}: only a gas needs to know the `pressure` around", f.what);
                let help = "remove `pressure`, or set `law = \"gas\"`";
                return f.fail(Kind::Value, "pressure", message, Some(help.to_owned()));
            }
            if !f.exactly_one(&["compression", "compression_per_atm"]) {
                return None;
            }
            let compression = match f.has("compression") {
                true => f.positive("compression")?,
                false => f.positive("compression_per_atm")? / ATMOSPHERE,
            };
            match kind {
                Kinds::Quadratic => VolumeLaw::Quadratic { compression },
                _ => VolumeLaw::NearlyIncompressible { compression },
            }
        }
    };
    let inflation = match (f.has("inflation"), f.has("inflation_atm")) {
        (true, true) => {
            f.exactly_one(&["inflation", "inflation_atm"]);
            return None;
        }
        (true, false) => f.number("inflation")?,
        (false, true) => f.number("inflation_atm")? * ATMOSPHERE,
        (false, false) => 0.0,
    };
    Some(VolumePlan {
        name,
        body: body?,
        region,
        law,
        inflation,
        place: node.place,
    })
}
