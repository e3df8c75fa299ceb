// SPDX-License-Identifier: Apache-2.0

/// The keys of a room's `send`.
enum SendKeys {
    static let capture = Key("capture", ValueType<SendConfiguration.VideoSource>.videoSource.or("none"))
    static let audio = Key("audio", ValueType<SendConfiguration.AudioSource>.audioSource.or("none"))
    static let preferredCodec = Key("preferred_codec", ValueType<SendConfiguration.Codec>.choice)
    static let size = Key("size", ValueType<PictureSize>.pictureSize)
    static let framesPerSecond = Key("fps", .integer(1...60))
    static let bitrate = Key("bitrate", .bitRate(50_000...50_000_000))

    static let table = KeyTable(
        capture.entry,
        audio.entry,
        preferredCodec.entry,
        size.entry,
        framesPerSecond.entry,
        bitrate.entry
    )
}

/// Width and height in pixels.
struct PictureSize: Hashable, Sendable {
    var width: Int
    var height: Int

    /// Reads `1280x720`; nil unless both are even, from 320 to 7680 and from 180 to 4320.
    init?(_ text: String) {
        let sides = text.split(separator: "x", omittingEmptySubsequences: false)
        guard sides.count == 2, sides.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let width = Int(sides[0]), let height = Int(sides[1]), (320...7680).contains(width),
            (180...4320).contains(height), width % 2 == 0, height % 2 == 0
        else { return nil }
        self.width = width
        self.height = height
    }
}

extension ValueType where Value == PictureSize {
    /// A picture's size.
    fileprivate static let pictureSize = ValueType(
        accepted: "WIDTHxHEIGHT, even numbers from 320x180 to 7680x4320, such as 1280x720",
        text: { PictureSize($0) }
    )
}

extension ValueType where Value == SendConfiguration.VideoSource {
    /// Where a picture comes from.
    fileprivate static let videoSource = ValueType(accepted: "test, v4l2:/dev/DEVICE, file:/PATH") { text in
        if text == "test" { return .test }
        if text.hasPrefix("v4l2:") {
            return ValueType<String>.absolutePath(String(text.dropFirst(5))).map { .v4l2($0) }
        }
        if text.hasPrefix("file:") {
            return ValueType<String>.absolutePath(String(text.dropFirst(5))).map { .file($0) }
        }
        return nil
    }
}

extension ValueType where Value == SendConfiguration.AudioSource {
    /// Where sound comes from.
    fileprivate static let audioSource = ValueType(accepted: "test, alsa:DEVICE, file:/PATH") { text in
        if text == "test" { return .test }
        if text.hasPrefix("file:") {
            return ValueType<String>.absolutePath(String(text.dropFirst(5))).map { .file($0) }
        }
        let device = text.dropFirst(5)
        guard text.hasPrefix("alsa:"), (1...128).contains(device.utf8.count),
            device.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return .alsa(String(device))
    }
}

extension SendConfiguration {
    /// Reads `send` of a room: nil for `none` or if there is none.
    static func read(_ room: MappingReader) -> SendConfiguration? {
        guard let node = room.node("send"), !node.isWord("none") else { return nil }
        var send = SendConfiguration()
        let accepted = "none, or a mapping with \(SendKeys.table.names.joined(separator: ", "))"
        let reader = MappingReader(
            node,
            SendKeys.table,
            path: room.path(of: "send"),
            problems: room.problems,
            accepted: accepted
        )
        guard let reader else { return nil }
        send.capture = reader.value(SendKeys.capture) ?? send.capture
        send.audio = reader.value(SendKeys.audio) ?? send.audio
        send.preferredCodec = reader.value(SendKeys.preferredCodec) ?? send.preferredCodec
        if let size = reader.value(SendKeys.size) { (send.width, send.height) = (size.width, size.height) }
        send.framesPerSecond = reader.value(SendKeys.framesPerSecond) ?? send.framesPerSecond
        send.bitsPerSecond = reader.value(SendKeys.bitrate) ?? send.bitsPerSecond
        if send.capture == nil, send.audio == nil {
            reader.add(
                SendKeys.capture.name,
                "without capture and audio there is nothing to send",
                accepted: "send: none"
            )
        }
        return send
    }
}
