// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Daemon

@Suite struct LiveCamerasTests {
    private static let test = SendSpec()
    private static let other = SendSpec(video: MediaSource("screen"), audio: nil)

    private static func muted(_ order: SendSpec) -> SendSpec {
        var muted = order
        (muted.isVideoMuted, muted.isAudioMuted, muted.isFrozen) = (true, true, true)
        return muted
    }

    @Test func whatNobodyChangedIsAsDefined() {
        var cameras = LiveCameras()
        #expect(cameras.order(of: "a", defined: Self.test) == Self.test)
        #expect(cameras.order(of: "a", defined: nil) == nil)
    }

    @Test func aChangeHoldsWhileTheDefinitionStays() {
        var cameras = LiveCameras()
        cameras.note(Self.other, of: "a", defined: Self.test)
        #expect(cameras.order(of: "a", defined: Self.test) == Self.other)
        #expect(cameras.order(of: "b", defined: Self.test) == Self.test)
        cameras.note(nil, of: "a", defined: Self.test)
        #expect(cameras.order(of: "a", defined: Self.test) == nil)
        cameras.remove("a")
        #expect(cameras.order(of: "a", defined: Self.test) == Self.test)
    }

    @Test func anotherDefinitionShowsNobodyWhoIsMuted() {
        var cameras = LiveCameras()
        cameras.note(Self.muted(Self.test), of: "a", defined: Self.test)
        #expect(cameras.order(of: "a", defined: Self.other) == Self.muted(Self.other))
        // And the next one, also where the room sends nothing for a while.
        #expect(cameras.order(of: "a", defined: Self.test) == Self.muted(Self.test))
        #expect(cameras.order(of: "a", defined: nil) == nil)
        #expect(cameras.order(of: "a", defined: Self.test) == Self.muted(Self.test))
        cameras.note(nil, of: "a", defined: Self.test)
        #expect(cameras.order(of: "a", defined: Self.other) == Self.muted(Self.other))
        cameras.note(Self.other, of: "a", defined: Self.other)
        #expect(cameras.order(of: "a", defined: Self.test) == Self.test, "somebody took it back")
    }

    @Test func anotherDefinitionCountsForTheRest() {
        var cameras = LiveCameras()
        cameras.note(Self.other, of: "a", defined: Self.test)
        var larger = Self.test
        larger.width = 1920
        #expect(cameras.order(of: "a", defined: larger) == larger)
    }
}
