// SPDX-License-Identifier: Apache-2.0

/// Width and height in pixels.
public struct PictureSize: Sendable, Hashable {
    /// Pixels of a line.
    public var width: Int
    /// Lines.
    public var height: Int

    /// A picture of any size.
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

    /// Whether a camera may send it: both even, from 320x180 to 7680x4320.
    public var isSendable: Bool {
        (320...7680).contains(self.width) && (180...4320).contains(self.height) && self.width.isMultiple(of: 2)
            && self.height.isMultiple(of: 2)
    }
}

extension PictureSize: CustomStringConvertible {
    /// As in `1280x720`.
    public var description: String { "\(self.width)x\(self.height)" }
}
