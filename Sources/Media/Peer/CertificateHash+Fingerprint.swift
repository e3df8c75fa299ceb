// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import SDP

extension CertificateHash {
    /// The hash that a fingerprint names; nil for one that libcrypto is not asked for.
    init?(_ algorithm: HashAlgorithm) {
        switch algorithm.rawValue {
        case "sha-1": self = .sha1
        case "sha-256": self = .sha256
        case "sha-384": self = .sha384
        case "sha-512": self = .sha512
        default: return nil
        }
    }
}
