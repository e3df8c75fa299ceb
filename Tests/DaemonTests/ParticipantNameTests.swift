// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Foundation
import Model
import Testing

@testable import Daemon

/// Events name participants as far as their names are known.
@Suite(.timeLimit(.minutes(5))) struct ParticipantNameTests {
    @Test func eventsHaveNames() async throws {
        let bench = try DaemonBench()
        var status = RoomStatus()
        status.participants = [RoomStatus.Participant(id: "p", name: "Ann", isConnected: true)]
        let lines: [WorkerEvent] = [
            .joined(room: "a"), .participantJoined(room: "a", participant: "p"), .status(room: "a", status),
            .peerRefused(room: "a", participant: "p", reason: "r"),
            .participantLeft(room: "a", participant: "p", reason: "left"),
        ]
        for (name, events) in [
            "ready": [WorkerEvent.ready(protocolVersion: WorkerLine.protocolVersion, processID: 1)], "lines": lines,
        ] {
            let data = try events.reduce(into: Data()) { $0 += try WorkerLine.encode($1) }
            try data.write(to: URL(filePath: "\(bench.storage)/\(name)"))
        }
        let script = """
            cd \(bench.storage)
            cat ready
            while read -r line; do case "$line" in *'"be"'*) cat lines ;; esac; done
            """
        let configuration = try DaemonConfiguration.parse(text: "rooms: { a: { url: 'socketio+http://192.0.2.1/a' } }")
        let supervisor = bench.supervisor(configuration, store: try bench.store(), workers: script)
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { group.cancelAll() }
            await supervisor.takeUpRooms()
            var details: [[String: String]] = []
            for await event in bench.events where event.details["participant"] == "p" {
                details.append(event.details)
                if event.kind == .participantLeft { break }
            }
            #expect(
                details == [
                    ["participant": "p"], ["participant": "p", "name": "Ann", "reason": "r"],
                    ["participant": "p", "name": "Ann", "reason": "left"],
                ]
            )
        }
    }
}
