// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Asks webrtcbin for something and waits for the reply to the promise.
///
/// The reply comes once, on webrtcbin's own thread. Interrupted and expired promises are errors, and so is silence
/// for longer than `deadline`.
/// - Returns: the text of the description in the reply's field `field`; nil if no field was asked for.
func awaitReply(
    field: String? = nil,
    deadline: Duration = .seconds(5),
    _ what: String,
    _ ask: (UnsafeMutablePointer<GstPromise>) -> Void
) async throws -> String? {
    try await withCheckedThrowingContinuation { continuation in
        let once = OneShot(continuation)
        let box = CallbackBox<UnsafeMutablePointer<GstPromise>> { promise in
            once.resume(with: readReply(of: promise, field: field, what))
        }
        guard let promise = gst_promise_new_with_change_func(handlePromise, box.retained(), release) else {
            once.resume(with: .failure(GStreamerError(.interrupted, "\(what): no promise")))
            return
        }
        once.expire(after: deadline, "\(what) got no reply within \(deadline)")
        ask(promise)
        gst_promise_unref(promise)
    }
}

/// `GstPromiseChangeFunc`.
///
/// webrtcbin's thread; holds no lock of ours.
private func handlePromise(_ promise: UnsafeMutablePointer<GstPromise>?, _ user: gpointer?) {
    guard let promise else { return }
    CallbackBox<UnsafeMutablePointer<GstPromise>>.from(user)?.call(promise)
}

private func readReply(
    of promise: UnsafeMutablePointer<GstPromise>,
    field: String?,
    _ what: String
) -> Result<String?, any Error> {
    guard gst_promise_wait(promise) == GST_PROMISE_RESULT_REPLIED else {
        return .failure(GStreamerError(.interrupted, "\(what) was interrupted"))
    }
    let reply = gst_promise_get_reply(promise)
    if let error = CGst_reply_error(reply) {
        defer { g_free(error) }
        return .failure(GStreamerError(.negotiation, "\(what): \(String(cString: error))"))
    }
    guard let field else { return .success(nil) }
    guard let reply, let description = CGst_reply_description(reply, field) else {
        return .failure(GStreamerError(.negotiation, "\(what): no description in the reply"))
    }
    defer { gst_webrtc_session_description_free(description) }
    guard let text = gst_sdp_message_as_text(description.pointee.sdp) else {
        return .failure(GStreamerError(.negotiation, "\(what): the description does not print"))
    }
    defer { g_free(text) }
    return .success(String(cString: text))
}
