// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import ConfigurationFile
import Daemon
import Diagnosis
import Foundation
import GStreamer
import Logging
import Media
import Model
import Observability
import PipelineCatalogue
import SystemPackage
import Worker

/// Has a worker record rooms that this process fills, and says how many of them the host takes.
///
/// Media are coded once and sent to every room, so that most of the host is left for what is measured.
struct CapacityJob: Sendable {
    /// Where recordings would be; what is recorded there is deleted.
    var directory: String
    /// How many rooms share a worker in the daemon that is planned.
    var roomsPerWorker: Int
    var showsProgress: Bool
    var logger: Logger

    /// Rooms on top of the first one, of each kind.
    private static let rooms = 5
    /// Until what began is through.
    private static let settling = Duration.seconds(2)
    /// How long a load is looked at, at least.
    private static let span = Duration.seconds(4)
    private static let joinLimit = Duration.seconds(20)

    private static let kinds: [(media: Capacity.Media, settings: SendSpec)] = [
        kind("720p30", 1280, 720, framesPerSecond: 30, bitsPerSecond: 1_500_000),
        kind("360p15", 640, 360, framesPerSecond: 15, bitsPerSecond: 400_000),
    ]

    private static func kind(
        _ name: String,
        _ width: Int,
        _ height: Int,
        framesPerSecond: Int,
        bitsPerSecond: Int
    ) -> (Capacity.Media, SendSpec) {
        var settings = SendSpec()
        (settings.width, settings.height, settings.framesPerSecond) = (width, height, framesPerSecond)
        (settings.bitsPerSecond, settings.minimumBitsPerSecond) = (bitsPerSecond, bitsPerSecond)
        let total = bitsPerSecond + settings.audioBitsPerSecond
        let details = "VP8 and Opus, \(total / 1000) kbit/s"
        return (Capacity.Media(name: name, details: details, bitsPerSecond: total), settings)
    }

    func run(interrupts: Interrupts) async throws -> Capacity {
        try Runtime.initialise()
        let folder = "\(self.directory)/.tapedeck-capacity-\(UUID().uuidString)"
        guard let host = Capacity.Host.measured(directory: self.directory),
            (try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)) != nil
        else {
            throw CommandFailure(.usage, "\(self.directory) cannot be written: name another with --directory")
        }
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await LocalRooms.serve(roomCapacity: 2, for: "the measurement", logger: self.logger) { server in
            try await MeasuredWorker.run("/proc/self/exe") { worker in
                try await self.measure(worker, folder, at: server, host, interrupts)
            }
        }
    }

    private func measure(
        _ worker: MeasuredWorker,
        _ folder: String,
        at server: String,
        _ host: Capacity.Host,
        _ interrupts: Interrupts
    ) async throws -> Capacity {
        let control = ControlThread(name: "cameras")
        let pipelines = try PipelineCatalogue.load()
        let cameras = Self.kinds.map { CameraSource(settings: $0.settings, pipelines: pipelines, logger: self.logger) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            var sessions: [RoomRun] = []
            func fill(_ count: Int, with camera: CameraSource) async throws -> Capacity.Load {
                for _ in 0..<count {
                    let name = "capacity-\(sessions.count + 1)"
                    var order = RoomSpec(name: name, url: "socketio+http://\(server)/\(name)", storage: folder)
                    order.ice.hostAddresses = ["127.0.0.1"]
                    let options = RoomRun.Options(receives: false)
                    let logger = self.logger.forSession()
                    let session = try RoomRun(order, options, camera: camera, control: control, logger: logger)
                    sessions.append(session)
                    order.record = RecordSpec()
                    worker.join(order)
                    group.addTask { _ = await session.run() }
                }
                return try await self.load(of: worker, rooms: sessions.count, interrupts)
            }
            let outcome: Result<Capacity, any Error>
            do {
                let first = try await fill(1, with: cameras[0])
                var steps: [(Capacity.Media, Capacity.Load)] = []
                for (kind, camera) in zip(Self.kinds, cameras) {
                    steps.append((kind.media, try await fill(Self.rooms, with: camera)))
                }
                outcome = .success(
                    Capacity(host: host, roomsPerWorker: self.roomsPerWorker, first: first, steps: steps)
                )
            } catch {
                outcome = .failure(error)
            }
            for session in sessions { session.stop() }
            try await group.waitForAll()
            for camera in cameras { await control.end("stopping a camera", logger: self.logger) { camera.stop() } }
            return try outcome.get()
        }
    }

    /// What the worker uses once that many rooms are recorded.
    private func load(of worker: MeasuredWorker, rooms: Int, _ interrupts: Interrupts) async throws -> Capacity.Load {
        if self.showsProgress { Output.message("recording \(rooms) \(rooms == 1 ? "room" : "rooms")") }
        let limit = ContinuousClock.now + Self.joinLimit
        while worker.recording.count < rooms {
            try self.check(worker, interrupts)
            guard ContinuousClock.now < limit else {
                let joined = worker.recording.count
                throw CommandFailure(
                    .noMedia,
                    "\(joined) of \(rooms) rooms were recorded within \(Self.joinLimit): this host takes no more"
                )
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        try await Task.sleep(for: Self.settling)
        let (before, start) = try await self.vitals(of: worker, after: .now, interrupts)
        let (after, end) = try await self.vitals(of: worker, after: start + Self.span, interrupts)
        return Capacity.Load(
            rooms: rooms,
            processorShare: (after.cpuSeconds - before.cpuSeconds) / ((end - start) / .seconds(1)),
            residentBytes: after.residentBytes
        )
    }

    /// The first vitals that are reported after an instant.
    private func vitals(
        of worker: MeasuredWorker,
        after instant: ContinuousClock.Instant,
        _ interrupts: Interrupts
    ) async throws -> (WorkerVitals, ContinuousClock.Instant) {
        let limit = max(instant, .now) + .seconds(10)
        while true {
            try self.check(worker, interrupts)
            if let (vitals, at) = worker.vitals, at >= instant { return (vitals, at) }
            guard ContinuousClock.now < limit else {
                throw CommandFailure(.noMedia, "the worker says nothing any more")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func check(_ worker: MeasuredWorker, _ interrupts: Interrupts) throws {
        if interrupts.came { throw CommandFailure(.interrupted, "interrupted before everything was measured") }
        if let failure = worker.failure { throw CommandFailure(.noMedia, failure) }
    }
}
