// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Files as foreign programs read them.
enum Tool {
    static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// The number of buffers that GStreamer's demuxer gives out, over all its pads.
    static func gstreamerBuffers(_ path: String, pads: [String]) throws -> Int {
        // One run a pad: messages of several streaming threads at once get lost on the way to the terminal.
        try pads.map { pad in
            let result = try Command.run(
                "gst-launch-1.0",
                [
                    "-v", "filesrc", "location=\(path)", "!", "matroskademux", "name=d", "d.\(pad)", "!", "fakesink",
                    "silent=false", "sync=false", "async=false",
                ]
            )
            #expect(result.status == 0, "gst-launch-1.0: \(result.standardError)")
            return result.text.split(separator: "\n").count { $0.contains("last-message = chain") }
        }.reduce(0, +)
    }
}
