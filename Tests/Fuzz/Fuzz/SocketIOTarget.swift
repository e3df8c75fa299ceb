// SPDX-License-Identifier: Apache-2.0

@testable internal import Signalling

/// Socket.IO packets, one on a line: alone, and as what a member of a room gets.
enum SocketIOTarget {
    @Sendable static func run(_ text: String) {
        var machine = SocketIORoomStateMachine(room: "123123", waitsWhenFull: true)
        var actions = machine.opened(sessionID: "own", version: .four).count
        let greeting = ["0{\"sid\":\"own\"}", #"2["joined","123123","own"]"#, #"2["otherjoin","123123","peer"]"#]
        let lines = text.split(separator: "\n", maxSplits: 64).map(String.init)
        for line in greeting + lines {
            guard let packet = try? SocketIOPacket(text: line) else { continue }
            let again = try? SocketIOPacket(text: packet.text)
            require(again == packet || packet.event == nil, "an event changes when it is read again")
            for argument in packet.event?.arguments ?? [] {
                guard let message = try? SocketIORoomMessage(argument), let data = message.data else { continue }
                require((try? SocketIORoomMessage(data)) != nil, "our own message is not read")
            }
            let step = machine.received(packet)
            actions += step.count
            for case .startTimer(let timer, _) in step where timer == .full {
                actions += machine.timerFired(timer).count
            }
        }
        require(actions <= 64 * (lines.count + greeting.count), "more actions than the input pays for")
    }
}
