// SPDX-License-Identifier: Apache-2.0

/// Names one peer connection of one session.
///
/// Numbers increase and are never used again, so a late event of a closed connection cannot touch its successor.
public struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Position in the order in which the session opened its connections, from 1.
    public let rawValue: UInt64

    /// Names the connection with this number; only tests and the machine make one.
    public init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The number as text.
    public var description: String { "\(self.rawValue)" }

    /// Orders connections by age, oldest first.
    public static func < (lhs: ConnectionID, rhs: ConnectionID) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// Names one run of one timer.
public struct TimerID: Hashable, Sendable {
    /// The purpose of a timer; for logs.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// Time for a new connection to connect.
        case connect
        /// Time for ICE to find a path again.
        case disconnected
        /// Time for a silent peer to be heard again.
        case stale
        /// A wait before the next attempt.
        case backOff
        /// The window in which new connections and failures of one peer are counted.
        case burst
        /// The window in which call resets of one peer are counted.
        case resets
        /// Time for a peer without a connection to come back.
        case returning
        /// Time for the session to end.
        case stop
    }

    /// The purpose of the timer.
    public let purpose: Purpose
    /// A number that no other run of any timer of the session has.
    public let serial: UInt64

    /// Names a run; only tests and the machine make one.
    public init(purpose: Purpose, serial: UInt64) {
        self.purpose = purpose
        self.serial = serial
    }
}

/// Which side of one peer connection writes the offer (RFC 3264), and whether media may go both ways.
public enum CallRole: Hashable, Sendable {
    /// We offer.
    case offerer
    /// We offer to send only, to an endpoint that is no peer.
    case publisher
    /// The peer offers.
    case answerer
    /// The peer offers, and takes nothing of us: the server takes our media elsewhere.
    case subscriber

    /// Whether the offer is ours.
    var offers: Bool {
        switch self {
        case .offerer, .publisher: true
        case .answerer, .subscriber: false
        }
    }
}
