// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import PipelineCatalogue

/// The keys of a room's `send`.
enum SendKeys {
    static let capture = Key("capture", ValueType<SendConfiguration.VideoSource>.videoSource.or("none"))
    static let audio = Key("audio", ValueType<SendConfiguration.AudioSource>.audioSource.or("none"))
    static let parameter = Key("parameters", .parameterValue)
    static let open = Key("open", ValueType<SendConfiguration.Opening>.choice)
    static let preferredCodec = Key("preferred_codec", ValueType<SendConfiguration.Codec>.choice)
    static let size = Key("size", ValueType<PictureSize>.pictureSize)
    static let framesPerSecond = Key("fps", .integer(1...60))
    static let bitrate = Key("bitrate", .bitRate(50_000...50_000_000))
    static let minimumBitrate = Key("min_bitrate", .bitRate(50_000...50_000_000))
    static let audioBitrate = Key("audio_bitrate", .bitRate(6000...510_000))
    static let audioFEC = Key("audio_fec", .boolean)
    static let audioDTX = Key("audio_dtx", .boolean)

    static let table = KeyTable(
        capture.entry,
        audio.entry,
        parameter.entry,
        open.entry,
        preferredCodec.entry,
        size.entry,
        framesPerSecond.entry,
        bitrate.entry,
        minimumBitrate.entry,
        audioBitrate.entry,
        audioFEC.entry,
        audioDTX.entry
    )
}

extension ValueType where Value == PictureSize {
    /// A picture's size.
    fileprivate static let pictureSize = ValueType(
        accepted: "WIDTHxHEIGHT, even numbers from 320x180 to 7680x4320, such as 1280x720",
        text: { PictureSize($0).flatMap { $0.isSendable ? $0 : nil } }
    )
}

extension ValueType where Value == SendConfiguration.VideoSource {
    /// Where a picture comes from.
    fileprivate static let videoSource = ValueType(
        accepted: "test, v4l2:/dev/DEVICE, v4l2:name=NAME, v4l2:serial=NUMBER, file:/PATH, image:/PATH, screen, "
            + "rtsp://HOST/PATH, rtp:/PATH, or another capture as NAME or NAME:ARGUMENT"
    ) { text in
        if text == "test" { return .test }
        if text.hasPrefix("v4l2:") {
            let device = String(text.dropFirst(5))
            let isSelector = ["name=", "serial="].contains { device.hasPrefix($0) && device != $0 }
            if isSelector { return CaptureText.isArgument(device) ? .v4l2(device) : nil }
            return ValueType<String>.absolutePath(device).map { .v4l2($0) }
        }
        if text.hasPrefix("file:") {
            return ValueType<String>.absolutePath(String(text.dropFirst(5))).map { .file($0) }
        }
        return CaptureText.isCapture(text) ? .pipeline(text) : nil
    }
}

extension ValueType where Value == SendConfiguration.AudioSource {
    /// Where sound comes from.
    fileprivate static let audioSource = ValueType(
        accepted:
            "test, alsa:DEVICE, file:/PATH, rtsp://HOST/PATH, rtp:/PATH, or another capture as NAME or NAME:ARGUMENT"
    ) { text in
        if text == "test" { return .test }
        if text.hasPrefix("file:") {
            return ValueType<String>.absolutePath(String(text.dropFirst(5))).map { .file($0) }
        }
        guard text.hasPrefix("alsa:") else { return CaptureText.isCapture(text) ? .pipeline(text) : nil }
        let device = text.dropFirst(5)
        guard (1...128).contains(device.utf8.count),
            device.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return .alsa(String(device))
    }
}

/// How the captures of `Pipelines/` are written.
private enum CaptureText {
    /// Whether a text is `NAME` or `NAME:ARGUMENT`; what files are named by their paths has absolute ones.
    static func isCapture(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, PipelineFile.isName(String(name)), name != "none" else { return false }
        guard parts.count > 1 else { return !["file", "image", "rtp", "rtsp", "v4l2"].contains(name) }
        let argument = String(parts[1])
        if name == "image" || name == "rtp" { return ValueType<String>.absolutePath(argument) == argument }
        return Self.isArgument(argument)
    }

    static func isArgument(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

extension ValueType where Value == String {
    /// The value of a parameter of a pipeline file, which says itself what it takes.
    static let parameterValue = ValueType(accepted: "a text, a number, true or false") {
        scalar throws(WrongValue) in
        guard scalar.text.utf8.count <= PipelineParameter.maximumLength, !scalar.text.utf8.contains(0) else {
            throw WrongValue()
        }
        return scalar.text
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
        for (entry, path) in reader.named(SendKeys.parameter.name) {
            send.parameters[entry.key] = reader.single(entry.value, SendKeys.parameter, path: path)
        }
        send.open = reader.value(SendKeys.open) ?? send.open
        send.preferredCodec = reader.value(SendKeys.preferredCodec) ?? send.preferredCodec
        if let size = reader.value(SendKeys.size) { (send.width, send.height) = (size.width, size.height) }
        send.framesPerSecond = reader.value(SendKeys.framesPerSecond) ?? send.framesPerSecond
        send.bitsPerSecond = reader.value(SendKeys.bitrate) ?? send.bitsPerSecond
        let minimum = reader.value(SendKeys.minimumBitrate)
        send.minimumBitsPerSecond = minimum ?? min(send.minimumBitsPerSecond, send.bitsPerSecond)
        if let minimum, minimum > send.bitsPerSecond {
            reader.add(
                SendKeys.minimumBitrate.name,
                "\(BitRateText.text(minimum)) is more than bitrate, \(BitRateText.text(send.bitsPerSecond))",
                accepted: "at most bitrate; as much as bitrate fixes the rate"
            )
        }
        send.audioBitsPerSecond = reader.value(SendKeys.audioBitrate) ?? send.audioBitsPerSecond
        send.usesAudioFEC = reader.value(SendKeys.audioFEC) ?? send.usesAudioFEC
        send.usesAudioDTX = reader.value(SendKeys.audioDTX) ?? send.usesAudioDTX
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
