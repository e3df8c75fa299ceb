// SPDX-License-Identifier: Apache-2.0

extension DaemonConfiguration {
    /// Reads a configuration file of at most 1 MiB.
    public static func load(
        path: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> DaemonConfiguration {
        throw ConfigurationError(.unreadable, [])
    }

    /// Reads a configuration's text.
    public static func parse(
        text: String,
        file: String? = nil,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> DaemonConfiguration {
        throw ConfigurationError(.unreadable, [])
    }
}
