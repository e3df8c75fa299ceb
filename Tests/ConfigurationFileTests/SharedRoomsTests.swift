// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import ConfigurationFile
import Testing

/// Files of rooms that a cluster is to have.
@Suite struct SharedRoomsTests {
    private static func problems(_ text: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try SharedRooms(text: text, values: FixedValues(variables: ["HERE": "here"]))
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func aRecordIsTheDefinitionAsItIsWritten() throws {
        let text = """
            rooms:
              one: { url: "socketio+http://${HOST}/1", secret: "${file:/no/such/file}", cost: 3 }
              two: { url: "socketio+http://h/2", hosts: { require: { zone: north } }, when_cut_off: leave }
            """
        let records = try SharedRooms(text: text, values: FixedValues()).records
        #expect(records.keys.sorted() == ["one", "two"])
        let one = try #require(RecordReading<RoomRecord>(records["one"] ?? "").record)
        #expect(one.definition["url"]?.string == "socketio+http://${HOST}/1" && one.cost == 3)
        #expect(one.definition["secret"]?.string == "${file:/no/such/file}")
        let two = try #require(RecordReading<RoomRecord>(records["two"] ?? "").record)
        #expect(two.required == ["zone": "north"] && two.whenCutOff == .leave && two.cost == 1)
    }

    @Test func aMistakeIsToldInTheWordsOfTheConfiguration() {
        let text = """
            rooms:
              one: { url: "socketio+http://h/1", secret: plain }
              two: { url: "socketio+http://h/2", cots: 3 }
              three: { url: "socketio+http://h/3", cost: "${HERE}" }
            """
        #expect(
            Self.problems(text) == [
                "line 2, column 38: rooms.one.secret: the etcd would show it to all its readers; accepted: "
                    + "${NAME} or ${file:/path}, which each host looks up",
                #"line 3, column 38: rooms.two.cots: unknown key; did you mean "cost"?"#,
                #"line 4, column 46: rooms.three.cost: found the value of "${HERE}", which is not shown; accepted: a whole "#
                    + "number from 1 to 1000",
            ]
        )
        #expect(Self.problems("room: {}").count == 2)
        #expect(Self.problems("storage: { keep: 30d }\nrooms: {}").first?.contains("storage: unknown key") == true)
    }
}
