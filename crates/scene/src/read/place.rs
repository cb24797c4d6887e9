//! Initial placement of bodies and obstacles: `scale`, then `rotate`, then `translate`.

use stiction_bodies::motion::Pose;
use stiction_math::elementary::rotation_about;
use stiction_math::{Vec3, nalgebra::Unit};

use crate::format::{Direction, Fields, section};

/// x ↦ R (s ∘ x) + t.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub scale: Vec3,
    pub pose: Pose,
}

section! { /// A turn about an axis.
    struct Rotate "rotate" {
    axis: Direction = Direction, Required, "the axis";
    angle: f64 = Number("°", Any), Required, "the angle";
    about: Vec3 = Vector("m"), Vec(&[0.0; 3]), "a point of the axis";
} }

impl Placement {
    /// Reports a scale that leaves nothing.
    pub fn new(f: &Fields<'_>, scale: Vec3, turns: &[Rotate], translate: Vec3) -> Option<Self> {
        let mut pose = Pose::default();
        for Rotate { axis, angle, about } in turns {
            let r = rotation_about(&Unit::new_unchecked(axis.0), angle.to_radians());
            pose.rotation = r * pose.rotation;
            pose.translation = r * (pose.translation - about) + about;
        }
        pose.translation += translate;
        if scale.iter().any(|s| *s == 0.0) {
            let message = format!("`scale` of {} is zero, which leaves nothing", f.what);
            return f.refuse("scale", message, None);
        }
        Some(Self { scale, pose })
    }
}
