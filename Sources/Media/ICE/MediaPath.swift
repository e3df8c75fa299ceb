// SPDX-License-Identifier: Apache-2.0

public import GStreamer

/// The way that media take between a peer and us.
public struct MediaPath: Sendable, Hashable {
    /// The candidates that ICE chose.
    public var pair: SelectedPair
    /// URL of the TURN server that lends us our end, without secrets; nil if none does.
    ///
    /// Several, with `or` between them, if they share address and port.
    public var relay: String?
}
