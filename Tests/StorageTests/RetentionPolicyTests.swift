// SPDX-License-Identifier: Apache-2.0

import Basics
import Storage
import Testing

@Suite struct RetentionPolicyTests {
    private static let day: Int64 = 86_400_000_000_000
    private static let now = UTCTime(nanosecondsSince1970: 20_000 * Self.day)

    private static func candidate(daysAgo: Int64, bytes: Int64 = 10) -> RetentionPolicy.Candidate {
        RetentionPolicy.Candidate(
            id: .random(),
            end: UTCTime(nanosecondsSince1970: Self.now.nanosecondsSince1970 - daysAgo * Self.day),
            bytes: bytes,
            isFinished: true
        )
    }

    private func reasons(
        _ policy: RetentionPolicy,
        _ candidates: [RetentionPolicy.Candidate],
        totalBytes: Int64? = nil
    ) -> [RecordingID: RetentionPolicy.Reason] {
        let total = totalBytes ?? candidates.reduce(0) { $0 + $1.bytes }
        let deletions = policy.decision(on: candidates, totalBytes: total, now: Self.now).deletions
        return Dictionary(uniqueKeysWithValues: deletions.map { ($0.id, $0.reason) })
    }

    @Test func keepsEverythingUnlessToldOtherwise() {
        #expect(self.reasons(RetentionPolicy(), [Self.candidate(daysAgo: 5000)]).isEmpty)
    }

    @Test func deletesByAgeOldestFirst() {
        let candidates = [2, 40, 30, 31].map { Self.candidate(daysAgo: $0) }
        let deletions = RetentionPolicy(keep: .seconds(30 * 86_400)).decision(
            on: candidates,
            totalBytes: 40,
            now: Self.now
        ).deletions
        #expect(deletions.map(\.id) == [candidates[1].id, candidates[3].id])
        #expect(deletions.allSatisfy { $0.reason == .age })
    }

    @Test func deletesBySizeOldestFirstAndNoMoreThanNeeded() {
        let candidates = [1, 2, 3, 4].map { Self.candidate(daysAgo: $0, bytes: 100) }
        let reasons = self.reasons(RetentionPolicy(keepBytes: 250), candidates)
        #expect(reasons == [candidates[3].id: .size, candidates[2].id: .size])
        #expect(self.reasons(RetentionPolicy(keepBytes: 400), candidates).isEmpty)
    }

    @Test func whatGoesByAgeCountsForSize() {
        let candidates = [40, 2, 1].map { Self.candidate(daysAgo: $0, bytes: 100) }
        let policy = RetentionPolicy(keep: .seconds(30 * 86_400), keepBytes: 200)
        #expect(self.reasons(policy, candidates) == [candidates[0].id: .age])
    }

    /// The reasons that keep a recording from being deleted.
    enum Protection: CaseIterable {
        case goesOn, isBeingExported, isUnexported, isUnreadable
    }

    @Test(arguments: Protection.allCases)
    func neverDeletesWhatIsInUseUnexportedOrUnreadable(protection: Protection) {
        var protected = Self.candidate(daysAgo: 400, bytes: 1000)
        switch protection {
        case .goesOn: protected.isFinished = false
        case .isBeingExported: protected.isBeingExported = true
        case .isUnexported: protected.isUnexported = true
        case .isUnreadable: protected.isReadable = false
        }
        let other = Self.candidate(daysAgo: 1, bytes: 10)
        let policy = RetentionPolicy(keep: .seconds(30 * 86_400), keepBytes: 500)
        // Its bytes count all the same, so that the other one goes.
        #expect(self.reasons(policy, [protected, other]) == [other.id: .size])
    }

    /// By the two ways in which a recording's time comes.
    private static let policies = [RetentionPolicy(keep: .seconds(30 * 86_400)), RetentionPolicy(keepBytes: 0)]

    @Test(arguments: Self.policies)
    func namesWhatItLeavesToAPerson(policy: RetentionPolicy) {
        var unexported = Self.candidate(daysAgo: 400)
        unexported.isUnexported = true
        var unreadable = Self.candidate(daysAgo: 300)
        (unreadable.isReadable, unreadable.isUnexported) = (false, true)
        var queued = Self.candidate(daysAgo: 500)
        (queued.isUnexported, queued.isBeingExported) = (true, true)
        var active = Self.candidate(daysAgo: 600)
        (active.isUnexported, active.isFinished) = (true, false)
        let fine = Self.candidate(daysAgo: 200)
        let decision = policy.decision(
            on: [fine, active, unreadable, queued, unexported],
            totalBytes: 50,
            now: Self.now
        )
        #expect(decision.deletions.map(\.id) == [fine.id])
        #expect(decision.heldBack.map(\.id) == [unexported.id, unreadable.id])
        #expect(decision.heldBack.map(\.obstacle) == [.unexported, .unreadable])
    }

    @Test func namesNothingWhoseTimeHasNotCome() {
        var unexported = Self.candidate(daysAgo: 3, bytes: 100)
        unexported.isUnexported = true
        let policy = RetentionPolicy(keep: .seconds(30 * 86_400), keepBytes: 100)
        let decision = policy.decision(on: [unexported], totalBytes: 100, now: Self.now)
        #expect(decision.deletions.isEmpty && decision.heldBack.isEmpty)
    }

    @Test func aClockThatWasWrongDeletesNothingByAge() {
        let future = Self.candidate(daysAgo: -300)
        let extremes = RetentionPolicy.Candidate(
            id: .random(),
            end: UTCTime(nanosecondsSince1970: .max),
            bytes: .max,
            isFinished: true
        )
        #expect(self.reasons(RetentionPolicy(keep: .zero), [future, extremes], totalBytes: 0).isEmpty)
    }

    @Test func bytesThatCannotBeDoNotTrap() {
        let candidates = [Self.candidate(daysAgo: 2, bytes: .max), Self.candidate(daysAgo: 1, bytes: .min)]
        let reasons = self.reasons(RetentionPolicy(keepBytes: 0), candidates, totalBytes: .min)
        #expect(reasons.isEmpty)
        #expect(self.reasons(RetentionPolicy(keepBytes: 0), candidates, totalBytes: .max) == [candidates[0].id: .size])
    }
}
