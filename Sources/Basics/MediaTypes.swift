// SPDX-License-Identifier: Apache-2.0

/// The media type (RFC 6838) for the extension of a file's name; `application/octet-stream` for any other.
public func mediaType(ofFile name: some StringProtocol) -> String {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1, let last = parts.last else { return "application/octet-stream" }
    return switch last.lowercased() {
    case "mkv": "video/x-matroska"
    case "mka": "audio/x-matroska"
    case "webm": "video/webm"
    case "mp4": "video/mp4"
    case "opus", "ogg": "audio/ogg"
    case "wav": "audio/wav"
    case "json": "application/json"
    case "jsonl": "application/jsonl"
    case "vtt": "text/vtt"
    case "txt", "log": "text/plain; charset=utf-8"
    case "sdp": "application/sdp"
    case "jpg", "jpeg": "image/jpeg"
    case "png": "image/png"
    case "tar": "application/x-tar"
    default: "application/octet-stream"
    }
}
