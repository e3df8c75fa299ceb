// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Model
internal import PipelineCatalogue

/// The keys of a room's `send`.
enum SendKeys {
    static let capture = Key("capture", ValueType<MediaSource>.videoSource.or("none"))
    static let audio = Key("audio", ValueType<MediaSource>.audioSource.or("none"))
    static let parameter = Key("parameters", .parameterValue)
    static let open = Key("open", ValueType<Opening>.choice)
    static let preferredCodec = Key("preferred_codec", ValueType<PreferredCodec>.choice)
    static let size = Key("size", ValueType<VideoSize>.pictureSize)
    static let framesPerSecond = Key("fps", .integer(SendSpec.framesPerSecondRange))
    static let bitrate = Key("bitrate", .bitRate(SendSpec.bitsPerSecondRange))
    static let minimumBitrate = Key("min_bitrate", .bitRate(SendSpec.bitsPerSecondRange))
    static let audioBitrate = Key("audio_bitrate", .bitRate(SendSpec.audioBitsPerSecondRange))
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

    /// When devices are open.
    enum Opening: String, Sendable, Hashable, CaseIterable {
        /// While a participant receives their media.
        case needed
        /// As long as we are in the room.
        case always
    }
}

extension ValueType where Value == VideoSize {
    /// The size of a video.
    fileprivate static let pictureSize = ValueType(
        accepted: "WIDTHxHEIGHT, even numbers from 320x180 to 7680x4320, such as 1280x720",
        text: { VideoSize($0).flatMap { $0.isSendable ? $0 : nil } }
    )
}

extension ValueType where Value == MediaSource {
    /// Where video comes from.
    fileprivate static let videoSource = ValueType(
        accepted: "test, v4l2:/dev/DEVICE, v4l2:name=NAME, v4l2:serial=NUMBER, file:/PATH, image:/PATH, screen, "
            + "rtsp://HOST/PATH, rtp:/PATH, or another capture as NAME or NAME:ARGUMENT",
        text: { MediaSource(configured: $0) }
    )

    /// Where audio comes from.
    fileprivate static let audioSource = ValueType(
        accepted:
            "test, alsa:DEVICE, file:/PATH, rtsp://HOST/PATH, rtp:/PATH, or another capture as NAME or NAME:ARGUMENT",
        text: { MediaSource(configured: $0) }
    )
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

extension SendSpec {
    /// Reads `send` of a room: nil for `none` or if there is none.
    static func read(_ room: MappingReader) -> SendSpec? {
        guard let node = room.node("send"), !node.isWord("none") else { return nil }
        let accepted = "none, or a mapping with \(SendKeys.table.names.joined(separator: ", "))"
        let reader = MappingReader(
            node,
            SendKeys.table,
            path: room.path(of: "send"),
            problems: room.problems,
            accepted: accepted
        )
        return reader.map { SendSpec($0) }
    }

    private init(_ reader: MappingReader) {
        self.init(video: .test, audio: nil)
        self.video = reader.value(SendKeys.capture) ?? self.video
        self.audio = reader.value(SendKeys.audio) ?? self.audio
        for (entry, path) in reader.named(SendKeys.parameter.name) {
            self.parameters[entry.key] = reader.single(entry.value, SendKeys.parameter, path: path)
        }
        self.keepsOpen = reader.value(SendKeys.open) == .always
        self.preferredCodec = reader.value(SendKeys.preferredCodec) ?? self.preferredCodec
        if let size = reader.value(SendKeys.size) { (self.width, self.height) = (size.width, size.height) }
        self.framesPerSecond = reader.value(SendKeys.framesPerSecond) ?? self.framesPerSecond
        self.bitsPerSecond = reader.value(SendKeys.bitrate) ?? self.bitsPerSecond
        let minimum = reader.value(SendKeys.minimumBitrate)
        self.minimumBitsPerSecond = minimum ?? min(self.minimumBitsPerSecond, self.bitsPerSecond)
        self.audioBitsPerSecond = reader.value(SendKeys.audioBitrate) ?? self.audioBitsPerSecond
        self.usesAudioFEC = reader.value(SendKeys.audioFEC) ?? self.usesAudioFEC
        self.usesAudioDTX = reader.value(SendKeys.audioDTX) ?? self.usesAudioDTX
        for problem in self.problems {
            switch problem {
            case .minimum(let minimum):
                reader.add(
                    SendKeys.minimumBitrate.name,
                    "\(BitRateText.text(minimum)) is more than bitrate, \(BitRateText.text(self.bitsPerSecond))",
                    accepted: "at most bitrate; as much as bitrate fixes the rate"
                )
            case .nothing:
                reader.add(
                    SendKeys.capture.name,
                    "without capture and audio there is nothing to send",
                    accepted: "send: none"
                )
            case .size, .range:
                // Those of the keys, which were reported already.
                break
            }
        }
    }
}
