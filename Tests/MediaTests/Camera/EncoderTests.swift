// SPDX-License-Identifier: Apache-2.0

internal import Basics
import ConfigurationFile
import Dispatch
import Foundation
import GStreamer
import Logging
import Model
import PipelineCatalogue
import Recording
import SDP
import Session
import Signalling
import Synchronization
import Testing

@testable import Media

extension CaptureTests {
    /// After the captures, one at a time: both want a core.
    @Suite(.serialized)
    struct EncoderTests {
        /// For what blocks: the other tests want their threads.
        private static let control = ControlThread(name: "encoder tests")
        private static let catalogue = Result { try PipelineCatalogue.load() }

        /// The files that come with the program, by name: each fails under its own.
        private static func paths(_ kinds: [PipelineFile.Kind]) -> [String] {
            ((try? Self.catalogue.get().entries) ?? []).map(\.file).filter { kinds.contains($0.kind) }.map(\.path)
        }

        private static func file(_ path: String) throws -> PipelineFile {
            try #require(try Self.catalogue.get().entries.first { $0.file.path == path }?.file)
        }

        @Test(arguments: Self.paths(PipelineFile.Kind.allCases))
        func everyFileSuitsTheElementsOfThisHost(path: String) throws {
            try Runtime.initialise()
            #expect(try Self.file(path).hostFindings() == [], "\(path)")
        }

        @Test(arguments: Self.paths([.encode]))
        func everyEncoderThatIsInstalledEncodes(path: String) async throws {
            try Runtime.initialise()
            let file = try Self.file(path)
            guard file.missingElements.isEmpty, file.gives[.video] != nil else { return }
            let failure = try await Self.control.run("a probe", deadline: .seconds(30)) {
                EncoderProbe.failure(of: file)
            }
            #expect(failure == nil, "\(path)")
        }

        @Test
        func mistakesShowOnTheHost() throws {
            try Runtime.initialise()
            var file = PipelineFile(
                kind: .capture,
                name: "x",
                description: "X.",
                launch: "videotestsrc name=source ! identity name=out_video ! fakesink name=end"
            )
            file.gives = [.video: ["raw"]]
            file.ports = ["out_video": "src", "end": "src"]
            func parameter(_ property: String, _ form: PipelineParameter.Form, _ text: String? = nil)
                -> PipelineParameter
            {
                var parameter = PipelineParameter(element: "source", property: property, form: form)
                parameter.defaultText = text
                return parameter
            }
            file.parameters = [
                "absent": parameter("patern", .word), "kind": parameter("pattern", .int),
                "refused": parameter("pattern", .word, "bal"), "good": parameter("pattern", .word, "ball"),
                "wide": parameter("num-buffers", .int, "-7"), "text": parameter("name", .int),
            ]
            let keys = file.hostFindings().map(\.key)
            #expect(
                keys == [
                    "parameters.absent", "parameters.kind", "parameters.refused", "parameters.text", "parameters.wide",
                    "ports.end", "ports.out_video",
                ]
            )
            file.launch = "videotestsrc name=source ! nosuchelement"
            #expect(file.hostFindings().map(\.key) == ["launch"])
            file.requires = ["nosuchelement"]
            #expect(file.hostFindings() == [])
        }

        /// An encoder of a codec, which may never give frames.
        private static func encoder(_ name: String, _ launch: String, rank: Int, isProbed: Bool = false) -> PipelineFile
        {
            var file = PipelineFile(kind: .encode, name: name, description: "A test.", launch: launch)
            file.accepts = [.video: ["raw"]]
            file.gives = [.video: ["VP8"]]
            file.ports = ["in_video": "sink", "out_video": "src"]
            (file.rank, file.isProbed) = (rank, isProbed)
            return file
        }

        private static let failing = [
            // A text that does not parse; caps that never agree; an element that fails with its fifth frame.
            ("launch", "vp8enc name=in_video speed=9000 ! identity name=out_video", false),
            ("caps", "vp8enc name=in_video ! capsfilter caps=video/x-h264 ! identity name=out_video", false),
            ("later", "vp8enc name=in_video ! identity name=out_video error-after=5", false),
            ("probed", "identity name=in_video error-after=3 ! vp8enc ! identity name=out_video", true),
            ("silent", "identity name=in_video drop-probability=1.0 ! vp8enc ! identity name=out_video", true),
            ("missing", "nosuchencoder name=in_video ! identity name=out_video", false),
        ]

