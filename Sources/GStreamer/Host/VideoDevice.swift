// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Glibc

/// A V4L2 device of this host, described without taking it from a program that uses it.
public struct VideoDevice: Sendable, Hashable {
    /// A video format with the largest size listed for it, in pixels; 0 by 0 if the driver lists none.
    public struct Format: Sendable, Hashable {
        /// Four letters, such as `MJPG`, `YUYV` or `H264`.
        public var fourCC: String
        /// Pixels.
        public var width: Int
        /// Pixels.
        public var height: Int

        /// A format with each part given.
        public init(fourCC: String, width: Int, height: Int) {
            self.fourCC = fourCC
            self.width = width
            self.height = height
        }
    }

    /// The most formats that are read of one device.
    private static let maximumFormats: UInt32 = 64

    /// For example `/dev/video0`.
    public var path: String
    /// The name that the driver gives it.
    public var name: String
    /// Whether it captures video; coders and metadata devices do not.
    public var captures: Bool
    /// In the driver's order.
    public var formats: [Format]

    /// A device with each part given.
    public init(path: String, name: String, captures: Bool, formats: [Format]) {
        self.path = path
        self.name = name
        self.captures = captures
        self.formats = formats
    }

    /// Asks the driver of the device at `path`.
    ///
    /// Any thread; waits for the driver.
    /// - Throws: `errno` of what failed as `VideoDeviceError`.
    public init(path: String) throws(VideoDeviceError) {
        var device = CTapedeckVideoDevice()
        let descriptor = CTapedeck_video_device_open(path, &device)
        guard descriptor >= 0 else { throw VideoDeviceError(errorNumber: -descriptor) }
        defer { close(descriptor) }
        var formats: [Format] = []
        var format = CTapedeckVideoFormat()
        while let index = UInt32(exactly: formats.count), device.captures, index < Self.maximumFormats,
            CTapedeck_video_device_format(descriptor, index, &format)
        {
            formats.append(
                Format(fourCC: text(of: format.fourcc), width: Int(format.width), height: Int(format.height))
            )
        }
        self.init(path: path, name: text(of: device.name), captures: device.captures, formats: formats)
    }
}

/// Why a video device could not be asked.
public struct VideoDeviceError: Error, Sendable, Hashable {
    /// The error number of the system call.
    public var errorNumber: Int32

    /// For example `Permission denied`.
    public var message: String { String(cString: strerror(self.errorNumber)) }

    /// An error of that number.
    public init(errorNumber: Int32) {
        self.errorNumber = errorNumber
    }
}

/// The text in a fixed array of C characters, up to the first zero.
private func text<Characters>(of characters: Characters) -> String {
    withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}
