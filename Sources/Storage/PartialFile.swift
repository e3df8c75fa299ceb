// SPDX-License-Identifier: Apache-2.0

/// Names of files that an export has while it is made, in the folder of the finished one.
public enum PartialFile {
    private static let suffix = ".partial"

    /// The hidden name of a file while it is made; the process that makes it holds its lock.
    public static func name(of file: some StringProtocol) -> String { ".\(file)\(Self.suffix)" }

    /// The files whose locks show whether a file is being made; nil for a file that is finished.
    ///
    /// Files that are made on the way to another one begin with its hidden name. Versions before wrote `call.mp4.<id>.tmp`,
    /// `browser.tmp` and, behind each, `.remux` and `.lock`.
    static func guards(of name: String) -> [String]? {
        if name.hasPrefix("."), let end = Self.end(of: Self.suffix, in: name) {
            return Array(Set([String(name[..<end]), name])).sorted()
        }
        guard let end = Self.end(of: ".tmp", in: name), ["", ".remux", ".lock"].contains(String(name[end...])) else {
            return nil
        }
        let stem = name[..<end].dropLast(".tmp".count)
        let last = stem.split(separator: ".").last.map(String.init) ?? ""
        guard RecordingID(rawValue: last) != nil || stem.hasPrefix("browser") else { return nil }
        return Array(Set([name, name[..<end] + ".lock"])).sorted()
    }

    /// Where a text ends in a name for the first time.
    private static func end(of text: String, in name: String) -> String.Index? {
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            if rest[dot...].hasPrefix(text) { return name.index(dot, offsetBy: text.count) }
            rest = rest[name.index(after: dot)...]
        }
        return nil
    }
}
