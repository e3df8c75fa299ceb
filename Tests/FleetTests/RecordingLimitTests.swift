// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model
import Testing

@Suite struct RecordingLimitTests {
    private static func order(video: Bool, audio: Bool) -> RecordSpec {
        var order = RecordSpec()
        (order.video, order.audio) = (video, audio)
        return order
    }

    @Test func aDiskThatFillsTakesPicturesFirst() {
        let all = Self.order(video: true, audio: true)
        #expect(RecordingLimit.everything.limited(all) == all)
        #expect(RecordingLimit.audioOnly.limited(all) == Self.order(video: false, audio: true))
        #expect(RecordingLimit.audioOnly.limited(Self.order(video: true, audio: false)) == nil)
        #expect(RecordingLimit.nothing.limited(all) == nil)
        for limit in RecordingLimit.allCases { #expect(limit.limited(nil) == nil) }
    }
}
