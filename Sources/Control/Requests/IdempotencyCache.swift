// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
internal import Platform

/// Answers to requests with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent
/// again, because its answer was lost, is answered as before and does nothing twice.
struct IdempotencyCache: Sendable {
    /// How long an answer is kept.
    static let lifetime: Duration = .seconds(24 * 3600)

    /// Which request it is.
    struct Key: Hashable, Sendable {
        /// The token's name.
        var client: String
        /// Method and path.
        var target: String
        /// `Idempotency-Key`.
        var key: String
    }

    /// The decision about a request.
    enum Verdict: Sendable, Hashable {
        /// It is new: perform it, then call `finished`.
        case perform
        /// It was performed: this was the answer.
        case replay(Reply)
        /// It is being performed at this moment.
        case busy
        /// The key was used with another body.
        case mismatch
    }

    private struct Entry: Sendable {
        var body: SHA256Digest
        var reply: Reply?
        var end: Duration
    }

    private var entries: LeastRecentlyUsed<Key, Entry>

    /// No answer; at most `capacity` of them, of which the one unused longest is forgotten for another.
    init(capacity: Int = 1000) {
        self.entries = LeastRecentlyUsed(capacity: capacity)
    }

    var count: Int { self.entries.count }

    /// A request came.
    mutating func requested(_ key: Key, body: some Sequence<UInt8>, now: Duration) -> Verdict {
        let digest = SHA256Digest(of: body)
        if let entry = self.entries[key], now < entry.end {
            guard entry.body == digest else { return .mismatch }
            return entry.reply.map { .replay($0) } ?? .busy
        }
        self.entries[key] = Entry(body: digest, reply: nil, end: now + Self.lifetime)
        return .perform
    }

    /// A request was performed; a failure of ours (5xx) is not kept, so that it can be tried again.
    mutating func finished(_ key: Key, _ reply: Reply) {
        guard var entry = self.entries[key] else { return }
        guard reply.status.code < 500 else {
            self.entries[key] = nil
            return
        }
        entry.reply = reply
        self.entries[key] = entry
    }
}
