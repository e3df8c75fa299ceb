// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// The DTLS identity of one room session: an ECDSA P-256 certificate and its private key.
///
/// webrtcbin's own is RSA, and peers that offer only ECDSA suites fail with it.
public struct Certificate: Sendable {
    /// Certificate and private key, PEM.
    ///
    /// Never logged.
    let pem: String

    /// Makes a new one, valid for a year.
    ///
    /// Costs about a millisecond.
    public static func generate() throws(GStreamerError) -> Certificate {
        guard let pem = CTapedeck_certificate_new() else {
            throw GStreamerError(.certificate, "libcrypto could not make an ECDSA P-256 certificate")
        }
        defer { CTapedeck_certificate_free(pem) }
        return Certificate(pem: String(cString: pem))
    }

    /// The digest of the certificate's DER form (RFC 8122 section 5); nil if libcrypto does not know `hash`.
    public func digest(_ hash: CertificateHash) -> [UInt8]? {
        Self.digest(ofPEM: self.pem, hash)
    }

    /// The digest of the first certificate in a PEM text; nil if there is none.
    public static func digest(ofPEM pem: String, _ hash: CertificateHash) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = CTapedeck_certificate_digest(pem, hash.rawValue, &bytes)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}

/// The hashes that fingerprints use (RFC 8122 section 5), by their libcrypto names.
public enum CertificateHash: String, Sendable, CaseIterable {
    /// SHA-1: too weak to accept, known so that it can be named.
    case sha1
    /// SHA-256: the common one.
    case sha256
    /// SHA-384.
    case sha384
    /// SHA-512.
    case sha512
}
