// SPDX-License-Identifier: Apache-2.0

internal import HTTPRequests
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Platform
internal import Signalling

/// Turns what the network libraries throw into one sentence with the server's address and what to check.
enum ConnectionFailure {
    /// The error for a failed request or connection to `address`.
    static func error(for error: any Error, address: String) -> SignallingError {
        switch error {
        case let error as SignallingError:
            return error
        case let error as NIOConnectionError:
            return self.connectionError(error, address: address)
        case let error as HTTPClient.Failure:
            return self.requestError(error, address: address)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            return self.tlsFailed(error, address: address)
        case let error as IOError:
            return self.notConnected(error.errnoCode, error, address: address)
        case let error as ChannelError:
            if case .connectTimeout = error { return self.timedOut(address: address) }
            return self.lost(error, address: address)
        default:
            return self.lost(error, address: address)
        }
    }

    private static func connectionError(_ error: NIOConnectionError, address: String) -> SignallingError {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            return self.nameNotFound(error.host)
        }
        guard let first = error.connectionErrors.first else { return self.timedOut(address: address) }
        return self.error(for: first.error, address: address)
    }

    private static func requestError(_ error: HTTPClient.Failure, address: String) -> SignallingError {
        switch error {
        case .nameNotFound: self.nameNotFound(String(address.prefix { $0 != ":" }))
        case .notConnected(let number): self.notConnected(number, error, address: address)
        case .timedOut: self.timedOut(address: address)
        case .tls(let words): self.tlsFailed(words, address: address)
        case .closedWithoutAnswer:
            SignallingError(
                .unreachable,
                "The server at \(address) closed the connection without an answer: check that it speaks "
                    + "HTTP on that port, and whether it wants TLS.",
                blame: .peer
            )
        case .tooLarge:
            SignallingError(
                .protocolViolation,
                "The server at \(address) answered with more than \(HTTPAnswer.maximumBodyBytes) bytes.",
                blame: .peer
            )
        case .other(let words): self.lost(words, address: address)
        case .malformedRequest, .cancelled: self.lost(error, address: address)
        }
    }

    private static func nameNotFound(_ host: String) -> SignallingError {
        SignallingError(
            .unreachable,
            "The server name \(host) was not found: check its spelling and this host's name resolution.",
            blame: .configuration
        )
    }

    private static func notConnected(_ number: Int32, _ error: any Error, address: String) -> SignallingError {
        switch number {
        case 111:
            SignallingError(
                .unreachable,
                "The server at \(address) refused the connection: check that it runs and the port.",
                blame: .network
            )
        case 101, 113:
            SignallingError(
                .unreachable,
                "There is no way to the server at \(address): check the address and this host's network.",
                blame: .network
            )
        case 110: self.timedOut(address: address)
        default: self.lost(error, address: address)
        }
    }

    private static func tlsFailed(_ error: Any, address: String) -> SignallingError {
        SignallingError(
            .tlsFailed,
            "TLS with the server at \(address) failed: check that it speaks TLS on that port, and that its certificate "
                + "is valid, trusted and names the host (\(self.words(error))).",
            blame: .configuration
        )
    }

    private static func timedOut(address: String) -> SignallingError {
        SignallingError(
            .timedOut,
            "The server at \(address) did not answer in time: check the address, the port and firewalls.",
            blame: .network
        )
    }

    private static func lost(_ error: Any, address: String) -> SignallingError {
        SignallingError(
            .unreachable,
            "The connection to the server at \(address) failed (\(self.words(error))).",
            blame: .network
        )
    }

    /// The reason in plain words; the error's text has a library's names.
    static func words(_ error: Any) -> String {
        switch error {
        case let words as String: String(words.prefix(160))
        case let error as HTTPClient.Failure: error.reason
        case let error as any Error: NetworkErrorText.words(error)
        default: "the connection broke"
        }
    }
}
