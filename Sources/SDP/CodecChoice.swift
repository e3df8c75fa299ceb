// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension NegotiationPolicy {
    /// The one codec that we answer an m-line with; nil if it has none that we take.
    ///
    /// First in our order, or the peer's if the policy says so. Where we also send, what can be both received and sent
    /// goes before what can only be received: no H.264 in packetisation mode 0. Within H.264: constrained baseline with
    /// mode 1, then mode 0, then other profiles; profiles are compared, levels are not.
    ///
    /// Formats whose payload type means something else in `meanings` are passed over.
    func choose(
        kind: MediaKind,
        from media: MediaDescription,
        sends: Bool,
        beside meanings: [UInt8: String]
    ) -> NegotiatedCodec? {
        let formats = media.rtpFormats.filter { format in
            // With RTCP on the same port these are RTCP (RFC 5761 section 4).
            guard !(64...95).contains(format.payloadType) else { return false }
            return format.meaning.map { meanings[format.payloadType, default: $0] == $0 } ?? false
        }
        let received = self.received(kind)
        let sent = sends ? self.sent(kind) : []
        var order = received.isEmpty ? sent : received
        if self.honoursOfferOrder {
            let offered = formats.compactMap(\.codec)
            order = order.filter(offered.contains).sorted {
                (offered.firstIndex(of: $0) ?? 0) < (offered.firstIndex(of: $1) ?? 0)
            }
        }
        let sendable = formats.filter { format in
            guard let codec = format.codec, sent.contains(codec) else { return false }
            return self.canSend(codec, packetizationMode: format.packetizationMode)
        }
        for candidates in [sendable, formats] {
            for codec in order {
                let ranked = candidates.filter { $0.codec == codec }.compactMap { format in
                    format.rank.map { (rank: $0, format: format) }
                }
                guard let best = ranked.map(\.rank).min(),
                    let format = ranked.first(where: { $0.rank == best })?.format
                else { continue }
                return self.settle(format, of: media, among: formats)
            }
        }
        return nil
    }

    /// The codec with everything that goes with it, as far as both sides have it.
    private func settle(_ format: RTPFormat, of media: MediaDescription, among formats: [RTPFormat]) -> NegotiatedCodec?
    {
        guard let codec = format.codec else { return nil }
        let isVideo = codec.kind == .video
        let usesNACK = isVideo && format.feedback.contains("nack")
        let rtx = formats.first {
            $0.isRTX && $0.associatedPayloadType == format.payloadType && $0.clockRate == codec.clockRateHz
        }
        return NegotiatedCodec(
            codec: codec,
            payloadType: format.payloadType,
            channels: format.channels,
            parameters: format.parameters,
            packetizationMode: format.packetizationMode,
            rtxPayloadType: self.usesRTX && usesNACK ? rtx?.payloadType : nil,
            transportCCID: self.usesTransportCC && format.feedback.contains("transport-cc")
                ? media.extensionID(of: transportCCURI) : nil,
            audioLevelID: self.audioLevelID(of: media),
            orientationID: self.orientationID(of: media),
            usesNACK: usesNACK,
            usesPLI: isVideo && format.feedback.contains("nack pli"),
            usesFIR: isVideo && format.feedback.contains("ccm fir")
        )
    }

    /// The header extension for the audio level in a peer's m-line; nil if it has none, or the levels are not wanted.
    func audioLevelID(of media: MediaDescription) -> UInt8? {
        guard media.kind == .audio, !self.receivedAudio.isEmpty else { return nil }
        return media.extensionID(of: audioLevelURI)
    }

    /// The header extension in which a peer's m-line says how its video is turned; nil if it does not, or if no video is received.
    func orientationID(of media: MediaDescription) -> UInt8? {
        media.kind == .video && !self.receivedVideo.isEmpty ? media.extensionID(of: orientationURI) : nil
    }

    /// The id of the orientation extension in an m-line of our own offers.
    func offeredOrientationID(_ kind: MediaKind) -> UInt8? {
        kind == .video && self.offersOrientation && !self.receivedVideo.isEmpty ? OfferedFormats.orientationID : nil
    }

    /// Whether we may send this: the codec can be encoded, and the peer takes what our payloaders make.
    func canSend(_ codec: NegotiatedCodec) -> Bool {
        self.canSend(codec.codec, packetizationMode: codec.packetizationMode)
    }

    private func canSend(_ codec: MediaCodec, packetizationMode: Int?) -> Bool {
        guard self.sent(codec.kind).contains(codec) else { return false }
        return codec != .h264 || packetizationMode == 1
    }
}

