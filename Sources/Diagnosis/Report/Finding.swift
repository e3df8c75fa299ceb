// SPDX-License-Identifier: Apache-2.0

/// One thing that was looked at on this host, what it is like, and what that means.
public struct Finding: Sendable, Hashable, Codable {
    /// How good it is.
    public enum Level: String, Sendable, Hashable, Codable, CaseIterable {
        /// As it should be.
        case ok
        /// Recording works; something else does not, or may not.
        case warning
        /// Recording a room does not work.
        case problem
    }

    /// The area of a finding.
    public enum Area: String, Sendable, Hashable, Codable, CaseIterable {
        /// The media library and its plugins.
        case gstreamer
        /// Encoders for sending.
        case encoders
        /// Cameras, audio devices, graphics cards.
        case devices
        /// Addresses, ports, names.
        case network
        /// Where recordings go.
        case storage
        /// Clock, limits, memory, account.
        case system
    }

    /// Its area.
    public var area: Area
    /// The subject, in a few words.
    public var name: String
    /// How good it is.
    public var level: Level
    /// The result.
    public var found: String
    /// The effect on the user; `nil` if all is well.
    public var meaning: String?
    /// The remedy, other than to install packages.
    public var remedy: String?
    /// Debian packages that bring what is missing.
    public var packages: [String]

    /// A finding with each part given.
    public init(
        _ area: Area,
        _ name: String,
        _ level: Level,
        _ found: String,
        meaning: String? = nil,
        remedy: String? = nil,
        packages: [String] = []
    ) {
        self.area = area
        self.name = name
        self.level = level
        self.found = found
        self.meaning = meaning
        self.remedy = remedy
        self.packages = packages
    }
}
