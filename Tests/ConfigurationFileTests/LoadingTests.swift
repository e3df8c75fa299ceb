// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Foundation
import Model
import Signalling
import TestSupport
import Testing

@Suite struct LoadingTests {
    static let values = FixedValues(
        variables: [
            "TURN_PASSWORD": "s3cret-of-turn", "TAPEDECK_TOKEN": "s3cret-of-the-api", "ROOM": "s3cret-room",
            "HOOK_SECRET": "s3cret-of-the-hook",
        ],
        files: [
            "/run/credentials/dashboard": "s3cret-of-dashboard", "/run/credentials/weekly": "s3cret of the week, ü",
        ]
    )

    static func everything() throws -> DaemonConfiguration {
        let fixture = try #require(
            Bundle.module.url(forResource: "everything", withExtension: "yaml", subdirectory: "Fixtures")
        )
        return try DaemonConfiguration.load(path: fixture.path(), values: Self.values)
    }

    @Test func readsEverySection() throws {
        let read = try Self.everything()
        #expect(read.storage.directory == "/srv/tapedeck")
        #expect(read.storage.minimumFreeBytes == 2_000_000_000)
        #expect(read.storage.keep == .seconds(30 * 86_400))
        #expect(read.storage.keepBytes == 500 << 30)
        #expect(read.storage.synchroniseEvery == .milliseconds(500))
        #expect(read.storage.signingKey == "/etc/tapedeck/signing.pem")
        var upload = UploadSpec(remote: "arc:recordings/of us")
        upload.config = "/etc/tapedeck/rclone.conf"
        upload.prefix = "x-{day}/{room}"
        upload.parts = [.tracks, .exports]
        upload.speedLimit = 20_000_000
        upload.verify = .read
        #expect(read.storage.upload == upload)
        #expect(
            read.ice.servers == [
                NetworkSpec.Server(urls: ["stun:stun.example.org:3478"]),
                NetworkSpec.Server(
                    urls: ["turn:turn.example.org:3478?transport=udp"],
                    username: "carrot",
                    credential: Secret("s3cret-of-turn")
                ),
            ]
        )
        #expect(read.ice.hostAddresses == ["192.0.2.7", "2001:db8::7"])
        #expect(read.ice.portRange == 40000...49999)
        #expect(read.ice.relaysOnly && !read.ice.usesOffered)
        #expect(read.ice.offeredHosts == ["turn.example.org", "*.example.net"])
        #expect(read.workers.roomsPerWorker == 4)
        #expect(read.workers.maximumRooms == 60)
        #expect(read.workers.hangLimit == .seconds(30))
        #expect(read.workers.stopLimit == .seconds(120))
        #expect(read.workers.longestRestartDelay == .seconds(3600))
        #expect(read.workers.maximumMemoryBytes == 512_000_000)
        #expect(read.workers.exportJobs == 2)
    }

    @Test func uploadsNeedARemoteAlone() throws {
        let read = try configuration("storage: { upload: { remote: 'arc:' } }")
        #expect(read.storage.upload == UploadSpec(remote: "arc:"))
        #expect(try configuration("storage: { keep: 30d }").storage.upload == nil)
    }

    @Test func readsTheInterfaceAndTheWebhooks() throws {
        let read = try Self.everything()
        #expect(read.api.host == "::")
        #expect(read.api.port == 8443)
        #expect(!read.api.isLoopback)
        let digest: [UInt8] = [
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
        ]
        #expect(
            read.api.tokens == [
                APIToken(name: "token", credential: .plain(Secret("s3cret-of-the-api"))),
                APIToken(
                    name: "dashboard",
                    credential: .plain(Secret("s3cret-of-dashboard")),
                    scopes: [.read, .media]
                ),
                APIToken(name: "robot", credential: .sha256(digest + digest), scopes: [.control]),
            ]
        )
        #expect(
            read.api.tls == TLSFiles(certificate: "/etc/tapedeck/certificate.pem", key: "/etc/tapedeck/key.pem")
        )
        #expect(read.api.corsOrigins == ["https://example.org", "http://localhost:3000"])
        #expect(read.api.requestsPerSecond == 7)
        #expect(read.api.maximumEventStreams == 9)
        #expect(read.webhooks.allowedHosts == ["*.example.org"])
        let webhook = try #require(read.webhooks.targets.first)
        #expect(webhook.url.value == "https://hooks.example.org:8443/x?y=z")
        #expect(webhook.target == "https://hooks.example.org:8443")
        #expect(webhook.secret.value == "s3cret-of-the-hook")
        #expect(webhook.wants("recording.finished"))
        #expect(webhook.wants("room.joined"))
        #expect(!webhook.wants("room.left"))
        #expect(!webhook.wants("recordings.finished"))
    }

    @Test func readsTheRTSPServer() throws {
        let rtsp = try #require(try Self.everything().rtsp)
        #expect(rtsp.host == "::" && rtsp.port == 8555)
        #expect(rtsp.users.map(\.name) == ["carrot", "root@example.org"])
        #expect(rtsp.users.map(\.password.value) == ["s3cret-of-the-hook", "long-enough"])
        #expect(rtsp.users.map(\.rooms) == [["standup"], []])
        #expect(rtsp.tls?.key == "/etc/tapedeck/key.pem")
        #expect(rtsp.participants == 3 && rtsp.maximumClients == 5)
        #expect(rtsp.serves("standup") && !rtsp.serves("asked"))
        #expect(try configuration("rtsp:").rtsp == nil)
        #expect(try configuration("rtsp: {}").rtsp == RTSPConfiguration())
    }

    @Test func readsTheCluster() throws {
        let cluster = try #require(try configuration(DocumentTests.fullExample(), DocumentTests.values).cluster)
        #expect(cluster.name == "calls" && cluster.host == "a" && cluster.leaseSeconds == 4 && cluster.capacity == 24)
        #expect(cluster.members.first == "https://etcd-1.example.org:2379" && cluster.members.count == 3)
        #expect(cluster.user?.name == "tapedeck" && cluster.user?.password.value == "password")
        #expect(cluster.authority == "/etc/tapedeck/etcd-ca.pem")
        #expect(cluster.identity == TLSFiles(certificate: "/etc/tapedeck/etcd.pem", key: "/etc/tapedeck/etcd.key"))
        #expect(cluster.labels == ["zone": "north"])
        #expect(cluster.token?.value == "0123456789abcdef")
        #expect(cluster.url == "https://192.0.2.1:8330")
        let least = "cluster: { name: c, host: a, etcd: [\"http://h:2379\"] }\nworkers: { maximum_rooms: 7 }"
        let read = try #require(try configuration(least).cluster)
        #expect(read.capacity == 7 && read.user == nil && read.authority == nil && read.identity == nil)
        #expect(read.url == "http://127.0.0.1:8330")
        let ipv6 = "api: { listen: \"[2001:db8::1]:1\", token: 0123456789abcdef }\n"
        #expect(try configuration(ipv6 + least).cluster?.url == "http://[2001:db8::1]:1")
        #expect(try configuration("cluster:").cluster == nil)
    }

    @Test func readsWhichHostsARoomMayHave() throws {
        let text = """
            rooms: { r: { url: "socketio+http://h/r", cost: 3, hosts: { require: { zone: north } }, when_cut_off: leave } }
            """
        let room = try #require(try configuration(text).rooms["r"])
        #expect(room.cost == 3 && room.definition["hosts"]?["require"]?["zone"]?.string == "north")
        let other = try #require(try configuration("rooms: { r: { url: \"socketio+http://h/r\" } }").rooms["r"])
        #expect(other.cost == 1 && room.changes(from: other) == [.cost])
    }

    /// Also where a recording is only made by hand.
    @Test(arguments: ["", ", record: none", ", record: { automatic: false }"])
    func readsWhatIsAnnounced(record: String) throws {
        let text = "rooms: { a: { url: 'socketio+http://h/r', announce: 'Wörds: 7'\(record) } }"
        let room = try #require(try configuration(text).rooms["a"])
        #expect(room.announcement == "Wörds: 7")
        #expect(room.spec.record?.announcement == (record == ", record: none" ? nil : "Wörds: 7"))
        let other = try #require(try configuration(text.replacing("7", with: "8")).rooms["a"])
        #expect(other.changes(from: room) == [.record])
    }

    @Test func readsRooms() throws {
        let rooms = try Self.everything().rooms
        #expect(rooms.keys.sorted() == ["asked", "standup", "weekly"])
        let standup = try #require(rooms["standup"])
        let address = RoomURL.SocketIO(isSecure: true, host: "rtc.example.org", room: "123123")
        #expect(standup.address.url == RoomURL(address))
        #expect(standup.spec.displayName == nil)
        #expect(standup.join == .always)
        var record = RecordSpec()
        record.audio = false
        record.chat = false
        record.isAutomatic = false
        record.emptyAfterSeconds = 300
        record.preferredCodec = .h264
        record.segmentSeconds = 1800
        record.prerollMilliseconds = 10_000
        record.tags = ["a", "b c"]
        record.notes = "x"
        #expect(standup.spec.priority == 80)
        #expect(standup.spec.record == record)
        let tracks = ExportSpec.Tracks(container: .webm, switches: [.keepDamaged, .separateTracks, .project])
        #expect(standup.exports == [ExportSpec(.tracks(tracks))])
        var send = SendSpec(video: .camera("/dev/video0"), audio: MediaSource("alsa:hw:1,0"))
        send.keepsOpen = true
        send.preferredCodec = .h264
        (send.width, send.height, send.framesPerSecond, send.bitsPerSecond) = (640, 360, 25, 2_000_000)
        send.minimumBitsPerSecond = 200_000
        (send.audioBitsPerSecond, send.usesAudioFEC, send.usesAudioDTX) = (32_000, false, true)
        #expect(standup.spec.send == send)
        #expect(standup.spec.afterKickSeconds == nil && standup.spec.whenFullSeconds == 10)
        let asked = try #require(rooms["asked"])
        #expect(asked.join == .onDemand)
        #expect(asked.untilEmpty)
        #expect(asked.spec.record == nil)
        #expect(asked.spec.send == nil)
        #expect(asked.spec.url.value == "socketio+http://rtc.example.org/s3cret-room")
        #expect(asked.address.description == "socketio+http://rtc.example.org/${ROOM}")
        let weekly = try #require(rooms["weekly"])
        #expect(weekly.spec.displayName == "recorder")
        #expect(weekly.spec.secret == Secret("s3cret of the week, ü"))
        #expect(standup.spec.secret == nil)
        #expect(weekly.spec.record == RecordSpec())
        #expect(weekly.exports == [ExportSpec()])
        #expect(weekly.spec.afterKickSeconds == 300 && weekly.spec.whenFullSeconds == 30)
        #expect(weekly.join.description == "30 8 * * mon Europe/Berlin for 2h")
    }

    @Test(
        arguments: [
            "{}", "storage:", "storage: {}\nice: ~\napi: {}\nworkers: null\nrooms:\n", "rooms: {}\nwebhooks: []",
            "# with a comment\n---\n{}\n...\n", "\u{FEFF}{}", "{\"storage\": {\"keep\": \"forever\"}}",
            "storage: { keep_bytes: unlimited }", "ice: { port_range: any }",
        ]
    )
    func whatIsLeftOutHasItsDefault(text: String) throws {
        #expect(try configuration(text) == DaemonConfiguration())
    }

    @Test func readsJSONWithItsOwnEscapes() throws {
        let text = #"{"rooms":{"a":{"url":"socketio+http:\/\/h\/r","display_name":"\ud83d\ude00 \\ud83d \u00e9"}}}"#
        #expect(try configuration(text).rooms["a"]?.spec.displayName == #"😀 \ud83d é"#)
    }

    @Test func aliasesRepeatValues() throws {
        let text = """
            rooms:
              a: { url: "socketio+http://h/a", record: &sound { video: false } }
              b: { url: "socketio+http://h/b", record: *sound }
            """
        let rooms = try configuration(text).rooms
        #expect(rooms["b"]?.spec.record?.video == false)
        #expect(rooms["b"]?.spec.record == rooms["a"]?.spec.record)
    }

    @Test func replacesReferences() throws {
        let values = FixedValues(
            variables: ["PORT": "9000", "YES": "true", "NAME": "a $b ${c}"],
            files: ["/run/n": "x"]
        )
        let text = #"""
            api: { listen: "127.0.0.1:${PORT}", requests_per_second: "${file:/run/n}${file:/run/n}" }
            rooms:
              r: { url: "socketio+http://h/r", until_empty: "${YES}", display_name: "$ $$ $${PORT} ${NAME}$" }
            """#
        #expect(
            problems(text, values) == [
                #"line 1, column 58: api.requests_per_second: found the value of "${file:/run/n}${file:/run/n}", "#
                    + "which is not shown; accepted: a whole number from 1 to 10000"
            ]
        )
        var right = values
        right.files["/run/n"] = "4"
        let read = try configuration(text, right)
        #expect(read.api.port == 9000)
        #expect(read.api.requestsPerSecond == 44)
        #expect(read.rooms["r"]?.untilEmpty == true)
        #expect(read.rooms["r"]?.spec.displayName == "$ $$ ${PORT} a $b ${c}$")
    }

    @Test func takesValuesFromThisProcess() throws {
        let folder = try TemporaryFolder()
        let values = ProcessValueSource()
        #expect(values.environmentVariable("PATH") == ProcessInfo.processInfo.environment["PATH"])
        #expect(values.environmentVariable("TAPEDECK_\(UUID().uuidString)") == nil)
        #expect(try values.contents(ofFile: folder.file("a", "one\ntwo\n".utf8)) == "one\ntwo")
        #expect(try values.contents(ofFile: folder.file("b", "one\r\n".utf8)) == "one")
        #expect(try values.contents(ofFile: folder.file("c", "one".utf8)) == "one")
        let long = try folder.file("d", [UInt8](repeating: 0x61, count: ProcessValueSource.maximumFileBytes + 1))
        #expect(throws: ValueSourceError("is longer than 65536 bytes")) { try values.contents(ofFile: long) }
        #expect(throws: ValueSourceError("is a directory")) { try values.contents(ofFile: folder.path) }
        #expect(throws: ValueSourceError.self) { try values.contents(ofFile: "\(folder.path)/none") }
    }

    /// A command in an operator's shell has not what the daemon's environment has.
    @Test func findsTheDaemonOfAFileWithOtherMistakes() throws {
        let folder = try TemporaryFolder()
        func places(_ text: String) throws(ConfigurationError) -> (api: APIConfiguration, storage: StorageConfiguration)
        {
            let path = try? folder.file("a.yaml", text.utf8)
            return try DaemonConfiguration.loadPlaces(path: path ?? "", values: FixedValues())
        }
        let found = try places(
            """
            storage: { directory: /srv/a, keep: 1m }
            api:
              listen: 0.0.0.0:9000
              tokens:
                - { name: a, value: "${NOT_HERE}", scopes: [read] }
                - { name: b, value: s3cret-s3cret-s3cret, scopes: [read] }
            rooms: { r: { url: "${NOT_HERE}" } }
            """
        )
        #expect(found.storage.directory == "/srv/a")
        #expect(found.api.host == "0.0.0.0" && found.api.port == 9000)
        #expect(found.api.tokens.map(\.name) == ["b"])
        for text in [
            "storage: { directory: \"${NOT_HERE}\" }", "storage: []", "api: { listen: x:y }",
            "api: { tls: { key: /k } }", "[",
        ] {
            #expect(throws: ConfigurationError.self, "\(text)") { try places(text) }
        }
    }
}
