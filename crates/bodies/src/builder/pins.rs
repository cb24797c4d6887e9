//! Pins: nodes whose motion is prescribed, or that an obstacle carries.

use std::sync::Arc;

use stiction_math::Vec3;

use super::{BuildError, Builder, nearest::nearest_triangle};
use crate::{
    model::{Pin, Spin},
    motion::{Carrier, Motion},
    obstacle::ObstacleShape,
};

impl Builder {
    /// Prescribes the motion of nodes of a deformable body, or of a whole rigid body (`nodes` is
    /// then ignored). Without a motion they stay at their initial positions.
    pub fn pin(
        &mut self,
        body: usize,
        nodes: &[u32],
        motion: Option<Motion>,
    ) -> Result<(), BuildError> {
        let motion = motion.map(|m| {
            self.model.motions.push(m);
            self.model.motions.len() - 1
        });
        let target = &self.model.bodies[body];
        let first = target.blocks.start;
        if target.kind.as_rods().is_some() {
            return self.pin_rods(body, nodes, motion);
        }
        if let Some(r) = target.kind.as_rigid() {
            let start = self.state.x[first];
            let spin = Spin {
                rigid: r.index,
                start: self.state.rotations[r.index],
            };
            self.model.pins.push(Pin {
                block: first,
                motion,
                start,
                spin: None,
                clamp: None,
            });
            self.model.pins.push(Pin {
                block: first + 1,
                motion,
                start: Vec3::zeros(),
                spin: Some(spin),
                clamp: None,
            });
            return Ok(());
        }
        for &node in nodes {
            let node = node as usize;
            if node >= target.blocks.len() {
                let count = target.blocks.len();
                return Err(BuildError::Node {
                    body: target.name.clone(),
                    node,
                    count,
                });
            }
            let start = self.state.x[first + node];
            self.model.pins.push(Pin {
                block: first + node,
                motion,
                start,
                spin: None,
                clamp: None,
            });
        }
        Ok(())
    }

    /// Lets an obstacle carry nodes of a body (or the whole of a rigid one), each with the triangle nearest to
    /// it at the start if the obstacle's mesh is animated. `motion` is added to that of the obstacle.
    pub fn pin_to_obstacle(
        &mut self,
        body: usize,
        nodes: &[u32],
        obstacle: usize,
        motion: Option<&Motion>,
    ) -> Result<(), BuildError> {
        let obstacle = Arc::new(self.model.obstacles[obstacle].clone());
        let carried = |triangle| Motion {
            carrier: Some(Carrier {
                obstacle: Arc::clone(&obstacle),
                triangle,
            }),
            ..motion.cloned().unwrap_or_default()
        };
        if !matches!(obstacle.shape, ObstacleShape::Animated(_)) {
            return self.pin(body, nodes, Some(carried(None)));
        }
        let (mut x, triangles) = (Vec::new(), obstacle.shape.triangles());
        obstacle.vertices(0.0, &mut x);
        for node in nodes {
            let own = &self.model.bodies[body];
            let block = own.node_block(*node as usize);
            let start = self.state.x[block.unwrap_or(own.blocks.start)];
            let triangle = nearest_triangle(&x, triangles, &start).map(|found| found.0);
            self.pin(body, &[*node], Some(carried(triangle)))?;
        }
        Ok(())
    }
}
