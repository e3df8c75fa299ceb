// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// A self-signed certificate for an address, in a separate folder that goes with it: good for a server, for a client, and as
/// the authority of both.
public final class SelfSignedCertificate: Sendable {
    /// openssl did not make one.
    public struct Failure: Error {
        /// Its exit status.
        public let status: Int32
    }

    /// For what else a server keeps.
    public let folder: URL
    /// The path of the certificate, PEM.
    public let certificate: String
    /// The path of its key, PEM.
    public let key: String

    /// Makes one.
    public init(address: String = "127.0.0.1") throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.certificate = self.folder.appending(path: "c.pem").path
        self.key = self.folder.appending(path: "k.pem").path
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/usr/bin/openssl")
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=tapedeck test", "-addext", "subjectAltName=IP:\(address)", "-keyout", self.key, "-out",
            self.certificate,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        guard openssl.terminationStatus == 0 else { throw Failure(status: openssl.terminationStatus) }
    }

    deinit {
        try? FileManager.default.removeItem(at: self.folder)
    }
}
