// SPDX-License-Identifier: Apache-2.0

import Signalling

/// Candidates in the order of arrival, with a limit; what comes after it is dropped.
struct CandidateQueue: Equatable, Sendable {
    private(set) var candidates: [ICECandidate] = []
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes the candidate; false if the limit is reached.
    mutating func append(_ candidate: ICECandidate) -> Bool {
        guard self.candidates.count < self.limit else { return false }
        self.candidates.append(candidate)
        return true
    }

    /// Empties the queue.
    mutating func takeAll() -> [ICECandidate] {
        defer { self.candidates = [] }
        return self.candidates
    }
}

extension ICECandidate {
    /// The `ufrag` extension (RFC 8838 section 10), which names the ICE session that the candidate belongs to.
    var usernameFragment: Substring? {
        var parts = self.line.split(separator: " ").makeIterator()
        while let name = parts.next() {
            if name == "ufrag" { return parts.next() }
        }
        return nil
    }
}
