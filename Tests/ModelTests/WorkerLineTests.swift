// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Testing
import Timeline

@Suite struct WorkerLineTests {
    private static var playlist: OutputSpec {
        var order = OutputSpec(host: "127.0.0.1")
        order.pipeline = PipelineOutputSpec(file: "hls")
        order.pipeline?.parameters = ["folder": Secret("/srv/hls")]
        order.pipeline?.pipelines = "/etc/tapedeck/pipelines"
        return order
    }

    private static func be(_ change: (inout RoomSpec) -> Void = { _ in }) -> WorkerCommand {
        var spec = RoomSpec(name: "a", url: "socketio+http://192.0.2.1/a", storage: "/srv")
        change(&spec)
        return .be(spec, revision: 7)
    }

    /// A room with a part of its spec given.
    private static func short(_ part: String) -> Data {
        Data(
            #"{"be":{"_0":{"name":"a","url":"socketio+http://192.0.2.1/a","storage":"/srv",\#(part)},"revision":7}}"#
                .utf8
        )
    }

    private static let recording = RecordingReference(id: "r", folder: "/srv/r", part: 2)

    @Test(arguments: [
        Self.be(), Self.be { $0.send = SendSpec() }, Self.be { ($0.record, $0.recording) = (RecordSpec(), .paused) },
        Self.be { $0.outputs = [OutputSpec(host: "::1"), Self.playlist] }, .leave(room: "a"),
        .requestKeyframe(room: "a", participant: nil), .requestKeyframe(room: "a", participant: "p"),
        .mark(room: "a", text: "line\nbreak"), .thumbnail(room: "a", participant: "p"), .graph(room: "a"), .shutDown,
    ])
    func commandsSurviveALine(command: WorkerCommand) throws {
        for numbered in [NumberedCommand(command), NumberedCommand(command, number: .max)] {
            let line = try WorkerLine.encode(numbered)
            #expect(try WorkerLine.decode(NumberedCommand.self, from: line.dropLast()) == numbered)
        }
        let line = try WorkerLine.encode(command)
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        #expect(try WorkerLine.decode(WorkerCommand.self, from: line.dropLast()) == command)
    }

