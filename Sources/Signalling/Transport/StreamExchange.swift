// SPDX-License-Identifier: Apache-2.0

/// The bare TCP stream that a machine asks for.
public enum StreamRequest: Sendable, Hashable {
    /// Connects.
    case dial(host: String, port: Int)
    /// Waits for one connection after the other; a newer one replaces the older.
    case listen(host: String, port: Int)
}

/// An event of the stream.
public enum StreamEvent: Sendable, Equatable {
    /// The port is open, and no peer is connected yet.
    case listening
    /// A connection is there; `peer` is its address and port.
    case connected(peer: String)
    /// Bytes came, in order, cut anywhere.
    case received([UInt8])
    /// The connection is gone: closed by the peer (nil) or by a failure. A listening port stays open.
    case disconnected(SignallingError?)
    /// The port could not be opened or is lost, or the connection could not be made; nothing follows.
    case failed(SignallingError)
}
