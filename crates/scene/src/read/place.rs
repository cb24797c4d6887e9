//! Initial placement of bodies and obstacles: `scale`, then `rotate`, then `translate`.

use stiction_bodies::motion::Pose;
use stiction_math::elementary::rotation_about;
use stiction_math::{Vec3, nalgebra::Unit};

use crate::format::{Fields, section};

/// x ↦ R (s ∘ x) + t.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub scale: Vec3,
    pub pose: Pose,
}

section! { pub(crate) ROTATE "rotate";
    "axis": Direction, Required, "the axis";
    "angle": Number("°", Any), Required, "the angle";
    "about": Vector("m"), Vec(&[0.0; 3]), "a point of the axis";
}

/// `scale`, `rotate` and `translate` of a body or obstacle.
pub(crate) fn placement(f: &Fields<'_>) -> Option<Placement> {
    let mut pose = Pose::default();
    for node in f.one_or_more("rotate") {
        let t = Fields::new(f.reporter, node, f.label("rotate"), &ROTATE)?;
        let (angle, about): (f64, Vec3) = (t.take("angle")?, t.take("about")?);
        let r = rotation_about(
            &Unit::new_unchecked(t.direction("axis")?),
            angle.to_radians(),
        );
        pose.rotation = r * pose.rotation;
        pose.translation = r * (pose.translation - about) + about;
    }
    pose.translation += f.take::<Vec3>("translate")?;
    let scale: Vec3 = f.take("scale")?;
    if scale.iter().any(|s| *s == 0.0) {
        let message = format!("`scale` of {} is zero, which leaves nothing", f.what);
        return f.refuse("scale", message, "");
    }
    Some(Placement { scale, pose })
}
