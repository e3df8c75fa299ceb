// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Subprocess
internal import SystemPackage

/// Tries an encoder with a few frames, in a separate process: a driver that crashes ends that process only.
enum EncoderTrial {
    /// Starts this program with the encoder file's name to encode a test frame.
    ///
    /// It exits with 0, or says why not.
    static func run(_ name: String, _ trial: DoctorSettings.EncoderTrial) async -> Encoders.Trial {
        do {
            let outcome = try await within(trial.limit) {
                let result = try await Subprocess.run(
                    .path("/proc/self/exe"),
                    arguments: .init(trial.arguments + [name]),
                    output: .discarded,
                    error: .string(limit: 16_384)
                )
                return Self.judge(result.terminationStatus.isSuccess, result.standardError)
            }
            return outcome ?? .fails("took more than \(trial.limit.components.seconds) s")
        } catch {
            return .fails("it wrote too much, or could not be started")
        }
    }

    /// The last line that a process wrote says what is wrong.
    static func judge(_ succeeded: Bool, _ messages: String?) -> Encoders.Trial {
        guard !succeeded else { return .works }
        let line = messages?.split(separator: "\n").last.map { String($0.prefix(200)) }
        return .fails(line ?? "its process ended without a word")
    }
}
