// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One m-line and the lines that belong to it (RFC 8866 section 5.14).
public struct MediaDescription: Sendable, Hashable, AttributeHolder {
    /// The media word, for example `audio` or `application`.
    public var media: String
    /// The port: 9 before gathering, 0 when rejected, stopped or bundle-only.
    public var port: UInt16
    /// The transport, for example `UDP/TLS/RTP/SAVPF`.
    public var protocolName: String
    /// The formats in order of preference: payload types for RTP.
    public var formats: [String]
    /// The lines below the m-line, in order.
    public var lines: [SDPLine]

    /// An m-line with each part given.
    public init(media: String, port: UInt16, protocolName: String, formats: [String], lines: [SDPLine]) {
        self.media = media
        self.port = port
        self.protocolName = protocolName
        self.formats = formats
        self.lines = lines
    }

    /// The kind, if it is one that we take.
    public var kind: MediaKind? { MediaKind(rawValue: self.media) }
    /// Whether the formats are RTP payload types.
    public var isRTP: Bool { self.protocolName.isRTPProtocol }
    /// Whether it is RTP over DTLS-SRTP, by any of the names that RFC 8829 section 5.1.2 wants to be taken.
    var isSecureRTP: Bool { self.protocolName.uppercased().contains("RTP/SAVP") }
    /// The identification tag (RFC 5888); nil if absent, or no token.
    public var mid: String? { self.attribute("mid").flatMap { $0.isToken ? $0 : nil } }
    /// Whether RTP and RTCP share a port (RFC 5761).
    public var hasRTCPMux: Bool { self.hasAttribute("rtcp-mux") || self.hasAttribute("rtcp-mux-only") }
    /// Whether port 0 means "only in the bundle" (RFC 9143 section 6) instead of "stopped".
    public var isBundleOnly: Bool { self.hasAttribute("bundle-only") }
    /// Whether the media is keyed with SDES (RFC 4568).
    public var hasCrypto: Bool { self.hasAttribute("crypto") }
    /// Whether several layers of one camera are described (RFC 8853, RFC 8851).
    public var hasSimulcast: Bool { self.hasAttribute("simulcast") || self.hasAttribute("rid") }
    /// The port of SCTP over DTLS (RFC 8841); nil if absent.
    public var sctpPort: UInt16? { self.attribute("sctp-port").flatMap { UInt16($0) } }
    /// The candidates inside the description that parse, at most `SDPLimits.candidates`.
    public var candidates: [CandidateLine] {
        self.attributes("candidate").prefix(SDPLimits.candidates).compactMap(CandidateLine.init)
    }

    /// The first `a=msid` (RFC 8830): stream and track; the stream `-` means none.
    public var msid: (stream: String, track: String?)? {
        guard let words = self.attribute("msid")?.split(separator: " "), let stream = words.first else { return nil }
        return (String(stream), words.count > 1 ? String(words[1]) : nil)
    }

    /// The header extensions (RFC 8285) by identifier; the first of an identifier counts.
    public var headerExtensions: [UInt8: String] {
        var found: [UInt8: String] = [:]
        for value in self.attributes("extmap") {
            let words = value.split(separator: " ")
            guard words.count >= 2, let id = words[0].split(separator: "/").first.flatMap({ UInt8($0) }) else {
                continue
            }
            if found[id] == nil { found[id] = String(words[1]) }
        }
        return found
    }

    /// The numbers under which a header extension fits into a header of one byte (RFC 8285 section 4.2), lowest first, and in
    /// which direction each is described.
    func extensions(_ uri: String) -> [(id: UInt8, direction: Direction)] {
        let known = self.headerExtensions
        return self.attributes("extmap").compactMap { value in
            let words = value.split(separator: " ")
            guard words.count >= 2, words[1] == uri else { return nil }
            let parts = words[0].split(separator: "/", maxSplits: 1)
            guard let id = parts.first.flatMap({ UInt8($0) }), (1...14).contains(id), known[id] == uri else {
                return nil
            }
            let direction = parts.count > 1 ? Direction(rawValue: parts[1].lowercased()) ?? .inactive : .sendrecv
            return (id, direction)
        }.sorted { $0.id < $1.id }
    }

