// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Rooms
public import Signalling

/// One room of the configuration: what its workers are told, and when there are any.
public struct RoomConfiguration: Sendable, Hashable {
    /// What its workers are told, but for what the host has for all rooms.
    public var spec: RoomSpec
    /// Where it is.
    public var address: ConfiguredRoomURL
    /// When we are in it.
    public var join: JoinRule
    /// Whether we leave when the last other participant has left; an `always` room is then joined again only on demand.
    public var untilEmpty: Bool
    /// What is exported of recordings; of no meaning where nothing is recorded.
    public var export = ExportConfiguration()
    /// The room as it was written, `${…}` unreplaced: what a merge patch applies to.
    public var definition: JSONValue

    /// A room that is always joined and recorded, and nothing is sent.
    ///
    /// - Parameter url: the text of the address, with its secrets.
    public init(name: String, url: Secret, address: ConfiguredRoomURL, definition: JSONValue) {
        self.spec = RoomSpec(name: name, url: url.value, storage: "")
        self.spec.record = RecordSpec()
        self.spec.whenFullSeconds = 30
        self.spec.afterKickSeconds = 300
        self.address = address
        self.join = .always
        self.untilEmpty = false
        self.definition = definition
    }

    /// Its name in the configuration: how people, the HTTP interface and the log speak of it.
    public var name: String { self.spec.name }

    /// What differs from another definition of the room; empty if they mean the same.
    public func changes(from old: RoomConfiguration) -> Set<RoomPart> {
        var parts = self.spec.changes(from: old.spec)
        if self.join != old.join { parts.insert(.join) }
        if self.untilEmpty != old.untilEmpty { parts.insert(.untilEmpty) }
        if self.export != old.export { parts.insert(.record) }
        return parts
    }
}

/// A room URL that does not show its secrets.
public struct ConfiguredRoomURL: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The URL, checked.
    public let url: RoomURL
    /// The URL as it was written, `${…}` unreplaced: what people are shown.
    public let description: String

    /// An address with each part given.
    public init(url: RoomURL, description: String) {
        self.url = url
        self.description = description
    }

    /// The URL as it was written.
    public var debugDescription: String { self.description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// When we are in a room.
public enum JoinRule: Sendable, Hashable, CustomStringConvertible {
    /// As long as the daemon runs.
    case always
    /// From when somebody asks until somebody asks otherwise.
    case onDemand
    /// In the windows of a schedule.
    case schedule(Schedule)

    /// As the HTTP interface shows it.
    public var description: String {
        switch self {
        case .always: "always"
        case .onDemand: "on-demand"
        case .schedule(let schedule): schedule.description
        }
    }
}
