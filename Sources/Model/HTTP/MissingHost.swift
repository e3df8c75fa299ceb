// SPDX-License-Identifier: Apache-2.0

/// A host of the cluster without whose answer a list is incomplete.
public struct MissingHost: Sendable, Hashable, Codable {
    /// Its name.
    public var host: String
    /// Why there is no answer, to follow the name.
    public var reason: String

    /// A host with each part given.
    public init(host: String, reason: String) { (self.host, self.reason) = (host, reason) }
}
