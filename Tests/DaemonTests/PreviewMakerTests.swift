// SPDX-License-Identifier: Apache-2.0

import ConfigurationFile
import Control
import Foundation
import Model
import SystemPackage
import Testing

@testable import Daemon

/// Jobs are shell scripts here: `$0` is the file, `$*` is `worker --still=…` or `worker --levels=…`.
@Suite(.timeLimit(.minutes(5))) struct PreviewMakerTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "stills-\(UUID().uuidString)").path

    private func maker(_ script: String) throws -> PreviewMaker {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        let path = self.folder + "/job"
        try "#!/bin/sh\ncd \(self.folder)\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        let values = ChildEnvironment(values: NotedValueSource())
        return PreviewMaker(jobs: JobLauncher(executable: FilePath(path), environment: values))
    }

    private func image(_ maker: PreviewMaker, of bytes: [UInt8] = [1]) async -> Result<[UInt8], ControlError> {
        do throws(ControlError) {
            return .success(try await maker.image { () throws(ControlError) in ("vp8", 90, bytes) })
        } catch {
            return .failure(error)
        }
    }

    @Test func aJobGetsTheKeyframeAndItsCodec() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let check = "test \"$*\" = 'worker --still=vp8 --rotation=90' || exit 5"
        let maker = try self.maker("\(check); printf '\\377\\330\\377'; cat")
        #expect(try await self.image(maker, of: [1, 2, 3]).get() == [0xFF, 0xD8, 0xFF, 1, 2, 3])
    }

    @Test(arguments: [
        ("cat; exit 5", ControlError.Code.notFound, "the keyframe cannot be decoded"),
        // It reads nothing of a keyframe that no pipe has room for.
        ("exit 5", .notFound, "the keyframe cannot be decoded"),
        ("cat; kill -9 $$", .unavailable, "the image could not be made: ended by signal 9"),
        ("cat >&2; echo nothing", .unavailable, "the image could not be made: its job sent something else"),
    ])
    func aJobThatFailsHasOneAnswer(script: String, code: ControlError.Code, message: String) async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let keyframe = [UInt8](repeating: 1, count: 1 << 20)
        guard case .failure(let error) = await self.image(try self.maker(script), of: keyframe) else {
            Issue.record("an image came")
            return
        }
        #expect(error.code == code && error.message == message)
    }

    @Test func levelsAreThoseThatAJobWrites() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let maker = try self.maker(
            """
            test "$*" = 'worker --levels=/a b' || exit 5
            echo '{"stepSeconds":0.5,"participants":[{"id":"x1","levels":[-90,-3]}]}'
            """
        )
        let levels = try await maker.levels(of: "/a b")
        #expect(levels == RecordingLevels(stepSeconds: 0.5, participants: [.init(id: "x1", levels: [-90, -3])]))
    }

    @Test(arguments: [
        ("exit 5", ControlError.Code.notFound, "the recording has no audio"),
        ("kill -9 $$", .unavailable, "the curve of levels could not be made: ended by signal 9"),
        (
            "echo '{\"stepSeconds\":\"a\"}'", .unavailable,
            "the curve of levels could not be made: its job sent something else"
        ),
    ])
    func aJobForLevelsThatFailsHasOneAnswer(script: String, code: ControlError.Code, message: String) async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        let maker = try self.maker(script)
        await #expect(throws: ControlError(code, message)) { try await maker.levels(of: "/") }
    }

    @Test func oneRunsAtATimeAndEightAreAskedFor() async throws {
        defer { try? FileManager.default.removeItem(atPath: self.folder) }
        // A folder is made by one process only.
        let maker = try self.maker(
            "mkdir running || exit 5; cat >&2; sleep 0.1; rmdir running; printf '\\377\\330\\377'"
        )
        let answers = await withTaskGroup(of: Result<[UInt8], ControlError>.self) { group in
            for _ in 0..<20 { group.addTask { await self.image(maker) } }
            return await group.reduce(into: [Result<[UInt8], ControlError>]()) { $0.append($1) }
        }
        let refused = answers.compactMap { answer -> ControlError? in
            guard case .failure(let error) = answer else { return nil }
            return error
        }
        #expect(refused.count <= 12 && refused.allSatisfy { $0.code == .unavailable }, "\(refused)")
        #expect(try await self.image(maker).get().count == 3)
    }
}
