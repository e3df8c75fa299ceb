// SPDX-License-Identifier: Apache-2.0

import Basics

/// Whether the wall clock can be believed when it says that something is old.
///
/// A clock that was put right looks like one that was put wrong: after either it takes a day until age counts again.
/// What it remembers outlives the daemon, so that a host that starts with a wrong clock is noticed, too. Pure; see decision 108.
struct ClockWatch: Sendable {
    /// Why age does not count.
    enum Doubt: Sendable, Hashable {
        /// The clock was set, or a host came up with another time than the last one and what it ran for explain.
        case step
        /// The kernel says that nothing keeps the clock in time, where something did before.
        case unsynchronised
    }

    /// What outlives the daemon.
    struct Memory: Sendable, Hashable, Codable {
        /// The wall clock at the last look.
        var wallNanoseconds: Int64
        /// The clock that never stops nor is set, at the same instant.
        var bootNanoseconds: Int64
        /// The run of the kernel that this clock belongs to.
        var bootID: String
        /// How much longer the wall clock is doubted.
        var doubtNanoseconds: Int64 = 0
        /// Whether something kept the clock in time, at the last look.
        var isSynchronised: Bool?
        /// Whether something ever did.
        var wasSynchronised = false
        /// For how long nothing has since then.
        var unsynchronisedNanoseconds: Int64 = 0
    }

    /// The clock drifts and is corrected by less between two looks.
    private static let largestCorrection = Duration.seconds(3600)
    /// The time in which an operator can notice that it is wrong.
    private static let doubt = Duration.seconds(86_400)
    /// A host without what kept its clock in time for so long has been made one that has none.
    private static let longestUnsynchronised = Duration.seconds(30 * 86_400)

    /// What is to be remembered; `nil` before the first look.
    private(set) var memory: Memory?
    /// Why age does not count since the last look; `nil` if it does.
    private(set) var doubt: Doubt?
    /// When something was last written here, by the wall clock: all that is known where nothing is remembered.
    private let lastWrite: UTCTime?

    /// A watch that continues from what was remembered.
    init(memory: Memory? = nil, lastWrite: UTCTime? = nil) {
        self.memory = memory
        self.lastWrite = lastWrite
    }

    /// Until when the wall clock is doubted because it was set, by the clock that is not.
    var doubtedUntil: Duration? {
        guard let memory = self.memory, memory.doubtNanoseconds > 0 else { return nil }
        return .nanoseconds(memory.bootNanoseconds) + .nanoseconds(memory.doubtNanoseconds)
    }

    /// Looks at the clocks; true if age counts.
    ///
    /// - Parameters:
    ///   - monotonic: time since the host came up, sleep included.
    ///   - bootID: the run of the kernel.
    ///   - isSynchronised: whether the kernel says that something keeps the clock in time; `nil` if it does not say.
    mutating func isBelieved(
        wall: UTCTime,
        monotonic: Duration,
        bootID: String = "",
        isSynchronised: Bool? = nil
    ) -> Bool {
        var now = Memory(
            wallNanoseconds: wall.nanosecondsSince1970,
            bootNanoseconds: monotonic.nanoseconds,
            bootID: bootID,
            isSynchronised: isSynchronised
        )
        var elapsed = Duration.zero
        var isStep = false
        if let before = self.memory {
            now.doubtNanoseconds = before.doubtNanoseconds
            now.wasSynchronised = before.wasSynchronised
            now.unsynchronisedNanoseconds = before.unsynchronisedNanoseconds
            let change = Duration.nanoseconds(now.wallNanoseconds) - .nanoseconds(before.wallNanoseconds)
            if before.bootID == bootID {
                elapsed = max(.zero, monotonic - .nanoseconds(before.bootNanoseconds))
                isStep = max(change - elapsed, elapsed - change) > Self.largestCorrection
                // Another clock has just been asked, and had nothing to correct.
                if isSynchronised == true, before.isSynchronised == false { now.doubtNanoseconds = 0 }
            } else if isSynchronised == true {
                // It was off for as long as it was: there is another clock that says so.
                now.doubtNanoseconds = 0
            } else {
                isStep = change > monotonic + Self.largestCorrection || change < .zero - Self.largestCorrection
            }
        } else if let lastWrite = self.lastWrite {
            let change = Duration.nanoseconds(now.wallNanoseconds) - .nanoseconds(lastWrite.nanosecondsSince1970)
            isStep = change > monotonic + Self.largestCorrection
        }
        now.doubtNanoseconds = isStep ? Self.doubt.nanoseconds : max(0, now.doubtNanoseconds - elapsed.nanoseconds)
        switch isSynchronised {
        case true:
            (now.wasSynchronised, now.unsynchronisedNanoseconds) = (true, 0)
        case false where now.wasSynchronised:
            now.unsynchronisedNanoseconds += elapsed.nanoseconds
            if now.unsynchronisedNanoseconds >= Self.longestUnsynchronised.nanoseconds { now.wasSynchronised = false }
        case false, nil:
            // Containers and hosts that nothing keeps in time say so for ever, or nothing: their kernel's word is no news.
            break
        }
        self.memory = now
        let isAlone = isSynchronised == false && now.wasSynchronised
        self.doubt = now.doubtNanoseconds > 0 ? .step : isAlone ? .unsynchronised : nil
        return self.doubt == nil
    }
}
