// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Testing
import Yams

@testable import ConfigurationFile

/// The manual and the schema, held against the tables of keys.
@Suite struct DocumentTests {
    static let values = FixedValues(
        variables: [
            "TURN_PASSWORD": "password", "TAPEDECK_TOKEN": "0123456789abcdef", "DASHBOARD_TOKEN": "fedcba9876543210",
            "HOOK_SECRET": "0123456789abcdef", "WORKSHOP_PASSWORD": "password",
            "RTSP_PASSWORD": "password", "ETCD_PASSWORD": "password",
            "CLUSTER_TOKEN": "0123456789abcdef",
        ]
    )

    /// The example with every setting switched on: below the head, `#key:` and `#  - element` are settings.
    static func fullExample() throws -> String {
        let text = try packageText("docs/tapedeck.example.yaml")
        let body = try #require(text.firstRange(of: "\n\n")).upperBound
        return String(text[body...]).replacing(/(?m)^( *)#([a-z]|  )/) { "\($0.1)\($0.2)" }
    }

    /// The keys that a text uses, in the form of `KeyTable.paths`.
    static func paths(_ node: Node, _ table: KeyTable) -> Set<String> {
        var paths: Set<String> = []
        for entry in table.entries {
            guard let value = node.mapping?[entry.name] else { continue }
            paths.insert(entry.name)
            switch entry.shape {
            case .value: break
            case .mapping(let table): paths.formUnion(Self.paths(value, table).map { "\(entry.name).\($0)" })
            case .list(let table):
                for element in value.sequence ?? [] {
                    paths.formUnion(Self.paths(element, table).map { "\(entry.name)[].\($0)" })
                }
            case .named(let table):
                for (_, element) in value.mapping ?? [:] {
                    paths.formUnion(Self.paths(element, table).map { "\(entry.name).*.\($0)" })
                }
            }
        }
        return paths
    }

    @Test func theExampleLoads() throws {
        let read = try configuration(try packageText("docs/tapedeck.example.yaml"))
        #expect(read.storage == StorageConfiguration())
        #expect(read.ice == NetworkSpec())
        #expect(read.api == APIConfiguration())
        #expect(read.webhooks == WebhooksConfiguration())
        #expect(read.workers == WorkersConfiguration())
        #expect(read.rooms.keys.sorted() == ["standup", "workshop"])
        let workshop = try #require(read.rooms["workshop"])
        var record = RecordSpec()
        record.preferredCodec = .vp8
        record.announcement = "This call is recorded."
        #expect(workshop.spec.record == record)
        #expect(workshop.exports == [ExportSpec()])
        #expect(workshop.spec.send == SendSpec(audio: nil))
        #expect(workshop.spec.afterKickSeconds == 300 && workshop.spec.whenFullSeconds == 30)
    }

    @Test func theExampleHasEveryKey() throws {
        let text = try Self.fullExample()
        let read = try configuration(text, Self.values)
        // Three of `api`, and that of the cluster.
        #expect(read.api.tokens.map(\.name).suffix(1) == ["cluster"] && read.api.tokens.count == 4)
        #expect(
            try configuration(
                "cluster: { name: c, host: a, etcd: [\"http://h\"], capacity: 1, token: 0123456789abcdef }"
            )
            .api.tokens.isEmpty,
            "an API without tokens stays open"
        )
        let root = try #require(try Yams.compose(yaml: text))
        #expect(Self.paths(root, RootKeys.table).sorted() == RootKeys.table.paths)
    }

