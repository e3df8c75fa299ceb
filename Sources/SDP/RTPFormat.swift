// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One payload type of an m-line with what the description says about it.
public struct RTPFormat: Sendable, Hashable {
    /// The number in the RTP header, 0 to 127.
    public var payloadType: UInt8
    /// The encoding name as spelt, for example `VP8`.
    public var encodingName: String
    /// The RTP clock in Hz; 0 if malformed.
    public var clockRate: Int
    /// Audio channels; 1 if the description does not say.
    public var channels: Int
    /// The `fmtp` text; empty if there is none.
    public var parameters: String
    /// The `rtcp-fb` values that hold for it, for example `nack pli` (RFC 4585 section 4.2).
    public var feedback: [String]

    /// Reads the value of an `rtpmap`, `name/clock[/channels]`.
    init(payloadType: UInt8, map: String, parameters: String, feedback: [String]) {
        let parts = map.split(separator: "/", omittingEmptySubsequences: false)
        self.payloadType = payloadType
        self.encodingName = parts.first?.trimmed ?? ""
        self.clockRate = parts.count > 1 ? Int(parts[1].trimmed).map { (0...384_000).contains($0) ? $0 : 0 } ?? 0 : 0
        self.channels = parts.count > 2 ? Int(parts[2].trimmed).map { (1...255).contains($0) ? $0 : 1 } ?? 1 : 1
        self.parameters = parameters
        self.feedback = feedback
    }

    /// The codec, if it is one that we know, with its own clock rate.
    public var codec: MediaCodec? {
        MediaCodec(encodingName: self.encodingName).flatMap { $0.clockRateHz == self.clockRate ? $0 : nil }
    }

    /// Whether this is a retransmission format (RFC 4588).
    public var isRTX: Bool { self.encodingName.lowercased() == "rtx" }

    /// The value of one `fmtp` parameter; names compare without case.
    public func parameter(_ name: String) -> String? {
        for item in self.parameters.split(separator: ";") {
            let pair = item.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0].trimmed.lowercased() == name.lowercased() { return pair[1].trimmed }
        }
        return nil
    }

    /// The payload type that an RTX format repairs.
    public var associatedPayloadType: UInt8? { self.parameter("apt").flatMap { UInt8($0) } }

    /// H.264's packetisation mode, 0 if not said (RFC 6184 section 8.1); nil for other codecs and odd values.
    public var packetizationMode: Int? {
        guard self.codec == .h264 else { return nil }
        guard let text = self.parameter("packetization-mode") else { return 0 }
        return Int(text).flatMap { (0...2).contains($0) ? $0 : nil }
    }

    /// H.264's profile; nil for other codecs and malformed values.
    public var h264Profile: H264Profile? {
        guard self.codec == .h264 else { return nil }
        return H264Profile(levelID: self.parameter("profile-level-id") ?? "42000A")
    }
}

/// The profile part of H.264's `profile-level-id` (RFC 6184 section 8.1), levels left aside.
public enum H264Profile: Sendable, Hashable {
    /// Baseline with the constraints that browsers mean.
    case constrainedBaseline
    /// Baseline.
    case baseline
    /// Main, High and the rest.
    case other

    /// Reads six hexadecimal digits; nil if they are none.
    init?(levelID: String) {
        guard let bytes = Hexadecimal.bytes(of: levelID), bytes.count == 3 else { return nil }
        switch (bytes[0], bytes[1] & 0xC0) {
        case (0x42, 0x40), (0x42, 0xC0), (0x4D, 0x80), (0x4D, 0xC0), (0x58, 0xC0): self = .constrainedBaseline
        case (0x42, _), (0x58, 0x80): self = .baseline
        default: self = .other
        }
    }
}