        @Test(arguments: Self.failing.map(\.0))
        func anEncoderThatFailsFallsToTheNext(name: String) async throws {
            let (_, launch, isProbed) = try #require(Self.failing.first { $0.0 == name })
            var broken = Self.encoder("broken", launch, rank: 900, isProbed: isProbed)
            if name == "missing" { broken.requires = ["nosuchencoder"] }
            let entries = try Self.catalogue.get().entries + [.init(file: broken, origin: .folder("/x"))]
            var settings = SendSpec()
            (settings.width, settings.height, settings.audio) = (320, 180, nil)
            var quiet = Logger(label: "quiet")
            quiet.logLevel = .critical
            let camera = CameraSource(settings: settings, pipelines: PipelineCatalogue(entries), logger: quiet)
            defer { camera.stop() }
            let output = try await Self.control.run("the camera", deadline: .seconds(30)) {
                try camera.output(of: .vp8)
            }
            let deadline = ContinuousClock.now + .seconds(30)
            while camera.encoders[.vp8] != "encode/vp8enc" || output.count < 20, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(camera.encoders == [.vp8: "encode/vp8enc"])
            #expect(output.count >= 20)
        }

        @Test
        func withoutAnEncoderThereIsAnErrorAndWithOneThatFailsAnOutputForLater() throws {
            let broken = Self.encoder("broken", "vp8enc name=in_video ! nothing name=out_video", rank: 1)
            let captures = try Self.catalogue.get().entries.filter { $0.file.kind == .capture }
            let pipelines = PipelineCatalogue(captures + [.init(file: broken, origin: .folder("/x"))])
            var quiet = Logger(label: "quiet")
            quiet.logLevel = .critical
            let camera = CameraSource(settings: SendSpec(), pipelines: pipelines, logger: quiet)
            defer { camera.stop() }
            let output = try camera.output(of: .vp8)
            #expect(camera.encoders.isEmpty)
            #expect(try camera.output(of: .vp8) === output)
            #expect(throws: GStreamerError.self) { try camera.output(of: .h264) }
            #expect(camera.codecs(preferred: .h264).video == [.vp8])
        }

