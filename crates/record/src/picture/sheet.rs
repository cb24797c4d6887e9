use super::{Colour, Image, PictureError, font};

const GAP: u32 = 8;
const PAPER: Colour = Colour([250, 250, 251]);
const INK: Colour = Colour([60, 66, 74]);

/// Places frames side by side, `columns` to a row, each with a label below it.
///
/// Every cell has the size of the largest frame. Labels are plain ASCII; other characters show as a
/// box.
pub fn contact_sheet(frames: &[(&Image, &str)], columns: usize) -> Result<Image, PictureError> {
    let columns = columns.clamp(1, frames.len().max(1)) as u32;
    let rows = (frames.len() as u32).div_ceil(columns).max(1);
    let cell_width = frames
        .iter()
        .map(|(image, _)| image.width())
        .max()
        .unwrap_or(1);
    let cell_height = frames
        .iter()
        .map(|(image, _)| image.height())
        .max()
        .unwrap_or(1);
    // Labels grow with the frames but stay small.
    let zoom = (cell_height / 200).clamp(1, 4);
    let label = font::HEIGHT * zoom + 2 * GAP;
    let across = u64::from(columns) * u64::from(cell_width + GAP) + u64::from(GAP);
    let down = u64::from(rows) * u64::from(cell_height + label) + u64::from(GAP);
    let side = |length: u64| u32::try_from(length).ok().filter(|&length| length <= 32768);
    let (Some(width), Some(height)) = (side(across), side(down)) else {
        return Err(PictureError::Size {
            width: across.min(u64::from(u32::MAX)) as u32,
            height: down.min(u64::from(u32::MAX)) as u32,
        });
    };
    let mut sheet = Image::filled(width, height, PAPER);
    for (at, (image, text)) in frames.iter().enumerate() {
        let (column, row) = (at as u32 % columns, at as u32 / columns);
        let x = GAP + column * (cell_width + GAP);
        let y = GAP + row * (cell_height + label);
        sheet.paste(image, x, y);
        font::write(
            &mut sheet,
            text,
            x + 2,
            y + cell_height + GAP,
            zoom,
            cell_width,
            INK,
        );
    }
    Ok(sheet)
}
