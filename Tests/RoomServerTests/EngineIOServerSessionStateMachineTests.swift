// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@testable import RoomServer

@Suite struct EngineIOServerSessionStateMachineTests {
    private typealias Machine = EngineIOServerSessionStateMachine

    private static let handshake = EngineIOOpenPacket(
        sessionID: "s1",
        upgrades: [],
        pingInterval: .seconds(25),
        pingTimeout: .seconds(20)
    )
    private static let open = EngineIOPacket(.open, Self.handshake.text)
    private static let hello = EngineIOPacket(.message, "hello")

    private func machine(
        _ version: EngineIOVersion = .four,
        _ transport: EngineIORequest.Transport = .polling,
        packets: Int = 3
    ) -> Machine {
        Machine(
            version: version,
            transport: transport,
            configuration: Machine.Configuration(
                pingInterval: .seconds(25),
                pingTimeout: .seconds(20),
                upgradeTimeout: .seconds(10),
                queue: EngineIOSessionQueue.Limits(packets: packets, bytes: 1000)
            )
        )
    }

    /// A polling session whose open packet is fetched.
    private func polling(_ version: EngineIOVersion = .four) -> Machine {
        var machine = self.machine(version)
        _ = machine.start(Self.handshake)
        _ = machine.pollReceived()
        return machine
    }

    /// A session that moved to its WebSocket.
    private func upgraded() -> Machine {
        var machine = self.polling()
        _ = machine.probeOpened()
        _ = machine.probeReceived(EngineIOPacket(.ping, "probe"))
        _ = machine.probeReceived(EngineIOPacket(.upgrade))
        return machine
    }

    @Test func handshakeIsTheFirstPollsAnswer() {
        var machine = self.machine()
        #expect(machine.start(Self.handshake) == [.startTimer(.heartbeat, after: .seconds(25))])
        #expect(machine.send(Self.hello).isEmpty)
        #expect(machine.pollReceived() == .answer([Self.open, Self.hello]))
        #expect(machine.pollReceived() == .hold)
        #expect(machine.send(Self.hello) == [.answerPoll([Self.hello])])
    }

