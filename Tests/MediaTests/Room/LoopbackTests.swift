// SPDX-License-Identifier: Apache-2.0

internal import Basics
import CGStreamer
import CTapedeck
import Foundation
import Matroska
import Model
import Recording
import SDP
import Session
import Storage
import Synchronization
import Testing

@testable import GStreamer
@testable import Media

/// Two room sessions of ours in one process: a camera and a recorder, over loopback.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LoopbackTests {
    private struct Outcome {
        var recorder: RoomRecorder
        var storage: String
        var recording: RoomSession
        /// Jitter buffers of the recorder, when it was done, by whether they ask for packets that are missing.
        var reorderBuffers: [Bool]
        /// How often each of the recorder's sockets was looked at, and how many packets that brought.
        var reads: [CTapedeckPathCounters]
        var sent: [MediaCodec: UInt64]
    }

    /// Runs a camera and a recorder until `isDone` says so, then stops both.
    private func record(
        cameraOffers: Bool,
        codec: PreferredCodec,
        sends: SendSpec = SendSpec(),
        packetsPerLook: Int? = nil,
        alteration: @escaping @Sendable (String) -> String = { $0 },
        until isDone: @escaping @Sendable (RoomRecorder, RoomSession) -> Bool
    ) async throws -> Outcome {
        let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path
        let control = ControlThread(name: "control")
        let recorder = RoomRecorder(
            settings: RecorderSettings(storage: storage, room: "test", host: "here"),
            logger: TestSession.logger
        )
        let camera = try TestSession.camera(sends)
        let cameraEnd = LoopbackSignaller("camera", alteration: alteration)
        let recorderEnd = LoopbackSignaller("recorder")
        let sending = RoomSession(
            signaller: cameraEnd,
            context: try TestSession.context(control: control, camera: camera, preferred: codec),
            logger: TestSession.logger
        )
        let recording = RoomSession(
            signaller: recorderEnd,
            context: try TestSession.context(
                control: control,
                recorder: recorder,
                preferred: codec,
                packetsPerLook: packetsPerLook
            ),
            logger: TestSession.logger
        )
        if cameraOffers {
            LoopbackSignaller.join(cameraEnd, recorderEnd)
        } else {
            LoopbackSignaller.join(recorderEnd, cameraEnd)
        }
        var sent: [MediaCodec: UInt64] = [:]
        var reorderBuffers: [Bool] = []
        var reads: [CTapedeckPathCounters] = []
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await sending.run() }
            group.addTask { _ = await recording.run() }
            let deadline = ContinuousClock.now + .seconds(60)
            while !isDone(recorder, recording), ContinuousClock.now < deadline {
                try? await Task.sleep(for: .milliseconds(50))
            }
            reorderBuffers = recording.connections.compactMap(\.bin).flatMap(\.reorderBuffers)
            reads = recording.connections.compactMap(\.bin?.path.counters)
            recording.stop()
            sending.stop()
            await group.waitForAll()
            sent = sending.status.sent
        }
        try await control.run("camera", deadline: .seconds(60)) { camera.stop() }
        try await control.run("recorder", deadline: .seconds(60)) { recorder.finish(reason: "test over") }
        return Outcome(
            recorder: recorder,
            storage: storage,
            recording: recording,
            reorderBuffers: reorderBuffers,
            reads: reads,
            sent: sent
        )
    }

    @Test(arguments: [true, false], [PreferredCodec.vp8, .h264, .vp9])
    func recordsTheCamera(cameraOffers: Bool, codec: PreferredCodec) async throws {
        let result = try await self.record(cameraOffers: cameraOffers, codec: codec) { recorder, _ in
            recorder.status.tracks.count == 2 && recorder.status.tracks.allSatisfy { $0.units >= 30 }
        }
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        let tracks = result.recorder.status.tracks
        #expect(tracks.count == 2)
        let expected = [PreferredCodec.h264: MediaCodec.h264, .vp9: .vp9][codec] ?? .vp8
        #expect(tracks.contains { $0.codec == expected && $0.size ?? (0, 0) == (1280, 720) })
        #expect(tracks.contains { $0.codec == .opus })
        for track in tracks {
            #expect(track.units >= 30)
            #expect(track.duration > .zero)
        }
        #expect(result.recorder.status.failure == nil)
    }

    /// For either offerer, and whether the sender names its sources or not.
    @Test(arguments: [true, false], [true, false])
    func whatIsMissingOfThePictureIsAskedFor(cameraOffers: Bool, namesSources: Bool) async throws {
        let descriptions = SDPLog()
        let result = try await self.record(
            cameraOffers: cameraOffers,
            codec: .vp8,
            alteration: { sdp in
                descriptions.texts.withLock { $0.append(sdp) }
                return namesSources ? sdp : sdp.replacing(/a=ssrc[^\r]*\r\n/, with: "")
            },
            until: { recorder, _ in
                recorder.status.tracks.count == 2 && recorder.status.tracks.allSatisfy { $0.units > 0 }
            }
        )
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        #expect(result.recorder.status.tracks.count == 2)
        // Audio is concealed, not repeated.
        #expect(result.reorderBuffers.sorted { !$0 && $1 } == [false, true])
        let sent = try SessionDescription(parsing: #require(descriptions.texts.withLock { $0.first }))
        #expect(sent.media.map(\.media) == ["audio", "video"])
        #expect(sent.media.map { $0.sources.map { $0.repairs == nil } } == [[true], [true, false]])
        #expect(sent.media.allSatisfy { Set($0.sources.map(\.cname)).count == 1 })
    }

    /// Every packet that came, and every one that was restored, is in one place when the call is over.
    @Test(arguments: [PreferredCodec.vp8, .h264])
    func everyPacketIsAccountedFor(codec: PreferredCodec) async throws {
        let loss = Loss()
        let result = try await self.record(
            cameraOffers: true,
            codec: codec,
            sends: TestSession.small,
            until: { recorder, recording in
                loss.watch(recording.connections)
                let restored = recording.connections.flatMap(\.sources).reduce(0) { $0 + $1.restored }
                return restored > 20 && recorder.status.tracks.count == 2
                    && recorder.status.tracks.allSatisfy { $0.units > 30 }
            }
        )
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        let (connections, taps) = loss.seen
        let connection = try #require(connections.first)
        let negotiation = connection.state.withLock { $0.negotiation }
        let sources = connection.sources
        #expect(connections.count == 1 && taps.count == 2 && loss.dropped > 20)
        #expect(sources.count == 3 && sources.allSatisfy { !$0.packets.isEmpty && $0.typesBeyond == 0 })
        #expect(sources.reduce(0) { $0 + $1.restored } > 20)
        var repairs = 0
        for source in sources {
            let media = source.packets.filter { negotiation.use(ofPayloadType: $0.key) != .repair }
            guard !media.isEmpty else {
                repairs += 1
                #expect(source.entered == 0)
                continue
            }
            let came = media.values.reduce(0, +) + source.restored
            #expect(came == source.outOfSequence + source.entered)
            let tapped = taps.filter { $0.ssrc == source.ssrc }.map(\.counters)
            let reached = tapped.reduce(0) { $0 + $1.packets }
            #expect(tapped.count == 1 && reached > 0)
            #expect(
                source.entered == source.late + source.waiting + source.notAccepted + source.heldAndDropped + reached
            )
            #expect(source.waiting == 0 && source.notAccepted == 0 && source.heldAndDropped == 0)
            for counters in tapped {
                let lost = counters.empty + counters.late + counters.beforeKeyframe + counters.incomplete
                #expect(counters.packets == lost + counters.undecodable + counters.queueFull + counters.inUnits)
                #expect(counters.inUnits > 0 && counters.queueFull == 0 && counters.undecodable == 0)
            }
        }
        #expect(repairs == 1)
    }

    /// Without the kernel's word on when each packet came, none would be waited for.
    @Test
    func packetsGatherWhileTheyKeepTheTimesOfTheirArrival() async throws {
        let ages = PacketAges()
        let result = try await self.record(cameraOffers: true, codec: .vp8) { recorder, session in
            ages.watch(session.connections.compactMap(\.bin))
            return recorder.status.tracks.count == 2 && recorder.status.tracks.allSatisfy { $0.duration > .seconds(4) }
        }
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        let reads = try #require(result.reads.first)
        #expect(result.reads.count == 1)
        #expect(reads.packets_read > reads.looks * 3 / 2, "\(reads)")
        #expect(ages.longest > .milliseconds(3))
        #expect(ages.longest < .seconds(1))
        #expect(ages.isNegative == false)
        #expect(result.recorder.status.tracks.allSatisfy { $0.lostPackets == 0 })
    }

    /// 50 packets a second, hardly more than the least that gathers.
    @Test
    func packetsOfSoundAloneGatherToo() async throws {
        var sound = SendSpec()
        sound.video = nil
        let result = try await self.record(cameraOffers: true, codec: .vp8, sends: sound) { recorder, session in
            guard recorder.status.tracks.contains(where: { $0.duration > .seconds(2) }) else { return false }
            return session.connections.compactMap(\.bin?.path.counters).contains { $0.packets_read > $0.looks * 3 / 2 }
        }
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        let reads = try #require(result.reads.first)
        #expect(reads.packets_read > reads.looks * 3 / 2, "\(reads)")
        #expect(result.recorder.status.tracks.map(\.codec) == [.opus])
        #expect(result.recorder.status.tracks.allSatisfy { $0.lostPackets == 0 })
    }

    /// As a flood is: nothing is lost of what waits in the sockets, and between two looks a connection can be ended.
    @Test
    func aFewPacketsAtATimeAreAllOfThem() async throws {
        let result = try await self.record(cameraOffers: true, codec: .vp8, packetsPerLook: 2) { recorder, _ in
            recorder.status.tracks.count == 2 && recorder.status.tracks.allSatisfy { $0.duration > .seconds(2) }
        }
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        let reads = try #require(result.reads.first)
        #expect(reads.packets_read <= 2 * reads.looks, "\(reads)")
        #expect(reads.packets_read > 100)
        #expect(result.recorder.status.tracks.allSatisfy { $0.lostPackets == 0 && $0.duration > .seconds(2) })
    }

    /// Two rooms of a process; each ends while the other one's media flow, or after it.
    @Test
    func oneThreadReadsTheConnectionsOfAProcess() async throws {
        let wereShared = Mutex(false)
        let isDone: @Sendable (RoomRecorder, RoomSession) -> Bool = { recorder, _ in
            if ReceivePath.sharedConnections >= 2 { wereShared.withLock { $0 = true } }
            return wereShared.withLock { $0 } && recorder.status.tracks.count == 2
                && recorder.status.tracks.allSatisfy { $0.duration > .seconds(4) }
        }
        async let first = self.record(cameraOffers: true, codec: .vp8, until: isDone)
        async let second = self.record(cameraOffers: false, codec: .h264, until: isDone)
        let results = try await [first, second]
        defer { for result in results { try? FileManager.default.removeItem(atPath: result.storage) } }
        #expect(wereShared.withLock { $0 })
        for result in results {
            #expect(result.recorder.status.tracks.count == 2)
            #expect(result.recorder.status.tracks.allSatisfy { $0.lostPackets == 0 && $0.duration > .seconds(4) })
            #expect(result.recorder.status.failure == nil)
        }
    }

    @Test
    func refusesAForgedFingerprint() async throws {
        let forge: @Sendable (String) -> String = { sdp in
            sdp.replacing(/a=fingerprint:sha-256 ../, with: "a=fingerprint:sha-256 00")
        }
        let result = try await self.record(cameraOffers: true, codec: .vp8, alteration: forge) {
            _,
            session in
            session.status.counters["peer_refused"] != nil
        }
        #expect(result.recording.status.counters["peer_refused"] == 1)
        #expect(result.recorder.status.tracks.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: result.storage))
    }
}

