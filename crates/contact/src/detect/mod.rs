//! Collision detection: from colliders to a [`ContactSet`].
//!
//! [`Collider`]s are surfaces whose vertices follow 3-blocks, and meshes and solids with prescribed
//! motion. The [`Detector`] numbers all their vertices through (`world`), places them at the start and
//! the predicted end of a step (`step`), finds pairs that are close or will meet among meshes (`pairs`),
//! among particles (`particles`) and against analytic shapes (`shapes`), and writes contacts (`emit`).
//! It keeps its trees between steps and its candidates during one, so that a solver can request
//! [more contacts](ContactSource) while velocities still change.
//!
//! # Thickness
//! Two colliders touch at the distance t = (t_a + t_b)/2 of their thicknesses. Contacts are listed
//! from 1.5 t [li2018, Sect. 5.2] and for pairs that would come closer than t during the step. Of
//! one body, features whose rest distance is r have t = min(t, r/2): neighbours in a mesh never
//! touch at rest, and still cannot pass through one another. Two rods of one body have t = min(t, r).
//!
//! # Deviations from the papers
//! Contacts on a vertex or edge are left out where an adjacent face is closer, instead of being
//! merged by angle as in [li2018, Sect. 5.2]; a pair that then sinks and ends the step as the
//! closest gets a contact after all. During a solve, a pair whose contacts hold and that
//! still collides is relisted at the new position, where [verschoor2019, Sect. 3.3] would
//! replace the constraint: a solver may then keep the impulses that it has. A solver that can follow
//! replaced contacts calls [`ContactSource::revise`] instead.
//!
//! # Edges and faces against solids
//! Vertices alone miss the edge of a box under a sheet, or a small ball under a large triangle.
//! Solids are not cut into meshes for this, which would lose their smoothness. The signed distance
//! of a convex solid is convex, so that the deepest point of an edge is bracketed by the signs of its slope; where the
//! edge passes edges and rims of the solid, the ends of the piece along a face are found; and
//! corners, apices, rims and centres are projected to triangles. A place counts only where it is
//! deeper than the interpolation between those that count already, vertices first, by a tenth of the
//! thickness. So contacts of a flat pair span the whole support.
//! Of a mesh that is sampled as a level set, the deepest point of an edge is exact too, and faces
//! are searched every half cell.

mod collider;
mod detector;
mod emit;
mod feature;
mod held;
mod overlap;
mod pairs;
mod particles;
mod prune;
mod quota;
mod recovery;
mod relocate;
mod revise;
mod shape_edges;
mod shape_faces;
mod shapes;
mod sides;
mod stencil;
mod step;
mod supports;
mod untangle;
mod world;

use stiction_math::Vec3;

use crate::{ContactKey, ContactSet};

pub use collider::{
    Collider, ColliderBody, ColliderForm, ColliderMesh, Exempt, Laws, PairLaw, Points,
};
pub use detector::{DetectConfig, DetectReport, Detector};
pub use feature::Feature;
pub use held::HeldPoint;
pub use overlap::{Crossing, OverlapDepth};
pub use revise::{MOST_TURN, Revision, RevisionRule};
pub use step::{DetectStep, Placement};
pub use untangle::{Offence, Sides, SurfaceElement, Tangle, TangleScope};
pub use world::{ColliderFault, DetectError};

/// Source of contacts that appear during a solve [daviet2020, Sect. 6.2.3],
/// [verschoor2019, Sect. 5.2].
pub trait ContactSource {
    /// Appends contacts that the velocities `v` [m/s], one vector per block, would violate and
    /// that were not listed yet. Returns how many. Existing contacts keep their places.
    fn more_contacts(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> usize;

    /// Brings the contacts up to date with the velocities `v` [m/s]: re-linearises those that `rule` finds wrong,
    /// drops those that slid off, replaces several of a pair by one and appends new ones
    /// [verschoor2019, Sect. 3.3]. Contacts that stay keep their order.
    ///
    /// A source that cannot do this only appends.
    fn revise(&mut self, v: &[Vec3], contacts: &mut ContactSet, _rule: &RevisionRule) -> Revision {
        let before = contacts.len();
        Revision::added(before, self.more_contacts(v, contacts))
    }
}

/// For each contact of the new step the place of the same feature pair in the old one.
pub fn match_keys(old: &[ContactKey], new: &[ContactKey]) -> Vec<Option<u32>> {
    let mut order: Vec<u32> = (0..old.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (old[i as usize], i));
    let find = |key: &ContactKey| {
        let at = order.partition_point(|&i| old[i as usize] < *key);
        order.get(at).copied().filter(|&i| old[i as usize] == *key)
    };
    new.iter().map(find).collect()
}
