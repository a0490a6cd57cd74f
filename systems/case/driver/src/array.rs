//! How much memory an array takes.

/// Flags of arrays that have no memory of their own: CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING.
const WITHOUT_MEMORY: u32 = 0x40 | 0x80;

/// Flags of arrays whose third extent counts layers or faces, which every level has: CUDA_ARRAY3D_LAYERED,
/// CUDA_ARRAY3D_CUBEMAP.
const LAYERS: u32 = 0x01 | 0x04;

/// An array, as CUDA describes it. Extents are elements; 0 is an axis that it does not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    /// Elements along each axis.
    pub(crate) extents: [u64; 3],
    /// CUarray_format.
    pub(crate) format: u32,
    /// Channels of an element.
    pub(crate) channels: u32,
    /// CUDA_ARRAY3D_*.
    pub(crate) flags: u32,
}

impl Array {
    /// The bytes of so many levels, each half as large as the one before. `None` where that cannot be
    /// said: planes and blocks of several elements, and formats that are not known here. How the driver
    /// pads arrays, NVIDIA does not say.
    pub(crate) fn bytes(self, levels: u32) -> Option<u64> {
        if self.flags & WITHOUT_MEMORY != 0 {
            return None;
        }
        let element = component(self.format)?.saturating_mul(u64::from(self.channels));
        // An extent has at most 64 bits: further levels have one element.
        let sizes = (0..levels.min(64)).map(|level| {
            let [width, height, depth] = self.extents;
            let depth = if self.flags & LAYERS == 0 {
                depth >> level
            } else {
                depth
            };
            let extents = [width >> level, height >> level, depth].map(|number| number.max(1));
            extents.into_iter().fold(element, u64::saturating_mul)
        });
        Some(sizes.fold(0, u64::saturating_add))
    }
}

/// The bytes of a channel.
fn component(format: u32) -> Option<u64> {
    match format {
        // UNSIGNED_INT8, SIGNED_INT8; UNORM_INT8X1 to X4, SNORM_INT8X1 to X4.
        0x01 | 0x08 | 0xc0..=0xc2 | 0xc6..=0xc8 => Some(1),
        // UNSIGNED_INT16, SIGNED_INT16, HALF; UNORM_INT16X1 to X4, SNORM_INT16X1 to X4.
        0x02 | 0x09 | 0x10 | 0xc3..=0xc5 | 0xc9..=0xcb => Some(2),
        // UNSIGNED_INT32, SIGNED_INT32, FLOAT.
        0x03 | 0x0a | 0x20 => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(extents: [u64; 3], format: u32, channels: u32) -> Array {
        Array {
            extents,
            format,
            channels,
            flags: 0,
        }
    }

    #[test]
    fn an_array_has_the_bytes_of_its_elements() {
        assert_eq!(array([100, 0, 0], 0x20, 1).bytes(1), Some(400));
        assert_eq!(array([100, 10, 0], 0x10, 4).bytes(1), Some(8000));
        assert_eq!(array([8, 4, 2], 0xc2, 4).bytes(1), Some(256));
    }

    #[test]
    fn levels_end_at_one_element() {
        assert_eq!(array([4, 4, 0], 0x01, 1).bytes(3), Some(16 + 4 + 1));
        assert_eq!(array([4, 1, 0], 0x01, 1).bytes(u32::MAX), Some(4 + 2 + 62));
    }

    #[test]
    fn layers_and_faces_are_as_many_in_each_level() {
        let flagged = |extents, flags| {
            let own = Array {
                flags,
                ..array(extents, 0x01, 1)
            };
            own.bytes(3)
        };
        assert_eq!(flagged([4, 4, 8], 0), Some(4 * 4 * 8 + 2 * 2 * 4 + 2));
        assert_eq!(flagged([4, 4, 8], 0x01), Some((16 + 4 + 1) * 8));
        assert_eq!(flagged([4, 0, 8], 0x01), Some((4 + 2 + 1) * 8));
        assert_eq!(flagged([4, 4, 6], 0x04), Some((16 + 4 + 1) * 6));
        assert_eq!(flagged([4, 4, 12], 0x05), Some((16 + 4 + 1) * 12));
    }

    #[test]
    fn what_has_no_memory_or_an_unknown_size_is_not_counted() {
        let sparse = Array {
            flags: 0x40,
            ..array([4, 4, 0], 0x01, 1)
        };
        assert_eq!(sparse.bytes(1), None);
        // NV12: two planes.
        assert_eq!(array([4, 4, 0], 0xb0, 1).bytes(1), None);
    }

    #[test]
    fn absurd_extents_do_not_overflow() {
        assert_eq!(array([u64::MAX; 3], 0x20, 4).bytes(2), Some(u64::MAX));
    }
}
