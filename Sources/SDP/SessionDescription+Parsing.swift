// SPDX-License-Identifier: Apache-2.0

extension SessionDescription {
    /// Parses text from any source.
    ///
    /// Takes CR LF, LF or CR CR LF line ends and blank lines; drops repeated and non-numeric payload
    /// types; keeps unknown lines.
    /// - Throws: `SDPError` `.garbage` or `.tooLarge`, naming the line.
    public init(parsing text: String) throws(SDPError) {
        guard text.utf8.count <= SDPLimits.bytes else {
            throw SDPError(
                .tooLarge,
                "description has \(text.utf8.count) bytes, more than the \(SDPLimits.bytes) that are read"
            )
        }
        var session: [SDPLine] = []
        var media: [MediaDescription] = []
        var number = 0
        for raw in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            guard number <= SDPLimits.lines else {
                throw SDPError(.tooLarge, "description has more than \(SDPLimits.lines) lines")
            }
            guard let line = try SDPLine(bytes: raw, number: number, isFirst: session.isEmpty) else { continue }
            if line.type == "m" {
                guard media.count < SDPLimits.mediaLines else {
                    throw SDPError(
                        .tooLarge,
                        "line \(number): more than \(SDPLimits.mediaLines) m-lines"
                    )
                }
                media.append(try MediaDescription(mLine: line.value, number: number))
            } else if media.isEmpty {
                session.append(line)
            } else {
                guard media[media.count - 1].lines.count < SDPLimits.linesPerMediaLine else {
                    throw SDPError(
                        .tooLarge,
                        "line \(number): more than \(SDPLimits.linesPerMediaLine) lines below an m-line"
                    )
                }
                media[media.count - 1].lines.append(line)
            }
        }
        guard !session.isEmpty else { throw SDPError(.garbage, "description is empty") }
        self.init(lines: session, media: media)
        guard self.origin != nil else {
            throw SDPError(.garbage, "description has no o= line with user, session id and version")
        }
    }
}

extension SDPLine {
    /// Reads one line; nil if it is blank.
    fileprivate init?(bytes: Substring.UTF8View, number: Int, isFirst: Bool) throws(SDPError) {
        let line = Substring(bytes).trimmed
        if line.isEmpty { return nil }
        guard let type = line.utf8.first, (type | 0x20) >= UInt8(ascii: "a"), (type | 0x20) <= UInt8(ascii: "z"),
            line.utf8.dropFirst().first == UInt8(ascii: "=")
        else {
            throw SDPError(.garbage, "line \(number): “\(line.excerpt())” is not of the form x=value")
        }
        // One pass over the bytes: most lines have nothing to object to or to drop.
        var hasReturns = false
        for byte in line.utf8 where byte < 0x20 && byte != 0x09 {
            guard byte == 0x0D else {
                throw SDPError(.garbage, "line \(number): control characters in “\(line.excerpt())”")
            }
            hasReturns = true
        }
        if isFirst, line != "v=0" {
            throw SDPError(.garbage, "line \(number): “\(line.excerpt())” where v=0 must stand")
        }
        let value = line.utf8.dropFirst(2)
        self.init(
            Character(Unicode.Scalar(type)),
            hasReturns ? String(decoding: value.filter { $0 != 0x0D }, as: UTF8.self) : String(Substring(value))
        )
    }
}

extension MediaDescription {
    /// Reads the value of an m-line (RFC 8866 section 5.14).
    fileprivate init(mLine: String, number: Int) throws(SDPError) {
        let words = mLine.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard words.count >= 3, words[0].isToken, words[2].isToken else {
            throw SDPError(
                .garbage,
                "line \(number): m-line “\(mLine.excerpt())” needs media, port, protocol and formats"
            )
        }
        let portText = words[1].split(separator: "/", maxSplits: 1).first ?? ""
        guard let port = UInt16(portText) else {
            throw SDPError(.garbage, "line \(number): “\(String(words[1]).excerpt())” is no port from 0 to 65535")
        }
        guard words.count - 3 <= SDPLimits.formatsPerMediaLine else {
            throw SDPError(
                .tooLarge,
                "line \(number): more than \(SDPLimits.formatsPerMediaLine) formats on an m-line"
            )
        }
        let isRTP = words[2].isRTPProtocol
        var formats: [String] = []
        var seen: Set<Substring> = []
        for word in words.dropFirst(3) where seen.insert(word).inserted {
            if isRTP {
                guard let payloadType = UInt8(word), payloadType < 128, String(payloadType) == word else { continue }
            } else if !word.isToken {
                continue
            }
            formats.append(String(word))
        }
        self.init(
            media: String(words[0]),
            port: port,
            protocolName: String(words[2]),
            formats: formats,
            lines: []
        )
    }
}
