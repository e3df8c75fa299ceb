// SPDX-License-Identifier: Apache-2.0

/// The revision of the Engine.IO protocol, as the query key `EIO` spells it.
///
/// socket.io 1.x and 2.x speak 3; socket.io 3.x and 4.x speak 4.
public enum EngineIOVersion: Int, Sendable, Hashable, CaseIterable {
    /// Length-prefixed payloads; the client pings.
    case three = 3
    /// Payloads separated by 0x1e; the server pings.
    case four = 4
}
