// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The JSON objects that bare TCP peers exchange.
enum LANMessage {
    /// Why a message was not taken; the raw value is a constant sentence.
    enum ReadingError: String, Error, Sendable, Hashable {
        case notText = "a message is not UTF-8"
        case notJSON = "a message is not JSON"
        case unknown = "a message of an unknown kind"
        case unreadable = "a description or candidate that cannot be read"
    }

    /// Reads one message without its bar, tolerantly: any kind of value, and `type` in place of `event`.
    ///
    /// A description comes with the name of its sender, if it has one.
    static func read(_ bytes: [UInt8]) throws(ReadingError) -> (content: PeerMessage, name: String?) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notText }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: text)
        } catch {
            throw .notJSON
        }
        do throws(PeerMessage.ReadingError) {
            switch value["event"]?.string?.lowercased() {
            case "offer": return (.offer(sdp: try PeerMessage.description(value)), PeerMessage.name(value))
            case "answer": return (.answer(sdp: try PeerMessage.description(value)), PeerMessage.name(value))
            case "candidate": return (try PeerMessage.candidate(value), nil)
            case nil where value["type"] != nil: return (try PeerMessage(value), PeerMessage.name(value))
            default: throw .unknownType("")
            }
        } catch {
            switch error {
            case .notAnObject, .unknownType: throw .unknown
            case .missingDescription, .invalidCandidate: throw .unreadable
            }
        }
    }

    /// Writes one message with its bar.
    ///
    /// Every value is a string, because the known reader ignores an object with any other. The text is pure ASCII
    /// without a bar inside, because that reader drops each packet that is not valid UTF-8 alone and cuts at every bar.
    static func write(event: String, sdp: String, candidate: ICECandidate? = nil, name: String? = nil) -> [UInt8] {
        var members: [String: JSONValue] = ["event": .string(event), "sdp": .string(sdp)]
        members["name"] = name.map { .string($0) }
        if let candidate {
            let index = String(candidate.mLineIndex ?? 0)
            members["label"] = .string(index)
            members["id"] = .string(candidate.mid ?? index)
        }
        var bytes: [UInt8] = []
        for byte in JSONValue.object(members).text.utf8 {
            // Outside of strings JSON has no bar.
            if byte == UInt8(ascii: "|") { bytes += Array(#"\u007c"#.utf8) } else { bytes.append(byte) }
        }
        bytes.append(UInt8(ascii: "|"))
        return bytes
    }
}