    /// The formats with their `rtpmap`, `fmtp` and `rtcp-fb`, in the order of the m-line.
    ///
    /// Payload types without `rtpmap` are left out, except the static ones 0 and 8 (RFC 3551 section 6). At most
    /// `SDPLimits.linesPerFormat` lines of each kind are taken.
    public var rtpFormats: [RTPFormat] {
        guard self.isRTP else { return [] }
        var maps: [String: String] = [:]
        var parameters: [String: [String]] = [:]
        var feedback: [String: [String]] = [:]
        for line in self.lines {
            guard let (name, value) = line.attribute, let value else { continue }
            let parts = value.split(maxSplits: 1, whereSeparator: \.isBlank)
            guard parts.count == 2 else { continue }
            let format = String(parts[0])
            let rest = parts[1].trimmed
            switch name {
            case "rtpmap": if maps[format] == nil { maps[format] = rest }
            case "fmtp" where parameters[format, default: []].count < SDPLimits.linesPerFormat:
                parameters[format, default: []].append(rest)
            case "rtcp-fb" where feedback[format, default: []].count < SDPLimits.linesPerFormat:
                // Names compare without case, as all words of a grammar (RFC 4585 section 4.2, RFC 5234 section 2.3).
                let words = rest.lowercased().split(whereSeparator: \.isBlank)
                feedback[format, default: []].append(words.joined(separator: " "))
            default: break
            }
        }
        return self.formats.compactMap { format in
            let payloadType = UInt8(format)
            let implied: String? = payloadType == 0 ? "PCMU/8000" : payloadType == 8 ? "PCMA/8000" : nil
            guard let payloadType, let map = maps[format] ?? implied else { return nil }
            return RTPFormat(
                payloadType: payloadType,
                map: map,
                parameters: parameters[format, default: []].joined(separator: ";"),
                feedback: (feedback[format] ?? []) + (feedback["*"] ?? [])
            )
        }
    }

    /// The sources named by `a=ssrc` (RFC 5576), in order, at most `SDPLimits.sourcesPerMediaLine`.
    public var sources: [RemoteSource] {
        var order: [UInt32] = []
        var found: [UInt32: RemoteSource] = [:]
        for value in self.attributes("ssrc") {
            let parts = value.split(separator: " ", maxSplits: 1)
            guard let ssrc = parts.first.flatMap({ UInt32($0) }) else { continue }
            if found[ssrc] == nil {
                guard order.count < SDPLimits.sourcesPerMediaLine else { continue }
                order.append(ssrc)
                found[ssrc] = RemoteSource(ssrc: ssrc)
            }
            guard parts.count == 2 else { continue }
            let attribute = parts[1].split(separator: ":", maxSplits: 1)
            guard attribute.count == 2 else { continue }
            switch attribute[0].trimmed {
            case "cname": found[ssrc]?.cname = attribute[1].trimmed
            case "msid":
                let words = attribute[1].split(separator: " ")
                found[ssrc]?.streamID = words.first.map(String.init)
                found[ssrc]?.trackID = words.count > 1 ? String(words[1]) : nil
            default: break
            }
        }
        for value in self.attributes("ssrc-group") {
            let words = value.split(separator: " ")
            guard words.count == 3, words[0] == "FID", let source = UInt32(words[1]), let repair = UInt32(words[2]),
                source != repair
            else { continue }
            found[repair]?.repairs = source
        }
        return order.compactMap { found[$0] }
    }
}

/// One synchronisation source that a description announces (RFC 5576).
public struct RemoteSource: Sendable, Hashable {
    /// The SSRC in the RTP header.
    public var ssrc: UInt32
    /// The canonical name, which audio and video of one participant share.
    public var cname: String?
    /// The media stream's id, if the source says one (Plan B).
    public var streamID: String?
    /// The track's id, if the source says one (Plan B).
    public var trackID: String?
    /// The source whose packets this one retransmits (`ssrc-group:FID`); nil for media.
    public var repairs: UInt32?

    /// A source about which only its number is known.
    public init(ssrc: UInt32) {
        self.ssrc = ssrc
    }

    /// Whether this source carries retransmissions (RFC 4588).
    public var isRTX: Bool { self.repairs != nil }
}

extension Character {
    /// Whether it separates words, as some peers write them.
    fileprivate var isBlank: Bool { self == " " || self == "\t" }
}
