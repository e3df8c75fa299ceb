// SPDX-License-Identifier: Apache-2.0

internal import Codecs
import ConfigurationFile
import GStreamer
import Logging
import PipelineCatalogue
import Rooms
import SDP
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

        /// An encoder of a codec, of which pictures may never come.
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
            // A text that does not parse; caps that never agree; an element that fails with its fifth picture.
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
        func withoutAnEncoderThatWorksThereIsAnError() throws {
            let broken = Self.encoder("broken", "vp8enc name=in_video ! nothing name=out_video", rank: 1)
            let captures = try Self.catalogue.get().entries.filter { $0.file.kind == .capture }
            let pipelines = PipelineCatalogue(captures + [.init(file: broken, origin: .folder("/x"))])
            var quiet = Logger(label: "quiet")
            quiet.logLevel = .critical
            let camera = CameraSource(settings: SendSpec(), pipelines: pipelines, logger: quiet)
            defer { camera.stop() }
            #expect(throws: GStreamerError.self) { try camera.output(of: .vp8) }
            #expect(throws: GStreamerError.self) { try camera.output(of: .h264) }
            #expect(camera.codecs(preferred: .h264).video == [.vp8])
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
