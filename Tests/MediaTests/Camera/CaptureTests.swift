// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import Foundation
import GStreamer
import Logging
import Model
import PipelineCatalogue
import Synchronization
import Testing

@testable import Media

@Suite(.serialized, .timeLimit(.minutes(5)))
struct CaptureTests {
    private static func sources(
        _ video: MediaSource?,
        _ audio: MediaSource?,
        _ parameters: [String: String] = [:]
    ) throws -> [CaptureSource] {
        var settings = SendSpec()
        (settings.video, settings.audio, settings.parameters) = (video, audio, parameters)
        return try CaptureSource.all(settings, from: try PipelineCatalogue.load())
    }

    @Test
    func aFileForBothIsOpenedOnce() throws {
        #expect(try Self.sources(.file("a"), .file("a")).count == 1)
        #expect(try Self.sources(.file("a"), .file("b")).map(\.hasVideo) == [true, false])
        let test = try Self.sources(.test, .test)
        #expect(test.count == 1 && test.allSatisfy { $0.hasVideo && $0.hasAudio && !$0.isFile })
        #expect(try Self.sources(.camera("/dev/video0"), nil).map(\.description) == ["camera /dev/video0"])
        #expect(try Self.sources(nil, nil).isEmpty)
    }

    @Test
    func messagesNameNoPassword() throws {
        let address = "rtsp://user:p@ss@camera/stream?channel=1&token=x"
        let source = try #require(try Self.sources(MediaSource(address), nil).first)
        #expect(source.description == "rtsp rtsp://camera/stream?channel=***&token=***")
        #expect(MediaSource(address)?.shown == "rtsp://camera/stream?channel=***&token=***")
        let file = MediaSource.file("/a/me@home.mp4")
        #expect(try Self.sources(file, nil).map(\.description) == ["file /a/me@home.mp4"])
        #expect(file.shown == "file:/a/me@home.mp4")
    }

    @Test
    func whatNoFileGivesIsRefused() throws {
        for (video, audio) in [("alsa:x", "none"), ("mine", "none"), ("none", "v4l2:/dev/video0"), ("file", "none")] {
            #expect(MediaSource(video) != nil || MediaSource(audio) != nil)
            #expect(throws: CaptureError.self) { try Self.sources(MediaSource(video), MediaSource(audio)) }
        }
        #expect(throws: CaptureError.self) { try Self.sources(.test, nil, ["colour": "red"]) }
        #expect(try Self.sources(.test, nil, ["pattern": "ball"]).first?.plan.text(of: "pattern") == "ball")
    }

    /// A pipeline of a capture file plays, and gives media that encoders take: video, audio.
    private func counts(
        _ video: MediaSource?,
        _ audio: MediaSource?,
        _ parameters: [String: String] = [:],
        until count: UInt64 = 20
    ) async throws -> (picture: UInt64, sound: UInt64, failure: String?) {
        var settings = SendSpec()
        (settings.width, settings.height, settings.parameters) = (320, 180, parameters)
        (settings.video, settings.audio) = (video, audio)
        let failure = FirstError()
        let (picture, sound) = (FanOut(startsAtKeyframe: false), FanOut(startsAtKeyframe: false))
        let sources = try CaptureSource.all(settings, from: try PipelineCatalogue.load())
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        var pipelines: [Pipeline] = []
        defer { for pipeline in pipelines { pipeline.stop() } }
        for source in sources {
            let pipeline = try CapturePipeline.make(source, mode: nil, settings) { failure.note($0) }
            pipelines.append(pipeline)
            if source.hasVideo {
                try picture.attach(to: pipeline, sink: CapturePipeline.videoSink, baseTimeNanoseconds: now)
            }
            if source.hasAudio {
                try sound.attach(to: pipeline, sink: CapturePipeline.audioSink, baseTimeNanoseconds: now)
            }
            try pipeline.play(baseTimeNanoseconds: now)
        }
        let deadline = ContinuousClock.now + .seconds(30)
        func isDone() -> Bool {
            (video == nil || picture.count >= count) && (audio == nil || sound.count >= count)
        }
        while !isDone(), failure.first == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
        return (picture.count, sound.count, failure.first)
    }

