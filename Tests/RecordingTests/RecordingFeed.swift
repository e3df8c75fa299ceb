// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Glibc
import Matroska
import Storage
import Synchronization
import TestSupport
import Testing
import Timeline

@testable import Recording

/// A recording session whose units, time and disk are the test's, in a separate storage directory.
///
/// Times are milliseconds since the feed was made; time stands where the last call put it. Actions are performed at once.
final class RecordingFeed {
    let storage: String
    /// When the feed was made, on the clock of the session.
    let start: Int64
    var session: RecordingSession
    /// Every action so far, but what follows from completions, which are actions themselves.
    private(set) var actions: [RecordingAction] = []
    /// The error of completions and synchronisation; nil for their true result.
    var failsWith: RecordingError?
    /// The error of synchronisation alone.
    var failsRoundWith: RecordingError?
    /// Whether completions begin, and end only with `completes`.
    var isDiskBusy = false
    /// Completions that have begun, in the order in which they did.
    private var begun: [RecordingCompletion] = []
    /// Frames that were told to be in their files.
    let pictures = Pictures()
    private let clock: Clock
    private let counters = Counters()
    private var tracks: UInt64 = 0

    final class Pictures: Sendable {
        private let told = Mutex<[WrittenPicture]>([])
        var all: [WrittenPicture] { self.told.withLock { $0 } }
        func add(_ picture: WrittenPicture) { self.told.withLock { $0.append(picture) } }
    }

    private final class Clock: Sendable {
        let now: Mutex<Int64>

        init(_ now: Int64) {
            self.now = Mutex(now)
        }
    }

    /// Packets of every track: as many as the test says.
    final class Counters: PacketSource {
        let now = Mutex(PacketCounters())
        var counters: PacketCounters { self.now.withLock { $0 } }
    }

    init(storage: String? = nil, _ change: (inout RecorderSettings) -> Void = { _ in }) {
        self.storage =
            storage ?? FileManager.default.temporaryDirectory.path + "/tapedeck-recording-\(RecordingID.random())"
        var settings = RecorderSettings(storage: self.storage, room: "r", host: "h")
        change(&settings)
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        self.start = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        let clock = Clock(self.start)
        self.clock = clock
        let pictures = self.pictures
        self.session = RecordingSession(settings: settings, onPicture: { pictures.add($0) }) {
            clock.now.withLock { $0 }
        }
        self.perform()
    }

    deinit { try? FileManager.default.removeItem(atPath: self.storage) }

    // MARK: Calls of the test

    /// Lets time come to an instant.
    func go(to milliseconds: Int64) {
        self.clock.now.withLock { $0 = self.start + milliseconds * 1_000_000 }
    }

    /// Opens a track; its number is for `push`.
    func open(
        _ codec: MediaCodec,
        participant: String = "alice",
        ssrc: UInt32 = 7,
        connection: UInt64 = 1,
        offered milliseconds: Int64? = nil,
        parameterSets: H264ParameterSets? = nil,
        counters: Counters? = nil
    ) -> UInt64 {
        self.tracks += 1
        let track = ReceivedTrack(
            participant: participant,
            codec: codec,
            clockRateHz: codec.kind == .video ? 90_000 : 48_000,
            channels: codec.kind == .video ? 0 : 2,
            ssrc: ssrc,
            payloadType: 96,
            connection: connection,
            offerNanoseconds: milliseconds.map { self.start + $0 * 1_000_000 },
            parameterSets: parameterSets
        )
        self.session.trackAppeared(self.tracks, track, source: counters ?? self.counters)
        self.perform()
        return self.tracks
    }

    /// Hands a unit to the session, which comes so many milliseconds after the start.
    @discardableResult
    func push(
        _ track: UInt64,
        _ bytes: [UInt8],
        at milliseconds: Int64,
        rateHz: Int64 = 90_000,
        rtpTime: Int64? = nil,
        lost: Int = 0,
        truncated: Bool = false,
        packets: Int = 1,
        endsRound: Bool = true
    ) -> RecordingSession.OnUnit {
        self.go(to: milliseconds)
        let unit = ReceivedUnit(
            track: track,
            rtpTime: rtpTime ?? milliseconds * rateHz / 1000,
            arrivalNanoseconds: self.start + milliseconds * 1_000_000,
            lostPackets: lost,
            isTruncated: truncated,
            packets: packets
        )
        let result = bytes.withUnsafeBytes { self.session.unitCame(unit, $0) }
        if endsRound { self.session.writeGathered() }
        self.perform()
        return result
    }

    func count(_ change: (inout PacketCounters) -> Void) {
        self.counters.now.withLock { change(&$0) }
    }

    func tick(at milliseconds: Int64, droppedUnits: UInt64 = 0) {
        self.go(to: milliseconds)
        self.session.tick(droppedUnits: droppedUnits)
        self.perform()
    }

    /// Makes a call to the session, and performs the actions that follow.
    @discardableResult
    func tell<Answer>(_ body: (inout RecordingSession) -> Answer) -> Answer {
        self.session.writeGathered()
        let answer = body(&self.session)
        self.perform()
        return answer
    }

    func end() {
        self.tell { $0.end(reason: "test") }
    }

