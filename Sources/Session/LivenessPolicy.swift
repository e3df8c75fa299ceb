// SPDX-License-Identifier: Apache-2.0

import Basics

/// Says when a peer falls silent and when it is heard again.
///
/// Times are nanoseconds of one monotonic clock. RTCP counts as well as RTP: a peer that pauses all its tracks still
/// sends reports. Nothing is expected of a peer with no agreed media in either direction: ICE alone detects whether it
/// is still there.
public struct LivenessPolicy: Sendable, Equatable {
    /// A change that the session must know.
    public enum Transition: Hashable, Sendable {
        /// Nothing was heard for the limit.
        case silent
        /// Something was heard after `silent`.
        case heard
    }

    /// Whether the peer is silent at present.
    public private(set) var isSilent = false
    private let limit: UInt64
    private var lastHeard: UInt64

    /// The policy of a peer that connected now.
    ///
    /// A negative limit counts as zero, one beyond 292 years as 292 years.
    public init(startedAt now: UInt64, limit: Duration = .seconds(10)) {
        self.limit = UInt64(max(0, limit.nanoseconds))
        self.lastHeard = now
    }

    /// Takes the newest arrival of RTP or RTCP on any track, nil if there was none yet.
    ///
    /// Called about once a second; says each change once.
    ///
    /// - Parameter isExpected: Whether the peer has something to send, be it reports about what we send.
    public mutating func update(lastHeardAt: UInt64?, isExpected: Bool = true, now: UInt64) -> Transition? {
        if !isExpected { self.lastHeard = max(self.lastHeard, now) }
        if let lastHeardAt, lastHeardAt > self.lastHeard { self.lastHeard = lastHeardAt }
        let isSilent = now > self.lastHeard && now - self.lastHeard >= self.limit
        guard isSilent != self.isSilent else { return nil }
        self.isSilent = isSilent
        return isSilent ? .silent : .heard
    }
}
