// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Cluster
public import Model
public import Signalling

/// One room of the configuration: the spec of its workers, and when there are any.
public struct RoomConfiguration: Sendable, Hashable {
    /// The spec of its workers, without what the host has for all rooms.
    public var spec: RoomSpec
    /// Where it is.
    public var address: ConfiguredRoomURL
    /// When we are in it.
    public var join: JoinRule
    /// Whether we leave when the last other participant has left; an `always` room is then joined again only on demand.
    public var untilEmpty: Bool
    /// What is posted into the room's chat when a recording starts; `nil` for nothing.
    public var announcement: String?
    /// What is exported of recordings; of no meaning where nothing is recorded.
    public var exports = [ExportSpec()]
    /// The exports of each recording, in this order; `nil` where nothing is recorded.
    public var exportOrders: [ExportSpec]? { self.spec.record == nil ? nil : self.exports }
    /// How much of a host's capacity it takes in a cluster, 1 to 1000.
    public var cost = 1
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

    /// Whether anything can be sent into it: WHEP only plays.
    public var takesMedia: Bool { type(of: self.address.url.address).flow != .fromRoom }

    /// Whether two of us exclude each other there: a publish point, or an account that is logged in once.
    public var takesOneMember: Bool {
        type(of: self.address.url.address).flow == .toRoom || self.address.url.address is RoomURL.XMPP
    }

    /// What differs from another definition of the room; empty if they mean the same.
    public func changes(from old: RoomConfiguration) -> Set<RoomPart> {
        var parts = self.spec.changes(from: old.spec)
        if self.join != old.join { parts.insert(.join) }
        if self.untilEmpty != old.untilEmpty { parts.insert(.untilEmpty) }
        if self.cost != old.cost { parts.insert(.cost) }
        if self.exports != old.exports || self.announcement != old.announcement { parts.insert(.record) }
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

/// The keys of a room.
enum RoomKeys {
    static let url = Key("url", .roomURL)
    static let displayName = Key("display_name", .line(maximum: 128))
    static let announce = Key("announce", .line(maximum: 240))
    static let secret = Key("secret", .password(maximum: 1024), isSecret: true)
    static let untilEmpty = Key("until_empty", .boolean)
    static let priority = Key("priority", .integer(RoomSpec.priorityRange))
    static let cost = Key("cost", .integer(RoomRecord.costs))
    static let whenCutOff = Key("when_cut_off", ValueType<RoomRecord.CutOff>.choice)

    static let table = KeyTable(
        url.entry,
        displayName.entry,
        announce.entry,
        secret.entry,
        KeyTable.Entry(name: "join", shape: .mapping(ScheduleKeys.table)),
        untilEmpty.entry,
        priority.entry,
        KeyTable.Entry(name: "record", shape: .mapping(RecordKeys.table)),
        KeyTable.Entry(name: "outputs", shape: .list(OutputKeys.table)),
        KeyTable.Entry(name: "send", shape: .mapping(SendKeys.table)),
        KeyTable.Entry(name: "rejoin", shape: .mapping(Rejoin.table)),
        cost.entry,
        KeyTable.Entry(name: "hosts", shape: .mapping(Hosts.table)),
        whenCutOff.entry
    )

    /// The keys of `hosts`.
    enum Hosts {
        static let require = Key("require", .label)
        static let prefer = Key("prefer", .label)

        static let table = KeyTable(require.entry, prefer.entry)
    }

    /// The keys of `rejoin`.
    enum Rejoin {
        static let afterKick = Key(
            "after_kick",
            ValueType<Int>.seconds(RoomSpec.waitRange, example: "5m").or("never")
        )
        static let whenFull = Key("when_full", .seconds(RoomSpec.waitRange, example: "30s"))

        static let table = KeyTable(afterKick.entry, whenFull.entry)
    }

    /// Whether a text can name a room: 1 to 64 letters, digits, `-`, `_` and `.`, the first a letter or digit.
    static func isName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count) else { return false }
        return text.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case 0x2D, 0x2E, 0x5F: index > 0
            default: false
            }
        }
    }
}

