// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CCurl
internal import Synchronization

/// One request and what came of it so far; on the loop's thread.
final class Transfer {
    /// Most bytes of the headers of an answer.
    private static let maximumHeaderBytes = 64 << 10
    private static let userAgent = "tapedeck"

    let order: TransferOrder
    let handle: UnsafeMutableRawPointer
    private let continuation: TransferLoop.Continuation
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private var headers: [HTTPClient.Header] = []
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var lastByte = ContinuousClock.now

    init(_ order: TransferOrder, _ continuation: TransferLoop.Continuation) {
        guard let handle = curl_easy_init() else { preconditionFailure("libcurl has no memory") }
        self.order = order
        self.handle = handle
        self.continuation = continuation
    }

    deinit {
        curl_easy_cleanup(self.handle)
        for list in self.lists { curl_slist_free_all(list) }
    }

    /// Gives libcurl the request; why it cannot be sent.
    func prepare() -> HTTPClient.Failure? {
        guard !self.order.isCancelled.load(ordering: .acquiring) else { return .cancelled }
        let request = self.order.request
        guard Self.isToken(request.method) else { return .malformedRequest("its method") }
        for header in request.headers where !Self.isToken(header.name) || !Self.isValue(header.value) {
            return .malformedRequest("its header \(header.name.prefix(64).filter(\.isASCII))")
        }
        self.setPolicies()
        self.setMethod(request)
        self.setHeaders(request)
        self.setCallbacks()
        guard CCurl_set_text(self.handle, CURLOPT_URL, request.url) == CURLE_OK else {
            return .malformedRequest("its URL")
        }
        if let address = request.address {
            // No host and no port in front: whatever the URL says.
            self.setList(CURLOPT_CONNECT_TO, ["::\(address):"])
        }
        return nil
    }

    private func set(_ option: CURLoption, _ value: Int) { CCurl_set_number(self.handle, option, value) }
    private func set(_ option: CURLoption, _ text: String) { CCurl_set_text(self.handle, option, text) }

    private func setPolicies() {
        let client = self.order.client
        self.set(CURLOPT_PROTOCOLS_STR, "http,https")
        self.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        self.set(CURLOPT_PATH_AS_IS, 1)
        // None, whatever the environment says.
        self.set(CURLOPT_PROXY, "")
        // A resolver that hangs is left behind on its own thread, and does not stop the others' requests.
        self.set(CURLOPT_NOSIGNAL, 1)
        self.set(CURLOPT_QUICK_EXIT, 1)
        if self.order.onBytes == nil { self.set(CURLOPT_TIMEOUT_MS, Self.milliseconds(self.order.request.timeout)) }
        self.set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(client.connectTimeout))
        if client.isInsecure {
            self.set(CURLOPT_SSL_VERIFYPEER, 0)
            self.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        // In addition to the folder of the system's certificates.
        if let file = client.trustedCertificatesFile { self.set(CURLOPT_CAINFO, file) }
        if let identity = client.identity {
            self.set(CURLOPT_SSLCERT, identity.certificateFile)
            self.set(CURLOPT_SSLKEY, identity.keyFile)
        }
        CCurl_close_on_exec(self.handle)
    }

    private func setMethod(_ request: HTTPClient.Request) {
        if let body = request.body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? [] : nil) {
            CCurl_set_size(self.handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            body.withUnsafeBufferPointer { bytes in
                // A null pointer would mean another way to send a body.
                var nothing: UInt8 = 0
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
                withUnsafeMutablePointer(to: &nothing) { empty in
                    _ = CCurl_set_pointer(self.handle, CURLOPT_COPYPOSTFIELDS, start ?? UnsafeMutableRawPointer(empty))
                }
            }
        } else if request.method == "HEAD" {
            self.set(CURLOPT_NOBODY, 1)
        }
        self.set(CURLOPT_CUSTOMREQUEST, request.method)
        // libcurl sends a request again if a kept connection turns out to be closed: not what may then be done twice.
        if !request.isRepeatable { self.set(CURLOPT_FRESH_CONNECT, 1) }
    }

    private func setHeaders(_ request: HTTPClient.Request) {
        var lines = request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        let names = Set(request.headers.map { $0.name.lowercased() })
        // libcurl adds these unless they are set.
        for name in ["Accept", "Content-Type", "Expect"] where !names.contains(name.lowercased()) {
            lines.append("\(name):")
        }
        if !names.contains("user-agent") { lines.append("User-Agent: \(Self.userAgent)") }
        self.setList(CURLOPT_HTTPHEADER, lines)
    }