    @Test func handshakeIsTheFirstFrame() {
        var machine = self.machine(.three, .webSocket)
        #expect(
            machine.start(Self.handshake)
                == [.sendFrame(Self.open), .startTimer(.heartbeat, after: .seconds(45))]
        )
        #expect(machine.send(Self.hello) == [.sendFrame(Self.hello)])
        #expect(machine.pollReceived() == .refuseTransport)
        #expect(machine.postBegan() == .refuseTransport)
        #expect(machine.probeOpened() == .refuse)
        #expect(machine.requestAborted().isEmpty)
        #expect(machine.webSocketClosed() == [.end(.transportClosed)])
    }

    @Test func overlappingPollsEndTheSession() {
        var machine = self.polling()
        #expect(machine.pollReceived() == .hold)
        #expect(
            machine.pollReceived()
                == .refuseOverlap([.answerPoll([EngineIOPacket(.close)]), .end(.overlappingRequests)])
        )
        #expect(machine.pollReceived() == .refuseTransport)
    }

    @Test func overlappingPostsEndTheSession() {
        var machine = self.polling()
        #expect(machine.postBegan() == .accept)
        machine.postCompleted()
        #expect(machine.postBegan() == .accept)
        #expect(machine.postBegan() == .refuseOverlap([.end(.overlappingRequests)]))
        #expect(machine.postBegan() == .refuseTransport)
        machine.postCompleted()
    }

    @Test func versionFourServerPings() {
        var machine = self.polling(.four)
        _ = machine.pollReceived()
        let ping = EngineIOPacket(.ping)
        #expect(
            machine.timerFired(.heartbeat)
                == [.startTimer(.heartbeat, after: .seconds(20)), .answerPoll([ping])]
        )
        #expect(
            machine.packetReceived(EngineIOPacket(.pong)) == [.startTimer(.heartbeat, after: .seconds(25))]
        )
        #expect(machine.packetReceived(EngineIOPacket(.pong)).isEmpty, "a pong that nobody asked for")
        _ = machine.timerFired(.heartbeat)
        #expect(machine.packetReceived(Self.hello) == [.deliver(.text("hello"))], "a message is no pong")
        #expect(machine.timerFired(.heartbeat) == [.end(.silent)])
        #expect(machine.timerFired(.heartbeat).isEmpty)
    }

    @Test func versionFourClientMayNotPing() {
        var machine = self.polling(.four)
        #expect(machine.packetReceived(EngineIOPacket(.ping)) == [.end(.unreadable)])
    }

    @Test func versionThreeClientPings() {
        var machine = self.machine(.three, .webSocket)
        _ = machine.start(Self.handshake)
        let silence = Machine.Action.startTimer(.heartbeat, after: .seconds(45))
        #expect(
            machine.packetReceived(EngineIOPacket(.ping, "x")) == [silence, .sendFrame(EngineIOPacket(.pong, "x"))]
        )
        #expect(machine.packetReceived(Self.hello) == [silence, .deliver(.text("hello"))])
        #expect(machine.packetReceived(EngineIOPacket(.pong)) == [silence])
        #expect(machine.packetReceived(EngineIOPacket(.noop)) == [silence])
        #expect(machine.timerFired(.heartbeat) == [.end(.silent)])
    }

    @Test func upgradeMovesWhatIsQueued() {
        var machine = self.polling()
        #expect(machine.pollReceived() == .hold)
        #expect(machine.probeOpened() == .accept([.startTimer(.upgrade, after: .seconds(10))]))
        #expect(machine.probeOpened() == .refuse)
        #expect(
            machine.probeReceived(EngineIOPacket(.ping, "probe"))
                == [.sendProbeFrame(EngineIOPacket(.pong, "probe")), .answerPoll([EngineIOPacket(.noop)])]
        )
        #expect(machine.pollReceived() == .answer([EngineIOPacket(.noop)]))
        #expect(machine.send(Self.hello).isEmpty)
        #expect(
            machine.probeReceived(EngineIOPacket(.upgrade))
                == [.cancelTimer(.upgrade), .adoptProbe, .sendFrame(Self.hello)]
        )
        #expect(machine.pollReceived() == .refuseTransport)
        #expect(machine.probeReceived(EngineIOPacket(.upgrade)).isEmpty)
        #expect(machine.probeClosed().isEmpty)
        #expect(machine.timerFired(.upgrade).isEmpty)
    }

    @Test(arguments: [
        EngineIOPacket(.ping), EngineIOPacket(.ping, "other"), EngineIOPacket(.upgrade),
        EngineIOPacket(.message, "2[]"),
        EngineIOPacket(.close), EngineIOPacket(binaryMessage: [1]),
    ])
    func failedProbeLeavesTheSessionPolling(packet: EngineIOPacket) {
        var machine = self.polling()
        _ = machine.probeOpened()
        #expect(machine.probeReceived(packet) == [.cancelTimer(.upgrade), .closeProbe])
        #expect(machine.pollReceived() == .hold)
        #expect(machine.send(Self.hello) == [.answerPoll([Self.hello])])
        #expect(machine.probeOpened() == .accept([.startTimer(.upgrade, after: .seconds(10))]))
        #expect(machine.probeClosed() == [.cancelTimer(.upgrade)])
    }

    @Test func slowUpgradeIsGivenUp() {
        var machine = self.polling()
        _ = machine.probeOpened()
        #expect(machine.timerFired(.upgrade) == [.closeProbe])
        #expect(machine.timerFired(.upgrade).isEmpty)
        #expect(machine.pollReceived() == .hold)
    }

    @Test func clientThatDoesNotFetchIsEnded() {
        var machine = self.polling()
        for _ in 0..<3 { #expect(machine.send(Self.hello).isEmpty) }
        #expect(machine.send(Self.hello) == [.end(.slowConsumer)])
        #expect(machine.send(Self.hello).isEmpty)
        var large = self.polling()
        #expect(
            large.send(EngineIOPacket(.message, String(repeating: "x", count: 1001))) == [.end(.slowConsumer)]
        )
        var socket = self.upgraded()
        #expect(socket.webSocketCongested() == [.end(.slowConsumer)])
    }

    /// The next polls fetch the rest, in order.
    @Test func anAnswerHasNoMorePacketsThanClientsTake() {
        var machine = self.machine(packets: 40)
        _ = machine.start(Self.handshake)
        let messages = (0..<36).map { EngineIOPacket(.message, "\($0)") }
        for _ in 0..<2 {
            for message in messages { #expect(machine.send(message).isEmpty) }
            var answers: [[EngineIOPacket]] = []
            while case .answer(let packets) = machine.pollReceived() { answers.append(packets) }
            #expect(answers.allSatisfy { $0.count <= 16 } && answers.count == 3)
            #expect(answers.flatMap(\.self).suffix(36) == messages[...])
            #expect(machine.send(Self.hello) == [.answerPoll([Self.hello])], "the last poll is held")
        }
    }

    /// As the stock server does: only an end that the server wants is news to the client.
    @Test func aPollThatIsPendingWhileTheClientClosesIsAnsweredWithNothing() {
        var machine = self.polling()
        #expect(machine.pollReceived() == .hold)
        let answer = Machine.Action.answerPoll([EngineIOPacket(.noop)])
        #expect(machine.packetReceived(EngineIOPacket(.close)) == [answer, .end(.closedByClient)])
    }

    @Test func everyEndIsTerminalAndSaidOnce() {
        let closePoll = Machine.Action.answerPoll([EngineIOPacket(.close)])
        var aborted = self.polling()
        _ = aborted.pollReceived()
        #expect(aborted.requestAborted() == [closePoll, .end(.transportClosed)])
        #expect(aborted.requestAborted().isEmpty)
        var stopped = self.polling()
        _ = stopped.pollReceived()
        #expect(stopped.close() == [closePoll, .end(.closedByServer)])
        var unreadable = self.upgraded()
        #expect(unreadable.unreadableReceived() == [.end(.unreadable)])
        #expect(unreadable.webSocketClosed().isEmpty)
        var closed = self.upgraded()
        #expect(closed.packetReceived(EngineIOPacket(.close)) == [.end(.closedByClient)])
        #expect(closed.packetReceived(Self.hello).isEmpty)
        #expect(closed.probeOpened() == .refuse)
        #expect(closed.probeReceived(EngineIOPacket(.ping, "probe")).isEmpty)
        #expect(closed.probeClosed().isEmpty)
        #expect(closed.timerFired(.upgrade).isEmpty)
        #expect(closed.close().isEmpty)
    }

    @Test func binaryMessagesAreDeliveredAsSuch() {
        var machine = self.upgraded()
        #expect(machine.packetReceived(EngineIOPacket(binaryMessage: [1, 2])) == [.deliver(.binary([1, 2]))])
    }
}