extension RoomConfiguration {
    /// Reads a room; nil, with problems, if its URL is missing or wrong.
    init?(name: String, _ reader: MappingReader, definition: JSONValue) {
        // Without it, the rest is read for its problems.
        let url = reader.required(RoomKeys.url)
        let displayName = reader.value(RoomKeys.displayName)
        let announcement = reader.value(RoomKeys.announce)
        let secret = reader.value(RoomKeys.secret)
        let join = JoinRule(reader)
        let untilEmpty = reader.value(RoomKeys.untilEmpty)
        let priority = reader.value(RoomKeys.priority)
        let (record, exports) = Self.readRecord(reader)
        let send = SendSpec.read(reader)
        let rejoin = reader.mapping("rejoin", RoomKeys.Rejoin.table)
        let afterKick = rejoin?.value(RoomKeys.Rejoin.afterKick)
        let whenFull = rejoin?.value(RoomKeys.Rejoin.whenFull)
        let outputs = OutputSpec.read(reader)
        let cost = reader.value(RoomKeys.cost)
        Self.checkHosts(reader)
        guard let url else { return nil }
        Self.checkScheme(of: url.address.url, sends: send != nil, reader)
        if announcement != nil { Self.checkChat(of: url.address.url, isTaken: record?.chat ?? true, reader) }
        self.init(name: name, url: url.text, address: url.address, definition: definition)
        self.spec.displayName = displayName
        self.spec.secret = secret
        self.spec.priority = priority ?? self.spec.priority
        self.spec.record = record
        self.spec.send = send
        self.spec.outputs = outputs
        self.spec.afterKickSeconds = afterKick ?? self.spec.afterKickSeconds
        self.spec.whenFullSeconds = whenFull ?? self.spec.whenFullSeconds
        self.join = join ?? self.join
        self.untilEmpty = untilEmpty ?? self.untilEmpty
        self.exports = exports
        self.cost = cost ?? self.cost
        self.announcement = announcement
        self.spec.record?.announcement = announcement
    }

    /// Adds what is wrong with the choice of hosts, which a cluster reads in the definition.
    private static func checkHosts(_ reader: MappingReader) {
        _ = reader.value(RoomKeys.whenCutOff)
        guard let hosts = reader.mapping("hosts", RoomKeys.Hosts.table) else { return }
        for key in [RoomKeys.Hosts.require, RoomKeys.Hosts.prefer] { _ = hosts.labels(key) }
    }

    /// Adds what keeps an announcement from all participants.
    private static func checkChat(of url: RoomURL, isTaken: Bool, _ reader: MappingReader) {
        let kind = type(of: url.address)
        if !kind.hasChat {
            reader.add(
                RoomKeys.announce.name,
                "\(kind.protocolName) has no chat that it could be posted into",
                accepted: "no announce"
            )
        } else if !isTaken {
            reader.add(RoomKeys.announce.name, "record.chat is off", accepted: "record.chat: true, or no announce")
        }
    }

    /// Adds what a room's protocol cannot do, or cannot do without.
    private static func checkScheme(of url: RoomURL, sends: Bool, _ reader: MappingReader) {
        let isSendTold = reader.has("send") && reader.node("send")?.isWord("none") != true
        switch type(of: url.address).flow {
        case .toRoom where !isSendTold:
            reader.add("send", "whip publishes, and without it there is nothing to do", accepted: "what is sent")
        case .fromRoom where sends:
            reader.add("send", "whep plays, and takes nothing that we could send", accepted: "send: none")
        case .both, .toRoom, .fromRoom: break
        }
        if url.address is RoomURL.XMPP, !reader.has(RoomKeys.secret.name) {
            reader.add(RoomKeys.secret.name, "missing", accepted: "the password of the account")
        }
    }
}