    private func perform() {
        var actions: [RecordingAction] = []
        self.session.takeActions(into: &actions)
        self.actions += actions
        for action in actions {
            switch action {
            case .complete(let completion):
                if self.isDiskBusy { self.begun.append(completion) } else { self.complete(completion) }
            case .synchronise(let round):
                let recording = self.session.status.current?.folder.id
                let failure = (self.failsWith ?? self.failsRoundWith).flatMap { error in
                    recording.map { SynchronisationRound.Failure(recording: $0, error: error) }
                }
                self.session.synchronised(failures: round.perform() + [failure].compactMap { $0 }, cost: .zero)
            case .requestKeyframe, .tellStarted, .tellNotContinued, .tellFinished, .tellDegraded, .tellFirstUnit,
                .logIncomplete, .logRefused, .logCodecChanged, .logGoesOn:
                break
            }
            self.perform()
        }
    }

    private func complete(_ completion: RecordingCompletion) {
        var failure = self.failsWith
        do throws(RecordingError) {
            try completion.perform()
        } catch {
            failure = error
        }
        self.session.completed(completion, failure: failure)
    }

    /// Which of the completions that have begun.
    enum Begun {
        case oldest, newest
    }

    /// The disk is done with a completion; false if none has begun.
    func completes(_ which: Begun) -> Bool {
        guard !self.begun.isEmpty else { return false }
        self.complete(which == .oldest ? self.begun.removeFirst() : self.begun.removeLast())
        self.perform()
        return true
    }

    // MARK: Results

    /// How many completions of each kind have begun and not ended.
    var completing: [String: Int] {
        Dictionary(self.begun.map { (Self.name(of: $0), 1) }, uniquingKeysWith: +)
    }

    private static func name(of completion: RecordingCompletion) -> String {
        switch completion.work {
        case .file: "file"
        case .recording: "journal"
        }
    }

    var status: RecordingStatus { self.session.status }

    var isCompleting: Bool { self.session.isCompleting }

    var hasGathered: Bool { self.session.hasGathered }

    /// Units written so far, over all tracks of the present recording.
    var written: UInt64 { self.status.tracks.reduce(0) { $0 + $1.units } }

    var folders: [RecordingFolder] { (try? RecordingFolder.list(storage: self.storage)) ?? [] }

    var finished: [(folder: RecordingFolder, reason: String)] {
        self.actions.compactMap {
            if case .tellFinished(let folder, _, let reason) = $0 { (folder, reason) } else { nil }
        }
    }

    var keyframeRequests: Int {
        self.actions.count { if case .requestKeyframe = $0 { true } else { false } }
    }

    var synchronisations: Int {
        self.actions.count { if case .synchronise = $0 { true } else { false } }
    }

    /// The degraded recordings, why, and whether by the disk.
    var degraded: [(folder: RecordingFolder?, reason: String, byDisk: Bool)] {
        self.actions.compactMap {
            if case .tellDegraded(let folder, _, let reason, let byDisk) = $0 { (folder, reason, byDisk) } else { nil }
        }
    }

    /// Names of the actions since the last call.
    func takeNames() -> [String] {
        defer { self.actions = [] }
        return self.actions.map { action in
            switch action {
            case .requestKeyframe: "keyframe"
            case .complete(let completion): Self.name(of: completion)
            case .synchronise: "synchronise"
            case .tellStarted: "started"
            case .tellNotContinued: "not continued"
            case .tellFinished: "finished"
            case .tellDegraded: "degraded"
            case .tellFirstUnit: "first"
            case .logIncomplete: "incomplete"
            case .logRefused: "refused"
            case .logCodecChanged: "codec"
            case .logGoesOn: "goes on"
            }
        }
    }
}

/// Coded units with valid heads.
enum FedUnit {
    static func keyframe(size: Int = 200) -> [UInt8] {
        [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00] + [UInt8](repeating: 0xA5, count: size)
    }

    static func frame(size: Int = 100) -> [UInt8] { [0x11, 0x02, 0x00] + [UInt8](repeating: 0x5A, count: size) }

    static let opus: [UInt8] = [0xFC, 1, 2, 3, 4, 5, 6, 7]
}

/// A recording as its files tell.
struct ReadRecording {
    var entries: [JournalEntry]
    /// Times of the units of each track file, in RTP ticks.
    var units: [String: [Int64]] = [:]

    init(_ folder: RecordingFolder) throws {
        self.entries = try Journal.entries(of: folder)
        for entry in self.entries {
            guard case .trackOpened(let opened) = entry.record else { continue }
            var reader = try Reader(File(folder.path + "/" + opened.file, .read))
            var times: [Int64] = []
            while let head = try reader.nextHead() {
                let ticks = Double(head.timeNanoseconds) * Double(opened.clockRateHz) / 1e9
                times.append(opened.firstRTPTime + Int64(ticks.rounded()))
            }
            self.units[opened.file] = times
        }
    }

    var started: RecordingStarted? {
        for entry in self.entries { if case .recordingStarted(let record) = entry.record { return record } }
        return nil
    }

    /// RTP times of all units whose files have such a name.
    func times(_ kind: String) -> [Int64] {
        self.units.filter { $0.key.contains(kind) }.sorted { $0.key < $1.key }.flatMap(\.value)
    }
}

extension SynchronisationRound {
    /// Forces each file to the disk; returns the failures.
    func perform() -> [Failure] {
        var step = self.begin()
        while true {
            switch step.next(step.files.map { fdatasync($0.descriptor) == 0 ? 0 : errno }) {
            case .step(let next): step = next
            case .over(let failures): return failures
            }
        }
    }
}