/// The descriptions that one end sent.
private final class SDPLog: Sendable {
    let texts = Mutex<[String]>([])
}

/// A path that loses every 13th packet of media, and whom it led to.
private final class Loss: Sendable {
    private struct State {
        var connections: [PeerConnection] = []
        var taps: [TrackTap] = []
        var watched: Set<UInt> = []
        var packets = 0
        var dropped = 0
    }

    private let state = Mutex(State())

    var dropped: Int { self.state.withLock { $0.dropped } }

    var seen: (connections: [PeerConnection], taps: [TrackTap]) { self.state.withLock { ($0.connections, $0.taps) } }

    /// Begins to lose packets of connections that are new.
    func watch(_ connections: [PeerConnection]) {
        for connection in connections {
            self.state.withLock { state in
                if !state.connections.contains(where: { $0 === connection }) { state.connections.append(connection) }
                for tap in connection.state.withLock({ $0.taps }) where !state.taps.contains(where: { $0 === tap }) {
                    state.taps.append(tap)
                }
            }
            for source in connection.bin?.all("nicesrc") ?? []
            where self.isNew(UInt(bitPattern: source)) {
                guard let pad = gst_element_get_static_pad(source.assumingMemoryBound(to: GstElement.self), "src")
                else { continue }
                gst_pad_add_probe(
                    pad,
                    GST_PAD_PROBE_TYPE_BUFFER,
                    { _, info, user in
                        guard let info, let user,
                            let buffer = info.pointee.data?.assumingMemoryBound(to: GstBuffer.self)
                        else { return GST_PAD_PROBE_OK }
                        var head = (UInt8(0), UInt8(0))
                        guard gst_buffer_extract(buffer, 0, &head, 2) == 2 else { return GST_PAD_PROBE_OK }
                        let isMedia = head.0 >> 6 == 2 && !(64..<96).contains(head.1 & 0x7F)
                        let loss = Unmanaged<Loss>.fromOpaque(user).takeUnretainedValue()
                        return isMedia && loss.loses() ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK
                    },
                    Unmanaged.passRetained(self).toOpaque(),
                    { user in user.map { Unmanaged<Loss>.fromOpaque($0).release() } }
                )
                gst_object_unref(pad)
            }
        }
    }

