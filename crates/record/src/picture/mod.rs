//! Pictures of a run without a GPU: bodies under a key light on a ground with a grid, contacts
//! drawn over them, frames side by side on a contact sheet.
//!
//! Rays are cast through a bounding volume hierarchy; pixels on edges get more samples than pixels
//! inside. Every pixel is a function of the picture alone, so that the image has the same bits for
//! any number of threads.

mod bvh;
mod camera;
mod colour;
mod font;
mod image;
mod light;
mod normals;
mod overlay;
mod render;
mod scene;
mod sheet;
#[cfg(test)]
mod tests;

pub use camera::Camera;
pub use colour::Colour;
pub use image::Image;
pub use sheet::contact_sheet;

use stiction_contact::ContactState;
use stiction_math::Vec3;

/// Contents and settings of a picture. z points up.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// Surfaces.
    pub meshes: Vec<MeshView<'a>>,
    /// Rods and hair.
    pub lines: Vec<LineView<'a>>,
    /// Contacts, drawn over everything else; faint if a surface hides them.
    pub points: Vec<PointView>,
    /// Height of the ground [m], if it is shown.
    pub ground: Option<f64>,
    /// Camera.
    pub camera: Camera,
    /// Width and height [pixels].
    pub size: [u32; 2],
    /// Maximum number of samples per pixel, at least 4; pixels without edges take 4.
    pub samples: u32,
}

impl Default for Picture<'_> {
    fn default() -> Self {
        Self {
            meshes: Vec::new(),
            lines: Vec::new(),
            points: Vec::new(),
            ground: None,
            camera: Camera::default(),
            size: [640, 480],
            samples: 16,
        }
    }
}

/// A surface.
#[derive(Clone, Copy, Debug)]
pub struct MeshView<'a> {
    /// Vertex positions [m]; triangles with positions that are not finite are skipped.
    pub positions: &'a [Vec3],
    /// Vertex indices; both sides are shown, the back a little darker.
    pub triangles: &'a [[u32; 3]],
    /// Colour.
    pub colour: Colour,
    /// Whether normals are averaged between triangles that meet at a blunt angle.
    pub smooth: bool,
    /// Whether the automatic camera includes it; false suits large obstacles. Of these, a flat one that the camera
    /// sees from its back, as the wall of a box or a floor from below, is not shown: what it bounds is behind it.
    pub framed: bool,
}

/// Line segments, shown as round tubes.
#[derive(Clone, Copy, Debug)]
pub struct LineView<'a> {
    /// Vertex positions [m].
    pub positions: &'a [Vec3],
    /// Vertex indices.
    pub segments: &'a [[u32; 2]],
    /// Colour.
    pub colour: Colour,
    /// Radius [m]; raised to about half a pixel where it would vanish.
    pub radius: f64,
}

/// A dot, with an optional arrow.
#[derive(Clone, Copy, Debug)]
pub struct PointView {
    /// Position [m].
    pub position: Vec3,
    /// Colour.
    pub colour: Colour,
    /// The arrow from the dot to its tip [m].
    pub arrow: Option<Vec3>,
}

impl PointView {
    /// A contact in the colour of its state: grey when open, teal when it sticks, orange when it
    /// slides.
    pub fn contact(position: Vec3, state: ContactState, arrow: Option<Vec3>) -> Self {
        Self {
            position,
            colour: Colour::of_state(state),
            arrow,
        }
    }
}

/// Errors of rendering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// A size of zero or beyond the limit.
    #[error("a picture of {width}×{height} pixels: sides must be between 1 and 16384")]
    Size {
        /// Width [pixels].
        width: u32,
        /// Height [pixels].
        height: u32,
    },
    /// A triangle or segment refers to a vertex that does not exist.
    #[error("{kind} {item} of view {view} names vertex {vertex}, but there are {count}")]
    Index {
        /// "triangle" or "segment".
        kind: &'static str,
        /// Index of the triangle or segment.
        item: usize,
        /// Index of the mesh or set of lines.
        view: usize,
        /// The vertex named.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// A degenerate camera.
    #[error(
        "the camera is degenerate: eye and target must be finite and apart, up must not point along \
         the view, and the field of view must lie between 1 and 150 degrees"
    )]
    Camera,
    /// The image could not be encoded.
    #[error("cannot encode the image: {0}")]
    Encode(String),
}

impl Picture<'_> {
    /// Draws the picture.
    pub fn render(&self) -> Result<Image, PictureError> {
        render::render(self)
    }
}
