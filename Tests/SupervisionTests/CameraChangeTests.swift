// SPDX-License-Identifier: Apache-2.0

import Supervision
import Testing

@Suite struct CameraChangeTests {
    private static func order() -> CameraOrder {
        var order = CameraOrder(video: "v4l2:/dev/video0", audio: "test")
        (order.parameters, order.preferredCodec, order.frozen) = (["mode": "x"], "h264", true)
        return order
    }

    @Test func nothingChangesNothing() {
        #expect(CameraChange().applied(to: Self.order()) == Self.order())
    }

    @Test func whatIsNamedChanges() {
        var change = CameraChange()
        (change.width, change.height, change.framesPerSecond) = (640, 360, 15)
        (change.bitsPerSecond, change.audioBitsPerSecond) = (500_000, 32_000)
        (change.videoMuted, change.audioMuted, change.frozen) = (true, true, false)
        var expected = Self.order()
        (expected.width, expected.height, expected.framesPerSecond) = (640, 360, 15)
        (expected.bitsPerSecond, expected.audioBitsPerSecond) = (500_000, 32_000)
        (expected.videoMuted, expected.audioMuted, expected.frozen) = (true, true, false)
        #expect(change.applied(to: Self.order()) == expected)
    }

    @Test func theLeastIsNoMoreThanTheMost() {
        var change = CameraChange()
        change.bitsPerSecond = 60_000
        #expect(change.applied(to: Self.order()).minimumBitsPerSecond == 60_000)
        change.bitsPerSecond = 2_000_000
        #expect(change.applied(to: Self.order()).minimumBitsPerSecond == Self.order().minimumBitsPerSecond)
    }

    /// Parameters are those of the captures.
    @Test(
        arguments: [
            (nil, nil, ["mode": "x"]), ("v4l2:/dev/video0", nil, ["mode": "x"]), ("test", nil, nil),
            ("test", ["pattern": "ball"], ["pattern": "ball"]), (nil, ["mode": "y"], ["mode": "y"]),
        ] as [(String?, [String: String]?, [String: String]?)]
    )
    func parametersGoWithTheirCapture(video: String?, given: [String: String]?, expected: [String: String]?) {
        var change = CameraChange()
        (change.video, change.parameters) = (video, given)
        let changed = change.applied(to: Self.order())
        #expect(changed.parameters == expected && changed.video == video ?? "v4l2:/dev/video0")
        change.audio = "alsa:default"
        #expect(change.applied(to: Self.order()).parameters == given)
    }
}
