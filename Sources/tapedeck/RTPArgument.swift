// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import GStreamer
import Media
import Model

/// An RTP output on the command line: `HOST:PORT`, then options behind commas.
struct RTPArgument: ExpressibleByArgument, Sendable {
    static let help = ArgumentHelp(
        "Send tracks on as RTP: HOST:PORT for video, audio two ports higher; may be given several times.",
        discussion: """
            Behind commas: sdp=FILE (writes the session description), audio=PORT or audio=none, video=none, \
            participants=N (four ports further for each, and {place} in FILE), participant=NAME, ttl=N, \
            interface=NAME, source=PORT (our own first port), pt=N and audio-pt=N (payload types), srtp=yes (encrypted, with keys in FILE). \
            Example: --rtp 127.0.0.1:5004,sdp=call.sdp
            """,
        valueName: "host:port,…"
    )

    var output: OutputSpec

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        guard let target = parts.first, let colon = target.lastIndex(of: ":"),
            let port = UInt16(target[target.index(after: colon)...]), port > 0
        else { return nil }
        var host = target[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        var output = OutputSpec(host: host.lowercased())
        output.videoPort = port
        output.audioPort = port < 65_533 ? port + 2 : nil
        for part in parts.dropFirst() {
            guard let equals = part.firstIndex(of: "=") else { return nil }
            let value = String(part[part.index(after: equals)...])
            guard !value.isEmpty, output.take(part[..<equals], value, port) else { return nil }
        }
        guard output.problems.isEmpty else { return nil }
        self.output = output
    }

    /// Checks what the outputs together ask for.
    static func outputs(_ arguments: [RTPArgument]) throws -> [OutputSpec] {
        guard arguments.count <= OutputSpec.maximumCount else {
            throw ValidationError("--rtp may be given \(OutputSpec.maximumCount) times")
        }
        let files = arguments.compactMap(\.output.sdpFile)
        guard Set(files).count == files.count else { throw ValidationError("two --rtp write the same file") }
        return arguments.map(\.output)
    }
}

extension OutputSpec {
    /// Takes an option; false if there is none of that name, or it does not take the value.
    fileprivate mutating func take(_ name: Substring, _ value: String, _ port: UInt16) -> Bool {
        switch name {
        case "sdp" where value.hasSuffix(".sdp"): self.sdpFile = value
        case "audio" where value == "none": self.audioPort = nil
        case "audio": return Self.set(&self.audioPort, value)
        case "video" where value == "none": (self.videoPort, self.audioPort) = (nil, port)
        case "participants": return Int(value).map { self.participants = $0 } != nil
        case "participant": self.participant = value
        case "ttl": return Self.set(&self.timeToLive, value)
        case "interface": self.interface = value
        case "source": return Self.set(&self.sourcePort, value)
        case "pt": return Self.set(&self.videoPayloadType, value)
        case "srtp" where value == "yes": self.isEncrypted = true
        case "audio-pt": return Self.set(&self.audioPayloadType, value)
        default: return false
        }
        return true
    }

    private static func set<Number: FixedWidthInteger>(_ number: inout Number?, _ text: String) -> Bool {
        number = Number(text)
        return number != nil
    }
}

/// What an output did, for scripts.
struct OutputResult: Encodable {
    var name: String
    var state: String
    var reason: String?
    var packets: UInt64
    var bytes: UInt64
    var droppedPackets: UInt64

    init(_ status: RTPOutputStatus) {
        self.name = status.name
        self.state = status.state.rawValue
        self.reason = status.reason
        self.packets = status.total.packets
        self.bytes = status.total.bytes
        self.droppedPackets = status.total.droppedPackets
    }
}