    @Test(arguments: [(.test, .test), (nil, .test), (.test, nil)] as [(MediaSource?, MediaSource?)])
    func theTestSourceGivesWhatIsAskedOfIt(video: MediaSource?, audio: MediaSource?) async throws {
        let counts = try await self.counts(video, audio, ["pattern": "ball"])
        #expect(counts.failure == nil, "capture/test")
        #expect((counts.picture >= 20) == (video != nil), "capture/test")
        #expect((counts.sound >= 20) == (audio != nil), "capture/test")
    }

    @Test
    func aStillPictureIsShownWithBars() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/tapedeck-still-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/a \"slide\".png"
        try await Self.write("videotestsrc num-buffers=1 ! video/x-raw,width=200,height=300 ! pngenc", to: path)
        let counts = try await self.counts(nil, nil)
        #expect(counts.picture == 0)
        let still = try await self.counts(MediaSource("image:\(path)"), nil)
        #expect(still.failure == nil, "capture/image")
        #expect(still.picture >= 20, "capture/image")
        // It is no video: that is said before anybody joins, with what to write instead.
        var settings = SendSpec()
        (settings.video, settings.audio) = (.file(path), nil)
        let error = #expect(throws: CaptureError.self) {
            try settings.checked(from: try PipelineCatalogue.load(), logger: TestSession.logger)
        }
        #expect(error?.message.contains("image:\(path)") == true)
    }

    /// Writes what a chain of elements makes to a file, to its end.
    private static func write(_ launch: String, to path: String) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: BusEvent.self, bufferingPolicy: .bufferingOldest(8))
        let writer = try Pipeline(launch: "\(launch) ! filesink name=file") { continuation.yield($0) }
        try writer.element(named: "file").set("location", verbatim: path)
        try writer.play()
        for await event in events {
            if case .endOfStream = event { break }
            if case .error(_, let message, _) = event {
                Issue.record("\(message)")
                break
            }
        }
        writer.stop()
    }

    @Test
    func rtpThatAnSDPFileDescribesIsReceived() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/tapedeck-rtp-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Two ports that are free now; no other program gets them in between.
        let ports = try Self.freePorts(2)
        let description = """
            v=0
            o=- 0 0 IN IP4 127.0.0.1
            s=test
            c=IN IP4 127.0.0.1
            t=0 0
            m=video \(ports[0]) RTP/AVP 96
            a=rtpmap:96 VP8/90000
            m=audio \(ports[1]) RTP/AVP 97
            a=rtpmap:97 OPUS/48000/2

            """
        let path = folder + "/stream.sdp"
        try description.write(toFile: path, atomically: true, encoding: .utf8)
        let complaint = FirstError()
        let sender = try Pipeline(
            launch: """
                videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=30/1
                ! vp8enc deadline=1 keyframe-max-dist=5 ! rtpvp8pay pt=96 ! udpsink host=127.0.0.1 port=\(ports[0])
                audiotestsrc is-live=true samplesperbuffer=960 ! audio/x-raw,rate=48000,channels=2 ! opusenc
                ! rtpopuspay pt=97 ! udpsink host=127.0.0.1 port=\(ports[1])
                """
        ) { complaint.note($0) }
        try sender.play()
        defer { sender.stop() }
        let input = try #require(MediaSource("rtp:\(path)"))
        let counts = try await self.counts(input, input, ["latency": "50"])
        #expect(complaint.first == nil)
        #expect(counts.failure == nil, "capture/rtp")
        #expect(counts.picture >= 20 && counts.sound >= 20, "capture/rtp: \(counts)")
    }

    /// Ports for RTP, each even with the one above it free too.
    private static func freePorts(_ count: Int) throws -> [Int] {
        var ports: [Int] = []
        var candidate = Int.random(in: 20_000...30_000) * 2
        while ports.count < count, candidate < 65_000 {
            if Self.isFree(candidate), Self.isFree(candidate + 1) { ports.append(candidate) }
            candidate += 2
        }
        try #require(ports.count == count)
        return ports
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(truncatingIfNeeded: port).bigEndian)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// The path of a camera's frames after the device, which a test source replaces.
    @Test(arguments: ["video/x-raw", "image/jpeg", "video/x-h264"])
    func aCamerasPicturesBecomeWhatEncodersTake(coding: String) async throws {
        // No device gives 4:4:4, and not every decoder takes it.
        let h264 = "! video/x-raw,format=I420 ! x264enc tune=zerolatency"
        let coder = ["image/jpeg": "! jpegenc", "video/x-h264": h264][coding] ?? ""
        let file = try #require(try PipelineCatalogue.load().file(.capture, "v4l2"))
        let device = "v4l2src name=source"
        #expect(file.launch.hasPrefix(device + " ! "))
        var settings = SendSpec()
        (settings.width, settings.height) = (320, 180)
        (settings.video, settings.audio) = (MediaSource("standin"), nil)
        var standIn = file
        standIn.name = "standin"
        standIn.launch = "videotestsrc is-live=true \(coder)" + file.launch.dropFirst(device.count)
        standIn.requires = []
        standIn.parameters["device"] = nil
        standIn.argument = nil
        let pipelines = PipelineCatalogue([.init(file: standIn, origin: .bundled)])
        let source = try #require(try CaptureSource.all(settings, from: pipelines).first)
        let failure = FirstError()
        let mode = "\(coding),width=640,height=480,framerate=15/1"
        let pipeline = try CapturePipeline.make(source, mode: mode, settings) { failure.note($0) }
        let output = FanOut(startsAtKeyframe: false)
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        try output.attach(to: pipeline, sink: CapturePipeline.videoSink, baseTimeNanoseconds: now)
        try pipeline.play()
        let deadline = ContinuousClock.now + .seconds(60)
        while output.count < 20, failure.first == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
        // An error while decodebin still examines the stream is no end that its source expects.
        let complaint = failure.first
        pipeline.stop()
        #expect(complaint == nil, "capture/v4l2")
        #expect(output.count >= 20, "capture/v4l2")
    }

    @Test
    func pathsAndDevicesAreTakenAsTheyAre() throws {
        try Runtime.initialise()
        let path = "/tmp/\"quoted\" \\ and 'so' ! on\n.mp4"
        let source = try #require(try Self.sources(.file(path), .file(path)).first)
        #expect(!source.plan.file.launch.contains("tmp"))
        let complaint = FirstError()
        let pipeline = try CapturePipeline.make(source, mode: nil, SendSpec()) { complaint.note($0) }
        #expect(throws: GStreamerError.self) { try pipeline.play() }
        pipeline.stop()
        #expect(complaint.first != nil)
    }

    /// A capture of one launch text.
    private static func capture(_ name: String, _ launch: String) -> PipelineCatalogue.Entry {
        var file = PipelineFile(kind: .capture, name: name, description: "A test.", launch: launch)
        file.gives = [.video: ["raw"]]
        file.ports = ["out_video": "src"]
        if launch.contains("name=out_audio") {
            file.gives[.audio] = ["raw"]
            file.ports["out_audio"] = "src"
        }
        return .init(file: file, origin: .folder("/x/capture/\(name).yaml"))
    }

    private func wait(_ what: Comment, until isDone: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !isDone(), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
        #expect(isDone(), what)
    }

    /// Takes what a camera makes, as a peer does.
    struct Receiver {
        let pipeline: Pipeline
        let consumer: FanOut.Consumer

        init(_ output: FanOut) throws {
            let launch = "appsrc name=in is-live=true format=time ! fakesink sync=false"
            self.pipeline = try Pipeline(launch: launch) { _ in }
            try self.pipeline.play(baseTimeNanoseconds: UInt64(clamping: Runtime.monotonicNanoseconds))
            self.consumer = try output.add(try self.pipeline.element(named: "in"), of: self.pipeline)
        }

        func stop() {
            self.consumer.remove()
            self.pipeline.stop()
        }
    }

    @Test
    func sourcesAreOpenWhileSomebodyReceivesThem() async throws {
        var settings = SendSpec()
        (settings.width, settings.height) = (320, 180)
        let camera = try TestSession.camera(settings)
        defer { camera.stop() }
        try camera.open()
        #expect(camera.graphs.isEmpty)
        let (output, sound) = (try camera.output(of: .vp8), try camera.output(of: .opus))
        let (picture, hearing) = (try Receiver(output), try Receiver(sound))
        try await self.wait("the test picture") { output.count >= 10 && sound.count >= 10 }
        // One encoder ends, then, with the other, the source.
        picture.stop()
        try await self.wait("no video encoder") { camera.encoders.count == 1 }
        #expect(camera.encoders == [.opus: "encode/opusenc"] && camera.graphs.keys.contains("capture test source"))
        hearing.stop()
        try await self.wait("nothing open") { camera.graphs.isEmpty }
        #expect(camera.encoders.isEmpty)
        let (count, end) = (output.count, output.endNanoseconds)
        #expect(camera.frameCounts.encoded[.vp8] == count)
        // A consumer that comes again gets the same output, with time stamps that rise.
        #expect(try camera.output(of: .vp8) === output)
        let again = try Receiver(output)
        try await self.wait("the test picture again") { output.count >= count + 10 }
        #expect(output.endNanoseconds > end)
        #expect(again.consumer.counters.pushed > 0)
        // A consumer of an output whose encoder has ended is seen.
        again.stop()
        try await self.wait("nothing open again") { camera.graphs.isEmpty }
        let late = try Receiver(output)
        defer { late.stop() }
        try await self.wait("a picture for who is late") { late.consumer.counters.pushed >= 10 }
        #expect(late.consumer.counters.pushed >= 10)
    }

    /// No camera is open for those who only listen.
    @Test
    func aSourceIsOpenWhileSomebodyReceivesItsKind() async throws {
        let bars = Self.capture("bars", "videotestsrc is-live=true pattern=smpte75 ! identity name=out_video")
        var settings = SendSpec(video: MediaSource("bars"))
        (settings.width, settings.height) = (320, 180)
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [bars])
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: TestSession.logger)
        defer { camera.stop() }
        func isOpen(_ name: String) -> Bool { camera.graphs.keys.contains("capture \(name)") }
        let sound = try camera.output(of: .opus)
        let hearing = try Receiver(sound)
        defer { hearing.stop() }
        try await self.wait("sound") { sound.count >= 10 }
        #expect(isOpen("test source") && camera.frameCounts.captured == 0)
        // Another size, or another source, does not open it either.
        var other = settings
        (other.width, other.height) = (640, 360)
        #expect(try camera.capture(other))
        let output = try camera.output(of: .vp8)
        let picture = try Receiver(output)
        try await self.wait("pictures") { output.count >= 10 }
        #expect(isOpen("bars") && isOpen("test source"))
        picture.stop()
        try await self.wait("no pictures") { !isOpen("bars") }
        let count = sound.count
        try await self.wait("more sound") { sound.count >= count + 10 }
        #expect(isOpen("test source"))
        other.keepsOpen = true
        #expect(try camera.capture(other))
        try await self.wait("pictures that nobody receives") { isOpen("bars") }
        #expect(camera.encoders.keys.map(\.kind) == [.audio])
    }

    @Test
    func sourcesThatAreKeptOpenAreOpenBeforeAndAfterPeers() async throws {
        var settings = SendSpec()
        (settings.width, settings.height, settings.audio, settings.keepsOpen) = (320, 180, nil, true)
        let camera = try TestSession.camera(settings)
        defer { camera.stop() }
        try camera.open()
        try await self.wait("pictures") { camera.frameCounts.captured >= 10 }
        #expect(camera.encoders.isEmpty)
        let receiver = try Receiver(try camera.output(of: .vp8))
        try await self.wait("pictures for a peer") { receiver.consumer.counters.pushed >= 5 }
        receiver.stop()
        try await self.wait("no encoder") { camera.encoders.isEmpty }
        let captured = camera.frameCounts.captured
        try await self.wait("more pictures") { camera.frameCounts.captured >= captured + 10 }
        #expect(camera.frameCounts.captured >= captured + 10)
        // Until it is not wanted any more.
        settings.keepsOpen = false
        #expect(try camera.capture(settings))
        try await self.wait("nothing open") { camera.graphs.isEmpty }
        settings.keepsOpen = true
        #expect(try camera.capture(settings))
        try await self.wait("the source again") { camera.graphs.keys.contains("capture test source") }
    }

    @Test
    func aSourceThatFailsIsReplacedByASlateAndTakenBack() async throws {
        let flaky = Self.capture("flaky", "videotestsrc is-live=true ! identity name=out_video error-after=20")
        var settings = SendSpec()
        (settings.width, settings.height, settings.audio) = (320, 180, nil)
        settings.video = MediaSource("flaky")
        var quiet = Logger(label: "quiet")
        quiet.logLevel = .critical
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [flaky])
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: quiet)
        defer { camera.stop() }
        let output = try camera.output(of: .vp8)
        let receiver = try Receiver(output)
        defer { receiver.stop() }
        try await self.wait("the slate") { camera.showsSlate }
        let before = output.count
        try await self.wait("pictures of the slate") { !camera.showsSlate || output.count >= before + 10 }
        #expect(output.count >= before + 10)
        try await self.wait("the source") { !camera.showsSlate }
        try await self.wait("the slate again") { camera.showsSlate }
        #expect(camera.encoders == [.vp8: "encode/vp8enc"])
    }

    /// For the rule, a frame in eight seconds counts as none for three of them, as with an IP camera whose encoder
    /// stalls.
    @Test
    func picturesThatStopWhileTheSoundGoesOnAreReplacedByASlateAndTakenBack() async throws {
        let slow = Self.capture(
            "slow",
            """
            videotestsrc is-live=true ! video/x-raw,framerate=1/8 ! identity name=out_video
            audiotestsrc is-live=true samplesperbuffer=960 ! identity name=out_audio
            """
        )
        var settings = SendSpec()
        (settings.width, settings.height) = (320, 180)
        (settings.video, settings.audio) = (MediaSource("slow"), MediaSource("slow"))
        var quiet = Logger(label: "quiet")
        quiet.logLevel = .critical
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [slow])
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: quiet)
        defer { camera.stop() }
        let (output, sound) = (try camera.output(of: .vp8), try camera.output(of: .opus))
        let receivers = try [Receiver(output), Receiver(sound)]
        defer { for receiver in receivers { receiver.stop() } }
        try await self.wait("the slate of the pictures") { camera.showsSlate }
        #expect(camera.failures == 1)
        let (pictures, sounds) = (output.count, sound.count)
        try await self.wait("pictures of the slate, and the sound of the source") {
            output.count >= pictures + 10 && sound.count >= sounds + 10
        }
        // The test tone of the source, and not the silence of the slate.
        #expect((camera.audioLevel?.decibels ?? -127) > -60)
        try await self.wait("the source's own pictures") { !camera.showsSlate }
        #expect(camera.graphs.keys.contains("capture slow"))
    }

    /// A capture whose source hangs in the kernel while it is opened, as a camera does whose driver does not answer.
    private struct StuckCapture {
        let folder: String
        var path: String { self.folder + "/pipe" }
        let entry: PipelineCatalogue.Entry

        init() throws {
            self.folder = FileManager.default.temporaryDirectory.path + "/tapedeck-stuck-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
            // Opening it for reading waits until it is opened for writing.
            guard mkfifo(self.folder + "/pipe", 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
            let launch = """
                filesrc name=source location=\(self.folder)/pipe ! video/x-raw,format=I420,width=320,height=180,framerate=30/1 \
                ! identity name=out_video
                """
            self.entry = CaptureTests.capture("stuck", launch)
        }

        /// Lets the hanging reader continue: the end of the data.
        func release() {
            let descriptor = Glibc.open(self.path, O_RDWR | O_NONBLOCK)
            close(descriptor)
        }

        func remove() {
            self.release()
            try? FileManager.default.removeItem(atPath: self.folder)
        }
    }

    @Test
    func aSourceThatHangsWhileItIsOpenedHoldsUpNothing() async throws {
        let stuck = try StuckCapture()
        defer { stuck.remove() }
        var settings = SendSpec()
        (settings.width, settings.height, settings.video) = (320, 180, MediaSource("stuck"))
        var quiet = Logger(label: "quiet")
        quiet.logLevel = .critical
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [stuck.entry])
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: quiet)
        let (output, sound) = (try camera.output(of: .vp8), try camera.output(of: .opus))
        let receivers = try [Receiver(output), Receiver(sound)]
        defer { for receiver in receivers { receiver.stop() } }
        try await self.wait("the other source") { sound.count >= 10 }
        try await self.wait("the slate") { camera.showsSlate }
        try await self.wait("pictures of the slate") { output.count >= 10 }
        #expect(camera.failures == 1 && !camera.graphs.keys.contains("capture stuck"))
        // Another camera, of another size, takes its place although it cannot be closed.
        var other = settings
        (other.video, other.width, other.height) = (.test, 640, 360)
        #expect(try camera.capture(other))
        #expect(!camera.showsSlate)
        try await self.wait("the other camera") { camera.graphs.keys.contains("capture test source") }
        let count = output.count
        try await self.wait("pictures of the other camera") { output.count >= count + 10 }
        #expect(camera.failures == 1)
        #expect(try camera.capture(settings))
        try await self.wait("the slate again") { camera.showsSlate }
        #expect(camera.failures == 2)
        camera.stop()
    }

    @Test
    func whatHungIsClosedWhenItComesBack() async throws {
        try Runtime.startCountingObjects()
        let stuck = try StuckCapture()
        defer { stuck.remove() }
        var settings = SendSpec()
        (settings.width, settings.height, settings.video, settings.audio) = (320, 180, MediaSource("stuck"), nil)
        var quiet = Logger(label: "quiet")
        quiet.logLevel = .critical
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [stuck.entry])
        let before = Runtime.liveObjectCount
        do {
            let camera = CameraSource(settings: settings, pipelines: pipelines, logger: quiet)
            let receiver = try Receiver(try camera.output(of: .vp8))
            try await self.wait("the slate") { camera.showsSlate }
            receiver.stop()
            camera.stop()
        }
        // Objects of earlier tests may be freed by now; from here on only those of this test are.
        let held = Runtime.liveObjectCount
        stuck.release()
        try await self.wait("its end") { Runtime.liveObjectCount < held && Runtime.liveObjectCount <= before }
    }

    @Test
    func oneSourceTakesThePlaceOfAnotherWhileEncodersGoOn() async throws {
        let bars = Self.capture("bars", "videotestsrc is-live=true pattern=smpte75 ! identity name=out_video")
        var settings = SendSpec()
        (settings.width, settings.height) = (320, 180)
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [bars])
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: TestSession.logger)
        defer { camera.stop() }
        let output = try camera.output(of: .vp8)
        let receiver = try Receiver(output)
        defer { receiver.stop() }
        try await self.wait("the test picture") { output.count >= 10 }
        var other = settings
        other.video = MediaSource("bars")
        #expect(try camera.capture(other))
        try await self.wait("the bars") { camera.graphs.keys.contains("capture bars") }
        let count = output.count
        let end = output.endNanoseconds
        try await self.wait("the bars") { output.count >= count + 20 }
        #expect(output.endNanoseconds > end)
        // An unknown source changes nothing.
        other.video = MediaSource("nothing")
        #expect(throws: CaptureError.self) { try camera.capture(other) }
        #expect(camera.graphs.keys.contains("capture bars"))
        #expect(camera.settings.video == MediaSource("bars"))
        // Peers must be notified of these.
        var silent = settings
        silent.audio = nil
        #expect(try !camera.capture(silent))
        var pausing = settings
        pausing.usesAudioDTX = true
        #expect(try !camera.capture(pausing))
        #expect(camera.settings.audio == .test && !camera.settings.usesAudioDTX)
    }

    /// Until it gives something there is nothing, and what fills that must not come all at once.
    @Test
    func soundOfAnotherSourceIsCodedAnew() async throws {
        let tone = Self.capture(
            "tone",
            """
            videotestsrc is-live=true ! identity name=out_video
            audiotestsrc is-live=true samplesperbuffer=960 ! identity name=out_audio
            """
        )
        var settings = SendSpec()
        (settings.width, settings.height) = (320, 180)
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [tone])
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: TestSession.logger)
        defer { camera.stop() }
        let (output, sound) = (try camera.output(of: .vp8), try camera.output(of: .opus))
        let receivers = try [Receiver(output), Receiver(sound)]
        defer { for receiver in receivers { receiver.stop() } }
        try await self.wait("the test source") { output.count >= 10 && sound.count >= 10 }
        let before = camera.encoderNumbers
        settings.video = MediaSource("tone")
        #expect(try camera.capture(settings))
        #expect(camera.encoderNumbers[.vp8] == before[.vp8])
        settings.audio = MediaSource("tone")
        let between = camera.encoderNumbers
        #expect(try camera.capture(settings))
        #expect(camera.encoderNumbers[.vp8] == before[.vp8])
        #expect(camera.encoderNumbers[.opus] != between[.opus])
        let (count, end) = (sound.count, sound.endNanoseconds)
        try await self.wait("the tone") { sound.count >= count + 10 }
        #expect(sound.endNanoseconds > end)
    }

    @Test
    func picturesOfAnotherSizeAreCodedBehindTheSameOutput() async throws {
        var settings = SendSpec()
        (settings.width, settings.height) = (320, 180)
        let camera = try TestSession.camera(settings)
        defer { camera.stop() }
        let (output, sound) = (try camera.output(of: .vp8), try camera.output(of: .opus))
        let receivers = try [Receiver(output), Receiver(sound)]
        defer { for receiver in receivers { receiver.stop() } }
        try await self.wait("the test picture") { output.count >= 10 && sound.count >= 10 }
        for change in [
            { ($0.width, $0.height) = (640, 360) }, { $0.framesPerSecond = 15 }, { $0.bitsPerSecond = 300_000 },
            { $0.audioBitsPerSecond = 24_000 }, { $0.isVideoMuted = true }, { $0.isAudioMuted = true },
            { $0.isFrozen = true },
        ] as [(inout SendSpec) -> Void] {
            change(&settings)
            #expect(try camera.capture(settings))
            #expect(camera.settings == settings)
            let (pictures, sounds) = (output.count, sound.count)
            try await self.wait("\(settings)") { output.count >= pictures + 10 && sound.count >= sounds + 10 }
            #expect(output.count >= pictures + 10 && sound.count >= sounds + 10, "\(settings)")
        }
        try await self.wait("silence") { camera.audioLevel?.decibels == -127 }
        #expect(camera.audioLevel?.decibels == -127)
    }

    @Test
    func aDeviceOfWhichNothingIsSeenIsNotOpened() throws {
        func opened(_ video: MediaSource?, _ audio: MediaSource?, mutes: String) throws -> [String] {
            var settings = SendSpec()
            (settings.video, settings.audio) = (video, audio)
            settings.isVideoMuted = mutes.contains("video")
            settings.isAudioMuted = mutes.contains("audio")
            let pipelines = try PipelineCatalogue.load()
            let sources = try CaptureSource.all(settings, from: pipelines)
            return sources.map { $0.shown(under: settings.mutes, from: pipelines).plan.file.name }
        }
        let (camera, microphone) = (MediaSource.camera("/dev/video0"), try #require(MediaSource("alsa")))
        #expect(try opened(camera, microphone, mutes: "") == ["v4l2", "alsa"])
        #expect(try opened(camera, microphone, mutes: "video") == ["slate", "alsa"])
        #expect(try opened(camera, microphone, mutes: "audio") == ["v4l2", "slate"])
        #expect(try opened(camera, microphone, mutes: "video audio") == ["slate", "slate"])
        // A source that is no device continues, which keeps its position.
        #expect(try opened(.file("a"), .file("a"), mutes: "video audio") == ["file"])
        #expect(try opened(.test, microphone, mutes: "video") == ["test", "alsa"])
    }

    @Test
    func aDeviceThatIsMutedIsClosed() async throws {
        var device = Self.capture("device", "videotestsrc name=lens is-live=true ! identity name=out_video")
        device.file.requires = ["v4l2src"]
        let pipelines = PipelineCatalogue(try PipelineCatalogue.load().entries + [device])
        var settings = SendSpec()
        (settings.width, settings.height, settings.audio) = (320, 180, nil)
        settings.video = MediaSource("device")
        let camera = CameraSource(settings: settings, pipelines: pipelines, logger: Logger(label: "test"))
        defer { camera.stop() }
        let output = try camera.output(of: .vp8)
        let receiver = try Receiver(output)
        defer { receiver.stop() }
        func isOpen() -> Bool { camera.graphs.values.contains { $0.contains("lens") } }
        try await self.wait("pictures of the device") { isOpen() && output.count >= 10 }
        var muted = settings
        muted.isVideoMuted = true
        camera.hide(muted.mutes)
        #expect(camera.mutes == muted.mutes && isOpen(), "at once")
        #expect(try camera.capture(muted))
        try await self.wait("no device") { !isOpen() }
        let before = output.count
        try await self.wait("pictures of the slate") { output.count >= before + 10 }
        camera.hide(CameraMutes())
        #expect(!isOpen() && camera.mutes == muted.mutes)
        #expect(try camera.capture(settings))
        try await self.wait("the device again") { isOpen() }
    }

    /// Holds everything that a file being repeated leaves behind.
    @Test
    func aRepeatedFileLeavesNothingBehind() async throws {
        try Runtime.startCountingObjects()
        let folder = FileManager.default.temporaryDirectory.path + "/tapedeck-capture-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/short \"clip\".mkv"
        let made = FirstError()
        let writer = try Pipeline(
            launch: """
                videotestsrc num-buffers=6 ! video/x-raw,width=320,height=180,framerate=30/1 ! vp8enc deadline=1 \
                ! matroskamux name=mux ! filesink name=file
                audiotestsrc num-buffers=10 samplesperbuffer=960 ! audio/x-raw,rate=48000 ! opusenc ! mux.
                """
        ) { made.note($0) }
        try writer.element(named: "file").set("location", verbatim: path)
        try writer.play()
        var settings = SendSpec()
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? MediaFile(inspecting: path))?.hasAudio != true, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(50))
        }
        writer.stop()
        #expect(made.first == nil)
        settings.video = .file(path)
        settings.audio = .file(path)
        (settings.width, settings.height) = (320, 180)

        func run(passes: UInt64) async throws {
            let checked = try settings.checked(from: try PipelineCatalogue.load(), logger: TestSession.logger)
            let camera = try TestSession.camera(checked)
            let receivers = try [Receiver(camera.output(of: .vp8)), Receiver(camera.output(of: .opus))]
            defer { for receiver in receivers { receiver.stop() } }
            let deadline = ContinuousClock.now + .seconds(120)
            while camera.frameCounts.captured < passes * 6, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(camera.frameCounts.captured >= passes * 6)
            camera.stop()
        }
        try await run(passes: 2)
        let before = Runtime.liveObjectCount
        try await run(passes: 20)
        // Work on the capture thread may hold a pipeline for a moment longer.
        let limit = ContinuousClock.now + .seconds(60)
        while Runtime.liveObjectCount > before, ContinuousClock.now < limit {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(Runtime.liveObjectCount <= before)
    }
}
