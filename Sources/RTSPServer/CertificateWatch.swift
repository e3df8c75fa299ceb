// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Logging
internal import Observability
internal import Synchronization

/// Gives a server the new contents of its certificate files, for new clients, when the files have changed, for example
/// after a renewal.
///
/// They are looked at on a separate queue: a disk that hangs delays neither heartbeats nor clients.
final class CertificateWatch: Sendable {
    /// Two looks must find the same: certificate and key are replaced one after the other.
    private static let seconds = 10

    private let server: RTSPServer
    private let certificate: String
    private let key: String
    private let logger: Logger
    private let queue = DispatchQueue(label: "certificate")
    private let state: Mutex<State>

    private struct State {
        /// The files that the server has.
        var used: Files
        /// The files of the last look.
        var seen: Files
        /// The files that could not be used.
        var refused: Files?
    }

    /// Which files are there.
    struct Files: Sendable, Hashable {
        private struct Signature: Sendable, Hashable {
            var inode: UInt64
            var size: Int64
            var seconds: Int
            var nanoseconds: Int

            init?(_ path: String) {
                var status = stat()
                guard stat(path, &status) == 0 else { return nil }
                self.inode = UInt64(status.st_ino)
                self.size = Int64(status.st_size)
                self.seconds = status.st_mtim.tv_sec
                self.nanoseconds = status.st_mtim.tv_nsec
            }
        }

        private let certificate: Signature?
        private let key: Signature?

        init(certificate: String, key: String) {
            self.certificate = Signature(certificate)
            self.key = Signature(key)
        }
    }

    /// A watch for a server that reads these files after `used` was looked at; ends when it is released.
    init(_ server: RTSPServer, certificate: String, key: String, used: Files, logger: Logger) {
        self.server = server
        self.certificate = certificate
        self.key = key
        self.logger = logger
        self.state = Mutex(State(used: used, seen: used))
        self.wait()
    }

    private func wait() {
        self.queue.asyncAfter(deadline: .now() + .seconds(Self.seconds)) { [weak self] in
            self?.look()
            self?.wait()
        }
    }

    private func look() {
        let files = Files(certificate: self.certificate, key: self.key)
        let isNew = self.state.withLock { state -> Bool in
            defer { state.seen = files }
            return files != state.used && files == state.seen
        }
        guard isNew else { return }
        do throws(RTSPServerError) {
            try self.server.use(certificate: self.certificate, key: self.key)
            self.state.withLock { $0.used = files }
            self.logger.notice("RTSP certificate read again")
        } catch {
            let isTold = self.state.withLock { state -> Bool in
                defer { state.refused = files }
                return state.refused == files
            }
            guard !isTold else { return }
            self.logger.error(
                "RTSP certificate cannot be read, the one before is used",
                metadata: .tagged([.errorMessage: "\(error.message)"])
            )
        }
    }
}
