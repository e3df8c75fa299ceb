// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
public import Model

/// Tries a remote: puts one small file there, compares it, and deletes it.
public enum RemoteTrial {
    /// Why uploads would not work; `nil` if they would.
    ///
    /// - Parameter limit: how long the trial may take.
    public static func failure(of spec: UploadSpec, within limit: Duration) async -> RemoteFailure? {
        do {
            let hasEnded: Void? = try await within(limit) { try await Self.run(spec) }
            return hasEnded == nil ? RemoteFailure(tookLongerThan: limit) : nil
        } catch {
            // A task that is cancelled says nothing of the remote.
            return error as? RemoteFailure
        }
    }

    private static func run(_ spec: UploadSpec) async throws(RemoteFailure) {
        let rclone = Rclone(spec)
        let bytes = Array("tapedeck tries this remote: this file may be deleted\n".utf8)
        let name = "tapedeck-trial-\(UUID().uuidString.lowercased())"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path()
        do {
            try Data(bytes).write(to: URL(filePath: path))
        } catch {
            throw RemoteFailure(.other, "no temporary file can be written: \(error.localizedDescription)")
        }
        defer { try? FileManager.default.removeItem(atPath: path) }
        let place = spec.remote + (spec.remote.hasSuffix(":") ? "" : "/") + name
        let size = Int64(bytes.count)
        try await rclone.send(path, to: place, bytes: size)
        guard let found = try await rclone.look(place) else {
            throw RemoteFailure(.content, "the remote took a file and does not have it")
        }
        if case .different(let reason) = try await rclone.compare(path, bytes: size, with: place, found: found) {
            throw RemoteFailure(.content, "what arrived is not what was sent: \(reason)")
        }
        do throws(RemoteFailure) {
            try await rclone.delete(place)
        } catch {
            // Object lock, or a user that may only add: uploads work.
            guard error.kind == .rights else { throw error }
        }
    }
}
