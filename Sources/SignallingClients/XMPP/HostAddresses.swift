// SPDX-License-Identifier: Apache-2.0

internal import Platform

/// The addresses of a host name.
enum HostAddresses {
    /// Most addresses of one name that are tried.
    static let maximumCount = 8

    /// The addresses as numbers, in the order in which the system prefers them.
    ///
    /// Blocks until the resolver has an answer.
    static func of(_ name: String) -> [String] {
        let name = name.hasPrefix("[") && name.hasSuffix("]") ? String(name.dropFirst().dropLast()) : name
        return Array(((try? HostName.addresses(of: name)) ?? []).prefix(Self.maximumCount))
    }
}
