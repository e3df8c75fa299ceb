// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Testing

@Suite struct RecordTests {
    private static func comesBack(_ record: some ClusterRecord) -> Bool {
        RecordReading(record.text) == .known(record)
    }

    @Test func recordsComeBack() {
        let pointer = RecordingPointer(series: "s", segment: 3, recording: "x", isRecording: true)
        let handover = Handover(to: "b", epoch: 9)
        #expect(Self.comesBack(MetaRecord(id: "one")))
        #expect(Self.comesBack(MetaRecord(id: "two", replaced: ["zero", "one"])))
        #expect(Self.comesBack(ClaimRecord(host: "a", epoch: 8, phase: .joined)))
        #expect(Self.comesBack(ClaimRecord(host: "ä", epoch: 8, phase: .joining, handover: handover, localCost: 2)))
        #expect(Self.comesBack(OwnerRecord(epoch: 8, host: "a")))
        #expect(Self.comesBack(OwnerRecord(epoch: 8, host: "a", pointer: pointer, handover: handover, next: "b")))
        let shared = RecordingPointer(
            series: "s",
            segment: 3,
            recording: "x",
            isRecording: false,
            isShared: true,
            began: "2026-07-04T12:00:00Z"
        )
        #expect(Self.comesBack(OwnerRecord(epoch: 8, host: "a", pointer: shared)))
        #expect(Self.comesBack(SeriesRecord(room: "r", host: "a", epoch: 8, pointer: shared)))
        #expect(Self.comesBack(WishRecord(order: .pause, send: .object(["x": .bool(true)]), requested: "t", by: "me")))
        var host = ClusterDriver.record("a")
        (host.labels, host.isDraining, host.isStopping) = (["zone": "1"], true, true)
        #expect(Self.comesBack(host))
    }

