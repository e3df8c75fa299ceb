// SPDX-License-Identifier: Apache-2.0

internal import Session

@testable internal import Signalling

/// An input of a room target: what the network, the clock and the session do, one step after the other.
///
/// Steps are divided by a line break and `~`; the first letter of a step says what it is:
///
/// - `t`, `b`: a text or binary WebSocket message. `o`: the WebSocket is open. `c`: it is closed. `x`: it is refused.
/// - `a`: an answer to the newest request: status, header lines, an empty line, body. `A`: to the one before it. `f`: the
///   newest request failed.
/// - `l`, `s`, `r`, `d`: the stream listens, is connected, gets bytes, is disconnected.
/// - `j`: the XMPP stream is open. `M`, `P`: a message or presence comes: sender, line break, body or type. `J`: it is
///   closed.
/// - `w`: the first running timer fires, or the one that the next byte chooses.
/// - `e`: something happens to the first call: `c` connected, `f` ICE fails, `x` closed.
/// - `m`: the session offers to the peer named behind it. `k`: it sends a candidate. `p`: it resets the call.
/// - `y`, `q`: the session yields, or leaves.
///
/// Anything else is a text message, and bytes of the stream.
struct RoomScript {
    let steps: [Step]

    /// Reads at most 256 steps.
    init(_ bytes: ArraySlice<UInt8>) {
        var steps: [Step] = []
        var rest = bytes
        while steps.count < 256, !rest.isEmpty {
            let mark = rest.indices.first {
                rest[$0] == UInt8(ascii: "\n") && rest.indices.contains($0 + 1) && rest[$0 + 1] == UInt8(ascii: "~")
            }
            steps.append(Step(rest[..<(mark ?? rest.endIndex)]))
            rest = mark.map { rest[($0 + 2)...] } ?? []
        }
        self.steps = steps
    }

    /// One step.
    struct Step {
        let kind: Character
        let bytes: [UInt8]

        init(_ bytes: ArraySlice<UInt8>) {
            let kind = bytes.first.map { Character(UnicodeScalar($0)) } ?? "t"
            self.kind = kind
            self.bytes = Array("tboxcaAflsrdjMPJwemkpyq".contains(kind) ? bytes.dropFirst() : bytes)
        }

        /// The bytes as text.
        var text: String { String(decoding: self.bytes, as: UTF8.self) }

        /// Does it.
        func play<Machine>(on bench: inout CallBench<Machine>) {
            switch self.kind {
            case "o": bench.feed(.webSocket(.opened))
            case "t": bench.feed(.webSocket(.received(.text(self.text))))
            case "b": bench.feed(.webSocket(.received(.binary(self.bytes))))
            case "c": bench.feed(.webSocket(.closed(nil)))
            case "x": bench.feed(.webSocket(.refused(status: 403, body: self.bytes)))
            case "a": self.answer(0, on: &bench)
            case "A": self.answer(1, on: &bench)
            case "f": if let id = Self.request(0, of: bench) { bench.feed(.requestFailed(id, Self.failure)) }
            case "l": bench.feed(.stream(.listening))
            case "s": bench.feed(.stream(.connected(peer: "192.0.2.7:50000")))
            case "r": bench.feed(.stream(.received(self.bytes)))
            case "d": bench.feed(.stream(.disconnected(nil)))
            case "j": if let ours = JID("tape@example.org/tapedeck") { bench.feed(.xmpp(.opened(ours))) }
            case "M": bench.feed(.xmpp(.received(self.stanza(.message))))
            case "P": bench.feed(.xmpp(.received(self.stanza(.presence))))
            case "J": bench.feed(.xmpp(.closed(nil)))
            case "w": self.fireTimer(of: &bench)
            case "e": self.connection(on: &bench)
            case "m":
                bench.feed(.command(.offer(to: PeerID(self.text), sdp: CallBench<Machine>.ourDescription(9))))
            case "k": bench.feed(.command(.candidate(to: PeerID(self.text), Self.candidate)))
            case "p": bench.feed(.command(.resetCall(PeerID(self.text))))
            case "y": bench.feed(.command(.yield))
            case "q": bench.feed(.command(.leave))
            default:
                bench.feed(.webSocket(.received(.text(self.text))))
                bench.feed(.stream(.received(self.bytes)))
            }
        }

        private static let failure = SignallingError(.unreachable, "the server does not answer", blame: .network)
        private static let candidate = ICECandidate(
            line: "candidate:1 1 udp 2122260223 192.0.2.31 51000 typ host",
            mLineIndex: 0,
            mid: "0"
        )

        /// A request, counted from the newest.
        private static func request<Machine>(_ age: Int, of bench: CallBench<Machine>) -> HTTPRequest.ID? {
            let requests = bench.sent.reversed().lazy.compactMap { action -> HTTPRequest.ID? in
                if case .request(let request) = action { request.id } else { nil }
            }
            return requests.dropFirst(age).first
        }

        private func answer<Machine>(_ age: Int, on bench: inout CallBench<Machine>) {
            guard let request = Self.request(age, of: bench) else { return }
            let parts = self.text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
            let lines = parts.first?.split(separator: "\n") ?? []
            let status = lines.first.flatMap { Int($0) }.map { min(max($0, 100), 599) } ?? 200
            let headers = lines.dropFirst().map { line in
                let field = line.split(separator: ":", maxSplits: 1)
                return HTTPField(String(field.first ?? ""), field.count > 1 ? String(field[1].drop { $0 == " " }) : "")
            }
            let body = parts.count > 1 ? Array(parts[1].utf8) : []
            bench.feed(.answered(request, HTTPAnswer(status: status, headers: headers, body: body)))
        }

        private func stanza(_ kind: XMPPStanza.Kind) -> XMPPStanza {
            let parts = self.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(
                String.init
            )
            let rest = parts.count > 1 ? parts[1] : nil
            return XMPPStanza(
                kind,
                type: kind == .message ? "chat" : rest.flatMap { $0.isEmpty ? nil : $0 },
                from: parts.first.flatMap { JID($0) },
                body: kind == .message ? rest : nil
            )
        }

        private func fireTimer<Machine>(of bench: inout CallBench<Machine>) {
            let timers = bench.timers.sorted { $0.rawValue < $1.rawValue }
            guard !timers.isEmpty else { return }
            bench.feed(.timerFired(timers[Int(self.bytes.first ?? 0) % timers.count]))
        }

        private func connection<Machine>(on bench: inout CallBench<Machine>) {
            guard let id = bench.connections.min(by: { $0.key.rawValue < $1.key.rawValue })?.value else { return }
            switch self.bytes.first {
            case UInt8(ascii: "c"): bench.feed(session: .connection(id, .connected))
            case UInt8(ascii: "f"): bench.feed(session: .connection(id, .iceFailed))
            default: bench.feed(session: .connection(id, .closed))
            }
        }
    }
}
