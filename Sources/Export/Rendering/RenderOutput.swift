// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Storage

/// A rendered or remuxed file while it is made: a hidden file next to its final path, locked against a second export.
///
/// It is removed unless it was moved to its final path.
public final class RenderOutput {
    private let file: OutputFile
    private var scratchPaths: [String] = []

    /// Takes the hidden file.
    ///
    /// - Throws: `busy` when another export holds it, or `storage`.
    public init(path: String) throws(ExportError) {
        self.file = try OutputFile(path: path)
    }

    deinit {
        for path in self.scratchPaths { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Where the file goes in the end.
    public var path: String { self.file.path }

    /// Where it is made.
    public var partialPath: String { self.file.partialPath }

    /// The path of another hidden file in the same folder, which is removed at the end.
    public func scratchPath(_ name: String) -> String {
        let path = "\(self.file.partialPath).\(name)"
        self.scratchPaths.append(path)
        return path
    }

    /// A file on the same file system that has no name: nothing is left of it, however the process ends.
    public func namelessFile() throws(ExportError) -> File {
        do throws(StorageError) {
            let file = try File(self.partialPath + ".nameless", .overwrite)
            file.remove()
            return file
        } catch {
            throw ExportError(error)
        }
    }

    /// All files to remove when the process must end at once.
    public var temporaryPaths: [String] { [self.partialPath] + self.scratchPaths }

    /// The size of what was written.
    public var bytes: UInt64 { self.file.file.count }

    /// Appends bytes, for a file that is not made by others.
    public func append(_ bytes: [UInt8]) throws(ExportError) {
        _ = try self.file.append(bytes)
    }

    /// Writes what was appended, and `head` over the beginning.
    public func finish(head: [UInt8]) throws(ExportError) {
        try self.file.finish([])
        do throws(StorageError) {
            try self.file.file.write(head, at: 0)
        } catch {
            throw ExportError(error)
        }
    }

    /// Throws what the disk says, if it takes nothing more; for a file that others could not write.
    ///
    /// - Parameters:
    ///   - other: a file that is written first, and whose bytes this one gets in the end; its last bytes are of no use any
    ///     more.
    ///   - share: how much of the work is done, 0…1.
    public func requireSpace(_ other: File?, share: Double) throws(ExportError) {
        let file = other ?? self.file.file
        let written = file.count
        do throws(StorageError) {
            try file.write([UInt8](repeating: 0, count: Self.probeSize), at: written)
            if other != nil { try self.file.file.write([UInt8](repeating: 0, count: Self.probeSize), at: self.bytes) }
        } catch {
            var error = error
            error.message = error.message.replacing(error.path, with: self.path)
            error.path = self.path
            if error.code == .noSpace, written > 0, share > 0 {
                let megabytes = Double(other == nil ? written : 2 * written) / share / 1e6
                error.message += "; it needs about \(max(1, Int(megabytes.rounded(.up)))) MB"
            }
            throw ExportError(error)
        }
    }

    /// What an encoder writes at a time is less.
    private static let probeSize = 1 << 20

    /// States version 4 of the document type in a Matroska or WebM file, for a muxer that writes Colour and states 2.
    public func stateDocumentTypeVersion() throws(ExportError) {
        // The element's identifier, the size of its value, and the value (RFC 8794 section 11.2.5).
        let element: [UInt8] = [0x42, 0x87, 0x81]
        do {
            let head = try self.file.file.read(offset: 0, count: 64)
            guard let place = head.firstRange(of: element) else { return }
            try self.file.file.write([4], at: UInt64(place.upperBound))
        } catch {
            throw ExportError(.storage, "\(error)", cause: error)
        }
    }

    /// Brings the bytes to the disk, and the file into its place, over an older one.
    ///
    /// - Parameter path: its place, if that was not known before.
    public func commit(as path: String? = nil) throws(ExportError) { try self.file.commit(as: path) }
}
