// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Words for what the network libraries throw: their own texts name their types and functions.
public enum NetworkErrorText {
    /// Why a connection or a port failed, in a few words without a full stop.
    public static func words(_ error: any Error) -> String {
        switch error {
        // One for each address of the host; the first says enough.
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { Self.words($0.error) } ?? "there is no host of that name"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case ChannelError.connectTimeout: "it does not answer"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "its certificate is for another name"
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: Self.wordsOfTLS("\(error)")
        default: "the connection broke"
        }
    }

    /// BoringSSL puts a name such as `CERTIFICATE_VERIFY_FAILED` behind the library's own.
    private static func wordsOfTLS(_ text: String) -> String {
        guard let name = text.firstRange(of: "OPENSSL_internal:") else { return "the TLS handshake failed" }
        let words = text[name.upperBound...].prefix { $0.isLetter || $0 == "_" || $0.isNumber }
        guard words != "CERTIFICATE_VERIFY_FAILED" else { return "its certificate is not trusted" }
        return "TLS failed: " + words.lowercased().replacing("_", with: " ")
    }
}
