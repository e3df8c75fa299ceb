// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Session

@testable internal import Signalling

/// The machine of one protocol with a room session above it; see `RoomScript` for what an input says.
struct RoomTarget {
    /// One line for each protocol: its name in logs, and URLs whose machines begin in different ways.
    ///
    /// The first character of an input chooses the URL.
    static let all: [RoomTarget] = [
        RoomTarget(
            "socketio",
            "socketio+http://h/123123?transport=websocket&eio=3",
            "socketio+https://h/123123?transport=polling&eio=4",
            "socketio+http://h/123123"
        ),
        RoomTarget("skyrtc", "skyrtc+ws://192.0.2.9:3000/wss?room=1", "skyrtc+wss://h/?dialect=call&room=1&create=4"),
        RoomTarget("apprtc", "apprtc+https://appr.example.org/r/123123", "apprtc+http://h/lab7?wshpp=ws.example.org"),
        RoomTarget(
            "xmpp",
            "xmpp://tape@example.org/?allow=*",
            "xmpp://tape@example.org/?peer=alice@example.org&call",
            "xmpp://tape@example.org/?peer=alice@example.org&room_server=https://appr.example.org"
        ),
        RoomTarget("lan", "lan+tcp://192.0.2.7:5556", "lan+tcp://0.0.0.0:5556?listen"),
        RoomTarget("whip", "whip+https://media.example.org/whip/cam1"),
        RoomTarget("whep", "whep+https://media.example.org/whep/cam1"),
        RoomTarget("janus", "janus+wss://h/?room=1234", "janus+http://h/?room=a%20b&ids=string&token=t&apisecret=s"),
    ]

    let name: String
    let urls: [String]

    init(_ name: String, _ urls: String...) {
        self.name = name
        self.urls = urls
    }

    /// The longest text of a machine per byte of the input: a peer cannot make us talk without end.
    private static let amplification = 64
    /// The output that a machine may have for any input: joins, leaves, our own descriptions.
    private static let allowance = 256 * 1024

    var target: FuzzTarget {
        let rooms = self.urls.map(Self.room)
        return FuzzTarget("room-\(self.name)") { bytes in
            let choice = Int(bytes.first ?? 0) % rooms.count
            Self.play(bytes.dropFirst(), in: rooms[choice])
        }
    }

    /// Ends the process if a protocol of this build has no target.
    static func checkTable() {
        let covered = Set(self.all.flatMap(\.urls).map { type(of: self.room($0)).protocolName })
        for address in RoomURL.protocols {
            require(covered.contains(address.protocolName), "RoomTarget.all has no line for \(address.protocolName)")
        }
    }

    private static func room(_ url: String) -> any RoomAddress {
        guard let room = try? RoomURL(parsing: url) else { fatalError("RoomTarget.all: \(url) is no room URL") }
        return room.address
    }

    private static func play(_ bytes: ArraySlice<UInt8>, in room: some RoomAddress) {
        let flow = type(of: room).flow
        let options = SignallingOptions(
            policy: .persistent,
            sends: flow != .fromRoom,
            receives: flow != .toRoom,
            secret: "secret",
            seed: 42
        )
        var bench = CallBench(room.makeMachine(options))
        bench.feed(.attempt(note: nil))
        Self.show("attempt", bench.sent[...])
        for step in RoomScript(bytes).steps {
            let before = bench.sent.count
            step.play(on: &bench)
            Self.show("\(step.kind) \(step.text.prefix(60))", bench.sent[before...])
            if case .finished = bench.end { break }
            bench.reconnect()
        }
        let said = bench.sent.reduce(0) { $0 + Self.weight($1) }
        require(said <= self.allowance + self.amplification * bytes.count, "a machine says \(said) bytes")
        require(bench.timers.count <= 64 + bytes.count / 4, "a machine runs \(bench.timers.count) timers")
    }

    private static let isShown = ProcessInfo.processInfo.environment["FUZZ_SHOW"] != nil

    /// Prints the machine's actions at a step, for authors of a seed.
    private static func show(_ step: @autoclosure () -> String, _ actions: ArraySlice<SignallingAction>) {
        guard self.isShown else { return }
        print(step())
        for action in actions { print("    \(action)") }
    }

    private static func weight(_ action: SignallingAction) -> Int {
        switch action {
        case .sendWebSocket(.text(let text)): text.utf8.count
        case .sendWebSocket(.binary(let bytes)), .sendStream(let bytes): bytes.count
        case .request(let request): (request.body?.count ?? 0) + request.url.target.utf8.count
        case .note(let note): note?.utf8.count ?? 0
        case .sendXMPP(let stanza): (stanza.body?.utf8.count ?? 0) + (stanza.to?.description.utf8.count ?? 0)
        case .event, .openWebSocket, .closeWebSocket, .openStream, .closeStream, .openXMPP, .closeXMPP, .startTimer,
            .cancelTimer, .attemptFailed, .finished:
            1
        }
    }
}