    /// The host runs all the same, and shares rooms.
    @Test(arguments: [
        ("192.0.2.1", "token: 0123456789abcdef", "", true),
        ("192.0.2.1", "token: 0123456789abcdef", "token: 0123456789abcdef", false),
        ("192.0.2.1", "tokens: [{ name: t, value: 0123456789abcdef, scopes: [read] }]", "", true),
        ("127.0.0.1", "token: 0123456789abcdef", "", false),
        ("127.0.0.1", "token: 0123456789abcdef", "url: \"http://192.0.2.1\"", true),
        ("127.0.0.1", "", "url: \"http://192.0.2.1\"", false),
    ])
    func hostsThatRefuseEachOtherAreFound(_ host: String, _ tokens: String, _ cluster: String, _ isTold: Bool) throws {
        let text = """
            api: { listen: "\(host):8330", \(tokens) }
            cluster: { name: c, host: a, etcd: ["http://h"], capacity: 1, \(cluster) }
            """
        let problems = try configuration(text).problemsBetweenHosts(file: "f")
        let line =
            "f: cluster.token: missing: the API asks for a token, so that the other hosts are refused; accepted: a token that "
            + "all hosts of the cluster have"
        #expect(problems.map(\.description) == (isTold ? [line] : []))
    }

    @Test func theSchemaHasEveryKeyAndNoOther() throws {
        let schema = try JSONValue(parsing: try packageText("docs/tapedeck.schema.json"))
        #expect(Set(Self.schemaPaths(schema, of: schema)).sorted() == RootKeys.table.paths)
    }

