// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// The GStreamer library of this process.
public enum Runtime {
    /// What initialisation found; computed once.
    private static let outcome: Result<String, GStreamerError> = {
        var error: UnsafeMutablePointer<GError>?
        guard gst_init_check(nil, nil, &error) != 0 else {
            let message = error.map { String(cString: $0.pointee.message) } ?? "gst_init failed"
            g_clear_error(&error)
            return .failure(GStreamerError(.initialisation, message))
        }
        let text = gst_version_string()
        defer { g_free(text) }
        return .success(text.map { String(cString: $0) } ?? "GStreamer")
    }()

    /// Loads the library and its registry; later calls cost nothing. Any thread.
    /// - Returns: the version, for example `GStreamer 1.22.0`.
    @discardableResult
    public static func initialise() throws(GStreamerError) -> String {
        try self.outcome.get()
    }

    /// The elements of `names` that this host does not have: what to tell a person to install.
    public static func missingElements(_ names: [String]) -> [String] {
        names.filter { name in
            guard let factory = gst_element_factory_find(name) else { return true }
            gst_object_unref(UnsafeMutableRawPointer(factory))
            return false
        }
    }

    /// `CLOCK_MONOTONIC` in nanoseconds: the clock of arrival times and of the pipelines.
    public static var monotonicNanoseconds: Int64 {
        CTapedeck_monotonic_nanoseconds()
    }

    /// Live GStreamer objects counted by the `leaks` tracer; 0 unless `GST_TRACERS=leaks` is set. For tests.
    public static var liveObjectCount: Int {
        Int(CGst_live_object_count())
    }
}