extension MediaDescription {
    /// The lowest id of a header extension that fits into a header of one byte (RFC 8285 section 4.2).
    fileprivate func extensionID(of uri: String) -> UInt8? {
        self.extensions(uri).first { $0.direction != .inactive }?.id
    }
}

extension RTPFormat {
    /// The meaning of the payload type, as in `OuterFormat.meaning`; nil for unknown formats.
    fileprivate var meaning: String? {
        if self.isRTX {
            return self.associatedPayloadType.map { OuterFormat.rtx(0, for: $0, clockRate: self.clockRate).meaning }
        }
        return self.codec.map {
            "\($0.encodingName)/\($0.clockRateHz)" + (self.channels > 1 ? "/\(self.channels)" : "")
        }
    }

    /// How well a variant of a codec suits us, 0 best; nil if it cannot be taken.
    fileprivate var rank: Int? {
        switch self.codec {
        case .h264:
            // Interleaved mode (2) is unknown to the depayloader.
            guard let mode = self.packetizationMode, mode < 2, let profile = self.h264Profile else { return nil }
            switch profile {
            case .constrainedBaseline: return mode == 1 ? 0 : 1
            case .baseline: return mode == 1 ? 2 : 3
            case .other: return mode == 1 ? 4 : 5
            }
        case .vp9: return self.parameter("profile-id").map { Int($0) ?? 9 } ?? 0
        // It has two channels in RTP (RFC 7587 section 7), whatever some senders write.
        case .opus: return self.channels == 2 ? 0 : self.channels == 1 ? 1 : nil
        case .vp8: return 0
        case .pcmu, .pcma: return self.channels == 1 ? 0 : nil
        case nil: return nil
        }
    }
}

/// Formats of our own offers, with payload types of our own choosing.
enum OfferedFormats {
    /// The header extension id of the transport-wide sequence number in our offers.
    static let transportCCID: UInt8 = 3
    /// Id of the audio level extension.
    static let audioLevelID: UInt8 = 4
    /// Id of the video orientation extension.
    static let orientationID: UInt8 = 5

    /// The formats of an m-line that offers these codecs in this order.
    static func formats(for codecs: [MediaCodec], policy: NegotiationPolicy) -> [OuterFormat] {
        codecs.flatMap { codec in
            self.variants(of: codec, policy).flatMap { variant -> [OuterFormat] in
                var feedback = policy.usesTransportCC ? ["transport-cc"] : []
                if codec.kind == .video { feedback += ["nack", "nack pli", "ccm fir"] }
                let channels = codec == .opus ? "/2" : ""
                let media = OuterFormat(
                    payloadType: variant.payloadType,
                    map: "\(codec.encodingName)/\(codec.clockRateHz)\(channels)",
                    parameters: variant.parameters,
                    feedback: feedback,
                    codec: codec
                )
                guard codec.kind == .video, policy.usesRTX else { return [media] }
                return [media, .rtx(variant.payloadType + 1, for: variant.payloadType, clockRate: codec.clockRateHz)]
            }
        }
    }

    private static func variants(
        of codec: MediaCodec,
        _ policy: NegotiationPolicy
    ) -> [(payloadType: UInt8, parameters: String)] {
        let usual = codec.usualPayloadType
        return switch codec {
        case .vp8, .pcmu, .pcma: [(usual, "")]
        case .vp9: [(usual, "profile-id=0")]
        case .h264:
            [
                (usual, "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
                // Behind the retransmissions of the first.
                (usual + 2, "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f"),
            ]
        case .opus: [(usual, policy.opusParameters())]
        }
    }
}