    private func setList(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { list = curl_slist_append(list, line) }
        guard let list else { return }
        self.lists.append(list)
        CCurl_set_list(self.handle, option, list)
    }

    private func setCallbacks() {
        let user = Unmanaged.passUnretained(self).toOpaque()
        CCurl_set_pointer(self.handle, CURLOPT_HEADERDATA, user)
        CCurl_set_pointer(self.handle, CURLOPT_WRITEDATA, user)
        CCurl_set_callback(self.handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, user in
            Transfer.take(bytes, size * count, user) { $0.takeHeader($1) }
        }
        CCurl_set_callback(self.handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, user in
            Transfer.take(bytes, size * count, user) { $0.takeBody($1) }
        }
    }

    private static func take(
        _ bytes: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        _ user: UnsafeMutableRawPointer?,
        _ body: (Transfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let user,
            body(
                Unmanaged<Transfer>.fromOpaque(user).takeUnretainedValue(),
                UnsafeRawBufferPointer(start: bytes, count: count)
            )
        else { return 0 }
        return count
    }

    /// A line of the head of an answer, its status line and the end of the head included.
    private func takeHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        self.headerBytes += line.count
        guard self.headerBytes <= Self.maximumHeaderBytes else {
            self.isTooLarge = true
            return false
        }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // The answer behind an interim one (RFC 9110 section 15.2).
            self.headers = []
        } else if let colon = text.firstIndex(of: ":") {
            let value = text[text.index(after: colon)...]
            self.headers.append(HTTPClient.Header(String(text[..<colon]), Self.trimmed(value)))
        }
        return true
    }

    /// Why it is to end before its answer does: it was cancelled, or a stream of events was silent for too long.
    var interruption: HTTPClient.Failure? {
        if self.order.isCancelled.load(ordering: .acquiring) { return .cancelled }
        guard self.order.onBytes != nil, ContinuousClock.now - self.lastByte > self.order.request.timeout else {
            return nil
        }
        return .timedOut
    }

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        self.lastByte = .now
        if let onBytes = self.order.onBytes, (200..<300).contains(CCurl_number(self.handle, CURLINFO_RESPONSE_CODE)) {
            onBytes(bytes)
            return true
        }
        guard self.order.request.readsBody else { return false }
        guard self.body.count + bytes.count <= self.order.request.maximumBodyBytes else {
            self.isTooLarge = true
            return false
        }
        self.body += bytes
        return true
    }

    /// It has ended as libcurl says.
    func end(_ result: CURLcode) {
        let status = CCurl_number(self.handle, CURLINFO_RESPONSE_CODE)
        let isUnread = result == CURLE_WRITE_ERROR && !self.order.request.readsBody && !self.isTooLarge
        guard result == CURLE_OK || isUnread, status >= 200 else { return self.end(self.failure(result)) }
        self.continuation.resume(
            returning: .success(HTTPClient.Answer(status: status, headers: self.headers, body: self.body))
        )
    }

    /// It has failed.
    func end(_ failure: HTTPClient.Failure) {
        self.continuation.resume(returning: .failure(failure))
    }

    private func failure(_ result: CURLcode) -> HTTPClient.Failure {
        let words = String(cString: curl_easy_strerror(result))
        switch result {
        case _ where self.isTooLarge: return .tooLarge
        case CURLE_COULDNT_RESOLVE_HOST: return .nameNotFound
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        case CURLE_GOT_NOTHING: return .closedWithoutAnswer
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .malformedRequest("its URL")
        case CURLE_COULDNT_CONNECT: return .notConnected(Int32(CCurl_number(self.handle, CURLINFO_OS_ERRNO)))
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
            return .tls(words)
        default: return .other(words)
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        // 0 would mean no limit.
        Int(max(1, min(duration.milliseconds, 1_000_000_000)))
    }

    /// Whether a text is a token: the form of a method or a header's name (RFC 9110 section 5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
    }

    /// Neither a line's end nor anything that would be one somewhere (RFC 9110 section 5.5).
    private static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text = text.dropLast() }
        return String(text)
    }
}
