// SPDX-License-Identifier: Apache-2.0

import Basics
import HTTPTypes
import Hummingbird
import Model
import NIOCore
import NIOPosix

/// Answers requests for a file, or for an archive of several: conditions (RFC 9110 section 13), a range, a body in bounded pieces.
struct FileResponder: Sendable {
    /// Bytes read and written at once.
    static let pieceBytes = 128 * 1024

    let file: any ServedContent
    /// The file's name, without its folder.
    let name: String
    /// Whether a browser should save the file instead of showing it.
    let isDownload: Bool

    func response(to request: Request) throws(Problem) -> Response {
        guard self.isWanted(request.headers) else {
            throw Problem(.preconditionFailed, "The file is not the one that the request is for.")
        }
        var headers = self.headers
        if self.isUnchanged(request.headers) {
            return Response(status: .notModified, headers: headers)
        }
        let range = request.headers[.ifRange].map(self.isCurrent) ?? true ? request.headers[.range] : nil
        let part: Range<Int64>
        var status = HTTPResponse.Status.ok
        switch ByteRange(header: range, length: self.file.size) {
        case .whole:
            part = 0..<self.file.size
        case .part(let range):
            part = range
            status = .partialContent
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(self.file.size)"
        case .unsatisfiable:
            throw Problem(.rangeNotSatisfiable, "The file has \(self.file.size) bytes.")
                .with(.contentRange, "bytes */\(self.file.size)").with(.acceptRanges, "bytes")
        }
        headers[.contentLength] = String(part.count)
        guard request.method != .head else { return Response(status: status, headers: headers) }
        let file = self.file
        return Response(
            status: status,
            headers: headers,
            body: ResponseBody(contentLength: part.count) { writer in
                var offset = part.lowerBound
                while offset < part.upperBound {
                    try Task.checkCancellation()
                    let (start, count) = (offset, Int(min(Int64(Self.pieceBytes), part.upperBound - offset)))
                    let bytes = try await NIOThreadPool.singleton.runIfActive {
                        try file.read(offset: start, count: count)
                    }
                    // The file was cut in between: the length is promised, and only breaking off is honest.
                    guard !bytes.isEmpty else { throw ServedFile.Failure.missing }
                    offset += Int64(bytes.count)
                    try await writer.write(ByteBuffer(bytes: bytes))
                }
                try await writer.finish(nil)
            }
        )
    }

    private var headers: HTTPFields {
        var headers: HTTPFields = [
            .contentType: mediaType(ofFile: self.name),
            .acceptRanges: "bytes",
            .eTag: self.file.entityTag,
            .lastModified: HTTPDate(seconds: self.file.modified).text,
            .cacheControl: "private, no-cache",
            // Whatever the file holds, a browser runs nothing of it.
            .contentSecurityPolicy: "default-src 'none'; sandbox",
        ]
        if self.isDownload { headers[.contentDisposition] = Self.disposition(self.name) }
        return headers
    }

    /// If-Match, else If-Unmodified-Since (RFC 9110 section 13.2.2).
    private func isWanted(_ headers: HTTPFields) -> Bool {
        if let tags = headers[.ifMatch] { return isNamed(self.file.entityTag, by: tags, isWeak: false) }
        guard let since = headers[.ifUnmodifiedSince].flatMap(HTTPDate.init(_:)) else { return true }
        return self.file.modified <= since.seconds
    }

    /// If-None-Match, else If-Modified-Since (RFC 9110 section 13.2.2).
    private func isUnchanged(_ headers: HTTPFields) -> Bool {
        if let tags = headers[.ifNoneMatch] { return isNamed(self.file.entityTag, by: tags, isWeak: true) }
        guard let since = headers[.ifModifiedSince].flatMap(HTTPDate.init(_:)) else { return false }
        return self.file.modified <= since.seconds
    }

    /// If-Range (RFC 9110 section 13.1.5): a strong entity tag, or the very time of the last change.
    private func isCurrent(_ condition: String) -> Bool {
        condition.hasPrefix("\"")
            ? condition == self.file.entityTag : HTTPDate(condition) == HTTPDate(seconds: self.file.modified)
    }

    /// `Content-Disposition` (RFC 6266), with a name in ASCII and, where that is not the name, in UTF-8.
    static func disposition(_ name: String) -> String {
        let plain = String(
            String.UnicodeScalarView(
                name.unicodeScalars.map { (0x20..<0x7f).contains($0.value) && $0 != "\"" && $0 != "\\" ? $0 : "_" }
            )
        )
        let quoted = "attachment; filename=\"\(plain)\""
        return plain == name ? quoted : quoted + "; filename*=UTF-8''" + PercentCoding.encode(name)
    }
}

/// Whether a list of entity tags, or `*`, names a strong one (RFC 9110 section 8.8.3.2).
func isNamed(_ entityTag: String, by tags: String, isWeak: Bool) -> Bool {
    tags.split(separator: ",").contains { tag in
        let tag = tag.trimmingSpaces
        return tag == "*" || tag == entityTag || isWeak && tag == "W/" + entityTag
    }
}

extension Substring {
    /// Without the optional white space of header fields (RFC 9110 section 5.6.3).
    var trimmingSpaces: Substring {
        var rest = self
        while rest.first == " " || rest.first == "\t" { rest.removeFirst() }
        while rest.last == " " || rest.last == "\t" { rest.removeLast() }
        return rest
    }
}
