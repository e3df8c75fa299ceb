// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Media
import Testing

@Suite struct ThumbnailTests {
    /// The head of a VP8 keyframe, and zeros.
    private static func keyframe(_ width: Int, _ height: Int, bytes: Int = 100) -> [UInt8] {
        let size = [width, height].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        return [0x50, 0, 0, 0x9D, 0x01, 0x2A] + size + [UInt8](repeating: 0, count: bytes - 10)
    }

    @Test func whatIsTooLargeForADecoderIsRefusedWithItsSize() {
        #expect(Thumbnail.refusal(of: Self.keyframe(3840, 2160), codec: .vp8) == nil)
        #expect(
            Thumbnail.refusal(of: Self.keyframe(16383, 16383), codec: .vp8)
                == "the keyframe has 16383 x 16383 pixels; an image is made of at most 16777216"
        )
        #expect(
            Thumbnail.refusal(of: Self.keyframe(320, 180, bytes: 5_000_000), codec: .vp8)
                == "the keyframe has 5000000 bytes; an image is made of at most 4194304"
        )
        #expect(
            Thumbnail.refusal(of: [1, 2, 3], codec: .vp8) == "the keyframe has a header that cannot be read"
        )
    }
}
