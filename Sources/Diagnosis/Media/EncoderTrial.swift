// SPDX-License-Identifier: Apache-2.0

internal import Subprocess
internal import SystemPackage

/// Trying an encoder with a few frames, in a process of its own: a driver that crashes takes that process only.
enum EncoderTrial {
    /// Has this program, started anew with the encoder file's name, encode a test picture.
    ///
    /// It exits with 0, or says why not.
    static func run(_ name: String, _ trial: DoctorSettings.EncoderTrial) async -> Encoders.Trial {
        await withTaskGroup(of: Encoders.Trial?.self) { group in
            group.addTask {
                do {
                    let result = try await Subprocess.run(
                        .path("/proc/self/exe"),
                        arguments: .init(trial.arguments + [name]),
                        output: .discarded,
                        error: .string(limit: 16_384)
                    )
                    return Self.judge(result.terminationStatus.isSuccess, result.standardError)
                } catch {
                    return .fails("it wrote too much, or could not be started")
                }
            }
            group.addTask {
                try? await Task.sleep(for: trial.limit)
                return nil
            }
            let first = await group.next() ?? nil
            // Ends the process if it still runs.
            group.cancelAll()
            return first ?? .fails("took more than \(trial.limit.components.seconds) s")
        }
    }

    /// The last line that a process wrote says what is wrong.
    static func judge(_ succeeded: Bool, _ messages: String?) -> Encoders.Trial {
        guard !succeeded else { return .works }
        let line = messages?.split(separator: "\n").last.map { String($0.prefix(200)) }
        return .fails(line ?? "its process ended without a word")
    }
}
