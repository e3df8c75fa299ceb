// SPDX-License-Identifier: Apache-2.0

public import Logging

extension Logger.Metadata {
    /// Metadata under the keys of `LogKey`.
    public static func tagged(_ values: [LogKey: Logger.MetadataValue]) -> Logger.Metadata {
        Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
    }
}

extension Logger {
    /// The metadata value of a key on every line of this logger.
    public subscript(key key: LogKey) -> Logger.MetadataValue? {
        get { self[metadataKey: key.rawValue] }
        set { self[metadataKey: key.rawValue] = newValue }
    }
}
