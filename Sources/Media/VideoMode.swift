// SPDX-License-Identifier: Apache-2.0

/// A size, rate and coding in which a camera can be asked for pictures.
struct VideoMode: Sendable, Hashable {
    var isJPEG: Bool
    var width: Int
    var height: Int
    var framesPerSecond: Int

    /// Sizes that cameras have.
    private static let usualSizes = [
        (160, 120), (176, 144), (320, 180), (320, 240), (352, 288), (424, 240), (640, 360), (640, 480), (800, 448),
        (800, 600), (848, 480), (960, 540), (960, 720), (1024, 576), (1024, 768), (1280, 720), (1280, 800),
        (1280, 960), (1280, 1024), (1600, 896), (1600, 1200), (1920, 1080), (2304, 1536), (2560, 1440), (3840, 2160),
    ]
    private static let usualRates = [5, 10, 15, 20, 24, 25, 30, 50, 60]
    /// Beyond this, uncompressed pictures do not fit through USB 2 at a good rate.
    private static let largestRawArea = 640 * 480

    /// The caps that ask a camera for this mode.
    var caps: String {
        "\(self.isJPEG ? "image/jpeg" : "video/x-raw"),width=\(self.width),height=\(self.height),"
            + "framerate=\(self.framesPerSecond)/1"
    }

    /// The mode nearest to what is asked for, of those for which `canGive` says yes; `nil` if it never does.
    ///
    /// A larger picture is better than a smaller one, and the rate counts before the coding, the size before the rate.
    static func nearest(
        width: Int,
        height: Int,
        framesPerSecond: Int,
        canGive: (VideoMode) -> Bool
    ) -> VideoMode? {
        let sizes = Self.sorted([(width, height)] + Self.usualSizes) { size in
            let missing = max(0, width - size.0) + max(0, height - size.1)
            return (missing, abs(size.0 - width) + abs(size.1 - height))
        }
        let rates = Self.sorted([framesPerSecond] + Self.usualRates) { rate in
            (max(0, framesPerSecond - rate), abs(rate - framesPerSecond))
        }
        for (width, height) in sizes {
            let codings = width * height <= Self.largestRawArea ? [false, true] : [true, false]
            for rate in rates {
                for isJPEG in codings {
                    let mode = VideoMode(isJPEG: isJPEG, width: width, height: height, framesPerSecond: rate)
                    if canGive(mode) { return mode }
                }
            }
        }
        return nil
    }

    private static func sorted<Value>(_ values: [Value], _ distance: (Value) -> (Int, Int)) -> [Value] {
        values.sorted { distance($0) < distance($1) }
    }
}
