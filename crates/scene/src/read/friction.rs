//! `[friction]`.

use crate::{
    error::ProblemKind,
    format::{Fields, Read, TableKeys, section, words},
    friction::{Coefficients, Combine, FrictionTable, ordered},
    read::Context,
    source::At,
    tree::TreeNode,
};

section! { struct CoefficientKeys "coefficients" {
    at_rest as "static": f64 = Number("1", NotNegative), Required, "μ at rest";
    kinetic: Option<f64> = Number("1", NotNegative), Said("`static`"), "μ in sliding; not above `static`";
    cohesion: f64 = Number("Pa", NotNegative), Num(0.0), "the pull of closed contacts; it falls off linearly with the gap, to nothing at half the contact thickness [daviet2020, Sect. 7.4]; the area it stands for is shared by vertices: triangles, or the width of rods";
    compliance: f64 = Number("m/Pa", NotNegative), Num(0.0), "displacement of a contact under pressure";
} }

section! { struct PairKeys "friction.pair" => Pair, pair {
    materials: Vec<At<String>> = List(&Text), Required, "the names of the two materials";
    at_rest as "static": () = Number("1", NotNegative), Required, "as above";
    kinetic: () = Number("1", NotNegative), Said("`static`"), "as above";
    cohesion: () = Number("Pa", NotNegative), Num(0.0), "as above";
    compliance: () = Number("m/Pa", NotNegative), Num(0.0), "as above";
} }

words! { Combine: "geometric-mean" => GeometricMean, "min" => Min, "max" => Max, "average" => Average, "multiply" => Multiply }

section! { struct FrictionKeys "friction" => Friction, friction {
    default: Option<Coefficients> = Either(&[Number("1", NotNegative), Table(CoefficientKeys::SECTION)]), Said("0.5"), "coefficients of materials without their own";
    combine: Combine = Word(Combine::WORDS), Chosen("geometric-mean"), "how two materials make a pair: `\"geometric-mean\"`, `\"min\"`, `\"max\"`, `\"average\"`, `\"multiply\"`";
    pair: Vec<Pair> = Tables(PairKeys::SECTION), Absent, "pairs with coefficients of their own";
} }

/// Two materials and their coefficients.
pub(crate) struct Pair([At<String>; 2], Coefficients);

/// The table, and the names in its pairs for a later check against the materials in use.
#[derive(Default)]
pub(crate) struct Friction {
    pub table: FrictionTable,
    pub named: Vec<At<String>>,
}

fn friction(f: &Fields<'_>, k: FrictionKeys) -> Option<Friction> {
    let mut friction = Friction::default();
    let table = &mut friction.table;
    table.default = k.default.unwrap_or(table.default);
    table.combine = k.combine;
    for Pair([a, b], coefficients) in k.pair {
        let names = ordered(&a.value, &b.value);
        if table.pairs.insert(names, coefficients).is_some() {
            let message = format!(
                "friction between `{}` and `{}` is given twice",
                a.value, b.value
            );
            a.fail::<()>(
                f.reporter(),
                ProblemKind::Duplicate,
                message,
                "keep one of the two",
            );
        }
        friction.named.extend([a, b]);
    }
    Some(friction)
}

fn pair(f: &Fields<'_>, k: PairKeys) -> Option<Pair> {
    let n = k.materials.len();
    let Ok(names) = <[_; 2]>::try_from(k.materials) else {
        let what = f.label("materials");
        let message = format!("{what} must be two names, but there are {n}");
        return f.refuse("materials", message, None);
    };
    Some(Pair(names, coefficients(f, CoefficientKeys::keys(f)?)?))
}

/// A number, or a table of coefficients.
impl Read<Context> for Coefficients {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        if let Some(mu) = node.number() {
            return Some(Self::uniform(mu));
        }
        let f = f.inside(key, node, CoefficientKeys::SECTION)?;
        coefficients(&f, CoefficientKeys::keys(&f)?)
    }
}

fn coefficients(f: &Fields<'_>, k: CoefficientKeys) -> Option<Coefficients> {
    let (static_, kinetic) = (k.at_rest, k.kinetic.unwrap_or(k.at_rest));
    if kinetic > static_ {
        let what = f.label("kinetic");
        let message = format!("{what} is {kinetic}, above `static` = {static_}");
        let help = "friction in sliding does not exceed friction at rest";
        return f.refuse("kinetic", message, help);
    }
    Some(Coefficients {
        static_,
        kinetic,
        cohesion: k.cohesion,
        compliance: k.compliance,
    })
}
