// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A self-signed certificate for 127.0.0.1, in a separate folder that goes with it.
final class SelfSignedCertificate: Sendable {
    /// For what else a server keeps.
    let folder: URL
    /// The path of the certificate, PEM.
    let certificate: String
    /// The path of its key, PEM.
    let key: String

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.certificate = self.folder.appending(path: "c.pem").path
        self.key = self.folder.appending(path: "k.pem").path
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=tapedeck test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out",
            self.certificate,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        #expect(openssl.terminationStatus == 0)
    }

    deinit {
        try? FileManager.default.removeItem(at: self.folder)
    }
}
