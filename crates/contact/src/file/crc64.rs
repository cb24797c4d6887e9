//! A checksum against accidents.

/// CRC-64/XZ: polynomial 0x42F0E1EBA9EA3693, reflected. It notices any damage that is confined to
/// 64 bits.
pub(super) fn crc64(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(!0, |crc: u64, &byte| {
        TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8)
    })
}

const TABLE: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1)
                ^ if crc & 1 == 1 {
                    0xC96C_5795_D787_0F42
                } else {
                    0
                };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_is_the_published_one() {
        assert_eq!(crc64(b"123456789"), 0x995D_C9BB_DF19_39FA);
        assert_eq!(crc64(b""), 0);
    }
}
