// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Model

/// The path that `--output` names, looked at before there is anything to write.
struct OutputPath: ExpressibleByArgument, Sendable {
    var path: String

    init?(argument: String) {
        self.path = argument
    }

    /// The kind of file that the extension names.
    ///
    /// - Parameter maker: what makes the file, for the message.
    func kind<Kind>(_ extensions: KeyValuePairs<String, Kind>, of maker: String) throws(ValidationError) -> Kind {
        guard self.path != "-" else {
            throw ValidationError("--output takes the path of a file, and cannot write to standard output")
        }
        let name = self.path.split(separator: "/").last ?? ""
        let found = name.split(separator: ".").dropFirst().last?.lowercased()
        if let kind = extensions.first(where: { $0.key == found }) { return kind.value }
        // A folder is said to be one.
        guard !self.isFolder else { throw self.folderRefusal(extensions[0].key) }
        let names = extensions.map { ".\($0.key)" }.joined(separator: ", ")
        throw ValidationError("'\(name)' does not say what kind of file it is: \(maker) makes \(names)")
    }

    /// Checks that a file can appear there.
    ///
    /// - Parameter replaces: whether one that is there may be replaced.
    func check(replaces: Bool) throws(CommandFailure) {
        var status = stat()
        if stat(self.path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else {
                let reason = self.isFolder ? self.folderRefusal("mkv").message : "\(self.path) is no file"
                throw CommandFailure(.usage, reason)
            }
            guard replaces else { throw CommandFailure(.usage, "\(self.path) exists; --force replaces it") }
        } else if errno != ENOENT, errno != ENOTDIR {
            throw CommandFailure(.usage, "\(self.path): \(String(cString: strerror(errno)))")
        }
        let folder = self.folder
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandFailure(.usage, "there is no folder \(folder) for \(self.path)")
        }
        guard access(folder, W_OK | X_OK) == 0 else {
            throw CommandFailure(.usage, "cannot write into \(folder): \(String(cString: strerror(errno)))")
        }
    }

    /// The folder that the file is in.
    private var folder: String {
        guard let slash = self.path.lastIndex(of: "/") else { return "." }
        return slash == self.path.startIndex ? "/" : String(self.path[..<slash])
    }

    private var isFolder: Bool {
        var status = stat()
        return self.path.hasSuffix("/") || stat(self.path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private func folderRefusal(_ kind: String) -> ValidationError {
        let folder = self.path.hasSuffix("/") ? String(self.path.dropLast()) : self.path
        return ValidationError("\(self.path) is a folder; name the file, such as \(folder)/call.\(kind)")
    }
}
