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
        #expect(connection.textReceived("0") == [.ignore(.repeatedConnect), .endSession])
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
        #expect(connection.textReceived(#"2["join","r"]"#) == [.ignore(.packetBeforeConnect), .endSession])
        #expect(connection.textReceived("1") == [.ignore(.packetBeforeConnect), .endSession])
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

    /// Socket.IO 2 passes over what socket.io 4 closes the connection for.
    @Test(arguments: [
        ("", SocketIOServerConnection.Ignored.unreadablePacket), ("9", .unreadablePacket), ("2{", .unreadablePacket),
        ("2[1]", .unreadablePacket), ("4\"no\"", .unexpectedPacket), (#"2/x,["join","r"]"#, .otherNamespace),
        ("0", .repeatedConnect),
    ])
    func strangePacketsEndSessionsOfVersionFour(text: String, reason: SocketIOServerConnection.Ignored) {
        for version in [EngineIOVersion.three, .four] {
            var connection = self.connection(version)
            _ = connection.start()
            if version == .four { _ = connection.textReceived("0") }
            let actions = connection.textReceived(text)
            #expect(actions == [.ignore(reason)] + (version == .four ? [.endSession] : []), "\(version)")
            #expect(connection.sessionEnded() == [.socketClosed])
        }
    }

    @Test(arguments: [EngineIOVersion.three, .four])
    func binaryEventsAreIgnoredAndAcknowledged(version: EngineIOVersion) {
        var connection = self.connection(version)
        _ = connection.start()
        if version == .four { _ = connection.textReceived("0") }
        #expect(connection.textReceived("3[]") == [.ignore(.unexpectedPacket)])
        #expect(connection.textReceived(#"52-9["x",{"_placeholder":true,"num":0},1]"#) == [.ignore(.binary)])
        #expect(connection.binaryReceived() == [.ignore(.binary)])
        let last = connection.binaryReceived()
        #expect(last.first == .ignore(.binary) && self.texts(last) == ["39[]"])
        #expect(self.texts(connection.textReceived(#"50-8["x"]"#)) == ["38[]"])
        #expect(connection.textReceived(#"61-4[{"_placeholder":true,"num":0}]"#) == [.ignore(.unexpectedPacket)])
        #expect(connection.binaryReceived() == [.ignore(.binary)])
        #expect(connection.binaryReceived() == [.ignore(.binary), .endSession], "nothing announced it")
        // Text in the place of an attachment.
        #expect(connection.textReceived(#"51-["x",{"_placeholder":true,"num":0}]"#) == [.ignore(.binary)])
        let join = connection.textReceived(#"2["join","r"]"#)
        let expected: [Action] =
            version == .four
            ? [.ignore(.unreadablePacket), .endSession] : [.deliver(name: "join", arguments: ["r"])]
        #expect(join == expected)
    }

    @Test func otherNamespacesAreRefusedInTheClientsSpelling() {
        var four = self.connection(.four)
        #expect(self.texts(four.textReceived("0/nosuch,")) == [#"4/nosuch,{"message":"Invalid namespace"}"#])
        var three = self.connection(.three)
        #expect(self.texts(three.textReceived("0/nosuch")) == [#"4/nosuch,"Invalid namespace""#])
    }
}
