// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GStreamer
internal import Glibc

/// Cameras, audio devices and graphics cards of this host.
struct DeviceFacts: Sendable, Hashable {
    /// A device file and what came of opening it.
    struct Node: Sendable, Hashable {
        var path: String
        /// The group that may use it.
        var group: String
        var mayBeUsed: Bool
    }

    /// Cameras that could be asked.
    var cameras: [VideoDevice]
    /// Audio inputs, as `hw:CARD,DEVICE name`.
    var audioInputs: [String]
    /// Every device file for video, audio and encoding.
    var nodes: [Node]

    var findings: [Finding] {
        var findings = self.cameras.map { Finding(.devices, "camera \($0.path)", .ok, Self.describe($0)) }
        if self.cameras.isEmpty {
            findings.append(Finding(.devices, "cameras", .ok, "none; only needed to send from one"))
        }
        findings += self.audioInputs.map { Finding(.devices, "audio input", .ok, $0) }
        if self.audioInputs.isEmpty {
            findings.append(Finding(.devices, "audio inputs", .ok, "none; only needed to send from one"))
        }
        for group in Set(self.nodes.filter { !$0.mayBeUsed }.map(\.group)).sorted() {
            let paths = self.nodes.filter { !$0.mayBeUsed && $0.group == group }.map(\.path)
            findings.append(
                Finding(
                    .devices,
                    "right to devices",
                    .warning,
                    "\(paths.joined(separator: ", ")): permission denied",
                    meaning: "they cannot be sent from, or encoded on",
                    remedy: "adduser $USER \(group), then log in again; for the service see docs/service.md"
                )
            )
        }
        return findings
    }

    private static func describe(_ camera: VideoDevice) -> String {
        let formats = camera.formats.map { format in
            format.width > 0 ? "\(format.fourCC) up to \(format.width)x\(format.height)" : format.fourCC
        }
        return "\(camera.name): \(formats.isEmpty ? "lists no format" : formats.joined(separator: ", "))"
    }

    /// Asks this host; opens cameras without taking them from who uses them.
    static func probe() -> DeviceFacts {
        let videos = Self.entries(of: "/dev", prefix: "video")
        let cameras = videos.compactMap { try? VideoDevice(path: $0) }.filter(\.captures)
        let nodes =
            videos + Self.entries(of: "/dev/snd", prefix: "pcm") + Self.entries(of: "/dev/dri", prefix: "render")
        return DeviceFacts(
            cameras: cameras,
            audioInputs: SystemFiles.text(of: "/proc/asound/pcm").map(SystemFiles.audioInputs) ?? [],
            nodes: nodes.map { path in
                Node(path: path, group: Self.group(of: path), mayBeUsed: access(path, R_OK | W_OK) == 0)
            }
        )
    }

    /// Device files of a folder, in order; at most 64.
    private static func entries(of folder: String, prefix: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasPrefix(prefix) }.sorted().prefix(64).map { "\(folder)/\($0)" }
    }

    /// The name of the group that owns a file, or its number.
    private static func group(of path: String) -> String {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        if let name = attributes?[.groupOwnerAccountName] as? String { return name }
        return "video"
    }
}
