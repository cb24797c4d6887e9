//! `[friction]`.

use stiction_contact::detect::PairLaw;
use stiction_sim::friction::{self, Combine, FrictionTable};

use crate::{
    format::{At, Fields, ProblemKind, Read, TableKeys, TreeNode, section, words},
    read::Context,
};

section! { struct CoefficientKeys "coefficients" {
    at_rest as "static": f64 = Number("1", NotNegative), Required, "μ at rest";
    kinetic: Option<f64> = Number("1", NotNegative), Said("`static`"), "μ in sliding; not above `static`";
    cohesion: f64 = Number("Pa", NotNegative), Num(0.0), "the pull of closed contacts; it falls off linearly with the gap, to nothing at half the contact thickness [daviet2020, Sect. 7.4]; the area it stands for is shared by vertices: triangles, or the width of rods";
    compliance: f64 = Number("m/Pa", NotNegative), Num(0.0), "displacement of a contact under pressure";
} }

section! { struct PairKeys "friction.pair" => Pair, pair {
    materials: [At<String>; 2] = Rows(2, &Text), Required, "the names of the two materials";
    at_rest as "static": () = Number("1", NotNegative), Required, "as above";
    kinetic: () = Number("1", NotNegative), Said("`static`"), "as above";
    cohesion: () = Number("Pa", NotNegative), Num(0.0), "as above";
    compliance: () = Number("m/Pa", NotNegative), Num(0.0), "as above";
} }

words! { Combine: "geometric-mean" => GeometricMean, "min" => Min, "max" => Max, "average" => Average, "multiply" => Multiply }

section! { struct FrictionKeys "friction" => Friction, friction {
    default: Option<PairLaw> = Either(&[Number("1", NotNegative), Table(CoefficientKeys::SECTION)]), Said("0.5"), "coefficients of materials without their own";
    combine: Combine = Word(Combine::WORDS), Chosen("geometric-mean"), "how two materials make a pair: `\"geometric-mean\"`, `\"min\"`, `\"max\"`, `\"average\"`, `\"multiply\"`";
    pair: Vec<Pair> = Tables(PairKeys::SECTION), Absent, "pairs with coefficients of their own";
} }

/// Two materials and their coefficients.
pub(crate) struct Pair([At<String>; 2], PairLaw);

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
    for Pair([a, b], law) in k.pair {
        if table.insert(&a.value, &b.value, law) {
            let (one, other) = (&a.value, &b.value);
            let message = format!("friction between `{one}` and `{other}` is given twice");
            let (kind, help) = (ProblemKind::Duplicate, "keep one of the two");
            a.fail::<()>(f.reporter(), kind, message, help);
        }
        friction.named.extend([a, b]);
    }
    Some(friction)
}

fn pair(f: &Fields<'_>, k: PairKeys) -> Option<Pair> {
    Some(Pair(k.materials, law(f, CoefficientKeys::keys(f)?)?))
}

/// A number, or a table of coefficients.
impl Read<Context> for PairLaw {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        if let Some(mu) = node.number() {
            return Some(friction::friction(mu));
        }
        let f = f.inside(key, node, CoefficientKeys::SECTION)?;
        law(&f, CoefficientKeys::keys(&f)?)
    }
}

fn law(f: &Fields<'_>, k: CoefficientKeys) -> Option<PairLaw> {
    let (mu, kinetic) = (k.at_rest, k.kinetic.unwrap_or(k.at_rest));
    if kinetic > mu {
        let what = f.label("kinetic");
        let message = format!("{what} is {kinetic}, above `static` = {mu}");
        let help = "friction in sliding does not exceed friction at rest";
        return f.refuse("kinetic", message, help);
    }
    Some(PairLaw {
        mu,
        kinetic: (kinetic < mu).then_some(kinetic),
        cohesion: k.cohesion,
        compliance: k.compliance,
    })
}
