// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL
internal import Signalling

/// How a client checks a server's certificate.
enum TLSSettings {
    /// The configuration of a client.
    ///
    /// - Parameters:
    ///   - isInsecure: Takes any certificate.
    ///   - trustedCertificatesFile: PEM file trusted in addition to the system's certificates.
    /// - Throws: `SignallingError.Code.invalidURL` if the file cannot be read.
    static func client(isInsecure: Bool, trustedCertificatesFile: String?) throws(SignallingError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if isInsecure {
            configuration.certificateVerification = .none
        }
        if let file = trustedCertificatesFile {
            do {
                configuration.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
            } catch {
                throw SignallingError(
                    .invalidURL,
                    "The file of trusted certificates \(file) cannot be read as PEM.",
                    blame: .configuration
                )
            }
        }
        return configuration
    }
}
