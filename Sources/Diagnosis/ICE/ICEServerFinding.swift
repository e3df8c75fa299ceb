// SPDX-License-Identifier: Apache-2.0

internal import Signalling

/// The meaning of a STUN or TURN server's answer for the user.
extension ICEServerTrial.Outcome {
    /// The finding for the server at `url`; `found` never holds a password.
    func finding(_ url: ICEServerURL) -> Finding {
        let firewall =
            "is it running, and does a firewall let \(url.transport == .udp ? "UDP" : "TCP") through to port \(url.port)?"
        let lost =
            url.kind == .turn
            ? "calls that need the relay will not connect" : "peers elsewhere may not learn our public address"
        func warning(_ what: String, _ remedy: String) -> Finding {
            Finding(.network, "ICE server", .warning, "\(url): \(what)", meaning: lost, remedy: remedy)
        }
        switch self {
        case .seen(let address): return Finding(.network, "ICE server", .ok, "\(url) sees us as \(address)")
        case .lent(let address): return Finding(.network, "ICE server", .ok, "\(url) lent us \(address)")
        case .wrongCredential:
            return warning(
                "user name or password is wrong",
                "check username and credential in the configuration; passwords of use-auth-secret servers expire"
            )
        case .refused(let code, let reason):
            return warning("it refuses: \(code) \(Self.printable(reason))", "look into the server's log")
        case .unreachable(let reason): return warning("no connection: \(reason)", firewall)
        case .silent: return warning("no answer", firewall)
        case .unsigned(let reason):
            return warning(
                "it cannot be asked with a password: \(reason)",
                "STUN signs with MD5 and SHA-1, which a host in FIPS mode lacks"
            )
        case .strange: return warning("what answers is no \(url.kind == .turn ? "TURN" : "STUN") server", firewall)
        }
    }

    /// A server's words, without what a terminal would take for its own.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }
}
