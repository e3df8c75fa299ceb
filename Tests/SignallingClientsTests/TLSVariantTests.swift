// SPDX-License-Identifier: Apache-2.0

import Foundation
import Signalling
import SignallingClients
import TestSupport
import Testing

extension AllSignallingClients {
    /// Protocols over TLS with servers whose certificate is not trusted: refused, accepted with `?insecure`, and
    /// accepted when it is trusted.
    @Suite struct TLSVariantTests {
        private static let once = JoinPolicy(
            connectTimeout: .seconds(5),
            attempts: 1,
            attemptInterval: .milliseconds(50),
            waitsWhenFull: false
        )

        @Test(.timeLimit(.minutes(5))) func skyRTC() async throws {
            let own = try SelfSignedCertificate()
            let arguments = ["--tls", own.certificate, own.key]
            let server = try PythonRoomServer(script: "skyrtc_server.py", environment: "peers", arguments)
            defer { server.stop() }
            try await Self.expectTrust("skyrtc+wss://127.0.0.1:\(server.port)/wss?room=1", own)
        }

        @Test(.timeLimit(.minutes(5)), arguments: [("ws", "janus+wss"), ("http", "janus+https")])
        func janus(transport: String, scheme: String) async throws {
            let own = try SelfSignedCertificate()
            let arguments = [
                "--transport", transport, "--tls", own.certificate, own.key, "--folder",
                own.folder.appending(path: "janus").path,
            ]
            let server = try PythonRoomServer(script: "janus_server.py", environment: "peers", arguments)
            defer { server.stop() }
            try await Self.expectTrust("\(scheme)://127.0.0.1:\(server.port)/?room=1234", own)
        }

        private static func expectTrust(_ text: String, _ own: SelfSignedCertificate) async throws {
            let checked = try RoomURL(parsing: text).address
            let error = await RunningClient(checked, policy: Self.once).run.value
            #expect(error?.code == .tlsFailed, "\(error?.message ?? "no error")")
            #expect(error?.message.contains("127.0.0.1") == true)

            let careless = try RoomURL(parsing: text + "&insecure").address
            #expect(!careless.verifiesCertificate)
            var insecure = RunningClient(careless, policy: Self.once)
            _ = try #require(await insecure.joined())
            #expect(await insecure.leave() == nil)

            var environment = SignallerEnvironment()
            environment.trustedCertificatesFile = own.certificate
            var trusting = RunningClient(checked, policy: Self.once, environment: environment)
            _ = try #require(await trusting.joined())
            #expect(await trusting.leave() == nil)
        }
    }
}
