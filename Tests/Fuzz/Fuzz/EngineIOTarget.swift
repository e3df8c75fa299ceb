// SPDX-License-Identifier: Apache-2.0

@testable internal import Signalling

/// Engine.IO payloads, packets and frames; alone, and as what an open session gets.
enum EngineIOTarget {
    @Sendable static func run(_ bytes: [UInt8]) {
        guard let choice = bytes.first else { return }
        let body = Array(bytes.dropFirst())
        let version: EngineIOVersion = choice & 1 == 0 ? .three : .four
        if let packets = try? EngineIOPayload.decode(body, version: version) {
            require(packets.count <= body.count + 1, "more packets than bytes")
        }
        if let text = String(validating: body, as: UTF8.self) {
            if let packet = try? EngineIOPacket(text: text[...], version: version) {
                let again = try? EngineIOPacket(text: packet.encodedText(version: version)[...], version: version)
                require(again == packet, "a packet changes when it is read again")
            }
            _ = try? EngineIOOpenPacket(text: text)
        }
        _ = try? WebSocketMessage.binary(body).packet(version: version)
        self.drive(
            body,
            version: version,
            transport: choice & 2 == 0 ? .polling : .webSocket,
            upgrades: choice & 4 == 0
        )
    }

    /// Plays the pieces between bytes 0xFF as answers to polls or as frames of one session.
    private static func drive(
        _ bytes: [UInt8],
        version: EngineIOVersion,
        transport: EngineIOSessionStateMachine.Transport,
        upgrades: Bool
    ) {
        var machine = EngineIOSessionStateMachine(transport: upgrades ? .automatic : transport, version: version)
        var actions = machine.start().count
        let open = EngineIOOpenPacket(
            sessionID: "s",
            upgrades: ["websocket"],
            pingInterval: .seconds(25),
            pingTimeout: .seconds(20)
        )
        let packet = EngineIOPacket(.open, open.text)
        if transport == .webSocket, !upgrades {
            actions += machine.webSocketOpened().count
            actions += machine.frameReceived(WebSocketMessage(packet, version: version)).count
        } else {
            let payload = EngineIOPayload.encode([packet], version: version)
            actions += machine.pollCompleted(status: 200, body: Array(payload.utf8)).count
        }
        for piece in bytes.split(separator: 0xFF, maxSplits: 32) {
            let body = Array(piece.dropFirst())
            switch (piece.first ?? 0) % 8 {
            case 0: actions += machine.pollCompleted(status: 200, body: body).count
            case 1: actions += machine.frameReceived(.text(String(decoding: body, as: UTF8.self))).count
            case 2: actions += machine.frameReceived(.binary(body)).count
            case 3: actions += machine.webSocketOpened().count
            case 4: actions += machine.postCompleted(status: 200).count
            case 5: actions += machine.timerFired(.heartbeat).count
            case 6: actions += machine.webSocketClosed(failed: false).count
            default: actions += machine.pollCompleted(status: 400, body: body).count
            }
        }
        require(actions <= 256 + 16 * bytes.count, "more actions than the input pays for")
    }
}
