// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Matroska
internal import SDP

@testable internal import Signalling

extension FuzzTarget {
    /// All targets: one line for each parser, one line in `RoomTarget.all` for each protocol.
    static let all: [FuzzTarget] = parsers + RoomTarget.all.map(\.target)

    private static let parsers = [
        FuzzTarget("sdp", text: DescriptionTarget.run),
        FuzzTarget("candidate", text: readCandidate),
        FuzzTarget("json", text: readJSON),
        FuzzTarget("urls", text: readURLs),
        FuzzTarget("engineio", bytes: EngineIOTarget.run),
        FuzzTarget("socketio", text: SocketIOTarget.run),
        FuzzTarget("lan-framing", bytes: cutIntoMessages),
        FuzzTarget("link-header", text: readLinks),
        FuzzTarget("trace", text: replayTrace),
        FuzzTarget("matroska", bytes: readMatroska),
        FuzzTarget("journal", bytes: JournalTarget.run),
        FuzzTarget("data-channels", bytes: DataChannelTarget.run),
    ]

    @Sendable private static func readCandidate(_ text: String) {
        if let candidate = CandidateLine(text) {
            require(CandidateLine(candidate.description) == candidate, "a candidate changes when it is read again")
        }
    }

    /// Any JSON, and whatever it may mean to a reader of peers' messages.
    @Sendable private static func readJSON(_ text: String) {
        guard let value = try? JSONValue(parsing: text) else { return }
        let written = value.text
        require(written.utf8.allSatisfy { $0 < 0x80 }, "JSON text that is not ASCII")
        require((try? JSONValue(parsing: written)) != nil || written.utf8.count > JSONValue.maximumBytes, "unreadable")
        _ = ICEServer(value)
        guard let message = try? PeerMessage(value), case .candidate(let candidate) = message else { return }
        let again = try? PeerMessage.candidate(.object(PeerMessage.members(of: candidate)))
        guard case .candidate(let read)? = again else { fatalError("our own candidate is not read") }
        require(read.line == candidate.line, "a candidate's line changes on the way")
    }

    /// Room URLs of people; URLs and references of servers.
    @Sendable private static func readURLs(_ text: String) {
        if let room = try? RoomURL(parsing: text) {
            require((try? RoomURL(parsing: room.description)) == room, "a room URL changes when it is read again")
        }
        if let url = WebURL(parsing: text) {
            require(WebURL(parsing: url.description) == url, "a URL changes when it is read again")
        }
        let base = WebURL(isSecure: true, host: "rtc.example.org", target: "/a/b?c")
        if let resolved = base.resolving(text) {
            require(resolved.target.hasPrefix("/"), "a target without a slash")
            require(!resolved.target.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a target that breaks its line")
        }
    }

    /// Bytes of a stream, cut at every place that the first byte says.
    @Sendable private static func cutIntoMessages(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        var (whole, pieces) = (LANFraming(), LANFraming())
        let all = whole.append(Array(bytes.dropFirst()))
        var found: [[UInt8]] = []
        var rest = bytes.dropFirst()
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int(first) + 1))
            rest = rest.dropFirst(piece.count)
            let answer = pieces.append(piece)
            found += answer.messages
            if answer.violation != nil { return }
        }
        require(all.violation != nil || found == all.messages, "messages depend on how the stream is cut")
    }

    /// The links of a WHIP or WHEP endpoint in addition to its answer.
    @Sendable private static func readLinks(_ text: String) {
        let lines = text.split(separator: "\n").map(String.init)
        let answer = HTTPAnswer(status: 201, headers: lines.map { HTTPField("Link", $0) })
        require(LinkHeader.links(in: lines).count <= LinkHeader.maximumLinks, "too many links")
        for server in LinkHeader.iceServers(of: answer) {
            for url in server.urls { _ = try? ICEServerURL(parsing: url) }
        }
        _ = WHIPFragment(of: text).text([])
        _ = WHIPDescription.conforming(text)
        if let jid = JID(text) { require(JID(jid.description) == jid, "an address changes when it is read again") }
    }

    @Sendable private static func replayTrace(_ text: String) {
        guard let replay = try? TraceReplay(text) else { return }
        require(replay.steps.count <= text.utf8.count, "more steps than bytes")
    }

    @Sendable private static func readMatroska(_ bytes: [UInt8]) {
        let source = MemorySource(bytes)
        if var reader = try? Reader(source) {
            var blocks = 0
            while let head = try? reader.nextHead() {
                blocks += 1
                require(blocks <= bytes.count, "more blocks than bytes")
                _ = try? reader.payload(of: head)
            }
        }
        _ = try? Repair.plan(source)
    }
}
