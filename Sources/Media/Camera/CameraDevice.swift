// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GStreamer

/// A camera of this machine as the kernel lists it.
struct CameraDevice: Sendable, Hashable {
    /// For example `/dev/video0`.
    var path: String
    /// The name that its driver gives it.
    var name: String
    /// The serial number of the USB device that it is a part of.
    var serial: String?
    /// Which of the device's nodes it is; cameras have others for their metadata.
    var index: Int

    /// Every device with a node for video, by number; `system` is where the kernel's files are.
    static func all(system: String = "/sys") -> [CameraDevice] {
        let folder = "\(system)/class/video4linux"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let numbers = names.filter { $0.hasPrefix("video") }.compactMap { Int($0.dropFirst(5)) }.sorted()
        return numbers.compactMap { number in
            let device = "\(folder)/video\(number)"
            guard let name = Self.line("\(device)/name") else { return nil }
            return CameraDevice(
                path: "/dev/video\(number)",
                name: name,
                // The link leads to the interface; the USB device above it has the number.
                serial: Self.line("\(device)/device/serial") ?? Self.line("\(device)/device/../serial"),
                index: Self.line("\(device)/index").flatMap { Int($0) } ?? 0
            )
        }
    }

    private static func line(_ path: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        let line = String(decoding: data.prefix(256), as: UTF8.self).split(separator: "\n").first.map(String.init)
        return line.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A camera named otherwise than by a path: `name=…` or `serial=…`.
///
/// Looked up whenever the camera is opened: it may come back under another number.
enum CameraSelector: Sendable, Hashable {
    case name(String)
    case serial(String)

    /// Reads a selector; `nil` for a path.
    init?(_ text: String) {
        if text.hasPrefix("name="), text.utf8.count > 5 {
            self = .name(String(text.dropFirst(5)))
        } else if text.hasPrefix("serial="), text.utf8.count > 7 {
            self = .serial(String(text.dropFirst(7)))
        } else {
            return nil
        }
    }

    /// The path of the camera: the first node of the device of exactly that name or number, else of the only device
    /// whose name begins so; `nil` if there is none.
    func pick(from devices: [CameraDevice]) -> String? {
        let nodes = devices.sorted { ($0.index, $0.path) < ($1.index, $1.path) }
        switch self {
        case .serial(let serial): return nodes.first { $0.serial == serial }?.path
        case .name(let name):
            if let exact = nodes.first(where: { $0.name == name }) { return exact.path }
            let similar = nodes.filter { $0.index == 0 && $0.name.hasPrefix(name) }
            return similar.count == 1 ? similar.first?.path : nil
        }
    }
}
