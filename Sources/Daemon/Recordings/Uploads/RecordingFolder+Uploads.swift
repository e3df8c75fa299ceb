// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Glibc
import Model
import Storage
import Timeline

extension RecordingFolder {
    /// The files that are uploaded, as they are now; throws if one cannot be seen.
    ///
    /// What another host recorded is uploaded there: here it is only what was made of it.
    func files(for spec: UploadSpec) throws(StorageError) -> [UploadObject.File] {
        var files: [UploadObject.File] = []
        let isGathered = self.gatheredEpoch != nil
        for file in try self.files(isWhole: true) {
            if isGathered, file.name == "journal.jsonl" || file.name.hasPrefix("tracks/") { continue }
            if let rank = spec.rank(of: file.name), let found = try self.file(file.name, rank: rank) {
                files.append(found)
            }
        }
        return files
    }

    /// A file as it is now; `nil` if it is gone.
    func file(_ name: String, rank: Int) throws(StorageError) -> UploadObject.File? {
        let path = self.path + "/" + name
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw StorageError(
                    .inputOutput,
                    "cannot look at \(path): error \(errno)",
                    path: path,
                    errorNumber: errno
                )
            }
            return nil
        }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        let modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        return UploadObject.File(name: name, bytes: Int64(status.st_size), modified: modified, rank: rank)
    }

    /// Where it is uploaded to.
    ///
    /// What is made of a recording of another host has a folder that only this host writes, and none that `fetch` takes for the
    /// recording.
    func place(for spec: UploadSpec) -> String {
        let components = self.path.split(separator: "/").suffix(2).map(String.init)
        let name = self.gatheredEpoch.map { "\(self.compactStart)-series.\($0).\(self.id)" }
        return spec.folder(room: components.first ?? "", name: name ?? components.last ?? "")
    }

    /// Whether it is a recording of another host of which nothing was made here: there is nothing to upload.
    func isOfAnotherHost(_ files: [UploadObject.File]) -> Bool {
        self.gatheredEpoch != nil && !files.contains { !Self.descriptions.contains($0.name) }
    }

    /// Files that describe the others.
    private static let descriptions: Set = ["manifest.json", "certificate.txt", "certificate.txt.sig"]

    /// Whether an upload has every file that is wanted, verified and as it is here.
    func isUploaded(_ upload: UploadEntry?, for spec: UploadSpec) throws(StorageError) -> Bool {
        guard let upload, upload.finished != nil else { return false }
        let verified = Dictionary(upload.objects.filter(\.isVerified).map { ($0.file.name, $0.file) }) { first, _ in
            first
        }
        let files = try self.files(for: spec)
        if self.isOfAnotherHost(files) { return true }
        return files.hasManifest
            && files.allSatisfy { file in
                verified[file.name].map { $0.bytes == file.bytes && $0.modified == file.modified } ?? false
            }
    }

    /// Why a file must not be sent; `nil` if it may.
    ///
    /// A file that the manifest has a digest of goes out as it was recorded, or not at all: damage here never takes the place
    /// of the file at the remote.
    ///
    /// - Parameters:
    ///   - hash: the SHA-256 of the file as it is here.
    ///   - isReplacing: whether the remote has another file under its name.
    func obstacle(to file: UploadObject.File, hash: String, isReplacing: Bool) -> String? {
        let digests: [Certificate.FileDigest]
        do throws(StorageError) {
            digests = try Manifest.read(self)?.files ?? []
        } catch {
            return error.message
        }
        let isJournal = file.name == "journal.jsonl"
        guard let digest = digests.first(where: { $0.name == file.name }) else {
            let isOriginal = isJournal || file.name.hasPrefix("tracks/")
            return isReplacing && isOriginal
                ? "the remote has another file, and the manifest does not tell which one was recorded" : nil
        }
        if hash == digest.sha256 { return nil }
        // It may have gone on since.
        if isJournal, (try? HashingFile.sha256(self.path + "/" + file.name, first: digest.bytes)) == digest.sha256 {
            return nil
        }
        return "this host's file is not what was recorded: its SHA-256 is not that of the manifest"
    }
}

extension [UploadObject.File] {
    /// Whether the manifest is among them, without which a recording at a remote is not found.
    var hasManifest: Bool { self.contains { $0.name == "manifest.json" } }
}
