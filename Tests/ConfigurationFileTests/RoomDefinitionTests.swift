// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Foundation
import Model
import Signalling
import Testing

@Suite struct RoomDefinitionTests {
    /// Problems of a room's text.
    func problems(_ text: String) -> [String] {
        do {
            _ = try RoomConfiguration.parse(name: "r", text: text)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func readsOneRoom() throws {
        let json = #"{"url": "socketio+http://h/r", "record": {"video": false}, "join": "on-demand"}"#
        let yaml = "url: socketio+http://h/r\nrecord:\n  video: false\njoin: on-demand"
        let room = try RoomConfiguration.parse(name: "r", text: json)
        #expect(room == (try RoomConfiguration.parse(name: "r", text: yaml)))
        #expect(room == (try configuration("rooms: { r: \(json) }").rooms["r"]))
        #expect(room == (try RoomConfiguration.parse(name: "r", definition: room.definition)))
        #expect(
            room.definition.text == #"{"join":"on-demand","record":{"video":false},"url":"socketio+http://h/r"}"#
        )
    }

    @Test func tellsEveryProblem() throws {
        #expect(
            self.problems(#"{"urll": 1, "until_empty": 3}"#) == [
                "line 1, column 1: r.url: missing; accepted: a room URL, such as socketio+https://rtc.example.org/123123",
                #"line 1, column 2: r.urll: unknown key; did you mean "url"?"#,
                "line 1, column 28: r.until_empty: found 3; accepted: true or false",
            ]
        )
        #expect(self.problems("") == ["there is nothing in it"])
        #expect(self.problems("[]").first?.hasPrefix("line 1, column 1: r: found a list; accepted: a mapping") == true)
        let error = #expect(throws: ConfigurationError.self) {
            try RoomConfiguration.parse(name: "a b", text: #"{"url": "socketio+http://h/r"}"#)
        }
        #expect(error?.description.contains("a b: cannot be a room's name") == true)
        #expect(RoomConfiguration.isName("a-b_c.d"))
        #expect(!RoomConfiguration.isName(".."))
    }

    /// A room of a file, with values in place of those of the file.
    func load(_ text: String, replacing texts: [String: String] = [:]) throws -> RoomConfiguration {
        let file = FileManager.default.temporaryDirectory.appending(path: "room-\(UUID()).yaml").path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        let values = FixedValues(variables: ["PIN": "1234"])
        return try RoomConfiguration.load(name: "room", path: file, replacing: texts, values: values)
    }

    @Test func aFileIsReadWithValuesInPlaceOfItsOwn() throws {
        let text = "url: socketio+http://h/file\nsecret: ${PIN}\nrecord: { chat: false }"
        let room = try self.load(text)
        #expect(room.address.url.roomName == "file")
        #expect(room.spec.secret?.value == "1234")
        #expect(room.spec.record?.chat == false)
        let other = try self.load(text, replacing: ["url": "socketio+http://h/flag", "secret": "${PIN}"])
        #expect(other.address.url.roomName == "flag")
        // Only a file has references.
        #expect(other.spec.secret?.value == "${PIN}")
        #expect(other.spec.record == room.spec.record)
        #expect(try self.load("record: none", replacing: ["url": "socketio+http://h/flag"]).spec.record == nil)
    }

    @Test func aFileOfARoomTellsThePlacesOfItsProblems() {
        for (text, place) in [
            ("record: none", ":1:1: room.url: missing"),
            ("url: socketio+http://h/r\nsend: { fps: 61 }", ":2:14: room.send.fps: found 61"), ("", "nothing in it"),
        ] {
            let error = #expect(throws: ConfigurationError.self) { try self.load(text) }
            let told = error?.description ?? ""
            #expect(told.contains("room-") && told.contains(place), "\(text)")
        }
    }

    @Test func referencesAreRefusedFromOutside() throws {
        let told = "line 1, column 9: r.url: ${…} is taken from the configuration file only; accepted: $${ for ${"
        #expect(self.problems(#"{"url": "socketio+http://h/${file:/etc/passwd}"}"#) == [told])
        let room = try RoomConfiguration.parse(
            name: "r",
            text: #"{"url": "socketio+http://h/r", "display_name": "$${x}"}"#
        )
        #expect(room.spec.displayName == "${x}")
        let error = #expect(throws: ConfigurationError.self) {
            try room.applying(patch: #"{"display_name": "${HOME}"}"#)
        }
        #expect(error?.description.contains("is taken from the configuration file only") == true)
        #expect(try room.applying(patch: #"{"until_empty": true}"#).spec.displayName == "${x}")
    }

