// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

/// Every phase of a room against every input: where the room is afterwards, before the store answers anything.
@Suite struct ClusterTableTests {
    private static let phases = ["free", "another's", "claiming", "held", "uncertain", "preparing", "lost", "leaving"]

    private typealias Step = @Sendable (inout ClusterDriver) -> Void

    private static func see(_ key: ClusterKey, _ value: String?) -> Step {
        { driver in
            driver.put(key, value)
            driver.news()
        }
    }

    private static func room(_ news: RoomNews) -> Step { { $0.feed(.room("r", news)) } }

    /// The phase after the input, in the order of `phases`.
    private static let table: [(String, Step, [String])] = [
        ("tick", { $0.feed(.tick) }, unchanged),
        ("joined", room(.joined), unchanged),
        ("left", room(.left), with([(6, "leaving")])),
        ("gone", room(.gone), with([(7, "leaving")])),
        ("people", room(.members(isOccupied: false, takesOneMore: false)), unchanged),
        (
            "a recording",
            room(.recording(RecordingPointer(series: "s", segment: 1, recording: "x", isRecording: true))), unchanged
        ),
        ("a higher epoch in the room", room(.rival(epoch: 99)), with([(4, "leaving")])),
        ("a lower epoch in the room", room(.rival(epoch: 1)), unchanged),
        ("news of an unknown room", { $0.feed(.room("x", .joined)) }, unchanged),
        (
            "the claim is gone", see(.claim("r"), nil),
            // A successor that prepared claims under the epoch that is reserved for it.
            ["-", "-", "claiming", "uncertain", "uncertain", "preparing", "lost", "leaving"]
        ),
        (
            "another host claims it",
            see(.claim("r"), ClaimRecord(host: "b", epoch: 9, phase: .joining).text),
            ["-", "-", "claiming", "lost", "uncertain", "leaving", "lost", "leaving"]
        ),
        (
            "another host claims it and has joined",
            see(.claim("r"), ClaimRecord(host: "b", epoch: 9, phase: .joined).text),
            ["-", "-", "claiming", "leaving", "uncertain", "leaving", "leaving", "leaving"]
        ),
        (
            "a claim that cannot be read", see(.claim("r"), #"{"schema":2}"#),
            ["-", "-", "claiming", "uncertain", "uncertain", "leaving", "lost", "leaving"]
        ),
        (
            "the definition is deleted", see(.room("r"), nil),
            ["-", "-", "claiming", "leaving", "uncertain", "preparing", "lost", "leaving"]
        ),
        ("another definition", see(.room("r"), ClusterDriver.definition(#","cost":2"#)), unchanged),
        ("a definition that cannot be read", see(.room("r"), "[]"), unchanged),
        ("a definition of a newer schema", see(.room("r"), #"{"schema":2,"room":{}}"#), unchanged),
        (
            "another identity of the store", see(.meta, MetaRecord(id: "two").text),
            ["-", "-", "claiming", "uncertain", "uncertain", "preparing", "lost", "leaving"]
        ),
        (
            "no renewal for 5 s", { $0.cutOff() },
            ["-", "-", "-", "uncertain", "uncertain", "preparing", "lost", "leaving"]
        ),
        ("the events are compacted", { $0.compact() }, unchanged),
        ("drain", { $0.feed(.drain(deadline: $0.now + .seconds(60))) }, with([(5, "leaving")])),
        (
            "drain that is over", { $0.feed(.drain(deadline: $0.now)) },
            ["-", "-", "claiming", "held", "uncertain", "leaving", "lost", "leaving"]
        ),
        ("undrain", { $0.feed(.undrain) }, unchanged),
        (
            "stop", { $0.feed(.stop) },
            ["-", "-", "claiming", "leaving", "leaving", "leaving", "leaving", "leaving"]
        ),
        ("an answer that nobody waits for", { $0.feed(.answer(ClusterRequestID(999), .success(.revoked))) }, unchanged),
        (
            "news of a watch that ended",
            { driver in
                let value = StoredValue(key: "/tapedeck/calls/claims/r", value: "{}", created: .none, modified: .none)
                driver.feed(.watched(ClusterWatchID(999), .events([.put(value)], Revision(99))))
            }, unchanged
        ),
        ("other rooms of this host", { $0.feed(.pin(["x": 1])) }, unchanged),
        (
            "a request of an operator",
            { $0.feed(.wish(room: "r", WishRecord(order: .stop, requested: "now", by: "x"))) }, unchanged
        ),
    ]

    private static let unchanged = ["-", "-", "claiming", "held", "uncertain", "preparing", "lost", "leaving"]

    private static func with(_ changes: [(Int, String)]) -> [String] {
        var phases = Self.unchanged
        for (index, phase) in changes { phases[index] = phase }
        return phases
    }

    @Test(arguments: table.indices) func phaseAfterInput(row: Int) {
        let (title, step, expected) = Self.table[row]
        for (phase, after) in zip(Self.phases, expected) {
            var driver = ClusterDriver.inPhase(phase)
            step(&driver)
            #expect(driver.phase == after, "\(title) in \(phase)")
            // Whatever happened: side effects are on where the room is held, and nowhere else.
            #expect((driver.assignments["r"]?.mayAct ?? false) == (driver.phase == "held"), "\(title) in \(phase)")
            // And nothing is waited for that is over.
            #expect(driver.machine.nextDeadline.map { $0 > driver.now } ?? true, "\(title) in \(phase)")
        }
    }

    @Test(arguments: zip(phases, unchanged)) func phasesAreWhatTheirNamesSay(phase: String, expected: String) {
        #expect(ClusterDriver.inPhase(phase).phase == expected)
    }
}
