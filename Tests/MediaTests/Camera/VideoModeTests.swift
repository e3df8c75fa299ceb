// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Media

struct VideoModeTests {
    /// A UVC webcam, in the caps of `v4l2src` in READY.
    private static let webcam = """
        video/x-raw, format=(string)YUY2, width=(int)1280, height=(int)720, pixel-aspect-ratio=(fraction)1/1, \
        framerate=(fraction){ 10/1, 5/1 }; \
        video/x-raw, format=(string)YUY2, width=(int)640, height=(int)480, pixel-aspect-ratio=(fraction)1/1, \
        colorimetry=(string)2:4:7:1, framerate=(fraction){ 30/1, 24/1, 15/1 }; \
        image/jpeg, width=(int)1920, height=(int)1080, pixel-aspect-ratio=(fraction)1/1, framerate=(fraction)30/1; \
        image/jpeg, width=(int)1280, height=(int)720, pixel-aspect-ratio=(fraction)1/1, \
        framerate=(fraction){ 30/1, 15/1 }; \
        image/jpeg, width=(int)640, height=(int)480, framerate=(fraction){ 30/1, 15/1 }
        """
    /// A board camera with an internal coder: ranges with steps, and H.264.
    private static let board = """
        video/x-raw, format=(string){ YUY2, UYVY, I420 }, width=(int)[ 32, 2592, 2 ], height=(int)[ 32, 1944, 2 ], \
        framerate=(fraction)[ 1/1, 90/1 ]; \
        image/jpeg, width=(int)[ 32, 2592, 2 ], height=(int)[ 32, 1944, 2 ], framerate=(fraction)[ 1/1, 90/1 ]; \
        video/x-h264, stream-format=(string)byte-stream, alignment=(string)au, width=(int)[ 32, 2592, 2 ], \
        height=(int)[ 32, 1944, 2 ], framerate=(fraction)[ 1/1, 90/1 ]
        """
    /// The kernel's `vivid` driver, shortened; the first cannot be mapped.
    private static let vivid = """
        video/x-raw(memory:DMABuf), format=(string)YUY2, width=(int)640, height=(int)360, framerate=(fraction)30/1; \
        video/x-raw, format=(string)YUY2, width=(int)320, height=(int)180, framerate=(fraction){ 60000/1001, 30000/1001, \
        25/1, 15/1 }; \
        video/x-raw, format=(string)YUY2, width=(int)640, height=(int)360, framerate=(fraction){ 30000/1001, 25/1 }; \
        video/x-bayer, format=(string)bggr, width=(int)640, height=(int)360, framerate=(fraction)30/1
        """

    private static func caps(_ width: Int, _ height: Int, _ rate: Int, _ caps: String) -> String? {
        VideoMode.nearest(width: width, height: height, framesPerSecond: rate, of: OfferedMode.all(in: caps))?.caps
    }

    @Test(arguments: [
        (1280, 720, 30, webcam, "image/jpeg,width=1280,height=720,framerate=30/1"),
        (1280, 720, 10, webcam, "video/x-raw,width=1280,height=720,framerate=10/1"),
        (640, 480, 30, webcam, "video/x-raw,width=640,height=480,framerate=30/1"),
        // A larger frame rather than a smaller one.
        (1600, 900, 30, webcam, "image/jpeg,width=1920,height=1080,framerate=30/1"),
        (3840, 2160, 30, webcam, "image/jpeg,width=1920,height=1080,framerate=30/1"),
        (320, 240, 24, webcam, "video/x-raw,width=640,height=480,framerate=24/1"),
        (320, 240, 60, webcam, "video/x-raw,width=640,height=480,framerate=30/1"),
        (640, 360, 30, board, "video/x-raw,width=640,height=360,framerate=30/1"),
        (1280, 720, 30, board, "image/jpeg,width=1280,height=720,framerate=30/1"),
        (641, 361, 120, board, "video/x-raw,width=642,height=362,framerate=90/1"),
        (4000, 3000, 30, board, "image/jpeg,width=2592,height=1944,framerate=30/1"),
        // 29.97 is as good as 30.
        (320, 180, 30, vivid, "video/x-raw,width=320,height=180,framerate=30000/1001"),
        (320, 180, 10, vivid, "video/x-raw,width=320,height=180,framerate=15/1"),
        (640, 360, 60, vivid, "video/x-raw,width=640,height=360,framerate=30000/1001"),
        (
            640, 480, 30, "video/x-h264, width=(int)640, height=(int)480, framerate=(fraction)30/1",
            "video/x-h264,width=640,height=480,framerate=30/1"
        ),
    ])
    func theNearestAboveIsTaken(width: Int, height: Int, rate: Int, offered: String, expected: String) {
        #expect(Self.caps(width, height, rate, offered) == expected)
    }

