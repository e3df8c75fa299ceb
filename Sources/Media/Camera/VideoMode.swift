// SPDX-License-Identifier: Apache-2.0

/// How a camera codes its frames; the first of two that are as good otherwise is taken.
enum VideoCoding: String, Sendable, Hashable, CaseIterable {
    case raw = "video/x-raw"
    case jpeg = "image/jpeg"
    case h264 = "video/x-h264"
}

/// A size, rate and coding in which a camera can be asked for video.
struct VideoMode: Sendable, Hashable {
    var coding: VideoCoding
    var width: Int
    var height: Int
    var rate: FrameRate

    /// Beyond this, uncompressed frames do not fit through USB 2 at a good rate.
    private static let largestRawArea = 640 * 480

    /// The caps that ask a camera for this mode.
    var caps: String {
        "\(self.coding.rawValue),width=\(self.width),height=\(self.height),"
            + "framerate=\(self.rate.numerator)/\(self.rate.denominator)"
    }

    /// The mode nearest to what is asked for of those that a device offers; `nil` if it offers none.
    ///
    /// A larger size is better than a smaller one; the size counts before the rate, the rate before the coding.
    static func nearest(width: Int, height: Int, framesPerSecond: Int, of offers: [OfferedMode]) -> VideoMode? {
        offers.flatMap { offer -> [VideoMode] in
            offer.rates(near: framesPerSecond).map { rate in
                VideoMode(
                    coding: offer.coding,
                    width: offer.width.nearest(width),
                    height: offer.height.nearest(height),
                    rate: rate
                )
            }
        }.min { left, right in
            left.cost(width, height, framesPerSecond).lexicographicallyPrecedes(
                right.cost(width, height, framesPerSecond)
            )
        }
    }

    /// What is wrong with the mode, worst first.
    private func cost(_ width: Int, _ height: Int, _ framesPerSecond: Int) -> [Double] {
        let missing = max(0, width - self.width) + max(0, height - self.height)
        let excess = abs(self.width - width) + abs(self.height - height)
        let rate = self.rate.value - Double(framesPerSecond)
        let order: [VideoCoding] =
            self.width * self.height <= Self.largestRawArea ? [.raw, .jpeg, .h264] : [.jpeg, .h264, .raw]
        // Rates such as 29.97 are as good as 30.
        let missingRate = rate < -0.1 ? -rate : 0
        return [
            Double(missing), Double(excess), missingRate, max(0, rate),
            Double(order.firstIndex(of: self.coding) ?? order.count),
        ]
    }
}
