// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Model
import Testing

@Suite struct ChangeTests {
    static let rooms = """
        rooms:
          a: { url: "socketio+http://h/a" }
          b: { url: "socketio+http://h/b", record: { empty_after: 60s } }
          c: { url: "socketio+http://h/c", join: on-demand }

        """

    @Test func nothingChanged() throws {
        let configuration = try LoadingTests.everything()
        let change = ConfigurationChange(from: configuration, to: configuration)
        #expect(change.isEmpty)
        #expect(change.unchanged == ["asked", "standup", "weekly"])
    }

    @Test func spellingIsNoChange() throws {
        let old = try configuration(Self.rooms)
        let new = try configuration(
            Self.rooms.replacing("60s", with: "1m").replacing("a }", with: "a, record: { video: true } }")
                .replacing("c: { url", with: "c: { rejoin: {}, url")
        )
        let change = ConfigurationChange(from: old, to: new)
        #expect(change.isEmpty)
        #expect(change.unchanged == ["a", "b", "c"])
    }

    @Test func roomsAreAddedAndRemoved() throws {
        let old = try configuration(Self.rooms)
        let new = try configuration(Self.rooms.replacing("  b:", with: "  d:"))
        let change = ConfigurationChange(from: old, to: new)
        #expect(change.added.map(\.name) == ["d"])
        #expect(change.removed == ["b"])
        #expect(change.changed.isEmpty)
        #expect(change.unchanged == ["a", "c"])
        #expect(change.sections.isEmpty)
        #expect(!change.isEmpty)
    }

    @Test(
        arguments: [
            ("url: \"socketio+http://h/z\"", RoomPart.address),
            ("url: \"socketio+http://h/a?insecure\"", .address),
            ("url: \"socketio+http://h/a\", display_name: z", .displayName),
            ("url: \"socketio+http://h/a\", secret: z", .secret),
            ("url: \"socketio+http://h/a\", join: on-demand", .join),
            ("url: \"socketio+http://h/a\", until_empty: true", .untilEmpty),
            ("url: \"socketio+http://h/a\", priority: 9", .priority),
            ("url: \"socketio+http://h/a\", record: none", .record),
            ("url: \"socketio+http://h/a\", send: { capture: test }", .send),
            ("url: \"socketio+http://h/a\", outputs: [{ rtp: { host: h, video_port: 5004 } }]", .outputs),
            ("url: \"socketio+http://h/a\", outputs: [{ pipeline: { file: hls } }]", .outputs),
            ("url: \"socketio+http://h/a\", rejoin: { after_kick: never }", .rejoin),
        ]
    )
    func partsOfRoomsChange(room: String, part: RoomPart) throws {
        let old = try configuration(Self.rooms)
        let new = try configuration(Self.rooms.replacing("url: \"socketio+http://h/a\"", with: room))
        let change = ConfigurationChange(from: old, to: new)
        let changed = try #require(change.changed.first)
        #expect(change.changed.count == 1)
        #expect(changed.parts == [part])
        #expect(changed.old == old.rooms["a"])
        #expect(changed.new == new.rooms["a"])
        #expect(change.unchanged == ["b", "c"])
        #expect(change.sections.isEmpty)
    }

    @Test func aSecretBehindAReferenceChanges() throws {
        let text = "rooms: { a: { url: \"socketio+http://h/${ROOM}\" } }"
        let old = try configuration(text, FixedValues(variables: ["ROOM": "one"]))
        let new = try configuration(text, FixedValues(variables: ["ROOM": "two"]))
        #expect(ConfigurationChange(from: old, to: new).changed.map(\.parts) == [[.address]])
    }

    @Test(
        arguments: [
            ("storage: { keep: 30d }", ConfigurationChange.Section.storage), ("ice: { port_range: 5000-6000 }", .ice),
            ("api: { requests_per_second: 1 }", .api), ("webhook_hosts: [h]", .webhooks),
            ("webhooks: [{ url: \"https://h/\", secret: s3cret-s3cret-s3cret }]", .webhooks),
            ("workers: { export_jobs: 2 }", .workers), ("rtsp: {}", .rtsp),
            ("cluster: { name: c, host: a, etcd: [\"http://h:2379\"], capacity: 1 }", .cluster),
        ]
    )
    func sectionsChange(section: String, expected: ConfigurationChange.Section) throws {
        let old = try configuration(Self.rooms)
        let new = try configuration(Self.rooms + section)
        let change = ConfigurationChange(from: old, to: new)
        #expect(change.sections == [expected])
        #expect(change.unchanged == ["a", "b", "c"])
        #expect(!change.isEmpty)
    }
}
