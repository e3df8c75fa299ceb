// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Control
import Fleet
import Foundation
import Model
import Testing

@testable import Daemon

/// Changes of a room's camera that come at the same time.
@Suite(.timeLimit(.minutes(5))) struct CameraTurnTests {
    private let bench: DaemonBench

    init() throws {
        self.bench = try DaemonBench()
    }

    /// A worker that joins a room, and has other specs in force, or refuses their cameras, once there is a file `go`.
    private func worker(refuses: Bool = false) throws -> String {
        var status = RoomStatus()
        (status.revision, status.refused) = (4_711, refuses ? [.send: "it cannot be"] : nil)
        let lines = [
            "ready": WorkerEvent.ready(protocolVersion: WorkerLine.protocolVersion, processID: 1),
            "joined": .joined(room: "a"),
            "done": .status(room: "a", status),
        ]
        for (name, event) in lines {
            try WorkerLine.encode(event).write(to: URL(filePath: "\(self.bench.storage)/\(name)"))
        }
        return """
            cd \(self.bench.storage)
            cat ready
            while read -r line; do
              case "$line" in
                *'"revision":1}}') cat joined ;;
                *'"be"'*) echo "$line" >> seen; while [ ! -e go ]; do sleep 0.02; done
                  revision=$(echo "$line" | sed -n 's/.*"revision":\\([0-9]*\\).*/\\1/p')
                  sed "s/4711/$revision/" done ;;
              esac
            done
            """
    }

    /// What the worker was told to send, in turn.
    private func seen() throws -> [SendSpec?] {
        let text = (try? String(contentsOfFile: self.bench.storage + "/seen", encoding: .utf8)) ?? ""
        return try text.split(separator: "\n").compactMap { line in
            guard
                case .be(let spec, _) = try WorkerLine.decode(WorkerCommand.self, from: Data(line.utf8))
            else { return nil }
            return spec.send
        }
    }

    @Test func theSecondGoesByWhatTheFirstMadeOfIt() async throws {
        let configuration = try DaemonConfiguration.parse(
            text: "rooms: { a: { url: 'socketio+http://192.0.2.1/a', send: { capture: test, audio: test } } }"
        )
        let store = try self.bench.store()
        let supervisor = self.bench.supervisor(configuration, store: store, workers: try self.worker())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { group.cancelAll() }
            await supervisor.takeUpRooms()
            _ = try #require(await self.bench.next(.roomJoined))
            var (muteVideo, muteAudio) = (CameraChange(), CameraChange())
            (muteVideo.isVideoMuted, muteAudio.isAudioMuted) = (true, true)
            async let first = supervisor.perform(.changeCamera(muteVideo), on: "a")
            while try self.seen().isEmpty { await Task.yield() }
            async let second = supervisor.perform(.changeCamera(muteAudio), on: "a")
            while await supervisor.cameraTurns["a"]?.isEmpty != false { await Task.yield() }
            try Data().write(to: URL(filePath: self.bench.storage + "/go"))
            _ = try await (first, second)
            let order = await supervisor.fleet.rooms["a"]?.spec.send
            #expect(order?.isVideoMuted == true && order?.isAudioMuted == true)
            #expect(await supervisor.cameraTurns.isEmpty)
            while try self.seen().compactMap({ $0 }).last?.isAudioMuted != true { await Task.yield() }
        }
        // Video was never sent again.
        let told = try self.seen().compactMap { $0 }
        #expect(told.count >= 2 && told.allSatisfy(\.isVideoMuted), "\(told)")
    }

    @Test func whatIsMutedStaysItWhereTheRestIsRefused() async throws {
        let configuration = try DaemonConfiguration.parse(
            text: "rooms: { a: { url: 'socketio+http://192.0.2.1/a', send: { capture: test, audio: test } } }"
        )
        let store = try self.bench.store()
        let workers = try self.worker(refuses: true)
        try Data().write(to: URL(filePath: self.bench.storage + "/go"))
        let supervisor = self.bench.supervisor(configuration, store: store, workers: workers)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await supervisor.run() }
            defer { group.cancelAll() }
            await supervisor.takeUpRooms()
            _ = try #require(await self.bench.next(.roomJoined))
            var change = CameraChange()
            (change.isVideoMuted, change.width) = (true, 640)
            let mute = change
            await #expect(throws: ControlError.self) {
                _ = try await supervisor.perform(.changeCamera(mute), on: "a")
            }
            let order = await supervisor.fleet.rooms["a"]?.spec.send
            #expect(order?.isVideoMuted == true && order?.width == 1280)
        }
    }
}
