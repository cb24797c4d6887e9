use super::Colour;
#[cfg(feature = "render")]
use super::PictureError;
#[cfg(feature = "render")]
use crate::{RecordError, atomic};
#[cfg(feature = "render")]
use std::path::Path;

/// An image of 8-bit sRGB pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Image {
    /// An image of one colour.
    pub fn filled(width: u32, height: u32, colour: Colour) -> Self {
        Self {
            width,
            height,
            pixels: colour.0.repeat(width as usize * height as usize),
        }
    }

    /// An image of the given bytes; `None` unless there are three per pixel.
    pub fn from_rgb(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        let expected = 3 * width as usize * height as usize;
        (pixels.len() == expected).then_some(Self {
            width,
            height,
            pixels,
        })
    }

    /// Width [pixels].
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height [pixels].
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Three bytes per pixel: red, green, blue.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The colour of a pixel, x from the left and y from the top; `None` outside.
    pub fn get(&self, x: u32, y: u32) -> Option<Colour> {
        let at = self.index(i64::from(x), i64::from(y))?;
        let (pixels, _) = self.pixels.as_chunks::<3>();
        pixels.get(at).copied().map(Colour)
    }

    /// Mixes a colour into a pixel, `alpha` from 0 to 1; does nothing outside the image.
    pub(super) fn blend(&mut self, x: i64, y: i64, colour: Colour, alpha: f32) {
        let Some(at) = self.index(x, y) else { return };
        let (pixels, _) = self.pixels.as_chunks_mut::<3>();
        if let Some(pixel) = pixels.get_mut(at) {
            for (old, new) in pixel.iter_mut().zip(colour.0) {
                let mixed = f32::from(*old) + alpha * (f32::from(new) - f32::from(*old));
                *old = mixed.round().clamp(0.0, 255.0) as u8;
            }
        }
    }

    /// Copies another image to (x, y), clipped to this image.
    pub(super) fn paste(&mut self, other: &Image, x: u32, y: u32) {
        for row in 0..other.height {
            for column in 0..other.width {
                if let Some(colour) = other.get(column, row) {
                    let (to_x, to_y) = (i64::from(x + column), i64::from(y + row));
                    self.blend(to_x, to_y, colour, 1.0);
                }
            }
        }
    }

    /// The image as the bytes of a PNG file.
    #[cfg(feature = "render")]
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        let fail = |error: png::EncodingError| PictureError::Encode(error.to_string());
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let mut writer = encoder.write_header().map_err(fail)?;
        writer.write_image_data(&self.pixels).map_err(fail)?;
        writer.finish().map_err(fail)?;
        Ok(bytes)
    }

    /// Writes a PNG file, atomically.
    #[cfg(feature = "render")]
    pub fn write_png(&self, path: &Path) -> Result<(), RecordError> {
        let bytes = self.to_png();
        let bytes = bytes.map_err(|error| RecordError::invalid(path, error.to_string()))?;
        atomic::write(path, &bytes)
    }

    fn index(&self, x: i64, y: i64) -> Option<usize> {
        let inside =
            (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y);
        inside.then_some(y as usize * self.width as usize + x as usize)
    }
}
