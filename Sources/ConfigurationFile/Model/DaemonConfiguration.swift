// SPDX-License-Identifier: Apache-2.0

public import Rooms

/// Everything that the daemon's configuration file says, checked, with defaults filled in.
///
/// The keys of the file, their units and ranges are documented in `docs/tapedeck.example.yaml`.
public struct DaemonConfiguration: Sendable, Hashable {
    /// Where recordings are kept, and for how long.
    public var storage = StorageConfiguration()
    /// How peers reach us.
    public var ice = NetworkSpec()
    /// The HTTP interface.
    public var api = APIConfiguration()
    /// Who is told what happens.
    public var webhooks = WebhooksConfiguration()
    /// The processes that are in the rooms.
    public var workers = WorkersConfiguration()
    /// Where pipeline files are.
    public var pipelines = PipelinesConfiguration()
    /// The RTSP server; `nil` where there is none.
    public var rtsp: RTSPConfiguration?
    /// The rooms by name; a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter or digit.
    public var rooms: [String: RoomConfiguration] = [:]

    /// Every key at its default, and no room.
    public init() {}
}
