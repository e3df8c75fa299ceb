// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@Suite struct RecordSpecTests {
    private static let wrong: [(String, @Sendable (inout RecordSpec) -> Void)] = [
        ("emptyAfterSeconds takes 1 to 86400, not 0", { $0.emptyAfterSeconds = 0 }),
        ("segmentSeconds takes 1 to 604800, not 604801", { $0.segmentSeconds = 604_801 }),
        ("segmentBytes takes 1 and more, not 0", { $0.segmentBytes = 0 }),
        ("prerollMilliseconds takes 0 to 60000, not -1", { $0.prerollMilliseconds = -1 }),
        ("synchroniseMilliseconds takes 100 to 60000, not 99", { $0.synchroniseMilliseconds = 99 }),
        ("without video and audio there is nothing to record", { ($0.video, $0.audio) = (false, false) }),
    ]

    @Test(arguments: Self.wrong.indices)
    func saysWhatIsWrong(index: Int) {
        let (sentence, change) = Self.wrong[index]
        var spec = RecordSpec()
        #expect(spec.problems.isEmpty)
        change(&spec)
        #expect(spec.problems.map(\.description) == [sentence])
    }

    @Test func everythingWrongIsSaid() {
        var spec = RecordSpec()
        (spec.emptyAfterSeconds, spec.segmentBytes, spec.video, spec.audio) = (0, 0, false, false)
        #expect(spec.problems.count == 3)
    }
}
