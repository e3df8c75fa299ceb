// SPDX-License-Identifier: Apache-2.0

/// Which room to join, as whom and for what: all that a signaller is made from.
public struct JoinRequest: Sendable, Hashable {
    /// The room; its scheme chooses the protocol.
    public var url: RoomURL
    /// Display name, credentials, directions and patience.
    public var options: SignallingOptions

    /// A request with each part given.
    public init(_ url: RoomURL, _ options: SignallingOptions) {
        self.url = url
        self.options = options
    }
}
