// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Model
import TestSupport

/// What hosts do with their recordings: the real `UploadMachine` of each, a bucket, and the deletion of what it has.
extension Simulation {
    func beginPart(_ pointer: RecordingPointer, _ room: String, epoch: Int, _ host: SimulatedHost) {
        let name = "\(pointer.series)/\(pointer.segment)"
        let key =
            self.planted == .epochLeftOutOfKeys ? name : "\(self.checker.generation)/\(name)/\(room)/\(epoch)"
        let files = SimulatedHost.files.enumerated().map { rank, file in
            UploadObject(
                UploadObject.File(name: file, bytes: 1, modified: 1, rank: rank),
                due: UTCTime(nanosecondsSince1970: 0)
            )
        }
        self.checker.writes(key, host)
        host.parts.append(SimulatedHost.Part(room: room, key: key, uploads: UploadMachine(files)))
    }

    func endPart(_ room: String, _ host: SimulatedHost) {
        for index in host.parts.indices where host.parts[index].room == room { host.parts[index].isClosed = true }
    }

    /// The daemon is gone: every recording is closed, by its worker or by the next daemon.
    func endParts(_ host: SimulatedHost) {
        host.isUploading = false
        for index in host.parts.indices {
            host.parts[index].isClosed = true
            // What is being done with a file is not kept.
            host.parts[index].uploads = UploadMachine(host.parts[index].uploads.objects)
        }
    }

    /// Sends the next file that is due.
    func upload(_ host: SimulatedHost) {
        guard host.machine != nil, !host.isPaused, !host.isUploading else { return }
        let clock = host.wallClock(at: self.now)
        for index in host.parts.indices where host.parts[index].isClosed {
            let action = host.parts[index].uploads.begin(at: clock)
            guard action != .none else { continue }
            host.isUploading = true
            self.perform(action, host.parts[index].key, host)
            return
        }
    }

    private func perform(_ action: UploadMachine.Action, _ part: String, _ host: SimulatedHost) {
        guard let index = host.parts.firstIndex(where: { $0.key == part }) else { return }
        let uploads = host.parts[index].uploads
        let file = "\(part)/\(uploads.object?.file.name ?? "")"
        switch action {
        case .look:
            let isBlind = self.planted == .deleteBeforeVerify && uploads.phase == .checking
            self.answer(part, host, after: 5_000...80_000) {
                if isBlind { return .same(checksum: "none") }
                if self.now < self.bucket.failsUntil { return .failed("503") }
                return switch self.bucket.objects[file] {
                case true?: .same(checksum: "md5")
                case false?: .different("its checksum")
                case nil: .absent
                }
            }
        case .send:
            self.answer(part, host, after: 20_000...400_000) {
                if self.now < self.bucket.failsUntil { return .failed("503") }
                let isDamaged = self.now < self.bucket.damagesUntil
                self.bucket.put(file, isWhole: isDamaged ? (self.random.pick(0...1) == 0 ? nil : false) : true)
                if file.hasSuffix("manifest") { self.checker.committed(part) }
                return self.now < self.bucket.losesAnswersUntil ? .failed("no answer") : .sent
            }
        case .verified, .putOff, .none:
            host.isUploading = false
            if uploads.turn(at: host.wallClock(at: self.now)) == .complete {
                self.checker.deletes(part, host)
                host.parts.remove(at: index)
            }
            self.upload(host)
        }
    }

    private func answer(
        _ part: String,
        _ host: SimulatedHost,
        after delay: ClosedRange<Int>,
        _ body: @escaping () -> UploadMachine.Input
    ) {
        let life = host.life
        self.after(self.random.pick(delay)) {
            let input = body()
            guard host.life == life, let index = host.parts.firstIndex(where: { $0.key == part }) else { return }
            let clock = host.wallClock(at: self.now)
            let action = host.parts[index].uploads.handle(input, random: self.random.fraction(), at: clock)
            self.perform(action, part, host)
        }
    }
}
