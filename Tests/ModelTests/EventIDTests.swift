// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Model
import Testing

@Suite struct EventIDTests {
    @Test(
        arguments: [
            ("7", nil, 7), ("life-7", "life", 7), ("a-18446744073709551615", "a", .max), ("0", nil, 0),
        ] as [(String, String?, UInt64)]
    )
    func idsAreRead(_ text: String, _ life: String?, _ sequence: UInt64) {
        #expect(EventID(parsing: text) == EventID(life: life, sequence: sequence))
        #expect(EventID(parsing: text)?.description == text)
    }

    @Test(arguments: [
        "", "-", "-1", "life-", "life", "1-life", "Life-1", "a-b-1", "life-+1", "+1", "life--1", "é-1",
        "life-18446744073709551616", "aaaaaaaaaaaaaaaaa-1",
    ])
    func whatNoStreamSaidIsNoID(_ text: String) {
        #expect(EventID(parsing: text) == nil)
    }

    @Test func livesAreToldApart() {
        let life = EventID.randomLife()
        #expect(EventID(parsing: life + "-1") == EventID(life: life, sequence: 1))
        #expect(EventID.randomLife() != life)
    }

    @Test func inJSONItIsAText() throws {
        let json = Data(#"["life-7"]"#.utf8)
        let ids = [EventID(life: "life", sequence: 7)]
        #expect(try JSONDecoder().decode([EventID].self, from: json) == ids)
        #expect(try JSONEncoder().encode(ids) == json)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([EventID].self, from: Data(#"["Life-7"]"#.utf8))
        }
    }
}
