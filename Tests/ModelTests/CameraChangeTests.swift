// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@Suite struct CameraChangeTests {
    private static func order() -> SendSpec {
        var order = SendSpec(video: .camera("/dev/video0"), audio: .test)
        (order.parameters, order.preferredCodec, order.isFrozen) = (["mode": "x"], .h264, true)
        return order
    }

    @Test func nothingChangesNothing() {
        #expect(CameraChange().applied(to: Self.order()) == Self.order())
    }

    @Test func whatIsNamedChanges() {
        var change = CameraChange()
        (change.width, change.height, change.framesPerSecond) = (640, 360, 15)
        (change.bitsPerSecond, change.audioBitsPerSecond) = (500_000, 32_000)
        (change.isVideoMuted, change.isAudioMuted, change.isFrozen) = (true, true, false)
        var expected = Self.order()
        (expected.width, expected.height, expected.framesPerSecond) = (640, 360, 15)
        (expected.bitsPerSecond, expected.audioBitsPerSecond) = (500_000, 32_000)
        (expected.isVideoMuted, expected.isAudioMuted, expected.isFrozen) = (true, true, false)
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
            (nil, nil, ["mode": "x"]), (.camera("/dev/video0"), nil, ["mode": "x"]), (.test, nil, [:]),
            (.test, ["pattern": "ball"], ["pattern": "ball"]), (nil, ["mode": "y"], ["mode": "y"]),
        ] as [(MediaSource?, [String: String]?, [String: String])]
    )
    func parametersGoWithTheirCapture(video: MediaSource?, given: [String: String]?, expected: [String: String]) {
        var change = CameraChange()
        (change.video, change.parameters) = (video, given)
        let changed = change.applied(to: Self.order())
        #expect(changed.parameters == expected && changed.video == video ?? .camera("/dev/video0"))
        change.audio = MediaSource("alsa:default")
        #expect(change.applied(to: Self.order()).parameters == given ?? [:])
    }
}
