use stiction_contact::ContactState;

/// A colour in sRGB, each channel from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// Stone grey, for obstacles.
    pub const OBSTACLE: Self = Self([186, 181, 172]);

    /// The `index`-th of eight distinct colours, repeating.
    pub fn palette(index: usize) -> Self {
        const PALETTE: [[u8; 3]; 8] = [
            [66, 120, 178],
            [233, 142, 62],
            [94, 160, 88],
            [200, 76, 92],
            [140, 108, 168],
            [52, 160, 158],
            [224, 182, 60],
            [150, 112, 90],
        ];
        Self(PALETTE[index % PALETTE.len()])
    }

    /// Grey for an open contact, teal for one that sticks, orange for one that slides.
    pub fn of_state(state: ContactState) -> Self {
        match state {
            ContactState::Open => Self([150, 155, 162]),
            ContactState::Stick => Self([16, 150, 136]),
            ContactState::Slide => Self([240, 96, 32]),
        }
    }

    /// Linear light, each channel from 0 to 1.
    pub(super) fn linear(self) -> [f32; 3] {
        self.0.map(|channel| {
            let x = f32::from(channel) / 255.0;
            if x <= 0.04045 {
                x / 12.92
            } else {
                ((x + 0.055) / 1.055).powf(2.4)
            }
        })
    }
}

/// The sRGB transfer curve from linear light to [0, 1].
pub(super) fn encode(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    if x <= 0.003_130_8 {
        12.92 * x
    } else {
        1.055 * x.powf(1.0 / 2.4) - 0.055
    }
}
