// SPDX-License-Identifier: Apache-2.0

/// Width and height in pixels.
public struct VideoSize: Sendable, Hashable, Codable {
    /// Pixels of a line.
    public var width: Int
    /// Lines.
    public var height: Int

    /// A frame size without limits.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Reads `1280x720`; nil for anything but two whole numbers of digits.
    public init?(_ text: String) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, sides.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let width = Int(sides[0]), let height = Int(sides[1])
        else { return nil }
        self.init(width: width, height: height)
    }

    /// Pixels of a line that a camera may send; even.
    public static let sendableWidths = 320...7680
    /// Lines that a camera may send; even.
    public static let sendableHeights = 180...4320
    /// The limits of a camera's frames, in words.
    public static let sendable =
        "even numbers of pixels from \(VideoSize(width: sendableWidths.lowerBound, height: sendableHeights.lowerBound)) "
        + "to \(VideoSize(width: sendableWidths.upperBound, height: sendableHeights.upperBound))"

    /// Whether a camera may send it: both sides even and in their ranges.
    public var isSendable: Bool {
        Self.sendableWidths.contains(self.width) && Self.sendableHeights.contains(self.height)
            && self.width.isMultiple(of: 2) && self.height.isMultiple(of: 2)
    }
}

extension VideoSize: CustomStringConvertible {
    /// As in `1280x720`.
    public var description: String { "\(self.width)x\(self.height)" }
}
