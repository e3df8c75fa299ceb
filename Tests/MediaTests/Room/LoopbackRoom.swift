// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Logging
import Media
import Model
import PipelineCatalogue
import Recording
import SDP
import Session
import Signalling
import Synchronization

@testable import GStreamer

/// One end of a room of two that lives in this process.
final class LoopbackSignaller: Signaller {
    let events: AsyncStream<RoomEvent>
    private let feed: AsyncStream<RoomEvent>.Continuation
    private let name: PeerID
    private let other: Mutex<LoopbackSignaller?> = Mutex(nil)
    private let alteration: @Sendable (String) -> String
    private let left: AsyncStream<Void>
    private let leave: AsyncStream<Void>.Continuation

    /// `alteration` changes every description on its way out.
    init(_ name: String, alteration: @escaping @Sendable (String) -> String = { $0 }) {
        self.name = PeerID(name)
        self.alteration = alteration
        (self.events, self.feed) = AsyncStream.makeStream()
        (self.left, self.leave) = AsyncStream.makeStream()
    }

    /// Makes two ends of one room; the second one is the newcomer, so the first one offers.
    static func join(_ first: LoopbackSignaller, _ second: LoopbackSignaller) {
        first.other.withLock { $0 = second }
        second.other.withLock { $0 = first }
        first.feed.yield(.joined(ownID: first.name))
        second.feed.yield(.joined(ownID: second.name))
        first.feed.yield(.peerArrived(second.name))
    }

    func run() async throws {
        for await _ in self.left { break }
        self.feed.finish()
    }

    func send(_ command: RoomCommand) {
        let other = self.other.withLock { $0 }
        switch command {
        case .offer(_, let sdp):
            other?.feed.yield(.offerReceived(from: self.name, sdp: self.alteration(sdp)))
        case .answer(_, let sdp):
            other?.feed.yield(.answerReceived(from: self.name, sdp: self.alteration(sdp)))
        case .candidate(_, let candidate):
            other?.feed.yield(.candidateReceived(from: self.name, candidate))
        case .resetCall, .yield:
            break
        case .leave:
            other?.feed.yield(.peerLeft(self.name))
            self.other.withLock { $0 = nil }
            self.feed.yield(.left)
            self.leave.finish()
        }
    }
}

/// Builds sessions for tests: loopback addresses only.
enum TestSession {
    static let logger = Logger(label: "test") { label in
        var handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = .warning
        return handler
    }

    /// A camera with the program's own pipelines, at a fixed rate: a busy machine is no narrow network.
    static func camera(_ settings: SendSpec) throws -> CameraSource {
        var settings = settings
        settings.minimumBitsPerSecond = settings.bitsPerSecond
        return CameraSource(settings: settings, pipelines: try PipelineCatalogue.load(), logger: Self.logger)
    }

    /// Video that costs little to encode.
    static let small = {
        var settings = SendSpec()
        (settings.width, settings.height, settings.framesPerSecond) = (320, 180, 15)
        return settings
    }()

    /// A recorder of the room `test`.
    static func recorder(in storage: String) -> RoomRecorder {
        RoomRecorder(settings: RecorderSettings(storage: storage, room: "test", host: "here"), logger: Self.logger)
    }

    static func context(
        control: ControlThread,
        recorder: RoomRecorder? = nil,
        camera: CameraSource? = nil,
        preferred: PreferredCodec = .vp8,
        recordsChat: Bool = false,
        packetsPerLook: Int? = nil
    ) throws -> PeerConnectionContext {
        try Runtime.initialise()
        var settings = WebRTCSettings()
        settings.hostAddresses = ["127.0.0.1"]
        settings.packetsPerLook = packetsPerLook
        return PeerConnectionContext(
            control: control,
            certificate: try Certificate.generate(),
            policy: NegotiationPolicy.forSession(
                receives: recorder != nil,
                camera: camera,
                preferred: preferred,
                recordsChat: recordsChat
            ),
            settings: settings,
            baseTimeNanoseconds: UInt64(Runtime.monotonicNanoseconds),
            recorder: recorder,
            camera: camera
        )
    }
}
