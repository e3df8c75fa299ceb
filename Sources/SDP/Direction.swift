// SPDX-License-Identifier: Apache-2.0

/// Which way media flows, seen from the side whose description says it (RFC 8866 section 6.7).
public enum Direction: String, Sendable, Hashable, CaseIterable {
    /// Both ways.
    case sendrecv
    /// From that side only.
    case sendonly
    /// To that side only.
    case recvonly
    /// Neither way.
    case inactive

    /// The direction for the given flags.
    public init(sends: Bool, receives: Bool) {
        self =
            switch (sends, receives) {
            case (true, true): .sendrecv
            case (true, false): .sendonly
            case (false, true): .recvonly
            case (false, false): .inactive
            }
    }

    /// Whether that side may send.
    public var sends: Bool { self == .sendrecv || self == .sendonly }
    /// Whether that side is ready to receive.
    public var receives: Bool { self == .sendrecv || self == .recvonly }
    /// The same flow seen from the other side.
    public var reversed: Direction { Direction(sends: self.receives, receives: self.sends) }

    /// The flow both sides agree on.
    public func intersection(_ other: Direction) -> Direction {
        Direction(sends: self.sends && other.sends, receives: self.receives && other.receives)
    }
}

/// Which side begins the DTLS handshake (RFC 8842 section 5, RFC 4145 section 4).
public enum Setup: String, Sendable, Hashable, CaseIterable {
    /// The describing side is the client.
    case active
    /// The describing side is the server.
    case passive
    /// The other side chooses; offers only.
    case actpass
}
