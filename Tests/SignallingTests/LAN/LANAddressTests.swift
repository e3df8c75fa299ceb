// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct LANAddressTests {
    @Test(arguments: [
        ("lan+tcp://192.0.2.7:5556", RoomURL.LAN(host: "192.0.2.7")),
        ("LAN+TCP://Phone.local:81/", RoomURL.LAN(host: "phone.local", port: 81)),
        ("lan+tcp://192.0.2.7", RoomURL.LAN(host: "192.0.2.7", port: 5556)),
        ("lan+tcp://0.0.0.0:5556?listen", RoomURL.LAN(host: "0.0.0.0", isListening: true)),
        ("lan+tcp://[::]:7000/?listen", RoomURL.LAN(host: "::", port: 7000, isListening: true)),
    ])
    func readsAndPrintsBack(text: String, address: RoomURL.LAN) throws {
        let url = try RoomURL(parsing: text)
        #expect(url.address as? RoomURL.LAN == address)
        #expect(try RoomURL(parsing: url.description) == url)
        #expect(address.room == address.serverAddress)
        #expect(address.verifiesCertificate)
    }

    @Test func printsItsPort() {
        #expect(RoomURL.LAN(host: "192.0.2.7").description == "lan+tcp://192.0.2.7:5556")
        #expect(RoomURL.LAN(host: "::1", port: 1, isListening: true).description == "lan+tcp://[::1]:1?listen")
    }

    @Test(arguments: [
        ("lan+tcp://192.0.2.7:5556/room", "path"), ("lan+tcp://192.0.2.7:5556?wait", "\"wait\" is unknown"),
        ("lan+tcp://192.0.2.7:5556?listen=yes", "listen takes no value"),
        ("lan+tcp://me@192.0.2.7", "user information"), ("lan+tcp://192.0.2.7:0", "port"), ("lan+tcp://:5556", "host"),
        ("lan+tcp://192.0.2.7:5556?listen&listen", "listen is given twice"),
    ])
    func namesTheWrongPart(text: String, part: String) {
        let error = #expect(throws: SignallingError.self) { try RoomURL(parsing: text) }
        #expect(error?.code == .invalidURL)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }
}