    /// Every part of a camera's order is read, and none has to be there.
    @Test func camerasSurviveALineWhole() throws {
        var order = SendSpec(video: MediaSource("screen"), audio: nil)
        (order.parameters, order.pipelines, order.preferredCodec) = (["a": "b"], "/p", .h264)
        (order.width, order.height, order.framesPerSecond) = (640, 360, 15)
        (order.bitsPerSecond, order.minimumBitsPerSecond, order.audioBitsPerSecond) = (500_000, 90_000, 24_000)
        (order.usesAudioFEC, order.usesAudioDTX, order.keepsOpen) = (false, true, true)
        (order.isVideoMuted, order.isAudioMuted, order.isFrozen) = (true, true, true)
        for (part, usual) in zip(Mirror(reflecting: order).children, Mirror(reflecting: SendSpec()).children) {
            #expect("\(part.value)" != "\(usual.value)", "\(part.label ?? "") is not tried")
        }
        let command = Self.be { $0.send = order }
        #expect(try WorkerLine.decode(WorkerCommand.self, from: WorkerLine.encode(command).dropLast()) == command)
        let short = Self.short(#""send":{"video":"test","width":320}"#)
        var expected = SendSpec(video: .test, audio: nil)
        expected.width = 320
        #expect(try WorkerLine.decode(WorkerCommand.self, from: short) == Self.be { $0.send = expected })
    }

    /// Every part of what is recorded is read, and none has to be there.
    @Test func recordingsSurviveALineWhole() throws {
        var spec = RecordSpec()
        (spec.isAutomatic, spec.video, spec.audio, spec.chat) = (false, false, false, false)
        (spec.emptyAfterSeconds, spec.preferredCodec, spec.segmentSeconds, spec.segmentBytes) = (5, .vp9, 60, 1_000_000)
        (spec.prerollMilliseconds, spec.synchroniseMilliseconds) = (10_000, 250)
        (spec.tags, spec.notes, spec.announcement) = (["weekly"], "With guests", "This call is recorded.")
        spec.follows = SeriesPlace(series: "r", segment: 2)
        for (part, usual) in zip(Mirror(reflecting: spec).children, Mirror(reflecting: RecordSpec()).children) {
            #expect("\(part.value)" != "\(usual.value)", "\(part.label ?? "") is not tried")
        }
        let command = Self.be { $0.record = spec }
        #expect(try WorkerLine.decode(WorkerCommand.self, from: WorkerLine.encode(command).dropLast()) == command)
        let short = Self.short(#""record":{"emptyAfterSeconds":5}"#)
        var expected = RecordSpec()
        expected.emptyAfterSeconds = 5
        #expect(try WorkerLine.decode(WorkerCommand.self, from: short) == Self.be { $0.record = expected })
        let wrong = Self.short(#""record":{"preferredCodec":"VP9"}"#)
        #expect(throws: DecodingError.self) { try WorkerLine.decode(WorkerCommand.self, from: wrong) }
    }

    private static var refusing: RoomStatus {
        var status = RoomStatus()
        (status.revision, status.refused) = (.max, [.send: "no capture", .recording: "nothing is recorded"])
        return status
    }

    /// Parts are keys, not a list.
    @Test func whatIsRefusedIsAnObject() throws {
        let text = String(decoding: try JSONEncoder().encode(Self.refusing), as: UTF8.self)
        #expect(text.contains(#""send":"no capture""#))
    }

    @Test func countsThatAnEarlierDaemonDoesNotTellAreZero() throws {
        let text = Data(#"{"id":"p","connected":true}"#.utf8)
        let participant = try JSONDecoder().decode(RoomStatus.Participant.self, from: text)
        #expect(participant == RoomStatus.Participant(id: "p", isConnected: true))
    }

    @Test func withoutAnythingElseTheNameIsShownAndThenTheID() throws {
        for (text, shown) in [
            ("", "p"), (#""name":"Ann","#, "Ann"), (#""name":"Ann","shownName":"Ann (2)","#, "Ann (2)"),
        ] {
            let data = Data(#"{"id":"p",\#(text)"connected":true}"#.utf8)
            #expect(try JSONDecoder().decode(RoomStatus.Participant.self, from: data).shownName == shown)
        }
    }

    @Test(arguments: [
        WorkerEvent.ready(protocolVersion: 1, processID: 7),
        .heartbeat(WorkerVitals(cpuSeconds: 1.5, residentBytes: 2, threads: 3, descriptors: 4)),
        .heartbeat(
            WorkerVitals(
                cpuSeconds: 1.5,
                residentBytes: 2,
                threads: 3,
                descriptors: 4,
                sharedConnections: 7,
                slowConnections: 8,
                longTracks: 9,
                forgedPackets: 10,
                objects: 5,
                allocatedBytes: 6
            )
        ),
        .joined(room: "a"), .notJoined(room: "a", reason: "full"), .left(room: "a", .ordered),
        .left(room: "a", .failed(message: "x", retriable: true)), .left(room: "a", .removed(message: "x")),
        .status(room: "a", RoomStatus()), .status(room: "a", Self.refusing),
        .recordingStarted(room: "a", recording), .recordingFinished(room: "a", recording, reason: "empty"),
        .recordingDegraded(room: "a", recording, reason: "disk", byDisk: true),
        .participantJoined(room: "a", participant: "p"),
        .participantLeft(room: "a", participant: "p", reason: "left"),
        .peerRefused(room: "a", participant: "p", reason: "x"),
        .firstUnit(room: "a", participant: "p", kind: "video", milliseconds: 1.25, parts: ["answer": 1, "file": 0.25]),
        .outputFailed(room: "a", output: "rtp://h:1", reason: "x"), .outputRecovered(room: "a", output: "rtp://h:1"),
        .keyframe(
            room: "a",
            participant: "p",
            KeyframePart(codec: "vp8", keyframeBytes: 1, base64: "AA=="),
            number: 7
        ), .graph(room: "a", pipeline: "x", dot: "digraph {}"),
        .commandDone(room: "a", command: "mark", number: 7), .commandFailed(room: nil, command: "x", reason: "y"),
        .commandFailed(room: "a", command: "thumbnail", participant: "p", reason: "y", number: 8),
    ])
    func eventsSurviveALine(event: WorkerEvent) throws {
        let line = try WorkerLine.encode(event)
        #expect(try WorkerLine.decode(WorkerEvent.self, from: line.dropLast()) == event)
    }

    /// A call on a bad network has a warning for each time at which nothing came.
    @Test func aJobWithManyWarningsEndsWithALine() throws {
        let warnings = (0..<10_000).map { "tracks/001-\($0)-audio.mka: nothing came for \($0) ms" }
        let result = ExportJobResult(
            output: "/srv/call.mkv",
            layout: "tracks",
            mediaType: "video/x-matroska",
            bytes: 1,
            durationNanoseconds: 1,
            isComplete: false,
            warnings: warnings
        )
        #expect(result.warnings.count == 201)
        #expect(result.warnings.last == "9800 more; the recording's certificate has all of them")
        let line = try WorkerLine.encode(ExportJobEvent.finished(result))
        #expect(line.count < WorkerLine.maximumLength / 10)
        #expect(try WorkerLine.decode(ExportJobEvent.self, from: line.dropLast()) == .finished(result))
    }

    @Test(arguments: ["", "{}", "[]", "nonsense", "{\"joined\":{}}", "{\"joined\":{\"room\":7}}", "{\"unknown\":{}}"])
    func garbageIsAnError(text: String) {
        #expect(throws: (any Error).self) { try WorkerLine.decode(WorkerEvent.self, from: Data(text.utf8)) }
    }

    private static func heartbeat(_ seconds: String) -> Data {
        Data(#"{"heartbeat":{"_0":{"cpuSeconds":\#(seconds),"residentBytes":1,"threads":1,"descriptors":1,"#.utf8)
            + Data(#""sharedConnections":0,"slowConnections":0,"longTracks":0,"forgedPackets":0}}}"#.utf8)
    }

    /// Infinite, or infinite once it is scaled: no answer of the API could hold it.
    @Test(arguments: ["1e308", "-1e308", "1E20", "1e999", "-1e9999999", String(repeating: "9", count: 300), "1.5e+25"])
    func numbersThatAreTooLargeAreAnError(_ text: String) {
        #expect(throws: WorkerLine.NumberTooLarge.self) {
            try WorkerLine.decode(WorkerEvent.self, from: Self.heartbeat(text))
        }
        let parts = Data(
            #"{"firstUnit":{"room":"a","participant":"p","kind":"video","milliseconds":1,"parts":{"x":\#(text)}}}"#.utf8
        )
        #expect(throws: WorkerLine.NumberTooLarge.self) { try WorkerLine.decode(WorkerEvent.self, from: parts) }
    }

    @Test(arguments: ["0", "-1", "1.5", "1e3", "1e-7", "0.000000000000000000000000001", "18446744073709551615"])
    func otherNumbersAreTaken(_ text: String) throws {
        let event = try WorkerLine.decode(WorkerEvent.self, from: Self.heartbeat(text))
        guard case .heartbeat(let vitals) = event else {
            Issue.record("no heartbeat")
            return
        }
        #expect(vitals.cpuSeconds == Double(text))
    }

    /// Names may look like anything.
    @Test(arguments: ["1e308", #"\"1e308"#, #"\\"#, #"\\\" 1e308 \\"#, "9999999999999999999999999999"])
    func textsAreNoNumbers(_ text: String) throws {
        let event = WorkerEvent.participantJoined(room: text, participant: text + "\"" + text)
        #expect(try WorkerLine.decode(WorkerEvent.self, from: WorkerLine.encode(event).dropLast()) == event)
    }
}
