// SPDX-License-Identifier: Apache-2.0

/// Paths as people write them where the working directory is arbitrary.
public enum AbsolutePath {
    /// The path without slashes at its end; nil unless it is absolute, at most 1024 bytes and without control characters.
    public static func parse(_ text: String) -> String? {
        guard text.hasPrefix("/"), text.utf8.count <= 1024,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        var path = text[...]
        while path.count > 1, path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }
}
