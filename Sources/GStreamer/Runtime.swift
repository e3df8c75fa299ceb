// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// The GStreamer library of this process.
public enum Runtime {
    /// The result of initialisation; computed once.
    private static let outcome: Result<String, GStreamerError> = {
        var error: UnsafeMutablePointer<GError>?
        guard gst_init_check(nil, nil, &error) != 0 else {
            let message = error.map { String(cString: $0.pointee.message) } ?? "gst_init failed"
            g_clear_error(&error)
            return .failure(GStreamerError(.initialisation, message))
        }
        CTapedeck_quiet_agents()
        // It reads from a photo how the phone was held (EXIF); by its own rank decodebin leaves it out.
        if let parser = gst_registry_lookup_feature(gst_registry_get(), "jpegparse") {
            gst_plugin_feature_set_rank(parser, guint(GST_RANK_PRIMARY.rawValue + 1))
            gst_object_unref(UnsafeMutableRawPointer(parser))
        }
        let text = gst_version_string()
        defer { g_free(text) }
        return .success(text.map { String(cString: $0) } ?? "GStreamer")
    }()

    /// Loads the library and its registry; later calls cost nothing.
    ///
    /// Any thread.
    /// - Returns: the version, for example `GStreamer 1.22.0`.
    @discardableResult
    public static func initialise() throws(GStreamerError) -> String {
        try self.outcome.get()
    }

    /// Makes malloc keep less free memory than by default: no more heaps than processors, and half a megabyte at the
    /// end of each (docs/decisions/0105).
    ///
    /// At the start of a process, before there are threads. An environment that has settings for malloc is left alone.
    public static func boundHeaps() { CTapedeck_bound_heaps() }

    /// The elements of `names` that this host does not have: what a person is to install.
    public static func missingElements(_ names: [String]) -> [String] {
        names.filter { name in
            guard let factory = gst_element_factory_find(name) else { return true }
            gst_object_unref(UnsafeMutableRawPointer(factory))
            return false
        }
    }

    /// The version of a plugin, for example `0.1.21` of `nice`, which is libnice's own; `nil` if there is none.
    public static func pluginVersion(_ name: String) -> String? {
        guard let plugin = gst_registry_find_plugin(gst_registry_get(), name) else { return nil }
        defer { gst_object_unref(UnsafeMutableRawPointer(plugin)) }
        return gst_plugin_get_version(plugin).map { String(cString: $0) }
    }

    /// `CLOCK_MONOTONIC` in nanoseconds: the clock of arrival times and of the pipelines.
    public static var monotonicNanoseconds: Int64 {
        CTapedeck_monotonic_nanoseconds()
    }

    /// How long the machine was suspended since it started, in nanoseconds: what `CLOCK_BOOTTIME` is ahead of
    /// `CLOCK_MONOTONIC`, about.
    public static var suspendedNanoseconds: Int64 {
        CTapedeck_suspended_nanoseconds()
    }

    /// The calling thread, and every one that it starts from now on, gets only idle disk time.
    ///
    /// For work that must not make recordings wait (ioprio_set(2), class idle).
    /// - Returns: false if the kernel did not take it.
    @discardableResult
    public static func useIdleDiskTime() -> Bool {
        CTapedeck_use_idle_disk_time()
    }

    /// The kernel begins to write what is dirty of a file; errors are those of the file's next synchronisation.
    public static func beginWriting(_ descriptor: Int32) {
        CTapedeck_begin_writing(descriptor)
    }

    /// Starts counting live GStreamer objects: elements, pads, buses, clocks.
    ///
    /// For tests and soak runs.
    public static func startCountingObjects() throws(GStreamerError) {
        try Self.initialise()
        CTapedeck_start_counting_objects()
    }

    /// GstObjects made since `startCountingObjects()` that are still alive.
    public static var liveObjectCount: Int {
        Int(CTapedeck_live_object_count())
    }

    /// Bytes that this process allocated and did not free, as the C library counts them.
    ///
    /// Locks one arena after the other and walks their free lists: for tests and soak runs.
    public static var allocatedBytes: Int64 {
        CTapedeck_allocated_bytes()
    }
}