    /// What other versions read: it changes with the schema only.
    @Test func theFormIsFixed() {
        let handover = Handover(to: "b", epoch: 9)
        #expect(
            ClaimRecord(host: "a", epoch: 8, phase: .joined, handover: handover).text
                == #"{"epoch":8,"handover":{"epoch":9,"to":"b"},"host":"a","phase":"joined","schema":1}"#
        )
        let pointer = RecordingPointer(series: "s", segment: 3, recording: "x", isRecording: false)
        #expect(
            OwnerRecord(epoch: 8, host: "a", pointer: pointer, next: "b").text
                == #"{"epoch":8,"host":"a","next":"b","recording":"x","recording_now":false,"schema":1,"segment":3,"series":"s"}"#
        )
        #expect(
            ClusterDriver.record("a").text
                == #"{"boot":"boot","capacity":10,"draining":false,"labels":{},"life":"life-a","schema":1,"#
                + #""stopping":false,"url":"https:\/\/a","version":"1"}"#.replacing("\\/", with: "/")
        )
    }

    /// What the version before wrote: hosts of both share one store during an upgrade.
    @Test func valuesOfTheVersionBeforeAreRead() {
        let id = "6f1c0f4e-0a3b-4c5e-9d61-3b1d1d2f7a10"
        #expect(RecordReading<MetaRecord>(#"{"id":"\#(id)","min_schema":1,"schema":1}"#).record == MetaRecord(id: id))
        let room = #"{"room":{"cost":3,"hosts":{"require":{"zone":"north"}},"url":"wss://h/r"},"schema":1}"#
        #expect(RecordReading<RoomRecord>(room).record?.required == ["zone": "north"])
        let wish = #"{"by":"a","ordered":"pause","requested":"2026-11-30T09:00:00.000Z","schema":1}"#
        #expect(RecordReading<WishRecord>(wish).record?.order == .pause)
        let host =
            #"{"boot":"b","capacity":4,"draining":true,"labels":{"site":"a"},"life":"l","schema":1,"#
            + #""started":"2026-11-30T09:00:00.000Z","stopping":false,"url":"http://h:1","version":"0.1.0"}"#
        let read = RecordReading<HostRecord>(host).record
        #expect(read?.isDraining == true && read?.capacity == 4 && read?.started == "2026-11-30T09:00:00.000Z")
        let claim = #"{"epoch":2,"handover":{"epoch":3,"to":"b"},"host":"a","phase":"joined","schema":1}"#
        #expect(
            RecordReading<ClaimRecord>(claim).record
                == ClaimRecord(host: "a", epoch: 2, phase: .joined, handover: Handover(to: "b", epoch: 3))
        )
        let owner =
            #"{"epoch":2,"handover":{"epoch":3,"to":"b"},"host":"a","next":"b","recording":"x","recording_now":true,"#
            + #""schema":1,"segment":1,"series":"x"}"#
        let pointer = RecordingPointer(series: "x", segment: 1, recording: "x", isRecording: true)
        let handover = Handover(to: "b", epoch: 3)
        #expect(
            RecordReading<OwnerRecord>(owner).record
                == OwnerRecord(epoch: 2, host: "a", pointer: pointer, handover: handover, next: "b")
        )
    }

    @Test func unknownMembersAreIgnored() {
        let text = #"{"schema":1,"host":"a","epoch":1,"phase":"joined","colour":{"of":["the",1]},"handover":null}"#
        #expect(RecordReading<ClaimRecord>(text).record == ClaimRecord(host: "a", epoch: 1, phase: .joined))
    }

    @Test func whatWasReplacedIsAListOfNames() {
        let problem = "replaced: an array of strings is expected"
        for value in [#""one""#, "[1]", "{}"] {
            #expect(RecordReading<MetaRecord>(#"{"schema":1,"id":"two","replaced":\#(value)}"#).problem == problem)
        }
    }

    @Test func aNewerSchemaIsShown() {
        let reading = RecordReading<ClaimRecord>(#"{"schema":2,"host":7}"#)
        #expect(reading == .newer(schema: 2, .object(["schema": .integer(2), "host": .integer(7)])))
        #expect(reading.record == nil)
        #expect(reading.problem == "has schema 2, and this version knows 1: update this host")
    }

    private static let broken: [(String, String)] = [
        ("", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        (#"{"host":"a"}"#, "schema: a whole number from 1 is missing"),
        (#"{"schema":0}"#, "schema: a whole number from 1 is missing"),
        (#"{"schema":"1"}"#, "schema: a whole number from 1 is missing"),
        (#"{"schema":1}"#, "host: a string is missing"),
        (#"{"schema":1,"host":""}"#, "host: a string is missing"),
        (#"{"schema":1,"host":7}"#, "host: a string is expected"),
        (#"{"schema":1,"host":"a"}"#, "epoch: a whole number is missing"),
        (#"{"schema":1,"host":"a","epoch":0}"#, "epoch: a whole number from 1 to \(Int.max - 1) is expected"),
        (#"{"schema":1,"host":"a","epoch":1.5}"#, "epoch: a whole number from 1 to \(Int.max - 1) is expected"),
        (#"{"schema":1,"host":"a","epoch":1}"#, "phase: one of joining, joined is missing"),
        (#"{"schema":1,"host":"a","epoch":1,"phase":"x"}"#, "phase: one of joining, joined is expected"),
        (#"{"schema":1,"host":"a","epoch":1,"phase":"joined","handover":1}"#, "handover: an object is expected"),
        (
            #"{"schema":1,"host":"a","epoch":1,"phase":"joined","handover":{"to":"b"}}"#,
            "handover.epoch: a whole number is missing"
        ),
    ]

    @Test(arguments: broken.indices) func aBrokenValueSaysWhere(row: Int) {
        let (text, problem) = Self.broken[row]
        #expect(RecordReading<ClaimRecord>(text).problem == problem)
    }

    @Test func aValueThatIsTooLongIsNotRead() {
        let text = ClusterDriver.definition(#","name":"\#(String(repeating: "x", count: 70_000))""#)
        #expect(RecordReading<RoomRecord>(text).problem == "has \(text.utf8.count) bytes, and at most 65536 are taken")
    }

    @Test func aRoomSaysWhatItCosts() throws {
        let text = ClusterDriver.definition(
            #","cost":3,"when_cut_off":"leave","hosts":{"require":{"zone":"1"},"prefer":{"gpu":"yes"}}"#
        )
        let room = try #require(RecordReading<RoomRecord>(text).record)
        #expect(room.cost == 3 && room.whenCutOff == .leave)
        #expect(room.required == ["zone": "1"] && room.preferred == ["gpu": "yes"])
        let plain = try #require(RecordReading<RoomRecord>(ClusterDriver.definition()).record)
        #expect(plain.cost == 1 && plain.whenCutOff == nil && plain.required.isEmpty)
        #expect(
            RecordReading<RoomRecord>(ClusterDriver.definition(#","hosts":{"require":{"zone":1}}"#)).problem
                == "room.hosts.require.zone: a string is expected"
        )
        #expect(
            RecordReading<RoomRecord>(ClusterDriver.definition(#","cost":0"#)).problem
                == "room.cost: a whole number from 1 to 1000 is expected"
        )
        #expect(RecordReading<RoomRecord>(#"{"schema":1}"#).problem == "room: an object is missing")
    }

    @Test func keysComeBack() {
        let keys: [ClusterKey] = [
            .meta, .room("a b/c%"), .wish("ä"), .host("a"), .claim("a"), .owner("a"), .move(1), .said("x/y"),
        ]
        for key in keys { #expect(ClusterKey(key.text(cluster: "calls"), cluster: "calls") == key) }
        #expect(ClusterKey.claim("a b/c%").text(cluster: "calls") == "/tapedeck/calls/claims/a%20b%2Fc%25")
    }

    @Test(arguments: [
        "/tapedeck/other/meta", "/tapedeck/calls/", "/tapedeck/calls/rooms", "/tapedeck/calls/rooms/",
        "/tapedeck/calls/rooms/a/b", "/tapedeck/calls/rooms/%zz", "/tapedeck/calls/rooms/a b",
        "/tapedeck/calls/moves/x", "/tapedeck/calls/moves/01", "/tapedeck/calls/meta/x", "/tapedeck/calls/rooms/%2d",
    ])
    func aForeignKeyIsNone(text: String) {
        #expect(ClusterKey(text, cluster: "calls") == nil)
    }
}
