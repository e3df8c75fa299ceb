// SPDX-License-Identifier: Apache-2.0

public import Signalling

extension RoomConfiguration {
    /// Reads one room's definition, JSON or YAML, as the HTTP interface takes it: `${…}` is refused.
    public static func parse(name: String, text: String) throws(ConfigurationError) -> RoomConfiguration {
        throw ConfigurationError(.unreadable, [])
    }

    /// Reads a definition that was kept, `${…}` and all.
    public static func parse(
        name: String,
        definition: JSONValue,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> RoomConfiguration {
        throw ConfigurationError(.unreadable, [])
    }

    /// The room with a JSON merge patch (RFC 7396) applied to its definition; `${…}` in the patch is refused.
    public func applying(
        patch: String,
        values: any ValueSource = ProcessValueSource()
    ) throws(ConfigurationError) -> RoomConfiguration {
        throw ConfigurationError(.unreadable, [])
    }
}
