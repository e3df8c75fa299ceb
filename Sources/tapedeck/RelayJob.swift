// SPDX-License-Identifier: Apache-2.0

import GStreamer
import Media
import Model
import Session
import Signalling
import Worker

/// What came of sending a room on; printed as JSON for scripts.
struct RelayResult: Encodable {
    var outputs: [OutputResult]
    var counters: [String: Int]
}

/// One stay in one room in which nothing is recorded: tracks are only sent on.
struct RelayJob: Sendable {
    var stay: RoomStay
    var outputs: [OutputSpec]

    func run(interrupts: Interrupts) async throws -> RelayResult {
        do {
            return try await self.relay(interrupts)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func relay(_ interrupts: Interrupts) async throws -> RelayResult {
        try Runtime.initialise()
        let control = ControlThread(name: "control")
        let camera = try await self.stay.camera(control)
        let outputs = RTPOutputs(try RTPOutputSettings.all(self.outputs), room: self.stay.url.roomName, logger: self.stay.logger)
        let session = try self.stay.session(
            self.stay.request(sends: camera != nil),
            control: control,
            outputs: outputs,
            camera: camera
        )
        async let running = session.run()
        let (end, hadMedia) = await self.stay.end(
            of: session,
            interrupts,
            media: { outputs.status.contains { $0.total != RTPStreamCounters() } ? .some : .none }
        )
        let results = outputs.status.map { OutputResult($0) }
        session.stop()
        let outcome = await running
        await control.end("stopping the camera", logger: self.stay.logger) { camera?.stop() }
        await outputs.finishPipelines()
        await control.end("ending the outputs", logger: self.stay.logger) { outputs.finish() }
        guard hadMedia else {
            if case .failed(let error) = outcome { throw CommandFailure(error) }
            if end == .interrupted { throw CommandFailure(.interrupted, "interrupted before anything was sent on") }
            let status = session.status
            guard status.hasJoined else { throw self.stay.notJoined([status]) }
            throw CommandFailure(.noMedia, "joined \(self.stay.url.shown), but no media came")
        }
        return RelayResult(outputs: results, counters: session.status.counters)
    }
}
