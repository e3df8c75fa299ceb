// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

@testable import RoomServer

@Suite struct SocketIOServerConnectionTests {
    private typealias Action = SocketIOServerConnection.Action

    private func connection(_ version: EngineIOVersion) -> SocketIOServerConnection {
        SocketIOServerConnection(version: version, socketID: PeerID("s1"))
    }

    private func texts(_ actions: [Action]) -> [String] {
        actions.compactMap { if case .send(let packet) = $0 { packet.text } else { nil } }
    }

    @Test func versionThreeConnectsByItself() {
        var connection = self.connection(.three)
        let actions = connection.start()
        #expect(self.texts(actions) == ["0"])
        #expect(actions.last == .socketOpened)
    }

    @Test(arguments: ["0", "0/,", "0{\"token\":\"x\"}"])
    func versionFourWaitsForTheClient(packet: String) {
        var connection = self.connection(.four)
        #expect(connection.start() == [.startConnectTimer])
        let actions = connection.textReceived(packet)
        #expect(self.texts(actions) == [#"0{"sid":"s1"}"#])
        #expect(actions.first == .cancelConnectTimer)
        #expect(actions.last == .socketOpened)
        #expect(connection.textReceived("0") == [.ignore(.repeatedConnect)])
        #expect(connection.connectTimerFired().isEmpty)
    }

    @Test func eventsAreDeliveredAndAcknowledged() {
        var connection = self.connection(.three)
        _ = connection.start()
        #expect(connection.textReceived(#"2["join","r"]"#) == [.deliver(name: "join", arguments: ["r"])])
        let actions = connection.textReceived(#"212["join","r"]"#)
        #expect(actions.first == .deliver(name: "join", arguments: ["r"]))
        #expect(self.texts(actions) == ["312[]"])
    }

    @Test func clientThatNeverConnectsIsEnded() {
        var connection = self.connection(.four)
        _ = connection.start()
        #expect(connection.textReceived(#"2["join","r"]"#) == [.ignore(.packetBeforeConnect)])
        #expect(connection.textReceived("1") == [.ignore(.packetBeforeConnect)])
        #expect(connection.connectTimerFired() == [.endSession])
        #expect(connection.connectTimerFired().isEmpty)
        #expect(connection.textReceived("0").isEmpty)
        #expect(connection.sessionEnded().isEmpty)
    }

    @Test func disconnectedClientMayConnectAgain() {
        var connection = self.connection(.four)
        _ = connection.start()
        _ = connection.textReceived("0")
        #expect(connection.textReceived("1") == [.socketClosed, .startConnectTimer])
        #expect(connection.textReceived("0").last == .socketOpened)
        #expect(connection.sessionEnded() == [.socketClosed])
    }

    @Test func sessionThatEndsBeforeConnectStopsItsTimer() {
        var connection = self.connection(.four)
        _ = connection.start()
        #expect(connection.sessionEnded() == [.cancelConnectTimer])
        #expect(connection.textReceived(#"2["join","r"]"#).isEmpty)
        #expect(connection.textReceived("1").isEmpty)
    }

    @Test(arguments: [
        ("", SocketIOServerConnection.Ignored.unreadablePacket), ("9", .unreadablePacket), ("2{", .unreadablePacket),
        ("2[1]", .unreadablePacket), ("3", .unexpectedPacket), ("4\"no\"", .unexpectedPacket),
        (#"51-["message",{"_placeholder":true,"num":0}]"#, .binary), (#"2/x,["join","r"]"#, .otherNamespace),
        ("0", .repeatedConnect),
    ])
    func strangePacketsAreIgnored(text: String, reason: SocketIOServerConnection.Ignored) {
        var connection = self.connection(.three)
        _ = connection.start()
        #expect(connection.textReceived(text) == [.ignore(reason)])
        #expect(connection.binaryReceived() == [.ignore(.binary)])
    }

    @Test func otherNamespacesAreRefusedInTheClientsSpelling() {
        var four = self.connection(.four)
        #expect(self.texts(four.textReceived("0/nosuch,")) == [#"4/nosuch,{"message":"Invalid namespace"}"#])
        var three = self.connection(.three)
        #expect(self.texts(three.textReceived("0/nosuch")) == [#"4/nosuch,"Invalid namespace""#])
    }
}
