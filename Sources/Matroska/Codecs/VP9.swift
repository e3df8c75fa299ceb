// SPDX-License-Identifier: Apache-2.0

/// What recording needs to know of VP9 frames and superframes.
enum VP9 {
    /// Reads the uncompressed header of the first frame (VP9 bitstream specification section 6.2); nil if it is none.
    ///
    /// Of a superframe the first frame decides: a decoder can start there if it is a key frame.
    static func inspect(_ frame: UnsafeRawBufferPointer) -> UnitInspection? {
        var bits = BitReader(frame)
        guard bits.read(2) == 2, let low = bits.read(1), let high = bits.read(1) else { return nil }
        let profile = high << 1 | low
        if profile == 3 {
            guard bits.read(1) == 0 else { return nil }
        }
        guard let showsExisting = bits.read(1) else { return nil }
        if showsExisting == 1 { return UnitInspection(isKeyframe: false) }
        guard let frameType = bits.read(1), bits.skip(2) else { return nil }  // show_frame, error_resilient_mode
        if frameType == 1 { return UnitInspection(isKeyframe: false) }
        guard bits.read(24) == 0x49_8342 else { return nil }
        if profile >= 2 {
            guard bits.skip(1) else { return nil }  // ten_or_twelve_bit
        }
        guard let colourSpace = bits.read(3) else { return nil }
        let hasSubsampling = profile == 1 || profile == 3
        if colourSpace != 7 {
            guard bits.skip(hasSubsampling ? 4 : 1) else { return nil }  // color_range, subsampling, reserved
        } else {
            guard hasSubsampling, bits.skip(1) else { return nil }  // RGB is 4:4:4 only
        }
        guard let width = bits.read(16), let height = bits.read(16) else { return nil }
        return UnitInspection(isKeyframe: true, width: Int(width) + 1, height: Int(height) + 1)
    }
}
