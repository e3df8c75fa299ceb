// SPDX-License-Identifier: Apache-2.0

import Logging

extension LogRecord {
    /// The datagram for systemd's journal (systemd's "Native Journal Protocol").
    ///
    /// `MESSAGE` carries the metadata too, since `journalctl` shows nothing else by default, cut where it is long; each
    /// value is also a separate field, `room.id` as `TAPEDECK_ROOM_ID`.
    func journalEntry() -> [UInt8] {
        var entry: [UInt8] = []
        Self.append("MESSAGE", Self.bounded(self.messageWithMetadata), to: &entry)
        Self.append("PRIORITY", String(self.level.syslogPriority), to: &entry)
        Self.append("SYSLOG_IDENTIFIER", "tapedeck", to: &entry)
        Self.append("CODE_FILE", self.file, to: &entry)
        Self.append("CODE_LINE", String(self.line), to: &entry)
        Self.append("CODE_FUNC", self.function, to: &entry)
        Self.append("TAPEDECK_LOGGER", self.label, to: &entry)
        Self.append("TAPEDECK_LEVEL", self.level.rawValue, to: &entry)
        for (name, value) in self.metadata { Self.append(Self.fieldName(name), value, to: &entry) }
        return entry
    }

    /// `TAPEDECK_` and the key in upper case; what a field's name may not have becomes `_`; at most 64 characters.
    private static func fieldName(_ key: String) -> String {
        let characters = key.utf8.map { byte -> Character in
            let upper = Character(Unicode.Scalar(byte)).uppercased()
            let isAllowed = byte < 0x80 && (upper >= "A" && upper <= "Z" || upper >= "0" && upper <= "9")
            return isAllowed ? Character(upper) : "_"
        }
        return String(("TAPEDECK_" + characters).prefix(64))
    }

    /// A value of one line is written behind an equals sign, any other behind its length: nothing in it is a field.
    private static func append(_ name: String, _ value: String, to entry: inout [UInt8]) {
        let bytes = Array(value.utf8)
        entry += name.utf8
        if bytes.contains(UInt8(ascii: "\n")) {
            entry.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { entry += $0 }
        } else {
            entry.append(UInt8(ascii: "="))
        }
        entry += bytes
        entry.append(UInt8(ascii: "\n"))
    }
}

extension Logger.Level {
    /// The priority of syslog (RFC 5424, 6.2.1).
    var syslogPriority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
