// SPDX-License-Identifier: Apache-2.0

public import Model
internal import Signalling

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
    /// Receivers of events.
    public var webhooks = WebhooksConfiguration()
    /// The processes that are in the rooms.
    public var workers = WorkersConfiguration()
    /// Where pipeline files are.
    public var pipelines = PipelinesConfiguration()
    /// The RTSP server; `nil` where there is none.
    public var rtsp: RTSPConfiguration?
    /// The cluster with which this host shares rooms; `nil` where it shares none.
    public var cluster: ClusterConfiguration?
    /// The rooms by name; a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter or digit.
    public var rooms: [String: RoomConfiguration] = [:]

    /// Every key at its default, and no room.
    public init() {}
}

/// The keys of the whole configuration.
enum RootKeys {
    /// Most rooms.
    static let maximumRooms = 10_000

    static let table = KeyTable(
        KeyTable.Entry(name: "storage", shape: .mapping(StorageKeys.table)),
        KeyTable.Entry(name: "ice", shape: .mapping(ICEKeys.table)),
        KeyTable.Entry(name: "api", shape: .mapping(APIKeys.table)),
        KeyTable.Entry(name: "webhooks", shape: .list(WebhookKeys.table)),
        WebhookKeys.allowedHosts.entry,
        KeyTable.Entry(name: "workers", shape: .mapping(WorkersKeys.table)),
        KeyTable.Entry(name: PipelinesKeys.section, shape: .mapping(PipelinesKeys.table)),
        KeyTable.Entry(name: "rtsp", shape: .mapping(RTSPKeys.table)),
        KeyTable.Entry(name: ClusterKeys.section, shape: .mapping(ClusterKeys.table)),
        KeyTable.Entry(name: "rooms", shape: .named(RoomKeys.table))
    )
}

extension DaemonConfiguration {
    /// Reads the whole tree; what is wrong is a problem, and stays at its default.
    init(_ root: SourceNode, problems: ProblemList) {
        self.init()
        guard let reader = MappingReader(root, RootKeys.table, path: "", problems: problems) else { return }
        self.storage = reader.section("storage", StorageKeys.table).map { StorageConfiguration($0) } ?? self.storage
        self.ice = reader.section("ice", ICEKeys.table).map { NetworkSpec($0) } ?? self.ice
        self.api = reader.section("api", APIKeys.table).map { APIConfiguration($0) } ?? self.api
        self.webhooks = WebhooksConfiguration(root: reader)
        self.workers = reader.section("workers", WorkersKeys.table).map { WorkersConfiguration($0) } ?? self.workers
        let pipelines = reader.section(PipelinesKeys.section, PipelinesKeys.table)
        self.pipelines = pipelines.map { PipelinesConfiguration($0) } ?? self.pipelines
        self.rtsp = reader.section("rtsp", RTSPKeys.table).map { RTSPConfiguration($0) }
        let cluster = reader.section(ClusterKeys.section, ClusterKeys.table)
        self.cluster = cluster.flatMap {
            ClusterConfiguration($0, maximumRooms: self.workers.maximumRooms, api: self.api)
        }
        // Where the API asks for no token, a host that sends one is admitted as any client is.
        if let token = self.cluster?.token, !self.api.tokens.isEmpty {
            var own = APIToken(name: ClusterKeys.section, credential: .plain(token))
            own.isOfHosts = true
            self.api.tokens.append(own)
        }
        self.readRooms(reader)
    }

    mutating func readRooms(_ reader: MappingReader) {
        guard let node = reader.node("rooms") else { return }
        let accepted = "a mapping from names to rooms"
        switch node.content {
        case .null, .broken: return
        case .scalar, .sequence: reader.problems.add(node.place, "rooms", node.foundKind, accepted: accepted)
        case .mapping(let entries) where entries.count > RootKeys.maximumRooms:
            reader.problems.add(
                node.place,
                "rooms",
                "\(entries.count) rooms",
                accepted: "\(RootKeys.maximumRooms) at most"
            )
        case .mapping(let entries):
            var members: [Membership: String] = [:]
            var writers: [String: String] = [:]
            for entry in entries {
                guard let room = RoomConfiguration.read(entry, path: "rooms", problems: reader.problems) else {
                    continue
                }
                self.rooms[entry.key] = room
                let membership = Membership(url: room.address.url, displayName: room.spec.shownName(records: true))
                if let other = members.updateValue(entry.key, forKey: membership) {
                    reader.problems.add(
                        entry.place,
                        "rooms.\(entry.key)",
                        "has the url of \"\(other)\", and we would be there twice",
                        accepted: "another url, or another display_name"
                    )
                }
                for file in room.spec.outputs.compactMap(\.sdpFile) {
                    guard let other = writers.updateValue(entry.key, forKey: file), other != entry.key else { continue }
                    reader.problems.add(
                        entry.place,
                        "rooms.\(entry.key).outputs",
                        "an output of \"\(other)\" writes the same sdp_file"
                    )
                }
            }
        }
    }

    /// What must not be twice: we as a member of one room.
    private struct Membership: Hashable {
        var url: RoomURL
        var displayName: String
    }
}

extension RoomConfiguration {
    /// Reads a named room; nil, with problems, if its name or URL is wrong.
    static func read(_ entry: SourceNode.Entry, path: String, problems: ProblemList) -> RoomConfiguration? {
        let shown = Excerpt.text(entry.key)
        let path = path.isEmpty ? shown : "\(path).\(shown)"
        let isName = RoomKeys.isName(entry.key)
        if !isName {
            let accepted = "1 to 64 of A-Z, a-z, 0-9, -, _ and ., beginning with a letter or digit"
            problems.add(entry.place, path, "cannot be a room's name", accepted: accepted)
        }
        let accepted = "a mapping with \(RoomKeys.table.names.joined(separator: ", "))"
        let reader = MappingReader(entry.value, RoomKeys.table, path: path, problems: problems, accepted: accepted)
        guard let room = reader.flatMap({ Self(name: entry.key, $0, definition: entry.value.written) }) else {
            return nil
        }
        return isName ? room : nil
    }
}
