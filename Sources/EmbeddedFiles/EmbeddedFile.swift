// SPDX-License-Identifier: Apache-2.0

internal import CEmbeddedFiles

/// A file of a page, a pipeline or a document, which is part of the program.
public struct EmbeddedFile: Sendable, Hashable {
    /// Its name, without a folder but for a pipeline, which has one: `capture/alsa.yaml`.
    public let name: String
    /// The content of the file.
    public let bytes: [UInt8]

    /// The dashboard: `Sources/Control/Page`.
    public static let dashboard = Self.files(CEmbeddedFiles_dashboard)
    /// The page of the room server: `Sources/RoomServer/Page`.
    public static let room = Self.files(CEmbeddedFiles_room)
    /// The pipeline files: `Pipelines`.
    public static let pipelines = Self.files(CEmbeddedFiles_pipelines)
    /// The description of the HTTP interface: `Sources/Control/OpenAPI/openapi.yaml`.
    public static let description = Self(CEmbeddedFiles_description())

    private init(_ file: CEmbeddedFile) {
        self.name = String(cString: file.name)
        self.bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.count))
    }

    private static func files(
        _ list: (UnsafeMutablePointer<Int>) -> UnsafePointer<CEmbeddedFile>?
    ) -> [EmbeddedFile] {
        var count = 0
        return UnsafeBufferPointer(start: list(&count), count: count).map(Self.init)
    }
}
