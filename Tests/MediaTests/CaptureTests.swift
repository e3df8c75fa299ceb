// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Synchronization
import Testing

@testable import Media

@Suite(.serialized, .timeLimit(.minutes(5)))
struct CaptureTests {
    @Test(arguments: ["none", "test", "v4l2:/dev/video0", "file:/a b/\"c\".mp4", "file:a:b"])
    func videoInputsAreReadAsTheyAreWritten(text: String) {
        #expect(VideoInput(text)?.description == text)
    }

    @Test(arguments: ["none", "test", "alsa:hw:1,0", "file:x"])
    func audioInputsAreReadAsTheyAreWritten(text: String) {
        #expect(AudioInput(text)?.description == text)
    }

    @Test(arguments: ["", "Test", "file:", "v4l2:", "screen", "file", "test:", "alsa:default "])
    func otherPicturesAreRefused(text: String) {
        #expect(VideoInput(text) == nil)
    }

    @Test
    func aFileForBothIsOpenedOnce() {
        #expect(CaptureSource.all(.file("a"), .file("a")).count == 1)
        #expect(CaptureSource.all(.file("a"), .file("b")).map(\.hasVideo) == [true, false])
        #expect(CaptureSource.all(.test, .test) == [CaptureSource(kind: .test, hasVideo: true, hasAudio: true)])
        #expect(CaptureSource.all(.device("/dev/video0"), .none).map(\.description) == ["camera /dev/video0"])
        #expect(CaptureSource.all(.none, .none).isEmpty)
    }

    private struct Device {
        var raw: [(Int, Int, Int)]
        var jpeg: [(Int, Int, Int)]

        func canGive(_ mode: VideoMode) -> Bool {
            (mode.isJPEG ? self.jpeg : self.raw).contains { $0 == (mode.width, mode.height, mode.framesPerSecond) }
        }
    }

    @Test
    func theNearestModeIsTaken() {
        let webcam = Device(
            raw: [(640, 480, 30), (1280, 720, 10)],
            jpeg: [(640, 480, 30), (1280, 720, 30), (1920, 1080, 30)]
        )
        func nearest(_ width: Int, _ height: Int, _ rate: Int, _ device: Device) -> VideoMode? {
            VideoMode.nearest(width: width, height: height, framesPerSecond: rate, canGive: device.canGive)
        }
        #expect(nearest(1280, 720, 30, webcam)?.caps == "image/jpeg,width=1280,height=720,framerate=30/1")
        #expect(nearest(640, 480, 30, webcam)?.caps == "video/x-raw,width=640,height=480,framerate=30/1")
        // A larger picture rather than a smaller one.
        #expect(nearest(1600, 900, 30, webcam)?.width == 1920)
        #expect(nearest(3840, 2160, 30, webcam)?.width == 1920)
        #expect(nearest(320, 240, 15, webcam)?.width == 640)
        let odd = Device(raw: [(648, 486, 30)], jpeg: [])
        #expect(nearest(1280, 720, 30, odd) == nil)
        #expect(nearest(648, 486, 30, odd)?.width == 648)
    }

    /// The path of a camera's pictures behind the device, which a test source stands in for.
    @Test(arguments: [false, true])
    func aCamerasPicturesBecomeWhatEncodersTake(isJPEG: Bool) async throws {
        try Runtime.initialise()
        let mode = VideoMode(isJPEG: isJPEG, width: 640, height: 480, framesPerSecond: 15)
        let camera = CaptureLaunch(
            CaptureSource(kind: .camera("/dev/video0"), hasVideo: true, hasAudio: false),
            mode: mode
        )
        let device = "v4l2src name=source"
        #expect(camera.text.hasPrefix(device + " ! "))
        let source = isJPEG ? "videotestsrc is-live=true ! jpegenc" : "videotestsrc is-live=true"
        let failure = FirstComplaint()
        let pipeline = try Pipeline(launch: source + camera.text.dropFirst(device.count)) { failure.note($0) }
        try pipeline.element(named: "mode").set("caps", mode.caps)
        let format = "video/x-raw,format=I420,width=320,height=180,framerate=30/1,pixel-aspect-ratio=1/1"
        try pipeline.element(named: "picture_format").set("caps", format)
        let output = FanOut(startsAtKeyframe: false)
        try output.attach(
            to: pipeline,
            sink: "raw",
            baseTimeNanoseconds: UInt64(clamping: Runtime.monotonicNanoseconds)
        )
        try pipeline.play()
        let deadline = ContinuousClock.now + .seconds(60)
        while output.count < 20, failure.first == nil, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(10))
        }
        pipeline.stop()
        #expect(failure.first == nil)
        #expect(output.count >= 20)
    }

    @Test
    func pathsAndDevicesAreTakenAsTheyAre() throws {
        try Runtime.initialise()
        let path = "/tmp/\"quoted\" \\ and 'so' ! on\n.mp4"
        let launch = CaptureLaunch(CaptureSource(kind: .file(path), hasVideo: true, hasAudio: true))
        #expect(!launch.text.contains("tmp"))
        let complaint = FirstComplaint()
        let pipeline = try launch.pipeline(CameraSettings()) { complaint.note($0) }
        #expect(throws: GStreamerError.self) { try pipeline.play() }
        pipeline.stop()
        #expect(complaint.first != nil)
    }

    /// Holds everything that a file being repeated leaves behind.
    @Test
    func aRepeatedFileLeavesNothingBehind() async throws {
        try Runtime.startCountingObjects()
        let folder = FileManager.default.temporaryDirectory.path + "/tapedeck-capture-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/short \"clip\".mkv"
        let made = FirstComplaint()
        let writer = try Pipeline(
            launch: """
                videotestsrc num-buffers=6 ! video/x-raw,width=320,height=180,framerate=30/1 ! vp8enc deadline=1 \
                ! matroskamux name=mux ! filesink name=file
                audiotestsrc num-buffers=10 samplesperbuffer=960 ! audio/x-raw,rate=48000 ! opusenc ! mux.
                """
        ) { made.note($0) }
        try writer.element(named: "file").set("location", verbatim: path)
        try writer.play()
        var settings = CameraSettings()
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
            let checked = try settings.checked(logger: TestSession.logger)
            let camera = CameraSource(settings: checked, logger: TestSession.logger)
            _ = try camera.output(of: .vp8)
            _ = try camera.output(of: .opus)
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
