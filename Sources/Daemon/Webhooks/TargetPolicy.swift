// SPDX-License-Identifier: Apache-2.0

import Basics
import ConfigurationFile
import FoundationEssentials
import NIOCore

/// The receivers of events: `https` to public addresses, `http` to this host's loopback, and whatever the operator lists.
struct TargetPolicy: Sendable {
    /// Hosts that receivers may have; empty: any.
    var allowedHosts: [String]

    private var rules: WebhooksConfiguration {
        var rules = WebhooksConfiguration()
        rules.allowedHosts = self.allowedHosts
        return rules
    }

    /// Whether the operator named the host, which allows plain `http` and addresses that are not public.
    func isListed(_ host: String) -> Bool {
        !self.allowedHosts.isEmpty && self.rules.allows(host: host)
    }

    /// Why a receiver may not get events whatever its address is; `nil` if it depends on the address.
    func refusal(of target: TargetURL) -> String? {
        guard self.rules.allows(host: target.host) else { return "its host is not among the allowed hosts" }
        if !target.isSecure, !target.isLoopback, !self.isListed(target.host) {
            return "plain http is only for this host and for allowed hosts"
        }
        return nil
    }

    /// Why an address that the receiver's name stands for may not be connected to; `nil` if it may.
    func refusal(of address: SocketAddress, target: TargetURL) -> String? {
        if self.isListed(target.host) { return nil }
        return switch NetworkAddress(address) {
        case .isPublic: target.isSecure ? nil : "plain http is only for this host and for allowed hosts"
        case .loopback where target.isLoopback: nil
        case .loopback, .isPrivate: "its name stands for an address of a private network"
        }
    }
}

/// A receiver's URL, taken apart.
struct TargetURL: Sendable {
    /// The whole URL; never logged.
    let text: String
    /// The host in lower case, without brackets.
    let host: String
    /// The host as the URL has it, without brackets.
    let writtenHost: String
    let port: Int
    let isSecure: Bool

    /// Takes an absolute `http` or `https` URL without user information; `nil` for any other.
    init?(_ text: String) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = url.host, !host.isEmpty, url.user == nil, url.password == nil
        else { return nil }
        self.text = text
        self.writtenHost = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        self.host = self.writtenHost.lowercased()
        self.isSecure = scheme == "https"
        self.port = url.port ?? (self.isSecure ? 443 : 80)
        guard (1...65_535).contains(self.port) else { return nil }
    }

    /// Whether the URL itself names this host.
    var isLoopback: Bool {
        guard self.host != "localhost" else { return true }
        guard let address = try? SocketAddress(ipAddress: self.host, port: self.port) else { return false }
        return NetworkAddress(address) == .loopback
    }

    /// Whether the URL has an address in the place of a name.
    var isAddress: Bool { IPAddress(self.host) != nil }
}