    @Test(arguments: [
        "", "ANY", "EMPTY", ";;;", "video/x-raw", "video/x-raw, width=(int)640",
        "video/x-raw, width=(int)640, height=(int)480",
        "video/x-raw, width=(int)0, height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)-1, height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)99999999999999999999, height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)640, height=(int)480, framerate=(fraction)30/0",
        "video/x-raw, width=(int)640, height=(int)480, framerate=(fraction)0/1",
        "video/x-raw, width=(int){ }, height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)[ 640 ], height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)[ 640, 320 ], height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)[ 2, 640, 0 ], height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int){ 640, height=(int)480, framerate=(fraction)30/1",
        "video/x-raw, width=(int)640, height=(int)480, framerate=(fraction)[ 60/1, 30/1 ]",
        "text/plain, width=(int)640, height=(int)480, framerate=(fraction)30/1",
    ])
    func whatCannotBeUsedIsPassedOver(offered: String) {
        #expect(Self.caps(640, 480, 30, offered) == nil)
    }

    private static let devices = [
        CameraDevice(path: "/dev/video0", name: "HD Webcam: HD Webcam", serial: "A1", index: 0),
        CameraDevice(path: "/dev/video1", name: "HD Webcam: HD Webcam", serial: "A1", index: 1),
        CameraDevice(path: "/dev/video2", name: "Capture Card", serial: nil, index: 0),
        CameraDevice(path: "/dev/video3", name: "HD Door", serial: "B2", index: 0),
    ]

    @Test(arguments: [
        ("name=HD Webcam: HD Webcam", "/dev/video0"), ("name=HD Webcam", "/dev/video0"), ("name=HD", nil),
        ("name=Capture Card", "/dev/video2"), ("name=None", nil), ("serial=A1", "/dev/video0"),
        ("serial=B2", "/dev/video3"), ("serial=C3", nil),
    ])
    func camerasAreFoundByNameAndSerial(text: String, path: String?) throws {
        let selector = try #require(CameraSelector(text))
        #expect(selector.pick(from: Self.devices) == path)
        #expect(selector.pick(from: Self.devices.reversed()) == path)
    }

    @Test(arguments: ["/dev/video0", "name=", "serial=", "", "Name=x"])
    func pathsAreNoSelectors(text: String) {
        #expect(CameraSelector(text) == nil)
    }

    @Test
    func camerasAreReadFromTheKernelsFiles() throws {
        let root = FileManager.default.temporaryDirectory.path + "/tapedeck-sys-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: root) }
        let usb = root + "/devices/usb1/1-2"
        for (number, index) in [(10, 0), (2, 1)] {
            let device = "\(root)/class/video4linux/video\(number)"
            try FileManager.default.createDirectory(atPath: usb + "/1-2:1.0", withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: device, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: device + "/device",
                withDestinationPath: usb + "/1-2:1.0"
            )
            try "Cam \(number)\n".write(toFile: device + "/name", atomically: true, encoding: .utf8)
            try "\(index)\n".write(toFile: device + "/index", atomically: true, encoding: .utf8)
        }
        try "SN-1\n".write(toFile: usb + "/serial", atomically: true, encoding: .utf8)
        let folder = root + "/class/video4linux"
        try FileManager.default.createDirectory(atPath: folder + "/v4l-subdev0", withIntermediateDirectories: true)
        #expect(
            CameraDevice.all(system: root) == [
                CameraDevice(path: "/dev/video2", name: "Cam 2", serial: "SN-1", index: 1),
                CameraDevice(path: "/dev/video10", name: "Cam 10", serial: "SN-1", index: 0),
            ]
        )
        #expect(CameraSelector("serial=SN-1")?.pick(from: CameraDevice.all(system: root)) == "/dev/video10")
        #expect(CameraDevice.all(system: root + "/none").isEmpty)
    }
}