        @Test
        func aPeerThatLeavesWhileItsEncoderStartsLeavesNone() async throws {
            // Its probe holds the control thread for three seconds.
            let launch = """
                identity name=in_video sleep-time=100000 ! identity drop-probability=1.0 ! vp8enc deadline=1 ! \
                identity name=out_video
                """
            let slow = Self.encoder("slow", launch, rank: 900, isProbed: true)
            let entries = try Self.catalogue.get().entries + [.init(file: slow, origin: .folder("/x"))]
            var settings = SendSpec()
            (settings.width, settings.height, settings.audio) = (320, 180, nil)
            var quiet = Logger(label: "quiet")
            quiet.logLevel = .critical
            let camera = CameraSource(settings: settings, pipelines: PipelineCatalogue(entries), logger: quiet)
            defer { camera.stop() }
            let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: storage) }
            let recorder = RoomRecorder(
                settings: RecorderSettings(storage: storage, room: "test", host: "here"),
                logger: quiet
            )
            let (sent, sentFeed) = AsyncStream.makeStream(of: ConnectionEvent.self)
            let (received, receivedFeed) = AsyncStream.makeStream(of: ConnectionEvent.self)
            let offerer = PeerConnection(
                id: ConnectionID(1),
                peer: PeerID("viewer"),
                context: try TestSession.context(control: ControlThread(name: "sending"), camera: camera),
                logger: quiet
            ) { sentFeed.yield($0) }
            let answerer = PeerConnection(
                id: ConnectionID(2),
                peer: PeerID("camera"),
                context: try TestSession.context(control: ControlThread(name: "receiving"), recorder: recorder),
                logger: quiet
            ) { receivedFeed.yield($0) }
            await offerer.open()
            await answerer.open()
            await offerer.createOffer()
            for await event in sent {
                guard case .offerCreated(let offer) = event else { continue }
                await answerer.applyOffer(offer)
                break
            }
            for await event in received {
                guard case .answerCreated(let answer) = event else { continue }
                await offerer.applyAnswer(answer)
                break
            }
            try await Self.wait { offerer.state.withLock { $0.isConnected } }
            // It starts to send now.
            try await Task.sleep(for: .milliseconds(500))
            await offerer.close(reason: "left")
            // It runs, as it was started for a consumer, and ends because that is gone.
            try await Self.wait { !camera.encoders.isEmpty }
            #expect(!camera.encoders.isEmpty)
            try await Self.wait { camera.encoders.isEmpty }
            #expect(camera.encoders.isEmpty)
            await answerer.close(reason: "left")
            try await Self.control.run("the recorder", deadline: .seconds(60)) { recorder.finish(reason: "test over") }
        }

        private static func wait(until isDone: () -> Bool) async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while !isDone(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(10)) }
        }

        @Test
        func whereTheLastEncoderFailsItIsTriedAgain() async throws {
            let launch = "vp8enc name=in_video deadline=1 ! identity name=out_video error-after=5"
            let captures = try Self.catalogue.get().entries.filter { $0.file.kind == .capture }
            let failing = Self.encoder("failing", launch, rank: 1)
            var settings = SendSpec()
            (settings.width, settings.height, settings.audio) = (320, 180, nil)
            var quiet = Logger(label: "quiet")
            quiet.logLevel = .critical
            let camera = CameraSource(
                settings: settings,
                pipelines: PipelineCatalogue(captures + [.init(file: failing, origin: .folder("/x"))]),
                logger: quiet
            )
            defer { camera.stop() }
            let output = try await Self.control.run("the camera", deadline: .seconds(30)) {
                try camera.output(of: .vp8)
            }
            // A receiver takes it.
            let receiver = try Receiver(output)
            defer { receiver.stop() }
            try await Self.wait { camera.encoders.isEmpty }
            #expect(camera.encoders.isEmpty)
            let count = output.count
            #expect(count > 0)
            // A consumer that comes in between gets the same, in which there is something later.
            let second = try await Self.control.run("the camera again", deadline: .seconds(30)) {
                try camera.output(of: .vp8)
            }
            #expect(second === output)
            try await Self.wait { output.count > count }
            #expect(output.count > count)
        }

        /// As of a device whose driver hangs: there is no error.
        @Test
        func anEncoderThatGivesNothingMoreFallsToTheNext() async throws {
            let launch = "identity name=in_video sleep-time=40000000 ! vp8enc deadline=1 ! identity name=out_video"
            let stuck = Self.encoder("stuck", launch, rank: 900)
            let entries = try Self.catalogue.get().entries + [.init(file: stuck, origin: .folder("/x"))]
            var settings = SendSpec()
            (settings.width, settings.height, settings.audio) = (320, 180, nil)
            var quiet = Logger(label: "quiet")
            quiet.logLevel = .critical
            let camera = CameraSource(settings: settings, pipelines: PipelineCatalogue(entries), logger: quiet)
            defer { camera.stop() }
            let output = try await Self.control.run("the camera", deadline: .seconds(30)) {
                try camera.output(of: .vp8)
            }
            #expect(camera.encoders == [.vp8: "encode/stuck"])
            // A receiver takes it.
            let receiver = try Receiver(output)
            defer { receiver.stop() }
            // Nothing waits for the one that hangs.
            let start = ContinuousClock.now
            try await Self.wait { receiver.consumer.counters.pushed >= 20 }
            #expect(receiver.consumer.counters.pushed >= 20)
            #expect(camera.encoders == [.vp8: "encode/vp8enc"])
            #expect(ContinuousClock.now - start < .seconds(30))
        }

        @Test
        func anEncoderWhoseEndsHangIsPassedOverUntilOneReturns() async throws {
            try Runtime.initialise()
            // No other test has the same text.
            let launch = "vp8enc name=in_video ! identity name=out_video dump=false"
            let hanging = Self.encoder("hanging", launch, rank: 1000)
            let entries = try Self.catalogue.get().entries + [.init(file: hanging, origin: .folder("/x"))]
            let pipelines = PipelineCatalogue(entries)
            // One and the same: what is passed over is not taken off.
            var choice = EncoderChoice(.vp8, from: pipelines)
            func isChosen() -> Bool { choice.best { _, _, _ in } == hanging }
            let gate = DispatchSemaphore(value: 0)
            #expect(isChosen())
            let isLeftOutByFirst = EncoderEnds.begin(of: hanging) { gate.wait() }
            #expect(!isLeftOutByFirst && isChosen())
            let isLeftOutBySecond = EncoderEnds.begin(of: hanging) { gate.wait() }
            #expect(isLeftOutBySecond && !isChosen())
            gate.signal()
            try await Self.wait { isChosen() }
            #expect(isChosen())
            gate.signal()
        }

        @Test(arguments: [
            (PreferredCodec.vp8, [MediaCodec.vp8, .h264]), (.h264, [.h264, .vp8]), (.vp9, [.vp9, .vp8, .h264]),
            (.any, [.vp8, .h264]),
        ])
        func thePreferredCodecComesFirst(preferred: PreferredCodec, expected: [MediaCodec]) throws {
            let camera = try TestSession.camera(SendSpec())
            #expect(camera.codecs(preferred: preferred).video == expected)
            let policy = NegotiationPolicy.forSession(receives: true, camera: camera, preferred: preferred)
            #expect(policy.sentVideo == expected)
            #expect(policy.receivedVideo.first == (preferred == .any ? .vp8 : expected[0]))
            #expect(policy.honoursOfferOrder == (preferred == .any))
        }
    }
}
