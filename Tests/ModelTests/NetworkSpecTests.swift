// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Testing

@Suite struct NetworkSpecTests {
    private static func decode(_ text: String) throws -> NetworkSpec {
        try JSONDecoder().decode(NetworkSpec.self, from: Data(text.utf8))
    }

    @Test func survivesALineWhole() throws {
        var spec = NetworkSpec()
        spec.servers = [NetworkSpec.Server(urls: ["turn:h", "stun:h"], username: "u", credential: Secret("s3cret"))]
        (spec.hostAddresses, spec.relaysOnly, spec.usesOffered) = (["::1"], true, false)
        (spec.offeredHosts, spec.portRange) = (["*.example.org"], 40_000...40_100)
        for (part, usual) in zip(Mirror(reflecting: spec).children, Mirror(reflecting: NetworkSpec()).children) {
            #expect("\(part.value)" != "\(usual.value)", "\(part.label ?? "") is not tried")
        }
        let line = try JSONEncoder().encode(spec)
        #expect(try JSONDecoder().decode(NetworkSpec.self, from: line) == spec)
        // The worker needs it; whoever prints the spec does not.
        #expect(String(decoding: line, as: UTF8.self).contains("s3cret") && !"\(spec)".contains("s3cret"))
        #expect(try Self.decode("{}") == NetworkSpec())
    }

    @Test(arguments: [
        #"{"firstPort":1}"#, #"{"lastPort":1}"#, #"{"firstPort":2,"lastPort":1}"#, #"{"firstPort":0,"lastPort":1}"#,
        #"{"firstPort":1,"lastPort":65536}"#,
    ])
    func portsAreARange(text: String) {
        #expect(throws: DecodingError.self) { try Self.decode(text) }
    }

    @Test func whoRelaysNeedsAServer() {
        var spec = NetworkSpec()
        spec.relaysOnly = true
        #expect(!spec.lacksRelay)
        spec.usesOffered = false
        #expect(spec.lacksRelay)
        spec.servers = [NetworkSpec.Server(urls: ["stun:h"])]
        #expect(spec.lacksRelay)
        spec.servers.append(NetworkSpec.Server(urls: ["stun:h", "TURNS:h"]))
        #expect(!spec.lacksRelay)
    }

    @Test func offeredServersAreChosenByTheirHosts() {
        var spec = NetworkSpec()
        #expect(spec.allowsOffered(host: "example.org"))
        spec.offeredHosts = ["*.example.org", "192.0.2.3"]
        let hosts = ["turn.example.org", "192.0.2.3", "example.org", "192.0.2.2"]
        #expect(hosts.filter(spec.allowsOffered) == ["turn.example.org", "192.0.2.3"])
        spec.usesOffered = false
        #expect(hosts.filter(spec.allowsOffered).isEmpty)
    }
}