    /// The description of the HTTP interface, as far as it stands behind a path of keys.
    private static func interface(_ keys: String...) throws -> JSONValue {
        var value = try #require(try Yams.load(yaml: try packageText("Sources/Control/OpenAPI/openapi.yaml")))
        for key in keys { value = try #require((value as? [String: Any])?[key]) }
        let data = try JSONSerialization.data(withJSONObject: value)
        return try JSONValue(parsing: String(decoding: data, as: UTF8.self))
    }

    /// A definition with other keys is refused, both by readers of the description and by the daemon.
    @Test func theInterfaceHasEveryKeyOfARoomAndNoOther() throws {
        let definition = try Self.interface("components", "schemas", "Definition")
        #expect(Self.schemaPaths(definition, of: definition).sorted() == RoomKeys.table.paths)
        func isClosed(_ schema: JSONValue) -> Bool {
            guard let properties = schema["properties"]?.object else { return true }
            let inner = properties.values.flatMap { [$0] + ($0["items"].map { [$0] } ?? []) }
            return schema["additionalProperties"] == .bool(false) && inner.allSatisfy(isClosed)
        }
        #expect(isClosed(definition))
    }

    @Test func theInterfaceAsksForATokenOnlyWhereThereIsOne() throws {
        let security = try Self.interface("security")
        let none = JSONValue.array([])
        #expect(security == .array([.object(["bearer": none]), .object(["session": none]), .object([:])]))
    }

    /// The schema takes a value if, and only if, the daemon does.
    @Test(arguments: [
        ("ice.servers.urls", "STUN:h", true), ("ice.servers.urls", "Turns:h:5349?Transport=TCP", true),
        ("ice.servers.urls", "turn:h?transport=tcp", true), ("ice.servers.urls", "stun:h?transport=udp", false),
        ("ice.servers.urls", "http:h", false),
        ("rooms.url", "SOCKETIO+HTTP://h/r", true), ("rooms.url", "Janus+WSS://h/?room=1", true),
        ("rooms.url", "h/r", false),
        ("rooms.send.audio", "alsa", true), ("rooms.send.audio", "alsa:hw:1,0", true),
        ("rooms.send.audio", "alsa:", false), ("rooms.send.audio", "file:a", false), ("rooms.send.audio", "none", true),
        ("webhooks.url", "HTTPS://h/x", true), ("webhooks.url", "ftp://h/x", false),
        ("api.cors_origins", "HTTP://h", true), ("api.cors_origins", "h", false),
    ])
    func theSchemaTakesWhatTheDaemonTakes(key: String, value: String, isTaken: Bool) throws {
        let schema = try JSONValue(parsing: try packageText("docs/tapedeck.schema.json"))
        let room = schema["$defs"]?["room"]?["properties"]
        let text = JSONValue.string(value).text
        let places: [String: (schema: JSONValue?, document: String)] = [
            "ice.servers.urls": (
                schema["properties"]?["ice"]?["properties"]?["servers"]?["items"]?["properties"]?["urls"]?["items"],
                "ice: { servers: [{ urls: [\(text)], username: u, credential: p }] }"
            ),
            "rooms.url": (room?["url"], "rooms: { r: { url: \(text) } }"),
            "rooms.send.audio": (
                room?["send"]?["anyOf"]?.array?.last?["properties"]?["audio"],
                "rooms: { r: { url: 'socketio+http://h/r', send: { audio: \(text) } } }"
            ),
            "webhooks.url": (
                schema["properties"]?["webhooks"]?["items"]?["properties"]?["url"],
                "webhooks: [{ url: \(text), secret: '0123456789abcdef' }]"
            ),
            "api.cors_origins": (
                schema["properties"]?["api"]?["properties"]?["cors_origins"]?["items"],
                "api: { cors_origins: [\(text)] }"
            ),
        ]
        let place = try #require(places[key])
        let pattern = try #require(place.schema?["pattern"]?.string)
        #expect((try Regex(pattern).firstMatch(in: value) != nil) == isTaken, "the schema")
        let read = try? configuration(place.document)
        #expect((read != nil) == isTaken, "the daemon")
    }

    /// Filling in every default of the schema changes nothing.
    @Test func theSchemaHasTheDefaults() throws {
        let schema = try JSONValue(parsing: try packageText("docs/tapedeck.schema.json"))
        var defaults = try #require(Self.defaults(schema, of: schema)?.object)
        let roomSchema = try #require(schema["$defs"]?["room"])
        let room = try #require(Self.defaults(roomSchema, of: schema)?.object)
        let url = JSONValue.string("socketio+http://h/r")
        defaults["rooms"] = .object(["r": .object(room.merging(["url": url]) { first, _ in first })])
        let read = try configuration(JSONValue.object(defaults).text)
        var expected = DaemonConfiguration()
        // The one section that means something when it is empty.
        expected.rtsp = RTSPConfiguration()
        expected.rooms["r"] = try RoomConfiguration.parse(name: "r", definition: .object(["url": url]))
        #expect(ConfigurationChange(from: expected, to: read).isEmpty)
        #expect(defaults["storage"]?["minimum_free"] == "2GB")
        #expect(room["rejoin"]?["when_full"] == "30s")
        let send = try #require(schema["$defs"]?["room"]?["properties"]?["send"]?["anyOf"]?.array?.last)
        let sending = try #require(Self.defaults(send, of: schema))
        let sender = JSONValue.object(["url": url, "send": sending])
        #expect(try RoomConfiguration.parse(name: "r", definition: sender).spec.send == SendSpec(audio: nil))
    }

    /// The alternatives of a schema, references followed.
    static func alternatives(_ schema: JSONValue, of root: JSONValue) -> [JSONValue] {
        if schema["$ref"]?.string == "#/$defs/room" { return root["$defs"]?["room"].map { [$0] } ?? [] }
        return [schema] + (schema["anyOf"]?.array ?? [])
    }

    static func schemaPaths(_ schema: JSONValue, of root: JSONValue) -> [String] {
        var paths: [String] = []
        for alternative in Self.alternatives(schema, of: root) {
            for (name, value) in alternative["properties"]?.object ?? [:] {
                paths.append(name)
                paths += Self.schemaPaths(value, of: root).map { "\(name).\($0)" }
                if let items = value["items"] { paths += Self.schemaPaths(items, of: root).map { "\(name)[].\($0)" } }
                guard let named = value["additionalProperties"], named.object != nil else { continue }
                paths += Self.schemaPaths(named, of: root).map { "\(name).*.\($0)" }
            }
        }
        return paths
    }

    /// The defaults of a mapping's keys, mappings within filled in; nil if there are none.
    static func defaults(_ schema: JSONValue, of root: JSONValue) -> JSONValue? {
        guard let properties = schema["properties"]?.object else { return schema["default"] }
        let defaults = properties.compactMapValues { $0["default"] ?? Self.defaults($0, of: root) }
        return defaults.isEmpty ? nil : .object(defaults)
    }
}