    @Test func aPatchKeepsReferencesOfTheFile() throws {
        let values = FixedValues(variables: ["ROOM": "s3cret"])
        let text = "rooms: { r: { url: \"socketio+http://h/${ROOM}\", record: { video: false, empty_after: 5m } } }"
        let room = try #require(try configuration(text, values).rooms["r"])
        let patch = #"{"record": {"audio": true, "empty_after": null}, "join": "on-demand"}"#
        let patched = try room.applying(patch: patch, values: values)
        #expect(patched.address == room.address)
        #expect(patched.join == .onDemand)
        #expect(patched.spec.record?.video == false)
        #expect(patched.spec.record?.emptyAfterSeconds == 30)
        #expect(
            patched.definition.text
                == #"{"join":"on-demand","record":{"audio":true,"video":false},"url":"socketio+http://h/${ROOM}"}"#
        )
        #expect(patched.changes(from: room) == [.join, .record])
    }

    /// An operator who may change a room could have the file's secret sent to another server.
    @Test func aSecretGoesToNoOtherURL() throws {
        let values = FixedValues(variables: ["PIN": "s3cret"])
        let text = "rooms: { r: { url: \"socketio+http://h/r\", secret: \"${PIN}\" } }"
        let room = try #require(try configuration(text, values).rooms["r"])
        let error = #expect(throws: ConfigurationError.self) {
            try room.applying(patch: #"{"url": "socketio+http://other/r"}"#, values: values)
        }
        #expect(
            error?.problems.map(\.description) == [
                "line 1, column 1: r.secret: belongs to the URL before; accepted: the secret for the new url, or null"
            ]
        )
        let taken: [(patch: String, secret: String?)] = [
            (#"{"url": "socketio+http://h/r"}"#, "s3cret"), (#"{"join": "on-demand"}"#, "s3cret"),
            (#"{"url": "socketio+http://other/r", "secret": "other"}"#, "other"),
            (#"{"url": "socketio+http://other/r", "secret": null}"#, nil),
        ]
        for (patch, secret) in taken {
            let patched = try room.applying(patch: patch, values: values)
            #expect(patched.spec.secret?.value == secret, "\(patch)")
        }
    }

    /// A capture file of the operator's own may take an address and a password as parameters.
    @Test func valuesOfTheFileGoToNoOtherCapture() throws {
        let values = FixedValues(variables: ["KEY": "s3cret"])
        let send = "{ capture: \"cam:a\", parameters: { key: \"${KEY}\", x: 1 } }"
        let text = "rooms: { r: { url: \"socketio+http://h/r\", send: \(send) } }"
        let room = try #require(try configuration(text, values).rooms["r"])
        for change in [#""capture": "cam:b""#, #""audio": "cam:b""#, #""parameters": {"x": 2}"#] {
            let error = #expect(throws: ConfigurationError.self) {
                try room.applying(patch: "{\"send\": {\(change)}}", values: values)
            }
            #expect(error?.description.contains("r.send.parameters.key: belongs to the capture before") == true)
        }
        let taken: [(change: String, key: String?)] = [
            (#"{"fps": 15}"#, "s3cret"), (#"{"capture": "cam:a"}"#, "s3cret"),
            (#"{"capture": "cam:b", "parameters": null}"#, nil),
            (#"{"capture": "cam:b", "parameters": {"key": null}}"#, nil),
            (#"{"capture": "cam:b", "parameters": {"key": "other"}}"#, "other"), (#""none""#, nil),
        ]
        for (change, key) in taken {
            let patched = try room.applying(patch: "{\"send\": \(change)}", values: values)
            #expect(patched.spec.send?.parameters["key"] == key, "\(change)")
        }
    }

    @Test(
        arguments: [
            (#"{"record": "none"}"#, #"{"record":"none","url":"socketio+http://h/r"}"#),
            (#"{"record": {"video": false}}"#, #"{"record":{"audio":true,"video":false},"url":"socketio+http://h/r"}"#),
            (#"{"record": {"audio": null}}"#, #"{"record":{},"url":"socketio+http://h/r"}"#),
            (#"{"record": null, "rejoin": null}"#, #"{"url":"socketio+http://h/r"}"#),
            (#"{"send": {"fps": 15}}"#, #"{"record":{"audio":true},"send":{"fps":15},"url":"socketio+http://h/r"}"#),
            ("{}", #"{"record":{"audio":true},"url":"socketio+http://h/r"}"#),
        ]
    )
    func patchesMerge(patch: String, definition: String) throws {
        let room = try RoomConfiguration.parse(
            name: "r",
            text: #"{"url": "socketio+http://h/r", "record": {"audio": true}}"#
        )
        #expect(try room.applying(patch: patch).definition.text == definition)
    }

    @Test(
        arguments: [
            ("[]", "r: found a list; accepted: an object with the keys to change"),
            ("3", "r: found a number; accepted: an object"), ("null", "r: found nothing; accepted: an object"),
            ("", "there is nothing in it"), ("{", "not YAML"), (#"{"url": null}"#, "r.url: missing"),
            (#"{"jion": 1}"#, "r.jion: unknown key; did you mean \"join\"?"),
            (#"{"record": 3}"#, "r.record: found a number"),
            (#"{"send": {"fps": "\ud83d\ude00"}}"#, "r.send.fps: found \"😀\""),
        ]
    )
    func wrongPatchesAreTold(patch: String, problem: String) throws {
        let room = try RoomConfiguration.parse(name: "r", text: #"{"url": "socketio+http://h/r"}"#)
        let error = #expect(throws: ConfigurationError.self) { try room.applying(patch: patch) }
        #expect(error?.description.contains(problem) == true, "\(String(describing: error))")
    }
}