    private func isNew(_ source: UInt) -> Bool { self.state.withLock { $0.watched.insert(source).inserted } }

    private func loses() -> Bool {
        self.state.withLock { state in
            state.packets += 1
            let loses = state.packets % 13 == 0
            if loses { state.dropped += 1 }
            return loses
        }
    }
}

/// How old packets are, by their time stamps, when they are read.
private final class PacketAges: Sendable {
    private let ages = Mutex<(watched: Set<UnsafeMutableRawPointer>, longest: Int64, shortest: Int64)>(([], 0, 0))

    var longest: Duration { .nanoseconds(self.ages.withLock(\.longest)) }
    var isNegative: Bool { self.ages.withLock(\.shortest) < 0 }

    func watch(_ bins: [WebRTCBin]) {
        for source in bins.flatMap({ $0.all("nicesrc") })
        where self.ages.withLock({ $0.watched.insert(source).inserted }) {
            let element = source.assumingMemoryBound(to: GstElement.self)
            guard let pad = gst_element_get_static_pad(element, "src") else { continue }
            gst_pad_add_probe(
                pad,
                GST_PAD_PROBE_TYPE_BUFFER,
                { pad, info, user in
                    guard let pad, let info, let user, let element = gst_pad_get_parent_element(pad),
                        let buffer = info.pointee.data?.assumingMemoryBound(to: GstBuffer.self)
                    else { return GST_PAD_PROBE_OK }
                    let now = gst_element_get_current_running_time(element)
                    gst_object_unref(element)
                    let age = Int64(now) - Int64(buffer.pointee.pts)
                    Unmanaged<PacketAges>.fromOpaque(user).takeUnretainedValue().note(age)
                    return GST_PAD_PROBE_OK
                },
                Unmanaged.passRetained(self).toOpaque(),
                { user in user.map { Unmanaged<PacketAges>.fromOpaque($0).release() } }
            )
            gst_object_unref(pad)
        }
    }

    private func note(_ age: Int64) {
        self.ages.withLock {
            $0.longest = max($0.longest, age)
            $0.shortest = min($0.shortest, age)
        }
    }
}

extension WebRTCBin {
    /// Every element of a factory inside, however deep; they live as long as the bin.
    fileprivate func all(_ factory: String) -> [UnsafeMutableRawPointer] {
        let bin = UnsafeMutableRawPointer(self.element.pointer).assumingMemoryBound(to: GstBin.self)
        guard let found = gst_bin_iterate_all_by_element_factory_name(bin, factory) else { return [] }
        defer { gst_iterator_free(found) }
        var elements: [UnsafeMutableRawPointer] = []
        var value = GValue()
        while gst_iterator_next(found, &value) == GST_ITERATOR_OK {
            if let element = g_value_get_object(&value) { elements.append(element) }
            g_value_unset(&value)
        }
        return elements
    }

    /// Whether each reorder buffer asks for packets that are missing.
    fileprivate var reorderBuffers: [Bool] {
        self.all("tapedeckreorderbuffer").map { CGst_get_int($0, "do-retransmission") != 0 }
    }
}
