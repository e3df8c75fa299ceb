// SPDX-License-Identifier: Apache-2.0

internal import Basics
import CGStreamer
import CTapedeck
import Foundation
import Logging
import Matroska
import Recording
import Storage
import Synchronization
import Testing

@testable import GStreamer
@testable import Media

/// Stops the recorder's thread when a recording begins, where it would stand still with a disk that hangs.
final class HeldRecorder: Sendable {
    private let begun = DispatchSemaphore(value: 0)
    private let mayContinue = DispatchSemaphore(value: 0)

    /// For `onEvent` of a recorder.
    var onEvent: @Sendable (RecorderEvent) -> Void {
        { event in
            guard case .started = event else { return }
            self.begun.signal()
            self.mayContinue.wait()
        }
    }

    /// Whether it has begun to stand still within 20 s.
    func waits() -> Bool { self.begun.wait(timeout: .now() + 20) == .success }

    /// Lets it continue.
    func release() { self.mayContinue.signal() }
}

/// A recorder whose units are made by hand, in a separate storage directory.
final class RecorderFeed: Sendable {
    let recorder: RoomRecorder
    let storage: String
    /// Now, on the clock of arrivals, when the feed was made.
    let start = Runtime.monotonicNanoseconds
    private let state = Mutex(State())
    private let told: Told

    private struct State {
        var taps: [TrackTap] = []
        var requests = 0
        /// The track that `drain` uses, and how often it did.
        var last: (track: UInt64, count: Int)?
    }

    private final class Told: Sendable {
        let events = Mutex<[RecorderEvent]>([])
    }

    /// - Parameters:
    ///   - thread: records for it.
    ///   - onEvent: called on the recorder's thread.
    init(
        storage: String? = nil,
        on thread: RecorderThread = .shared,
        _ change: (inout RecorderSettings) -> Void = { _ in },
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in }
    ) throws {
        try Runtime.initialise()
        self.storage =
            storage ?? FileManager.default.temporaryDirectory.path + "/tapedeck-recorder-\(UUID().uuidString)"
        var settings = RecorderSettings(storage: self.storage, room: "r", host: "h")
        change(&settings)
        let told = Told()
        self.told = told
        self.recorder = RoomRecorder(
            on: thread,
            settings: settings,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onEvent: { event in
                told.events.withLock { $0.append(event) }
                onEvent(event)
            }
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: self.storage) }

    var events: [RecorderEvent] { self.told.events.withLock { $0 } }
    var keyframeRequests: Int { self.state.withLock { $0.requests } }
    var finished: [(folder: RecordingFolder, reason: String)] {
        self.events.compactMap { if case .finished(let folder, _, let reason) = $0 { (folder, reason) } else { nil } }
    }

    /// Opens a track; its number is for `push`.
    func open(_ codec: MediaCodec, participant: String = "alice") -> UInt64 {
        let track = ReceivedTrack(
            participant: participant,
            codec: codec,
            clockRateHz: codec.kind == .video ? 90_000 : 48_000,
            channels: codec.kind == .video ? 0 : 2,
            ssrc: 7,
            payloadType: 96,
            connection: 1
        )
        let tap = self.recorder.open(track) { [weak self] in
            self?.state.withLock { $0.requests += 1 }
        }
        return self.state.withLock { state in
            state.taps.append(tap)
            return UInt64(state.taps.count)
        }
    }

    /// Hands a unit to the recorder, as if it had come so many milliseconds after the start.
    func push(
        _ track: UInt64,
        _ bytes: [UInt8],
        at milliseconds: Int64,
        rateHz: Int64 = 90_000,
        lost: UInt32 = 0,
        truncated: Bool = false,
        into queue: UnitQueue? = nil
    ) {
        guard let buffer = gst_buffer_new_memdup(bytes, gsize(bytes.count)) else { return }
        var item = CTapedeckItem()
        item.kind = CTAPEDECK_ITEM_UNIT
        item.source = track
        item.ssrc = 7
        item.rtp_time = milliseconds * rateHz / 1000
        item.arrival_nanoseconds = self.start + milliseconds * 1_000_000
        item.lost_before = lost
        item.truncated = truncated
        item.size = bytes.count
        item.buffer = buffer
        #expect(CTapedeck_queue_push((queue ?? self.recorder.queue).pointer, &item))
        gst_mini_object_unref(UnsafeMutableRawPointer(buffer).assumingMemoryBound(to: GstMiniObject.self))
    }

    /// Waits until something holds.
    func settle(until condition: (RecorderFeed) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition(self) {
            guard ContinuousClock.now < deadline else {
                Issue.record("it did not happen: \(self.recorder.status.tracks), \(self.events)")
                return
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until the recorder has taken everything that was pushed, at an instant after all of it.
    func drain(at milliseconds: Int64) async throws {
        let participant = "last"
        let track = self.state.withLock { $0.last?.track } ?? self.open(.vp8, participant: participant)
        let count = (self.state.withLock { $0.last?.count } ?? 0) + 1
        self.state.withLock { $0.last = (track, count) }
        _ = self.recorder.lastKeyframe(participant: participant)
        let keyframe = FedUnit.keyframe(size: 100 + count)
        self.push(track, keyframe, at: milliseconds)
        try await self.settle { $0.recorder.lastKeyframe(participant: participant)?.bytes == keyframe }
    }

    /// Units written so far, over all tracks of the present recording.
    var written: UInt64 { self.recorder.status.tracks.reduce(0) { $0 + $1.units } }

    var folders: [RecordingFolder] { (try? RecordingFolder.list(storage: self.storage)) ?? [] }
}

/// Coded units with valid heads.
enum FedUnit {
    static func keyframe(size: Int = 200) -> [UInt8] {
        [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00] + [UInt8](repeating: 0xA5, count: size)
    }

    static func frame(size: Int = 100) -> [UInt8] { [0x11, 0x02, 0x00] + [UInt8](repeating: 0x5A, count: size) }

    static let opus: [UInt8] = [0xFC, 1, 2, 3, 4, 5, 6, 7]
}
