// SPDX-License-Identifier: Apache-2.0

/// Whether an output works, as its counters and its set-up show.
struct OutputHealth: Sendable, Hashable {
    /// The new state.
    enum Change: Sendable, Hashable {
        case failed(reason: String)
        case recovered
    }

    /// Why packets do not get away; nil if they do.
    private(set) var problem: String?
    private var setUp: String?
    private var isUnknown = false
    /// Seconds without a drop.
    private var good = 0

    mutating func noteLookUp(_ isFound: Bool) { self.isUnknown = !isFound }

    mutating func beginSetUp() { self.setUp = nil }

    mutating func noteSetUp(_ problem: String) { self.setUp = problem }

    /// Looks at what was counted in the last second.
    ///
    /// A closed port of this host drops every other packet. One that is lost now and then is no failure; three seconds
    /// without any are an end of it.
    mutating func examine(packets: UInt64, dropped: UInt64, error: String?) -> Change? {
        let reason: String? =
            if self.isUnknown {
                "the host is not found"
            } else if let setUp = self.setUp {
                setUp
            } else if dropped > 0, dropped >= packets / 4 {
                error ?? "packets are dropped"
            } else {
                nil
            }
        self.good = reason == nil && dropped == 0 ? self.good + 1 : 0
        guard let reason else {
            guard self.problem != nil, self.good >= 3, packets > 0 else { return nil }
            self.problem = nil
            return .recovered
        }
        defer { self.problem = reason }
        return self.problem == nil ? .failed(reason: reason) : nil
    }
}
