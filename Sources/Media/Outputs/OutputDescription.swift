// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import FoundationEssentials
internal import Matroska

/// The session description of one participant's streams (RFC 8866), for their receivers.
struct OutputDescription: Sendable, Hashable {
    /// One stream.
    struct Line: Sendable, Hashable {
        var port: UInt16
        var payloadType: UInt8
        var format: OutputFormat
        var ssrc: UInt32
        /// Key and salt of SRTP; nil if packets are not encrypted.
        var key: [UInt8]?
    }

    /// How every description of ours begins.
    static let beginning = "v=0\r\no=tapedeck "

    var sessionID: UInt64
    /// Rises with each change.
    var version: Int
    /// Where the streams go: an address.
    var address: String
    var timeToLive: Int
    /// One line; what does not fit is cut and replaced.
    var title: String
    var canonicalName: String
    var lines: [Line]

    /// The description, with CR LF at the end of each line.
    ///
    /// - Parameter withKeys: whether keys of SRTP are in it (RFC 4568), which are secrets.
    func text(withKeys: Bool) -> String {
        let family = self.address.contains(":") ? "IP6" : "IP4"
        // The scope of a group of IPv6 is in its address; that of IPv4 is its time to live.
        let scope = family == "IP4" && IPAddress(self.address)?.isMulticast ?? false ? "/\(self.timeToLive)" : ""
        var text = [
            "v=0", "o=tapedeck \(self.sessionID) \(self.version) IN \(family) \(self.address)",
            "s=\(Self.line(self.title))", "c=IN \(family) \(self.address)\(scope)", "t=0 0",
        ]
        for line in self.lines {
            text += self.media(line)
            if withKeys, let key = line.key {
                text.append("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(Data(key).base64EncodedString())")
            }
        }
        return text.map { $0 + "\r\n" }.joined()
    }

    private func media(_ line: Line) -> [String] {
        let type = line.payloadType
        let format = line.format
        var text = [
            "m=\(format.codec.kind.rawValue) \(line.port) RTP/\(line.key == nil ? "AVP" : "SAVP") \(type)",
            "a=rtpmap:\(type) \(Self.map(format))",
        ]
        switch format.codec {
        case .h264:
            let profile = format.profileLevelID.flatMap(Self.profile).map { ";profile-level-id=\($0)" } ?? ""
            let sets = format.statedSets.map { ";sprop-parameter-sets=\($0)" } ?? ""
            text.append("a=fmtp:\(type) packetization-mode=1\(profile)\(sets)")
        case .opus:
            text.append("a=fmtp:\(type) useinbandfec=1")
        case .vp8, .vp9, .pcmu, .pcma:
            break
        }
        if format.codec.kind == .video {
            text += ["a=rtcp-fb:\(type) nack pli", "a=rtcp-fb:\(type) ccm fir"]
        }
        text.append("a=ssrc:\(line.ssrc) cname:\(self.canonicalName)")
        return text
    }

    private static func map(_ format: OutputFormat) -> String {
        // RFC 7587 section 7: always two channels.
        let channels = format.codec == .opus ? "/2" : ""
        return "\(format.codec.encodingName)/\(format.clockRateHz)\(channels)"
    }

    /// Six hexadecimal digits; it comes from the peer.
    private static func profile(_ text: String) -> String? {
        text.utf8.count == 6 && Hexadecimal.bytes(of: text) != nil ? text : nil
    }

    private static func line(_ text: String) -> String {
        let line = String(text.unicodeScalars.prefix(200).map { $0.properties.generalCategory == .control ? " " : $0 })
        return line.isEmpty ? "-" : line
    }
}

extension String {
    fileprivate init(_ scalars: [Unicode.Scalar]) {
        self.init(String.UnicodeScalarView(scalars))
    }
}
