// SPDX-License-Identifier: Apache-2.0

internal import Model

/// The keys of `storage.upload`.
enum UploadKeys {
    static let remote = Key("remote", .remote)
    static let config = Key("config", .absolutePath(example: "/etc/tapedeck/rclone.conf"))
    static let prefix = Key("prefix", .uploadPrefix)
    static let parts = Key("parts", ValueType<UploadSpec.Part>.choice)
    static let speedLimit = Key(
        "speed_limit",
        ValueType<Int64>.bytes(10_000...1_000_000_000_000, example: "20MB").or("unlimited")
    )
    static let verify = Key("verify", ValueType<UploadSpec.Verification>.choice)

    static let table = KeyTable(
        remote.entry,
        config.entry,
        prefix.entry,
        parts.entry,
        speedLimit.entry,
        verify.entry
    )
}

extension UploadSpec {
    /// Reads the section; `nil` without a remote.
    init?(_ reader: MappingReader) {
        guard let remote = reader.required(UploadKeys.remote) else { return nil }
        self.init(remote: remote)
        self.config = reader.value(UploadKeys.config)
        self.prefix = reader.value(UploadKeys.prefix) ?? self.prefix
        self.parts = reader.values(UploadKeys.parts, count: 1...Part.allCases.count).map { Set($0) } ?? self.parts
        self.speedLimit = reader.value(UploadKeys.speedLimit) ?? self.speedLimit
        self.verify = reader.value(UploadKeys.verify) ?? self.verify
    }
}

extension ValueType where Value == String {
    /// A remote of rclone's configuration and a folder in it; options, which may be secret, stand in that configuration.
    fileprivate static let remote = ValueType(
        accepted: "a remote of rclone's configuration and a folder in it, such as arc:recordings"
    ) { text in
        guard text.utf8.count <= 512, let colon = text.firstIndex(of: ":"), Self.isPath(text) else { return nil }
        let name = text[..<colon]
        guard let first = name.unicodeScalars.first, first != "-", first != " ", name.last != " ",
            name.utf8.allSatisfy({ byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x20, 0x2B, 0x2D, 0x2E, 0x40, 0x5F: true
                default: false
                }
            })
        else { return nil }
        return text.last == "/" ? String(text.dropLast()) : text
    }

    /// Folders of which parts stand for a room and a day.
    fileprivate static let uploadPrefix = ValueType(
        accepted: "folders such as {room}/{day}, without a slash at either end; only {room} and {day} in braces"
    ) { text in
        let plain = ["{room}", "{day}"].reduce(text) { $0.split(separator: $1).joined() }
        guard text.utf8.count <= 256, Self.isPath(text), !plain.contains("{"), !plain.contains("}"),
            text.isEmpty || !text.split(separator: "/", omittingEmptySubsequences: false).contains("")
        else { return nil }
        return text
    }

    private static func isPath(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            && !text.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }
}
